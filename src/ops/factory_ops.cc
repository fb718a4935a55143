// Tensors made from numbers.
#include <algorithm>
#include <cmath>

#include "ops/families.h"
#include "ops/infer.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using ir::Shape;

Shape size_of(const Call& call) {
  const ir::IntList& size = call.ints("size");
  return Shape(size.begin(), size.end());
}

DType dtype_or(const Call& call, DType otherwise) { return call.dtype("dtype").value_or(otherwise); }

Types infer_full(const Call& call) { return one(dtype_or(call, number_dtype(call.arg("fill_value"))), size_of(call)); }
Types infer_sized(const Call& call) { return one(dtype_or(call, DType::F32), size_of(call)); }
Types infer_new(const Call& call) { return one(dtype_or(call, call.type("self").dtype), size_of(call)); }
Types infer_integers(const Call& call) { return one(dtype_or(call, DType::I64), size_of(call)); }

// The operand's dim order is kept unless a memory format is asked for.
Types infer_like(const Call& call) {
  ir::Type type = call.type("self");
  type.dtype = dtype_or(call, type.dtype);
  const ir::Arg& format = call.arg("memory_format");
  if (const auto* asked = std::get_if<ir::MemoryFormat>(&format)) {
    if (*asked == ir::MemoryFormat::Contiguous) type.dim_order.clear();
    if (*asked == ir::MemoryFormat::ChannelsLast && type.rank() == 4) type.dim_order = {0, 2, 3, 1};
  }
  return one(std::move(type));
}

// The exact integer or float of a number argument; nullopt for one that a node produces.
std::optional<SymInt> integer_of(const ir::Arg& arg) {
  if (const auto* value = std::get_if<SymInt>(&arg)) return *value;
  if (const auto* value = std::get_if<bool>(&arg)) return SymInt(*value ? 1 : 0);
  if (const auto* value = std::get_if<ir::Value*>(&arg); value != nullptr && (*value)->symbol != nullptr)
    return SymInt::symbol((*value)->symbol);
  return std::nullopt;
}

Types infer_arange(const Call& call) {
  const bool has_start = call.op().schema.index_of("start") >= 0;
  const bool has_step = call.op().schema.index_of("step") >= 0;
  const ir::Arg zero = SymInt(0);
  const ir::Arg unit = SymInt(1);
  const ir::Arg& start = has_start ? call.arg("start") : zero;
  const ir::Arg& end = call.arg("end");
  const ir::Arg& step = has_step ? call.arg("step") : unit;
  DType dtype = DType::I64;
  for (const ir::Arg* arg : {&start, &end, &step})
    if (number_dtype(*arg) == DType::F32) dtype = DType::F32;
  dtype = dtype_or(call, dtype);
  const auto a = integer_of(start);
  const auto z = integer_of(end);
  const auto d = integer_of(step);
  if (a && z && d) {
    if (!d->is_const() || d->value() == 0) return input_error("the step is " + d->str());
    const SymInt span = d->value() > 0 ? *z - *a : *a - *z;
    const SymInt stride(d->value() > 0 ? d->value() : -d->value());
    SymInt count = SymInt::ceildiv(span, stride);
    if (count.is_const() && count.value() < 0) return input_error("the range runs away from its end");
    if (!known_le(SymInt(0), count)) count = SymInt::max(count, SymInt(0));
    return one(dtype, {count});
  }
  const auto number = [](const ir::Arg& arg) -> std::optional<double> {
    if (const auto* value = std::get_if<double>(&arg)) return *value;
    if (const auto* value = std::get_if<SymInt>(&arg); value != nullptr && value->is_const())
      return static_cast<double>(value->value());
    return std::nullopt;
  };
  const auto x = number(start);
  const auto y = number(end);
  const auto w = number(step);
  if (!x || !y || !w) return input_error("the range's length depends on the data");
  if (*w == 0 || !std::isfinite(*x) || !std::isfinite(*y)) return input_error("the range is not finite");
  const double count = std::ceil((*y - *x) / *w);
  if (count < 0 || count > 9e15) return input_error("the range runs away from its end");
  return one(dtype, {SymInt(static_cast<int64_t>(count))});
}

Types infer_steps(const Call& call) { return one(dtype_or(call, DType::F32), {call.sym_int("steps")}); }

Types infer_eye(const Call& call) {
  const SymInt rows = call.sym_int("n");
  return one(dtype_or(call, DType::F32), {rows, call.op().schema.index_of("m") >= 0 ? call.sym_int("m") : rows});
}

Types infer_scalar_tensor(const Call& call) { return one(dtype_or(call, DType::F32), {}); }

// Row and column of every element on one side of a diagonal.
Types infer_triangle(const Call& call) {
  const int64_t rows = call.integer("row");
  const int64_t columns = call.integer("col");
  const int64_t offset = call.integer("offset");
  const bool lower = call.op().base == "tril_indices";
  constexpr int64_t kMaxSide = 1 << 24;
  if (rows < 0 || columns < 0 || rows > kMaxSide || columns > kMaxSide || offset > kMaxSide || offset < -kMaxSide)
    return input_error("a triangle of " + std::to_string(rows) + " rows and " + std::to_string(columns) +
                       " columns is not supported");
  int64_t count = 0;
  for (int64_t i = 0; i < rows; ++i) {
    const int64_t inside = std::min(std::max<int64_t>(lower ? i + 1 + offset : i + offset, 0), columns);
    count += lower ? inside : columns - inside;
  }
  return one(dtype_or(call, DType::I64), {SymInt(2), SymInt(count)});
}

