#include "testing.h"

#include <unistd.h>
#include <cstdlib>
#include <string>

namespace edgelift::testing {

namespace fs = std::filesystem;

fs::path source_dir() { return EDGELIFT_SOURCE_DIR; }
fs::path build_dir() { return EDGELIFT_BUILD_DIR; }

std::optional<fs::path> shared_dir() {
  const char* named = std::getenv("EDGELIFT_SHARED");
  const fs::path path = named != nullptr ? fs::path(named) : source_dir() / ".." / "shared";
  if (!fs::is_directory(path / "models")) return std::nullopt;
  return path;
}

namespace {
struct Scratch {
  fs::path path;
  Scratch() {
    std::string name = (fs::temp_directory_path() / "edgelift-test-XXXXXX").string();
    path = mkdtemp(name.data()) == nullptr ? fs::temp_directory_path() : fs::path(name);
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};
}  // namespace

fs::path scratch_dir() {
  static const Scratch scratch;
  static int count = 0;
  const fs::path path = scratch.path / std::to_string(count++);
  fs::create_directories(path);
  return path;
}

}  // namespace edgelift::testing
