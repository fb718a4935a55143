#include "partition/plan.h"

#include <algorithm>
#include <queue>
#include <unordered_set>

#include "ops/record.h"

namespace edgelift::partition {

namespace {

// Symbols that a node brings into being (item, nonzero): whoever mentions one must run after that node, though no
// operand says so.
class SymbolOrder {
 public:
  explicit SymbolOrder(const ir::Graph& graph) {
    for (const ir::Value* input : graph.inputs()) {
      if (input->symbol != nullptr) given_.insert(input->symbol->name);
      for (const SymInt& size : input->type.sizes) give(size);
    }
  }

  void visit(const ir::Node& node, uint32_t number, std::vector<uint32_t>& preds) {
    const auto mention = [&](const SymInt& size) {
      if (size.is_const()) return;
      for (const SymbolPtr& symbol : size.symbols()) mention_symbol(symbol->name, number, preds);
    };
    for (const ir::Arg& arg : node.args) {
      if (const auto* size = std::get_if<SymInt>(&arg)) mention(*size);
      if (const auto* sizes = std::get_if<ir::IntList>(&arg))
        for (const SymInt& size : *sizes) mention(size);
      if (const auto* ratio = std::get_if<ir::SymRatio>(&arg)) {
        mention(ratio->numerator);
        mention(ratio->denominator);
      }
    }
    for (const ir::Value* result : node.results) {
      if (result->symbol != nullptr) mention_symbol(result->symbol->name, number, preds);
      for (const SymInt& size : result->type.sizes) mention(size);
    }
  }

 private:
  void give(const SymInt& size) {
    if (size.is_const()) return;
    for (const SymbolPtr& symbol : size.symbols()) given_.insert(symbol->name);
  }
  void mention_symbol(const std::string& name, uint32_t number, std::vector<uint32_t>& preds) {
    if (given_.contains(name)) return;
    const auto [at, fresh] = made_by_.try_emplace(name, number);
    if (!fresh && at->second != number) preds.push_back(at->second);
  }

