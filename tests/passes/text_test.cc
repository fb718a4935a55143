// Passes on the text form. Every .elir below this folder is a case:
//
//   ; RUN: --passes=remove-noops,lift-scalars
//   ; DECLINED: %x sentence             (optional, one line a declined node, in order; part of a sentence is enough)
//   ; TOLERANCE: 1e-6                   (optional: how far the value may move, relative to its range; default 0 = bits)
//   ; NOT-IDEMPOTENT, ; NO-EVALUATE     (optional)
//   program { … }
//   ; EXPECT
//   program { … }
//
// The whole output is compared. Where every input is static, the program before and after runs on the runtime's kernels
// with the same random inputs and must give the same values; a second run of the same passes must change nothing.
// Run the executable with --update to rewrite the expectations.
#include <gtest/gtest.h>

#include <cmath>

#include "edge/edge.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "ops/record.h"
#include "passes/pass.h"
#include "runtime/evaluate.h"
#include "testing.h"

namespace edgelift::passes {
namespace {

// The program with every input replaced by a constant of random numbers, ready for the runtime; nullopt if it has
// inputs without numbers or sizes that are not static.
std::optional<ir::Program> closed(ir::Program program) {
  if (program.methods.size() != 1) return std::nullopt;
  ir::Graph& graph = program.forward();
  uint64_t state = 88172645463325252ULL;
  const auto random = [&] {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  for (ir::Value* input : graph.inputs()) {
    if (!input->type.is_tensor() || !input->type.is_static()) return std::nullopt;
    std::vector<double> values(static_cast<size_t>(*input->type.numel()));
    for (double& value : values) {
      value = random() * 4 - 2;
      if (input->type.dtype == DType::Bool) value = value > 0 ? 1 : 0;
      if (is_integer(input->type.dtype)) value = std::floor(random() * 4);
    }
    const TensorData data = TensorData::of(DType::F64, input->type.static_sizes(), values).converted(input->type.dtype);
    graph.replace_uses(input, graph.constant_value(program.add_constant("input_" + input->name, data)));
  }
  graph.set_inputs({});
  if (!edge::legalize(program, ops::table(), edge::Target::Portable).ok()) return std::nullopt;
  return program;
}

void expect_same_values(ir::Program before, ir::Program after, double tolerance) {
  auto first = closed(std::move(before)), second = closed(std::move(after));
  if (!first || !second) return;
  const auto a = runtime::evaluate(*first);
  const auto b = runtime::evaluate(*second);
  ASSERT_TRUE(a.ok()) << a.error().message << " (a case that no kernel can run says NO-EVALUATE)";
  ASSERT_TRUE(b.ok()) << b.error().message;
  ASSERT_EQ(a->size(), b->size());
  for (size_t i = 0; i < a->size(); ++i) {
    ASSERT_EQ((*a)[i].sizes(), (*b)[i].sizes()) << "output " << i;
    const std::vector<double> x = (*a)[i].to_doubles(), y = (*b)[i].to_doubles();
    double range = 0;
    for (const double v : x)
      if (std::isfinite(v)) range = std::max(range, std::fabs(v));
    for (size_t k = 0; k < x.size(); ++k) {
      if (std::isnan(x[k])) {
        EXPECT_TRUE(std::isnan(y[k])) << "output " << i << " element " << k << ": " << y[k];
      } else if (std::isinf(x[k]) || tolerance == 0) {
        EXPECT_EQ(x[k], y[k]) << "output " << i << " element " << k;
      } else {
        EXPECT_NEAR(x[k], y[k], tolerance * range) << "output " << i << " element " << k;
      }
    }
  }
}

Result<std::vector<std::string>> run(ir::Program& program, const std::string& list) {
  EL_TRY_OK(ir::verify(program, ops::table()));
  EL_TRY(const auto requests, parse_passes(list));
  PassContext context{
      .ops = ops::table(), .options = {}, .evaluate = runtime::evaluate, .later = {}, .pass = {}, .declined = {}};
  std::vector<std::string> declined;
  context.declined = [&](const ir::Node& node, std::string why) {
    declined.push_back("%" + node.results.at(0)->name + " " + why);
  };
  EL_TRY_OK(run_passes(program, requests, context, true));
  return declined;
}

class PassText : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(PassText, GivesTheExpectedProgram) {
  const testing::TextCase test = testing::read_case(testing::source_dir() / "tests" / "passes" / GetParam());
  const std::string list = test.value("RUN: --passes="), tolerance = test.value("TOLERANCE: ");
  ASSERT_FALSE(list.empty()) << "no RUN line";
  auto before = ir::parse(test.before, ops::table());
  ASSERT_TRUE(before.ok()) << before.error().message;
  auto after = ir::parse(test.before, ops::table());
  const auto declined = run(*after, list);
  ASSERT_TRUE(declined.ok()) << declined.error().message;
  const std::string text = ir::print(*after);
  test.check(text);
  const std::vector<std::string> expected = test.values("DECLINED: ");
  ASSERT_EQ(declined->size(), expected.size()) << ::testing::PrintToString(*declined);
  for (size_t i = 0; i < declined->size(); ++i)
    EXPECT_NE((*declined)[i].find(expected[i]), std::string::npos) << (*declined)[i];
  if (!test.flag("NOT-IDEMPOTENT")) {
    const auto again = run(*after, list);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(ir::print(*after), text) << "a second run changes the program";
  }
  if (!test.flag("NO-EVALUATE"))
    expect_same_values(std::move(*before), std::move(*after), tolerance.empty() ? 0 : std::stod(tolerance));
}

INSTANTIATE_TEST_SUITE_P(Files, PassText, ::testing::ValuesIn(testing::text_cases("passes")),
                         [](const auto& info) { return testing::test_name(info.param); });

}  // namespace
}  // namespace edgelift::passes

int main(int argc, char** argv) { return edgelift::testing::run_text_tests(argc, argv); }
