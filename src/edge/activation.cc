// Activations without a kernel. Those that the delegate has a form for stay whole until legalisation.
#include <cmath>
#include <limits>

#include "edge/table.h"

namespace edgelift::edge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// 16-bit floats are computed in f32 and rounded once, as eager does.
Value* wide(Builder& b, Value* x) {
  const DType d = b.dtype(x);
  return d == DType::F16 || d == DType::BF16 ? b.cast(x, DType::F32) : x;
}
Result<bool> finish(Builder& b, Value* x) { return b.replace(b.cast(x, b.out_type().dtype)); }

Result<bool> silu(Builder& b) {
  Value* x = wide(b, b.in());
  return finish(b, b.mul(x, b.unary("sigmoid", x)));
}

// clamp(x + 3, 0, 6)
Value* six(Builder& b, Value* x) {
  Value* shifted = b.add(x, SymInt(3));
  if (!b.upstream) return b.clamp(shifted, SymInt(0), SymInt(6));
  return b.clamp(b.clamp(shifted, SymInt(0), Arg()), Arg(), SymInt(6));
}

Result<bool> hardsigmoid(Builder& b) {
  Value* x = wide(b, b.in());
  return finish(b, b.div(six(b, x), SymInt(6)));
}

Result<bool> hardswish(Builder& b) {
  Value* x = wide(b, b.in());
  return finish(b, b.div(b.mul(x, six(b, x)), SymInt(6)));
}

Result<bool> relu6(Builder& b) { return b.replace(b.make("hardtanh", {b.in(), SymInt(0), SymInt(6)})); }

// log(1 + exp(beta x)) / beta; x itself above the threshold, where the sum would overflow.
Value* softplus(Builder& b, Value* x, const Arg& beta, const Arg& threshold) {
  const bool plain = literal(beta) == 1.0;
  Value* scaled = plain && !b.upstream ? x : b.mul(x, beta);
  Value* soft = b.unary("log1p", b.unary("exp", scaled));
  if (!plain || b.upstream) soft = b.div(soft, beta);
  return b.where(b.make("gt.Scalar", {scaled, threshold}), x, soft);
}

Result<bool> softplus_op(Builder& b) {
  Value* x = wide(b, b.in());
  return finish(b, softplus(b, x, b.arg("beta"), b.arg("threshold")));
}

Result<bool> mish(Builder& b) {
  Value* x = wide(b, b.in());
  return finish(b, b.mul(x, b.unary("tanh", softplus(b, x, 1.0, 20.0))));
}

// elu with slopes: scale * (x > 0 ? x : alpha * (exp(x * input_scale) - 1)) is the kernel's own form.
Result<bool> selu(Builder& b) {
  return b.replace(b.make("elu", {b.in(), 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1.0}));
}
Result<bool> celu(Builder& b) {
  const double alpha = b.call.number("alpha");
  return b.replace(b.make("elu", {b.in(), alpha, 1.0, 1.0 / alpha}));
}

Result<bool> elu(Builder& b) {
  Value* x = wide(b, b.in());
  const double alpha = b.call.number("alpha"), scale = b.call.number("scale"),
               input_scale = b.call.number("input_scale");
  Value* negative = b.mul(b.unary("expm1", b.mul(x, input_scale)), alpha * scale);
  return finish(b, b.where(b.make("gt.Scalar", {x, SymInt(0)}), b.mul(x, scale), negative));
}

// min(0, x) - log1p(exp(-|x|))
Value* log_sigmoid(Builder& b, Value* x) {
  Value* low = b.clamp(x, Arg(), 0.0);
  return b.sub(low, b.unary("log1p", b.unary("exp", b.neg(b.unary("abs", x)))));
}
Result<bool> log_sigmoid_op(Builder& b) { return finish(b, log_sigmoid(b, wide(b, b.in()))); }
Result<bool> log_sigmoid_forward(Builder& b) {
  Value* out = b.cast(log_sigmoid(b, wide(b, b.in())), b.out_type().dtype);
  return b.replace({out, nullptr});
}

// x > 0 ? x : weight * x, the weight along dim 1.
Result<bool> prelu(Builder& b) {
  Value* x = b.in();
  Value* weight = b.in("weight");
  const int64_t r = b.rank(x);
  if (b.base() == "prelu" && b.rank(weight) == 1 && r != 1) {
    Shape to(static_cast<size_t>(r), SymInt(1));
    if (r > 1) to[1] = b.size(weight, 0);
    weight = b.view(weight, r > 1 ? to : Shape{});
  }
  return b.replace(b.where(b.make("gt.Scalar", {x, SymInt(0)}), x, b.mul(weight, x)));
}

Result<bool> threshold(Builder& b) {
  Value* x = b.in();
  return b.replace(b.where(b.make("le.Scalar", {x, b.arg("threshold")}), b.arg("value"), x, b.dtype(x)));
}

