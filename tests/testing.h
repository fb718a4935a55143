// Where tests find their data, and cases in the text form.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace edgelift::testing {

std::filesystem::path source_dir();
std::filesystem::path build_dir();
// ../shared beside the repository, where large models lie; nullopt where it is absent (tests then skip by name).
std::optional<std::filesystem::path> shared_dir();
// A fresh directory for the running test, removed at exit.
std::filesystem::path scratch_dir();

// A .elir file of a test:
//
//   ; RUN: …                 lines of the header: "; KEY: value", "; FLAG", or remarks
//   program { … }
//   ; EXPECT
//   program { … }
struct TextCase {
  std::filesystem::path path;
  std::string header, before, expected;

  // The values of the header's lines with this key, in order.
  std::vector<std::string> values(std::string_view key) const;
  std::string value(std::string_view key) const;  // of the only one; "" if there is none
  bool flag(std::string_view key) const;
  // Compares the output with the expectation, or writes it into the file (--update).
  void check(const std::string& output) const;
};
TextCase read_case(const std::filesystem::path& path);
// All below tests/FOLDER, relative to it.
std::vector<std::filesystem::path> text_cases(const std::string& folder);
std::string test_name(const std::filesystem::path& relative);  // of a parameterised test
// main() of a test of text cases: --update rewrites the expectations.
int run_text_tests(int argc, char** argv);

}  // namespace edgelift::testing
