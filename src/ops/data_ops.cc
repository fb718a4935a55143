// Cutting tensors into pieces and putting pieces together.
#include <algorithm>

#include "ops/data_rules.h"
#include "ops/families.h"
#include "ops/infer.h"
#include "ops/kernel_limits.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using ir::Shape;
using xnn::Kind;

// ---- putting together ----

// A rank-1 tensor without elements is left out, as PyTorch does whatever the rank of the others.
bool is_legacy_empty(const ir::Type& type) {
  return type.rank() == 1 && type.sizes[0].is_const() && type.sizes[0].value() == 0;
}

Types infer_cat(const Call& call) {
  const ir::ValueList& tensors = call.tensors("tensors");
  if (tensors.empty()) return input_error("the list of tensors is empty");
  Promotion promotion;
  const ir::Type* first = nullptr;
  for (const ir::Value* value : tensors) {
    promotion.add(value->type);
    if (first == nullptr && !is_legacy_empty(value->type)) first = &value->type;
  }
  if (first == nullptr) return one(promotion.result(), tensors.front()->type.sizes);
  if (first->rank() == 0) return input_error("tensors of rank 0 cannot be concatenated");
  EL_TRY(const int64_t dim, checked_dim(call.integer("dim"), first->rank()));
  Shape sizes = first->sizes;
  SymInt total(0);
  for (const ir::Value* value : tensors) {
    const Shape& piece = value->type.sizes;
    if (is_legacy_empty(value->type)) continue;
    bool fits = piece.size() == sizes.size();
    for (size_t i = 0; fits && i < piece.size(); ++i)
      fits = i == static_cast<size_t>(dim) || !piece[i].is_const() || !sizes[i].is_const() || piece[i] == sizes[i];
    if (!fits)
      return input_error("shapes " + sizes_text(sizes) + " and " + sizes_text(piece) + " do not fit along dim " +
                         std::to_string(dim));
    total = total + piece[static_cast<size_t>(dim)];
    // A number is preferred to a symbol that has to equal it.
    for (size_t i = 0; i < piece.size(); ++i)
      if (!sizes[i].is_const() && piece[i].is_const()) sizes[i] = piece[i];
  }
  sizes[static_cast<size_t>(dim)] = total;
  ir::Type type = ir::Type::tensor(promotion.result(), std::move(sizes));
  type.dim_order = first->dim_order;
  for (const ir::Value* value : tensors)
    if (value->type.dim_order != type.dim_order) type.dim_order.clear();
  return one(std::move(type));
}

LowerResult lower_cat(const Call& call, XnnBuilder& b) {
  const ir::Value* result = call.result();
  const int64_t dim = *normalize_dim(call.integer("dim"), result->type.rank());
  std::vector<uint32_t> pieces;
  for (const ir::Value* value : call.tensors("tensors")) pieces.push_back(b.value(value));
  if (pieces.size() == 1) {
    b.alias(result, pieces.front());
  } else {
    b.concat(std::move(pieces), static_cast<int32_t>(dim), b.define(result));
  }
  return std::nullopt;
}

Types infer_stack(const Call& call) {
  const ir::ValueList& tensors = call.tensors("tensors");
  if (tensors.empty()) return input_error("the list of tensors is empty");
  Promotion promotion;
  Shape sizes = tensors.front()->type.sizes;
  for (const ir::Value* value : tensors) {
    promotion.add(value->type);
    const Shape& piece = value->type.sizes;
    bool fits = piece.size() == sizes.size();
    for (size_t i = 0; fits && i < piece.size(); ++i)
      fits = !piece[i].is_const() || !sizes[i].is_const() || piece[i] == sizes[i];
    if (!fits)
      return input_error("tensors of shapes " + sizes_text(sizes) + " and " + sizes_text(piece) + " cannot be stacked");
    for (size_t i = 0; i < piece.size(); ++i)
      if (!sizes[i].is_const() && piece[i].is_const()) sizes[i] = piece[i];
  }
  EL_TRY(const int64_t dim, checked_dim(call.integer("dim"), static_cast<int64_t>(sizes.size()) + 1));
  sizes.insert(sizes.begin() + dim, SymInt(static_cast<int64_t>(tensors.size())));
  return one(promotion.result(), std::move(sizes));
}

