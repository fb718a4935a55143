#include "runtime/npy.h"

#include <cstring>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/file.h"
#include "base/numbers.h"

namespace edgelift::runtime {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Descr {
  std::string_view text;  // kind and bytes, without the byte order
  DType dtype;
};
constexpr Descr kDescrs[] = {
    {"b1", DType::Bool}, {"i1", DType::I8},  {"u1", DType::U8},  {"i2", DType::I16},   {"u2", DType::U16},
    {"i4", DType::I32},  {"u4", DType::U32}, {"i8", DType::I64}, {"u8", DType::U64},   {"f2", DType::F16},
    {"f4", DType::F32},  {"f8", DType::F64}, {"c8", DType::C64}, {"c16", DType::C128}, {"V2", DType::BF16},
};

// The header is a Python dict literal with three known keys; this reads exactly that.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  struct Header {
    std::string descr;
    bool fortran = false;
    std::vector<int64_t> shape;
  };

  std::optional<Header> parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      const std::optional<std::string> key = string();
      if (!key || !take(':')) return std::nullopt;
      if (*key == "descr") {
        const std::optional<std::string> value = string();
        if (!value) return std::nullopt;  // a structured type is a list
        header.descr = *value;
        descr = true;
      } else if (*key == "fortran_order") {
        if (word("True"))
          header.fortran = true;
        else if (!word("False"))
          return std::nullopt;
        order = true;
      } else if (*key == "shape") {
        if (!tuple(header.shape)) return std::nullopt;
        shape = true;
      } else {
        return std::nullopt;
      }
      if (!take(',') && (skip(), at_ >= text_.size() || text_[at_] != '}')) return std::nullopt;
    }
    if (!descr || !order || !shape) return std::nullopt;
    return header;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view w) {
    skip();
    if (text_.substr(at_, w.size()) != w) return false;
    at_ += w.size();
    return true;
  }
  std::optional<std::string> string() {
    skip();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  bool tuple(std::vector<int64_t>& shape) {
    if (!take('(')) return false;
    while (!take(')')) {
      skip();
      const size_t begin = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
      const std::optional<int64_t> size = parse_int(text_.substr(begin, at_ - begin));
      if (!size) return false;
      shape.push_back(*size);
      if (!take(',') && (skip(), at_ >= text_.size() || text_[at_] != ')')) return false;
    }
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::optional<uint64_t> byte_count(DType dtype, const std::vector<int64_t>& sizes) {
  auto total = static_cast<int64_t>(byte_size(dtype));
  for (const int64_t size : sizes) {
    const std::optional<int64_t> next = checked_mul(total, size);
    if (!next) return std::nullopt;
    total = *next;
  }
  return static_cast<uint64_t>(total);
}

}  // namespace

Result<TensorData> parse_npy(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.substr(0, kMagic.size()) != kMagic || bytes.size() < 10)
    return input_error("not a .npy file: it does not begin with NumPy's magic bytes");
  const auto major = static_cast<uint8_t>(text[6]);
  if (major < 1 || major > 3)
    return input_error(fmt::format("version {} of the .npy format is not known (1 to 3 are)", major));
  const size_t start = major == 1 ? 10 : 12;
  if (bytes.size() < start) return input_error("the .npy file ends inside its header");
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, major == 1 ? 2 : 4);
  if (length > bytes.size() - start) return input_error("the .npy file ends inside its header");
  std::optional<HeaderParser::Header> header = HeaderParser(text.substr(start, length)).parse();
  if (!header)
    return input_error("the header of the .npy file is not one that numpy.save writes for an array of plain numbers");
  const std::string& descr = header->descr;
  if (!descr.empty() && descr[0] == '>')
    return input_error(
        fmt::format("the array is big-endian ({}); save it with array.astype(array.dtype.newbyteorder('<'))", descr));
  std::optional<DType> dtype;
  for (const Descr& known : kDescrs)
    if (descr.size() > 1 && descr.substr(1) == known.text) dtype = known.dtype;
  if (!dtype)
    return input_error(fmt::format("the array has the type '{}', which is no element type of a program", descr));
  const std::optional<uint64_t> size = byte_count(*dtype, header->shape);
  const size_t data = start + length;
  if (!size || *size != bytes.size() - data)
    return input_error(fmt::format("an array of {} with shape ({}) needs {} bytes, the file has {}", long_name(*dtype),
                                   fmt::join(header->shape, ", "), size ? std::to_string(*size) : "more than 2^63",
                                   bytes.size() - data));
  std::vector<int64_t> strides = contiguous_strides(header->shape);
  if (header->fortran) {
    int64_t stride = 1;
    for (size_t d = 0; d < strides.size(); ++d) {
      strides[d] = stride;
      stride *= std::max<int64_t>(header->shape[d], 1);
    }
  }
  std::span<const std::byte> storage = bytes.subspan(data);
  if (reinterpret_cast<uintptr_t>(storage.data()) % byte_size(*dtype) != 0) {
    auto copy = std::make_shared<std::vector<std::byte>>(storage.begin(), storage.end());
    storage = *copy;
    owner = std::move(copy);
  }
  return TensorData(*dtype, std::move(header->shape), std::move(strides), 0, storage, std::move(owner));
}

