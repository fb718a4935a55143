// Normalisations spelled out in elementary operators.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace edgelift::match {

struct LayerNorm {
  ir::Value* input = nullptr;
  double eps = 0;
  int64_t dims = 1;  // how many trailing dims are normalised
};

// node = (x - mean(x)) * rsqrt(mean((x - mean(x))^2) + eps), or the same with a division by sqrt. The affine is not
// part of it.
std::optional<LayerNorm> match_layer_norm(const ir::Node& node);

struct RmsNorm {
  ir::Value* input = nullptr;
  double eps = 0;
  ir::Node* rsqrt = nullptr;
};

// node = x * rsqrt(mean(x^2, last dim, keepdim) + eps), in either order of the product.
std::optional<RmsNorm> match_rms_norm(const ir::Node& node);

}  // namespace edgelift::match
