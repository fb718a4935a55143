// Element-wise operators without a kernel.
#include <cmath>
#include <limits>

#include "edge/table.h"

namespace edgelift::edge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Value* lt(Builder& b, Value* x, const Arg& y) { return b.binary("lt", x, y); }
Value* gt(Builder& b, Value* x, const Arg& y) { return b.binary("gt", x, y); }
Value* eq(Builder& b, Value* x, const Arg& y) { return b.binary("eq", x, y); }
Value* both(Builder& b, Value* x, Value* y) { return b.make("logical_and", {x, y}); }
Value* either(Builder& b, Value* x, Value* y) { return b.make("logical_or", {x, y}); }
bool real_float(Builder& b, Value* x) { return is_float(b.dtype(x)); }

Value* is_finite(Builder& b, Value* x) {
  // |x| < inf is false for NaN as well.
  return real_float(b, x) ? lt(b, b.unary("abs", x), kInf) : b.full(x->type.sizes, true, DType::Bool);
}

Value* scaled(Builder& b, Value* x, const Arg& factor) { return literal(factor) == 1.0 ? x : b.mul(x, factor); }

Value* float_of(Builder& b, Value* x) { return is_float(b.dtype(x)) ? x : b.cast(x, DType::F32); }

Result<bool> rsub(Builder& b) {
  Value* x = b.in();
  const Arg alpha = b.arg("alpha");
  if (b.call.op().overload == "Tensor") return b.replace(b.make("sub.Tensor", {b.arg("other"), x}, {{"alpha", alpha}}));
  if (!b.upstream) return false;
  return b.replace(b.rsub(b.arg("other"), scaled(b, x, alpha)));
}

Result<bool> addcmul(Builder& b) {
  Value* product = b.mul(b.in("tensor1"), b.in("tensor2"));
  return b.replace(b.cast(b.add(b.in(), scaled(b, product, b.arg("value"))), b.out_type().dtype));
}

Result<bool> addcdiv(Builder& b) {
  Value* ratio = b.div(b.in("tensor1"), b.in("tensor2"));
  return b.replace(b.cast(b.add(b.in(), scaled(b, ratio, b.arg("value"))), b.out_type().dtype));
}

// From whichever end is nearer, as eager does.
Result<bool> lerp(Builder& b) {
  Value* x = b.in();
  Value* end = b.in("end");
  Value* way = b.sub(end, x);
  const Arg weight = b.arg("weight");
  const auto number = literal(weight);
  if (number) {
    if (std::fabs(*number) < 0.5) return b.replace(b.add(x, b.mul(way, weight)));
    return b.replace(b.sub(end, b.mul(way, 1.0 - *number)));
  }
  if (!is_tensor(weight)) return b.replace(b.add(x, b.mul(way, weight)));
  Value* w = std::get<Value*>(weight);
  Value* near = lt(b, b.unary("abs", w), 0.5);
  Value* from_start = b.add(x, b.mul(w, way));
  Value* from_end = b.sub(end, b.mul(b.rsub(SymInt(1), w), way));
  return b.replace(b.where(near, from_start, from_end));
}

// Eager takes roots and reciprocals by their own functions, which differ from pow at -0 and -inf.
Result<bool> pow_number(Builder& b) {
  Value* x = b.in();
  const auto exponent = literal(b.arg("exponent"));
  if (b.upstream || !exponent || !real_float(b, x) || b.dtype(x) != b.out_type().dtype) return false;
  if (*exponent == 0.5) return b.replace(b.unary("sqrt", x));
  if (*exponent == -0.5) return b.replace(b.unary("rsqrt", x));
  if (*exponent == -1) return b.replace(b.unary("reciprocal", x));
  if (*exponent == 1) return b.replace(x);
  return false;
}

Result<bool> square(Builder& b) { return b.replace(b.square(b.in())); }
Result<bool> erfc(Builder& b) { return b.replace(b.rsub(SymInt(1), b.unary("erf", b.in()))); }
Result<bool> exp2(Builder& b) { return b.replace(b.make("pow.Scalar", {2.0, float_of(b, b.in())})); }
Result<bool> sgn(Builder& b) {
  if (is_complex(b.dtype(b.in()))) return b.refuse("takes complex numbers, for which the runtime has no kernel");
  return b.replace(b.unary("sign", b.in()));
}
Result<bool> frac(Builder& b) { return b.replace(b.sub(b.in(), b.unary("trunc", b.in()))); }
Result<bool> rad2deg(Builder& b) { return b.replace(b.mul(float_of(b, b.in()), 180.0 / M_PI)); }
Result<bool> deg2rad(Builder& b) { return b.replace(b.mul(float_of(b, b.in()), M_PI / 180.0)); }

