// Reductions and scans without a kernel of their own.
#include <cmath>
#include <limits>

#include "edge/table.h"

namespace edgelift::edge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

bool has_arg(Builder& b, std::string_view name) { return b.call.op().schema.index_of(name) >= 0; }

std::vector<int64_t> dims_or_all(Builder& b, Value* x) {
  return has_arg(b, "dim") ? b.dims("dim", b.rank(x), true) : iota(b.rank(x));
}
bool keep_of(Builder& b) { return has_arg(b, "keepdim") && b.call.flag("keepdim"); }

// sum(x) and mean(x): all dims.
Result<bool> sum_all(Builder& b) {
  // Upstream keeps mean.default apart from mean.dim; sum.default becomes sum.dim_IntList with no dims.
  const std::vector<int64_t> dims = b.upstream ? std::vector<int64_t>{} : iota(b.rank(b.in()));
  if (b.base() == "mean" && b.upstream) return false;
  const char* name = b.base() == "sum" ? "sum.dim_IntList" : "mean.dim";
  return b.replace(b.make(name, {b.in(), int_list(dims), false}, {{"dtype", b.arg("dtype")}}));
}

// Squares of distances to the mean over count - correction. The kernels know var.correction and var_mean.correction.
Result<bool> variance(Builder& b) {
  Value* x = b.in();
  const bool unbiased = has_arg(b, "unbiased");
  Arg correction = unbiased ? Arg(SymInt(b.call.flag("unbiased") ? 1 : 0)) : b.arg("correction");
  if (ir::is_none(correction)) correction = SymInt(1);
  Arg dim = has_arg(b, "dim") ? b.arg("dim") : Arg();
  if (ir::is_none(dim) || std::get<IntList>(dim).empty()) dim = b.upstream ? Arg() : Arg(int_list(iota(b.rank(x))));
  const bool keep = keep_of(b);
  const bool root = b.base().starts_with("std");
  if (b.base() == "var_mean" || b.base() == "std_mean") {
    Value* var = b.make("var.correction", {x, dim}, {{"correction", correction}, {"keepdim", keep}});
    Value* mean = b.make("mean.dim", {x, dim, keep});
    return b.replace({root ? b.unary("sqrt", var) : var, mean});
  }
  Value* var = b.make("var.correction", {x, dim}, {{"correction", correction}, {"keepdim", keep}});
  return b.replace(root ? b.unary("sqrt", var) : var);
}

// log(sum(exp(x - m))) + m with the largest value m, which is left out where it is infinite.
Result<bool> logsumexp(Builder& b) {
  Value* x = b.in();
  if (!is_float(b.dtype(x))) x = b.cast(x, DType::F32);
  const auto dims = dims_or_all(b, x);
  const bool keep = keep_of(b);
  if (b.rank(x) == 0) return b.replace(x);
  Value* top = b.amax(x, dims, true);
  Value* infinite = b.make("eq.Scalar", {b.unary("abs", top), kInf});
  Value* safe = b.upstream ? b.where(infinite, 0.0, top, b.dtype(x)) : b.masked_fill(top, infinite, 0.0);
  Value* sum = b.sum(b.unary("exp", b.sub(x, safe)), dims, keep);
  if (!keep) safe = b.make("squeeze.dims", {safe, int_list(dims)});
  return b.replace(b.add(b.unary("log", sum), safe));
}

// A scan by doubling: after step k every element holds the result over the 2^k elements that end at it. log2(n) steps
// of slices of the whole tensor.
template <class Combine>
Value* scan(Builder& b, Value* x, int64_t dim, Combine combine) {
  const int64_t n = b.size(x, dim).value();
  for (int64_t step = 1; step < n; step *= 2) {
    Value* head = b.slice(x, dim, SymInt(0), SymInt(step));
    Value* tail = combine(b.slice(x, dim, SymInt(step), SymInt(n)), b.slice(x, dim, SymInt(0), SymInt(n - step)));
    x = b.cat({head, tail}, dim);
  }
  return x;
}

Result<bool> fixed_length(Builder& b, Value* x, int64_t dim) {
  if (b.size(x, dim).is_const()) return true;
  return b.refuse(
      "runs over a dynamic dim, and the runtime has neither a kernel nor a loop for it; export it with a fixed size");
}

