// The public Tester, and scalar lifting from the program to the runtime.
#include <gtest/gtest.h>

#include "edgelift/tester.h"
#include "ir/text.h"
#include "ops/record.h"

namespace edgelift {
namespace {

#define EXPECT_OK(tester) EXPECT_TRUE((tester).status().ok()) << (tester).status().error().message

TransformPasses passes(std::string_view list) {
  auto parsed = passes::parse_passes(list);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  return std::move(*parsed);
}

constexpr const char* kMulScalar = R"(program {
  fn forward(%x: f32[2,8]) -> f32[2,8] {
    %y = mul.Scalar %x, other=0.25 : f32[2,8]
    %z = tanh %y : f32[2,8]
    return %z
  }
})";

TEST(Tester, MulScalarIsLiftedDelegatedAndRuns) {
  Tester tester = Tester::from_text(kMulScalar);
  tester.check_count({{"aten::mul.Scalar", 1}})
      .to_edge_transform_and_lower(passes("lift-scalars"), "upstream")
      .check_not({"aten::mul.Scalar", "aten::mul.Tensor"})
      .check_count({{"delegate", 1}})
      .to_executorch()
      .serialize()
      .run_method_and_compare_outputs({}, {}, 1e-6, 3);
  EXPECT_OK(tester);
}

TEST(Tester, WithoutLiftingTheScalarStaysOutside) {
  Tester tester = Tester::from_text(kMulScalar);
  tester.to_edge_transform_and_lower({}, "upstream")
      .check_count({{"aten::mul.Scalar", 1}, {"delegate", 1}})
      .to_executorch()
      .serialize()
      .run_method_and_compare_outputs();
  EXPECT_OK(tester);
}

TEST(Tester, LiftedButNotDelegatedStillEmitsAndRuns) {
  Tester tester = Tester::from_text(kMulScalar);
  tester.to_edge_transform_and_lower(passes("lift-scalars"), "portable")
      .check_count({{"aten::mul.Tensor", 1}, {"aten::mul.Scalar", 0}, {"delegate", 0}})
      .to_executorch()
      .serialize()
      .run_method_and_compare_outputs({}, {}, 0);
  EXPECT_OK(tester);
}

TEST(Tester, WhatIsNotMappedPassesUnchanged) {
  Tester tester = Tester::from_text(R"(program {
  fn forward(%x: f32[2,8]) -> f32[2,8], bool[2,8] {
    %y = fmod.Scalar %x, other=0.75 : f32[2,8]
    %z = eq.Scalar %x, other=0.5 : bool[2,8]
    return %y, %z
  }
})");
  tester.to_edge_transform_and_lower(passes("lift-scalars"), "upstream")
      .check_count({{"aten::fmod.Scalar", 1}, {"aten::eq.Scalar", 1}})
      .to_executorch()
      .serialize()
      .run_method_and_compare_outputs();
  EXPECT_OK(tester);
}

TEST(Tester, IntegersAreNotGivenFloatConstants) {
  Tester tester = Tester::from_text(R"(program {
  fn forward(%x: i32[4], %b: bool[4]) -> f32[4], i32[4], i64[4] {
    %y = mul.Scalar %x, other=0.5 : f32[4]
    %z = mul.Scalar %x, other=3 : i32[4]
    %w = mul.Scalar %b, other=2 : i64[4]
    return %y, %z, %w
  }
})");
  tester.to_edge_transform_and_lower(passes("lift-scalars"), "portable")
      .check_count({{"aten::mul.Scalar", 2}, {"aten::mul.Tensor", 1}})
      .to_executorch()
      .serialize()
      .run_method_and_compare_outputs();
  EXPECT_OK(tester);
}

TEST(Tester, HalfPrecisionIsLiftedOnlyWhereExact) {
  constexpr const char* kHalf = R"(program {
  fn forward(%x: f16[4]) -> f16[4], f16[4] {
    %y = mul.Scalar %x, other=0.5 : f16[4]
    %z = mul.Scalar %x, other=0.1 : f16[4]
    return %y, %z
  }
})";
  Tester guarded = Tester::from_text(kHalf);
  guarded.to_edge_transform_and_lower(passes("lift-scalars"), "upstream").check_count({{"aten::mul.Scalar", 1}});
  EXPECT_OK(guarded);
  Tester told = Tester::from_text(kHalf);
  told.to_edge_transform_and_lower(passes("lift-scalars:inexact-f16=yes"), "upstream")
      .check_count({{"aten::mul.Scalar", 0}});
  EXPECT_OK(told);
}

