// Other sizes or another order of the same elements: views, permutations, expansion.
#include <algorithm>
#include <numeric>

#include "ops/families.h"
#include "ops/infer.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using ir::Shape;
using xnn::Kind;

constexpr uint32_t kViewAlias = kView | kAlias;

Types like_self(const Call& call, Shape sizes) { return one(call.type("self").dtype, std::move(sizes)); }

// ---- sizes ----

Types infer_view(const Call& call) {
  const std::string_view name = call.op().schema.index_of("size") >= 0 ? "size" : "shape";
  EL_TRY(Shape sizes, view_shape(call.type("self").sizes, call.ints(name)));
  return like_self(call, std::move(sizes));
}

Types infer_view_as(const Call& call) {
  EL_TRY(Shape sizes, view_shape(call.type("self").sizes, call.type("other").sizes));
  return like_self(call, std::move(sizes));
}

// Reinterpretation of the bytes: the last dim grows or shrinks with the element's size.
Types infer_view_dtype(const Call& call) {
  const ir::Type& self = call.type("self");
  const DType dtype = *call.dtype("dtype");
  Shape sizes = self.sizes;
  const auto from = static_cast<int64_t>(byte_size(self.dtype));
  const auto to = static_cast<int64_t>(byte_size(dtype));
  if (from != to) {
    if (sizes.empty()) return input_error("a tensor of rank 0 cannot be viewed as elements of another size");
    if (from > to) {
      sizes.back() = sizes.back() * SymInt(from / to);
    } else {
      if (sizes.back().is_const() && sizes.back().value() % (to / from) != 0)
        return input_error("the last dim of " + sizes_text(sizes) + " does not hold whole elements of " +
                           std::string(long_name(dtype)));
      sizes.back() = SymInt::floordiv(sizes.back(), SymInt(to / from));
    }
  }
  return one(dtype, std::move(sizes));
}

Types infer_flatten(const Call& call) {
  const Shape& from = call.type("self").sizes;
  const auto rank = static_cast<int64_t>(from.size());
  if (rank == 0) return like_self(call, {SymInt(1)});
  EL_TRY(const int64_t start, checked_dim(call.integer("start_dim"), rank));
  EL_TRY(const int64_t end, checked_dim(call.integer("end_dim"), rank));
  if (start > end) return input_error("start_dim is after end_dim");
  Shape sizes(from.begin(), from.begin() + start);
  sizes.push_back(product_of(from, static_cast<size_t>(start), static_cast<size_t>(end) + 1));
  sizes.insert(sizes.end(), from.begin() + end + 1, from.end());
  return like_self(call, std::move(sizes));
}

Types infer_unflatten(const Call& call) {
  const Shape& from = call.type("self").sizes;
  EL_TRY(const int64_t dim, indexed_dim(call.integer("dim"), static_cast<int64_t>(from.size())));
  EL_TRY(const Shape piece, view_shape({from[static_cast<size_t>(dim)]}, call.ints("sizes")));
  Shape sizes = from;
  sizes.erase(sizes.begin() + dim);
  sizes.insert(sizes.begin() + dim, piece.begin(), piece.end());
  return like_self(call, std::move(sizes));
}

bool is_one(const SymInt& size) { return size.is_const() && size.value() == 1; }

Types infer_squeeze(const Call& call) {
  Shape sizes;
  for (const SymInt& size : call.type("self").sizes)
    if (!is_one(size)) sizes.push_back(size);
  return like_self(call, std::move(sizes));
}

Types infer_squeeze_dims(const Call& call) {
  const Shape& from = call.type("self").sizes;
  const auto rank = static_cast<int64_t>(from.size());
  const std::vector<int64_t> wish = std::holds_alternative<ir::IntList>(call.arg("dim"))
                                        ? call.integers("dim")
                                        : std::vector<int64_t>{call.integer("dim")};
  EL_TRY(const std::vector<int64_t> dims, normalize_dims(wish, rank, false));
  Shape sizes;
  for (int64_t i = 0; i < rank; ++i) {
    const SymInt& size = from[static_cast<size_t>(i)];
    if (!is_one(size) || !std::binary_search(dims.begin(), dims.end(), i)) sizes.push_back(size);
  }
  return like_self(call, std::move(sizes));
}

Types infer_unsqueeze(const Call& call) {
  Shape sizes = call.type("self").sizes;
  EL_TRY(const int64_t dim, checked_dim(call.integer("dim"), static_cast<int64_t>(sizes.size()) + 1));
  sizes.insert(sizes.begin() + dim, SymInt(1));
  return like_self(call, std::move(sizes));
}

