// Fourier transforms of real signals and complex numbers as pairs of reals. The runtime's kernels are _fft_r2c, _fft_c2r
// and view_as_real.
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
  if (!is_float(b.dtype(x))) x = b.cast(x, DType::F32);
  const int64_t dim = b.dim("dim", b.rank(x));
  const bool onesided = b.base() == "fft_rfft";
  if (is_complex(b.dtype(b.in()))) return b.refuse("transforms complex numbers, for which the runtime has no kernel");
  x = fitted(b, x, dim, b.call.opt_integer("n"));
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

constexpr Entry kEntries[] = {
    {"fft_rfft", rfft},
    {"fft_fft", rfft},
    {"fft_irfft", irfft},
    {"abs", abs, kEdge | kLegal},
    {"real", real},
    {"imag", real},
    {"angle", angle},
};

}  // namespace

std::span<const Entry> fft_entries() { return kEntries; }

}  // namespace edgelift::edge
