#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "base/check.h"

namespace edgelift {

namespace fs = std::filesystem;

namespace {
Error system_error(const fs::path& path, std::string_view what) {
  return input_error(fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno)));
}
std::string descriptor_path(int fd) { return fmt::format("/proc/self/fd/{}", fd); }
constexpr size_t kBuffer = 1u << 20;
// Spans of a mapped file from this size on are copied by the kernel; small ones are faster by way of this process.
constexpr size_t kCopyFrom = 4u << 20;

// The maps that are open, by their first byte.
struct Maps {
  std::mutex mutex;
  std::map<const std::byte*, const MappedFile*, std::less<>> by_start;
};
Maps& maps() {
  static Maps maps;
  return maps;
}
}  // namespace

std::optional<MappedFile::Place> MappedFile::place_of(std::span<const std::byte> bytes) {
  const std::lock_guard lock(maps().mutex);
  auto at = maps().by_start.upper_bound(bytes.data());
  if (at == maps().by_start.begin()) return std::nullopt;
  const MappedFile& file = *std::prev(at)->second;
  const auto offset = static_cast<size_t>(bytes.data() - file.bytes_.data());
  if (offset > file.bytes_.size() || bytes.size() > file.bytes_.size() - offset) return std::nullopt;
  return Place{file.fd_, offset};
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_error(path, "cannot open");
  struct stat info {};
  if (fstat(fd, &info) != 0) {
    auto error = system_error(path, "cannot stat");
    ::close(fd);
    return error;
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    return input_error(fmt::format("{}: not a regular file", path.string()));
  }
  auto file = std::shared_ptr<MappedFile>(new MappedFile());
  file->path_ = path;
  file->fd_ = fd;
  const auto size = static_cast<size_t>(info.st_size);
  if (size != 0) {
    void* at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) return system_error(path, "cannot map");
    file->bytes_ = {static_cast<const std::byte*>(at), size};
    // Weights are read from front to back: without the advice a cold file comes in by small reads around each fault.
    madvise(at, size, MADV_SEQUENTIAL);
    const std::lock_guard lock(maps().mutex);
    maps().by_start.emplace(file->bytes_.data(), file.get());
  }
  return std::shared_ptr<const MappedFile>(std::move(file));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    const std::lock_guard lock(maps().mutex);
    maps().by_start.erase(bytes_.data());
    munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  if (fd_ >= 0) ::close(fd_);
}

