"""Cases of quantised programs: quantise and dequantise by name, and what the quantisers of torchao and executorch write.

A value next to a rounding border may land one step away, so the tolerance is about one step of the output's scale.
"""
import functools

import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401  registers quantized_decomposed
import torch.nn as nn
import torch.nn.functional as F

from record_ops_table import I, INF, R, U, V, Make, build, case, mod

f16, f32, i8, i16, i32, i64, u8 = torch.float16, torch.float32, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8
qd = torch.ops.quantized_decomposed
STEP = dict(rtol=5e-2, atol=5e-2)

# ---------------------------------------------------------------- operators by name

WIDE_VALUES = V([-1000.0, -3.2, -0.05, 0.0, 0.05, 0.149, 0.151, 1.0, 3.2, 1000.0, INF, -INF])
for _name, _fn, _args in (
    ("quantize_i8", lambda x: qd.quantize_per_tensor.default(x, 0.1, 3, -128, 127, i8), (WIDE_VALUES,)),
    ("quantize_u8", lambda x: qd.quantize_per_tensor.default(x, 0.05, 120, 0, 255, u8), (WIDE_VALUES,)),
    ("quantize_i16", lambda x: qd.quantize_per_tensor.default(x, 0.01, 0, -32768, 32767, i16), (R(6),)),
    ("quantize_narrow_range", lambda x: qd.quantize_per_tensor.default(x, 0.1, 0, -7, 7, i8), (R(8).map(lambda t: t * 2),)),
    ("quantize_ties", lambda x: qd.quantize_per_tensor.default(x, 0.5, 0, -128, 127, i8), (V([-1.25, -0.75, -0.25, 0.25, 0.75, 1.25]),)),
    ("quantize_tensor_arguments", lambda x, s, z: qd.quantize_per_tensor.tensor(x, s, z, -128, 127, i8), (R(6), V(0.1), V(3))),
    ("dequantize_i8", lambda x: qd.dequantize_per_tensor.default(x, 0.1, 3, -128, 127, i8), (I(-128, 127, 6, dtype=i8),)),
    ("dequantize_u8", lambda x: qd.dequantize_per_tensor.default(x, 0.1, 120, 0, 255, u8), (I(0, 255, 6, dtype=u8),)),
    ("dequantize_tensor_arguments", lambda x, s, z: qd.dequantize_per_tensor.tensor(x, s, z, -128, 127, i8), (I(-128, 127, 6, dtype=i8), V(0.1), V(3))),
    ("quantize_channel", lambda x, s, z: qd.quantize_per_channel.default(x, s, z, 0, -128, 127, i8), (R(3, 4), U(0.01, 0.1, 3), I(-5, 5, 3))),
    ("quantize_channel_last", lambda x, s, z: qd.quantize_per_channel.default(x, s, z, 1, -127, 127, i8), (R(2, 3), U(0.01, 0.1, 3), I(0, 1, 3))),
    ("dequantize_channel", lambda x, s, z: qd.dequantize_per_channel.default(x, s, z, 0, -128, 127, i8), (I(-128, 127, 3, 4, dtype=i8), U(0.01, 0.1, 3), I(-5, 5, 3))),
    ("dequantize_channel_no_zero", lambda x, s: qd.dequantize_per_channel.default(x, s, None, 0, -128, 127, i8), (I(-128, 127, 3, 4, dtype=i8), U(0.01, 0.1, 3))),
    ("choose_and_round_trip", lambda x: _dynamic(x), (R(2, 5),)),
    ("choose_symmetric", lambda x: qd.choose_qparams_symmetric.tensor(x, -127, 127, 1e-5, i8), (R(2, 5),)),
    ("per_token", lambda x: _per_token(x), (R(3, 4),)),
    ("quantized_add", lambda x, y: _quantized_add(x, y), (R(2, 4), R(2, 4))),
    ("round_trip_requantize", lambda x: _requantize(x), (R(2, 4),)),
):
    case("quant", _name, _fn, *_args, **(STEP if _name in ("choose_and_round_trip", "per_token", "quantized_add", "round_trip_requantize") else {}))


def _dynamic(x):
    scale, zero = qd.choose_qparams.tensor(x, -128, 127, 1e-5, i8)
    q = qd.quantize_per_tensor.tensor(x, scale, zero, -128, 127, i8)
    return qd.dequantize_per_tensor.tensor(q, scale, zero, -128, 127, i8)


def _per_token(x):
    scale, zero = qd.choose_qparams_per_token_asymmetric.default(x, i8)
    q = qd.quantize_per_token.default(x, scale, zero, -128, 127, i8)
    return qd.dequantize_per_token.default(q, scale, zero, -128, 127, i8, f32)


def _quantized_add(x, y):
    q = functools.partial(qd.quantize_per_tensor.default, quant_min=-128, quant_max=127, dtype=i8)
    dq = functools.partial(qd.dequantize_per_tensor.default, quant_min=-128, quant_max=127, dtype=i8)
    a, b = dq(q(x, 0.02, 0), 0.02, 0), dq(q(y, 0.03, 5), 0.03, 5)
    return dq(q(a + b, 0.05, -3), 0.05, -3)


