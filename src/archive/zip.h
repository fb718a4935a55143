// The entries of a zip archive that lies in memory, as views. Nothing is copied or inflated.
//
// Safe against hostile bytes: when open() succeeds, the data of every entry lies between its local header and the
// central directory, no two entries overlap, names are unique, and local and central names agree. Because the central
// directory and its end record follow all data, at least kTailBytes readable bytes come after every entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace edgelift::archive {

struct ZipEntry {
  std::string_view name;       // as it stands in the archive; an opaque key, never a path on disk
  uint64_t offset = 0;         // of the data, from the start of the archive
  uint64_t size = 0;           // of the data as it stands there
  uint64_t unpacked_size = 0;  // the same for stored entries
  uint16_t method = 0;         // 0 = stored
  bool encrypted = false;
};

class Zip {
 public:
  // One central header and the end record.
  static constexpr size_t kTailBytes = 46 + 22;

  // `source` is the file's name for messages. `bytes` must outlive the Zip and every view from it.
  static Result<Zip> open(std::span<const std::byte> bytes, std::string source);

  // In the order of the central directory; folders (names that end in '/') are left out.
  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* find(std::string_view name) const;
  // The bytes of a stored entry; an Error if it is compressed or encrypted.
  Result<std::span<const std::byte>> data(const ZipEntry& entry) const;
  const std::string& source() const { return source_; }

 private:
  std::span<const std::byte> bytes_;
  std::string source_;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string_view, size_t> by_name_;
};

// Text that came from a file, made safe to print: control characters and bytes that are not ASCII are escaped, long
// text is cut.
std::string show(std::string_view text);

}  // namespace edgelift::archive
