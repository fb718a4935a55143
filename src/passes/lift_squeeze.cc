// squeeze, unsqueeze, flatten, unflatten, as_strided that is a view and other pure reshapes as view; transposes of any
// spelling as permute.
#include "match/views.h"
#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

// as_strided with the strides of a contiguous tensor and no offset reads the elements in order.
bool is_contiguous_view(const ops::Call& call, const ir::Type& from, const ir::Type& to) {
  if (!from.is_static() || !to.is_static() || from.numel() != to.numel() || !from.dim_order.empty()) return false;
  if (call.is_symbolic("stride") || (call.has("storage_offset") && !(call.sym_int("storage_offset") == SymInt(0))))
    return false;
  const std::vector<int64_t> wanted = contiguous_strides(to.static_sizes());
  const std::vector<int64_t> given = call.integers("stride");
  for (size_t i = 0; i < wanted.size(); ++i)
    if (given[i] != wanted[i] && !(to.sizes[i] == SymInt(1))) return false;
  return true;
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
  if (strided && !is_contiguous_view(ops::Call(node), (*source)->type, node.result()->type)) {
    context.declined(node, "its strides make it more than a reshape");
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
