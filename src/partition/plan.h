// The graph as numbers, for the algorithms of this folder: nodes in execution order, edges by node number.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "partition/partition.h"

namespace edgelift::partition {

inline constexpr int32_t kPortable = -1;

struct Dag {
  std::vector<ir::Node*> nodes;  // execution order
  // Compressed lists: the distinct producers of node i's operands, the distinct users of its results, both ascending.
  std::vector<uint32_t> pred_begin, preds, succ_begin, succs;
  std::vector<bool> is_output;  // a result is an output of the graph

  size_t size() const { return nodes.size(); }
  std::span<const uint32_t> preds_of(size_t i) const {
    return {preds.data() + pred_begin[i], preds.data() + pred_begin[i + 1]};
  }
  std::span<const uint32_t> succs_of(size_t i) const {
    return {succs.data() + succ_begin[i], succs.data() + succ_begin[i + 1]};
  }
  size_t index_of(const ir::Node* node) const { return number.at(node); }

  std::unordered_map<const ir::Node*, uint32_t> number;
};
Dag make_dag(const ir::Graph& graph);

// The least number of partitions, and no two that could be merged: see levels.cc.
std::vector<int32_t> assign_levels(const Dag& dag, const std::vector<bool>& accepted);
// ExecuTorch's grouping: see upstream.cc.
std::vector<int32_t> assign_upstream(const Dag& dag, const std::vector<bool>& accepted);

// Execution order in which every partition is contiguous, as near to the present one as that allows; partitions are
// renumbered in execution order. A partition that lies on a cycle through others is taken apart (upstream's rule does
// not exclude that).
std::vector<uint32_t> schedule(const Dag& dag, std::vector<int32_t>& partition);

// What a trial lowering tells of an accepted node.
struct Facts {
  int64_t packed_bytes = 0;  // constants that the delegate would hold
  // Unpacked constants, each an operand of the call: equal numbers are one operand.
  std::vector<uint64_t> constant_operands;
  uint32_t externs = 0;  // operands and results that it would have in a delegate of its own
  int64_t transposed_bytes = 0;
  bool computes = false;  // more than views, copies and transposes
};

// The runtime takes 4096 external values; the margin is for copies that the lowering adds.
inline constexpr uint32_t kMaxExterns = 4000;

// Takes partitions apart that hold more packed weights than asked for, or have more operands and results than the
// runtime takes; at the places where the fewest bytes cross. New numbers follow the old ones.
void limit_partitions(const Dag& dag, const std::vector<Facts>& facts, size_t max_weights,
                      std::vector<int32_t>& partition);

// Upper bound of the bytes of a node's results; a size without a bound counts as one element.
int64_t result_bytes(const ir::Node& node);
int64_t type_bytes(const ir::Type& type);

}  // namespace edgelift::partition
