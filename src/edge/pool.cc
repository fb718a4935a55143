// Pools in one and three dims, adaptive pools, and max_pool2d where the kernel with indices must serve. The default
// mode keeps max_pool2d, avg_pool2d and _adaptive_avg_pool2d whole.
#include <algorithm>

#include "edge/table.h"

namespace edgelift::edge {
namespace {

std::vector<int64_t> spread(Builder& b, std::string_view name, size_t count) {
  return ops::repeat_to(b.call.integers(name), count);
}

struct Window {
  std::vector<int64_t> kernel, stride, padding, dilation;
};

Window window_of(Builder& b, size_t n) {
  Window w;
  w.kernel = spread(b, "kernel_size", n);
  w.stride = b.call.integers("stride");
  w.stride = w.stride.empty() ? w.kernel : ops::repeat_to(w.stride, n);
  w.padding = spread(b, "padding", n);
  w.dilation = b.call.op().schema.index_of("dilation") >= 0 ? spread(b, "dilation", n) : std::vector<int64_t>(n, 1);
  return w;
}

IntList two(int64_t h, int64_t w) { return {SymInt(h), SymInt(w)}; }

// One spatial dim as two, of which the first is 1: [.., L] -> [.., 1, L].
Result<bool> pool1d(Builder& b) {
  Value* x = b.in();
  const Window w = window_of(b, 1);
  Value* open = b.unsqueeze(x, b.rank(x) - 1);
  const int64_t dim = b.rank(open) - 2;
  const bool ceil = b.call.flag("ceil_mode");
  if (b.base() == "avg_pool1d") {
    Value* out = b.make("avg_pool2d", {open, two(1, w.kernel[0]), two(1, w.stride[0]), two(0, w.padding[0]), ceil,
                                       b.call.flag("count_include_pad")});
    return b.replace(b.squeeze(out, dim));
  }
  const bool indices = b.base() == "max_pool1d_with_indices" && b.used(1);
  const char* name = indices ? "max_pool2d_with_indices" : "max_pool2d";
  const auto outs = b.make_all(
      name, {open, two(1, w.kernel[0]), two(1, w.stride[0]), two(0, w.padding[0]), two(1, w.dilation[0]), ceil});
  Value* out = b.squeeze(outs[0], dim);
  if (b.base() == "max_pool1d") return b.replace(out);
  return b.replace({out, indices ? b.squeeze(outs[1], dim) : nullptr});
}

// The indices' kernel gives the values as well.
Result<bool> max_pool2d(Builder& b) {
  const auto outs = b.make_all("max_pool2d_with_indices", {b.in(), b.arg("kernel_size"), b.arg("stride"),
                                                           b.arg("padding"), b.arg("dilation"), b.arg("ceil_mode")});
  return b.replace(outs[0]);
}

// Where nobody wants the indices, max_pool2d is what passes and the delegate know.
Result<bool> without_indices(Builder& b) {
  if (b.legal || b.used(1)) return false;
  Value* out = b.make("max_pool2d", {b.in(), b.arg("kernel_size"), b.arg("stride"), b.arg("padding"), b.arg("dilation"),
                                     b.arg("ceil_mode")});
  return b.replace({out, nullptr});
}

// x [.., D, H, W] seen as [N, C * D, H, W] resp. [N, C, D, H * W]: a maximum or an average over a box is one over H and
// W, then one over D.
Result<bool> pool3d(Builder& b) {
  Value* x = b.in();
  const bool average = b.base() == "avg_pool3d";
  const bool batched = b.rank(x) == 5;
  const Window w = window_of(b, 3);
  if (!batched) x = b.unsqueeze(x, 0);
  const bool ceil = b.call.flag("ceil_mode");
  const SymInt n = b.size(x, 0), c = b.size(x, 1), d = b.size(x, 2);
  const auto pool = [&](Value* v, int64_t kh, int64_t kw, int64_t sh, int64_t sw, int64_t ph, int64_t pw, int64_t dh,
                        int64_t dw) {
    if (!average) return b.make("max_pool2d", {v, two(kh, kw), two(sh, sw), two(ph, pw), two(dh, dw), ceil});
    Arg divisor;
    if (!ir::is_none(b.arg("divisor_override"))) divisor = SymInt(1);
    return b.make("avg_pool2d",
                  {v, two(kh, kw), two(sh, sw), two(ph, pw), ceil, b.call.flag("count_include_pad"), divisor});
  };
  Value* plane = b.view(x, {n, c * d, b.size(x, 3), b.size(x, 4)});
  plane = pool(plane, w.kernel[1], w.kernel[2], w.stride[1], w.stride[2], w.padding[1], w.padding[2], w.dilation[1],
               w.dilation[2]);
  const SymInt oh = b.size(plane, 2), ow = b.size(plane, 3);
  Value* column = b.view(plane, {n, c, d, oh * ow});
  column = pool(column, w.kernel[0], 1, w.stride[0], 1, w.padding[0], 0, w.dilation[0], 1);
  Value* out = b.view(column, {n, c, b.size(column, 2), oh, ow});
  if (average && !ir::is_none(b.arg("divisor_override")))
    out = b.div(out, static_cast<double>(b.integer("divisor_override")));
  if (!batched) out = b.squeeze(out, 0);
  if (b.node().results.size() == 1) return b.replace(out);
  return b.replace({out, nullptr});
}

// ---- adaptive pools: window i covers [floor(i * in / out), ceil((i + 1) * in / out))

struct Even {
  int64_t kernel, stride;
};
// Equal windows at equal distances, if that is what the formula gives.
std::optional<Even> even_windows(const SymInt& in, const SymInt& out) {
  if (!in.is_const() || !out.is_const() || out.value() == 0) return std::nullopt;
  const int64_t n = in.value(), m = out.value();
  if (n % m != 0) return std::nullopt;
  return Even{n / m, n / m};
}

IntList output_sizes(Builder& b, size_t n) {
  IntList out;
  for (size_t i = 0; i < n; ++i) out.push_back(b.out_type().sizes[b.out_type().sizes.size() - n + i]);
  return out;
}

bool all_ones(const IntList& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](const SymInt& s) { return s == SymInt(1); });
}

