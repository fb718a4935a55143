// Small XNNPACK graphs for tests, and running them on the real runtime.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "pte/program.h"
#include "runtime/graph_program.h"
#include "runtime/session.h"
#include "xnnpack/graph.h"

namespace edgelift::testing {

using Dims = std::vector<int64_t>;

inline std::vector<SymInt> sym(const Dims& dims) { return {dims.begin(), dims.end()}; }

inline TensorData random_data(const Dims& dims, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-2, 2);
  int64_t count = 1;
  for (const int64_t d : dims) count *= d;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& v : values) v = uniform(random);
  return TensorData::of(DType::F32, dims, values);
}

// Builds a graph node by node; result dims come from the shape rules.
class Maker {
 public:
  xnn::Graph graph;

  uint32_t input(const Dims& dims) {
    xnn::Value value;
    value.dims = sym(dims);
    value.external_input = true;
    const uint32_t id = graph.add_value(std::move(value));
    graph.inputs.push_back(id);
    return id;
  }
  uint32_t constant(TensorData data, xnn::Use use) {
    xnn::Value value;
    value.dims = sym(data.sizes());
    value.use = use;
    value.data = std::move(data);
    return graph.add_value(std::move(value));
  }
  uint32_t packed(const Dims& dims, uint32_t seed = 1) { return constant(random_data(dims, seed), xnn::Use::Packed); }
  uint32_t unpacked(const Dims& dims, uint32_t seed = 2) {
    return constant(random_data(dims, seed), xnn::Use::Unpacked);
  }

  uint32_t add(xnn::Node node) {
    const auto dims = xnn::infer_dims(graph, node);
    EXPECT_TRUE(dims.ok()) << (dims.ok() ? "" : dims.error().message);
    if (node.outputs.empty())
      for (const auto& d : *dims) node.outputs.push_back(graph.temp(graph.values[node.inputs[0]].datatype, d));
    graph.nodes.push_back(std::move(node));
    return graph.nodes.back().outputs[0];
  }
  xnn::Node node(xnn::Kind kind, std::vector<uint32_t> inputs) {
    xnn::Node node;
    node.kind = kind;
    node.inputs = std::move(inputs);
    return node;
  }
  uint32_t op(xnn::Kind kind, std::vector<uint32_t> inputs) { return add(node(kind, std::move(inputs))); }
  uint32_t transpose(uint32_t in, std::vector<int64_t> perm) {
    xnn::Node n = node(xnn::Kind::StaticTranspose, {in});
    n.list = std::move(perm);
    return add(std::move(n));
  }
  uint32_t reshape(uint32_t in, std::vector<int64_t> shape) {
    xnn::Node n = node(xnn::Kind::StaticReshape, {in});
    n.list = std::move(shape);
    return add(std::move(n));
  }
  uint32_t slice(uint32_t in, std::vector<int64_t> offsets, std::vector<int64_t> sizes) {
    xnn::Node n = node(xnn::Kind::StaticSlice, {in});
    n.list = std::move(offsets);
    n.list2 = std::move(sizes);
    return add(std::move(n));
  }
  uint32_t pad(uint32_t in, std::vector<int64_t> pre, std::vector<int64_t> post) {
    xnn::Node n = node(xnn::Kind::StaticConstantPad, {in});
    n.list = std::move(pre);
    n.list2 = std::move(post);
    n.scalar = 0.5f;
    return add(std::move(n));
  }
  uint32_t concat(uint32_t a, uint32_t b, int32_t axis) {
    xnn::Node n = node(xnn::Kind::Concatenate2, {a, b});
    n.axis = axis;
    return add(std::move(n));
  }
  uint32_t clamp(uint32_t in, float lo, float hi) {
    xnn::Node n = node(xnn::Kind::Clamp, {in});
    n.min_max = {lo, hi};
    return add(std::move(n));
  }
  uint32_t batch_matmul(uint32_t a, uint32_t b, uint32_t flags = 0) {
    xnn::Node n = node(xnn::Kind::BatchMatrixMultiply, {a, b});
    n.flags = flags;
    return add(std::move(n));
  }
  uint32_t linear(uint32_t in, uint32_t filter, uint32_t bias = xnn::kInvalid, uint32_t flags = 0) {
    xnn::Node n = node(xnn::Kind::FullyConnected, {in, filter, bias});
    n.flags = flags;
    return add(std::move(n));
  }
  // A k x k convolution of NHWC, padded to keep the size.
  uint32_t conv(uint32_t in, uint32_t out_channels, uint32_t k, uint32_t seed) {
    const auto channels = static_cast<uint32_t>(graph.values[in].dims.back().value());
    xnn::Node n =
        node(xnn::Kind::Conv2d, {in, packed({out_channels, k, k, channels}, seed), packed({out_channels}, seed + 1)});
    n.window.kernel_h = n.window.kernel_w = k;
    n.window.pad_top = n.window.pad_left = n.window.pad_bottom = n.window.pad_right = k / 2;
    n.window.group_input_channels = channels;
    n.window.group_output_channels = out_channels;
    return add(std::move(n));
  }
  // As the lowering of a convolution of NCHW writes it.
  uint32_t conv_nchw(uint32_t in, uint32_t out_channels, uint32_t k, uint32_t seed) {
    return transpose(conv(transpose(in, {0, 2, 3, 1}), out_channels, k, seed), {0, 3, 1, 2});
  }
  void output(uint32_t id) {
    graph.values[id].external_output = true;
    graph.outputs.push_back(id);
  }
  const std::vector<SymInt>& dims(uint32_t id) const { return graph.values[id].dims; }
};

