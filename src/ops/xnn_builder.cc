#include "ops/xnn_builder.h"

#include <algorithm>

#include "base/check.h"
#include "xnnpack/writer.h"

namespace edgelift::ops {
namespace {

std::vector<SymInt> permuted(const std::vector<SymInt>& dims, const std::vector<int64_t>& perm) {
  std::vector<SymInt> out;
  out.reserve(dims.size());
  for (const int64_t at : perm) out.push_back(dims.at(static_cast<size_t>(at)));
  return out;
}

bool is_identity(const std::vector<uint8_t>& order) {
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != i) return false;
  return true;
}

xnn::Datatype datatype_for(DType dtype) {
  const auto type = xnn::datatype_of(dtype);
  EL_CHECK(type.has_value(), "XNNPACK has no " + std::string(long_name(dtype)) + " values");
  return *type;
}

}  // namespace

uint32_t XnnBuilder::value(const ir::Value* value) {
  if (const auto found = ids_.find(value); found != ids_.end()) return found->second;
  EL_CHECK(value->type.is_tensor(), "only tensors enter a delegate: " + value->name);
  xnn::Value entry;
  entry.datatype = datatype_for(value->type.dtype);
  entry.name = value->name;
  if (value->is_constant() && !value->constant->is_mutable) {
    entry.dims = value->type.sizes;
    entry.use = xnn::Use::Unpacked;
    entry.data = value->constant->data;
    entry.source = value->constant;
    const uint32_t id = graph_.add_value(std::move(entry));
    ids_.emplace(value, id);
    return id;
  }
  const std::vector<uint8_t>& order = value->type.dim_order;
  const bool reordered = !is_identity(order);
  const std::vector<int64_t> perm(order.begin(), order.end());
  entry.dims = reordered ? permuted(value->type.sizes, perm) : value->type.sizes;
  entry.external_input = true;
  uint32_t id = graph_.add_value(std::move(entry));
  inputs_.push_back(value);
  graph_.inputs.push_back(id);
  if (reordered) {
    std::vector<int64_t> inverse(perm.size());
    for (size_t i = 0; i < perm.size(); ++i) inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
    id = transpose(id, std::move(inverse));
  }
  ids_.emplace(value, id);
  return id;
}

uint32_t XnnBuilder::add_output(const ir::Value* value) {
  const auto found = ids_.find(value);
  EL_CHECK(found != ids_.end(), value->name + " is not defined in the delegate that should return it");
  uint32_t id = found->second;
  const xnn::Value& entry = graph_.values.at(id);
  if (!is_identity(value->type.dim_order)) {
    id = transpose(id, std::vector<int64_t>(value->type.dim_order.begin(), value->type.dim_order.end()));
  } else if (entry.external_input || entry.external_output || entry.use != xnn::Use::None) {
    id = copy(id);
  }
  graph_.values[id].external_output = true;
  graph_.values[id].name = value->name;
  graph_.outputs.push_back(id);
  return id;
}

uint32_t XnnBuilder::define(const ir::Value* result) {
  xnn::Value entry;
  entry.datatype = datatype_for(result->type.dtype);
  entry.dims = result->type.sizes;
  entry.name = result->name;
  const uint32_t id = graph_.add_value(std::move(entry));
  ids_[result] = id;
  return id;
}

void XnnBuilder::alias(const ir::Value* result, uint32_t id) {
  EL_CHECK(dims(id).size() == result->type.sizes.size(), "an alias has another rank: " + result->name);
  ids_[result] = id;
}

void XnnBuilder::finish_view(uint32_t in, const ir::Value* result) {
  const std::vector<SymInt>& from = dims(in);
  if (std::equal(from.begin(), from.end(), result->type.sizes.begin(), result->type.sizes.end())) {
    alias(result, in);
  } else {
    reshape(in, result->type.sizes, define(result));
  }
}

uint32_t XnnBuilder::temp(DType dtype, std::vector<SymInt> dims) {
  return graph_.temp(datatype_for(dtype), std::move(dims));
}

