#include "ops/lowering.h"

#include "ops/lower_util.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "ops/infer.h"

namespace edgelift::ops {

using xnn::Kind;

LowerResult lower_as_view(const Call& call, XnnBuilder& b) {
  const ir::Value* result = call.result();
  const ir::Value* self = call.tensor("self");
  if (self->type.sizes != result->type.sizes && !reshapable(result->type.sizes))
    return refuse(Code::Dynamic, "more than one size of the result is dynamic: " + result->type.str() +
                                     "; a reshape node can infer one");
  b.finish_view(b.value(self), result);
  return std::nullopt;
}

LowerResult refuse_numbers(const Call& call) {
  const ir::Schema& schema = call.op().schema;
  for (size_t i = 0; i < schema.args.size(); ++i) {
    const ir::Arg& arg = call.args()[i];
    switch (schema.args[i].kind) {
      case ir::ArgKind::Tensor:
        if (!std::holds_alternative<ir::Value*>(arg)) return refuse(Code::Attribute, std::string(kNoScalarForm));
        break;
      case ir::ArgKind::Scalar:
        if (!known_number(call, schema.args[i].name))
          return refuse(Code::Dynamic, "'" + schema.args[i].name + "' is known only when the program runs");
        break;
      default:
        break;
    }
  }
  return std::nullopt;
}

std::optional<double> known_number(const Call& call, std::string_view name) {
  const ir::Arg& arg = call.arg(name);
  if (std::holds_alternative<double>(arg) || std::holds_alternative<bool>(arg)) return call.number(name);
  if (const auto* integer = std::get_if<SymInt>(&arg); integer != nullptr && integer->is_const())
    return call.number(name);
  return std::nullopt;
}

uint32_t unary_in_f32(XnnBuilder& b, Kind kind, uint32_t in, uint32_t out) {
  const uint32_t wide = b.unary(Kind::Convert, in, b.temp(DType::F32, b.dims(in)));
  const uint32_t result = b.unary(kind, wide);
  if (kind == Kind::Exp) return b.unary(Kind::Convert, with_nan_of(b, wide, result), out);
  return b.unary(Kind::Convert, result, out);
}

uint32_t square_root(XnnBuilder& b, uint32_t in, uint32_t out) {
  if (b.datatype(in) == xnn::Datatype::F16) {
    const uint32_t wide = b.unary(Kind::Convert, in, b.temp(DType::F32, b.dims(in)));
    return b.unary(Kind::Convert, square_root(b, wide), out);
  }
  // The root of the largest finite number, minus -infinity, is infinity; everything finite subtracts 0.
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const uint32_t finite = b.clamp(in, -kInfinity, std::numeric_limits<float>::max());
  return b.binary(Kind::Subtract, b.unary(Kind::SquareRoot, finite), b.binary(Kind::Subtract, finite, in), out);
}

namespace {

// A sum with a positive constant, as norms have it before the root: never 0 but by accident of a negative operand. A
// mean as a fully-connected node has the constant as its bias.
bool has_positive_term(const ir::Value* value) {
  if (value->producer == nullptr) return false;
  if (value->producer->is("linear")) {
    const TensorData* bias = constant_data(Call(*value->producer).opt_tensor("bias"));
    return bias != nullptr && bias->numel() == 1 && bias->element_as_double(0) > 0;
  }
  if (!(value->producer->is("add", "Tensor") || value->producer->is("add", "Scalar"))) return false;
  const Call call(*value->producer);
  if (const auto number = known_number(call, "other")) return *number > 0;
  const auto* other = std::get_if<ir::Value*>(&call.arg("other"));
  if (other == nullptr || !(*other)->is_constant() || (*other)->constant->data.numel() != 1) return false;
  return (*other)->constant->data.element_as_double(0) > 0;
}

}  // namespace

uint32_t reciprocal_square_root(XnnBuilder& b, const ir::Value* value, uint32_t out) {
  const uint32_t in = b.value(value);
  if (b.datatype(in) == xnn::Datatype::F16 || has_positive_term(value))
    return b.unary(Kind::ReciprocalSquareRoot, in, out);
  return b.binary(Kind::Div, b.unpacked_scalar(DType::F32, 1.0), square_root(b, in), out);
}

uint32_t with_nan_of(XnnBuilder& b, uint32_t source, uint32_t value, uint32_t out) {
  // A clamp to [-0, -0] gives -0 for every number, infinities included, and keeps NaN in float32; x + -0 is x.
  if (b.datatype(source) == xnn::Datatype::F32) return b.binary(Kind::Add, value, b.clamp(source, -0.0F, -0.0F), out);
  const uint32_t wide = b.unary(Kind::Convert, source, b.temp(DType::F32, b.dims(source)));
  const uint32_t nans = b.unary(Kind::Convert, b.clamp(wide, -0.0F, -0.0F), b.temp(DType::F16, b.dims(source)));
  return b.binary(Kind::Add, value, nans, out);
}

namespace {

// Small constants without NaN; larger ones are not scanned.
bool has_no_nan(const ir::Value* value) {
  constexpr int64_t kScanned = 4096;
  if (!value->is_constant() || value->constant->is_mutable || value->constant->data.numel() > kScanned) return false;
  for (const double element : value->constant->data.to_doubles())
    if (std::isnan(element)) return false;
  return true;
}

}  // namespace

namespace {

// Which operand XNNPACK broadcasts along the innermost dim that has elements to go through: 0 none, 1 the first, 2 the
// second; nullopt if a dynamic size leaves it open.
std::optional<int> broadcast_operand(const std::vector<SymInt>& a, const std::vector<SymInt>& c) {
  for (size_t i = 1; i <= std::max(a.size(), c.size()); ++i) {
    const SymInt left = i <= a.size() ? a[a.size() - i] : SymInt(1);
    const SymInt right = i <= c.size() ? c[c.size() - i] : SymInt(1);
    const bool one_left = left == SymInt(1), one_right = right == SymInt(1);
    if (one_left && one_right) continue;
    if (!one_left && !one_right) return left.lower() > 1 || right.lower() > 1 ? std::optional(0) : std::nullopt;
    if ((one_left ? right : left).lower() < 2) return std::nullopt;
    return one_left ? 1 : 2;
  }
  return 0;
}

}  // namespace

uint32_t nan_extremum(XnnBuilder& b, Kind kind, const ir::Value* a, const ir::Value* c, uint32_t out) {
  // The x86 instruction returns its second operand when either is NaN, so that a NaN of the first is lost. An operand
  // that is broadcast along the innermost dim is always the second, in whichever order the node names them.
  if (has_no_nan(c)) std::swap(a, c);
  const uint32_t first = b.value(a);
  const uint32_t second = b.value(c);
  if (first == second) return b.binary(kind, first, second, out);
  const std::optional<int> broadcast = broadcast_operand(b.dims(first), b.dims(second));
  const bool lost_first = broadcast != 1 && !has_no_nan(a);
  const bool lost_second = broadcast.value_or(1) == 1 && !has_no_nan(c);
  uint32_t value = b.binary(kind, first, second, lost_first || lost_second ? xnn::kInvalid : out);
  if (lost_first) value = with_nan_of(b, first, value, lost_second ? xnn::kInvalid : out);
  if (lost_second) value = with_nan_of(b, second, value, out);
  return value;
}

LowerResult slice_dim(XnnBuilder& b, uint32_t in, int64_t dim, int64_t start, int64_t length, uint32_t* out) {
  std::vector<SymInt> dims = b.dims(in);
  std::vector<int64_t> offsets(dims.size(), 0), sizes(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i == static_cast<size_t>(dim)) continue;
    // The runtime clamps a size past the end, so that the upper bound takes all of a dynamic dim.
    sizes[i] = dims[i].upper();
    if (sizes[i] == kUnbounded)
      return refuse(Code::Dynamic, "dynamic size " + dims[i].str() + " has no upper bound, which a slice node needs");
  }
  offsets[static_cast<size_t>(dim)] = start;
  sizes[static_cast<size_t>(dim)] = length;
  *out = b.slice(in, std::move(offsets), std::move(sizes), *out);
  return std::nullopt;
}

uint32_t repeat_middle(XnnBuilder& b, uint32_t in, DType dtype, const SymInt& before, int64_t count,
                       const SymInt& after) {
  const uint32_t rows = b.reshape(in, {before, SymInt(1), after});
  TensorData ones = scalar_data(dtype, 1.0).expanded(std::vector<int64_t>{count, 1}).contiguous();
  return b.binary(Kind::Multiply, rows, b.unpacked(std::move(ones)));
}

SymInt product_of(std::span<const SymInt> sizes, size_t first, size_t last) {
  return product(sizes.subspan(first, last - first));
}

}  // namespace edgelift::ops
