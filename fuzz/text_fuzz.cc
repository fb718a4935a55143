// The text form: no crash on any text, and print(parse(print(g))) == print(g) for whatever parses.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ir/text.h"
#include "ops/record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace edgelift;
  std::string text(reinterpret_cast<const char*>(data), size);
  // The test files hold a second program after this mark.
  if (const size_t mark = text.find("; EXPECT"); mark != std::string::npos) text.resize(mark);
  const auto program = ir::parse(text, ops::table());
  if (!program.ok()) return 0;
  const std::string first = ir::print(*program);
  const auto again = ir::parse(first, ops::table());
  if (!again.ok() || ir::print(*again) != first) {
    std::fprintf(stderr, "the text does not come back:\n%s\n%s\n", first.c_str(),
                 again.ok() ? ir::print(*again).c_str() : again.error().message.c_str());
    std::abort();
  }
  return 0;
}
