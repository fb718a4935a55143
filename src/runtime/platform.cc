#include "runtime/platform.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>

#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>
#include <fmt/format.h>

#include "runtime/session.h"

// Declared here as the wheel ships the library but not this header.
namespace executorch::extension::threadpool {
class ThreadPool {
 public:
  bool _unsafe_reset_threadpool(uint32_t threads);
  size_t get_thread_count() const;
};
ThreadPool* get_threadpool();
}  // namespace executorch::extension::threadpool

namespace edgelift::runtime {
namespace {

namespace et = executorch::runtime;

struct Messages {
  std::mutex mutex;
  std::deque<std::string> recent;
  size_t count = 0;  // of all messages so far
};
Messages& messages() {
  static Messages m;
  return m;
}
constexpr size_t kKept = 64, kShown = 4;

void emit_message(et_timestamp_t, et_pal_log_level_t level, const char*, const char*, size_t, const char* message,
                  size_t length) {
  if (level != kError && level != kFatal) return;
  // After a kernel has failed the runtime lists the kinds of its arguments, which pushes out what matters.
  if (std::string_view(message, length).substr(0, 4) == "arg ") return;
  Messages& m = messages();
  const std::lock_guard lock(m.mutex);
  m.recent.emplace_back(message, length);
  ++m.count;
  if (m.recent.size() > kKept) m.recent.pop_front();
}

[[noreturn]] void abort_as_exception() { throw RuntimeAbort("abort"); }

std::atomic<int> open_sessions = 0;
std::atomic<bool> pool_started = false;

}  // namespace

void prepare_platform() {
  static const bool done = [] {
    et::PalImpl host = {};
    host.abort = abort_as_exception;
    host.emit_log_message = emit_message;
    host.source_filename = __FILE__;
    // The runtime's own initialisation must come first, or it would not find its defaults for the rest of the table.
    et::runtime_init();
    return et::register_pal(host);
  }();
  static_cast<void>(done);
}

LogCapture::LogCapture() {
  Messages& m = messages();
  const std::lock_guard lock(m.mutex);
  begin_ = m.count;
}

std::string LogCapture::text() const {
  Messages& m = messages();
  const std::lock_guard lock(m.mutex);
  const size_t fresh = std::min(m.count - begin_, m.recent.size());
  std::string text;
  for (size_t i = m.recent.size() - std::min(fresh, kShown); i < m.recent.size(); ++i) {
    if (!text.empty()) text += "; ";
    text += m.recent[i];
  }
  return text;
}

std::string_view error_name(et::Error error) {
  switch (error) {
    case et::Error::Ok:
      return "Ok";
    case et::Error::Internal:
      return "Internal";
    case et::Error::InvalidState:
      return "InvalidState";
    case et::Error::EndOfMethod:
      return "EndOfMethod";
    case et::Error::NotSupported:
      return "NotSupported";
    case et::Error::NotImplemented:
      return "NotImplemented";
    case et::Error::InvalidArgument:
      return "InvalidArgument";
    case et::Error::InvalidType:
      return "InvalidType";
    case et::Error::OperatorMissing:
      return "OperatorMissing";
    case et::Error::NotFound:
      return "NotFound";
    case et::Error::MemoryAllocationFailed:
      return "MemoryAllocationFailed";
    case et::Error::AccessFailed:
      return "AccessFailed";
    case et::Error::InvalidProgram:
      return "InvalidProgram";
    case et::Error::InvalidExternalData:
      return "InvalidExternalData";
    case et::Error::OutOfResources:
      return "OutOfResources";
    case et::Error::DelegateInvalidCompatibility:
      return "DelegateInvalidCompatibility";
    case et::Error::DelegateMemoryAllocationFailed:
      return "DelegateMemoryAllocationFailed";
    default:
      return "error";
  }
}

Error runtime_error(std::string_view what, et::Error error, const LogCapture& log) {
  const std::string text = log.text();
  return input_error(fmt::format("{}: the runtime reports {} (0x{:x}){}{}", what, error_name(error),
                                 static_cast<uint32_t>(error), text.empty() ? "" : ": ", text));
}

void session_opened() {
  open_sessions++;
  pool_started = true;
}
void session_closed() { open_sessions--; }

bool threads_started() { return pool_started; }

Status set_threads(int threads) {
  if (threads < 0) return usage_error(fmt::format("{} threads: give 1 or more, or 0 for one a core", threads));
  constexpr int kMostThreads = 1024;
  if (threads > kMostThreads) return usage_error(fmt::format("{} threads: at most {}", threads, kMostThreads));
  if (threads == 0) return Ok{};
  if (open_sessions != 0)
    return internal_error(
        "the number of threads was to be changed while a program is loaded that holds on to the thread pool");
  prepare_platform();
  pool_started = true;
  auto* pool = executorch::extension::threadpool::get_threadpool();
  if (pool == nullptr) return internal_error("the runtime was built without a thread pool");
  if (pool->get_thread_count() != static_cast<size_t>(threads) &&
      !pool->_unsafe_reset_threadpool(static_cast<uint32_t>(threads)))
    return input_error(fmt::format("the runtime could not make a pool of {} threads", threads));
  return Ok{};
}

}  // namespace edgelift::runtime
