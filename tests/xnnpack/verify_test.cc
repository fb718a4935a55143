// One broken rule a case: the verifier must name it. Each starts from a graph that verifies.
#include <functional>

#include "make.h"

namespace edgelift::testing {
namespace {

using xnn::Graph;
using xnn::Kind;
using xnn::Use;

struct Broken {
  const char* name;
  std::function<void(Maker&)> make;
  const char* message;  // part of the sentence
};

uint32_t conv_graph(Maker& m) {
  const uint32_t x = m.input({1, 6, 6, 3});
  const uint32_t y = m.conv(x, 4, 3, 1);
  m.output(y);
  return y;
}

std::vector<Broken> cases() {
  return {
      {"rank",
       [](Maker& m) {
         m.output(m.op(Kind::Abs, {m.input({1, 1, 1, 1, 1, 1, 2})}));
       },
       "rank 7"},
      {"quantized datatype",
       [](Maker& m) {
         m.output(m.op(Kind::Abs, {m.input({2})}));
         m.graph.values[0].datatype = xnn::Datatype::QInt8;
       },
       "quantization parameters"},
      {"empty dim",
       [](Maker& m) {
         m.output(m.op(Kind::Abs, {m.input({2})}));
         m.graph.values[0].dims = sym({0});
       },
       "dims [0]"},
      {"input is output",
       [](Maker& m) {
         const uint32_t x = m.input({2});
         m.op(Kind::Abs, {x});
         m.output(x);
       },
       "both input and output"},
      {"constant is output", [](Maker& m) { m.output(m.unpacked({2})); }, "constant and an output"},
      {"data of another shape",
       [](Maker& m) {
         conv_graph(m);
         m.graph.values[1].dims = sym({4, 3, 3, 4});
       },
       "another shape"},
      {"data of another type",
       [](Maker& m) {
         const uint32_t c = m.constant(TensorData::of<int32_t>(DType::I32, {2}, {1, 2}), Use::Unpacked);
         m.output(m.op(Kind::Add, {m.input({2}), c}));
       },
       "another type"},
      {"packed constant read at run time",
       [](Maker& m) {
         m.output(m.op(Kind::Add, {m.input({4}), m.packed({4})}));
       },
       "after the data is freed"},
      {"packed constant in concat", [](Maker& m) { m.output(m.concat(m.input({4}), m.packed({4}), 0)); },
       "after the data is freed"},
      {"dynamic filter",
       [](Maker& m) {
         xnn::Node n = m.node(Kind::Conv2d, {m.input({1, 4, 4, 2}), m.input({2, 1, 1, 2}), xnn::kInvalid});
         n.window.group_input_channels = n.window.group_output_channels = 2;
         m.output(m.add(n));
       },
       "filter must be a constant"},
      {"dynamic bias",
       [](Maker& m) {
         xnn::Node n = m.node(Kind::Conv2d, {m.input({1, 4, 4, 2}), m.packed({2, 1, 1, 2}), m.input({2})});
         n.window.group_input_channels = n.window.group_output_channels = 2;
         m.output(m.add(n));
       },
       "bias must be a constant"},
      {"operand does not exist",
       [](Maker& m) {
         m.output(m.op(Kind::Abs, {m.input({2})}));
         m.graph.nodes[0].inputs[0] = 77;
       },
       "does not exist"},
      {"arity",
       [](Maker& m) {
         m.output(m.op(Kind::Abs, {m.input({2})}));
         m.graph.nodes[0].inputs.push_back(0);
       },
       "2 operands instead of 1"},
      {"use before definition",
       [](Maker& m) {
         const uint32_t x = m.input({2});
         m.output(m.op(Kind::Abs, {m.op(Kind::Negate, {x})}));
         std::swap(m.graph.nodes[0], m.graph.nodes[1]);
       },
       "used before it is defined"},
      {"defined twice",
       [](Maker& m) {
         m.output(m.op(Kind::Abs, {m.input({2})}));
         m.graph.nodes.push_back(m.graph.nodes[0]);
       },
       "defined a second time"},
      {"node writes an input",
       [](Maker& m) {
         const uint32_t x = m.input({2});
         m.output(m.op(Kind::Abs, {x}));
         m.graph.nodes[0].outputs[0] = x;
       },
       "defined a second time"},
      {"output that nobody writes",
       [](Maker& m) {
         m.output(m.op(Kind::Abs, {m.input({2})}));
         m.graph.nodes.clear();
       },
       "written by no node"},
      {"listed twice",
       [](Maker& m) {
         m.output(m.op(Kind::Abs, {m.input({2})}));
         m.graph.outputs.push_back(m.graph.outputs[0]);
       },
       "listed twice"},
      {"external but not listed",
       [](Maker& m) {
         m.output(m.op(Kind::Abs, {m.input({2})}));
         m.graph.inputs.clear();
       },
       "in no list"},
      {"too many externals",
       [](Maker& m) {
         for (int i = 0; i < 4096; ++i) m.input({1});
         m.output(m.op(Kind::Abs, {0}));
       },
       "at most 4096"},
      {"external id at another place",
       [](Maker& m) {
         m.output(m.op(Kind::Abs, {m.input({2})}));
         xnn::finalize(m.graph);
         m.graph.values[0].external_id = 1;
       },
       "has external id 1"},
      {"unpacked constant not handed in",
       [](Maker& m) {
         m.output(m.op(Kind::Add, {m.input({2}), m.unpacked({2})}));
         xnn::finalize(m.graph);
         for (const uint32_t id : m.graph.constant_inputs) {
           m.graph.values[id].external_input = false;
           m.graph.values[id].external_id = xnn::kInvalid;
         }
         m.graph.constant_inputs.clear();
         m.graph.values[m.graph.outputs[0]].external_id = 1;
       },
       "not handed in"},
      {"range on a kind that ignores it",
       [](Maker& m) {
         m.output(m.op(Kind::Maximum, {m.input({2}), m.input({2})}));
         m.graph.nodes[0].min_max = {0.f, 1.f};
       },
       "ignores an output range"},
      {"empty range",
       [](Maker& m) {
         m.output(m.op(Kind::Add, {m.input({2}), m.input({2})}));
         m.graph.nodes[0].min_max = {1.f, 0.f};
       },
       "output range is empty"},
      {"clamp without range",
       [](Maker& m) {
         m.output(m.clamp(m.input({2}), 0, 1));
         m.graph.nodes[0].min_max.reset();
       },
       "needs its range"},
      {"transpose-a flag",
       [](Maker& m) {
         m.output(m.batch_matmul(m.input({2, 3}), m.input({3, 4}), 2));
       },
       "flags 2"},
      {"same padding and explicit padding",
       [](Maker& m) {
         conv_graph(m);
         m.graph.nodes[0].flags = xnn::kFlagSamePadding;
       },
       "excludes explicit padding"},
      {"adjustment not below stride",
       [](Maker& m) {
         xnn::Node n = m.node(Kind::ConvTranspose2d, {m.input({1, 4, 4, 2}), m.packed({2, 3, 3, 2}), xnn::kInvalid});
         n.window.kernel_h = n.window.kernel_w = 3;
         n.window.stride_h = n.window.stride_w = 2;
         n.window.adjustment_h = 2;
         n.window.group_input_channels = n.window.group_output_channels = 2;
         m.output(m.add(n));
       },
       "smaller than the stride"},
      {"declared dims",
       [](Maker& m) {
         const uint32_t y = conv_graph(m);
         m.graph.values[y].dims = sym({1, 6, 5, 4});
       },
       "declared [1,6,5,4], but the node computes [1,6,6,4]"},
      {"window too large",
       [](Maker& m) {
         conv_graph(m);
         m.graph.nodes[0].window.dilation_h = 9;
       },
       "does not fit into"},
      {"filter dims",
       [](Maker& m) {
         conv_graph(m);
         m.graph.nodes[0].window.kernel_h = 2;
       },
       "expected [4,2,3,3]"},
      {"channels",
       [](Maker& m) {
         conv_graph(m);
         m.graph.nodes[0].window.groups = 2;
       },
       "input has 3 channels"},
      {"broadcast",
       [](Maker& m) {
         m.output(m.op(Kind::Add, {m.input({2, 3}), m.input({2, 3})}));
         m.graph.values[1].dims = sym({2, 4});
       },
       "do not broadcast"},
      {"reshape count",
       [](Maker& m) {
         m.output(m.reshape(m.input({2, 3}), {6}));
         m.graph.nodes[0].list = {7};
       },
       "cannot be viewed"},
      {"two inferred sizes",
       [](Maker& m) {
         m.output(m.reshape(m.input({2, 3}), {6}));
         m.graph.nodes[0].list = {0, 0};
       },
       "two inferred sizes"},
      {"slice past the end",
       [](Maker& m) {
         m.output(m.slice(m.input({4}), {1}, {3}));
         m.graph.nodes[0].list = {2};
       },
       "outside of a dim of 4"},
      {"negative offset",
       [](Maker& m) {
         m.output(m.slice(m.input({4}), {1}, {3}));
         m.graph.nodes[0].list = {-1};
       },
       "negative"},
      {"slice of nothing",
       [](Maker& m) {
         m.output(m.slice(m.input({4}), {1}, {3}));
         m.graph.nodes[0].list2 = {0};
       },
       "not positive"},
      {"slice rank",
       [](Maker& m) {
         m.output(m.slice(m.input({4}), {1}, {3}));
         m.graph.nodes[0].list.push_back(0);
       },
       "rank of [4]"},
      {"perm",
       [](Maker& m) {
         m.output(m.transpose(m.input({4, 2}), {1, 0}));
         m.graph.nodes[0].list = {1, 1};
       },
       "not a permutation"},
      {"negative padding",
       [](Maker& m) {
         m.output(m.pad(m.input({4}), {1}, {1}));
         m.graph.nodes[0].list = {-1};
       },
       "not be negative"},
      {"concat axis",
       [](Maker& m) {
         m.output(m.concat(m.input({4}), m.input({4}), 0));
         m.graph.nodes[0].axis = 1;
       },
       "axis 1"},
      {"concat dims",
       [](Maker& m) {
         m.output(m.concat(m.input({4, 2}), m.input({4, 2}), 0));
         m.graph.values[1].dims = sym({4, 3});
       },
       "do not fit along axis"},
      {"linear",
       [](Maker& m) {
         m.output(m.linear(m.input({2, 3}), m.packed({4, 3})));
         m.graph.nodes[0].flags = xnn::kFlagTransposeWeights;
       },
       "do not fit"},
      {"matmul",
       [](Maker& m) {
         m.output(m.batch_matmul(m.input({2, 3}), m.input({3, 4})));
         m.graph.nodes[0].flags = xnn::kFlagTransposeB;
       },
       "do not fit"},
      {"softmax of integers",
       [](Maker& m) {
         m.output(m.op(Kind::Softmax, {m.input({2})}));
         for (xnn::Value& v : m.graph.values) v.datatype = xnn::Datatype::Int32;
       },
       "does not take the datatypes i32 -> i32"},
      {"mixed datatypes",
       [](Maker& m) {
         m.output(m.op(Kind::Add, {m.input({2}), m.input({2})}));
         m.graph.values[1].datatype = xnn::Datatype::F16;
       },
       "f32, f16 -> f32"},
      {"unary that would convert",
       [](Maker& m) {
         m.output(m.op(Kind::Exp, {m.input({2})}));
         m.graph.values[0].datatype = xnn::Datatype::F16;
       },
       "f16 -> f32"},
      {"bf16 convolution",
       [](Maker& m) {
         const uint32_t y = conv_graph(m);
         m.graph.values[0].datatype = m.graph.values[y].datatype = xnn::Datatype::BF16;
       },
       "does not take the datatypes bf16"},
      {"global pool of rank 2",
       [](Maker& m) {
         m.output(m.op(Kind::GlobalAvgPooling2d, {m.input({1, 2, 3})}));
         m.graph.values[0].dims = sym({2, 3});
       },
       "at least three dims"},
      {"arg-max value unused",
       [](Maker& m) {
         xnn::Node n = m.node(Kind::ArgMaxPooling2d, {m.input({1, 4, 1, 1})});
         n.window.kernel_h = 4;
         n.outputs = {m.graph.temp(xnn::Datatype::F32, sym({1, 1, 1, 1})),
                      m.graph.temp(xnn::Datatype::Int32, sym({1, 1, 1, 1}))};
         m.graph.nodes.push_back(n);
         m.output(n.outputs[1]);
       },
       "must be used or external"},
  };
}

TEST(Verify, NamesTheBrokenRule) {
  for (const Broken& broken : cases()) {
    SCOPED_TRACE(broken.name);
    Maker m;
    broken.make(m);
    const Status status = xnn::verify(m.graph);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find(broken.message), std::string::npos) << status.error().message;
    EXPECT_EQ(status.error().kind, ErrorKind::Internal);
  }
}

TEST(Verify, TakesWhatTheRuntimeTakes) {
  Maker m;
  const uint32_t x = m.input({1, 6, 6, 3});
  const uint32_t y = m.op(Kind::Add, {m.conv(x, 4, 3, 1), m.unpacked({4})});
  m.graph.nodes.back().min_max = {0.f, 6.f};
  m.output(m.op(Kind::Softmax, {m.reshape(y, {36, 4})}));
  EXPECT_TRUE(xnn::verify(m.graph).ok());
  xnn::finalize(m.graph);
  EXPECT_TRUE(xnn::verify(m.graph).ok());
  EXPECT_EQ(m.graph.constant_inputs.size(), 1u);
}

}  // namespace
}  // namespace edgelift::testing
