// Each rewrite on the smallest graph that shows it, as text before and after; the values are compared on the runtime.

#include "make.h"

namespace edgelift::testing {
namespace {

using xnn::Kind;

// The nodes and outputs of the optimized graph, without constants.
std::string after(const xnn::Graph& graph, const xnn::OptimizeOptions& options = {}) {
  xnn::Graph better = optimized(graph, options);
  xnn::finalize(better);
  const std::string text = xnn::print(better, "g");
  std::string out;
  for (size_t at = text.find('\n') + 1; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    if (line.starts_with("  %") || line.starts_with("  output")) out += line.substr(2) + "\n";
    at = end + 1;
  }
  return out;
}

xnn::OptimizeOptions upstream() {
  xnn::OptimizeOptions options;
  options.upstream = true;
  return options;
}

TEST(FuseClamps, IntoTheNodeBefore) {
  Maker m;
  m.output(m.clamp(m.op(Kind::Add, {m.input({2}), m.input({2})}), 0, 6));
  EXPECT_EQ(after(m.graph), "%2 = Add %0, %1, min_max=[0.0,6.0] : f32[2]\noutput %2\n");
}

TEST(FuseClamps, TwoClampsAreOneRange) {
  Maker m;
  m.output(m.clamp(m.clamp(m.input({64}), -1, 2), 0, 6));
  EXPECT_EQ(after(m.graph), "%1 = Clamp %0, min_max=[0.0,2.0] : f32[64]\noutput %1\n");
  Maker apart;  // ranges that do not meet: everything becomes the outer range's end
  apart.output(apart.clamp(apart.clamp(apart.input({64}), -1, 0), 1, 2));
  EXPECT_EQ(after(apart.graph), "%1 = Clamp %0, min_max=[1.0,1.0] : f32[64]\noutput %1\n");
}

TEST(FuseClamps, ThroughViewsThatOnlyTheClampReads) {
  Maker m;
  const uint32_t x = m.input({2, 3});
  m.output(m.clamp(m.reshape(m.linear(x, m.packed({4, 3})), {8}), 0, 1));
  EXPECT_EQ(after(m.graph),
            "%2 = FullyConnected %0, %1, none, min_max=[0.0,1.0] : f32[2,4]\n"
            "%3 = StaticReshape %2, shape=[8] : f32[8]\noutput %3\n");
}

TEST(FuseClamps, NotWhenTheValueIsReadElsewhereOrLeaves) {
  Maker read;
  const uint32_t sum = read.op(Kind::Add, {read.input({2}), read.input({2})});
  read.output(read.op(Kind::Multiply, {read.clamp(sum, 0, 6), sum}));
  EXPECT_EQ(count(optimized(read.graph), Kind::Clamp), 1u);
  Maker leaves;
  const uint32_t s = leaves.op(Kind::Add, {leaves.input({2}), leaves.input({2})});
  leaves.output(leaves.clamp(s, 0, 6));
  leaves.output(s);
  EXPECT_EQ(count(optimized(leaves.graph), Kind::Clamp), 1u);
}

TEST(FuseClamps, NotIntoKindsThatIgnoreOrMistreatIt) {
  for (const Kind kind : {Kind::Maximum, Kind::Minimum}) {
    Maker m;
    m.output(m.clamp(m.op(kind, {m.input({2}), m.input({2})}), 0, 6));
    EXPECT_EQ(count(optimized(m.graph), Kind::Clamp), 1u);
  }
  for (const Kind kind : {Kind::MaxPooling2d, Kind::AvgPooling2d}) {  // would lose NaN
    Maker m;
    xnn::Node pool = m.node(kind, {m.input({1, 4, 4, 2})});
    pool.window.kernel_h = pool.window.kernel_w = 2;
    m.output(m.clamp(m.add(pool), 0, 6));
    EXPECT_EQ(count(optimized(m.graph), Kind::Clamp), 1u);
  }
}

TEST(FuseClamps, UpstreamLeavesDivisionAlone) {
  Maker m;
  m.output(m.clamp(m.op(Kind::Div, {m.input({2}), m.input({2})}), 0, 6));
  EXPECT_EQ(count(optimized(m.graph, upstream()), Kind::Clamp), 1u);
  EXPECT_EQ(count(optimized(m.graph), Kind::Clamp), 0u);
}

TEST(Views, ChainOfReshapesIsOne) {
  Maker m;
  m.output(m.op(Kind::Abs, {m.reshape(m.reshape(m.op(Kind::Abs, {m.input({2, 6})}), {12}), {3, 4})}));
  EXPECT_EQ(
      after(m.graph),
      "%1 = Abs %0 : f32[2,6]\n%2 = StaticReshape %1, shape=[3,4] : f32[3,4]\n%3 = Abs %2 : f32[3,4]\noutput %3\n");
}

TEST(Views, ThereAndBackIsNothing) {
  Maker m;
  m.output(m.op(Kind::Abs, {m.reshape(m.reshape(m.input({2, 6}), {12}), {2, 6})}));
  EXPECT_EQ(after(m.graph), "%1 = Abs %0 : f32[2,6]\noutput %1\n");
}

TEST(Views, OfAConstantIsAConstant) {
  Maker m;
  const uint32_t c = m.unpacked({2, 3});
  m.output(m.op(Kind::Add, {m.input({3, 2}), m.transpose(c, {1, 0})}));
  m.output(m.op(Kind::Add, {m.input({6}), m.reshape(c, {6})}));
  const xnn::Graph better = optimized(m.graph);
  EXPECT_EQ(better.nodes.size(), 2u);
  Maker packed;
  packed.output(packed.linear(packed.input({2, 3}), packed.transpose(packed.packed({3, 4}), {1, 0})));
  EXPECT_TRUE(xnn::optimize(packed.graph, {}).ok());
  EXPECT_EQ(packed.graph.nodes.size(), 1u);
  EXPECT_TRUE(xnn::verify(packed.graph).ok());
}

TEST(Copies, OnlyBetweenInputAndOutputTheyStay) {
  Maker m;
  const uint32_t x = m.input({2});
  m.output(m.op(Kind::Copy, {x}));
  m.output(m.op(Kind::Copy, {m.op(Kind::Copy, {m.op(Kind::Abs, {m.op(Kind::Copy, {x})})})}));
  EXPECT_EQ(after(m.graph), "%1 = Copy %0 : f32[2]\n%2 = Abs %0 : f32[2]\noutput %1, %2\n");
}

TEST(Copies, OneValueAsTwoOutputs) {
  Maker m;
  const uint32_t y = m.op(Kind::Abs, {m.input({2})});
  m.output(m.op(Kind::Copy, {y}));
  m.output(m.op(Kind::Copy, {y}));
  EXPECT_EQ(after(m.graph), "%1 = Abs %0 : f32[2]\n%2 = Copy %1 : f32[2]\noutput %1, %2\n");
}

TEST(MergeEqual, SameNodeOnce) {
  Maker m;
  const uint32_t x = m.input({2, 4});
  const auto half = [&](int64_t from) { return m.slice(x, {0, from}, {2, 2}); };
  m.output(m.op(Kind::Add, {m.op(Kind::Exp, {half(0)}), m.op(Kind::Exp, {half(0)})}));
  m.output(m.op(Kind::Add, {half(0), half(2)}));
  const xnn::Graph better = optimized(m.graph);
  EXPECT_EQ(count(better, Kind::Exp), 1u);
  EXPECT_EQ(count(better, Kind::StaticSlice), 2u);
  EXPECT_EQ(count(optimized(m.graph, upstream()), Kind::Exp), 2u);
}

TEST(MergeEqual, AttributesCount) {
  Maker m;
  const uint32_t x = m.input({2});
  m.output(m.op(Kind::Add, {m.clamp(x, 0, 1), m.clamp(x, 0, 2)}));
  EXPECT_EQ(count(optimized(m.graph), Kind::Clamp), 2u);
}

TEST(Dead, NodesGo) {
  Maker m;
  const uint32_t x = m.input({2});
  m.op(Kind::Exp, {m.op(Kind::Abs, {x})});
  m.output(m.op(Kind::Negate, {x}));
  EXPECT_EQ(after(m.graph), "%1 = Negate %0 : f32[2]\noutput %1\n");
}

TEST(Layout, ConvolutionsKeepNhwcBetweenThem) {
  Maker m;
  const uint32_t x = m.conv_nchw(m.input({1, 3, 8, 8}), 4, 3, 1);
  const uint32_t y = m.conv_nchw(m.clamp(x, 0, 6), 4, 3, 3);
  const uint32_t scale = m.unpacked({4, 1, 1});
  m.output(m.op(Kind::Multiply, {m.op(Kind::Add, {y, x}), scale}));
  const xnn::Graph better = optimized(m.graph);
  // Once in, once out; the scale is permuted at compile time.
  EXPECT_EQ(count(better, Kind::StaticTranspose), 2u);
  EXPECT_EQ(count(better, Kind::StaticReshape), 0u);
}

TEST(Layout, AttributesFollow) {
  Maker m;
  const uint32_t x = m.conv_nchw(m.input({1, 3, 8, 8}), 4, 3, 1);
  const uint32_t y = m.concat(m.slice(x, {0, 1, 0, 2}, {1, 3, 8, 5}), m.slice(x, {0, 0, 0, 3}, {1, 2, 8, 5}), 1);
  m.output(m.conv_nchw(m.pad(y, {0, 1, 2, 3}, {0, 0, 0, 1}), 2, 3, 5));
  const xnn::Graph better = optimized(m.graph);
  EXPECT_EQ(count(better, Kind::StaticTranspose), 2u);
  for (const xnn::Node& node : better.nodes) {
    if (node.kind == Kind::Concatenate2) {
      EXPECT_EQ(node.axis, 3);
    }
    if (node.kind == Kind::StaticConstantPad) {
      EXPECT_EQ(node.list, (std::vector<int64_t>{0, 2, 3, 1}));
      EXPECT_EQ(node.list2, (std::vector<int64_t>{0, 0, 1, 0}));
    }
  }
}

TEST(Layout, CancelsAcrossAView) {
  // A patch embedding: [N,C,H,W] -> [N,C,HW] -> [N,HW,C] is a view of NHWC.
  Maker m;
  const uint32_t y = m.conv_nchw(m.input({1, 3, 8, 8}), 4, 1, 1);
  m.output(m.linear(m.transpose(m.reshape(y, {1, 4, 64}), {0, 2, 1}), m.packed({5, 4})));
  const xnn::Graph better = optimized(m.graph);
  EXPECT_EQ(count(better, Kind::StaticTranspose), 1u);
}

TEST(Layout, FlattenOfChannelsNeedsTheTranspose) {
  Maker m;
  const uint32_t y = m.conv_nchw(m.input({1, 3, 4, 4}), 4, 1, 1);
  m.output(m.linear(m.reshape(y, {1, 64}), m.packed({5, 64})));
  EXPECT_EQ(count(optimized(m.graph), Kind::StaticTranspose), 2u);
}

TEST(Layout, MovingOnesIsAReshape) {
  Maker m;
  m.output(m.op(Kind::Abs, {m.transpose(m.op(Kind::GlobalAvgPooling2d, {m.input({1, 4, 4, 3})}), {1, 0})}));
  EXPECT_EQ(count(optimized(m.graph), Kind::StaticTranspose), 0u);
}

TEST(Layout, AgainstItsInputsIsNotWorthIt) {
  // One convolution result added to many NCHW inputs and returned: one transpose of the result is the cheapest.
  Maker m;
  uint32_t y = m.conv_nchw(m.input({1, 3, 8, 8}), 3, 1, 1);
  for (int i = 0; i < 4; ++i) y = m.op(Kind::Add, {y, m.input({1, 3, 8, 8})});
  m.output(y);
  EXPECT_EQ(count(optimized(m.graph), Kind::StaticTranspose), 2u);
}

TEST(Layout, TransposesCompose) {
  Maker m;
  m.output(m.op(Kind::Abs, {m.transpose(m.transpose(m.input({2, 3, 4}), {1, 2, 0}), {2, 0, 1})}));
  EXPECT_EQ(after(m.graph), "%1 = Abs %0 : f32[2,3,4]\noutput %1\n");
}

TEST(Layout, SoftmaxKeepsItsRows) {
  Maker m;
  const uint32_t x = m.transpose(m.input({2, 3, 4}), {0, 2, 1});
  m.output(m.transpose(m.op(Kind::Softmax, {x}), {0, 2, 1}));
  EXPECT_EQ(count(optimized(m.graph), Kind::StaticTranspose), 2u);
  Maker rows;
  const uint32_t y = rows.transpose(rows.input({2, 3, 4}), {1, 0, 2});
  rows.output(rows.transpose(rows.op(Kind::Softmax, {y}), {1, 0, 2}));
  EXPECT_EQ(count(optimized(rows.graph), Kind::StaticTranspose), 0u);
}

TEST(Layout, MatmulTakesTheTranspose) {
  Maker m;
  const uint32_t q = m.input({2, 5, 8}), k = m.input({2, 6, 8});
  m.output(m.batch_matmul(q, m.transpose(k, {0, 2, 1})));
  EXPECT_EQ(after(m.graph), "%2 = BatchMatrixMultiply %0, %1, flags=1 : f32[2,5,6]\noutput %2\n");
  EXPECT_EQ(count(optimized(m.graph, upstream()), Kind::StaticTranspose), 1u);
}

TEST(Layout, AttentionTransposesRowsOnly) {
  // [B,L,H,D] -> [B,H,L,D] and its transpose: one copy of rows, the rest is the flag.
  Maker m;
  const uint32_t q = m.transpose(m.input({1, 5, 2, 8}), {0, 2, 1, 3});
  const uint32_t k = m.transpose(m.transpose(m.input({1, 6, 2, 8}), {0, 2, 1, 3}), {0, 1, 3, 2});
  m.output(m.batch_matmul(q, k));
  const xnn::Graph better = optimized(m.graph);
  for (const xnn::Node& node : better.nodes) {
    if (node.kind == Kind::StaticTranspose) {
      EXPECT_EQ(node.list, (std::vector<int64_t>{0, 2, 1, 3}));
    }
  }
}

TEST(Layout, OutputsKeepTheirDims) {
  Maker m;
  const uint32_t x = m.input({1, 3, 4, 4});
  const uint32_t y = m.conv_nchw(x, 3, 1, 1);
  m.output(m.clamp(y, 0, 1));
  m.output(m.transpose(y, {0, 2, 3, 1}));
  m.output(m.transpose(x, {0, 2, 3, 1}));
  const xnn::Graph better = optimized(m.graph);
  for (size_t i = 0; i < better.outputs.size(); ++i)
    EXPECT_EQ(better.values[better.outputs[i]].dims, m.graph.values[m.graph.outputs[i]].dims);
  // In, and out for the first; the other two are what the convolution reads and writes.
  EXPECT_EQ(count(better, Kind::StaticTranspose), 2u);
}

// A step that looks at all pairs of 100000 nodes would not come back.
TEST(Layout, LargeGraphsKeepOneLayout) {
  const auto transposes = [](int blocks) {
    Maker m;
    uint32_t x = m.input({1, 8, 4, 4});
    const uint32_t w = m.packed({8, 1, 1, 8});
    for (int i = 0; i < blocks; ++i) {
      xnn::Node conv = m.node(Kind::Conv2d, {m.transpose(x, {0, 2, 3, 1}), w, xnn::kInvalid});
      conv.window.group_input_channels = conv.window.group_output_channels = 8;
      x = m.op(Kind::Add, {m.op(Kind::Abs, {m.transpose(m.add(conv), {0, 3, 1, 2})}), x});
      if (i % 7 == 0) x = m.op(Kind::Softmax, {x});
    }
    m.output(x);
    EXPECT_TRUE(xnn::optimize(m.graph, {}).ok());
    EXPECT_TRUE(xnn::verify(m.graph).ok());
    return count(m.graph, Kind::StaticTranspose);
  };
  EXPECT_LT(transposes(20000), 40000u);
}

}  // namespace
}  // namespace edgelift::testing
