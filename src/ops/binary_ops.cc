// Element-wise arithmetic of two tensors, or of a tensor and a number.
#include "ops/families.h"
#include "ops/infer.h"
#include "ops/kernel_limits.h"
#include "ops/lower_util.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using xnn::Kind;

Types infer_div_mode(const Call& call) {
  return call.has("rounding_mode") ? infer_broadcast(call) : infer_broadcast_float(call);
}

Types infer_float_power(const Call& call) {
  EL_TRY(ir::Shape shape, broadcast_args(call));
  return one(pointwise_type(call, DType::F64, std::move(shape)));
}

// alpha is a factor of one operand, which takes a node of its own.
LowerResult scale_by_alpha(const Call& call, XnnBuilder& b, uint32_t& operand) {
  const auto alpha = known_number(call, "alpha");
  if (!alpha) return refuse(Code::Dynamic, "alpha is known only when the program runs");
  if (*alpha == 1.0) return std::nullopt;
  const DType dtype = call.result()->type.dtype;
  if (!exact_scalar(dtype, *alpha)) return inexact_scalar("alpha", *alpha);
  operand = b.binary(Kind::Multiply, operand, b.unpacked_scalar(dtype, *alpha));
  return std::nullopt;
}

template <Kind kKind>
LowerResult lower_binary(const Call& call, XnnBuilder& b) {
  if (auto refused = refuse_numbers(call)) return refused;
  const uint32_t left = b.value(call.tensor("self"));
  uint32_t right = b.value(call.tensor("other"));
  if (call.op().schema.index_of("alpha") >= 0)
    if (auto refused = scale_by_alpha(call, b, right)) return refused;
  b.binary(kKind, left, right, b.define(call.result()));
  return std::nullopt;
}

LowerResult lower_rsub(const Call& call, XnnBuilder& b) {
  if (auto refused = refuse_numbers(call)) return refused;
  const uint32_t left = b.value(call.tensor("other"));
  uint32_t right = b.value(call.tensor("self"));
  if (auto refused = scale_by_alpha(call, b, right)) return refused;
  b.binary(Kind::Subtract, left, right, b.define(call.result()));
  return std::nullopt;
}

LowerResult lower_div_mode(const Call& call, XnnBuilder& b) {
  if (call.has("rounding_mode"))
    return refuse(Code::Attribute, "rounding_mode is '" + std::string(call.text("rounding_mode")) +
                                       "'; the delegate's division does not round");
  return lower_binary<Kind::Div>(call, b);
}

template <Kind kKind>
LowerResult lower_extremum(const Call& call, XnnBuilder& b) {
  if (auto refused = refuse_numbers(call)) return refused;
  const ir::Value* left = call.tensor("self");
  const ir::Value* right = call.tensor("other");
  nan_extremum(b, kKind, left, right, b.define(call.result()));
  return std::nullopt;
}

// Exponents for which eager itself does not call pow.
LowerResult lower_pow(const Call& call, XnnBuilder& b) {
  const auto exponent = known_number(call, "exponent");
  if (!exponent) return refuse(Code::Dynamic, "the exponent is known only when the program runs");
  const DType dtype = call.type("self").dtype;
  const uint32_t in = b.value(call.tensor("self"));
  const auto out = [&] { return b.define(call.result()); };
  if (*exponent == 1.0) {
    b.alias(call.result(), in);
  } else if (*exponent == 2.0) {
    b.unary(Kind::Square, in, out());
  } else if (*exponent == 3.0) {
    b.binary(Kind::Multiply, b.unary(Kind::Square, in), in, out());
  } else if (*exponent == 0.5) {
    square_root(b, in, out());
  } else if (*exponent == -0.5) {
    reciprocal_square_root(b, call.tensor("self"), out());
  } else if (*exponent == -1.0 || *exponent == -2.0) {
    const uint32_t divisor = *exponent == -1.0 ? in : b.unary(Kind::Square, in);
    b.binary(Kind::Div, b.unpacked_scalar(dtype, 1.0), divisor, out());
  } else {
    return refuse(Code::Attribute, "the exponent is none of -2, -1, -0.5, 0.5, 1, 2, 3; the delegate has no power");
  }
  return std::nullopt;
}

