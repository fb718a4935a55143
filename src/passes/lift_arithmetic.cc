// Element-wise functions that are a few of the delegate's: powers, logarithms to other bases, truncation, reversed
// subtraction. Exact unless the line says otherwise; errors are relative and in float32.
#include <cmath>
#include <limits>

#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kMaxPower = 8;

std::optional<double> number_of(const ir::Arg& arg) {
  if (const auto* d = std::get_if<double>(&arg)) return *d;
  if (const auto* i = std::get_if<SymInt>(&arg); i != nullptr && i->is_const()) return static_cast<double>(i->value());
  return std::nullopt;
}

// x^n for n >= 1 by squaring; at most 1.2e-7 for each product.
Value* power(Lift& lift, Value* x, int n) {
  Value* result = nullptr;
  for (Value* square = x; n > 0; n >>= 1) {
    if (n & 1) result = result == nullptr ? square : lift.mul(result, square);
    if (n > 1) square = lift.square(square);
  }
  return result;
}

// x^e up to exponents of 9, and their reciprocals: the whole part by products, quarters by square roots, another
// fraction f as exp(f log x), whose error is at most 2.4e-7 * (1 + |f log x|). Null for other exponents.
Value* power_of(Lift& lift, const ir::Node& node, Value* x, double e) {
  const double magnitude = std::fabs(e);
  if (!(magnitude > 0) || magnitude >= kMaxPower + 1) return nullptr;
  const int whole = static_cast<int>(magnitude);
  const double fraction = magnitude - whole;
  Value* result = whole == 0 ? nullptr : power(lift, x, whole);
  const auto join = [&](Value* factor) { result = result == nullptr ? factor : lift.mul(result, factor); };
  if (const double quarters = fraction * 4; quarters == std::floor(quarters)) {
    Value* root = quarters == 0 ? nullptr : lift.make("sqrt", {x});
    if (quarters >= 2) join(root);
    if (quarters == 1 || quarters == 3) join(lift.make("sqrt", {root}));
  } else {
    // The logarithm loses too much in float16, and alone an operator is as well off outside.
    if (x->type.dtype != DType::F32 || !beside_delegated(node)) return nullptr;
    join(lift.make("exp", {lift.mul(lift.make("log", {x}), fraction)}));
  }
  return e < 0 ? lift.div(1.0, result) : result;
}

// Near zero, where 1 + x rounds x away and the delegate's logarithm is off by 1e-7, by the series of
// 2 atanh(x / (x + 2)); beyond its range the logarithm of what is left of 1 + x is added. At most 6e-7 of the result.
Value* log1p(Lift& lift, Value* x) {
  Value* near = lift.clamp(x, -1.0 / 3, 0.5);
  Value* s = lift.div(near, lift.add(near, 2.0));
  Value* squared = lift.square(s);
  Value* series = lift.mul(squared, 2.0 / 9);
  for (const double power : {7.0, 5.0, 3.0}) series = lift.mul(lift.add(series, 2.0 / power), squared);
  series = lift.mul(lift.add(series, 2.0), s);
  Value* rest = lift.div(lift.add(x, 1.0), lift.add(near, 1.0));  // one where x is near
  return lift.add(series, lift.make("log", {rest}));
}

// exp(x) - 1 without the loss near zero: elu is that below zero, and above it -expm1(-x) exp(x) is. At most 4e-7.
Value* expm1(Lift& lift, Value* x) {
  Value *below = lift.clamp(x, -kInfinity, 0), *above = lift.clamp(x, 0, kInfinity);
  Value* mirrored = lift.mul(lift.make("elu", {lift.make("neg", {above})}), lift.make("exp", {above}));
  return lift.sub(lift.make("elu", {below}), mirrored);
}

// The integer part: each half of the line by the rounding that goes towards zero there.
Value* truncated(Lift& lift, Value* x) {
  return lift.add(lift.make("floor", {lift.clamp(x, 0, kInfinity)}), lift.make("ceil", {lift.clamp(x, -kInfinity, 0)}));
}

