#include "emit/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/check.h"

namespace edgelift::emit {
namespace {

// Of blocks that live at the same time, more than any model has; beyond it the placing in time is good enough.
constexpr uint64_t kMaxPairs = 1'000'000, kMaxPairsABlock = 64;
constexpr size_t kTryAllOrders = 20'000;

uint64_t aligned(uint64_t bytes) { return (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment; }

// Spans that contain a point: each span hangs on the O(log n) nodes of a segment tree that cover it, and a point asks
// the nodes on its path to the root.
class SpanTree {
 public:
  explicit SpanTree(size_t points) {
    while (leaves_ < points) leaves_ *= 2;
    nodes_.resize(2 * leaves_);
  }
  void insert(size_t first, size_t last, uint32_t id) {
    for (size_t l = first + leaves_, r = last + leaves_ + 1; l < r; l /= 2, r /= 2) {
      if (l % 2 == 1) nodes_[l++].push_back(id);
      if (r % 2 == 1) nodes_[--r].push_back(id);
    }
  }
  template <class F>
  void at(size_t point, F&& f) const {
    for (size_t n = point + leaves_; n >= 1; n /= 2)
      for (const uint32_t id : nodes_[n]) f(id);
  }

 private:
  size_t leaves_ = 1;
  std::vector<std::vector<uint32_t>> nodes_;
};

// Positions in time made dense, so that only instructions at which a block begins or ends count.
struct Timeline {
  std::vector<int64_t> points;
  explicit Timeline(const std::vector<Block>& blocks) {
    for (const Block& block : blocks) {
      points.push_back(block.first);
      points.push_back(block.last);
    }
    std::sort(points.begin(), points.end());
    points.erase(std::unique(points.begin(), points.end()), points.end());
  }
  size_t of(int64_t point) const {
    return static_cast<size_t>(std::lower_bound(points.begin(), points.end(), point) - points.begin());
  }
};

uint64_t count_pairs(const std::vector<Block>& blocks) {
  // Blocks in order of their begin; those that have not ended when one begins meet it.
  std::vector<int64_t> begins, ends;
  for (const Block& block : blocks) {
    begins.push_back(block.first);
    ends.push_back(block.last);
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  uint64_t pairs = 0;
  size_t ended = 0;
  for (size_t i = 0; i < begins.size(); ++i) {
    while (ended < ends.size() && ends[ended] < begins[i]) ++ended;
    pairs += i - ended;
  }
  return pairs;
}

class Greedy {
 public:
  explicit Greedy(const std::vector<Block>& blocks) : blocks_(blocks), timeline_(blocks) {
    for (const Block& block : blocks) {
      first_.push_back(timeline_.of(block.first));
      last_.push_back(timeline_.of(block.last));
    }
  }

  // Places the blocks in the given order; returns the arena's size and leaves the offsets in `offsets`.
  uint64_t place(const std::vector<uint32_t>& order, std::vector<uint64_t>& offsets) const {
    offsets.assign(blocks_.size(), 0);
    SpanTree spans(timeline_.points.size());
    std::vector<std::vector<uint32_t>> begins(timeline_.points.size());  // placed blocks by begin
    std::vector<uint32_t> busy;
    uint64_t arena = 0;
    for (const uint32_t id : order) {
      const uint64_t size = aligned(blocks_[id].bytes);
      if (size == 0) continue;
      // Those that span our begin, and those that begin later inside our span.
      busy.clear();
      spans.at(first_[id], [&](uint32_t other) { busy.push_back(other); });
      for (size_t t = first_[id] + 1; t <= last_[id]; ++t) busy.insert(busy.end(), begins[t].begin(), begins[t].end());
      std::sort(busy.begin(), busy.end(),
                [&](uint32_t a, uint32_t b) { return offsets[a] != offsets[b] ? offsets[a] < offsets[b] : a < b; });
      uint64_t best = UINT64_MAX, best_gap = UINT64_MAX, end = 0;
      for (const uint32_t other : busy) {
        if (offsets[other] >= end + size && offsets[other] - end < best_gap) {
          best = end;
          best_gap = offsets[other] - end;
        }
        end = std::max(end, offsets[other] + aligned(blocks_[other].bytes));
      }
      offsets[id] = best == UINT64_MAX ? end : best;
      arena = std::max(arena, offsets[id] + size);
      spans.insert(first_[id], last_[id], id);
      begins[first_[id]].push_back(id);
    }
    return arena;
  }

 private:
  const std::vector<Block>& blocks_;
  Timeline timeline_;
  std::vector<size_t> first_, last_;
};

// A best-fit heap with the blocks allocated and freed in order of time.
uint64_t place_in_time(std::vector<Block>& blocks) {
  std::vector<uint32_t> by_first(blocks.size()), by_last(blocks.size());
  std::iota(by_first.begin(), by_first.end(), 0);
  by_last = by_first;
  std::stable_sort(by_first.begin(), by_first.end(),
                   [&](uint32_t a, uint32_t b) { return blocks[a].first < blocks[b].first; });
  std::stable_sort(by_last.begin(), by_last.end(),
                   [&](uint32_t a, uint32_t b) { return blocks[a].last < blocks[b].last; });
  std::map<uint64_t, uint64_t> gaps;                // offset -> size
  std::set<std::pair<uint64_t, uint64_t>> by_size;  // size, offset
  uint64_t arena = 0;
  const auto remove = [&](std::map<uint64_t, uint64_t>::iterator gap) {
    by_size.erase({gap->second, gap->first});
    return gaps.erase(gap);
  };
  const auto add = [&](uint64_t offset, uint64_t size) {
    auto next = gaps.lower_bound(offset);
    if (next != gaps.end() && offset + size == next->first) {
      size += next->second;
      next = remove(next);
    }
    if (next != gaps.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == offset) {
        offset = before->first;
        size += before->second;
        remove(before);
      }
    }
    gaps[offset] = size;
    by_size.insert({size, offset});
  };
  size_t freed = 0;
  for (const uint32_t id : by_first) {
    Block& block = blocks[id];
    const uint64_t size = aligned(block.bytes);
    if (size == 0) continue;
    for (; freed < by_last.size() && blocks[by_last[freed]].last < block.first; ++freed) {
      const Block& old = blocks[by_last[freed]];
      if (old.bytes != 0) add(old.offset, aligned(old.bytes));
    }
    const auto fit = by_size.lower_bound({size, 0});
    if (fit != by_size.end()) {
      const auto [gap_size, gap_offset] = *fit;
      remove(gaps.find(gap_offset));
      block.offset = gap_offset;
      if (gap_size > size) add(gap_offset + size, gap_size - size);
      continue;
    }
    // Grow the arena, using a gap at its very end.
    uint64_t offset = arena;
    if (!gaps.empty()) {
      const auto last = std::prev(gaps.end());
      if (last->first + last->second == arena) {
        offset = last->first;
        remove(last);
      }
    }
    block.offset = offset;
    arena = offset + size;
  }
  return arena;
}

}  // namespace

uint64_t lower_bound(const std::vector<Block>& blocks) {
  std::map<int64_t, int64_t> change;
  for (const Block& block : blocks) {
    const auto size = static_cast<int64_t>(aligned(block.bytes));
    change[block.first] += size;
    change[block.last + 1] -= size;
  }
  int64_t now = 0, most = 0;
  for (const auto& [point, delta] : change) {
    now += delta;
    most = std::max(most, now);
  }
  return static_cast<uint64_t>(most);
}

uint64_t plan_memory(std::vector<Block>& blocks) {
  for (const Block& block : blocks) EL_CHECK(block.first <= block.last, "span of a memory block");
  if (blocks.empty()) return 0;
  if (count_pairs(blocks) > kMaxPairs + kMaxPairsABlock * blocks.size()) return place_in_time(blocks);
  const Greedy greedy(blocks);
  std::vector<uint32_t> order(blocks.size());
  std::vector<uint64_t> offsets, best;
  uint64_t arena = UINT64_MAX;
  const auto attempt = [&](auto&& less) {
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return less(blocks[a], blocks[b]); });
    const uint64_t size = greedy.place(order, offsets);
    if (size >= arena) return;
    arena = size;
    best = offsets;
  };
  const auto span = [](const Block& b) { return b.last - b.first; };
  attempt([](const Block& a, const Block& b) { return a.bytes > b.bytes; });
  if (blocks.size() <= kTryAllOrders && arena > lower_bound(blocks)) {
    attempt([&](const Block& a, const Block& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : span(a) > span(b); });
    attempt([&](const Block& a, const Block& b) { return span(a) != span(b) ? span(a) > span(b) : a.bytes > b.bytes; });
    attempt([&](const Block& a, const Block& b) { return a.first < b.first; });
  }
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i].offset = best[i];
  return arena;
}

}  // namespace edgelift::emit