Result<bool> cumprod(Builder& b) {
  Value* x = b.cast(b.in(), b.out_type().dtype);
  if (b.rank(x) == 0) return b.replace(x);
  const int64_t dim = b.dim("dim", b.rank(x));
  EL_TRY_OK(fixed_length(b, x, dim));
  return b.replace(scan(b, x, dim, [&](Value* late, Value* early) { return b.mul(early, late); }));
}

Result<bool> logcumsumexp(Builder& b) {
  Value* x = b.in();
  if (b.rank(x) == 0) return b.replace(x);
  const int64_t dim = b.dim("dim", b.rank(x));
  EL_TRY_OK(fixed_length(b, x, dim));
  return b.replace(scan(b, x, dim, [&](Value* late, Value* early) { return b.make("logaddexp", {early, late}); }));
}

// The running extreme, and where it stands: of equal ones the latest.
Result<bool> cummax(Builder& b) {
  Value* x = b.in();
  if (b.rank(x) == 0) return b.replace({x, b.full({}, SymInt(0), DType::I64)});
  const int64_t dim = b.dim("dim", b.rank(x)), n_rank = b.rank(x);
  EL_TRY_OK(fixed_length(b, x, dim));
  const bool high = b.base() == "cummax";
  const int64_t n = b.size(x, dim).value();
  Shape line(static_cast<size_t>(n_rank), SymInt(1));
  line[static_cast<size_t>(dim)] = SymInt(n);
  Value* index = b.used(1) ? b.expand(b.view(b.arange(SymInt(n)), line), x->type.sizes) : nullptr;
  Value* value = x;
  for (int64_t step = 1; step < n; step *= 2) {
    const auto late = [&](Value* v) { return b.slice(v, dim, SymInt(step), SymInt(n)); };
    const auto early = [&](Value* v) { return b.slice(v, dim, SymInt(0), SymInt(n - step)); };
    const auto head = [&](Value* v) { return b.slice(v, dim, SymInt(0), SymInt(step)); };
    Value* newer = late(value);
    Value* older = early(value);
    // NaN wins and stays.
    Value* take_new = b.make(high ? "ge.Tensor" : "le.Tensor", {newer, older});
    if (is_float(b.dtype(x))) take_new = b.make("logical_or", {take_new, b.unary("isnan", newer)});
    if (index != nullptr) index = b.cat({head(index), b.where(take_new, late(index), early(index))}, dim);
    value = b.cat({head(value), b.where(take_new, newer, older)}, dim);
  }
  return b.replace({value, index});
}

Result<bool> all(Builder& b) {
  Value* x = b.in();
  const auto dims = dims_or_all(b, x);
  Value* off = b.logical_not(x);
  if (dims.empty()) return b.replace(b.cast(b.logical_not(off), b.out_type().dtype));
  Value* some = dims.size() == 1 ? b.make("any.dim", {off, SymInt(dims[0]), keep_of(b)})
                                 : b.make("any.dims", {off, int_list(dims), keep_of(b)});
  return b.replace(b.cast(b.logical_not(some), b.out_type().dtype));
}

Result<bool> aminmax(Builder& b) {
  Value* x = b.in();
  const auto dims = ir::is_none(b.arg("dim")) ? iota(b.rank(x)) : std::vector<int64_t>{b.dim("dim", b.rank(x))};
  const bool keep = keep_of(b);
  return b.replace({b.amin(x, dims, keep), b.amax(x, dims, keep)});
}

Value* without_nan(Builder& b, Value* x) {
  return is_float(b.dtype(x)) ? b.masked_fill(x, b.unary("isnan", x), 0.0) : x;
}

Result<bool> nansum(Builder& b) {
  Value* x = without_nan(b, b.in());
  return b.replace(
      b.make("sum.dim_IntList", {x, int_list(dims_or_all(b, x)), keep_of(b)}, {{"dtype", b.arg("dtype")}}));
}

Result<bool> nanmean(Builder& b) {
  Value* x = b.in();
  const auto dims = dims_or_all(b, x);
  const bool keep = keep_of(b);
  const DType d = b.out_type().dtype;
  Value* sum = b.cast(b.sum(without_nan(b, x), dims, keep), d);
  Value* count = b.sum(b.logical_not(b.unary("isnan", x)), dims, keep);
  return b.replace(b.cast(b.div(sum, count), d));
}

Result<bool> count_nonzero(Builder& b) {
  Value* x = b.in();
  const auto dims = ir::is_none(b.arg("dim")) ? iota(b.rank(x)) : b.dims("dim", b.rank(x), true);
  return b.replace(b.sum(b.make("ne.Scalar", {x, SymInt(0)}), dims, false));
}

