// From a program to delegates: operands, constants, outputs, reasons.
#include "partition/partition.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "ir/verifier.h"

namespace edgelift::testing {
namespace {

using partition::Lowered;
using partition::Policy;

Lowered lower(std::string_view text, Policy policy = Policy::Full, size_t max_weights = 0) {
  auto program = ir::parse(text, ops::table());
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
  partition::Options options;
  options.policy = policy;
  options.max_delegate_weights = max_weights;
  auto lowered = partition::partition(std::move(*program), ops::table(), options);
  EXPECT_TRUE(lowered.ok()) << (lowered.ok() ? "" : lowered.error().message);
  const Status verified = ir::verify(lowered->program, ops::table());
  EXPECT_TRUE(verified.ok()) << (verified.ok() ? "" : verified.error().message);
  EXPECT_EQ(lowered->graphs.size(), lowered->program.delegates.size());
  return std::move(*lowered);
}

// Names of the operators left at top level, delegates as "xnn".
std::vector<std::string> top(const Lowered& lowered) {
  std::vector<std::string> out;
  lowered.program.forward().each(
      [&](const ir::Node& node) { out.push_back(ops::is_delegate(node) ? "xnn" : node.op->base); });
  return out;
}

using Names = std::vector<std::string>;

TEST(Partition, WholeGraphIsOneDelegate) {
  const Lowered l = lower(R"(program {
  const %w : f32[4,3] = random(seed=1)
  const %b : f32[4] = random(seed=2)
  const %s : f32[] = 2.0
  fn forward(%x: f32[2,3]) -> f32[2,4] {
    %y = linear %x, %w, %b : f32[2,4]
    %z = mul.Tensor %y, %s : f32[2,4]
    return %z
  }
})");
  EXPECT_EQ(top(l), Names{"xnn"});
  const ir::Node& call = *l.program.forward().first();
  const auto& operands = std::get<ir::ValueList>(call.args[1]);
  // The input, then the constant that XNNPACK does not pack; weight and bias live in the delegate.
  ASSERT_EQ(operands.size(), 2u);
  EXPECT_EQ(operands[0]->name, "x");
  ASSERT_TRUE(operands[1]->is_constant());
  EXPECT_EQ(operands[1]->constant->name, "s");
  EXPECT_EQ(l.graphs[0].constant_inputs.size(), 1u);
  EXPECT_EQ(call.result()->name, "z");
  EXPECT_EQ(l.program.delegates[0]->body->inputs().size(), 2u);
  for (const partition::Verdict& v : l.verdicts) EXPECT_EQ(v.delegate, 0);
}

TEST(Partition, PortableNodeBetweenMakesTwo) {
  const Lowered l = lower(R"(program {
  fn forward(%x: f32[2,3]) -> f32[2,3] {
    %a = exp %x : f32[2,3]
    %c = cumsum %a, dim=0 : f32[2,3]
    %d = exp %c : f32[2,3]
    %e = add.Tensor %d, %a : f32[2,3]
    return %e
  }
})");
  EXPECT_EQ(top(l), (Names{"xnn", "cumsum", "xnn"}));
  const auto at = std::find_if(l.verdicts.begin(), l.verdicts.end(), [](const auto& v) { return v.value == "c"; });
  ASSERT_NE(at, l.verdicts.end());
  EXPECT_EQ(at->delegate, -1);
  EXPECT_FALSE(at->reason.empty());
}

TEST(Partition, UnconnectedPiecesShareADelegate) {
  const Lowered l = lower(R"(program {
  fn forward(%x: f32[2,3], %y: f32[5]) -> f32[2,3], f32[5], f32[2,3] {
    %a = exp %x : f32[2,3]
    %c = cumsum %x, dim=0 : f32[2,3]
    %b = exp %y : f32[5]
    return %a, %b, %c
  }
})");
  EXPECT_EQ(l.graphs.size(), 1u);
  EXPECT_EQ(l.graphs[0].outputs.size(), 2u);
}

TEST(Partition, OnlyMovingDataStaysPortableUnlessUpstreamDelegatesIt) {
  const Lowered l = lower(R"(program {
  fn forward(%x: f32[2,3]) -> f32[1,2,3] {
    %a = unsqueeze %x, dim=0 : f32[1,2,3]
    return %a
  }
})");
  EXPECT_EQ(top(l), Names{"unsqueeze"});
  EXPECT_NE(l.verdicts.at(0).reason.find("only moves data"), std::string::npos);
  const Lowered same = lower(R"(program {
  fn forward(%x: f32[2,3]) -> f32[6] {
    %a = view %x, size=[6] : f32[6]
    return %a
  }
})");
  EXPECT_EQ(top(same), Names{"xnn"});
  const Lowered large = lower(R"(program {
  fn forward(%x: f32[1,2,3,128,128]) -> f32[1,3,2,128,128] {
    %a = unsqueeze %x, dim=0 : f32[1,1,2,3,128,128]
    %b = permute %x, dims=[0,2,1,3,4] : f32[1,3,2,128,128]
    return %b
  }
})");
  EXPECT_EQ(large.graphs.size(), 1u);
}

