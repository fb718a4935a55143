// A program that is one call of one XNNPACK graph: what tune, benchmarks and tests of the delegate run.
#pragma once

#include "base/result.h"
#include "pte/program.h"
#include "xnnpack/graph.h"

namespace edgelift::runtime {

// The graph must be finalized; its inputs and outputs become the program's, with planned memory, float32 or the dtype
// of the value.
Result<pte::Program> program_of(const xnn::Graph& graph);

}  // namespace edgelift::runtime
