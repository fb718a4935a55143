// Padding, repetition, rotation and other rearrangements, and writing a tensor into a part of another.
#include <algorithm>

#include "ops/families.h"
#include "ops/infer.h"
#include "ops/kernel_limits.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using ir::Shape;
using xnn::Kind;

Types like_self(const Call& call, Shape sizes) { return one(call.type("self").dtype, std::move(sizes)); }

// ---- padding: pairs (before, after) from the last dim on ----

Types infer_pad(const Call& call) {
  const ir::IntList& pad = call.ints(call.op().schema.index_of("pad") >= 0 ? "pad" : "padding");
  const ir::Type& self = call.type("self");
  if (pad.size() % 2 != 0 || pad.size() / 2 > self.sizes.size())
    return input_error(std::to_string(pad.size()) + " paddings are given for a tensor of rank " +
                       std::to_string(self.rank()));
  Shape sizes = self.sizes;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    SymInt& size = sizes[sizes.size() - 1 - i];
    size = size + pad[2 * i] + pad[2 * i + 1];
    if (size.is_const() && size.value() < 0)
      return input_error("the padding takes more elements from a dim than it has");
  }
  ir::Type type = ir::Type::tensor(self.dtype, std::move(sizes));
  type.dim_order = self.dim_order;
  return one(std::move(type));
}

template <size_t kDims>
Types infer_pad_nd(const Call& call) {
  const size_t rank = call.type("self").sizes.size();
  if (rank != kDims + 1 && rank != kDims + 2)
    return input_error("the operand has rank " + std::to_string(rank) + ", not " + std::to_string(kDims + 1) + " or " +
                       std::to_string(kDims + 2));
  if (call.ints("padding").size() != 2 * kDims) return input_error("the padding has not two numbers for each dim");
  return infer_pad(call);
}