Value* sign_bit(Builder& b, Value* x) {
  if (!real_float(b, x))
    return is_integer(b.dtype(x)) ? lt(b, x, SymInt(0)) : b.full(x->type.sizes, false, DType::Bool);
  // atan2(0, x) is pi exactly where the sign bit is set, -0 included.
  Value* zero = b.number_tensor(0.0, b.dtype(x));
  return gt(b, b.make("atan2", {zero, x}), 1.0);
}
Result<bool> signbit(Builder& b) { return b.replace(sign_bit(b, b.in())); }

Result<bool> copysign(Builder& b) {
  Value* x = float_of(b, b.in());
  const Arg other = b.arg("other");
  Value* size = b.unary("abs", x);
  if (const auto number = literal(other)) return b.replace(std::signbit(*number) ? b.neg(size) : size);
  Value* y = std::get<Value*>(other);
  return b.replace(b.cast(b.where(sign_bit(b, y), b.neg(size), size), b.out_type().dtype));
}

Result<bool> sinc(Builder& b) {
  Value* x = float_of(b, b.in());
  Value* scaled_x = b.mul(x, M_PI);
  return b.replace(b.where(eq(b, x, SymInt(0)), 1.0, b.div(b.unary("sin", scaled_x), scaled_x), b.dtype(x)));
}

Result<bool> isfinite(Builder& b) { return b.replace(is_finite(b, b.in())); }
Result<bool> isposinf(Builder& b) { return b.replace(eq(b, b.in(), kInf)); }
Result<bool> isneginf(Builder& b) { return b.replace(eq(b, b.in(), -kInf)); }
Result<bool> isreal(Builder& b) { return b.replace(b.full(b.in()->type.sizes, true, DType::Bool)); }

Result<bool> isclose(Builder& b) {
  Value* x = b.in();
  Value* y = b.in("other");
  Value* close = eq(b, x, y);
  if (b.call.flag("equal_nan") && real_float(b, x))
    close = either(b, close, both(b, b.unary("isnan", x), b.unary("isnan", y)));
  Value* gap = b.unary("abs", b.sub(x, y));
  Value* allowed = b.add(b.unary("abs", b.mul(y, b.arg("rtol"))), b.arg("atol"));
  Value* near = b.make("le.Tensor", {gap, allowed});
  return b.replace(either(b, close, both(b, is_finite(b, gap), near)));
}

Result<bool> nan_to_num(Builder& b) {
  Value* x = b.in();
  if (!real_float(b, x)) return b.replace(x);
  double big = std::numeric_limits<float>::max();
  if (b.dtype(x) == DType::F16) big = 65504;
  if (b.dtype(x) == DType::BF16) big = 3.3895313892515355e38;
  if (b.dtype(x) == DType::F64) big = std::numeric_limits<double>::max();
  const double nan = b.call.opt_number("nan").value_or(0);
  const double high = b.call.opt_number("posinf").value_or(big), low = b.call.opt_number("neginf").value_or(-big);
  Value* out = b.masked_fill(x, b.unary("isnan", x), nan);
  out = b.masked_fill(out, eq(b, x, kInf), high);
  return b.replace(b.masked_fill(out, eq(b, x, -kInf), low));
}

Result<bool> logaddexp(Builder& b) {
  Value* x = b.in();
  Value* y = b.in("other");
  const bool two = b.base() == "logaddexp2";
  Value* high = b.maximum(x, y);
  Value* gap = b.neg(b.unary("abs", b.sub(x, y)));
  Value* tail = b.unary("log1p", b.unary("exp", two ? b.mul(gap, M_LN2) : gap));
  if (two) tail = b.mul(tail, 1 / M_LN2);
  // inf - inf would be NaN.
  Value* same = both(b, eq(b, x, y), b.unary("isinf", x));
  return b.replace(b.where(same, x, b.add(high, tail)));
}

Result<bool> xlogy(Builder& b) {
  const Arg self = b.arg("self"), other = b.arg("other");
  const DType d = b.out_type().dtype;
  const auto tensor = [&](const Arg& arg) {
    return is_tensor(arg) ? b.cast(std::get<Value*>(arg), d) : b.number_tensor(arg, d);
  };
  Value* x = tensor(self);
  Value* y = tensor(other);
  Value* log = b.unary(b.base() == "special_xlog1py" ? "log1p" : "log", y);
  Value* out = b.where(eq(b, x, SymInt(0)), 0.0, b.mul(x, log), d);
  return b.replace(b.where(b.unary("isnan", y), kNan, out, d));
}

Result<bool> hypot(Builder& b) { return b.replace(b.unary("sqrt", b.add(b.square(b.in()), b.square(b.in("other"))))); }