// Every piece gets the new dim by a reshape; along the first dim that is the concatenation itself.
LowerResult lower_stack(const Call& call, XnnBuilder& b) {
  const ir::Value* result = call.result();
  const auto dim = static_cast<size_t>(*normalize_dim(call.integer("dim"), result->type.rank()));
  Shape piece = result->type.sizes;
  piece[dim] = SymInt(1);
  if (!reshapable(piece))
    return refuse(Code::Dynamic, "more than one size of the result is dynamic: " + result->type.str());
  std::vector<uint32_t> pieces;
  for (const ir::Value* value : call.tensors("tensors")) {
    const uint32_t in = b.value(value);
    pieces.push_back(call.tensors("tensors").size() == 1 ? in : b.reshape(in, piece));
  }
  if (pieces.size() == 1) {
    b.finish_view(pieces.front(), result);
  } else {
    b.concat(std::move(pieces), static_cast<int32_t>(dim), b.define(result));
  }
  return std::nullopt;
}

// hstack, vstack, dstack, column_stack: the pieces get kRank dims first.
template <size_t kRank, int kDim>
Types infer_stack_along(const Call& call) {
  const ir::ValueList& tensors = call.tensors("tensors");
  if (tensors.empty()) return input_error("the list of tensors is empty");
  Promotion promotion;
  Shape out;
  size_t dim = 0;
  for (const ir::Value* value : tensors) {
    promotion.add(value->type);
    Shape piece = value->type.sizes;
    const bool column = call.op().base == "column_stack";
    if (column && piece.size() < 2) piece = {value->type.sym_numel(), SymInt(1)};
    if (piece.empty()) piece.assign(kRank, SymInt(1));
    if (piece.size() < kRank && (kRank > 1)) piece.insert(piece.begin(), SymInt(1));
    if (piece.size() < kRank) piece.emplace_back(1);
    if (kRank == 3 && value->type.rank() == 2) piece = {value->type.sizes[0], value->type.sizes[1], SymInt(1)};
    if (out.empty()) {
      out = piece;
      dim = call.op().base == "hstack" && piece.size() == 1 ? 0 : static_cast<size_t>(kDim);
      continue;
    }
    if (piece.size() != out.size()) return input_error("the tensors have different ranks");
    out[dim] = out[dim] + piece[dim];
  }
  return one(promotion.result(), std::move(out));
}

Types infer_block_diag(const Call& call) {
  Promotion promotion;
  SymInt rows(0), columns(0);
  for (const ir::Value* value : call.tensors("tensors")) {
    promotion.add(value->type);
    const Shape& sizes = value->type.sizes;
    if (sizes.size() > 2) return input_error("a tensor has more than two dims");
    rows = rows + (sizes.size() == 2 ? sizes[0] : SymInt(1));
    columns = columns + (sizes.empty() ? SymInt(1) : sizes.back());
  }
  if (promotion.empty()) return input_error("the list of tensors is empty");
  return one(promotion.result(), {rows, columns});
}

// ---- cutting out one piece ----

Types with_dim(const ir::Type& self, int64_t dim, SymInt size) {
  Shape sizes = self.sizes;
  sizes[static_cast<size_t>(dim)] = std::move(size);
  return one(self.dtype, std::move(sizes));
}

Types infer_select(const Call& call) {
  const ir::Type& self = call.type("self");
  if (self.rank() == 0) return input_error("a tensor of rank 0 has no dim to select from");
  EL_TRY(const int64_t dim, checked_dim(call.integer("dim"), self.rank()));
  const SymInt index = call.sym_int("index");
  const SymInt& size = self.sizes[static_cast<size_t>(dim)];
  if (index.is_const() && size.is_const() && (index.value() >= size.value() || index.value() < -size.value()))
    return input_error("index " + index.str() + " is out of range for a dim of size " + size.str());
  Shape sizes = self.sizes;
  sizes.erase(sizes.begin() + dim);
  return one(self.dtype, std::move(sizes));
}

