// Which datatypes each node kind takes (xnnpack-delegate 7 and 8), quantized ones aside.
#include <initializer_list>

#include "xnnpack/graph.h"
#include "xnnpack/text.h"

namespace edgelift::xnn {

Status verify_node_types(const Graph& graph, const Node& node);

namespace {

using D = Datatype;

bool one_of(D datatype, std::initializer_list<D> list) {
  for (const D d : list)
    if (d == datatype) return true;
  return false;
}

struct Types {
  D in, out;
  D second = D::Invalid, third = D::Invalid;
};

bool unary_takes(Kind kind, D d) {
  if (d != D::Int32) return true;
  return kind == Kind::Abs || kind == Kind::Negate || kind == Kind::Square || kind == Kind::Copy || kind == Kind::Clamp;
}

bool fully_connected_takes(const Types& t) {
  const bool bias = t.third != D::Invalid;
  switch (t.in) {
    case D::F32:
      return t.out == D::F32 && one_of(t.second, {D::F32, D::F16}) && (!bias || t.third == D::F32);
    case D::F16:
      return t.out == D::F16 && one_of(t.second, {D::F32, D::F16}) && (!bias || one_of(t.third, {D::F32, D::F16}));
    case D::BF16:
      return one_of(t.out, {D::F32, D::BF16}) && t.second == D::BF16 && (!bias || t.third == D::F32);
    default:
      return false;
  }
}

bool convolution_takes(const Types& t) {
  if (t.out != t.in) return false;
  const bool same = t.third == D::Invalid || t.third == t.second;
  if (t.in == D::F32) return t.second == D::F32 && same;
  return t.in == D::F16 && one_of(t.second, {D::F32, D::F16}) && same;
}

bool convert_takes(D from, D to) {
  switch (from) {
    case D::F32:
      return one_of(to, {D::F16, D::BF16, D::Int32});
    case D::F16:
      return one_of(to, {D::F32, D::BF16});
    case D::BF16:
      return one_of(to, {D::F32, D::F16});
    case D::Int32:
      return one_of(to, {D::F32, D::F16});
    default:
      return false;
  }
}

bool takes(const Graph& graph, const Node& node, const Types& t) {
  const bool same = t.in == t.out;
  switch (category(node.kind)) {
    case Category::Unary:
      return same && unary_takes(node.kind, t.in);
    case Category::Binary:
      return same && t.second == t.in;
    case Category::PReLU:
      return same && t.second == t.in && t.in != D::Int32;
    case Category::FullyConnected:
      return fully_connected_takes(t);
    case Category::Convolution:
      return convolution_takes(t);
    case Category::BatchMatmul:
      if (t.second != t.in) return false;
      return t.in == D::BF16 ? t.out == D::F32 : same && t.in != D::Int32;
    case Category::Softmax:
    case Category::Pooling:
    case Category::GlobalPooling:
      return same && one_of(t.in, {D::F32, D::F16});
    case Category::Resize:
      return same && one_of(t.in, {D::F32, D::F16});
    case Category::ArgMaxPooling:
      return same && t.in == D::F32 && graph.values[node.outputs[1]].datatype == D::Int32;
    case Category::Convert:
      return convert_takes(t.in, t.out);
    case Category::Transpose:
    case Category::Reshape:
    case Category::Slice:
    case Category::Pad:
      return same;
    case Category::Concatenate:
      for (const uint32_t id : node.inputs)
        if (graph.values[id].datatype != t.out) return false;
      return true;
    case Category::Unknown:
      break;
  }
  return false;
}

}  // namespace

Status verify_node_types(const Graph& graph, const Node& node) {
  Types types{graph.values[node.inputs[0]].datatype, graph.values[node.outputs[0]].datatype};
  if (node.inputs.size() > 1) types.second = graph.values[node.inputs[1]].datatype;
  if (node.inputs.size() > 2 && node.inputs[2] != kInvalid) types.third = graph.values[node.inputs[2]].datatype;
  if (takes(graph, node, types)) return Ok{};
  std::string found;
  for (const uint32_t id : node.inputs) {
    if (id == kInvalid) continue;
    found += found.empty() ? "" : ", ";
    found += datatype_name(graph.values[id].datatype);
  }
  return internal_error("XNNPACK graph: " + node_text(graph, node) + ": does not take the datatypes " + found + " -> " +
                        datatype_name(types.out));
}

}  // namespace edgelift::xnn
