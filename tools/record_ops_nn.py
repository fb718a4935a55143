"""Cases of neural network layers: linear, convolutions, pools, norms, activations, attention, recurrent layers, embeddings, resampling."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from record_ops_table import B, BF16, E, F16, I, INF, LOW, NAN, R, U, V, Z, case, mod, nhwc

f16, bf16, f32, f64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
i8, i16, i32, i64, u8, boolean = torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool
aten = torch.ops.aten

# ---------------------------------------------------------------- linear

for _rank, _shape in ((1, (4,)), (2, (3, 4)), (3, (2, 3, 4)), (4, (1, 2, 3, 4))):
    case("linear", f"rank{_rank}", mod(nn.Linear, 4, 3), R(*_shape), forms="tc")
case("linear", "no_bias", mod(nn.Linear, 4, 3, bias=False), R(2, 3, 4), forms="tc")
case("linear", "no_rows", mod(nn.Linear, 4, 3), Z(0, 4))
case("linear", "one_output", mod(nn.Linear, 4, 1), R(2, 4))
case("linear", "computed_weight", lambda x, w, b: F.linear(x, w * 2, b), R(2, 4), R(3, 4), R(3), forms="tc", note="the weight is not a constant")
case("linear", "input_weight_rank3", lambda x, w: F.linear(x, w), R(2, 3, 4), R(5, 4), forms="tc")
case("linear", "transposed_parameter", lambda x: F.linear(x, torch.arange(12.0).view(4, 3).t()), R(2, 4))
for _dtype, _tag, _tolerance in LOW:
    case("linear", _tag, mod(nn.Linear, 4, 3, cast=_dtype), R(2, 4, dtype=_dtype), **_tolerance)
case("linear", "f64", mod(nn.Linear, 4, 3, cast=f64), R(2, 4, dtype=f64), rtol=1e-12, atol=1e-12)
case("linear", "relu", mod(nn.Sequential, nn.Linear(4, 3), nn.ReLU()), R(2, 4), forms="tc")
case("linear", "two_with_gelu", mod(nn.Sequential, nn.Linear(4, 6), nn.GELU(), nn.Linear(6, 2)), R(2, 4))
case("linear", "batch_norm", mod(nn.Sequential, nn.Linear(4, 3), nn.BatchNorm1d(3)), R(2, 4), forms="tc")
case("linear", "bilinear", mod(nn.Bilinear, 3, 4, 2), R(2, 3), R(2, 4), forms="tc")
case("linear", "nan_input", mod(nn.Linear, 3, 2), V([[NAN, 1.0, 2.0], [INF, 0.0, 1.0], [1.0, 2.0, 3.0]]))

# ---------------------------------------------------------------- convolutions

for _name, _layer, _shape, _forms in (
    ("1d", lambda: nn.Conv1d(3, 4, 3), (1, 3, 8), "tc"), ("1d_stride_pad_dilation", lambda: nn.Conv1d(3, 4, 3, stride=2, padding=2, dilation=2), (2, 3, 11), "tc"), ("1d_same", lambda: nn.Conv1d(3, 4, 3, padding="same"), (1, 3, 7), "tc"), ("1d_same_even", lambda: nn.Conv1d(3, 4, 4, padding="same"), (1, 3, 7), "tc"),
    ("1d_depthwise", lambda: nn.Conv1d(4, 4, 3, groups=4, padding=1), (1, 4, 7), "t"), ("1d_pointwise_no_bias", lambda: nn.Conv1d(3, 2, 1, bias=False), (1, 3, 5), "t"), ("1d_unbatched", lambda: nn.Conv1d(3, 4, 3), (3, 8), "tc"), ("1d_causal", lambda: nn.Sequential(nn.ConstantPad1d((2, 0), 0.0), nn.Conv1d(2, 3, 3)), (1, 2, 6), "t"),
    ("2d", lambda: nn.Conv2d(3, 4, 3), (1, 3, 6, 5), "tc"), ("2d_stride_pad", lambda: nn.Conv2d(3, 4, (3, 2), stride=(2, 1), padding=(1, 0)), (2, 3, 7, 5), "t"), ("2d_dilation", lambda: nn.Conv2d(2, 3, 3, dilation=(1, 2), padding=2), (1, 2, 5, 6), "t"), ("2d_groups", lambda: nn.Conv2d(4, 6, 3, groups=2, padding=1), (1, 4, 4, 4), "tc"),
    ("2d_depthwise", lambda: nn.Conv2d(4, 4, 3, groups=4, padding=1), (1, 4, 5, 5), "tc"), ("2d_depthwise_multiplier", lambda: nn.Conv2d(3, 6, 3, groups=3, stride=2), (1, 3, 7, 7), "t"), ("2d_pointwise", lambda: nn.Conv2d(3, 5, 1), (1, 3, 4, 4), "t"), ("2d_no_bias", lambda: nn.Conv2d(3, 2, 3, bias=False), (1, 3, 4, 4), "t"),
    ("2d_same", lambda: nn.Conv2d(2, 3, 3, padding="same"), (1, 2, 4, 5), "tc"), ("2d_same_even", lambda: nn.Conv2d(2, 3, (4, 2), padding="same"), (1, 2, 5, 5), "tc"), ("2d_same_dilated", lambda: nn.Conv2d(2, 3, 3, padding="same", dilation=2), (1, 2, 6, 5), "t"), ("2d_valid", lambda: nn.Conv2d(2, 3, 3, padding="valid"), (1, 2, 4, 5), "t"),
    ("2d_reflect_padding", lambda: nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), (1, 2, 4, 5), "t"), ("2d_circular_padding", lambda: nn.Conv2d(2, 3, 3, padding=1, padding_mode="circular"), (1, 2, 4, 4), "t"), ("2d_replicate_padding", lambda: nn.Conv2d(2, 3, 3, padding=1, padding_mode="replicate"), (1, 2, 4, 4), "t"),
    ("2d_unbatched", lambda: nn.Conv2d(3, 4, 3), (3, 6, 5), "tc"), ("2d_stride_over_kernel", lambda: nn.Conv2d(2, 3, 1, stride=2), (1, 2, 5, 5), "t"), ("2d_patches", lambda: nn.Conv2d(3, 4, 4, stride=4), (1, 3, 8, 8), "t"), ("2d_wide_kernel", lambda: nn.Conv2d(1, 2, (1, 5), padding=(0, 2)), (1, 1, 3, 6), "t"), ("2d_channels_last_weight", lambda: nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last), (1, 3, 5, 5), "t"),
    ("2d_relu", lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(inplace=True)), (1, 2, 4, 4), "tf"), ("2d_relu6", lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU6()), (1, 2, 4, 4), "tc"), ("2d_batch_norm", lambda: nn.Sequential(nn.Conv2d(2, 3, 3, bias=False), nn.BatchNorm2d(3)), (1, 2, 4, 4), "tc"), ("2d_batch_norm_relu", lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU()), (1, 2, 4, 4), "tc"), ("2d_hardswish", lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.Hardswish()), (1, 2, 4, 4), "tc"),
    ("2d_no_batch", lambda: nn.Conv2d(2, 3, 3), (0, 2, 4, 4), "t"), ("3d", lambda: nn.Conv3d(2, 3, 2), (1, 2, 3, 4, 3), "tc"), ("3d_groups_stride", lambda: nn.Conv3d(2, 4, 3, groups=2, stride=2, padding=1), (1, 2, 4, 4, 5), "t"), ("3d_same", lambda: nn.Conv3d(1, 2, 3, padding="same"), (1, 1, 3, 3, 3), "t"),
    ("transposed_1d", lambda: nn.ConvTranspose1d(3, 2, 3, stride=2, padding=1), (1, 3, 5), "tc"), ("transposed_1d_unbatched", lambda: nn.ConvTranspose1d(3, 2, 3), (3, 5), "t"), ("transposed_2d", lambda: nn.ConvTranspose2d(3, 2, 2, stride=2), (1, 3, 3, 4), "tc"), ("transposed_2d_output_padding", lambda: nn.ConvTranspose2d(3, 2, 3, stride=2, padding=1, output_padding=1), (1, 3, 3, 4), "t"),
    ("transposed_2d_groups", lambda: nn.ConvTranspose2d(4, 6, 3, groups=2), (1, 4, 3, 3), "t"), ("transposed_2d_dilation", lambda: nn.ConvTranspose2d(2, 3, 3, dilation=2, bias=False), (1, 2, 3, 3), "t"), ("transposed_2d_asymmetric", lambda: nn.ConvTranspose2d(2, 3, (2, 3), stride=(1, 2), padding=(0, 1), output_padding=(0, 1)), (1, 2, 3, 4), "t"), ("transposed_2d_unbatched", lambda: nn.ConvTranspose2d(2, 3, 2, stride=2), (2, 3, 3), "t"), ("transposed_3d", lambda: nn.ConvTranspose3d(2, 2, 2, stride=2), (1, 2, 2, 2, 3), "tc"),
    ("transposed_2d_depthwise", lambda: nn.ConvTranspose2d(3, 3, 4, stride=2, padding=1, groups=3, bias=False), (1, 3, 3, 3), "t"), ("transposed_2d_batch_norm", lambda: nn.Sequential(nn.ConvTranspose2d(2, 3, 2), nn.BatchNorm2d(3)), (1, 2, 3, 3), "c"),
):
    case("conv", _name, mod(_layer), R(*_shape), forms=_forms)
case("conv", "2d_channels_last_input", mod(nn.Conv2d, 3, 4, 3), nhwc(R(1, 3, 5, 5)), forms="tc", note="the output is channels-last too")
case("conv", "2d_input_weight", lambda x, w, b: F.conv2d(x, w, b, padding=1), R(1, 2, 4, 4), R(3, 2, 3, 3), R(3), forms="tc", note="the weight is an input")
case("conv", "1d_computed_weight", lambda x, w: F.conv1d(x, w.abs()), R(1, 2, 6), R(3, 2, 3))
case("conv", "transposed_2d_input_weight", lambda x, w: F.conv_transpose2d(x, w, stride=2), R(1, 2, 3, 3), R(2, 3, 2, 2))
case("conv", "tbc", lambda x, w, b: torch.conv_tbc(x, w, b, 1), R(5, 1, 2), R(3, 2, 3), R(3), forms="tc")
for _dtype, _tag, _tolerance in LOW:
    case("conv", f"2d_{_tag}", mod(nn.Conv2d, 3, 4, 3, cast=_dtype), R(1, 3, 5, 5, dtype=_dtype), **_tolerance)
case("conv", "2d_f64", mod(nn.Conv2d, 2, 3, 3, cast=f64), R(1, 2, 4, 4, dtype=f64), rtol=1e-12, atol=1e-12)
case("conv", "2d_nan", mod(nn.Conv2d, 1, 2, 2), V([[[[1.0, NAN, 2.0], [0.0, 1.0, INF], [2.0, 1.0, 0.0]]]]))
case("conv", "backward", lambda g, x, w: aten.convolution_backward.default(g, x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])[:2], R(1, 3, 3, 3), R(1, 2, 4, 4), R(3, 2, 2, 2), note="an operator of training")
case("conv", "weight_norm", mod(lambda: nn.utils.parametrizations.weight_norm(nn.Conv1d(2, 3, 3))), R(1, 2, 6), forms="tc")

# ---------------------------------------------------------------- pools

for _name, _fn, _shape, _forms in (
    ("max_1d", lambda x: F.max_pool1d(x, 2), (1, 2, 7), "tc"), ("max_1d_pad_dilation", lambda x: F.max_pool1d(x, 3, 1, 1, 2), (1, 2, 8), "t"), ("max_1d_unbatched", lambda x: F.max_pool1d(x, 2), (2, 6), "t"),
    ("max_2d", lambda x: F.max_pool2d(x, 2), (1, 2, 5, 4), "tc"), ("max_2d_pad_stride", lambda x: F.max_pool2d(x, 3, 2, 1), (1, 2, 7, 7), "tc"), ("max_2d_rectangle", lambda x: F.max_pool2d(x, (2, 3), (1, 2)), (1, 2, 4, 7), "t"), ("max_2d_ceil", lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True), (1, 2, 6, 6), "tc"), ("max_2d_ceil_pad", lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), (1, 1, 6, 5), "t"), ("max_2d_dilation", lambda x: F.max_pool2d(x, 2, 1, dilation=2), (1, 2, 5, 5), "t"), ("max_2d_stride_over_kernel", lambda x: F.max_pool2d(x, 1, 2), (1, 2, 4, 5), "t"), ("max_2d_unbatched", lambda x: F.max_pool2d(x, 2), (2, 4, 4), "tc"),
    ("max_2d_indices", lambda x: F.max_pool2d(x, 2, return_indices=True), (1, 2, 4, 5), "tc"), ("max_2d_unpool", lambda x: (lambda v, i: F.max_unpool2d(v, i, 2))(*F.max_pool2d(x, 2, return_indices=True)), (1, 1, 4, 4), "t"), ("max_3d", lambda x: F.max_pool3d(x, 2), (1, 1, 4, 4, 4), "tc"), ("max_3d_pad", lambda x: F.max_pool3d(x, 3, 2, 1), (1, 1, 4, 5, 4), "t"), ("max_1d_indices", lambda x: F.max_pool1d(x, 2, return_indices=True), (1, 2, 6), "t"),
    ("avg_1d", lambda x: F.avg_pool1d(x, 2), (1, 2, 7), "tc"), ("avg_1d_pad", lambda x: F.avg_pool1d(x, 3, 2, 1, count_include_pad=False), (1, 2, 7), "t"), ("avg_2d", lambda x: F.avg_pool2d(x, 2), (1, 2, 5, 4), "tc"), ("avg_2d_pad", lambda x: F.avg_pool2d(x, 3, 2, 1), (1, 2, 6, 6), "t"), ("avg_2d_no_count_pad", lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), (1, 2, 6, 6), "t"), ("avg_2d_ceil", lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True), (1, 2, 6, 6), "t"), ("avg_2d_ceil_pad", lambda x: F.avg_pool2d(x, 2, 2, 1, ceil_mode=True), (1, 1, 5, 6), "t"), ("avg_2d_divisor", lambda x: F.avg_pool2d(x, 2, divisor_override=3), (1, 2, 4, 4), "t"), ("avg_2d_rectangle", lambda x: F.avg_pool2d(x, (1, 3), stride=(1, 2)), (1, 2, 3, 7), "t"), ("avg_2d_unbatched", lambda x: F.avg_pool2d(x, 2), (2, 4, 4), "tc"), ("avg_3d", lambda x: F.avg_pool3d(x, 2), (1, 1, 4, 4, 4), "tc"), ("avg_3d_pad", lambda x: F.avg_pool3d(x, 3, 2, 1, count_include_pad=False), (1, 1, 4, 4, 4), "t"),
    ("lp_1d", lambda x: F.lp_pool1d(x, 2.0, 2), (1, 2, 6), "tc"), ("lp_2d", lambda x: F.lp_pool2d(x, 2.0, 2), (1, 2, 4, 4), "tc"), ("lp_2d_p3", lambda x: F.lp_pool2d(x.abs(), 3.0, (2, 3), 1), (1, 2, 4, 4), "t"), ("lp_3d", lambda x: F.lp_pool3d(x, 2.0, 2), (1, 1, 2, 4, 4), "t"),
    ("adaptive_avg_1d", lambda x: F.adaptive_avg_pool1d(x, 2), (1, 2, 6), "tc"), ("adaptive_avg_1d_not_dividing", lambda x: F.adaptive_avg_pool1d(x, 3), (1, 2, 7), "tc"), ("adaptive_avg_1d_one", lambda x: F.adaptive_avg_pool1d(x, 1), (1, 2, 7), "t"), ("adaptive_avg_2d_one", lambda x: F.adaptive_avg_pool2d(x, 1), (1, 2, 5, 4), "tc"), ("adaptive_avg_2d", lambda x: F.adaptive_avg_pool2d(x, (2, 3)), (1, 2, 4, 6), "tc"), ("adaptive_avg_2d_not_dividing", lambda x: F.adaptive_avg_pool2d(x, (3, 2)), (1, 2, 7, 5), "tc"), ("adaptive_avg_2d_none", lambda x: F.adaptive_avg_pool2d(x, (None, 2)), (1, 2, 3, 4), "t"), ("adaptive_avg_2d_larger", lambda x: F.adaptive_avg_pool2d(x, 5), (1, 2, 3, 3), "t"), ("adaptive_avg_2d_unbatched", lambda x: F.adaptive_avg_pool2d(x, 1), (2, 3, 4), "tc"), ("adaptive_avg_3d", lambda x: F.adaptive_avg_pool3d(x, (1, 2, 2)), (1, 1, 2, 4, 4), "tc"), ("adaptive_avg_3d_not_dividing", lambda x: F.adaptive_avg_pool3d(x, 2), (1, 1, 3, 5, 3), "t"),
    ("adaptive_max_1d", lambda x: F.adaptive_max_pool1d(x, 2), (1, 2, 6), "t"), ("adaptive_max_2d", lambda x: F.adaptive_max_pool2d(x, (2, 2)), (1, 2, 4, 4), "tc"), ("adaptive_max_2d_not_dividing", lambda x: F.adaptive_max_pool2d(x, (3, 2)), (1, 2, 7, 5), "t"), ("adaptive_max_3d", lambda x: F.adaptive_max_pool3d(x, 1), (1, 1, 2, 3, 3), "t"),
):
    case("pool", _name, _fn, R(*_shape), forms=_forms)
case("pool", "max_2d_edges", lambda x: F.max_pool2d(x, 2, 1), V([[[1.0, NAN, 2.0], [-INF, -INF, -1.0], [-INF, -INF, 0.0]]]).map(lambda t: t[None]), note="NaN wins, -inf stays")
case("pool", "max_2d_negative_pad", lambda x: F.max_pool2d(x, 3, 1, 1), U(-5, -1, 1, 1, 3, 3), note="the padding must not win")
case("pool", "max_2d_int", lambda x: F.max_pool2d(x, 2), I(-9, 9, 1, 2, 4, 4, dtype=i8))
case("pool", "max_2d_f16", lambda x: F.max_pool2d(x, 2), R(1, 2, 4, 4, dtype=f16), **F16)
case("pool", "avg_2d_f16", lambda x: F.avg_pool2d(x, 2), R(1, 2, 4, 4, dtype=f16), **F16)
case("pool", "max_2d_channels_last", lambda x: F.max_pool2d(x, 2), nhwc(R(1, 3, 4, 4)))
case("pool", "avg_2d_channels_last", lambda x: F.avg_pool2d(x, 2), nhwc(R(1, 3, 4, 4)))
case("pool", "max_2d_backward", lambda g, x: aten.max_pool2d_with_indices_backward.default(g, x, [2, 2], [2, 2], [0, 0], [1, 1], False, aten.max_pool2d_with_indices.default(x, [2, 2], [2, 2])[1]), R(1, 1, 2, 2), R(1, 1, 4, 4))

# ---------------------------------------------------------------- norms

for _name, _layer, _shape, _forms in (
    ("layer", lambda: nn.LayerNorm(6), (2, 3, 6), "tc"), ("layer_two_dims", lambda: nn.LayerNorm((3, 4)), (2, 3, 4), "tc"), ("layer_no_affine", lambda: nn.LayerNorm(6, elementwise_affine=False), (2, 6), "tc"), ("layer_no_bias", lambda: nn.LayerNorm(6, bias=False), (2, 6), "tc"), ("layer_eps", lambda: nn.LayerNorm(4, eps=0.1), (1, 4), "t"), ("layer_all_dims", lambda: nn.LayerNorm((2, 3)), (2, 3), "t"), ("layer_no_rows", lambda: nn.LayerNorm(4), (0, 4), "t"),
    ("group", lambda: nn.GroupNorm(2, 4), (2, 4, 3, 3), "tc"), ("group_no_affine", lambda: nn.GroupNorm(2, 4, affine=False), (1, 4, 5), "tc"), ("group_one", lambda: nn.GroupNorm(1, 4), (1, 4, 3, 2), "t"), ("group_each", lambda: nn.GroupNorm(4, 4), (2, 4, 3), "t"), ("group_rank2", lambda: nn.GroupNorm(2, 6), (3, 6), "t"), ("group_rank5", lambda: nn.GroupNorm(2, 4, eps=1e-3), (1, 4, 2, 2, 2), "t"),
    ("instance_1d", lambda: nn.InstanceNorm1d(3), (2, 3, 5), "tc"), ("instance_2d_affine", lambda: nn.InstanceNorm2d(3, affine=True), (2, 3, 3, 4), "tc"), ("instance_2d_running", lambda: nn.InstanceNorm2d(3, affine=True, track_running_stats=True), (2, 3, 3, 4), "tc"), ("instance_3d", lambda: nn.InstanceNorm3d(2), (1, 2, 2, 3, 2), "t"), ("instance_1d_unbatched", lambda: nn.InstanceNorm1d(3), (3, 5), "t"),
    ("batch_1d", lambda: nn.BatchNorm1d(3), (4, 3), "tc"), ("batch_1d_rank3", lambda: nn.BatchNorm1d(3), (2, 3, 4), "t"), ("batch_2d", lambda: nn.BatchNorm2d(3), (1, 3, 4, 4), "tc"), ("batch_2d_no_affine", lambda: nn.BatchNorm2d(3, affine=False, eps=1e-2), (1, 3, 2, 2), "tc"), ("batch_2d_batch_statistics", lambda: nn.BatchNorm2d(3, track_running_stats=False), (2, 3, 3, 3), "tc"), ("batch_3d", lambda: nn.BatchNorm3d(2), (1, 2, 2, 3, 2), "t"),
    ("rms", lambda: nn.RMSNorm(6), (2, 3, 6), "tfc"), ("rms_eps", lambda: nn.RMSNorm(6, eps=1e-3), (2, 6), "tc"), ("rms_no_weight", lambda: nn.RMSNorm(4, elementwise_affine=False), (2, 4), "tc"), ("rms_two_dims", lambda: nn.RMSNorm((2, 3)), (2, 2, 3), "t"), ("local_response", lambda: nn.LocalResponseNorm(3), (1, 5, 3, 3), "tc"),
):
    case("norm", _name, mod(_layer), R(*_shape), forms=_forms)
case("norm", "rms_by_hand", lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w, R(2, 3, 4), R(4), forms="tc")
case("norm", "rms_in_f32", lambda x, w: (lambda y: (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(f16))(x.float()) * w, R(2, 4, dtype=f16), R(4, dtype=f16), **F16)
case("norm", "layer_by_hand", lambda x, w, b: (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, unbiased=False, keepdim=True) + 1e-5) * w + b, R(2, 3, 4), R(4), R(4), forms="tc")
case("norm", "layer_constant_row", lambda x: F.layer_norm(x, (4,)), V([[2.0, 2.0, 2.0, 2.0], [1.0, -1.0, 1.0, -1.0]]), note="a row without variance")
case("norm", "layer_channels_first", lambda x, w, b: F.layer_norm(x.permute(0, 2, 3, 1), (3,), w, b).permute(0, 3, 1, 2), R(1, 3, 2, 2), R(3), R(3), forms="tc")
case("norm", "layer_computed_weight", lambda x, w: F.layer_norm(x, (4,), 1 + w), R(2, 4), R(4))
for _dtype, _tag, _tolerance in LOW:
    case("norm", f"layer_{_tag}", mod(nn.LayerNorm, 6, cast=_dtype), R(2, 6, dtype=_dtype), **_tolerance)
case("norm", "group_f16", mod(nn.GroupNorm, 2, 4, cast=f16), R(1, 4, 3, dtype=f16), **F16)
case("norm", "batch_2d_f16", mod(nn.BatchNorm2d, 3, cast=f16), R(1, 3, 2, 2, dtype=f16), **F16)
case("norm", "layer_f64", mod(nn.LayerNorm, 4, cast=f64), R(2, 4, dtype=f64), rtol=1e-12, atol=1e-12)

# ---------------------------------------------------------------- activations

for _name, _fn, _forms in (
    ("relu", F.relu, "t"), ("relu6", F.relu6, "tc"), ("leaky_relu", lambda x: F.leaky_relu(x, 0.2), "t"), ("elu", lambda x: F.elu(x, 0.7), "t"), ("selu", F.selu, "tc"), ("celu", lambda x: F.celu(x, 1.5), "tc"), ("gelu", lambda x: F.gelu(x), "t"), ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), "t"), ("silu", F.silu, "tc"), ("mish", F.mish, "tc"),
    ("softplus", lambda x: F.softplus(x), "tc"), ("softplus_beta", lambda x: F.softplus(x, 2.0, 1.0), "t"), ("softsign", F.softsign, "t"), ("softshrink", lambda x: F.softshrink(x, 0.3), "tc"), ("hardshrink", lambda x: F.hardshrink(x, 0.3), "tc"), ("hardtanh", lambda x: F.hardtanh(x, -0.5, 2.0), "t"), ("hardswish", F.hardswish, "tc"), ("hardsigmoid", F.hardsigmoid, "tc"), ("tanhshrink", F.tanhshrink, "tc"),
    ("logsigmoid", lambda x: F.logsigmoid(x), "tc"), ("rrelu", lambda x: F.rrelu(x, 0.1, 0.3), "tc"), ("threshold", lambda x: F.threshold(x, 0.1, 20.0), "tc"), ("tanh", torch.nn.Tanh().forward, "t"), ("sigmoid", torch.nn.Sigmoid().forward, "t"), ("quick_gelu", lambda x: x * torch.sigmoid(1.702 * x), "t"), ("relu_squared", lambda x: F.relu(x) ** 2, "t"), ("glu", lambda x: F.glu(x, 1), "tc"), ("glu_first", lambda x: F.glu(x, 0), "t"), ("dropout", lambda x: F.dropout(x, 0.5, False), "tfc"),
):
    case("activation", _name, _fn, E(2), forms=_forms, note="with infinities and NaN")
for _name in ("relu", "relu6", "leaky_relu", "elu", "selu", "celu", "silu", "mish", "hardtanh", "hardswish", "hardsigmoid", "threshold"):
    _extra = {"threshold": (0.1, 20.0)}.get(_name, ())
    case("activation", f"{_name}_in_place", (lambda n, e: lambda x: getattr(F, n)(x * 2.0, *e, inplace=True))(_name, _extra), R(2, 5), forms="tf" if _name in ("relu", "hardtanh", "silu", "leaky_relu") else "t")
for _name, _layer, _shape in (("prelu_one", lambda: nn.PReLU(), (2, 3)), ("prelu_channels", lambda: nn.PReLU(3), (2, 3, 2, 2)), ("prelu_rank2", lambda: nn.PReLU(3), (2, 3)), ("prelu_rank3", lambda: nn.PReLU(3), (1, 3, 4))):
    case("activation", _name, mod(_layer), R(*_shape), forms="tc")
case("activation", "prelu_input_weight", lambda x, w: F.prelu(x, w), R(2, 3, 4), U(0, 1, 3))
for _i, _name in enumerate(("gelu", "silu", "hardswish", "elu", "softplus", "relu", "mish", "leaky_relu")):
    _dtype, _tag, _tolerance = LOW[_i % 2]
    case("activation", f"{_name}_{_tag}", (lambda f: lambda x: f(x))(getattr(F, _name)), R(2, 6, dtype=_dtype), **_tolerance)
case("activation", "relu_int", lambda x: torch.relu(x), I(-5, 5, 6, dtype=i32))
case("activation", "relu_minus_zero", lambda x: torch.relu(x), V([-0.0, 0.0, -1.0]))
case("activation", "hardtanh_int", lambda x: F.hardtanh(x, -2, 2), I(-5, 5, 6))
case("activation", "softmax", lambda x: F.softmax(x, -1), R(2, 3, 4), forms="tc")
case("activation", "softmax_middle", lambda x: F.softmax(x, 1), R(2, 3, 4))
case("activation", "softmax_first", lambda x: F.softmax(x, 0), R(3, 4))
case("activation", "softmax_rank4_channels", lambda x: F.softmax(x, 1), R(1, 3, 2, 2))
case("activation", "softmax_zero_dim", lambda x: F.softmax(x, 0), R())
case("activation", "softmax_big", lambda x: F.softmax(x, 1), V([[1000.0, 1001.0, -1000.0], [-INF, 0.0, 1.0]]), note="must not overflow")
case("activation", "softmax_all_minus_inf", lambda x: F.softmax(x, 1), V([[-INF, -INF], [0.0, NAN]]))
case("activation", "softmax_dtype", lambda x: F.softmax(x, -1, dtype=f32), R(2, 4, dtype=f16), forms="tc", **F16)
case("activation", "softmax_f16", lambda x: F.softmax(x, -1), R(2, 4, dtype=f16), **F16)
case("activation", "softmax_bf16", lambda x: F.softmax(x, 1), R(2, 4, dtype=bf16), **BF16)
case("activation", "softmax_no_rows", lambda x: F.softmax(x, 1), Z(0, 4))
case("activation", "softmin", lambda x: F.softmin(x, 1), R(2, 4), forms="tc")
case("activation", "log_softmax", lambda x: F.log_softmax(x, -1), R(2, 4), forms="tc")
case("activation", "log_softmax_first", lambda x: F.log_softmax(x, 0), R(3, 2, 2))
case("activation", "log_softmax_dtype", lambda x: F.log_softmax(x, 1, dtype=f64), R(2, 4))
case("activation", "softmax_2d", mod(nn.Softmax2d), R(1, 3, 2, 2))
case("activation", "special_softmax", lambda x: torch.special.softmax(x, 0), R(3, 2))
case("activation", "dropout_layers", mod(nn.Sequential, nn.Dropout(0.3), nn.Dropout2d(), nn.AlphaDropout(), nn.FeatureAlphaDropout()), R(1, 2, 2, 2), forms="tf")
case("activation", "dropout_of_zero", lambda x: F.dropout(x, 0.0, True) + 1, R(2, 3), forms="tc", note="training, but nothing is dropped")
case("activation", "swiglu", lambda x, w: F.silu(x @ w) * x, R(2, 3), R(3, 3), forms="tc")

# ---------------------------------------------------------------- attention

Q, K = R(1, 2, 3, 4), R(1, 2, 5, 4)
for _name, _fn, _args, _forms in (
    ("plain", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (Q, K, K), "tfc"), ("rank3", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (R(2, 3, 4), R(2, 5, 4), R(2, 5, 4)), "tc"), ("rank2", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (R(3, 4), R(5, 4), R(5, 4)), "t"), ("rank5", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (R(1, 2, 2, 3, 4), R(1, 2, 2, 3, 4), R(1, 2, 2, 3, 4)), "t"),
    ("wider_values", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (Q, K, R(1, 2, 5, 6)), "t"), ("scale", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3), (Q, K, K), "tc"), ("causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (Q, Q, Q), "tfc"), ("causal_longer_keys", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (Q, K, K), "tc"), ("causal_shorter_keys", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (K, Q, Q), "t"),
    ("bool_mask_2d", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), (Q, K, K, B(3, 5, p=0.7)), "tc"), ("bool_mask_4d", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), (Q, K, K, B(1, 2, 3, 5, p=0.7)), "t"), ("bool_key_padding", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m[:, None, None, :]), (Q, K, K, V([[True, True, True, False, False]])), "tc"), ("bool_row_mask", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), (Q, K, K, V([[[[True], [True], [True]]]])), "t"),
    ("float_mask_2d", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), (Q, K, K, R(3, 5)), "tc"), ("float_mask_4d", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), (Q, K, K, R(1, 2, 3, 5)), "t"), ("float_mask_broadcast", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), (R(2, 2, 3, 4), R(2, 2, 5, 4), R(2, 2, 5, 4), R(2, 1, 1, 5)), "tc"), ("float_mask_rank3", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), (R(2, 3, 4), R(2, 5, 4), R(2, 5, 4), R(2, 3, 5)), "t"), ("float_mask_scale", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, scale=0.25), (Q, K, K, R(3, 5)), "t"),
    ("masked_row_bool", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), (Q, K, K, V([[True, False, True, False, False], [False] * 5, [True] * 5])), "tc"), ("masked_row_float", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), (Q, K, K, V([[0.0, -INF, 0.0, 0.0, -INF], [-INF] * 5, [0.0] * 5])), "tc"), ("constant_causal_mask", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, torch.ones(3, 3, dtype=boolean).tril()), (Q, Q, Q), "tc"), ("constant_float_mask", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, torch.full((3, 3), -INF).triu(1)), (Q, Q, Q), "tc"),
    ("gqa", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), (R(1, 4, 3, 4), K, K), "tfc"), ("gqa_causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True), (R(1, 4, 3, 4), Q, Q), "tc"), ("gqa_mask_one_head", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, enable_gqa=True), (R(1, 4, 3, 4), R(1, 1, 5, 4), R(1, 1, 5, 4), B(1, 1, 3, 5, p=0.8)), "t"),
    ("one_query", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (R(1, 2, 1, 4), K, K), "t"), ("broadcast_batch", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (R(2, 2, 3, 4), K, K), "t"), ("transposed_heads", lambda x: (lambda h: F.scaled_dot_product_attention(h, h, h).transpose(1, 2).reshape(1, 3, 8))(x.view(1, 3, 2, 4).transpose(1, 2)), (R(1, 3, 8),), "tfc"), ("dropout_zero", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=0.0), (Q, K, K), "t"),
    ("by_hand", lambda q, k, v: torch.softmax(q @ k.transpose(-2, -1) / 2.0, -1) @ v, (Q, K, K), "tc"), ("by_hand_mask", lambda q, k, v, m: torch.softmax((q @ k.transpose(-2, -1) * 0.5).masked_fill(~m, -INF), -1) @ v, (Q, K, K, V([[True, True, False, True, False]])), "tc"), ("by_hand_bias", lambda q, k, v, b: torch.softmax(q @ k.transpose(-2, -1) + b, -1) @ v, (Q, K, K, R(2, 3, 5)), "t"), ("linear_attention", lambda q, k, v: F.relu(q) @ (F.relu(k).transpose(-1, -2) @ v), (Q, K, K), "t"),
):
    case("attention", _name, _fn, *_args, forms=_forms)
for _dtype, _tag, _tolerance in LOW:
    case("attention", _tag, lambda q, k, v: F.scaled_dot_product_attention(q, k, v), *[R(1, 2, 3, 4, dtype=_dtype)] * 3, forms="tc", **_tolerance)


class SelfAttention(nn.Module):
    def __init__(self, masks=(), **options):
        super().__init__()
        self.m, self.masks = nn.MultiheadAttention(4, 2, **options), masks

    def forward(self, x, *masks):
        return self.m(x, x, x, need_weights=False, **dict(zip(self.masks, masks)))[0]


class AttentionWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x, y):
        return self.m(x, y, y)


case("attention", "multihead", mod(SelfAttention, batch_first=True), R(2, 3, 4), forms="tc")
case("attention", "multihead_sequence_first", mod(SelfAttention), R(3, 2, 4), forms="tc")
case("attention", "multihead_unbatched", mod(SelfAttention), R(3, 4))
case("attention", "multihead_weights", mod(AttentionWeights), R(1, 3, 4), R(1, 5, 4), forms="tc", note="the averaged weights are an output")
case("attention", "multihead_key_padding", mod(SelfAttention, ("key_padding_mask",), batch_first=True), R(2, 3, 4), V([[False, False, True], [False, True, True]]), forms="tc")
case("attention", "multihead_mask_bias_kv", mod(SelfAttention, ("attn_mask",), batch_first=True, add_bias_kv=True, bias=False), R(1, 3, 4), R(3, 3))
case("attention", "encoder_layer", mod(nn.TransformerEncoderLayer, 4, 2, 6, batch_first=True), R(1, 3, 4), forms="tc")
case("attention", "decoder_layer", mod(nn.TransformerDecoderLayer, 4, 2, 6, batch_first=True, norm_first=True), R(1, 3, 4), R(1, 2, 4))

# ---------------------------------------------------------------- recurrent layers

SEQUENCE = (3, 2, 3)
for _kind, _cls in (("lstm", nn.LSTM), ("gru", nn.GRU), ("rnn", nn.RNN)):
    for _name, _options, _shape, _forms in (
        ("plain", {}, SEQUENCE, "tc"), ("batch_first", dict(batch_first=True), (2, 4, 3), "tc"), ("bidirectional", dict(bidirectional=True), SEQUENCE, "tc"), ("two_layers", dict(num_layers=2, dropout=0.5), SEQUENCE, "t"), ("no_bias", dict(bias=False), SEQUENCE, "t"), ("unbatched", {}, (4, 3), "t"), ("two_layers_both_ways_batch_first", dict(num_layers=2, bidirectional=True, batch_first=True), (2, 4, 3), "t"), ("one_step", {}, (1, 2, 3), "t"),
    ):
        case("recurrent", f"{_kind}_{_name}", mod(_cls, 3, 2, **_options), R(*_shape), forms=_forms)
    _state = R(1, 2, 2)
    case("recurrent", f"{_kind}_given_state", mod(_cls, 3, 2), R(*SEQUENCE), (_state, R(1, 2, 2)) if _kind == "lstm" else _state)
    case("recurrent", f"{_kind}_cell", mod(getattr(nn, _kind.upper() + "Cell"), 3, 2), R(2, 3), forms="tc")
case("recurrent", "rnn_relu", mod(nn.RNN, 3, 2, nonlinearity="relu"), R(*SEQUENCE))
case("recurrent", "lstm_projection", mod(nn.LSTM, 3, 4, proj_size=2), R(*SEQUENCE))
case("recurrent", "lstm_f16", mod(nn.LSTM, 3, 2, cast=f16), R(*SEQUENCE, dtype=f16), **F16)


class LastOutput(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer, self.head = layer, nn.Linear(2, 3)

    def forward(self, x):
        return self.head(self.layer(x)[0][:, -1])


class CellLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 2)

    def forward(self, x):
        state = (torch.zeros(2, 2), torch.zeros(2, 2))
        for step in x.unbind(0):
            state = self.cell(step, state)
        return state[0]


case("recurrent", "lstm_last_output", mod(lambda: LastOutput(nn.LSTM(3, 2, batch_first=True))), R(2, 4, 3), forms="tfc", note="the state outputs are not used")
case("recurrent", "gru_last_output", mod(lambda: LastOutput(nn.GRU(3, 2, batch_first=True))), R(2, 4, 3))
case("recurrent", "lstm_cell_loop", mod(CellLoop), R(3, 2, 3))

# ---------------------------------------------------------------- embeddings

case("embedding", "rank1", mod(nn.Embedding, 6, 4), I(0, 6, 5))
case("embedding", "rank2", mod(nn.Embedding, 6, 4), I(0, 6, 2, 3), forms="tc")
case("embedding", "i32", mod(nn.Embedding, 6, 4), I(0, 6, 2, 3, dtype=i32))
case("embedding", "zero_dim_index", mod(nn.Embedding, 6, 4), I(0, 6))
case("embedding", "padding_idx", mod(nn.Embedding, 6, 4, padding_idx=2), V([[0, 2, 5]]), forms="tc")
case("embedding", "no_tokens", mod(nn.Embedding, 6, 4), Z(0, dtype=i64))
case("embedding", "f16", mod(nn.Embedding, 6, 4, cast=f16), I(0, 6, 3), **F16)
case("embedding", "bf16", mod(nn.Embedding, 6, 4, cast=bf16), I(0, 6, 3), **BF16)
case("embedding", "input_weight", lambda i, w: F.embedding(i, w * 2), I(0, 6, 3), R(6, 4))
case("embedding", "positions", mod(lambda: PositionSum()), I(0, 6, 2, 3), forms="tc")
for _mode in ("sum", "mean", "max"):
    case("embedding", f"bag_{_mode}", mod(nn.EmbeddingBag, 6, 4, mode=_mode), I(0, 6, 2, 3), note="no kernel: to be refused or decomposed")

    if _mode != "max":
        case("embedding", f"bag_{_mode}_offsets_padding", mod(nn.EmbeddingBag, 6, 4, mode=_mode, padding_idx=2), V([1, 2, 4, 2, 2, 5]), V([0, 3]), forms="tfc")


class PositionSum(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(6, 4), nn.Embedding(5, 4)
        self.register_buffer("ids", torch.arange(5).expand(1, -1))

    def forward(self, x):
        return self.token(x) + self.position(self.ids[:, : x.shape[1]])


# ---------------------------------------------------------------- resampling

for _name, _fn, _shape, _forms in (
    ("nearest_1d", lambda x: F.interpolate(x, scale_factor=2), (1, 2, 4), "tc"), ("nearest_1d_size", lambda x: F.interpolate(x, size=7), (1, 2, 4), "t"), ("nearest_2d", lambda x: F.interpolate(x, scale_factor=2), (1, 2, 3, 2), "tc"), ("nearest_2d_size", lambda x: F.interpolate(x, size=(5, 7)), (1, 2, 3, 4), "tc"), ("nearest_2d_down", lambda x: F.interpolate(x, scale_factor=0.5), (1, 2, 5, 4), "t"), ("nearest_2d_fraction", lambda x: F.interpolate(x, scale_factor=(1.7, 2.3)), (1, 2, 3, 3), "t"), ("nearest_3d", lambda x: F.interpolate(x, scale_factor=2), (1, 1, 2, 2, 3), "tc"), ("nearest_exact_1d", lambda x: F.interpolate(x, size=7, mode="nearest-exact"), (1, 2, 4), "t"), ("nearest_exact_2d", lambda x: F.interpolate(x, size=(5, 3), mode="nearest-exact"), (1, 2, 3, 4), "tc"),
    ("linear_1d", lambda x: F.interpolate(x, scale_factor=2, mode="linear"), (1, 2, 4), "tc"), ("linear_1d_align", lambda x: F.interpolate(x, size=7, mode="linear", align_corners=True), (1, 2, 4), "t"), ("bilinear", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (1, 2, 3, 4), "tc"), ("bilinear_align", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True), (1, 2, 3, 4), "tc"), ("bilinear_size", lambda x: F.interpolate(x, size=(5, 2), mode="bilinear"), (1, 2, 3, 4), "tc"), ("bilinear_size_align", lambda x: F.interpolate(x, size=(5, 7), mode="bilinear", align_corners=True), (1, 2, 3, 4), "t"), ("bilinear_fraction", lambda x: F.interpolate(x, scale_factor=1.6, mode="bilinear"), (1, 1, 4, 5), "tc"), ("bilinear_fraction_recompute", lambda x: F.interpolate(x, scale_factor=1.6, mode="bilinear", recompute_scale_factor=True), (1, 1, 4, 5), "t"), ("bilinear_down", lambda x: F.interpolate(x, scale_factor=0.5, mode="bilinear"), (1, 1, 6, 6), "t"), ("bilinear_to_one", lambda x: F.interpolate(x, size=(1, 1), mode="bilinear", align_corners=True), (1, 2, 3, 4), "t"), ("bilinear_antialias", lambda x: F.interpolate(x, size=(3, 2), mode="bilinear", antialias=True), (1, 1, 6, 6), "tc"),
    ("trilinear", lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), (1, 1, 2, 2, 3), "tc"), ("bicubic", lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), (1, 1, 4, 4), "tc"), ("bicubic_align", lambda x: F.interpolate(x, size=(6, 5), mode="bicubic", align_corners=True), (1, 1, 4, 4), "t"), ("bicubic_down", lambda x: F.interpolate(x, size=(3, 3), mode="bicubic"), (1, 2, 6, 6), "t"), ("bicubic_antialias", lambda x: F.interpolate(x, size=(3, 3), mode="bicubic", antialias=True), (1, 1, 6, 6), "t"), ("area", lambda x: F.interpolate(x, size=(2, 2), mode="area"), (1, 2, 5, 4), "t"), ("upsample_module", lambda x: nn.Upsample(scale_factor=3).forward(x), (1, 2, 2, 2), "t"),
):
    case("resample", _name, _fn, R(*_shape), forms=_forms)
case("resample", "bilinear_channels_last", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), nhwc(R(1, 2, 3, 4)))
case("resample", "bilinear_f16", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), R(1, 2, 3, 4, dtype=f16), **F16)
case("resample", "nearest_2d_u8", lambda x: F.interpolate(x, scale_factor=2), I(0, 255, 1, 2, 2, 2, dtype=u8))
for _mode in ("bilinear", "nearest", "bicubic"):
    for _i, _padding in enumerate(("zeros", "border", "reflection")):
        if _mode != "bilinear" and _padding == "border":
            continue
        case("resample", f"grid_{_mode}_{_padding}", (lambda m, p, a: lambda x, g: F.grid_sample(x, g, mode=m, padding_mode=p, align_corners=a))(_mode, _padding, _i == 1), R(1, 2, 4, 5), U(-1.4, 1.4, 1, 3, 3, 2), forms="tc" if _mode == "bilinear" and _i == 0 else "t", rtol=1e-4, atol=1e-5)
case("resample", "grid_3d", lambda x, g: F.grid_sample(x, g, align_corners=False), R(1, 1, 3, 3, 3), U(-1.2, 1.2, 1, 2, 2, 2, 3))
case("resample", "affine_grid", lambda t: F.affine_grid(t, (1, 1, 3, 4), align_corners=False), R(1, 2, 3), forms="tc")
case("resample", "spatial_transformer", lambda x, t: F.grid_sample(x, F.affine_grid(t, (1, 1, 4, 4), align_corners=True), align_corners=True), R(1, 1, 4, 4), V([[[0.8, 0.1, 0.05], [-0.1, 0.9, 0.1]]]))

# ---------------------------------------------------------------- operators of the core form, called by name

for _name, _fn, _args in (
    ("narrow_copy", lambda x: aten.narrow_copy.default(x, 1, 1, 2), (R(2, 4),)), ("t_copy", lambda x: aten.t_copy.default(x), (R(2, 3),)), ("detach_copy", lambda x: aten.detach_copy.default(x), (R(3),)), ("alias_copy", lambda x: aten.alias_copy.default(x), (R(3),)), ("expand_copy", lambda x: aten.expand_copy.default(x, [2, 3]), (R(2, 1),)), ("diagonal_copy", lambda x: aten.diagonal_copy.default(x, 1), (R(3, 3),)), ("as_strided_copy", lambda x: aten.as_strided_copy.default(x, [2, 2], [1, 3], 1), (R(2, 4),)), ("unfold_copy", lambda x: aten.unfold_copy.default(x, 1, 2, 2), (R(2, 5),)), ("squeeze_copy", lambda x: aten.squeeze_copy.dims(aten.unsqueeze_copy.default(x, 0), [0]), (R(2, 3),)), ("squeeze_copy_dim", lambda x: aten.squeeze_copy.dim(x, 1), (R(2, 1, 3),)), ("select_copy", lambda x: aten.select_copy.int(x, 1, -1), (R(2, 3),)), ("transpose_copy", lambda x: aten.transpose_copy.int(x, 0, 1), (R(2, 3),)), ("lift_fresh_copy", lambda x: aten.lift_fresh_copy.default(x), (R(2),)),
    ("native_dropout", lambda x: aten.native_dropout.default(x, 0.0, True)[0], (R(2, 3),)), ("native_dropout_eval", lambda x: aten.native_dropout.default(x, 0.5, False), (R(2, 3),)), ("native_batch_norm_legit", lambda x, w, b, m, v: aten._native_batch_norm_legit_no_training.default(x, w, b, m, v, 0.1, 1e-5)[0], (R(2, 3, 2), R(3), R(3), R(3), U(0.5, 1, 3))), ("native_batch_norm_no_stats", lambda x: aten._native_batch_norm_legit.no_stats(x, None, None, True, 0.1, 1e-5), (R(2, 3, 2),)), ("native_group_norm", lambda x, w, b: aten.native_group_norm.default(x, w, b, 1, 4, 3, 2, 1e-5), (R(1, 4, 3), R(4), R(4))), ("native_layer_norm", lambda x, w: aten.native_layer_norm.default(x, [4], w, None, 1e-5), (R(2, 4), R(4))), ("adaptive_avg_pool2d", lambda x: aten._adaptive_avg_pool2d.default(x, [2, 2]), (R(1, 2, 3, 5),)), ("log_softmax", lambda x: aten._log_softmax.default(x, 1, False), (R(2, 3),)), ("softmax", lambda x: aten._softmax.default(x, -1, False), (R(2, 3),)),
    ("cdist_forward", lambda x, y: aten._cdist_forward.default(x, y, 2.0, None), (R(3, 2), R(4, 2))), ("pdist_forward", lambda x: aten._pdist_forward.default(x, 1.0), (R(4, 2),)), ("repeat_interleave_of_counts", lambda n: aten.repeat_interleave.Tensor(n, output_size=4), (V([2, 0, 1, 1]),)), ("var_dim", lambda x: aten.var.dim(x, [1], False, True), (R(2, 4),)), ("var_correction_fraction", lambda x: aten.var.correction(x, [1], correction=0.5), (R(2, 4),)), ("mean_dtype", lambda x: aten.mean.default(x, dtype=f32), (I(0, 9, 5),)), ("fill_scalar", lambda x: aten.fill.Scalar(x, 3), (R(2, 3),)), ("copy", lambda x, y: aten.copy.default(x, y), (R(2, 3), R(3))), ("empty", lambda x: aten.fill.Scalar(aten.empty.memory_format([2, 2]), 1.5), (R(1),)), ("unsafe_view", lambda x: aten._unsafe_view.default(x, [6]), (R(2, 3),)), ("to_copy_f16", lambda x: aten._to_copy.default(x, dtype=f16), (R(3),)), ("to_copy_channels_last", lambda x: aten._to_copy.default(x, memory_format=torch.channels_last), (R(1, 2, 2, 2),)), ("clone_channels_last", lambda x: aten.clone.default(x, memory_format=torch.channels_last), (R(1, 2, 2, 2),)), ("upsample_bilinear_aa", lambda x: aten._upsample_bilinear2d_aa.default(x, [3, 3], False), (R(1, 1, 5, 5),)), ("bitwise_scalar_tensor", lambda x: aten.bitwise_and.Scalar_Tensor(6, x), (I(0, 9, 4),)), ("mul_scalar", lambda x: aten.mul.Scalar(x, 3), (I(0, 9, 4),)), ("elu_scales", lambda x: aten.elu.default(x, 1.2, 0.5, 2.0), (R(6),)), ("any_dims", lambda x: aten.any.dims(x, [0, 1]), (B(2, 3),)), ("safe_softmax", lambda x: aten._safe_softmax.default(x, -1), (V([[-INF, -INF], [0.0, 1.0]]),)), ("view_as_real_copy", lambda x: aten.view_as_real_copy.default(torch.complex(x, x)), (R(3),)), ("scaled_dot_product_flash", lambda q: aten._scaled_dot_product_flash_attention_for_cpu.default(q, q, q)[0], (R(1, 2, 3, 4),)), ("native_layer_norm_backward_free_mean", lambda x: aten.native_layer_norm.default(x, [4], None, None, 1e-5)[1], (R(2, 4),)),
):
    case("core", _name, _fn, *_args, **({"rtol": 1e-3, "atol": 1e-3} if "f16" in _name else {}))
for _mode in ("reflection", "replication"):
    for _rank, _shape, _pad in ((1, (1, 2, 4), (1, 2)), (2, (1, 2, 3, 4), (2, 1, 0, 2)), (3, (1, 1, 3, 3, 3), (1, 1, 0, 2, 2, 0))):
        case("core", f"{_mode}_pad{_rank}d", (lambda o, p: lambda x: o(x, list(p)))(getattr(aten, f"{_mode}_pad{_rank}d").default, _pad), R(*_shape))
case("core", "local_scalar_dense", lambda x, s: x * aten._local_scalar_dense.default(s), R(3), V(2))
