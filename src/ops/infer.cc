#include "ops/infer.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace edgelift::ops {
namespace {

using ir::ArgKind;
using ir::Shape;
using ir::Type;

DType dtype_of(const Type& type) {
  switch (type.kind) {
    case Type::Kind::Tensor:
      return type.dtype;
    case Type::Kind::Bool:
      return DType::Bool;
    case Type::Kind::Float:
      return DType::F32;
    default:
      return DType::I64;
  }
}

void merge(std::optional<DType>& into, DType dtype) { into = into ? promote(*into, dtype) : dtype; }

// The lower category counts only where it is of a higher kind than the result so far.
DType combine(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher) return *lower;
  if (!lower) return *higher;
  if (is_complex(*higher)) return *higher;
  if (is_float(*higher)) return is_complex(*lower) ? promote(*higher, DType::C32) : *higher;
  if (*higher == DType::Bool || is_float(*lower) || is_complex(*lower)) return promote(*higher, *lower);
  return *higher;
}

bool is_tensor_kind(ArgKind kind) { return kind == ArgKind::Tensor || kind == ArgKind::OptTensor; }
bool is_operand_number(const ir::ArgSpec& spec) {
  return (spec.kind == ArgKind::Scalar || spec.kind == ArgKind::OptScalar) &&
         (spec.name == "other" || spec.name == "self" || spec.name == "exponent");
}

const Type* tensor_type_or_null(const ir::Arg& arg) {
  const auto* value = std::get_if<ir::Value*>(&arg);
  return value != nullptr && *value != nullptr && (*value)->type.is_tensor() ? &(*value)->type : nullptr;
}

const Type& first_tensor(const Call& call) {
  for (const ir::Arg& arg : call.args()) {
    if (const Type* type = tensor_type_or_null(arg)) return *type;
    if (const auto* list = std::get_if<ir::ValueList>(&arg))
      for (const ir::Value* value : *list)
        if (value != nullptr) return value->type;
  }
  EL_UNREACHABLE(call.op().full_name() + " has no tensor argument");
}

DType promote_operands(const Call& call) {
  Promotion promotion;
  for (size_t i = 0; i < call.args().size(); ++i) {
    const ir::ArgSpec& spec = call.op().schema.args[i];
    if (is_tensor_kind(spec.kind) || is_operand_number(spec)) promotion.add(call.args()[i]);
  }
  return promotion.result();
}

}  // namespace

void Promotion::add(const Type& type) {
  if (!type.is_tensor()) {
    merge(number_, dtype_of(type));
  } else {
    merge(type.sizes.empty() ? zero_ : dims_, type.dtype);
  }
}

void Promotion::add(const ir::Arg& arg) {
  if (ir::is_none(arg)) return;
  if (const auto* value = std::get_if<ir::Value*>(&arg)) {
    add((*value)->type);
  } else {
    merge(number_, number_dtype(arg));
  }
}

DType Promotion::result() const {
  EL_CHECK(!empty(), "no operand to promote");
  if (!zero_ && !number_) return *dims_;
  const std::optional<DType> low = zero_ || number_ ? std::optional(combine(zero_, number_)) : std::nullopt;
  return combine(dims_, low);
}

DType promote_args(const Call& call, std::initializer_list<std::string_view> names) {
  Promotion promotion;
  for (const std::string_view name : names) promotion.add(call.arg(name));
  return promotion.result();
}

DType float_result(DType dtype) { return is_float(dtype) || is_complex(dtype) ? dtype : DType::F32; }
DType sum_result(DType dtype) { return is_float(dtype) || is_complex(dtype) ? dtype : DType::I64; }

DType number_dtype(const ir::Arg& arg) {
  if (std::holds_alternative<bool>(arg)) return DType::Bool;
  if (std::holds_alternative<SymInt>(arg)) return DType::I64;
  if (std::holds_alternative<double>(arg) || std::holds_alternative<ir::SymRatio>(arg)) return DType::F32;
  if (const auto* value = std::get_if<ir::Value*>(&arg)) return dtype_of((*value)->type);
  EL_UNREACHABLE("an argument is not a number");
}

Type pointwise_type(const Call& call, DType dtype, Shape sizes) {
  Type type = Type::tensor(dtype, std::move(sizes));
  const std::vector<uint8_t>* order = nullptr;
  for (const ir::Arg& arg : call.args()) {
    const Type* operand = tensor_type_or_null(arg);
    if (operand == nullptr || operand->rank() != type.rank()) continue;
    if (order != nullptr && *order != operand->dim_order) return type;
    order = &operand->dim_order;
  }
  if (order != nullptr) type.dim_order = *order;
  return type;
}

bool same_shape(const Shape& a, const Shape& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), known_equal);
}

Result<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  if (same_shape(a, b)) return a;
  auto shape = ir::broadcast(a, b);
  if (!shape) return input_error("shapes " + sizes_text(a) + " and " + sizes_text(b) + " do not broadcast");
  return *std::move(shape);
}

