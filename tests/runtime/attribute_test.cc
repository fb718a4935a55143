// Events of a delegate laid over its nodes: order, fused and clamped nodes, and where it stays open which node it was.
#include "runtime/attribute.h"

#include <gtest/gtest.h>

namespace edgelift::runtime {
namespace {

using xnn::Kind;

xnn::Graph graph_of(const std::vector<xnn::Node>& nodes) {
  xnn::Graph graph;
  graph.nodes = nodes;
  return graph;
}

xnn::Node node(Kind kind, std::vector<uint32_t> inputs = {0, 1}) {
  xnn::Node out;
  out.kind = kind;
  out.inputs = std::move(inputs);
  return out;
}

xnn::Node clamped(Kind kind) {
  xnn::Node out = node(kind);
  out.min_max = {0.0f, 6.0f};
  return out;
}

std::vector<NodeRange> ranges(const std::vector<xnn::Node>& nodes, const std::vector<std::string>& events) {
  const auto found = attribute(graph_of(nodes), events);
  EXPECT_TRUE(found.ok()) << found.error().message;
  return found.ok() ? *found : std::vector<NodeRange>{};
}

using Ranges = std::vector<NodeRange>;

TEST(Attribute, OneEventANodeInOrder) {
  EXPECT_EQ(
      ranges({node(Kind::StaticTranspose), node(Kind::FullyConnected), node(Kind::Concatenate3), node(Kind::Tanh)},
             {"Transpose (ND, X32)", "Fully Connected (NC, F32) GEMM", "Copy (NC, X32)", "TanH (NC)"}),
      (Ranges{{0, 0}, {1, 1}, {2, 2}, {3, 3}}));
}

TEST(Attribute, AConvolutionWithoutAWindowIsAMatrixProduct) {
  xnn::Node wide = node(Kind::Conv2d), point = node(Kind::Conv2d);
  wide.window.kernel_h = wide.window.kernel_w = 3;
  EXPECT_EQ(ranges({wide, point}, {"Convolution (NHWC, F32) IGEMM", "Fully Connected (NC, F32) GEMM"}),
            (Ranges{{0, 0}, {1, 1}}));
  EXPECT_FALSE(attribute(graph_of({wide}), std::vector<std::string>{"Fully Connected (NC, F32) GEMM"}).ok());
}

TEST(Attribute, AProductWithItselfIsASquare) {
  EXPECT_EQ(ranges({node(Kind::Multiply, {4, 4})}, {"Square (NC)"}), (Ranges{{0, 0}}));
  EXPECT_FALSE(attribute(graph_of({node(Kind::Multiply)}), std::vector<std::string>{"Square (NC)"}).ok());
}

TEST(Attribute, AClampThatIsNotFusedBelongsToItsNode) {
  EXPECT_EQ(ranges({clamped(Kind::Add), node(Kind::Multiply)}, {"Add (ND)", "Clamp (NC)", "Multiply (ND)"}),
            (Ranges{{0, 0}, {0, 0}, {1, 1}}));
  // Fused, it has no event.
  EXPECT_EQ(ranges({clamped(Kind::FullyConnected), node(Kind::Multiply)},
                   {"Fully Connected (NC, F32) GEMM", "Multiply (ND)"}),
            (Ranges{{0, 0}, {1, 1}}));
}

TEST(Attribute, NodesWithoutEventsArePassedOver) {
  EXPECT_EQ(ranges({node(Kind::Add), node(Kind::Clamp), node(Kind::Multiply)}, {"Add (ND)", "Multiply (ND)"}),
            (Ranges{{0, 0}, {2, 2}}));
}

TEST(Attribute, WhatMayBeOneOfTwoSaysSo) {
  const Ranges found = ranges({node(Kind::Clamp), node(Kind::Clamp), node(Kind::Abs)}, {"Clamp (NC)", "Abs (NC)"});
  EXPECT_EQ(found, (Ranges{{0, 1}, {2, 2}}));
  EXPECT_FALSE(found[0].certain());
  EXPECT_TRUE(found[1].certain());
}

TEST(Attribute, AnotherOrderIsRefused) {
  const auto found = attribute(graph_of({node(Kind::Add), node(Kind::Multiply)}),
                               std::vector<std::string>{"Multiply (ND)", "Add (ND)"});
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message.find("operator 1 of 2, 'Add (ND)'"), std::string::npos) << found.error().message;
}

TEST(Attribute, NothingIsNothing) { EXPECT_EQ(ranges({node(Kind::Add)}, {}), Ranges{}); }

}  // namespace
}  // namespace edgelift::runtime
