#include "passes/affine.h"

#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "match/constant.h"
#include "ops/call.h"
#include "passes/lift.h"
#include "passes/weights.h"

namespace edgelift::passes {
namespace {

bool any_not_zero(const ir::IntList& list) {
  return std::any_of(list.begin(), list.end(), [](const SymInt& n) { return !(n == SymInt(0)); });
}

void set_weight(ir::Rewriter& rewriter, Layer& layer, TensorData data) {
  layer.weight_data = data;
  const std::string name = layer.weight->is_constant() ? layer.weight->constant->name : layer.weight->name;
  layer.weight = rewriter.constant(name + "_folded", std::move(data));
  rewriter.set_arg(layer.node, "weight", layer.weight);
}

void set_bias(ir::Rewriter& rewriter, Layer& layer, const std::vector<double>& values) {
  TensorData data = vector_data(layer.weight_data.dtype(), values);
  layer.bias_data = data;
  const std::string name = layer.bias != nullptr && layer.bias->is_constant() ? layer.bias->constant->name + "_folded"
                                                                              : layer.weight->constant->name + "_bias";
  layer.bias = rewriter.constant(name, std::move(data));
  rewriter.set_arg(layer.node, "bias", layer.bias);
}

}  // namespace

WeightBudget::WeightBudget(const PassContext& context, int64_t usual) {
  const std::string_view given = context.options.get("budget", "");
  left_ = given.empty() ? std::min(usual, kAllPasses - context.new_weight_bytes) : *parse_int(given);
}

bool WeightBudget::take(const std::vector<Layer>& layers, const ir::Node& node, PassContext& context) {
  int64_t bytes = 0;
  for (const Layer& layer : layers) bytes += static_cast<int64_t>(layer.weight_data.nbytes());
  return take(bytes, node, context);
}

bool WeightBudget::take(int64_t bytes, const ir::Node& node, PassContext& context) {
  if (bytes <= left_) {
    left_ -= bytes;
    context.new_weight_bytes += bytes;
    return true;
  }
  context.declined(node, "it would copy " + human_bytes(static_cast<uint64_t>(bytes)) +
                             " of weights, more than is left of the pass's budget");
  return false;
}

bool between_tensors(const ir::Node& node) {
  return std::holds_alternative<Value*>(node.args[0]) && std::holds_alternative<Value*>(node.args[1]);
}

std::optional<Layer> as_layer(ir::Node& node) {
  Layer layer;
  layer.node = &node;
  const bool linear = node.is("linear");
  const bool conv = node.is("convolution") || node.is("conv2d") || node.is("conv1d") || node.is("conv3d");
  if (!linear && !conv) return std::nullopt;
  const ops::Call call(node);
  layer.weight = call.tensor("weight");
  layer.bias = call.opt_tensor("bias");
  const auto weight = match::as_constant(layer.weight);
  if (!weight || weight->empty() || !is_float(weight->dtype())) return std::nullopt;
  layer.weight_data = *weight;
  if (layer.bias != nullptr) {
    layer.bias_data = match::as_constant(layer.bias);
    if (!layer.bias_data || layer.bias_data->rank() != 1) return std::nullopt;
  }
  if (call.tensor("input")->type.dtype != weight->dtype()) return std::nullopt;
  layer.shares_weight = layer.weight->users.size() != 1;
  if (linear) {
    if (weight->rank() != 2) return std::nullopt;
    layer.out_channels = weight->sizes()[0];
    layer.in_channels = weight->sizes()[1];
    return layer;
  }
  layer.kind = Layer::Kind::Conv;
  if (call.is_symbolic("groups")) return std::nullopt;
  layer.groups = call.integer("groups");
  if (node.is("convolution") && call.flag("transposed")) layer.kind = Layer::Kind::ConvTransposed;
  layer.padded = any_not_zero(call.ints("padding"));
  if (layer.kind == Layer::Kind::ConvTransposed) {
    layer.in_channels = weight->sizes()[0];
    layer.out_channels = weight->sizes()[1] * layer.groups;
    layer.padded = true;  // borders see fewer taps: an input shift is not a constant there
  } else {
    layer.out_channels = weight->sizes()[0];
    layer.in_channels = weight->sizes()[1] * layer.groups;
  }
  return layer;
}

void rewrite_outputs(ir::Rewriter& rewriter, Layer& layer, const std::vector<double>& scale,
                     const std::vector<double>& shift) {
  std::vector<double> bias = layer.bias_data ? layer.bias_data->to_doubles() : std::vector<double>(shift.size(), 0.0);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = bias[i] * scale[i] + shift[i];
  const bool scales = std::any_of(scale.begin(), scale.end(), [](double s) { return s != 1; });
  if (scales) {
    if (layer.kind == Layer::Kind::ConvTransposed) {
      // [in, out/groups, ..]: the factor of output channel g*out/groups + o is at row block g.
      const auto per_group = static_cast<size_t>(layer.out_channels / layer.groups);
      const auto rows_per_group = static_cast<size_t>(layer.in_channels / layer.groups);
      std::vector<double> factors;
      for (size_t in = 0; in < static_cast<size_t>(layer.in_channels); ++in)
        for (size_t o = 0; o < per_group; ++o) factors.push_back(scale[in / rows_per_group * per_group + o]);
      std::vector<int64_t> sizes = layer.weight_data.sizes();
      std::vector<int64_t> joined(sizes.begin() + 1, sizes.end());
      joined[0] = sizes[0] * sizes[1];
      set_weight(rewriter, layer, scale_rows(layer.weight_data.contiguous().reshaped(joined), factors).reshaped(sizes));
    } else {
      set_weight(rewriter, layer, scale_rows(layer.weight_data, scale));
    }
  }
  const bool has_bias = layer.bias != nullptr || std::any_of(bias.begin(), bias.end(), [](double b) { return b != 0; });
  if (has_bias) set_bias(rewriter, layer, bias);
}

void rewrite_inputs(ir::Rewriter& rewriter, Layer& layer, const std::vector<double>& scale,
                    const std::vector<double>& shift) {
  // Convolution weights [out, in, k..] as a matrix [out, in*k..] whose columns follow the input channels.
  const std::vector<int64_t> sizes = layer.weight_data.sizes();
  int64_t taps = 1;
  for (size_t i = 2; i < sizes.size(); ++i) taps *= sizes[i];
  std::vector<double> columns, offsets;
  for (size_t c = 0; c < scale.size(); ++c)
    for (int64_t t = 0; t < taps; ++t) {
      columns.push_back(scale[c]);
      offsets.push_back(shift[c]);
    }
  const TensorData matrix = taps == 1 && sizes.size() == 2
                                ? layer.weight_data
                                : layer.weight_data.contiguous().reshaped({sizes[0], sizes[1] * taps});
  if (std::any_of(shift.begin(), shift.end(), [](double s) { return s != 0; })) {
    std::vector<double> bias = times_vector(matrix, offsets);
    if (layer.bias_data) {
      const std::vector<double> old = layer.bias_data->to_doubles();
      for (size_t i = 0; i < bias.size(); ++i) bias[i] += old[i];
    }
    if (std::any_of(scale.begin(), scale.end(), [](double s) { return s != 1; }))
      set_weight(rewriter, layer, scale_columns(matrix, columns).reshaped(sizes));
    set_bias(rewriter, layer, bias);
    return;
  }
  set_weight(rewriter, layer, scale_columns(matrix, columns).reshaped(sizes));
}

std::optional<std::vector<double>> per_channel(const TensorData& data, size_t from_end, int64_t channels) {
  if (data.empty() || channels <= 0) return std::nullopt;
  const auto& sizes = data.sizes();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t at = sizes.size() - i;  // 1 = last
    if (sizes[i] != 1 && data.strides()[i] != 0 && !(at == from_end && sizes[i] == channels)) return std::nullopt;
    if (sizes[i] != 1 && at == from_end && sizes[i] != channels) return std::nullopt;
  }
  if (auto number = match::uniform_number(data)) return std::vector<double>(static_cast<size_t>(channels), *number);
  if (data.numel() != channels) return std::nullopt;
  return data.to_doubles();
}