// The recipe's own lowering behind the interface of a stage that somebody else supplies.
class OwnStage : public LoweringStage {
 public:
  bool takes_transform_passes() const override { return true; }
  Status set_transform_passes(TransformPasses list) override {
    passes_ = std::move(list);
    return Ok{};
  }
  Result<partition::Lowered> run(ir::Program program) override {
    LowerOptions options;
    options.recipe = "upstream";
    options.transform_passes = passes_;
    return edgelift::to_edge_transform_and_lower(std::move(program), options);
  }

 private:
  TransformPasses passes_;
};

class DeafStage : public LoweringStage {
 public:
  Result<partition::Lowered> run(ir::Program program) override {
    return edgelift::to_edge_transform_and_lower(std::move(program), LowerOptions{});
  }
};

TEST(Tester, TransformPassesReachAStageOfTheCaller) {
  OwnStage stage;
  Tester tester = Tester::from_text(kMulScalar);
  tester.to_edge_transform_and_lower(stage, passes("lift-scalars"))
      .check_not({"aten::mul.Scalar", "aten::mul.Tensor"})
      .to_executorch()
      .serialize()
      .run_method_and_compare_outputs();
  EXPECT_OK(tester);
}

TEST(Tester, AStageThatTakesNoPassesIsAnErrorWithThem) {
  DeafStage stage;
  Tester with = Tester::from_text(kMulScalar);
  with.to_edge_transform_and_lower(stage, passes("lift-scalars"));
  ASSERT_FALSE(with.status().ok());
  EXPECT_EQ(with.status().error().kind, ErrorKind::Usage);
  EXPECT_NE(with.status().error().message.find("takes none"), std::string::npos);
  Tester without = Tester::from_text(kMulScalar);
  without.to_edge_transform_and_lower(stage);
  EXPECT_OK(without);
}

TEST(Tester, CustomPassesRunInPlaceOfNamedOnes) {
  int calls = 0;
  passes::PassRequest custom;
  custom.name = "count-nodes";
  custom.custom = [&](ir::Program& program, passes::PassContext&) -> Result<bool> {
    calls += static_cast<int>(program.forward().node_count());
    return false;
  };
  Tester tester = Tester::from_text(kMulScalar);
  tester.to_edge_transform_and_lower({custom}, "portable").check_count({{"aten::mul.Scalar", 1}});
  EXPECT_OK(tester);
  EXPECT_EQ(calls, 2);
}

TEST(Tester, ChecksFailWithASentence) {
  Tester tester = Tester::from_text(kMulScalar);
  tester.check_count({{"aten::mul.Scalar", 2}});
  ASSERT_FALSE(tester.status().ok());
  EXPECT_EQ(tester.status().error().message, "aten::mul.Scalar stands 1 times at top level instead of 2");
  tester.check_count({{"aten::mul.Scalar", 1}});
  EXPECT_FALSE(tester.status().ok()) << "a later check must not hide an earlier failure";
  Tester early = Tester::from_text(kMulScalar);
  early.serialize();
  EXPECT_FALSE(early.status().ok());
}

TEST(Tester, WrongOutputsAreFound) {
  Tester tester = Tester::from_text(kMulScalar);
  tester.to_edge_transform_and_lower().to_executorch().serialize().run_method_and_compare_outputs(
      {TensorData::of<float>(DType::F32, {2, 8}, std::vector<float>(16, 1.0f))},
      {TensorData::of<float>(DType::F32, {2, 8}, std::vector<float>(16, 1.0f))});
  ASSERT_FALSE(tester.status().ok());
  EXPECT_NE(tester.status().error().message.find("output 0 differs"), std::string::npos);
}

// ---- the guard of attention ----

std::string attention(const std::string& query, const std::string& key) {
  return R"(program {
  fn forward(%q: f32[1,2,4,8], %k: f32[1,2,4,8], %v: f32[1,2,4,8]) -> f32[1,2,4,8] {
)" + query +
         key + R"(    %s = matmul %qs, %kt : f32[1,2,4,4]
    %p = _softmax %s, dim=-1, half_to_float=false : f32[1,2,4,4]
    %o = matmul %p, %v : f32[1,2,4,8]
    return %o
  }
})";
}

constexpr const char* kScaledQuery = "    %qs = mul.Scalar %q, other=0.5 : f32[1,2,4,8]\n";
constexpr const char* kPlainQuery = "    %qs = alias %q : f32[1,2,4,8]\n";
constexpr const char* kKeyThenScale =
    "    %kp = permute %k, dims=[0,1,3,2] : f32[1,2,8,4]\n    %kt = mul.Scalar %kp, other=0.25 : f32[1,2,8,4]\n";
constexpr const char* kScaleThenPermute =
    "    %ks = mul.Scalar %k, other=0.25 : f32[1,2,4,8]\n    %kt = permute %ks, dims=[0,1,3,2] : f32[1,2,8,4]\n";
