// Which node of a delegate's graph each of the runtime's events inside it came from. The runtime names its operators
// (XNNPACK's own words) and gives no handle, but it keeps the graph's order: one event an operator, in the order of the
// nodes, none for a node that it fused into another or left out, and a clamp behind a node whose clamp it did not fuse.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "xnnpack/graph.h"

namespace edgelift::runtime {

// The event is one of the nodes first … last of its kind; the same one where it is certain.
struct NodeRange {
  uint32_t first = 0, last = 0;
  bool certain() const { return first == last; }
  bool operator==(const NodeRange&) const = default;
};

// One range an event of one call of the delegate, in order. Error: names that cannot be events of this graph.
Result<std::vector<NodeRange>> attribute(const xnn::Graph& graph, std::span<const std::string> events);

}  // namespace edgelift::runtime
