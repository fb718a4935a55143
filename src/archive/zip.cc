#include "archive/zip.h"

#include <fmt/format.h>
#include <minizip/unzip.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace edgelift::archive {
namespace {

// minizip reads through these callbacks, so that the archive is mapped once and never read a second time.
struct MemoryFile {
  std::span<const std::byte> bytes;
  uint64_t position = 0;
};

voidpf memory_open(voidpf opaque, const void*, int) { return opaque; }

uLong memory_read(voidpf, voidpf stream, void* out, uLong size) {
  auto& file = *static_cast<MemoryFile*>(stream);
  const uint64_t left = file.bytes.size() - std::min<uint64_t>(file.position, file.bytes.size());
  const uint64_t count = std::min<uint64_t>(size, left);
  if (count != 0) std::memcpy(out, file.bytes.data() + file.position, count);
  file.position += count;
  return static_cast<uLong>(count);
}

uLong memory_write(voidpf, voidpf, const void*, uLong) { return 0; }

ZPOS64_T memory_tell(voidpf, voidpf stream) { return static_cast<MemoryFile*>(stream)->position; }

long memory_seek(voidpf, voidpf stream, ZPOS64_T offset, int origin) {
  auto& file = *static_cast<MemoryFile*>(stream);
  uint64_t base = 0;
  if (origin == ZLIB_FILEFUNC_SEEK_CUR) base = file.position;
  if (origin == ZLIB_FILEFUNC_SEEK_END) base = file.bytes.size();
  // Offsets come from the archive: a sum that wraps or leaves the file is a failed seek.
  if (offset > file.bytes.size() - std::min<uint64_t>(base, file.bytes.size())) return -1;
  file.position = base + offset;
  return 0;
}

int memory_close(voidpf, voidpf) { return 0; }
int memory_error(voidpf, voidpf) { return 0; }

struct CloseUnzip {
  void operator()(void* file) const { unzClose(file); }
};

uint32_t load_le32(std::span<const std::byte> bytes, uint64_t offset) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Names are keys, yet a name that could not have been written by the exporter shows a file that was tampered with.
std::string_view name_fault(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.find('\0') != name.npos) return "holds a NUL byte";
  if (name.find('\\') != name.npos) return "holds a backslash";
  if (name.front() == '/') return "is an absolute path";
  for (size_t first = 0; first <= name.size();) {
    const size_t slash = std::min(name.find('/', first), name.size());
    if (name.substr(first, slash - first) == "..") return "holds '..'";
    first = slash + 1;
  }
  return {};
}

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50;
constexpr uint64_t kLocalHeaderBytes = 30;

}  // namespace