LowerResult lower_select(const Call& call, XnnBuilder& b) {
  const ir::Value* self = call.tensor("self");
  const ir::Value* result = call.result();
  const int64_t dim = *normalize_dim(call.integer("dim"), self->type.rank());
  const SymInt index = call.sym_int("index");
  const SymInt& size = self->type.sizes[static_cast<size_t>(dim)];
  if (!index.is_const())
    return refuse(Code::Dynamic, "the index " + index.str() + " is known only when the program runs");
  if (index.value() < 0 && !size.is_const())
    return refuse(Code::Dynamic, "the index counts from the end of a dynamic dim, and a slice node has a fixed offset");
  if (!reshapable(result->type.sizes))
    return refuse(Code::Dynamic, "more than one size of the result is dynamic: " + result->type.str());
  const int64_t at = index.value() < 0 ? index.value() + size.value() : index.value();
  if (size.is_const() && size.value() == 1) {
    b.finish_view(b.value(self), result);
    return std::nullopt;
  }
  uint32_t piece = xnn::kInvalid;
  if (auto refused = slice_dim(b, b.value(self), dim, at, 1, &piece)) return refused;
  b.finish_view(piece, result);
  return std::nullopt;
}

Types infer_slice(const Call& call) {
  const ir::Type& self = call.type("self");
  if (self.rank() == 0) return input_error("a tensor of rank 0 cannot be sliced");
  EL_TRY(const int64_t dim, checked_dim(call.integer("dim"), self.rank()));
  if (call.is_symbolic("step") || call.integer("step") < 1)
    return input_error("the step of a slice is not a positive number");
  const SliceRange range = slice_range(self.sizes[static_cast<size_t>(dim)], opt_sym(call, "start"),
                                       opt_sym(call, "end"), call.integer("step"));
  return with_dim(self, dim, range.length);
}

// result = in[start : start + length * step : step] along dim, of known numbers. A step above 1 groups the dim into
// rows of `step` elements and takes the first of each.
LowerResult strided_piece(XnnBuilder& b, const ir::Value* self, int64_t dim, int64_t start, int64_t length,
                          int64_t step, const ir::Value* result) {
  const Shape& from = self->type.sizes;
  const auto at = static_cast<size_t>(dim);
  const int64_t size = from[at].value();
  uint32_t in = b.value(self);
  if (length == size && step == 1) {
    b.alias(result, in);
    return std::nullopt;
  }
  if (step == 1 || length == 1) {
    uint32_t out = b.define(result);
    return slice_dim(b, in, dim, start, length, &out);
  }
  const SymInt before = product_of(from, 0, at);
  const SymInt after = product_of(from, at + 1, from.size());
  if (!before.is_const() && !after.is_const())
    return refuse(Code::Dynamic,
                  "the step is " + std::to_string(step) + " and sizes on both sides of the dim are dynamic");
  if (!reshapable(result->type.sizes))
    return refuse(Code::Dynamic, "the step is " + std::to_string(step) + " and more than one size is dynamic");
  const int64_t wanted = length * step;
  const int64_t present = std::min(wanted, size - start);
  if (start != 0 || present != size) {
    uint32_t cut = xnn::kInvalid;
    if (auto refused = slice_dim(b, in, dim, start, present, &cut)) return refused;
    in = cut;
  }
  if (present != wanted) {
    std::vector<int64_t> pre(from.size(), 0), post(from.size(), 0);
    post[at] = wanted - present;
    in = b.pad(in, std::move(pre), std::move(post), 0.0F);
  }
  const uint32_t rows = b.reshape(in, {before, SymInt(length), SymInt(step), after});
  uint32_t first = xnn::kInvalid;
  if (auto refused = slice_dim(b, rows, 2, 0, 1, &first)) return refused;
  b.reshape(first, result->type.sizes, b.define(result));
  return std::nullopt;
}

LowerResult lower_slice(const Call& call, XnnBuilder& b) {
  const ir::Value* self = call.tensor("self");
  const ir::Value* result = call.result();
  const int64_t dim = *normalize_dim(call.integer("dim"), self->type.rank());
  const SymInt& size = self->type.sizes[static_cast<size_t>(dim)];
  const int64_t step = call.integer("step");
  const SliceRange range = slice_range(size, opt_sym(call, "start"), opt_sym(call, "end"), step);
  if (step == 1 && range.length == size) {
    b.alias(result, b.value(self));
    return std::nullopt;
  }
  if (!range.start.is_const() || !range.length.is_const() || !size.is_const())
    return refuse(Code::Dynamic, "the range " + range.start.str() + " .. " + (range.start + range.length).str() +
                                     " of a dim of size " + size.str() +
                                     " is dynamic, and a slice node has fixed offsets");
  return strided_piece(b, self, dim, range.start.value(), range.length.value(), step, result);
}

