// to_edge on the text form. Every .elir below this folder is a case:
//
//   ; RUN: functionalize | to-edge | to-edge upstream | legalize portable | legalize full
//   ; REFUSED: part of the error's sentence            (then no EXPECT follows)
//   program { … }
//   ; EXPECT
//   program { … }
//
// The whole output is compared, and must pass the verifier. Run the executable with --update to rewrite expectations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "edge/edge.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "ops/record.h"
#include "testing.h"

namespace edgelift::edge {
namespace {

namespace fs = std::filesystem;

bool g_update = false;

struct Case {
  std::string run, refused, header, before, expected;
};

Case parse_case(const fs::path& path) {
  std::ifstream in(path);
  Case out;
  std::string* part = &out.before;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("; EXPECT")) {
      part = &out.expected;
    } else if (part == &out.before && out.before.empty() && line.starts_with(";")) {
      out.header += line + "\n";
      if (line.starts_with("; RUN: ")) out.run = line.substr(7);
      if (line.starts_with("; REFUSED: ")) out.refused = line.substr(11);
    } else {
      *part += line + "\n";
    }
  }
  return out;
}

Status run(ir::Program& program, const std::string& what) {
  const ir::OpTable& ops = ops::table();
  if (what == "functionalize") return functionalize(program, ops);
  if (what == "to-edge") return to_edge(program, ops, {});
  if (what == "to-edge upstream") return to_edge(program, ops, {.upstream = true});
  if (what == "legalize portable") return legalize(program, ops, Target::Portable);
  if (what == "legalize full") return legalize(program, ops, Target::Full);
  return usage_error("unknown RUN line '" + what + "'");
}

class EdgeText : public ::testing::TestWithParam<fs::path> {};

TEST_P(EdgeText, GivesTheExpectedProgram) {
  const fs::path path = testing::source_dir() / "tests" / "edge" / GetParam();
  const Case test = parse_case(path);
  ASSERT_FALSE(test.run.empty()) << "no RUN line";
  auto program = ir::parse(test.before, ops::table());
  ASSERT_TRUE(program.ok()) << program.error().message;
  const Status done = run(*program, test.run);
  if (!test.refused.empty()) {
    ASSERT_FALSE(done.ok()) << "was not refused";
    EXPECT_NE(done.error().message.find(test.refused), std::string::npos) << done.error().message;
    return;
  }
  ASSERT_TRUE(done.ok()) << done.error().message;
  const Status valid = ir::verify(*program, ops::table());
  EXPECT_TRUE(valid.ok()) << valid.error().message;
  const std::string text = ir::print(*program);
  if (g_update) {
    std::ofstream(path) << test.header << test.before << "; EXPECT\n" << text;
  } else {
    EXPECT_EQ(text, test.expected);
  }
}

std::vector<fs::path> cases() {
  std::vector<fs::path> found;
  const fs::path root = testing::source_dir() / "tests" / "edge";
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.path().extension() == ".elir") found.push_back(fs::relative(entry.path(), root));
  std::sort(found.begin(), found.end());
  return found;
}

INSTANTIATE_TEST_SUITE_P(Files, EdgeText, ::testing::ValuesIn(cases()), [](const auto& info) {
  std::string name = info.param.string();
  name.resize(name.size() - 5);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace edgelift::edge

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--update") == 0) edgelift::edge::g_update = true;
  return RUN_ALL_TESTS();
}
