// to_edge: from what torch.export recorded to functional operators without aliasing (stage Edge), and the
// decomposition table that this and the later legalisation share.
#pragma once

#include <functional>

#include "base/result.h"
#include "ir/graph.h"
#include "ir/rewriter.h"

namespace edgelift::edge {

struct EdgeOptions {
  // Decompose exactly as ExecuTorch's own flow does (recipe upstream): core ATen, safe-softmax attention, scalars of
  // Tensor arguments as constants with a cast. Otherwise composites that later passes know are kept whole.
  bool upstream = false;
};

// In order: inline no_grad wrappers, drop checks and dropout(train=false), functionalise in-place and view writes into
// OutputSpec mutations, normalise overloads, numbers given for Tensor arguments, decompose, dim order, dead code.
Status to_edge(ir::Program& program, const ir::OpTable& ops, const EdgeOptions& options);

// Rewrites one node by the table; false if the table has no entry for it or the entry declines.
Result<bool> decompose_node(ir::Node& node, ir::Rewriter& rewriter, const EdgeOptions& options);

// Decomposes every node for which `keep` is false until nothing changes.
Result<bool> decompose(ir::Program& program, const ir::OpTable& ops, const EdgeOptions& options,
                       const std::function<bool(const ir::Node&)>& keep);

}  // namespace edgelift::edge
