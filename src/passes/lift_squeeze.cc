// squeeze, unsqueeze, flatten, unflatten, as_strided that is a view and other pure reshapes as view; transposes of any
// spelling as permute.
#include <algorithm>

#include "match/views.h"
#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

// as_strided whose strides are those of a reshape of the elements, cut and permuted; null where it is more than that.
// Read from the largest stride to the smallest, each stride counts in units of the next: the digits of a place.
Value* strided_view(Lift& lift, const ops::Call& call, Value* x, const ir::Type& to) {
  if (!x->type.is_static() || !to.is_static() || !x->type.dim_order.empty() || call.is_symbolic("stride") ||
      to.numel() == 0 || x->type.numel() == 0)
    return nullptr;
  int64_t offset = 0;
  if (call.has("storage_offset")) {
    if (call.is_symbolic("storage_offset")) return nullptr;
    offset = call.integer("storage_offset");
  }
  const std::vector<int64_t> strides = call.integers("stride"), sizes = to.static_sizes();
  std::vector<size_t> dims;  // those that move, from the largest stride
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != 1) dims.push_back(i);
  std::stable_sort(dims.begin(), dims.end(), [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  ir::Shape apart;
  std::vector<int64_t> first, count;
  int64_t unit = x->type.numel().value_or(0);
  for (const size_t i : dims) {
    const int64_t stride = strides[i];
    if (stride <= 0 || unit % stride != 0) return nullptr;
    apart.emplace_back(unit / stride);
    first.push_back(offset / stride);
    count.push_back(sizes[i]);
    if (first.back() + sizes[i] > unit / stride) return nullptr;
    offset %= stride;
    unit = stride;
  }
  if (unit > 1) {
    apart.emplace_back(unit);
    first.push_back(offset);
    count.push_back(1);
  }
  Value* y = lift.view(x, apart);
  for (size_t i = 0; i < first.size(); ++i)
    y = lift.slice(y, static_cast<int64_t>(i), SymInt(first[i]), SymInt(count[i]));
  ir::Shape moving;
  std::vector<int64_t> order(dims.size());
  for (const size_t i : dims) moving.emplace_back(sizes[i]);
  y = lift.view(y, moving);
  // Dim k of the result, without those of size one, is the one that stands at its rank among the strides.
  std::vector<size_t> ascending = dims;
  std::sort(ascending.begin(), ascending.end());
  for (size_t k = 0; k < ascending.size(); ++k)
    order[k] = std::find(dims.begin(), dims.end(), ascending[k]) - dims.begin();
  return lift.view(lift.permute(y, order), to.sizes);
}

bool lift_node(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (node.op->ns != "aten" || node.results.size() != 1 || !node.result()->type.is_tensor()) return false;
  if (node.is("view") || node.is("permute")) return false;
  const bool strided = node.is("as_strided");
  const auto permutation = match::permutation_of(node);
  if (!strided && !permutation && !ops::record(node).has(ops::kView)) return false;
  if (match::is_noop(node)) return false;  // remove-noops has those
  auto* const* source = std::get_if<Value*>(&node.args.at(0));
  if (source == nullptr || (*source)->type.dtype != node.result()->type.dtype || !is_f32_or_f16(*source)) return false;
  Lift lift(rewriter, node);
  if (permutation) return commit(lift, node, lift.permute(*source, *permutation), context);
  if (strided) {
    Value* y = strided_view(lift, ops::Call(node), *source, node.result()->type);
    if (y != nullptr) return commit(lift, node, y, context);
    context.declined(node, "its strides make it more than a reshape, a cut and a permutation");
    return false;
  }
  return commit(lift, node, lift.view(*source, node.result()->type.sizes), context);
}

// stack, and concatenation in the dims' other spellings.
bool lift_stack_node(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!node.is("stack")) return false;
  const ops::Call call(node);
  const auto& tensors = call.tensors("tensors");
  const auto dim = ops::normalize_dim(call.integer("dim"), node.result()->type.rank());
  if (!dim || tensors.empty()) return false;
  Lift lift(rewriter, node);
  std::vector<Value*> parts;
  for (Value* tensor : tensors) {
    ir::Shape shape = tensor->type.sizes;
    shape.insert(shape.begin() + *dim, SymInt(1));
    parts.push_back(lift.view(tensor, shape));
  }
  return commit(lift, node, lift.cat(std::move(parts), *dim), context);
}

}  // namespace

Result<bool> lift_squeeze(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, lift_node);
}
Result<bool> lift_stack(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, lift_stack_node);
}

}  // namespace edgelift::passes
