#include "base/tensor_data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace edgelift {

std::vector<int64_t> contiguous_strides(std::span<const int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

TensorData::TensorData(DType dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides, int64_t offset,
                       std::span<const std::byte> storage, std::shared_ptr<const void> owner)
    : dtype_(dtype),
      sizes_(std::move(sizes)),
      strides_(std::move(strides)),
      offset_(offset),
      storage_(storage),
      owner_(std::move(owner)) {
  EL_CHECK(sizes_.size() == strides_.size(), "sizes and strides of a constant");
}

TensorData TensorData::own(DType dtype, std::vector<int64_t> sizes, std::vector<std::byte> bytes) {
  auto owned = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> storage(*owned);
  auto strides = contiguous_strides(sizes);
  TensorData data(dtype, std::move(sizes), std::move(strides), 0, storage, std::move(owned));
  EL_CHECK(storage.size() == data.nbytes(), "bytes of a constant");
  return data;
}

int64_t TensorData::numel() const {
  int64_t n = 1;
  for (int64_t s : sizes_) n *= s;
  return n;
}

bool TensorData::is_contiguous() const {
  if (empty()) return true;
  int64_t expected = 1;
  for (size_t i = sizes_.size(); i-- > 0;) {
    if (sizes_[i] != 1 && strides_[i] != expected) return false;
    expected *= sizes_[i];
  }
  return true;
}

std::span<const std::byte> TensorData::bytes() const {
  EL_CHECK(is_contiguous(), "bytes() of a constant with gaps");
  if (empty()) return {};
  return storage_.subspan(static_cast<size_t>(offset_) * byte_size(dtype_), nbytes());
}

TensorData TensorData::permuted(std::span<const int64_t> dims) const {
  EL_CHECK(dims.size() == sizes_.size(), "rank of a permutation");
  TensorData out = *this;
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto from = static_cast<size_t>(dims[i]);
    out.sizes_[i] = sizes_.at(from);
    out.strides_[i] = strides_.at(from);
  }
  return out;
}

TensorData TensorData::narrowed(int64_t dim, int64_t start, int64_t length) const {
  const auto d = static_cast<size_t>(dim);
  EL_CHECK(d < sizes_.size() && start >= 0 && length >= 0 && start + length <= sizes_[d], "range of a slice");
  TensorData out = *this;
  out.sizes_[d] = length;
  out.offset_ += start * strides_[d];
  return out;
}

TensorData TensorData::expanded(std::span<const int64_t> sizes) const {
  EL_CHECK(sizes.size() >= sizes_.size(), "rank of an expansion");
  TensorData out = *this;
  const size_t lead = sizes.size() - sizes_.size();
  out.sizes_.assign(sizes.begin(), sizes.end());
  out.strides_.assign(sizes.size(), 0);
  for (size_t i = 0; i < sizes_.size(); ++i) {
    EL_CHECK(sizes_[i] == sizes[lead + i] || sizes_[i] == 1, "sizes of an expansion");
    out.strides_[lead + i] = sizes_[i] == sizes[lead + i] ? strides_[i] : 0;
  }
  return out;
}

TensorData TensorData::reshaped(std::vector<int64_t> sizes) const {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  EL_CHECK(n == numel(), "elements of a reshape");
  if (n == 0 || is_contiguous()) {
    auto strides = contiguous_strides(sizes);
    return {dtype_, std::move(sizes), std::move(strides), offset_, storage_, owner_};
  }
  // Walk both shapes in groups of equal product; inside a group the old dims must collapse into one.
  std::vector<int64_t> old_sizes, old_strides;
  for (size_t i = 0; i < sizes_.size(); ++i) {
    if (sizes_[i] == 1) continue;
    old_sizes.push_back(sizes_[i]);
    old_strides.push_back(strides_[i]);
  }
  std::vector<int64_t> strides(sizes.size(), 0);
  size_t o = 0, i = 0;
  bool expressible = true;
  while (i < sizes.size() && expressible) {
    if (sizes[i] == 1) {
      strides[i++] = 0;
      continue;
    }
    size_t o_end = o + 1, i_end = i + 1;
    int64_t old_product = old_sizes[o], new_product = sizes[i];
    while (old_product != new_product) {
      if (old_product < new_product) {
        old_product *= old_sizes[o_end++];
      } else {
        new_product *= sizes[i_end++];
      }
    }
    for (size_t k = o; k + 1 < o_end; ++k)
      if (old_strides[k] != old_strides[k + 1] * old_sizes[k + 1]) expressible = false;
    int64_t stride = old_strides[o_end - 1];
    for (size_t k = i_end; k-- > i;) {
      strides[k] = stride;
      stride *= sizes[k];
    }
    o = o_end;
    i = i_end;
  }
  if (expressible) return {dtype_, std::move(sizes), std::move(strides), offset_, storage_, owner_};
  return contiguous().reshaped(std::move(sizes));
}

