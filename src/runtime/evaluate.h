// Constant folding on the real kernels: the hook that passes::PassContext takes.
#pragma once

#include "passes/pass.h"

namespace edgelift::runtime {

// Emits the program (one method, no inputs, tensors as outputs) as a portable program in memory, runs it on the runtime
// and returns the outputs. What the runtime has no kernel for is an error, as is every failure of a kernel.
Result<std::vector<TensorData>> evaluate(const ir::Program& program);

}  // namespace edgelift::runtime