Types infer_ravel(const Call& call) { return like_self(call, {call.type("self").sym_numel()}); }

template <size_t kRank>
Types infer_atleast(const Call& call) {
  Shape sizes = call.type("self").sizes;
  if (sizes.empty()) sizes.assign(kRank, SymInt(1));
  if (sizes.size() < kRank) sizes.insert(sizes.begin(), SymInt(1));
  if (sizes.size() < kRank) sizes.emplace_back(1);  // [n] becomes [1,n] and then [1,n,1]; [n,m] becomes [n,m,1]
  return like_self(call, std::move(sizes));
}

Types infer_atleast_3d(const Call& call) {
  Shape sizes = call.type("self").sizes;
  if (sizes.size() == 2) {
    sizes.emplace_back(1);
    return like_self(call, std::move(sizes));
  }
  return infer_atleast<3>(call);
}

// ---- permutations ----

// The permutation that the call means; every operator of this kind goes through it, for the shape and for lowering.
Result<std::vector<int64_t>> permutation(const Call& call) {
  const auto rank = call.type("self").rank();
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  const ir::Schema& schema = call.op().schema;
  if (schema.index_of("dims") >= 0) {
    std::vector<int64_t> dims = call.integers("dims");
    EL_TRY_OK(permuted_shape(call.type("self").sizes, dims));
    for (int64_t& dim : dims) dim = *normalize_dim(dim, rank);
    return dims;
  }
  const auto swap = [&](int64_t a, int64_t c) -> Result<std::vector<int64_t>> {
    EL_TRY(a, checked_dim(a, rank));
    EL_TRY(c, checked_dim(c, rank));
    if (rank > 0) std::swap(perm[static_cast<size_t>(a)], perm[static_cast<size_t>(c)]);
    return perm;
  };
  if (schema.index_of("dim0") >= 0) return swap(call.integer("dim0"), call.integer("dim1"));
  if (schema.index_of("axis0") >= 0) return swap(call.integer("axis0"), call.integer("axis1"));
  if (schema.index_of("source") >= 0) {
    const bool list = std::holds_alternative<ir::IntList>(call.arg("source"));
    std::vector<int64_t> source = list ? call.integers("source") : std::vector<int64_t>{call.integer("source")};
    std::vector<int64_t> target =
        list ? call.integers("destination") : std::vector<int64_t>{call.integer("destination")};
    if (source.size() != target.size()) return input_error("source and destination name different numbers of dims");
    std::vector<int64_t> out(perm.size(), -1);
    std::vector<bool> taken(perm.size(), false);
    for (size_t i = 0; i < source.size(); ++i) {
      EL_TRY(const int64_t from, indexed_dim(source[i], rank));
      EL_TRY(const int64_t to, indexed_dim(target[i], rank));
      if (taken[static_cast<size_t>(from)] || out[static_cast<size_t>(to)] >= 0)
        return input_error("a dim is moved twice");
      taken[static_cast<size_t>(from)] = true;
      out[static_cast<size_t>(to)] = from;
    }
    size_t next = 0;
    for (int64_t& at : out) {
      if (at >= 0) continue;
      while (taken[next]) ++next;
      at = static_cast<int64_t>(next++);
    }
    return out;
  }
  const std::string& base = call.op().base;
  if (base == "numpy_T") {
    std::reverse(perm.begin(), perm.end());
    return perm;
  }
  // t, mT, adjoint: the last two dims.
  if (base.starts_with("t") && rank > 2)
    return input_error("a tensor of rank " + std::to_string(rank) + " is not a matrix");
  if (rank >= 2) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return perm;
}

Types infer_permutation(const Call& call) {
  EL_TRY(const std::vector<int64_t> perm, permutation(call));
  EL_TRY(Shape sizes, permuted_shape(call.type("self").sizes, perm));
  return like_self(call, std::move(sizes));
}

LowerResult lower_permutation(const Call& call, XnnBuilder& b) {
  auto perm = permutation(call);
  EL_CHECK(perm.ok(), "a permutation that passed its shape rule");
  const uint32_t in = b.value(call.tensor("self"));
  if (std::is_sorted(perm->begin(), perm->end())) {
    b.alias(call.result(), in);
  } else {
    b.transpose(in, *std::move(perm), b.define(call.result()));
  }
  return std::nullopt;
}

// ---- expansion ----

Types infer_expand(const Call& call) {
  EL_TRY(Shape sizes, expand_shape(call.type("self").sizes, call.ints("size")));
  return like_self(call, std::move(sizes));
}

