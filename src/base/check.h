// Checks of what must hold if edgelift is right. A failed check throws Bug, which names the check and is caught at the
// library's edge (public API, command line) and reported as an Error of kind Internal. Never used for bad input.
#pragma once

#include <stdexcept>
#include <string>

namespace edgelift {

struct Bug : std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] inline void bug(const char* file, int line, const std::string& what) {
  throw Bug(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

}  // namespace edgelift

#define EL_CHECK(condition, what)                                                                   \
  do {                                                                                              \
    if (!(condition)) ::edgelift::bug(__FILE__, __LINE__, std::string(#condition) + ": " + (what)); \
  } while (false)
#define EL_UNREACHABLE(what) ::edgelift::bug(__FILE__, __LINE__, (what))