Result<bool> adaptive_avg2d(Builder& b) {
  Value* x = b.in();
  const IntList out = output_sizes(b, 2);
  if (all_ones(out)) {
    return b.replace(b.upstream ? b.mean(x, {-1, -2}, true) : b.mean(x, {b.rank(x) - 2, b.rank(x) - 1}, true));
  }
  const auto h = even_windows(b.size(x, -2), out[0]), w = even_windows(b.size(x, -1), out[1]);
  if (h && w) return b.replace(b.make("avg_pool2d", {x, two(h->kernel, w->kernel), two(h->stride, w->stride)}));
  if (b.base() == "_adaptive_avg_pool2d") return false;
  return b.replace(b.make("_adaptive_avg_pool2d", {x, out}));
}

Result<bool> adaptive_avg1d(Builder& b) {
  Value* x = b.in();
  Value* open = b.unsqueeze(x, b.rank(x) - 1);
  Value* out = b.make("adaptive_avg_pool2d", {open, IntList{SymInt(1), output_sizes(b, 1)[0]}});
  return b.replace(b.squeeze(out, b.rank(open) - 2));
}

Result<bool> adaptive_avg3d(Builder& b) {
  Value* x = b.in();
  const bool batched = b.rank(x) == 5;
  const IntList sizes = output_sizes(b, 3);
  if (all_ones(sizes)) return b.replace(b.mean(x, iota(3, b.rank(x) - 3), true));
  if (!batched) x = b.unsqueeze(x, 0);
  const SymInt n = b.size(x, 0), c = b.size(x, 1), d = b.size(x, 2);
  Value* plane = b.view(x, {n, c * d, b.size(x, 3), b.size(x, 4)});
  plane = b.make("adaptive_avg_pool2d", {plane, IntList{sizes[1], sizes[2]}});
  Value* column = b.view(plane, {n, c, d, sizes[1] * sizes[2]});
  column = b.make("adaptive_avg_pool2d", {column, IntList{sizes[0], sizes[1] * sizes[2]}});
  Value* out = b.view(column, {n, c, sizes[0], sizes[1], sizes[2]});
  return b.replace(batched ? out : b.squeeze(out, 0));
}

