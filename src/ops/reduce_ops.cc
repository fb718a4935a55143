// Reductions over dims.
#include <algorithm>

#include "ops/families.h"
#include "ops/infer.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using ir::Shape;
using ir::Type;
using xnn::Kind;

bool has_arg(const Call& call, std::string_view name) { return call.op().schema.index_of(name) >= 0; }

// The dims asked for; none given means all of them.
Result<std::vector<int64_t>> dims_of(const Call& call) {
  const int64_t rank = call.type("self").rank();
  std::vector<int64_t> dims;
  if (has_arg(call, "dim") && call.has("dim")) {
    if (std::holds_alternative<ir::IntList>(call.arg("dim"))) {
      dims = call.integers("dim");
    } else {
      dims = {call.integer("dim")};
    }
  }
  return normalize_dims(dims, rank, true);
}

Result<Shape> shape_of(const Call& call) {
  const bool keepdim = has_arg(call, "keepdim") && call.flag("keepdim");
  EL_TRY(const std::vector<int64_t> dims, dims_of(call));
  return reduced_shape(call.type("self").sizes, dims, keepdim, true);
}

DType asked_or(const Call& call, DType otherwise) {
  return has_arg(call, "dtype") ? call.dtype("dtype").value_or(otherwise) : otherwise;
}

Types infer_sum(const Call& call) {
  EL_TRY(Shape sizes, shape_of(call));
  return one(asked_or(call, sum_result(call.type("self").dtype)), std::move(sizes));
}

Types infer_mean(const Call& call) {
  const DType dtype = asked_or(call, call.type("self").dtype);
  if (!is_float(dtype) && !is_complex(dtype))
    return input_error("the mean of " + std::string(long_name(dtype)) + " is not defined; ask for a float dtype");
  EL_TRY(Shape sizes, shape_of(call));
  return one(dtype, std::move(sizes));
}

// amax, max, norms of floats: the operand's dtype.
Types infer_same_dtype(const Call& call) {
  EL_TRY(Shape sizes, shape_of(call));
  return one(asked_or(call, call.type("self").dtype), std::move(sizes));
}

Types infer_norm(const Call& call) {
  EL_TRY(Shape sizes, shape_of(call));
  DType dtype = asked_or(call, call.type("self").dtype);
  if (dtype == DType::C64) dtype = DType::F32;
  if (dtype == DType::C128) dtype = DType::F64;
  return one(dtype, std::move(sizes));
}

Types infer_float(const Call& call) {
  EL_TRY(Shape sizes, shape_of(call));
  return one(float_result(call.type("self").dtype), std::move(sizes));
}

Types infer_bool(const Call& call) {
  EL_TRY(Shape sizes, shape_of(call));
  const bool bytes = call.type("self").dtype == DType::U8;  // PyTorch keeps uint8 here
  return one(bytes ? DType::U8 : DType::Bool, std::move(sizes));
}

Types infer_count(const Call& call) {
  EL_TRY(Shape sizes, shape_of(call));
  return one(DType::I64, std::move(sizes));
}

Types infer_two(const Call& call) {
  EL_TRY(Shape sizes, shape_of(call));
  const Type type = Type::tensor(call.type("self").dtype, std::move(sizes));
  return std::vector<Type>{type, type};
}

Types infer_dist(const Call& call) { return one(promote_args(call, {"self", "other"}), {}); }

// Areas under a curve: all of it, or from the start to each point.
Types infer_trapezoid(const Call& call) {
  const Type& y = call.type("y");
  EL_TRY(const int64_t dim, checked_dim(call.integer("dim"), y.rank()));
  if (y.rank() == 0) return input_error("a curve has at least one dim");
  Shape sizes = y.sizes;
  Promotion promotion;
  promotion.add(y);
  if (has_arg(call, "x")) {
    promotion.add(call.type("x"));
    if (call.type("x").rank() > 1) {
      EL_TRY(sizes, broadcast_shapes(sizes, call.type("x").sizes));
    }
  }
  if (call.op().base == "cumulative_trapezoid") {
    sizes[static_cast<size_t>(dim)] = sizes[static_cast<size_t>(dim)] - SymInt(1);
  } else {
    sizes.erase(sizes.begin() + dim);
  }
  return one(float_result(promotion.result()), std::move(sizes));
}

Types infer_sum_to_size(const Call& call) {
  const ir::IntList& size = call.ints("size");
  if (size.size() > call.type("self").sizes.size())
    return input_error("the result would have more dims than the operand");
  return one(call.type("self").dtype, Shape(size.begin(), size.end()));
}

