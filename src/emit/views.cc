// Results that need no memory of their own.
#include <algorithm>

#include "base/check.h"
#include "emit/emitter.h"
#include "emit/slices.h"

namespace edgelift::emit {

// The base of a view whose elements lie in memory as those of the result do; null if they do not.
const ir::Value* same_memory_base(const ir::Node& node) {
  const auto* base = node.args.empty() ? nullptr : std::get_if<ir::Value*>(&node.args[0]);
  if (base == nullptr || *base == nullptr || node.results.size() != 1) return nullptr;
  const ir::Type& from = (*base)->type;
  const ir::Type& to = node.result()->type;
  if (!from.is_tensor() || !to.is_tensor() || from.dtype != to.dtype) return nullptr;
  const bool same_order =
      (row_major(from) && row_major(to)) || (from.sizes == to.sizes && from.dim_order == to.dim_order);
  return same_order ? *base : nullptr;
}

void MethodEmitter::set_index(const ir::Value* value, int32_t index) {
  index_.emplace(value, index);
  if (!value->type.is_tensor()) return;
  const int32_t block = block_of(index);
  if (block < 0) return;
  const auto b = static_cast<size_t>(block);
  if (b >= last_use_.size()) last_use_.resize(b + 1, 0);
  last_use_[b] = std::max(last_use_[b], last_use(value));
}

// The place of the last node that reads the value; what the caller gets or the method keeps is never done with.
uint64_t MethodEmitter::last_use(const ir::Value* value) const {
  if (kept_.contains(value) || (value->constant != nullptr && value->constant->is_mutable) || state_.is_written(value))
    return UINT64_MAX;
  uint64_t last = value->producer == nullptr ? 0 : value->producer->order;
  for (const ir::Node* user : value->users) last = std::max(last, user->order);
  return last;
}

// The memory of an operand that a result of the same shape may overwrite: nobody reads it afterwards, and the kernel
// goes element by element (tests/emit/in_place_test.cc runs every such kernel this way).
Place MethodEmitter::in_place_of(const ir::Value* value) const {
  const ir::Node& node = *value->producer;
  if (!options_.in_place || ops::is_delegate(node) || node.results.size() != 1 ||
      !ops::record(node).has(ops::kPointwise))
    return {};
  const auto same = [&](const ir::Value* operand) {
    return operand->type.is_tensor() && operand->type.dtype == value->type.dtype &&
           operand->type.sizes == value->type.sizes && operand->type.dim_order == value->type.dim_order;
  };
  const std::vector<ir::Value*> operands = node.operands();
  for (const ir::Value* candidate : operands) {
    const auto at = index_.find(candidate);
    if (at == index_.end() || !same(candidate)) continue;
    const Place place = values_.place(at->second);
    if (place.block < 0 || last_use_[static_cast<size_t>(place.block)] > node.order) continue;
    const bool others_apart = std::all_of(operands.begin(), operands.end(), [&](const ir::Value* other) {
      const auto index = index_.find(other);
      if (index == index_.end() || !other->type.is_tensor() || block_of(index->second) != place.block) return true;
      return same(other) && values_.place(index->second).block == place.block &&
             values_.place(index->second).delta == place.delta;
    });
    if (others_apart) return place;
  }
  return {};
}

// A view with fixed sizes needs no instruction: it is another description of the same memory.
bool MethodEmitter::elide_view(const ir::Node& node) {
  const ir::Value* base = same_memory_base(node);
  if (base == nullptr || !base->type.is_static() || !node.result()->type.is_static()) return false;
  if (state_.written_directly(node.result()) != nullptr) return false;
  const Result<int32_t> from = operand(base);
  if (!from) return false;
  Result<pte::Tensor> tensor = values_.tensor_of(node.result()->type);
  if (!tensor) return false;
  const Place place = values_.place(*from);
  const int32_t constant = values_.tensor(*from).constant;
  int32_t index = -1;
  if (constant >= 0) {
    tensor->constant = constant;
    index = values_.add_without_memory(std::move(*tensor));
  } else if (place.block >= 0 && (options_.plan_outputs || !outputs_.contains(node.result()))) {
    index = values_.add_in_block(std::move(*tensor), place);
  } else {
    return view_call(node);
  }
  set_index(node.result(), index);
  return true;
}

// Pieces of a tensor that lie in one place in its memory need no instruction either.
bool MethodEmitter::elide_slices(const ir::Node& node) {
  const std::optional<std::vector<int64_t>> firsts = contiguous_pieces(node);
  if (!firsts) return false;
  const Result<int32_t> from = operand(std::get<ir::Value*>(node.args[0]));
  if (!from) return false;
  Place place = values_.place(*from);
  if (place.block < 0) return false;
  for (const ir::Value* value : node.results)
    if (state_.written_directly(value) != nullptr || (!options_.plan_outputs && outputs_.contains(value))) return false;
  for (size_t i = 0; i < node.results.size(); ++i) {
    const ir::Value* value = node.results[i];
    Result<pte::Tensor> tensor = values_.tensor_of(value->type);
    if (!tensor) return false;
    const uint64_t delta = static_cast<uint64_t>((*firsts)[i]) * byte_size(value->type.dtype);
    set_index(value, values_.add_in_block(*std::move(tensor), {place.block, place.delta + delta}));
  }
  return true;
}

// Any view, as a copy with the sizes that the result has.
Status MethodEmitter::view_copy(const ir::Node& node) {
  EL_TRY(const int32_t from, operand(same_memory_base(node)));
  EL_TRY(const int32_t sizes, sizes_.list(node.result()->type.sizes));
  EL_TRY(const int32_t to, result(node.result()));
  caller_.call("aten::view_copy.out", {from, sizes, to, to});
  return Ok{};
}

// A view by the runtime's primitive that makes a tensor without memory point to another's.
bool MethodEmitter::view_call(const ir::Node& node) {
  const ir::Value* base = same_memory_base(node);
  if (base == nullptr || !row_major(base->type) || !row_major(node.result()->type)) return false;
  if (outputs_.contains(node.result()) || state_.written_directly(node.result()) != nullptr) return false;
  const Result<int32_t> from = operand(base);
  if (!from || values_.tensor(*from).constant >= 0) return false;
  Result<pte::Tensor> tensor = values_.tensor_of(node.result()->type);
  const Result<int32_t> sizes = tensor.ok() ? sizes_.list(node.result()->type.sizes) : Result<int32_t>(int32_t{-1});
  if (!tensor || !sizes) return false;
  const int32_t index = values_.add_without_memory(std::move(*tensor));
  shared_.emplace(index, *from);
  set_index(node.result(), index);
  caller_.call("executorch_prim::et_view.default", {*from, *sizes, index});
  return true;
}

// Memory that the method's own writes will change: the buffer or input, as its value index at the root.
int32_t MethodEmitter::root_of(int32_t index) const {
  for (auto at = shared_.find(index); at != shared_.end(); at = shared_.find(index)) index = at->second;
  return index;
}

}  // namespace edgelift::emit