TensorData TensorData::contiguous() const {
  if (is_contiguous()) return *this;
  std::vector<std::byte> out;
  out.reserve(nbytes());
  const Status status = stream([&](std::span<const std::byte> chunk) -> Status {
    out.insert(out.end(), chunk.begin(), chunk.end());
    return Ok{};
  });
  EL_CHECK(status.ok(), "gathering in memory");
  return own(dtype_, sizes_, std::move(out));
}

namespace {

// Dims with size 1 dropped and dims that lie next to each other in memory merged, innermost last.
void simplify(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, std::vector<int64_t>& out_sizes,
              std::vector<int64_t>& out_strides) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 1) continue;
    if (!out_sizes.empty() && out_strides.back() == strides[i] * sizes[i]) {
      out_sizes.back() *= sizes[i];
      out_strides.back() = strides[i];
    } else {
      out_sizes.push_back(sizes[i]);
      out_strides.push_back(strides[i]);
    }
  }
  if (out_sizes.empty()) {
    out_sizes.push_back(1);
    out_strides.push_back(1);
  }
}

template <class T>
void gather_row(const std::byte* source, int64_t stride, int64_t count, std::byte* out) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(out + i * static_cast<int64_t>(sizeof(T)), source + i * stride * static_cast<int64_t>(sizeof(T)),
                sizeof(T));
}

// Rows of a transposed matrix: out[r][i] = source[r + i * stride]. In blocks of rows, so that each line of the source
// is fetched once and not once a row.
template <class T>
void gather_columns(const std::byte* source, int64_t stride, int64_t rows, int64_t inner, std::byte* out) {
  constexpr int64_t kRows = 64 / sizeof(T);
  for (int64_t first = 0; first < rows; first += kRows) {
    const int64_t count = std::min(kRows, rows - first);
    for (int64_t i = 0; i < inner; ++i) {
      const std::byte* from = source + (first + i * stride) * static_cast<int64_t>(sizeof(T));
      std::byte* to = out + (first * inner + i) * static_cast<int64_t>(sizeof(T));
      for (int64_t r = 0; r < count; ++r)
        std::memcpy(to + r * inner * static_cast<int64_t>(sizeof(T)), from + r * static_cast<int64_t>(sizeof(T)),
                    sizeof(T));
    }
  }
}

void gather_columns(size_t element, const std::byte* source, int64_t stride, int64_t rows, int64_t inner,
                    std::byte* out) {
  if (element == 4) return gather_columns<uint32_t>(source, stride, rows, inner, out);
  if (element == 2) return gather_columns<uint16_t>(source, stride, rows, inner, out);
  if (element == 1) return gather_columns<uint8_t>(source, stride, rows, inner, out);
  gather_columns<uint64_t>(source, stride, rows, inner, out);
}

}  // namespace