// Rows are variables: a square matrix, or one number for one variable.
Types infer_cov(const Call& call) {
  const Type& self = call.type("self");
  if (self.rank() > 2) return input_error("the operand has more than two dims: " + self.str());
  const DType dtype = float_result(self.dtype);
  if (self.rank() < 2) return one(dtype, {});
  if (self.sizes[0] == SymInt(1)) return one(dtype, {});
  return one(dtype, {self.sizes[0], self.sizes[0]});
}

// ---- lowering ----

// The average over adjacent dims. The pooling node averages over the two dims before the last one (rows and columns of
// NHWC); other dims reach that place by a reshape, those of NCHW by a transpose, which convolutions around it cancel.
LowerResult average(const Call& call, XnnBuilder& b, const std::vector<int64_t>& dims, uint32_t* average) {
  const Type& self = call.type("self");
  const auto rank = static_cast<size_t>(self.rank());
  const ir::Value* result = call.result();
  const auto first = static_cast<size_t>(dims.front());
  const auto last = static_cast<size_t>(dims.back());
  const auto pool = [&](uint32_t in, Shape sizes, bool keepdim) {
    const uint32_t out = b.temp(self.dtype, std::move(sizes));
    b.node(Kind::GlobalAvgPooling2d, {in}, {out}).flags = keepdim ? xnn::kFlagKeepDims : 0;
    return out;
  };
  const bool keepdim = has_arg(call, "keepdim") && call.flag("keepdim");
  if (rank == 4 && dims == std::vector<int64_t>{2, 3}) {
    const uint32_t in = b.to_nhwc(b.value(call.tensor("self")));
    if (keepdim) {
      *average = b.from_nhwc(pool(in, {self.sizes[0], SymInt(1), SymInt(1), self.sizes[1]}, true));
    } else {
      *average = pool(in, {self.sizes[0], self.sizes[1]}, false);
    }
    return std::nullopt;
  }
  if (last - first + 1 != dims.size())
    return refuse(Code::Attribute, "the dims are not adjacent; the delegate's pooling averages over adjacent ones");
  if (last + 1 == rank)
    return refuse(
        Code::Attribute,
        rank == 0 || dims.size() == rank
            ? "it reduces the whole tensor; the delegate's pooling keeps the last dim"
            : "it reduces the last dim, which the delegate's pooling keeps; a product with a constant does it");
  if (dims.size() == 2 && last + 2 == rank && rank >= 3) {
    *average = pool(b.value(call.tensor("self")), result->type.sizes, keepdim);
    return std::nullopt;
  }
  const Shape rows{product_of(self.sizes, 0, first), product_of(self.sizes, first, last + 1), SymInt(1),
                   product_of(self.sizes, last + 1, rank)};
  if (!reshapable(rows) || !reshapable(result->type.sizes))
    return refuse(Code::Dynamic, "more than one size is dynamic: " + self.str());
  const uint32_t pooled = pool(b.reshape(b.value(call.tensor("self")), rows), {rows[0], rows[3]}, false);
  *average = b.reshape(pooled, result->type.sizes);
  return std::nullopt;
}

LowerResult lower_mean(const Call& call, XnnBuilder& b) {
  const auto dims = dims_of(call);
  if (!dims.ok() || dims->empty()) return refuse(Code::Rank, "the operand has rank 0");
  uint32_t mean = xnn::kInvalid;
  if (auto refused = average(call, b, *dims, &mean)) return refused;
  b.alias(call.result(), mean);
  return std::nullopt;
}

// The average times the number of elements.
LowerResult lower_sum(const Call& call, XnnBuilder& b) {
  const auto dims = dims_of(call);
  if (!dims.ok() || dims->empty()) return refuse(Code::Rank, "the operand has rank 0");
  SymInt count(1);
  for (const int64_t dim : *dims) count = count * call.type("self").sizes[static_cast<size_t>(dim)];
  if (!count.is_const())
    return refuse(Code::Dynamic, "the number of elements that are added is dynamic: " + count.str());
  uint32_t mean = xnn::kInvalid;
  if (auto refused = average(call, b, *dims, &mean)) return refused;
  const uint32_t factor = b.unpacked_scalar(call.type("self").dtype, static_cast<double>(count.value()));
  b.binary(Kind::Multiply, mean, factor, b.define(call.result()));
  return std::nullopt;
}