struct Padding {
  std::vector<int64_t> pre, post;  // by dim
};
std::optional<Padding> numbers_of(const Call& call, std::string_view name) {
  if (call.is_symbolic(name)) return std::nullopt;
  const std::vector<int64_t> list = call.integers(name);
  const size_t rank = call.type("self").sizes.size();
  Padding out{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
  for (size_t i = 0; i < list.size() / 2; ++i) {
    out.pre[rank - 1 - i] = list[2 * i];
    out.post[rank - 1 - i] = list[2 * i + 1];
  }
  return out;
}

// Negative paddings cut: one slice a dim, before the pad node.
LowerResult lower_pad(const Call& call, XnnBuilder& b) {
  auto padding = numbers_of(call, "pad");
  if (!padding) return refuse(Code::Dynamic, "the padding is known only when the program runs");
  const auto value = call.has("value") ? known_number(call, "value") : std::optional(0.0);
  if (!value) return refuse(Code::Dynamic, "the padding's value is known only when the program runs");
  const ir::Value* self = call.tensor("self");
  uint32_t in = b.value(self);
  bool pads = false;
  for (size_t i = 0; i < padding->pre.size(); ++i) {
    int64_t& pre = padding->pre[i];
    int64_t& post = padding->post[i];
    if (pre < 0 || post < 0) {
      const SymInt& size = self->type.sizes[i];
      if (!size.is_const())
        return refuse(Code::Dynamic, "a negative padding cuts a dynamic dim, and a slice node has fixed offsets");
      const int64_t start = std::max<int64_t>(-pre, 0);
      const int64_t length = size.value() - start - std::max<int64_t>(-post, 0);
      if (length <= 0) return refuse(Code::Empty, "a negative padding leaves nothing of a dim");
      uint32_t cut = xnn::kInvalid;
      if (auto refused = slice_dim(b, in, static_cast<int64_t>(i), start, length, &cut)) return refused;
      in = cut;
      pre = std::max<int64_t>(pre, 0);
      post = std::max<int64_t>(post, 0);
    }
    pads = pads || pre != 0 || post != 0;
  }
  if (pads) {
    b.pad(in, std::move(padding->pre), std::move(padding->post), static_cast<float>(*value), b.define(call.result()));
  } else {
    b.alias(call.result(), in);
  }
  return std::nullopt;
}

LowerResult lower_pad_mode(const Call& call, XnnBuilder& b) {
  if (call.text("mode") != "constant") return refuse(Code::NoForm, "the delegate pads with a constant only");
  return lower_pad(call, b);
}

// The ends of the dim itself, by slices and one concatenation a dim.
LowerResult lower_pad_circular(const Call& call, XnnBuilder& b) {
  const auto padding = numbers_of(call, "pad");
  if (!padding) return refuse(Code::Dynamic, "the padding is known only when the program runs");
  uint32_t in = b.value(call.tensor("self"));
  bool changed = false;
  for (size_t i = 0; i < padding->pre.size(); ++i) {
    const int64_t pre = padding->pre[i];
    const int64_t post = padding->post[i];
    if (pre == 0 && post == 0) continue;
    const SymInt size = b.dims(in)[i];
    if (!size.is_const()) return refuse(Code::Dynamic, "a padded dim is dynamic, and a slice node has fixed offsets");
    if (pre < 0 || post < 0) return refuse(Code::Attribute, "a padding is negative");
    std::vector<uint32_t> pieces;
    const auto piece = [&](int64_t start, int64_t length) -> LowerResult {
      uint32_t cut = xnn::kInvalid;
      if (auto refused = slice_dim(b, in, static_cast<int64_t>(i), start, length, &cut)) return refused;
      pieces.push_back(cut);
      return std::nullopt;
    };
    if (pre > 0)
      if (auto refused = piece(size.value() - pre, pre)) return refused;
    pieces.push_back(in);
    if (post > 0)
      if (auto refused = piece(0, post)) return refused;
    in = b.concat(std::move(pieces), static_cast<int32_t>(i));
    changed = true;
  }
  b.alias(call.result(), changed ? in : b.copy(in));
  return std::nullopt;
}

// ---- repetition ----

Types infer_repeat(const Call& call) {
  const Shape& from = call.type("self").sizes;
  const bool tile = call.op().base == "tile";
  ir::IntList repeats = call.ints(tile ? "dims" : "repeats");
  if (tile && repeats.size() < from.size()) repeats.insert(repeats.begin(), from.size() - repeats.size(), SymInt(1));
  if (repeats.size() < from.size()) return input_error("fewer repeats than dims are given");
  Shape sizes;
  const size_t lead = repeats.size() - from.size();
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i].is_const() && repeats[i].value() < 0) return input_error("a repeat is negative");
    sizes.push_back(i < lead ? repeats[i] : from[i - lead] * repeats[i]);
  }
  return like_self(call, std::move(sizes));
}

// Each repeated dim: up to five copies by one concatenation, more by a multiplication with ones along a new axis.
LowerResult lower_repeat(const Call& call, XnnBuilder& b) {
  const bool tile = call.op().base == "tile";
  const std::string_view name = tile ? "dims" : "repeats";
  if (call.is_symbolic(name)) return refuse(Code::Dynamic, "the number of repeats is known only when the program runs");
  const ir::Type& self = call.type("self");
  std::vector<int64_t> repeats = call.integers(name);
  if (repeats.size() < self.sizes.size()) repeats.insert(repeats.begin(), self.sizes.size() - repeats.size(), 1);
  Shape sizes = self.sizes;
  sizes.insert(sizes.begin(), repeats.size() - self.sizes.size(), SymInt(1));
  uint32_t in = b.value(call.tensor("self"));
  if (sizes.size() != self.sizes.size()) {
    if (!reshapable(sizes)) return refuse(Code::Dynamic, "more than one size is dynamic: " + self.str());
    in = b.reshape(in, sizes);
  }
  bool changed = sizes.size() != self.sizes.size();
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i] == 1) continue;
    if (repeats[i] <= 0) return refuse(Code::Empty, "the result has no elements");
    changed = true;
    if (repeats[i] <= 5) {
      in = b.concat(std::vector<uint32_t>(static_cast<size_t>(repeats[i]), in), static_cast<int32_t>(i));
      sizes[i] = sizes[i] * SymInt(repeats[i]);
      continue;
    }
    const SymInt before = product_of(sizes, 0, i);
    const SymInt after = product_of(sizes, i, sizes.size());
    sizes[i] = sizes[i] * SymInt(repeats[i]);
    if ((!before.is_const() && !after.is_const()) || !reshapable(sizes))
      return refuse(Code::Dynamic, "more than one size is dynamic: " + self.str());
    in = b.reshape(repeat_middle(b, in, self.dtype, before, repeats[i], after), sizes);
  }
  b.alias(call.result(), changed ? in : b.copy(in));
  return std::nullopt;
}

