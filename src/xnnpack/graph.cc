#include "xnnpack/graph.h"

#include <algorithm>
#include <unordered_map>

#include "base/hash.h"

namespace edgelift::xnn {

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::Add:
      return "Add";
    case Kind::FullyConnected:
      return "FullyConnected";
    case Kind::Softmax:
      return "Softmax";
    case Kind::Sigmoid:
      return "Sigmoid";
    case Kind::StaticTranspose:
      return "StaticTranspose";
    case Kind::Clamp:
      return "Clamp";
    case Kind::Conv2d:
      return "Conv2d";
    case Kind::Div:
      return "Div";
    case Kind::StaticResizeBilinear2D:
      return "StaticResizeBilinear2D";
    case Kind::StaticConstantPad:
      return "StaticConstantPad";
    case Kind::AvgPooling2d:
      return "AvgPooling2d";
    case Kind::Minimum:
      return "Minimum";
    case Kind::DepthwiseConv2d:
      return "DepthwiseConv2d";
    case Kind::MaxPooling2d:
      return "MaxPooling2d";
    case Kind::Multiply:
      return "Multiply";
    case Kind::Subtract:
      return "Subtract";
    case Kind::Floor:
      return "Floor";
    case Kind::Convert:
      return "Convert";
    case Kind::GlobalAvgPooling2d:
      return "GlobalAvgPooling2d";
    case Kind::StaticReshape:
      return "StaticReshape";
    case Kind::ArgMaxPooling2d:
      return "ArgMaxPooling2d";
    case Kind::SquareRoot:
      return "SquareRoot";
    case Kind::Ceiling:
      return "Ceiling";
    case Kind::Hardswish:
      return "Hardswish";
    case Kind::LeakyReLU:
      return "LeakyReLU";
    case Kind::Maximum:
      return "Maximum";
    case Kind::Negate:
      return "Negate";
    case Kind::Square:
      return "Square";
    case Kind::ELU:
      return "ELU";
    case Kind::Abs:
      return "Abs";
    case Kind::PReLU:
      return "PReLU";
    case Kind::Concatenate2:
      return "Concatenate2";
    case Kind::Concatenate3:
      return "Concatenate3";
    case Kind::Concatenate4:
      return "Concatenate4";
    case Kind::StaticSlice:
      return "StaticSlice";
    case Kind::BatchMatrixMultiply:
      return "BatchMatrixMultiply";
    case Kind::Concatenate5:
      return "Concatenate5";
    case Kind::ConvTranspose2d:
      return "ConvTranspose2d";
    case Kind::ReciprocalSquareRoot:
      return "ReciprocalSquareRoot";
    case Kind::Log:
      return "Log";
    case Kind::Gelu:
      return "Gelu";
    case Kind::Tanh:
      return "Tanh";
    case Kind::Exp:
      return "Exp";
    case Kind::Sin:
      return "Sin";
    case Kind::Copy:
      return "Copy";
    case Kind::Cos:
      return "Cos";
  }
  return "(unknown kind)";
}

std::optional<Datatype> datatype_of(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return Datatype::F32;
    case DType::F16:
      return Datatype::F16;
    case DType::BF16:
      return Datatype::BF16;
    case DType::I32:
      return Datatype::Int32;
    default:
      return std::nullopt;
  }
}

const char* datatype_name(Datatype datatype) {
  switch (datatype) {
    case Datatype::Invalid:
      return "invalid";
    case Datatype::F32:
      return "f32";
    case Datatype::F16:
      return "f16";
    case Datatype::QInt8:
      return "qint8";
    case Datatype::QUInt8:
      return "quint8";
    case Datatype::QInt32:
      return "qint32";
    case Datatype::QCInt8:
      return "qcint8";
    case Datatype::QCInt32:
      return "qcint32";
    case Datatype::QCInt4:
      return "qcint4";
    case Datatype::QDInt8:
      return "qdint8";
    case Datatype::QBInt4:
      return "qbint4";
    case Datatype::QPInt8:
      return "qpint8";
    case Datatype::Int32:
      return "i32";
    case Datatype::PF32:
      return "pf32";
    case Datatype::BF16:
      return "bf16";
  }
  return "(unknown datatype)";
}

bool fuses_min_max(Kind kind) {
  switch (kind) {
    case Kind::FullyConnected:
    case Kind::Conv2d:
    case Kind::DepthwiseConv2d:
    case Kind::ConvTranspose2d:
    case Kind::AvgPooling2d:
    case Kind::MaxPooling2d:
    case Kind::GlobalAvgPooling2d:
    case Kind::Add:
    case Kind::Subtract:
    case Kind::Multiply:
    case Kind::Div:
    case Kind::Clamp:
      return true;
    default:
      return false;
  }
}

bool reads_nhwc(Kind kind) {
  switch (kind) {
    case Kind::Conv2d:
    case Kind::DepthwiseConv2d:
    case Kind::ConvTranspose2d:
    case Kind::AvgPooling2d:
    case Kind::MaxPooling2d:
    case Kind::ArgMaxPooling2d:
    case Kind::GlobalAvgPooling2d:
    case Kind::StaticResizeBilinear2D:
      return true;
    default:
      return false;
  }
}

