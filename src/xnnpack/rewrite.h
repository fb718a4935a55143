// The rewrites of optimize.cc, one a file. Each keeps every value that leaves the graph bit for bit, and leaves nodes in
// an order that defines before use.
#pragma once

#include <cstdint>
#include <vector>

#include "xnnpack/graph.h"

namespace edgelift::xnn {

// Drops nodes whose results nobody uses (remove_dead.cc).
void remove_dead(Graph& graph);

// Who makes and who reads each value; valid until the graph changes.
struct Uses {
  explicit Uses(const Graph& graph);
  std::vector<uint32_t> producer;               // node index or kInvalid
  std::vector<uint32_t> count;                  // operand occurrences, plus one for an external output
  std::vector<uint32_t> begin, nodes;           // readers of value v: nodes[begin[v] .. begin[v+1]), with repetitions
  bool single(uint32_t value) const { return count[value] == 1; }
};

}  // namespace edgelift::xnn
