// Emits one method. Internal to src/emit.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "emit/emit.h"
#include "emit/values.h"

namespace edgelift::emit {

// Kernels that cannot be called, collected over all methods before anything is refused.
struct MissingKernel {
  std::string op;  // edge name
  std::string why;
  std::string place;  // of the first
  size_t count = 0;
};
using MissingKernels = std::map<std::string, MissingKernel>;  // by op and reason

struct DelegateBlobs {
  std::vector<int32_t> blob;  // of each delegate of the program: index into Program::blobs, or -1 until it is called
  std::unordered_map<std::string, size_t> named;  // key -> index into Program::named
};

// `nodes`: of each instruction, see Emitted.
Result<pte::Plan> emit_method(const std::vector<xnn::Graph>& graphs, const ir::Graph& graph, const Options& options,
                              FileData& file, DelegateBlobs& blobs, MissingKernels& missing, MemoryPlan& memory,
                              std::vector<const ir::Node*>& nodes);

}  // namespace edgelift::emit
