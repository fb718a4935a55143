// The delegate blob (xnnpack-delegate 1-3): an XH00 header and the flatbuffer. Weights are not in it: each packed
// constant is named data under a key made of its content, so that equal weights of any delegate are stored once.
#include <runtime_schema_generated.h>

#include <array>
#include <cstring>
#include <unordered_map>

#include "base/hash.h"
#include "xnnpack/graph.h"
#include "xnnpack/text.h"

namespace edgelift::xnn {
namespace {

namespace fb = fb_xnnpack;
template <class T>
using Offset = flatbuffers::Offset<T>;

constexpr size_t kHeaderSize = 32;         // as padded
constexpr uint16_t kHeaderFieldSize = 30;  // as recorded
constexpr size_t kAlignment = 16;
constexpr std::string_view kIdentifier = "XN01";

// What the schema's dims hold for a symbolic size. The runtime infers real sizes on each call; the bound is what it
// plans with until then.
Result<std::vector<uint32_t>> bounds(const Value& value) {
  std::vector<uint32_t> out;
  out.reserve(value.dims.size());
  for (const SymInt& dim : value.dims) {
    const int64_t bound = dim.is_const() ? dim.value() : dim.upper();
    if (bound < 0 || bound >= static_cast<int64_t>(kInvalid)) {
      return input_error("the size " + dim.str() + " of " +
                         (value.name.empty() ? "a delegate's value" : "'" + value.name + "'") +
                         " has no usable upper bound; give the dynamic dimension a maximum when exporting");
    }
    out.push_back(static_cast<uint32_t>(bound));
  }
  return out;
}

struct ConstantTable {
  std::vector<Blob::Named> named;
  std::vector<uint32_t> index_of_value;  // by value id; 0 = not a constant

  void add(const Graph& graph) {
    index_of_value.assign(graph.values.size(), 0);
    std::unordered_map<std::string, uint32_t> by_key;
    for (uint32_t id = 0; id < graph.values.size(); ++id) {
      const Value& value = graph.values[id];
      if (value.use != Use::Packed) continue;
      std::string key = content_key(value.data);
      // Equal keys are almost surely equal bytes; the comparison makes it sure. A clash gets a key of its own.
      for (;;) {
        const auto [it, inserted] = by_key.try_emplace(key, static_cast<uint32_t>(named.size()));
        if (inserted) named.push_back({key, value.data});
        if (inserted || named[it->second].data.same_bits(value.data)) {
          index_of_value[id] = it->second + 1;
          break;
        }
        key += '+';
      }
    }
  }
};

std::vector<uint32_t> narrow(const std::vector<int64_t>& list) {
  std::vector<uint32_t> out;
  out.reserve(list.size());
  for (const int64_t item : list) {
    EL_CHECK(item >= 0 && item < static_cast<int64_t>(kInvalid), "an attribute does not fit the delegate's format");
    out.push_back(static_cast<uint32_t>(item));
  }
  return out;
}

uint32_t operand(const Node& node, size_t i) { return i < node.inputs.size() ? node.inputs[i] : kInvalid; }

Offset<void> node_table(flatbuffers::FlatBufferBuilder& builder, const Node& node) {
  const uint32_t in = operand(node, 0), out = node.outputs[0], flags = node.flags;
  const Window& w = node.window;
  switch (category(node.kind)) {
    case Category::Unary:
      if (node.kind == Kind::ELU) return fb::CreateXNNELU(builder, node.scalar, in, out, flags).Union();
      if (node.kind == Kind::LeakyReLU) return fb::CreateXNNLeakyReLU(builder, node.scalar, in, out, flags).Union();
      return fb::Create_XNNNode1x1(builder, in, out, flags).Union();
    case Category::Softmax:
    case Category::Convert:
    case Category::GlobalPooling:
      return fb::Create_XNNNode1x1(builder, in, out, flags).Union();
    case Category::Binary:
    case Category::PReLU:
    case Category::BatchMatmul:
      return fb::Create_XNNNode2x1(builder, in, operand(node, 1), out, flags).Union();
    case Category::FullyConnected:
      return fb::CreateXNNFullyConnected(builder, in, operand(node, 1), operand(node, 2), out, flags).Union();
    case Category::Convolution:
      return fb::Create_XNNNodeConv(builder, w.pad_top, w.pad_right, w.pad_bottom, w.pad_left, w.kernel_h, w.kernel_w,
                                    w.stride_h, w.stride_w, w.dilation_h, w.dilation_w, w.group_input_channels,
                                    w.group_output_channels, w.groups, w.adjustment_h, w.adjustment_w, in,
                                    operand(node, 1), operand(node, 2), out, flags)
          .Union();
    case Category::Pooling:
      return fb::Create_XNNPooling2D(builder, w.pad_top, w.pad_right, w.pad_bottom, w.pad_left, w.kernel_h, w.kernel_w,
                                     w.stride_h, w.stride_w, w.dilation_h, w.dilation_w, in, out, flags)
          .Union();
    case Category::ArgMaxPooling:
      return fb::CreateXNNArgMaxPooling2d(builder, w.pad_top, w.pad_right, w.pad_bottom, w.pad_left, w.kernel_h,
                                          w.kernel_w, in, out, node.outputs[1], flags)
          .Union();
    case Category::Resize:
      return fb::CreateXNNStaticResizeBilinear2D(builder, node.new_height, node.new_width, in, out, flags).Union();
    case Category::Concatenate:
      return fb::Create_XNNCat(builder, static_cast<uint32_t>(node.axis), in, operand(node, 1), operand(node, 2),
                               operand(node, 3), out, flags, operand(node, 4))
          .Union();
    case Category::Transpose: {
      const std::vector<uint32_t> perm = narrow(node.list);
      return fb::CreateXNNStaticTransposeDirect(builder, static_cast<uint32_t>(perm.size()), &perm, in, out, flags)
          .Union();
    }
    case Category::Reshape: {
      const std::vector<uint32_t> shape = narrow(node.list);
      return fb::CreateXNNStaticReshapeDirect(builder, static_cast<uint32_t>(shape.size()), &shape, in, out, flags)
          .Union();
    }
    case Category::Slice: {
      const std::vector<uint32_t> offsets = narrow(node.list), sizes = narrow(node.list2);
      return fb::CreateXNNStaticSliceDirect(builder, static_cast<uint32_t>(offsets.size()), &offsets, &sizes, in, out,
                                            flags)
          .Union();
    }
    case Category::Pad: {
      const std::vector<uint32_t> pre = narrow(node.list), post = narrow(node.list2);
      return fb::CreateXNNStaticConstantPadDirect(builder, &pre, &post, node.scalar, in, out, flags).Union();
    }
    case Category::Unknown:
      break;
  }
  EL_UNREACHABLE("node kind without a table");
}

void put(std::byte* at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) at[i] = static_cast<std::byte>(value >> (8 * i));
}

}  // namespace

