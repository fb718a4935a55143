#include "match/sdpa.h"

#include <cmath>

#include "match/constant.h"
#include "match/views.h"
#include "ops/call.h"
#include "ops/infer.h"

namespace edgelift::match {
namespace {

bool same_sizes(const ir::Value* a, const ir::Value* b) {
  return a->type.dtype == b->type.dtype && ops::same_shape(a->type.sizes, b->type.sizes);
}

bool is_matmul(const ir::Node& node) { return node.is("matmul") || node.is("bmm") || node.is("mm"); }

bool is_softmax(const ir::Node& node) { return node.is("_softmax") || node.is("softmax", "int"); }

ir::Value* operand(const ir::Node& node, size_t index) {
  auto* const* value = std::get_if<ir::Value*>(&node.args.at(index));
  return value == nullptr || !(*value)->type.is_tensor() ? nullptr : *value;
}

bool is_minus_infinity(const ir::Arg& arg) {
  if (const auto* d = std::get_if<double>(&arg)) return std::isinf(*d) && *d < 0;
  if (auto* const* value = std::get_if<ir::Value*>(&arg)) {
    if (!(*value)->type.is_tensor()) return false;
    const auto number = as_number(*value);
    return number && std::isinf(*number) && *number < 0;
  }
  return false;
}

// The matmul that `value` comes from, through reshapes and scales; null if there is none.
ir::Node* scores_matmul(ir::Value* value, double& scale, std::vector<ir::Node*>& scales) {
  for (int depth = 0; depth < 24 && value->producer != nullptr; ++depth) {
    ir::Node& node = *value->producer;
    if (is_matmul(node)) return &node;
    ScaleStep step;
    if (match_scale(node, step)) {
      scale *= step.factor;
      scales.push_back(&node);
      value = step.base;
      continue;
    }
    ir::Value* below = skip_reshapes(value);
    if (below == value) return nullptr;
    value = below;
  }
  return nullptr;
}

// Strips one mask from the scores: add, where or masked_fill by minus infinity.
void strip_mask(ir::Value*& scores, Sdpa& match) {
  ir::Value* inner = skip_reshapes(scores);
  if (inner->producer == nullptr || !same_sizes(inner, scores)) return;
  ir::Node& node = *inner->producer;
  const auto reaches = [](ir::Value* value) {
    double scale = 1;
    std::vector<ir::Node*> nodes;
    return scores_matmul(value, scale, nodes) != nullptr;
  };
  const auto take = [&](ir::Value* next, ir::Value* mask, Sdpa::Mask kind) {
    if (!same_sizes(next, inner) || !reaches(next)) return false;
    match.mask = mask;
    match.mask_kind = kind;
    scores = next;
    return true;
  };
  if (node.is("add", "Tensor")) {
    const ops::Call call(node);
    const auto alpha = call.opt_number("alpha");
    ir::Value* a = operand(node, 0);
    ir::Value* b = operand(node, 1);
    if (a == nullptr || b == nullptr || (alpha && *alpha != 1)) return;
    if (a->type.dtype != b->type.dtype) return;
    if (!take(a, b, Sdpa::Mask::Add)) take(b, a, Sdpa::Mask::Add);
  } else if (node.is("where", "self") || node.is("where", "ScalarOther") || node.is("where", "ScalarSelf")) {
    ir::Value* condition = operand(node, 0);
    if (condition == nullptr || condition->type.dtype != DType::Bool) return;
    if (is_minus_infinity(node.args.at(2)) && operand(node, 1) != nullptr)
      take(operand(node, 1), condition, Sdpa::Mask::Keep);
    else if (is_minus_infinity(node.args.at(1)) && operand(node, 2) != nullptr)
      take(operand(node, 2), condition, Sdpa::Mask::Drop);
  } else if (node.is("masked_fill", "Scalar") || node.is("masked_fill", "Tensor")) {
    ir::Value* mask = operand(node, 1);
    if (mask != nullptr && mask->type.dtype == DType::Bool && is_minus_infinity(node.args.at(2)))
      take(operand(node, 0), mask, Sdpa::Mask::Drop);
  }
}

// The safe-softmax tail: where(not any(score != -inf), 0, softmax). Returns the where's result or null.
ir::Value* safe_tail(ir::Node& softmax, ir::Value* scores) {
  ir::Node* where = nullptr;
  for (ir::Node* user : softmax.result()->users) {
    if (user->is("full_like") || user->is("zeros_like")) continue;
    if (!user->is("where", "self") || where != nullptr) return nullptr;
    where = user;
  }
  if (where == nullptr || operand(*where, 2) != softmax.result() || operand(*where, 1) == nullptr) return nullptr;
  const auto fill = as_number(operand(*where, 1));
  if (!fill || *fill != 0) return nullptr;
  // not(any(not(eq(scores, -inf)), -1, keepdim))
  const auto producer = [](ir::Value* value, std::string_view base, std::string_view overload) -> ir::Node* {
    return value != nullptr && value->producer != nullptr && value->producer->is(base, overload) ? value->producer
                                                                                                 : nullptr;
  };
  ir::Node* outer = producer(operand(*where, 0), "logical_not", "default");
  if (outer == nullptr) return nullptr;
  ir::Node* any = producer(operand(*outer, 0), "any", "dim");
  if (any == nullptr) return nullptr;
  const ops::Call any_call(*any);
  const auto dim = ops::normalize_dim(any_call.integer("dim"), scores->type.rank());
  if (!dim || *dim != scores->type.rank() - 1 || !any_call.flag("keepdim")) return nullptr;
  ir::Node* inner = producer(operand(*any, 0), "logical_not", "default");
  if (inner == nullptr) return nullptr;
  ir::Value* equal = operand(*inner, 0);
  if (equal == nullptr || equal->producer == nullptr) return nullptr;
  if (!equal->producer->is("eq", "Scalar") && !equal->producer->is("eq", "Tensor")) return nullptr;
  if (operand(*equal->producer, 0) != scores || !is_minus_infinity(equal->producer->args.at(1))) return nullptr;
  return where->result();
}

// The only user of value through reshapes, no-op expands and clones; null if it has several.
ir::Node* consumer_of(ir::Value* value, ir::Value*& seen) {
  seen = value;
  for (int depth = 0; depth < 24; ++depth) {
    if (seen->users.size() != 1) return nullptr;
    ir::Node* user = seen->users.front();
    if (is_matmul(*user)) return user;
    if (user->results.size() != 1 || skip_reshapes(user->result()) == user->result()) {
      if (!is_noop(*user)) return nullptr;
    }
    if (operand(*user, 0) != seen) return nullptr;
    seen = user->result();
  }
  return nullptr;
}

std::optional<Sdpa> match_whole(ir::Node& node) {
  const ops::Call call(node);
  Sdpa match;
  match.anchor = &node;
  match.whole = true;
  match.query = as_scaled(call.tensor("query"));
  match.key = as_scaled(call.tensor("key"));
  match.value = call.tensor("value");
  match.mask = call.opt_tensor("attn_mask");
  if (match.mask != nullptr)
    match.mask_kind = match.mask->type.dtype == DType::Bool ? Sdpa::Mask::Keep : Sdpa::Mask::Add;
  match.is_causal = call.flag("is_causal");
  match.enable_gqa = call.flag("enable_gqa");
  if (call.has("dropout_p") && call.number("dropout_p") != 0) return std::nullopt;
  const ir::Type& type = call.tensor("query")->type;
  if (type.rank() < 2) return std::nullopt;
  if (call.has("scale")) {
    if (!std::holds_alternative<double>(call.arg("scale"))) return std::nullopt;
    match.scale = call.number("scale");
  } else {
    const SymInt& width = type.sizes.back();
    if (!width.is_const() || width.value() <= 0) return std::nullopt;
    match.scale = 1.0 / std::sqrt(static_cast<double>(width.value()));
  }
  match.scale *= match.query.factor * match.key.factor;
  match.scale_nodes = match.query.scales;
  match.scale_nodes.insert(match.scale_nodes.end(), match.key.scales.begin(), match.key.scales.end());
  return match;
}

}  // namespace

std::optional<Sdpa> match_sdpa(ir::Node& node) {
  if (node.is("scaled_dot_product_attention")) return match_whole(node);
  if (!is_softmax(node)) return std::nullopt;
  const ops::Call call(node);
  ir::Value* scores = call.tensor("self");
  const int64_t rank = scores->type.rank();
  if (rank < 2 || scores->type.dtype != node.result()->type.dtype) return std::nullopt;
  const auto dim = ops::normalize_dim(call.integer("dim"), rank);
  if (!dim || *dim != rank - 1) return std::nullopt;

  Sdpa match;
  match.softmax = &node;
  match.scores = scores;
  ir::Value* probabilities = node.result();
  if (ir::Value* tail = safe_tail(node, scores)) {
    probabilities = tail;
    match.safe_tail = true;
  }
  ir::Value* seen = nullptr;
  match.anchor = consumer_of(probabilities, seen);
  if (match.anchor == nullptr || operand(*match.anchor, 0) != seen) return std::nullopt;
  match.value = operand(*match.anchor, 1);
  if (match.value == nullptr || match.value == seen) return std::nullopt;

  ir::Value* inner = scores;
  strip_mask(inner, match);
  ir::Node* product = scores_matmul(inner, match.scale, match.scale_nodes);
  if (product == nullptr) return std::nullopt;
  match.query = as_scaled(operand(*product, 0));
  match.key = as_scaled(operand(*product, 1));
  match.scale *= match.query.factor * match.key.factor;
  for (const Scaled* side : {&match.query, &match.key})
    match.scale_nodes.insert(match.scale_nodes.end(), side->scales.begin(), side->scales.end());
  return match;
}

}  // namespace edgelift::match