Types infer_narrow(const Call& call) {
  const ir::Type& self = call.type("self");
  EL_TRY(const int64_t dim, indexed_dim(call.integer("dim"), self.rank()));
  const SymInt length = call.sym_int("length");
  const SymInt& size = self.sizes.at(static_cast<size_t>(dim));
  if (length.is_const() && size.is_const() && (length.value() < 0 || length.value() > size.value()))
    return input_error("length " + length.str() + " is out of range for a dim of size " + size.str());
  return with_dim(self, dim, length);
}

LowerResult lower_narrow(const Call& call, XnnBuilder& b) {
  const ir::Value* self = call.tensor("self");
  const int64_t dim = *normalize_dim(call.integer("dim"), self->type.rank());
  const SymInt& size = self->type.sizes[static_cast<size_t>(dim)];
  if (!std::holds_alternative<SymInt>(call.arg("start")) || call.is_symbolic("start") || call.is_symbolic("length") ||
      !size.is_const())
    return refuse(Code::Dynamic, "the range is dynamic, and a slice node has fixed offsets");
  int64_t start = call.integer("start");
  if (start < 0) start += size.value();
  return strided_piece(b, self, dim, start, call.integer("length"), 1, call.result());
}

// ---- cutting into several pieces ----

Types infer_pieces(const Call& call) {
  EL_TRY(const Pieces pieces, pieces_of(call));
  std::vector<ir::Type> types;
  for (const SymInt& size : pieces.sizes) {
    EL_TRY(std::vector<ir::Type> type, with_dim(call.type("self"), pieces.dim, size));
    types.push_back(std::move(type[0]));
  }
  return types;
}

LowerResult lower_pieces(const Call& call, XnnBuilder& b) {
  const auto pieces = pieces_of(call);
  EL_CHECK(pieces.ok(), "pieces that passed their shape rule");
  for (const SymInt& size : pieces->sizes)
    if (!size.is_const())
      return refuse(Code::Dynamic,
                    "a piece has the dynamic size " + size.str() + ", and a slice node has fixed offsets");
  const ir::Value* self = call.tensor("self");
  if (!self->type.sizes[static_cast<size_t>(pieces->dim)].is_const())
    return refuse(Code::Dynamic, "the dim that is cut is dynamic, and a slice node has fixed offsets");
  int64_t start = 0;
  for (size_t i = 0; i < pieces->sizes.size(); ++i) {
    const int64_t length = pieces->sizes[i].value();
    if (length == 0) return refuse(Code::Empty, "a piece has no elements");
    if (auto refused = strided_piece(b, self, pieces->dim, start, length, 1, call.result(i))) return refused;
    start += length;
  }
  return std::nullopt;
}

Types infer_unbind(const Call& call) {
  const ir::Type& self = call.type("self");
  if (self.rank() == 0) return input_error("a tensor of rank 0 cannot be unbound");
  EL_TRY(const int64_t dim, checked_dim(call.integer("dim"), self.rank()));
  const SymInt& size = self.sizes[static_cast<size_t>(dim)];
  if (!size.is_const())
    return input_error("a dim of dynamic size " + size.str() + " gives an unknown number of pieces");
  if (size.value() > kMaxPieces) return input_error("a dim of size " + size.str() + " gives too many pieces");
  Shape sizes = self.sizes;
  sizes.erase(sizes.begin() + dim);
  return std::vector<ir::Type>(static_cast<size_t>(size.value()), ir::Type::tensor(self.dtype, sizes));
}

LowerResult lower_unbind(const Call& call, XnnBuilder& b) {
  const ir::Value* self = call.tensor("self");
  const int64_t dim = *normalize_dim(call.integer("dim"), self->type.rank());
  if (!reshapable(call.result()->type.sizes))
    return refuse(Code::Dynamic, "more than one size of the results is dynamic: " + call.result()->type.str());
  const int64_t count = self->type.sizes[static_cast<size_t>(dim)].value();
  const uint32_t in = b.value(self);
  for (int64_t i = 0; i < count; ++i) {
    uint32_t piece = count == 1 ? in : xnn::kInvalid;
    if (count != 1)
      if (auto refused = slice_dim(b, in, dim, i, 1, &piece)) return refused;
    b.finish_view(piece, call.result(static_cast<size_t>(i)));
  }
  return std::nullopt;
}

