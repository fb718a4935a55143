// Normalisations. Batch norm with fixed statistics is a factor and an addend a channel, which is a depthwise
// convolution of one element in XNNPACK; the others are no node of the delegate and are lifted by passes.
#include <cmath>

#include "ops/families.h"
#include "ops/lower_util.h"

namespace edgelift::ops {
namespace {

using Code = Refusal::Code;
using ir::Shape;
using ir::Type;

Status check_vector(const ir::Value* value, const SymInt& size, std::string_view what) {
  if (value == nullptr) return Ok{};
  const Shape& shape = value->type.sizes;
  if (shape.size() != 1 || (shape[0].is_const() && size.is_const() && shape[0].value() != size.value()))
    return input_error(std::string(what) + " of shape " + sizes_text(shape) + " does not fit " + size.str() +
                       " channels");
  return Ok{};
}

Status check_channels(const Call& c) {
  const Type& input = c.type("input");
  if (input.rank() < 2)
    return input_error("a normalisation over channels takes a tensor of rank 2 or more, not " +
                       sizes_text(input.sizes));
  for (const std::string_view name : {"weight", "bias", "running_mean", "running_var"})
    if (c.op().schema.index_of(name) >= 0) EL_TRY_OK(check_vector(c.opt_tensor(name), input.sizes[1], name));
  return Ok{};
}

Types infer_channel_norm(const Call& c) {
  EL_TRY_OK(check_channels(c));
  return one(c.type("input"));
}

// Saved statistics are empty where the pass uses the running ones.
Types batch_norm_types(const Call& c, bool training) {
  EL_TRY_OK(check_channels(c));
  const Type& input = c.type("input");
  const Type saved = Type::tensor(input.dtype, {training ? input.sizes[1] : SymInt(0)});
  return std::vector<Type>{input, saved, saved};
}
Types infer_batch_norm_eval(const Call& c) { return batch_norm_types(c, false); }
Types infer_batch_norm_native(const Call& c) { return batch_norm_types(c, c.flag("training")); }
Types infer_batch_norm_batch(const Call& c) { return batch_norm_types(c, true); }

Types infer_batch_norm_functional(const Call& c) {
  EL_TRY(std::vector<Type> types, batch_norm_types(c, c.flag("training")));
  types.push_back(c.type("running_mean"));
  types.push_back(c.type("running_var"));
  return types;
}

Types infer_batch_norm_no_update(const Call& c) {
  EL_TRY(std::vector<Type> types, batch_norm_types(c, false));
  types.push_back(Type::tensor(DType::U8, {SymInt(0)}));
  return types;
}

Status check_normalized(const Call& c) {
  const Shape& input = c.type("input").sizes;
  const ir::IntList& normalized = c.ints("normalized_shape");
  const auto misfit = [&](const Shape& shape, std::string_view what) -> Status {
    return input_error(std::string(what) + " " + sizes_text(shape) + " does not fit an input of shape " +
                       sizes_text(input));
  };
  const Shape wanted(normalized.begin(), normalized.end());
  if (wanted.empty() || wanted.size() > input.size()) return misfit(wanted, "normalized_shape");
  for (size_t i = 0; i < wanted.size(); ++i) {
    const SymInt& size = input[input.size() - wanted.size() + i];
    if (size.is_const() && wanted[i].is_const() && size.value() != wanted[i].value())
      return misfit(wanted, "normalized_shape");
  }
  for (const std::string_view name : {"weight", "bias"})
    if (c.has(name) && !same_shape(c.type(name).sizes, wanted)) return misfit(c.type(name).sizes, name);
  return Ok{};
}

Types infer_layer_norm(const Call& c) {
  EL_TRY_OK(check_normalized(c));
  return one(c.type("input"));
}

Type row_statistics(const Call& c) {
  Type type = Type::tensor(c.type("input").dtype, c.type("input").sizes);
  for (size_t i = type.sizes.size() - c.ints("normalized_shape").size(); i < type.sizes.size(); ++i)
    type.sizes[i] = SymInt(1);
  return type;
}

Types infer_native_layer_norm(const Call& c) {
  EL_TRY_OK(check_normalized(c));
  const Type stat = row_statistics(c);
  return std::vector<Type>{c.type("input"), stat, stat};
}

Types infer_fused_rms_norm(const Call& c) {
  EL_TRY_OK(check_normalized(c));
  return std::vector<Type>{c.type("input"), row_statistics(c)};
}

Types infer_group_norm(const Call& c) {
  EL_TRY_OK(check_channels(c));
  const Type& input = c.type("input");
  const int64_t groups = c.integer("num_groups");
  if (groups < 1 || (input.sizes[1].is_const() && input.sizes[1].value() % groups != 0))
    return input_error(input.sizes[1].str() + " channels do not divide into " + std::to_string(groups) + " groups");
  return one(input);
}

Types infer_native_group_norm(const Call& c) {
  EL_TRY_OK(check_channels(c));
  const Type& input = c.type("input");
  const Type stat = Type::tensor(input.dtype, {c.sym_int("N"), SymInt(c.integer("group"))});
  return std::vector<Type>{input, stat, stat};
}

// ---- lowering ----

LowerResult lower_batch_norm(const Call& c, XnnBuilder& b) {
  if (c.op().schema.index_of("training") >= 0 && c.flag("training"))
    return refuse(Code::Attribute, "it normalises with the batch's own statistics (training mode)");
  const ir::Value* input = c.tensor("input");
  const int64_t rank = input->type.rank();
  const SymInt& channels = input->type.sizes[1];
  if (rank > 4)
    return refuse(Code::Rank, "a batch norm of rank " + std::to_string(rank) + " has no form in the delegate");
  if (!channels.is_const()) return refuse(Code::Dynamic, "the number of channels is dynamic");
  const auto count = static_cast<size_t>(channels.value());
  std::vector<double> parts[4];
  constexpr std::string_view kNames[] = {"weight", "bias", "running_mean", "running_var"};
  for (size_t i = 0; i < 4; ++i) {
    const ir::Value* value = c.opt_tensor(kNames[i]);
    if (value == nullptr) {
      if (i >= 2) return refuse(Code::Attribute, "it has no running statistics");
      parts[i].assign(count, i == 0 ? 1.0 : 0.0);
      continue;
    }
    const TensorData* data = constant_data(value);
    if (data == nullptr)
      return refuse(Code::NotConstant, "the batch norm's " + std::string(kNames[i]) + " is not a constant");
    parts[i] = data->to_doubles();
  }
  const Shape& shape = input->type.sizes;
  if (rank < 4 && !reshapable(shape))
    return refuse(Code::Dynamic, "it needs a reshape with more than one dynamic size");
  std::vector<double> factor(count), addend(count);
  const double eps = c.number("eps");
  for (size_t i = 0; i < count; ++i) {
    factor[i] = parts[0][i] / std::sqrt(parts[3][i] + eps);
    addend[i] = parts[1][i] - parts[2][i] * factor[i];
  }
  const DType dtype = input->type.dtype;
  const int64_t n = channels.value();
  const uint32_t filter = b.packed(TensorData::of(DType::F64, {1, 1, 1, n}, factor).converted(dtype));
  const uint32_t bias = b.packed(TensorData::of(DType::F64, {n}, addend).converted(dtype));
  // To NHWC; rank 3 is [N, C, L] with a height of 1, rank 2 has a height and width of 1.
  uint32_t in = b.value(input);
  if (rank == 2) {
    in = b.reshape(in, {shape[0], SymInt(1), SymInt(1), shape[1]});
  } else if (rank == 3) {
    in = b.reshape(b.transpose(in, {0, 2, 1}), {shape[0], SymInt(1), shape[2], shape[1]});
  } else {
    in = b.to_nhwc(in);
  }
  const uint32_t out = b.temp(dtype, b.dims(in));
  xnn::Window& window = b.node(xnn::Kind::DepthwiseConv2d, {in, filter, bias}, {out}).window;
  window.groups = static_cast<uint32_t>(n);
  window.group_input_channels = 1;
  window.group_output_channels = 1;
  const ir::Value* result = c.result();
  if (rank == 2) {
    b.reshape(out, shape, b.define(result));
  } else if (rank == 3) {
    const uint32_t back = b.reshape(out, {shape[0], shape[2], shape[1]});
    b.transpose(back, {0, 2, 1}, b.define(result));
  } else {
    b.from_nhwc(out, b.define(result));
  }
  return std::nullopt;
}

constexpr std::string_view kLifted =
    "norms are no nodes of the delegate; the passes lift-layer-norm and lift-group-norm write them in its operators";
constexpr std::string_view kFixed = "its statistics, weight and bias are constants, and the rank is 2 to 4";
constexpr std::string_view kBatch = "it computes the batch's own statistics";

constexpr OpDef kOps[] = {
    {.schema = "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
               "float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
     .infer = infer_layer_norm,
     .note = kLifted},
    {.schema =
         "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
         "(Tensor, Tensor, Tensor)",
     .infer = infer_native_layer_norm,
     .kernel = "aten::native_layer_norm.out",
     .note = kLifted},
    {.schema =
         "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
     .infer = infer_layer_norm,
     .note = kLifted},
    {.schema =
         "aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)",
     .infer = infer_fused_rms_norm,
     .note = kLifted},
    {.schema = "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, "
               "float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor",
     .infer = infer_group_norm,
     .note = kLifted},
    {.schema = "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, "
               "int group, "
               "float eps) -> (Tensor, Tensor, Tensor)",
     .infer = infer_native_group_norm,
     .kernel = "aten::native_group_norm.out",
     .note = kLifted},
    {.schema =
         "aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
         "bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
     .infer = infer_channel_norm,
     .note = kLifted},
    {.schema =
         "aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
         "bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
     .infer = infer_channel_norm,
     .lower = lower_batch_norm,
     .note = kFixed},
    {.schema =
         "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
         "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     .infer = infer_batch_norm_eval,
     .lower = lower_batch_norm,
     .kernel = "aten::_native_batch_norm_legit_no_training.out",
     .note = kFixed},
    {.schema = "aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, "
               "float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     .infer = infer_batch_norm_batch,
     .kernel = "aten::_native_batch_norm_legit.no_stats_out",
     .note = kBatch},
    {.schema = "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
               "Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     .infer = infer_batch_norm_native,
     .note = kBatch},
    {.schema =
         "aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
         "Tensor running_var, bool training, float momentum, float eps) -> "
         "(Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
     .infer = infer_batch_norm_functional,
     .note = kBatch},
    {.schema = "aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
               "running_var, "
               "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
     .infer = infer_batch_norm_native,
     .lower = lower_batch_norm,
     .note = kFixed},
    {.schema = "aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
               "Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
     .infer = infer_batch_norm_no_update,
     .lower = lower_batch_norm,
     .note = kFixed},
    // g * v / norm of v over all dims but `dim`
    {.schema = "aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor",
     .infer = infer_same,
     .note = "it depends on constants alone as a rule, and is computed at compile time"},
};

}  // namespace

std::span<const OpDef> norm_ops() { return kOps; }

}  // namespace edgelift::ops
