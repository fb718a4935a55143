// Padding by mode, and the small rearrangements that are views, permutations and slices.
#include <algorithm>

#include "edge/table.h"

namespace edgelift::edge {
namespace {

// Wraps around: the end of the dim before its start, its start after its end. Negative padding cuts.
Value* circular(Builder& b, Value* x, const std::vector<int64_t>& pads) {
  for (size_t i = 0; i * 2 < pads.size(); ++i) {
    const int64_t dim = b.rank(x) - 1 - static_cast<int64_t>(i);
    const int64_t before = pads[2 * i], after = pads[2 * i + 1];
    if (before == 0 && after == 0) continue;
    const SymInt size = b.size(x, dim);
    Value* middle = b.slice(x, dim, SymInt(std::max<int64_t>(0, -before)), size - SymInt(std::max<int64_t>(0, -after)));
    std::vector<Value*> parts;
    if (before > 0) parts.push_back(b.slice(x, dim, size - SymInt(before), size));
    parts.push_back(middle);
    if (after > 0) parts.push_back(b.slice(x, dim, SymInt(0), SymInt(after)));
    x = b.cat(parts, dim);
  }
  return x;
}

Result<bool> pad_as(Builder& b, std::string_view mode) {
  Value* x = b.in();
  const bool enumerated = b.base() == "_pad_enum";
  const IntList pads = b.call.ints("pad");
  if (mode == "constant") {
    Arg value = enumerated || b.call.op().schema.index_of("value") >= 0 ? b.arg("value") : Arg();
    if (ir::is_none(value)) value = b.upstream ? Arg(0.0) : Arg(SymInt(0));
    return b.replace(b.make("constant_pad_nd", {x, pads, value}));
  }
  if (b.call.is_symbolic("pad")) return b.refuse("pads by a dynamic amount, which the runtime's kernels do not");
  const auto numbers = b.call.integers("pad");
  if (mode == "circular") return b.replace(circular(b, x, numbers));
  const size_t n = numbers.size() / 2;
  if (n < 1 || n > 3) return b.refuse("pads more than three dims, for which the runtime has no kernel");
  const std::string name =
      std::string(mode == "reflect" ? "reflection_pad" : "replication_pad") + std::to_string(n) + "d";
  return b.replace(b.make(name, {x, pads}));
}

Result<bool> pad(Builder& b) { return pad_as(b, b.call.text("mode")); }

Result<bool> pad_enum(Builder& b) {
  static constexpr std::string_view kModes[] = {"constant", "reflect", "replicate", "circular"};
  const int64_t mode = b.integer("mode");
  if (mode < 0 || mode > 3) return b.refuse("has an unknown padding mode " + std::to_string(mode));
  return pad_as(b, kModes[mode]);
}

Result<bool> pad_circular(Builder& b) { return b.replace(circular(b, b.in(), b.call.integers("pad"))); }

// The kernel of constant_pad_nd only adds; negative padding cuts first.
Result<bool> constant_pad(Builder& b) {
  if ((b.upstream && !b.legal) || b.call.is_symbolic("pad")) return false;
  auto pads = b.call.integers("pad");
  Value* x = b.in();
  bool cut = false;
  for (size_t i = 0; i * 2 < pads.size(); ++i) {
    const int64_t dim = b.rank(x) - 1 - static_cast<int64_t>(i);
    int64_t& before = pads[2 * i];
    int64_t& after = pads[2 * i + 1];
    if (before >= 0 && after >= 0) continue;
    cut = true;
    x = b.slice(x, dim, SymInt(std::max<int64_t>(0, -before)), b.size(x, dim) - SymInt(std::max<int64_t>(0, -after)));
    before = std::max<int64_t>(before, 0);
    after = std::max<int64_t>(after, 0);
  }
  if (!cut && std::any_of(pads.begin(), pads.end(), [](int64_t p) { return p != 0; })) return false;
  return b.replace(b.pad(x, pads, b.arg("value")));
}

// [N, C, H, W] -> [N, g, C / g, H, W] -> swap -> merge
Result<bool> channel_shuffle(Builder& b) {
  Value* x = b.in();
  const int64_t dim = b.rank(x) - 3 > 0 ? b.rank(x) - 3 : 1;
  const SymInt groups = b.call.sym_int("groups");
  Value* open = b.split_dim(x, dim, {groups, SymInt::floordiv(b.size(x, dim), groups)});
  return b.replace(b.view(b.transpose(open, dim, dim + 1), x->type.sizes));
}

// Upstream's core form; the default mode keeps the kernel.
Result<bool> pixel_shuffle(Builder& b) {
  Value* x = b.in();
  const bool down = b.base() == "pixel_unshuffle";
  const SymInt r = b.call.sym_int(down ? "downscale_factor" : "upscale_factor");
  const Shape& s = x->type.sizes;
  const size_t n = s.size();
  Shape open(s.begin(), s.end() - 3);
  const auto batch = static_cast<int64_t>(open.size());
  auto order = iota(batch);
  if (down) {
    for (const SymInt& size : {s[n - 3], SymInt::floordiv(s[n - 2], r), r, SymInt::floordiv(s[n - 1], r), r})
      open.push_back(size);
    for (const int64_t d : {0, 2, 4, 1, 3}) order.push_back(batch + d);
  } else {
    for (const SymInt& size : {SymInt::floordiv(s[n - 3], r * r), r, r, s[n - 2], s[n - 1]}) open.push_back(size);
    for (const int64_t d : {0, 3, 1, 4, 2}) order.push_back(batch + d);
  }
  return b.replace(b.reshape(b.permute(b.view(x, open), order), b.out_type().sizes));
}

Result<bool> flip_named(Builder& b) { return b.replace(b.flip(b.in(), {b.base() == "fliplr" ? 1 : 0})); }

Result<bool> rot90(Builder& b) {
  Value* x = b.in();
  const auto dims = b.dims("dims", b.rank(x), false);
  switch (((b.integer("k") % 4) + 4) % 4) {
    case 1:
      return b.replace(b.transpose(b.flip(x, {dims[1]}), dims[0], dims[1]));
    case 2:
      return b.replace(b.flip(x, dims));
    case 3:
      return b.replace(b.transpose(b.flip(x, {dims[0]}), dims[0], dims[1]));
    default:
      return b.replace(x);
  }
}

// Upstream's core table takes roll apart; the default mode keeps the kernel, and passes cut it in two.
Result<bool> roll(Builder& b) {
  Value* x = b.in();
  auto dims = b.dims("dims", b.rank(x), false);
  const bool flat = dims.empty();
  if (b.call.is_symbolic("shifts")) return b.refuse("shifts by a dynamic amount, which the runtime's kernel does not");
  const auto shifts = b.call.integers("shifts");
  if (flat) {
    if (!b.upstream) {
      Value* rolled = b.make("roll", {b.view(x, {x->type.sym_numel()}), b.arg("shifts"), IntList{SymInt(0)}});
      return b.replace(b.view(rolled, x->type.sizes));
    }
    x = b.view(x, {x->type.sym_numel()});
    dims = {0};
  } else if (!b.upstream) {
    return false;
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    const SymInt size = b.size(x, dims[i]);
    if (!size.is_const() || size.value() == 0) return false;
    const int64_t start = (((size.value() - shifts[i]) % size.value()) + size.value()) % size.value();
    Value* index = b.make("fmod.Scalar", {b.add(b.arange(size), SymInt(start)), size});
    x = b.make("index_select", {x, SymInt(dims[i]), index});
  }
  return b.replace(flat ? b.view(x, b.out_type().sizes) : x);
}

constexpr Entry kEntries[] = {
    {"pad", pad},
    {"_pad_enum", pad_enum},
    {"_pad_circular", pad_circular},
    {"constant_pad_nd", constant_pad, kEdge | kLegal},
    {"channel_shuffle", channel_shuffle},
    {"native_channel_shuffle", channel_shuffle},
    {"pixel_shuffle", pixel_shuffle, kUpstream},
    {"pixel_unshuffle", pixel_shuffle, kUpstream},
    {"fliplr", flip_named},
    {"flipud", flip_named},
    {"rot90", rot90},
    {"roll", roll, kEdge | kUpstream},
};

}  // namespace

std::span<const Entry> pad_entries() { return kEntries; }

}  // namespace edgelift::edge
