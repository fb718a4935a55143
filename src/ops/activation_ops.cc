// Activation functions and dropout.
#include <cmath>
#include <limits>

#include "ops/families.h"
#include "ops/lower_util.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using ir::Shape;
using ir::Type;

constexpr float kInf = std::numeric_limits<float>::infinity();

Types infer_prelu(const Call& c) {
  const Type& self = c.type("self");
  const Type& weight = c.type("weight");
  const SymInt channels = self.rank() >= 2 ? self.sizes[1] : SymInt(1);
  if (weight.rank() > 1)
    return input_error("prelu's weight has rank " + std::to_string(weight.rank()) + ", not 0 or 1");
  const SymInt count = weight.sym_numel();
  if (count.is_const() && channels.is_const() && count.value() != 1 && count.value() != channels.value())
    return input_error("prelu's weight has " + count.str() + " elements for " + channels.str() + " channels");
  return one(self);
}

Types infer_prelu_kernel(const Call& c) {
  EL_TRY(Shape shape, broadcast_args(c));
  return one(pointwise_type(c, c.type("self").dtype, std::move(shape)));
}

Types infer_glu(const Call& c) {
  Type type = c.type("self");
  EL_TRY(const int64_t dim, checked_dim(c.integer("dim"), type.rank()));
  if (type.rank() == 0) return input_error("glu takes a tensor with dims");
  SymInt& size = type.sizes[static_cast<size_t>(dim)];
  if (size.is_const() && size.value() % 2 != 0) return input_error("glu halves a dim of odd size " + size.str());
  size = SymInt::floordiv(size, SymInt(2));
  type.dim_order.clear();
  return one(std::move(type));
}

Types infer_native_dropout(const Call& c) {
  Type mask = c.type("input");
  mask.dtype = DType::Bool;
  return std::vector<Type>{c.type("input"), std::move(mask)};
}

Types infer_rrelu_with_noise(const Call& c) { return std::vector<Type>{c.type("self"), c.type("noise")}; }

// ---- lowering ----

LowerResult clamp_between(const Call& c, XnnBuilder& b, double lo, double hi) {
  if (!(lo < hi))
    return refuse(Code::Attribute, "the bounds " + number_text(lo) + " and " + number_text(hi) + " leave no range");
  const uint32_t in = b.value(c.tensor("self"));
  clamp_keeping_nan(b, c.result()->type.dtype, in, lo, hi, b.define(c.result()));
  return std::nullopt;
}

LowerResult lower_relu(const Call& c, XnnBuilder& b) { return clamp_between(c, b, 0, kInf); }
LowerResult lower_relu6(const Call& c, XnnBuilder& b) { return clamp_between(c, b, 0, 6); }
LowerResult lower_hardtanh(const Call& c, XnnBuilder& b) {
  return clamp_between(c, b, c.number("min_val"), c.number("max_val"));
}

LowerResult lower_hardsigmoid(const Call& c, XnnBuilder& b) {
  const DType dtype = c.result()->type.dtype;
  if (!exact_scalar(dtype, 1.0 / 6)) return inexact_scalar("the factor", 1.0 / 6);
  const uint32_t shifted = b.binary(xnn::Kind::Add, b.value(c.tensor("self")), b.unpacked_scalar(dtype, 3));
  const uint32_t clamped = b.temp(dtype, c.result()->type.sizes);
  clamp_keeping_nan(b, dtype, shifted, 0, 6, clamped);
  b.binary(xnn::Kind::Multiply, clamped, b.unpacked_scalar(dtype, 1.0 / 6), b.define(c.result()));
  return std::nullopt;
}

LowerResult leaky(const Call& c, XnnBuilder& b, double slope) {
  if (!std::isfinite(slope)) return refuse(Code::Attribute, "a slope of " + number_text(slope));
  const uint32_t in = b.value(c.tensor("self"));
  const uint32_t out = b.define(c.result());
  b.node(xnn::Kind::LeakyReLU, {in}, {out}).scalar = static_cast<float>(slope);
  return std::nullopt;
}

LowerResult lower_leaky_relu(const Call& c, XnnBuilder& b) { return leaky(c, b, c.number("negative_slope")); }

LowerResult lower_rrelu(const Call& c, XnnBuilder& b) {
  if (c.flag("training")) return refuse(Code::NoForm, "its slopes are random");
  return leaky(c, b, (c.number("lower") + c.number("upper")) / 2);
}