Types infer_expand_as(const Call& call) {
  EL_TRY(Shape sizes, expand_shape(call.type("self").sizes, call.type("other").sizes));
  return like_self(call, std::move(sizes));
}

// Nothing where no dim grows; else a multiplication by ones, which has the size of the dims that grow only.
LowerResult lower_expand(const Call& call, XnnBuilder& b) {
  constexpr int64_t kMaxOnes = 1 << 16;
  const ir::Type& from = call.type("self");
  const ir::Type& to = call.result()->type;
  const size_t lead = to.sizes.size() - from.sizes.size();
  std::vector<int64_t> ones;
  int64_t count = 1;
  for (size_t i = 0; i < to.sizes.size(); ++i) {
    const SymInt& size = to.sizes[i];
    if (is_one(size) || (i >= lead && !is_one(from.sizes[i - lead]))) {
      if (!ones.empty()) ones.push_back(1);
      continue;
    }
    if (!size.is_const()) return refuse(Code::Dynamic, "a dim grows to the dynamic size " + size.str());
    ones.push_back(size.value());
    count *= size.value();
    if (count > kMaxOnes)
      return refuse(Code::Shape, "the operand grows more than " + std::to_string(kMaxOnes) + " times, from " +
                                     from.str() + " to " + to.str() +
                                     "; the delegate can only multiply by as many ones");
  }
  if (ones.empty()) return lower_as_view(call, b);
  const uint32_t in = b.value(call.tensor("self"));
  b.binary(Kind::Multiply, in, b.unpacked(scalar_data(from.dtype, 1.0).expanded(ones).contiguous()),
           b.define(call.result()));
  return std::nullopt;
}

