#include "xnnpack/rewrite.h"

#include <algorithm>

namespace edgelift::xnn {

std::vector<uint32_t> producers(const Graph& graph) {
  std::vector<uint32_t> producer(graph.values.size(), kInvalid);
  for (uint32_t n = 0; n < graph.nodes.size(); ++n)
    for (const uint32_t id : graph.nodes[n].outputs) producer[id] = n;
  return producer;
}

Uses::Uses(const Graph& graph)
    : producer(producers(graph)), count(graph.values.size(), 0), begin(graph.values.size() + 1, 0) {
  for (const Node& node : graph.nodes)
    for (const uint32_t id : node.inputs)
      if (id != kInvalid) ++begin[id + 1];
  for (size_t v = 0; v < count.size(); ++v) {
    count[v] = begin[v + 1] + (graph.values[v].external_output ? 1 : 0);
    begin[v + 1] += begin[v];
  }
  nodes.resize(begin.back());
  std::vector<uint32_t> at(begin.begin(), begin.end() - 1);
  for (uint32_t n = 0; n < graph.nodes.size(); ++n)
    for (const uint32_t id : graph.nodes[n].inputs)
      if (id != kInvalid) nodes[at[id]++] = n;
}

Replacements::Replacements(size_t values) : by_(values) {
  for (size_t i = 0; i < values; ++i) by_[i] = static_cast<uint32_t>(i);
}

void Replacements::replace(uint32_t value, uint32_t by) {
  by_[value] = by;
  changed_ = true;
}

uint32_t Replacements::resolve(uint32_t value) {
  while (by_[value] != value) value = by_[value] = by_[by_[value]];
  return value;
}

void Replacements::apply(Graph& graph) {
  if (!changed_) return;
  for (Node& node : graph.nodes)
    for (uint32_t& id : node.inputs)
      if (id != kInvalid) id = resolve(id);
}

void erase_nodes(Graph& graph, const std::vector<bool>& erased) {
  size_t kept = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (n < erased.size() && erased[n]) continue;
    if (kept != n) graph.nodes[kept] = std::move(graph.nodes[n]);
    ++kept;
  }
  graph.nodes.resize(kept);
}

bool is_internal(const Value& value) {
  return value.use == Use::None && !value.external_input && !value.external_output;
}

bool same_dims(const std::vector<SymInt>& a, const std::vector<SymInt>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

int64_t bytes_bound(const Value& value) {
  int64_t bytes = value.datatype == Datatype::F16 || value.datatype == Datatype::BF16 ? 2 : 4;
  for (const SymInt& dim : value.dims) {
    const int64_t bound = dim.is_const() ? dim.value() : dim.upper();
    if (bound <= 0 || bound == kUnbounded) continue;
    if (__builtin_mul_overflow(bytes, bound, &bytes)) return kUnbounded / 1024;
  }
  return std::min(bytes, kUnbounded / 1024);
}

}  // namespace edgelift::xnn