// scale * (x > 0 ? x : alpha * (exp(inner * x) - 1)). The node has alpha alone; for the rest it is wrapped: with y =
// inner * x the value is (scale / inner) * elu(y, alpha * inner).
LowerResult elu(const Call& c, XnnBuilder& b, double alpha, double scale, double inner) {
  const DType dtype = c.result()->type.dtype;
  if (!(inner > 0) || !std::isfinite(inner)) return refuse(Code::Attribute, "an input scale of " + number_text(inner));
  const double slope = alpha * inner;
  const double outer = scale / inner;
  if (!(slope > 0) || !std::isfinite(slope))
    return refuse(Code::Attribute, "XNNPACK's ELU takes a positive alpha, not " + number_text(slope));
  for (const double factor : {inner, outer})
    if (!exact_scalar(dtype, factor)) return inexact_scalar("a factor of", factor);
  uint32_t in = b.value(c.tensor("self"));
  if (inner != 1) in = b.binary(xnn::Kind::Multiply, in, b.unpacked_scalar(dtype, inner));
  const uint32_t out = outer == 1 ? b.define(c.result()) : b.temp(dtype, c.result()->type.sizes);
  b.node(xnn::Kind::ELU, {in}, {out}).scalar = static_cast<float>(slope);
  if (outer != 1) b.binary(xnn::Kind::Multiply, out, b.unpacked_scalar(dtype, outer), b.define(c.result()));
  return std::nullopt;
}

LowerResult lower_elu(const Call& c, XnnBuilder& b) {
  return elu(c, b, c.number("alpha"), c.number("scale"), c.number("input_scale"));
}
LowerResult lower_celu(const Call& c, XnnBuilder& b) {
  const double alpha = c.number("alpha");
  if (alpha == 0) return refuse(Code::Attribute, "an alpha of 0");
  return elu(c, b, alpha, 1, 1 / alpha);
}
LowerResult lower_selu(const Call& c, XnnBuilder& b) {
  return elu(c, b, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1);
}

LowerResult lower_gelu(const Call& c, XnnBuilder& b) {
  if (c.text("approximate") != "none")
    return refuse(Code::Attribute,
                  "XNNPACK's gelu is the exact one, not approximate='" + std::string(c.text("approximate")) + "'");
  return lower_unary<xnn::Kind::Gelu>(c, b);
}

LowerResult lower_silu(const Call& c, XnnBuilder& b) {
  const uint32_t in = b.value(c.tensor("self"));
  b.binary(xnn::Kind::Multiply, in, b.unary(xnn::Kind::Sigmoid, in), b.define(c.result()));
  return std::nullopt;
}

LowerResult lower_threshold(const Call& c, XnnBuilder& b) {
  if (c.number("threshold") != 0 || c.number("value") != 0)
    return refuse(Code::Attribute, "only threshold(0, 0), which is relu, has a form in the delegate");
  return lower_relu(c, b);
}

// The slope of a channel stands along dim 1.
LowerResult lower_prelu(const Call& c, XnnBuilder& b) {
  const ir::Value* self = c.tensor("self");
  const ir::Value* weight = c.tensor("weight");
  const size_t rank = self->type.sizes.size();
  const SymInt count = weight->type.sym_numel();
  if (!count.is_const()) return refuse(Code::Dynamic, "the weight's size is dynamic");
  const uint32_t in = b.value(self);
  uint32_t slope = 0;
  if (count.value() == 1 || rank <= 2) {
    slope = b.value(weight);
  } else {
    std::vector<int64_t> sizes(rank - 1, 1);
    sizes[0] = count.value();
    const TensorData* data = constant_data(weight);
    slope = data != nullptr ? b.unpacked(data->reshaped(sizes))
                            : b.reshape(b.value(weight), std::vector<SymInt>(sizes.begin(), sizes.end()));
  }
  b.binary(xnn::Kind::PReLU, in, slope, b.define(c.result()));
  return std::nullopt;
}

LowerResult lower_prelu_kernel(const Call& c, XnnBuilder& b) {
  const uint32_t in = b.value(c.tensor("self"));
  b.binary(xnn::Kind::PReLU, in, b.value(c.tensor("weight")), b.define(c.result()));
  return std::nullopt;
}

LowerResult lower_glu(const Call& c, XnnBuilder& b) {
  const ir::Value* self = c.tensor("self");
  const int64_t dim = *normalize_dim(c.integer("dim"), self->type.rank());
  const SymInt& size = self->type.sizes[static_cast<size_t>(dim)];
  if (!size.is_const()) return refuse(Code::Dynamic, "the halved dim is dynamic");
  const uint32_t in = b.value(self);
  uint32_t values = xnn::kInvalid, gates = xnn::kInvalid;
  if (auto refused = slice_dim(b, in, dim, 0, size.value() / 2, &values)) return refused;
  if (auto refused = slice_dim(b, in, dim, size.value() / 2, size.value() / 2, &gates)) return refused;
  b.binary(xnn::Kind::Multiply, values, b.unary(xnn::Kind::Sigmoid, gates), b.define(c.result()));
  return std::nullopt;
}