std::optional<AffineStep> as_affine_step(const ir::Node& node, size_t channel_from_end, int64_t channels) {
  const bool mul = node.is("mul", "Tensor"), add = node.is("add", "Tensor"), sub = node.is("sub", "Tensor"),
             div = node.is("div", "Tensor");
  if ((!mul && !add && !sub && !div) || !between_tensors(node)) return std::nullopt;
  const ops::Call call(node);
  if ((add || sub) && call.number("alpha") != 1) return std::nullopt;
  Value *a = call.tensor("self"), *b = call.tensor("other");
  auto data = match::as_constant(b);
  if (!data && (mul || add)) {
    data = match::as_constant(a);
    std::swap(a, b);
  }
  if (!data || match::as_constant(a) || data->dtype() != a->type.dtype || !is_float(a->type.dtype)) return std::nullopt;
  if (!(a->type.sizes == node.results[0]->type.sizes)) return std::nullopt;
  auto numbers = per_channel(*data, channel_from_end, channels);
  if (!numbers) return std::nullopt;
  AffineStep step;
  step.input = a;
  step.scale.assign(numbers->size(), 1.0);
  step.shift.assign(numbers->size(), 0.0);
  for (size_t i = 0; i < numbers->size(); ++i) {
    const double n = (*numbers)[i];
    if (!std::isfinite(n) || (div && n == 0)) return std::nullopt;
    if (mul) step.scale[i] = n;
    if (div) step.scale[i] = 1 / n;
    if (add) step.shift[i] = n;
    if (sub) step.shift[i] = -n;
  }
  return step;
}

}  // namespace edgelift::passes
