// expand, repeat and tile: nothing where every consumer broadcasts anyway, else a multiplication by ones or a
// concatenation of the same value.
#include <algorithm>

#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

constexpr int64_t kMaxCopies = 32;

// Whether the operator's result is the same when this operand comes unexpanded: element-wise operators and batched
// products whose other operands give the full shape.
bool broadcasts(ir::Node& user, Value* expanded, Value* narrow, const ir::OpTable& ops) {
  if (!ops::record(user).has(ops::kPointwise) && !user.is("matmul")) return false;
  std::vector<ir::Arg> args = user.args;
  size_t operands = 0;
  for (ir::Arg& arg : args)
    if (auto** value = std::get_if<Value*>(&arg)) {
      ++operands;
      if (*value == expanded) *value = narrow;
    }
  if (operands < 2) return false;
  const auto types = ops.infer(*user.op, args);
  return types.ok() && types->size() == user.results.size() && (*types)[0].dtype == user.result()->type.dtype &&
         ops::same_shape((*types)[0].sizes, user.result()->type.sizes);
}

bool bypass(ir::Node& node, ir::Rewriter& rewriter) {
  if (!node.is("expand")) return false;
  Value *expanded = node.result(), *narrow = std::get<Value*>(node.args[0]);
  std::vector<ir::Node*> users = expanded->users;
  std::sort(users.begin(), users.end(), [](const ir::Node* a, const ir::Node* b) { return a->order < b->order; });
  users.erase(std::unique(users.begin(), users.end()), users.end());
  bool changed = false;
  for (ir::Node* user : users) {
    if (!broadcasts(*user, expanded, narrow, rewriter.ops())) continue;
    for (size_t i = 0; i < user->args.size(); ++i)
      if (auto** value = std::get_if<Value*>(&user->args[i]); value != nullptr && *value == expanded)
        rewriter.graph().set_arg(user, i, narrow);
    changed = true;
  }
  if (changed && expanded->users.empty() && !rewriter.graph().is_output(expanded)) rewriter.erase_dead(&node);
  return changed;
}

// x with dim repeated `count` times as a whole (tile), by concatenation.
Value* tile(Lift& lift, Value* x, int64_t dim, int64_t count) {
  return lift.cat(std::vector<Value*>(static_cast<size_t>(count), x), dim);
}

bool lift_expand_node(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  const ops::Call call(node);
  Value* self = call.tensor("self");
  const ir::Shape wide = node.result()->type.sizes;
  Lift lift(rewriter, node);
  ir::Shape aligned(wide.size() - self->type.sizes.size(), SymInt(1));
  aligned.insert(aligned.end(), self->type.sizes.begin(), self->type.sizes.end());
  Value* x = lift.view(self, aligned);
  std::vector<int64_t> ones(wide.size(), 1);
  int64_t copies = 1;
  size_t expanded_dims = 0, dim = 0;
  for (size_t i = 0; i < wide.size(); ++i) {
    if (aligned[i] == wide[i]) continue;
    if (!wide[i].is_const()) {
      context.declined(node, "it expands to a size that only the run knows");
      return false;
    }
    ones[i] = wide[i].value();
    copies *= ones[i];
    ++expanded_dims;
    dim = i;
  }
  if (expanded_dims == 0) return commit(lift, node, x, context);
  if (expanded_dims == 1 && copies <= 4)
    return commit(lift, node, tile(lift, x, static_cast<int64_t>(dim), copies), context);
  if (!is_f32_or_f16(self)) {
    context.declined(node, "it would be a multiplication by ones, which the delegate has for float32 and float16 only");
    return false;
  }
  // One number for each expanded position; the result of a product with one is exact.
  std::string name = "ones_" + std::string(short_name(self->type.dtype));
  for (const int64_t size : ones) name += "_" + std::to_string(size);
  Value* factor = shared_constant(rewriter, name, scalar_data(self->type.dtype, 1.0).expanded(ones).contiguous());
  return commit(lift, node, lift.mul(x, factor), context);
}

bool lift_repeat(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  const ops::Call call(node);
  Value* self = call.tensor("self");
  const auto& repeats = call.ints(node.is("tile") ? "dims" : "repeats");
  const size_t rank = std::max(repeats.size(), self->type.sizes.size());
  Lift lift(rewriter, node);
  ir::Shape aligned(rank - self->type.sizes.size(), SymInt(1));
  aligned.insert(aligned.end(), self->type.sizes.begin(), self->type.sizes.end());
  Value* x = lift.view(self, aligned);
  int64_t copies = 1;
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (!repeats[i].is_const() || repeats[i].value() < 1) return false;
    copies *= repeats[i].value();
  }
  if (copies > kMaxCopies * kMaxCopies) return false;
  for (size_t i = repeats.size(); i-- > 0;) {
    const int64_t count = repeats[i].value();
    if (count > kMaxCopies) {
      context.declined(node, "it repeats a dimension " + std::to_string(count) + " times");
      return false;
    }
    if (count > 1 && !lift.failed()) x = tile(lift, x, static_cast<int64_t>(i + rank - repeats.size()), count);
  }
  return commit(lift, node, x, context);
}

bool lift_repeat_interleave(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  const ops::Call call(node);
  Value* self = call.tensor("self");
  const auto given = call.opt_integer("dim");
  if (!given || call.is_symbolic("repeats")) return false;
  const auto dim = ops::normalize_dim(*given, self->type.rank());
  const int64_t count = call.integer("repeats");
  if (!dim || count < 1 || count > kMaxCopies) return false;
  Lift lift(rewriter, node);
  ir::Shape apart = self->type.sizes;
  apart.insert(apart.begin() + *dim + 1, SymInt(1));
  Value* x = tile(lift, lift.view(self, apart), *dim + 1, count);
  return commit(lift, node, lift.view(x, node.result()->type.sizes), context);
}

bool lift_node(ir::Node& node, ir::Rewriter& rewriter, PassContext&) { return bypass(node, rewriter); }

bool materialise(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (node.is("expand")) return !delegated(node) && lift_expand_node(node, rewriter, context);
  if (node.is("repeat") || node.is("tile")) return !delegated(node) && lift_repeat(node, rewriter, context);
  if (node.is("repeat_interleave", "self_int"))
    return !delegated(node) && lift_repeat_interleave(node, rewriter, context);
  return false;
}

}  // namespace

Result<bool> lift_expand(ir::Program& program, PassContext& context) {
  EL_TRY(const bool bypassed, rewrite_nodes(program, context, lift_node));
  EL_TRY(const bool made, rewrite_nodes(program, context, materialise));
  return bypassed || made;
}

}  // namespace edgelift::passes
