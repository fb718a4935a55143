// Arranging tensors: grids, diagonals, stacks, broadcasts and sliding windows.
#include <algorithm>

#include "edge/table.h"
#include "ops/infer.h"

namespace edgelift::edge {
namespace {

bool has_arg(Builder& b, std::string_view name) { return b.call.op().schema.index_of(name) >= 0; }

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

constexpr Entry kEntries[] = {
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
    {"im2col", im2col, kUpstream | kLegal},
    {"col2im", col2im, kUpstream | kLegal},
};

}  // namespace

std::span<const Entry> arrange_entries() { return kEntries; }

}  // namespace edgelift::edge
