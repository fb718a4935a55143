// A multiplication by one number goes into the weights of the linear or convolution whose output it scales, through the
// views, permutations and products with known matrices between (the scale of attention into the query's projection).
#include "match/constant.h"
#include "match/scaled.h"
#include "match/views.h"
#include "passes/affine.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

bool fold(ir::Node& node, ir::Rewriter& rewriter, PassContext& context, WeightBudget& budget) {
  match::ScaleStep step;
  if (!match::match_scale(node, step)) return false;
  Value* value = step.base;
  for (int depth = 0; depth < 16; ++depth) {
    if (value->producer == nullptr || !match::used_once(value)) return false;
    ir::Node* producer = value->producer;
    if (producer->is("linear") || producer->is("convolution")) {
      auto layer = as_layer(*producer);
      if (!layer) return false;
      if (layer->shares_weight) {
        context.declined(node, "the weight before it has other users, and a changed copy would make the file grow");
        return false;
      }
      if (!budget.take({*layer}, node, context)) return false;
      const auto channels = static_cast<size_t>(layer->out_channels);
      rewriter.set_insert_point(producer);
      rewrite_outputs(rewriter, *layer, std::vector<double>(channels, step.factor), std::vector<double>(channels, 0.0));
      rewriter.replace(node.result(), step.base);
      rewriter.erase(&node);
      return true;
    }
    // A product with a known matrix is linear in its rows.
    const bool product = producer->is("matmul") && match::as_constant(std::get<Value*>(producer->args[1]));
    if (!product && !match::is_rearrangement(*producer)) return false;
    value = std::get<Value*>(producer->args[0]);
  }
  return false;
}

}  // namespace

Result<bool> fold_scale(ir::Program& program, PassContext& context) {
  WeightBudget budget(context);
  return rewrite_nodes(program, context, [&budget](ir::Node& node, ir::Rewriter& rewriter, PassContext& pass) {
    return fold(node, rewriter, pass, budget);
  });
}

}  // namespace edgelift::passes
