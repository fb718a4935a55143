// Matrix products of every rank. The default mode keeps linear, addmm, mm, bmm and matmul whole.
#include <algorithm>

#include "edge/strides.h"
#include "edge/table.h"
#include "ops/infer.h"

namespace edgelift::edge {
namespace {

Value* scaled(Builder& b, Value* x, const Arg& factor) {
  if (literal(factor) == 1.0) return x;
  return b.mul(x, factor);
}

SymInt product_of(const Shape& sizes, size_t first, size_t last) {
  SymInt out = 1;
  for (size_t i = first; i < last; ++i) out = out * sizes[i];
  return out;
}

// x [.., K] times a matrix [K, N] as one mm over the merged leading dims.
Value* folded(Builder& b, Value* x, Value* matrix) {
  Shape out = x->type.sizes;
  const SymInt rows = product_of(out, 0, out.size() - 1);
  Value* y = b.mm(b.reshape(x, {rows, out.back()}), matrix);
  out.back() = b.size(matrix, 1);
  return b.view(y, std::move(out));
}

// Both operands at least rank 2, together more than mm: broadcast batches merged into one bmm.
Value* batched(Builder& b, Value* x, Value* y) {
  const Shape& xs = x->type.sizes;
  const Shape& ys = y->type.sizes;
  const Shape xb(xs.begin(), xs.end() - 2), yb(ys.begin(), ys.end() - 2);
  const auto broadcast = ops::broadcast_shapes(xb, yb);
  EL_CHECK(broadcast.ok(), "matmul of shapes that do not broadcast");
  const Shape batch = *broadcast;
  const SymInt n = b.size(x, -2), k = b.size(x, -1), m = b.size(y, -1);
  const SymInt count = product(batch);
  const auto whole = [&](Value* v, const SymInt& rows, const SymInt& columns) {
    Shape to = batch;
    to.push_back(rows);
    to.push_back(columns);
    return b.reshape(b.expand(v, std::move(to)), {count, rows, columns});
  };
  Value* left = whole(x, n, k);
  Value* product = b.bmm(left, whole(y, k, m));
  Shape out = batch;
  out.push_back(n);
  out.push_back(m);
  return b.view(product, std::move(out));
}

// matmul of operands of rank 2 and more, in operators that have kernels.
Value* kernel_matmul(Builder& b, Value* x, Value* y) {
  if (b.rank(x) == 2 && b.rank(y) == 2) return b.mm(x, y);
  // Merging the leading dims costs nothing where they lie together.
  if (b.rank(y) == 2 &&
      (!b.upstream || view_strides(x, {product_of(x->type.sizes, 0, x->type.sizes.size() - 1), b.size(x, -1)})))
    return folded(b, x, y);
  return batched(b, x, y);
}

bool sums_nothing(Builder& b, const Value* x);

Result<bool> matmul(Builder& b) {
  Value* x = b.in();
  if (sums_nothing(b, x)) return b.replace(b.full(b.out_type().sizes, SymInt(0), b.out_type().dtype));
  Value* y = b.in("other");
  const int64_t rx = b.rank(x), ry = b.rank(y);
  const bool plain = (rx == 2 && ry == 2) || (rx == 3 && ry == 3 && known_equal(b.size(x, 0), b.size(y, 0)));
  if (rx >= 2 && ry >= 2) {
    if (b.upstream || b.legal) return b.replace(kernel_matmul(b, x, y));
    return plain ? b.replace(b.matmul(x, y)) : Result<bool>(false);
  }
  // A vector is a matrix of one row on the left, of one column on the right.
  if (rx == 1) x = b.unsqueeze(x, 0);
  if (ry == 1) y = b.unsqueeze(y, 1);
  Value* out = b.upstream || b.legal ? kernel_matmul(b, x, y) : b.matmul(x, y);
  if (ry == 1) out = b.squeeze(out, b.rank(out) - 1);
  if (rx == 1) out = b.squeeze(out, b.rank(out) - (ry == 1 ? 1 : 2));
  return b.replace(out);
}

Result<bool> linear(Builder& b) {
  Value* x = b.in("input");
  Value* weight = b.in("weight");
  Value* bias = b.maybe("bias");
  const int64_t r = b.rank(x);
  if (b.rank(weight) == 1) {
    Value* out = b.squeeze(kernel_matmul(b, r == 1 ? b.unsqueeze(x, 0) : x, b.unsqueeze(weight, 1)), -1);
    if (r == 1) out = b.squeeze(out, 0);
    return b.replace(bias == nullptr ? out : b.add(out, bias));
  }
  Value* matrix = b.transpose(weight, 0, 1);
  if (r == 2 && bias != nullptr) return b.replace(b.make("addmm", {bias, x, matrix}));
  if (r == 1) x = b.unsqueeze(x, 0);
  Value* out = nullptr;
  if (r == 3 && bias != nullptr && (!b.upstream || is_contiguous(x))) {
    Shape to = x->type.sizes;
    out = b.make("addmm", {bias, b.view(x, {to[0] * to[1], to[2]}), matrix});
    to[2] = b.size(matrix, 1);
    return b.replace(b.view(out, std::move(to)));
  }
  out = kernel_matmul(b, x, matrix);
  if (r == 1) out = b.squeeze(out, 0);
  return b.replace(bias == nullptr ? out : b.add(out, bias));
}

Result<bool> mv(Builder& b) { return b.replace(b.squeeze(b.mm(b.in(), b.unsqueeze(b.in("vec"), 1)), 1)); }

Result<bool> addmv(Builder& b) {
  Value* product = b.squeeze(b.mm(b.in("mat"), b.unsqueeze(b.in("vec"), 1)), 1);
  return b.replace(b.add(scaled(b, b.in(), b.arg("beta")), scaled(b, product, b.arg("alpha"))));
}

Value* dot(Builder& b, Value* x, Value* y) {
  Value* product = b.mm(b.unsqueeze(x, 0), b.unsqueeze(y, 1));
  return b.view(product, {});
}
Result<bool> dot_op(Builder& b) { return b.replace(dot(b, b.in(), b.in(b.base() == "dot" ? "tensor" : "other"))); }

Result<bool> outer(Builder& b) {
  Value* x = b.in();
  return b.replace(b.mul(b.view(x, {b.size(x, 0), SymInt(1)}), b.in("vec2")));
}

Result<bool> addr(Builder& b) {
  Value* product = b.mul(b.unsqueeze(b.in("vec1"), 1), b.in("vec2"));
  const Arg beta = b.arg("beta");
  product = scaled(b, product, b.arg("alpha"));
  if (literal(beta) == 0.0) return b.replace(product);
  return b.replace(b.add(scaled(b, b.in(), beta), product));
}

// beta 0 leaves self out even where it is NaN, as eager does.
Result<bool> baddbmm(Builder& b) {
  Value* product = scaled(b, b.bmm(b.in("batch1"), b.in("batch2")), b.arg("alpha"));
  if (b.base() == "addbmm") product = b.sum(product, {0}, false);
  const Arg beta = b.arg("beta");
  if (literal(beta) == 0.0) return b.replace(b.expand(product, b.out_type().sizes));
  return b.replace(b.add(product, scaled(b, b.in(), beta)));
}

// Sums over no elements are 0; the runtime's kernels leave the result unwritten.
bool sums_nothing(Builder& b, const Value* x) { return b.rank(x) > 0 && b.size(x, -1) == SymInt(0); }

Result<bool> empty_product(Builder& b) {
  Value* x = std::get<Value*>(b.node().args.at(0));
  if (!sums_nothing(b, x)) return false;
  const Type& out = b.out_type();
  if (b.base() == "linear")
    if (Value* bias = b.maybe("bias")) return b.replace(b.expand(bias, out.sizes));
  return b.replace(b.full(out.sizes, SymInt(0), out.dtype));
}

// beta 0 leaves self out, which the runtime's kernel multiplies by 0.
Result<bool> addmm(Builder& b) {
  if (sums_nothing(b, b.in("mat1"))) return b.replace(b.expand(scaled(b, b.in(), b.arg("beta")), b.out_type().sizes));
  if ((b.upstream && !b.legal) || literal(b.arg("beta")) != 0.0) return false;
  Value* product = b.cast(scaled(b, b.mm(b.in("mat1"), b.in("mat2")), b.arg("alpha")), b.out_type().dtype);
  return b.replace(b.expand(product, b.out_type().sizes));
}

Result<bool> inner(Builder& b) {
  Value* x = b.in();
  Value* y = b.in("other");
  if (b.rank(x) == 0 || b.rank(y) == 0) return b.replace(b.mul(x, y));
  return b.replace(b.make("tensordot", {x, y, IntList{SymInt(b.rank(x) - 1)}, IntList{SymInt(b.rank(y) - 1)}}));
}

Result<bool> tensordot(Builder& b) {
  Value* x = b.in();
  Value* y = b.in("other");
  const auto xd = b.dims("dims_self", b.rank(x), false), yd = b.dims("dims_other", b.rank(y), false);
  SymInt contracted = 1, rows = 1, columns = 1;
  std::vector<int64_t> xo, yo = yd;
  Shape out;
  for (size_t i = 0; i < xd.size(); ++i) {
    // A contracted dim of one element broadcasts.
    if (b.size(x, xd[i]) == SymInt(1) && b.size(y, yd[i]) != SymInt(1)) y = b.sum(y, {yd[i]}, true);
    if (b.size(y, yd[i]) == SymInt(1) && b.size(x, xd[i]) != SymInt(1)) x = b.sum(x, {xd[i]}, true);
    contracted = contracted * b.size(x, xd[i]);
  }
  for (int64_t i = 0; i < b.rank(x); ++i) {
    if (std::find(xd.begin(), xd.end(), i) != xd.end()) continue;
    xo.push_back(i);
    rows = rows * b.size(x, i);
    out.push_back(b.size(x, i));
  }
  xo.insert(xo.end(), xd.begin(), xd.end());
  for (int64_t i = 0; i < b.rank(y); ++i) {
    if (std::find(yd.begin(), yd.end(), i) != yd.end()) continue;
    yo.push_back(i);
    columns = columns * b.size(y, i);
    out.push_back(b.size(y, i));
  }
  Value* left = b.view(b.permute(x, xo), {rows, contracted});
  Value* right = b.view(b.permute(y, yo), {contracted, columns});
  return b.replace(b.view(b.mm(left, right), std::move(out)));
}

Result<bool> vecdot(Builder& b) {
  Value* product = b.mul(b.in("x"), b.in("y"));
  return b.replace(b.sum(product, {b.dim("dim", b.rank(product))}, false));
}

Result<bool> kron(Builder& b) {
  Value* x = b.in();
  Value* y = b.in("other");
  const int64_t r = std::max(b.rank(x), b.rank(y));
  // Interleave the dims: x at even places, y at odd ones.
  const auto spread = [&](Value* v, bool even) {
    Shape to;
    for (int64_t i = 0; i < r; ++i) {
      const int64_t own = i - (r - b.rank(v));
      const SymInt size = own < 0 ? SymInt(1) : b.size(v, own);
      to.push_back(even ? size : SymInt(1));
      to.push_back(even ? SymInt(1) : size);
    }
    return b.view(v, std::move(to));
  };
  return b.replace(b.view(b.mul(spread(x, true), spread(y, false)), b.out_type().sizes));
}

// In the order written; the cheapest order is the exporter's business.
Result<bool> multi_dot(Builder& b) {
  const ValueList parts = b.call.tensors(b.base() == "chain_matmul" ? "matrices" : "tensors");
  Value* out = parts.front();
  const bool row = b.rank(out) == 1;
  if (row) out = b.unsqueeze(out, 0);
  for (size_t i = 1; i < parts.size(); ++i) {
    Value* next = parts[i];
    if (b.rank(next) == 1) next = b.unsqueeze(next, 1);
    out = b.mm(out, next);
  }
  return b.replace(b.view(out, b.out_type().sizes));
}

// out[.., o] = sum over i, j of x[.., i] weight[o, i, j] y[.., j]
Result<bool> bilinear(Builder& b) {
  Value* x = b.in("input1");
  Value* y = b.in("input2");
  Value* weight = b.in("weight");
  const SymInt o = b.size(weight, 0), i = b.size(weight, 1), j = b.size(weight, 2);
  SymInt rows = 1;
  for (int64_t d = 0; d + 1 < b.rank(x); ++d) rows = rows * b.size(x, d);
  Value* left = b.view(x, {rows, i});
  Value* matrix = b.view(b.permute(weight, {1, 0, 2}), {i, o * j});
  Value* half = b.view(b.mm(left, matrix), {rows, o, j});
  Value* out = b.sum(b.mul(half, b.view(y, {rows, SymInt(1), j})), {2}, false);
  if (Value* bias = b.maybe("bias")) out = b.add(out, bias);
  return b.replace(b.view(out, b.out_type().sizes));
}

// The product of three tensors, spread to common dims, summed over some of them.
Result<bool> trilinear(Builder& b) {
  const auto spread = [&](std::string_view name, std::string_view expand) {
    Value* x = b.in(name);
    for (const int64_t dim : b.call.integers(expand)) x = b.unsqueeze(x, dim);
    return x;
  };
  Value* product = b.mul(b.mul(spread("i1", "expand1"), spread("i2", "expand2")), spread("i3", "expand3"));
  const std::vector<int64_t> dims = b.call.integers("sumdim");
  return b.replace(dims.empty() ? product : b.sum(product, dims, false));
}

// Whole, where it computes anything.
Result<bool> linear_op(Builder& b) {
  if (sums_nothing(b, b.in("input"))) return empty_product(b);
  return b.upstream || b.legal ? linear(b) : Result<bool>(false);
}

// By squaring.
Result<bool> matrix_power(Builder& b) {
  Value* x = b.in();
  int64_t n = b.integer("n");
  if (n < 0) return b.refuse("inverts a matrix, for which the runtime has no kernel");
  if (n == 0) {
    Value* eye = b.make("eye", {b.size(x, -1)}, {{"dtype", b.dtype(x)}});
    return b.replace(b.expand(eye, x->type.sizes));
  }
  Value* out = nullptr;
  for (Value* power = x;; power = b.matmul(power, power)) {
    if (n % 2 != 0) out = out == nullptr ? power : b.matmul(out, power);
    n /= 2;
    if (n == 0) break;
  }
  return b.replace(out);
}

// Columns 1, x, x^2 … or the other way round.
Result<bool> vander(Builder& b) {
  Value* x = b.in("x");
  const SymInt columns = b.out_type().sizes[1];
  if (!columns.is_const()) return b.refuse("has a dynamic number of columns, for which edgelift has no form");
  const int64_t n = columns.value();
  std::vector<Value*> powers;
  Value* power = b.full(x->type.sizes, SymInt(1), b.out_type().dtype);
  for (int64_t i = 0; i < n; ++i) {
    powers.push_back(power);
    power = i == 0 ? b.cast(x, b.out_type().dtype) : b.mul(power, x);
  }
  if (!b.call.flag("increasing")) std::reverse(powers.begin(), powers.end());
  return b.replace(b.stack(powers, 1));
}

constexpr Entry kEntries[] = {
    {"linear", linear_op, kAll},
    {"mm", empty_product},
    {"bmm", empty_product},
    {"matmul", matmul, kAll},
    {"addmm", addmm, kEdge | kUpstream},
    {"mv", mv},
    {"addmv", addmv},
    {"dot", dot_op},
    {"vdot", dot_op},
    {"inner", inner},
    {"outer", outer},
    {"ger", outer},
    {"addr", addr},
    {"baddbmm", baddbmm},
    {"addbmm", baddbmm},
    {"tensordot", tensordot},
    {"linalg_vecdot", vecdot},
    {"kron", kron},
    {"linalg_multi_dot", multi_dot},
    {"chain_matmul", multi_dot},
    {"bilinear", bilinear},
    {"_trilinear", trilinear},
    {"matrix_power", matrix_power},
    {"linalg_matrix_power", matrix_power},
    {"vander", vander},
};

}  // namespace

std::span<const Entry> linear_entries() { return kEntries; }

}  // namespace edgelift::edge
