// log_softmax and logsumexp. The mean of x under its own softmax lies at most log(n) below the logarithm of the sum of
// exponentials: it takes the place of the maximum, which the delegate cannot find without losing NaN.
// Against the kernel: 3e-7 of the largest absolute value of the operand.
#include <algorithm>

#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

// log(sum(exp(x))) over the last dim, which stays with size one.
Value* log_sum_exp(Lift& lift, Value* x) {
  // Hidden entries (minus infinity) would make 0 * inf, and a row of them has to give minus infinity in the end.
  const double most = x->type.dtype == DType::F16 ? 60000.0 : 3.0e38;
  Value* finite = lift.clamp(x, -most, most);
  Value* middle = lift.sum_last(lift.mul(lift.softmax(finite), finite), 1.0);
  Value* sum = lift.sum_last(lift.make("exp", {lift.sub(x, middle)}), 1.0);
  return lift.add(middle, lift.make("log", {sum}));
}

// dims moved to the end and joined; back is the permutation that undoes the move.
Value* to_rows(Lift& lift, Value* x, const std::vector<int64_t>& dims, std::vector<int64_t>& back, ir::Shape& moved) {
  std::vector<int64_t> order;
  for (int64_t d = 0; d < x->type.rank(); ++d)
    if (!std::binary_search(dims.begin(), dims.end(), d)) order.push_back(d);
  const size_t kept = order.size();
  order.insert(order.end(), dims.begin(), dims.end());
  back.assign(order.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  Value* rows = lift.permute(x, order);
  if (lift.failed()) return x;
  moved = rows->type.sizes;
  ir::Shape joined(moved.begin(), moved.begin() + static_cast<std::ptrdiff_t>(kept));
  joined.push_back(product(std::span(moved).subspan(kept)));
  return lift.view(rows, joined);
}

bool rewrite(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  const bool log_softmax = node.is("_log_softmax") || node.is("log_softmax", "int");
  const bool reduction = node.is("logsumexp");
  if (!log_softmax && !reduction) return false;
  const ops::Call call(node);
  Value* x = call.tensor("self");
  if (!is_f32_or_f16(x) || node.result()->type.dtype != x->type.dtype || x->type.rank() == 0 || delegated(node))
    return false;
  std::vector<int64_t> given = log_softmax ? std::vector<int64_t>{call.integer("dim")} : call.integers("dim");
  const auto dims = ops::normalize_dims(given, x->type.rank(), reduction);
  if (!dims.ok()) return false;
  Lift lift(rewriter, node);
  std::vector<int64_t> back;
  ir::Shape moved;
  Value* rows = to_rows(lift, x, *dims, back, moved);
  if (lift.failed()) return commit(lift, node, rows, context);
  Value* lse = log_sum_exp(lift, rows);
  Value* result = log_softmax ? lift.permute(lift.view(lift.sub(rows, lse), moved), back)
                              : lift.view(lse, node.result()->type.sizes);
  return commit(lift, node, result, context);
}

}  // namespace

Result<bool> lift_softmax(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, rewrite);
}

}  // namespace edgelift::passes