Result<bool> glu(Builder& b) {
  Value* x = b.in();
  const int64_t dim = b.dim("dim", b.rank(x));
  const SymInt size = b.size(x, dim), half = SymInt::floordiv(size, SymInt(2));
  const auto parts = b.make_all("split_with_sizes", {x, IntList{half, half}, SymInt(dim)});
  return b.replace(b.mul(parts[0], b.unary("sigmoid", parts[1])));
}

Result<bool> softshrink(Builder& b) {
  Value* x = wide(b, b.in());
  const double lambda = b.call.number("lambd");
  // Outside [-lambda, lambda] the distance to it, inside zero (and NaN stays NaN).
  return finish(b, b.sub(x, b.clamp(x, -lambda, lambda)));
}

Result<bool> hardshrink(Builder& b) {
  Value* x = b.in();
  Value* small = b.make("le.Scalar", {b.unary("abs", x), b.arg("lambd")});
  return b.replace(b.where(small, SymInt(0), x, b.dtype(x)));
}

Result<bool> tanhshrink(Builder& b) { return b.replace(b.sub(b.in(), b.unary("tanh", b.in()))); }

Result<bool> softsign(Builder& b) { return b.replace(b.div(b.in(), b.add(b.unary("abs", b.in()), SymInt(1)))); }

// The kernel knows both forms of gelu; this serves dtypes and rows where nothing else does.
Result<bool> gelu(Builder& b) {
  Value* x = wide(b, b.in());
  Value* half = b.mul(x, 0.5);
  if (b.call.text("approximate") == "tanh") {
    Value* inner = b.mul(b.add(x, b.mul(b.mul(b.mul(x, x), x), 0.044715)), std::sqrt(2 / M_PI));
    return finish(b, b.mul(half, b.add(b.unary("tanh", inner), SymInt(1))));
  }
  return finish(b, b.mul(half, b.add(b.unary("erf", b.mul(x, M_SQRT1_2)), SymInt(1))));
}

// softmax over a dim, in the dtype asked for.
Result<bool> softmax(Builder& b) {
  Value* x = b.in();
  const bool log = b.base() == "log_softmax";
  const DType out = b.out_type().dtype;
  const Arg dim = b.arg("dim");
  x = b.cast(x, out);
  return b.replace(b.make(log ? "_log_softmax" : "_softmax", {x, dim, false}));
}

// _log_softmax of f64: the runtime's kernel takes the narrower floats only.
Result<bool> log_softmax(Builder& b) {
  if (b.upstream) return false;
  Value* x = b.in();
  if (b.dtype(x) != DType::F64) return false;
  if (b.rank(x) == 0) return b.replace(b.mul(x, 0.0));
  const int64_t dim = b.dim("dim", b.rank(x));
  Value* shifted = b.sub(x, b.amax(x, {dim}, true));
  return b.replace(b.sub(shifted, b.unary("log", b.sum(b.unary("exp", shifted), {dim}, true))));
}

// softmax whose fully masked rows (all -inf) give zeros instead of NaN.
Result<bool> safe_softmax(Builder& b) {
  Value* x = b.cast(b.in(), b.out_type().dtype);
  const int64_t dim = b.integer("dim");
  Value* p = b.make("_softmax", {x, SymInt(dim), false});
  Value* masked = b.make("eq.Scalar", {x, -kInf});
  Value* some = b.make("any.dim", {b.logical_not(masked), SymInt(dim), true});
  Value* none = b.logical_not(some);
  return b.replace(b.upstream ? b.where(none, b.full_like(p, SymInt(0)), p) : b.masked_fill(p, none, 0.0));
}

constexpr uint8_t kWhole = kUpstream | kLegal;  // default to_edge keeps it

constexpr Entry kEntries[] = {
    {"silu", silu, kWhole},
    {"hardsigmoid", hardsigmoid, kWhole},
    {"hardswish", hardswish, kWhole},
    {"relu6", relu6, kAll},
    {"softplus", softplus_op, kWhole},
    {"mish", mish, kWhole},
    {"selu", selu, kAll},
    {"celu", celu, kAll},
    {"elu", elu, kLegal},
    {"log_sigmoid", log_sigmoid_op, kWhole},
    {"log_sigmoid_forward", log_sigmoid_forward, kAll},
    {"prelu", prelu, kWhole},
    {"_prelu_kernel", prelu, kAll},
    {"threshold", threshold, kAll},
    {"glu", glu, kWhole},
    {"softshrink", softshrink, kAll},
    {"hardshrink", hardshrink, kAll},
    {"tanhshrink", tanhshrink, kAll},
    {"softsign", softsign, kAll},
    {"gelu", gelu, kLegal},
    {"softmax.int", softmax, kAll},
    {"log_softmax.int", softmax, kAll},
    {"_log_softmax", log_softmax, kEdge},
    {"_safe_softmax", safe_softmax, kAll},
};

}  // namespace

std::span<const Entry> activation_entries() { return kEntries; }

}  // namespace edgelift::edge
