// to_edge: from what torch.export recorded to functional operators without aliasing (stage Edge), and the
// decomposition table that this and the later legalisation share. docs/edge.md lists the operators that remain.
#pragma once

#include "base/result.h"
#include "ir/graph.h"
#include "ir/rewriter.h"

namespace edgelift::edge {

struct EdgeOptions {
  // Decompose exactly as ExecuTorch's own flow does (recipe upstream): core ATen, safe-softmax attention, scalars of
  // Tensor arguments as constants with a cast. Otherwise composites that later passes know are kept whole.
  bool upstream = false;
  // Set by legalize for the entries it calls: the operator has no kernel and no form in the delegate.
  bool legal = false;
};

// In order: drop checks, canonical views, functionalise in-place and view writes into OutputSpec mutations, drop
// dropout(train=false), normalise overloads, numbers given for Tensor arguments, decompose, dim order, dead code.
// Operators that only make sense in training are refused by name, all at once.
Status to_edge(ir::Program& program, const ir::OpTable& ops, const EdgeOptions& options);

// The first half of to_edge: afterwards no operator writes its arguments, and no value aliases another.
Status functionalize(ir::Program& program, const ir::OpTable& ops, const EdgeOptions& options = {});

// Who will run the nodes that legalize leaves.
enum class Target : uint8_t {
  Portable,  // the runtime's kernels alone
  Full,      // kernels, and whatever the delegate can hold
  Upstream,  // kernels, and what ExecuTorch's own partitioner accepts
};

// Decomposes every node that has neither a kernel in the runtime nor (by target) a form in the delegate. What no entry
// of the table can express stays as it is: emission names it.
Result<bool> legalize(ir::Program& program, const ir::OpTable& ops, Target target = Target::Full);

}  // namespace edgelift::edge
