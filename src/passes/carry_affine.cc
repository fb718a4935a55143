// The affine of a norm that has no statistics (x * g + b by channel: NoNorm, layer scale) is carried past the sums of a
// residual stream instead of being computed before each: with n = u * g + b, a linear that reads n takes g and b into
// its weights, and n + y = (u + (y + b) / g) * g, where the linear that makes y takes b and 1/g. What is left of the
// sum is one multiplication, which joins the next affine, and so on to the end of the stream. Chains of multiplications
// and additions by channel become one of each. Each weight is rounded once more a step: 2e-7 of the output's range.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "match/constant.h"
#include "match/views.h"
#include "passes/affine.h"
#include "passes/lift.h"
#include "passes/passes.h"
#include "passes/weights.h"

namespace edgelift::passes {
namespace {

// value = base * scale + shift, over `nodes` operators of which only the last has other readers.
struct Chain {
  Value* base = nullptr;
  std::vector<double> scale, shift;
  size_t nodes = 0;
  bool scales() const {
    return std::any_of(scale.begin(), scale.end(), [](double s) { return s != 1; });
  }
  bool shifts() const {
    return std::any_of(shift.begin(), shift.end(), [](double s) { return s != 0; });
  }
};

Chain chain_of(Value* value) {
  Chain chain;
  chain.base = value;
  const ir::Type& type = value->type;
  if (!type.is_tensor() || type.dtype != DType::F32 || type.rank() == 0 || !type.sizes.back().is_const()) return chain;
  const int64_t channels = type.sizes.back().value();
  chain.scale.assign(static_cast<size_t>(channels), 1.0);
  chain.shift.assign(static_cast<size_t>(channels), 0.0);
  while (chain.base->producer != nullptr && (chain.nodes == 0 || match::used_once(chain.base))) {
    const auto step = as_affine_step(*chain.base->producer, 1, channels);
    if (!step) break;
    for (size_t c = 0; c < chain.scale.size(); ++c) {
      chain.shift[c] += chain.scale[c] * step->shift[c];
      chain.scale[c] *= step->scale[c];
    }
    chain.base = step->input;
    ++chain.nodes;
  }
  return chain;
}

// What a division by the scale may multiply rounding errors and ranges by.
constexpr double kLargestScale = 65536;

struct Sum {
  ir::Node* node = nullptr;
  size_t operand = 0;  // which one is the chain's value
  Layer other;         // the linear that makes the other
};

// n + y, where y is made by a linear for this sum alone.
std::optional<Sum> as_sum(ir::Node& user, const Value* value) {
  if (!user.is("add", "Tensor") || !between_tensors(user) || ops::Call(user).number("alpha") != 1) return std::nullopt;
  Sum sum;
  sum.node = &user;
  sum.operand = user.args[0] == ir::Arg(const_cast<Value*>(value)) ? 0 : 1;
  Value* other = std::get<Value*>(user.args[1 - sum.operand]);
  if (other == value || other->producer == nullptr || !match::used_once(other)) return std::nullopt;
  if (!(other->type == value->type) || !(user.result()->type == value->type)) return std::nullopt;
  auto layer = as_layer(*other->producer);
  if (!layer || layer->kind != Layer::Kind::Linear || layer->shares_weight) return std::nullopt;
  sum.other = std::move(*layer);
  return sum;
}

Value* channel_constant(ir::Rewriter& rewriter, const std::string& name, const std::vector<double>& values) {
  return rewriter.constant(name, vector_data(DType::F32, values));
}

// One multiplication and one addition for the whole chain.
bool shorten(ir::Node& node, const Chain& chain, ir::Rewriter& rewriter) {
  if (chain.nodes <= static_cast<size_t>(chain.scales()) + static_cast<size_t>(chain.shifts())) return false;
  if (!(chain.base->type == node.result()->type)) return false;
  rewriter.set_insert_point(&node);
  Value* value = chain.base;
  const std::string& name = node.result()->name;
  if (chain.scales())
    value = rewriter.make("mul.Tensor", {value, channel_constant(rewriter, name + "_scale", chain.scale)});
  if (chain.shifts())
    value = rewriter.make("add.Tensor", {value, channel_constant(rewriter, name + "_shift", chain.shift)});
  if (value->producer == nullptr && rewriter.graph().is_output(node.result())) return false;
  rewriter.replace(node.result(), value);
  rewriter.erase_dead(&node);
  return true;
}

bool carry(ir::Node& node, ir::Rewriter& rewriter, PassContext& context, WeightBudget& budget) {
  if (node.results.size() != 1 || node.op->ns != "aten" || !node.result()->type.is_tensor()) return false;
  ir::Graph& graph = rewriter.graph();
  Value* value = node.result();
  const ir::Type& type = value->type;
  if (type.rank() == 0 || !type.sizes.back().is_const()) return false;
  // Where another step follows, the chain's end is looked at.
  const int64_t channels = type.sizes.back().value();
  if (!as_affine_step(node, 1, channels).has_value()) return false;
  if (const ir::Node* next = match::only_user(value); next != nullptr && as_affine_step(*next, 1, channels))
    return false;
  const Chain chain = chain_of(value);
  if (chain.nodes == 0 || !(chain.base->type == type)) return false;
  std::vector<ir::Node*> users = value->users;  // in no order of their own
  std::sort(users.begin(), users.end(), [](const ir::Node* a, const ir::Node* b) { return a->order < b->order; });
  std::vector<Layer> readers, layers;
  std::vector<Sum> sums;
  bool good = !graph.is_output(value) && std::adjacent_find(users.begin(), users.end()) == users.end();
  for (size_t i = 0; i < users.size() && good; ++i) {
    if (auto sum = as_sum(*users[i], value)) {
      layers.push_back(sum->other);
      sums.push_back(std::move(*sum));
      continue;
    }
    auto layer = as_layer(*users[i]);
    good = layer && layer->kind == Layer::Kind::Linear && !layer->shares_weight && users[i]->args[0] == ir::Arg(value);
    if (!good) break;
    layers.push_back(*layer);
    readers.push_back(std::move(*layer));
  }
  // Without a sum it is for fold-affine; each sum costs a multiplication, which must not be more than what goes.
  if (!good || sums.empty() || sums.size() > chain.nodes) return shorten(node, chain, rewriter);
  if (std::any_of(chain.scale.begin(), chain.scale.end(),
                  [](double s) { return !(std::abs(s) <= kLargestScale && std::abs(s) >= 1 / kLargestScale); })) {
    context.declined(node, "a factor of it is too large or too close to zero to be carried past a sum");
    return shorten(node, chain, rewriter);
  }
  if (!budget.take(layers, node, context)) return shorten(node, chain, rewriter);

  for (Layer& layer : readers) {
    rewriter.set_insert_point(layer.node);
    rewrite_inputs(rewriter, layer, chain.scale, chain.shift);
    rewriter.set_arg(layer.node, "input", chain.base);
  }
  std::vector<double> inverse(chain.scale.size()), shift(chain.scale.size());
  for (size_t c = 0; c < inverse.size(); ++c) {
    inverse[c] = 1 / chain.scale[c];
    shift[c] = chain.shift[c] / chain.scale[c];
  }
  for (Sum& sum : sums) {
    // As it is now: a linear that reads the value has taken its affine above.
    auto other = as_layer(*sum.other.node);
    EL_CHECK(other.has_value(), "a linear stays one");
    rewriter.set_insert_point(other->node);
    rewrite_outputs(rewriter, *other, inverse, shift);
    rewriter.set_arg(sum.node, sum.operand == 0 ? "self" : "other", chain.base);
    if (!chain.scales()) continue;
    // After the sum; made of the base first, so that the sum's readers can be handed over.
    rewriter.set_insert_point(sum.node->next);
    rewriter.set_origin(node.origin);
    Value* total = sum.node->result();
    Value* scaled =
        rewriter.make("mul.Tensor", {chain.base, channel_constant(rewriter, value->name + "_carried", chain.scale)});
    rewriter.replace(total, scaled);
    rewriter.set_arg(scaled->producer, "self", total);
  }
  rewriter.erase_dead(&node);
  return true;
}

}  // namespace

Result<bool> carry_affine(ir::Program& program, PassContext& context) {
  WeightBudget budget(context);
  return rewrite_nodes(program, context, [&budget](ir::Node& node, ir::Rewriter& rewriter, PassContext& pass) {
    return carry(node, rewriter, pass, budget);
  });
}

}  // namespace edgelift::passes