namespace {

xnn::Value constant_value(TensorData data, xnn::Use use) {
  xnn::Value entry;
  entry.datatype = datatype_for(data.dtype());
  entry.dims.assign(data.sizes().begin(), data.sizes().end());
  entry.use = use;
  entry.data = std::move(data);
  return entry;
}

}  // namespace

uint32_t XnnBuilder::packed(TensorData data) {
  return graph_.add_value(constant_value(std::move(data), xnn::Use::Packed));
}

uint32_t XnnBuilder::unpacked(TensorData data) {
  return graph_.add_value(constant_value(std::move(data), xnn::Use::Unpacked));
}

uint32_t XnnBuilder::unpacked_scalar(DType dtype, double value) {
  // Equal literals share one value, so that they share one input of the delegate.
  TensorData data = scalar_data(dtype, value);
  std::string key(1, static_cast<char>(dtype));
  for (const std::byte byte : data.bytes()) key += static_cast<char>(byte);
  const auto [known, inserted] = scalars_.try_emplace(std::move(key), 0);
  if (inserted) known->second = unpacked(std::move(data));
  return known->second;
}

uint32_t XnnBuilder::output_or_temp(uint32_t out, xnn::Datatype type, std::vector<SymInt> dims) {
  return out == xnn::kInvalid ? graph_.temp(type, std::move(dims)) : out;
}

xnn::Node& XnnBuilder::node(xnn::Kind kind, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) {
  xnn::Node& node = graph_.nodes.emplace_back();
  node.kind = kind;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  node.debug_handle = debug_handle_;
  return node;
}

uint32_t XnnBuilder::unary(xnn::Kind kind, uint32_t in, uint32_t out) {
  out = output_or_temp(out, datatype(in), dims(in));
  node(kind, {in}, {out});
  return out;
}

uint32_t XnnBuilder::binary(xnn::Kind kind, uint32_t a, uint32_t b, uint32_t out) {
  if (out == xnn::kInvalid) {
    auto shape = ir::broadcast(dims(a), dims(b));
    EL_CHECK(shape.has_value(), "operands of " + std::string(xnn::kind_name(kind)) + " do not broadcast");
    out = graph_.temp(datatype(a), *std::move(shape));
  }
  node(kind, {a, b}, {out});
  return out;
}

uint32_t XnnBuilder::clamp(uint32_t in, float lo, float hi, uint32_t out) {
  out = output_or_temp(out, datatype(in), dims(in));
  node(xnn::Kind::Clamp, {in}, {out}).min_max = {lo, hi};
  return out;
}

uint32_t XnnBuilder::transpose(uint32_t in, std::vector<int64_t> perm, uint32_t out) {
  out = output_or_temp(out, datatype(in), permuted(dims(in), perm));
  node(xnn::Kind::StaticTranspose, {in}, {out}).list = std::move(perm);
  return out;
}

uint32_t XnnBuilder::reshape(uint32_t in, std::vector<SymInt> dims, uint32_t out) {
  EL_CHECK(reshapable(dims), "StaticReshape to more than one symbolic size");
  std::vector<int64_t> list;
  list.reserve(dims.size());
  for (const SymInt& size : dims) list.push_back(size.is_const() ? size.value() : 0);
  out = output_or_temp(out, datatype(in), std::move(dims));
  node(xnn::Kind::StaticReshape, {in}, {out}).list = std::move(list);
  return out;
}

uint32_t XnnBuilder::slice(uint32_t in, std::vector<int64_t> offsets, std::vector<int64_t> sizes, uint32_t out) {
  // A symbolic dim that is taken whole keeps its symbol; its size in the node is the upper bound, which the runtime
  // clamps to the real one.
  std::vector<SymInt> shape(sizes.begin(), sizes.end());
  for (size_t i = 0; i < shape.size(); ++i)
    if (const SymInt& size = dims(in).at(i); !size.is_const() && offsets[i] == 0 && sizes[i] >= size.upper())
      shape[i] = size;
  out = output_or_temp(out, datatype(in), std::move(shape));
  xnn::Node& slice = node(xnn::Kind::StaticSlice, {in}, {out});
  slice.list = std::move(offsets);
  slice.list2 = std::move(sizes);
  return out;
}

