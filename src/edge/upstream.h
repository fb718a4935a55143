// The steps of ExecuTorch's own flow that follow decomposition (recipe upstream only).
#pragma once

#include "base/result.h"
#include "ir/graph.h"
#include "ir/rewriter.h"

namespace edgelift::edge {

// Operators that ExecuTorch's partitioner keeps whole where it accepts them.
bool upstream_preserves(const ir::Node& node);

// In order: no-op slices bypassed, empty inputs of cat dropped, casts that change nothing bypassed, adjacent dequantize
// and quantize of equal parameters joined, operands of mixed-type arithmetic cast to the promoted type.
Status upstream_cleanup(ir::Program& program, const ir::OpTable& ops);

}  // namespace edgelift::edge
