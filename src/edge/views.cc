// Other spellings of the canonical views: view, permute, expand, slice.Tensor, select.int, squeeze.dims, unsqueeze,
// split_with_sizes, unbind.int. They are respelled before functionalisation, which knows only the canonical ones.
#include <algorithm>

#include "edge/strides.h"
#include "edge/table.h"

namespace edgelift::edge {
namespace {

Result<bool> to_permute(Builder& b) {
  Value* x = b.in();
  const int64_t r = b.rank(x);
  auto order = iota(r);
  const std::string& base = b.base();
  if (base == "t") {
    if (r == 2) std::swap(order[0], order[1]);
  } else if (base == "numpy_T") {
    std::reverse(order.begin(), order.end());
  } else if (base == "mT" || base == "mH" || base == "matrix_H" || base == "adjoint") {
    if (is_complex(b.dtype(x)) && base != "mT")
      return b.refuse("conjugates complex numbers, for which the runtime has no kernel");
    std::swap(order.at(static_cast<size_t>(r - 1)), order.at(static_cast<size_t>(r - 2)));
  } else {  // transpose.int, swapaxes, swapdims
    const char* first = base == "transpose" || base == "swapdims" ? "dim0" : "axis0";
    const char* second = base == "transpose" || base == "swapdims" ? "dim1" : "axis1";
    if (r > 0) std::swap(order[static_cast<size_t>(b.dim(first, r))], order[static_cast<size_t>(b.dim(second, r))]);
  }
  return b.replace(b.make("permute", {x, int_list(order)}));
}

Result<bool> movedim(Builder& b) {
  Value* x = b.in();
  const int64_t r = b.rank(x);
  const auto source = b.dims("source", r, false), destination = b.dims("destination", r, false);
  std::vector<int64_t> order(static_cast<size_t>(r), -1);
  for (size_t i = 0; i < source.size(); ++i) order[static_cast<size_t>(destination[i])] = source[i];
  int64_t next = 0;
  for (auto& dim : order) {
    if (dim >= 0) continue;
    while (std::find(source.begin(), source.end(), next) != source.end()) ++next;
    dim = next++;
  }
  return b.replace(b.make("permute", {x, int_list(order)}));
}

// reshape, flatten, ravel, reshape_as, unflatten: the result's type already says the shape.
Result<bool> reshape(Builder& b) {
  Value* x = b.in();
  Shape to = b.out_type().sizes;
  // Eager returns self itself when flatten has nothing to do, and reshape makes a view node.
  if (b.base() == "flatten" && x->type.sizes == to) return b.replace(x);
  return b.replace(b.reshape(x, std::move(to)));
}

Result<bool> plain_view(Builder& b) { return b.replace(b.make("view", {b.in(), IntList(b.out_type().sizes)})); }

Result<bool> expand_as(Builder& b) { return b.replace(b.make("expand", {b.in(), IntList(b.out_type().sizes)})); }

Result<bool> squeeze(Builder& b) {
  Value* x = b.in();
  const int64_t r = b.rank(x);
  std::vector<int64_t> dims;
  if (b.call.op().schema.index_of("dim") >= 0) {
    if (r == 0) return b.replace(b.make("alias", {x}));
    dims = {b.dim("dim", r)};
  } else {
    for (int64_t i = 0; i < r; ++i)
      if (b.size(x, i) == SymInt(1)) dims.push_back(i);
  }
  return b.replace(b.make("squeeze.dims", {x, int_list(dims)}));
}

Result<bool> narrow(Builder& b) {
  Value* x = b.in();
  if (b.call.op().overload == "Tensor")
    return b.refuse("takes its start from a tensor, which slices of the runtime cannot");
  const int64_t dim = b.dim("dim", b.rank(x));
  SymInt start = b.call.sym_int("start");
  if (start.is_const() && start.value() < 0) start = start + b.size(x, dim);
  return b.replace(b.make("slice.Tensor", {x, SymInt(dim), start, start + b.call.sym_int("length"), SymInt(1)}));
}

// chunk, split and their relations: the results' types already say the sizes.
Result<bool> split(Builder& b) {
  Value* x = b.in();
  const int64_t r = b.rank(x);
  const std::string& base = b.base();
  int64_t dim = 0;
  if (base == "hsplit")
    dim = r == 1 ? 0 : 1;
  else if (base == "vsplit")
    dim = 0;
  else if (base == "dsplit")
    dim = 2;
  else
    dim = b.dim("dim", r);
  IntList sizes;
  for (const Value* part : b.node().results) sizes.push_back(b.size(part, dim));
  return b.replace(b.make_all("split_with_sizes", {x, std::move(sizes), SymInt(dim)}));
}

Result<bool> identity(Builder& b) { return b.replace(std::get<Value*>(b.node().args.at(0))); }

Result<bool> conj(Builder& b) {
  if (is_complex(b.dtype(b.in()))) return b.replace(b.unary("_conj_physical", b.in()));
  return b.replace(b.in());
}

Result<bool> contiguous(Builder& b) {
  Value* x = b.in();
  const auto format = std::get<ir::MemoryFormat>(b.arg("memory_format"));
  const bool already = format == ir::MemoryFormat::Contiguous ? is_contiguous(x)
                       : format == ir::MemoryFormat::Preserve ? true
                                                              : is_channels_last(x);
  if (already) return b.replace(x);
  return b.replace(b.make("clone", {x}, {{"memory_format", format}}));
}

// to.*, type_as, float and relatives: nothing when dtype and layout are already so, else a copy.
Result<bool> to(Builder& b) {
  Value* x = std::get<Value*>(b.node().args.at(0));
  const ir::Schema& schema = b.call.op().schema;
  const DType wanted = b.out_type().dtype;
  Arg format;
  bool copy = false;
  if (schema.index_of("memory_format") >= 0) format = b.arg("memory_format");
  if (schema.index_of("copy") >= 0) copy = b.call.flag("copy");
  bool relaid = false;
  if (const auto* f = std::get_if<ir::MemoryFormat>(&format)) {
    if (*f == ir::MemoryFormat::Contiguous)
      relaid = !is_contiguous(x);
    else if (*f != ir::MemoryFormat::Preserve)
      relaid = !is_channels_last(x);
  }
  if (b.dtype(x) == wanted && !copy && !relaid) return b.replace(x);
  std::vector<Arg> args = {x};
  return b.replace(b.make("_to_copy", std::move(args), {{"dtype", wanted}, {"memory_format", format}}));
}

// The *_copy forms of a graph that was functionalised elsewhere.
Result<bool> uncopied(Builder& b) {
  const std::string base = b.base().substr(0, b.base().size() - 5);
  std::string name = base;
  if (b.call.op().overload != "default") name += "." + b.call.op().overload;
  return b.replace(b.make_all(name, b.node().args));
}

constexpr Entry kEntries[] = {
    {"transpose.int", to_permute, kView | kAll},
    {"t", to_permute, kView | kAll},
    {"numpy_T", to_permute, kView | kAll},
    {"mT", to_permute, kView | kAll},
    {"mH", to_permute, kView | kAll},
    {"matrix_H", to_permute, kView | kAll},
    {"adjoint", to_permute, kView | kAll},
    {"swapaxes", to_permute, kView | kAll},
    {"swapdims", to_permute, kView | kAll},
    {"movedim.int", movedim, kView | kAll},
    {"movedim.intlist", movedim, kView | kAll},
    {"moveaxis.int", movedim, kView | kAll},
    {"moveaxis.intlist", movedim, kView | kAll},
    {"reshape", reshape, kView | kAll},
    {"reshape_as", reshape, kView | kAll},
    {"_reshape_alias", reshape, kView | kAll},
    {"_reshape_copy", reshape, kView | kAll},
    {"flatten.using_ints", reshape, kView | kAll},
    {"ravel", reshape, kView | kAll},
    {"unflatten.int", reshape, kView | kAll},
    {"view_as", plain_view, kView | kAll},
    {"_unsafe_view", plain_view, kView | kAll},
    {"expand_as", expand_as, kView | kAll},
    {"broadcast_to", expand_as, kView | kAll},
    {"squeeze", squeeze, kView | kAll},
    {"squeeze.dim", squeeze, kView | kAll},
    {"narrow", narrow, kView | kAll},
    {"narrow.Tensor", narrow, kView | kAll},
    {"narrow_copy", narrow, kView | kAll},
    {"chunk", split, kView | kAll},
    {"unsafe_chunk", split, kView | kAll},
    {"split.Tensor", split, kView | kAll},
    {"split.sizes", split, kView | kAll},
    {"unsafe_split.Tensor", split, kView | kAll},
    {"unsafe_split_with_sizes", split, kView | kAll},
    {"tensor_split.sections", split, kView | kAll},
    {"tensor_split.indices", split, kView | kAll},
    {"hsplit.int", split, kView | kAll},
    {"hsplit.array", split, kView | kAll},
    {"vsplit.int", split, kView | kAll},
    {"vsplit.array", split, kView | kAll},
    {"dsplit.int", split, kView | kAll},
    {"dsplit.array", split, kView | kAll},
    {"detach", identity, kView | kAll},
    {"data", identity, kView | kAll},
    {"lift", identity, kView | kAll},
    {"conj", conj, kView | kAll},
    {"_conj", conj, kView | kAll},
    {"resolve_conj", identity, kView | kAll},
    {"resolve_neg", identity, kView | kAll},
    {"positive", identity, kView | kAll},
    {"contiguous", contiguous, kView | kAll},
    {"to.dtype", to, kView | kAll},
    {"to.dtype_layout", to, kView | kAll},
    {"to.device", to, kView | kAll},
    {"to.other", to, kView | kAll},
    {"to.prim_dtype", to, kView | kAll},
    {"to.prim_Device", to, kView | kAll},
    {"type_as", to, kView | kAll},
    {"_to_cpu", to, kView | kAll},
    {"_cast_Float", to, kView | kAll},
    {"_cast_Double", to, kView | kAll},
    {"_cast_Half", to, kView | kAll},
    {"_cast_Int", to, kView | kAll},
    {"_cast_Long", to, kView | kAll},
    {"_cast_Short", to, kView | kAll},
    {"_cast_Char", to, kView | kAll},
    {"_cast_Byte", to, kView | kAll},
    {"view_copy", uncopied, kView | kAll},
    {"permute_copy", uncopied, kView | kAll},
    {"expand_copy", uncopied, kView | kAll},
    {"slice_copy.Tensor", uncopied, kView | kAll},
    {"select_copy.int", uncopied, kView | kAll},
    {"squeeze_copy.dims", uncopied, kView | kAll},
    {"squeeze_copy.dim", uncopied, kView | kAll},
    {"squeeze_copy", uncopied, kView | kAll},
    {"unsqueeze_copy", uncopied, kView | kAll},
    {"split_copy.Tensor", uncopied, kView | kAll},
    {"split_with_sizes_copy", uncopied, kView | kAll},
    {"unbind_copy.int", uncopied, kView | kAll},
    {"transpose_copy.int", uncopied, kView | kAll},
    {"t_copy", uncopied, kView | kAll},
    {"alias_copy", uncopied, kView | kAll},
    {"detach_copy", uncopied, kView | kAll},
    {"diagonal_copy", uncopied, kView | kAll},
    {"unfold_copy", uncopied, kView | kAll},
    {"as_strided_copy", uncopied, kView | kAll},
};

}  // namespace

std::span<const Entry> view_entries() { return kEntries; }

}  // namespace edgelift::edge
