"""Cases of element-wise arithmetic: functions of one tensor, of two, comparisons, logic, powers, clamps, conversions."""
import torch
import torch.nn.functional as F

from record_ops_table import B, BF16, E, F16, I, INF, LOW, NAN, R, U, V, Z, binary, case, unary

f16, bf16, f32, f64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
i8, i16, i32, i64, u8, boolean = torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool
aten = torch.ops.aten

# ---------------------------------------------------------------- one tensor, any float

FLOAT_FUNCTIONS = """abs asinh atan ceil cos cosh erf erfc exp exp2 expm1 floor frac isfinite isinf isnan isneginf isposinf
neg positive reciprocal round rsqrt sigmoid sign sgn signbit sin sinh sqrt square tan tanh trunc nan_to_num deg2rad rad2deg log log10
log1p log2 acos asin atanh acosh logical_not sinc""".split()
SPREAD = {"exp": 3, "exp2": 3, "expm1": 3, "cosh": 3, "sinh": 3, "round": 3, "floor": 3, "ceil": 3, "trunc": 3, "frac": 3}
for _name in FLOAT_FUNCTIONS:
    case("unary", _name, unary(getattr(torch, _name)), E(3, scale=SPREAD.get(_name, 1)), note="zeros of both signs, infinities, NaN")

for _i, _name in enumerate(("abs", "exp", "sigmoid", "rsqrt", "sin", "log", "tanh", "reciprocal", "floor", "sqrt")):
    _dtype, _tag, _tolerance = LOW[_i % 2]
    case("unary", f"{_name}_{_tag}", unary(getattr(torch, _name)), U(0.1, 2, 3, 7, dtype=_dtype), **_tolerance)
for _name in ("exp", "erf"):
    case("unary", f"{_name}_f64", unary(getattr(torch, _name)), U(0.1, 2, 3, 7, dtype=f64), rtol=1e-12, atol=1e-12)

for _name in "abs sgn square ceil round trunc".split():
    case("unary", f"{_name}_int", unary(getattr(torch, _name)), I(-9, 9, 3, 5, dtype=i32), note="integers stay integers")
for _name in "exp sqrt sigmoid log1p reciprocal rsqrt".split():
    case("unary", f"{_name}_of_int", unary(getattr(torch, _name)), I(1, 7, 3, 5), note="integers in, float32 out")
case("unary", "exp_of_bool", lambda x: torch.exp(x), B(7))
case("unary", "abs_u8", lambda x: torch.abs(x), I(0, 255, 9, dtype=u8))
case("unary", "neg_int8_wraps", lambda x: -x, V([-128, -1, 0, 127], i8))
for _dtype, _tag in ((i64, "i64"), (u8, "u8"), (boolean, "bool")):
    case("bitwise", f"bitwise_not_{_tag}", lambda x: torch.bitwise_not(x), I(0, 2, 2, 5, dtype=_dtype))
for _dtype, _tag in ((i64, "i64"), (boolean, "bool")):
    case("logical", f"logical_not_{_tag}", lambda x: torch.logical_not(x), I(0, 2, 2, 5, dtype=_dtype))
