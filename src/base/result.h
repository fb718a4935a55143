// Errors as values. Bad input and wrong use are Error; a defect of edgelift itself is a Bug (see check.h), which is
// caught at the edge of the library and turned into an Error of kind Internal. Nothing else is thrown.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace edgelift {

enum class ErrorKind : uint8_t {
  Input,     // the input's fault: exit code 1
  Usage,     // wrong options: exit code 2
  Internal,  // ours: exit code 3
};

// One sentence that names the place, what was found, what was expected and what to do. No trailing newline; no
// "error:" prefix (the command line adds it).
struct Error {
  ErrorKind kind = ErrorKind::Input;
  std::string message;
};

inline Error input_error(std::string message) { return {ErrorKind::Input, std::move(message)}; }
inline Error usage_error(std::string message) { return {ErrorKind::Usage, std::move(message)}; }
inline Error internal_error(std::string message) { return {ErrorKind::Internal, std::move(message)}; }

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose
  explicit operator bool() const { return ok(); }
  bool ok() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Error& error() const { return std::get<1>(state_); }
  Error&& take_error() { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

struct Ok {};
using Status = Result<Ok>;

}  // namespace edgelift

#define EL_CONCAT_(a, b) a##b
#define EL_CONCAT(a, b) EL_CONCAT_(a, b)

// EL_TRY(auto x, f()): x = the value of f(), or return its error from the enclosing function.
#define EL_TRY(declaration, expression) EL_TRY_(declaration, expression, EL_CONCAT(el_try_, __LINE__))
#define EL_TRY_(declaration, expression, name) \
  auto name = (expression);                    \
  if (!name.ok()) return name.take_error();    \
  declaration = *std::move(name)

// EL_TRY_OK(f()): return f()'s error from the enclosing function, if it has one.
#define EL_TRY_OK(expression)                             \
  do {                                                    \
    auto el_status_ = (expression);                       \
    if (!el_status_.ok()) return el_status_.take_error(); \
  } while (false)
