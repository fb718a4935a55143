// Convolutions and fully-connected layers whose weights are constants, seen alike.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ir/rewriter.h"
#include "passes/pass.h"

namespace edgelift::passes {

struct Layer {
  ir::Node* node = nullptr;
  enum class Kind : uint8_t { Linear, Conv, ConvTransposed } kind = Kind::Linear;
  ir::Value* weight = nullptr;  // linear [out, in]; conv [out, in/groups, ..]; transposed [in, out/groups, ..]
  ir::Value* bias = nullptr;    // may be null
  TensorData weight_data;
  std::optional<TensorData> bias_data;
  int64_t groups = 1;
  int64_t out_channels = 0;
  int64_t in_channels = 0;
  bool padded = false;         // convolution with padding: its input meets zeros that an affine before it would not
  bool shares_weight = false;  // the weight has other users: a changed copy makes the file grow
};

// How many bytes of new weights a pass may make in all, and all passes together. Weights are views into the mapped
// file; a changed copy lives in memory until the file is written, and what it saves at run time is one pass over an
// activation.
class WeightBudget {
 public:
  static constexpr int64_t kUsual = 64 << 20, kAllPasses = 200 << 20;
  explicit WeightBudget(const PassContext& context, int64_t usual = kUsual);
  // Whether the layers' weights may be copied; if so they count. The reason goes to context.declined otherwise.
  bool take(const std::vector<Layer>& layers, const ir::Node& node, PassContext& context);
  bool take(int64_t bytes, const ir::Node& node, PassContext& context);

 private:
  int64_t left_;
};

// Whether both operands of an add, sub, mul or div are tensors: export writes its tensor forms with plain numbers too.
bool between_tensors(const ir::Node& node);

// nullopt if the node is no such layer or its weight or bias is no constant.
std::optional<Layer> as_layer(ir::Node& node);

// The layer's weight and bias with every output channel multiplied and shifted: y -> y * scale + shift.
// new bias = bias * scale + shift.
void rewrite_outputs(ir::Rewriter& rewriter, Layer& layer, const std::vector<double>& scale,
                     const std::vector<double>& shift);
// Linear, or convolution with groups 1 that is not padded where shift is not zero: x -> x * scale + shift on the input.
void rewrite_inputs(ir::Rewriter& rewriter, Layer& layer, const std::vector<double>& scale,
                    const std::vector<double>& shift);

// The constant as one number a channel, where it varies along `dim` only (counted from the end of a shape of `rank`):
// [C] for dim 1, [C,1,1] for dim 3, one number for all. nullopt otherwise.
std::optional<std::vector<double>> per_channel(const TensorData& data, size_t from_end, int64_t channels);

// node = x * c or x + c (x - c, x / c) with a constant c of one number a channel of x, the channels counted as in
// per_channel.
struct AffineStep {
  ir::Value* input = nullptr;
  std::vector<double> scale, shift;
};
std::optional<AffineStep> as_affine_step(const ir::Node& node, size_t channel_from_end, int64_t channels);

}  // namespace edgelift::passes