std::string show(std::string_view text) {
  constexpr size_t kMost = 200;
  std::string out = "\"";
  for (const char c : text.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + (text.size() > kMost ? "…\"" : "\"");
}

Result<Zip> Zip::open(std::span<const std::byte> bytes, std::string source) {
  Zip zip;
  zip.bytes_ = bytes;
  zip.source_ = std::move(source);
  const auto fail = [&](std::string what) {
    return input_error(fmt::format("{}: {}", zip.source_, what));
  };
  const std::string_view resave = "copy or download the file again, or re-save it with torch.export.save";

  MemoryFile memory{bytes};
  zlib_filefunc64_def functions = {memory_open,  memory_read,  memory_write, memory_tell,
                                   memory_seek,  memory_close, memory_error, &memory};
  const std::unique_ptr<void, CloseUnzip> file(unzOpen2_64("", &functions));
  if (file == nullptr) {
    return fail(fmt::format("not a complete zip archive: no sound end-of-central-directory record in its last 64 KiB "
                            "({} bytes in all; cut off or damaged?); {}", bytes.size(), resave));
  }
  unz_global_info64 global{};
  if (unzGetGlobalInfo64(file.get(), &global) != UNZ_OK || global.number_entry == 0) {
    return fail("the zip archive has no entries; re-save it with torch.export.save");
  }

  // minizip tells positions relative to the first byte of the archive proper; with nothing before it the first central
  // header stands where it says.
  if (unzGoToFirstFile(file.get()) != UNZ_OK) {
    return fail(fmt::format("the first record of the zip's central directory is damaged; {}", resave));
  }
  const uint64_t directory = unzGetOffset64(file.get());
  if (directory > bytes.size() || bytes.size() - directory < kTailBytes || load_le32(bytes, directory) != kCentralHeader) {
    return fail(fmt::format("the zip's central directory is not at byte {} where its end record says, or other data stands "
                            "before the archive; {}", directory, resave));
  }

  struct Extent {
    uint64_t first, last;
    size_t entry;
  };
  std::vector<Extent> extents;
  std::vector<char> name(1 << 16);
  std::string_view previous;
  for (int status = UNZ_OK; status != UNZ_END_OF_LIST_OF_FILE; status = unzGoToNextFile(file.get())) {
    if (status != UNZ_OK) {
      return fail(fmt::format("the zip's central directory breaks off after {} of {} entries (last sound one: {}); {}",
                              extents.size(), global.number_entry, show(previous), resave));
    }
    unz_file_info64 info{};
    if (unzGetCurrentFileInfo64(file.get(), &info, name.data(), name.size(), nullptr, 0, nullptr, 0) != UNZ_OK ||
        info.size_filename >= name.size()) {
      return fail(fmt::format("record {} of the zip's central directory is damaged; {}", extents.size(), resave));
    }
    const std::string_view central_name(name.data(), info.size_filename);
    if (const std::string_view fault = name_fault(central_name); !fault.empty()) {
      return fail(fmt::format("the name of zip entry {} ({}) {}; the file was not written by torch.export.save",
                              extents.size(), show(central_name), fault));
    }
    const auto entry_fail = [&](std::string what) {
      return fail(fmt::format("zip entry {} {}; {}", show(central_name), what, resave));
    };
    // Raw: positions the reader behind the local header without looking at the data.
    int method = 0, level = 0;
    if (unzOpenCurrentFile2(file.get(), &method, &level, /*raw=*/1) != UNZ_OK) {
      return entry_fail("has a local header that is missing or contradicts the central directory");
    }
    const uint64_t data = unzGetCurrentFileZStreamPos64(file.get());
    const int local_extra = unzGetLocalExtrafield(file.get(), nullptr, 0);
    unzCloseCurrentFile(file.get());
    const uint64_t header_bytes = kLocalHeaderBytes + info.size_filename + static_cast<uint64_t>(std::max(local_extra, 0));
    if (local_extra < 0 || data < header_bytes || data > directory) {
      return entry_fail(fmt::format("has data at byte {}, which is not before the central directory at byte {}", data,
                                    directory));
    }
    const uint64_t header = data - header_bytes;
    if (load_le32(bytes, header) != kLocalHeader) {
      return entry_fail(fmt::format("has no local header at byte {}", header));
    }
    const auto* stored_name = reinterpret_cast<const char*>(bytes.data() + header + kLocalHeaderBytes);
    const std::string_view local_name(stored_name, info.size_filename);
    if (local_name != central_name) {
      return entry_fail(fmt::format("is called {} in its local header", show(local_name)));
    }
    if (info.compressed_size > directory - data) {
      return entry_fail(fmt::format("is said to hold {} bytes at byte {}, which runs into the central directory at byte {}",
                                    info.compressed_size, data, directory));
    }
    if (info.compression_method == 0 && info.compressed_size != info.uncompressed_size) {
      return entry_fail(fmt::format("is stored, yet has two sizes, {} and {} bytes", info.compressed_size,
                                    info.uncompressed_size));
    }
    extents.push_back({header, data + info.compressed_size, extents.size()});
    previous = local_name;
    if (local_name.back() == '/') continue;  // a folder, as general zip tools write them
    // The view into the mapped local header outlives the buffer that minizip filled.
    if (!zip.by_name_.emplace(local_name, zip.entries_.size()).second) {
      return entry_fail("occurs twice");
    }
    zip.entries_.push_back({local_name, data, info.compressed_size, info.uncompressed_size,
                            static_cast<uint16_t>(info.compression_method), (info.flag & 1) != 0});
  }
  if (extents.size() != global.number_entry) {
    return fail(fmt::format("the zip's central directory lists {} entries, its end record counts {}; {}", extents.size(),
                            global.number_entry, resave));
  }
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.first < b.first; });
  for (size_t i = 1; i < extents.size(); ++i) {
    if (extents[i].first < extents[i - 1].last) {
      return fail(fmt::format("two zip entries overlap: one ends at byte {}, the next begins at byte {}; {}",
                              extents[i - 1].last, extents[i].first, resave));
    }
  }
  return zip;
}

const ZipEntry* Zip::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

Result<std::span<const std::byte>> Zip::data(const ZipEntry& entry) const {
  if (entry.encrypted) {
    return input_error(fmt::format("{}: entry {} is encrypted; re-save the model with torch.export.save", source_,
                                   show(entry.name)));
  }
  if (entry.method != 0) {
    return input_error(fmt::format("{}: entry {} is compressed (zip method {}), but weights are used in place and must be "
                                   "stored; re-save the model with torch.export.save", source_, show(entry.name),
                                   entry.method));
  }
  return bytes_.subspan(entry.offset, entry.size);
}

}  // namespace edgelift::archive
