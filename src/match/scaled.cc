#include "match/scaled.h"

#include <cmath>

#include "match/constant.h"
#include "ops/call.h"

namespace edgelift::match {
namespace {

constexpr int kMaxDepth = 24;

std::optional<double> plain_number(const ir::Arg& arg) {
  if (const auto* d = std::get_if<double>(&arg)) return *d;
  if (const auto* i = std::get_if<SymInt>(&arg); i != nullptr && i->is_const()) return static_cast<double>(i->value());
  return std::nullopt;
}

bool same_type(const ir::Value* a, const ir::Value* b) {
  return a->type.is_tensor() && b->type.is_tensor() && a->type.dtype == b->type.dtype && a->type.sizes == b->type.sizes;
}

}  // namespace

bool match_scale(const ir::Node& node, ScaleStep& step) {
  const ir::Op& op = *node.op;
  if (op.ns != "aten" || node.results.size() != 1) return false;
  const ir::Value* result = node.result();
  if (!is_float(result->type.dtype)) return false;
  const bool mul = op.base == "mul";
  const bool div = op.base == "div";
  if (!mul && !div) return false;
  if (op.overload != "Scalar" && op.overload != "Tensor") return false;
  auto* const* self = std::get_if<ir::Value*>(&node.args.at(0));
  if (self == nullptr) return false;
  std::optional<double> number = plain_number(node.args.at(1));
  ir::Value* base = *self;
  if (!number) {
    auto* const* other = std::get_if<ir::Value*>(&node.args.at(1));
    if (other == nullptr || !(*other)->type.is_tensor()) return false;
    number = as_number(*other);
    if (!number && mul) {  // the constant on the left
      number = as_number(*self);
      base = *other;
    }
  }
  if (!number || !std::isfinite(*number) || *number == 0) return false;
  if (!same_type(base, result)) return false;  // the constant would broadcast or promote x
  step.base = base;
  step.factor = mul ? *number : 1.0 / *number;
  return true;
}

Scaled as_scaled(ir::Value* value) {
  Scaled out;
  out.base = value;
  std::vector<ir::Node*> pending;  // views since the last scale: part of the match only if another scale follows
  ir::Value* at = value;
  for (int depth = 0; depth < kMaxDepth && at->producer != nullptr; ++depth) {
    ir::Node* node = at->producer;
    ScaleStep step;
    if (match_scale(*node, step)) {
      out.factor *= step.factor;
      out.scales.push_back(node);
      out.views.insert(out.views.end(), pending.begin(), pending.end());
      pending.clear();
      at = step.base;
      out.base = at;
      continue;
    }
    const bool cast = node->is("_to_copy") && is_float(at->type.dtype);
    if (!is_rearrangement(*node) && !cast) break;
    auto* const* source = std::get_if<ir::Value*>(&node->args.at(0));
    if (source == nullptr || !is_float((*source)->type.dtype)) break;
    pending.push_back(node);
    at = *source;
  }
  return out;
}

}  // namespace edgelift::match
