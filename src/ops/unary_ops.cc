// Element-wise functions of one tensor.
#include <cmath>

#include "ops/families.h"
#include "ops/infer.h"
#include "ops/kernel_limits.h"
#include "ops/lower_util.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using xnn::Kind;

// The magnitude of complex numbers is real.
Types infer_abs(const Call& call) {
  ir::Type type = call.type("self");
  if (type.dtype == DType::C64) type.dtype = DType::F32;
  if (type.dtype == DType::C128) type.dtype = DType::F64;
  if (type.dtype == DType::C32) type.dtype = DType::F16;
  return one(std::move(type));
}

// As a product: bool times bool by itself is an integer.
Types infer_square(const Call& call) {
  ir::Type type = call.type("self");
  if (type.dtype == DType::Bool) type.dtype = DType::I64;
  return one(std::move(type));
}

Types infer_clamp(const Call& call) {
  ir::Type type = call.type("self");
  Promotion promotion;
  promotion.add(type);
  for (const std::string_view bound : {"min", "max"})
    if (call.has(bound)) promotion.add(call.arg(bound));
  if (!call.has("min") && !call.has("max")) return input_error("neither min nor max is given");
  type.dtype = promotion.result();
  return one(std::move(type));
}

// XNNPACK's exponential gives 0 for NaN, and its float16 kernel a positive number for -inf.
LowerResult lower_exp(const Call& call, XnnBuilder& b) {
  const uint32_t in = b.value(call.tensor("self"));
  const uint32_t out = b.define(call.result());
  if (call.type("self").dtype == DType::F16) {
    unary_in_f32(b, Kind::Exp, in, out);
  } else {
    with_nan_of(b, in, b.unary(Kind::Exp, in), out);
  }
  return std::nullopt;
}

// The float16 kernel of the logarithm gives a number for NaN; that of float32 does not.
LowerResult lower_log(const Call& call, XnnBuilder& b) {
  if (call.type("self").dtype != DType::F16) return lower_unary<Kind::Log>(call, b);
  const uint32_t in = b.value(call.tensor("self"));
  unary_in_f32(b, Kind::Log, in, b.define(call.result()));
  return std::nullopt;
}

LowerResult lower_sqrt(const Call& call, XnnBuilder& b) {
  const uint32_t in = b.value(call.tensor("self"));
  square_root(b, in, b.define(call.result()));
  return std::nullopt;
}

LowerResult lower_rsqrt(const Call& call, XnnBuilder& b) {
  reciprocal_square_root(b, call.tensor("self"), b.define(call.result()));
  return std::nullopt;
}

LowerResult lower_reciprocal(const Call& call, XnnBuilder& b) {
  const uint32_t in = b.value(call.tensor("self"));
  b.binary(Kind::Div, b.unpacked_scalar(call.type("self").dtype, 1.0), in, b.define(call.result()));
  return std::nullopt;
}

LowerResult lower_alias(const Call& call, XnnBuilder& b) {
  b.alias(call.result(), b.value(call.tensor("self")));
  return std::nullopt;
}

LowerResult lower_clamp(const Call& call, XnnBuilder& b) {
  double lo = -INFINITY;
  double hi = INFINITY;
  for (const std::string_view bound : {"min", "max"}) {
    if (call.op().schema.index_of(bound) < 0 || !call.has(bound)) continue;
    const auto number = known_number(call, bound);
    if (!number) return refuse(Code::Dynamic, "a bound is known only when the program runs");
    if (std::isnan(*number)) return refuse(Code::Attribute, "a bound is NaN");
    (bound == "min" ? lo : hi) = *number;
  }
  if (lo > hi) return refuse(Code::Attribute, "the lower bound is above the upper one, which the clamp node refuses");
  const uint32_t in = b.value(call.tensor("self"));
  clamp_keeping_nan(b, call.result()->type.dtype, in, lo, hi, b.define(call.result()));
  return std::nullopt;
}

