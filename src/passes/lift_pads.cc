// Padding by reflected or repeated borders as slices and a concatenation; upper and lower triangles as a product with
// ones and zeros (exact where the elements are finite).
#include <algorithm>

#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

constexpr int64_t kMaxBorder = 16;
constexpr int64_t kMaxTriangle = 4 << 20;  // elements of the mask

bool lift_pad(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  const bool reflect = node.op->base.starts_with("reflection_pad"),
             replicate = node.op->base.starts_with("replication_pad");
  if (!reflect && !replicate) return false;
  if (delegated(node)) return false;
  const ops::Call call(node);
  if (call.is_symbolic("padding")) return false;
  const std::vector<int64_t> padding = call.integers("padding");
  Value* x = call.tensor("self");
  const int64_t rank = x->type.rank();
  if (padding.size() % 2 != 0 || static_cast<int64_t>(padding.size() / 2) > rank) return false;
  Lift lift(rewriter, node);
  for (size_t i = 0; i < padding.size() / 2; ++i) {
    const int64_t dim = rank - 1 - static_cast<int64_t>(i), before = padding[2 * i], after = padding[2 * i + 1];
    if (before == 0 && after == 0) continue;
    const SymInt& size = x->type.sizes[static_cast<size_t>(dim)];
    if (before < 0 || after < 0 || std::max(before, after) > kMaxBorder || !size.is_const()) {
      context.declined(node,
                       "its border is cropped, dynamic, or wider than " + std::to_string(kMaxBorder) + " elements");
      return false;
    }
    const int64_t n = size.value();
    std::vector<Value*> parts;
    const auto at = [&](int64_t index) { parts.push_back(lift.slice(x, dim, SymInt(index), SymInt(1))); };
    for (int64_t k = before; k > 0; --k) at(reflect ? k : 0);
    parts.push_back(x);
    for (int64_t k = 1; k <= after; ++k) at(reflect ? n - 1 - k : n - 1);
    x = lift.cat(std::move(parts), dim);
    if (lift.failed()) break;
  }
  return commit(lift, node, x, context);
}

bool lift_triangle(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  const bool lower = node.is("tril"), upper = node.is("triu");
  if ((!lower && !upper) || !is_f32_or_f16(node.result()) || delegated(node)) return false;
  const ops::Call call(node);
  Value* x = call.tensor("self");
  const auto& sizes = x->type.sizes;
  if (sizes.size() < 2 || call.is_symbolic("diagonal")) return false;
  const SymInt &rows = sizes[sizes.size() - 2], &columns = sizes.back();
  if (!rows.is_const() || !columns.is_const() || rows.value() * columns.value() > kMaxTriangle) return false;
  const int64_t diagonal = call.integer("diagonal");
  std::vector<float> mask;
  for (int64_t r = 0; r < rows.value(); ++r)
    for (int64_t c = 0; c < columns.value(); ++c)
      mask.push_back((lower ? c - r <= diagonal : c - r >= diagonal) ? 1.0f : 0.0f);
  Lift lift(rewriter, node);
  const std::string name = node.op->base + "_" + std::to_string(rows.value()) + "_" + std::to_string(columns.value()) +
                           "_" + std::to_string(diagonal) + "_" + std::string(short_name(x->type.dtype));
  const TensorData data = TensorData::of(DType::F32, {rows.value(), columns.value()}, mask).converted(x->type.dtype);
  return commit(lift, node, lift.mul(x, shared_constant(rewriter, name, data)), context);
}

}  // namespace

Result<bool> lift_pads(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, [](ir::Node& node, ir::Rewriter& rewriter, PassContext& pass) {
    if (node.op->ns != "aten" || node.results.size() != 1) return false;
    return lift_pad(node, rewriter, pass) || lift_triangle(node, rewriter, pass);
  });
}

}  // namespace edgelift::passes
