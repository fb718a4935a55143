// Attention spelled out becomes scaled_dot_product_attention, its scales one number. Uses
// match_sdpa and has no pattern of its own.
#include "match/constant.h"
#include "match/sdpa.h"
#include "match/views.h"
#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

// The operand without its scales: the views between are applied to the base again.
Value* unscaled(Lift& lift, const match::Scaled& side) {
  Value* value = side.base;
  for (size_t i = side.views.size(); i-- > 0;) {
    const ir::Node& view = *side.views[i];
    std::vector<ir::Arg> args = view.args;
    args[0] = value;
    value = lift.make_outside(view.op->text_name(), std::move(args));
  }
  return value;
}

ir::Shape leading(const ir::Type& type) { return ir::Shape(type.sizes.begin(), type.sizes.end() - 2); }

// x with the batch dims of `batch` and its own last two.
Value* with_batch(Lift& lift, Value* x, const ir::Shape& batch) {
  if (lift.failed()) return x;
  ir::Shape shape = batch;
  shape.insert(shape.end(), x->type.sizes.end() - 2, x->type.sizes.end());
  if (x->type.sizes == shape) return x;
  if (!(product(leading(x->type)) == product(batch))) {
    lift.fail("query, key and value have different batch dimensions");
    return x;
  }
  return lift.make_outside("view", {x, ir::IntList(shape.begin(), shape.end())});
}

bool fuse(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  auto match = match::match_sdpa(node);
  if (!match) return false;
  if (match->whole && match->scale_nodes.empty()) return false;
  ir::Node& anchor = *match->anchor;
  // Whole attention guards rows that a mask hides; where the graph does not, the guard would only cost.
  if (!match->whole && !match->safe_tail && match->mask_kind == match::Sdpa::Mask::Add &&
      !match::as_constant(match->mask)) {
    context.declined(node, "it is an attention, but its mask is known only at run time and its rows are not guarded");
    return false;
  }
  Lift lift(rewriter, anchor);
  Value* result = anchor.result();
  if (match->whole) {
    std::vector<ir::Arg> args = anchor.args;
    args[0] = unscaled(lift, match->query);
    args[1] = unscaled(lift, match->key);
    for (size_t i = 0; i < args.size(); ++i)
      if (anchor.op->schema.args[i].name == "scale") args[i] = match->scale;
    return commit(lift, anchor, lift.make_outside("scaled_dot_product_attention", std::move(args)), context);
  }
  Value* query = unscaled(lift, match->query);
  Value* transposed = unscaled(lift, match->key);
  if (lift.failed() || query->type.rank() < 2 || transposed->type.rank() < 2 || match->value->type.rank() < 2)
    return false;
  // The key before its transposition, where the graph spells one; else it is transposed back.
  std::vector<ir::Node*> passed;
  Value* key = match::transposed_source(transposed, passed);
  const ir::Shape batch = leading(match->scores->type);
  if (key == nullptr || !(product(leading(key->type)) == product(batch))) {
    auto dims = identity_permutation(static_cast<size_t>(transposed->type.rank()));
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    key = lift.make_outside("permute", {transposed, int_list(dims)});
  }
  query = with_batch(lift, query, batch);
  key = with_batch(lift, key, batch);
  Value* value = with_batch(lift, match->value, batch);
  if (lift.failed()) {
    context.declined(node, "it is an attention, but " + lift.why());
    return false;
  }
  ir::Arg mask;
  if (match->mask_kind == match::Sdpa::Mask::Drop) {
    mask = lift.make_outside("logical_not", {match->mask});
  } else if (match->mask != nullptr) {
    mask = match->mask;
  }
  Value* fused =
      lift.make_outside("scaled_dot_product_attention", {query, key, value, mask}, {{"scale", match->scale}});
  if (!lift.failed() && !ops::same_shape(fused->type.sizes, result->type.sizes))
    fused = lift.make_outside("view", {fused, ir::IntList(result->type.sizes.begin(), result->type.sizes.end())});
  return commit(lift, anchor, fused, context);
}

}  // namespace

Result<bool> fuse_sdpa(ir::Program& program, PassContext& context) {
  bool changed = false;
  for (const auto& graph : program.methods) {
    ir::Rewriter rewriter(program, *graph, context.ops);
    // The anchor stands after the softmax that the match starts from: roots first, then the rewriting.
    std::vector<ir::Node*> roots;
    graph->each([&](ir::Node& node) {
      if (node.is("_softmax") || node.is("softmax", "int") || node.is("scaled_dot_product_attention"))
        roots.push_back(&node);
    });
    for (ir::Node* root : roots) changed = fuse(*root, rewriter, context) || changed;
  }
  if (changed) sweep(program, context.ops);
  return changed;
}

}  // namespace edgelift::passes