TEST(Partition, PortablePolicyDelegatesNothing) {
  const Lowered l = lower(
      "program {\n  fn forward(%x: f32[2]) -> f32[2] {\n    %a = exp %x : f32[2]\n    return %a\n  }\n}", Policy::None);
  EXPECT_EQ(top(l), Names{"exp"});
  EXPECT_EQ(l.verdicts.at(0).reason, "the recipe keeps every operator portable");
}

TEST(Partition, AValueThatLeavesTwiceAndIsReadInside) {
  const Lowered l = lower(R"(program {
  fn forward(%x: f32[2,3]) -> f32[2,3], f32[2,3], f32[6], f32[2,3] {
    %a = exp %x : f32[2,3]
    %v = view %a, size=[6] : f32[6]
    %b = neg %a : f32[2,3]
    %w = view %a, size=[2,3] : f32[2,3]
    return %a, %b, %v, %w
  }
})");
  EXPECT_EQ(top(l), Names{"xnn"});
  EXPECT_EQ(l.graphs[0].outputs.size(), 4u);
}

TEST(Partition, AnInputThatIsReturnedAsAView) {
  const Lowered l = lower(R"(program {
  fn forward(%x: f32[2,3]) -> f32[2,3], f32[2,3] {
    %a = exp %x : f32[2,3]
    %w = view %x, size=[2,3] : f32[2,3]
    return %a, %w
  }
})");
  ASSERT_EQ(l.graphs.size(), 1u);
  EXPECT_TRUE(xnn::verify(l.graphs[0]).ok());
}

TEST(Partition, NewConstantsAreSharedBetweenDelegates) {
  const Lowered l = lower(R"(program {
  const %s : f32[3,1] = random(seed=3)
  fn forward(%x: f32[3,4], %y: f32[1,3,5,5]) -> f32[3,4], f32[3,4] {
    %a = mul.Tensor %x, %s : f32[3,4]
    %c = cumsum %a, dim=0 : f32[3,4]
    %d = mul.Tensor %c, %s : f32[3,4]
    return %a, %d
  }
})");
  EXPECT_EQ(top(l), (Names{"xnn", "cumsum", "xnn"}));
  EXPECT_EQ(l.program.constants.size(), 1u);
}

TEST(Partition, WeightLimitSplits) {
  const std::string_view text = R"(program {
  const %w0 : f32[8,8] = random(seed=1)
  const %w1 : f32[8,8] = random(seed=2)
  const %w2 : f32[8,8] = random(seed=3)
  const %w3 : f32[8,8] = random(seed=4)
  fn forward(%x: f32[2,8]) -> f32[2,8] {
    %a = linear %x, %w0 : f32[2,8]
    %b = linear %a, %w1 : f32[2,8]
    %c = linear %b, %w2 : f32[2,8]
    %d = linear %c, %w3 : f32[2,8]
    return %d
  }
})";
  EXPECT_EQ(lower(text).graphs.size(), 1u);
  EXPECT_EQ(lower(text, Policy::Full, 2 * 8 * 8 * 4).graphs.size(), 2u);
  EXPECT_EQ(lower(text, Policy::Full, 1).graphs.size(), 4u);
}

TEST(Partition, UpstreamKeepsPartitionsOfOneView) {
  const std::string_view text = R"(program {
  fn forward(%x: f32[2,3]) -> f32[6] {
    %c = cumsum %x, dim=0 : f32[2,3]
    %a = view %c, size=[6] : f32[6]
    return %a
  }
})";
  EXPECT_EQ(lower(text, Policy::Upstream).graphs.size(), 1u);
  EXPECT_EQ(lower(text).graphs.size(), 1u);
}

TEST(Partition, SameProgramSameText) {
  const std::string_view text = R"(program {
  fn forward(%x: f32[2,3], %y: f32[2,3]) -> f32[2,3] {
    %a = exp %x : f32[2,3]
    %b = exp %y : f32[2,3]
    %c = cumsum %a, dim=0 : f32[2,3]
    %d = add.Tensor %c, %b : f32[2,3]
    return %d
  }
})";
  EXPECT_EQ(ir::print(lower(text).program), ir::print(lower(text).program));
}

}  // namespace
}  // namespace edgelift::testing
