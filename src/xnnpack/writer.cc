#include "xnnpack/writer.h"

#include <algorithm>

#include "base/check.h"

namespace edgelift::xnn {

uint32_t Writer::add(Node node, uint32_t out) {
  node.debug_handle = debug_handle_;
  auto dims = infer_dims(graph_, node);
  EL_CHECK(dims.ok(), dims.ok() ? "" : dims.error().message);
  if (out == kInvalid) out = graph_.temp(graph_.values.at(node.inputs.at(0)).datatype, dims->at(0));
  node.outputs = {out};
  nodes_.push_back(std::move(node));
  return out;
}

namespace {
Node make(Kind kind, std::vector<uint32_t> inputs) {
  Node node;
  node.kind = kind;
  node.inputs = std::move(inputs);
  return node;
}
}  // namespace

uint32_t Writer::unary(Kind kind, uint32_t in, uint32_t out) { return add(make(kind, {in}), out); }
uint32_t Writer::binary(Kind kind, uint32_t a, uint32_t b, uint32_t out) { return add(make(kind, {a, b}), out); }

uint32_t Writer::reshape(uint32_t in, std::vector<int64_t> shape, uint32_t out) {
  Node node = make(Kind::StaticReshape, {in});
  node.list = std::move(shape);
  return add(std::move(node), out);
}

uint32_t Writer::transpose(uint32_t in, std::vector<int64_t> perm, uint32_t out) {
  Node node = make(Kind::StaticTranspose, {in});
  node.list = std::move(perm);
  return add(std::move(node), out);
}

uint32_t Writer::slice(uint32_t in, std::vector<int64_t> offsets, std::vector<int64_t> sizes, uint32_t out) {
  Node node = make(Kind::StaticSlice, {in});
  node.list = std::move(offsets);
  node.list2 = std::move(sizes);
  return add(std::move(node), out);
}

uint32_t Writer::pad(uint32_t in, std::vector<int64_t> pre, std::vector<int64_t> post, uint32_t out) {
  Node node = make(Kind::StaticConstantPad, {in});
  node.list = std::move(pre);
  node.list2 = std::move(post);
  return add(std::move(node), out);
}

std::vector<uint32_t> at_most_five(std::vector<uint32_t> inputs,
                                   const std::function<uint32_t(std::vector<uint32_t>)>& join) {
  while (inputs.size() > 5) {
    std::vector<uint32_t> next;
    for (size_t i = 0, excess = inputs.size() - 5; i < inputs.size();) {
      const size_t end = i + std::min({size_t{5}, excess + 1, inputs.size() - i});
      const auto first = inputs.begin() + static_cast<std::ptrdiff_t>(i),
                 last = inputs.begin() + static_cast<std::ptrdiff_t>(end);
      next.push_back(end - i == 1 ? *first : join({first, last}));
      excess -= end - i - 1;
      i = end;
    }
    inputs = std::move(next);
  }
  return inputs;
}

uint32_t Writer::concat(std::vector<uint32_t> inputs, int32_t axis, uint32_t out) {
  EL_CHECK(!inputs.empty(), "a concatenation of nothing");
  inputs = at_most_five(std::move(inputs), [&](std::vector<uint32_t> part) { return concat(std::move(part), axis); });
  if (inputs.size() == 1) return out == kInvalid ? inputs[0] : unary(Kind::Copy, inputs[0], out);
  static constexpr Kind kinds[] = {Kind::Concatenate2, Kind::Concatenate3, Kind::Concatenate4, Kind::Concatenate5};
  const Kind kind = kinds[inputs.size() - 2];
  Node node = make(kind, std::move(inputs));
  node.axis = axis;
  return add(std::move(node), out);
}

uint32_t Writer::fully_connected(uint32_t in, uint32_t filter, uint32_t bias, uint32_t out) {
  return add(make(Kind::FullyConnected, {in, filter, bias}), out);
}

uint32_t Writer::batch_matmul(uint32_t a, uint32_t b, uint32_t out) {
  return add(make(Kind::BatchMatrixMultiply, {a, b}), out);
}

namespace {
uint32_t add_constant(Graph& graph, TensorData data, Use use) {
  Value value;
  const auto datatype = datatype_of(data.dtype());
  EL_CHECK(datatype.has_value(), "a constant of a dtype that XNNPACK does not take");
  value.datatype = *datatype;
  for (const int64_t size : data.sizes()) value.dims.emplace_back(size);
  value.use = use;
  value.data = std::move(data);
  return graph.add_value(std::move(value));
}
}  // namespace

uint32_t Writer::packed(TensorData data) { return add_constant(graph_, std::move(data), Use::Packed); }
uint32_t Writer::unpacked(TensorData data) { return add_constant(graph_, std::move(data), Use::Unpacked); }

std::vector<int64_t> Writer::dims(uint32_t id) const {
  std::vector<int64_t> out;
  for (const SymInt& dim : graph_.values.at(id).dims) out.push_back(dim.value());
  return out;
}

}  // namespace edgelift::xnn
