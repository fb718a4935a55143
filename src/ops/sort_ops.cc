// Order: sorting, selection by rank, the largest element's place, cumulative operators.
#include "ops/families.h"
#include "ops/infer.h"
#include "ops/kernel_limits.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using ir::Shape;
using ir::Type;

Types values_and_indices(const Type& self, Shape sizes) {
  return std::vector<Type>{Type::tensor(self.dtype, sizes), Type::tensor(DType::I64, sizes)};
}

Types infer_sort(const Call& call) {
  const Type& self = call.type("self");
  EL_TRY_OK(checked_dim(call.integer("dim"), self.rank()));
  return values_and_indices(self, self.sizes);
}

Types infer_argsort(const Call& call) {
  EL_TRY_OK(checked_dim(call.integer("dim"), call.type("self").rank()));
  return one(DType::I64, call.type("self").sizes);
}

Types infer_msort(const Call& call) { return one(call.type("self").dtype, call.type("self").sizes); }

Types infer_topk(const Call& call) {
  const Type& self = call.type("self");
  const SymInt k = call.sym_int("k");
  if (self.rank() == 0) return values_and_indices(self, {});
  EL_TRY(const int64_t dim, checked_dim(call.integer("dim"), self.rank()));
  Shape sizes = self.sizes;
  SymInt& size = sizes[static_cast<size_t>(dim)];
  if (k.is_const() && (k.value() < 0 || (size.is_const() && k.value() > size.value())))
    return input_error("k is " + k.str() + " for a dim of size " + size.str());
  size = k;
  return values_and_indices(self, std::move(sizes));
}

// max.dim, min.dim, median.dim, mode, kthvalue: one element of a dim.
Types infer_one_of_dim(const Call& call) {
  const Type& self = call.type("self");
  const int64_t dim = call.integer("dim");
  EL_TRY(Shape sizes, reduced_shape(self.sizes, std::vector<int64_t>{dim}, call.flag("keepdim"), false));
  return values_and_indices(self, std::move(sizes));
}

Types infer_arg_extremum(const Call& call) {
  const Type& self = call.type("self");
  if (!call.has("dim")) return one(DType::I64, Shape(call.flag("keepdim") ? self.sizes.size() : 0, SymInt(1)));
  EL_TRY(Shape sizes,
         reduced_shape(self.sizes, std::vector<int64_t>{call.integer("dim")}, call.flag("keepdim"), false));
  return one(DType::I64, std::move(sizes));
}

Types infer_scalar_of_self(const Call& call) { return one(call.type("self").dtype, {}); }

Types infer_cumulative(const Call& call) {
  const Type& self = call.type("self");
  EL_TRY_OK(checked_dim(call.integer("dim"), self.rank()));
  const bool has_dtype = call.op().schema.index_of("dtype") >= 0 && call.has("dtype");
  return one(has_dtype ? *call.dtype("dtype") : sum_result(self.dtype), self.sizes);
}

Types infer_cumulative_extremum(const Call& call) {
  const Type& self = call.type("self");
  EL_TRY_OK(checked_dim(call.integer("dim"), self.rank()));
  return values_and_indices(self, self.sizes);
}

Types infer_logcumsumexp(const Call& call) {
  EL_TRY_OK(checked_dim(call.integer("dim"), call.type("self").rank()));
  return one(float_result(call.type("self").dtype), call.type("self").sizes);
}

Types infer_quantile(const Call& call) {
  const Type& self = call.type("self");
  Shape sizes;
  if (call.has("dim")) {
    EL_TRY(sizes, reduced_shape(self.sizes, std::vector<int64_t>{call.integer("dim")}, call.flag("keepdim"), false));
  } else {
    sizes.assign(call.flag("keepdim") ? self.sizes.size() : 0, SymInt(1));
  }
  if (call.op().overload == "default") {
    const Shape& q = call.type("q").sizes;
    sizes.insert(sizes.begin(), q.begin(), q.end());
  }
  return one(self.dtype, std::move(sizes));
}

// A size that only the data decides.
SymInt data_size(int64_t most) { return SymInt::symbol(std::make_shared<const Symbol>(Symbol{"u_data", 0, most})); }

Types infer_unique(const Call& call) {
  const Type& self = call.type("self");
  const SymInt count = data_size(self.max_numel());
  const bool inverse = call.flag("return_inverse");
  return std::vector<Type>{Type::tensor(self.dtype, {count}),
                           Type::tensor(DType::I64, inverse ? self.sizes : Shape{SymInt(0)}),
                           Type::tensor(DType::I64, {call.flag("return_counts") ? count : SymInt(0)})};
}