constexpr const char* kScaleThenTranspose =
    "    %ks = mul.Scalar %k, other=0.25 : f32[1,2,4,8]\n    %kt = transpose.int %ks, dim0=2, dim1=3 : f32[1,2,8,4]\n";
constexpr const char* kScaleThenCast =
    "    %ks = mul.Scalar %k, other=0.25 : f32[1,2,4,8]\n    %kc = _to_copy %ks, dtype=f32 : f32[1,2,4,8]\n"
    "    %kt = permute %kc, dims=[0,1,3,2] : f32[1,2,8,4]\n";
constexpr const char* kScaleThenExpand =
    "    %kp = permute %k, dims=[0,1,3,2] : f32[1,2,8,4]\n    %ks = mul.Scalar %kp, other=0.25 : f32[1,2,8,4]\n"
    "    %kt = expand %ks, size=[1,2,8,4] : f32[1,2,8,4]\n";
constexpr const char* kPlainKey = "    %kt = permute %k, dims=[0,1,3,2] : f32[1,2,8,4]\n";

class SdpaGuard : public ::testing::TestWithParam<std::pair<const char*, std::string>> {};

TEST_P(SdpaGuard, KeepsTheScalesThatTheFusionTakes) {
  const std::string& text = GetParam().second;
  const auto scales = [&](std::string_view list) {
    auto program = parse_text(text);
    EXPECT_TRUE(program.ok()) << program.error().message;
    passes::PassContext context{
        .ops = ops::table(), .options = {}, .evaluate = {}, .later = {}, .pass = {}, .declined = {}};
    context.declined = [](const ir::Node&, std::string) {};
    const auto status = passes::run_passes(*program, passes(list), context, true);
    EXPECT_TRUE(status.ok()) << status.error().message;
    int kept = 0;
    program->forward().each([&](const ir::Node& node) { kept += node.is("mul", "Scalar"); });
    return kept;
  };
  int all = 0;
  for (size_t at = text.find("mul.Scalar"); at != std::string::npos; at = text.find("mul.Scalar", at + 1)) ++all;
  EXPECT_EQ(scales("lift-scalars:keep-sdpa=always"), all);
  EXPECT_EQ(scales("lift-scalars:keep-sdpa=never"), 0);
  EXPECT_EQ(scales("lift-scalars"), 0) << "nothing later recognises attention";
  EXPECT_EQ(scales("lift-scalars,fuse-sdpa"), 0) << "kept for the fusion, which takes them";
}

TEST_P(SdpaGuard, LiftingAndFusingCommute) {
  const auto printed = [&](std::string_view list) {
    auto program = parse_text(GetParam().second);
    passes::PassContext context{
        .ops = ops::table(), .options = {}, .evaluate = {}, .later = {}, .pass = {}, .declined = {}};
    context.declined = [](const ir::Node&, std::string) {};
    EXPECT_TRUE(passes::run_passes(*program, passes(list), context, true).ok());
    std::string nodes;
    program->forward().each([&](const ir::Node& node) { nodes += ir::print_node(node) + "\n"; });
    EXPECT_NE(nodes.find("scaled_dot_product_attention"), std::string::npos) << nodes;
    return nodes;
  };
  EXPECT_EQ(printed("lift-scalars:keep-sdpa=never,fuse-sdpa"), printed("fuse-sdpa"));
  EXPECT_EQ(printed("lift-scalars:keep-sdpa=always,fuse-sdpa"), printed("fuse-sdpa"));
}

TEST_P(SdpaGuard, ThePipelineKeepsTheValue) {
  Tester tester = Tester::from_text(GetParam().second);
  tester.to_edge_transform_and_lower()
      .check_count({{"delegate", 1}})
      .to_executorch()
      .serialize()
      .run_method_and_compare_outputs({}, {}, 2e-6, 2);
  EXPECT_OK(tester);
}

INSTANTIATE_TEST_SUITE_P(Spellings, SdpaGuard,
                         ::testing::Values(std::pair("Canonical", attention(kScaledQuery, kKeyThenScale)),
                                           std::pair("PermuteBetween", attention(kScaledQuery, kScaleThenPermute)),
                                           std::pair("TransposeBetween", attention(kScaledQuery, kScaleThenTranspose)),
                                           std::pair("CastBetween", attention(kScaledQuery, kScaleThenCast)),
                                           std::pair("ExpandBetween", attention(kScaledQuery, kScaleThenExpand)),
                                           std::pair("QueryOnly", attention(kScaledQuery, kPlainKey)),
                                           std::pair("KeyOnly", attention(kPlainQuery, kScaleThenPermute))),
                         [](const auto& info) { return info.param.first; });

}  // namespace
}  // namespace edgelift