constexpr OpDef kRows[] = {
    {"aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", infer_view, lower_as_view, "aten::view_copy.out",
     kViewAlias, "at most one size of the result is dynamic"},
    {"aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", infer_view, lower_as_view, "aten::view_copy.out",
     kView, "at most one size of the result is dynamic"},
    {"aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", infer_view, lower_as_view,
     "aten::view_copy.out(self, shape)", kViewAlias, "at most one size of the result is dynamic"},
    {"aten::view_copy(Tensor self, SymInt[] size) -> Tensor", infer_view, lower_as_view, "aten::view_copy.out", kView,
     "at most one size of the result is dynamic"},
    {"aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)", infer_view, lower_as_view,
     "aten::view_copy.out(self, size)", kViewAlias, "at most one size of the result is dynamic"},
    {"aten::_reshape_copy(Tensor self, SymInt[] size) -> Tensor", infer_view, lower_as_view,
     "aten::view_copy.out(self, size)", kView, "at most one size of the result is dynamic"},
    {"aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
     infer_view_as,
     lower_as_view,
     {},
     kViewAlias,
     "at most one size of the result is dynamic"},
    {"aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
     infer_view_as,
     lower_as_view,
     {},
     kViewAlias,
     "at most one size of the result is dynamic"},
    {"aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
     infer_view_dtype,
     nullptr,
     {},
     kAlias,
     "the delegate cannot reinterpret bytes"},
    {"aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
     infer_flatten,
     lower_as_view,
     {},
     kViewAlias,
     "at most one size of the result is dynamic"},
    {"aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
     infer_unflatten,
     lower_as_view,
     {},
     kViewAlias,
     "at most one size of the result is dynamic"},
    {"aten::ravel(Tensor(a) self) -> Tensor(a)",
     infer_ravel,
     lower_as_view,
     {},
     kViewAlias,
     "at most one size of the result is dynamic"},
    {"aten::squeeze(Tensor(a) self) -> Tensor(a)",
     infer_squeeze,
     lower_as_view,
     {},
     kViewAlias,
     "at most one size of the result is dynamic"},
    {"aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", infer_squeeze_dims, lower_as_view,
     "aten::squeeze_copy.dim_out", kViewAlias, "at most one size of the result is dynamic"},
    {"aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", infer_squeeze_dims, lower_as_view,
     "aten::squeeze_copy.dims_out", kViewAlias, "at most one size of the result is dynamic"},
    {"aten::squeeze_copy(Tensor self) -> Tensor",
     infer_squeeze,
     lower_as_view,
     {},
     kView,
     "at most one size of the result is dynamic"},
    {"aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor", infer_squeeze_dims, lower_as_view,
     "aten::squeeze_copy.dim_out", kView, "at most one size of the result is dynamic"},
    {"aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", infer_squeeze_dims, lower_as_view,
     "aten::squeeze_copy.dims_out", kView, "at most one size of the result is dynamic"},
    {"aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", infer_unsqueeze, lower_as_view,
     "aten::unsqueeze_copy.out", kViewAlias, "at most one size of the result is dynamic"},
    {"aten::unsqueeze_copy(Tensor self, int dim) -> Tensor", infer_unsqueeze, lower_as_view, "aten::unsqueeze_copy.out",
     kView, "at most one size of the result is dynamic"},
    {"aten::atleast_1d(Tensor self) -> Tensor",
     infer_atleast<1>,
     lower_as_view,
     {},
     kViewAlias,
     "at most one size of the result is dynamic"},
    {"aten::atleast_2d(Tensor self) -> Tensor",
     infer_atleast<2>,
     lower_as_view,
     {},
     kViewAlias,
     "at most one size of the result is dynamic"},
    {"aten::atleast_3d(Tensor self) -> Tensor",
     infer_atleast_3d,
     lower_as_view,
     {},
     kViewAlias,
     "at most one size of the result is dynamic"},
    {"aten::squeeze_(Tensor(a!) self) -> Tensor(a!)", infer_squeeze, nullptr, {}, kInPlace},
    {"aten::squeeze_.dim(Tensor(a!) self, int dim) -> Tensor(a!)", infer_squeeze_dims, nullptr, {}, kInPlace},
    {"aten::squeeze_.dims(Tensor(a!) self, int[] dim) -> Tensor(a!)", infer_squeeze_dims, nullptr, {}, kInPlace},
    {"aten::unsqueeze_(Tensor(a!) self, int dim) -> Tensor(a!)", infer_unsqueeze, nullptr, {}, kInPlace},
    // Permutations.
    {"aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", infer_permutation, lower_permutation,
     "aten::permute_copy.out", kAlias},
    {"aten::permute_copy(Tensor self, int[] dims) -> Tensor", infer_permutation, lower_permutation,
     "aten::permute_copy.out"},
    {"aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", infer_permutation, lower_permutation,
     "aten::transpose_copy.int_out", kAlias},
    {"aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", infer_permutation, lower_permutation,
     "aten::transpose_copy.int_out"},
    {"aten::t(Tensor(a) self) -> Tensor(a)", infer_permutation, lower_permutation, "aten::t_copy.out", kAlias},
    {"aten::t_copy(Tensor self) -> Tensor", infer_permutation, lower_permutation, "aten::t_copy.out"},
    {"aten::numpy_T(Tensor(a) self) -> Tensor(a)", infer_permutation, lower_permutation, {}, kAlias},
    {"aten::mT(Tensor(a) self) -> Tensor(a)", infer_permutation, lower_permutation, {}, kAlias},
    {"aten::mH(Tensor(a) self) -> Tensor(a)", infer_permutation, lower_permutation, {}, kAlias},
    {"aten::matrix_H(Tensor(a) self) -> Tensor(a)", infer_permutation, lower_permutation, {}, kAlias},
    {"aten::adjoint(Tensor(a) self) -> Tensor(a)", infer_permutation, lower_permutation, {}, kAlias},
    {"aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", infer_permutation, lower_permutation,
     "aten::transpose_copy.int_out", kAlias},
    {"aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", infer_permutation, lower_permutation,
     "aten::transpose_copy.int_out", kAlias},
    {"aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
     infer_permutation,
     lower_permutation,
     {},
     kAlias},
    {"aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
     infer_permutation,
     lower_permutation,
     {},
     kAlias},
    {"aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
     infer_permutation,
     lower_permutation,
     {},
     kAlias},
    {"aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
     infer_permutation,
     lower_permutation,
     {},
     kAlias},
    {"aten::transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)", infer_permutation, nullptr, {}, kInPlace},
    {"aten::t_(Tensor(a!) self) -> Tensor(a!)", infer_permutation, nullptr, {}, kInPlace},
    {"aten::swapaxes_(Tensor(a!) self, int axis0, int axis1) -> Tensor(a!)", infer_permutation, nullptr, {}, kInPlace},
    // Expansion.
    {"aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", infer_expand, lower_expand,
     "aten::expand_copy.out", kAlias, "dims that grow are static and grow at most 65536 times together"},
    {"aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor", infer_expand, lower_expand,
     "aten::expand_copy.out", kNone, "dims that grow are static and grow at most 65536 times together"},
    {"aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
     infer_expand_as,
     lower_expand,
     {},
     kAlias,
     "dims that grow are static and grow at most 65536 times together"},
    {"aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", infer_expand, lower_expand,
     "aten::expand_copy.out(self, size, false)", kAlias,
     "dims that grow are static and grow at most 65536 times together"},
};

}  // namespace

std::span<const OpDef> view_ops() { return kRows; }

}  // namespace edgelift::ops
