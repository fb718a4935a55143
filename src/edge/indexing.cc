// Indexing and scattering. The kernels are index, index_put, index_select, gather, scatter.src,
// scatter.value, scatter_add, select_scatter, slice_scatter, masked_scatter, embedding, repeat and flip.
#include "edge/table.h"

namespace edgelift::edge {
namespace {

bool has_arg(Builder& b, std::string_view name) { return b.call.op().schema.index_of(name) >= 0; }

// index_put along one dim.
Value* put(Builder& b, Value* x, int64_t dim, Value* index, Value* values, bool accumulate) {
  ValueList indices(static_cast<size_t>(dim), nullptr);
  indices.push_back(index);
  return b.make("index_put", {x, std::move(indices), values, accumulate});
}

// self, dim and a rank-1 index; rank-0 tensors count as rank 1.
struct Place {
  Value* x;
  int64_t dim;
  Value* index;
  bool scalar;
};
Place place_of(Builder& b) {
  Value* x = b.in();
  const bool scalar = b.rank(x) == 0;
  if (scalar) x = b.unsqueeze(x, 0);
  Value* index = b.in("index");
  if (b.rank(index) == 0) index = b.unsqueeze(index, 0);
  return {x, scalar ? 0 : b.dim("dim", b.rank(x)), index, scalar};
}

Result<bool> index_copy(Builder& b) {
  const Place p = place_of(b);
  Value* source = b.in("source");
  if (b.rank(source) < b.rank(p.x)) source = b.unsqueeze(source, p.dim);
  Value* out = put(b, p.x, p.dim, p.index, source, false);
  return b.replace(p.scalar ? b.squeeze(out, 0) : out);
}

Result<bool> index_add(Builder& b) {
  const Place p = place_of(b);
  Value* source = b.in("source");
  if (b.rank(source) < b.rank(p.x)) source = b.unsqueeze(source, p.dim);
  const Arg alpha = b.arg("alpha");
  if (literal(alpha) != 1.0) source = b.mul(source, alpha);
  Value* out = put(b, p.x, p.dim, p.index, b.cast(source, b.dtype(p.x)), true);
  return b.replace(p.scalar ? b.squeeze(out, 0) : out);
}

Result<bool> index_fill(Builder& b) {
  const Place p = place_of(b);
  const Arg value = b.arg("value");
  const Shape to = with_size(p.x->type.sizes, p.dim, b.size(p.index, 0));
  Value* values =
      is_tensor(value) ? b.expand(b.cast(std::get<Value*>(value), b.dtype(p.x)), to) : b.full(to, value, b.dtype(p.x));
  Value* out = put(b, p.x, p.dim, p.index, values, false);
  return b.replace(p.scalar ? b.squeeze(out, 0) : out);
}

// The diagonal as one indexed place: both dims in front, indices i and i + offset.
Result<bool> diagonal_scatter(Builder& b) {
  Value* x = b.in();
  Value* src = b.in("src");
  const int64_t r = b.rank(x), d1 = b.dim("dim1", r), d2 = b.dim("dim2", r), offset = b.integer("offset");
  std::vector<int64_t> order = {d1, d2}, back(static_cast<size_t>(r));
  for (int64_t i = 0; i < r; ++i)
    if (i != d1 && i != d2) order.push_back(i);
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  std::vector<int64_t> front = {b.rank(src) - 1};
  for (int64_t i = 0; i + 1 < b.rank(src); ++i) front.push_back(i);
  Value* steps = b.arange(b.size(src, -1));
  Value* rows = offset < 0 ? b.add(steps, SymInt(-offset)) : steps;
  Value* columns = offset > 0 ? b.add(steps, SymInt(offset)) : steps;
  Value* out = b.make("index_put", {b.permute(x, order), ValueList{rows, columns}, b.permute(src, front), false});
  return b.replace(b.permute(out, back));
}

Result<bool> take_along_dim(Builder& b) {
  Value* x = b.in();
  Value* index = b.in("indices");
  if (ir::is_none(b.arg("dim")))
    return b.replace(
        b.make("gather", {b.view(x, {x->type.sym_numel()}), SymInt(0), b.view(index, {index->type.sym_numel()})}));
  const int64_t dim = b.dim("dim", b.rank(x));
  Shape xs = x->type.sizes, is = index->type.sizes;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (static_cast<int64_t>(i) == dim) continue;
    if (xs[i] == SymInt(1)) xs[i] = is[i];
    if (is[i] == SymInt(1)) is[i] = xs[i];
  }
  return b.replace(b.make("gather", {b.expand(x, xs), SymInt(dim), b.expand(index, is)}));
}

Result<bool> take(Builder& b) {
  Value* x = b.in();
  Value* index = b.in("index");
  Value* flat = b.view(x, {x->type.sym_numel()});
  return b.replace(b.make("index.Tensor", {flat, ValueList{index}}));
}

Result<bool> one_hot(Builder& b) {
  const int64_t classes = b.integer("num_classes");
  if (classes < 0)
    return b.refuse("infers the number of classes from the data, so its size is not known; give num_classes=");
  Value* index = b.in();
  Value* hits = b.make("eq.Tensor", {b.unsqueeze(index, b.rank(index)), b.arange(SymInt(classes))});
  return b.replace(b.cast(hits, DType::I64));
}

// Sums or means of rows; bag i starts at offsets[i].
Result<bool> embedding_bag(Builder& b) {
  const int64_t mode = b.integer("mode");
  Value* weight = b.in("weight");
  Value* indices = b.in("indices");
  Value* offsets = b.in("offsets");
  if (mode == 2) return b.refuse("takes the maximum of each bag, for which edgelift has no form");
  // The operators behind it write -1 for none.
  Value* counts = nullptr;  // [indices, 1] i64: 0 for those that are left out
  if (has_arg(b, "padding_idx") && !ir::is_none(b.arg("padding_idx"))) {
    int64_t padding = b.integer("padding_idx");
    const bool inner = b.base().starts_with("_");
    if (padding < 0 && !inner && b.size(weight, 0).is_const()) padding += b.size(weight, 0).value();
    if (padding >= 0) counts = b.unsqueeze(b.cast(b.make("ne.Scalar", {indices, SymInt(padding)}), DType::I64), 1);
  }
  if (b.call.flag("include_last_offset")) offsets = b.slice(offsets, 0, SymInt(0), b.size(offsets, 0) - SymInt(1));
  Value* rows = b.make("embedding", {weight, indices});
  if (Value* scale = b.maybe("per_sample_weights")) rows = b.mul(rows, b.unsqueeze(scale, 1));
  if (counts != nullptr) rows = b.mul(rows, b.cast(counts, b.dtype(rows)));
  Value* position = b.unsqueeze(b.arange(b.size(indices, 0)), 1);
  Value* started = b.make("le.Tensor", {b.unsqueeze(offsets, 0), position});
  Value* bag = b.sub(b.sum(started, {1}, false), SymInt(1));
  const SymInt bags = b.size(offsets, 0);
  Value* zeros = b.full({bags, b.size(weight, 1)}, SymInt(0), b.dtype(rows));
  Value* out = put(b, zeros, 0, bag, rows, true);
  if (mode == 1) {
    Value* own = b.make("eq.Tensor", {b.unsqueeze(bag, 0), b.unsqueeze(b.arange(bags), 1)});
    if (counts != nullptr) own = b.mul(b.cast(own, DType::I64), b.unsqueeze(b.squeeze(counts, 1), 0));
    Value* count = b.clamp(b.sum(own, {1}, false), SymInt(1), Arg());
    out = b.div(out, b.cast(b.unsqueeze(count, 1), b.dtype(out)));
  }
  return b.replace({out, nullptr, nullptr, nullptr});
}

// amax, amin and prod into indexed places: every place looks at all elements that name it, [.., places, elements].
Result<Value*> reduce_by_places(Builder& b, Value* x, int64_t dim, Value* index, Value* src, std::string_view reduce,
                                bool self) {
  const int64_t r = b.rank(x);
  for (int64_t i = 0; i < r; ++i)
    if (i != dim && !known_equal(b.size(index, i), b.size(x, i)))
      return b.refuse("reduces by " + std::string(reduce) +
                      " with an index smaller than the tensor, for which edgelift has no form");
  for (int64_t i = 0; i < r; ++i) src = b.slice(src, i, SymInt(0), b.size(index, i));
  const bool turn = dim != r - 1;
  const auto last = [&](Value* v) { return turn ? b.transpose(v, dim, r - 1) : v; };
  x = last(x);
  Value* elements = b.unsqueeze(last(src), r - 1);
  Value* places = b.unsqueeze(b.arange(b.size(x, r - 1)), 1);
  Value* mine = b.make("eq.Tensor", {b.unsqueeze(last(index), r - 1), places});
  const DType d = b.dtype(x);
  Value* some = b.make("any.dim", {mine, SymInt(r), false});
  Value* out = nullptr;
  if (reduce == "prod" || reduce == "multiply") {
    Value* factors = b.where(mine, elements, SymInt(1), d);
    out = b.cast(b.make("prod.dim_int", {factors, SymInt(r), false}), d);
    out = self ? b.mul(x, out) : b.where(some, out, x);
  } else {
    const bool high = reduce == "amax";
    // An element of another place is replaced by the one that loses against all.
    Value* loser = high ? b.amin(elements, {r}, true) : b.amax(elements, {r}, true);
    Value* wide = b.where(mine, elements, loser);
    out = high ? b.amax(wide, {r}, false) : b.amin(wide, {r}, false);
    if (self) out = b.make(high ? "maximum" : "minimum", {x, out});
    out = b.where(some, out, x);
  }
  return last(out);
}

Result<bool> index_reduce(Builder& b) {
  const Place p = place_of(b);
  Value* source = b.in("source");
  const std::string_view reduce = b.call.text("reduce");
  Shape line(p.x->type.sizes.size(), SymInt(1));
  line[static_cast<size_t>(p.dim)] = b.size(p.index, 0);
  Value* index = b.expand(b.view(p.index, line), source->type.sizes);
  const bool self = b.call.flag("include_self");
  if (reduce == "mean")
    return b.replace(b.make("scatter_reduce.two", {p.x, SymInt(p.dim), index, source, std::string("mean")},
                            {{"include_self", self}}));
  EL_TRY(Value * out, reduce_by_places(b, p.x, p.dim, index, source, reduce, self));
  return b.replace(out);
}

Result<bool> scatter_reduce(Builder& b) {
  Value* x = b.in();
  const int64_t dim = b.rank(x) == 0 ? 0 : b.dim("dim", b.rank(x));
  Value* index = b.in("index");
  const std::string_view reduce = b.call.text("reduce");
  const bool add = reduce == "add" || reduce == "sum", mean = reduce == "mean";
  Value* src = has_arg(b, "src") ? b.in("src") : b.full(index->type.sizes, b.arg("value"), b.dtype(x));
  const bool self = !has_arg(b, "include_self") || b.call.flag("include_self");
  if (!add && !mean) {
    if (b.rank(x) == 0) return b.refuse("reduces into a single number, for which edgelift has no form");
    EL_TRY(Value * out, reduce_by_places(b, x, dim, index, src, reduce, self));
    return b.replace(out);
  }
  Value* base = self ? x : b.make("scatter.value", {x, SymInt(dim), index, SymInt(0)});
  Value* out = b.make("scatter_add", {base, SymInt(dim), index, src});
  if (mean) {
    Value* ones = b.full(index->type.sizes, SymInt(1), b.dtype(x));
    Value* start = b.full(x->type.sizes, SymInt(self ? 1 : 0), b.dtype(x));
    Value* count = b.make("scatter_add", {start, SymInt(dim), index, ones});
    if (!self) count = b.clamp(count, SymInt(1), Arg());
    out = is_float(b.dtype(x)) ? b.div(out, count)
                               : b.make("div.Tensor_mode", {out, count}, {{"rounding_mode", std::string("floor")}});
  }
  return b.replace(out);
}

Result<bool> repeat_interleave(Builder& b) {
  Value* x = b.in();
  if (ir::is_none(b.arg("dim"))) x = b.view(x, {x->type.sym_numel()});
  const int64_t dim = ir::is_none(b.arg("dim")) ? 0 : b.dim("dim", b.rank(x));
  if (is_tensor(b.arg("repeats"))) {
    Value* repeats = b.in("repeats");
    const SymInt size = b.size(x, dim);
    if (b.rank(repeats) == 0) repeats = b.unsqueeze(repeats, 0);
    if (b.size(repeats, 0) == SymInt(1)) repeats = b.expand(repeats, {size});
    Value* index = b.make("repeat_interleave.Tensor", {repeats},
                          {{"output_size", b.out_type().sizes.at(static_cast<size_t>(dim))}});
    return b.replace(b.make("index_select", {x, SymInt(dim), index}));
  }
  const SymInt repeats = b.call.sym_int("repeats");
  Value* open = b.unsqueeze(x, dim + 1);
  Value* wide = b.expand(open, with_size(open->type.sizes, dim + 1, repeats));
  return b.replace(b.reshape(wide, with_size(x->type.sizes, dim, b.size(x, dim) * repeats)));
}

Result<bool> tile(Builder& b) {
  IntList repeats = b.call.ints("dims");
  while (static_cast<int64_t>(repeats.size()) < b.rank(b.in())) repeats.insert(repeats.begin(), SymInt(1));
  return b.replace(b.make("repeat", {b.in(), std::move(repeats)}));
}

// The number of boundaries that stand before a value; of NaN, all.
Value* search(Builder& b, Value* values, Value* boundaries, bool right, DType out) {
  Value* after = b.make(right ? "gt.Tensor" : "ge.Tensor", {boundaries, values});
  return b.cast(b.sum(b.logical_not(after), {b.rank(after) - 1}, false), out);
}

Result<bool> bucketize(Builder& b) {
  Value* boundaries = b.in("boundaries");
  const Arg self = b.arg("self");
  Value* x = is_tensor(self) ? std::get<Value*>(self) : b.number_tensor(self, wrapped_dtype(self, b.dtype(boundaries)));
  return b.replace(search(b, b.unsqueeze(x, b.rank(x)), boundaries, b.call.flag("right"), b.out_type().dtype));
}

Result<bool> searchsorted(Builder& b) {
  Value* sequence = b.in("sorted_sequence");
  if (Value* sorter = b.maybe("sorter")) sequence = b.make("gather", {sequence, SymInt(b.rank(sequence) - 1), sorter});
  const Arg self = b.arg("self");
  Value* x = is_tensor(self) ? std::get<Value*>(self) : b.number_tensor(self, wrapped_dtype(self, b.dtype(sequence)));
  const bool right = b.call.flag("right") || b.call.text("side") == "right";
  if (b.rank(sequence) > 1) sequence = b.unsqueeze(sequence, b.rank(sequence) - 1);
  return b.replace(search(b, b.unsqueeze(x, b.rank(x)), sequence, right, b.out_type().dtype));
}

Result<bool> isin(Builder& b) {
  const bool test_number = b.call.op().overload == "Tensor_Scalar";
  const Arg elements = b.arg(b.call.op().overload == "Scalar_Tensor" ? "element" : "elements");
  const Arg tests = b.arg(test_number ? "test_element" : "test_elements");
  Value* hit = nullptr;
  if (test_number) {
    hit = b.make("eq.Scalar", {elements, tests});
  } else {
    Value* set = std::get<Value*>(tests);
    set = b.view(set, {set->type.sym_numel()});
    Value* x = is_tensor(elements) ? std::get<Value*>(elements)
                                   : b.number_tensor(elements, wrapped_dtype(elements, b.dtype(set)));
    hit = b.make("any.dim", {b.make("eq.Tensor", {b.unsqueeze(x, b.rank(x)), set}), SymInt(b.rank(x)), false});
  }
  return b.replace(b.call.flag("invert") ? b.logical_not(hit) : hit);
}

Result<bool> argwhere(Builder& b) { return b.replace(b.unary("nonzero", b.in())); }

Result<bool> nonzero_numpy(Builder& b) {
  Value* x = b.in(b.base() == "where" ? "condition" : "self");
  if (b.rank(x) == 0) x = b.unsqueeze(x, 0);
  Value* places = b.unary("nonzero", x);
  std::vector<Value*> out;
  for (int64_t i = 0; i < static_cast<int64_t>(b.node().results.size()); ++i)
    out.push_back(b.select(places, 1, SymInt(i)));
  return b.replace(out);
}

// Places in the flattened tensor.
Result<bool> put_flat(Builder& b) {
  Value* x = b.in();
  Value* flat = b.view(x, {x->type.sym_numel()});
  Value* index = b.in("index");
  const Shape line = {index->type.sym_numel()};
  Value* values = b.view(b.in("source"), line);
  Value* out = b.make("index_put", {flat, ValueList{b.view(index, line)}, values, b.call.flag("accumulate")});
  return b.replace(b.view(out, x->type.sizes));
}

// The inverse of max_pool2d: each value back to the place its index names, zero elsewhere.
Result<bool> max_unpool(Builder& b) {
  Value* x = b.in();
  const Type& out = b.out_type();
  const SymInt plane = out.sizes[out.sizes.size() - 2] * out.sizes.back();
  SymInt planes = 1;
  for (size_t i = 0; i + 2 < out.sizes.size(); ++i) planes = planes * out.sizes[i];
  const SymInt own = b.size(x, -2) * b.size(x, -1);
  Value* zeros = b.full({planes, plane}, SymInt(0), out.dtype);
  Value* spread =
      b.make("scatter.src", {zeros, SymInt(1), b.view(b.in("indices"), {planes, own}), b.view(x, {planes, own})});
  return b.replace(b.view(spread, out.sizes));
}

// The kernel that writes in place takes values of self's rank.
Result<bool> index_put(Builder& b) {
  if (b.upstream) return false;
  Value* x = b.in();
  Value* values = b.in("values");
  const ValueList& indices = b.call.tensors("indices");
  size_t given = indices.size(), count = 0;
  for (size_t i = 0; i < indices.size(); ++i)
    if (indices[i] != nullptr) given = i, ++count;
  if (count != 1 || b.rank(indices[given]) != 1 || b.dtype(indices[given]) == DType::Bool) return false;
  const Shape to = with_size(x->type.sizes, static_cast<int64_t>(given), b.size(indices[given], 0));
  if (values->type.sizes == to) return false;
  if (known_equal(values->type.sym_numel(), product(to)))
    values = b.view(values, to);
  else
    values = b.expand(values, to);
  b.rewriter().set_arg(&b.node(), "values", values);
  return false;
}

// Memory read by strides, as places of the flattened tensor.
Result<bool> as_strided_scatter(Builder& b) {
  Value* x = b.in();
  if (b.call.is_symbolic("size") || b.call.is_symbolic("stride") || !x->type.is_static())
    return b.refuse("has dynamic sizes, for which edgelift has no form");
  const auto size = b.call.integers("size"), stride = b.call.integers("stride");
  std::vector<int64_t> places = {b.call.opt_integer("storage_offset").value_or(0)};
  for (size_t i = 0; i < size.size(); ++i) {
    std::vector<int64_t> next;
    for (const int64_t at : places)
      for (int64_t k = 0; k < size[i]; ++k) next.push_back(at + k * stride[i]);
    places = std::move(next);
  }
  const auto count = static_cast<int64_t>(places.size());
  Value* index = b.constant("places", TensorData::of(DType::I64, {count}, places));
  Value* flat = b.view(x, {x->type.sym_numel()});
  Value* out = b.make("index_put", {flat, ValueList{index}, b.view(b.in("src"), {SymInt(count)}), false});
  return b.replace(b.view(out, x->type.sizes));
}

constexpr Entry kEntries[] = {
    {"index_put", index_put, kEdge},
    {"as_strided_scatter", as_strided_scatter},
    {"index_copy", index_copy},
    {"index_add", index_add},
    {"index_fill.int_Scalar", index_fill},
    {"index_fill.int_Tensor", index_fill},
    {"index_reduce", index_reduce},
    {"diagonal_scatter", diagonal_scatter},
    {"take_along_dim", take_along_dim},
    {"take", take},
    {"one_hot", one_hot},
    {"embedding_bag", embedding_bag},
    {"embedding_bag.padding_idx", embedding_bag},
    {"_embedding_bag", embedding_bag},
    {"_embedding_bag_forward_only", embedding_bag},
    {"scatter.reduce", scatter_reduce},
    {"scatter.value_reduce", scatter_reduce},
    {"scatter_reduce.two", scatter_reduce},
    {"repeat_interleave.self_int", repeat_interleave},
    {"repeat_interleave.self_Tensor", repeat_interleave},
    {"tile", tile},
    {"bucketize.Tensor", bucketize},
    {"bucketize.Scalar", bucketize},
    {"searchsorted.Tensor", searchsorted},
    {"searchsorted.Scalar", searchsorted},
    {"isin.Tensor_Tensor", isin},
    {"isin.Tensor_Scalar", isin},
    {"isin.Scalar_Tensor", isin},
    {"argwhere", argwhere},
    {"nonzero_numpy", nonzero_numpy},
    {"where", nonzero_numpy},
    {"put", put_flat},
    {"max_unpool2d", max_unpool},
};

}  // namespace

std::span<const Entry> index_entries() { return kEntries; }

}  // namespace edgelift::edge