uint32_t XnnBuilder::pad(uint32_t in, std::vector<int64_t> pre, std::vector<int64_t> post, float value, uint32_t out) {
  std::vector<SymInt> shape = dims(in);
  for (size_t i = 0; i < shape.size(); ++i) shape[i] = shape[i] + SymInt(pre.at(i) + post.at(i));
  out = output_or_temp(out, datatype(in), std::move(shape));
  xnn::Node& pad = node(xnn::Kind::StaticConstantPad, {in}, {out});
  pad.list = std::move(pre);
  pad.list2 = std::move(post);
  pad.scalar = value;
  return out;
}

uint32_t XnnBuilder::concat(std::vector<uint32_t> inputs, int32_t axis, uint32_t out) {
  static constexpr xnn::Kind kKinds[] = {xnn::Kind::Concatenate2, xnn::Kind::Concatenate3, xnn::Kind::Concatenate4,
                                         xnn::Kind::Concatenate5};
  EL_CHECK(!inputs.empty(), "a concatenation of nothing");
  if (inputs.size() == 1) return copy(inputs.front(), out);
  inputs =
      xnn::at_most_five(std::move(inputs), [&](std::vector<uint32_t> part) { return concat(std::move(part), axis); });
  std::vector<SymInt> shape = dims(inputs.front());
  for (size_t i = 1; i < inputs.size(); ++i)
    shape.at(static_cast<size_t>(axis)) =
        shape[static_cast<size_t>(axis)] + dims(inputs[i]).at(static_cast<size_t>(axis));
  out = output_or_temp(out, datatype(inputs.front()), std::move(shape));
  node(kKinds[inputs.size() - 2], inputs, {out}).axis = axis;
  return out;
}

uint32_t XnnBuilder::fully_connected(uint32_t in, uint32_t filter, uint32_t bias, uint32_t out, uint32_t flags) {
  std::vector<SymInt> shape = dims(in);
  shape.back() = dims(filter).at((flags & xnn::kFlagTransposeWeights) != 0 ? 1 : 0);
  out = output_or_temp(out, datatype(in), std::move(shape));
  node(xnn::Kind::FullyConnected, {in, filter, bias}, {out}).flags = flags;
  return out;
}

uint32_t XnnBuilder::batch_matmul(uint32_t a, uint32_t b, uint32_t out, uint32_t flags) {
  if (out == xnn::kInvalid) {
    const std::vector<SymInt>& left = dims(a);
    const std::vector<SymInt>& right = dims(b);
    auto shape = ir::broadcast({left.begin(), left.end() - 2}, {right.begin(), right.end() - 2});
    EL_CHECK(shape.has_value(), "the batch dims of a matrix product do not broadcast");
    shape->push_back(left[left.size() - 2]);
    shape->push_back(right[right.size() - ((flags & xnn::kFlagTransposeB) != 0 ? 2 : 1)]);
    out = graph_.temp(datatype(a), *std::move(shape));
  }
  node(xnn::Kind::BatchMatrixMultiply, {a, b}, {out}).flags = flags;
  return out;
}

uint32_t XnnBuilder::softmax(uint32_t in, uint32_t out) { return unary(xnn::Kind::Softmax, in, out); }
uint32_t XnnBuilder::copy(uint32_t in, uint32_t out) { return unary(xnn::Kind::Copy, in, out); }

std::optional<uint32_t> XnnBuilder::find(const ir::Value* value) const {
  const auto found = ids_.find(value);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

bool reshapable(std::span<const SymInt> dims) {
  return std::count_if(dims.begin(), dims.end(), [](const SymInt& size) { return !size.is_const(); }) <= 1;
}

}  // namespace edgelift::ops
