// Matches on small programs in the text form.
#include <gtest/gtest.h>

#include "edgelift/edgelift.h"
#include "match/activation.h"
#include "match/constant.h"
#include "match/norm.h"
#include "match/scaled.h"
#include "match/sdpa.h"
#include "match/views.h"

namespace edgelift::match {
namespace {

class Match : public ::testing::Test {
 protected:
  void read(const std::string& inputs, const std::string& constants, const std::string& body,
            const std::string& result) {
    auto parsed = parse_text("program {\n" + constants + "  fn forward(" + inputs + ") -> " + result + " {\n" + body +
                             "    return %out\n  }\n}\n");
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    program_ = std::move(*parsed);
  }
  ir::Value* value(std::string_view name) const {
    ir::Value* found = nullptr;
    program_.forward().each([&](const ir::Node& node) {
      for (ir::Value* result : node.results)
        if (result->name == name) found = result;
    });
    for (ir::Value* input : program_.forward().inputs())
      if (input->name == name) found = input;
    return found;
  }
  ir::Program program_;
};

TEST_F(Match, ScaleInEverySpelling) {
  read("%x: f32[2,4]", "  const %c : f32[] = 0.5\n  const %d : f32[1,1] = [4.0]\n  const %u : f32[2,1] = [2.0, 2.0]\n",
       R"(    %a = mul.Scalar %x, other=0.25 : f32[2,4]
    %b = mul.Tensor %c, %a : f32[2,4]
    %v = view %b, size=[4,2] : f32[4,2]
    %p = permute %v, dims=[1,0] : f32[2,4]
    %e = div.Tensor %p, %d : f32[2,4]
    %k = clone %e : f32[2,4]
    %out = div.Scalar %k, other=0.5 : f32[2,4]
)",
       "f32[2,4]");
  const Scaled scaled = as_scaled(value("out"));
  EXPECT_EQ(scaled.base, value("x"));
  EXPECT_DOUBLE_EQ(scaled.factor, 0.25 * 0.5 / 4.0 / 0.5);
  EXPECT_EQ(scaled.scales.size(), 4u);
  EXPECT_EQ(scaled.views.size(), 3u);
}

TEST_F(Match, NoScaleLeavesTheValue) {
  read("%x: f32[2,4], %y: f32[2,4]",
       "  const %z : f32[4] = [1.0, 2.0, 3.0, 4.0]\n  const %w : f32[3,1,1] = [2.0, 2.0, 2.0]\n",
       R"(    %p = permute %x, dims=[1,0] : f32[4,2]
    %a = mul.Tensor %x, %y : f32[2,4]
    %b = mul.Tensor %a, %z : f32[2,4]
    %c = mul.Tensor %b, %w : f32[3,2,4]
    %n = mul.Scalar %x, other=0.0 : f32[2,4]
    %out = add.Tensor %c, %n : f32[3,2,4]
)",
       "f32[3,2,4]");
  for (const char* name : {"p", "a", "b", "c", "n", "x"}) {
    const Scaled scaled = as_scaled(value(name));
    EXPECT_FALSE(scaled.found()) << name;
    EXPECT_EQ(scaled.base, value(name)) << name;
    EXPECT_TRUE(scaled.views.empty()) << name;
  }
}

TEST_F(Match, ConstantsThroughViews) {
  read("%x: f32[3,2]", "  const %c : f32[2,3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n  mutable const %m : f32[] = 1.0\n",
       R"(    %t = permute %c, dims=[1,0] : f32[3,2]
    %s = slice.Tensor %t, dim=0, start=-2, end=9 : f32[2,2]
    %i = select.int %s, dim=1, index=-1 : f32[2]
    %f = full size=[3,2], fill_value=0.5, dtype=f32 : f32[3,2]
    %n = neg %m : f32[]
    %a = add.Tensor %x, %f : f32[3,2]
    %b = add.Tensor %a, %n : f32[3,2]
    %e = unsqueeze %i, dim=0 : f32[1,2]
    %out = add.Tensor %b, %e : f32[3,2]
)",
       "f32[3,2]");
  EXPECT_EQ(as_constant(value("e"))->to_floats(), (std::vector<float>{5, 6}));
  EXPECT_EQ(as_constant(value("s"))->to_floats(), (std::vector<float>{2, 5, 3, 6}));
  EXPECT_EQ(as_number(value("f")), 0.5);
  EXPECT_FALSE(as_number(value("e")));
  EXPECT_FALSE(as_constant(value("n"))) << "a buffer that forward writes is no constant";
  EXPECT_FALSE(as_constant(value("a")));
}

TEST_F(Match, AttentionGathersAllScales) {
  read("%q: f32[1,4,8], %k: f32[1,4,8], %v: f32[1,4,8], %m: f32[4,4]", "",
       R"(    %qs = mul.Scalar %q, other=0.5 : f32[1,4,8]
    %ks = mul.Scalar %k, other=0.25 : f32[1,4,8]
    %kt = permute %ks, dims=[0,2,1] : f32[1,8,4]
    %s = bmm %qs, %kt : f32[1,4,4]
    %ss = div.Scalar %s, other=2.0 : f32[1,4,4]
    %sm = add.Tensor %m, %ss : f32[1,4,4]
    %p = _softmax %sm, dim=-1, half_to_float=false : f32[1,4,4]
    %out = bmm %p, %v : f32[1,4,8]
)",
       "f32[1,4,8]");
  const auto match = match_sdpa(*value("p")->producer);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->query.base, value("q"));
  EXPECT_EQ(match->key.base, value("k"));
  EXPECT_EQ(match->value, value("v"));
  EXPECT_EQ(match->mask, value("m"));
  EXPECT_EQ(match->mask_kind, Sdpa::Mask::Add);
  EXPECT_DOUBLE_EQ(match->scale, 0.5 * 0.25 / 2);
  EXPECT_EQ(match->scale_nodes.size(), 3u);
  EXPECT_FALSE(match->safe_tail);
}