case("unary", "isnan_int", lambda x: torch.isnan(x), I(0, 5, 4))
case("unary", "isinf_f16", lambda x: torch.isinf(x), E(2, dtype=f16))
case("unary", "round_half_even", lambda x: torch.round(x), V([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5]))
case("unary", "round_decimals", lambda x: torch.round(x, decimals=2), U(-3, 3, 9))
case("unary", "round_negative_decimals", lambda x: torch.round(x, decimals=-1), V([-27.0, 14.0, 33.0, 8.0]))
case("unary", "nan_to_num_values", lambda x: torch.nan_to_num(x, nan=0.5, posinf=9.0, neginf=-9.0), E(2), forms="tfc")
case("unary", "logit", lambda x: torch.logit(x), U(0.05, 0.95, 2, 6))
case("unary", "logit_eps", lambda x: torch.logit(x, eps=0.1), V([0.0, 0.05, 0.5, 0.93, 1.0]))
case("unary", "empty", lambda x: torch.exp(x), Z(0, 3), note="no elements")
case("unary", "zero_dim", lambda x: torch.sin(x), R())
case("unary", "non_contiguous_input", lambda x: torch.exp(x.t()), R(3, 4))
case("unary", "erfinv", lambda x: torch.erfinv(x), U(-0.9, 0.9, 6))
case("unary", "lgamma", lambda x: torch.lgamma(x), U(0.5, 4, 6))
case("unary", "digamma", lambda x: torch.digamma(x), U(0.5, 4, 6))
case("unary", "softsign_by_hand", lambda x: x / (1 + x.abs()), R(7))
for _name in ("erfc", "square", "frac", "sinc", "exp2", "sgn", "isposinf", "deg2rad", "isfinite"):
    case("unary", f"{_name}_forms", unary(getattr(torch, _name)), E(2), forms="fc", note="the decomposed forms")

# in place, on a copy so that the input stays
for _name in "abs ceil clamp_min exp floor log neg reciprocal relu round rsqrt sigmoid sqrt tanh zero square".split():
    if _name == "clamp_min":
        case("in_place", "clamp_min_", lambda x: (x * 1.0).clamp_min_(0.25), R(2, 5), forms="tf")
        continue
    case("in_place", _name + "_", (lambda n: lambda x: getattr(x * 1.0, n + "_")())(_name), U(0.1, 2, 2, 5), forms="tf" if _name in ("exp", "relu", "zero") else "t")

# ---------------------------------------------------------------- two tensors

SHAPES = {"same": ((2, 3), (2, 3)), "row": ((2, 3), (3,)), "outer": ((2, 1, 3), (4, 1)), "zero_dim": ((2, 3), ()), "rank5": ((2, 1, 2, 1, 3), (2, 1, 1))}
for _name in ("add", "sub", "mul", "div"):
    for _tag, (_a, _b) in SHAPES.items():
        if _tag not in ("same", "rank5") or _name == "add":
            case("binary", f"{_name}_{_tag}", binary(getattr(torch, _name)), R(*_a), U(0.5, 2, *_b))
    case("binary", f"{_name}_edges", binary(getattr(torch, _name)), E(2), E(2).map(lambda t: t.flip(1)))
for _name in ("maximum", "minimum", "atan2", "fmax", "fmin", "pow", "remainder", "fmod", "floor_divide", "hypot", "copysign", "xlogy", "logaddexp", "logaddexp2", "true_divide", "float_power"):
    case("binary", f"{_name}", binary(getattr(torch, _name)), U(0.2, 3, 2, 1, 4), U(0.3, 2, 3, 1))
for _name in ("maximum", "minimum", "atan2", "remainder", "fmod", "fmax", "fmin"):
    case("binary", f"{_name}_edges", binary(getattr(torch, _name)), E(2), E(2).map(lambda t: t.flip(0)), note="NaN, infinities, zeros of both signs")
for _i, _name in enumerate(("add", "mul", "sub", "div", "maximum", "minimum", "pow", "remainder")):
    _dtype, _tag, _tolerance = LOW[_i % 2]
    case("binary", f"{_name}_{_tag}", binary(getattr(torch, _name)), U(0.5, 2, 3, 4, dtype=_dtype), U(0.5, 2, 4, dtype=_dtype), **_tolerance)
