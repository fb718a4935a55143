#include "passes/weights.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace edgelift::passes {

std::shared_ptr<std::byte[]> uninitialised(size_t bytes) { return std::make_shared_for_overwrite<std::byte[]>(bytes); }

TensorData adopt(DType dtype, const std::vector<int64_t>& sizes, const std::shared_ptr<std::byte[]>& bytes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return {dtype,
          sizes,
          contiguous_strides(sizes),
          0,
          std::span<const std::byte>(bytes.get(), static_cast<size_t>(count) * byte_size(dtype)),
          bytes};
}

namespace {

using Pair = double __attribute__((vector_size(16)));  // of GCC and clang

// f32 in, f32 out without a detour over a vector of doubles: the one case where size matters.
// The weight is taken as rows of `width` elements; no division an element, for models have many.
template <class F>
TensorData mapped(const TensorData& weight, size_t width, F&& factor_of) {
  const TensorData packed = weight.contiguous();
  const auto count = static_cast<size_t>(packed.numel());
  const size_t rows = width == 0 ? 0 : count / width;
  if (weight.dtype() == DType::F32) {
    const std::shared_ptr<std::byte[]> bytes = uninitialised(count * sizeof(float));
    const std::byte* in = packed.bytes().data();
    std::byte* out = bytes.get();
    for (size_t row = 0; row < rows; ++row) {
      for (size_t column = 0; column < width; ++column, in += sizeof(float), out += sizeof(float)) {
        float x;
        std::memcpy(&x, in, sizeof x);
        const auto y = static_cast<float>(static_cast<double>(x) * factor_of(row, column));
        std::memcpy(out, &y, sizeof y);
      }
    }
    return adopt(DType::F32, weight.sizes(), bytes);
  }
  std::vector<double> values = packed.to_doubles();
  for (size_t row = 0, i = 0; row < rows; ++row)
    for (size_t column = 0; column < width; ++column, ++i) values[i] *= factor_of(row, column);
  return TensorData::of(DType::F64, weight.sizes(), values).converted(weight.dtype());
}

}  // namespace

TensorData scale_rows(const TensorData& weight, const std::vector<double>& factors) {
  EL_CHECK(weight.rank() >= 1 && weight.sizes()[0] == static_cast<int64_t>(factors.size()), "one factor a row");
  const size_t width = factors.empty() ? 0 : static_cast<size_t>(weight.numel()) / factors.size();
  return mapped(weight, width, [&](size_t row, size_t) { return factors[row]; });
}

TensorData scale_columns(const TensorData& weight, const std::vector<double>& factors) {
  EL_CHECK(weight.rank() == 2 && weight.sizes()[1] == static_cast<int64_t>(factors.size()), "one factor a column");
  return mapped(weight, factors.size(), [&](size_t, size_t column) { return factors[column]; });
}

TensorData scale_all(const TensorData& weight, double factor) {
  return mapped(weight, static_cast<size_t>(weight.numel()), [&](size_t, size_t) { return factor; });
}

std::vector<double> times_vector(const TensorData& weight, const std::vector<double>& vector) {
  EL_CHECK(weight.rank() == 2 && weight.sizes()[1] == static_cast<int64_t>(vector.size()), "a matrix of that width");
  const auto rows = static_cast<size_t>(weight.sizes()[0]);
  std::vector<double> out(rows, 0.0);
  const TensorData packed = weight.contiguous();
  if (weight.dtype() == DType::F32) {
    const std::byte* in = packed.bytes().data();
    for (size_t r = 0; r < rows; ++r) {
      double sum = 0;
      for (size_t c = 0; c < vector.size(); ++c) {
        float x;
        std::memcpy(&x, in + (r * vector.size() + c) * sizeof(float), sizeof x);
        sum += static_cast<double>(x) * vector[c];
      }
      out[r] = sum;
    }
    return out;
  }
  const std::vector<double> values = packed.to_doubles();
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < vector.size(); ++c) out[r] += values[r * vector.size() + c] * vector[c];
  return out;
}

TensorData times_matrix(const TensorData& a, const TensorData& b) {
  EL_CHECK(a.rank() == 2 && b.rank() == 2 && a.sizes()[1] == b.sizes()[0], "two matrices that fit");
  const auto m = static_cast<size_t>(a.sizes()[0]), k = static_cast<size_t>(a.sizes()[1]),
             n = static_cast<size_t>(b.sizes()[1]);
  const std::vector<double> left = a.to_doubles(), right = b.to_doubles();
  std::vector<float> out(m * n);
  // A panel of four columns of b stays in the first cache while the rows of a pass, four at a time. The sums stand in
  // pairs: a compiler makes one register of each on every machine.
  constexpr size_t kTile = 4;
  std::vector<Pair> panel(k * 2);
  for (size_t column = 0; column < n; column += kTile) {
    const size_t columns = std::min(kTile, n - column);
    const auto at = [&](size_t i, size_t c) { return c < columns ? right[i * n + column + c] : 0.0; };
    for (size_t i = 0; i < k; ++i) {
      panel[2 * i] = Pair{at(i, 0), at(i, 1)};
      panel[2 * i + 1] = Pair{at(i, 2), at(i, 3)};
    }
    for (size_t row = 0; row < m; row += kTile) {
      const auto from = [&](size_t r) { return &left[std::min(row + r, m - 1) * k]; };
      const double *r0 = from(0), *r1 = from(1), *r2 = from(2), *r3 = from(3);
      Pair a0{}, a1{}, b0{}, b1{}, c0{}, c1{}, d0{}, d1{};
      for (size_t i = 0; i < k; ++i) {
        const Pair low = panel[2 * i], high = panel[2 * i + 1];
        a0 += r0[i] * low;
        a1 += r0[i] * high;
        b0 += r1[i] * low;
        b1 += r1[i] * high;
        c0 += r2[i] * low;
        c1 += r2[i] * high;
        d0 += r3[i] * low;
        d1 += r3[i] * high;
      }
      const Pair sums[kTile][2] = {{a0, a1}, {b0, b1}, {c0, c1}, {d0, d1}};
      for (size_t r = 0; r < std::min(kTile, m - row); ++r)
        for (size_t c = 0; c < columns; ++c)
          out[(row + r) * n + column + c] = static_cast<float>(sums[r][c / 2][c % 2]);
    }
  }
  return TensorData::of(DType::F32, {a.sizes()[0], b.sizes()[1]}, out);
}

TensorData vector_data(DType dtype, const std::vector<double>& values) {
  return TensorData::of(DType::F64, {static_cast<int64_t>(values.size())}, values).converted(dtype);
}

TensorData combine(const TensorData& a, const TensorData& b, std::vector<int64_t> sizes,
                   const std::function<double(double, double)>& f) {
  const std::vector<double> left = a.expanded(sizes).to_doubles();
  const std::vector<double> right = b.expanded(sizes).to_doubles();
  std::vector<double> out(left.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = f(left[i], right[i]);
  return TensorData::of(DType::F64, std::move(sizes), out).converted(a.dtype());
}

}  // namespace edgelift::passes
