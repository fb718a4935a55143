#include "testing.h"

#include <unistd.h>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

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

namespace {
bool g_update = false;
}  // namespace

std::vector<std::string> TextCase::values(std::string_view key) const {
  std::vector<std::string> out;
  const std::string start = "; " + std::string(key);
  for (size_t at = 0; at < header.size();) {
    const size_t end = header.find('\n', at);
    const std::string_view line = std::string_view(header).substr(at, end - at);
    if (line.starts_with(start)) out.emplace_back(line.substr(start.size()));
    at = end + 1;
  }
  return out;
}

std::string TextCase::value(std::string_view key) const {
  const std::vector<std::string> all = values(key);
  EXPECT_LE(all.size(), 1u) << "several lines of " << key;
  return all.empty() ? "" : all[0];
}

bool TextCase::flag(std::string_view key) const { return !values(key).empty(); }

void TextCase::check(const std::string& output) const {
  if (g_update) {
    std::ofstream(path) << header << before << "; EXPECT\n" << output;
  } else {
    EXPECT_EQ(output, expected);
  }
}

TextCase read_case(const fs::path& path) {
  std::ifstream in(path);
  TextCase out;
  out.path = path;
  std::string* part = &out.before;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("; EXPECT")) {
      part = &out.expected;
    } else if (part == &out.before && out.before.empty() && line.starts_with(";")) {
      out.header += line + "\n";
    } else {
      *part += line + "\n";
    }
  }
  return out;
}

std::vector<fs::path> text_cases(const std::string& folder) {
  std::vector<fs::path> found;
  const fs::path root = source_dir() / "tests" / folder;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.path().extension() == ".elir") found.push_back(fs::relative(entry.path(), root));
  std::sort(found.begin(), found.end());
  return found;
}

std::string test_name(const fs::path& relative) {
  std::string name = (relative.parent_path() / relative.stem()).string();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

int run_text_tests(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--update") g_update = true;
  return RUN_ALL_TESTS();
}

}  // namespace edgelift::testing
