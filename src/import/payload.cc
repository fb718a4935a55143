#include "import/payload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/numbers.h"

namespace edgelift::importer {
namespace {

constexpr size_t kMostDims = 64;

using archive::show;

// Row-major strides do not matter to a tensor without elements, whatever the file says.
std::vector<int64_t> strides_for(const std::vector<int64_t>& sizes, std::vector<int64_t> strides, int64_t numel) {
  return numel == 0 ? contiguous_strides(sizes) : std::move(strides);
}

// Bytes other than 0 and 1 in a bool tensor would be other numbers to every kernel.
bool has_odd_bool(std::span<const std::byte> bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
}

}  // namespace

Result<DType> dtype_of(int64_t number) {
  switch (number) {
    case 1:
      return DType::U8;
    case 2:
      return DType::I8;
    case 3:
      return DType::I16;
    case 4:
      return DType::I32;
    case 5:
      return DType::I64;
    case 6:
      return DType::F16;
    case 7:
      return DType::F32;
    case 8:
      return DType::F64;
    case 9:
      return DType::C32;
    case 10:
      return DType::C64;
    case 11:
      return DType::C128;
    case 12:
      return DType::Bool;
    case 13:
      return DType::BF16;
    case 28:
      return DType::U16;
    case 29:
      return DType::F8E4M3FN;
    case 30:
      return DType::F8E5M2;
    case 31:
      return DType::F8E4M3FNUZ;
    case 32:
      return DType::F8E5M2FNUZ;
    case 34:
      return DType::U32;
    case 35:
      return DType::U64;
    case 33:
      return input_error("element type 33 (float8_e8m0fnu) has no counterpart in ExecuTorch");
    default:
      return input_error(fmt::format("element type {} is not one of the export schema's", number));
  }
}

Result<ir::MemoryFormat> memory_format_of(int64_t number) {
  if (number >= 1 && number <= 4) return static_cast<ir::MemoryFormat>(number);
  return input_error(fmt::format("memory format {} is not one of the export schema's", number));
}

Result<Payloads> Payloads::read(std::shared_ptr<const archive::Pt2> archive, std::string_view model) {
  Payloads out;
  out.archive_ = std::move(archive);
  const std::string weights = fmt::format("data/weights/{}_weights_config.json", model);
  const std::string constants = fmt::format("data/constants/{}_constants_config.json", model);
  EL_TRY(out.weights_, read_payload_table(*out.archive_, weights, "data/weights/"));
  EL_TRY(out.constants_, read_payload_table(*out.archive_, constants, "data/constants/"));
  return out;
}

Result<Payload> Payloads::find(const RawInputSpec& spec) const {
  const bool in_weights =
      spec.kind == RawInputSpec::Kind::Parameter || (spec.kind == RawInputSpec::Kind::Buffer && spec.persistent);
  const PayloadTable& table = in_weights ? weights_ : constants_;
  const auto fail = [&](std::string_view what) {
    return input_error(fmt::format("{}: {} {}: {}; save the model again with torch.export.save", archive_->source(),
                                   in_weights ? "weight" : "constant", show(spec.fqn), what));
  };
  const auto row = table.rows.find(spec.fqn);
  if (row == table.rows.end()) return fail(fmt::format("not listed in entry {}/{}", archive_->root(), table.entry));
  const RawPayload& payload = row->second;
  if (payload.pickled) {
    return fail(
        "stored as a pickle, which is never read (a tensor subclass, as quantization by torchao leaves them?); "
        "unwrap it to plain tensors before export");
  }
  if (!payload.meta) return fail("an object, where a tensor is expected");
  const RawTensorMeta& meta = *payload.meta;

  const bool plain =
      !payload.path.empty() && payload.path.find_first_not_of('.') != payload.path.npos &&
      std::all_of(payload.path.begin(), payload.path.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
      });
  if (!plain) return fail(fmt::format("its path_name {} is not a plain file name", show(payload.path)));
  const archive::ZipEntry* entry = archive_->find(table.folder + std::string(payload.path));
  if (entry == nullptr)
    return fail(fmt::format("entry {}/{}{} is missing", archive_->root(), table.folder, payload.path));
  EL_TRY(const std::span<const std::byte> bytes, archive_->data(*entry));