Result<bool> dist(Builder& b) {
  return b.replace(b.make("linalg_vector_norm", {b.sub(b.in(), b.in("other")), b.arg("p")}));
}

// Differences of neighbours, n times.
Result<bool> diff(Builder& b) {
  Value* x = b.in();
  const int64_t dim = b.dim("dim", b.rank(x));
  std::vector<Value*> parts;
  if (Value* before = b.maybe("prepend")) parts.push_back(before);
  parts.push_back(x);
  if (Value* after = b.maybe("append")) parts.push_back(after);
  if (parts.size() > 1) x = b.cat(parts, dim);
  const int64_t times = b.integer("n");
  if (times == 0) return b.replace(x);
  for (int64_t i = 0; i < times; ++i) {
    const SymInt n = b.size(x, dim);
    Value* early = b.slice(x, dim, SymInt(0), n - SymInt(1));
    Value* late = b.slice(x, dim, SymInt(1), n);
    x = b.dtype(x) == DType::Bool ? b.make("logical_xor", {late, early}) : b.sub(late, early);
  }
  return b.replace(x);
}

// The trapezoid rule; x, where given, lies along dim.
Result<bool> trapezoid(Builder& b) {
  Value* y = b.in("y");
  const int64_t dim = b.dim("dim", b.rank(y));
  const SymInt n = b.size(y, dim);
  Value* pair = b.add(b.slice(y, dim, SymInt(1), n), b.slice(y, dim, SymInt(0), n - SymInt(1)));
  Value* area = nullptr;
  if (has_arg(b, "x")) {
    Value* x = b.in("x");
    if (b.rank(x) == 1 && b.rank(y) > 1) {
      Shape line(static_cast<size_t>(b.rank(y)), SymInt(1));
      line[static_cast<size_t>(dim)] = b.size(x, 0);
      x = b.view(x, line);
    }
    const int64_t xd = b.rank(x) - (b.rank(y) - dim);
    Value* step = b.sub(b.slice(x, xd, SymInt(1), b.size(x, xd)), b.slice(x, xd, SymInt(0), b.size(x, xd) - SymInt(1)));
    area = b.div(b.mul(pair, step), 2.0);
  } else {
    area = b.div(b.mul(pair, b.arg("dx")), 2.0);
  }
  if (b.base() == "cumulative_trapezoid") return b.replace(b.make("cumsum", {area, SymInt(dim)}));
  return b.replace(b.sum(area, {dim}, false));
}

Result<bool> sum_to_size(Builder& b) {
  Value* x = b.in();
  const Shape& to = b.out_type().sizes;
  const int64_t added = b.rank(x) - static_cast<int64_t>(to.size());
  std::vector<int64_t> dims = iota(added);
  if (!dims.empty()) x = b.sum(x, dims, false);
  dims.clear();
  for (int64_t i = 0; i < b.rank(x); ++i)
    if (to[static_cast<size_t>(i)] == SymInt(1) && b.size(x, i) != SymInt(1)) dims.push_back(i);
  return b.replace(dims.empty() ? x : b.sum(x, dims, true));
}

// mean of integers is an error in eager; any of numbers is any of (x != 0), which the kernel does itself.
Result<bool> cosine_similarity(Builder& b) {
  Value* x = b.in("x1");
  Value* y = b.in("x2");
  const DType d = b.out_type().dtype;
  x = b.cast(x, d);
  y = b.cast(y, d);
  const auto rank = static_cast<int64_t>(std::max(x->type.sizes.size(), y->type.sizes.size()));
  const int64_t dim = b.dim("dim", rank);
  const Arg eps = b.arg("eps");
  // Each vector is divided by its own length, which is at least eps.
  const auto unit = [&](Value* v) {
    const int64_t own = dim - (rank - b.rank(v));
    Value* length = b.unary("sqrt", b.sum(b.square(v), {own}, true));
    return b.div(v, b.clamp(length, eps, Arg()));
  };
  Value* left = unit(x);
  return b.replace(b.sum(b.mul(left, unit(y)), {dim}, false));
}

Result<bool> pairwise_distance(Builder& b) {
  Value* gap = b.add(b.sub(b.in("x1"), b.in("x2")), b.arg("eps"));
  return b.replace(
      b.make("linalg_vector_norm", {gap, b.arg("p"), IntList{SymInt(b.rank(gap) - 1)}, b.call.flag("keepdim")}));
}