case("binary", "add_f64", lambda x, y: x + y, R(3, dtype=f64), R(3, dtype=f64), rtol=1e-12, atol=1e-12)
case("binary", "add_empty", lambda x, y: x + y, Z(0, 3), R(3), note="no elements, broadcast")
case("binary", "mul_broadcast_empty", lambda x, y: x * y, Z(2, 0), R(2, 1))
case("binary", "add_non_contiguous", lambda x, y: x.t() + y, R(3, 2), R(2, 3))
case("binary", "add_same_operand", lambda x: x + x, R(5))
case("binary", "add_both_broadcast", lambda x, y: x + y, R(3, 1), R(1, 4))
for _name in ("add", "sub"):
    case("binary", f"{_name}_alpha", (lambda f: lambda x, y: f(x, y, alpha=2.5))(getattr(torch, _name)), R(2, 3), R(3), forms="tfc")
    case("binary", f"{_name}_alpha_int", (lambda f: lambda x, y: f(x, y, alpha=-3))(getattr(torch, _name)), I(-5, 5, 2, 3), I(-5, 5, 3))
    case("binary", f"{_name}_scalar_alpha", (lambda f: lambda x: f(x, 1.5, alpha=2))(getattr(torch, _name)), R(2, 3))
case("binary", "rsub_scalar", lambda x: 1 - x, R(2, 3), forms="tfc")
case("binary", "rsub_scalar_alpha", lambda x: torch.rsub(x, 2.0, alpha=3.0), R(2, 3))
case("binary", "rsub_tensor", lambda x, y: torch.rsub(x, y), R(2, 3), R(3))
case("binary", "rsub_int", lambda x: 7 - x, I(-5, 5, 4))
case("binary", "bool_add", lambda x, y: torch.add(x, y), B(6), B(6))
case("binary", "bool_mul", lambda x, y: torch.mul(x, y), B(6), B(6))
case("binary", "u8_wraps", lambda x, y: x + y, V([250, 3, 255], u8), V([10, 4, 1], u8))
case("binary", "i8_mul_wraps", lambda x, y: x * y, V([100, -128, 3], i8), V([2, -1, 4], i8))
for _name in ("add", "sub", "mul", "div", "pow", "remainder", "fmod", "floor_divide", "eq", "lt", "maximum"):
    _fn = getattr(torch, _name)
    case("binary", f"{_name}_int", binary(_fn), I(-9, 9, 2, 4), I(1, 4, 4))
for _name, _fn in {
    "add": lambda x: x + 3, "add_float": lambda x: x + 0.5, "mul": lambda x: x * -2.0, "sub": lambda x: x - 1, "div": lambda x: x / 4, "rdiv": lambda x: 2 / x,
    "pow": lambda x: x**2, "rpow": lambda x: 2.0**x, "remainder": lambda x: x % 0.7, "fmod": lambda x: torch.fmod(x, 0.7), "floordiv": lambda x: x // 0.4,
    "negative_remainder": lambda x: x % -0.7,
}.items():
    case("scalar", f"{_name}_f32", _fn, R(2, 4), forms="tfc" if _name in ("add", "rdiv", "floordiv") else "t")
for _name, _fn in {
    "add": lambda x: x + 3, "add_float": lambda x: x + 0.5, "mul_float": lambda x: x * 1.5, "div": lambda x: x / 2, "floordiv": lambda x: x // 2, "remainder": lambda x: x % 3,
    "pow": lambda x: x**3, "true_pow": lambda x: x**0.5, "add_true": lambda x: x + True, "fmod": lambda x: torch.fmod(x, 3), "remainder_negative": lambda x: x % -3,
}.items():
    case("scalar", f"{_name}_i64", _fn, I(-9, 9, 2, 4) if _name not in ("true_pow",) else I(0, 9, 2, 4), note="integer tensor and number")
for _name, _fn in {"add": lambda x: x + 3, "mul_float": lambda x: x * 0.5, "eq": lambda x: x == 1}.items():
    case("scalar", f"{_name}_bool", _fn, B(5))