  const Result<DType> dtype = dtype_of(meta.dtype);
  if (!dtype) return fail(dtype.error().message);
  if (meta.layout != kStridedLayout) {
    return fail(fmt::format("layout {} (sparse or foreign), expected 7 (strided)", meta.layout));
  }
  if (meta.sizes.size() > kMostDims)
    return fail(fmt::format("{} dimensions, at most {} are read", meta.sizes.size(), kMostDims));
  if (meta.strides.size() != meta.sizes.size()) {
    return fail(fmt::format("{} sizes but {} strides", meta.sizes.size(), meta.strides.size()));
  }
  std::vector<int64_t> sizes, strides;
  std::optional<int64_t> numel = 1;
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    if (meta.sizes[i].is_expr() || meta.strides[i].is_expr()) return fail("a stored tensor has a symbolic size");
    sizes.push_back(meta.sizes[i].value);
    strides.push_back(meta.strides[i].value);
    if (sizes.back() < 0 || strides.back() < 0) {
      return fail(fmt::format("dimension {} has size {} and stride {}; neither may be negative", i, sizes.back(),
                              strides.back()));
    }
    if (numel) numel = checked_mul(*numel, std::max<int64_t>(sizes.back(), 1));
  }
  if (meta.offset.is_expr() || meta.offset.value < 0) return fail("its storage_offset is not a number of elements");
  const auto width = static_cast<int64_t>(byte_size(*dtype));
  if (!numel || !checked_mul(*numel, width)) return fail("its sizes multiply to more than 64 bits hold");
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) numel = 0;

  if (bytes.size() % byte_size(*dtype) != 0) {
    return fail(fmt::format("entry {} holds {} bytes, not a multiple of the {} bytes of {}", show(entry->name),
                            bytes.size(), width, long_name(*dtype)));
  }
  if (*numel > 0) {
    if (bytes.empty()) {
      return fail(
          fmt::format("its values were not saved: entry {} is empty, as for a model exported with fake or meta "
                      "tensors",
                      show(entry->name)));
    }
    __int128 last = meta.offset.value;
    for (size_t i = 0; i < sizes.size(); ++i) last += static_cast<__int128>(sizes[i] - 1) * strides[i];
    const __int128 have = static_cast<__int128>(bytes.size()) / width;
    if (last >= have) {
      return fail(fmt::format("needs {} elements of {}, entry {} has {}",
                              last < kUnbounded ? fmt::to_string(static_cast<int64_t>(last) + 1) : "more than 2^63",
                              long_name(*dtype), show(entry->name), static_cast<int64_t>(have)));
    }
  }

  Payload out;
  out.entry = entry->name;
  out.identity = fmt::format("{} {} {} [{}] [{}]", entry->name, short_name(*dtype), meta.offset.value,
                             fmt::join(sizes, ","), fmt::join(strides, ","));
  std::span<const std::byte> storage = bytes;
  std::shared_ptr<const void> owner = archive_;
  const bool odd = *dtype == DType::Bool && has_odd_bool(bytes);
  // A writer's habit puts entries at multiples of 64 bytes; after other zip tools they can lie anywhere.
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % std::min<size_t>(byte_size(*dtype), 16) == 0;
  if (odd || !aligned) {
    auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    if (odd)
      std::transform(copy->begin(), copy->end(), copy->begin(),
                     [](std::byte b) { return std::byte(b != std::byte{0}); });
    storage = *copy;
    owner = std::move(copy);
  }
  strides = strides_for(sizes, std::move(strides), *numel);
  out.data = TensorData(*dtype, std::move(sizes), std::move(strides), *numel == 0 ? 0 : meta.offset.value, storage,
                        std::move(owner));
  return out;
}

}  // namespace edgelift::importer
