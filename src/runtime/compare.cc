#include "runtime/compare.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace edgelift::runtime {
namespace {

std::vector<int64_t> unravel(int64_t at, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> index(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    index[d] = at % sizes[d];
    at /= sizes[d];
  }
  return index;
}

TensorData as_bf16(const TensorData& bits) {
  return TensorData(DType::BF16, bits.sizes(), bits.strides(), bits.offset(), bits.storage(), bits.owner());
}

Difference exact(const TensorData& got, const TensorData& expected) {
  Difference difference;
  for (int64_t i = 0; i < expected.numel(); ++i) {
    const int64_t a = got.element_as_int(i), b = expected.element_as_int(i);
    difference.range = std::max(difference.range, std::fabs(static_cast<double>(b)));
    if (a == b) continue;
    const double distance = std::fabs(static_cast<double>(a) - static_cast<double>(b));
    const Difference::Element element{unravel(i, expected.sizes()), static_cast<double>(a), static_cast<double>(b)};
    if (!difference.first) difference.first = element;
    if (distance > difference.max_abs || !difference.worst) difference.worst = element;
    difference.max_abs = std::max(difference.max_abs, distance);
    difference.ok = false;
  }
  return difference;
}

}  // namespace

std::string Difference::str() const {
  std::string text = fmt::format("max abs error {:.3g}, {:.3g} of the range {:.3g}", max_abs, relative(), range);
  if (special != 0) text += fmt::format(", {} elements that are NaN or infinite on one side only", special);
  if (first)
    text += fmt::format("; first difference at [{}]: {:.9g}, expected {:.9g}", fmt::join(first->index, ","), first->got,
                        first->expected);
  return text;
}

Result<Difference> compare(const TensorData& got, const TensorData& expected, double tolerance) {
  if (got.dtype() == DType::BF16 && expected.dtype() == DType::U16) return compare(got, as_bf16(expected), tolerance);
  if (got.dtype() == DType::U16 && expected.dtype() == DType::BF16) return compare(as_bf16(got), expected, tolerance);
  if (got.dtype() != expected.dtype() || got.sizes() != expected.sizes())
    return input_error(fmt::format("the output is {} [{}], {} [{}] is expected", long_name(got.dtype()),
                                   fmt::join(got.sizes(), ","), long_name(expected.dtype()),
                                   fmt::join(expected.sizes(), ",")));
  if (is_complex(got.dtype())) return input_error("complex outputs cannot be compared");
  if (!is_float(got.dtype())) return exact(got, expected);
  const std::vector<double> a = got.to_doubles(), b = expected.to_doubles();
  Difference difference;
  for (const double value : b)
    if (std::isfinite(value)) difference.range = std::max(difference.range, std::fabs(value));
  const double allowed = tolerance * (difference.range == 0 ? 1 : difference.range);
  for (size_t i = 0; i < b.size(); ++i) {
    bool outside = false;
    if (std::isfinite(a[i]) && std::isfinite(b[i])) {
      const double distance = std::fabs(a[i] - b[i]);
      if (distance > difference.max_abs || !difference.worst)
        difference.worst = Difference::Element{unravel(static_cast<int64_t>(i), expected.sizes()), a[i], b[i]};
      difference.max_abs = std::max(difference.max_abs, distance);
      outside = distance > allowed;
    } else if (!(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))) {
      ++difference.special;
      outside = true;
    }
    if (!outside) continue;
    difference.ok = false;
    if (!difference.first)
      difference.first = Difference::Element{unravel(static_cast<int64_t>(i), expected.sizes()), a[i], b[i]};
  }
  return difference;
}

}  // namespace edgelift::runtime
