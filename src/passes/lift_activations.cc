// Activations without a node of their own: gelu by tanh, mish, softplus, log-sigmoid, softshrink.
#include <cmath>
#include <limits>

#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// x * sigmoid(2u) is 0.5 * x * (1 + tanh(u)), without the loss near -1. u = sqrt(2/pi) * (x + 0.044715 x^3).
// Against the kernel: 5e-7 of the range in float32.
Value* gelu_tanh(Lift& lift, Value* x) {
  const double linear = 2 * std::sqrt(2.0 / M_PI);
  Value* u = lift.mul(x, lift.add(lift.mul(lift.square(x), linear * 0.044715), linear));
  return lift.mul(x, lift.make("sigmoid", {u}));
}

// tanh(log(1 + w)) = n / (n + 2) with n = w (w + 2), w = exp(x). From x = 20 on it is 1 in float32; in float16
// from 5 on, where n still fits.
// Relative error at most 1e-6, for large negative x too.
Value* mish(Lift& lift, Value* x) {
  Value* w = lift.make("exp", {lift.clamp(x, -kInfinity, x->type.dtype == DType::F16 ? 5.0 : 20.0)});
  Value* n = lift.mul(w, lift.add(w, 2.0));
  return lift.mul(x, lift.div(n, lift.add(n, 2.0)));
}

// log(1 + exp(-|x|)), at most 1.2e-7 from the exact value.
Value* log1p_exp_of_minus_abs(Lift& lift, Value* x) {
  return lift.make("log", {lift.add(lift.make("exp", {lift.make("neg", {lift.make("abs", {x})})}), 1.0)});
}

bool rewrite(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (node.op->ns != "aten" || node.results.size() != 1) return false;
  const std::string_view base = node.op->base;
  if (base != "gelu" && base != "mish" && base != "softplus" && base != "log_sigmoid" && base != "softshrink")
    return false;
  const ops::Call call(node);
  Value* x = call.tensor("self");
  if (!is_f32_or_f16(x) || delegated(node)) return false;
  Lift lift(rewriter, node);
  Value* result = nullptr;
  if (base == "gelu") {
    if (call.text("approximate") != "tanh") return false;
    result = gelu_tanh(lift, x);
  } else if (base == "mish") {
    result = mish(lift, x);
  } else if (base == "log_sigmoid") {
    result = lift.sub(lift.clamp(x, -kInfinity, 0), log1p_exp_of_minus_abs(lift, x));
  } else if (base == "softplus") {
    // Past the threshold eager returns x: the sum is x to the last bit there if the threshold is at least 17.
    const double beta = call.number("beta");
    if (!(beta > 0) || call.number("threshold") < 17) {
      context.declined(node, "its threshold makes a step that arithmetic does not have");
      return false;
    }
    Value* z = lift.mul(x, beta);
    result = lift.mul(lift.add(lift.clamp(z, 0, kInfinity), log1p_exp_of_minus_abs(lift, z)), 1 / beta);
  } else {
    const double lambda = call.number("lambd");
    if (!(lambda >= 0)) return false;
    result = lift.sub(x, lift.clamp(x, -lambda, lambda));
  }
  return commit(lift, node, result, context);
}

}  // namespace

Result<bool> lift_activations(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, rewrite);
}

}  // namespace edgelift::passes