// Distances between all rows; the kernel takes any p.
Result<bool> cdist(Builder& b) {
  Value* x = b.in("x1");
  Value* y = b.in("x2");
  const auto p = b.base() == "_euclidean_dist" ? 2.0 : b.call.number("p");
  Shape batch = b.out_type().sizes;
  batch.resize(batch.size() - 2);
  const auto whole = [&](Value* v) {
    Shape to = batch;
    to.push_back(b.size(v, -2));
    to.push_back(b.size(v, -1));
    return b.expand(v, std::move(to));
  };
  Value* left = whole(x);
  return b.replace(b.make("_cdist_forward", {left, whole(y), p, Arg()}));
}

Result<bool> pdist(Builder& b) { return b.replace(b.make("_pdist_forward", {b.in(), b.arg("p")})); }

Result<bool> all_close(Builder& b) {
  if (b.base() == "equal") return b.refuse("gives a Python bool, which a compiled program cannot branch on");
  return b.refuse("gives a Python bool, which a compiled program cannot branch on");
}

// Rows as variables, columns as observations.
Result<bool> covariance(Builder& b) {
  Value* x = b.in();
  if (b.base() == "cov" && (b.maybe("fweights") != nullptr || b.maybe("aweights") != nullptr))
    return b.refuse("takes weights of observations, for which edgelift has no form");
  const bool vector = b.rank(x) < 2;
  if (b.rank(x) == 0) x = b.view(x, {SymInt(1), SymInt(1)});
  if (b.rank(x) == 1) x = b.unsqueeze(x, 0);
  const SymInt n = b.size(x, 1);
  const int64_t correction = b.base() == "cov" ? b.integer("correction") : 1;
  Value* centred = b.sub(x, b.mean(x, {1}, true));
  Value* cov = b.mm(centred, b.transpose(centred, 0, 1));
  if (!n.is_const()) return b.refuse("has a dynamic number of observations, for which edgelift has no form");
  cov = b.div(cov, static_cast<double>(std::max<int64_t>(n.value() - correction, 0)));
  if (b.base() == "corrcoef") {
    Value* spread = b.unary("sqrt", b.make("diagonal", {cov, SymInt(0), SymInt(0), SymInt(1)}));
    cov = b.div(b.div(cov, b.unsqueeze(spread, 1)), b.unsqueeze(spread, 0));
    cov = b.clamp(cov, -1.0, 1.0);
  }
  return b.replace(vector ? b.view(cov, {}) : cov);
}

constexpr Entry kEntries[] = {
    {"sum", sum_all},
    {"mean", sum_all, kEdge},
    {"var", variance},
    {"var.dim", variance},
    {"std", variance},
    {"std.dim", variance},
    {"std.correction", variance},
    {"var_mean", variance},
    {"var_mean.dim", variance},
    {"var_mean.correction", variance, kUpstream},
    {"std_mean", variance},
    {"std_mean.dim", variance},
    {"std_mean.correction", variance},
    {"logsumexp", logsumexp, kUpstream | kLegal},
    {"logcumsumexp", logcumsumexp},
    {"cumprod", cumprod},
    {"cummax", cummax},
    {"cummin", cummax},
    {"all", all},
    {"all.dim", all},
    {"all.dims", all},
    {"aminmax", aminmax},
    {"nansum", nansum},
    {"nanmean", nanmean},
    {"count_nonzero", count_nonzero},
    {"count_nonzero.dim_IntList", count_nonzero},
    {"dist", dist},
    {"diff", diff},
    {"trapezoid.x", trapezoid},
    {"trapezoid.dx", trapezoid},
    {"trapz.x", trapezoid},
    {"trapz.dx", trapezoid},
    {"cumulative_trapezoid.x", trapezoid},
    {"cumulative_trapezoid.dx", trapezoid},
    {"sum_to_size", sum_to_size},
    {"cosine_similarity", cosine_similarity},
    {"pairwise_distance", pairwise_distance},
    {"cdist", cdist},
    {"_euclidean_dist", cdist},
    {"pdist", pdist},
    {"equal", all_close},
    {"allclose", all_close},
    {"cov", covariance},
    {"corrcoef", covariance},
};

}  // namespace

std::span<const Entry> reduce_entries() { return kEntries; }

}  // namespace edgelift::edge
