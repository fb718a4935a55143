// Tensors made from nothing: every factory as full or arange, patterns by comparing indices.
#include <cmath>

#include "edge/table.h"

namespace edgelift::edge {
namespace {

Result<bool> filled(Builder& b) {
  const std::string& base = b.base();
  const Type& out = b.out_type();
  const bool float_out = is_float(out.dtype);
  Arg value = SymInt(0);
  if (base == "ones" || base == "ones_like" || base == "new_ones") value = SymInt(1);
  if (out.dtype == DType::Bool) value = !(std::get<SymInt>(value) == SymInt(0));
  if (base == "full" || base == "full_like" || base == "new_full") value = b.arg("fill_value");
  if (base == "fill") value = b.arg("value");
  if (float_out && std::holds_alternative<bool>(value)) value = std::get<bool>(value) ? 1.0 : 0.0;
  if (b.upstream && (base.ends_with("_like") || base == "fill"))
    return b.replace(b.make("full_like", {b.in(), value}, {{"dtype", out.dtype}}));
  return b.replace(b.full(out.sizes, value, out.dtype));
}

Result<bool> fill_tensor(Builder& b) {
  Value* x = b.in();
  return b.replace(b.expand(b.cast(b.view(b.in("value"), {}), b.dtype(x)), x->type.sizes));
}

// What src holds, converted and broadcast to self.
Result<bool> copy(Builder& b) {
  Value* x = b.in();
  return b.replace(b.expand(b.cast(b.in("src"), b.dtype(x)), x->type.sizes));
}

Result<bool> arange(Builder& b) {
  Arg start = SymInt(0);
  if (b.call.op().overload == "start") start = b.arg("start");
  const Arg dtype = b.upstream ? b.arg("dtype") : Arg(b.out_type().dtype);
  return b.replace(b.make("arange.start_step", {start, b.arg("end")}, {{"dtype", dtype}}));
}

Value* index_like(Builder& b, const SymInt& n, bool column) {
  Value* index = b.arange(n);
  return b.unsqueeze(index, column ? 1 : 0);
}

// true where column - row compares with diagonal.
Value* band(Builder& b, const SymInt& rows, const SymInt& columns, const char* compare, const SymInt& diagonal) {
  if (b.upstream) {
    Value* across = b.unsqueeze(b.arange(columns), -2);
    return b.make(compare, {b.sub(across, b.unsqueeze(b.arange(rows), -1)), diagonal});
  }
  Value* across = index_like(b, columns, false);
  return b.make(compare, {b.sub(across, index_like(b, rows, true)), diagonal});
}

Result<bool> eye(Builder& b) {
  const SymInt n = b.call.sym_int("n");
  const SymInt m = b.call.op().overload == "m" ? b.call.sym_int("m") : n;
  return b.replace(b.cast(band(b, n, m, "eq.Scalar", SymInt(0)), b.out_type().dtype));
}

// The runtime has a kernel for tril; triu zeroes what lies below.
Result<bool> triangle(Builder& b) {
  Value* x = b.in();
  const bool upper = b.base() == "triu";
  if (!upper && !b.upstream) return false;
  const SymInt diagonal = b.call.sym_int("diagonal");
  Value* inside = band(b, b.size(x, -2), b.size(x, -1), upper ? "ge.Scalar" : "le.Scalar", diagonal);
  if (b.dtype(x) == DType::Bool)
    return b.replace(b.make("logical_and", b.upstream ? std::vector<Arg>{inside, x} : std::vector<Arg>{x, inside}));
  return b.replace(b.where(inside, x, b.upstream ? Arg(SymInt(0)) : Arg(SymInt(0)), b.dtype(x)));
}

Result<bool> triangle_indices(Builder& b) {
  const int64_t rows = b.integer("row"), columns = b.integer("col"), offset = b.integer("offset");
  const bool upper = b.base() == "triu_indices";
  std::vector<int64_t> r, c;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (upper ? j - i >= offset : j - i <= offset) {
        r.push_back(i);
        c.push_back(j);
      }
  const auto count = static_cast<int64_t>(r.size());
  r.insert(r.end(), c.begin(), c.end());
  TensorData data = TensorData::of(DType::I64, {2, count}, r);
  return b.replace(b.constant(b.base(), data.converted(b.out_type().dtype)));
}

// start + i * step from the front half, end - (n - 1 - i) * step from the back, as eager does.
std::vector<double> ramp(double start, double end, int64_t n) {
  std::vector<double> out(static_cast<size_t>(n));
  const double step = n > 1 ? (end - start) / static_cast<double>(n - 1) : 0;
  for (int64_t i = 0; i < n; ++i)
    out[static_cast<size_t>(i)] =
        i < n / 2 || n == 1 ? start + step * static_cast<double>(i) : end - step * static_cast<double>(n - 1 - i);
  return out;
}

std::vector<float> ramp32(double start, double end, int64_t n) {
  std::vector<float> out(static_cast<size_t>(n));
  const auto s = static_cast<float>(start), e = static_cast<float>(end);
  const float step = n > 1 ? (e - s) / static_cast<float>(n - 1) : 0;
  for (int64_t i = 0; i < n; ++i)
    out[static_cast<size_t>(i)] =
        i < n / 2 || n == 1 ? s + step * static_cast<float>(i) : e - step * static_cast<float>(n - 1 - i);
  return out;
}

Result<bool> linspace(Builder& b) {
  const auto start = literal(b.arg("start")), end = literal(b.arg("end"));
  if (!start || !end) return b.refuse("has ends known only at run time, for which the runtime has no kernel");
  const int64_t n = b.integer("steps");
  const DType d = b.out_type().dtype;
  if (b.base() == "logspace") {
    std::vector<double> values = ramp(*start, *end, n);
    for (double& v : values) v = std::pow(b.call.number("base"), v);
    return b.replace(b.constant("logspace", TensorData::of(DType::F64, {n}, values).converted(d)));
  }
  // In the precision of the result, so that the values are eager's own.
  if (d == DType::F32)
    return b.replace(b.constant("linspace", TensorData::of(DType::F32, {n}, ramp32(*start, *end, n))));
  return b.replace(b.constant("linspace", TensorData::of(DType::F64, {n}, ramp(*start, *end, n)).converted(d)));
}

// Raised cosines and triangles. A periodic window is a symmetric one of one point more without its last.
Result<bool> window(Builder& b) {
  const int64_t n = b.integer("window_length");
  const bool periodic = b.call.op().schema.index_of("periodic") < 0 || b.call.flag("periodic");
  double alpha = b.base() == "hann_window" ? 0.5 : 0.54, beta = b.base() == "hann_window" ? 0.5 : 0.46;
  if (b.call.op().schema.index_of("alpha") >= 0) alpha = b.call.number("alpha");
  if (b.call.op().schema.index_of("beta") >= 0) beta = b.call.number("beta");
  std::vector<double> values;
  const double span = static_cast<double>(periodic ? n : n - 1);
  for (int64_t i = 0; i < n; ++i) {
    const double t = n == 1 ? 0 : static_cast<double>(i) / span;
    if (n == 1)
      values.push_back(1.0);
    else if (b.base() == "bartlett_window")
      values.push_back(1.0 - std::fabs(2 * t - 1));
    else if (b.base() == "blackman_window")
      values.push_back(0.42 - 0.5 * std::cos(2 * M_PI * t) + 0.08 * std::cos(4 * M_PI * t));
    else
      values.push_back(alpha - beta * std::cos(2 * M_PI * t));
  }
  return b.replace(b.constant(b.base(), TensorData::of(DType::F64, {n}, values).converted(b.out_type().dtype)));
}

// A symbolic or produced number stays; a literal becomes a constant.
Result<bool> scalar_tensor(Builder& b) {
  if (b.upstream || !literal(b.arg("s"))) return false;
  return b.replace(b.number_tensor(b.arg("s"), b.out_type().dtype));
}

Result<bool> random_like(Builder& b) {
  const char* name = b.base() == "rand_like" ? "rand" : "randn";
  return b.replace(b.make(name, {IntList(b.out_type().sizes)}, {{"dtype", b.out_type().dtype}}));
}

Result<bool> shape_as_tensor(Builder& b) {
  std::vector<Value*> parts;
  for (const SymInt& size : b.in()->type.sizes) parts.push_back(b.view(b.number_tensor(size, DType::I64), {SymInt(1)}));
  if (parts.empty()) return b.replace(b.full({SymInt(0)}, SymInt(0), DType::I64));
  return b.replace(b.cat(parts, 0));
}

constexpr Entry kEntries[] = {
    {"zeros", filled},
    {"ones", filled},
    {"zeros_like", filled},
    {"ones_like", filled},
    {"full_like", filled, kEdge},
    {"empty_like", filled},
    {"empty.memory_format", filled, kEdge},
    {"empty_permuted", filled},
    {"empty_strided", filled},
    {"new_zeros", filled},
    {"new_ones", filled},
    {"new_full", filled},
    {"new_empty", filled},
    {"new_empty_strided", filled},
    {"fill.Scalar", filled},
    {"fill.Tensor", fill_tensor},
    {"zero", filled},
    {"copy", copy, kEdge},
    {"arange", arange},
    {"arange.start", arange},
    {"eye", eye},
    {"eye.m", eye},
    {"tril", triangle, kUpstream},
    {"triu", triangle},
    {"tril_indices", triangle_indices},
    {"triu_indices", triangle_indices},
    {"linspace", linspace},
    {"logspace", linspace},
    {"hann_window", window},
    {"hann_window.periodic", window},
    {"hamming_window", window},
    {"hamming_window.periodic", window},
    {"hamming_window.periodic_alpha", window},
    {"hamming_window.periodic_alpha_beta", window},
    {"blackman_window", window},
    {"blackman_window.periodic", window},
    {"bartlett_window", window},
    {"bartlett_window.periodic", window},
    {"scalar_tensor", scalar_tensor, kEdge},
    {"rand_like", random_like},
    {"randn_like", random_like},
    {"_shape_as_tensor", shape_as_tensor},
};

}  // namespace

std::span<const Entry> create_entries() { return kEntries; }

}  // namespace edgelift::edge
