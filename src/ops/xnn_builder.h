// What an operator's lower() writes to: an XNNPACK graph under construction and the map from ir values to its values.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "ops/record.h"
#include "xnnpack/graph.h"

namespace edgelift::ops {

class XnnBuilder {
 public:
  xnn::Graph& graph() { return graph_; }
  const xnn::Graph& graph() const { return graph_; }

  // The id of an ir value as an ordinary operand: what an earlier node defined, an external input, or an unpacked
  // constant (Use::Unpacked, source = the ir::Constant). Dims are always in logical order: an external input with a dim
  // order arrives in its order in memory and is transposed here.
  uint32_t value(const ir::Value* value);
  // Makes a defined value an external output, in order of calls, and returns its id. It is a copy where the id is an
  // external input, a constant, or an output already; a transpose where the type has a dim order.
  uint32_t add_output(const ir::Value* value);
  // The id that stands for a result of the node that is being lowered.
  uint32_t define(const ir::Value* result);
  // Declares that `result` is just another name for an existing id (a view that changes nothing).
  void alias(const ir::Value* result, uint32_t id);
  uint32_t temp(DType dtype, std::vector<SymInt> dims);
  // A constant that XNNPACK packs (conv/fc filter or bias, constant B of a batch matmul).
  uint32_t packed(TensorData data);
  // Any other constant that is made here.
  uint32_t unpacked(TensorData data);
  uint32_t unpacked_scalar(DType dtype, double value);  // rank 0

  // Each appends a node and returns the id of its output: `out`, or a new temp when out is kInvalid.
  xnn::Node& node(xnn::Kind kind, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs);
  uint32_t unary(xnn::Kind kind, uint32_t in, uint32_t out = xnn::kInvalid);
  uint32_t binary(xnn::Kind kind, uint32_t a, uint32_t b, uint32_t out = xnn::kInvalid);
  uint32_t clamp(uint32_t in, float lo, float hi, uint32_t out = xnn::kInvalid);
  uint32_t transpose(uint32_t in, std::vector<int64_t> perm, uint32_t out = xnn::kInvalid);
  // At most one symbolic size, which becomes the inferred one; the caller has checked.
  uint32_t reshape(uint32_t in, std::vector<SymInt> dims, uint32_t out = xnn::kInvalid);
  uint32_t slice(uint32_t in, std::vector<int64_t> offsets, std::vector<int64_t> sizes, uint32_t out = xnn::kInvalid);
  uint32_t pad(uint32_t in, std::vector<int64_t> pre, std::vector<int64_t> post, float value,
               uint32_t out = xnn::kInvalid);
  // Any number >= 1 of inputs; more than five become a chain.
  uint32_t concat(std::vector<uint32_t> inputs, int32_t axis, uint32_t out = xnn::kInvalid);
  uint32_t fully_connected(uint32_t in, uint32_t filter, uint32_t bias, uint32_t out = xnn::kInvalid,
                           uint32_t flags = 0);
  uint32_t batch_matmul(uint32_t a, uint32_t b, uint32_t out = xnn::kInvalid, uint32_t flags = 0);
  uint32_t softmax(uint32_t in, uint32_t out = xnn::kInvalid);
  uint32_t copy(uint32_t in, uint32_t out = xnn::kInvalid);
  // [N,C,H,W] <-> [N,H,W,C]
  uint32_t to_nhwc(uint32_t in) { return transpose(in, {0, 2, 3, 1}); }
  uint32_t from_nhwc(uint32_t in, uint32_t out = xnn::kInvalid) { return transpose(in, {0, 3, 1, 2}, out); }
  // Gives the result the elements of `in` under the result's sizes: a reshape, or just a name where the sizes agree.
  void finish_view(uint32_t in, const ir::Value* result);

  const std::vector<SymInt>& dims(uint32_t id) const { return graph_.values.at(id).dims; }
  xnn::Datatype datatype(uint32_t id) const { return graph_.values.at(id).datatype; }

  // External inputs in order of first mention: the operands that no node of this graph defined, constants left out
  // (mutable ones are inputs). Parallel to graph().inputs.
  const std::vector<const ir::Value*>& external_inputs() const { return inputs_; }
  std::optional<uint32_t> find(const ir::Value* value) const;
  void set_debug_handle(uint32_t handle) { debug_handle_ = handle; }

 private:
  uint32_t output_or_temp(uint32_t out, xnn::Datatype datatype, std::vector<SymInt> dims);
  xnn::Graph graph_;
  std::unordered_map<const ir::Value*, uint32_t> ids_;
  std::unordered_map<std::string, uint32_t> scalars_;  // by dtype and bits
  std::vector<const ir::Value*> inputs_;
  uint32_t debug_handle_ = 0;
};

// True where StaticReshape can make these sizes: at most one of them symbolic.
bool reshapable(std::span<const SymInt> dims);

// The general gates (tensor operands and results of one dtype f32 or f16, non-empty, rank <= 6, no unbacked symbols),
// then the record's own lower. This is the one opinion on whether a node can be delegated.
LowerResult lower_node(const ir::Node& node, XnnBuilder& builder);
// lower_node on a scratch builder: nullopt if the node can be delegated.
LowerResult refusal(const ir::Node& node);
// What ExecuTorch's own partitioner says (recipe upstream): its general gates, its per-operator limits, and refusal().
LowerResult upstream_refusal(const ir::Node& node);

}  // namespace edgelift::ops
