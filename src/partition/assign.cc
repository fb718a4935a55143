#include <algorithm>
#include <limits>

#include "base/hash.h"
#include "ops/xnn_builder.h"
#include "partition/plan.h"

namespace edgelift::partition {
namespace {

using ops::Refusal;

ops::LowerResult refuse(const ir::Node& node, const Options& options) {
  switch (options.policy) {
    case Policy::None:
      return Refusal{Refusal::Code::Policy, "the recipe keeps every operator portable"};
    case Policy::Upstream:
      return ops::upstream_refusal(node);
    case Policy::Full:
      break;
  }
  return std::nullopt;
}

int64_t value_bytes(const xnn::Value& value) {
  ir::Type type = ir::Type::tensor(DType::F32, value.dims);
  return type_bytes(type);
}

Facts facts_of(const ir::Node& node, const xnn::Graph& graph) {
  Facts facts;
  for (const xnn::Value& value : graph.values) {
    if (value.use == xnn::Use::Packed) facts.packed_bytes += static_cast<int64_t>(value.data.nbytes());
    if (value.use == xnn::Use::Unpacked)
      facts.constant_operands.push_back(value.source != nullptr
                                            ? static_cast<uint64_t>(reinterpret_cast<uintptr_t>(value.source))
                                            : content_hash(value.data));
  }
  facts.externs = static_cast<uint32_t>(graph.inputs.size() + node.results.size() + facts.constant_operands.size());
  for (const xnn::Node& made : graph.nodes) {
    switch (xnn::category(made.kind)) {
      case xnn::Category::Reshape:
      case xnn::Category::Slice:
      case xnn::Category::Concatenate:
      case xnn::Category::Pad:
        break;
      case xnn::Category::Transpose:
        facts.transposed_bytes += value_bytes(graph.values[made.outputs[0]]);
        break;
      default:
        if (made.kind != xnn::Kind::Copy) facts.computes = true;
        break;
    }
  }
  return facts;
}

// A delegate call has a fixed price of some microseconds. A partition without arithmetic pays it back only by a large
// transpose, which the portable kernel does element by element; views, slices and concatenations are plain copies there
// as well. So a single node of that kind is dropped, except where ExecuTorch's own partitioner would delegate it: no
// program shall have more portable operators than with that.
constexpr int64_t kWorthwhileTranspose = 64 << 10;

std::vector<bool> worthwhile(const Dag& dag, const std::vector<Facts>& facts, const std::vector<int32_t>& partition) {
  int32_t count = 0;
  for (const int32_t p : partition) count = std::max(count, p + 1);
  std::vector<bool> worth(static_cast<size_t>(count), false);
  std::vector<int64_t> transposed(static_cast<size_t>(count), 0);
  for (size_t i = 0; i < partition.size(); ++i) {
    if (partition[i] == kPortable) continue;
    const auto p = static_cast<size_t>(partition[i]);
    transposed[p] += facts[i].transposed_bytes;
    if (facts[i].computes || transposed[p] >= kWorthwhileTranspose) worth[p] = true;
  }
  std::vector<bool> beyond_upstream(static_cast<size_t>(count), false);
  std::vector<size_t> nodes(static_cast<size_t>(count), 0);
  for (size_t i = 0; i < partition.size(); ++i) {
    if (partition[i] == kPortable) continue;
    const auto p = static_cast<size_t>(partition[i]);
    ++nodes[p];
    // Shuffles are refused there in one piece, and delegated as the views and the permutation that they become.
    const bool shuffle =
        dag.nodes[i]->is("pixel_shuffle") || dag.nodes[i]->is("pixel_unshuffle") || dag.nodes[i]->is("channel_shuffle");
    if (!worth[p] && !beyond_upstream[p])
      beyond_upstream[p] = !shuffle && ops::upstream_refusal(*dag.nodes[i]).has_value();
  }
  for (size_t p = 0; p < worth.size(); ++p) worth[p] = worth[p] || !beyond_upstream[p] || nodes[p] > 1;
  return worth;
}

}  // namespace

Result<int> assign(ir::Graph& graph, const Options& options, std::unordered_map<const ir::Node*, Refusal>& refused) {
  const Dag dag = make_dag(graph);
  std::vector<bool> accepted(dag.size(), false);
  std::vector<Facts> facts(dag.size());
  for (size_t i = 0; i < dag.size(); ++i) {
    const ir::Node& node = *dag.nodes[i];
    ops::LowerResult refusal = refuse(node, options);
    if (!refusal) {
      ops::XnnBuilder scratch;
      refusal = ops::lower_node(node, scratch);
      if (!refusal) facts[i] = facts_of(node, scratch.graph());
      if (facts[i].externs > kMaxExterns) {
        refusal = Refusal{Refusal::Code::Shape, "it has more operands than the 4096 that a delegate can take"};
      }
    }
    accepted[i] = !refusal.has_value();
    if (refusal) refused.insert_or_assign(&node, std::move(*refusal));
  }

  std::vector<int32_t> partition;
  if (options.policy == Policy::Upstream) {
    partition = assign_upstream(dag, accepted);
  } else {
    for (;;) {
      partition = assign_levels(dag, accepted);
      const std::vector<bool> worth = worthwhile(dag, facts, partition);
      bool dropped = false;
      for (size_t i = 0; i < dag.size(); ++i) {
        if (partition[i] == kPortable || worth[static_cast<size_t>(partition[i])]) continue;
        accepted[i] = false;
        dropped = true;
        refused.insert_or_assign(
            dag.nodes[i], Refusal{Refusal::Code::Policy,
                                  "it only moves data and has no neighbour in a delegate; a call of its own would cost "
                                  "more than the portable copy"});
      }
      if (!dropped) break;
    }
  }
  limit_partitions(dag, facts, options.max_delegate_weights, partition);

  const std::vector<uint32_t> order = schedule(dag, partition);
  int32_t count = 0;
  for (const uint32_t i : order) {
    graph.move_before(dag.nodes[i], nullptr);
    dag.nodes[i]->partition = partition[i];
    count = std::max(count, partition[i] + 1);
  }
  return static_cast<int>(count);
}

}  // namespace edgelift::partition