LowerResult lower_dropout(const Call& c, XnnBuilder& b) {
  if (c.flag("train")) return refuse(Code::NoForm, "it drops elements at random (training mode)");
  b.alias(c.result(), b.value(c.tensor("input")));
  return std::nullopt;
}

// An operator and its in-place twin.
#define ACTIVATION(NAME, ARGS, LOWER, KERNEL, NOTE)                                                             \
  {.schema = "aten::" NAME "(Tensor self" ARGS ") -> Tensor",                                                   \
   .infer = infer_same,                                                                                         \
   .lower = LOWER,                                                                                              \
   .kernel = KERNEL,                                                                                            \
   .traits = kPointwise,                                                                                        \
   .note = NOTE},                                                                                               \
  {                                                                                                             \
    .schema = "aten::" NAME "_(Tensor(a!) self" ARGS ") -> Tensor(a!)", .infer = infer_same, .traits = kInPlace \
  }

#define DROPOUT(NAME)                                                                                     \
  {.schema = "aten::" NAME "(Tensor input, float p, bool train) -> Tensor",                               \
   .infer = infer_same,                                                                                   \
   .lower = lower_dropout,                                                                                \
   .note = "train is off"},                                                                               \
  {                                                                                                       \
    .schema = "aten::" NAME "_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", .infer = infer_same, \
    .traits = kInPlace                                                                                    \
  }

constexpr OpDef kOps[] = {
    ACTIVATION("relu", "", lower_relu, "aten::relu.out", ""),
    ACTIVATION("relu6", "", lower_relu6, "aten::hardtanh.out(self, 0, 6)", ""),
    ACTIVATION("hardtanh", ", Scalar min_val=-1, Scalar max_val=1", lower_hardtanh, "aten::hardtanh.out",
               "min_val is below max_val"),
    ACTIVATION("hardswish", "", lower_unary<xnn::Kind::Hardswish>, "", ""),
    ACTIVATION("hardsigmoid", "", lower_hardsigmoid, "", ""),
    ACTIVATION("leaky_relu", ", Scalar negative_slope=0.01", lower_leaky_relu, "aten::leaky_relu.out", ""),
    ACTIVATION("elu", ", Scalar alpha=1, Scalar scale=1, Scalar input_scale=1", lower_elu, "aten::elu.out",
               "alpha and input_scale are positive"),
    ACTIVATION("selu", "", lower_selu, "", ""),
    ACTIVATION("celu", ", Scalar alpha=1.", lower_celu, "", "alpha is positive"),
    ACTIVATION("gelu", ", *, str approximate=\"none\"", lower_gelu, "aten::gelu.out", "approximate is 'none'"),
    ACTIVATION("silu", "", lower_silu, "", ""),
    ACTIVATION("mish", "", nullptr, "", "the delegate has no form of it that keeps large negative numbers"),
    ACTIVATION("threshold", ", Scalar threshold, Scalar value", lower_threshold, "",
               "threshold and value are 0, which is relu"),
    ACTIVATION("rrelu",
               ", Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None",
               lower_rrelu, "", "training is off"),
    {.schema = "aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar "
               "upper=0.33333333333333331, "
               "bool training=False, Generator? generator=None) -> (Tensor, Tensor noise_out)",
     .infer = infer_rrelu_with_noise,
     .note = "it is leaky_relu when training is off"},
    {.schema = "aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor",
     .infer = infer_same,
     .traits = kPointwise},
    {.schema = "aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", .infer = infer_same, .traits = kPointwise},
    {.schema = "aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", .infer = infer_same, .traits = kPointwise},
    {.schema = "aten::log_sigmoid(Tensor self) -> Tensor", .infer = infer_same, .traits = kPointwise},
    {.schema = "aten::prelu(Tensor self, Tensor weight) -> Tensor", .infer = infer_prelu, .lower = lower_prelu},
    {.schema = "aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor",
     .infer = infer_prelu_kernel,
     .lower = lower_prelu_kernel,
     .traits = kPointwise},
    {.schema = "aten::glu(Tensor self, int dim=-1) -> Tensor",
     .infer = infer_glu,
     .lower = lower_glu,
     .kernel = "aten::glu.out",
     .note = "the halved dim is not dynamic"},
    DROPOUT("dropout"),
    DROPOUT("alpha_dropout"),
    DROPOUT("feature_dropout"),
    DROPOUT("feature_alpha_dropout"),
    {.schema = "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
     .infer = infer_native_dropout,
     .kernel = "aten::native_dropout.out",
     .traits = kRandom,
     .note = "its mask is a bool tensor"},
};

}  // namespace

std::span<const OpDef> activation_ops() { return kOps; }

}  // namespace edgelift::ops
