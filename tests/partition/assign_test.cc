// Properties of the two ways of forming partitions, on random programs, against plain and slow definitions of them.
#include <algorithm>
#include <set>

#include "random_dag.h"

namespace edgelift::testing {
namespace {

using partition::Dag;
using partition::kPortable;

// Whether a path leads from a node of `from` to a node of `to` through a node that is in neither.
bool path_outside(const Dag& dag, const std::set<uint32_t>& both) {
  // reached[i]: there is a path from a member to i that has left the set.
  std::vector<bool> reached(dag.size(), false);
  for (uint32_t i = 0; i < dag.size(); ++i) {
    for (const uint32_t p : dag.preds_of(i)) {
      if (reached[p]) reached[i] = true;
      if (both.contains(p) && !both.contains(i)) reached[i] = true;
    }
    if (reached[i] && both.contains(i)) return true;
  }
  return false;
}

std::vector<std::set<uint32_t>> members_of(const std::vector<int32_t>& partition) {
  std::vector<std::set<uint32_t>> members;
  for (uint32_t i = 0; i < partition.size(); ++i) {
    if (partition[i] == kPortable) continue;
    if (static_cast<size_t>(partition[i]) >= members.size()) members.resize(static_cast<size_t>(partition[i]) + 1);
    members[static_cast<size_t>(partition[i])].insert(i);
  }
  return members;
}

// Every node after its operands, and each partition in one piece, numbered in order.
void expect_schedule(const Dag& dag, const std::vector<int32_t>& partition, const std::vector<uint32_t>& order) {
  ASSERT_EQ(order.size(), dag.size());
  std::vector<size_t> place(dag.size(), dag.size());
  for (size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
  int32_t next = 0;
  for (size_t k = 0; k < order.size(); ++k) {
    for (const uint32_t p : dag.preds_of(order[k])) EXPECT_LT(place[p], k);
    const int32_t here = partition[order[k]];
    const int32_t before = k == 0 ? kPortable : partition[order[k - 1]];
    if (here != kPortable && here != before) {
      EXPECT_EQ(here, next++);
    }
  }
}

TEST(Levels, AcyclicMaximalAndFewest) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomDag random = random_dag(seed, 3 + static_cast<int>(seed % 40), 40 + static_cast<int>(seed % 5) * 10,
                                  2 + static_cast<int>(seed % 12));
    const Dag dag = partition::make_dag(random.graph());
    std::vector<int32_t> partition = partition::assign_levels(dag, random.accepted);
    for (size_t i = 0; i < dag.size(); ++i) EXPECT_EQ(partition[i] != kPortable, random.accepted[i]);

    const auto members = members_of(partition);
    for (const auto& set : members) EXPECT_FALSE(path_outside(dag, set));
    for (size_t a = 0; a < members.size(); ++a) {
      for (size_t b = a + 1; b < members.size(); ++b) {
        std::set<uint32_t> both = members[a];
        both.insert(members[b].begin(), members[b].end());
        EXPECT_TRUE(path_outside(dag, both)) << "partitions " << a << " and " << b << " could be one";
      }
    }
    // No way of partitioning has fewer than the most accepted stretches on one path.
    std::vector<int> stretches(dag.size(), 0);
    int fewest = 0;
    for (uint32_t i = 0; i < dag.size(); ++i) {
      int most = 0;
      for (const uint32_t p : dag.preds_of(i))
        most = std::max(most, stretches[p] + (random.accepted[i] && !random.accepted[p] ? 1 : 0));
      if (random.accepted[i]) most = std::max(most, 1);
      stretches[i] = most;
      fewest = std::max(fewest, most);
    }
    EXPECT_EQ(static_cast<int>(members.size()), fewest);

    const std::vector<uint32_t> order = partition::schedule(dag, partition);
    expect_schedule(dag, partition, order);
    EXPECT_EQ(static_cast<int>(members_of(partition).size()), fewest) << "the schedule had to split a partition";
  }
}

// The reference flow's rule, written down without any thought for speed.
std::vector<int32_t> upstream_slowly(RandomDag& random) {
  ir::Graph& graph = random.graph();
  std::vector<const ir::Value*> constants(graph.constants().begin(), graph.constants().end());
  std::vector<const ir::Node*> nodes;
  for (const ir::Node* n = graph.first(); n != nullptr; n = n->next) nodes.push_back(n);
  const size_t c = constants.size(), count = c + nodes.size();
  std::vector<std::set<size_t>> users(count), below(count);
  const auto vertex = [&](const ir::Value* v) -> size_t {
    if (v->producer != nullptr)
      return c + static_cast<size_t>(std::find(nodes.begin(), nodes.end(), v->producer) - nodes.begin());
    if (v->is_constant())
      return static_cast<size_t>(std::find(constants.begin(), constants.end(), v) - constants.begin());
    return count;
  };
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const ir::Value* v : nodes[i]->operands())
      if (const size_t from = vertex(v); from < count) users[from].insert(c + i);
  for (size_t v = count; v-- > 0;)
    for (const size_t u : users[v]) {
      below[v].insert(u);
      below[v].insert(below[u].begin(), below[u].end());
    }
  std::vector<int> group(count, -1);
  int groups = 0;
  const auto unite = [&](size_t a, size_t b) {
    const int from = group[b], to = group[a];
    for (int& g : group)
      if (g == from) g = to;
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!random.accepted[i]) continue;
    std::vector<size_t> list{c + i};
    if (nodes[i]->is("linear")) {
      const size_t w = vertex(std::get<ir::Value*>(nodes[i]->args[1]));
      if (group[w] < 0) list.push_back(w);
      if (users[c + i].size() == 1 && !graph.is_output(nodes[i]->result()) &&
          nodes[*users[c + i].begin() - c]->is("relu")) {
        list.push_back(*users[c + i].begin());
      }
    }
    for (const size_t v : list)
      if (group[v] < 0) group[v] = groups++;
    for (const size_t v : list) unite(list[0], v);
  }
  std::vector<std::set<size_t>> parts;
  std::vector<bool> opened(static_cast<size_t>(groups), false);
  for (size_t v = count; v-- > 0;) {
    if (group[v] < 0 || opened[static_cast<size_t>(group[v])]) continue;
    opened[static_cast<size_t>(group[v])] = true;
    std::set<size_t> part;
    for (size_t w = 0; w < count; ++w)
      if (group[w] == group[v]) part.insert(w);
    parts.push_back(std::move(part));
  }
  std::vector<bool> gone(parts.size(), false);
  for (size_t a = 0; a < parts.size(); ++a) {
    if (gone[a]) continue;
    for (size_t b = a + 1; b < parts.size(); ++b) {
      if (gone[b]) continue;
      std::set<size_t> both = parts[a];
      both.insert(parts[b].begin(), parts[b].end());
      bool refused = false;
      for (const size_t v : both)
        for (const size_t u : users[v])
          if (!both.contains(u))
            for (const size_t d : below[u]) refused = refused || both.contains(d);
      if (refused) continue;
      parts[a] = std::move(both);
      gone[b] = true;
    }
  }
  std::vector<int32_t> out(nodes.size(), kPortable);
  for (size_t p = 0; p < parts.size(); ++p)
    if (!gone[p])
      for (const size_t v : parts[p])
        if (v >= c) out[v - c] = static_cast<int32_t>(p);
  return out;
}

