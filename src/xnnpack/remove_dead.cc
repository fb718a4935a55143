#include "xnnpack/rewrite.h"

namespace edgelift::xnn {

Uses::Uses(const Graph& graph)
    : producer(graph.values.size(), kInvalid), count(graph.values.size(), 0), begin(graph.values.size() + 1, 0) {
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    for (const uint32_t id : graph.nodes[n].outputs) producer[id] = n;
    for (const uint32_t id : graph.nodes[n].inputs)
      if (id != kInvalid) ++begin[id + 1];
  }
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

void remove_dead(Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false);
  for (const uint32_t id : graph.outputs) needed[id] = true;
  std::vector<bool> keep(graph.nodes.size(), false);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    for (const uint32_t id : graph.nodes[n].outputs) keep[n] = keep[n] || needed[id];
    if (!keep[n]) continue;
    for (const uint32_t id : graph.nodes[n].inputs)
      if (id != kInvalid) needed[id] = true;
  }
  size_t kept = 0;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!keep[n]) continue;
    if (kept != n) graph.nodes[kept] = std::move(graph.nodes[n]);
    ++kept;
  }
  graph.nodes.resize(kept);
}

}  // namespace edgelift::xnn