  std::unordered_set<std::string> given_;
  std::unordered_map<std::string, uint32_t> made_by_;
};

}  // namespace

Dag make_dag(const ir::Graph& graph) {
  Dag dag;
  dag.nodes.reserve(graph.node_count());
  dag.number.reserve(graph.node_count());
  for (ir::Node* node = graph.first(); node != nullptr; node = node->next) {
    dag.number.emplace(node, static_cast<uint32_t>(dag.nodes.size()));
    dag.nodes.push_back(node);
  }
  const size_t count = dag.nodes.size();
  std::unordered_set<const ir::Value*> outputs;
  for (const ir::OutputSpec& output : graph.outputs())
    if (output.value != nullptr) outputs.insert(output.value);

  dag.is_output.assign(count, false);
  dag.pred_begin.assign(count + 1, 0);
  dag.succ_begin.assign(count + 1, 0);
  std::vector<uint32_t> found;
  int64_t last_effect = -1;
  SymbolOrder symbols(graph);
  for (size_t i = 0; i < count; ++i) {
    const ir::Node& node = *dag.nodes[i];
    found.clear();
    for (const ir::Arg& arg : node.args) {
      ir::for_each_value(arg, [&](const ir::Value* value) {
        if (value->producer != nullptr) found.push_back(dag.number.at(value->producer));
      });
    }
    symbols.visit(node, static_cast<uint32_t>(i), found);
    // Effects and random numbers keep their order among themselves.
    if (!ops::is_delegate(node) && (ops::record(node).has(ops::kEffect) || ops::record(node).has(ops::kRandom))) {
      if (last_effect >= 0) found.push_back(static_cast<uint32_t>(last_effect));
      last_effect = static_cast<int64_t>(i);
    }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    dag.preds.insert(dag.preds.end(), found.begin(), found.end());
    dag.pred_begin[i + 1] = static_cast<uint32_t>(dag.preds.size());
    for (const ir::Value* result : node.results)
      if (outputs.contains(result)) dag.is_output[i] = true;
  }
  for (const uint32_t p : dag.preds) ++dag.succ_begin[p + 1];
  for (size_t i = 0; i < count; ++i) dag.succ_begin[i + 1] += dag.succ_begin[i];
  dag.succs.resize(dag.preds.size());
  std::vector<uint32_t> at(dag.succ_begin.begin(), dag.succ_begin.end() - 1);
  for (size_t i = 0; i < count; ++i)
    for (const uint32_t p : dag.preds_of(i)) dag.succs[at[p]++] = static_cast<uint32_t>(i);
  return dag;
}

int64_t type_bytes(const ir::Type& type) {
  if (!type.is_tensor()) return 8;
  int64_t bytes = static_cast<int64_t>(byte_size(type.dtype));
  for (const SymInt& size : type.sizes) {
    const int64_t bound = size.is_const() ? size.value() : size.upper();
    if (bound <= 0 || bound == kUnbounded) continue;
    if (__builtin_mul_overflow(bytes, bound, &bytes)) return kUnbounded / 4;
  }
  return std::min(bytes, kUnbounded / 4);
}

int64_t result_bytes(const ir::Node& node) {
  int64_t bytes = 0;
  for (const ir::Value* result : node.results)
    if (!result->users.empty() || result->index == 0)
      bytes = std::min(bytes + type_bytes(result->type), kUnbounded / 4);
  return bytes;
}

std::vector<uint32_t> schedule(const Dag& dag, std::vector<int32_t>& partition) {
  const auto count = static_cast<uint32_t>(dag.size());
  int32_t partitions = 0;
  for (const int32_t p : partition) partitions = std::max(partitions, p + 1);

  std::vector<std::vector<uint32_t>> members(static_cast<size_t>(partitions));
  for (uint32_t i = 0; i < count; ++i)
    if (partition[i] != kPortable) members[static_cast<size_t>(partition[i])].push_back(i);
  // Edges that a unit still waits for; those inside a partition do not count.
  std::vector<uint32_t> unit_waiting(static_cast<size_t>(partitions), 0), node_waiting(count, 0);
  const auto inside = [&](uint32_t a, uint32_t b) { return partition[a] != kPortable && partition[a] == partition[b]; };
  for (uint32_t i = 0; i < count; ++i) {
    for (const uint32_t p : dag.preds_of(i)) {
      if (inside(p, i)) continue;
      ++node_waiting[i];
      if (partition[i] != kPortable) ++unit_waiting[static_cast<size_t>(partition[i])];
    }
  }

  // Ready units, earliest node first.
  using Entry = std::pair<uint32_t, int32_t>;  // first node, partition or kPortable
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  for (uint32_t i = 0; i < count; ++i)
    if (partition[i] == kPortable && node_waiting[i] == 0) ready.emplace(i, kPortable);
  for (int32_t p = 0; p < partitions; ++p) {
    const auto& list = members[static_cast<size_t>(p)];
    if (!list.empty() && unit_waiting[static_cast<size_t>(p)] == 0) ready.emplace(list.front(), p);
  }

  std::vector<uint32_t> order;
  order.reserve(count);
  std::vector<int32_t> renumbered(count, kPortable);
  std::vector<bool> done(count, false);
  int32_t next = 0;
  const auto emit_nodes = [&](const std::vector<uint32_t>& list, int32_t from) {
    for (const uint32_t i : list) {
      order.push_back(i);
      done[i] = true;
      renumbered[i] = from == kPortable ? kPortable : next;
    }
    for (const uint32_t i : list) {
      for (const uint32_t s : dag.succs_of(i)) {
        if (done[s] || inside(i, s)) continue;
        --node_waiting[s];
        if (partition[s] == kPortable) {
          if (node_waiting[s] == 0) ready.emplace(s, kPortable);
        } else if (--unit_waiting[static_cast<size_t>(partition[s])] == 0) {
          ready.emplace(members[static_cast<size_t>(partition[s])].front(), partition[s]);
        }
      }
    }
    if (from != kPortable) ++next;
  };
  // Takes apart a partition on a cycle: what can run already becomes a partition of its own.
  const auto split_one = [&]() -> bool {
    for (int32_t p = 0; p < partitions; ++p) {
      auto& list = members[static_cast<size_t>(p)];
      if (list.empty()) continue;
      std::vector<uint32_t> now, later;
      std::unordered_set<uint32_t> taken;
      for (const uint32_t i : list) {
        bool free = node_waiting[i] == 0;
        for (const uint32_t q : dag.preds_of(i)) free = free && (!inside(q, i) || taken.contains(q));
        if (free) taken.insert(i);
        (free ? now : later).push_back(i);
      }
      if (now.empty()) continue;
      list = std::move(later);
      // From here on edges from the first part to the rest are edges between units.
      for (const uint32_t i : list) {
        for (const uint32_t q : dag.preds_of(i)) {
          if (!taken.contains(q)) continue;
          ++node_waiting[i];
          ++unit_waiting[static_cast<size_t>(p)];
        }
      }
      members.push_back(now);
      unit_waiting.push_back(0);
      for (const uint32_t i : now) partition[i] = partitions;
      ready.emplace(now.front(), partitions++);
      return true;
    }
    return false;
  };

  while (order.size() < count) {
    if (ready.empty()) {
      EL_CHECK(split_one(), "the graph is not in execution order");
      continue;
    }
    const auto [first, p] = ready.top();
    ready.pop();
    if (p == kPortable) {
      emit_nodes({first}, kPortable);
    } else {
      const std::vector<uint32_t> list = std::move(members[static_cast<size_t>(p)]);
      members[static_cast<size_t>(p)].clear();
      emit_nodes(list, p);
    }
  }
  partition = std::move(renumbered);
  return order;
}

}  // namespace edgelift::partition
