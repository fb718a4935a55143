// What the runtime asks of its host: log messages are collected instead of printed, and its abort becomes an exception
// that is caught where edgelift calls the runtime. Internal to src/runtime.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <executorch/runtime/core/error.h>

#include "base/result.h"

namespace edgelift::runtime {

// Installs the host functions; cheap after the first time.
void prepare_platform();

// Collects the runtime's messages from construction on (of all threads of the process).
class LogCapture {
 public:
  LogCapture();
  // The last messages of at least error level, in one line each.
  std::string text() const;

 private:
  size_t begin_ = 0;
};

// Thrown where the runtime would have aborted the process.
struct RuntimeAbort : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string_view error_name(executorch::runtime::Error error);
// "what: InvalidArgument (0x12): the runtime's own messages"
Error runtime_error(std::string_view what, executorch::runtime::Error error, const LogCapture& log);

// Runs f, which calls the runtime; an abort of the runtime becomes an error.
template <class F>
auto guarded(std::string_view what, F&& f) -> decltype(f()) {
  const LogCapture log;
  try {
    return f();
  } catch (const RuntimeAbort&) {
    const std::string text = log.text();
    return input_error(std::string(what) + ": the runtime gave up on this program" + (text.empty() ? "" : ": " + text));
  }
}

// Sessions count themselves, see set_threads.
void session_opened();
void session_closed();

}  // namespace edgelift::runtime