// The maxima of every window of one dim, by slices where the windows are uneven.
Value* adaptive_max_dim(Builder& b, Value* x, int64_t dim, int64_t out) {
  const int64_t in = b.size(x, dim).value();
  std::vector<Value*> parts;
  for (int64_t i = 0; i < out; ++i) {
    const int64_t first = i * in / out, last = ((i + 1) * in + out - 1) / out;
    parts.push_back(b.amax(b.slice(x, dim, SymInt(first), SymInt(last)), {dim}, true));
  }
  return b.cat(parts, dim);
}

Result<bool> adaptive_max(Builder& b) {
  Value* x = b.in();
  const size_t n = b.base() == "adaptive_max_pool1d" ? 1 : b.base() == "adaptive_max_pool2d" ? 2 : 3;
  const IntList sizes = output_sizes(b, n);
  const int64_t first = b.rank(x) - static_cast<int64_t>(n);
  std::vector<std::optional<Even>> windows;
  for (size_t i = 0; i < n; ++i) windows.push_back(even_windows(b.size(x, first + static_cast<int64_t>(i)), sizes[i]));
  const bool even = std::all_of(windows.begin(), windows.end(), [](const auto& w) { return w.has_value(); });
  if (even && n <= 2) {
    Value* open = n == 1 ? b.unsqueeze(x, b.rank(x) - 1) : x;
    const Even h = n == 1 ? Even{1, 1} : *windows[0], w = *windows[n - 1];
    const auto outs = b.make_all("max_pool2d_with_indices", {open, two(h.kernel, w.kernel), two(h.stride, w.stride)});
    const auto close = [&](Value* v) { return n == 1 ? b.squeeze(v, b.rank(v) - 2) : v; };
    return b.replace({close(outs[0]), b.used(1) ? close(outs[1]) : nullptr});
  }
  for (size_t i = 0; i < n; ++i) {
    const int64_t dim = first + static_cast<int64_t>(i);
    if (!b.size(x, dim).is_const() || !sizes[i].is_const())
      return b.refuse("has windows of dynamic size, for which the runtime has no kernel; export it with fixed sizes");
  }
  for (size_t i = 0; i < n; ++i) x = adaptive_max_dim(b, x, first + static_cast<int64_t>(i), sizes[i].value());
  return b.replace({x, nullptr});
}

constexpr Entry kEntries[] = {
    {"max_pool1d", pool1d},
    {"max_pool1d_with_indices", pool1d},
    {"avg_pool1d", pool1d},
    {"max_pool2d", max_pool2d, kUpstream | kLegal},
    {"max_pool2d_with_indices", without_indices, kEdge},
    {"max_pool3d", pool3d},
    {"max_pool3d_with_indices", pool3d},
    {"avg_pool3d", pool3d},
    {"adaptive_avg_pool1d", adaptive_avg1d},
    {"adaptive_avg_pool2d", adaptive_avg2d},
    {"_adaptive_avg_pool2d", adaptive_avg2d, kEdge},
    {"adaptive_avg_pool3d", adaptive_avg3d},
    {"_adaptive_avg_pool3d", adaptive_avg3d},
    {"adaptive_max_pool1d", adaptive_max},
    {"adaptive_max_pool2d", adaptive_max},
    {"adaptive_max_pool3d", adaptive_max},
};

}  // namespace

std::span<const Entry> pool_entries() { return kEntries; }

}  // namespace edgelift::edge
