// Files: a read-only map of a whole file, and a writer that never leaves a partial file behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"

namespace edgelift {

// A read-only private map of a file. The size is taken at open; a file that shrinks while mapped raises SIGBUS on
// access (documented, as for every program that maps its input).
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }
  // The open file and the offset in it of bytes that lie in some map; nullopt if they do not.
  struct Place {
    int fd = -1;
    uint64_t offset = 0;
  };
  static std::optional<Place> place_of(std::span<const std::byte> bytes);

 private:
  MappedFile() = default;
  std::filesystem::path path_;
  int fd_ = -1;
  std::span<const std::byte> bytes_;
};

// Writes to a file that has no name yet and goes with the process, however it ends; commit() names it and renames it
// over the target. File systems without nameless files (NFS) get a temporary file beside the target, which is removed
// without commit. Errors name the path and the system's reason.
class AtomicFile {
 public:
  static Result<std::unique_ptr<AtomicFile>> create(const std::filesystem::path& target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  Status write(std::span<const std::byte> bytes);
  Status pad_to(uint64_t offset);  // zero bytes up to offset; offset >= position()
  uint64_t position() const { return position_; }
  Status flush();  // hands all to the system, so that what cannot be written fails here
  Status commit();

 private:
  AtomicFile() = default;
  Status give_name();
  Result<size_t> copy_mapped(std::span<const std::byte> bytes);
  std::filesystem::path target_, temporary_;  // temporary_ is empty while the file has no name
  int fd_ = -1;
  uint64_t position_ = 0;
  std::string buffer_;
};

Result<std::string> read_file(const std::filesystem::path& path);
Status write_file(const std::filesystem::path& path, std::string_view content);

}  // namespace edgelift
