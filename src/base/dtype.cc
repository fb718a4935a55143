#include "base/dtype.h"

#include <array>

#include "base/check.h"

namespace edgelift {

namespace {

struct Row {
  DType dtype;
  uint8_t bytes;
  std::string_view short_name, long_name;
};

constexpr std::array kRows = {
    Row{DType::U8, 1, "u8", "uint8"},
    Row{DType::I8, 1, "i8", "int8"},
    Row{DType::I16, 2, "i16", "int16"},
    Row{DType::I32, 4, "i32", "int32"},
    Row{DType::I64, 8, "i64", "int64"},
    Row{DType::F16, 2, "f16", "float16"},
    Row{DType::F32, 4, "f32", "float32"},
    Row{DType::F64, 8, "f64", "float64"},
    Row{DType::C32, 4, "c32", "complex32"},
    Row{DType::C64, 8, "c64", "complex64"},
    Row{DType::C128, 16, "c128", "complex128"},
    Row{DType::Bool, 1, "bool", "bool"},
    Row{DType::BF16, 2, "bf16", "bfloat16"},
    Row{DType::F8E5M2, 1, "f8e5m2", "float8_e5m2"},
    Row{DType::F8E4M3FN, 1, "f8e4m3fn", "float8_e4m3fn"},
    Row{DType::F8E5M2FNUZ, 1, "f8e5m2fnuz", "float8_e5m2fnuz"},
    Row{DType::F8E4M3FNUZ, 1, "f8e4m3fnuz", "float8_e4m3fnuz"},
    Row{DType::U16, 2, "u16", "uint16"},
    Row{DType::U32, 4, "u32", "uint32"},
    Row{DType::U64, 8, "u64", "uint64"},
};

const Row& row(DType dtype) {
  for (const Row& r : kRows)
    if (r.dtype == dtype) return r;
  EL_UNREACHABLE("unknown dtype number " + std::to_string(static_cast<int>(dtype)));
}

}  // namespace

size_t byte_size(DType dtype) { return row(dtype).bytes; }
std::string_view short_name(DType dtype) { return row(dtype).short_name; }
std::string_view long_name(DType dtype) { return row(dtype).long_name; }

std::optional<DType> dtype_from_short_name(std::string_view name) {
  for (const Row& r : kRows)
    if (r.short_name == name) return r.dtype;
  return std::nullopt;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  const auto complex_of = [](DType d) {
    return d == DType::F64 || d == DType::C128  ? DType::C128
           : d == DType::F16 || d == DType::C32 ? DType::C32
                                                : DType::C64;
  };
  if (is_complex(a) || is_complex(b)) {
    const DType ca = is_complex(a) ? a : is_float(a) ? complex_of(a) : b;
    const DType cb = is_complex(b) ? b : is_float(b) ? complex_of(b) : a;
    return byte_size(ca) >= byte_size(cb) ? ca : cb;
  }
  if (is_float(a) || is_float(b)) {
    if (!is_float(a)) return b;
    if (!is_float(b)) return a;
    if (a == DType::F64 || b == DType::F64) return DType::F64;
    // f16 with bf16 gives f32, as does anything with f32.
    return DType::F32;
  }
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  // Integers: the wider one; u8 with a signed type of the same width gives the next wider signed type.
  const auto is_unsigned = [](DType d) {
    return d == DType::U8 || d == DType::U16 || d == DType::U32 || d == DType::U64;
  };
  if (is_unsigned(a) != is_unsigned(b)) {
    const DType u = is_unsigned(a) ? a : b, s = is_unsigned(a) ? b : a;
    if (byte_size(s) > byte_size(u)) return s;
    switch (byte_size(u)) {
      case 1:
        return DType::I16;
      case 2:
        return DType::I32;
      default:
        return DType::I64;
    }
  }
  return byte_size(a) >= byte_size(b) ? a : b;
}

}  // namespace edgelift
