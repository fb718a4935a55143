// Chooses which nodes go into delegates, and builds them.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "ops/record.h"
#include "xnnpack/graph.h"

namespace edgelift::partition {

enum class Policy : uint8_t {
  None,      // everything stays portable
  Upstream,  // what ExecuTorch's own partitioner accepts
  Full,      // whatever the delegate can hold
};

struct Options {
  Policy policy = Policy::Full;
  xnn::OptimizeOptions optimize;
  size_t max_delegate_weights = 0;  // bytes of packed constants; 0 = no limit
};

// What became of one operator of the program before partitioning.
struct Verdict {
  std::string op;      // edge name: aten::mul.Tensor
  std::string value;   // name of its first result
  ir::Origin origin;   // its strings live as long as the program's archive
  int delegate = -1;   // index, or -1: portable
  std::string reason;  // portable: the refusal's sentence
};

struct Lowered {
  ir::Program program;             // stage Partitioned: delegate nodes and portable nodes
  std::vector<xnn::Graph> graphs;  // parallel to program.delegates, finalized
  std::vector<Verdict> verdicts;   // in execution order
};

// Marks Node::partition on every node of the graph (-1: portable), maximal and without cycles, numbered in execution
// order; returns the number of partitions. `refused` gets the reason for each node that stays outside.
Result<int> assign(ir::Graph& graph, const Options& options,
                   std::unordered_map<const ir::Node*, ops::Refusal>& refused);

// assign, then moves every partition into a delegate and builds and optimizes its XNNPACK graph.
Result<Lowered> partition(ir::Program program, const ir::OpTable& ops, const Options& options);

}  // namespace edgelift::partition
