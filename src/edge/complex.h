// Complex numbers as pairs of reals.
#pragma once

#include "base/result.h"
#include "ir/graph.h"
#include "ir/rewriter.h"

namespace edgelift::edge {

// Rewrites every complex value inside the program; true if there was one.
Result<bool> lower_complex(ir::Program& program, const ir::OpTable& ops);

}  // namespace edgelift::edge