case("scalar", "mul_scalar_overload", lambda x: aten.mul.Scalar(x, 2.0), R(3))
case("scalar", "add_scalar_overload", lambda x: aten.add.Scalar(x, 2.0, 3), R(3))
case("scalar", "sub_scalar_overload", lambda x: aten.sub.Scalar(x, 2, 0.5), R(3))
case("scalar", "div_scalar_overload", lambda x: aten.div.Scalar(x, 3), R(3))
case("scalar", "div_scalar_mode_overload", lambda x: aten.div.Scalar_mode(x, 0.3, rounding_mode="floor"), R(5))
case("scalar", "big_int", lambda x: x + 3000000000, I(0, 9, 3))
case("scalar", "f16_big", lambda x: x * 3.0, U(0, 2, 5, dtype=f16), **F16)

for _mode in ("floor", "trunc"):
    case("binary", f"div_{_mode}", (lambda m: lambda x, y: torch.div(x, y, rounding_mode=m))(_mode), R(2, 5), U(0.2, 1, 5), forms="tc")
    case("binary", f"div_{_mode}_int", (lambda m: lambda x, y: torch.div(x, y, rounding_mode=m))(_mode), I(-9, 9, 2, 5), V([2, -3, 4, -2, 5]))
    case("binary", f"div_{_mode}_number", (lambda m: lambda x: torch.div(x, 0.3, rounding_mode=m))(_mode), R(2, 5))
    if _mode == "floor":
        case("binary", f"div_{_mode}_i32_number", (lambda m: lambda x: torch.div(x, -4, rounding_mode=m))(_mode), I(-9, 9, 7, dtype=i32))
case("binary", "div_floor_edges", lambda x, y: torch.div(x, y, rounding_mode="floor"), V([1.0, -1.0, INF, 0.0, -7.5, 6.0]), V([0.0, INF, 2.0, -3.0, 2.0, -0.1]))
case("binary", "fmod_signs", lambda x, y: torch.fmod(x, y), V([-5.5, 5.5, -5.5, 5.5]), V([2.0, -2.0, -2.0, 2.0]))
case("binary", "remainder_signs", lambda x, y: torch.remainder(x, y), V([-5.5, 5.5, -5.5, 5.5]), V([2.0, -2.0, -2.0, 2.0]))
case("binary", "remainder_scalar_tensor", lambda x: torch.remainder(7, x), I(1, 6, 5))

# type promotion
PAIRS = {"i64_f32": (i64, f32), "bool_i32": (boolean, i32), "u8_i8": (u8, i8), "i32_i64": (i32, i64), "bool_f32": (boolean, f32), "f16_f32": (f16, f32), "bf16_f16": (bf16, f16), "f32_f64": (f32, f64), "i16_f16": (i16, f16)}
for _name in ("add", "mul", "div", "sub", "maximum", "eq", "lt", "remainder", "pow"):
    for _tag, (_x, _y) in PAIRS.items():
        if _name != "add" and _tag not in {"mul": "bool_f32 u8_i8 f16_f32", "div": "i64_f32 bool_i32 i32_i64 f16_f32", "maximum": "i64_f32 u8_i8", "eq": "i64_f32 bool_i32 i32_i64", "lt": "bool_f32 f16_f32"}.get(_name, "i64_f32 i32_i64").split():
            continue
        case("promotion", f"{_name}_{_tag}", binary(getattr(torch, _name)), I(0, 5, 2, 4, dtype=_x), I(1, 5, 4, dtype=_y), **(F16 if "f16" in _tag else {}))
