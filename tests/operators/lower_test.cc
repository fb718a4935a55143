// What operators become inside the delegate, and why they stay outside.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/record.h"
#include "ops/xnn_builder.h"
#include "xnnpack/graph.h"

namespace edgelift::ops {
namespace {

using xnn::Kind;

// Parses one node, given with its operands' types, and lowers it.
struct Lowered {
  ir::Program program;
  XnnBuilder builder;
  LowerResult refused;
  std::vector<Kind> kinds() const {
    std::vector<Kind> out;
    for (const xnn::Node& node : builder.graph().nodes) out.push_back(node.kind);
    return out;
  }
};

Lowered lower(const std::string& inputs, const std::string& node, const std::string& symbols = "") {
  std::string type = node.substr(node.rfind(": ") + 2);
  const std::string results = node.substr(0, node.find(" ="));
  if (type.front() == '(') type = type.substr(1, type.size() - 2);
  const std::string text = "program {\n" + symbols + "  fn forward(" + inputs + ") -> " + type + " {\n    " + node +
                           "\n    return " + results + "\n  }\n}\n";
  Lowered out;
  auto program = ir::parse(text, table());
  EXPECT_TRUE(program.ok()) << text << (program.ok() ? "" : program.error().message);
  if (!program.ok()) return out;
  out.program = *std::move(program);
  out.refused = lower_node(*out.program.forward().first(), out.builder);
  if (!out.refused) {
    for (const auto& output : out.program.forward().outputs()) out.builder.add_output(output.value);
    const Status ok = xnn::verify(out.builder.graph());
    EXPECT_TRUE(ok.ok()) << text << (ok.ok() ? "" : ok.error().message);
  }
  return out;
}

std::string why(const std::string& inputs, const std::string& node, const std::string& symbols = "") {
  const Lowered lowered = lower(inputs, node, symbols);
  return lowered.refused ? lowered.refused->sentence : "lowered";
}

using Kinds = std::vector<Kind>;

TEST(Slice, StepOneIsOneNode) {
  EXPECT_EQ(lower("%x: f32[2,7]", "%y = slice.Tensor %x, dim=1, start=2, end=5 : f32[2,3]").kinds(),
            Kinds{Kind::StaticSlice});
}

TEST(Slice, RangesFarPastTheEndsAreResolved) {
  const Lowered lowered = lower("%x: f32[4,6]", "%y = slice.Tensor %x, dim=0, start=-100, end=1 : f32[1,6]");
  ASSERT_EQ(lowered.kinds(), Kinds{Kind::StaticSlice});
  EXPECT_EQ(lowered.builder.graph().nodes[0].list, (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(lowered.builder.graph().nodes[0].list2, (std::vector<int64_t>{1, 6}));
}

TEST(Slice, WholeDimIsTheOperand) {
  const Lowered lowered = lower("%x: f32[4,6]", "%y = slice.Tensor %x, dim=0, end=9223372036854775807 : f32[4,6]");
  EXPECT_EQ(lowered.kinds(), Kinds{Kind::Copy});  // an output that is an input
}

TEST(Slice, AStepGroupsTheDimIntoRows) {
  // 7 elements by 2: the last row is padded.
  EXPECT_EQ(lower("%x: f32[2,7]", "%y = slice.Tensor %x, dim=1, step=2 : f32[2,4]").kinds(),
            (Kinds{Kind::StaticConstantPad, Kind::StaticReshape, Kind::StaticSlice, Kind::StaticReshape}));
  EXPECT_EQ(
      lower("%x: f32[2,8]", "%y = slice.Tensor %x, dim=1, start=1, step=3 : f32[2,3]").kinds(),
      (Kinds{Kind::StaticSlice, Kind::StaticConstantPad, Kind::StaticReshape, Kind::StaticSlice, Kind::StaticReshape}));
}

TEST(Slice, DynamicRangesAreRefused) {
  EXPECT_NE(
      why("%x: f32[s0,4]", "%y = slice.Tensor %x, dim=0, end=-1 : f32[s0-1,4]", "  sym s0 in [2, 8]\n").find("dynamic"),
      std::string::npos);
  // A dynamic dim that is not cut is bounded by its range.
  const Lowered lowered =
      lower("%x: f32[s0,4]", "%y = slice.Tensor %x, dim=1, end=2 : f32[s0,2]", "  sym s0 in [2, 8]\n");
  ASSERT_EQ(lowered.kinds(), Kinds{Kind::StaticSlice});
  EXPECT_EQ(lowered.builder.graph().nodes[0].list2, (std::vector<int64_t>{8, 2}));
}

TEST(Select, IsASliceAndAReshape) {
  EXPECT_EQ(lower("%x: f32[2,3,4]", "%y = select.int %x, dim=1, index=-1 : f32[2,4]").kinds(),
            (Kinds{Kind::StaticSlice, Kind::StaticReshape}));
  EXPECT_EQ(why("%x: f32[s0,4]", "%y = select.int %x, dim=0, index=-1 : f32[4]", "  sym s0 in [2, 8]\n"),
            "the index counts from the end of a dynamic dim, and a slice node has a fixed offset");
}

TEST(Pieces, AreOneSliceEach) {
  EXPECT_EQ(
      lower("%x: f32[5,4]", "%a, %b, %c = split.Tensor %x, split_size=2 : (f32[2,4], f32[2,4], f32[1,4])").kinds(),
      (Kinds{Kind::StaticSlice, Kind::StaticSlice, Kind::StaticSlice}));
  EXPECT_EQ(lower("%x: f32[2,3]", "%a, %b = unbind.int %x : (f32[3], f32[3])").kinds(),
            (Kinds{Kind::StaticSlice, Kind::StaticReshape, Kind::StaticSlice, Kind::StaticReshape}));
}

TEST(View, OneDynamicSizeIsInferred) {
  const std::string symbols = "  sym s0 in [1, 8]\n  sym s1 in [1, 8]\n";
  const Lowered lowered = lower("%x: f32[s0,6]", "%y = view %x, size=[s0,2,3] : f32[s0,2,3]", symbols);
  ASSERT_EQ(lowered.kinds(), Kinds{Kind::StaticReshape});
  EXPECT_EQ(lowered.builder.graph().nodes[0].list, (std::vector<int64_t>{0, 2, 3}));
  EXPECT_NE(
      why("%x: f32[s0,s1,6]", "%y = view %x, size=[s0,s1,2,3] : f32[s0,s1,2,3]", symbols).find("more than one size"),
      std::string::npos);
}

TEST(Permute, IdentityIsTheOperand) {
  EXPECT_EQ(lower("%x: f32[2,3]", "%y = permute %x, dims=[0,-1] : f32[2,3]").kinds(), Kinds{Kind::Copy});
  const Lowered lowered = lower("%x: f32[2,3,4]", "%y = transpose.int %x, dim0=-1, dim1=0 : f32[4,3,2]");
  ASSERT_EQ(lowered.kinds(), Kinds{Kind::StaticTranspose});
  EXPECT_EQ(lowered.builder.graph().nodes[0].list, (std::vector<int64_t>{2, 1, 0}));
}

TEST(Expand, MultipliesByAsManyOnesAsTheGrowingDimsHave) {
  const Lowered lowered = lower("%x: f32[2,1,4]", "%y = expand %x, size=[2,3,4] : f32[2,3,4]");
  ASSERT_EQ(lowered.kinds(), Kinds{Kind::Multiply});
  const uint32_t ones = lowered.builder.graph().nodes[0].inputs[1];
  EXPECT_EQ(lowered.builder.graph().values[ones].data.sizes(), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(lower("%x: f32[2,4]", "%y = expand %x, size=[1,2,4] : f32[1,2,4]").kinds(), Kinds{Kind::StaticReshape});
  EXPECT_NE(why("%x: f32[1,4]", "%y = expand %x, size=[s0,4] : f32[s0,4]", "  sym s0 in [1, 8]\n").find("dynamic"),
            std::string::npos);
  EXPECT_NE(why("%x: f32[1]", "%y = expand %x, size=[100000] : f32[100000]").find("ones"), std::string::npos);
}

TEST(Arithmetic, AlphaAndRoundingAreNotDropped) {
  EXPECT_EQ(lower("%x: f32[2], %z: f32[2]", "%y = add.Tensor %x, %z : f32[2]").kinds(), Kinds{Kind::Add});
  EXPECT_EQ(lower("%x: f32[2], %z: f32[2]", "%y = sub.Tensor %x, %z, alpha=2 : f32[2]").kinds(),
            (Kinds{Kind::Multiply, Kind::Subtract}));
  EXPECT_NE(
      why("%x: f32[2], %z: f32[2]", "%y = div.Tensor_mode %x, %z, rounding_mode=\"floor\" : f32[2]").find("floor"),
      std::string::npos);
  EXPECT_NE(why("%x: f32[2]", "%y = mul.Scalar %x, other=2.0 : f32[2]").find("lift-scalars"), std::string::npos);
}

TEST(Arithmetic, DtypesThatTheDelegateHasNot) {
  EXPECT_NE(why("%x: i64[2], %z: i64[2]", "%y = add.Tensor %x, %z : i64[2]").find("int64"), std::string::npos);
  EXPECT_NE(why("%x: bf16[2], %z: bf16[2]", "%y = add.Tensor %x, %z : bf16[2]").find("bfloat16"), std::string::npos);
  EXPECT_NE(why("%x: f32[2], %z: f16[2]", "%y = add.Tensor %x, %z : f32[2]").find("mixed"), std::string::npos);
}

TEST(Arithmetic, PowersAreThoseThatEagerComputesWithoutPow) {
  EXPECT_EQ(lower("%x: f32[2]", "%y = pow.Tensor_Scalar %x, exponent=3 : f32[2]").kinds(),
            (Kinds{Kind::Square, Kind::Multiply}));
  EXPECT_EQ(lower("%x: f32[2]", "%y = pow.Tensor_Scalar %x, exponent=-1 : f32[2]").kinds(), Kinds{Kind::Div});
  EXPECT_NE(why("%x: f32[2]", "%y = pow.Tensor_Scalar %x, exponent=2.5 : f32[2]").find("exponent"), std::string::npos);
}

TEST(Extremum, KeepsTheNaNOfEitherOperand) {
  EXPECT_EQ(lower("%x: f32[2], %z: f32[2]", "%y = maximum %x, %z : f32[2]").kinds(),
            (Kinds{Kind::Maximum, Kind::Clamp, Kind::Add}));
  // The same operand twice cannot lose anything.
  EXPECT_EQ(lower("%x: f32[2]", "%y = minimum %x, %x : f32[2]").kinds(), Kinds{Kind::Minimum});
}

TEST(Clamp, BoundsInOrder) {
  EXPECT_EQ(lower("%x: f32[2]", "%y = clamp %x, min=0 : f32[2]").kinds(), Kinds{Kind::Clamp});
  EXPECT_NE(why("%x: f32[2]", "%y = clamp %x, min=2, max=1 : f32[2]").find("above"), std::string::npos);
}

TEST(Convert, BetweenFloatsOnly) {
  EXPECT_EQ(lower("%x: f32[2]", "%y = _to_copy %x, dtype=f16 : f16[2]").kinds(), Kinds{Kind::Convert});
  EXPECT_NE(why("%x: i64[2]", "%y = _to_copy %x, dtype=f32 : f32[2]").find("int64"), std::string::npos);
  EXPECT_NE(why("%x: f64[2]", "%y = clone %x : f64[2]").find("float64"), std::string::npos);
}

TEST(Mean, OverAdjacentDims) {
  EXPECT_EQ(lower("%x: f32[2,3,4,5]", "%y = mean.dim %x, dim=[-1,-2], keepdim=true : f32[2,3,1,1]").kinds(),
            (Kinds{Kind::StaticTranspose, Kind::GlobalAvgPooling2d, Kind::StaticTranspose}));
  EXPECT_EQ(lower("%x: f32[2,3,4,5]", "%y = mean.dim %x, dim=[2,3] : f32[2,3]").kinds(),
            (Kinds{Kind::StaticTranspose, Kind::GlobalAvgPooling2d}));
  EXPECT_EQ(lower("%x: f32[2,3,4]", "%y = mean.dim %x, dim=[1] : f32[2,4]").kinds(),
            (Kinds{Kind::StaticReshape, Kind::GlobalAvgPooling2d, Kind::StaticReshape}));
  EXPECT_EQ(lower("%x: f32[2,3,4,5]", "%y = mean.dim %x, dim=[1,2] : f32[2,5]").kinds(),
            Kinds{Kind::GlobalAvgPooling2d});
  EXPECT_NE(why("%x: f32[2,3,4]", "%y = mean.dim %x, dim=[2] : f32[2,3]").find("last dim"), std::string::npos);
  EXPECT_NE(why("%x: f32[2,3,4]", "%y = mean.dim %x, dim=[0,2] : f32[3]").find("adjacent"), std::string::npos);
}

TEST(Pad, NegativePaddingCuts) {
  EXPECT_EQ(lower("%x: f32[2,5]", "%y = constant_pad_nd %x, pad=[1,-2] : f32[2,4]").kinds(),
            (Kinds{Kind::StaticSlice, Kind::StaticConstantPad}));
}

TEST(Repeat, ConcatenatesFewAndMultipliesMany) {
  EXPECT_EQ(lower("%x: f32[2,3]", "%y = repeat %x, repeats=[1,3] : f32[2,9]").kinds(), Kinds{Kind::Concatenate3});
  EXPECT_EQ(lower("%x: f32[2,3]", "%y = repeat %x, repeats=[1,20] : f32[2,60]").kinds(),
            (Kinds{Kind::StaticReshape, Kind::Multiply, Kind::StaticReshape}));
}

TEST(Refusals, AreTheTablesNotes) {
  EXPECT_EQ(why("%x: f32[3]", "%y = isnan %x : bool[3]"), "its result is bool, which the delegate has not");
  EXPECT_EQ(why("%x: f32[3,4]", "%y = flip %x, dims=[0] : f32[3,4]"), "the delegate cannot reverse a dim");
}

}  // namespace
}  // namespace edgelift::ops
