// Choices by a mask as arithmetic: where and masked_fill with a condition that is known at compile time, and masks that
// only hide scores from a softmax. Exact where the operands are finite.
#include <cmath>
#include <limits>

#include "match/constant.h"
#include "match/views.h"
#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

constexpr int64_t kMaxMask = 16 << 20;  // elements

struct Choice {
  Value* condition = nullptr;  // true: taken
  // Each side is a value or a number.
  Value *taken = nullptr, *other = nullptr;
  std::optional<double> taken_number, other_number;
};

void side(const ir::Arg& arg, Value*& value, std::optional<double>& number) {
  if (const auto* d = std::get_if<double>(&arg)) number = *d;
  if (const auto* i = std::get_if<SymInt>(&arg); i != nullptr && i->is_const())
    number = static_cast<double>(i->value());
  if (auto* const* v = std::get_if<Value*>(&arg); v != nullptr && (*v)->type.is_tensor()) {
    value = *v;
    number = match::as_number(*v);
  }
}

std::optional<Choice> as_choice(const ir::Node& node) {
  Choice choice;
  if (node.op->ns != "aten") return std::nullopt;
  if (node.op->base == "where" && node.args.size() == 3) {
    choice.condition = std::get<Value*>(node.args[0]);
    side(node.args[1], choice.taken, choice.taken_number);
    side(node.args[2], choice.other, choice.other_number);
  } else if (node.op->base == "masked_fill") {
    choice.condition = std::get<Value*>(node.args[1]);
    side(node.args[0], choice.other, choice.other_number);
    side(node.args[2], choice.taken, choice.taken_number);
  } else {
    return std::nullopt;
  }
  if (choice.condition->type.dtype != DType::Bool) return std::nullopt;
  if (choice.taken == nullptr && !choice.taken_number) return std::nullopt;
  if (choice.other == nullptr && !choice.other_number) return std::nullopt;
  return choice;
}

// A constant with `yes` where the condition holds and `no` elsewhere.
Value* spread(ir::Rewriter& rewriter, const ir::Node& node, const TensorData& condition, DType dtype, double yes,
              double no, std::string_view what) {
  std::vector<double> values = condition.to_doubles();
  for (double& value : values) value = value != 0 ? yes : no;
  return rewriter.constant(node.results[0]->name + "_" + std::string(what),
                           TensorData::of(DType::F64, condition.sizes(), values).converted(dtype));
}

bool known_condition(ir::Node& node, ir::Rewriter& rewriter, PassContext& context, const Choice& choice) {
  const auto condition = match::as_constant(choice.condition);
  if (!condition) return false;
  const DType dtype = node.result()->type.dtype;
  for (const Value* value : {choice.taken, choice.other})
    if (value != nullptr && value->type.dtype != dtype) return false;
  if (condition->numel() > kMaxMask) {
    context.declined(node, "its mask is too large to write as numbers");
    return false;
  }
  Lift lift(rewriter, node);
  const double inf = std::numeric_limits<double>::infinity();
  // One condition for all elements: no choice at all.
  if (const auto all = match::uniform_number(*condition)) {
    Value* chosen = *all != 0 ? choice.taken : choice.other;
    if (chosen != nullptr && ops::same_shape(chosen->type.sizes, node.result()->type.sizes))
      return commit(lift, node, chosen, context);
  }
  const std::optional<double> taken = choice.taken_number, other = choice.other_number;
  if (taken && other) return false;  // fold-constants has that
  // -inf where hidden: one addition.
  if (other && *other == -inf)
    return commit(lift, node, lift.add(choice.taken, spread(rewriter, node, *condition, dtype, 0, -inf, "mask")),
                  context);
  if (taken && *taken == -inf)
    return commit(lift, node, lift.add(choice.other, spread(rewriter, node, *condition, dtype, -inf, 0, "mask")),
                  context);
  if ((taken && !std::isfinite(*taken)) || (other && !std::isfinite(*other))) {
    context.declined(node, "it fills with a number that arithmetic cannot place");
    return false;
  }
  Value* keep_taken = spread(rewriter, node, *condition, dtype, 1, 0, "taken");
  Value* keep_other = spread(rewriter, node, *condition, dtype, 0, 1, "other");
  Value* result = nullptr;
  if (taken) {
    result = lift.mul(choice.other, keep_other);
    if (*taken != 0) result = lift.add(result, spread(rewriter, node, *condition, dtype, *taken, 0, "fill"));
  } else if (other) {
    result = lift.mul(choice.taken, keep_taken);
    if (*other != 0) result = lift.add(result, spread(rewriter, node, *condition, dtype, 0, *other, "fill"));
  } else {
    result = lift.add(lift.mul(choice.taken, keep_taken), lift.mul(choice.other, keep_other));
  }
  return commit(lift, node, result, context);
}