Result<Blob> serialize(const Graph& graph) {
  ConstantTable constants;
  constants.add(graph);

  flatbuffers::FlatBufferBuilder builder(1024 + 160 * (graph.nodes.size() + graph.values.size()));
  std::vector<Offset<fb::XValue>> values;
  values.reserve(graph.values.size());
  for (uint32_t id = 0; id < graph.values.size(); ++id) {
    const Value& value = graph.values[id];
    EL_TRY(const std::vector<uint32_t> dims, bounds(value));
    const uint32_t flags = (value.external_input ? 1u : 0u) | (value.external_output ? 2u : 0u);
    const auto tensor = fb::CreateXNNTensorValueDirect(builder, static_cast<fb::XNNDatatype>(value.datatype),
                                                       static_cast<uint32_t>(dims.size()), &dims,
                                                       constants.index_of_value[id], value.external_id, flags, id);
    values.push_back(fb::CreateXValue(builder, fb::XValueUnion::XNNTensorValue, tensor.Union()));
  }

  std::vector<Offset<fb::XNode>> nodes;
  nodes.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    const Offset<void> table = node_table(builder, node);
    Offset<fb::OutputMinMax> min_max;
    if (node.min_max) min_max = fb::CreateOutputMinMax(builder, node.min_max->first, node.min_max->second);
    nodes.push_back(
        fb::CreateXNode(builder, static_cast<fb::XNodeUnion>(node.kind), table, node.debug_handle, min_max));
  }

  // Entry 0 stands for "no constant". A named entry must have the largest offset; an absent key means inline.
  std::vector<Offset<fb::ConstantDataOffset>> offsets;
  offsets.reserve(constants.named.size() + 1);
  offsets.push_back(fb::CreateConstantDataOffset(builder, 0, 0));
  for (const Blob::Named& named : constants.named) {
    offsets.push_back(fb::CreateConstantDataOffsetDirect(builder, UINT64_MAX, named.data.nbytes(), named.key.c_str()));
  }

  std::vector<uint32_t> inputs = graph.inputs;
  inputs.insert(inputs.end(), graph.constant_inputs.begin(), graph.constant_inputs.end());
  const auto externs = static_cast<uint32_t>(inputs.size() + graph.outputs.size());
  builder.Finish(fb::CreateXNNGraphDirect(builder, "0", &nodes, &values, externs, &inputs, &graph.outputs, nullptr,
                                          nullptr, &offsets),
                 kIdentifier.data());

  Blob blob;
  const size_t size = builder.GetSize();
  const size_t end = (kHeaderSize + size + kAlignment - 1) / kAlignment * kAlignment;
  blob.bytes.resize(end);
  std::memcpy(blob.bytes.data() + 4, "XH00", 4);
  put(blob.bytes.data() + 8, kHeaderFieldSize, 2);
  put(blob.bytes.data() + 10, kHeaderSize, 4);
  put(blob.bytes.data() + 14, size, 4);
  put(blob.bytes.data() + 18, end, 4);  // an empty constant region follows
  std::memcpy(blob.bytes.data() + kHeaderSize, builder.GetBufferPointer(), size);
  blob.named = std::move(constants.named);
  return blob;
}

}  // namespace edgelift::xnn
