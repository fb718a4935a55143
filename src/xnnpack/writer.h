// Appends nodes to a list, with outputs whose dims follow from infer_dims: what rewrites of the graph build with.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "xnnpack/graph.h"

namespace edgelift::xnn {

// XNNPACK joins at most five values. Joins as few of the inputs as bring their number down to five, for every join
// copies its inputs once more; each level of a long list is one pass, so that the copies grow with the logarithm.
std::vector<uint32_t> at_most_five(std::vector<uint32_t> inputs,
                                   const std::function<uint32_t(std::vector<uint32_t>)>& join);

class Writer {
 public:
  // New values go to graph, nodes to `nodes`, which the caller splices into graph.nodes.
  Writer(Graph& graph, std::vector<Node>& nodes, uint32_t debug_handle)
      : graph_(graph), nodes_(nodes), debug_handle_(debug_handle) {}

  // The output is `out`, or a new temp when out is kInvalid. A node whose dims cannot be inferred is a Bug.
  uint32_t add(Node node, uint32_t out = kInvalid);
  uint32_t unary(Kind kind, uint32_t in, uint32_t out = kInvalid);
  uint32_t binary(Kind kind, uint32_t a, uint32_t b, uint32_t out = kInvalid);
  uint32_t reshape(uint32_t in, std::vector<int64_t> shape, uint32_t out = kInvalid);
  uint32_t transpose(uint32_t in, std::vector<int64_t> perm, uint32_t out = kInvalid);
  uint32_t slice(uint32_t in, std::vector<int64_t> offsets, std::vector<int64_t> sizes, uint32_t out = kInvalid);
  uint32_t pad(uint32_t in, std::vector<int64_t> pre, std::vector<int64_t> post, uint32_t out = kInvalid);
  // One to any number of inputs; more than five become a tree (at_most_five).
  uint32_t concat(std::vector<uint32_t> inputs, int32_t axis, uint32_t out = kInvalid);
  uint32_t fully_connected(uint32_t in, uint32_t filter, uint32_t bias, uint32_t out = kInvalid);
  uint32_t batch_matmul(uint32_t a, uint32_t b, uint32_t out = kInvalid);
  uint32_t packed(TensorData data);
  uint32_t unpacked(TensorData data);

  Graph& graph() { return graph_; }
  std::vector<int64_t> dims(uint32_t id) const;  // static dims only
  // Clamp of the node that produced the last added output; kinds with fuses_min_max only.
  void clamp_last(std::pair<float, float> range) { nodes_.back().min_max = range; }

 private:
  Graph& graph_;
  std::vector<Node>& nodes_;
  uint32_t debug_handle_;
};

}  // namespace edgelift::xnn
