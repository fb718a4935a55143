#include "xnnpack/rewrite.h"

namespace edgelift::xnn {

void remove_dead(Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false);
  for (const uint32_t id : graph.outputs) needed[id] = true;
  std::vector<bool> dead(graph.nodes.size(), true);
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    for (const uint32_t id : graph.nodes[n].outputs)
      if (needed[id]) dead[n] = false;
    if (dead[n]) continue;
    for (const uint32_t id : graph.nodes[n].inputs)
      if (id != kInvalid) needed[id] = true;
  }
  erase_nodes(graph, dead);
}

}  // namespace edgelift::xnn