Result<bool> fmax(Builder& b) {
  Value* x = b.in();
  Value* y = b.in("other");
  Value* out = b.make(b.base() == "fmax" ? "maximum" : "minimum", {x, y});
  if (!is_float(b.dtype(out))) return b.replace(out);
  out = b.where(b.unary("isnan", y), x, out);
  return b.replace(b.where(b.unary("isnan", x), y, out));
}

Result<bool> heaviside(Builder& b) {
  Value* x = b.in();
  return b.replace(b.where(eq(b, x, SymInt(0)), b.in("values"), b.cast(gt(b, x, SymInt(0)), b.dtype(x))));
}

Result<bool> float_power(Builder& b) {
  const Arg self = b.arg("self"), exponent = b.arg("exponent");
  const auto wide = [&](const Arg& arg) -> Arg {
    return is_tensor(arg) ? Arg(b.cast(std::get<Value*>(arg), DType::F64)) : arg;
  };
  const char* form = !is_tensor(self) ? "pow.Scalar" : is_tensor(exponent) ? "pow.Tensor_Tensor" : "pow.Tensor_Scalar";
  return b.replace(b.make(form, {wide(self), wide(exponent)}));
}

Result<bool> clamp_one(Builder& b) {
  Value* x = b.in();
  const bool low = b.base() == "clamp_min";
  const Arg bound = b.arg(low ? "min" : "max");
  if (is_tensor(bound)) return b.replace(b.make(low ? "maximum" : "minimum", {x, bound}));
  return b.replace(low ? b.clamp(x, bound, Arg()) : b.clamp(x, Arg(), bound));
}

Result<bool> where_numbers(Builder& b) {
  const DType d = b.out_type().dtype;
  return b.replace(b.where(b.in("condition"), b.arg("self"), b.arg("other"), d));
}

// The condition of where must be bool for the kernel; eager also takes uint8.
Result<bool> where(Builder& b) {
  if (b.dtype(b.in("condition")) == DType::Bool) return false;
  Value* condition = b.make("ne.Scalar", {b.in("condition"), SymInt(0)});
  return b.replace(b.where(condition, b.in(), b.in("other")));
}

Result<bool> masked_fill(Builder& b) {
  Value* x = b.in();
  const Arg value = b.arg("value");
  if (!is_tensor(value)) {
    if (!b.upstream) return false;
    return b.replace(b.where(b.in("mask"), value, x, b.dtype(x)));
  }
  return b.replace(b.where(b.in("mask"), b.cast(std::get<Value*>(value), b.dtype(x)), x));
}

Result<bool> remainder_of_number(Builder& b) {
  Value* y = b.in("other");
  return b.replace(
      b.make("remainder.Tensor", {b.number_tensor(b.arg("self"), wrapped_dtype(b.arg("self"), b.dtype(y))), y}));
}

Result<bool> floor_divide(Builder& b) {
  Value* x = b.in();
  if (is_tensor(b.arg("other"))) {
    if (!b.upstream) return false;
    return b.replace(b.make("div.Tensor_mode", {x, b.arg("other")}, {{"rounding_mode", std::string("floor")}}));
  }
  return b.replace(b.make("div.Scalar_mode", {x, b.arg("other")}, {{"rounding_mode", std::string("floor")}}));
}

// bitwise_and.Scalar_Tensor and its kind: a number on the left.
Result<bool> bitwise_left_number(Builder& b) {
  Value* y = b.in("other");
  if (b.base() == "bitwise_left_shift" || b.base() == "bitwise_right_shift")
    return b.replace(b.make(b.base() + ".Tensor", {b.number_tensor(b.arg("self"), b.dtype(y)), y}));
  return b.replace(b.make(b.base() + ".Scalar", {y, b.arg("self")}));
}

Result<bool> round_decimals(Builder& b) {
  const int64_t decimals = b.integer("decimals");
  const double ten = std::pow(10.0, static_cast<double>(std::llabs(decimals)));
  Value* x = b.in();
  if (decimals == 0) return b.replace(b.unary("round", x));
  Value* big = decimals > 0 ? b.mul(x, ten) : b.div(x, ten);
  Value* whole = b.unary("round", big);
  return b.replace(decimals > 0 ? b.div(whole, ten) : b.mul(whole, ten));
}

Result<bool> entr(Builder& b) {
  Value* x = float_of(b, b.in());
  Value* body = b.where(gt(b, x, SymInt(0)), b.neg(b.mul(x, b.unary("log", x))),
                        b.where(eq(b, x, SymInt(0)), 0.0, -kInf, b.dtype(x)));
  return b.replace(b.where(b.unary("isnan", x), x, body));
}