case("promotion", "zero_dim_float_keeps_f16", lambda x, y: x + y, R(3, dtype=f16), R(), note="a 0-d tensor does not widen within its kind", **F16)
case("promotion", "zero_dim_float_lifts_int", lambda x, y: x * y, I(0, 5, 3), R())
case("promotion", "zero_dim_f64", lambda x, y: x + y, R(3), R(dtype=f64))
case("promotion", "zero_dim_int_both", lambda x, y: x + y, V(3), V(2, i32))
case("promotion", "bool_div", lambda x, y: x / y, B(4), V([True, True, True, True]))
case("promotion", "int_true_div_zero", lambda x, y: x / y, V([1, 0, -1]), V([0, 0, 0]), note="inf and NaN from integers")
case("promotion", "literal_tensor", lambda x: x + torch.tensor([1, 2, 3]), R(2, 3), forms="tfc")
case("promotion", "scalar_literal_tensor", lambda x: x * torch.tensor(2.0, dtype=f64), R(2, 3))
case("promotion", "where_i64_f32", lambda c, x, y: torch.where(c, x, y), B(4), I(0, 5, 4), R(4))
case("promotion", "where_bool_i64", lambda c, x, y: torch.where(c, x, y), B(4), B(4), I(0, 5, 4))
case("promotion", "cat_i32_f32", lambda x, y: torch.cat([x, y]), I(0, 5, 2, dtype=i32), R(3))
case("promotion", "stack_i32_i64", lambda x, y: torch.stack([x, y]), I(0, 5, 2, dtype=i32), I(0, 5, 2))
case("promotion", "result_of_comparison_times_float", lambda x: (x > 0) * x, R(6))
case("promotion", "mask_as_weight", lambda x: (x > 0).float().mean(), R(6))
case("promotion", "bool_sum", lambda x: (x > 0).sum(), R(6))

# in-place with operands
for _name, _fn in {
    "add_": lambda x, y: (x * 1).add_(y), "sub_": lambda x, y: (x * 1).sub_(y, alpha=2), "mul_": lambda x, y: (x * 1).mul_(y), "div_": lambda x, y: (x * 1).div_(y),
    "add__scalar": lambda x, y: (x * y).add_(1), "pow_": lambda x, y: (x * y).pow_(2), "clamp_": lambda x, y: (x * y).clamp_(-0.5, 0.5), "iadd_view": lambda x, y: _iadd_view(x, y),
    "addcmul_": lambda x, y: (x * 1).addcmul_(x, y, value=0.5), "addcdiv_": lambda x, y: (x * 1).addcdiv_(x, y, value=0.5), "lerp_": lambda x, y: (x * 1).lerp_(y, 0.25),
    "copy_": lambda x, y: (x * 1).copy_(y), "fill_": lambda x, y: (x * y).fill_(2.0), "masked_fill_": lambda x, y: (x * y).masked_fill_(y > 1, -1.0),
    "copy__broadcast_cast": lambda x, y: (x * 1).copy_((y > 1)), "fmod_": lambda x, y: (x * 1).fmod_(y), "remainder_": lambda x, y: (x * 1).remainder_(y),
    "eq_": lambda x, y: (x * 1).eq_(y), "logical_and_": lambda x, y: (x > 0).logical_and_(y > 1), "bitwise_or_": lambda x, y: (x > 0).bitwise_or_(y > 1), "floor_divide_": lambda x, y: (x * 1).floor_divide_(y),
}.items():
    case("in_place", _name, _fn, R(2, 4), U(0.5, 2, 4), forms="tfc" if _name in ("add_", "copy_", "masked_fill_", "iadd_view", "addcmul_") else "t")


def _iadd_view(x, y):
    z = x * 1.0
    z[0] += y
    z[:, 1:3] *= 2.0
    return z


# ---------------------------------------------------------------- comparisons, logic, bits

for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _fn = getattr(torch, _name)
    case("compare", f"{_name}_edges", binary(_fn), E(2), E(2).map(lambda t: t.flip(0)))
    case("compare", f"{_name}_scalar", (lambda f: lambda x: f(x, 0.5))(_fn), E(2))
    if _name in ("eq", "le", "gt"):
        case("compare", f"{_name}_int_broadcast", binary(_fn), I(0, 3, 2, 1, 4), I(0, 3, 3, 1))
    else:
        case("compare", f"{_name}_int_scalar", (lambda f: lambda x: f(x, 1))(_fn), I(0, 3, 2, 5, dtype=i32))