// A size that only the data decides; each such result has a symbol of its own kind.
SymInt data_size(int64_t most) { return SymInt::symbol(std::make_shared<const Symbol>(Symbol{"u_data", 0, most})); }

Types infer_repeat_interleave_tensor(const Call& call) {
  const ir::Type& repeats = call.type("repeats");
  return one(repeats.dtype, {call.has("output_size") ? call.sym_int("output_size") : data_size(kUnbounded)});
}

Types infer_repeat_interleave(const Call& call) {
  const Shape& from = call.type("self").sizes;
  Shape sizes = from;
  int64_t dim = 0;
  if (call.has("dim")) {
    EL_TRY(dim, checked_dim(call.integer("dim"), static_cast<int64_t>(from.size())));
    if (from.empty()) sizes = {SymInt(1)};
  } else {
    sizes = {product(from)};
  }
  SymInt& size = sizes[static_cast<size_t>(dim)];
  if (call.op().overload == "self_int") {
    size = size * call.sym_int("repeats");
  } else {
    size = call.has("output_size") ? call.sym_int("output_size") : data_size(kUnbounded);
  }
  return like_self(call, std::move(sizes));
}

LowerResult lower_repeat_interleave(const Call& call, XnnBuilder& b) {
  if (call.is_symbolic("repeats"))
    return refuse(Code::Dynamic, "the number of repeats is known only when the program runs");
  const ir::Type& self = call.type("self");
  const int64_t count = call.integer("repeats");
  if (count < 1) return refuse(Code::Empty, "the result has no elements");
  const size_t dim =
      call.has("dim") ? static_cast<size_t>(*normalize_dim(call.integer("dim"), self.rank())) : self.sizes.size();
  // Each element is followed by its copies: the new axis stands behind the dim.
  const size_t cut = call.has("dim") ? dim + 1 : self.sizes.size();
  const SymInt before = product_of(self.sizes, 0, std::min(cut, self.sizes.size()));
  const SymInt after = product_of(self.sizes, std::min(cut, self.sizes.size()), self.sizes.size());
  if ((!before.is_const() && !after.is_const()) || !reshapable(call.result()->type.sizes))
    return refuse(Code::Dynamic, "more than one size is dynamic: " + self.str());
  const uint32_t in = b.value(call.tensor("self"));
  b.reshape(repeat_middle(b, in, self.dtype, before, count, after), call.result()->type.sizes, b.define(call.result()));
  return std::nullopt;
}

// ---- rotation ----

Types infer_roll(const Call& call) {
  const size_t shifts = call.ints("shifts").size();
  const std::vector<int64_t> dims = call.integers("dims");
  if (dims.empty() ? shifts != 1 : shifts != dims.size())
    return input_error(std::to_string(shifts) + " shifts are given for " + std::to_string(dims.size()) + " dims");
  for (const int64_t dim : dims) EL_TRY_OK(checked_dim(dim, call.type("self").rank()));
  return infer_same(call);
}

LowerResult lower_roll(const Call& call, XnnBuilder& b) {
  if (call.is_symbolic("shifts")) return refuse(Code::Dynamic, "the shift is known only when the program runs");
  const ir::Type& self = call.type("self");
  const std::vector<int64_t> shifts = call.integers("shifts");
  std::vector<int64_t> dims = call.integers("dims");
  uint32_t in = b.value(call.tensor("self"));
  const bool flat = dims.empty() && self.rank() != 1;  // rolls the elements in row-major order
  if (flat) {
    if (!self.is_static()) return refuse(Code::Dynamic, "the operand is dynamic, and a slice node has fixed offsets");
    in = b.reshape(in, {self.sym_numel()});
  }
  if (dims.empty()) dims = {0};
  bool changed = flat;
  for (size_t i = 0; i < dims.size() && i < shifts.size(); ++i) {
    const int64_t dim = flat ? 0 : *normalize_dim(dims[i], self.rank());
    const SymInt size = b.dims(in)[static_cast<size_t>(dim)];
    if (!size.is_const()) return refuse(Code::Dynamic, "a rolled dim is dynamic, and a slice node has fixed offsets");
    const int64_t shift = ((shifts[i] % size.value()) + size.value()) % size.value();
    if (shift == 0) continue;
    uint32_t tail = xnn::kInvalid;
    uint32_t head = xnn::kInvalid;
    if (auto refused = slice_dim(b, in, dim, size.value() - shift, shift, &tail)) return refused;
    if (auto refused = slice_dim(b, in, dim, 0, size.value() - shift, &head)) return refused;
    in = b.concat({tail, head}, static_cast<int32_t>(dim));
    changed = true;
  }
  if (flat) in = b.reshape(in, self.sizes);
  b.alias(call.result(), changed ? in : b.copy(in));
  return std::nullopt;
}