TEST(Upstream, GroupsAsTheReferenceFlow) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    RandomDag random = random_dag(seed, 3 + static_cast<int>(seed % 40), 30 + static_cast<int>(seed % 7) * 10,
                                  2 + static_cast<int>(seed % 12), seed % 3 == 0 ? 2 : static_cast<int>(seed % 8));
    const Dag dag = partition::make_dag(random.graph());
    std::vector<int32_t> partition = partition::assign_upstream(dag, random.accepted);
    EXPECT_EQ(partition, upstream_slowly(random));
    const std::vector<uint32_t> order = partition::schedule(dag, partition);
    expect_schedule(dag, partition, order);
  }
}

TEST(Limits, NoPieceIsHeavierAndNoneMakesACycle) {
  for (uint32_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    RandomDag random = random_dag(seed, 60, 80, 6);
    const Dag dag = partition::make_dag(random.graph());
    std::vector<int32_t> partition = partition::assign_levels(dag, random.accepted);
    std::vector<partition::Facts> facts(dag.size());
    for (size_t i = 0; i < dag.size(); ++i) facts[i].packed_bytes = static_cast<int64_t>(i * 7 % 30);
    partition::limit_partitions(dag, facts, 40, partition);
    const auto before = members_of(partition).size();
    const std::vector<uint32_t> order = partition::schedule(dag, partition);
    expect_schedule(dag, partition, order);
    const auto members = members_of(partition);
    EXPECT_EQ(members.size(), before) << "a split made a cycle";
    for (const auto& set : members) {
      int64_t weight = 0;
      for (const uint32_t i : set) weight += facts[i].packed_bytes;
      EXPECT_TRUE(weight <= 40 || set.size() == 1);
    }
  }
}

TEST(Limits, ExternalValuesStayBelowTheRuntimesLimit) {
  RandomDag random = random_dag(3, 9000, 100, 8000);
  const Dag dag = partition::make_dag(random.graph());
  std::vector<int32_t> partition = partition::assign_levels(dag, random.accepted);
  std::vector<partition::Facts> facts(dag.size());
  for (size_t i = 0; i < facts.size(); ++i) {
    facts[i].constant_operands = {i};  // each its own
    facts[i].externs = 4;
  }
  partition::limit_partitions(dag, facts, 0, partition);
  const auto members = members_of(partition);
  EXPECT_GT(members.size(), 1u);
  for (const auto& set : members) {
    std::set<uint32_t> in;
    size_t out = 0;
    for (const uint32_t i : set) {
      for (const uint32_t p : dag.preds_of(i))
        if (!set.contains(p)) in.insert(p);
      const auto users = dag.succs_of(i);
      if (std::any_of(users.begin(), users.end(), [&](uint32_t u) { return !set.contains(u); })) ++out;
    }
    EXPECT_LE(in.size() + out + set.size(), 4096u);
  }
  expect_schedule(dag, partition, partition::schedule(dag, partition));
}

// Many nodes, but few numbers and weights that the delegate takes into itself: nothing to split.
TEST(Limits, EqualConstantsCountOnce) {
  RandomDag random = random_dag(5, 9000, 100, 1, 3000);
  const Dag dag = partition::make_dag(random.graph());
  std::vector<int32_t> partition(dag.size(), 0);
  std::vector<partition::Facts> facts(dag.size());
  for (size_t i = 0; i < facts.size(); ++i) {
    facts[i].constant_operands = {i % 7};
    facts[i].externs = 4;
  }
  partition::limit_partitions(dag, facts, 0, partition);
  EXPECT_EQ(members_of(partition).size(), 1u);
}

// A step that looks at all pairs of these nodes would not come back.
TEST(Levels, SchedulesAHundredThousandNodes) {
  RandomDag random = random_dag(1, 100000, 70, 50);
  const Dag dag = partition::make_dag(random.graph());
  std::vector<int32_t> partition = partition::assign_levels(dag, random.accepted);
  const std::vector<uint32_t> order = partition::schedule(dag, partition);
  EXPECT_EQ(order.size(), 100000u);
}

}  // namespace
}  // namespace edgelift::testing
