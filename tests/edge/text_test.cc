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

#include "edge/edge.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "ops/record.h"
#include "testing.h"

namespace edgelift::edge {
namespace {

Status run(ir::Program& program, const std::string& what) {
  const ir::OpTable& ops = ops::table();
  if (what == "functionalize") return functionalize(program, ops);
  if (what == "to-edge") return to_edge(program, ops, {});
  if (what == "to-edge upstream") return to_edge(program, ops, {.upstream = true});
  if (what == "legalize portable" || what == "legalize full") {
    const auto changed = legalize(program, ops, what == "legalize full" ? Target::Full : Target::Portable);
    return changed.ok() ? Status(Ok{}) : Status(changed.error());
  }
  return usage_error("unknown RUN line '" + what + "'");
}

class EdgeText : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(EdgeText, GivesTheExpectedProgram) {
  const testing::TextCase test = testing::read_case(testing::source_dir() / "tests" / "edge" / GetParam());
  const std::string what = test.value("RUN: "), refused = test.value("REFUSED: ");
  ASSERT_FALSE(what.empty()) << "no RUN line";
  auto program = ir::parse(test.before, ops::table());
  ASSERT_TRUE(program.ok()) << program.error().message;
  const Status done = run(*program, what);
  if (!refused.empty()) {
    ASSERT_FALSE(done.ok()) << "was not refused";
    EXPECT_NE(done.error().message.find(refused), std::string::npos) << done.error().message;
    return;
  }
  ASSERT_TRUE(done.ok()) << done.error().message;
  const Status valid = ir::verify(*program, ops::table());
  EXPECT_TRUE(valid.ok()) << valid.error().message;
  test.check(ir::print(*program));
}

INSTANTIATE_TEST_SUITE_P(Files, EdgeText, ::testing::ValuesIn(testing::text_cases("edge")),
                         [](const auto& info) { return testing::test_name(info.param); });

}  // namespace
}  // namespace edgelift::edge

int main(int argc, char** argv) { return edgelift::testing::run_text_tests(argc, argv); }