Types infer_rot90(const Call& call) {
  Shape sizes = call.type("self").sizes;
  const std::vector<int64_t> dims = call.integers("dims");
  if (dims.size() != 2) return input_error("a rotation takes two dims");
  EL_TRY(const int64_t a, checked_dim(dims[0], static_cast<int64_t>(sizes.size())));
  EL_TRY(const int64_t c, checked_dim(dims[1], static_cast<int64_t>(sizes.size())));
  if (call.integer("k") % 2 != 0) std::swap(sizes[static_cast<size_t>(a)], sizes[static_cast<size_t>(c)]);
  return like_self(call, std::move(sizes));
}

// ---- windows, strides, diagonals ----

Types infer_unfold(const Call& call) {
  Shape sizes = call.type("self").sizes;
  const int64_t size = call.integer("size");
  const int64_t step = call.integer("step");
  if (step <= 0 || size < 0) return input_error("the step of the windows is not positive");
  if (sizes.empty()) return like_self(call, {SymInt(size)});
  EL_TRY(const int64_t dim, checked_dim(call.integer("dimension"), static_cast<int64_t>(sizes.size())));
  SymInt& at = sizes[static_cast<size_t>(dim)];
  if (at.is_const() && at.value() < size)
    return input_error("a window of " + std::to_string(size) + " does not fit a dim of " + at.str());
  at = SymInt::floordiv(at - SymInt(size), SymInt(step)) + SymInt(1);
  sizes.emplace_back(size);
  return like_self(call, std::move(sizes));
}

// Windows that touch but do not overlap are a reshape; the window goes to the last place.
LowerResult lower_unfold(const Call& call, XnnBuilder& b) {
  const ir::Type& self = call.type("self");
  if (self.rank() == 0) return refuse(Code::Rank, "the operand has rank 0");
  const auto dim = static_cast<size_t>(*normalize_dim(call.integer("dimension"), self.rank()));
  const int64_t size = call.integer("size");
  if (size != call.integer("step")) return refuse(Code::Attribute, "the windows overlap or leave gaps");
  if (self.rank() + 1 > static_cast<int64_t>(xnn::kMaxRank))
    return refuse(Code::Rank, "the result has more than 6 dims");
  if (!self.sizes[dim].is_const()) return refuse(Code::Dynamic, "the dim is dynamic");
  const int64_t count = call.result()->type.sizes[dim].value();
  Shape rows = self.sizes;
  rows[dim] = SymInt(count);
  rows.insert(rows.begin() + static_cast<int64_t>(dim) + 1, SymInt(size));
  if (!reshapable(rows)) return refuse(Code::Dynamic, "more than one size is dynamic: " + self.str());
  uint32_t in = b.value(call.tensor("self"));
  if (self.sizes[dim].value() != count * size) {
    uint32_t cut = xnn::kInvalid;
    if (auto refused = slice_dim(b, in, static_cast<int64_t>(dim), 0, count * size, &cut)) return refused;
    in = cut;
  }
  if (dim + 1 == self.sizes.size()) {
    b.reshape(in, rows, b.define(call.result()));
    return std::nullopt;
  }
  std::vector<int64_t> perm;
  for (size_t i = 0; i < rows.size(); ++i)
    if (i != dim + 1) perm.push_back(static_cast<int64_t>(i));
  perm.push_back(static_cast<int64_t>(dim) + 1);
  b.transpose(b.reshape(in, rows), std::move(perm), b.define(call.result()));
  return std::nullopt;
}

