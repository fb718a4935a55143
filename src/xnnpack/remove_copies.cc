#include "xnnpack/rewrite.h"

namespace edgelift::xnn {

void remove_copies(Graph& graph) {
  std::vector<uint32_t> producer = producers(graph);
  Replacements replaced(graph.values.size());
  std::vector<bool> erased(graph.nodes.size(), false);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.kind != Kind::Copy) continue;
    const uint32_t from = replaced.resolve(node.inputs[0]);
    const uint32_t to = node.outputs[0];
    if (is_internal(graph.values[to])) {
      replaced.replace(to, from);
      erased[n] = true;
    } else if (is_internal(graph.values[from]) && producer[from] != kInvalid) {
      // The producer writes the output itself; whoever reads the value reads it there.
      for (uint32_t& id : graph.nodes[producer[from]].outputs)
        if (id == from) id = to;
      producer[to] = producer[from];
      replaced.replace(from, to);
      erased[n] = true;
    }
  }
  replaced.apply(graph);
  erase_nodes(graph, erased);
}

}  // namespace edgelift::xnn
