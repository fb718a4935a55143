// Convolutions. Every overload is read into one Convolution; shape rule and lowering work on that.
#include <algorithm>

#include "ops/families.h"
#include "ops/lower_util.h"

namespace edgelift::ops {
namespace {

using Code = Refusal::Code;
using ir::Shape;
using ir::Type;

struct Convolution {
  const ir::Value* input = nullptr;
  const ir::Value* weight = nullptr;
  const ir::Value* bias = nullptr;
  std::vector<int64_t> stride, dilation, output_padding;
  std::vector<int64_t> before, after;  // padding on both sides of each spatial dim
  bool transposed = false;
  int64_t groups = 1;

  size_t spatial() const { return stride.size(); }
  bool batched() const { return input->type.sizes.size() == spatial() + 2; }
  int64_t kernel(size_t i) const { return weight->type.sizes.at(i + 2).value(); }
};

Result<std::vector<int64_t>> spatial_list(const Call& c, std::string_view name, size_t count, int64_t least) {
  if (c.is_symbolic(name)) return input_error(std::string(name) + " of a convolution is not a number");
  std::vector<int64_t> list = repeat_to(c.integers(name), count);
  if (list.size() != count)
    return input_error(std::string(name) + " of a convolution has " + std::to_string(list.size()) + " entries for " +
                       std::to_string(count) + " spatial dims");
  if (std::any_of(list.begin(), list.end(), [least](int64_t v) { return v < least; }))
    return input_error(std::string(name) + " of a convolution is too small");
  return list;
}

bool schema_has(const Call& c, std::string_view name) { return c.op().schema.index_of(name) >= 0; }

Result<Convolution> read(const Call& c) {
  Convolution conv;
  conv.input = c.tensor(schema_has(c, "input") ? "input" : "self");
  conv.weight = c.tensor("weight");
  conv.bias = c.opt_tensor("bias");
  const int64_t weight_rank = conv.weight->type.rank();
  if (weight_rank < 3 || weight_rank > 5)
    return input_error("a convolution's weight has rank 3 to 5, not " + sizes_text(conv.weight->type.sizes));
  const auto spatial = static_cast<size_t>(weight_rank - 2);
  const int64_t rank = conv.input->type.rank();
  if (rank != weight_rank && rank != weight_rank - 1)
    return input_error("an input of shape " + sizes_text(conv.input->type.sizes) +
                       " does not fit a convolution's weight of shape " + sizes_text(conv.weight->type.sizes));
  for (size_t i = 2; i < conv.weight->type.sizes.size(); ++i)
    if (!conv.weight->type.sizes[i].is_const()) return input_error("a convolution's kernel has a dynamic size");
  if (!conv.weight->type.sizes[0].is_const() || !conv.weight->type.sizes[1].is_const())
    return input_error("a convolution's weight has a dynamic number of channels");
  const std::string_view base = c.op().base;
  if (schema_has(c, "groups")) conv.groups = c.integer("groups");
  if (base == "_conv_depthwise2d") conv.groups = conv.weight->type.sizes[0].value();
  if (conv.groups < 1) return input_error("a convolution has groups < 1");
  conv.transposed =
      base.find("transpose") != std::string_view::npos || (schema_has(c, "transposed") && c.flag("transposed"));
  EL_TRY(conv.stride, spatial_list(c, "stride", spatial, 1));
  conv.dilation.assign(spatial, 1);
  if (schema_has(c, "dilation")) {
    EL_TRY(conv.dilation, spatial_list(c, "dilation", spatial, 1));
  }
  conv.output_padding.assign(spatial, 0);
  if (conv.transposed) {
    EL_TRY(conv.output_padding, spatial_list(c, "output_padding", spatial, 0));
    for (size_t i = 0; i < spatial; ++i)
      if (conv.output_padding[i] >= std::max(conv.stride[i], conv.dilation[i]))
        return input_error("output_padding of a transposed convolution is not below its stride or dilation");
  }
  if (std::holds_alternative<std::string>(c.arg("padding"))) {
    const std::string_view padding = c.text("padding");
    if (padding != "valid" && padding != "same")
      return input_error("a convolution's padding is neither 'valid' nor 'same'");
    for (size_t i = 0; i < spatial; ++i) {
      const int64_t total = padding == "same" ? conv.dilation[i] * (conv.kernel(i) - 1) : 0;
      if (padding == "same" && conv.stride[i] != 1) return input_error("padding='same' takes no stride");
      conv.before.push_back(total / 2);
      conv.after.push_back(total - total / 2);
    }
  } else {
    EL_TRY(conv.before, spatial_list(c, "padding", spatial, 0));
    conv.after = conv.before;
  }
  return conv;
}

Types infer_conv(const Call& c) {
  EL_TRY(const Convolution conv, read(c));
  const Shape& input = conv.input->type.sizes;
  const Shape& weight = conv.weight->type.sizes;
  const size_t lead = conv.batched() ? 1 : 0;
  if (conv.input->type.dtype != conv.weight->type.dtype)
    return input_error("a convolution's input is " + std::string(long_name(conv.input->type.dtype)) + ", its weight " +
                       std::string(long_name(conv.weight->type.dtype)));
  const int64_t in_channels = conv.transposed ? weight[0].value() : weight[1].value() * conv.groups;
  if (input[lead].is_const() && input[lead].value() != in_channels)
    return input_error("a convolution's input of shape " + sizes_text(input) + " has " + input[lead].str() +
                       " channels, its weight of shape " + sizes_text(weight) + " with " + std::to_string(conv.groups) +
                       " groups takes " + std::to_string(in_channels));
  const int64_t out_channels = conv.transposed ? weight[1].value() * conv.groups : weight[0].value();
  if (weight[0].value() % conv.groups != 0)
    return input_error("a convolution's channels " + weight[0].str() + " do not divide into " +
                       std::to_string(conv.groups) + " groups");
  if (conv.bias != nullptr && (conv.bias->type.rank() != 1 || !(conv.bias->type.sizes[0] == SymInt(out_channels))))
    return input_error("a convolution's bias of shape " + sizes_text(conv.bias->type.sizes) + " does not fit " +
                       std::to_string(out_channels) + " output channels");
  Shape out(input.begin(), input.begin() + static_cast<ptrdiff_t>(lead));
  out.emplace_back(out_channels);
  for (size_t i = 0; i < conv.spatial(); ++i) {
    const SymInt& size = input[lead + 1 + i];
    if (conv.transposed) {
      EL_TRY(SymInt result, conv_transpose_size(size, conv.kernel(i), conv.stride[i], conv.before[i], conv.dilation[i],
                                                conv.output_padding[i]));
      out.push_back(std::move(result));
    } else {
      EL_TRY(SymInt result,
             conv_size(size, conv.kernel(i), conv.stride[i], conv.before[i] + conv.after[i], conv.dilation[i]));
      out.push_back(std::move(result));
    }
  }
  Type type = Type::tensor(conv.input->type.dtype, std::move(out));
  type.dim_order = conv.input->type.dim_order;
  return one(std::move(type));
}

// Input [time, batch, in], weight [kernel, in, out].
Types infer_conv_tbc(const Call& c) {
  const Shape& self = c.type("self").sizes;
  const Shape& weight = c.type("weight").sizes;
  if (self.size() != 3 || weight.size() != 3 || !weight[0].is_const() || !known_equal(self[2], weight[1]))
    return input_error("conv_tbc takes [time, batch, in] and [kernel, in, out], not " + sizes_text(self) + " and " +
                       sizes_text(weight));
  EL_TRY(const SymInt time, conv_size(self[0], weight[0].value(), 1, 2 * c.integer("pad"), 1));
  return one(c.type("self").dtype, {time, self[1], weight[2]});
}

// The filter as the node reads it, a view of the constant: [oc, kh, kw, ic/g], or [1, kh, kw, oc] where depthwise.
TensorData filter_view(const Convolution& conv, const TensorData& weight, bool depthwise) {
  TensorData w = weight;
  if (conv.spatial() == 1) w = w.reshaped({w.sizes()[0], w.sizes()[1], 1, w.sizes()[2]});
  if (depthwise) {
    constexpr int64_t kPerm[] = {1, 2, 3, 0};
    return w.permuted(kPerm);
  }
  if (!conv.transposed) {
    constexpr int64_t kPerm[] = {0, 2, 3, 1};
    return w.permuted(kPerm);
  }
  const int64_t groups = conv.groups, in = w.sizes()[0] / groups, out = w.sizes()[1], kh = w.sizes()[2],
                kw = w.sizes()[3];
  if (groups == 1) {
    constexpr int64_t kPerm[] = {1, 2, 3, 0};
    return w.permuted(kPerm);
  }
  constexpr int64_t kPerm[] = {0, 2, 3, 4, 1};
  return w.reshaped({groups, in, out, kh, kw}).permuted(kPerm).reshaped({groups * out, kh, kw, in});
}

LowerResult lower_conv(const Call& c, XnnBuilder& b) {
  const auto parsed = read(c);
  EL_CHECK(parsed.ok(), "a convolution that was not verified");
  const Convolution& conv = *parsed;
  if (conv.spatial() == 3) return refuse(Code::NoForm, "XNNPACK has no 3-D convolution");
  const TensorData* weight = constant_data(conv.weight);
  if (weight == nullptr) return refuse(Code::NotConstant, "the convolution's weight is not a constant");
  if (conv.bias != nullptr && constant_data(conv.bias) == nullptr)
    return refuse(Code::NotConstant, "the convolution's bias is not a constant");
  for (size_t i = 0; i < conv.spatial(); ++i)
    if (conv.output_padding[i] >= conv.stride[i] && conv.output_padding[i] > 0)
      return refuse(Code::Attribute, "output_padding " + std::to_string(conv.output_padding[i]) +
                                         " is not below the stride " + std::to_string(conv.stride[i]));
  const bool one_dim = conv.spatial() == 1;
  const ir::Value* result = c.result();
  const Shape& in_shape = conv.input->type.sizes;
  if ((one_dim || !conv.batched()) && (!reshapable(in_shape) || !reshapable(result->type.sizes)))
    return refuse(Code::Dynamic, "it needs a reshape with more than one dynamic size");

  // To [N, H, W, C]: a 1-D convolution is one over W with H = 1; an unbatched one has N = 1.
  uint32_t in = b.value(conv.input);
  const auto perm_of = [&](bool forth) -> std::vector<int64_t> {
    if (one_dim) return conv.batched() ? std::vector<int64_t>{0, 2, 1} : std::vector<int64_t>{1, 0};
    if (!conv.batched()) return forth ? std::vector<int64_t>{1, 2, 0} : std::vector<int64_t>{2, 0, 1};
    return forth ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 3, 1, 2};
  };
  in = b.transpose(in, perm_of(true));
  const bool reshape = one_dim || !conv.batched();
  if (reshape) {
    Shape dims = b.dims(in);
    if (!conv.batched()) dims.insert(dims.begin(), SymInt(1));
    if (one_dim) dims.insert(dims.begin() + 1, SymInt(1));
    in = b.reshape(in, std::move(dims));
  }

