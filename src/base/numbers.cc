#include "base/numbers.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/tensor_data.h"

namespace edgelift {

std::string float_text(double value, DType dtype) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 64> buffer{};
  char* end = buffer.data();
  if (dtype == DType::F64) {
    end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  } else if (dtype == DType::F16 || dtype == DType::BF16) {
    // The shortest decimal that rounds back to the same 16-bit float: try digits upwards.
    const auto round_trip = [&](double v) {
      return dtype == DType::F16 ? f32_to_f16(static_cast<float>(v)) : f32_to_bf16(static_cast<float>(v));
    };
    const auto bits = round_trip(value);
    for (int digits = 1; digits <= 17; ++digits) {
      end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::general, digits).ptr;
      double back = 0;
      std::from_chars(buffer.data(), end, back);
      if (round_trip(back) == bits) break;
    }
  } else {
    end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), static_cast<float>(value)).ptr;
  }
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::optional<double> parse_float(std::string_view text) {
  if (text == "nan") return std::nan("");
  if (text == "inf") return HUGE_VAL;
  if (text == "-inf") return -HUGE_VAL;
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> checked_mul(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

std::optional<int64_t> checked_add(int64_t a, int64_t b) {
  int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

std::string human_bytes(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1000000) return fmt::format("{:.1f} KB", static_cast<double>(bytes) / 1e3);
  if (bytes < 1000000000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.2f} GB", static_cast<double>(bytes) / 1e9);
}

}  // namespace edgelift
