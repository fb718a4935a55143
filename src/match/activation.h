// Activations spelled out in elementary operators.
#pragma once

#include "ir/graph.h"

namespace edgelift::match {

// x if node = x * sigmoid(x) in either order; else null.
ir::Value* match_silu(const ir::Node& node);

// x if node = 0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3))) in any order of the products; else null.
ir::Value* match_gelu_tanh(const ir::Node& node);

// x if node = 0.5 * x * (1 + erf(x / sqrt(2))) in any order of the products; else null.
ir::Value* match_gelu_erf(const ir::Node& node);

}  // namespace edgelift::match