inline size_t count(const xnn::Graph& graph, xnn::Kind kind) {
  size_t n = 0;
  for (const xnn::Node& node : graph.nodes)
    if (node.kind == kind) ++n;
  return n;
}

inline std::vector<TensorData> inputs_for(const xnn::Graph& graph) {
  std::vector<TensorData> out;
  uint32_t seed = 100;
  for (const uint32_t id : graph.inputs) {
    Dims dims;
    for (const SymInt& d : graph.values[id].dims) dims.push_back(d.value());
    out.push_back(random_data(dims, seed++));
  }
  return out;
}

// Finalizes a copy of the graph and runs it.
inline std::vector<TensorData> run(xnn::Graph graph, const std::vector<TensorData>& inputs) {
  xnn::finalize(graph);
  const Status verified = xnn::verify(graph);
  EXPECT_TRUE(verified.ok()) << verified.error().message << "\n" << xnn::print(graph, "g");
  if (!verified.ok()) return {};
  auto program = runtime::program_of(graph);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
  auto bytes = pte::write_to_memory(*program);
  EXPECT_TRUE(bytes.ok()) << (bytes.ok() ? "" : bytes.error().message);
  auto* aligned = static_cast<std::byte*>(::operator new(bytes->size(), std::align_val_t(64)));
  std::copy(bytes->begin(), bytes->end(), aligned);
  const std::shared_ptr<const void> owner(
      aligned, [](const void* p) { ::operator delete(const_cast<void*>(p), std::align_val_t(64)); });
  auto session = runtime::Session::open({aligned, bytes->size()}, owner);
  EXPECT_TRUE(session.ok()) << (session.ok() ? "" : session.error().message) << "\n" << xnn::print(graph, "g");
  if (!session.ok()) return {};
  auto method = (*session)->method();
  EXPECT_TRUE(method.ok()) << (method.ok() ? "" : method.error().message) << "\n" << xnn::print(graph, "g");
  if (!method.ok()) return {};
  std::vector<runtime::Argument> arguments(inputs.begin(), inputs.end());
  auto outputs = (*method)->run(arguments);
  EXPECT_TRUE(outputs.ok()) << (outputs.ok() ? "" : outputs.error().message) << "\n" << xnn::print(graph, "g");
  std::vector<TensorData> out;
  if (outputs.ok())
    for (runtime::Argument& argument : *outputs) out.push_back(std::get<TensorData>(argument).contiguous());
  return out;
}

// Optimizes a copy, checks that it computes the same bits, and returns it.
inline xnn::Graph optimized(const xnn::Graph& graph, const xnn::OptimizeOptions& options = {}) {
  xnn::Graph better = graph;
  const Status status = xnn::optimize(better, options);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  const Status verified = xnn::verify(better);
  EXPECT_TRUE(verified.ok()) << (verified.ok() ? "" : verified.error().message) << "\n" << xnn::print(better, "after");
  const std::vector<TensorData> inputs = inputs_for(graph);
  const auto before = run(graph, inputs), after = run(better, inputs);
  EXPECT_EQ(before.size(), after.size());
  for (size_t i = 0; i < before.size() && i < after.size(); ++i)
    EXPECT_TRUE(before[i].same_bits(after[i])) << "output " << i << "\n"
                                               << xnn::print(graph, "before") << xnn::print(better, "after");
  return better;
}

inline int64_t transposed_bytes(const xnn::Graph& graph) {
  int64_t bytes = 0;
  for (const xnn::Node& node : graph.nodes) {
    if (node.kind != xnn::Kind::StaticTranspose) continue;
    int64_t size = 4;
    for (const SymInt& d : graph.values[node.outputs[0]].dims) size *= d.value();
    bytes += size;
  }
  return bytes;
}

}  // namespace edgelift::testing
