// Fourier transforms of real signals and complex numbers as pairs of reals. The runtime's kernels are _fft_r2c,
// _fft_c2r and view_as_real.
#include "edge/table.h"

namespace edgelift::edge {
namespace {

// The runtime's numbers of the three normalisations.
SymInt normalization(Builder& b, bool forward) {
  const std::string_view norm = b.call.text("norm");
  if (norm == "ortho") return 1;
  const bool by_n = norm == "forward" ? forward : !forward;
  return by_n ? 2 : 0;
}

// The signal cut or padded to n along dim.
Value* fitted(Builder& b, Value* x, int64_t dim, const std::optional<int64_t>& n) {
  if (!n || b.size(x, dim) == SymInt(*n)) return x;
  const int64_t size = b.size(x, dim).value();
  if (*n < size) return b.slice(x, dim, SymInt(0), SymInt(*n));
  std::vector<int64_t> pads(static_cast<size_t>(2 * (b.rank(x) - dim)), 0);
  pads.back() = *n - size;
  return b.pad(x, pads, SymInt(0));
}

Result<bool> rfft(Builder& b) {
  Value* x = b.in();
  if (!is_float(b.dtype(x)) && !is_complex(b.dtype(x))) x = b.cast(x, DType::F32);
  const int64_t dim = b.dim("dim", b.rank(x));
  const bool onesided = b.base() == "fft_rfft";
  x = fitted(b, x, dim, b.call.opt_integer("n"));
  const bool forward = b.base() != "fft_ifft";
  if (is_complex(b.dtype(x)) || !forward) {
    if (!is_complex(b.dtype(x))) x = b.cast(x, b.out_type().dtype);
    return b.replace(b.make("_fft_c2c", {x, IntList{SymInt(dim)}, normalization(b, forward), forward}));
  }
  return b.replace(b.make("_fft_r2c", {x, IntList{SymInt(dim)}, normalization(b, true), onesided}));
}

Result<bool> irfft(Builder& b) {
  Value* x = b.in();
  const int64_t dim = b.dim("dim", b.rank(x));
  const SymInt n = b.out_type().sizes[static_cast<size_t>(dim)];
  const SymInt bins = SymInt::floordiv(n, SymInt(2)) + SymInt(1);
  if (!known_equal(b.size(x, dim), bins)) x = b.slice(x, dim, SymInt(0), bins);
  return b.replace(b.make("_fft_c2r", {x, IntList{SymInt(dim)}, normalization(b, false), n}));
}

Value* part(Builder& b, Value* x, int64_t which) {
  Value* pair = b.unary("view_as_real", x);
  return b.select(pair, b.rank(pair) - 1, SymInt(which));
}

Result<bool> abs(Builder& b) {
  Value* x = b.in();
  if (!is_complex(b.dtype(x))) return false;
  Value* pair = b.square(b.unary("view_as_real", x));
  return b.replace(b.unary("sqrt", b.sum(pair, {b.rank(pair) - 1}, false)));
}

Result<bool> real(Builder& b) {
  Value* x = b.in();
  if (!is_complex(b.dtype(x))) return b.base() == "real" ? b.replace(x) : Result<bool>(false);
  return b.replace(part(b, x, b.base() == "real" ? 0 : 1));
}

Result<bool> angle(Builder& b) {
  Value* x = b.in();
  if (is_complex(b.dtype(x))) {
    Value* im = part(b, x, 1);
    return b.replace(b.make("atan2", {im, part(b, x, 0)}));
  }
  if (!is_float(b.dtype(x))) x = b.cast(x, DType::F32);
  // 0 or pi by the sign; NaN stays.
  Value* negative = b.make("lt.Scalar", {x, SymInt(0)});
  Value* out = b.where(negative, 3.14159265358979323846, 0.0, b.dtype(x));
  return b.replace(b.where(b.unary("isnan", x), x, out));
}

// Several dims of a real signal: the kernel takes a list, and halves the last one.
Result<bool> rfftn(Builder& b) {
  Value* x = b.in();
  if (!is_float(b.dtype(x)) && !is_complex(b.dtype(x))) x = b.cast(x, DType::F32);
  const auto sizes = b.call.integers("s");
  auto dims = b.dims("dim", b.rank(x), false);
  if (dims.empty())
    dims = sizes.empty() ? iota(b.rank(x))
                         : iota(static_cast<int64_t>(sizes.size()), b.rank(x) - static_cast<int64_t>(sizes.size()));
  for (size_t i = 0; i < sizes.size() && i < dims.size(); ++i)
    if (sizes[i] != -1) x = fitted(b, x, dims[i], sizes[i]);
  const bool forward = !b.base().starts_with("fft_ifft");
  if (is_complex(b.dtype(x)) || !forward) {
    if (!is_complex(b.dtype(x))) x = b.cast(x, b.out_type().dtype);
    return b.replace(b.make("_fft_c2c", {x, int_list(dims), normalization(b, forward), forward}));
  }
  return b.replace(b.make("_fft_r2c", {x, int_list(dims), normalization(b, true), b.base().starts_with("fft_rfft")}));
}

Result<bool> irfftn(Builder& b) {
  Value* x = b.in();
  const auto sizes = b.call.integers("s");
  auto dims = b.dims("dim", b.rank(x), false);
  if (dims.empty())
    dims = sizes.empty() ? iota(b.rank(x))
                         : iota(static_cast<int64_t>(sizes.size()), b.rank(x) - static_cast<int64_t>(sizes.size()));
  for (size_t i = 0; i + 1 < dims.size() && i < sizes.size(); ++i)
    if (sizes[i] != -1) x = fitted(b, x, dims[i], sizes[i]);
  const SymInt n = b.out_type().sizes[static_cast<size_t>(dims.back())];
  const SymInt bins = SymInt::floordiv(n, SymInt(2)) + SymInt(1);
  if (!known_equal(b.size(x, dims.back()), bins)) x = b.slice(x, dims.back(), SymInt(0), bins);
  return b.replace(b.make("_fft_c2r", {x, int_list(dims), normalization(b, false), n}));
}

Result<bool> shift(Builder& b) {
  Value* x = b.in();
  const auto dims = b.dims("dim", b.rank(x), true);
  IntList shifts;
  for (const int64_t dim : dims) {
    const SymInt size = b.size(x, dim), half = SymInt::floordiv(size, SymInt(2));
    shifts.push_back(b.base() == "fft_fftshift" ? half : size - half);
  }
  return b.replace(b.make("roll", {x, shifts, int_list(dims)}));
}

// Frames of n_fft samples at every hop, each times the window, transformed: [.., frequency, frame].
Result<bool> stft(Builder& b) {
  Value* x = b.in();
  if (is_complex(b.dtype(x))) return b.refuse("transforms complex numbers, for which the runtime has no kernel");
  const int64_t n = b.integer("n_fft");
  const int64_t hop = b.call.opt_integer("hop_length").value_or(n / 4),
                width = b.call.opt_integer("win_length").value_or(n);
  const bool batched = b.rank(x) == 2;
  if (!batched) x = b.unsqueeze(x, 0);
  if (b.call.op().overload == "center" && b.call.flag("center")) {
    const std::string_view mode = b.call.text("pad_mode");
    const int64_t half = n / 2;
    if (mode == "constant")
      x = b.pad(x, {half, half}, SymInt(0));
    else if (mode == "reflect" || mode == "replicate")
      x = b.make(mode == "reflect" ? "reflection_pad1d" : "replication_pad1d",
                 {x, IntList{SymInt(half), SymInt(half)}});
    else
      return b.refuse("pads in mode " + std::string(mode) + ", which edgelift does not know here");
  }
  Value* window = b.maybe("window");
  if (window == nullptr && width < n) window = b.full({SymInt(width)}, 1.0, b.dtype(x));
  if (window != nullptr && width < n) window = b.pad(window, {(n - width) / 2, n - width - (n - width) / 2}, SymInt(0));
  Value* frames = b.make("unfold", {x, SymInt(1), SymInt(n), SymInt(hop)});
  if (window != nullptr) frames = b.mul(frames, window);
  const bool onesided = ir::is_none(b.arg("onesided")) || b.call.flag("onesided");
  Value* spectrum =
      b.make("_fft_r2c", {frames, IntList{SymInt(2)}, SymInt(b.call.flag("normalized") ? 1 : 0), onesided});
  const bool complex = b.call.flag("return_complex");
  if (!complex) spectrum = b.unary("view_as_real", spectrum);
  Value* out = b.transpose(spectrum, 1, 2);
  return b.replace(batched ? out : b.squeeze(out, 0));
}

constexpr Entry kEntries[] = {
    {"fft_rfft2", rfftn},         {"fft_rfftn", rfftn},    {"fft_fft2", rfftn},      {"fft_ifft2", rfftn},
    {"fft_ifftn", rfftn},         {"fft_ifft", rfft},      {"fft_fftn", rfftn},      {"fft_irfft2", irfftn},
    {"fft_irfftn", irfftn},       {"fft_fftshift", shift}, {"fft_ifftshift", shift}, {"stft", stft},
    {"stft.center", stft},        {"fft_rfft", rfft},      {"fft_fft", rfft},        {"fft_irfft", irfft},
    {"abs", abs, kEdge | kLegal}, {"real", real},          {"imag", real},           {"angle", angle},
};

}  // namespace

std::span<const Entry> fft_entries() { return kEntries; }

}  // namespace edgelift::edge
