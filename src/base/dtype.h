// Element types. The numbers are c10's ScalarType, which the .pte schema uses as they are (pte-format: ScalarType).
// The .pt2 schema has another numbering, translated by src/import.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace edgelift {

enum class DType : int8_t {
  U8 = 0,
  I8 = 1,
  I16 = 2,
  I32 = 3,
  I64 = 4,
  F16 = 5,
  F32 = 6,
  F64 = 7,
  C32 = 8,
  C64 = 9,
  C128 = 10,
  Bool = 11,
  BF16 = 15,
  F8E5M2 = 23,
  F8E4M3FN = 24,
  F8E5M2FNUZ = 25,
  F8E4M3FNUZ = 26,
  U16 = 27,
  U32 = 28,
  U64 = 29,
};

size_t byte_size(DType dtype);
// Short name of the text form: f32, f16, bf16, f64, i8 … i64, u8 …, bool, c64, f8e5m2 …
std::string_view short_name(DType dtype);
std::optional<DType> dtype_from_short_name(std::string_view name);
// Name in NumPy's and PyTorch's words, for messages: float32, int64, bool …
std::string_view long_name(DType dtype);

constexpr bool is_float(DType d) {
  return d == DType::F16 || d == DType::F32 || d == DType::F64 || d == DType::BF16 ||
         (d >= DType::F8E5M2 && d <= DType::F8E4M3FNUZ);
}
constexpr bool is_complex(DType d) { return d == DType::C32 || d == DType::C64 || d == DType::C128; }
// True for integers; bool is not one of them.
constexpr bool is_integer(DType d) {
  return (d >= DType::U8 && d <= DType::I64) || (d >= DType::U16 && d <= DType::U64);
}

// PyTorch's type promotion of two tensors of positive rank (c10::promoteTypes).
DType promote(DType a, DType b);

}  // namespace edgelift
