#include <algorithm>

#include "base/check.h"
#include "xnnpack/layout.h"

namespace edgelift::xnn::layout {
namespace {

size_t symbolic_count(const std::vector<SymInt>& dims) {
  return static_cast<size_t>(
      std::count_if(dims.begin(), dims.end(), [](const SymInt& dim) { return !dim.is_const(); }));
}

Perm perm_of(const std::vector<int64_t>& list) {
  Perm perm = identity(list.size());
  for (size_t i = 0; i < list.size(); ++i) perm.at[i] = static_cast<uint8_t>(list[i]);
  return perm;
}

bool last_stays(const Perm& perm) { return perm.rank == 0 || perm[perm.rank - 1u] == perm.rank - 1; }

}  // namespace

Model::Model(const Graph& graph, bool upstream)
    : graph_(graph),
      upstream_(upstream),
      base_(graph.values.size()),
      producer_(graph.values.size(), kInvalid),
      view_(graph.values.size()),
      flex_(graph.nodes.size(), Flex::Fixed),
      blocks_(graph.nodes.size()),
      readers_(graph.values.size()),
      outputs_(graph.values.size()) {
  for (uint32_t id = 0; id < graph.values.size(); ++id) {
    base_[id] = id;
    view_[id] = identity(graph.values[id].dims.size());
  }
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.kind == Kind::StaticTranspose) {
      const uint32_t in = node.inputs[0], out = node.outputs[0];
      base_[out] = base_[in];
      view_[out] = compose(view_[in], perm_of(node.list));
      continue;
    }
    for (const uint32_t out : node.outputs) producer_[out] = n;
    flex_[n] = classify(node);
    if (flex_[n] == Flex::Reshape) blocks_[n] = reshape_blocks(dims(node.inputs[0]), dims(node.outputs[0]));
    for (uint32_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k] != kInvalid) readers_[base_[node.inputs[k]]].push_back({n, k});
  }
  for (const uint32_t id : graph.outputs) outputs_[base_[id]].push_back(id);
}

Flex Model::classify(const Node& node) const {
  switch (category(node.kind)) {
    case Category::Unary:
    case Category::Convert:
      return Flex::Same;
    case Category::Binary:
    case Category::PReLU: {
      // An operand of lower rank may need a reshape first, which infers one size at most.
      const size_t rank = dims(node.outputs[0]).size();
      for (const uint32_t id : node.inputs) {
        if (graph_.values[id].use == Use::None && dims(id).size() < rank && symbolic_count(dims(id)) > 1)
          return Flex::Fixed;
      }
      return Flex::Broadcast;
    }
    case Category::Softmax:
    case Category::FullyConnected:
      return Flex::Rows;
    case Category::Concatenate:
      return Flex::Axis;
    case Category::Pad:
    case Category::Slice:
      return Flex::Lists;
    case Category::Reshape:
      return Flex::Reshape;
    default:
      return Flex::Fixed;
  }
}

bool Model::allows(uint32_t n, const Perm& label) const {
  const Node& node = graph_.nodes[n];
  if (label.rank != dims(node.outputs[0]).size()) return false;
  switch (flex_[n]) {
    case Flex::Fixed:
      return is_identity(label);
    case Flex::Rows:
      return last_stays(label);
    case Flex::Reshape:
      return through_reshape(blocks_[n], dims(node.outputs[0]), label, dims(node.inputs[0]).size(), true).has_value();
    default:
      return true;
  }
}

Demand Model::demand(uint32_t n, size_t k, const Perm& label) const {
  const Node& node = graph_.nodes[n];
  const uint32_t id = node.inputs[k];
  Demand out;
  out.base = base_[id];
  out.perm = view_[id];
  switch (flex_[n]) {
    case Flex::Fixed:
      out.or_swapped = !upstream_ && node.kind == Kind::BatchMatrixMultiply && k == 1 && !is_constant(out.base);
      return out;
    case Flex::Broadcast: {
      const size_t rank = dims(id).size();
      out.lead = static_cast<uint8_t>(label.rank - rank);
      if (out.lead != 0) out.match = Match::Strip;
      out.perm = compose(with_leading(view_[id], out.lead), label);
      return out;
    }
    case Flex::Rows:
      if (k == 0) out.perm = compose(view_[id], label);
      out.or_swapped = !upstream_ && node.kind == Kind::FullyConnected && k == 1 && !is_constant(out.base);
      return out;
    case Flex::Reshape: {
      const auto in = through_reshape(blocks_[n], dims(node.outputs[0]), label, dims(id).size(), true);
      EL_CHECK(in.has_value(), "a layout that the reshape does not take");
      out.perm = compose(view_[id], *in);
      out.match = Match::Order;
      return out;
    }
    default:
      out.perm = compose(view_[id], label);
      return out;
  }
}

std::optional<Perm> Model::label_for(uint32_t n, size_t k, const Perm& stored) const {
  const Node& node = graph_.nodes[n];
  const uint32_t id = node.inputs[k];
  if (flex_[n] == Flex::Fixed || (flex_[n] == Flex::Rows && k != 0)) return std::nullopt;
  const Perm operand = compose(inverse(view_[id]), stored);
  std::optional<Perm> label;
  if (flex_[n] == Flex::Reshape) {
    label = through_reshape(blocks_[n], dims(id), operand, dims(node.outputs[0]).size(), false);
  } else if (operand.rank == dims(node.outputs[0]).size()) {
    label = operand;
  }
  if (label && !allows(n, *label)) label.reset();
  return label;
}

}  // namespace edgelift::xnn::layout