constexpr OpDef kRows[] = {
    {"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", infer_broadcast,
     lower_binary<Kind::Add>, "aten::add.out", kPointwise, "alpha is exact in the dtype"},
    {"aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", infer_broadcast, nullptr,
     "aten::add.Scalar_out", kPointwise,
     "the delegate has no operand that is a plain number; the pass lift-scalars makes a constant of it",
     kernel_keeps_dtype},
    {"aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", infer_broadcast,
     lower_binary<Kind::Subtract>, "aten::sub.out", kPointwise, "alpha is exact in the dtype"},
    {"aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", infer_broadcast, nullptr,
     "aten::sub.Scalar_out", kPointwise,
     "the delegate has no operand that is a plain number; the pass lift-scalars makes a constant of it",
     kernel_keeps_dtype},
    {"aten::subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", infer_broadcast,
     lower_binary<Kind::Subtract>, "aten::sub.out", kPointwise, "alpha is exact in the dtype"},
    {"aten::subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", infer_broadcast, nullptr,
     "aten::sub.Scalar_out", kPointwise,
     "the delegate has no operand that is a plain number; the pass lift-scalars makes a constant of it",
     kernel_keeps_dtype},
    {"aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", infer_broadcast, lower_rsub,
     "aten::sub.out(other, self, alpha)", kPointwise, "alpha is exact in the dtype"},
    {"aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", infer_broadcast, nullptr,
     "aten::rsub.Scalar_out", kPointwise,
     "the delegate has no operand that is a plain number; the pass lift-scalars makes a constant of it"},
    {"aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast, lower_binary<Kind::Multiply>,
     "aten::mul.out", kPointwise},
    {"aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", infer_broadcast, nullptr, "aten::mul.Scalar_out",
     kPointwise, "the delegate has no operand that is a plain number; the pass lift-scalars makes a constant of it"},
    {"aten::multiply.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast, lower_binary<Kind::Multiply>,
     "aten::mul.out", kPointwise},
    {"aten::multiply.Scalar(Tensor self, Scalar other) -> Tensor", infer_broadcast, nullptr, "aten::mul.Scalar_out",
     kPointwise, "the delegate has no operand that is a plain number; the pass lift-scalars makes a constant of it"},
    {"aten::div.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast_float, lower_binary<Kind::Div>,
     "aten::div.out", kPointwise},
    {"aten::div.Scalar(Tensor self, Scalar other) -> Tensor", infer_broadcast_float, nullptr, "aten::div.Scalar_out",
     kPointwise, "the delegate has no operand that is a plain number; the pass lift-scalars makes a constant of it"},
    {"aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", infer_div_mode,
     lower_div_mode, "aten::div.out_mode", kPointwise, "without rounding_mode"},
    {"aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", infer_div_mode, nullptr,
     "aten::div.Scalar_mode_out", kPointwise,
     "the delegate has no operand that is a plain number; the pass lift-scalars makes a constant of it"},
    {"aten::divide.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast_float, lower_binary<Kind::Div>,
     "aten::div.out", kPointwise},
    {"aten::divide.Scalar(Tensor self, Scalar other) -> Tensor", infer_broadcast_float, nullptr, "aten::div.Scalar_out",
     kPointwise, "the delegate has no operand that is a plain number; the pass lift-scalars makes a constant of it"},
    {"aten::divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", infer_div_mode,
     lower_div_mode, "aten::div.out_mode", kPointwise, "without rounding_mode"},
    {"aten::divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", infer_div_mode, nullptr,
     "aten::div.Scalar_mode_out", kPointwise,
     "the delegate has no operand that is a plain number; the pass lift-scalars makes a constant of it"},
    {"aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast_float, lower_binary<Kind::Div>,
     "aten::div.out", kPointwise},
    {"aten::true_divide.Scalar(Tensor self, Scalar other) -> Tensor", infer_broadcast_float, nullptr,
     "aten::div.Scalar_out", kPointwise,
     "the delegate has no operand that is a plain number; the pass lift-scalars makes a constant of it"},
    {"aten::floor_divide(Tensor self, Tensor other) -> Tensor", infer_broadcast, nullptr, "aten::floor_divide.out",
     kPointwise, "the delegate's division does not round"},
    {"aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor",
     infer_broadcast,
     nullptr,
     {},
     kPointwise,
     "the delegate's division does not round"},
    {"aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor",
     infer_broadcast,
     nullptr,
     "aten::remainder.Tensor_out",
     kPointwise,
     {},
     kernel_remainder},
    {"aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor",
     infer_broadcast,
     nullptr,
     "aten::remainder.Scalar_out",
     kPointwise,
     {},
     kernel_remainder},
    {"aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", infer_broadcast, nullptr, {}, kPointwise},
    {"aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast, nullptr, "aten::fmod.Tensor_out",
     kPointwise},
    {"aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", infer_broadcast, nullptr, "aten::fmod.Scalar_out",
     kPointwise},
    {"aten::maximum(Tensor self, Tensor other) -> Tensor", infer_broadcast, lower_extremum<Kind::Maximum>,
     "aten::maximum.out", kPointwise, "NaN of the operands is kept by two more nodes"},
    {"aten::minimum(Tensor self, Tensor other) -> Tensor", infer_broadcast, lower_extremum<Kind::Minimum>,
     "aten::minimum.out", kPointwise, "NaN of the operands is kept by two more nodes"},
    {"aten::max.other(Tensor self, Tensor other) -> Tensor", infer_broadcast, lower_extremum<Kind::Maximum>,
     "aten::maximum.out", kPointwise, "NaN of the operands is kept by two more nodes"},
    {"aten::min.other(Tensor self, Tensor other) -> Tensor", infer_broadcast, lower_extremum<Kind::Minimum>,
     "aten::minimum.out", kPointwise, "NaN of the operands is kept by two more nodes"},
    {"aten::fmax(Tensor self, Tensor other) -> Tensor", infer_broadcast, nullptr, {}, kPointwise},
    {"aten::fmin(Tensor self, Tensor other) -> Tensor", infer_broadcast, nullptr, {}, kPointwise},
    {"aten::atan2(Tensor self, Tensor other) -> Tensor", infer_broadcast_float, nullptr, "aten::atan2.out", kPointwise},
    {"aten::arctan2(Tensor self, Tensor other) -> Tensor", infer_broadcast_float, nullptr, "aten::atan2.out",
     kPointwise},
    {"aten::hypot(Tensor self, Tensor other) -> Tensor", infer_broadcast_float, nullptr, {}, kPointwise},
    {"aten::logaddexp(Tensor self, Tensor other) -> Tensor", infer_broadcast_float, nullptr, {}, kPointwise},
    {"aten::logaddexp2(Tensor self, Tensor other) -> Tensor", infer_broadcast_float, nullptr, {}, kPointwise},
    {"aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast_float, nullptr, {}, kPointwise},
    {"aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor", infer_broadcast_float, nullptr, {}, kPointwise},
    {"aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast_float, nullptr, {}, kPointwise},
    {"aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", infer_broadcast_float, nullptr, {}, kPointwise},
    {"aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", infer_broadcast_float, nullptr, {}, kPointwise},
    {"aten::special_xlogy(Tensor self, Tensor other) -> Tensor", infer_broadcast_float, nullptr, {}, kPointwise},
    {"aten::special_xlog1py(Tensor self, Tensor other) -> Tensor", infer_broadcast_float, nullptr, {}, kPointwise},
    {"aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor",
     infer_broadcast_float,
     nullptr,
     {},
     kPointwise},
    {"aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor",
     infer_broadcast_float,
     nullptr,
     {},
     kPointwise},
    {"aten::heaviside(Tensor self, Tensor values) -> Tensor", infer_broadcast, nullptr, {}, kPointwise},
    {"aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor", infer_broadcast_float, nullptr, {}, kPointwise},
    {"aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", infer_broadcast, lower_pow,
     "aten::pow.Tensor_Scalar_out", kPointwise, "the exponent is -2, -1, -0.5, 0.5, 1, 2 or 3"},
    {"aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", infer_broadcast, nullptr,
     "aten::pow.Tensor_Tensor_out", kPointwise},
    {"aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", infer_broadcast, nullptr, "aten::pow.Scalar_out",
     kPointwise},
    {"aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor",
     infer_float_power,
     nullptr,
     {},
     kPointwise},
    {"aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
     infer_float_power,
     nullptr,
     {},
     kPointwise},
    {"aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor", infer_float_power, nullptr, {}, kPointwise},
    {"aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", infer_broadcast, nullptr, {}, kPointwise},
    {"aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", infer_broadcast, nullptr, {}, kPointwise},
    {"aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
     infer_broadcast,
     nullptr,
     {},
     kPointwise},
    {"aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
     infer_broadcast_float,
     nullptr,
     {},
     kPointwise},
    {"aten::nextafter(Tensor self, Tensor other) -> Tensor", infer_broadcast, nullptr, {}, kPointwise},
    {"aten::gcd(Tensor self, Tensor other) -> Tensor",
     infer_broadcast,
     nullptr,
     {},
     kPointwise,
     "it works on integers, which the delegate is not used for"},
    {"aten::lcm(Tensor self, Tensor other) -> Tensor",
     infer_broadcast,
     nullptr,
     {},
     kPointwise,
     "it works on integers, which the delegate is not used for"},
    // In-place forms.
    {"aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::sub_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::subtract_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::subtract_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::multiply_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::multiply_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::div_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? rounding_mode) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::div_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? rounding_mode) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::divide_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? rounding_mode) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::divide_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? rounding_mode) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::true_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::true_divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::floor_divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::remainder_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::remainder_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::fmod_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::fmod_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::atan2_(Tensor(a!) self, Tensor other) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::arctan2_(Tensor(a!) self, Tensor other) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::hypot_(Tensor(a!) self, Tensor other) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::copysign_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::copysign_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::xlogy_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::xlogy_.Scalar_Other(Tensor(a!) self, Scalar other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::heaviside_(Tensor(a!) self, Tensor values) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::pow_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::float_power_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::lerp_.Scalar(Tensor(a!) self, Tensor end, Scalar weight) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::lerp_.Tensor(Tensor(a!) self, Tensor end, Tensor weight) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::addcmul_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::addcdiv_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::gcd_(Tensor(a!) self, Tensor other) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::lcm_(Tensor(a!) self, Tensor other) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::floor_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
};

}  // namespace

std::span<const OpDef> binary_ops() { return kRows; }

}  // namespace edgelift::ops
