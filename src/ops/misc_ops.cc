// Checks, Fourier transforms and complex numbers, distances, norms of vectors, grids.
#include "ops/families.h"
#include "ops/infer.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using ir::Shape;
using ir::Type;

DType complex_of(DType dtype) {
  switch (dtype) {
    case DType::F64:
    case DType::C128:
      return DType::C128;
    case DType::F16:
    case DType::C32:
      return DType::C32;
    default:
      return DType::C64;
  }
}
DType real_of(DType dtype) {
  switch (dtype) {
    case DType::C128:
      return DType::F64;
    case DType::C64:
      return DType::F32;
    case DType::C32:
      return DType::F16;
    default:
      return dtype;
  }
}

// ---- Fourier transforms ----

Types infer_rfft(const Call& call) {
  const Type& self = call.type("self");
  if (self.rank() == 0) return input_error("a tensor of rank 0 has no dim to transform");
  EL_TRY(const int64_t dim, checked_dim(call.integer("dim"), self.rank()));
  Shape sizes = self.sizes;
  SymInt& size = sizes[static_cast<size_t>(dim)];
  if (call.has("n")) size = call.sym_int("n");
  const std::string& base = call.op().base;
  DType dtype = complex_of(self.dtype);
  if (base == "fft_rfft") size = SymInt::floordiv(size, SymInt(2)) + SymInt(1);
  if (base == "fft_irfft") {
    if (!call.has("n")) size = (size - SymInt(1)) * SymInt(2);
    dtype = real_of(dtype);
  }
  return one(dtype, std::move(sizes));
}

Types infer_fft_r2c(const Call& call) {
  const Type& self = call.type("self");
  EL_TRY(const std::vector<int64_t> dims, normalize_dims(call.integers("dim"), self.rank(), false));
  if (dims.empty()) return input_error("no dim is transformed");
  Shape sizes = self.sizes;
  if (call.flag("onesided")) {
    SymInt& size = sizes[static_cast<size_t>(*normalize_dim(call.integers("dim").back(), self.rank()))];
    size = SymInt::floordiv(size, SymInt(2)) + SymInt(1);
  }
  return one(complex_of(self.dtype), std::move(sizes));
}

Types infer_fft_c2r(const Call& call) {
  const Type& self = call.type("self");
  const std::vector<int64_t> dims = call.integers("dim");
  if (dims.empty()) return input_error("no dim is transformed");
  EL_TRY(const int64_t last, indexed_dim(dims.back(), self.rank()));
  Shape sizes = self.sizes;
  sizes[static_cast<size_t>(last)] = call.sym_int("last_dim_size");
  return one(real_of(self.dtype), std::move(sizes));
}

// ---- complex numbers ----

Types infer_complex(const Call& call) {
  EL_TRY(Shape sizes, broadcast_args(call));
  return one(complex_of(call.type(call.op().base == "polar" ? "abs" : "real").dtype), std::move(sizes));
}

Types infer_real(const Call& call) { return one(real_of(call.type("self").dtype), call.type("self").sizes); }
Types infer_angle(const Call& call) {
  return one(float_result(real_of(call.type("self").dtype)), call.type("self").sizes);
}

Types infer_view_as_real(const Call& call) {
  const Type& self = call.type("self");
  if (!is_complex(self.dtype)) return input_error("the operand is not complex: " + self.str());
  Shape sizes = self.sizes;
  sizes.emplace_back(2);
  return one(real_of(self.dtype), std::move(sizes));
}

Types infer_view_as_complex(const Call& call) {
  const Type& self = call.type("self");
  if (self.rank() == 0 || self.sizes.back() != SymInt(2)) return input_error("the last dim is not 2: " + self.str());
  Shape sizes(self.sizes.begin(), self.sizes.end() - 1);
  return one(complex_of(self.dtype), std::move(sizes));
}

// conj, resolve_conj, real of numbers that are real already.
LowerResult lower_real(const Call& call, XnnBuilder& b) {
  b.alias(call.result(), b.value(call.tensor("self")));
  return std::nullopt;
}

// ---- products and distances ----

Types infer_cross(const Call& call) {
  EL_TRY(Shape sizes, broadcast_args(call));
  return one(promote_args(call, {"self", "other"}), std::move(sizes));
}

