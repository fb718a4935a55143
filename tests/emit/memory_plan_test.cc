#include "emit/memory_plan.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace edgelift::emit {
namespace {

uint64_t aligned(uint64_t bytes) { return (bytes + kBlockAlignment - 1) / kBlockAlignment * kBlockAlignment; }

void expect_sound(const std::vector<Block>& blocks, uint64_t arena) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    ASSERT_EQ(blocks[i].offset % kBlockAlignment, 0u);
    ASSERT_LE(blocks[i].offset + blocks[i].bytes, arena);
    for (size_t k = 0; k < i; ++k) {
      const bool meet = blocks[i].first <= blocks[k].last && blocks[k].first <= blocks[i].last;
      const bool overlap = blocks[i].offset < blocks[k].offset + blocks[k].bytes &&
                           blocks[k].offset < blocks[i].offset + blocks[i].bytes;
      ASSERT_FALSE(meet && overlap) << "blocks " << k << " and " << i;
    }
  }
}

std::vector<Block> random_blocks(std::mt19937& random, size_t count, int64_t instructions, int64_t longest) {
  std::vector<Block> blocks(count);
  for (Block& block : blocks) {
    block.bytes = random() % 7 == 0 ? 0 : random() % 5000;
    block.first = static_cast<int64_t>(random() % static_cast<uint64_t>(instructions));
    block.last = std::min(instructions, block.first + static_cast<int64_t>(random() % static_cast<uint64_t>(longest)));
  }
  return blocks;
}

// What upstream does: by falling size, the lowest offset that is free during the block's span.
uint64_t first_fit_by_size(std::vector<Block> blocks) {
  std::stable_sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.bytes > b.bytes; });
  uint64_t arena = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    uint64_t offset = 0;
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t k = 0; k < i; ++k) {
        const bool meet = blocks[i].first <= blocks[k].last && blocks[k].first <= blocks[i].last;
        if (!meet || offset >= blocks[k].offset + aligned(blocks[k].bytes) ||
            blocks[k].offset >= offset + aligned(blocks[i].bytes))
          continue;
        offset = blocks[k].offset + aligned(blocks[k].bytes);
        moved = true;
      }
    }
    blocks[i].offset = offset;
    arena = std::max(arena, offset + aligned(blocks[i].bytes));
  }
  return arena;
}

TEST(MemoryPlan, BlocksThatLiveTogetherNeverShareBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<Block> blocks = random_blocks(random, 1 + random() % 80, 1 + random() % 60, 1 + random() % 30);
    const uint64_t arena = plan_memory(blocks);
    expect_sound(blocks, arena);
    EXPECT_GE(arena, lower_bound(blocks));
  }
}

TEST(MemoryPlan, IsNotLargerThanSimpleGreedyOnTheWhole) {
  std::mt19937 random(2);
  uint64_t ours = 0, simple = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<Block> blocks = random_blocks(random, 60, 60, 10);
    simple += first_fit_by_size(blocks);
    ours += plan_memory(blocks);
  }
  EXPECT_LE(ours, simple);
}

TEST(MemoryPlan, AChainNeedsTwoBlocks) {
  std::vector<Block> blocks;
  for (int64_t i = 0; i < 100; ++i) blocks.push_back({1000, i, i + 1, 0});
  EXPECT_EQ(plan_memory(blocks), 2 * aligned(1000));
  EXPECT_EQ(lower_bound(blocks), 2 * aligned(1000));
}

TEST(MemoryPlan, SpansThatTouchInOneInstructionMeet) {
  std::vector<Block> blocks = {{64, 0, 3, 0}, {64, 3, 5, 0}, {64, 4, 5, 0}};
  EXPECT_EQ(plan_memory(blocks), 128u);
  EXPECT_NE(blocks[0].offset, blocks[1].offset);
}

TEST(MemoryPlan, LargeDenseAndLongGraphsArePlannedInTime) {
  std::mt19937 random(3);
  std::vector<Block> chain;
  for (int64_t i = 0; i < 100'000; ++i)
    chain.push_back({1 + random() % 5000, i, i + 1 + static_cast<int64_t>(random() % 3), 0});
  uint64_t arena = plan_memory(chain);
  EXPECT_GE(arena, lower_bound(chain));
  EXPECT_LE(arena, 5 * lower_bound(chain));
  // Every block lives nearly all the time: too many pairs for the greedy plan, placed in order of time.
  std::vector<Block> dense;
  for (int64_t i = 0; i < 8000; ++i)
    dense.push_back({16 + random() % 200, i, 8000 + static_cast<int64_t>(random() % 8000), 0});
  arena = plan_memory(dense);
  EXPECT_LE(arena, 2 * lower_bound(dense));
  dense.resize(2000);
  expect_sound(dense, arena);
}

TEST(MemoryPlan, IsDeterministic) {
  std::mt19937 random(4);
  std::vector<Block> a = random_blocks(random, 200, 100, 20);
  std::vector<Block> b = a;
  plan_memory(a);
  plan_memory(b);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].offset, b[i].offset);
}

}  // namespace
}  // namespace edgelift::emit
