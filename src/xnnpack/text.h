// Words of the text form and of messages.
#pragma once

#include <string>
#include <vector>

#include "base/symint.h"
#include "xnnpack/graph.h"

namespace edgelift::xnn {

std::string dims_text(const std::vector<SymInt>& dims);                     // [1,3,s0]
std::string type_text(Datatype datatype, const std::vector<SymInt>& dims);  // f32[1,3,s0]
// "node 12 (Conv2d, debug handle 45)"
std::string node_text(const Graph& graph, const Node& node);

}  // namespace edgelift::xnn
