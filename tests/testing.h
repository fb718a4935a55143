// Where tests find their data.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace edgelift::testing {

std::filesystem::path source_dir();
std::filesystem::path build_dir();
// ../shared beside the repository, where large models lie; nullopt where it is absent (tests then skip by name).
std::optional<std::filesystem::path> shared_dir();
// A fresh directory for the running test, removed at exit.
std::filesystem::path scratch_dir();

}  // namespace edgelift::testing
