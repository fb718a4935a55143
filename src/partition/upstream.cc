// Policy::Upstream: the grouping of ExecuTorch 1.5.1 (facts from its sources, checked against recorded partitions).
//
// A matched node opens a group; a linear, convolution, addmm or mm takes its constant operands and a lone relu or
// hardtanh after it into the group, a batch norm and a prelu their parameters. A constant belongs to the group of its
// first user. Walking the graph backwards, each group met becomes a partition, so the last one has number 0. Then every
// partition tries once to take in each later-numbered one. It may if no direct user outside of both leads back into
// them. Users of a shared constant count as users here, which can forbid a merge that no data flow forbids; that is
// reproduced.
#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "partition/plan.h"

namespace edgelift::partition {
namespace {

// Vertices: constants first (as placeholders stand first), then nodes.
class Grouping {
 public:
  Grouping(const Dag& dag, const std::vector<bool>& accepted) : dag_(dag), accepted_(accepted) {
    number_constants();
    link();
  }

  std::vector<int32_t> run() {
    make_groups();
    open_partitions();
    merge();
    std::vector<int32_t> out(dag_.size(), kPortable);
    for (size_t i = 0; i < dag_.size(); ++i) out[i] = partition_[constants_ + i];
    return out;
  }

 private:
  uint32_t vertex(const ir::Value* value) const {
    if (value->producer != nullptr) return static_cast<uint32_t>(constants_ + dag_.index_of(value->producer));
    const auto at = constant_number_.find(value);
    return at == constant_number_.end() ? kNone : at->second;
  }

  void number_constants() {
    for (const ir::Node* node : dag_.nodes) {
      for (const ir::Arg& arg : node->args) {
        ir::for_each_value(arg, [&](const ir::Value* value) {
          if (value->is_constant()) constant_number_.try_emplace(value, static_cast<uint32_t>(constant_number_.size()));
        });
      }
    }
    constants_ = constant_number_.size();
  }

  void link() {
    const size_t count = constants_ + dag_.size();
    succ_.resize(count);
    pred_.resize(count);
    for (size_t i = 0; i < dag_.size(); ++i) {
      const auto to = static_cast<uint32_t>(constants_ + i);
      for (const ir::Arg& arg : dag_.nodes[i]->args) {
        ir::for_each_value(arg, [&](const ir::Value* value) {
          const uint32_t from = vertex(value);
          if (from == kNone ||
              (!pred_[to].empty() && std::find(pred_[to].begin(), pred_[to].end(), from) != pred_[to].end()))
            return;
          pred_[to].push_back(from);
          succ_[from].push_back(to);
        });
      }
    }
  }

  // Operands and users that the match of node i takes with it.
  std::vector<uint32_t> candidates(size_t i) const {
    const ir::Node& node = *dag_.nodes[i];
    const auto self = static_cast<uint32_t>(constants_ + i);
    std::vector<uint32_t> out{self};
    const auto take = [&](const ir::Value* value) {
      if (value->is_constant()) out.push_back(constant_number_.at(value));
    };
    const std::string& base = node.op->base;
    if (node.op->ns != "aten") return out;
    if (base == "linear" || base == "convolution" || base == "addmm" || base == "mm") {
      for (const ir::Arg& arg : node.args) ir::for_each_value(arg, take);
      if (succ_[self].size() == 1 && !dag_.is_output[i]) {
        const ir::Node& user = *dag_.nodes[succ_[self][0] - constants_];
        if (user.is("relu") || user.is("hardtanh")) out.push_back(succ_[self][0]);
      }
    } else if (base == "_native_batch_norm_legit_no_training" || base == "prelu") {
      for (const ir::Arg& arg : node.args) ir::for_each_value(arg, take);
    }
    return out;
  }

  uint32_t find(uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }

  void make_groups() {
    const size_t count = constants_ + dag_.size();
    parent_.assign(count, kNone);
    for (size_t i = 0; i < dag_.size(); ++i) {
      if (!accepted_[i]) continue;
      std::vector<uint32_t> list = candidates(i);
      std::erase_if(list, [&](uint32_t v) { return v < constants_ && parent_[v] != kNone; });
      for (const uint32_t v : list)
        if (parent_[v] == kNone) parent_[v] = v;
      for (const uint32_t v : list) parent_[find(list[0])] = find(v);
    }
  }

  void open_partitions() {
    const size_t count = constants_ + dag_.size();
    partition_.assign(count, kPortable);
    std::vector<std::vector<uint32_t>> groups(count);
    for (uint32_t v = 0; v < count; ++v)
      if (parent_[v] != kNone) groups[find(v)].push_back(v);
    for (size_t v = count; v-- > 0;) {
      if (parent_[v] == kNone || partition_[v] != kPortable) continue;
      std::vector<uint32_t> group = std::move(groups[find(static_cast<uint32_t>(v))]);
      for (const uint32_t member : group) partition_[member] = static_cast<int32_t>(members_.size());
      members_.push_back(std::move(group));
    }
  }

