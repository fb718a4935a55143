// What must hold of every program between passes: single definition before use, users lists exact, argument kinds as
// the schema says, result types as the shape rule says, output specs in range, and the rules of the program's stage
// (Edge and later: no operator that writes its arguments; no aliasing-only overloads outside the edge dialect).
#pragma once

#include "ir/graph.h"
#include "ir/rewriter.h"

namespace edgelift::ir {

Status verify(const Program& program, const OpTable& ops);

}  // namespace edgelift::ir
