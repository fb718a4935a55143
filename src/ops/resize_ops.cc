// Resampling: upsample_*, grid_sampler, pixel_shuffle and channel_shuffle.
#include <algorithm>
#include <cmath>

#include "ops/families.h"
#include "ops/lower_util.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using ir::Shape;
using ir::Type;

const ir::Value* input_of(const Call& c) { return c.tensor(c.op().schema.index_of("input") >= 0 ? "input" : "self"); }

size_t spatial_dims(const Call& c) {
  const std::string& base = c.op().base;
  return base.find("1d") != std::string::npos ? 1 : base.find("3d") != std::string::npos ? 3 : 2;
}

// floor(size * scale). A symbolic size needs a scale that is a fraction with a power of two below.
Result<SymInt> scaled_size(const SymInt& size, double scale) {
  if (!(scale > 0) || !std::isfinite(scale))
    return input_error("a scale factor of " + number_text(scale) + " is not positive");
  if (size.is_const()) return SymInt(static_cast<int64_t>(static_cast<double>(size.value()) * scale));
  int64_t denominator = 1;
  while (denominator < 1024 &&
         scale * static_cast<double>(denominator) != std::floor(scale * static_cast<double>(denominator)))
    denominator *= 2;
  const double numerator = scale * static_cast<double>(denominator);
  if (numerator != std::floor(numerator))
    return input_error("a dynamic size times " + number_text(scale) + " has no exact form");
  return SymInt::floordiv(size * SymInt(static_cast<int64_t>(numerator)), SymInt(denominator));
}

// Scale factors that the call names, one a spatial dim; empty where sizes decide alone.
std::vector<double> scales_of(const Call& c) {
  const ir::Schema& schema = c.op().schema;
  std::vector<double> scales;
  if (schema.index_of("scale_factors") >= 0) {
    if (c.has("scale_factors")) scales = std::get<std::vector<double>>(c.arg("scale_factors"));
    return scales;
  }
  for (const std::string_view name : {"scales", "scales_d", "scales_h", "scales_w"}) {
    if (schema.index_of(name) < 0) continue;
    if (!c.has(name)) return {};
    scales.push_back(c.number(name));
  }
  return scales;
}

Types infer_upsample(const Call& c) {
  Type type = input_of(c)->type;
  const size_t spatial = spatial_dims(c);
  if (type.sizes.size() != spatial + 2)
    return input_error("an upsampling over " + std::to_string(spatial) + " dims does not take a tensor of shape " +
                       sizes_text(type.sizes));
  if (c.has("output_size")) {
    const ir::IntList& sizes = c.ints("output_size");
    if (sizes.size() != spatial) return input_error("output_size of an upsampling has the wrong length");
    std::copy(sizes.begin(), sizes.end(), type.sizes.begin() + 2);
  } else {
    const std::vector<double> scales = scales_of(c);
    if (scales.size() != spatial) return input_error("an upsampling has neither output_size nor a scale factor a dim");
    for (size_t i = 0; i < spatial; ++i) {
      EL_TRY(type.sizes[2 + i], scaled_size(type.sizes[2 + i], scales[i]));
    }
  }
  for (const SymInt& size : type.sizes)
    if (size.is_const() && size.value() < 0) return input_error("an upsampling has a negative output size");
  return one(std::move(type));
}

Types infer_grid_sampler(const Call& c) {
  const Type& input = c.type("input");
  const Type& grid = c.type("grid");
  if (input.rank() != grid.rank() || input.rank() < 4)
    return input_error("a grid of shape " + sizes_text(grid.sizes) + " does not fit an input of shape " +
                       sizes_text(input.sizes));
  Shape shape{input.sizes[0], input.sizes[1]};
  shape.insert(shape.end(), grid.sizes.begin() + 1, grid.sizes.end() - 1);
  return one(input.dtype, std::move(shape));
}