  // The grown set C of one partition: its members, what leads to them, and where its users start.
  struct Grown {
    int32_t id = 0;
    std::vector<int32_t> leads;   // leads[v] == id: a member is downstream of v
    uint32_t first_user = kNone;  // no outside user of a member has a lower number
    std::vector<uint32_t> bad;    // outside users that lead back; only while the set is its first group
  };

  bool inside(uint32_t v, int32_t a, int32_t b) const { return partition_[v] == a || partition_[v] == b; }

  void mark_leads(Grown& c, const std::vector<uint32_t>& from) {
    stack_.assign(from.begin(), from.end());
    while (!stack_.empty()) {
      const uint32_t v = stack_.back();
      stack_.pop_back();
      for (const uint32_t p : pred_[v]) {
        if (c.leads[p] == c.id) continue;
        c.leads[p] = c.id;
        stack_.push_back(p);
      }
    }
  }

  uint32_t first_outside_user(const std::vector<uint32_t>& group, int32_t a, int32_t b) const {
    uint32_t first = kNone;
    for (const uint32_t v : group)
      for (const uint32_t u : succ_[v])
        if (!inside(u, a, b)) first = std::min(first, u);
    return first;
  }

  // Whether something upstream of the group, outside of both, uses a member of either.
  bool used_upstream(const std::vector<uint32_t>& group, int32_t a, int32_t b, uint32_t lowest) {
    const uint32_t last = *std::max_element(group.begin(), group.end());
    if (last < lowest) return false;
    ++visit_;
    visited_.resize(succ_.size(), 0);
    stack_.assign(group.begin(), group.end());
    while (!stack_.empty()) {
      const uint32_t v = stack_.back();
      stack_.pop_back();
      for (const uint32_t p : pred_[v]) {
        if (p < lowest || visited_[p] == visit_) continue;
        visited_[p] = visit_;
        if (!inside(p, a, b)) {
          for (const uint32_t q : pred_[p])
            if (inside(q, a, b)) return true;
        }
        stack_.push_back(p);
      }
    }
    return false;
  }

  bool may_take(const Grown& c, int32_t other) {
    const std::vector<uint32_t>& group = members_[static_cast<size_t>(other)];
    for (const uint32_t u : c.bad)
      if (partition_[u] != other) return false;
    for (const uint32_t v : group)
      for (const uint32_t u : succ_[v])
        if (!inside(u, c.id, other) && c.leads[u] == c.id) return false;
    const uint32_t lowest = std::min(c.first_user, first_outside_user(group, c.id, other));
    return !used_upstream(group, c.id, other, lowest);
  }

  void merge() {
    Grown c;
    c.leads.assign(succ_.size(), kPortable);
    const auto count = static_cast<int32_t>(members_.size());
    std::vector<bool> alive(members_.size(), true);
    for (int32_t a = 0; a < count; ++a) {
      auto& own = members_[static_cast<size_t>(a)];
      if (!alive[static_cast<size_t>(a)]) continue;
      c.id = a;
      c.bad.clear();
      mark_leads(c, own);
      c.first_user = first_outside_user(own, a, a);
      for (const uint32_t v : own)
        for (const uint32_t u : succ_[v])
          if (!inside(u, a, a) && c.leads[u] == a) c.bad.push_back(u);
      for (int32_t b = a + 1; b < count; ++b) {
        if (!alive[static_cast<size_t>(b)] || !may_take(c, b)) continue;
        auto& taken = members_[static_cast<size_t>(b)];
        c.first_user = std::min(c.first_user, first_outside_user(taken, a, b));
        mark_leads(c, taken);
        for (const uint32_t v : taken) partition_[v] = a;
        own.insert(own.end(), taken.begin(), taken.end());
        taken.clear();
        alive[static_cast<size_t>(b)] = false;
        c.bad.clear();
      }
    }
  }

  static constexpr uint32_t kNone = 0xFFFFFFFFu;
  const Dag& dag_;
  const std::vector<bool>& accepted_;
  size_t constants_ = 0;
  std::unordered_map<const ir::Value*, uint32_t> constant_number_;
  std::vector<std::vector<uint32_t>> succ_, pred_;
  std::vector<uint32_t> parent_;
  std::vector<int32_t> partition_;
  std::vector<std::vector<uint32_t>> members_;
  std::vector<uint32_t> stack_, visited_;
  uint32_t visit_ = 0;
};

}  // namespace

std::vector<int32_t> assign_upstream(const Dag& dag, const std::vector<bool>& accepted) {
  return Grouping(dag, accepted).run();
}

}  // namespace edgelift::partition