Status TensorData::stream(const std::function<Status(std::span<const std::byte>)>& sink) const {
  if (empty()) return Ok{};
  if (is_contiguous()) return sink(bytes());
  std::vector<int64_t> sizes, strides;
  simplify(sizes_, strides_, sizes, strides);
  const size_t element = byte_size(dtype_);
  const std::byte* base = storage_.data() + static_cast<size_t>(offset_) * element;
  const int64_t inner = sizes.back(), inner_stride = strides.back();
  std::vector<int64_t> index(sizes.size() - 1, 0);
  std::vector<std::byte> buffer;
  constexpr size_t kChunk = 256 * 1024;
  const size_t row_bytes = static_cast<size_t>(inner) * element;
  buffer.reserve(std::max(kChunk, row_bytes) + row_bytes);
  // The dim next to the innermost one lies side by side in memory: a transposition.
  const bool transposed = !index.empty() && strides[index.size() - 1] == 1 && inner_stride != 1 &&
                          std::has_single_bit(element) && element <= 8;
  const size_t fewest_rows = row_bytes <= 4 * kChunk ? 16 : 1;
  const auto rows_a_chunk = static_cast<int64_t>(std::max(fewest_rows, kChunk / row_bytes));
  for (;;) {
    int64_t at = 0;
    for (size_t i = 0; i < index.size(); ++i) at += index[i] * strides[i];
    const std::byte* source = base + at * static_cast<int64_t>(element);
    const size_t begin = buffer.size();
    const int64_t rows = transposed ? std::min(rows_a_chunk, sizes[index.size() - 1] - index.back()) : 1;
    buffer.resize(begin + static_cast<size_t>(rows) * row_bytes);
    std::byte* out = buffer.data() + begin;
    if (transposed) {
      gather_columns(element, source, inner_stride, rows, inner, out);
      index.back() += rows - 1;  // the step below takes the last of them
    } else if (inner_stride == 1) {
      std::memcpy(out, source, row_bytes);
    } else if (element == 4) {
      gather_row<uint32_t>(source, inner_stride, inner, out);
    } else if (element == 2) {
      gather_row<uint16_t>(source, inner_stride, inner, out);
    } else if (element == 8) {
      gather_row<uint64_t>(source, inner_stride, inner, out);
    } else if (element == 1) {
      gather_row<uint8_t>(source, inner_stride, inner, out);
    } else {
      for (int64_t i = 0; i < inner; ++i)
        std::memcpy(out + static_cast<size_t>(i) * element, source + i * inner_stride * static_cast<int64_t>(element),
                    element);
    }
    if (buffer.size() >= kChunk) {
      EL_TRY_OK(sink(buffer));
      buffer.clear();
    }
    size_t d = index.size();
    while (d > 0) {
      --d;
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
      if (d == 0) {
        if (buffer.empty()) return Ok{};
        return sink(buffer);
      }
    }
    if (index.empty()) {
      if (buffer.empty()) return Ok{};
      return sink(buffer);
    }
  }
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 0x1Fu;
  uint32_t mantissa = bits & 0x3FFu;
  if (exponent == 0) {
    if (mantissa == 0) return std::bit_cast<float>(sign);
    // A subnormal: value = mantissa * 2^-24.
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13));
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

uint16_t f32_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u | ((magnitude >> 13) & 0x1FFu));
  if (magnitude >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);  // 65520 and more round to infinity
  if (magnitude < 0x38800000u) {  // below 2^-14: a subnormal; adding 0.5 rounds to the nearest multiple of 2^-24
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000u));
  }
  const uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

namespace {

template <class T>
T read_as(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

double read_double(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::U8:
      return read_as<uint8_t>(at);
    case DType::I8:
      return read_as<int8_t>(at);
    case DType::I16:
      return read_as<int16_t>(at);
    case DType::I32:
      return read_as<int32_t>(at);
    case DType::I64:
      return static_cast<double>(read_as<int64_t>(at));
    case DType::U16:
      return read_as<uint16_t>(at);
    case DType::U32:
      return read_as<uint32_t>(at);
    case DType::U64:
      return static_cast<double>(read_as<uint64_t>(at));
    case DType::Bool:
      return read_as<uint8_t>(at) != 0 ? 1.0 : 0.0;
    case DType::F16:
      return f16_to_f32(read_as<uint16_t>(at));
    case DType::BF16:
      return bf16_to_f32(read_as<uint16_t>(at));
    case DType::F32:
      return read_as<float>(at);
    case DType::F64:
      return read_as<double>(at);
    default:
      EL_UNREACHABLE("a number of dtype " + std::string(long_name(dtype)));
  }
}

int64_t read_int(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::I64:
      return read_as<int64_t>(at);
    case DType::U64:
      return static_cast<int64_t>(read_as<uint64_t>(at));
    default:
      return static_cast<int64_t>(read_double(dtype, at));
  }
}

template <class T>
void write_as(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

void write_float(DType dtype, std::byte* at, double value) {
  switch (dtype) {
    case DType::F16:
      write_as<uint16_t>(at, f32_to_f16(static_cast<float>(value)));
      return;
    case DType::BF16:
      write_as<uint16_t>(at, f32_to_bf16(static_cast<float>(value)));
      return;
    case DType::F32:
      write_as<float>(at, static_cast<float>(value));
      return;
    case DType::F64:
      write_as<double>(at, value);
      return;
    case DType::Bool:
      write_as<uint8_t>(at, value != 0 ? 1 : 0);
      return;
    default:
      EL_UNREACHABLE("writing a float as " + std::string(long_name(dtype)));
  }
}

void write_int(DType dtype, std::byte* at, int64_t value) {
  switch (dtype) {
    case DType::U8:
      write_as<uint8_t>(at, static_cast<uint8_t>(value));
      return;
    case DType::I8:
      write_as<int8_t>(at, static_cast<int8_t>(value));
      return;
    case DType::I16:
      write_as<int16_t>(at, static_cast<int16_t>(value));
      return;
    case DType::I32:
      write_as<int32_t>(at, static_cast<int32_t>(value));
      return;
    case DType::I64:
      write_as<int64_t>(at, value);
      return;
    case DType::U16:
      write_as<uint16_t>(at, static_cast<uint16_t>(value));
      return;
    case DType::U32:
      write_as<uint32_t>(at, static_cast<uint32_t>(value));
      return;
    case DType::U64:
      write_as<uint64_t>(at, static_cast<uint64_t>(value));
      return;
    default:
      write_float(dtype, at, static_cast<double>(value));
      return;
  }
}

}  // namespace