def _requantize(x):
    q = qd.quantize_per_tensor.default(x, 0.02, 0, -128, 127, i8)
    x = qd.dequantize_per_tensor.default(q, 0.02, 0, -128, 127, i8)
    q = qd.quantize_per_tensor.default(x, 0.05, 7, -128, 127, i8)
    return qd.dequantize_per_tensor.default(q, 0.05, 7, -128, 127, i8)


def library(function):
    """The embedding operators are registered by executorch."""

    def make():
        import executorch.exir.passes._quant_patterns_and_replacements  # noqa: F401

        from record_ops_table import Calls

        return Calls(function)

    return Make(make)


case("quant", "embedding_byte", library(lambda w, s, z, i: qd.embedding_byte.default(w, s, z, -128, 127, i)), I(-128, 127, 6, 4, dtype=i8), U(0.01, 0.1, 6), U(-3, 3, 6), I(0, 6, 2, 3))
case("quant", "embedding_byte_f16", library(lambda w, s, i: qd.embedding_byte.dtype(w, s, None, -128, 127, i, dtype=f16)), I(-128, 127, 6, 4, dtype=i8), U(0.01, 0.1, 6), I(0, 6, 3), rtol=1e-2, atol=1e-2)
case("quant", "embedding_4bit", library(lambda w, s, i: qd.embedding_4bit.default(w, s, None, -8, 7, i)), I(0, 255, 6, 4, dtype=u8), U(0.01, 0.1, 6), I(0, 6, 3))

# ---------------------------------------------------------------- whole layers through the quantisers


class Converted(nn.Module):
    """A converted graph refuses eval(); it has no other mode anyway."""

    def __init__(self, graph):
        super().__init__()
        self.inner = graph

    def forward(self, *x):
        return self.inner(*x)

    def train(self, mode=True):
        return self

    def __deepcopy__(self, memo):
        return self


def quantised(layer, *inputs, per_channel=True, dynamic=False):
    """What XNNPACKQuantizer makes of a layer after three calibration runs."""

    def make():
        from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

        model, args = layer().eval(), build(inputs)
        quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=per_channel, is_dynamic=dynamic))
        graph = prepare_pt2e(torch.export.export(model, args).module(), quantizer)
        for _ in range(3):
            graph(*args)
        return Converted(convert_pt2e(graph))

    return Make(make)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 2, 3, padding=1)

    def forward(self, x):
        return F.relu(self.conv(x) + x)


class Joined(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(2, 2, 1), nn.Conv2d(2, 3, 1)

    def forward(self, x):
        return torch.cat([self.a(x), self.b(x)], 1)


IMAGE = R(1, 2, 5, 5)
for _name, _layer, _input, _options in (
    ("linear", lambda: nn.Linear(4, 3), R(2, 4), {}), ("linear_per_tensor", lambda: nn.Linear(4, 3), R(2, 4), dict(per_channel=False)), ("linear_dynamic", lambda: nn.Linear(4, 3), R(2, 4), dict(dynamic=True)), ("linear_rank3", lambda: nn.Linear(4, 3), R(2, 3, 4), {}), ("linear_relu", lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), R(2, 4), {}),
    ("conv1d", lambda: nn.Conv1d(2, 3, 3), R(1, 2, 6), {}), ("conv2d", lambda: nn.Conv2d(2, 3, 3), IMAGE, {}), ("conv2d_relu", lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU()), IMAGE, {}), ("conv2d_depthwise", lambda: nn.Conv2d(2, 2, 3, groups=2), IMAGE, {}), ("conv2d_batch_norm_relu", lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU()), IMAGE, {}), ("conv2d_same_even", lambda: nn.Conv2d(2, 3, (4, 2), padding="same"), IMAGE, {}), ("conv_transpose2d", lambda: nn.ConvTranspose2d(2, 3, 2, stride=2), R(1, 2, 3, 3), {}),
    ("residual", Residual, IMAGE, {}), ("cat", Joined, IMAGE, {}), ("pool_and_linear", lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU6(), nn.MaxPool2d(2, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 2)), IMAGE, {}),
):
    case("quant_layer", _name, quantised(_layer, _input, **_options), _input, **STEP)


def intx(bits, group, in_features=64):
    """Weights of few bits in groups, activations quantised at run time: the torchao form with subclass weights."""

    def make():
        from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
        from torchao.quantization.granularity import PerAxis, PerGroup

        model = nn.Sequential(nn.Linear(in_features, 8), nn.ReLU())
        dtype = torch.int4 if bits == 4 else torch.int8
        quantize_(model, Int8DynamicActivationIntxWeightConfig(weight_dtype=dtype, weight_granularity=PerGroup(group) if group else PerAxis(0)))
        return model

    return Make(make)


case("quant_layer", "int4_groups", intx(4, 32), R(2, 64), rtol=1e-1, atol=1e-1)
case("quant_layer", "int8_channels", intx(8, 0), R(2, 64), rtol=1e-1, atol=1e-1)
