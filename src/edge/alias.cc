// After functionalisation: what remains of copies and views. In the default mode a view has one spelling: dims not
// negative, sizes written out, slices clamped, nothing that changes nothing; unbind and split become select and slice.
#include <algorithm>

#include "edge/table.h"
#include "ops/infer.h"

namespace edgelift::edge {
namespace {

bool same_type(const Value* a, const Value* b) {
  return a->type.dtype == b->type.dtype && a->type.sizes.size() == b->type.sizes.size() &&
         std::equal(a->type.sizes.begin(), a->type.sizes.end(), b->type.sizes.begin(), known_equal);
}

Result<bool> alias(Builder& b) {
  if (b.upstream) return false;
  return b.replace(b.in());
}

// clone, lift_fresh_copy, _to_copy of the same dtype: only a change to row-major order is a change. Other orders are
// chosen by passes, not by the program, so a wish for channels-last is met by keeping the order.
Result<bool> clone(Builder& b) {
  Value* x = b.in();
  if (b.upstream) {
    if (b.base() != "lift_fresh_copy") return false;
    return b.replace(b.make("clone", {x}));
  }
  const Arg format = b.call.op().schema.index_of("memory_format") >= 0 ? b.arg("memory_format") : Arg();
  const auto* f = std::get_if<ir::MemoryFormat>(&format);
  const bool to_row_major = f != nullptr && *f == ir::MemoryFormat::Contiguous && !x->type.dim_order.empty();
  const bool casts = b.base() == "_to_copy" && b.dtype(x) != b.out_type().dtype;
  if (to_row_major) return false;
  if (!casts) return b.replace(x);
  if (f == nullptr || *f == ir::MemoryFormat::Preserve) return false;
  return b.replace(b.cast(x, b.out_type().dtype));
}

bool same_list(const IntList& a, const IntList& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

// view and expand: all sizes are written out.
Result<bool> sized(Builder& b) {
  if (b.upstream) return false;
  Value* x = b.in();
  const IntList sizes(b.out_type().sizes);
  if (same_type(x, b.node().results[0])) return b.replace(x);
  if (!same_list(sizes, b.call.ints("size"))) b.rewriter().set_arg(&b.node(), "size", sizes);
  return false;
}

Result<bool> permute(Builder& b) {
  if (b.upstream) return false;
  Value* x = b.in();
  const auto dims = b.dims("dims", b.rank(x), false);
  if (dims == iota(b.rank(x))) return b.replace(x);
  if (dims != b.call.integers("dims")) b.rewriter().set_arg(&b.node(), "dims", int_list(dims));
  return false;
}

Result<bool> slice(Builder& b) {
  if (b.upstream) return false;
  Value* x = b.in();
  const int64_t dim = b.dim("dim", b.rank(x));
  const int64_t step = b.integer("step");
  const SymInt size = b.size(x, dim);
  const auto range = ops::slice_range(size, ops::opt_sym(b.call, "start"), ops::opt_sym(b.call, "end"), step);
  if (step == 1 && known_equal(range.length, size)) return b.replace(x);
  SymInt end = range.start + range.length;
  if (step != 1) end = SymInt::min(size, range.start + range.length * SymInt(step));
  auto& rewriter = b.rewriter();
  if (dim != b.integer("dim")) rewriter.set_arg(&b.node(), "dim", SymInt(dim));
  if (ops::opt_sym(b.call, "start") != std::optional(range.start)) rewriter.set_arg(&b.node(), "start", range.start);
  if (ops::opt_sym(b.call, "end") != std::optional(end)) rewriter.set_arg(&b.node(), "end", end);
  return false;
}

Result<bool> select(Builder& b) {
  if (b.upstream) return false;
  Value* x = b.in();
  const int64_t dim = b.dim("dim", b.rank(x));
  SymInt index = b.call.sym_int("index");
  if (index.is_const() && index.value() < 0) index = index + b.size(x, dim);
  if (dim != b.integer("dim")) b.rewriter().set_arg(&b.node(), "dim", SymInt(dim));
  if (index != b.call.sym_int("index")) b.rewriter().set_arg(&b.node(), "index", index);
  return false;
}

Result<bool> squeeze(Builder& b) {
  if (b.upstream) return false;
  Value* x = b.in();
  std::vector<int64_t> dims;
  for (const int64_t dim : b.dims("dim", b.rank(x), false))
    if (b.size(x, dim) == SymInt(1)) dims.push_back(dim);
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  if (dims.empty()) return b.replace(x);
  if (dims != b.call.integers("dim")) b.rewriter().set_arg(&b.node(), "dim", int_list(dims));
  return false;
}

Result<bool> unsqueeze(Builder& b) {
  if (b.upstream) return false;
  const int64_t dim = b.dim("dim", b.rank(b.in()) + 1);
  if (dim != b.integer("dim")) b.rewriter().set_arg(&b.node(), "dim", SymInt(dim));
  return false;
}

Result<bool> unbind(Builder& b) {
  Value* x = b.in();
  const int64_t dim = b.dim("dim", b.rank(x));
  std::vector<Value*> parts;
  const auto count = static_cast<int64_t>(b.node().results.size());
  if (b.upstream) {
    // All slices, then all squeezes.
    for (int64_t i = 0; i < count; ++i)
      parts.push_back(b.make("slice.Tensor", {x, SymInt(dim), SymInt(i), SymInt(i + 1), SymInt(1)}));
    for (Value*& part : parts) part = b.squeeze(part, dim);
  } else {
    for (int64_t i = 0; i < count; ++i)
      parts.push_back(b.used(static_cast<size_t>(i)) ? b.select(x, dim, SymInt(i)) : nullptr);
  }
  return b.replace(parts);
}

Result<bool> split(Builder& b) {
  if (b.upstream) return false;
  Value* x = b.in();
  const int64_t dim = b.dim("dim", b.rank(x));
  std::vector<Value*> parts;
  SymInt start = 0;
  const IntList sizes = b.call.ints("split_sizes");
  for (size_t i = 0; i < b.node().results.size(); ++i) {
    const SymInt end = start + sizes[i];
    parts.push_back(b.used(i) ? b.slice(x, dim, start, end) : nullptr);
    start = end;
  }
  return b.replace(parts);
}

Result<bool> cat(Builder& b) {
  if (b.upstream && !b.legal) return false;
  // Legacy of eager: a rank-1 tensor of no elements joins anything.
  const ValueList& given = b.call.tensors("tensors");
  const int64_t r = b.out_type().rank();
  ValueList kept;
  for (Value* part : given) {
    const auto numel = part->type.numel();
    if (numel && *numel == 0) continue;
    kept.push_back(part);
  }
  if (kept.empty()) return b.replace(b.full(b.out_type().sizes, SymInt(0), b.out_type().dtype));
  if (kept.size() == 1) return b.replace(b.cast(kept.front(), b.out_type().dtype));
  const int64_t dim = b.dim("dim", r);
  // The kernel copies bytes: pieces of other dtypes are converted first.
  bool mixed = false;
  for (Value* part : kept) mixed = mixed || part->type.dtype != b.out_type().dtype;
  if (mixed) {
    std::vector<Value*> parts;
    for (Value* part : kept) parts.push_back(b.cast(part, b.out_type().dtype));
    return b.replace(b.cat(std::move(parts), dim));
  }
  if (dim != b.integer("dim")) b.rewriter().set_arg(&b.node(), "dim", SymInt(dim));
  if (kept.size() != given.size()) b.rewriter().set_arg(&b.node(), "tensors", kept);
  return false;
}

// stack has a kernel, but passes know cat.
Result<bool> stack(Builder& b) {
  const int64_t dim = b.dim("dim", b.out_type().rank());
  const ValueList parts = b.call.tensors("tensors");
  return b.replace(b.stack(parts, dim));
}

constexpr Entry kEntries[] = {
    {"alias", alias, kEdge},
    {"clone", clone, kEdge | kUpstream},
    {"lift_fresh_copy", clone, kAll},
    {"_to_copy", clone, kEdge | kUpstream},
    {"view", sized, kEdge},
    {"permute", permute, kEdge},
    {"slice.Tensor", slice, kEdge},
    {"select.int", select, kEdge},
    {"squeeze.dims", squeeze, kEdge},
    {"unsqueeze", unsqueeze, kEdge},
    {"expand", sized, kEdge},
    {"unbind.int", unbind, kAll},
    {"split_with_sizes", split, kEdge},
    {"cat", cat, kEdge | kLegal},
    {"stack", stack, kAll},
};

}  // namespace

std::span<const Entry> alias_entries() { return kEntries; }

}  // namespace edgelift::edge
