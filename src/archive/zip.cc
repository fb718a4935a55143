#include "archive/zip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

// The directory is read here and not by minizip: Debian's libminizip 1.1 leaves 0xffffffff where the size or the place
// of an entry stands in the zip64 field (every file beyond 4 GiB), never looks at the last end record when there is a
// zip64 one (a file that lost its end passes), and says nothing of duplicates, overlaps and local names. What is left
// of its work is the few records below.

namespace edgelift::archive {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEndRecord = 0x06054b50,
                   kEnd64Record = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr uint64_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocatorBytes = 20;
constexpr uint32_t kInZip64 = 0xffffffff;

template <class T>
T load(std::span<const std::byte> bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}
uint16_t u16(std::span<const std::byte> bytes, uint64_t offset) { return load<uint16_t>(bytes, offset); }
uint32_t u32(std::span<const std::byte> bytes, uint64_t offset) { return load<uint32_t>(bytes, offset); }
uint64_t u64(std::span<const std::byte> bytes, uint64_t offset) { return load<uint64_t>(bytes, offset); }

bool fits(std::span<const std::byte> bytes, uint64_t offset, uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

// Where the last end record begins; its comment has to end with the file.
std::optional<uint64_t> find_end_record(std::span<const std::byte> bytes) {
  constexpr uint64_t kMostComment = 0xffff;
  if (bytes.size() < kEndBytes) return std::nullopt;
  const uint64_t lowest = bytes.size() - std::min<uint64_t>(bytes.size(), kEndBytes + kMostComment);
  for (uint64_t at = bytes.size() - kEndBytes + 1; at-- > lowest;) {
    if (u32(bytes, at) == kEndRecord && at + kEndBytes + u16(bytes, at + 20) == bytes.size()) return at;
  }
  return std::nullopt;
}

struct Directory {
  uint64_t offset = 0, size = 0, count = 0;
  uint64_t end = 0;  // where the end records begin
};

// The sentence of what is wrong, or the directory's place. The small fields are true, or all ones where only the zip64
// record has room.
std::string find_directory(std::span<const std::byte> bytes, Directory& out) {
  const auto end = find_end_record(bytes);
  if (!end) {
    return fmt::format(
        "not a complete zip archive: no end-of-central-directory record in its last 64 KiB ({} bytes in all; cut "
        "off or damaged?)",
        bytes.size());
  }
  const uint16_t count = u16(bytes, *end + 10);
  const uint32_t size = u32(bytes, *end + 12), offset = u32(bytes, *end + 16);
  out = {offset, size, count, *end};
  if (u16(bytes, *end + 4) != 0 || u16(bytes, *end + 6) != 0 || u16(bytes, *end + 8) != count) {
    return "the zip archive is split over several files";
  }
  if (*end >= kLocatorBytes && u32(bytes, *end - kLocatorBytes) == kEnd64Locator) {
    const uint64_t record = u64(bytes, *end - kLocatorBytes + 8);
    if (!fits(bytes, record, kEnd64Bytes) || record + kEnd64Bytes > *end - kLocatorBytes ||
        u32(bytes, record) != kEnd64Record) {
      return fmt::format(
          "its zip64 end record is not at byte {}, where the locator says, or other data stands before the archive",
          record);
    }
    out = {u64(bytes, record + 48), u64(bytes, record + 40), u64(bytes, record + 32), record};
    const bool agree = (count == 0xffff || count == out.count) && (size == kInZip64 || size == out.size) &&
                       (offset == kInZip64 || offset == out.offset);
    if (!agree) return "its two end records contradict each other";
  }
  if (out.offset > out.end || out.size != out.end - out.offset) {
    return fmt::format(
        "the zip's central directory ({} bytes at byte {}) does not end where the end record begins, at byte {}; "
        "other data stands before the archive, or the record is damaged",
        out.size, out.offset, out.end);
  }
  return {};
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

// The values of a zip64 extra field, for those of size, packed size and offset (in this order) that are all ones. False
// if it is damaged or lacks one.
bool read_zip64(std::span<const std::byte> extra, uint64_t& size, uint64_t& packed, uint64_t& offset) {
  std::vector<uint64_t*> wanted;
  for (uint64_t* value : {&size, &packed, &offset})
    if (*value == kInZip64) wanted.push_back(value);
  for (uint64_t at = 0; !wanted.empty() && at + 4 <= extra.size();) {
    const uint16_t id = u16(extra, at), length = u16(extra, at + 2);
    if (!fits(extra, at + 4, length)) return false;
    if (id == 1) {
      if (length < 8 * wanted.size()) return false;
      for (size_t i = 0; i < wanted.size(); ++i) *wanted[i] = u64(extra, at + 4 + 8 * i);
      return true;
    }
    at += 4 + uint64_t{length};
  }
  return wanted.empty();
}

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
  const auto fail = [&](std::string what) { return input_error(fmt::format("{}: {}", zip.source_, what)); };
  const std::string_view resave = "copy or download the file again, or re-save it with torch.export.save";

  Directory directory;
  if (const std::string fault = find_directory(bytes, directory); !fault.empty())
    return fail(fmt::format("{}; {}", fault, resave));
  if (directory.count == 0) return fail("the zip archive has no entries; re-save it with torch.export.save");

  struct Extent {
    uint64_t first, last;
  };
  std::vector<Extent> extents;
  const auto chars = [&](uint64_t offset, uint64_t size) {
    return std::string_view(reinterpret_cast<const char*>(bytes.data() + offset), size);
  };
  for (uint64_t at = directory.offset; at < directory.end;) {
    const uint64_t left = directory.end - at;
    if (left < kCentralBytes || u32(bytes, at) != kCentralHeader) {
      return fail(fmt::format("the zip's central directory breaks off after {} of {} entries, at byte {}; {}",
                              extents.size(), directory.count, at, resave));
    }
    const uint16_t flags = u16(bytes, at + 8), method = u16(bytes, at + 10);
    uint64_t packed = u32(bytes, at + 20), unpacked = u32(bytes, at + 24), header = u32(bytes, at + 42);
    const uint64_t name_bytes = u16(bytes, at + 28), extra_bytes = u16(bytes, at + 30),
                   comment_bytes = u16(bytes, at + 32);
    if (name_bytes + extra_bytes + comment_bytes > left - kCentralBytes) {
      return fail(
          fmt::format("record {} of the zip's central directory runs past its end; {}", extents.size(), resave));
    }
    const std::string_view central_name = chars(at + kCentralBytes, name_bytes);
    if (const std::string_view fault = name_fault(central_name); !fault.empty()) {
      return fail(fmt::format("the name of zip entry {} ({}) {}; the file was not written by torch.export.save",
                              extents.size(), show(central_name), fault));
    }
    const auto entry_fail = [&](std::string what) {
      return fail(fmt::format("zip entry {} {}; {}", show(central_name), what, resave));
    };
    if (!read_zip64(bytes.subspan(at + kCentralBytes + name_bytes, extra_bytes), unpacked, packed, header)) {
      return entry_fail("has a damaged zip64 field");
    }
    at += kCentralBytes + name_bytes + extra_bytes + comment_bytes;

    // The local header counts for where the data begins; its sizes are zero in what torch writes.
    if (header > directory.offset || directory.offset - header < kLocalBytes || u32(bytes, header) != kLocalHeader) {
      return entry_fail(fmt::format("has no local header at byte {}", header));
    }
    const uint64_t data = header + kLocalBytes + u16(bytes, header + 26) + u16(bytes, header + 28);
    if (data > directory.offset) {
      return entry_fail(fmt::format("has its data at byte {}, behind the begin of the central directory at byte {}",
                                    data, directory.offset));
    }
    const std::string_view local_name = chars(header + kLocalBytes, u16(bytes, header + 26));
    if (local_name != central_name)
      return entry_fail(fmt::format("is called {} in its local header", show(local_name)));
    if (u16(bytes, header + 8) != method) return entry_fail("has another method in its local header");
    if (packed > directory.offset - data) {
      return entry_fail(
          fmt::format("is said to hold {} bytes at byte {}, which runs into the central directory at byte {}", packed,
                      data, directory.offset));
    }
    if (method == 0 && packed != unpacked) {
      return entry_fail(fmt::format("is stored, yet has two sizes, {} and {} bytes", packed, unpacked));
    }
    extents.push_back({header, data + packed});
    if (central_name.back() == '/') continue;  // a folder, as general zip tools write them
    if (!zip.by_name_.emplace(central_name, zip.entries_.size()).second) return entry_fail("occurs twice");
    zip.entries_.push_back({central_name, data, packed, unpacked, method, (flags & 1) != 0});
  }
  if (extents.size() != directory.count) {
    return fail(fmt::format("the zip's central directory lists {} entries, its end record counts {}; {}",
                            extents.size(), directory.count, resave));
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
    return input_error(
        fmt::format("{}: entry {} is encrypted; re-save the model with torch.export.save", source_, show(entry.name)));
  }
  if (entry.method != 0) {
    return input_error(
        fmt::format("{}: entry {} is compressed (zip method {}), but weights are used in place and must be "
                    "stored; re-save the model with torch.export.save",
                    source_, show(entry.name), entry.method));
  }
  return bytes_.subspan(entry.offset, entry.size);
}

}  // namespace edgelift::archive