Types infer_cdist(const Call& call) {
  const Type& a = call.type("x1");
  const Type& c = call.type("x2");
  if (a.rank() < 2 || c.rank() < 2) return input_error("distances need operands of at least two dims");
  EL_TRY(Shape sizes, broadcast_shapes({a.sizes.begin(), a.sizes.end() - 2}, {c.sizes.begin(), c.sizes.end() - 2}));
  sizes.push_back(a.sizes[a.sizes.size() - 2]);
  sizes.push_back(c.sizes[c.sizes.size() - 2]);
  return one(promote(a.dtype, c.dtype), std::move(sizes));
}

Types infer_pdist(const Call& call) {
  const Type& self = call.type("self");
  if (self.rank() != 2) return input_error("pairwise distances need an operand of two dims, not " + self.str());
  return one(self.dtype, {SymInt::floordiv(self.sizes[0] * (self.sizes[0] - SymInt(1)), SymInt(2))});
}

Types infer_pairwise_distance(const Call& call) {
  EL_TRY(Shape sizes, broadcast_args(call));
  if (!sizes.empty()) sizes.pop_back();
  if (call.flag("keepdim")) sizes.emplace_back(1);
  return one(promote_args(call, {"x1", "x2"}), std::move(sizes));
}

Types infer_cosine_similarity(const Call& call) {
  EL_TRY(const Shape sizes, broadcast_args(call));
  EL_TRY(Shape reduced, reduced_shape(sizes, std::vector<int64_t>{call.integer("dim")}, false, false));
  return one(float_result(promote_args(call, {"x1", "x2"})), std::move(reduced));
}

Types infer_trace(const Call& call) {
  if (call.type("self").rank() != 2) return input_error("the operand is not a matrix: " + call.type("self").str());
  return one(sum_result(call.type("self").dtype), {});
}

Types infer_meshgrid(const Call& call) {
  const ir::ValueList& tensors = call.tensors("tensors");
  Shape sizes;
  Promotion promotion;
  for (const ir::Value* value : tensors) {
    if (value->type.rank() > 1) return input_error("an operand has more than one dim: " + value->type.str());
    promotion.add(value->type);
    sizes.push_back(value->type.rank() == 0 ? SymInt(1) : value->type.sizes[0]);
  }
  if (tensors.empty()) return input_error("the list of tensors is empty");
  const bool xy = call.op().schema.index_of("indexing") >= 0 && call.text("indexing") == "xy";
  if (xy && sizes.size() > 1) std::swap(sizes[0], sizes[1]);
  return std::vector<Type>(tensors.size(), Type::tensor(tensors.front()->type.dtype, sizes));
}

Types infer_cartesian_prod(const Call& call) {
  const ir::ValueList& tensors = call.tensors("tensors");
  if (tensors.empty()) return input_error("the list of tensors is empty");
  SymInt rows(1);
  for (const ir::Value* value : tensors) rows = rows * value->type.sym_numel();
  Shape sizes{rows};
  if (tensors.size() > 1) sizes.emplace_back(static_cast<int64_t>(tensors.size()));
  return one(tensors.front()->type.dtype, std::move(sizes));
}

// Differences of neighbours, n times.
Types infer_diff(const Call& call) {
  const Type& self = call.type("self");
  EL_TRY(const int64_t dim, checked_dim(call.integer("dim"), self.rank()));
  if (self.rank() == 0) return input_error("a tensor of rank 0 has no neighbours");
  Shape sizes = self.sizes;
  SymInt& size = sizes[static_cast<size_t>(dim)];
  for (const std::string_view extra : {"prepend", "append"})
    if (const ir::Value* value = call.opt_tensor(extra))
      size = size + (value->type.rank() == 0 ? SymInt(1) : value->type.sizes[static_cast<size_t>(dim)]);
  size = size - SymInt(call.integer("n"));
  if (!known_le(SymInt(0), size)) size = size.is_const() ? SymInt(0) : SymInt::max(size, SymInt(0));
  return one(self.dtype, std::move(sizes));
}

Types infer_histc(const Call& call) { return one(call.type("self").dtype, {SymInt(call.integer("bins"))}); }

Types infer_broadcast_tensors(const Call& call) {
  Shape sizes;
  for (const ir::Value* value : call.tensors("tensors")) {
    EL_TRY(sizes, broadcast_shapes(sizes, value->type.sizes));
  }
  std::vector<Type> types;
  for (const ir::Value* value : call.tensors("tensors")) types.push_back(Type::tensor(value->type.dtype, sizes));
  return types;
}

