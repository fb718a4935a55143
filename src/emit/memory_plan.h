// Offsets for blocks of memory that are needed during known spans of the instruction list. Knows nothing of programs.
#pragma once

#include <cstdint>
#include <vector>

namespace edgelift::emit {

struct Block {
  uint64_t bytes = 0;
  int64_t first = 0, last = 0;  // instructions, both included; blocks whose spans meet never share bytes
  uint64_t offset = 0;          // set by plan_memory
};

inline constexpr uint64_t kBlockAlignment = 16;

// Sets the offsets, greedily by falling size (and by other orders, of which the best is kept), each block in the
// tightest gap that fits. Returns the bytes of the arena. Time grows with the number of pairs of blocks whose spans
// meet; where those are too many the blocks are placed in order of time instead, in n log n.
uint64_t plan_memory(std::vector<Block>& blocks);

// The largest sum of the (aligned) blocks needed at one instruction: no plan can be smaller.
uint64_t lower_bound(const std::vector<Block>& blocks);

}  // namespace edgelift::emit