TEST_F(Match, AttentionByWhereAndMaskedFill) {
  read("%q: f32[1,4,8], %k: f32[1,8,4], %v: f32[1,4,8], %c: bool[4,4]", "", R"(    %s = bmm %q, %k : f32[1,4,4]
    %f = masked_fill.Scalar %s, mask=%c, value=-inf : f32[1,4,4]
    %p = _softmax %f, dim=2, half_to_float=false : f32[1,4,4]
    %out = bmm %p, %v : f32[1,4,8]
)",
       "f32[1,4,8]");
  const auto match = match_sdpa(*value("p")->producer);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->mask_kind, Sdpa::Mask::Drop);
  EXPECT_EQ(match->mask, value("c"));
  EXPECT_DOUBLE_EQ(match->scale, 1);
}

TEST_F(Match, NotAttention) {
  // The probabilities are used twice; the values come first; the axis is another; a finite fill is not the operator's
  // mask.
  read("%q: f32[4,4], %k: f32[4,4], %c: bool[4,4]", "", R"(    %s = mm %q, %k : f32[4,4]
    %p = _softmax %s, dim=-1, half_to_float=false : f32[4,4]
    %a = mm %p, %q : f32[4,4]
    %b = mm %p, %k : f32[4,4]
    %p2 = _softmax %a, dim=-1, half_to_float=false : f32[4,4]
    %d = mm %q, %p2 : f32[4,4]
    %s3 = mm %q, %b : f32[4,4]
    %p3 = _softmax %s3, dim=0, half_to_float=false : f32[4,4]
    %e = mm %p3, %d : f32[4,4]
    %s4 = mm %q, %e : f32[4,4]
    %f = masked_fill.Scalar %s4, mask=%c, value=-10000.0 : f32[4,4]
    %p4 = _softmax %f, dim=1, half_to_float=false : f32[4,4]
    %out = mm %p4, %q : f32[4,4]
)",
       "f32[4,4]");
  for (const char* name : {"p", "p2", "p3", "p4"}) EXPECT_FALSE(match_sdpa(*value(name)->producer)) << name;
}

TEST_F(Match, Norms) {
  read("%x: f32[2,4]", "  const %eps : f32[] = 1e-06\n", R"(    %sq = pow.Tensor_Scalar %x, exponent=2 : f32[2,4]
    %m = mean.dim %sq, dim=[-1], keepdim=true : f32[2,1]
    %e = add.Tensor %m, %eps : f32[2,1]
    %r = rsqrt %e : f32[2,1]
    %rms = mul.Tensor %r, %x : f32[2,4]
    %mu = mean.dim %rms, dim=[1], keepdim=true : f32[2,1]
    %c = sub.Tensor %rms, %mu : f32[2,4]
    %cc = mul.Tensor %c, %c : f32[2,4]
    %va = mean.dim %cc, dim=[1], keepdim=true : f32[2,1]
    %ve = add.Scalar %va, other=1e-05 : f32[2,1]
    %sd = sqrt %ve : f32[2,1]
    %out = div.Tensor %c, %sd : f32[2,4]
)",
       "f32[2,4]");
  const auto rms = match_rms_norm(*value("rms")->producer);
  ASSERT_TRUE(rms);
  EXPECT_EQ(rms->input, value("x"));
  EXPECT_FLOAT_EQ(static_cast<float>(rms->eps), 1e-6f);
  EXPECT_FALSE(match_layer_norm(*value("rms")->producer));
  const auto norm = match_layer_norm(*value("out")->producer);
  ASSERT_TRUE(norm);
  EXPECT_EQ(norm->input, value("rms"));
  EXPECT_EQ(norm->dims, 1);
  // A layer norm is the RMS norm of the centred value.
  const auto inner = match_rms_norm(*value("out")->producer);
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->input, value("c"));
}

TEST_F(Match, NoopsAndPermutations) {
  read("%x: f32[1,4,2]", "", R"(    %a = permute %x, dims=[1,0,2] : f32[4,1,2]
    %b = permute %a, dims=[1,0,2] : f32[1,4,2]
    %c = transpose.int %b, dim0=0, dim1=0 : f32[1,4,2]
    %d = expand %c, size=[-1,4,2] : f32[1,4,2]
    %e = expand %d, size=[3,4,2] : f32[3,4,2]
    %f = mul.Scalar %e, other=1.0 : f32[3,4,2]
    %out = mul.Scalar %f, other=2.0 : f32[3,4,2]
)",
       "f32[3,4,2]");
  EXPECT_FALSE(is_noop(*value("a")->producer)) << "another shape";
  EXPECT_TRUE(is_noop(*value("c")->producer));
  EXPECT_TRUE(is_noop_expand(*value("d")->producer));
  EXPECT_FALSE(is_noop_expand(*value("e")->producer));
  EXPECT_TRUE(is_noop(*value("f")->producer));
  EXPECT_FALSE(is_noop(*value("out")->producer));
  EXPECT_EQ(*permutation_of(*value("a")->producer), (std::vector<int64_t>{1, 0, 2}));
  EXPECT_EQ(use_count(value("out")), 1u);
}

}  // namespace
}  // namespace edgelift::match