Types infer_affine_grid(const Call& c) {
  const ir::IntList& size = c.ints("size");
  if (size.size() != 4 && size.size() != 5) return input_error("affine_grid_generator takes 4 or 5 sizes");
  Shape shape{size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.emplace_back(static_cast<int64_t>(size.size()) - 2);
  return one(c.type("theta").dtype, std::move(shape));
}

Types infer_pixel_shuffle(const Call& c) {
  Type type = c.type("self");
  const int64_t r = c.integer("upscale_factor");
  if (type.rank() < 3 || r < 1)
    return input_error("pixel_shuffle takes a tensor of rank 3 or more and a positive factor");
  SymInt* dims = &type.sizes[type.sizes.size() - 3];
  if (dims[0].is_const() && dims[0].value() % (r * r) != 0)
    return input_error(dims[0].str() + " channels do not divide by the square of the factor " + std::to_string(r));
  dims[0] = SymInt::floordiv(dims[0], SymInt(r * r));
  dims[1] = dims[1] * SymInt(r);
  dims[2] = dims[2] * SymInt(r);
  type.dim_order.clear();
  return one(std::move(type));
}

Types infer_pixel_unshuffle(const Call& c) {
  Type type = c.type("self");
  const int64_t r = c.integer("downscale_factor");
  if (type.rank() < 3 || r < 1)
    return input_error("pixel_unshuffle takes a tensor of rank 3 or more and a positive factor");
  SymInt* dims = &type.sizes[type.sizes.size() - 3];
  for (int i = 1; i <= 2; ++i) {
    if (dims[i].is_const() && dims[i].value() % r != 0)
      return input_error("a size of " + dims[i].str() + " does not divide by the factor " + std::to_string(r));
    dims[i] = SymInt::floordiv(dims[i], SymInt(r));
  }
  dims[0] = dims[0] * SymInt(r * r);
  type.dim_order.clear();
  return one(std::move(type));
}

Types infer_channel_shuffle(const Call& c) {
  Type type = c.type("self");
  const int64_t groups = c.integer("groups");
  if (type.rank() < 3 || groups < 1 || (type.sizes[1].is_const() && type.sizes[1].value() % groups != 0))
    return input_error("channels of a tensor of shape " + sizes_text(type.sizes) + " do not divide into " +
                       std::to_string(groups) + " groups");
  return one(std::move(type));
}

Types infer_im2col(const Call& c) {
  const Type& self = c.type("self");
  if (self.rank() != 3 && self.rank() != 4)
    return input_error("im2col takes a tensor of rank 3 or 4, not " + sizes_text(self.sizes));
  std::vector<int64_t> lists[4];
  constexpr std::string_view kNames[] = {"kernel_size", "dilation", "padding", "stride"};
  for (size_t i = 0; i < 4; ++i) {
    lists[i] = repeat_to(c.integers(kNames[i]), 2);
    if (lists[i].size() != 2) return input_error(std::string(kNames[i]) + " of im2col has the wrong length");
  }
  const size_t first = self.sizes.size() - 3;
  SymInt blocks(1), channels = self.sizes[first];
  for (size_t i = 0; i < 2; ++i) {
    EL_TRY(const SymInt count,
           conv_size(self.sizes[first + 1 + i], lists[0][i], lists[3][i], 2 * lists[2][i], lists[1][i]));
    blocks = blocks * count;
    channels = channels * SymInt(lists[0][i]);
  }
  Shape shape(self.sizes.begin(), self.sizes.begin() + static_cast<ptrdiff_t>(first));
  shape.push_back(channels);
  shape.push_back(blocks);
  return one(self.dtype, std::move(shape));
}

Types infer_col2im(const Call& c) {
  const Type& self = c.type("self");
  const std::vector<int64_t> kernel = repeat_to(c.integers("kernel_size"), 2);
  const ir::IntList& sizes = c.ints("output_size");
  if ((self.rank() != 2 && self.rank() != 3) || kernel.size() != 2 || sizes.size() != 2)
    return input_error("col2im does not take a tensor of shape " + sizes_text(self.sizes));
  Shape shape(self.sizes.begin(), self.sizes.end() - 2);
  shape.push_back(SymInt::floordiv(self.sizes[self.sizes.size() - 2], SymInt(kernel[0] * kernel[1])));
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  return one(self.dtype, std::move(shape));
}

// ---- lowering ----

// The runtime's coordinates come from the two sizes. Eager's come from the scale factor where one is given, which is
// the same only if the factor is exactly the ratio.
LowerResult check_scales(const Call& c) {
  const std::vector<double> scales = scales_of(c);
  const Shape& in = input_of(c)->type.sizes;
  const Shape& out = c.result()->type.sizes;
  for (size_t i = 0; i < scales.size(); ++i) {
    const SymInt& from = in[2 + i];
    const SymInt& to = out[2 + i];
    if (!from.is_const() || !to.is_const()) continue;
    if (static_cast<double>(from.value()) * scales[i] != static_cast<double>(to.value()))
      return refuse(Code::Attribute, "the scale factor " + number_text(scales[i]) + " is not the ratio of the sizes " +
                                         to.str() + " and " + from.str() +
                                         ", from which XNNPACK takes its coordinates");
  }
  return std::nullopt;
}

LowerResult lower_bilinear(const Call& c, XnnBuilder& b) {
  const ir::Value* input = input_of(c);
  const ir::Value* result = c.result();
  for (size_t i = 2; i < 4; ++i)
    if (!result->type.sizes[i].is_const() || !input->type.sizes[i].is_const())
      return refuse(Code::Dynamic, "XNNPACK resizes to fixed sizes only");
  if (auto refused = check_scales(c)) return refused;
  const uint32_t in = b.to_nhwc(b.value(input));
  const Shape& sizes = result->type.sizes;
  const uint32_t out = b.temp(result->type.dtype, {sizes[0], sizes[2], sizes[3], sizes[1]});
  xnn::Node& node = b.node(xnn::Kind::StaticResizeBilinear2D, {in}, {out});
  node.new_height = static_cast<uint32_t>(sizes[2].value());
  node.new_width = static_cast<uint32_t>(sizes[3].value());
  node.flags = c.flag("align_corners") ? xnn::kFlagAlignCorners : 0;
  b.from_nhwc(out, b.define(result));
  return std::nullopt;
}

// Whether nearest takes each source element exactly k times, in eager's own float arithmetic.
bool repeats_exactly(int64_t from, int64_t factor, bool exact, std::optional<double> scale) {
  if (!exact && factor <= 2) return true;  // eager takes these by the sizes, whatever the scale factor says
  const int64_t to = from * factor;
  const float step = scale ? static_cast<float>(1.0 / *scale) : static_cast<float>(from) / static_cast<float>(to);
  for (int64_t at = 0; at < to; ++at) {
    const float position = exact ? (static_cast<float>(at) + 0.5F) * step : static_cast<float>(at) * step;
    if (std::min(static_cast<int64_t>(std::floor(position)), from - 1) != at / factor) return false;
  }
  return true;
}

// Nearest by whole factors: [.., H, 1, W, 1] times ones of [kh, 1, kw].
LowerResult lower_nearest(const Call& c, XnnBuilder& b) {
  const ir::Value* input = input_of(c);
  const ir::Value* result = c.result();
  const size_t spatial = spatial_dims(c);
  const bool exact = c.op().base.find("exact") != std::string::npos;
  const std::vector<double> scales = scales_of(c);
  const Shape& from = input->type.sizes;
  const Shape& to = result->type.sizes;
  std::vector<int64_t> factors(spatial);
  for (size_t i = 0; i < spatial; ++i) {
    if (!from[2 + i].is_const() || !to[2 + i].is_const())
      return refuse(Code::Dynamic, "a resized dim has a dynamic size");
    const int64_t in = from[2 + i].value(), out = to[2 + i].value();
    if (out % in != 0 || out > 65536 ||
        !repeats_exactly(in, out / in, exact, scales.empty() ? std::nullopt : std::optional(scales[i])))
      return refuse(Code::Attribute, "XNNPACK has no nearest resampling; only whole factors can be expressed, not " +
                                         std::to_string(in) + " to " + std::to_string(out));
    factors[i] = out / in;
  }
  const SymInt planes = from[0] * from[1];
  if (!reshapable(to)) return refuse(Code::Dynamic, "it needs a reshape with more than one dynamic size");
  const DType dtype = result->type.dtype;
  uint32_t value = b.value(input);
  SymInt lead = planes;
  size_t first = 0;
  if (spatial == 3) {  // the outermost dim on its own: rank 7 would be needed for all three at once
    const SymInt rest = from[3] * from[4];
    if (factors[0] != 1) value = repeat_middle(b, value, dtype, planes * from[2], factors[0], rest);
    lead = planes * to[2];
    first = 1;
  }
  const bool two = spatial - first == 2;
  Shape split{lead}, repeated{lead};
  std::vector<int64_t> ones;
  for (size_t i = first; i < spatial; ++i) {
    split.push_back(from[2 + i]);
    split.emplace_back(1);
    repeated.push_back(from[2 + i]);
    repeated.emplace_back(factors[i]);
  }
  ones = two ? std::vector<int64_t>{factors[first], 1, factors[first + 1]} : std::vector<int64_t>{factors[first]};
  int64_t count = 1;
  for (const int64_t n : ones) count *= n;
  value = b.reshape(value, split);
  if (count != 1) {
    const TensorData data = TensorData::of(DType::F32, ones, std::vector<float>(static_cast<size_t>(count), 1.0F));
    value = b.binary(xnn::Kind::Multiply, value, b.unpacked(data.converted(dtype)));
  }
  b.reshape(value, to, b.define(result));
  return std::nullopt;
}

// reshape, transpose, reshape
LowerResult shuffle(const Call& c, XnnBuilder& b, Shape split, std::vector<int64_t> perm) {
  const ir::Value* result = c.result();
  if (!reshapable(split) || !reshapable(result->type.sizes))
    return refuse(Code::Dynamic, "it needs a reshape with more than one dynamic size");
  const uint32_t parts = b.reshape(b.value(c.tensor("self")), std::move(split));
  b.reshape(b.transpose(parts, std::move(perm)), result->type.sizes, b.define(result));
  return std::nullopt;
}

LowerResult lower_pixel_shuffle(const Call& c, XnnBuilder& b) {
  const Shape& out = c.result()->type.sizes;
  const Shape& in = c.type("self").sizes;
  const SymInt r(c.integer("upscale_factor"));
  return shuffle(c, b, {product_of(out, 0, out.size() - 2), r, r, in[in.size() - 2], in.back()}, {0, 3, 1, 4, 2});
}

LowerResult lower_pixel_unshuffle(const Call& c, XnnBuilder& b) {
  const Shape& out = c.result()->type.sizes;
  const Shape& in = c.type("self").sizes;
  const SymInt r(c.integer("downscale_factor"));
  return shuffle(c, b, {product_of(in, 0, in.size() - 2), out[out.size() - 2], r, out.back(), r}, {0, 2, 4, 1, 3});
}

LowerResult lower_channel_shuffle(const Call& c, XnnBuilder& b) {
  const Shape& in = c.type("self").sizes;
  const int64_t groups = c.integer("groups");
  return shuffle(c, b, {in[0], SymInt(groups), SymInt::floordiv(in[1], SymInt(groups)), product_of(in, 2, in.size())},
                 {0, 2, 1, 3});
}

// Eager repeats elements evenly where a size stays or doubles, whatever the scale factor says; the kernel follows the
// factor.
std::optional<std::string> check_nearest_kernel(const Call& c) {
  const std::vector<double> scales = scales_of(c);
  const Types types = infer_upsample(c);
  if (!types.ok()) return std::nullopt;
  for (size_t i = 0; i < scales.size(); ++i) {
    const SymInt& from = input_of(c)->type.sizes[2 + i];
    const SymInt& to = (*types)[0].sizes[2 + i];
    if (!from.is_const() || !to.is_const() || (to.value() != from.value() && to.value() != 2 * from.value())) continue;
    if (static_cast<double>(from.value()) * scales[i] != static_cast<double>(to.value()))
      return "the kernel takes its positions from the scale factor " + number_text(scales[i]) +
             ", eager from the sizes";
  }
  return std::nullopt;
}

constexpr std::string_view kShuffle = "at most one size is dynamic on the way";
constexpr std::string_view kFixedSizes = "the sizes are fixed and any scale factor is their ratio";
constexpr std::string_view note_of(std::string_view name) {
  if (name.find("nearest") != std::string_view::npos) return "the sizes are fixed and grow by whole factors";
  if (name == "upsample_bilinear2d") return kFixedSizes;
  return "the delegate resizes two dims bilinearly, and nothing else";
}
constexpr std::string_view kGather = "the delegate cannot address elements by computed positions";

#define UPSAMPLE_VEC(NAME, ALIGN, LOWER, KERNEL, ...)                                                               \
  {                                                                                                                 \
    .schema = "aten::" NAME ".vec(Tensor input, SymInt[]? output_size" ALIGN ", float[]? scale_factors) -> Tensor", \
    .infer = infer_upsample, .lower = LOWER, .kernel = KERNEL,                                                      \
    .note = note_of(NAME) __VA_OPT__(, .kernel_check = __VA_ARGS__)                                                 \
  }
#define UPSAMPLE(NAME, N, ALIGN, SCALES, LOWER)                                                   \
  {                                                                                               \
    .schema = "aten::" NAME "(Tensor self, SymInt[" N "] output_size" ALIGN SCALES ") -> Tensor", \
    .infer = infer_upsample, .lower = LOWER, .note = note_of(NAME)                                \
  }
#define ALIGN_CORNERS ", bool align_corners"
#define SCALES_1D ", float? scales=None"
#define SCALES_2D ", float? scales_h=None, float? scales_w=None"
#define SCALES_3D ", float? scales_d=None, float? scales_h=None, float? scales_w=None"

constexpr OpDef kOps[] = {
    UPSAMPLE_VEC("upsample_nearest1d", "", lower_nearest, ""),
    UPSAMPLE_VEC("upsample_nearest2d", "", lower_nearest, "aten::upsample_nearest2d.vec_out", check_nearest_kernel),
    UPSAMPLE_VEC("upsample_nearest3d", "", lower_nearest, ""),
    UPSAMPLE_VEC("_upsample_nearest_exact1d", "", lower_nearest, ""),
    UPSAMPLE_VEC("_upsample_nearest_exact2d", "", lower_nearest, ""),
    UPSAMPLE_VEC("_upsample_nearest_exact3d", "", lower_nearest, ""),
    UPSAMPLE_VEC("upsample_linear1d", ALIGN_CORNERS, nullptr, ""),
    UPSAMPLE_VEC("upsample_bilinear2d", ALIGN_CORNERS, lower_bilinear, "aten::upsample_bilinear2d.vec_out"),
    UPSAMPLE_VEC("upsample_trilinear3d", ALIGN_CORNERS, nullptr, ""),
    UPSAMPLE_VEC("upsample_bicubic2d", ALIGN_CORNERS, nullptr, ""),
    UPSAMPLE_VEC("_upsample_bilinear2d_aa", ALIGN_CORNERS, nullptr, ""),
    UPSAMPLE_VEC("_upsample_bicubic2d_aa", ALIGN_CORNERS, nullptr, ""),
    UPSAMPLE("upsample_nearest1d", "1", "", SCALES_1D, lower_nearest),
    UPSAMPLE("upsample_nearest2d", "2", "", SCALES_2D, lower_nearest),
    UPSAMPLE("upsample_nearest3d", "3", "", SCALES_3D, lower_nearest),
    UPSAMPLE("_upsample_nearest_exact1d", "1", "", SCALES_1D, lower_nearest),
    UPSAMPLE("_upsample_nearest_exact2d", "2", "", SCALES_2D, lower_nearest),
    UPSAMPLE("_upsample_nearest_exact3d", "3", "", SCALES_3D, lower_nearest),
    UPSAMPLE("upsample_linear1d", "1", ALIGN_CORNERS, SCALES_1D, nullptr),
    UPSAMPLE("upsample_bilinear2d", "2", ALIGN_CORNERS, SCALES_2D, lower_bilinear),
    UPSAMPLE("upsample_trilinear3d", "3", ALIGN_CORNERS, SCALES_3D, nullptr),
    UPSAMPLE("upsample_bicubic2d", "2", ALIGN_CORNERS, SCALES_2D, nullptr),
    {.schema =
         "aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? scales_h=None, "
         "float? scales_w=None) -> Tensor",
     .infer = infer_upsample,
     .kernel = "aten::_upsample_bilinear2d_aa.out",
     .note = note_of("aa")},
    UPSAMPLE("_upsample_bicubic2d_aa", "2", ALIGN_CORNERS, SCALES_2D, nullptr),
    {.schema = "aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
               "align_corners) -> Tensor",
     .infer = infer_grid_sampler,
     .note = kGather},
    {.schema = "aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
               "align_corners) -> Tensor",
     .infer = infer_grid_sampler,
     .kernel = "aten::grid_sampler_2d.out",
     .note = kGather},
    {.schema = "aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
               "align_corners) -> Tensor",
     .infer = infer_grid_sampler,
     .note = kGather},
    {.schema = "aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor",
     .infer = infer_affine_grid},
    {.schema = "aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
     .infer = infer_pixel_shuffle,
     .lower = lower_pixel_shuffle,
     .kernel = "aten::pixel_shuffle.out",
     .note = kShuffle},
    {.schema = "aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
     .infer = infer_pixel_unshuffle,
     .lower = lower_pixel_unshuffle,
     .kernel = "aten::pixel_unshuffle.out",
     .note = kShuffle},
    {.schema = "aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor",
     .infer = infer_channel_shuffle,
     .lower = lower_channel_shuffle,
     .note = kShuffle},
    {.schema = "aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor",
     .infer = infer_channel_shuffle,
     .lower = lower_channel_shuffle,
     .note = kShuffle},
    {.schema =
         "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
     .infer = infer_im2col},
    {.schema = "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, "
               "int[2] stride) -> Tensor",
     .infer = infer_col2im},
};

}  // namespace

std::span<const OpDef> resize_ops() { return kOps; }

}  // namespace edgelift::ops
