// Writes zip files as torch.export.save does, with any fault that a test asks for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "archive/zip.h"
#include "base/file.h"

namespace edgelift::testing {

struct ZipItem {
  std::string name = {};
  std::string data = {};
  uint64_t hole = 0;  // zero bytes after data, left out of the file where it can be sparse
  uint16_t method = 0;
  uint16_t flags = 0x0808;      // data descriptor, UTF-8 name
  std::string local_name = {};  // empty: name
  // Set: what the central directory says instead of the truth.
  std::optional<uint64_t> central_size = {}, central_offset = {};
  std::optional<uint16_t> local_extra_size = {};
};

struct ZipStyle {
  uint64_t alignment = 64;  // of data, by padding in the local extra field; 0: none
  bool zip64_end = true;    // the zip64 end record and locator, which torch always writes
};

class ZipWriter {
 public:
  explicit ZipWriter(std::ostream& out, ZipStyle style = {}) : out_(out), style_(style) {}

  void write(const std::vector<ZipItem>& items) {
    std::vector<uint64_t> offsets;
    for (const ZipItem& item : items) {
      offsets.push_back(at_);
      const std::string& name = item.local_name.empty() ? item.name : item.local_name;
      const bool big = size(item) >= kMax32;
      std::string extra =
          big ? number(uint16_t{1}) + number(uint16_t{16}) + number(size(item)) + number(size(item)) : "";
      if (style_.alignment != 0) {
        const uint64_t data = at_ + 30 + name.size() + extra.size() + 4;
        const uint64_t padding = (style_.alignment - data % style_.alignment) % style_.alignment;
        extra += number(uint16_t{0x4246}) + number(static_cast<uint16_t>(padding)) + std::string(padding, 'Z');
      }
      put(number(uint32_t{0x04034b50}) + number(uint16_t{0}) + number(item.flags) + number(item.method) +
          std::string(16, '\0') + number(static_cast<uint16_t>(name.size())) +
          number(item.local_extra_size.value_or(static_cast<uint16_t>(extra.size()))) + name + extra);
      put(item.data);
      if (item.hole != 0) {
        out_.seekp(static_cast<std::streamoff>(at_ + item.hole));
        at_ += item.hole;
      }
      put(number(uint32_t{0x08074b50}) + std::string(4, '\0') +
          (big ? number(size(item)) + number(size(item)) : number32(size(item)) + number32(size(item))));
    }
    const uint64_t directory = at_;
    for (size_t i = 0; i < items.size(); ++i) {
      const ZipItem& item = items[i];
      const uint64_t bytes = item.central_size.value_or(size(item)), offset = item.central_offset.value_or(offsets[i]);
      std::string extra;
      if (bytes >= kMax32) extra += number(bytes) + number(bytes);
      if (bytes >= kMax32 || offset >= kMax32) extra += number(offset);
      if (!extra.empty()) extra = number(uint16_t{1}) + number(static_cast<uint16_t>(extra.size())) + extra;
      put(number(uint32_t{0x02014b50}) + std::string(4, '\0') + number(item.flags) + number(item.method) +
          std::string(8, '\0') + number32(bytes) + number32(bytes) + number(static_cast<uint16_t>(item.name.size())) +
          number(static_cast<uint16_t>(extra.size())) + std::string(10, '\0') +
          (bytes >= kMax32 ? number(uint32_t{0xffffffff}) : number32(offset)) + item.name + extra);
    }
    const uint64_t end = at_;
    if (style_.zip64_end) {
      put(number(uint32_t{0x06064b50}) + number(uint64_t{44}) + number(uint16_t{798}) + number(uint16_t{45}) +
          std::string(8, '\0') + number(uint64_t{items.size()}) + number(uint64_t{items.size()}) +
          number(end - directory) + number(directory));
      put(number(uint32_t{0x07064b50}) + std::string(4, '\0') + number(end) + number(uint32_t{1}));
    }
    put(number(uint32_t{0x06054b50}) + std::string(4, '\0') + number(static_cast<uint16_t>(items.size())) +
        number(static_cast<uint16_t>(items.size())) + number32(end - directory) + number32(directory) +
        std::string(2, '\0'));
  }

 private:
  static constexpr uint64_t kMax32 = 0xffffffff;
  static uint64_t size(const ZipItem& item) { return item.data.size() + item.hole; }
  template <class T>
  static std::string number(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  static std::string number32(uint64_t value) { return number(static_cast<uint32_t>(std::min(value, kMax32))); }
  void put(const std::string& bytes) {
    out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    at_ += bytes.size();
  }
  std::ostream& out_;
  ZipStyle style_;
  uint64_t at_ = 0;
};

inline std::string write_zip(const std::vector<ZipItem>& items, ZipStyle style = {}) {
  std::ostringstream out;
  ZipWriter(out, style).write(items);
  return out.str();
}

// The entries of a file that torch wrote, to be changed and written again.
inline std::vector<ZipItem> read_zip(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  if (!file.ok()) throw std::runtime_error(file.error().message);
  auto zip = archive::Zip::open((*file)->bytes(), path.string());
  if (!zip.ok()) throw std::runtime_error(zip.error().message);
  std::vector<ZipItem> items;
  for (const archive::ZipEntry& entry : zip->entries()) {
    const auto data = zip->data(entry);
    ZipItem& item = items.emplace_back();
    item.name = entry.name;
    item.data.assign(reinterpret_cast<const char*>(data->data()), data->size());
  }
  return items;
}

// Bytes with an owner, as import_bytes and Pt2::from_bytes want them.
struct OwnedBytes {
  std::shared_ptr<const std::string> text;
  explicit OwnedBytes(std::string bytes) : text(std::make_shared<const std::string>(std::move(bytes))) {}
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(*text)); }
};

}  // namespace edgelift::testing