constexpr OpDef kRows[] = {
    {"aten::cat(Tensor[] tensors, int dim=0) -> Tensor", infer_cat, lower_cat, "aten::cat.out", kNone,
     "ranks and dtypes are equal", kernel_same_dtypes},
    {"aten::concat(Tensor[] tensors, int dim=0) -> Tensor", infer_cat, lower_cat, "aten::cat.out", kNone,
     "ranks and dtypes are equal", kernel_same_dtypes},
    {"aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor", infer_cat, lower_cat, "aten::cat.out", kNone,
     "ranks and dtypes are equal", kernel_same_dtypes},
    {"aten::stack(Tensor[] tensors, int dim=0) -> Tensor", infer_stack, lower_stack, "aten::stack.out", kNone,
     "at most one size of the pieces is dynamic", kernel_same_dtypes},
    {"aten::hstack(Tensor[] tensors) -> Tensor", infer_stack_along<1, 1>},
    {"aten::vstack(Tensor[] tensors) -> Tensor", infer_stack_along<2, 0>},
    {"aten::row_stack(Tensor[] tensors) -> Tensor", infer_stack_along<2, 0>},
    {"aten::dstack(Tensor[] tensors) -> Tensor", infer_stack_along<3, 2>},
    {"aten::column_stack(Tensor[] tensors) -> Tensor", infer_stack_along<1, 1>},
    {"aten::block_diag(Tensor[] tensors) -> Tensor", infer_block_diag},
    // One piece.
    {"aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", infer_select, lower_select,
     "aten::select_copy.int_out", kAlias,
     "the index is a number, from the start where the dim is dynamic; at most one size of the result is dynamic"},
    {"aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor", infer_select, lower_select,
     "aten::select_copy.int_out", kNone,
     "the index is a number, from the start where the dim is dynamic; at most one size of the result is dynamic"},
    {"aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
     infer_slice, lower_slice, "aten::slice_copy.Tensor_out", kAlias,
     "the dim and the range are static; other dynamic dims have an upper bound"},
    {"aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor",
     infer_slice, lower_slice, "aten::slice_copy.Tensor_out", kNone,
     "the dim and the range are static; other dynamic dims have an upper bound"},
    {"aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", infer_narrow, lower_narrow,
     "aten::narrow_copy.out", kAlias, "the dim and the range are static; other dynamic dims have an upper bound"},
    {"aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor", infer_narrow, lower_narrow,
     "aten::narrow_copy.out", kNone, "the dim and the range are static; other dynamic dims have an upper bound"},
    // Several pieces.
    {"aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]", infer_pieces, lower_pieces,
     "aten::split_copy.Tensor_out", kAlias,
     "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", infer_pieces, lower_pieces,
     "aten::split_copy.Tensor_out", kNone, "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]", infer_pieces,
     lower_pieces, "aten::split_with_sizes_copy.out", kAlias,
     "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]", infer_pieces,
     lower_pieces, "aten::split_with_sizes_copy.out", kAlias,
     "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", infer_pieces,
     lower_pieces, "aten::split_with_sizes_copy.out", kNone,
     "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", infer_pieces, lower_pieces,
     "aten::split_copy.Tensor_out", kNone, "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]", infer_pieces,
     lower_pieces, "aten::split_with_sizes_copy.out", kNone,
     "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
     infer_pieces,
     lower_pieces,
     {},
     kAlias,
     "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
     infer_pieces,
     lower_pieces,
     {},
     kNone,
     "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]",
     infer_pieces,
     lower_pieces,
     {},
     kAlias,
     "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
     infer_pieces,
     lower_pieces,
     {},
     kAlias,
     "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
     infer_pieces,
     lower_pieces,
     {},
     kAlias,
     "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
     infer_pieces,
     lower_pieces,
     {},
     kAlias,
     "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
     infer_pieces,
     lower_pieces,
     {},
     kAlias,
     "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
     infer_pieces,
     lower_pieces,
     {},
     kAlias,
     "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
     infer_pieces,
     lower_pieces,
     {},
     kAlias,
     "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
     infer_pieces,
     lower_pieces,
     {},
     kAlias,
     "the dim and the pieces are static; other dynamic dims have an upper bound"},
    {"aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", infer_unbind, lower_unbind,
     "aten::unbind_copy.int_out", kAlias, "at most one size of the results is dynamic"},
    {"aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]", infer_unbind, lower_unbind,
     "aten::unbind_copy.int_out", kNone, "at most one size of the results is dynamic"},
};

}  // namespace

std::span<const OpDef> data_ops() { return kRows; }

}  // namespace edgelift::ops
