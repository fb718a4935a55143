#include "runtime/graph_program.h"

#include <fmt/format.h>

namespace edgelift::runtime {

namespace {

Result<pte::Tensor> tensor_of(const xnn::Value& value) {
  pte::Tensor tensor;
  switch (value.datatype) {
    case xnn::Datatype::F32:
      tensor.dtype = DType::F32;
      break;
    case xnn::Datatype::F16:
      tensor.dtype = DType::F16;
      break;
    case xnn::Datatype::BF16:
      tensor.dtype = DType::BF16;
      break;
    case xnn::Datatype::Int32:
      tensor.dtype = DType::I32;
      break;
    default:
      return internal_error(fmt::format("an external value of type {} in a graph that is to be run alone",
                                        xnn::datatype_name(value.datatype)));
  }
  for (const SymInt& dim : value.dims) {
    const int64_t bound = dim.upper();
    if (bound == kUnbounded) return internal_error("an unbounded dim in a graph that is to be run alone");
    tensor.dynamic = tensor.dynamic || !dim.is_const();
    tensor.sizes.push_back(static_cast<int32_t>(bound));
    tensor.dim_order.push_back(static_cast<uint8_t>(tensor.dim_order.size()));
  }
  return tensor;
}

uint64_t aligned_bytes(const pte::Tensor& tensor) {
  uint64_t bytes = byte_size(tensor.dtype);
  for (const int32_t size : tensor.sizes) bytes *= static_cast<uint64_t>(size);
  return (bytes + 63) / 64 * 64;
}

}  // namespace

Result<pte::Program> program_of(const xnn::Graph& graph) {
  EL_TRY(auto blob, xnn::serialize(graph));
  pte::Program program;
  program.blobs.push_back({.id = "XnnpackBackend", .bytes = std::move(blob.bytes)});
  for (auto& named : blob.named) program.named.push_back({named.key, named.data});
  pte::Plan plan;
  plan.delegates.push_back({0});
  pte::DelegateCall call;
  uint64_t end = 0;
  const auto add = [&](uint32_t id, bool constant) -> Status {
    EL_TRY(auto tensor, tensor_of(graph.values[id]));
    if (constant) {
      tensor.constant = static_cast<int32_t>(program.constants.size());
      program.constants.push_back(graph.values[id].data);
    } else {
      tensor.memory_id = 1;
      tensor.memory_offset = end;
      end += aligned_bytes(tensor);
    }
    call.args.push_back(static_cast<int32_t>(plan.values.size()));
    plan.values.emplace_back(std::move(tensor));
    return Ok{};
  };
  for (const uint32_t id : graph.inputs) {
    EL_TRY_OK(add(id, false));
    plan.inputs.push_back(call.args.back());
  }
  for (const uint32_t id : graph.constant_inputs) EL_TRY_OK(add(id, true));
  for (const uint32_t id : graph.outputs) {
    EL_TRY_OK(add(id, false));
    plan.outputs.push_back(call.args.back());
  }
  plan.instructions.emplace_back(std::move(call));
  plan.frames.resize(1);
  plan.buffer_sizes = {0, end + 64};
  program.plans.push_back(std::move(plan));
  return program;
}

}  // namespace edgelift::runtime
