// Equations of einsum.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/type.h"

namespace edgelift::ops {

// An equation with one label a dim. Ellipses are spelled out: the dims that one covers get labels from '0' upwards,
// aligned at the right, shared by all operands.
struct Einsum {
  std::vector<std::string> inputs;
  std::string output;
};
// ranks: of the operands, in order.
Result<Einsum> parse_einsum(std::string_view equation, const std::vector<size_t>& ranks);
Result<ir::Shape> einsum_shape(std::string_view equation, const std::vector<ir::Shape>& shapes);

}  // namespace edgelift::ops
