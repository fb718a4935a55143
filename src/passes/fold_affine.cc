// Multiplications and additions by constants of the channel go into the layer before or after them: x*g, x+b around a
// linear or an unpadded convolution (the affine of a norm, NoNorm, input normalisation).
#include <algorithm>

#include "match/constant.h"
#include "match/views.h"
#include "passes/affine.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

// Which dim of the layer's tensors holds the channels, counted from the end.
size_t channel_from_end(const Layer& layer) {
  return layer.kind == Layer::Kind::Linear ? 1 : static_cast<size_t>(layer.weight_data.rank()) - 1;
}

// layer -> affine becomes layer.
bool fold_into_producer(ir::Node& node, ir::Rewriter& rewriter, PassContext& context, WeightBudget& budget) {
  if (node.op->ns != "aten" ||
      (node.op->base != "mul" && node.op->base != "add" && node.op->base != "sub" && node.op->base != "div"))
    return false;
  for (size_t side = 0; side < 2; ++side) {
    auto* const* operand = std::get_if<Value*>(&node.args.at(side));
    if (operand == nullptr || (*operand)->producer == nullptr) continue;
    Value* made = *operand;
    // One permutation may stand between: the channels are another dim then.
    const auto permutation = match::permutation_of(*made->producer);
    if (permutation) {
      if (!match::used_once(made)) continue;
      made = std::get<Value*>(made->producer->args[0]);
      if (made->producer == nullptr) continue;
    }
    ir::Node* producer = made->producer;
    if (!producer->is("linear") && !producer->is("convolution") && !producer->is("conv2d") && !producer->is("conv1d"))
      continue;
    if (!match::used_once(made)) continue;
    auto layer = as_layer(*producer);
    if (!layer) continue;
    size_t from_end = channel_from_end(*layer);
    if (permutation) {
      const size_t rank = permutation->size();
      const auto channel = static_cast<int64_t>(rank - from_end);
      from_end = rank - static_cast<size_t>(std::find(permutation->begin(), permutation->end(), channel) -
                                            permutation->begin());
    }
    const auto step = as_affine_step(node, from_end, layer->out_channels);
    if (!step || step->input != *operand) continue;
    // A shift alone changes the bias, and leaves the weight to its other users.
    const bool scales = std::any_of(step->scale.begin(), step->scale.end(), [](double x) { return x != 1; });
    if (scales && layer->shares_weight) continue;
    if (scales && !budget.take({*layer}, node, context)) return false;
    Value* input = *operand;
    rewriter.set_insert_point(producer);
    rewrite_outputs(rewriter, *layer, step->scale, step->shift);
    rewriter.replace(node.result(), input);
    rewriter.erase(&node);
    return true;
  }
  return false;
}

// hardsigmoid(layer) = clamp(layer / 6 + 1/2, 0, 1): the layer takes the affine, and the clamp is part of its node.
bool fold_hardsigmoid(ir::Node& node, ir::Rewriter& rewriter, PassContext& context, WeightBudget& budget) {
  if (!node.is("hardsigmoid")) return false;
  Value* input = std::get<Value*>(node.args.at(0));
  if (input->producer == nullptr || !match::used_once(input)) return false;
  auto layer = as_layer(*input->producer);
  if (!layer || layer->shares_weight || !budget.take({*layer}, node, context)) return false;
  const auto channels = static_cast<size_t>(layer->out_channels);
  rewriter.set_insert_point(layer->node);
  rewrite_outputs(rewriter, *layer, std::vector<double>(channels, 1.0 / 6), std::vector<double>(channels, 0.5));
  rewriter.set_insert_point(&node);
  rewriter.replace(node.result(), rewriter.make("clamp", {input, 0.0, 1.0}));
  rewriter.erase(&node);
  return true;
}

// affine -> layers becomes layers, where every user of the affine is such a layer. Starts from the last step.
bool fold_into_users(ir::Node& node, ir::Rewriter& rewriter, PassContext& context, WeightBudget& budget) {
  if (!node.is("add", "Tensor") && !node.is("mul", "Tensor") && !node.is("sub", "Tensor")) return false;
  Value* value = node.result();
  if (value->users.empty() || rewriter.graph().is_output(value)) return false;
  for (const ir::Node* user : value->users)
    if (!user->is("linear") && !user->is("convolution") && !user->is("conv2d") && !user->is("conv1d")) return false;
  std::vector<Layer> layers;
  std::vector<ir::Node*> users = value->users;  // in no order of their own
  std::sort(users.begin(), users.end(), [](const ir::Node* a, const ir::Node* b) { return a->order < b->order; });
  for (ir::Node* user : users) {
    auto layer = as_layer(*user);
    if (!layer || ops::Call(*user).tensor("input") != value) return false;
    if (!layers.empty() && layers[0].kind != layer->kind) return false;
    if (layer->shares_weight) {
      context.declined(node, "the weight after it has other users, and a changed copy would make the file grow");
      return false;
    }
    if (layer->kind == Layer::Kind::ConvTransposed || layer->groups != 1) return false;
    layers.push_back(std::move(*layer));
  }
  const size_t from_end = channel_from_end(layers[0]);
  const auto last = as_affine_step(node, from_end, layers[0].in_channels);
  if (!last) return false;
  const auto shifts = [](const AffineStep& step) {
    return std::any_of(step.shift.begin(), step.shift.end(), [](double s) { return s != 0; });
  };
  const bool padded = std::any_of(layers.begin(), layers.end(), [](const Layer& layer) { return layer.padded; });
  if (shifts(*last) && padded) {
    context.declined(node, "the convolution after it pads with zeros, which an addition before it does not reach");
    return false;
  }
  Value* input = last->input;
  std::vector<double> scale = last->scale, shift = last->shift;
  // x * g + b: both steps at once, where the product has no other use.
  if (input->producer != nullptr && match::used_once(input)) {
    const auto before = as_affine_step(*input->producer, from_end, layers[0].in_channels);
    if (before && !shifts(*before)) {
      for (size_t i = 0; i < scale.size(); ++i) scale[i] *= before->scale[i];
      input = before->input;
    }
  }
  if (std::any_of(scale.begin(), scale.end(), [](double x) { return x != 1; }) && !budget.take(layers, node, context))
    return false;
  for (Layer& layer : layers) {
    rewriter.set_insert_point(layer.node);
    rewrite_inputs(rewriter, layer, scale, shift);
  }
  rewriter.replace(value, input);
  rewriter.erase_dead(&node);
  return true;
}

}  // namespace

Result<bool> fold_affine(ir::Program& program, PassContext& context) {
  WeightBudget budget(context);
  const auto run = [&](auto fold) {
    return rewrite_nodes(program, context, [&budget, fold](ir::Node& node, ir::Rewriter& rewriter, PassContext& pass) {
      return fold(node, rewriter, pass, budget);
    });
  };
  EL_TRY(const bool before, run(fold_into_producer));
  EL_TRY(const bool gates, run(fold_hardsigmoid));
  EL_TRY(const bool after, run(fold_into_users));
  return before || gates || after;
}

}  // namespace edgelift::passes