LowerResult lower_clamp_tensor(const Call& call, XnnBuilder& b) {
  const bool has_min = call.op().schema.index_of("min") >= 0 && call.has("min");
  const bool has_max = call.op().schema.index_of("max") >= 0 && call.has("max");
  if (has_min && has_max)
    return refuse(Code::NoForm,
                  "two bounds that are tensors take a Maximum and a Minimum; the clamp node takes numbers");
  if (auto refused = refuse_numbers(call)) return refused;
  const ir::Value* bound = call.tensor(has_min ? "min" : "max");
  nan_extremum(b, has_min ? Kind::Maximum : Kind::Minimum, bound, call.tensor("self"), b.define(call.result()));
  return std::nullopt;
}

constexpr OpDef kRows[] = {
    // Float-valued functions.
    {"aten::exp(Tensor self) -> Tensor", infer_same_float, lower_exp, "aten::exp.out", kPointwise,
     "NaN is kept by two more nodes"},
    {"aten::log(Tensor self) -> Tensor", infer_same_float, lower_log, "aten::log.out", kPointwise},
    {"aten::sin(Tensor self) -> Tensor", infer_same_float, lower_unary<Kind::Sin>, "aten::sin.out", kPointwise},
    {"aten::cos(Tensor self) -> Tensor", infer_same_float, lower_unary<Kind::Cos>, "aten::cos.out", kPointwise},
    {"aten::tanh(Tensor self) -> Tensor", infer_same_float, lower_unary<Kind::Tanh>, "aten::tanh.out", kPointwise},
    {"aten::sigmoid(Tensor self) -> Tensor", infer_same_float, lower_unary<Kind::Sigmoid>, "aten::sigmoid.out",
     kPointwise},
    {"aten::special_expit(Tensor self) -> Tensor", infer_same_float, lower_unary<Kind::Sigmoid>, "aten::sigmoid.out",
     kPointwise},
    {"aten::sqrt(Tensor self) -> Tensor", infer_same_float, lower_sqrt, "aten::sqrt.out", kPointwise,
     "infinity is kept by three more nodes"},
    {"aten::rsqrt(Tensor self) -> Tensor", infer_same_float, lower_rsqrt, "aten::rsqrt.out", kPointwise,
     "0 and infinity are kept by more nodes, unless a positive constant was just added"},
    {"aten::reciprocal(Tensor self) -> Tensor", infer_same_float, lower_reciprocal, "aten::reciprocal.out", kPointwise,
     "as 1 / x"},
    {"aten::acos(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::acos.out", kPointwise},
    {"aten::acosh(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::acosh.out", kPointwise},
    {"aten::asin(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::asin.out", kPointwise},
    {"aten::asinh(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::asinh.out", kPointwise},
    {"aten::atan(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::atan.out", kPointwise},
    {"aten::atanh(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::atanh.out", kPointwise},
    {"aten::cosh(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::cosh.out", kPointwise},
    {"aten::sinh(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::sinh.out", kPointwise},
    {"aten::tan(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::tan.out", kPointwise},
    {"aten::expm1(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::expm1.out", kPointwise},
    {"aten::log10(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::log10.out", kPointwise},
    {"aten::log1p(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::log1p.out", kPointwise},
    {"aten::log2(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::log2.out", kPointwise},
    {"aten::erf(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::erf.out", kPointwise},
    {"aten::logit(Tensor self, float? eps=None) -> Tensor", infer_same_float, nullptr, "aten::logit.out", kPointwise},
    {"aten::exp2(Tensor self) -> Tensor", infer_same_float, nullptr, {}, kPointwise},
    {"aten::erfc(Tensor self) -> Tensor", infer_same_float, nullptr, {}, kPointwise},
    {"aten::erfinv(Tensor self) -> Tensor", infer_same_float, nullptr, {}, kPointwise},
    {"aten::sinc(Tensor self) -> Tensor", infer_same_float, nullptr, {}, kPointwise},
    {"aten::deg2rad(Tensor self) -> Tensor", infer_same_float, nullptr, {}, kPointwise},
    {"aten::rad2deg(Tensor self) -> Tensor", infer_same_float, nullptr, {}, kPointwise},
    {"aten::lgamma(Tensor self) -> Tensor", infer_same_float, nullptr, {}, kPointwise},
    {"aten::digamma(Tensor self) -> Tensor", infer_same_float, nullptr, {}, kPointwise},
    {"aten::i0(Tensor self) -> Tensor", infer_same_float, nullptr, {}, kPointwise},
    {"aten::arccos(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::acos.out", kPointwise},
    {"aten::arcsin(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::asin.out", kPointwise},
    {"aten::arctan(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::atan.out", kPointwise},
    {"aten::arccosh(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::acosh.out", kPointwise},
    {"aten::arcsinh(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::asinh.out", kPointwise},
    {"aten::arctanh(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::atanh.out", kPointwise},
    {"aten::special_expm1(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::expm1.out", kPointwise},
    {"aten::special_erfc(Tensor self) -> Tensor", infer_same_float, nullptr, {}, kPointwise},
    {"aten::special_erf(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::erf.out", kPointwise},
    {"aten::special_log1p(Tensor self) -> Tensor", infer_same_float, nullptr, "aten::log1p.out", kPointwise},
    {"aten::special_exp2(Tensor self) -> Tensor", infer_same_float, nullptr, {}, kPointwise},
    {"aten::special_logit(Tensor self, float? eps=None) -> Tensor", infer_same_float, nullptr, "aten::logit.out",
     kPointwise},
    // The operand's dtype.
    {"aten::abs(Tensor self) -> Tensor", infer_abs, lower_unary<Kind::Abs>, "aten::abs.out", kPointwise},
    {"aten::absolute(Tensor self) -> Tensor", infer_abs, lower_unary<Kind::Abs>, "aten::abs.out", kPointwise},
    {"aten::neg(Tensor self) -> Tensor", infer_same, lower_unary<Kind::Negate>, "aten::neg.out", kPointwise},
    {"aten::negative(Tensor self) -> Tensor", infer_same, lower_unary<Kind::Negate>, "aten::neg.out", kPointwise},
    {"aten::positive(Tensor(a) self) -> Tensor(a)", infer_same, lower_alias, "aten::alias_copy.out",
     kPointwise | kView | kAlias},
    {"aten::ceil(Tensor self) -> Tensor", infer_same, lower_unary<Kind::Ceiling>, "aten::ceil.out", kPointwise},
    {"aten::floor(Tensor self) -> Tensor", infer_same, lower_unary<Kind::Floor>, "aten::floor.out", kPointwise},
    {"aten::square(Tensor self) -> Tensor", infer_square, lower_unary<Kind::Square>, {}, kPointwise},
    {"aten::round(Tensor self) -> Tensor", infer_same, nullptr, "aten::round.out", kPointwise,
     "the delegate has no rounding to the nearest"},
    {"aten::round.decimals(Tensor self, *, int decimals) -> Tensor", infer_same, nullptr, {}, kPointwise},
    {"aten::trunc(Tensor self) -> Tensor", infer_same, nullptr, "aten::trunc.out", kPointwise},
    {"aten::fix(Tensor self) -> Tensor", infer_same, nullptr, "aten::trunc.out", kPointwise},
    {"aten::sign(Tensor self) -> Tensor", infer_same, nullptr, "aten::sign.out", kPointwise, {}, kernel_sign},
    {"aten::sgn(Tensor self) -> Tensor", infer_same, nullptr, {}, kPointwise},
    {"aten::frac(Tensor self) -> Tensor", infer_same, nullptr, {}, kPointwise},
    {"aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
     infer_same,
     nullptr,
     {},
     kPointwise},
    {"aten::bitwise_not(Tensor self) -> Tensor", infer_same, nullptr, "aten::bitwise_not.out", kPointwise,
     "it works on integers, which the delegate is not used for"},
    // Bool results.
    {"aten::logical_not(Tensor self) -> Tensor", infer_same_bool, nullptr, "aten::logical_not.out", kPointwise,
     "its result is bool, which the delegate has not"},
    {"aten::isnan(Tensor self) -> Tensor", infer_same_bool, nullptr, "aten::isnan.out", kPointwise,
     "its result is bool, which the delegate has not"},
    {"aten::isinf(Tensor self) -> Tensor", infer_same_bool, nullptr, "aten::isinf.out", kPointwise,
     "its result is bool, which the delegate has not"},
    {"aten::isfinite(Tensor self) -> Tensor",
     infer_same_bool,
     nullptr,
     {},
     kPointwise,
     "its result is bool, which the delegate has not"},
    {"aten::isneginf(Tensor self) -> Tensor",
     infer_same_bool,
     nullptr,
     {},
     kPointwise,
     "its result is bool, which the delegate has not"},
    {"aten::isposinf(Tensor self) -> Tensor",
     infer_same_bool,
     nullptr,
     {},
     kPointwise,
     "its result is bool, which the delegate has not"},
    {"aten::signbit(Tensor self) -> Tensor",
     infer_same_bool,
     nullptr,
     {},
     kPointwise,
     "its result is bool, which the delegate has not"},
    {"aten::isreal(Tensor self) -> Tensor",
     infer_same_bool,
     nullptr,
     {},
     kPointwise,
     "its result is bool, which the delegate has not"},
    {"aten::special_entr(Tensor self) -> Tensor", infer_same_float, nullptr, {}, kPointwise},
    {"aten::special_ndtr(Tensor self) -> Tensor", infer_same_float, nullptr, {}, kPointwise},
    // Clamps.
    {"aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", infer_clamp, lower_clamp,
     "aten::clamp.out", kPointwise, "bounds are numbers in order"},
    {"aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", infer_broadcast,
     lower_clamp_tensor, "aten::clamp.Tensor_out", kPointwise, "one bound is given, as a tensor"},
    {"aten::clamp_min(Tensor self, Scalar min) -> Tensor", infer_clamp, lower_clamp, "aten::clamp.out(self, min, none)",
     kPointwise},
    {"aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", infer_broadcast, lower_clamp_tensor,
     "aten::clamp.Tensor_out(self, min, none)", kPointwise},
    {"aten::clamp_max(Tensor self, Scalar max) -> Tensor", infer_clamp, lower_clamp, "aten::clamp.out(self, none, max)",
     kPointwise},
    {"aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", infer_broadcast, lower_clamp_tensor,
     "aten::clamp.Tensor_out(self, none, max)", kPointwise},
    {"aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", infer_clamp, lower_clamp,
     "aten::clamp.out", kPointwise, "bounds are numbers in order"},
    {"aten::clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", infer_broadcast,
     lower_clamp_tensor, "aten::clamp.Tensor_out", kPointwise, "one bound is given, as a tensor"},
    // In-place forms.
    {"aten::exp_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::log_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::sin_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::cos_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::tanh_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::sigmoid_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::sqrt_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::rsqrt_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::reciprocal_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::acos_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::acosh_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::asin_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::asinh_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::atan_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::atanh_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::cosh_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::sinh_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::tan_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::expm1_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::log10_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::log1p_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::log2_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::erf_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::logit_(Tensor(a!) self, float? eps=None) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::exp2_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::erfc_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::erfinv_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::sinc_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::deg2rad_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::rad2deg_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::lgamma_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::digamma_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::i0_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::arccos_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::arcsin_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::arctan_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::arccosh_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::arcsinh_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::arctanh_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::abs_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::absolute_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::neg_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::negative_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::ceil_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::floor_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::square_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::round_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::round_.decimals(Tensor(a!) self, *, int decimals) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::trunc_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::fix_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::sign_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::sgn_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::frac_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::nan_to_num_(Tensor(a!) self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::bitwise_not_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::logical_not_(Tensor(a!) self) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::clamp_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::clamp_.Tensor(Tensor(a!) self, Tensor? min=None, Tensor? max=None) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::clamp_min_(Tensor(a!) self, Scalar min) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::clamp_min_.Tensor(Tensor(a!) self, Tensor min) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::clamp_max_(Tensor(a!) self, Scalar max) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace | kPointwise},
    {"aten::clamp_max_.Tensor(Tensor(a!) self, Tensor max) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::clip_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::clip_.Tensor(Tensor(a!) self, Tensor? min=None, Tensor? max=None) -> Tensor(a!)",
     infer_inplace,
     nullptr,
     {},
     kInPlace | kPointwise},
};

}  // namespace

std::span<const OpDef> unary_ops() { return kRows; }

}  // namespace edgelift::ops
