// Windows and Fourier transforms of several dims or of frames.
#include <algorithm>

#include "ops/families.h"
#include "ops/infer.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using ir::Shape;
using ir::Type;

DType complex_of(DType dtype) { return dtype == DType::F64 || dtype == DType::C128 ? DType::C128 : DType::C64; }

Types infer_window(const Call& call) {
  return one(call.dtype("dtype").value_or(DType::F32), {SymInt(call.integer("window_length"))});
}

// fft_rfft2, fft_irfft2, …: sizes `s` for dims `dim`; the last of them is halved or doubled by the real transforms.
Types infer_fftn(const Call& call) {
  const Type& self = call.type("self");
  std::vector<int64_t> dims = call.has("dim") ? call.integers("dim") : std::vector<int64_t>{};
  const ir::IntList& wish = call.ints("s");
  if (!call.has("dim")) {
    const int64_t count = wish.empty() ? self.rank() : static_cast<int64_t>(wish.size());
    for (int64_t i = count; i > 0; --i) dims.push_back(-i);
  }
  if (dims.empty()) return input_error("no dim is transformed");
  if (!wish.empty() && wish.size() != dims.size())
    return input_error("sizes are given for other dims than are transformed");
  Shape sizes = self.sizes;
  for (size_t i = 0; i < dims.size(); ++i) {
    EL_TRY(const int64_t dim, indexed_dim(dims[i], self.rank()));
    SymInt& size = sizes.at(static_cast<size_t>(dim));
    const bool given = i < wish.size() && !(wish[i].is_const() && wish[i].value() == -1);
    if (given) size = wish[i];
    if (i + 1 != dims.size()) continue;
    if (call.op().base.starts_with("fft_rfft")) size = SymInt::floordiv(size, SymInt(2)) + SymInt(1);
    if (call.op().base.starts_with("fft_irfft") && !given) size = (size - SymInt(1)) * SymInt(2);
  }
  const DType dtype = complex_of(self.dtype);
  if (!call.op().base.starts_with("fft_irfft")) return one(dtype, std::move(sizes));
  return one(dtype == DType::C128 ? DType::F64 : DType::F32, std::move(sizes));
}

// Frames of n_fft samples every hop: [batch, frequencies, frames], and a last dim of 2 where the result is real.
Types infer_stft(const Call& call) {
  const Type& self = call.type("self");
  const int64_t n_fft = call.integer("n_fft");
  const int64_t hop = call.opt_integer("hop_length").value_or(n_fft / 4);
  if (self.rank() != 1 && self.rank() != 2) return input_error("a signal has one or two dims, not " + self.str());
  if (n_fft <= 0 || hop <= 0) return input_error("the frames' length and distance must be positive");
  SymInt samples = self.sizes.back();
  if (call.op().schema.index_of("center") >= 0 && call.flag("center")) samples = samples + SymInt(n_fft / 2 * 2);
  Shape sizes(self.sizes.begin(), self.sizes.end() - 1);
  const bool onesided = call.has("onesided") ? call.flag("onesided") : !is_complex(self.dtype);
  sizes.emplace_back(onesided ? n_fft / 2 + 1 : n_fft);
  sizes.push_back(SymInt::floordiv(samples - SymInt(n_fft), SymInt(hop)) + SymInt(1));
  if (!call.has("return_complex") || !call.flag("return_complex")) {
    sizes.emplace_back(2);
    return one(self.dtype, std::move(sizes));
  }
  return one(complex_of(self.dtype), std::move(sizes));
}

Types infer_vander(const Call& call) {
  const Type& x = call.type("x");
  if (x.rank() != 1) return input_error("the operand has " + std::to_string(x.rank()) + " dims, not one");
  const SymInt columns = call.has("N") ? SymInt(call.integer("N")) : x.sizes[0];
  return one(x.dtype == DType::Bool ? DType::I64 : x.dtype, {x.sizes[0], columns});
}

Types infer_square_matrix(const Call& call) {
  const Type& self = call.type("self");
  if (self.rank() < 2) return input_error("the operand is not a matrix: " + self.str());
  return one(self.dtype, self.sizes);
}

constexpr OpDef kRows[] = {
    {"aten::hann_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     infer_window,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_window,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::hamming_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     infer_window,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::hamming_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_window,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, ScalarType? dtype=None, "
     "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_window,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, "
     "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_window,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::blackman_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     infer_window,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_window,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::bartlett_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     infer_window,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::bartlett_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_window,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::fft_rfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
     infer_fftn,
     nullptr,
     {},
     kNone,
     "the delegate has no complex numbers"},
    {"aten::fft_irfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
     infer_fftn,
     nullptr,
     {},
     kNone,
     "the delegate has no complex numbers"},
    {"aten::fft_fft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
     infer_fftn,
     nullptr,
     {},
     kNone,
     "the delegate has no complex numbers"},
    {"aten::fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
     infer_fftn,
     nullptr,
     {},
     kNone,
     "the delegate has no complex numbers"},
    {"aten::fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
     infer_fftn,
     nullptr,
     {},
     kNone,
     "the delegate has no complex numbers"},
    {"aten::fft_ifft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor",
     infer_fftn,
     nullptr,
     {},
     kNone,
     "the delegate has no complex numbers"},
    {"aten::fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
     infer_fftn,
     nullptr,
     {},
     kNone,
     "the delegate has no complex numbers"},
    {"aten::fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor",
     infer_fftn,
     nullptr,
     {},
     kNone,
     "the delegate has no complex numbers"},
    {"aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", infer_same},
    {"aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", infer_same},
    {"aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool "
     "normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
     infer_stft,
     nullptr,
     {},
     kNone,
     "the delegate has no complex numbers"},
    {"aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
     "bool center=True, str pad_mode=\"reflect\", bool normalized=False, bool? onesided=None, bool? "
     "return_complex=None, bool? align_to_window=None) -> Tensor",
     infer_stft,
     nullptr,
     {},
     kNone,
     "the delegate has no complex numbers"},
    {"aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", infer_vander},
    {"aten::matrix_power(Tensor self, int n) -> Tensor", infer_square_matrix},
    {"aten::linalg_matrix_power(Tensor self, int n) -> Tensor", infer_square_matrix},
};

}  // namespace

std::span<const OpDef> signal_ops() { return kRows; }

}  // namespace edgelift::ops
