// The rewrites of optimize.cc, one a file. Each keeps every value that leaves the graph bit for bit, and leaves nodes
// in an order that defines before use.
#pragma once

#include <cstdint>
#include <vector>

#include "xnnpack/graph.h"

namespace edgelift::xnn {

// Drops nodes whose results nobody uses (remove_dead.cc).
void remove_dead(Graph& graph);
// Copies inside the graph, and copies to an output of a value that its producer can write there (remove_copies.cc).
void remove_copies(Graph& graph);
// A reshape of a reshape, a reshape that changes nothing, reshapes and transposes of constants (simplify_views.cc).
void simplify_views(Graph& graph);
// Equal nodes become one (merge_equal.cc).
void merge_equal(Graph& graph);
// A clamp becomes the output range of the node before it (fuse_clamps.cc).
void fuse_clamps(Graph& graph, bool upstream);
// Chooses the layout of every value, so that the least bytes are transposed (layout.cc).
void assign_layout(Graph& graph, bool upstream);

// The node that makes each value, or kInvalid; valid until the graph changes.
std::vector<uint32_t> producers(const Graph& graph);

// Who makes and who reads each value; valid until the graph changes.
struct Uses {
  explicit Uses(const Graph& graph);
  std::vector<uint32_t> producer;      // node index or kInvalid
  std::vector<uint32_t> count;         // operand occurrences, plus one for an external output
  std::vector<uint32_t> begin, nodes;  // readers of value v: nodes[begin[v] .. begin[v+1]), with repetitions
};

// Follows replacements of values: resolve(v) is what stands for v now.
class Replacements {
 public:
  explicit Replacements(size_t values);
  void replace(uint32_t value, uint32_t by);
  uint32_t resolve(uint32_t value);
  void apply(Graph& graph);  // to the operands of all nodes

 private:
  std::vector<uint32_t> by_;
  bool changed_ = false;
};

// Removes the nodes that are marked.
void erase_nodes(Graph& graph, const std::vector<bool>& erased);

bool is_internal(const Value& value);  // neither constant nor external
// True if sizes are the same for every value of the symbols.
bool same_dims(const std::vector<SymInt>& a, const std::vector<SymInt>& b);
int64_t bytes_bound(const Value& value);

}  // namespace edgelift::xnn
