// From a partitioned program to a program file: values, memory plan, instructions.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "partition/partition.h"
#include "pte/program.h"

namespace edgelift::emit {

struct Options {
  bool plan_inputs = true;  // inputs get planned memory (a copy on set_input), else the caller's pointer is used
  bool plan_outputs = true;
  bool allow_missing_kernels = false;
  bool in_place = true;  // element-wise kernels may write over an operand that nobody reads any more
  bool frames = false;   // write the source line of each instruction into the file, for profiles
};

struct MemoryPlan {
  uint64_t arena_bytes = 0;        // planned buffer 1, with the tail that XNNPACK may read past a tensor
  uint64_t lower_bound_bytes = 0;  // largest sum of live tensors at any instruction
};

struct Emitted {
  pte::Program program;
  std::vector<MemoryPlan> plans;  // per method
  // Per method and instruction, the node that it was made for; null: for the method itself (sizes, outputs). Lives as
  // long as the program that was emitted.
  std::vector<std::vector<const ir::Node*>> nodes;
};

// Errors: kernels that the runtime does not register, all at once, each with count and source line; tensors without an
// upper bound; arguments that no kernel argument can express.
Result<Emitted> emit(const partition::Lowered& lowered, const Options& options);
// The same for a program and the graphs of its delegates (none, where nothing is delegated).
Result<Emitted> emit(const ir::Program& program, const std::vector<xnn::Graph>& graphs, const Options& options);

}  // namespace edgelift::emit