// All ways to take r elements of a static number.
Types infer_combinations(const Call& call) {
  const Type& self = call.type("self");
  const int64_t r = call.integer("r");
  if (self.rank() != 1 || r < 0) return input_error("combinations are taken of one dim, not of " + self.str());
  if (r == 0) return one(self.dtype, {SymInt(0)});
  constexpr int64_t kMost = 1 << 10;  // what r may be, so that a damaged file does not stall
  if (r > kMost) return input_error("combinations of " + std::to_string(r) + " elements are not supported");
  SymInt count(1);
  const bool again = call.flag("with_replacement");
  for (int64_t i = 0; i < r; ++i)
    count = SymInt::floordiv(count * (again ? self.sizes[0] + SymInt(i) : self.sizes[0] - SymInt(i)), SymInt(i + 1));
  return one(self.dtype, {count, SymInt(r)});
}

Types infer_shape(const Call& call) { return one(DType::I64, {SymInt(call.type("self").rank())}); }

Types infer_gradient_of_self(const Call& call) {
  return one(Type::tensor(call.type("self").dtype, call.type("self").sizes));
}

// Gradients of the input, of the weight and of the bias.
Types infer_convolution_backward(const Call& call) {
  const Type& input = call.type("input");
  const Type& weight = call.type("weight");
  const Type& gradient = call.type("grad_output");
  if (gradient.rank() < 2) return input_error("the gradient has no dim of channels: " + gradient.str());
  const ir::IntList& bias = call.ints("bias_sizes");
  const Shape channels = bias.empty() ? Shape{gradient.sizes[1]} : Shape(bias.begin(), bias.end());
  return std::vector<Type>{Type::tensor(input.dtype, input.sizes), Type::tensor(weight.dtype, weight.sizes),
                           Type::tensor(weight.dtype, channels)};
}

// A check whose result only orders it.
Types infer_token(const Call& call) { return one(call.type("dep_token")); }

