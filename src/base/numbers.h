// Exact number text and checked arithmetic.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace edgelift {

// Shortest text that reads back to the same value in the given float dtype: 0.1, 1e-05, inf, -inf, nan, -0.0, 2.0.
// Always has a '.', an exponent, or is inf/nan, so that it never reads as an integer.
std::string float_text(double value, DType dtype = DType::F64);
std::optional<double> parse_float(std::string_view text);
std::optional<int64_t> parse_int(std::string_view text);

// nullopt on overflow.
std::optional<int64_t> checked_mul(int64_t a, int64_t b);
std::optional<int64_t> checked_add(int64_t a, int64_t b);

// "12.3 MB", "456 KB", "789 B" (decimal units).
std::string human_bytes(uint64_t bytes);

}  // namespace edgelift
