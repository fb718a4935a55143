// Policy::Full. Think of the program as run in phases: all portable nodes that are ready, then all accepted nodes that
// are ready, and so on. The accepted nodes of one phase are a partition. Every node of phase k+1 waits for a portable
// node that waits for an accepted node of phase k (else it had run earlier), so no two partitions can be merged without
// a cycle, and their number, the most alternations on any path, is the least possible. Unconnected pieces of one phase
// share a partition. One sweep over the edges.
//
// Running as early as possible makes values live long. A second sweep, backwards, moves nodes to a later phase where
// that lowers the bytes that cross borders; it keeps every dependency, and so the number of partitions.
#include <algorithm>

#include "partition/plan.h"

namespace edgelift::partition {
namespace {

// Phases: portable phase k is 2k, accepted phase k is 2k + 1.
std::vector<int32_t> earliest(const Dag& dag, const std::vector<bool>& accepted) {
  std::vector<int32_t> phase(dag.size(), 0);
  for (size_t i = 0; i < dag.size(); ++i) {
    int32_t at = accepted[i] ? 1 : 0;
    for (const uint32_t p : dag.preds_of(i)) {
      const bool same_kind = accepted[p] == accepted[i];
      at = std::max(at, same_kind ? phase[p] : phase[p] + 1);
    }
    phase[i] = at;
  }
  return phase;
}

int64_t crossing_in(const Dag& dag, const std::vector<bool>& accepted, const std::vector<int32_t>& phase, size_t i,
                    int32_t at) {
  int64_t bytes = 0;
  for (const uint32_t p : dag.preds_of(i)) {
    if (accepted[p] && phase[p] == at) continue;
    // A value that some other node of that phase takes anyway costs nothing more.
    const auto users = dag.succs_of(p);
    const bool shared =
        std::any_of(users.begin(), users.end(), [&](uint32_t u) { return u != i && accepted[u] && phase[u] == at; });
    if (!shared) bytes += result_bytes(*dag.nodes[p]);
  }
  return bytes;
}

int64_t crossing_out(const Dag& dag, const std::vector<bool>& accepted, const std::vector<int32_t>& phase, size_t i,
                     int32_t at) {
  const auto users = dag.succs_of(i);
  const bool leaves = dag.is_output[i] || std::any_of(users.begin(), users.end(),
                                                      [&](uint32_t u) { return !accepted[u] || phase[u] != at; });
  return leaves ? result_bytes(*dag.nodes[i]) : 0;
}

void sink(const Dag& dag, const std::vector<bool>& accepted, std::vector<int32_t>& phase) {
  constexpr size_t kManyUsers = 64;  // keeps the sweep linear; such values live long anyway
  for (size_t i = dag.size(); i-- > 0;) {
    if (!accepted[i] || dag.succs_of(i).empty() || dag.succs_of(i).size() > kManyUsers) continue;
    int32_t limit = std::numeric_limits<int32_t>::max();
    for (const uint32_t u : dag.succs_of(i)) limit = std::min(limit, accepted[u] ? phase[u] : phase[u] - 1);
    if (limit % 2 == 0) --limit;
    if (limit <= phase[i]) continue;
    const auto preds = dag.preds_of(i);
    if (std::any_of(preds.begin(), preds.end(), [&](uint32_t p) { return dag.succs_of(p).size() > kManyUsers; }))
      continue;
    const int64_t stay =
        crossing_in(dag, accepted, phase, i, phase[i]) + crossing_out(dag, accepted, phase, i, phase[i]);
    const int64_t move = crossing_in(dag, accepted, phase, i, limit) + crossing_out(dag, accepted, phase, i, limit);
    if (move <= stay) phase[i] = limit;
  }
}

}  // namespace

std::vector<int32_t> assign_levels(const Dag& dag, const std::vector<bool>& accepted) {
  std::vector<int32_t> phase = earliest(dag, accepted);
  sink(dag, accepted, phase);
  for (size_t i = 0; i < dag.size(); ++i) phase[i] = accepted[i] ? phase[i] / 2 : kPortable;
  return phase;
}

}  // namespace edgelift::partition