Types infer_unique_dim(const Call& call) {
  const Type& self = call.type("self");
  EL_TRY(const int64_t dim, checked_dim(call.integer("dim"), self.rank()));
  if (self.rank() == 0) return input_error("a tensor of rank 0 has no dim");
  Shape sizes = self.sizes;
  const SymInt length = sizes[static_cast<size_t>(dim)];
  const SymInt count = data_size(length.upper());
  sizes[static_cast<size_t>(dim)] = count;
  return std::vector<Type>{Type::tensor(self.dtype, sizes),
                           Type::tensor(DType::I64, {call.flag("return_inverse") ? length : SymInt(0)}),
                           Type::tensor(DType::I64, {call.flag("return_counts") ? count : SymInt(0)})};
}

Types infer_bincount(const Call& call) {
  const ir::Value* weights = call.opt_tensor("weights");
  const DType dtype = weights == nullptr ? DType::I64 : weights->type.dtype == DType::F32 ? DType::F32 : DType::F64;
  return one(dtype, {data_size(kUnbounded)});
}

constexpr OpDef kRows[] = {
    {"aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
     infer_sort,
     nullptr,
     {},
     kNone,
     "the delegate does not sort"},
    {"aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor "
     "indices)",
     infer_sort,
     nullptr,
     {},
     kNone,
     "the delegate does not sort"},
    {"aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
     infer_argsort,
     nullptr,
     {},
     kNone,
     "the delegate does not sort"},
    {"aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
     infer_argsort,
     nullptr,
     {},
     kNone,
     "the delegate does not sort"},
    {"aten::msort(Tensor self) -> Tensor", infer_msort, nullptr, {}, kNone, "the delegate does not sort"},
    {"aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor "
     "indices)",
     infer_topk, nullptr, "aten::topk.values", kNone, "the delegate does not sort"},
    {"aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
     infer_one_of_dim,
     nullptr,
     {},
     kNone,
     "the delegate does not sort"},
    {"aten::median(Tensor self) -> Tensor", infer_scalar_of_self, nullptr, {}, kNone, "the delegate does not sort"},
    {"aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     infer_one_of_dim,
     nullptr,
     {},
     kNone,
     "the delegate does not sort"},
    {"aten::nanmedian(Tensor self) -> Tensor", infer_scalar_of_self, nullptr, {}, kNone, "the delegate does not sort"},
    {"aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
     infer_one_of_dim,
     nullptr,
     {},
     kNone,
     "the delegate does not sort"},
    {"aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
     infer_one_of_dim,
     nullptr,
     {},
     kNone,
     "the delegate does not sort"},
    {"aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> "
     "Tensor",
     infer_quantile,
     nullptr,
     {},
     kNone,
     "the delegate does not sort"},
    {"aten::quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str "
     "interpolation=\"linear\") -> Tensor",
     infer_quantile,
     nullptr,
     {},
     kNone,
     "the delegate does not sort"},
    {"aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, "
     "Tensor, Tensor)",
     infer_unique,
     nullptr,
     {},
     kNone,
     "the delegate does not sort"},
    {"aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> "
     "(Tensor, Tensor, Tensor)",
     infer_unique,
     nullptr,
     {},
     kNone,
     "the delegate does not sort"},
    {"aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) "
     "-> (Tensor, Tensor, Tensor)",
     infer_unique_dim,
     nullptr,
     {},
     kNone,
     "the delegate does not sort"},
    {"aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
     infer_bincount,
     nullptr,
     {},
     kNone,
     "the delegate cannot address elements by an index tensor"},
    {"aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", infer_one_of_dim,
     nullptr, "aten::max.dim_max", kNone,
     "pooling, which the delegate would need for it, ignores NaN, and its place of the maximum is not int64"},
    {"aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)", infer_one_of_dim,
     nullptr, "aten::min.dim_min", kNone,
     "pooling, which the delegate would need for it, ignores NaN, and its place of the maximum is not int64"},
    {"aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", infer_arg_extremum, nullptr,
     "aten::argmax.out", kNone,
     "pooling, which the delegate would need for it, ignores NaN, and its place of the maximum is not int64"},
    {"aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", infer_arg_extremum, nullptr,
     "aten::argmin.out", kNone,
     "pooling, which the delegate would need for it, ignores NaN, and its place of the maximum is not int64"},
    // Cumulative operators.
    {"aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", infer_cumulative, nullptr,
     "aten::cumsum.out", kNone, "the delegate has no running sums", kernel_has_dims},
    {"aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     infer_cumulative,
     nullptr,
     {},
     kNone,
     "the delegate has no running sums"},
    {"aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)",
     infer_cumulative_extremum,
     nullptr,
     {},
     kNone,
     "the delegate has no running sums"},
    {"aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)",
     infer_cumulative_extremum,
     nullptr,
     {},
     kNone,
     "the delegate has no running sums"},
    {"aten::logcumsumexp(Tensor self, int dim) -> Tensor",
     infer_logcumsumexp,
     nullptr,
     {},
     kNone,
     "the delegate has no running sums"},
    {"aten::cumsum_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    {"aten::cumprod_(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
};

}  // namespace

std::span<const OpDef> sort_ops() { return kRows; }

}  // namespace edgelift::ops