Result<bool> ndtr(Builder& b) {
  Value* x = float_of(b, b.in());
  return b.replace(b.mul(b.add(b.unary("erf", b.mul(x, M_SQRT1_2)), SymInt(1)), 0.5));
}

Result<bool> ldexp(Builder& b) {
  Value* power = b.make("pow.Scalar", {2.0, float_of(b, b.in("other"))});
  return b.replace(b.cast(b.mul(b.in(), power), b.out_type().dtype));
}

Result<bool> losses(Builder& b) {
  Value* x = b.in();
  Value* target = b.in("target");
  Value* gap = b.sub(x, target);
  Value* loss = nullptr;
  if (b.base() == "mse_loss") {
    loss = b.square(gap);
  } else if (b.base() == "l1_loss") {
    loss = b.unary("abs", gap);
  } else {  // smooth_l1_loss, huber_loss
    const bool huber = b.base() == "huber_loss";
    const double beta = b.call.number(huber ? "delta" : "beta");
    Value* size = b.unary("abs", gap);
    if (beta == 0) {
      loss = size;
    } else {
      Value* inner = b.mul(b.square(size), huber ? 0.5 : 0.5 / beta);
      Value* outer = b.sub(size, 0.5 * beta);
      if (huber) outer = b.mul(outer, beta);
      loss = b.where(lt(b, size, beta), inner, outer);
    }
  }
  const int64_t reduction = b.integer("reduction");
  if (reduction == 1) loss = b.mean(loss, iota(b.rank(loss)), false);
  if (reduction == 2) loss = b.sum(loss, iota(b.rank(loss)), false);
  return b.replace(loss);
}

constexpr Entry kEntries[] = {
    {"rsub.Tensor", rsub},
    {"rsub.Scalar", rsub, kUpstream},
    {"addcmul", addcmul},
    {"addcdiv", addcdiv},
    {"lerp.Scalar", lerp},
    {"lerp.Tensor", lerp},
    {"square", square},
    {"erfc", erfc},
    {"exp2", exp2},
    {"sgn", sgn},
    {"pow.Tensor_Scalar", pow_number, kEdge},
    {"frac", frac},
    {"rad2deg", rad2deg},
    {"deg2rad", deg2rad},
    {"signbit", signbit},
    {"copysign.Tensor", copysign},
    {"copysign.Scalar", copysign},
    {"sinc", sinc},
    {"isfinite", isfinite},
    {"isposinf", isposinf},
    {"isneginf", isneginf},
    {"isreal", isreal},
    {"isclose", isclose},
    {"nan_to_num", nan_to_num},
    {"logaddexp", logaddexp},
    {"logaddexp2", logaddexp},
    {"xlogy.Tensor", xlogy},
    {"xlogy.Scalar_Self", xlogy},
    {"xlogy.Scalar_Other", xlogy},
    {"special_xlog1py", xlogy},
    {"hypot", hypot},
    {"fmax", fmax},
    {"fmin", fmax},
    {"heaviside", heaviside},
    {"float_power.Tensor_Tensor", float_power},
    {"float_power.Tensor_Scalar", float_power},
    {"float_power.Scalar", float_power},
    {"clamp_min", clamp_one},
    {"clamp_min.Tensor", clamp_one},
    {"clamp_max", clamp_one},
    {"clamp_max.Tensor", clamp_one},
    {"where.Scalar", where_numbers},
    {"where.ScalarSelf", where_numbers},
    {"where.ScalarOther", where_numbers},
    {"where.self", where, kEdge},
    {"masked_fill.Tensor", masked_fill},
    {"masked_fill.Scalar", masked_fill, kUpstream},
    {"remainder.Scalar_Tensor", remainder_of_number},
    {"floor_divide", floor_divide, kUpstream},
    {"floor_divide.Scalar", floor_divide},
    {"bitwise_and.Scalar_Tensor", bitwise_left_number},
    {"bitwise_or.Scalar_Tensor", bitwise_left_number},
    {"bitwise_xor.Scalar_Tensor", bitwise_left_number},
    {"bitwise_left_shift.Scalar_Tensor", bitwise_left_number},
    {"bitwise_right_shift.Scalar_Tensor", bitwise_left_number},
    {"round.decimals", round_decimals},
    {"special_entr", entr},
    {"special_ndtr", ndtr},
    {"ldexp.Tensor", ldexp},
    {"special_xlog1py.other_scalar", xlogy},
    {"special_xlog1py.self_scalar", xlogy},
    {"mse_loss", losses},
    {"l1_loss", losses},
    {"smooth_l1_loss", losses},
    {"huber_loss", losses},
};

}  // namespace

std::span<const Entry> pointwise_entries() { return kEntries; }

}  // namespace edgelift::edge