Result<Shape> broadcast_args(const Call& call) {
  Shape shape;
  for (const ir::Arg& arg : call.args()) {
    const Type* type = tensor_type_or_null(arg);
    if (type == nullptr) continue;
    EL_TRY(shape, broadcast_shapes(shape, type->sizes));
  }
  return shape;
}

Types infer_same(const Call& call) { return one(first_tensor(call)); }

Types infer_same_two(const Call& call) {
  const Type& type = first_tensor(call);
  return std::vector<Type>{type, type};
}

Types infer_same_float(const Call& call) {
  Type type = first_tensor(call);
  type.dtype = float_result(type.dtype);
  return one(std::move(type));
}

Types infer_same_bool(const Call& call) {
  Type type = first_tensor(call);
  type.dtype = DType::Bool;
  return one(std::move(type));
}

Types infer_broadcast(const Call& call) {
  EL_TRY(Shape shape, broadcast_args(call));
  return one(pointwise_type(call, promote_operands(call), std::move(shape)));
}

Types infer_broadcast_float(const Call& call) {
  EL_TRY(Shape shape, broadcast_args(call));
  return one(pointwise_type(call, float_result(promote_operands(call)), std::move(shape)));
}

Types infer_compare(const Call& call) {
  EL_TRY(Shape shape, broadcast_args(call));
  return one(pointwise_type(call, DType::Bool, std::move(shape)));
}

Types infer_inplace(const Call& call) {
  const Type& self = first_tensor(call);
  EL_TRY(const Shape shape, broadcast_args(call));
  if (!same_shape(shape, self.sizes))
    return input_error("an in-place result of shape " + sizes_text(shape) + " does not fit a tensor of shape " +
                       sizes_text(self.sizes));
  return one(self);
}

Types infer_nothing(const Call&) { return std::vector<Type>{}; }

Result<int64_t> checked_dim(int64_t dim, int64_t rank) {
  const auto normal = normalize_dim(dim, rank);
  if (!normal)
    return input_error("dim " + std::to_string(dim) + " is out of range for a tensor of rank " + std::to_string(rank));
  return *normal;
}

Result<int64_t> indexed_dim(int64_t dim, int64_t rank) {
  if (rank == 0) return input_error("a tensor of rank 0 has no dim " + std::to_string(dim));
  return checked_dim(dim, rank);
}

Result<Shape> reduced_shape(const Shape& shape, std::span<const int64_t> dims, bool keepdim, bool empty_is_all) {
  const auto rank = static_cast<int64_t>(shape.size());
  EL_TRY(const std::vector<int64_t> reduced, normalize_dims(dims, rank, empty_is_all));
  Shape out;
  size_t next = 0;
  for (int64_t i = 0; i < rank; ++i) {
    const bool drop = next < reduced.size() && reduced[next] == i;
    if (drop) ++next;
    if (!drop) {
      out.push_back(shape[static_cast<size_t>(i)]);
    } else if (keepdim) {
      out.emplace_back(1);
    }
  }
  return out;
}

Result<SymInt> conv_size(const SymInt& in, int64_t kernel, int64_t stride, int64_t padding_sum, int64_t dilation) {
  if (stride <= 0 || dilation <= 0) return input_error("stride and dilation must be positive");
  const SymInt room = in + SymInt(padding_sum - dilation * (kernel - 1) - 1);
  if (room.is_const() && room.value() < 0)
    return input_error("a kernel of " + std::to_string(kernel) + " with dilation " + std::to_string(dilation) +
                       " is larger than the padded input of " + (in + SymInt(padding_sum)).str());
  return SymInt::floordiv(room, SymInt(stride)) + SymInt(1);
}

Result<SymInt> conv_transpose_size(const SymInt& in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                                   int64_t output_padding) {
  if (stride <= 0 || dilation <= 0) return input_error("stride and dilation must be positive");
  const SymInt size =
      (in - SymInt(1)) * SymInt(stride) + SymInt(-2 * padding + dilation * (kernel - 1) + output_padding + 1);
  if (size.is_const() && size.value() < 0)
    return input_error("the padding is larger than the transposed convolution's output");
  return size;
}

Result<SymInt> pool_size(const SymInt& in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                         bool ceil_mode) {
  if (stride <= 0 || dilation <= 0 || kernel <= 0) return input_error("kernel, stride and dilation must be positive");
  if (padding < 0 || padding > ((kernel - 1) * dilation + 1) / 2)
    return input_error("a padding of " + std::to_string(padding) + " is more than half of the kernel of " +
                       std::to_string(kernel));
  const SymInt room = in + SymInt(2 * padding - dilation * (kernel - 1) - 1);
  SymInt size = SymInt::floordiv(room + SymInt(ceil_mode ? stride - 1 : 0), SymInt(stride)) + SymInt(1);
  // The last window has to start inside the input or its left padding.
  if (ceil_mode) {
    const SymInt limit = SymInt::floordiv(in + SymInt(padding - 1), SymInt(stride)) + SymInt(1);
    size = known_le(size, limit) ? size : SymInt::min(size, limit);
  }
  if (size.is_const() && size.value() < 1)
    return input_error("a pooling window of " + std::to_string(kernel) + " leaves no output for an input of " +
                       in.str());
  return size;
}

