#!/usr/bin/env python3
"""Writes the small .pt2 files of tests/data/import. Needs torch 2.13.0; not part of the build or of CI.

usage: record.py [OUT_DIR]
"""
import os
import sys

SOURCE = '''
import torch
from torch.export import Dim, export

class F(torch.nn.Module):
    """A module around a function."""
    def __init__(self, f, **parts):
        super().__init__()
        for name, part in parts.items():
            if isinstance(part, torch.nn.Parameter) or isinstance(part, torch.nn.Module):
                setattr(self, name, part)
            else:
                self.register_buffer(name, part)
        self.f = f
    def forward(self, *args):
        return self.f(self, *args)

class Linear(torch.nn.Module):
    """torch.nn.Linear without a frame of the installed package in its stack traces."""
    def __init__(self, n, m):
        super().__init__()
        torch.manual_seed(0)
        self.weight = torch.nn.Parameter(torch.randn(m, n))
        self.bias = torch.nn.Parameter(torch.randn(m))
    def forward(self, x):
        return torch.nn.functional.linear(x, self.weight, self.bias)

def r(*sizes):
    torch.manual_seed(7)
    return torch.randn(*sizes)

class Base(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = Linear(3, 4)
        self.register_buffer("c", torch.arange(4.0))
        self.register_buffer("n", torch.full((4,), 2.0), persistent=False)
        self.k = torch.ones(1, 4)
    def forward(self, x):
        y = self.l(x) + self.c
        y = (y * self.n).relu_()
        y = torch.cat([y, self.k])
        return y + torch.tensor([1.0, 2.0, 3.0, 4.0]), x * 2.5

def numbered(*sizes, dtype=torch.float32):
    n = 1
    for s in sizes:
        n *= s
    return torch.arange(n).to(dtype).reshape(sizes)

class Tensors(torch.nn.Module):
    """Every way a tensor is stored (pt2-format 1.5); each is returned as it is."""
    def __init__(self):
        super().__init__()
        big = numbered(20)
        keep = {
            "contiguous": numbered(2, 3), "transposed": numbered(2, 3).t(), "slice": big[10:14], "step": big[1:9:2],
            "expanded": numbered(1, 3).expand(4, 3), "scalar": torch.tensor(3.5), "empty": torch.zeros(0, 3),
            "empty2": torch.zeros(2, 0), "flags": torch.tensor([True, False, True]), "chlast": numbered(1, 2, 2, 3).to(memory_format=torch.channels_last),
            "i8": numbered(3, dtype=torch.int8), "u8": numbered(3, dtype=torch.uint8), "i16": numbered(3, dtype=torch.int16),
            "i32": numbered(3, dtype=torch.int32), "i64": numbered(3, dtype=torch.int64), "u16": numbered(3, dtype=torch.int32).to(torch.uint16),
            "u32": numbered(3, dtype=torch.int32).to(torch.uint32), "u64": numbered(3, dtype=torch.int32).to(torch.uint64),
            "f16": numbered(3, dtype=torch.float16), "bf16": numbered(3, dtype=torch.bfloat16), "f64": numbered(3, dtype=torch.float64),
            "c64": numbered(3).to(torch.complex64), "f8a": numbered(3).to(torch.float8_e4m3fn), "f8b": numbered(3).to(torch.float8_e5m2),
            "view_a": big[2:6], "view_b": big[4:8], "w\\u00e9": numbered(2),
        }
        self.names = list(keep)
        for name, tensor in keep.items():
            self.register_buffer(name, tensor)
        self.tied_a = torch.nn.Parameter(numbered(2, 2))
        self.tied_b = self.tied_a
    def forward(self, x):
        return [getattr(self, n) for n in self.names] + [x @ self.tied_a, x @ self.tied_b]

def kinds(s, x, i, q):
    """Argument kinds beyond the usual."""
    y = x[:, i] + torch.sort(x, stable=True)[0][:, :2]
    y = torch.div(y, 2, rounding_mode="floor") + torch.linspace(0, 1, 2) + torch.nn.functional.hardtanh(y, 0, 6)
    y = torch.nn.functional.pad(y, (1, 1), value=0.5) + torch.full((1,), float("-inf")).clamp(min=-1e30)
    y = torch.einsum("ij,kj->ik", y, y) + True
    a, b = torch.split(x, [1, 4], 1)
    c = torch.unbind(x, 1)
    v, n = torch.max(x, 1)
    t, u = torch.topk(x, 2)
    z = torch.nn.functional.conv2d(q, q[:, :, :3, :3].contiguous(), padding="same")
    z = torch.nn.functional.interpolate(z, scale_factor=2.0, mode="nearest")
    return y, a + b, c[0] * c[1], v, n, t, z, x.to(torch.float16).to(torch.float32), x[-3:9223372036854775807]

def no_grad(s, x):
    with torch.no_grad():
        y = s.l(x) + s.c
    with torch.autocast("cpu", enabled=False):
        z = s.l(y)
    return y * 2, z

def autocast(s, x):
    with torch.autocast("cpu"):
        return s.l(x)

def item(s, x, i):
    n = i.item()
    torch._check(n >= 1)
    torch._check(n <= 3)
    return x[:n] * 2, torch.zeros(n)

def mutate(s, x):
    s.c.add_(1)
    s.c[0:1].mul_(2)
    x.add_(1)
    return x + s.c

def overlap(s, x):
    s.a.add_(1)
    return x + s.b

def unknown(s, x):
    y = torch.ops.record.frob(x) + torch.ops.record.grind(x)
    return torch.ops.record.frob(y)

@torch.library.custom_op("record::frob", mutates_args=())
def frob(x: torch.Tensor) -> torch.Tensor:
    return x.clone()
frob.register_fake(lambda x: torch.empty_like(x))

@torch.library.custom_op("record::grind", mutates_args=())
def grind(x: torch.Tensor) -> torch.Tensor:
    return x.clone()
grind.register_fake(lambda x: torch.empty_like(x))

def programs():
    b, d = Dim("b", min=2, max=8), Dim("d", min=2, max=10)
    dyn = lambda *shapes: {"dynamic_shapes": {"args": shapes}}
    lin = Linear(4, 4)
    shared = numbered(6)
    yield "base", Base(), (r(2, 3),), {}
    yield "tensors", Tensors(), (r(2, 2),), {}
    yield "kinds", F(kinds), (r(3, 5), torch.tensor([0, 2]), r(2, 2, 5, 5)), {}
    yield "inputs", F(lambda s, x, k, flag, n, f, t: (x * k, x + f if flag else x, n, t, 3)), (r(4, 3), 3, True, None, 2.5, "hi"), {}
    yield "symbolic_input", F(lambda s, x, k: (x * k, k, k * 2, x.shape[0])), (r(4, 3), 3), dyn({0: b}, Dim.AUTO)
    yield "derived", F(lambda s, x, y: (x + 1, y[1:] + x)), (r(4, 3), r(5, 3)), dyn({0: b}, {0: b + 1})
    yield "multiple", F(lambda s, x: x.reshape(-1, 2, 3).sum(1)), (r(8, 3),), dyn({0: 2 * Dim("h", min=2, max=9)})
    yield "sizes", F(lambda s, x, y: (torch.zeros(max(x.shape[0], y.shape[0])), torch.zeros(min(x.shape[0] * 2, y.shape[0] + 3)),
                                      x.sum(0) / x.shape[0] + x.numel(), x * (x.shape[0] / 2), x * (x.shape[0] * 0.25) + x.shape[0] % 3 - x.shape[0] // 2)), \\
        (r(4, 3), r(6, 3)), dyn({0: b}, {0: d})
    yield "pool", F(lambda s, x: torch.nn.functional.avg_pool2d(x, 3, 2, 1)), (r(1, 2, 14, 15),), dyn({2: Dim("h", min=8, max=99)})
    yield "root", F(lambda s, x: x * x.shape[0] ** 0.5), (r(8, 3),), dyn({0: b})
    yield "item", F(item), (r(4, 3), torch.tensor(2)), {}
    yield "item_float", F(lambda s, x, i: x * i.item()), (r(4, 3), torch.tensor(2.5)), {}
    yield "item_bool", F(lambda s, x, i: x.masked_fill(x > 0, i.item())), (r(4, 3), torch.tensor(True)), {}
    yield "no_grad", F(no_grad, l=lin, c=torch.zeros(4)), (r(4, 4),), {"grad": True}
    yield "autocast", F(autocast, l=lin), (r(4, 4),), {}
    yield "cond", F(lambda s, x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))), (r(4, 3),), {}
    yield "mutate", F(mutate, c=torch.zeros(3)), (r(4, 3),), {}
    yield "mutate_functional", F(mutate, c=torch.zeros(3)), (r(4, 3),), {"decompose": True}
    yield "overlap", F(overlap, a=shared[0:4], b=shared[2:6]), (r(4),), {}
    yield "unknown", F(unknown), (r(4),), {}
    yield "channels_last", F(lambda s, x: x + 1), (r(1, 2, 3, 4).to(memory_format=torch.channels_last),), {}

def write(path, module, args, decompose=False, grad=False, **options):
    # Under no_grad around the whole export, a region without gradient in the model leaves no trace.
    with torch.set_grad_enabled(grad):
        program = export(module.eval(), args, **options)
        if decompose:
            program = program.run_decompositions({})
    torch.export.save(program, path)

def fake_weights(path):
    from torch._subclasses import FakeTensorMode
    with FakeTensorMode():
        program = export(Linear(3, 4).eval(), (torch.randn(2, 3),))
    torch.export.save(program, path)

def package(path):
    from torch.export.pt2_archive._package import package_pt2
    one = export(Linear(3, 4).eval(), (r(2, 3),))
    two = export(Linear(3, 5).eval(), (r(2, 3),))
    package_pt2(path, exported_programs={"one": one, "two": two})
'''


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "..", "data", "import")
    os.makedirs(out, exist_ok=True)
    scope = {"__name__": "model"}
    # Stack traces then say model.py, not a path of this machine.
    exec(compile(SOURCE, "model.py", "exec"), scope)
    for name, module, args, options in scope["programs"]():
        scope["write"](os.path.join(out, name + ".pt2"), module, args, **options)
    scope["fake_weights"](os.path.join(out, "fake.pt2"))
    scope["package"](os.path.join(out, "package.pt2"))


main()