// True if every use of the value, through reshapes, is a softmax over the last dim or the mask of an attention.
bool only_softmax(const ir::Graph& graph, const Value* value) {
  if (value->users.empty() || graph.is_output(value)) return false;
  for (const ir::Node* user : value->users) {
    if (user->is("_softmax") || user->is("softmax", "int")) {
      const ops::Call call(*user);
      if (ops::normalize_dim(call.integer("dim"), value->type.rank()) != value->type.rank() - 1) return false;
      continue;
    }
    if (user->is("scaled_dot_product_attention")) {
      const ops::Call call(*user);
      if (call.tensor("query") == value || call.tensor("key") == value || call.tensor("value") == value) return false;
      continue;
    }
    if (user->results.size() != 1 || !(user->is("view") || match::is_noop(*user))) return false;
    const Value* next = user->result();
    if (!(next->type.sizes.back() == value->type.sizes.back()) || !only_softmax(graph, next)) return false;
  }
  return true;
}

// where(condition, scores, very negative) before a softmax: the hidden scores only have to vanish, and where all are
// hidden they only have to be equal.
bool hides_scores(ir::Node& node, ir::Rewriter& rewriter, PassContext& context, const Choice& choice) {
  const bool fills_other = choice.other_number && *choice.other_number <= -1e6;
  const bool fills_taken = choice.taken_number && *choice.taken_number <= -1e6;
  if (fills_other == fills_taken || node.result()->type.dtype != DType::F32) return false;
  const double fill = fills_other ? *choice.other_number : *choice.taken_number;
  Value* scores = fills_other ? choice.taken : choice.other;
  if (scores == nullptr || scores->type.dtype != DType::F32 || !std::isfinite(fill)) return false;
  if (!only_softmax(rewriter.graph(), node.result())) return false;
  Lift lift(rewriter, node);
  Value* flag = lift.flags(choice.condition, DType::F32);
  // 0 where the score counts, 1 where it is hidden, times -3e38, which swallows any score.
  Value* hidden = fills_taken ? flag : lift.sub(1.0, flag);
  return commit(lift, node, lift.add(scores, lift.mul(hidden, -3.0e38)), context);
}

// where(condition, x, -inf) with a condition of the run: the logarithm of 1 and 0 is added, which is 0 and minus
// infinity.
bool hides_for_good(ir::Node& node, ir::Rewriter& rewriter, PassContext& context, const Choice& choice) {
  const double inf = std::numeric_limits<double>::infinity();
  const bool fills_other = choice.other_number && *choice.other_number == -inf;
  const bool fills_taken = choice.taken_number && *choice.taken_number == -inf;
  if (fills_other == fills_taken || node.result()->type.dtype != DType::F32) return false;
  Value* x = fills_other ? choice.taken : choice.other;
  if (x == nullptr || x->type.dtype != DType::F32 || x->producer == nullptr || !delegated(*x->producer)) return false;
  Lift lift(rewriter, node);
  Value* flag = lift.flags(choice.condition, DType::F32);
  if (fills_taken) flag = lift.sub(1.0, flag);
  return commit(lift, node, lift.add(x, lift.make("log", {flag})), context);
}

// where(condition, number, number): other + flag * (taken - other), where that is exact.
bool between_numbers(ir::Node& node, ir::Rewriter& rewriter, PassContext& context, const Choice& choice) {
  if (!choice.taken_number || !choice.other_number || node.result()->type.dtype != DType::F32) return false;
  const auto taken = static_cast<float>(*choice.taken_number), other = static_cast<float>(*choice.other_number);
  const float step = taken - other;
  if (!std::isfinite(step) || other + step != taken) {
    context.declined(node, "its two numbers have no exact difference");
    return false;
  }
  if (!ops::same_shape(choice.condition->type.sizes, node.result()->type.sizes)) return false;
  Lift lift(rewriter, node);
  Value* chosen = lift.mul(lift.flags(choice.condition, DType::F32), step);
  return commit(lift, node, other == 0 ? chosen : lift.add(chosen, other), context);
}

bool rewrite(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  const auto choice = as_choice(node);
  if (!choice || !is_f32_or_f16(node.result()) || delegated(node)) return false;
  return known_condition(node, rewriter, context, *choice) || hides_scores(node, rewriter, context, *choice) ||
         hides_for_good(node, rewriter, context, *choice) || between_numbers(node, rewriter, context, *choice);
}

}  // namespace

Result<bool> lift_where(ir::Program& program, PassContext& context) { return rewrite_nodes(program, context, rewrite); }

}  // namespace edgelift::passes