  const int64_t in_channels = conv.transposed ? weight->sizes()[0] : weight->sizes()[1] * conv.groups;
  const int64_t out_channels = conv.transposed ? weight->sizes()[1] * conv.groups : weight->sizes()[0];
  const bool depthwise = !conv.transposed && in_channels == conv.groups;
  TensorData filter_data = filter_view(conv, *weight, depthwise);
  // XNNPACK's float16 deconvolution takes its weights in float32.
  const bool widen = conv.transposed && weight->dtype() == DType::F16;
  const uint32_t filter = b.packed(widen ? filter_data.converted(DType::F32) : std::move(filter_data));
  const uint32_t bias = widen && conv.bias != nullptr ? b.packed(constant_data(conv.bias)->converted(DType::F32))
                                                      : packed_or_value(b, conv.bias);

  Shape out_dims = result->type.sizes;  // [N, C, …]
  if (!conv.batched()) out_dims.insert(out_dims.begin(), SymInt(1));
  if (one_dim) out_dims.insert(out_dims.begin() + 2, SymInt(1));
  const uint32_t out = b.temp(result->type.dtype, {out_dims[0], out_dims[2], out_dims[3], out_dims[1]});
  const xnn::Kind kind = conv.transposed ? xnn::Kind::ConvTranspose2d
                         : depthwise     ? xnn::Kind::DepthwiseConv2d
                                         : xnn::Kind::Conv2d;
  xnn::Window& window = b.node(kind, {in, filter, bias}, {out}).window;
  const size_t w = conv.spatial() - 1;
  const auto u32 = [](int64_t value) { return static_cast<uint32_t>(value); };
  window.pad_left = u32(conv.before[w]);
  window.pad_right = u32(conv.after[w]);
  window.kernel_w = u32(conv.kernel(w));
  window.stride_w = u32(conv.stride[w]);
  window.dilation_w = u32(conv.dilation[w]);
  window.adjustment_w = u32(conv.output_padding[w]);
  if (!one_dim) {
    window.pad_top = u32(conv.before[0]);
    window.pad_bottom = u32(conv.after[0]);
    window.kernel_h = u32(conv.kernel(0));
    window.stride_h = u32(conv.stride[0]);
    window.dilation_h = u32(conv.dilation[0]);
    window.adjustment_h = u32(conv.output_padding[0]);
  }
  window.groups = u32(conv.groups);
  window.group_input_channels = u32(in_channels / conv.groups);
  window.group_output_channels = u32(out_channels / conv.groups);

