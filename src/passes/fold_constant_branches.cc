// Sums with several constants become one constant where they meet: (x + a) + b -> x + (a + b), and
// cat(c, x) + p -> cat(c + p1, x + p2): the class token and the positional embedding of a vision transformer.
#include "match/constant.h"
#include "match/views.h"
#include "ops/infer.h"
#include "passes/affine.h"
#include "passes/lift.h"
#include "passes/passes.h"
#include "passes/weights.h"

namespace edgelift::passes {
namespace {

constexpr int64_t kMaxElements = 4 << 20;

// x + c: the variable and the constant side of an addition of floats of one type.
bool open_sum(const ir::Node& node, Value*& x, Value*& c, TensorData& data) {
  if (!node.is("add", "Tensor") || !between_tensors(node)) return false;
  const ops::Call call(node);
  if (call.number("alpha") != 1) return false;
  Value *a = call.tensor("self"), *b = call.tensor("other");
  auto right = match::as_constant(b);
  if (!right) {
    right = match::as_constant(a);
    std::swap(a, b);
  }
  if (!right || match::as_constant(a) || !is_float(right->dtype()) || right->dtype() != a->type.dtype) return false;
  x = a;
  c = b;
  data = *right;
  return true;
}

std::vector<int64_t> broadcast_sizes(const TensorData& a, const TensorData& b) {
  const auto shape =
      ir::broadcast(ir::Shape(a.sizes().begin(), a.sizes().end()), ir::Shape(b.sizes().begin(), b.sizes().end()));
  std::vector<int64_t> sizes;
  if (shape)
    for (const SymInt& size : *shape) sizes.push_back(size.value());
  return sizes;
}

double plus(double a, double b) { return a + b; }

// (x + a) + b, and (x + a) + (y + b) where both inner sums have no other use.
bool join_sums(ir::Node& node, ir::Rewriter& rewriter) {
  Value *outer_x = nullptr, *outer_c = nullptr, *x = nullptr, *c = nullptr;
  TensorData b, a;
  if (!open_sum(node, outer_x, outer_c, b) || outer_x->producer == nullptr) return false;
  if (!match::used_once(outer_x) || !open_sum(*outer_x->producer, x, c, a)) return false;
  const std::vector<int64_t> sizes = broadcast_sizes(a, b);
  int64_t numel = 1;
  for (const int64_t size : sizes) numel *= size;
  // The sum may not be larger than its parts together: the file must not grow.
  if (numel > kMaxElements || numel > a.numel() + b.numel()) return false;
  rewriter.set_insert_point(&node);
  Value* sum = rewriter.constant("folded_" + node.result()->name, combine(a, b, sizes, plus));
  Value* joined = rewriter.make("add.Tensor", {x, sum});
  if (!ops::same_shape(joined->type.sizes, node.result()->type.sizes)) {
    rewriter.erase_dead(joined->producer);
    return false;
  }
  rewriter.replace(node.result(), joined);
  rewriter.erase_dead(&node);
  return true;
}

// cat([.., constant, ..], dim) + p
bool distribute_over_cat(ir::Node& node, ir::Rewriter& rewriter) {
  Value *x = nullptr, *c = nullptr;
  TensorData p;
  if (!open_sum(node, x, c, p) || x->producer == nullptr || !x->producer->is("cat")) return false;
  if (!node.result()->type.is_static()) return false;
  if (!match::used_once(x) || !x->type.is_static()) return false;
  if (!(x->type.sizes == node.result()->type.sizes) || p.rank() > x->type.rank() || p.numel() > kMaxElements)
    return false;
  const ops::Call cat(*x->producer);
  const auto& parts = cat.tensors("tensors");
  const auto dim = ops::normalize_dim(cat.integer("dim"), x->type.rank());
  if (!dim) return false;
  size_t variable = 0;
  for (const Value* part : parts) {
    if (part->type.rank() != x->type.rank() || part->type.dtype != x->type.dtype) return false;
    variable += !match::as_constant(part);
  }
  // Worth it only where something is computed now: a constant part.
  if (variable == 0 || variable == parts.size()) return false;
  // p as a tensor of x's rank, so that it can be cut along dim.
  std::vector<int64_t> sizes(static_cast<size_t>(x->type.rank() - p.rank()), 1);
  sizes.insert(sizes.end(), p.sizes().begin(), p.sizes().end());
  const TensorData aligned = p.reshaped(sizes);
  const bool cut = sizes[static_cast<size_t>(*dim)] != 1;
  rewriter.set_insert_point(&node);
  ir::ValueList sums;
  int64_t start = 0, index = 0;
  for (Value* part : parts) {
    const int64_t length = part->type.sizes[static_cast<size_t>(*dim)].value();
    const TensorData piece = cut ? aligned.narrowed(*dim, start, length) : aligned;
    const std::string name = "folded_" + node.result()->name + "_" + std::to_string(index++);
    if (const auto data = match::as_constant(part)) {
      sums.push_back(rewriter.constant(name, combine(*data, piece, part->type.static_sizes(), plus)));
    } else {
      sums.push_back(rewriter.make("add.Tensor", {part, rewriter.constant(name, piece)}));
    }
    start += length;
  }
  rewriter.replace(node.result(), rewriter.make("cat", {sums, SymInt(*dim)}));
  rewriter.erase_dead(&node);
  return true;
}

}  // namespace

Result<bool> fold_constant_branches(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, [](ir::Node& node, ir::Rewriter& rewriter, PassContext&) {
    return join_sums(node, rewriter) || distribute_over_cat(node, rewriter);
  });
}

}  // namespace edgelift::passes
