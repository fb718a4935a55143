// Splits partitions along execution order. A piece boundary costs the bytes of the values that cross it; the best set
// of boundaries is found by dynamic programming over the nodes of one partition.
#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "partition/plan.h"

namespace edgelift::partition {
namespace {

// Bytes that cross in front of nodes[k], for every k, counting values made in this list and used later in it.
std::vector<int64_t> crossing_bytes(const Dag& dag, const std::vector<uint32_t>& nodes,
                                    std::vector<uint32_t>* live_values) {
  std::unordered_map<uint32_t, size_t> place;
  for (size_t k = 0; k < nodes.size(); ++k) place.emplace(nodes[k], k);
  std::vector<int64_t> change(nodes.size() + 1, 0);
  std::vector<int64_t> live(nodes.size() + 1, 0);
  for (size_t k = 0; k < nodes.size(); ++k) {
    size_t last = k;
    for (const uint32_t u : dag.succs_of(nodes[k]))
      if (const auto at = place.find(u); at != place.end()) last = std::max(last, at->second);
    if (last == k) continue;
    const int64_t bytes = result_bytes(*dag.nodes[nodes[k]]);
    change[k + 1] += bytes;
    change[last + 1] -= bytes;
    const auto results = static_cast<int64_t>(dag.nodes[nodes[k]]->results.size());
    live[k + 1] += results;
    live[last + 1] -= results;
  }
  for (size_t k = 1; k < change.size(); ++k) {
    change[k] += change[k - 1];
    live[k] += live[k - 1];
  }
  if (live_values != nullptr) live_values->assign(live.begin(), live.end());
  return change;
}

// Boundaries (first node of each piece but the first) with least bytes crossing, no piece heavier than the limit unless
// it is one node.
std::vector<size_t> cut_by_weight(const std::vector<int64_t>& weight, const std::vector<int64_t>& crossing,
                                  int64_t limit) {
  const size_t count = weight.size();
  std::vector<int64_t> sum(count + 1, 0), cost(count + 1, 0);
  std::vector<size_t> from(count + 1, 0);
  for (size_t k = 0; k < count; ++k) sum[k + 1] = sum[k] + weight[k];
  std::deque<size_t> best;  // candidate starts, cheapest first, of rising cost
  size_t next = 0;
  // A boundary itself costs a little, so that of equal cuts the one with fewer pieces wins.
  const auto start_cost = [&](size_t i) { return cost[i] + (i == 0 ? 0 : crossing[i] + 1024); };
  for (size_t end = 1; end <= count; ++end) {
    for (; next < end; ++next) {
      while (!best.empty() && start_cost(best.back()) >= start_cost(next)) best.pop_back();
      best.push_back(next);
    }
    while (best.front() + 1 < end && sum[end] - sum[best.front()] > limit) best.pop_front();
    from[end] = best.front();
    cost[end] = start_cost(best.front());
  }
  std::vector<size_t> cuts;
  for (size_t end = count; from[end] != 0; end = from[end]) cuts.push_back(from[end]);
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

// Greedy: each piece takes nodes while an upper bound of its external values stays within the limit.
std::vector<size_t> cut_by_externs(const Dag& dag, const std::vector<Facts>& facts, const std::vector<uint32_t>& nodes,
                                   const std::vector<int32_t>& partition) {
  std::vector<uint32_t> live;
  crossing_bytes(dag, nodes, &live);
  std::vector<size_t> cuts;
  std::unordered_set<const ir::Value*> inputs;
  std::unordered_set<uint32_t> in_piece;
  std::unordered_set<uint64_t> constants;
  uint64_t outputs = 0;
  size_t begin = 0, best = 0;
  for (size_t k = 0; k < nodes.size(); ++k) {
    const ir::Node& node = *dag.nodes[nodes[k]];
    for (const ir::Arg& arg : node.args) {
      ir::for_each_value(arg, [&](const ir::Value* value) {
        if (value->producer != nullptr && in_piece.contains(static_cast<uint32_t>(dag.index_of(value->producer))))
          return;
        if (!value->is_constant() || value->constant->is_mutable) inputs.insert(value);
      });
    }
    in_piece.insert(nodes[k]);
    constants.insert(facts[nodes[k]].constant_operands.begin(), facts[nodes[k]].constant_operands.end());
    bool leaves = dag.is_output[nodes[k]];
    for (const uint32_t u : dag.succs_of(nodes[k])) leaves = leaves || partition[u] != partition[nodes[k]];
    if (leaves) outputs += node.results.size();
    const uint64_t now = inputs.size() + constants.size() + outputs;
    if (now + live[k + 1] <= kMaxExterns) best = k + 1;
    if (now > kMaxExterns && best > begin) {
      cuts.push_back(best);
      begin = best;
      k = best - 1;  // the next piece starts at best
      inputs.clear();
      in_piece.clear();
      constants.clear();
      outputs = 0;
    }
  }
  return cuts;
}

}  // namespace

void limit_partitions(const Dag& dag, const std::vector<Facts>& facts, size_t max_weights,
                      std::vector<int32_t>& partition) {
  int32_t count = 0;
  for (const int32_t p : partition) count = std::max(count, p + 1);
  std::vector<std::vector<uint32_t>> members(static_cast<size_t>(count));
  for (uint32_t i = 0; i < partition.size(); ++i)
    if (partition[i] != kPortable) members[static_cast<size_t>(partition[i])].push_back(i);

  const auto split = [&](std::vector<uint32_t>& nodes, const std::vector<size_t>& cuts) {
    for (size_t c = cuts.size(); c-- > 0;) {
      std::vector<uint32_t> piece(nodes.begin() + static_cast<std::ptrdiff_t>(cuts[c]), nodes.end());
      nodes.resize(cuts[c]);
      for (const uint32_t i : piece) partition[i] = static_cast<int32_t>(members.size());
      members.push_back(std::move(piece));
    }
  };
  if (max_weights != 0) {
    for (size_t p = 0; p < static_cast<size_t>(count); ++p) {
      std::vector<int64_t> weight;
      int64_t total = 0;
      for (const uint32_t i : members[p]) {
        weight.push_back(facts[i].packed_bytes);
        total += facts[i].packed_bytes;
      }
      const auto limit = static_cast<int64_t>(std::min<size_t>(max_weights, static_cast<size_t>(kUnbounded / 4)));
      if (total <= limit) continue;
      std::vector<uint32_t> nodes = std::move(members[p]);
      split(nodes, cut_by_weight(weight, crossing_bytes(dag, nodes, nullptr), limit));
      members[p] = std::move(nodes);
    }
  }
  for (size_t p = 0; p < members.size(); ++p) {
    uint64_t at_most = 0;
    for (const uint32_t i : members[p]) at_most += facts[i].externs;
    if (at_most <= kMaxExterns) continue;
    std::vector<uint32_t> nodes = std::move(members[p]);
    const std::vector<size_t> cuts = cut_by_externs(dag, facts, nodes, partition);
    split(nodes, cuts);
    members[p] = std::move(nodes);
  }
}

}  // namespace edgelift::partition