namespace {

// a / b where b divides a: factors common to both lists are struck out before dividing what is left.
SymInt divide_sizes(const Shape& numerator, const Shape& denominator) {
  Shape top = numerator;
  SymInt rest(1);
  for (const SymInt& size : denominator) {
    const auto equal = std::find(top.begin(), top.end(), size);
    if (equal != top.end()) {
      top.erase(equal);
    } else {
      rest = rest * size;
    }
  }
  const SymInt total = product(top);
  return rest.is_const() && rest.value() == 1 ? total : SymInt::floordiv(total, rest);
}

}  // namespace

Result<Shape> view_shape(const Shape& from, const ir::IntList& wish) {
  Shape out(wish.begin(), wish.end());
  size_t inferred = wish.size();
  Shape known;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].is_const() && out[i].value() == -1) {
      if (inferred != wish.size()) return input_error("more than one size of " + sizes_text(out) + " is -1");
      inferred = i;
    } else {
      if (out[i].is_const() && out[i].value() < -1) return input_error("size " + out[i].str() + " is negative");
      known.push_back(out[i]);
    }
  }
  const SymInt total = product(from);
  const auto misfit = [&] {
    return input_error("shape " + sizes_text(from) + " has not the element count of " +
                       sizes_text(Shape(wish.begin(), wish.end())));
  };
  if (inferred != wish.size()) {
    const SymInt rest = product(known);
    if (rest.is_const() && rest.value() == 0) return input_error("a size of -1 is ambiguous beside a size of 0");
    if (rest.is_const() && total.is_const() && total.value() % rest.value() != 0) return misfit();
    out[inferred] = divide_sizes(from, known);
  } else if (const SymInt wished = product(out);
             wished.is_const() && total.is_const() && wished.value() != total.value()) {
    return misfit();
  }
  return out;
}

Result<Shape> expand_shape(const Shape& from, const ir::IntList& wish) {
  if (wish.size() < from.size())
    return input_error("a tensor of shape " + sizes_text(from) + " cannot expand to fewer dims " +
                       sizes_text(Shape(wish.begin(), wish.end())));
  Shape out(wish.begin(), wish.end());
  const size_t lead = wish.size() - from.size();
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].is_const() && out[i].value() == -1) {
      if (i < lead) return input_error("a new leading dim of expand cannot be -1");
      out[i] = from[i - lead];
      continue;
    }
    if (i < lead) continue;
    const SymInt& size = from[i - lead];
    if (size.is_const() && out[i].is_const() && size.value() != out[i].value() && size.value() != 1)
      return input_error("shape " + sizes_text(from) + " does not expand to " +
                         sizes_text(Shape(wish.begin(), wish.end())));
  }
  return out;
}

namespace {

SymInt clamp_index(const std::optional<SymInt>& index, const SymInt& dim, const SymInt& absent) {
  if (!index) return absent;
  SymInt at = *index;
  if (at.is_const() && at.value() < 0) {
    at = at + dim;
  } else if (at.is_const() && at.value() >= kUnbounded) {
    return dim;  // Python's "to the end" is the largest integer
  }
  if (known_le(at, dim)) {
    return known_le(SymInt(0), at) ? at : SymInt::max(at, SymInt(0));
  }
  if (known_le(dim, at)) return dim;
  return SymInt::max(SymInt::min(at, dim), SymInt(0));
}

}  // namespace

SliceRange slice_range(const SymInt& dim, const std::optional<SymInt>& start, const std::optional<SymInt>& end,
                       int64_t step) {
  EL_CHECK(step > 0, "a slice's step is positive");
  const SymInt from = clamp_index(start, dim, SymInt(0));
  const SymInt to = clamp_index(end, dim, dim);
  SymInt length = to - from;
  if (!known_le(SymInt(0), length)) length = SymInt::max(length, SymInt(0));
  if (step != 1) length = SymInt::ceildiv(length, SymInt(step));
  return {from, length};
}

std::optional<SymInt> opt_sym(const Call& call, std::string_view name) {
  if (!call.has(name)) return std::nullopt;
  return call.sym_int(name);
}

Result<Shape> permuted_shape(const Shape& shape, std::span<const int64_t> dims) {
  const auto rank = static_cast<int64_t>(shape.size());
  if (dims.size() != shape.size())
    return input_error(std::to_string(dims.size()) + " dims are given for a tensor of rank " + std::to_string(rank));
  Shape out;
  uint64_t seen = 0;
  for (const int64_t dim : dims) {
    EL_TRY(const int64_t at, checked_dim(dim, rank));
    if ((seen >> at & 1) != 0) return input_error("dim " + std::to_string(dim) + " appears twice in the permutation");
    seen |= uint64_t{1} << at;
    out.push_back(shape[static_cast<size_t>(at)]);
  }
  return out;
}

}  // namespace edgelift::ops