Result<std::unique_ptr<AtomicFile>> AtomicFile::create(const fs::path& target) {
  if (target.empty()) return usage_error("the name of the output file is empty");
  auto file = std::unique_ptr<AtomicFile>(new AtomicFile());
  // A link is followed, so that the file it names is replaced and not the link; a device or pipe is not replaced.
  std::error_code ignored, unresolved;
  const fs::file_status status = fs::status(target, ignored);
  if (fs::is_directory(status)) return input_error(fmt::format("{}: cannot write: is a directory", target.string()));
  if (fs::exists(status) && !fs::is_regular_file(status))
    return input_error(fmt::format("{}: cannot write: is a device or pipe; give the name of a file", target.string()));
  file->target_ = fs::is_symlink(target, ignored) ? fs::weakly_canonical(target, unresolved) : target;
  if (unresolved)
    return input_error(fmt::format("{}: cannot follow the link: {}", target.string(), unresolved.message()));
  // In the target's folder, so that the rename stays on one file system.
  const fs::path folder = file->target_.has_parent_path() ? file->target_.parent_path() : fs::path(".");
  file->fd_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (file->fd_ >= 0 && ::access(descriptor_path(file->fd_).c_str(), F_OK) != 0) {  // without /proc it gets no name
    ::close(file->fd_);
    file->fd_ = -1;
  }
  if (file->fd_ < 0) {
    std::string name = file->target_.string() + ".tmp.XXXXXX";
    file->fd_ = mkostemp(name.data(), O_CLOEXEC);
    if (file->fd_ < 0) return system_error(target, "cannot create");
    file->temporary_ = name;
    const mode_t mask = umask(0);
    umask(mask);
    fchmod(file->fd_, 0666 & ~mask);
  }
  file->buffer_.reserve(kBuffer);
  return file;
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

namespace {
Status write_all(int fd, const char* data, size_t size, const fs::path& path) {
  while (size > 0) {
    const ssize_t n = ::write(fd, data, size);
    if (n < 0) {
      if (errno == EINTR) continue;
      return system_error(path, "cannot write");
    }
    data += n;
    size -= static_cast<size_t>(n);
  }
  return Ok{};
}
}  // namespace

Status AtomicFile::flush() {
  EL_TRY_OK(write_all(fd_, buffer_.data(), buffer_.size(), target_));
  buffer_.clear();
  return Ok{};
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  const char* data = reinterpret_cast<const char*>(bytes.data());
  position_ += bytes.size();
  if (buffer_.size() + bytes.size() <= kBuffer) {
    buffer_.append(data, bytes.size());
    return Ok{};
  }
  EL_TRY_OK(flush());
  if (bytes.size() <= kBuffer) {
    buffer_.append(data, bytes.size());
    return Ok{};
  }
  size_t copied = 0;
  if (bytes.size() >= kCopyFrom) {
    EL_TRY(copied, copy_mapped(bytes));
  }
  return write_all(fd_, data + copied, bytes.size() - copied, target_);
}

// From one file's pages to the other's without a detour over this process: half the time for large models, and on file
// systems that can share blocks no copy at all. Returns how many bytes went that way; the caller writes the rest.
Result<size_t> AtomicFile::copy_mapped(std::span<const std::byte> bytes) {
  const auto place = MappedFile::place_of(bytes);
  if (!place) return size_t{0};
  auto offset = static_cast<off64_t>(place->offset);
  size_t copied = 0;
  while (copied < bytes.size()) {
    const ssize_t n = copy_file_range(place->fd, &offset, fd_, nullptr, bytes.size() - copied, 0);
    if (n > 0) {
      copied += static_cast<size_t>(n);
    } else if (n == 0 || errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ||
               errno == EPERM || errno == ETXTBSY || errno == EBADF) {
      break;  // not between these two files
    } else if (errno != EINTR) {
      return system_error(target_, "cannot write");
    }
  }
  return copied;
}

Status AtomicFile::pad_to(uint64_t offset) {
  EL_CHECK(offset >= position_, "padding backwards");
  static const std::byte zeros[4096] = {};
  while (position_ < offset) {
    const uint64_t n = std::min<uint64_t>(offset - position_, sizeof zeros);
    EL_TRY_OK(write({zeros, static_cast<size_t>(n)}));
  }
  return Ok{};
}

// A link cannot replace a file, so the target's own name comes with a rename.
Status AtomicFile::give_name() {
  for (uint32_t attempt = 0;; ++attempt) {
    const std::string name = fmt::format("{}.tmp.{}.{}", target_.string(), ::getpid(), attempt);
    if (::linkat(AT_FDCWD, descriptor_path(fd_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      return Ok{};
    }
    if (errno != EEXIST || attempt > 1000) return system_error(target_, "cannot name the written file");
  }
}

Status AtomicFile::commit() {
  EL_TRY_OK(flush());
  if (temporary_.empty()) EL_TRY_OK(give_name());
  const int fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0) return system_error(target_, "cannot write");
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return system_error(target_, "cannot rename into place");
  temporary_.clear();
  return Ok{};
}

Result<std::string> read_file(const fs::path& path) {
  EL_TRY(auto file, MappedFile::open(path));
  const auto bytes = file->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Status write_file(const fs::path& path, std::string_view content) {
  EL_TRY(auto file, AtomicFile::create(path));
  EL_TRY_OK(file->write(std::as_bytes(std::span(content.data(), content.size()))));
  return file->commit();
}

}  // namespace edgelift
