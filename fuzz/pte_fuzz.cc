// A .pte file of any bytes: the reader gives a program or an error that blames the input, agrees with verify() on
// which, and what it read can be written again as a file that verifies.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "pte/program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace edgelift;
  const auto* first = reinterpret_cast<const std::byte*>(data);
  const auto bytes = std::make_shared<std::vector<std::byte>>(first, first + size);
  const auto require = [](bool holds, const char* what, const Error& error) {
    if (holds) return;
    std::fprintf(stderr, "%s: %s\n", what, error.message.c_str());
    std::abort();
  };
  const Status sound = pte::verify(*bytes);
  const auto program = pte::read(*bytes, bytes);
  if (!sound) {
    require(sound.error().kind == ErrorKind::Input, "an error of verify() blames edgelift", sound.error());
    require(!program.ok(), "read() takes what verify() refuses", sound.error());
    return 0;
  }
  if (!program) {
    require(program.error().kind == ErrorKind::Input, "an error of read() blames edgelift", program.error());
    return 0;
  }
  for (const TensorData& constant : program->constants)
    if (!constant.empty()) static_cast<void>(constant.bytes().back());
  const auto again = pte::write_to_memory(*program);
  if (!again) require(false, "what was read cannot be written", again.error());
  const Status still = pte::verify(*again);
  if (!still) require(false, "what was written again does not verify", still.error());
  return 0;
}