Types infer_as_strided(const Call& call) {
  const ir::IntList& size = call.ints("size");
  if (size.size() != call.ints("stride").size()) return input_error("size and stride have different lengths");
  return like_self(call, Shape(size.begin(), size.end()));
}

Types infer_diagonal(const Call& call) {
  const std::string_view name = call.op().schema.index_of("A") >= 0 ? "A" : "self";
  const ir::Type& self = call.type(name);
  EL_TRY(const int64_t a, checked_dim(call.integer("dim1"), self.rank()));
  EL_TRY(const int64_t c, checked_dim(call.integer("dim2"), self.rank()));
  if (a == c || self.rank() < 2) return input_error("a diagonal needs two different dims");
  const int64_t offset = call.integer("offset");
  SymInt rows = self.sizes[static_cast<size_t>(a)];
  SymInt columns = self.sizes[static_cast<size_t>(c)];
  (offset >= 0 ? columns : rows) = (offset >= 0 ? columns : rows) - SymInt(offset >= 0 ? offset : -offset);
  SymInt length = known_le(rows, columns) ? rows : known_le(columns, rows) ? columns : SymInt::min(rows, columns);
  if (!known_le(SymInt(0), length)) length = SymInt::max(length, SymInt(0));
  Shape sizes;
  for (int64_t i = 0; i < self.rank(); ++i)
    if (i != a && i != c) sizes.push_back(self.sizes[static_cast<size_t>(i)]);
  sizes.push_back(length);
  return one(self.dtype, std::move(sizes));
}

Types infer_diag_embed(const Call& call) {
  Shape sizes = call.type("self").sizes;
  if (call.op().base == "diagflat") {
    const int64_t offset = call.integer("offset");
    const SymInt side = call.type("self").sym_numel() + SymInt(offset >= 0 ? offset : -offset);
    return like_self(call, {side, side});
  }
  const bool diag = call.op().base == "diag";
  const int64_t offset = call.integer(diag ? "diagonal" : "offset");
  if (diag && sizes.size() == 2) {
    SymInt rows = sizes[0];
    SymInt columns = sizes[1];
    (offset >= 0 ? columns : rows) = (offset >= 0 ? columns : rows) - SymInt(offset >= 0 ? offset : -offset);
    return like_self(call, {SymInt::max(SymInt(0), SymInt::min(rows, columns))});
  }
  if (sizes.empty() || (diag && sizes.size() != 1))
    return input_error("the operand has rank " + std::to_string(sizes.size()));
  const SymInt side = sizes.back() + SymInt(offset >= 0 ? offset : -offset);
  sizes.pop_back();
  const auto rank = static_cast<int64_t>(sizes.size()) + 2;
  EL_TRY(int64_t a, checked_dim(diag ? -2 : call.integer("dim1"), rank));
  EL_TRY(int64_t c, checked_dim(diag ? -1 : call.integer("dim2"), rank));
  if (a == c) return input_error("the two dims of the diagonal are equal");
  if (a > c) std::swap(a, c);
  sizes.insert(sizes.begin() + a, side);
  sizes.insert(sizes.begin() + c, side);
  return like_self(call, std::move(sizes));
}

Types infer_matrix(const Call& call) {
  if (call.type("self").rank() < 2) return input_error("the operand is not a matrix: " + call.type("self").str());
  return one(ir::Type::tensor(call.type("self").dtype, call.type("self").sizes));
}