case("compare", "eq_bool", lambda x, y: x == y, B(7), B(7))
case("compare", "gt_int_float_scalar", lambda x: x > 1.5, I(0, 4, 6), note="a float number beside an integer tensor")
case("compare", "lt_f16", lambda x, y: x < y, R(7, dtype=f16), R(7, dtype=f16))
case("compare", "eq_u8_scalar_out_of_range", lambda x: x == 300, I(0, 255, 5, dtype=u8))
case("compare", "isclose", lambda x, y: torch.isclose(x, y, rtol=0.1, atol=0.1), R(6), R(6), forms="tc")
case("compare", "equal_nan", lambda x: torch.isclose(x, x, equal_nan=True), E(2))
case("compare", "not_equal_alias", lambda x, y: x.not_equal(y), I(0, 3, 5), I(0, 3, 5))
case("compare", "greater_alias", lambda x, y: torch.greater(x, y), R(5), R(5))
for _name in ("logical_and", "logical_or", "logical_xor"):
    case("logical", _name, binary(getattr(torch, _name)), B(2, 1, 4), B(3, 1))
    case("logical", _name + "_float_int", binary(getattr(torch, _name)), V([0.0, -0.0, NAN, 2.0]), V([1, 0, 0, 1]))
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    case("bitwise", _name, binary(getattr(torch, _name)), I(-99, 99, 2, 4), I(-99, 99, 4))
    case("bitwise", _name + "_bool", binary(getattr(torch, _name)), B(6), B(6))
    case("bitwise", _name + "_scalar", (lambda f: lambda x: f(x, 6))(getattr(torch, _name)), I(-99, 99, 5, dtype=i32))
    case("bitwise", _name + "_mixed", binary(getattr(torch, _name)), B(4), I(0, 99, 4, dtype=u8))
for _name in ("bitwise_left_shift", "bitwise_right_shift"):
    case("bitwise", _name, binary(getattr(torch, _name)), I(-99, 99, 5), I(0, 4, 5))
    case("bitwise", _name + "_scalar", (lambda f: lambda x: f(x, 2))(getattr(torch, _name)), I(-99, 99, 5, dtype=i32))
case("bitwise", "and_operator", lambda x, y: x & y, B(6), B(6), forms="tfc", note="__and__ in the training form")
case("bitwise", "or_operator", lambda x, y: x | y, B(6), B(6), forms="tc")
case("bitwise", "xor_operator", lambda x, y: x ^ y, I(0, 9, 6), I(0, 9, 6))
case("bitwise", "invert_operator", lambda x: ~x, B(6))
case("bitwise", "shift_operators", lambda x: (x << 3) | (x >> 1), I(0, 99, 6))
case("bitwise", "unpack_nibbles", lambda x: torch.stack([x & 15, x >> 4], -1).flatten(), I(0, 255, 5, dtype=u8))

# ---------------------------------------------------------------- powers, clamps, blends

for _tag, _exponent in {"two": 2, "three": 3, "half": 0.5, "minus_half": -0.5, "minus_one": -1, "zero": 0, "fraction": 1.7}.items():
    case("pow", f"tensor_scalar_{_tag}", (lambda e: lambda x: torch.pow(x, e))(_exponent), E(2), note="0, inf, NaN")
case("pow", "tensor_scalar_positive", lambda x: x.pow(2.3), U(0.1, 3, 6))
case("pow", "scalar_tensor", lambda x: torch.pow(2.5, x), R(2, 4), forms="tc")
case("pow", "scalar_int_tensor", lambda x: 2**x, I(0, 6, 5))
case("pow", "tensor_tensor_edges", lambda x, y: torch.pow(x, y), V([0.0, 0.0, -2.0, INF, -INF, 1.0, NAN]), V([0.0, -1.0, 3.0, -1.0, 3.0, NAN, 0.0]))
case("pow", "int_square", lambda x: x**2, I(-9, 9, 5, dtype=i32))
case("pow", "square_as_mul", lambda x: x * x, R(5))
case("pow", "f16", lambda x: x**2, R(5, dtype=f16), **F16)
for _tag, _fn in {
    "both": lambda x: torch.clamp(x, -0.5, 0.5), "min": lambda x: torch.clamp(x, min=0.1), "max": lambda x: torch.clamp(x, max=0.1), "crossed": lambda x: torch.clamp(x, 1.0, -1.0),
    "clamp_min": lambda x: torch.clamp_min(x, 0.2), "clamp_max": lambda x: torch.clamp_max(x, 0.2), "clip": lambda x: torch.clip(x, -0.3, 0.8),
}.items():
    case("clamp", _tag, _fn, E(2), forms="tc" if _tag in ("both", "clip", "clamp_min") else "t")
