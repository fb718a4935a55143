// Nearest resampling by factors that are no whole numbers: rows and columns are taken by their places, as slices,
// repeats and patterns. Exact.
#include "edge/resize.h"
#include "passes/lift.h"
#include "passes/passes.h"
#include "passes/selection.h"

namespace edgelift::passes {
namespace {

bool rewrite(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!node.is("upsample_nearest2d", "vec") || delegated(node)) return false;
  const ops::Call call(node);
  Value* x = call.tensor("input");
  const ir::Shape& to = node.result()->type.sizes;
  if (!is_f32_or_f16(x) || x->type.rank() != 4) return false;
  const auto* factors = std::get_if<std::vector<double>>(&call.arg("scale_factors"));
  Lift lift(rewriter, node);
  for (size_t i = 2; i < 4; ++i) {
    const SymInt from = x->type.sizes[i];
    if (!from.is_const() || !to[i].is_const()) {
      context.declined(node, "a resized dimension has a size that only the run knows");
      return false;
    }
    const auto scale = factors != nullptr && (*factors)[i - 2] > 0 ? std::optional((*factors)[i - 2]) : std::nullopt;
    const auto places = edge::nearest_places(from.value(), to[i].value(), scale, false);
    x = select_places(lift, x, static_cast<int64_t>(i), places, true);
    if (lift.failed()) break;
  }
  return commit(lift, node, x, context);
}

}  // namespace

Result<bool> lift_upsample(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, rewrite);
}

}  // namespace edgelift::passes
