#include <cstring>
#include <unordered_map>

#include "xnnpack/rewrite.h"

namespace edgelift::xnn {
namespace {

uint64_t mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9E3779B97F4A7C15ull ^ (hash >> 29); }

uint64_t hash_of(const Node& node) {
  uint64_t hash = mix(static_cast<uint64_t>(node.kind), node.flags);
  for (const uint32_t id : node.inputs) hash = mix(hash, id);
  for (const int64_t item : node.list) hash = mix(hash, static_cast<uint64_t>(item));
  for (const int64_t item : node.list2) hash = mix(hash, static_cast<uint64_t>(item));
  return mix(hash, static_cast<uint64_t>(node.axis));
}

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool same_window(const Window& a, const Window& b) {
  return a.pad_top == b.pad_top && a.pad_right == b.pad_right && a.pad_bottom == b.pad_bottom &&
         a.pad_left == b.pad_left && a.kernel_h == b.kernel_h && a.kernel_w == b.kernel_w && a.stride_h == b.stride_h &&
         a.stride_w == b.stride_w && a.dilation_h == b.dilation_h && a.dilation_w == b.dilation_w &&
         a.groups == b.groups && a.group_input_channels == b.group_input_channels &&
         a.group_output_channels == b.group_output_channels && a.adjustment_h == b.adjustment_h &&
         a.adjustment_w == b.adjustment_w;
}

bool equal(const Graph& graph, const Node& a, const Node& b) {
  if (a.kind != b.kind || a.inputs != b.inputs || a.flags != b.flags || a.axis != b.axis || a.list != b.list ||
      a.list2 != b.list2 || a.new_height != b.new_height || a.new_width != b.new_width ||
      !same_bits(a.scalar, b.scalar) || !same_window(a.window, b.window) ||
      a.min_max.has_value() != b.min_max.has_value() || a.outputs.size() != b.outputs.size()) {
    return false;
  }
  if (a.min_max && (!same_bits(a.min_max->first, b.min_max->first) || !same_bits(a.min_max->second, b.min_max->second)))
    return false;
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    const Value& x = graph.values[a.outputs[i]];
    const Value& y = graph.values[b.outputs[i]];
    // One with an inferred size may have been declared in another way; the results are then kept apart.
    if (x.datatype != y.datatype || !same_dims(x.dims, y.dims)) return false;
  }
  return true;
}

}  // namespace

void merge_equal(Graph& graph) {
  std::unordered_multimap<uint64_t, uint32_t> seen;
  seen.reserve(graph.nodes.size());
  Replacements replaced(graph.values.size());
  std::vector<bool> erased(graph.nodes.size(), false);
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    for (uint32_t& id : node.inputs)
      if (id != kInvalid) id = replaced.resolve(id);
    const uint64_t hash = hash_of(node);
    bool merged = false;
    bool internal = true;
    for (const uint32_t id : node.outputs) internal = internal && is_internal(graph.values[id]);
    const auto [begin, end] = seen.equal_range(hash);
    for (auto at = begin; internal && !merged && at != end; ++at) {
      const Node& earlier = graph.nodes[at->second];
      if (!equal(graph, earlier, node)) continue;
      for (size_t i = 0; i < node.outputs.size(); ++i) replaced.replace(node.outputs[i], earlier.outputs[i]);
      erased[n] = merged = true;
    }
    if (!merged) seen.emplace(hash, n);
  }
  erase_nodes(graph, erased);
}

}  // namespace edgelift::xnn