case("clamp", "int", lambda x: x.clamp(-2, 3), I(-9, 9, 8))
case("clamp", "int_float_bounds", lambda x: x.clamp(-2.5, 3.5), I(-9, 9, 8), note="the result is float")
case("clamp", "u8", lambda x: x.clamp(10, 200), I(0, 255, 8, dtype=u8))
case("clamp", "tensor_bounds", lambda x, a, b: torch.clamp(x, a, b), R(2, 4), U(-1, 0, 4), U(0, 1, 2, 1))
case("clamp", "tensor_min_only", lambda x, a: torch.clamp(x, min=a), E(2), R(12))
case("clamp", "clamp_min_tensor", lambda x, a: torch.clamp_min(x, a), R(2, 4), R(4))
case("clamp", "inf_bound", lambda x: torch.clamp(x, 0.0, INF), E(2))
case("clamp", "f16", lambda x: torch.clamp(x, 0.0, 6.0), R(2, 6, dtype=f16), **F16)
case("blend", "addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=0.3), R(2, 4), R(4), R(2, 1), forms="tfc")
case("blend", "addcmul_int", lambda x, y, z: torch.addcmul(x, y, z, value=2), I(0, 9, 4), I(0, 9, 4), I(0, 9, 4))
case("blend", "addcdiv", lambda x, y, z: torch.addcdiv(x, y, z, value=-1.5), R(2, 4), R(4), U(0.5, 1, 2, 1), forms="tc")
case("blend", "lerp_scalar", lambda x, y: torch.lerp(x, y, 0.3), R(2, 4), R(4), forms="tc")
case("blend", "lerp_tensor", lambda x, y, w: torch.lerp(x, y, w), R(2, 4), R(4), U(0, 1, 2, 1))
case("blend", "where", lambda c, x, y: torch.where(c, x, y), B(2, 1, 4), R(3, 1), R(4), forms="tc")
case("blend", "where_edges", lambda x: torch.where(x.isnan(), torch.zeros_like(x), x), E(2))
case("blend", "where_scalar_other", lambda c, x: torch.where(c, x, -1e9), B(2, 4), R(2, 4), forms="tfc")
case("blend", "where_scalar_self", lambda c, x: torch.where(c, 0.0, x), B(2, 4), R(2, 4))
case("blend", "where_both_scalars", lambda c: torch.where(c, 1.0, 0.0), B(2, 4), forms="tc")
case("blend", "where_int_scalars", lambda c: torch.where(c, 7, -7), B(2, 4))
case("blend", "where_u8", lambda c, x, y: torch.where(c, x, y), B(4), I(0, 9, 4, dtype=u8), I(0, 9, 4, dtype=u8))
case("blend", "masked_fill_scalar", lambda x, m: x.masked_fill(m, -INF), R(2, 3, 4), B(3, 1), forms="tfc")
case("blend", "masked_fill_tensor", lambda x, m, v: x.masked_fill(m, v), R(2, 4), B(4), R(), forms="tc")
case("blend", "masked_fill_int", lambda x, m: x.masked_fill(m, 5), I(0, 9, 2, 4, dtype=i32), B(2, 4))
case("blend", "masked_fill_bool", lambda x, m: x.masked_fill(m, True), B(2, 4), B(2, 4))
case("blend", "masked_fill_broadcast_self", lambda x, m: x.masked_fill(m, 0.0), R(2, 3), B(2, 3, p=1.0), note="every element filled")
case("blend", "lerp_f16", lambda x, y: torch.lerp(x, y, 0.7), R(5, dtype=f16), R(5, dtype=f16), **F16)
case("blend", "threshold", lambda x: F.threshold(x, 0.2, -3.0), E(2))
case("blend", "heaviside", lambda x, y: torch.heaviside(x, y), V([-1.0, 0.0, 2.0]), R(3))
case("blend", "nextafter", lambda x, y: torch.nextafter(x, y), R(3), R(3), rtol=0.0, atol=0.0)

# ---------------------------------------------------------------- conversions

for _tag, (_x, _y) in {
    "f32_f16": (f32, f16), "f16_f32": (f16, f32), "f32_bf16": (f32, bf16), "bf16_f32": (bf16, f32), "f32_f64": (f32, f64), "f64_f32": (f64, f32), "f32_i64": (f32, i64),
    "i64_f32": (i64, f32), "i32_i64": (i32, i64), "i64_i32": (i64, i32), "i64_u8": (i64, u8), "f32_bool": (f32, boolean), "bool_f32": (boolean, f32),
    "u8_f32": (u8, f32), "i8_i16": (i8, i16),
}.items():
    case("convert", _tag, (lambda d: lambda x: x.to(d))(_y), U(-3, 3, 2, 5).to(_x), rtol=1e-3 if "16" in _tag else None, atol=1e-3 if "16" in _tag else None)
case("convert", "same_dtype", lambda x: x.to(f32) + 1, R(3))
case("convert", "same_dtype_copy", lambda x: x.to(f32, copy=True), R(3), forms="tf")
case("convert", "float_method", lambda x: x.float() * 2, I(0, 5, 3), forms="tfc")
case("convert", "long_method", lambda x: x.long(), U(-3, 3, 5), forms="tc", note="rounds to zero")
case("convert", "half_and_back", lambda x: x.half().float(), R(5), **F16)
case("convert", "bfloat16_math", lambda x: (x.bfloat16() * 3).float(), R(5), **BF16)
case("convert", "type_as", lambda x, y: x.type_as(y), I(0, 5, 4), R(2), forms="tf")
case("convert", "to_other", lambda x, y: x.to(y), I(0, 5, 4), R(2), forms="tf")
case("convert", "to_device", lambda x: x.to("cpu") + 1, R(3))
case("convert", "to_device_dtype", lambda x: x.to("cpu", f64), R(3))
case("convert", "to_dtype_layout", lambda x: torch.ops.aten.to.dtype_layout(x, dtype=i32), U(-3, 3, 5))
case("convert", "bool_method", lambda x: x.bool(), E(2), note="NaN is true, -0 is false")
case("convert", "int_method", lambda x: x.int(), U(-9, 9, 6))
case("convert", "channels_last", lambda x: x.to(memory_format=torch.channels_last) + 1, R(1, 3, 4, 4), forms="tf")
case("convert", "contiguous", lambda x: x.transpose(0, 1).contiguous(), R(2, 3), forms="tf")
case("convert", "contiguous_channels_last", lambda x: x.contiguous(memory_format=torch.channels_last).mean(1), R(1, 3, 4, 4))
case("convert", "clone", lambda x: x.clone(), R(2, 3), forms="tf")
case("convert", "detach", lambda x: x.detach() + 1, R(2, 3))
case("convert", "alias", lambda x: torch.ops.aten.alias(x) * 2, R(2, 3), forms="tf")
case("convert", "lift_fresh_copy", lambda x: x + torch.tensor([0.5, INF, NAN]), R(2, 3))
case("convert", "number_tensor", lambda x: x + torch.tensor(3), R(2, 3), forms="tf")
