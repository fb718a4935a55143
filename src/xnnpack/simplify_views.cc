// Reshapes hold elements in the same order, so that of a chain only the last counts; one that changes no dim is
// dropped. A view of a constant is another constant over the same bytes.
#include <algorithm>

#include "xnnpack/rewrite.h"

namespace edgelift::xnn {
namespace {

bool all_numbers(const std::vector<SymInt>& dims) {
  return std::all_of(dims.begin(), dims.end(), [](const SymInt& dim) { return dim.is_const(); });
}

}  // namespace

void simplify_views(Graph& graph) {
  const std::vector<uint32_t> producer = producers(graph);
  Replacements replaced(graph.values.size());
  std::vector<bool> erased(graph.nodes.size(), false);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    if (node.kind != Kind::StaticReshape && node.kind != Kind::StaticTranspose) continue;
    uint32_t in = replaced.resolve(node.inputs[0]);
    if (node.kind == Kind::StaticReshape) {
      // Nodes come in order, so that the one before is in its final form already.
      while (producer[in] != kInvalid && graph.nodes[producer[in]].kind == Kind::StaticReshape) {
        in = replaced.resolve(graph.nodes[producer[in]].inputs[0]);
      }
    }
    node.inputs[0] = in;
    const uint32_t out = node.outputs[0];
    const bool unchanged = node.kind == Kind::StaticReshape ? same_dims(graph.values[in].dims, graph.values[out].dims)
                                                            : std::is_sorted(node.list.begin(), node.list.end());
    if (unchanged) {
      if (is_internal(graph.values[out])) {
        replaced.replace(out, in);
        erased[n] = true;
      } else {
        node.kind = Kind::Copy;
        node.list.clear();
      }
      continue;
    }
    const Value& source = graph.values[in];
    if (source.use == Use::None || !all_numbers(graph.values[out].dims) || !is_internal(graph.values[out])) continue;
    Value view = source;
    view.source = nullptr;
    view.external_input = false;
    view.dims = graph.values[out].dims;
    if (node.kind == Kind::StaticTranspose) {
      view.data = source.data.permuted(node.list);
    } else {
      std::vector<int64_t> sizes;
      for (const SymInt& dim : view.dims) sizes.push_back(dim.value());
      view.data = source.data.reshaped(std::move(sizes));
    }
    graph.values[out] = std::move(view);
    erased[n] = true;
  }
  replaced.apply(graph);
  erase_nodes(graph, erased);
}

}  // namespace edgelift::xnn