// log(1 + e) of e = exp(-|z|), which is in (0, 1]: at most 6e-8 from the exact value.
bool is_small_exp(const Value* x) {
  if (x->producer == nullptr || !x->producer->is("exp")) return false;
  const Value* z = std::get<Value*>(x->producer->args[0]);
  if (z->producer == nullptr || !z->producer->is("neg")) return false;
  const Value* a = std::get<Value*>(z->producer->args[0]);
  return a->producer != nullptr && a->producer->is("abs");
}

Value* lifted(Lift& lift, const ir::Node& node) {
  const ops::Call call(node);
  if (node.is("pow", "Scalar")) {  // e^(x log b): at most 6e-8 * |x log b|
    const auto base = number_of(node.args.at(0));
    Value* exponent = call.tensor("exponent");
    if (!base || !(*base > 0) || !std::isfinite(*base)) return nullptr;
    return lift.make("exp", {lift.mul(exponent, std::log(*base))});
  }
  Value* x = call.tensor("self");
  if (node.is("pow", "Tensor_Scalar")) {
    const auto exponent = number_of(node.args.at(1));
    return exponent ? power_of(lift, node, x, *exponent) : nullptr;
  }
  if (node.is("rsub", "Scalar") || node.is("rsub", "Tensor")) {
    const auto alpha = number_of(call.arg("alpha"));
    if (!alpha) return nullptr;
    Value* scaled = lift.mul(x, *alpha);
    if (node.is("rsub", "Tensor")) return lift.sub(call.tensor("other"), scaled);
    const auto other = number_of(node.args.at(1));
    return other ? lift.sub(*other, scaled) : nullptr;
  }
  if (node.is("log2")) return lift.mul(lift.make("log", {x}), 1 / std::log(2.0));    // 1.2e-7
  if (node.is("log10")) return lift.mul(lift.make("log", {x}), 1 / std::log(10.0));  // 1.2e-7
  if (node.is("log1p") && is_small_exp(x)) return lift.make("log", {lift.add(x, 1.0)});
  if (node.is("log1p")) return x->type.dtype == DType::F32 ? log1p(lift, x) : nullptr;
  if (node.is("expm1")) return x->type.dtype == DType::F32 ? expm1(lift, x) : nullptr;
  if (node.is("clamp", "Tensor")) {
    if (Value* low = call.opt_tensor("min")) x = lift.make("maximum", {x, low});
    if (Value* high = call.opt_tensor("max")) x = lift.make("minimum", {x, high});
    return x;
  }
  if (node.is("trunc")) return truncated(lift, x);
  if (node.is("frac")) return lift.sub(x, truncated(lift, x));
  if (node.is("cosh")) {  // 2e-7; the halves are taken before the exponential, which overflows later that way
    Value* half = lift.number(x, std::log(2.0));
    return lift.add(lift.make("exp", {lift.sub(x, half)}), lift.make("exp", {lift.sub(lift.make("neg", {x}), half)}));
  }
  return nullptr;
}

bool rewrite(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (node.op->ns != "aten" || node.results.size() != 1) return false;
  const std::string_view base = node.op->base;
  if (base != "pow" && base != "rsub" && base != "log2" && base != "log10" && base != "log1p" && base != "trunc" &&
      base != "frac" && base != "cosh" && base != "expm1" && !node.is("clamp", "Tensor"))
    return false;
  if (!is_f32_or_f16(node.result()) || delegated(node)) return false;
  for (const Value* operand : node.operands())
    if (operand->type.dtype != node.result()->type.dtype) return false;
  Lift lift(rewriter, node);
  Value* result = lifted(lift, node);
  return result != nullptr && commit(lift, node, result, context);
}

}  // namespace

Result<bool> lift_arithmetic(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, rewrite);
}

}  // namespace edgelift::passes
