// Sorting without a sort kernel. A stable order is a rank: element i stands at the number of elements before it, that
// is smaller ones plus equal ones with a smaller index. Ranks come from one comparison of the dim with itself (n * n
// elements), so long dims go through the topk kernel, which is not stable, where nobody sees the order of equals.
#include <limits>

#include "edge/table.h"

namespace edgelift::edge {
namespace {

// The square of a comparison has at most this many elements for each line that is sorted.
constexpr int64_t kMaxRanked = 512;

struct Sorted {
  Value* values = nullptr;
  Value* indices = nullptr;
};

// a stands before b: smaller (or larger), NaN counting as the largest of all.
Value* before(Builder& b, Value* x, Value* y, bool descending) {
  Value* less = b.make(descending ? "gt.Tensor" : "lt.Tensor", {x, y});
  if (!is_float(b.dtype(x))) return less;
  Value* x_nan = b.unary("isnan", x);
  Value* y_nan = b.unary("isnan", y);
  Value* only = descending ? b.make("logical_and", {x_nan, b.logical_not(y_nan)})
                           : b.make("logical_and", {y_nan, b.logical_not(x_nan)});
  return b.make("logical_or", {less, only});
}

// Sorts the last dim, stably. x [.., n].
Sorted rank_sort(Builder& b, Value* x, bool descending, bool want_indices) {
  const int64_t r = b.rank(x);
  const SymInt n = b.size(x, -1);
  if (b.dtype(x) == DType::Bool) {
    Sorted wide = rank_sort(b, b.cast(x, DType::I8), descending, want_indices);
    wide.values = b.cast(wide.values, DType::Bool);
    return wide;
  }
  Value* rows = b.unsqueeze(x, r);         // [.., n, 1]: the element that is placed
  Value* columns = b.unsqueeze(x, r - 1);  // [.., 1, n]: the others
  Value* index = b.arange(n);
  Value* earlier = b.make("lt.Tensor", {index, b.unsqueeze(index, 1)});  // column index < row index
  Value* others_first = before(b, columns, rows, descending);
  Value* ties = b.logical_not(b.make("logical_or", {others_first, before(b, rows, columns, descending)}));
  Value* ahead = b.make("logical_or", {others_first, b.make("logical_and", {ties, earlier})});
  Value* rank = b.sum(ahead, {r}, false);  // i64 [.., n]
  Sorted out;
  // Both come by scattering to the places found.
  Value* zeros = b.full(x->type.sizes, SymInt(0), b.dtype(x));
  out.values = b.make("scatter.src", {zeros, SymInt(r - 1), rank, x});
  if (want_indices) {
    Value* whole = b.expand(index, x->type.sizes);
    Value* none = b.full(x->type.sizes, SymInt(0), DType::I64);
    out.indices = b.make("scatter.src", {none, SymInt(r - 1), rank, whole});
  }
  return out;
}

Result<Sorted> sorted(Builder& b, Value* x, int64_t dim, bool descending, bool want_indices) {
  const int64_t r = b.rank(x);
  if (r == 0) return Sorted{x, b.full({}, SymInt(0), DType::I64)};
  const SymInt n = b.size(x, dim);
  if (n == SymInt(1)) return Sorted{x, b.full(x->type.sizes, SymInt(0), DType::I64)};
  const bool last = dim == r - 1;
  if (!n.is_const() || n.upper() > kMaxRanked) {
    if (n.upper() > kMaxRanked && want_indices && n.upper() > 65536)
      return b.refuse("sorts more than 65536 elements with their indices, for which the runtime has no stable kernel");
    if (want_indices)
      return b.refuse("gives indices over " + n.str() +
                      " elements in a stable order, which the runtime's topk kernel does not keep; "
                      "edgelift sorts at most " +
                      std::to_string(kMaxRanked) + " of a fixed number with indices");
    const auto outs = b.make_all("topk", {x, n, SymInt(dim), descending, true});
    return Sorted{outs[0], nullptr};
  }
  Value* moved = last ? x : b.transpose(x, dim, r - 1);
  Sorted out = rank_sort(b, moved, descending, want_indices);
  if (!last) {
    out.values = b.transpose(out.values, dim, r - 1);
    if (out.indices != nullptr) out.indices = b.transpose(out.indices, dim, r - 1);
  }
  return out;
}

Result<bool> sort(Builder& b) {
  Value* x = b.in();
  const int64_t dim = b.rank(x) == 0 ? 0 : b.base() == "msort" ? 0 : b.dim("dim", b.rank(x));
  const bool descending = b.base() != "msort" && b.call.flag("descending");
  if (b.base() == "msort") {
    EL_TRY(const Sorted out, sorted(b, x, dim, false, false));
    return b.replace(out.values);
  }
  if (b.base() == "argsort") {
    EL_TRY(const Sorted out, sorted(b, x, dim, descending, true));
    return b.replace(out.indices);
  }
  EL_TRY(const Sorted out, sorted(b, x, dim, descending, b.used(1)));
  return b.replace({out.values, b.used(1) ? out.indices : nullptr});
}

Result<bool> kthvalue(Builder& b) {
  Value* x = b.in();
  if (b.rank(x) == 0) return b.replace({x, b.full({}, SymInt(0), DType::I64)});
  const int64_t dim = b.dim("dim", b.rank(x));
  EL_TRY(const Sorted all, sorted(b, x, dim, false, b.used(1)));
  const SymInt k = b.call.sym_int("k") - SymInt(1);
  const bool keep = b.call.flag("keepdim");
  const auto pick = [&](Value* v) -> Value* {
    if (v == nullptr) return nullptr;
    return keep ? b.slice(v, dim, k, k + SymInt(1)) : b.select(v, dim, k);
  };
  return b.replace({pick(all.values), b.used(1) ? pick(all.indices) : nullptr});
}

// The lower of the two middle values; NaN where there is one.
Result<bool> median(Builder& b) {
  Value* x = b.in();
  const bool whole = b.node().results.size() == 1;
  if (whole) x = b.view(x, {x->type.sym_numel()});
  const int64_t dim = whole ? 0 : b.dim("dim", b.rank(x));
  const SymInt n = b.size(x, dim);
  const bool indices = !whole && b.used(1);
  if (indices && is_float(b.dtype(x)))
    return b.refuse(
        "gives the index of the median, which eager does not define for equal values; take the value alone");
  EL_TRY(const Sorted all, sorted(b, x, dim, false, indices));
  const SymInt middle = SymInt::floordiv(n - SymInt(1), SymInt(2));
  const bool keep = !whole && b.call.flag("keepdim");
  const auto pick = [&](Value* v, const SymInt& at) -> Value* {
    if (v == nullptr) return nullptr;
    return keep ? b.slice(v, dim, at, at + SymInt(1)) : b.select(v, dim, at);
  };
  Value* value = pick(all.values, middle);
  if (is_float(b.dtype(x))) {
    // NaN sorts last: if the largest is NaN, so is the median.
    Value* largest = pick(all.values, n - SymInt(1));
    value = b.where(b.unary("isnan", largest), largest, value);
  }
  if (whole) return b.replace(value);
  return b.replace({value, indices ? pick(all.indices, middle) : nullptr});
}

// Linear interpolation between the two neighbours of position q * (n - 1), or one of them.
Value* at_quantile(Builder& b, Value* values, int64_t dim, int64_t n, double q, std::string_view mode) {
  const double position = q * static_cast<double>(n - 1);
  auto low = static_cast<int64_t>(position);
  double weight = position - static_cast<double>(low);
  if (mode == "lower") weight = 0;
  if (mode == "higher" && weight > 0) ++low, weight = 0;
  if (mode == "midpoint" && weight > 0) weight = 0.5;
  if (mode == "nearest") {
    // Halfway goes to the even neighbour.
    if (weight > 0.5 || (weight == 0.5 && low % 2 != 0)) ++low;
    weight = 0;
  }
  const auto pick = [&](int64_t at) { return b.slice(values, dim, SymInt(at), SymInt(at + 1)); };
  Value* out = pick(low);
  if (weight > 0) out = b.make("lerp.Scalar", {out, pick(low + 1), weight});
  Value* largest = pick(n - 1);
  return b.where(b.unary("isnan", largest), largest, out);
}

Result<bool> quantile(Builder& b) {
  Value* x = b.in();
  const bool flat = ir::is_none(b.arg("dim"));
  const int64_t r = b.rank(x);
  if (flat) x = b.view(x, {x->type.sym_numel()});
  const int64_t dim = flat ? 0 : b.dim("dim", r);
  const SymInt n = b.size(x, dim);
  if (!n.is_const())
    return b.refuse("runs over a dynamic dim, for which the runtime has no kernel; export it with a fixed size");
  std::vector<double> qs;
  bool list = false;
  if (const auto q = literal(b.arg("q"))) {
    qs = {*q};
  } else {
    const Value* tensor = b.in("q");
    if (tensor->constant == nullptr || tensor->constant->is_mutable)
      return b.refuse("takes q from a tensor known only at run time, for which edgelift has no form; give numbers");
    qs = tensor->constant->data.to_doubles();
    list = tensor->type.rank() > 0;
  }
  EL_TRY(const Sorted all, sorted(b, x, dim, false, false));
  std::vector<Value*> parts;
  Shape one = b.out_type().sizes;
  if (list) one[0] = SymInt(1);
  for (const double q : qs)
    parts.push_back(b.view(at_quantile(b, all.values, dim, n.value(), q, b.call.text("interpolation")), one));
  return b.replace(list ? b.cat(parts, 0) : parts.front());
}

// The median of what is not NaN: NaN sorts last, so the middle of the rest is counted from the front.
Result<bool> nanmedian(Builder& b) {
  Value* x = b.in();
  const bool whole = b.node().results.size() == 1;
  if (!whole && b.used(1))
    return b.refuse(
        "gives the index of the median, which eager does not define for equal values; take the value alone");
  if (whole) x = b.view(x, {x->type.sym_numel()});
  const int64_t dim = whole ? 0 : b.dim("dim", b.rank(x));
  EL_TRY(const Sorted all, sorted(b, x, dim, false, false));
  Value* count = b.sum(b.logical_not(b.unary("isnan", x)), {dim}, true);
  Value* middle = b.make("div.Scalar_mode", {b.clamp(b.sub(count, SymInt(1)), SymInt(0), Arg()), SymInt(2)},
                         {{"rounding_mode", std::string("floor")}});
  Value* value = b.make("gather", {all.values, SymInt(dim), middle});
  if (whole || !b.call.flag("keepdim")) value = b.squeeze(value, dim);
  if (whole) return b.replace(value);
  return b.replace({value, nullptr});
}

// Counts in equal bins from min to max; what lies outside is not counted.
Result<bool> histc(Builder& b) {
  Value* x = b.in();
  x = b.view(x, {x->type.sym_numel()});
  const int64_t bins = b.integer("bins");
  const double low = b.call.number("min"), high = b.call.number("max");
  Value* from = nullptr;
  Value* width = nullptr;
  const DType d = b.dtype(x);
  if (low == high && low == 0) {
    // The data's own range; one value alone gets a range of 1 on both sides.
    Value* least = b.amin(x, {0}, false);
    Value* most = b.amax(x, {0}, false);
    Value* same = b.make("eq.Tensor", {least, most});
    from = b.where(same, b.sub(least, 1.0), least);
    width = b.sub(b.where(same, b.add(most, 1.0), most), from);
  } else {
    from = b.number_tensor(low == high ? low - 1 : low, d);
    width = b.number_tensor(low == high ? 2.0 : high - low, d);
  }
  Value* place = b.unary("floor", b.div(b.mul(b.sub(x, from), static_cast<double>(bins)), width));
  Value* end = b.make("eq.Tensor", {x, b.add(from, width)});
  place = b.where(end, static_cast<double>(bins - 1), place, d);
  Value* inside = b.make("eq.Tensor", {place, b.unsqueeze(b.arange(SymInt(bins), d), 1)});
  return b.replace(b.cast(b.sum(inside, {1}, false), b.out_type().dtype));
}

// The commonest value, of several the smallest.
Result<bool> mode(Builder& b) {
  Value* x = b.in();
  if (b.used(1)) return b.refuse("gives the index of the mode, which eager does not define; take the value alone");
  if (b.rank(x) == 0) return b.replace({x, nullptr});
  const int64_t r = b.rank(x), dim = b.dim("dim", r);
  Value* moved = dim == r - 1 ? x : b.transpose(x, dim, r - 1);
  Value* same = b.make("eq.Tensor", {b.unsqueeze(moved, r), b.unsqueeze(moved, r - 1)});
  Value* count = b.sum(same, {r}, false);
  Value* common = b.make("eq.Tensor", {count, b.amax(count, {r - 1}, true)});
  Value* out = b.amin(b.where(common, moved, b.amax(moved, {r - 1}, true)), {r - 1}, true);
  if (dim != r - 1) out = b.transpose(out, dim, r - 1);
  return b.replace({b.call.flag("keepdim") ? out : b.squeeze(out, dim), nullptr});
}

Result<bool> unsupported(Builder& b) {
  return b.refuse("gives a result whose size or order depends on the data, for which the runtime has no kernel");
}

constexpr Entry kEntries[] = {
    {"sort", sort},
    {"sort.stable", sort},
    {"argsort", sort},
    {"argsort.stable", sort},
    {"msort", sort},
    {"kthvalue", kthvalue},
    {"median", median},
    {"median.dim", median},
    {"nanmedian", nanmedian},
    {"nanmedian.dim", nanmedian},
    {"quantile.scalar", quantile},
    {"quantile", quantile},
    {"unique_consecutive", unsupported},
    {"_unique2", unsupported},
    {"unique_dim", unsupported},
    {"mode", mode},
    {"histc", histc},
    {"bincount", unsupported},
};

}  // namespace

std::span<const Entry> sort_entries() { return kEntries; }

}  // namespace edgelift::edge