constexpr OpDef kRows[] = {
    {"aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", infer_pad, lower_pad,
     "aten::constant_pad_nd.out", kNone, "the padding is numbers; a negative one cuts a static dim", kernel_pads_only},
    {"aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor",
     infer_pad,
     lower_pad_mode,
     {},
     kNone,
     "the mode is constant"},
    {"aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor",
     infer_pad,
     lower_pad_circular,
     {},
     kNone,
     "the padded dims are static"},
    {"aten::_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor", infer_pad},
    {"aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor", infer_pad_nd<1>, nullptr,
     "aten::reflection_pad1d.out", kNone, "the delegate pads with a constant only"},
    {"aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor", infer_pad_nd<2>, nullptr,
     "aten::reflection_pad2d.out", kNone, "the delegate pads with a constant only"},
    {"aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor", infer_pad_nd<3>, nullptr,
     "aten::reflection_pad3d.out", kNone, "the delegate pads with a constant only"},
    {"aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor", infer_pad_nd<1>, nullptr,
     "aten::replication_pad1d.out", kNone, "the delegate pads with a constant only"},
    {"aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor", infer_pad_nd<2>, nullptr,
     "aten::replication_pad2d.out", kNone, "the delegate pads with a constant only"},
    {"aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor", infer_pad_nd<3>, nullptr,
     "aten::replication_pad3d.out", kNone, "the delegate pads with a constant only"},
    // Repetition and rotation.
    {"aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", infer_repeat, lower_repeat, "aten::repeat.out", kNone,
     "at most one size is dynamic"},
    {"aten::tile(Tensor self, SymInt[] dims) -> Tensor",
     infer_repeat,
     lower_repeat,
     {},
     kNone,
     "at most one size is dynamic"},
    {"aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> "
     "Tensor",
     infer_repeat_interleave,
     lower_repeat_interleave,
     {},
     kNone,
     "at most one size is dynamic"},
    {"aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) "
     "-> Tensor",
     infer_repeat_interleave},
    {"aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
     infer_repeat_interleave_tensor, nullptr, "aten::repeat_interleave.Tensor_out"},
    {"aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", infer_roll, lower_roll, "aten::roll.out",
     kNone, "the rolled dims are static", kernel_names_dims},
    {"aten::flip(Tensor self, int[] dims) -> Tensor", infer_same, nullptr, "aten::flip.out", kNone,
     "the delegate cannot reverse a dim"},
    {"aten::fliplr(Tensor self) -> Tensor", infer_same, nullptr, {}, kNone, "the delegate cannot reverse a dim"},
    {"aten::flipud(Tensor self) -> Tensor", infer_same, nullptr, {}, kNone, "the delegate cannot reverse a dim"},
    {"aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor",
     infer_rot90,
     nullptr,
     {},
     kNone,
     "the delegate cannot reverse a dim"},
    // Windows, strides, diagonals.
    {"aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", infer_unfold, lower_unfold,
     "aten::unfold_copy.out", kAlias, "the windows touch without overlapping, along a static dim"},
    {"aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor", infer_unfold, lower_unfold,
     "aten::unfold_copy.out", kNone, "the windows touch without overlapping, along a static dim"},
    {"aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
     infer_as_strided, nullptr, "aten::as_strided_copy.out", kAlias, "the delegate has no strides"},
    {"aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
     infer_as_strided, nullptr, "aten::as_strided_copy.out", kNone, "the delegate has no strides"},
    {"aten::as_strided_(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a!)",
     infer_as_strided,
     nullptr,
     {},
     kInPlace},
    {"aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", infer_diagonal, nullptr,
     "aten::diagonal_copy.out", kAlias},
    {"aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", infer_diagonal, nullptr,
     "aten::diagonal_copy.out"},
    {"aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
     infer_diagonal,
     nullptr,
     {},
     kAlias},
    {"aten::diag(Tensor self, int diagonal=0) -> Tensor", infer_diag_embed},
    {"aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", infer_diag_embed},
    {"aten::diagflat(Tensor self, int offset=0) -> Tensor", infer_diag_embed},
    {"aten::tril(Tensor self, SymInt diagonal=0) -> Tensor", infer_matrix, nullptr, "aten::tril.out"},
    {"aten::triu(Tensor self, SymInt diagonal=0) -> Tensor", infer_matrix},
    {"aten::tril_(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace},
    {"aten::triu_(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)", infer_inplace, nullptr, {}, kInPlace},
    // Writing into a part.
    {"aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) "
     "-> Tensor",
     infer_same, nullptr, "aten::slice_scatter.out"},
    {"aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", infer_same, nullptr,
     "aten::select_scatter.out"},
    {"aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor", infer_same},
    {"aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) "
     "-> Tensor",
     infer_same},
    {"aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    {"aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", infer_same},
    {"aten::renorm_(Tensor(a!) self, Scalar p, int dim, Scalar maxnorm) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
};

}  // namespace

std::span<const OpDef> arrange_ops() { return kRows; }

}  // namespace edgelift::ops
