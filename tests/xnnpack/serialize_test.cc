// The blob's bytes by the format's rules, and that the runtime computes with them.
#include <runtime_schema_generated.h>

#include <cstring>

#include "make.h"

namespace edgelift::testing {
namespace {

using xnn::Kind;
using xnn::Use;

uint64_t number(const std::vector<std::byte>& bytes, size_t at, size_t size) {
  uint64_t out = 0;
  for (size_t i = 0; i < size; ++i) out |= static_cast<uint64_t>(bytes[at + i]) << (8 * i);
  return out;
}

TEST(Serialize, HeaderAndTables) {
  Maker m;
  const uint32_t x = m.input({2, 3});
  m.output(m.clamp(m.op(Kind::Add, {m.linear(x, m.packed({4, 3}), m.packed({4})), m.unpacked({4})}), 0, 1));
  m.graph.nodes[0].debug_handle = 17;
  xnn::finalize(m.graph);
  const auto blob = xnn::serialize(m.graph);
  ASSERT_TRUE(blob.ok());
  const std::vector<std::byte>& bytes = blob->bytes;
  EXPECT_EQ(number(bytes, 0, 4), 0u);
  EXPECT_EQ(std::memcmp(bytes.data() + 4, "XH00", 4), 0);
  EXPECT_EQ(number(bytes, 8, 2), 30u);
  const uint64_t start = number(bytes, 10, 4), size = number(bytes, 14, 4), constants = number(bytes, 18, 4);
  EXPECT_EQ(start, 32u);
  EXPECT_GE(constants, start + size);
  EXPECT_EQ(constants, bytes.size());
  EXPECT_EQ(number(bytes, 22, 8), 0u);
  EXPECT_EQ(bytes.size() % 16, 0u);

  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data() + start);
  EXPECT_EQ(std::memcmp(data + 4, "XN01", 4), 0);
  flatbuffers::Verifier verifier(data, size);
  ASSERT_TRUE(verifier.VerifyBuffer<fb_xnnpack::XNNGraph>("XN01"));
  const auto* graph = flatbuffers::GetRoot<fb_xnnpack::XNNGraph>(data);
  EXPECT_EQ(graph->num_externs(), 3u);  // the input, the unpacked constant, the output
  ASSERT_EQ(graph->constant_data()->size(), 3u);
  EXPECT_EQ(graph->constant_data()->Get(0)->named_key(), nullptr);
  for (uint32_t i = 1; i < 3; ++i) {
    EXPECT_EQ(graph->constant_data()->Get(i)->offset(), UINT64_MAX);
    EXPECT_EQ(graph->constant_data()->Get(i)->named_key()->str(), blob->named[i - 1].key);
    EXPECT_EQ(graph->constant_data()->Get(i)->size(), blob->named[i - 1].data.nbytes());
  }
  EXPECT_EQ(graph->xnodes()->Get(0)->debug_handle(), 17u);
  uint32_t inputs = 0, outputs = 0;
  for (const auto* value : *graph->xvalues()) {
    const auto* tensor = value->xvalue_union_as_XNNTensorValue();
    ASSERT_NE(tensor, nullptr);
    inputs += tensor->flags() == 1 ? 1 : 0;
    outputs += tensor->flags() == 2 ? 1 : 0;
    EXPECT_EQ(tensor->flags() != 0, tensor->external_id() != xnn::kInvalid);
    // An unpacked constant has no data in the delegate.
    if (tensor->flags() != 0) {
      EXPECT_EQ(tensor->constant_buffer_idx(), 0u);
    }
  }
  EXPECT_EQ(inputs, 2u);
  EXPECT_EQ(outputs, 1u);
}

TEST(Serialize, EqualWeightsAreOneEntryAndNothingIsCopied) {
  Maker m;
  const TensorData weights = random_data({4, 4}, 5);
  const uint32_t x = m.input({2, 4});
  const uint32_t a = m.linear(x, m.constant(weights, Use::Packed));
  const uint32_t b = m.linear(
      a,
      m.constant(TensorData::own(DType::F32, {4, 4}, {weights.bytes().begin(), weights.bytes().end()}), Use::Packed));
  m.output(m.linear(b, m.constant(random_data({4, 4}, 6), Use::Packed)));
  xnn::finalize(m.graph);
  const auto blob = xnn::serialize(m.graph);
  ASSERT_TRUE(blob.ok());
  ASSERT_EQ(blob->named.size(), 2u);
  EXPECT_EQ(blob->named[0].data.storage().data(), weights.storage().data());
}

TEST(Serialize, PermutedWeightsAreGatheredNotCopied) {
  Maker m;
  const TensorData nchw = random_data({4, 3, 3, 3}, 7);
  xnn::Node conv = m.node(
      Kind::Conv2d,
      {m.input({1, 6, 6, 3}), m.constant(nchw.permuted(std::vector<int64_t>{0, 2, 3, 1}), Use::Packed), xnn::kInvalid});
  conv.window.kernel_h = conv.window.kernel_w = 3;
  conv.window.group_input_channels = 3;
  conv.window.group_output_channels = 4;
  m.output(m.add(conv));
  Maker plain;
  xnn::Node same = conv;
  same.inputs = {plain.input({1, 6, 6, 3}),
                 plain.constant(nchw.permuted(std::vector<int64_t>{0, 2, 3, 1}).contiguous(), Use::Packed),
                 xnn::kInvalid};
  same.outputs.clear();
  plain.output(plain.add(same));
  const auto inputs = inputs_for(m.graph);
  EXPECT_TRUE(run(m.graph, inputs).at(0).same_bits(run(plain.graph, inputs).at(0)));
  xnn::finalize(m.graph);
  EXPECT_EQ(xnn::serialize(m.graph)->named[0].data.storage().data(), nchw.storage().data());
}

TEST(Serialize, SameGraphSameBytes) {
  const auto make = [] {
    Maker m;
    m.output(m.conv_nchw(m.input({1, 3, 8, 8}), 4, 3, 1));
    EXPECT_TRUE(xnn::optimize(m.graph, {}).ok());
    xnn::finalize(m.graph);
    return xnn::serialize(m.graph)->bytes;
  };
  EXPECT_EQ(make(), make());
}

TEST(Serialize, SizesWithoutABoundAreAnError) {
  Maker m;
  const uint32_t x = m.input({2});
  m.graph.values[x].dims = {SymInt::symbol(std::make_shared<const Symbol>(Symbol{"s0", 1, kUnbounded}))};
  m.graph.values[x].name = "tokens";
  xnn::Node abs = m.node(Kind::Abs, {x});
  m.output(m.add(abs));
  xnn::finalize(m.graph);
  const auto blob = xnn::serialize(m.graph);
  ASSERT_FALSE(blob.ok());
  EXPECT_EQ(blob.error().kind, ErrorKind::Input);
  EXPECT_NE(blob.error().message.find("'tokens' has no usable upper bound"), std::string::npos) << blob.error().message;
}

TEST(Finalize, EqualNewConstantsAreOneOperandAndUnusedValuesGo) {
  Maker m;
  const uint32_t x = m.input({2});
  m.unpacked({7});
  const TensorData eps = scalar_data(DType::F32, 1e-5);
  const uint32_t a = m.op(Kind::Add, {x, m.constant(eps, Use::Unpacked)});
  m.output(m.op(Kind::Add, {a, m.constant(scalar_data(DType::F32, 1e-5), Use::Unpacked)}));
  xnn::finalize(m.graph);
  EXPECT_EQ(m.graph.constant_inputs.size(), 1u);
  EXPECT_EQ(m.graph.values.size(), 4u);
  EXPECT_EQ(m.graph.values[m.graph.outputs[0]].external_id, 2u);
}

}  // namespace
}  // namespace edgelift::testing