  uint32_t back = out;
  if (reshape) {
    Shape dims = b.dims(out);
    if (one_dim) dims.erase(dims.begin() + 1);
    if (!conv.batched()) dims.erase(dims.begin());
    back = b.reshape(out, std::move(dims));
  }
  b.transpose(back, perm_of(false), b.define(result));
  return std::nullopt;
}

// The kernel convolves over one or two dims of a batch.
std::optional<std::string> check_kernel(const Call& c) {
  const int64_t rank = c.type("input").rank();
  if (c.type("weight").rank() > 4) return "the kernel convolves over one or two dims, not three";
  if (rank != c.type("weight").rank()) return "the kernel takes no input without a batch dim";
  return std::nullopt;
}

constexpr std::string_view kConditions =
    "filter and bias are constants, over one or two dims, with an output_padding below the stride";

#define CONV(N, ONES, ZEROS)                                                                                          \
  {.schema = "aten::conv" #N "d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[" #N "] stride=" ONES          \
             ", SymInt[" #N "] padding=" ZEROS ", SymInt[" #N "] dilation=" ONES ", SymInt groups=1) -> Tensor",      \
   .infer = infer_conv,                                                                                               \
   .lower = lower_conv,                                                                                               \
   .note = kConditions},                                                                                              \
  {                                                                                                                   \
    .schema = "aten::conv" #N "d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[" #N "] stride=" ONES \
              ", str padding=\"valid\", SymInt[" #N "] dilation=" ONES ", SymInt groups=1) -> Tensor",                \
    .infer = infer_conv, .lower = lower_conv, .note = kConditions                                                     \
  }
#define CONV_TRANSPOSE(N, OVERLOAD, ONES, ZEROS)                                                                   \
  {                                                                                                                \
    .schema = "aten::conv_transpose" #N "d" OVERLOAD "(Tensor input, Tensor weight, Tensor? bias=None, SymInt[" #N \
              "] stride=" ONES ", SymInt[" #N "] padding=" ZEROS ", SymInt[" #N "] output_padding=" ZEROS          \
              ", SymInt groups=1, SymInt[" #N "] dilation=" ONES ") -> Tensor",                                    \
    .infer = infer_conv, .lower = lower_conv, .note = kConditions                                                  \
  }

constexpr OpDef kOps[] = {
    {.schema = "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
               "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
     .infer = infer_conv,
     .lower = lower_conv,
     .kernel = "aten::convolution.out",
     .note = kConditions,
     .kernel_check = check_kernel},
    CONV(1, "[1]", "[0]"),
    CONV(2, "[1, 1]", "[0, 0]"),
    CONV(3, "[1, 1, 1]", "[0, 0, 0]"),
    CONV_TRANSPOSE(1, "", "[1]", "[0]"),
    CONV_TRANSPOSE(2, ".input", "[1, 1]", "[0, 0]"),
    CONV_TRANSPOSE(3, ".input", "[1, 1, 1]", "[0, 0, 0]"),
    {.schema = "aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
               "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, "
               "bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor",
     .infer = infer_conv,
     .lower = lower_conv,
     .note = kConditions},
    {.schema =
         "aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
         "SymInt[] dilation, bool transposed, int[] output_padding, SymInt groups, bool benchmark, "
         "bool deterministic, bool cudnn_enabled) -> Tensor",
     .infer = infer_conv,
     .lower = lower_conv,
     .note = kConditions},
    {.schema =
         "aten::_conv_depthwise2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, SymInt[2] stride, "
         "SymInt[2] padding, SymInt[2] dilation) -> Tensor",
     .infer = infer_conv,
     .lower = lower_conv,
     .note = kConditions},
    {.schema = "aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
     .infer = infer_conv_tbc,
     .note = "it is a convolution of permuted tensors, which to_edge writes"},
    {.schema = "aten::thnn_conv2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] "
               "stride=[1, 1], "
               "SymInt[2] padding=[0, 0]) -> Tensor",
     .infer = infer_conv,
     .lower = lower_conv,
     .note = kConditions},
};

}  // namespace

std::span<const OpDef> conv_ops() { return kOps; }

}  // namespace edgelift::ops