Types infer_permutation_of_n(const Call& call) { return one(dtype_or(call, DType::I64), {call.sym_int("n")}); }

Types infer_multinomial(const Call& call) {
  Shape sizes = call.type("self").sizes;
  if (sizes.empty() || sizes.size() > 2)
    return input_error("probabilities have one or two dims, not " + call.type("self").str());
  sizes.back() = call.sym_int("num_samples");
  return one(DType::I64, std::move(sizes));
}

Types infer_normal(const Call& call) {
  EL_TRY(Shape sizes, broadcast_args(call));
  return one(call.type("mean").dtype, std::move(sizes));
}

constexpr OpDef kRows[] = {
    {"aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_arange, nullptr, "aten::arange.out(end)", kNone, "the delegate does not make tensors from numbers"},
    {"aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_arange, nullptr, "aten::arange.start_out(start, end, 1)", kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_arange, nullptr, "aten::arange.start_out(start, end, step)", kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_full, nullptr, "aten::full.out(size, fill_value)", kNone, "the delegate does not make tensors from numbers"},
    {"aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_sized, nullptr, "aten::ones.out(size)", kNone, "the delegate does not make tensors from numbers"},
    {"aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_sized, nullptr, "aten::zeros.out(size)", kNone, "the delegate does not make tensors from numbers"},
    {"aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_sized, nullptr, "aten::empty.out(size, none)", kNone, "the delegate does not make tensors from numbers"},
    {"aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_sized, nullptr, "aten::empty.out(size, none)", kNone, "the delegate does not make tensors from numbers"},
    {"aten::empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_sized, nullptr, "aten::empty.out(size, none)", kNone, "the delegate does not make tensors from numbers"},
    {"aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_like, nullptr, "aten::full_like.out(self, fill_value, none)", kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_like, nullptr, "aten::full_like.out(self, 0, none)", kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_like, nullptr, "aten::full_like.out(self, 1, none)", kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_like, nullptr, "aten::full_like.out(self, 0, none)", kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_new, nullptr, "aten::full.out(size, fill_value)", kNone, "the delegate does not make tensors from numbers"},
    {"aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_new, nullptr, "aten::ones.out(size)", kNone, "the delegate does not make tensors from numbers"},
    {"aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_new, nullptr, "aten::zeros.out(size)", kNone, "the delegate does not make tensors from numbers"},
    {"aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_new, nullptr, "aten::zeros.out(size)", kNone, "the delegate does not make tensors from numbers"},
    {"aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_new, nullptr, "aten::zeros.out(size)", kNone, "the delegate does not make tensors from numbers"},
    {"aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_scalar_tensor, nullptr, "aten::scalar_tensor.out(s)", kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_steps,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_steps,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_eye,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_eye,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_triangle,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_triangle,
     nullptr,
     {},
     kNone,
     "the delegate does not make tensors from numbers"},
    // Random numbers: the runtime draws its own.
    {"aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_sized, nullptr, "aten::rand.out(size)", kRandom, "the delegate has no random numbers"},
    {"aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_sized, nullptr, "aten::randn.out(size)", kRandom, "the delegate has no random numbers"},
    {"aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_like,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_like,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     infer_integers,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None) -> Tensor",
     infer_integers,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_like,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
     infer_like,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     infer_permutation_of_n,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, ScalarType? "
     "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     infer_sized,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor",
     infer_same,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor",
     infer_same,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> "
     "Tensor",
     infer_multinomial,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor",
     infer_same,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
     infer_same,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor",
     infer_normal,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor",
     infer_same,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor",
     infer_same,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor",
     infer_same,
     nullptr,
     {},
     kRandom,
     "the delegate has no random numbers"},
    {"aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace | kRandom},
    {"aten::uniform_(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace | kRandom},
    {"aten::exponential_(Tensor(a!) self, float lambd=1., *, Generator? generator=None) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace | kRandom},
    {"aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace | kRandom},
    // Overwriting.
    {"aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", infer_same, nullptr, "aten::fill.Scalar_out", kPointwise,
     "the delegate does not make tensors from numbers"},
    {"aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", infer_same, nullptr, "aten::fill.Tensor_out", kPointwise,
     "the delegate does not make tensors from numbers"},
    {"aten::zero(Tensor self) -> Tensor", infer_same, nullptr, "aten::fill.Scalar_out(self, 0)", kPointwise,
     "the delegate does not make tensors from numbers"},
    {"aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)", infer_same, nullptr, {}, kInPlace | kPointwise},
    {"aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)", infer_same, nullptr, {}, kInPlace | kPointwise},
    {"aten::zero_(Tensor(a!) self) -> Tensor(a!)", infer_same, nullptr, {}, kInPlace | kPointwise},
};

}  // namespace

std::span<const OpDef> factory_ops() { return kRows; }

}  // namespace edgelift::ops
