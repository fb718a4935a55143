// clamp(node(x)) -> node(x) with an output range. Views and transposes between the two do not matter, as long as nobody
// else sees the unclamped value.
//
// Max and average pools also take a range, but with one they lose NaN that a clamp of its own keeps; they are left
// alone. Upstream fuses after convolution, add, sub, mul and linear only.
#include <algorithm>

#include "xnnpack/rewrite.h"

namespace edgelift::xnn {
namespace {

bool fuses(Kind kind, bool upstream) {
  switch (kind) {
    case Kind::Conv2d:
    case Kind::DepthwiseConv2d:
    case Kind::ConvTranspose2d:
    case Kind::FullyConnected:
    case Kind::Add:
    case Kind::Subtract:
    case Kind::Multiply:
      return true;
    case Kind::Div:
    case Kind::GlobalAvgPooling2d:
    case Kind::Clamp:
      return !upstream;
    default:
      return false;
  }
}

std::pair<float, float> both(const std::optional<std::pair<float, float>>& inner, std::pair<float, float> outer) {
  if (!inner) return outer;
  const auto clamp = [&](float x) { return std::min(std::max(x, outer.first), outer.second); };
  return {clamp(inner->first), clamp(inner->second)};
}

}  // namespace

void fuse_clamps(Graph& graph, bool upstream) {
  const Uses uses(graph);
  std::vector<uint32_t> producer = uses.producer;
  std::vector<bool> erased(graph.nodes.size(), false);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& clamp = graph.nodes[n];
    if (clamp.kind != Kind::Clamp || clamp.min_max->first > clamp.min_max->second) continue;
    const uint32_t last = clamp.inputs[0];
    uint32_t value = last;
    const auto only_here = [&](uint32_t id) {
      return is_internal(graph.values[id]) && uses.count[id] == 1 && producer[id] != kInvalid;
    };
    while (only_here(value)) {
      const Kind kind = graph.nodes[producer[value]].kind;
      if (kind != Kind::StaticTranspose && kind != Kind::StaticReshape) break;
      value = graph.nodes[producer[value]].inputs[0];
    }
    if (!only_here(value)) continue;
    Node& node = graph.nodes[producer[value]];
    if (!fuses(node.kind, upstream)) continue;
    if (node.kind == Kind::Clamp && node.min_max->first > node.min_max->second) continue;
    node.min_max = both(node.min_max, *clamp.min_max);
    // What wrote the clamp's input writes its output now.
    const uint32_t out = clamp.outputs[0];
    graph.nodes[producer[last]].outputs[0] = out;
    producer[out] = producer[last];
    erased[n] = true;
  }
  erase_nodes(graph, erased);
}

}  // namespace edgelift::xnn
