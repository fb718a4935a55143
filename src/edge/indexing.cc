// Indexing, scattering and arranging. The kernels are index, index_put, index_select, gather, scatter.src,
// scatter.value, scatter_add, select_scatter, slice_scatter, masked_scatter, embedding, repeat and flip.
#include <algorithm>

#include "edge/table.h"
#include "ops/infer.h"

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
  if (has_arg(b, "padding_idx") && !ir::is_none(b.arg("padding_idx")))
    return b.refuse("leaves a padding index out, for which edgelift has no form");
  if (b.call.flag("include_last_offset")) offsets = b.slice(offsets, 0, SymInt(0), b.size(offsets, 0) - SymInt(1));
  Value* rows = b.make("embedding", {weight, indices});
  if (Value* scale = b.maybe("per_sample_weights")) rows = b.mul(rows, b.unsqueeze(scale, 1));
  Value* position = b.unsqueeze(b.arange(b.size(indices, 0)), 1);
  Value* started = b.make("le.Tensor", {b.unsqueeze(offsets, 0), position});
  Value* bag = b.sub(b.sum(started, {1}, false), SymInt(1));
  const SymInt bags = b.size(offsets, 0);
  Value* zeros = b.full({bags, b.size(weight, 1)}, SymInt(0), b.dtype(rows));
  Value* out = put(b, zeros, 0, bag, rows, true);
  if (mode == 1) {
    Value* own = b.make("eq.Tensor", {b.unsqueeze(bag, 0), b.unsqueeze(b.arange(bags), 1)});
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

std::vector<Value*> grid(Builder& b, const ValueList& parts) {
  std::vector<Value*> out;
  const auto n = static_cast<int64_t>(parts.size());
  Shape whole;
  for (Value* part : parts) whole.push_back(b.rank(part) == 0 ? SymInt(1) : b.size(part, 0));
  for (int64_t i = 0; i < n; ++i) {
    Shape line(static_cast<size_t>(n), SymInt(1));
    line[static_cast<size_t>(i)] = whole[static_cast<size_t>(i)];
    out.push_back(b.expand(b.view(parts[static_cast<size_t>(i)], line), whole));
  }
  return out;
}

Result<bool> meshgrid(Builder& b) {
  const bool xy = has_arg(b, "indexing") && b.call.text("indexing") == "xy";
  ValueList parts = b.call.tensors("tensors");
  if (xy && parts.size() >= 2) {
    // In xy order the first two swap places: the second runs over the rows.
    std::swap(parts[0], parts[1]);
    auto out = grid(b, parts);
    std::swap(out[0], out[1]);
    return b.replace(out);
  }
  return b.replace(grid(b, parts));
}

Result<bool> cartesian_prod(Builder& b) {
  const ValueList parts = b.call.tensors("tensors");
  if (parts.size() == 1) return b.replace(parts[0]);
  std::vector<Value*> columns;
  for (Value* v : grid(b, parts)) columns.push_back(b.view(v, {v->type.sym_numel()}));
  return b.replace(b.stack(columns, 1));
}

void choose(int64_t n, int64_t r, bool again, std::vector<int64_t>& chosen, std::vector<int64_t>& out) {
  if (static_cast<int64_t>(chosen.size()) == r) {
    out.insert(out.end(), chosen.begin(), chosen.end());
    return;
  }
  const int64_t first = chosen.empty() ? 0 : chosen.back() + (again ? 0 : 1);
  for (int64_t i = first; i < n; ++i) {
    chosen.push_back(i);
    choose(n, r, again, chosen, out);
    chosen.pop_back();
  }
}

Result<bool> combinations(Builder& b) {
  Value* x = b.in();
  const int64_t r = b.integer("r"), n = b.size(x, 0).value();
  std::vector<int64_t> flat, chosen;
  choose(n, r, b.call.flag("with_replacement"), chosen, flat);
  const auto count = static_cast<int64_t>(flat.size());
  Value* index = b.constant("combinations", TensorData::of(DType::I64, {count}, flat));
  return b.replace(b.view(b.make("index_select", {x, SymInt(0), index}), b.out_type().sizes));
}

// x along the diagonal of the last two dims of a new tensor.
Value* embed_diagonal(Builder& b, Value* x, int64_t offset) {
  Value* columns = b.pad(x, {std::max<int64_t>(offset, 0), std::max<int64_t>(-offset, 0)}, SymInt(0));
  const SymInt m = b.size(columns, -1);
  Value* across = b.unsqueeze(b.arange(m), 0);
  Value* on = b.make("eq.Scalar", {b.sub(across, b.unsqueeze(b.arange(m), 1)), SymInt(offset)});
  return b.where(on, b.unsqueeze(columns, b.rank(columns) - 1), SymInt(0), b.dtype(x));
}

Result<bool> diag_embed(Builder& b) {
  Value* x = b.in();
  const int64_t r = b.rank(x) + 1, d1 = b.dim("dim1", r), d2 = b.dim("dim2", r);
  Value* square = embed_diagonal(b, x, b.integer("offset"));
  // The last two dims go to d1 and d2.
  std::vector<int64_t> order(static_cast<size_t>(r), -1);
  order[static_cast<size_t>(d1)] = r - 2;
  order[static_cast<size_t>(d2)] = r - 1;
  int64_t next = 0;
  for (auto& dim : order)
    if (dim < 0) dim = next++;
  return b.replace(b.permute(square, order));
}

Result<bool> diag(Builder& b) {
  Value* x = b.in();
  const int64_t offset = b.integer(b.base() == "diag" ? "diagonal" : "offset");
  if (b.base() == "diagflat") return b.replace(embed_diagonal(b, b.view(x, {x->type.sym_numel()}), offset));
  if (b.rank(x) == 1) return b.replace(embed_diagonal(b, x, offset));
  return b.replace(b.make("diagonal", {x, SymInt(offset), SymInt(0), SymInt(1)}));
}

Result<bool> linalg_diagonal(Builder& b) {
  return b.replace(b.make("diagonal", {b.in("A"), b.arg("offset"), b.arg("dim1"), b.arg("dim2")}));
}

Result<bool> trace(Builder& b) {
  return b.replace(b.sum(b.make("diagonal", {b.in(), SymInt(0), SymInt(0), SymInt(1)}), {0}, false));
}

Result<bool> cross(Builder& b) {
  const auto shape = ops::broadcast_shapes(b.in()->type.sizes, b.in("other")->type.sizes);
  EL_CHECK(shape.ok(), "cross of shapes that do not broadcast");
  Value* x = b.expand(b.in(), *shape);
  Value* y = b.expand(b.in("other"), *shape);
  int64_t dim = -1;
  if (ir::is_none(b.arg("dim"))) {
    for (int64_t i = 0; i < b.rank(x) && dim < 0; ++i)
      if (b.size(x, i) == SymInt(3)) dim = i;
  } else {
    dim = b.dim("dim", b.rank(x));
  }
  if (dim < 0) return b.refuse("finds no dim of size 3");
  const auto turned = [&](Value* v, int64_t by) {
    return b.cat({b.slice(v, dim, SymInt(by), SymInt(3)), b.slice(v, dim, SymInt(0), SymInt(by))}, dim);
  };
  Value* left = b.mul(turned(x, 1), turned(y, 2));
  return b.replace(b.sub(left, b.mul(turned(x, 2), turned(y, 1))));
}

Value* at_least(Builder& b, Value* x, int64_t rank) {
  if (rank >= 1 && b.rank(x) == 0) x = b.unsqueeze(x, 0);
  if (rank >= 2 && b.rank(x) == 1) x = b.unsqueeze(x, 0);
  if (rank >= 3 && b.rank(x) == 2) x = b.unsqueeze(x, 2);
  return x;
}

Result<bool> stacks(Builder& b) {
  ValueList parts = b.call.tensors("tensors");
  const std::string& base = b.base();
  int64_t dim = 0;
  for (Value*& part : parts) {
    if (base == "hstack") {
      part = at_least(b, part, 1);
    } else if (base == "column_stack") {
      if (b.rank(part) <= 1) part = b.view(part, {part->type.sym_numel(), SymInt(1)});
    } else {
      part = at_least(b, part, base == "dstack" ? 3 : 2);
    }
  }
  if (base == "hstack") dim = b.rank(parts[0]) == 1 ? 0 : 1;
  if (base == "column_stack") dim = 1;
  if (base == "dstack") dim = 2;
  return b.replace(b.cat(parts, dim));
}

Result<bool> atleast(Builder& b) {
  const int64_t rank = b.base() == "atleast_1d" ? 1 : b.base() == "atleast_2d" ? 2 : 3;
  return b.replace(at_least(b, b.in(), rank));
}

Result<bool> block_diag(Builder& b) {
  const ValueList parts = b.call.tensors("tensors");
  const Shape& out = b.out_type().sizes;
  std::vector<Value*> rows;
  SymInt before = 0;
  for (Value* part : parts) {
    Value* block = at_least(b, part, 2);
    const SymInt width = b.size(block, 1), after = out[1] - before - width;
    if (!before.is_const() || !after.is_const())
      return b.refuse("has blocks of dynamic size, which the runtime's kernels do not pad");
    rows.push_back(b.pad(block, {before.value(), after.value()}, SymInt(0)));
    before = before + width;
  }
  return b.replace(b.cat(rows, 0));
}

Result<bool> broadcast_tensors(Builder& b) {
  std::vector<Value*> out;
  const ValueList parts = b.call.tensors("tensors");
  for (size_t i = 0; i < parts.size(); ++i) out.push_back(b.expand(parts[i], b.out_type(i).sizes));
  return b.replace(out);
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
  Value* x = at_least(b, b.in(b.base() == "where" ? "condition" : "self"), 1);
  Value* places = b.unary("nonzero", x);
  std::vector<Value*> out;
  for (int64_t i = 0; i < static_cast<int64_t>(b.node().results.size()); ++i)
    out.push_back(b.select(places, 1, SymInt(i)));
  return b.replace(out);
}

// Places of a sliding window along one padded dim: [kernel * steps].
Value* window_index(Builder& b, int64_t kernel, int64_t steps, int64_t stride, int64_t dilation) {
  std::vector<int64_t> at;
  for (int64_t k = 0; k < kernel; ++k)
    for (int64_t s = 0; s < steps; ++s) at.push_back(k * dilation + s * stride);
  const auto count = static_cast<int64_t>(at.size());
  return b.constant("window_index", TensorData::of(DType::I64, {count}, at));
}

struct Windows {
  std::vector<int64_t> kernel, dilation, padding, stride;
};
Windows windows_of(Builder& b) {
  const auto two = [&](std::string_view name) { return ops::repeat_to(b.call.integers(name), 2); };
  return {two("kernel_size"), two("dilation"), two("padding"), two("stride")};
}
int64_t steps_of(int64_t size, const Windows& w, size_t i) {
  return (size + 2 * w.padding[i] - w.dilation[i] * (w.kernel[i] - 1) - 1) / w.stride[i] + 1;
}

Result<bool> im2col(Builder& b) {
  Value* x = b.in();
  const Windows w = windows_of(b);
  const bool batched = b.rank(x) == 4;
  if (!batched) x = b.unsqueeze(x, 0);
  if (!b.size(x, 2).is_const() || !b.size(x, 3).is_const())
    return b.refuse("has a dynamic height or width, for which the runtime has no kernel");
  const int64_t oh = steps_of(b.size(x, 2).value(), w, 0), ow = steps_of(b.size(x, 3).value(), w, 1);
  const SymInt n = b.size(x, 0), c = b.size(x, 1);
  x = b.pad(x, {w.padding[1], w.padding[1], w.padding[0], w.padding[0]}, SymInt(0));
  x = b.make("index_select", {x, SymInt(2), window_index(b, w.kernel[0], oh, w.stride[0], w.dilation[0])});
  x = b.make("index_select", {x, SymInt(3), window_index(b, w.kernel[1], ow, w.stride[1], w.dilation[1])});
  x = b.view(x, {n * c, SymInt(w.kernel[0]), SymInt(oh), SymInt(w.kernel[1]), SymInt(ow)});
  x = b.view(b.permute(x, {0, 1, 3, 2, 4}), {n, c * SymInt(w.kernel[0] * w.kernel[1]), SymInt(oh * ow)});
  return b.replace(batched ? x : b.squeeze(x, 0));
}

Result<bool> col2im(Builder& b) {
  Value* x = b.in();
  const Windows w = windows_of(b);
  const auto size = ops::repeat_to(b.call.integers("output_size"), 2);
  const bool batched = b.rank(x) == 3;
  if (!batched) x = b.unsqueeze(x, 0);
  const int64_t oh = steps_of(size[0], w, 0), ow = steps_of(size[1], w, 1), kh = w.kernel[0], kw = w.kernel[1];
  const SymInt n = b.size(x, 0), c = SymInt::floordiv(b.size(x, 1), SymInt(kh * kw));
  const int64_t ph = size[0] + 2 * w.padding[0], pw = size[1] + 2 * w.padding[1];
  // Rows and columns of the padded image that each element adds to.
  x = b.permute(b.view(x, {n * c, SymInt(kh), SymInt(kw), SymInt(oh), SymInt(ow)}), {0, 1, 3, 2, 4});
  x = b.view(x, {n * c, SymInt(kh * oh), SymInt(kw * ow)});
  Value* rows = b.view(window_index(b, kh, oh, w.stride[0], w.dilation[0]), {SymInt(kh * oh), SymInt(1)});
  Value* columns = window_index(b, kw, ow, w.stride[1], w.dilation[1]);
  Value* image = b.full({n * c, SymInt(ph), SymInt(pw)}, SymInt(0), b.dtype(x));
  image = b.make("index_put", {image, ValueList{nullptr, rows, columns}, x, true});
  image = b.slice(image, 1, SymInt(w.padding[0]), SymInt(w.padding[0] + size[0]));
  image = b.slice(image, 2, SymInt(w.padding[1]), SymInt(w.padding[1] + size[1]));
  image = b.view(image, {n, c, SymInt(size[0]), SymInt(size[1])});
  return b.replace(batched ? image : b.squeeze(image, 0));
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
    {"meshgrid", meshgrid},
    {"meshgrid.indexing", meshgrid},
    {"cartesian_prod", cartesian_prod},
    {"combinations", combinations},
    {"diag_embed", diag_embed},
    {"diag", diag},
    {"diagflat", diag},
    {"linalg_diagonal", linalg_diagonal},
    {"trace", trace},
    {"cross", cross},
    {"linalg_cross", cross},
    {"hstack", stacks},
    {"vstack", stacks},
    {"row_stack", stacks},
    {"dstack", stacks},
    {"column_stack", stacks},
    {"atleast_1d", atleast},
    {"atleast_2d", atleast},
    {"atleast_3d", atleast},
    {"block_diag", block_diag},
    {"broadcast_tensors", broadcast_tensors},
    {"isin.Tensor_Tensor", isin},
    {"isin.Tensor_Scalar", isin},
    {"isin.Scalar_Tensor", isin},
    {"argwhere", argwhere},
    {"nonzero_numpy", nonzero_numpy},
    {"where", nonzero_numpy},
    {"im2col", im2col},
    {"put", put_flat},
    {"max_unpool2d", max_unpool},
    {"col2im", col2im},
};

}  // namespace

std::span<const Entry> index_entries() { return kEntries; }

}  // namespace edgelift::edge