Category category(Kind kind) {
  switch (kind) {
    case Kind::Add:
    case Kind::Subtract:
    case Kind::Multiply:
    case Kind::Div:
    case Kind::Minimum:
    case Kind::Maximum:
      return Category::Binary;
    case Kind::PReLU:
      return Category::PReLU;
    case Kind::BatchMatrixMultiply:
      return Category::BatchMatmul;
    case Kind::FullyConnected:
      return Category::FullyConnected;
    case Kind::Conv2d:
    case Kind::DepthwiseConv2d:
    case Kind::ConvTranspose2d:
      return Category::Convolution;
    case Kind::AvgPooling2d:
    case Kind::MaxPooling2d:
      return Category::Pooling;
    case Kind::ArgMaxPooling2d:
      return Category::ArgMaxPooling;
    case Kind::GlobalAvgPooling2d:
      return Category::GlobalPooling;
    case Kind::StaticResizeBilinear2D:
      return Category::Resize;
    case Kind::Concatenate2:
    case Kind::Concatenate3:
    case Kind::Concatenate4:
    case Kind::Concatenate5:
      return Category::Concatenate;
    case Kind::StaticTranspose:
      return Category::Transpose;
    case Kind::StaticReshape:
      return Category::Reshape;
    case Kind::StaticSlice:
      return Category::Slice;
    case Kind::StaticConstantPad:
      return Category::Pad;
    case Kind::Softmax:
      return Category::Softmax;
    case Kind::Convert:
      return Category::Convert;
    case Kind::Sigmoid:
    case Kind::Clamp:
    case Kind::Floor:
    case Kind::SquareRoot:
    case Kind::Ceiling:
    case Kind::Hardswish:
    case Kind::LeakyReLU:
    case Kind::Negate:
    case Kind::Square:
    case Kind::ELU:
    case Kind::Abs:
    case Kind::ReciprocalSquareRoot:
    case Kind::Log:
    case Kind::Gelu:
    case Kind::Tanh:
    case Kind::Exp:
    case Kind::Sin:
    case Kind::Copy:
    case Kind::Cos:
      return Category::Unary;
  }
  return Category::Unknown;
}

size_t concatenate_arity(Kind kind) {
  switch (kind) {
    case Kind::Concatenate2:
      return 2;
    case Kind::Concatenate3:
      return 3;
    case Kind::Concatenate4:
      return 4;
    case Kind::Concatenate5:
      return 5;
    default:
      return 0;
  }
}

bool packs_operand(const Node& node, size_t operand) {
  switch (category(node.kind)) {
    case Category::FullyConnected:
    case Category::Convolution:
      return operand == 1 || operand == 2;
    case Category::BatchMatmul:
      return operand == 1;
    default:
      return false;
  }
}

uint32_t Graph::add_value(Value value) {
  values.push_back(std::move(value));
  return static_cast<uint32_t>(values.size() - 1);
}

uint32_t Graph::temp(Datatype datatype, std::vector<SymInt> dims) {
  Value value;
  value.datatype = datatype;
  value.dims = std::move(dims);
  return add_value(std::move(value));
}

namespace {

// Constants made during lowering that hold the same bits (the same epsilon in every norm) become one operand. Program
// constants keep their own identity: the partitioner hands in the very constant.
std::vector<uint32_t> equal_constants(const Graph& graph) {
  std::vector<uint32_t> same(graph.values.size());
  std::unordered_map<std::string, uint32_t> by_content;
  std::unordered_map<const void*, uint32_t> by_source;
  for (uint32_t id = 0; id < graph.values.size(); ++id) {
    same[id] = id;
    const Value& value = graph.values[id];
    if (value.use != Use::Unpacked) continue;
    if (value.source != nullptr) {
      same[id] = by_source.try_emplace(value.source, id).first->second;
      continue;
    }
    auto [it, inserted] = by_content.try_emplace(content_key(value.data), id);
    if (!inserted && graph.values[it->second].data.same_bits(value.data)) same[id] = it->second;
  }
  return same;
}

}  // namespace

void finalize(Graph& graph) {
  const size_t count = graph.values.size();
  const std::vector<uint32_t> same = equal_constants(graph);
  std::vector<bool> used(count, false);
  std::vector<uint32_t> constants;
  for (Node& node : graph.nodes) {
    for (uint32_t& id : node.inputs) {
      if (id == kInvalid) continue;
      id = same[id];
      if (!used[id] && graph.values[id].use == Use::Unpacked) constants.push_back(id);
      used[id] = true;
    }
    for (const uint32_t id : node.outputs) used[id] = true;
  }
  for (const uint32_t id : graph.inputs) used[id] = true;
  for (const uint32_t id : graph.outputs) used[id] = true;

  std::vector<uint32_t> renamed(count, kInvalid);
  uint32_t next = 0;
  for (uint32_t id = 0; id < count; ++id) {
    if (!used[id]) continue;
    renamed[id] = next;
    if (next != id) graph.values[next] = std::move(graph.values[id]);
    graph.values[next].external_id = kInvalid;
    ++next;
  }
  graph.values.resize(next);
  const auto rename = [&](std::vector<uint32_t>& ids) {
    for (uint32_t& id : ids)
      if (id != kInvalid) id = renamed[id];
  };
  for (Node& node : graph.nodes) {
    rename(node.inputs);
    rename(node.outputs);
  }
  rename(graph.inputs);
  rename(graph.outputs);
  rename(constants);
  graph.constant_inputs = std::move(constants);

  uint32_t external = 0;
  for (const uint32_t id : graph.inputs) graph.values[id].external_id = external++;
  for (const uint32_t id : graph.constant_inputs) {
    graph.values[id].external_input = true;
    graph.values[id].external_id = external++;
  }
  for (const uint32_t id : graph.outputs) graph.values[id].external_id = external++;
}

}  // namespace edgelift::xnn