TensorData TensorData::converted(DType dtype) const {
  if (dtype == dtype_) return *this;
  const TensorData source = contiguous();
  const auto in = source.bytes();
  const size_t from = byte_size(dtype_), to = byte_size(dtype);
  const auto n = static_cast<size_t>(numel());
  std::vector<std::byte> out(n * to);
  const bool float_in = is_float(dtype_), float_out = is_float(dtype) || dtype == DType::Bool;
  for (size_t i = 0; i < n; ++i) {
    const std::byte* at = in.data() + i * from;
    if (float_out) {
      write_float(dtype, out.data() + i * to, read_double(dtype_, at));
    } else if (float_in) {
      const double value = read_double(dtype_, at);
      EL_CHECK(std::isfinite(value) && std::fabs(value) < 0x1p63, "converting a float constant to an integer dtype");
      write_int(dtype, out.data() + i * to, static_cast<int64_t>(value));
    } else {
      write_int(dtype, out.data() + i * to, read_int(dtype_, at));
    }
  }
  return own(dtype, sizes_, std::move(out));
}

namespace {
size_t offset_of(const TensorData& data, int64_t index) {
  int64_t at = data.offset();
  for (size_t i = data.sizes().size(); i-- > 0;) {
    at += (index % data.sizes()[i]) * data.strides()[i];
    index /= data.sizes()[i];
  }
  return static_cast<size_t>(at) * byte_size(data.dtype());
}
}  // namespace

double TensorData::element_as_double(int64_t index) const {
  EL_CHECK(index >= 0 && index < numel(), "element of a constant");
  return read_double(dtype_, storage_.data() + offset_of(*this, index));
}

int64_t TensorData::element_as_int(int64_t index) const {
  EL_CHECK(index >= 0 && index < numel(), "element of a constant");
  return read_int(dtype_, storage_.data() + offset_of(*this, index));
}

std::vector<double> TensorData::to_doubles() const {
  const TensorData source = contiguous();
  const auto in = source.bytes();
  std::vector<double> out(static_cast<size_t>(numel()));
  const size_t element = byte_size(dtype_);
  for (size_t i = 0; i < out.size(); ++i) out[i] = read_double(dtype_, in.data() + i * element);
  return out;
}

std::vector<float> TensorData::to_floats() const {
  const TensorData source = contiguous();
  const auto in = source.bytes();
  std::vector<float> out(static_cast<size_t>(numel()));
  if (dtype_ == DType::F32) {
    if (!in.empty()) std::memcpy(out.data(), in.data(), in.size());
    return out;
  }
  const size_t element = byte_size(dtype_);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(read_double(dtype_, in.data() + i * element));
  return out;
}

bool TensorData::same_bits(const TensorData& other) const {
  if (dtype_ != other.dtype_ || sizes_ != other.sizes_) return false;
  if (storage_.data() == other.storage_.data() && offset_ == other.offset_ && strides_ == other.strides_) return true;
  const TensorData a = contiguous(), b = other.contiguous();
  const auto x = a.bytes(), y = b.bytes();
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0);
}

TensorData scalar_data(DType dtype, double value) {
  if (is_integer(dtype)) {
    EL_CHECK(std::isfinite(value) && value == std::trunc(value) && std::fabs(value) < 0x1p63,
             "a fraction as an integer constant");
    return scalar_data(dtype, static_cast<int64_t>(value));
  }
  std::vector<std::byte> bytes(byte_size(dtype));
  write_float(dtype, bytes.data(), value);
  return TensorData::own(dtype, {}, std::move(bytes));
}

TensorData scalar_data(DType dtype, int64_t value) {
  std::vector<std::byte> bytes(byte_size(dtype));
  write_int(dtype, bytes.data(), value);
  if (is_integer(dtype)) EL_CHECK(read_int(dtype, bytes.data()) == value, "a number that its dtype cannot hold");
  return TensorData::own(dtype, {}, std::move(bytes));
}

}  // namespace edgelift
