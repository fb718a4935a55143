// Resampling. The kernels are upsample_bilinear2d.vec and upsample_nearest2d.vec; every other kind is linear in its
// input and works on one dim at a time, so it is a matrix product with constant weights (or, for nearest, a constant
// index).
#include <algorithm>
#include <cmath>

#include "edge/resize.h"
#include "edge/table.h"

namespace edgelift::edge {
namespace {

enum class Kind : uint8_t { Nearest, NearestExact, Linear, Cubic, LinearAa, CubicAa };

struct Request {
  int64_t first = 2;             // the first resized dim
  std::vector<int64_t> in, out;  // sizes
  std::vector<double> scales;    // scale factors given, 0 where not
  bool align_corners = false;
};

Result<Request> request_of(Builder& b, Value* x, int64_t n) {
  Request r;
  r.first = b.rank(x) - n;
  const ir::Schema& schema = b.call.op().schema;
  if (schema.index_of("align_corners") >= 0) r.align_corners = b.call.flag("align_corners");
  for (int64_t i = 0; i < n; ++i) {
    const SymInt in = b.size(x, r.first + i), out = b.out_type().sizes.at(static_cast<size_t>(r.first + i));
    if (!in.is_const() || !out.is_const())
      return b.refuse("resizes a dynamic dim, for which the runtime has no kernel; export it with fixed sizes");
    r.in.push_back(in.value());
    r.out.push_back(out.value());
  }
  r.scales.assign(static_cast<size_t>(n), 0);
  if (schema.index_of("scale_factors") >= 0) {
    if (const auto* given = std::get_if<std::vector<double>>(&b.arg("scale_factors")))
      for (size_t i = 0; i < given->size() && i < r.scales.size(); ++i) r.scales[i] = (*given)[i];
  } else {
    static constexpr std::string_view kNames[] = {"scales_d", "scales_h", "scales_w"};
    if (n == 1 && schema.index_of("scales") >= 0) r.scales[0] = b.call.opt_number("scales").value_or(0);
    for (int64_t i = 0; i < n; ++i) {
      const std::string_view name = kNames[3 - n + i];
      if (n > 1 && schema.index_of(name) >= 0) r.scales[static_cast<size_t>(i)] = b.call.opt_number(name).value_or(0);
    }
  }
  return r;
}

// Input units an output step covers.
double ratio(const Request& r, size_t i) {
  if (r.align_corners) return r.out[i] > 1 ? static_cast<double>(r.in[i] - 1) / static_cast<double>(r.out[i] - 1) : 0.0;
  if (r.scales[i] > 0) return 1.0 / r.scales[i];
  return static_cast<double>(r.in[i]) / static_cast<double>(r.out[i]);
}

double cubic_near(double x) { return ((-0.75 + 2) * x - (-0.75 + 3)) * x * x + 1; }
double cubic_far(double x) { return ((-0.75 * x + 5 * 0.75) * x - 8 * 0.75) * x + 4 * 0.75; }

// Weights [out, in] of one dim. Coordinates in f32, as eager computes them.
std::vector<float> weights(Kind kind, const Request& r, size_t i) {
  const int64_t in = r.in[i], out = r.out[i];
  std::vector<double> w(static_cast<size_t>(in * out), 0.0);
  const auto add = [&](int64_t o, int64_t at, double value) {
    w[static_cast<size_t>(o * in + std::clamp<int64_t>(at, 0, in - 1))] += value;
  };
  const auto scale = static_cast<float>(ratio(r, i));
  for (int64_t o = 0; o < out; ++o) {
    if (kind == Kind::LinearAa || kind == Kind::CubicAa) {
      const double support = (kind == Kind::CubicAa ? 2.0 : 1.0) * std::max(1.0, static_cast<double>(scale));
      const double centre = scale * (static_cast<double>(o) + 0.5), shrink = scale >= 1 ? 1.0 / scale : 1.0;
      const auto first = std::max<int64_t>(static_cast<int64_t>(centre - support + 0.5), 0);
      const auto last = std::min<int64_t>(static_cast<int64_t>(centre + support + 0.5), in);
      std::vector<double> taps;
      double total = 0;
      for (int64_t at = first; at < last; ++at) {
        const double d = std::fabs((static_cast<double>(at) - centre + 0.5) * shrink);
        double tap = 0;
        if (kind == Kind::LinearAa)
          tap = d < 1 ? 1 - d : 0;
        else if (d < 1)
          tap = ((-0.5 + 2) * d - (-0.5 + 3)) * d * d + 1;
        else if (d < 2)
          tap = (((d - 5) * d + 8) * d - 4) * -0.5;
        taps.push_back(tap);
        total += tap;
      }
      for (size_t k = 0; k < taps.size(); ++k) add(o, first + static_cast<int64_t>(k), taps[k] / total);
      continue;
    }
    const float at = r.align_corners ? scale * static_cast<float>(o) : scale * (static_cast<float>(o) + 0.5F) - 0.5F;
    if (kind == Kind::Linear) {
      const float x = std::max(at, 0.0F);
      const auto low = std::min<int64_t>(static_cast<int64_t>(x), in - 1);
      const double t = x - static_cast<float>(low);
      add(o, low, 1 - t);
      add(o, low + 1, t);
    } else {
      const auto low = static_cast<int64_t>(std::floor(at));
      const double t = at - static_cast<float>(low);
      add(o, low - 1, cubic_far(t + 1));
      add(o, low, cubic_near(t));
      add(o, low + 1, cubic_near(1 - t));
      add(o, low + 2, cubic_far(2 - t));
    }
  }
  return {w.begin(), w.end()};
}

// One dim after the other.
Value* resample(Builder& b, Value* x, Kind kind, const Request& r) {
  const DType d = b.dtype(x);
  const bool index = kind == Kind::Nearest || kind == Kind::NearestExact;
  if (!index && d != DType::F64) x = b.cast(x, DType::F32);
  for (size_t i = r.in.size(); i-- > 0;) {
    const int64_t dim = r.first + static_cast<int64_t>(i);
    const int64_t in = r.in[i], out = r.out[i];
    if (index) {
      const auto scale = r.scales[i] > 0 ? std::optional(r.scales[i]) : std::nullopt;
      const auto at = nearest_places(in, out, scale, kind == Kind::NearestExact);
      if (in == out && at == iota(in)) continue;
      x = b.make("index_select", {x, SymInt(dim), b.constant("resize_index", TensorData::of(DType::I64, {out}, at))});
      continue;
    }
    std::vector<float> w = weights(kind, r, i);
    const bool last = dim == b.rank(x) - 1;
    // [.., in] times [in, out] for the last dim, [out, in] times [.., in, rest] for another.
    SymInt before = 1, after = 1;
    for (int64_t k = 0; k < dim; ++k) before = before * b.size(x, k);
    for (int64_t k = dim + 1; k < b.rank(x); ++k) after = after * b.size(x, k);
    const Shape to = with_size(x->type.sizes, dim, SymInt(out));
    if (last) {
      std::vector<float> t(w.size());
      for (int64_t o = 0; o < out; ++o)
        for (int64_t k = 0; k < in; ++k) t[static_cast<size_t>(k * out + o)] = w[static_cast<size_t>(o * in + k)];
      Value* matrix = b.constant("resize_weight", TensorData::of(DType::F32, {in, out}, t).converted(b.dtype(x)));
      x = b.view(b.mm(b.view(x, {before, SymInt(in)}), matrix), to);
    } else {
      Value* matrix = b.constant("resize_weight", TensorData::of(DType::F32, {1, out, in}, w).converted(b.dtype(x)));
      x = b.view(b.make("matmul", {matrix, b.view(x, {before, SymInt(in), after})}), to);
    }
  }
  return b.cast(x, d);
}

template <Kind kind, int64_t n>
Result<bool> resize(Builder& b) {
  Value* x = std::get<Value*>(b.node().args.at(0));
  EL_TRY(const Request r, request_of(b, x, n));
  Value* out = resample(b, x, kind, r);
  // Eager rounds where the input is uint8.
  return b.replace(out);
}

// The kernel goes by the scale factor alone.
Result<bool> nearest2d(Builder& b) {
  if (b.upstream && !b.legal) return false;
  if (b.legal) return resize<Kind::Nearest, 2>(b);
  Value* x = b.in("input");
  const auto* given = std::get_if<std::vector<double>>(&b.arg("scale_factors"));
  if (given == nullptr || !x->type.is_static() || given->size() != 2) return false;
  for (int64_t i = 0; i < 2; ++i) {
    const int64_t in = b.size(x, i - 2).value(),
                  out = b.out_type().sizes[static_cast<size_t>(b.rank(x) - 2 + i)].value();
    const double scale = (*given)[static_cast<size_t>(i)];
    if ((out == in && scale != 1) || (out == 2 * in && scale != 2)) return resize<Kind::Nearest, 2>(b);
  }
  return false;
}

// 2-d forms with a kernel, given with output_size and scales beside each other.
template <bool kLinear>
Result<bool> to_vec(Builder& b) {
  Value* x = b.in();
  std::vector<double> scales;
  for (const char* name : {"scales_h", "scales_w"})
    if (const auto scale = b.call.opt_number(name)) scales.push_back(*scale);
  const Arg size = scales.size() == 2 ? Arg() : b.arg("output_size");
  const Arg factors = scales.size() == 2 ? Arg(scales) : Arg();
  // The factors must give the size that is asked for; else the size decides.
  if (scales.size() == 2) {
    for (int64_t i = 0; i < 2; ++i) {
      const SymInt in = b.size(x, i - 2), out = b.out_type().sizes[static_cast<size_t>(b.rank(x) - 2 + i)];
      if (!in.is_const() || !out.is_const() ||
          static_cast<int64_t>(std::floor(static_cast<double>(in.value()) * scales[static_cast<size_t>(i)])) !=
              out.value())
        return b.refuse("has scale factors that do not give its output size");
    }
  }
  if constexpr (kLinear)
    return b.replace(b.make("upsample_bilinear2d.vec", {x, size, b.arg("align_corners"), factors}));
  else
    return b.replace(b.make("upsample_nearest2d.vec", {x, size, factors}));
}

// [N, C, L] as [N, C, 1, L].
template <bool kLinear>
Result<bool> one_dim(Builder& b) {
  Value* x = std::get<Value*>(b.node().args.at(0));
  Value* open = b.unsqueeze(x, 2);
  const ir::Schema& schema = b.call.op().schema;
  double scale = 0;
  if (schema.index_of("scales") >= 0) scale = b.call.opt_number("scales").value_or(0);
  if (schema.index_of("scale_factors") >= 0)
    if (const auto* given = std::get_if<std::vector<double>>(&b.arg("scale_factors"))) scale = given->at(0);
  const Arg size = scale > 0 ? Arg() : Arg(IntList{SymInt(1), b.out_type().sizes[2]});
  const Arg factors = scale > 0 ? Arg(std::vector<double>{1.0, scale}) : Arg();
  Value* out = nullptr;
  if constexpr (kLinear)
    out = b.make("upsample_bilinear2d.vec", {open, size, b.arg("align_corners"), factors});
  else
    out = b.make("upsample_nearest2d.vec", {open, size, factors});
  return b.replace(b.squeeze(out, 2));
}

Result<bool> grid_sampler(Builder& b) {
  if (b.rank(b.in("input")) != 4) return b.refuse("samples a volume, for which the runtime has no kernel");
  return b.replace(b.make("grid_sampler_2d", b.node().args));
}

// Points of the output's grid, in [-1, 1], moved by theta [N, 2, 3].
Result<bool> affine_grid(Builder& b) {
  Value* theta = b.in("theta");
  const auto size = b.call.integers("size");
  const bool align = b.call.flag("align_corners");
  const size_t n = size.size() - 2;
  int64_t count = 1;
  for (size_t i = 0; i < n; ++i) count *= size[i + 2];
  std::vector<float> points;
  for (int64_t k = 0; k < count; ++k) {
    // Coordinates innermost first, then 1.
    int64_t rest = k;
    for (size_t i = n; i-- > 0;) {
      const int64_t length = size[i + 2], at = rest % length;
      rest /= length;
      float v = length > 1 ? -1.0F + 2.0F * static_cast<float>(at) / static_cast<float>(length - 1) : 0.0F;
      if (!align && length > 1) v *= static_cast<float>(length - 1) / static_cast<float>(length);
      points.push_back(v);
    }
    points.push_back(1.0F);
  }
  const auto width = static_cast<int64_t>(n + 1);
  Value* base =
      b.constant("affine_points", TensorData::of(DType::F32, {1, count, width}, points).converted(b.dtype(theta)));
  Value* moved = b.make("matmul", {base, b.transpose(theta, 1, 2)});
  return b.replace(b.view(moved, b.out_type().sizes));
}

constexpr Entry kEntries[] = {
    {"upsample_nearest1d", one_dim<false>},
    {"upsample_nearest1d.vec", one_dim<false>},
    {"upsample_nearest2d", to_vec<false>},
    {"upsample_nearest2d.vec", nearest2d, kEdge | kLegal},
    {"upsample_nearest3d", resize<Kind::Nearest, 3>},
    {"upsample_nearest3d.vec", resize<Kind::Nearest, 3>},
    {"_upsample_nearest_exact1d", resize<Kind::NearestExact, 1>},
    {"_upsample_nearest_exact1d.vec", resize<Kind::NearestExact, 1>},
    {"_upsample_nearest_exact2d", resize<Kind::NearestExact, 2>},
    {"_upsample_nearest_exact2d.vec", resize<Kind::NearestExact, 2>},
    {"_upsample_nearest_exact3d", resize<Kind::NearestExact, 3>},
    {"_upsample_nearest_exact3d.vec", resize<Kind::NearestExact, 3>},
    {"upsample_linear1d", one_dim<true>},
    {"upsample_linear1d.vec", one_dim<true>},
    {"upsample_bilinear2d", to_vec<true>},
    {"upsample_bilinear2d.vec", resize<Kind::Linear, 2>, kLegal},
    {"upsample_trilinear3d", resize<Kind::Linear, 3>},
    {"upsample_trilinear3d.vec", resize<Kind::Linear, 3>},
    {"upsample_bicubic2d", resize<Kind::Cubic, 2>},
    {"upsample_bicubic2d.vec", resize<Kind::Cubic, 2>},
    {"_upsample_bilinear2d_aa", resize<Kind::LinearAa, 2>, kLegal},
    {"_upsample_bilinear2d_aa.vec", resize<Kind::LinearAa, 2>},
    {"_upsample_bicubic2d_aa", resize<Kind::CubicAa, 2>},
    {"_upsample_bicubic2d_aa.vec", resize<Kind::CubicAa, 2>},
    {"grid_sampler", grid_sampler},
    {"affine_grid_generator", affine_grid},
};

}  // namespace

std::vector<int64_t> nearest_places(int64_t in, int64_t out, std::optional<double> scale, bool exact) {
  std::vector<int64_t> at;
  // Eager repeats elements evenly where the sizes allow it, whatever the scale factor says.
  if (!exact && (out == in || out == 2 * in)) {
    for (int64_t o = 0; o < out; ++o) at.push_back(out == in ? o : o / 2);
    return at;
  }
  const auto step = static_cast<float>(scale ? 1.0 / *scale : static_cast<double>(in) / static_cast<double>(out));
  for (int64_t o = 0; o < out; ++o) {
    const float x = exact ? (static_cast<float>(o) + 0.5F) * step : static_cast<float>(o) * step;
    at.push_back(std::min<int64_t>(static_cast<int64_t>(std::floor(x)), in - 1));
  }
  return at;
}

std::span<const Entry> resize_entries() { return kEntries; }

}  // namespace edgelift::edge