Result<TensorData> read_npy(const std::filesystem::path& path) {
  EL_TRY(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  const std::span<const std::byte> bytes = file->bytes();
  Result<TensorData> data = parse_npy(bytes, std::move(file));
  if (!data) return Error{data.error().kind, path.string() + ": " + data.error().message};
  return data;
}

Result<TensorData> read_raw(const std::filesystem::path& path, DType dtype, std::vector<int64_t> sizes) {
  EL_TRY(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  const std::span<const std::byte> bytes = file->bytes();
  const std::optional<uint64_t> size = byte_count(dtype, sizes);
  if (!size || *size != bytes.size())
    return input_error(fmt::format("{}: {} bytes, but {} of shape [{}] has {}", path.string(), bytes.size(),
                                   long_name(dtype), fmt::join(sizes, ","),
                                   size ? std::to_string(*size) : "more than 2^63"));
  std::vector<int64_t> strides = contiguous_strides(sizes);
  return TensorData(dtype, std::move(sizes), std::move(strides), 0, bytes, std::move(file));
}

std::string npy_bytes(const TensorData& data) {
  std::string_view descr;
  const DType dtype = data.dtype() == DType::BF16 ? DType::U16 : data.dtype();
  for (const Descr& known : kDescrs)
    if (known.dtype == dtype) descr = known.text;
  if (descr.empty()) descr = byte_size(dtype) == 1 ? "u1" : "V4";  // 8-bit floats as bits; pairs of halves as they are
  const char order = byte_size(dtype) == 1 ? '|' : '<';
  std::string shape;
  for (const int64_t size : data.sizes()) shape += fmt::format("{}, ", size);
  if (data.rank() > 1) shape.resize(shape.size() - 2);
  if (data.rank() == 1) shape.resize(shape.size() - 1);
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}", order, descr, shape);
  const size_t prefix = kMagic.size() + 4;
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 0xFF);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.reserve(out.size() + data.nbytes());
  const Status status = data.stream([&](std::span<const std::byte> chunk) -> Status {
    out.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
    return Ok{};
  });
  EL_CHECK(status.ok(), "writing to memory");
  return out;
}

Result<std::unique_ptr<AtomicFile>> stage_npy(const std::filesystem::path& path, const TensorData& data) {
  EL_TRY(auto file, AtomicFile::create(path));
  const std::string bytes = npy_bytes(data);
  EL_TRY_OK(file->write(std::as_bytes(std::span(bytes.data(), bytes.size()))));
  EL_TRY_OK(file->flush());
  return file;
}

}  // namespace edgelift::runtime
