// Batch norm with running statistics goes into the convolution or linear before it; a lone one becomes a multiplication
// and an addition by constants of the channel.
#include <cmath>

#include "match/constant.h"
#include "match/views.h"
#include "passes/affine.h"
#include "passes/lift.h"
#include "passes/passes.h"
#include "passes/weights.h"

namespace edgelift::passes {
namespace {

struct BatchNorm {
  Value* input = nullptr;
  std::vector<double> scale, shift;  // y = x * scale + shift, by channel
};

bool is_batch_norm(const ir::Node& node) {
  return node.is("_native_batch_norm_legit_no_training") || node.is("batch_norm");
}

std::optional<BatchNorm> as_batch_norm(const ir::Node& node, std::string& why) {
  const ops::Call call(node);
  BatchNorm norm;
  norm.input = call.tensor("input");
  if (node.is("batch_norm") && call.flag("training")) {
    why = "it normalises by the batch's own statistics";
    return std::nullopt;
  }
  for (size_t i = 1; i < node.results.size(); ++i)
    if (!node.results[i]->users.empty() || node.graph->is_output(node.results[i])) {
      why = "its saved statistics are used";
      return std::nullopt;
    }
  if (norm.input->type.rank() < 2 || !norm.input->type.sizes[1].is_const()) {
    why = "it has no channels of a known number";
    return std::nullopt;
  }
  const auto channels = static_cast<size_t>(norm.input->type.sizes[1].value());
  const auto numbers = [&](std::string_view name, double fallback) -> std::optional<std::vector<double>> {
    Value* value = call.opt_tensor(name);
    if (value == nullptr) return std::vector<double>(channels, fallback);
    const auto data = match::as_constant(value);
    if (!data || data->numel() != static_cast<int64_t>(channels)) {
      why = "its " + std::string(name) + " is not a constant";
      return std::nullopt;
    }
    return data->to_doubles();
  };
  if (call.opt_tensor("running_mean") == nullptr || call.opt_tensor("running_var") == nullptr) {
    why = "it has no running statistics";
    return std::nullopt;
  }
  const auto gamma = numbers("weight", 1), beta = numbers("bias", 0), mean = numbers("running_mean", 0),
             variance = numbers("running_var", 1);
  if (!gamma || !beta || !mean || !variance) return std::nullopt;
  const double eps = call.number("eps");
  for (size_t c = 0; c < channels; ++c) {
    norm.scale.push_back((*gamma)[c] / std::sqrt((*variance)[c] + eps));
    norm.shift.push_back((*beta)[c] - (*mean)[c] * norm.scale[c]);
    if (!std::isfinite(norm.scale[c]) || !std::isfinite(norm.shift[c])) {
      why = "its statistics are not finite";
      return std::nullopt;
    }
  }
  return norm;
}

bool fold(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!is_batch_norm(node)) return false;
  std::string why;
  const auto norm = as_batch_norm(node, why);
  if (!norm) {
    context.declined(node, why);
    return false;
  }
  ir::Node* producer = norm->input->producer;
  if (producer == nullptr) return false;
  auto layer = as_layer(*producer);
  if (!layer) return false;
  // A linear's channels are its last dim, the norm's are dim 1.
  if (layer->kind == Layer::Kind::Linear && norm->input->type.rank() != 2) {
    context.declined(node, "it normalises another dimension than the linear before it makes");
    return false;
  }
  // An unbatched convolution [C, H, W] has its channels at dim 0.
  if (layer->kind != Layer::Kind::Linear &&
      norm->input->type.rank() != static_cast<int64_t>(layer->weight_data.rank())) {
    context.declined(node, "the convolution before it is unbatched, so that its channels are another dimension");
    return false;
  }
  if (!match::used_once(norm->input)) {
    context.declined(node, "the layer before it has other users");
    return false;
  }
  if (static_cast<int64_t>(norm->scale.size()) != layer->out_channels) return false;
  rewriter.set_insert_point(producer);
  rewrite_outputs(rewriter, *layer, norm->scale, norm->shift);
  rewriter.replace(node.results.at(0), norm->input);
  rewriter.erase(&node);
  return true;
}

// True if only layers that may take a multiplication and an addition in read the norm.
bool only_layers_read(const ir::Node& node) {
  const Value* value = node.results.at(0);
  if (value->users.empty() || node.graph->is_output(value)) return false;
  for (ir::Node* user : value->users) {
    const auto layer = as_layer(*user);
    if (!layer || layer->padded || layer->shares_weight || layer->groups != 1 ||
        ops::Call(*user).tensor("input") != value)
      return false;
    // The channels of a linear are its last dim.
    if (layer->kind == Layer::Kind::Linear && value->type.rank() != 2) return false;
  }
  return true;
}

bool lift(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!is_batch_norm(node) || (delegated(node) && !only_layers_read(node))) return false;
  std::string why;
  const auto norm = as_batch_norm(node, why);
  if (!norm) {
    context.declined(node, why);
    return false;
  }
  std::vector<int64_t> along(static_cast<size_t>(norm->input->type.rank() - 1), 1);
  along[0] = static_cast<int64_t>(norm->scale.size());
  const DType dtype = norm->input->type.dtype;
  Lift lift(rewriter, node);
  Value* scale = rewriter.constant(node.results[0]->name + "_scale", vector_data(dtype, norm->scale).reshaped(along));
  Value* shift = rewriter.constant(node.results[0]->name + "_shift", vector_data(dtype, norm->shift).reshaped(along));
  return commit(lift, node, std::vector<Value*>{lift.add(lift.mul(norm->input, scale), shift)}, context);
}

}  // namespace

Result<bool> fold_batch_norm(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, fold);
}
Result<bool> lift_batch_norm(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, lift);
}

}  // namespace edgelift::passes