constexpr OpDef kRows[] = {
    // Checks.
    {"aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? dtype=None, *, "
     "Device? device=None, Layout? layout=None) -> ()",
     infer_nothing,
     nullptr,
     {},
     kCheck,
     "it checks and computes nothing"},
    {"aten::_assert_scalar(Scalar self, str assert_msg) -> ()",
     infer_nothing,
     nullptr,
     {},
     kCheck,
     "it checks and computes nothing"},
    {"aten::_assert_async(Tensor self) -> ()", infer_nothing, nullptr, {}, kCheck, "it checks and computes nothing"},
    {"aten::_assert_async.msg(Tensor self, str assert_msg) -> ()",
     infer_nothing,
     nullptr,
     {},
     kCheck,
     "it checks and computes nothing"},
    {"aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()",
     infer_nothing,
     nullptr,
     {},
     kCheck,
     "it checks and computes nothing"},
    {"aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()",
     infer_nothing,
     nullptr,
     {},
     kCheck,
     "it checks and computes nothing"},
    {"aten::_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token) -> Tensor",
     infer_token,
     nullptr,
     {},
     kCheck,
     "it checks and computes nothing"},
    {"aten::_functional_assert_scalar(Scalar self, str assert_msg, Tensor dep_token) -> Tensor",
     infer_token,
     nullptr,
     {},
     kCheck,
     "it checks and computes nothing"},
    {"aten::_functional_sym_constrain_range(Scalar size, int? min, int? max, Tensor dep_token) -> Tensor",
     infer_token,
     nullptr,
     {},
     kCheck,
     "it checks and computes nothing"},
    // Fourier transforms and complex numbers.
    {"aten::fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
     infer_rfft,
     nullptr,
     {},
     kNone,
     "the delegate has no complex numbers"},
    {"aten::fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
     infer_rfft,
     nullptr,
     {},
     kNone,
     "the delegate has no complex numbers"},
    {"aten::fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
     infer_rfft,
     nullptr,
     {},
     kNone,
     "the delegate has no complex numbers"},
    {"aten::fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor",
     infer_rfft,
     nullptr,
     {},
     kNone,
     "the delegate has no complex numbers"},
    {"aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor", infer_fft_r2c, nullptr,
     "aten::_fft_r2c.out", kNone, "the delegate has no complex numbers"},
    {"aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
     infer_same,
     nullptr,
     {},
     kNone,
     "the delegate has no complex numbers"},
    {"aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor", infer_fft_c2r,
     nullptr, "aten::_fft_c2r.out", kNone, "the delegate has no complex numbers"},
    {"aten::complex(Tensor real, Tensor imag) -> Tensor",
     infer_complex,
     nullptr,
     {},
     kPointwise,
     "the delegate has no complex numbers"},
    {"aten::polar(Tensor abs, Tensor angle) -> Tensor",
     infer_complex,
     nullptr,
     {},
     kPointwise,
     "the delegate has no complex numbers"},
    {"aten::angle(Tensor self) -> Tensor", infer_angle, nullptr, {}, kPointwise, "the delegate has no complex numbers"},
    {"aten::real(Tensor(a) self) -> Tensor(a)", infer_real, lower_real, {}, kPointwise | kAlias},
    {"aten::imag(Tensor(a) self) -> Tensor(a)",
     infer_real,
     nullptr,
     {},
     kPointwise | kAlias,
     "the delegate has no complex numbers"},
    {"aten::conj(Tensor(a) self) -> Tensor(a)", infer_same, lower_real, {}, kPointwise | kAlias},
    {"aten::_shape_as_tensor(Tensor self) -> Tensor",
     infer_shape,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::resolve_conj(Tensor(a) self) -> Tensor(a)", infer_same, lower_real, {}, kPointwise | kAlias},
    {"aten::resolve_neg(Tensor(a) self) -> Tensor(a)", infer_same, lower_real, {}, kPointwise | kAlias},
    {"aten::conj_physical(Tensor self) -> Tensor", infer_same, lower_real, {}, kPointwise},
    {"aten::_conj_physical(Tensor self) -> Tensor", infer_same, lower_real, "aten::_conj_physical.out", kPointwise},
    {"aten::view_as_real(Tensor(a) self) -> Tensor(a)", infer_view_as_real, nullptr, "aten::view_as_real_copy.out",
     kAlias, "the delegate has no complex numbers"},
    {"aten::view_as_real_copy(Tensor self) -> Tensor", infer_view_as_real, nullptr, "aten::view_as_real_copy.out",
     kNone, "the delegate has no complex numbers"},
    {"aten::view_as_complex(Tensor(a) self) -> Tensor(a)",
     infer_view_as_complex,
     nullptr,
     {},
     kAlias,
     "the delegate has no complex numbers"},
    // Products, distances, grids.
    {"aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor", infer_cross},
    {"aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", infer_cross},
    {"aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor", infer_cdist, nullptr,
     "aten::_cdist_forward.out(x1, x2, p, compute_mode)"},
    {"aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", infer_cdist, nullptr,
     "aten::_cdist_forward.out"},
    {"aten::pdist(Tensor self, float p=2.) -> Tensor", infer_pdist, nullptr, "aten::_pdist_forward.out"},
    {"aten::_pdist_forward(Tensor self, float p=2.) -> Tensor", infer_pdist, nullptr, "aten::_pdist_forward.out"},
    {"aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool "
     "keepdim=False) -> Tensor",
     infer_pairwise_distance},
    {"aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor", infer_cdist},
    {"aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]", infer_broadcast_tensors},
    {"aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor", infer_combinations},
    {"aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor", infer_cosine_similarity},
    {"aten::trace(Tensor self) -> Tensor", infer_trace},
    {"aten::meshgrid(Tensor[] tensors) -> Tensor[]", infer_meshgrid},
    {"aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", infer_meshgrid},
    {"aten::cartesian_prod(Tensor[] tensors) -> Tensor", infer_cartesian_prod},
    {"aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor", infer_diff},
    {"aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", infer_histc},
    // Gradients that a program may hold, and copies between devices.
    {"aten::max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, "
     "int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor",
     infer_gradient_of_self,
     nullptr,
     {},
     kNone,
     "the delegate computes no gradients, and the kernel of the runtime does not clear its result"},
    {"aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] "
     "stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] "
     "output_mask) -> (Tensor, Tensor, Tensor)",
     infer_convolution_backward, nullptr, "aten::convolution_backward.out", kNone,
     "the delegate computes no gradients"},
    {"et_copy::_h2d_copy(Tensor self) -> Tensor", infer_same, nullptr, "et_copy::_h2d_copy.out", kNone,
     "it moves data between devices"},
    {"et_copy::_d2h_copy(Tensor self) -> Tensor", infer_same, nullptr, "et_copy::_d2h_copy.out", kNone,
     "it moves data between devices"},
};

}  // namespace

std::span<const OpDef> misc_ops() { return kRows; }

}  // namespace edgelift::ops
