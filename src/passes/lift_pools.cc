// Pools that the delegate's pooling does not have: windows of one element are slices with a step (exact), averages over
// uneven adaptive windows are products with constant matrices (1.2e-7 * sqrt(n) for windows of n elements, where the
// elements are finite).
#include <algorithm>

#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

constexpr int64_t kMaxMatrix = 1 << 16;  // elements of the matrix of one dim

bool all_are(const std::vector<int64_t>& values, int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == value; });
}

bool lift_single(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  const bool average = node.is("avg_pool2d");
  if (!average && !node.is("max_pool2d")) return false;
  const ops::Call call(node);
  Value* x = call.tensor("self");
  if (!is_f32_or_f16(x) || x->type.rank() < 3 || call.is_symbolic("kernel_size")) return false;
  if (!all_are(call.integers("kernel_size"), 1) || !all_are(call.integers("padding"), 0)) return false;
  std::vector<int64_t> steps = call.integers("stride");
  if (steps.empty()) steps = {1};
  if (steps.size() == 1) steps.push_back(steps[0]);
  const ir::Shape& to = node.result()->type.sizes;
  Lift lift(rewriter, node);
  for (int64_t i = 0; i < 2; ++i) {
    const int64_t dim = x->type.rank() - 2 + i, step = steps[static_cast<size_t>(i)];
    if (step == 1) continue;
    if (!x->type.sizes[static_cast<size_t>(dim)].is_const()) {
      context.declined(node, "it takes every " + std::to_string(step) + "th element of a dynamic dimension");
      return false;
    }
    x = lift.strided(x, dim, 0, step, to[static_cast<size_t>(dim)].value());
    if (lift.failed()) break;
  }
  if (average && call.has("divisor_override"))
    x = lift.mul(x, 1.0 / static_cast<double>(call.integer("divisor_override")));
  return commit(lift, node, x, context);
}

// [out, in]: row o averages the elements from floor(o * in / out) to ceil((o + 1) * in / out).
std::vector<float> window_matrix(int64_t in, int64_t out) {
  std::vector<float> matrix(static_cast<size_t>(in * out), 0.0F);
  for (int64_t o = 0; o < out; ++o) {
    const int64_t first = o * in / out, last = ((o + 1) * in + out - 1) / out;
    for (int64_t k = first; k < last; ++k)
      matrix[static_cast<size_t>(o * in + k)] = 1.0F / static_cast<float>(last - first);
  }
  return matrix;
}

bool lift_adaptive(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!node.is("_adaptive_avg_pool2d") && !node.is("adaptive_avg_pool2d")) return false;
  if (delegated(node)) return false;
  const ops::Call call(node);
  Value* x = call.tensor("self");
  const int64_t rank = x->type.rank();
  if (!is_f32_or_f16(x) || rank < 3) return false;
  const ir::Shape to = node.result()->type.sizes;
  Lift lift(rewriter, node);
  for (int64_t dim = rank - 1; dim >= rank - 2; --dim) {
    const auto at = static_cast<size_t>(dim);
    const SymInt from = x->type.sizes[at];
    if (!from.is_const() || !to[at].is_const()) {
      context.declined(node, "its windows have sizes that only the run knows");
      return false;
    }
    const int64_t in = from.value(), out = to[at].value();
    if (in == out) continue;
    if (in * out > kMaxMatrix) {
      context.declined(node, "its windows would take a matrix of " + std::to_string(in * out) + " numbers");
      return false;
    }
    const std::string name =
        "windows_" + std::string(short_name(x->type.dtype)) + "_" + std::to_string(in) + "_" + std::to_string(out);
    const TensorData data = TensorData::of(DType::F32, {out, in}, window_matrix(in, out)).converted(x->type.dtype);
    Value* matrix = shared_constant(rewriter, name, data);
    if (dim == rank - 1) {
      x = lift.make("linear", {x, matrix, ir::Arg()});
    } else {
      x = lift.swap_last(lift.make("linear", {lift.swap_last(x), matrix, ir::Arg()}));
    }
  }
  return commit(lift, node, x, context);
}

}  // namespace

Result<bool> lift_pools(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, [](ir::Node& node, ir::Rewriter& rewriter, PassContext& pass) {
    return lift_single(node, rewriter, pass) || lift_adaptive(node, rewriter, pass);
  });
}

}  // namespace edgelift::passes