constexpr OpDef kRows[] = {
    {"aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", infer_sum, lower_sum,
     "aten::sum.IntList_out(self, none, false, dtype)", kNone,
     "over adjacent dims that are not the last, or over H and W of four dims"},
    {"aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     infer_sum, lower_sum, "aten::sum.IntList_out", kNone,
     "over adjacent dims that are not the last, or over H and W of four dims"},
    {"aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", infer_mean, lower_mean, "aten::mean.dtype_out",
     kNone, "over adjacent dims that are not the last, or over H and W of four dims"},
    {"aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", infer_mean,
     lower_mean, "aten::mean.out", kNone, "over adjacent dims that are not the last, or over H and W of four dims"},
    {"aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", infer_sum},
    {"aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
     infer_mean},
    {"aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", infer_sum, nullptr, "aten::prod.out"},
    {"aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", infer_sum,
     nullptr, "aten::prod.int_out"},
    {"aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", infer_same_dtype, nullptr,
     "aten::amax.out", kNone, "pooling, which the delegate would need for it, ignores NaN"},
    {"aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", infer_same_dtype, nullptr,
     "aten::amin.out", kNone, "pooling, which the delegate would need for it, ignores NaN"},
    {"aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)",
     infer_two,
     nullptr,
     {},
     kNone,
     "pooling, which the delegate would need for it, ignores NaN"},
    {"aten::max(Tensor self) -> Tensor", infer_same_dtype, nullptr, "aten::max.unary_out", kNone,
     "pooling, which the delegate would need for it, ignores NaN"},
    {"aten::min(Tensor self) -> Tensor", infer_same_dtype, nullptr, "aten::min.unary_out", kNone,
     "pooling, which the delegate would need for it, ignores NaN"},
    {"aten::any(Tensor self) -> Tensor", infer_bool, nullptr, "aten::any.all_out", kNone,
     "its result is bool or int64, which the delegate has not"},
    {"aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", infer_bool, nullptr, "aten::any.out", kNone,
     "its result is bool or int64, which the delegate has not"},
    {"aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", infer_bool, nullptr,
     "aten::any.dims_out", kNone, "its result is bool or int64, which the delegate has not"},
    {"aten::all(Tensor self) -> Tensor",
     infer_bool,
     nullptr,
     {},
     kNone,
     "its result is bool or int64, which the delegate has not"},
    {"aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor",
     infer_bool,
     nullptr,
     {},
     kNone,
     "its result is bool or int64, which the delegate has not"},
    {"aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
     infer_bool,
     nullptr,
     {},
     kNone,
     "its result is bool or int64, which the delegate has not"},
    {"aten::count_nonzero(Tensor self, int? dim=None) -> Tensor",
     infer_count,
     nullptr,
     {},
     kNone,
     "its result is bool or int64, which the delegate has not"},
    {"aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
     infer_count,
     nullptr,
     {},
     kNone,
     "its result is bool or int64, which the delegate has not"},
    {"aten::var(Tensor self, bool unbiased=True) -> Tensor", infer_norm, nullptr,
     "aten::var.out(self, none, unbiased, false)"},
    {"aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", infer_norm, nullptr,
     "aten::var.out"},
    {"aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
     infer_norm, nullptr, "aten::var.correction_out"},
    {"aten::std(Tensor self, bool unbiased=True) -> Tensor", infer_norm},
    {"aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor", infer_norm},
    {"aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
     infer_norm},
    {"aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", infer_two},
    {"aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
     infer_two},
    {"aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
     "(Tensor, Tensor)",
     infer_two, nullptr, "aten::var_mean.correction_out"},
    {"aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)", infer_two},
    {"aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
     infer_two},
    {"aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
     "(Tensor, Tensor)",
     infer_two},
    {"aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", infer_float},
    {"aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor", infer_norm},
    {"aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor", infer_norm},
    {"aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor",
     infer_norm},
    {"aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor", infer_norm},
    {"aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
     "dtype=None) -> Tensor",
     infer_norm},
    {"aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
     "dtype=None) -> Tensor",
     infer_norm},
    {"aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", infer_norm},
    {"aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
     "dtype=None) -> Tensor",
     infer_norm},
    {"aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? "
     "dtype=None) -> Tensor",
     infer_norm},
    {"aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool keepdim=False, *, "
     "ScalarType? dtype=None) -> Tensor",
     infer_norm},
    {"aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", infer_trapezoid},
    {"aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", infer_trapezoid},
    {"aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", infer_trapezoid},
    {"aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor", infer_trapezoid},
    {"aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", infer_trapezoid},
    {"aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", infer_trapezoid},
    {"aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor", infer_sum_to_size},
    {"aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor", infer_cov},
    {"aten::corrcoef(Tensor self) -> Tensor", infer_cov},
    {"aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", infer_dist},
};

}  // namespace

std::span<const OpDef> reduce_ops() { return kRows; }

}  // namespace edgelift::ops
