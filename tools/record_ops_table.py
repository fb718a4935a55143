"""How tools/record_ops.py describes a case: input makers, the table, the decorators. Cases themselves are in record_ops_*.py.

    case("activation", "silu", F.silu, R(2, 5))
    case("norm", "layer_norm", mod(nn.LayerNorm, 8), R(2, 8), forms="tfc")

An input is described, not built, so that `--only` records the same numbers as a full run: the generator is seeded by the
case's name. Anything in the arguments that is not a description stands for itself; tuples, lists and dicts may nest.
"""
import zlib

import torch
import torch.nn as nn

# A later form with the operators of an earlier one is not kept.
FORMS = {"t": "train", "f": "functional", "c": "core"}
INF, NAN = float("inf"), float("nan")
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1.5, 3.7, INF, -INF, NAN, 1e-30]


class Make:
    """A value to be built when its case is recorded."""

    def __init__(self, build):
        self.build = build

    def map(self, function):
        return Make(lambda: function(self.build()))

    def to(self, dtype):
        return self.map(lambda t: t.to(dtype))


def R(*shape, dtype=torch.float32):
    """Standard normal numbers."""
    return Make(lambda: torch.randn(shape).to(dtype))


def U(low, high, *shape, dtype=torch.float32):
    """Uniform numbers."""
    return Make(lambda: (torch.rand(shape) * (high - low) + low).to(dtype))


def I(low, high, *shape, dtype=torch.int64):
    """Integers of [low, high)."""
    return Make(lambda: torch.randint(low, high, shape).to(dtype))


def B(*shape, p=0.5):
    """True with probability p."""
    return Make(lambda: torch.rand(shape) < p)


def V(values, dtype=None):
    """A literal tensor."""
    return Make(lambda: torch.tensor(values, dtype=dtype))


def E(rows=2, dtype=torch.float32, scale=1.0):
    """The first row holds zeros of both signs, infinities, NaN and a tiny number; the rest is normal."""
    return Make(lambda: torch.cat([torch.tensor([EDGES]), torch.randn(rows - 1, len(EDGES)) * scale]).to(dtype))


def Z(*shape, dtype=torch.float32):
    return Make(lambda: torch.zeros(shape, dtype=dtype))


def nhwc(made):
    return made.map(lambda t: t.contiguous(memory_format=torch.channels_last))


def build(value):
    if isinstance(value, Make):
        return value.build()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[build(v) for v in value])
    if isinstance(value, (tuple, list)):
        return type(value)([build(v) for v in value])
    if isinstance(value, dict):
        return {k: build(v) for k, v in value.items()}
    return value


class Calls(nn.Module):
    """Calls a plain function; the parameters keep the function's names."""

    def __init__(self, function):
        super().__init__()
        self.forward = function


def mod(cls, *args, **kwargs):
    """A module to be constructed when its case is recorded."""
    dtype = kwargs.pop("cast", None)
    return Make(lambda: cls(*args, **kwargs) if dtype is None else cls(*args, **kwargs).to(dtype))


def unary(function):
    return lambda x: function(x)


def binary(function):
    return lambda x, y: function(x, y)


class Case:
    def __init__(self, family, name, what, args, options):
        self.family, self.name, self.what, self.args = family, name, what, args
        self.forms = options.pop("forms", "t")
        self.note = options.pop("note", "")
        self.example = options.pop("example", None)
        self.steps = options.pop("steps", ())
        self.kwargs = options.pop("kwargs", {})
        self.dynamic = options.pop("dyn", None)
        self.options = options

    def seed(self):
        torch.manual_seed(zlib.crc32(f"{self.family}/{self.name}".encode()))

    def module(self):
        self.seed()
        return self.what.build() if isinstance(self.what, Make) else Calls(self.what)


CASES = {}


def case(family, name, what, *args, **options):
    """Adds a case. Options: forms ("t" training, "f" run_decompositions({}), "c" run_decompositions(), one folder each),
    note (what it is about), example (arguments of the export where they differ), dyn (dynamic dims), steps (further calls),
    kwargs, rtol, atol, recheck.

    dyn is ({argument: {dim: Dim or name}}), see `dims`."""
    key = f"{family}/{name}"
    assert key not in CASES, key
    CASES[key] = Case(family, name, what, args, options)
    return what


F16 = dict(rtol=1e-2, atol=1e-2)
BF16 = dict(rtol=3e-2, atol=3e-2)
LOW = ((torch.float16, "f16", F16), (torch.bfloat16, "bf16", BF16))


def dyn(*arguments, **ranges):
    """dynamic_shapes and the record of them: dyn({0: "n"}, None, n=(1, 8)). A value ("n", 4) is 4 times n; a range without an
    upper end is (low, None)."""
    dims = {name: torch.export.Dim(name, min=low, max=high) for name, (low, high) in ranges.items()}

    def dim(value):
        return value[1] * dims[value[0]] if isinstance(value, tuple) else dims[value]

    def shapes(argument):
        if isinstance(argument, dict):
            return {d: dim(v) for d, v in argument.items()}
        if isinstance(argument, (list, tuple)):
            return type(argument)(shapes(a) for a in argument)
        return argument

    return tuple(shapes(a) for a in arguments), {name: list(r) for name, r in ranges.items()}
