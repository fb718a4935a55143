// A constant tensor: a strided view into bytes that somebody else owns (the mapped archive, or bytes made by a pass).
// Copying a TensorData copies no element. Every permutation, slice or expansion of a constant is again a TensorData.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace edgelift {

class TensorData {
 public:
  TensorData() = default;
  // sizes and strides in elements of dtype, offset in elements from the start of storage. The caller has checked that
  // every element lies inside storage (import does, per pt2-format 1.5). `owner` keeps storage alive.
  TensorData(DType dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset,
             std::span<const std::byte> storage, std::shared_ptr<const void> owner);
  // Contiguous data with bytes of its own.
  static TensorData own(DType dtype, std::vector<int64_t> sizes, std::vector<std::byte> bytes);
  template <class T>
  static TensorData of(DType dtype, std::vector<int64_t> sizes, const std::vector<T>& values) {
    const auto* first = reinterpret_cast<const std::byte*>(values.data());
    return own(dtype, std::move(sizes), std::vector<std::byte>(first, first + values.size() * sizeof(T)));
  }

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  const std::vector<int64_t>& strides() const { return strides_; }
  int64_t offset() const { return offset_; }
  int64_t rank() const { return static_cast<int64_t>(sizes_.size()); }
  int64_t numel() const;
  size_t nbytes() const { return static_cast<size_t>(numel()) * byte_size(dtype_); }
  bool empty() const { return numel() == 0; }
  // Elements in row-major order without gaps: bytes() may be used as they are.
  bool is_contiguous() const;
  // The bytes of a contiguous tensor, exactly nbytes() of them.
  std::span<const std::byte> bytes() const;
  std::span<const std::byte> storage() const { return storage_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

  // Views; the arguments must fit (a Bug otherwise).
  TensorData permuted(std::span<const int64_t> dims) const;
  TensorData narrowed(int64_t dim, int64_t start, int64_t length) const;
  TensorData expanded(std::span<const int64_t> sizes) const;  // broadcasting, numpy rules
  // A view with other sizes of equal numel; copies only if the strides cannot express it.
  TensorData reshaped(std::vector<int64_t> sizes) const;
  // Row-major bytes; a copy only where needed.
  TensorData contiguous() const;
  // Elements converted one by one as PyTorch's .to(dtype) does.
  TensorData converted(DType dtype) const;

  // Calls sink with consecutive chunks of the row-major bytes, without building the whole.
  Status stream(const std::function<Status(std::span<const std::byte>)>& sink) const;

  // Element access by row-major index; slow, for scalars and tests. Integers and bools convert exactly within 2^53.
  double element_as_double(int64_t index) const;
  int64_t element_as_int(int64_t index) const;
  std::vector<double> to_doubles() const;
  std::vector<float> to_floats() const;
  // Element-wise equal dtype, sizes and bits.
  bool same_bits(const TensorData& other) const;

 private:
  DType dtype_ = DType::F32;
  std::vector<int64_t> sizes_, strides_;
  int64_t offset_ = 0;
  std::span<const std::byte> storage_;
  std::shared_ptr<const void> owner_;
};

// Row-major strides of sizes.
std::vector<int64_t> contiguous_strides(std::span<const int64_t> sizes);

// A one-element (rank 0) constant of dtype holding value, rounded to nearest as PyTorch does; value must be
// representable for integer dtypes (a Bug otherwise).
TensorData scalar_data(DType dtype, double value);
TensorData scalar_data(DType dtype, int64_t value);

// Conversions of the 16-bit floats, round to nearest even.
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);

}  // namespace edgelift
