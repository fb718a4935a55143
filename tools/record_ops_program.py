"""Cases about whole programs: dynamic sizes, inputs and outputs of every form, state, control flow."""
import collections
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.utils._pytree as pytree

from record_ops_table import B, BF16, E, F16, I, INF, R, U, V, Z, case, dyn, mod, nhwc

f16, bf16, f32, f64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
i8, i16, i32, i64, u8, boolean = torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool
aten = torch.ops.aten

# ---------------------------------------------------------------- dynamic sizes
# Each is exported at one size, recorded at another below the bound, and called again at the bound and at the low end.


def dynamic(name, what, shape, at=0, bound=8, sizes=(5, 8, 1), export=3, low=1, make=R, more=(), more_at=(), **options):
    """One dynamic dim "n" at `at` of the first input (and at `more_at` of the further ones)."""

    def inputs(n):
        result = [make(*[n if d == at else s for d, s in enumerate(shape)])]
        for other, where in zip(more, more_at):
            result.append(R(*[n if d == where else s for d, s in enumerate(other)]) if isinstance(other, tuple) else other)
        return tuple(result)

    arguments = [{at: "n"}] + [{w: "n"} if w is not None else None for w in more_at]
    case("dynamic", name, what, *inputs(sizes[0]), example=inputs(export), steps=[inputs(n) for n in sizes[1:]], dyn=dyn(*arguments, n=(low, bound)), **options)


def ints(*shape):
    return I(0, 6, *shape)


N = 0  # the place of the dynamic dim in a shape
dynamic("relu", lambda x: x.relu(), (N, 3))
dynamic("add_rows", lambda x, y: x + y, (N, 3), more=((N, 3),), more_at=(0,))
dynamic("add_broadcast", lambda x, y: x + y, (N, 3), more=((3,),), more_at=(None,))
dynamic("mul_outer", lambda x, y: x[:, None] * y[None, :], (N,), more=((4,),), more_at=(None,))
dynamic("linear", mod(nn.Linear, 4, 3), (N, 4), forms="tc")
dynamic("linear_rank3", mod(nn.Linear, 4, 3), (2, N, 4), at=1, forms="tc")
dynamic("mlp", mod(nn.Sequential, nn.Linear(4, 6), nn.GELU(), nn.Linear(6, 2), nn.Softmax(-1)), (N, 4))
dynamic("matmul", lambda x: x @ x.transpose(1, 2), (2, N, 4), at=1, forms="tc")
dynamic("matmul_inner", lambda x, y: x @ y, (3, N), at=1, more=((N, 2),), more_at=(0,), note="the summed dim is dynamic")
dynamic("einsum", lambda x, w: torch.einsum("bsd,de->bse", x, w), (1, N, 3), at=1, more=((3, 2),), more_at=(None,))
dynamic("conv_batch", mod(nn.Conv2d, 2, 3, 3), (N, 2, 4, 4), forms="tc")
dynamic("conv1d_length", mod(nn.Conv1d, 2, 3, 3, stride=2, padding=1), (1, 2, N), at=2, sizes=(6, 8, 3), export=5, low=3, forms="tc", note="the output size is a quotient")
dynamic("conv2d_height", mod(nn.Conv2d, 1, 2, 3, padding=1), (1, 1, N, 4), at=2, sizes=(5, 8, 2), export=4, low=2)
dynamic("conv_transpose", mod(nn.ConvTranspose1d, 2, 2, 2, stride=2), (1, 2, N), at=2)
dynamic("depthwise_batch_norm", mod(nn.Sequential, nn.Conv2d(3, 3, 3, groups=3), nn.BatchNorm2d(3), nn.ReLU6()), (N, 3, 4, 4))
dynamic("max_pool", lambda x: F.max_pool2d(x, 2), (1, 2, N, 4), at=2, sizes=(6, 8, 4), export=5, low=4)
dynamic("max_pool_batch", lambda x: F.max_pool2d(x, 3, 2, 1), (N, 2, 4, 4))
dynamic("avg_pool1d", lambda x: F.avg_pool1d(x, 2), (1, 2, N), at=2, sizes=(6, 8, 4), export=5, low=4)
dynamic("global_pool", lambda x: F.adaptive_avg_pool2d(x, 1).flatten(1), (1, 2, N, 4), at=2, sizes=(5, 8, 2), low=2, forms="tc")
dynamic("mean_rows", lambda x: x.mean(0), (N, 3), note="the reduced dim is dynamic")
dynamic("sum_and_amax", lambda x: (x.sum(1), x.amax(1)), (2, N), at=1)
dynamic("masked_mean", lambda x, m: (x * m[..., None]).sum(1) / m.sum(1, keepdim=True).clamp(min=1e-9), (2, N, 3), at=1, more=((2, N),), more_at=(1,))
dynamic("softmax_rows", lambda x: F.softmax(x, 1), (2, N), at=1)
dynamic("layer_norm", mod(nn.LayerNorm, 4), (1, N, 4), at=1, forms="tc")
dynamic("group_norm", mod(nn.GroupNorm, 2, 4), (1, 4, N), at=2, forms="tc")
dynamic("batch_norm1d", mod(nn.BatchNorm1d, 3), (N, 3), sizes=(5, 8, 2), low=2)
dynamic("cumsum", lambda x: x.cumsum(0), (N, 2))
dynamic("argmax", lambda x: x.argmax(0), (N, 2))
dynamic("topk", lambda x: x.topk(2, dim=0)[0], (N, 2), sizes=(5, 8, 2), low=2)
dynamic("sort", lambda x: x.sort(0)[0], (N, 2))
dynamic("var", lambda x: x.var(0), (N, 2), sizes=(5, 8, 2), low=2)
dynamic("cat_fixed_and_dynamic", lambda x, y: torch.cat([x, y], 1), (1, N, 2), at=1, more=((1, 1, 2),), more_at=(None,), note="a class token in front")
dynamic("cat_twice", lambda x: torch.cat([x, x * 2], 0), (N, 2))
dynamic("stack", lambda x: torch.stack([x, -x], 1), (N, 2))
dynamic("split_features", lambda x: (lambda a, b: a * b.sigmoid())(*x.chunk(2, -1)), (N, 4))
dynamic("flatten", lambda x: x.flatten(1), (N, 2, 3))
dynamic("flatten_with_dynamic", lambda x: x.flatten(0, 1), (2, N, 3), at=1)
dynamic("view_from_shape", lambda x: x.view(x.shape[0], 2, -1), (N, 6), forms="tc")
dynamic("view_and_back", lambda x: (x.view(-1, 3) * 2).view(x.shape[0], x.shape[1], 3), (N, 4, 3), forms="tc")
dynamic("heads", lambda x: x.view(1, x.shape[1], 2, 3).transpose(1, 2).reshape(2, -1, 3), (1, N, 6), at=1, forms="tc")
dynamic("transpose_contiguous", lambda x: x.t().contiguous().view(-1), (N, 3), forms="tc")
dynamic("permute", lambda x: x.permute(1, 2, 0), (2, N, 3), at=1)
dynamic("expand_batch", lambda x: torch.arange(3.0).expand(x.shape[0], -1) + x, (N, 3))
dynamic("repeat_batch", lambda x: torch.ones(1, 2).repeat(x.shape[0], 1) * x, (N, 2))
dynamic("repeat_interleave", lambda x: x.repeat_interleave(2, dim=0), (N, 2))
dynamic("slice_half", lambda x: x[: x.shape[0] // 2], (N, 2), sizes=(6, 8, 4), export=5, low=4, forms="tc")
dynamic("slice_tail", lambda x: x[1:], (N, 2), sizes=(6, 8, 3), export=4, low=3)
dynamic("slice_last", lambda x: x[:, -1], (1, N, 2), at=1)
dynamic("slice_last_two", lambda x: x[:, -2:], (1, N, 2), at=1, sizes=(6, 8, 2), export=4, low=2)
dynamic("slice_step", lambda x: x[::2], (N, 2), sizes=(5, 8, 3), export=4, low=3)
dynamic("shift", lambda x: torch.cat([torch.zeros(1, 2), x[:-1]], 0), (N, 2), sizes=(6, 8, 3), export=4, low=3, note="tokens moved by one")
dynamic("flip", lambda x: x.flip(0), (N, 2))
dynamic("roll", lambda x: x.roll(1, 0), (N, 2), sizes=(5, 8, 2), low=2)
dynamic("pad", lambda x: F.pad(x, (0, 0, 1, 2), value=1.0), (N, 2))
dynamic("pad_to_bound", lambda x: F.pad(x, (0, 8 - x.shape[1])), (2, N), at=1, sizes=(5, 7, 2), low=2, bound=7)
dynamic("arange", lambda x: x + torch.arange(x.shape[0])[:, None], (N, 2), forms="tc")
dynamic("positions", mod(lambda: Positions()), (2, N), at=1, make=ints, forms="tc")
dynamic("full", lambda x: torch.full((x.shape[0], 2), 0.5) + x, (N, 2))
dynamic("zeros_filled", lambda x: torch.zeros(x.shape[0] + 1, 2), (N, 2), note="a size that is no input's")
dynamic("ones_like", lambda x: torch.ones_like(x) - x, (N, 2))
dynamic("new_zeros", lambda x: torch.cat([x, x.new_zeros(x.shape[0], 1)], 1), (N, 2))
dynamic("eye", lambda x: x @ torch.eye(x.shape[1]), (2, N), at=1)
dynamic("causal_mask", lambda x: torch.ones(x.shape[0], x.shape[0], dtype=boolean).tril(), (N, 2), forms="tc")
dynamic("causal_bias", lambda x: torch.full((x.shape[1], x.shape[1]), -INF).triu(1) + x @ x.transpose(1, 2), (1, N, 3), at=1, forms="tc")
dynamic("attention", lambda x: F.scaled_dot_product_attention(x, x, x), (1, 2, N, 4), at=2, forms="tc")
dynamic("attention_causal", lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), (1, 2, N, 4), at=2, forms="tc", sizes=(5, 8, 2), low=2)
dynamic("attention_key_mask", lambda x, m: F.scaled_dot_product_attention(x, x, x, m[:, None, None]), (2, 2, N, 4), at=2, more=((2, N),), more_at=(1,))
dynamic("attention_batch", lambda x: F.scaled_dot_product_attention(x, x, x), (N, 2, 3, 4))
dynamic("attention_cross", lambda x, y: F.scaled_dot_product_attention(x, y, y), (1, 2, N, 4), at=2, more=((1, 2, 5, 4),), more_at=(None,))
dynamic("encoder_layer", mod(nn.TransformerEncoderLayer, 4, 2, 6, batch_first=True, norm_first=True), (1, N, 4), at=1)
dynamic("embedding", mod(nn.Embedding, 6, 4), (1, N), at=1, make=ints)
dynamic("index_select", lambda i, x: x[i], (N,), make=ints, more=((6, 3),), more_at=(None,))
dynamic("gather", lambda i, x: x.gather(0, i), (N, 2), make=lambda *s: I(0, 4, *s), more=((4, 2),), more_at=(None,))
dynamic("one_hot", lambda i: F.one_hot(i, 6), (N,), make=ints)
dynamic("where", lambda x: torch.where(x > 0, x, x * 0.1), (N, 3))
dynamic("masked_fill", lambda x: x.masked_fill(x < 0, -INF).softmax(-1), (2, N), at=1, sizes=(6, 8, 3), low=3, make=lambda *s: U(-0.5, 2, *s))
dynamic("gru_batch", mod(nn.GRU, 3, 2), (3, N, 3), at=1)
dynamic("lstm_batch", mod(nn.LSTM, 3, 2, batch_first=True), (N, 3, 3))
dynamic("interpolate", lambda x: F.interpolate(x, scale_factor=2), (1, 2, N, 3), at=2, sizes=(5, 8, 2), low=2)
dynamic("interpolate_batch", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (N, 1, 3, 3))
dynamic("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), (N, 4, 2, 2))
dynamic("channels_last_conv", mod(nn.Conv2d, 2, 3, 3, padding=1), (N, 2, 4, 4), make=lambda *s: nhwc(R(*s)), sizes=(5, 8, 2), low=2)
dynamic("f16", lambda x: x * 2 + 1, (N, 3), make=lambda *s: R(*s, dtype=f16), **F16)
dynamic("int", lambda x: x * 2 + x.shape[0], (N, 3), make=ints)
dynamic("normalize", lambda x: F.normalize(x, dim=-1), (N, 3))
dynamic("unsqueeze_squeeze", lambda x: x.unsqueeze(1).squeeze(1) + 1, (N, 3))
dynamic("in_place_slice", lambda x: _zero_first(x), (N, 3), forms="tf", sizes=(5, 8, 2), low=2)
dynamic("low_bound_zero", lambda x: x.exp().sum(1), (N, 3), low=0, sizes=(5, 8, 0), note="no rows at the low end")
case("dynamic", "no_upper_bound", lambda x: x.relu(), R(5, 3), example=(R(3, 3),), dyn=dyn({0: "n"}, n=(1, None)), note="needs a bound from the caller")
case("dynamic", "two_dims", lambda x: (x * 2).sum(-1), R(3, 5, 2), example=(R(2, 4, 2),), steps=[(R(4, 8, 2),), (R(1, 2, 2),)], dyn=dyn({0: "b", 1: "s"}, b=(1, 4), s=(2, 8)))
case("dynamic", "two_inputs_two_dims", lambda x, y: x[:, None] + y[None], R(5, 2), R(3, 2), example=(R(3, 2), R(4, 2)), steps=[(R(2, 2), R(6, 2))], dyn=dyn({0: "a"}, {0: "b"}, a=(1, 8), b=(1, 6)))
case("dynamic", "multiple_of_four", lambda x: x.view(-1, 4, 2).sum(1), R(12, 2), example=(R(8, 2),), steps=[(R(4, 2),), (R(16, 2),)], dyn=dyn({0: ("n", 4)}, n=(1, 4)), note="the size is 4 n")
case("dynamic", "twice_the_other", lambda x, y: x.repeat_interleave(2, 0) + y, R(3, 2), R(6, 2), example=(R(2, 2), R(4, 2)), steps=[(R(5, 2), R(10, 2))], dyn=dyn({0: "n"}, {0: ("n", 2)}, n=(1, 5)))
case("dynamic", "images", mod(lambda: nn.Sequential(nn.Conv2d(1, 2, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2, 2))), R(2, 1, 6, 8), example=(R(3, 1, 8, 10),), steps=[(R(1, 1, 12, 12),)], dyn=dyn({0: "b", 2: "h", 3: "w"}, b=(1, 4), h=(4, 12), w=(4, 12)))
case("dynamic", "attention_batch_and_length", lambda q, k: F.scaled_dot_product_attention(q, k, k), R(2, 1, 3, 4), R(2, 1, 5, 4), example=(R(3, 1, 2, 4), R(3, 1, 4, 4)), steps=[(R(1, 1, 6, 4), R(1, 1, 8, 4))], dyn=dyn({0: "b", 2: "q"}, {0: "b", 2: "k"}, b=(1, 4), q=(1, 6), k=(1, 8)), forms="tc")
case("dynamic", "nested_inputs", lambda d: d["a"] + d["b"][0], {"a": R(5, 2), "b": [R(5, 2)]}, example=({"a": R(3, 2), "b": [R(3, 2)]},), dyn=(({"a": {0: torch.export.Dim("n", min=1, max=8)}, "b": [{0: torch.export.Dim("n", min=1, max=8)}]},), {"n": [1, 8]}))


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(6, 4), nn.Embedding(8, 4)

    def forward(self, x):
        return self.token(x) + self.position(torch.arange(x.shape[1]))


def _zero_first(x):
    y = x.clone()
    y[0] = 0
    y[-1] += 1
    return y


# ---------------------------------------------------------------- arithmetic of sizes

dynamic_int = dict(sizes=(5, 8, 2), export=4, low=2)
for _name, _fn in {
    "size_output": lambda x: (x + 1, x.shape[0]), "size_only": lambda x: x.shape[0], "size_sum": lambda x: (x + 1, x.shape[0] * 2 + 1), "size_difference": lambda x: (x + 1, 10 - x.shape[0]), "size_floordiv": lambda x: (x + 1, x.shape[0] // 2), "size_mod": lambda x: (x + 1, x.shape[0] % 3),
    "size_square": lambda x: (x + 1, x.shape[0] * x.shape[0]), "size_negative": lambda x: (x + 1, -x.shape[0]), "size_max": lambda x: (x + 1, torch.sym_max(x.shape[0], 4)), "size_min": lambda x: (x + 1, torch.sym_min(x.shape[0], 4)), "size_float": lambda x: (x + 1, torch.sym_float(x.shape[0])), "size_true_div": lambda x: x * (x.shape[0] / 3),
    "numel": lambda x: (x + 1, x.numel()), "divide_by_size": lambda x: x.sum(0) / x.shape[0], "times_size": lambda x: x * x.shape[0], "add_size": lambda x: x + x.shape[0], "inverse_root_of_size": lambda x: x * (x.shape[0] ** -0.5), "root_of_size": lambda x: x / x.shape[0] ** 0.5,
    "ceil_by_floordiv": lambda x: torch.ones((x.shape[0] + 1) // 2, 2), "size_as_tensor": lambda x: torch.scalar_tensor(x.shape[0]) * x, "full_of_size": lambda x: torch.full((2,), x.shape[0]), "arange_to_twice": lambda x: torch.arange(2 * x.shape[0]), "arange_offset": lambda x: torch.arange(x.shape[0], x.shape[0] + 3), "pow_of_size": lambda x: x * 0.5 ** x.shape[0], "compare_with_size": lambda x: torch.arange(8) < x.shape[0],
    "size_product_view": lambda x: x.view(x.shape[0] * 2), "trunc_of_size": lambda x: (x + 1, math.trunc(x.shape[0] / 3)), "shift_of_size": lambda x: (x + 1, x.shape[0] << 1),
}.items():
    _low = 4 if _name == "ceil_by_floordiv" else 2
    case("sym", _name, _fn, R(6, 2), example=(R(5, 2),), steps=[(R(8, 2),), (R(_low, 2),)], dyn=dyn({0: "n"}, n=(_low, 8)), forms="tc" if _name in ("divide_by_size", "size_sum", "root_of_size") else "t")
case("sym", "sum_of_two_sizes", lambda x, y: torch.ones(x.shape[0] + y.shape[0]), R(5, 2), R(3), example=(R(3, 2), R(4)), steps=[(R(8, 2), R(6))], dyn=dyn({0: "a"}, {0: "b"}, a=(2, 8), b=(2, 6)))
case("sym", "greater_size", lambda x, y: torch.ones(torch.sym_max(x.shape[0], y.shape[0])), R(5, 2), R(3), example=(R(3, 2), R(4)), steps=[(R(4, 2), R(6))], dyn=dyn({0: "a"}, {0: "b"}, a=(2, 8), b=(2, 6)))
case("sym", "int_input", lambda x, n: x * n, R(3), 5, example=(R(3), 4), steps=[(R(3), 9)], dyn=((None, torch.export.Dim.DYNAMIC), {"n": [None, None]}), note="a number as input, not baked in")
case("sym", "int_input_arithmetic", lambda x, n: (x + n, n * 2 - 1), R(3), 5, example=(R(3), 4), steps=[(R(3), 9)], dyn=((None, torch.export.Dim.DYNAMIC), {"n": [None, None]}))
case("sym", "item_to_slice", lambda x, n: _take(x, n), R(6, 2), V(4), steps=[(R(6, 2), V(2))], note="a size from a tensor's value, with bounds")
case("sym", "item_output", lambda x: x.max().item(), I(0, 9, 5))
case("sym", "item_float", lambda x, s: x * s.item(), R(3), V(0.5))
case("sym", "item_cache_position", lambda c, x, p: _cache_at(c, x, p), R(1, 6, 2), R(1, 2, 2), V([3]))
case("sym", "nonzero_sum", lambda x: x[x > 0].sum(), R(8), note="the number of elements is known at run time only")
case("sym", "nonzero_rows", lambda x: torch.nonzero(x).shape[0], I(0, 2, 4))


def _take(x, n):
    k = n.item()
    torch._check(k >= 1)
    torch._check(k <= 6)
    return x[:k].sum(0)


def _cache_at(c, x, p):
    start = p[0].item()
    torch._check(start >= 0)
    torch._check(start + 2 <= 6)
    c = c.clone()
    c.narrow(1, start, 2).copy_(x)
    return c


# ---------------------------------------------------------------- inputs and outputs

Pair = collections.namedtuple("Pair", "first second")
pytree._register_namedtuple(Pair, serialized_type_name="edgelift.record_ops.Pair")


class Holder(nn.Module):
    """Gives a function parameters and buffers: w [2, 3], b [3], table [4] and count, an integer."""

    def __init__(self, function, persistent=True):
        super().__init__()
        self.function = function
        self.w, self.b = nn.Parameter(torch.randn(2, 3)), nn.Parameter(torch.randn(3))
        self.register_buffer("table", torch.arange(4.0), persistent=persistent)
        self.register_buffer("count", torch.tensor(3), persistent=persistent)

    def forward(self, x):
        return self.function(self, x)


for _name, _fn in {
    "output_is_input": lambda x: x, "output_input_and_result": lambda x: (x, x + 1), "output_repeated": lambda x: (lambda y: (y, y))(x + 1), "output_input_twice": lambda x: (x, x), "output_none": lambda x: (x + 1, None), "output_none_first": lambda x: (None, x + 1), "output_ints": lambda x: (x + 1, 3, 2.5, True), "output_views_of_one": lambda x: (lambda y: (y[0], y[1], y.t()))(x * 2), "output_view_of_input": lambda x: x.t(), "output_nested": lambda x: {"b": x + 1, "a": [x + 2, (x + 3, {"z": x + 4})]}, "output_empty_containers": lambda x: (x + 1, [], {}), "output_list": lambda x: [x, x * 2], "output_literal": lambda x: (x + 1, torch.tensor([1, 2])), "output_zero_size": lambda x: (x + 1, torch.zeros(0, 2)), "output_zero_dim": lambda x: x.sum(), "output_only_constant": lambda x: torch.ones(2), "output_chain_names": lambda x: (x.relu().relu(), x.relu()),
}.items():
    case("program", _name, _fn, R(2, 3), forms="tf" if _name in ("output_repeated", "output_is_input") else "t")
case("program", "output_named_tuple", lambda x: Pair(x + 1, x + 2), R(2))
case("program", "output_ordered_dict", lambda x: collections.OrderedDict(last=x + 1, first=x + 2), R(2))
for _name, _fn in {
    "output_parameter": lambda m, x: (x + 1, m.w), "output_buffer": lambda m, x: (x + 1, m.table), "output_parameter_only": lambda m, x: m.w, "output_parameter_twice": lambda m, x: (m.w, m.w + 0 * x, m.w), "unused_weights": lambda m, x: x + m.b, "weight_used_twice": lambda m, x: F.linear(F.linear(x, m.w, None), m.w.t()), "weight_as_operand": lambda m, x: x * m.b + m.w, "integer_buffer": lambda m, x: x * m.count, "weight_arithmetic": lambda m, x: F.linear(x, m.w * 2 + 1), "weight_transposed": lambda m, x: x.t() @ m.w, "sliced_weight": lambda m, x: F.linear(x, m.w[:1], m.b[:1]),
}.items():
    case("program", _name, mod(Holder, _fn), R(2, 3))
case("program", "buffer_not_persistent", mod(Holder, lambda m, x: x + m.table[:3], persistent=False), R(2, 3))
for _name, _fn, _args in (
    ("two_inputs", lambda x, y: (x + y, x - y), (R(2), R(2))), ("unused_input", lambda x, y: x + 1, (R(2), R(3))), ("all_unused", lambda x: torch.ones(2), (R(2),)), ("nested_inputs", lambda d, l: d["x"] + d["y"][1] * l[0], ({"y": (R(2), R(2)), "x": R(2)}, [R(2), R(2)])), ("named_tuple_input", lambda p: p.first - p.second, (Pair(R(2), R(2)),)), ("same_tensor_dtypes", lambda a, b, c, d: (a + 1, b + 1, ~c, d * 2), (R(2), I(0, 5, 2), B(2), R(2, dtype=f64))), ("int_argument", lambda x, n: x * n, (R(2), 3)), ("float_argument", lambda x, s: x * s, (R(2), 0.5)), ("bool_argument", lambda x, up: x + 1 if up else x - 1, (R(2), True)), ("none_argument", lambda x, m: x if m is None else x + m, (R(2), None)), ("string_argument", lambda x, mode: x.exp() if mode == "exp" else x, (R(2), "exp")), ("zero_dim_input", lambda x, s: x * s, (R(2), R())), ("zero_size_input", lambda x, y: (x + 1, y * 2), (R(2), Z(0, 3))), ("no_tensor_needed", lambda x: (x.shape[0], x.dim()), (R(2),)), ("channels_last_input", lambda x: x + 1, (nhwc(R(1, 2, 3, 3)),)), ("channels_last_to_linear", lambda x: x.flatten(1).sum(1), (nhwc(R(1, 2, 3, 3)),)), ("channels_last_and_not", lambda x, y: x + y, (nhwc(R(1, 2, 3, 3)), R(1, 2, 3, 3))), ("transposed_input", lambda x: x + 1, (R(3, 2).map(lambda t: t.t()),)), ("rank5_input", lambda x: x.sum((1, 2)), (R(1, 2, 2, 2, 3),)), ("rank7_arithmetic", lambda x: (x + 1).permute(6, 5, 4, 3, 2, 1, 0) * 2, (R(1, 2, 1, 2, 1, 2, 2),)), ("rank8", lambda x: x.relu(), (R(1, 2, 1, 2, 1, 2, 1, 2),)), ("many_inputs", lambda *x: sum(x), tuple(R(2) for _ in range(9))), ("i16_input", lambda x: x + 1, (I(0, 9, 3, dtype=i16),)), ("f64_chain", lambda x: (x * 2).exp(), (R(3, dtype=f64),)), ("bf16_chain", lambda x: (x * 2).relu() + 1, (R(3, dtype=bf16),)), ("u8_image", lambda x: x.float() / 255.0 - 0.5, (I(0, 255, 1, 3, 2, 2, dtype=u8),)),
):
    _tol = dict(BF16) if _name.startswith("bf16") else {}
    case("program", _name, _fn, *_args, **_tol)
case("program", "keyword_inputs", lambda x, *, scale, bias=None: x * scale + bias, R(2), kwargs={"scale": R(2), "bias": R(1)})
case("program", "keyword_order", lambda x, *, a, b: x * a - b, R(2), kwargs={"b": R(2), "a": R(2)}, note="keywords given in another order")
case("program", "input_mutated", lambda x: x.add_(1), R(3), forms="tf", note="the caller's tensor is changed")
case("program", "input_mutated_beside_output", lambda x, y: (x.mul_(2), (x + y))[1], R(3), R(3), note="only the sum is an output")
case("program", "no_work", lambda x: x.clone(), R(3))
case("program", "dead_code", lambda x: (x.exp(), x + 1)[1], R(3), forms="tf")
case("program", "same_subexpressions", lambda x: (x + 1) * (x + 1), R(3))
case("program", "diamond", lambda x: (lambda a: a.relu() + a.sigmoid())(x * 2), R(3))
case("program", "asserts", lambda x: _checked(x), R(3))
case("program", "print_free_loop", lambda x: _powers(x), R(2), note="a loop unrolled by the export")


def _checked(x):
    torch._assert(x.shape[0] == 3, "three")
    torch._assert_async((x == x).all(), "no NaN")
    return x + 1


def _powers(x):
    for k in range(4):
        x = x * x + k
    return x


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, i):
        return self.head(self.embed(i).relu())


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(self.layer(x).tanh())


class Laid(nn.Module):
    """Constants in unusual memory: transposed, a step, a zero stride, a part of a larger storage, channels-last."""

    def __init__(self):
        super().__init__()
        self.register_buffer("transposed", torch.randn(3, 2).t())
        self.register_buffer("stepped", torch.randn(2, 6)[:, ::2])
        self.register_buffer("expanded", torch.randn(1, 3).expand(2, 3))
        self.register_buffer("part", torch.randn(9)[3:6])
        self.register_buffer("images", torch.randn(1, 2, 2, 3).to(memory_format=torch.channels_last))
        self.register_buffer("nothing", torch.zeros(0, 3))
        self.register_buffer("number", torch.tensor(0.5))
        self.register_buffer("halves", torch.tensor([0.5, 1.5, -2.0], dtype=f16))
        self.register_buffer("flags", torch.tensor([True, False, True]))

    def forward(self, x):
        y = x + self.transposed + self.stepped * self.expanded + self.part
        return torch.where(self.flags, y * self.number, self.halves) + self.images.sum((0, 1)), torch.cat([y, self.nothing])


case("program", "tied_embedding", mod(Tied), I(0, 5, 4), forms="tc")
case("program", "layer_called_twice", mod(Twice), R(2, 3))
case("program", "constants_in_memory", mod(Laid), R(2, 3))
case("program", "transposed_weight", mod(lambda: _transposed_linear()), R(2, 3), note="a weight that is not contiguous")
case("program", "channels_last_pipeline", mod(lambda: nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.Conv2d(3, 2, 1)).to(memory_format=torch.channels_last)), nhwc(R(1, 2, 4, 4)))
case("program", "mixed_dtypes", lambda x, i: (x[i].half() * 2).float() + i.float()[:, None], R(4, 2), I(0, 4, 3), **F16)
case("program", "f16_network", mod(lambda: nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 2)).half()), R(2, 4, dtype=f16), **F16)
case("program", "bf16_network", mod(lambda: nn.Sequential(nn.Linear(4, 6), nn.SiLU(), nn.LayerNorm(6), nn.Linear(6, 2)).bfloat16()), R(2, 4, dtype=bf16), **BF16)
case("program", "f64_network", mod(lambda: nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 2)).double()), R(2, 4, dtype=f64), rtol=1e-9, atol=1e-9)


def _transposed_linear():
    layer = nn.Linear(3, 2)
    layer.weight = nn.Parameter(torch.randn(3, 2).t())
    return layer


# ---------------------------------------------------------------- state


class State(nn.Module):
    """Buffers a, b [3], count and cache [1, 2, 6, 2], changed by the function; the values of one call reach the next."""

    def __init__(self, function, persistent=True, dtype=f32):
        super().__init__()
        self.function = function
        self.register_buffer("a", torch.tensor([0.5, -1.0, 2.0], dtype=dtype), persistent=persistent)
        self.register_buffer("b", torch.zeros(3, dtype=dtype), persistent=persistent)
        self.register_buffer("count", torch.tensor(0), persistent=persistent)
        self.register_buffer("cache", torch.zeros(1, 2, 6, 2, dtype=dtype), persistent=persistent)

    def forward(self, *x):
        return self.function(self, *x)


def _swap(m, x):
    old = m.a.clone()
    m.a.copy_(m.b)
    m.b.copy_(old + x)
    return old


def _rows(m, x):
    m.cache[:, :, 2:4] = x
    return m.cache.sum((0, 1))


def _push(m, x):
    m.a.copy_(torch.cat([m.a[1:], x[:1]]))
    return m.a * 2


def _counted(m, x):
    m.count.add_(1)
    return x * m.count, m.count.clone()


def _index_put(m, p, x):
    m.cache[:, :, p] = x
    return F.scaled_dot_product_attention(x, m.cache, m.cache)


def _index_copy(m, p, x):
    m.cache.index_copy_(2, p, x)
    return m.cache.clone()


def _own_position(m, x):
    m.cache.index_copy_(2, m.count[None], x[:, :, None])
    m.count.add_(1)
    return m.cache.mean(2)


def _scatter(m, i, x):
    m.a.scatter_(0, i, x)
    return m.a + 0


def _moving_mean(m, x):
    m.a.mul_(0.9).add_(x, alpha=0.1)
    return x - m.a


def _reset(m, x):
    out = m.a + x
    m.a.zero_()
    return out


def _no_output_use(m, x):
    m.b.add_(x)
    return x * 2


def _masked(m, x):
    m.a.masked_fill_(x > 0, 0.0)
    return m.a.clone()


def _both_orders(m, x):
    before = m.a * 1
    m.a.add_(x)
    return before, m.a * 1


def _through_view(m, x):
    m.cache.view(-1)[3:6].add_(x)
    return m.cache.flatten()[:8] * 1


P1, P2, C = V([1]), V([4]), R(1, 2, 1, 2)
for _name, _fn, _calls in (
    ("add", lambda m, x: m.a.add_(x) * 1, [(R(3),), (R(3),), (R(3),)]), ("copy", lambda m, x: m.a.copy_(m.a * 0.5 + x).clone(), [(R(3),), (R(3),)]), ("swap_two", _swap, [(R(3),), (R(3),), (R(3),)]), ("slice_assign", _rows, [(R(1, 2, 2, 2),), (R(1, 2, 2, 2),)]), ("push_queue", _push, [(R(3),), (R(3),)]), ("count", _counted, [(R(3),), (R(3),), (R(3),)]), ("cache_index_put", _index_put, [(P1, C), (P2, C)]), ("cache_index_copy", _index_copy, [(P1, C), (P2, C)]), ("cache_own_position", _own_position, [(R(1, 2, 2),), (R(1, 2, 2),)]), ("scatter", _scatter, [(V([1]), R(1)), (V([2]), R(1))]), ("moving_mean", _moving_mean, [(R(3),), (R(3),)]), ("read_then_reset", _reset, [(R(3),), (R(3),)]), ("written_not_read", _no_output_use, [(R(3),), (R(3),)]), ("masked_fill", _masked, [(R(3),), (R(3),)]), ("before_and_after", _both_orders, [(R(3),), (R(3),)]), ("through_view", _through_view, [(R(3),), (R(3),)]), ("returned_itself", lambda m, x: m.a.add_(x), [(R(3),), (R(3),)]), ("overwritten", lambda m, x: (m.b.clone(), m.b.copy_(x))[0], [(R(3),), (R(3),)]), ("reset_to_constant", lambda m, x: (m.a + x, m.a.fill_(7.0))[0], [(R(3),), (R(3),)]),
):
    case("state", _name, mod(State, _fn), *_calls[0], steps=_calls[1:], forms="tf" if _name in ("add", "cache_index_put", "slice_assign", "count", "swap_two") else "t")
case("state", "not_persistent", mod(State, lambda m, x: m.a.add_(x) * 1, persistent=False), R(3), steps=[(R(3),)])
case("state", "f16", mod(State, lambda m, x: m.a.add_(x) * 1, dtype=f16), R(3, dtype=f16), steps=[(R(3, dtype=f16),)], **F16)
case("state", "dynamic_positions", mod(State, _index_put), V([0, 1, 2]), R(1, 2, 3, 2), example=(V([0, 1]), R(1, 2, 2, 2)), steps=[(V([3]), C), (V([4, 5]), R(1, 2, 2, 2))], dyn=dyn(({0: "s"}, {2: "s"}), s=(1, 6)), note="a prompt, then a token at a time")
case("state", "recurrent_layer", mod(lambda: CarriedState()), R(2, 1, 3), steps=[(R(2, 1, 3),)], note="the state of a GRU kept between calls")
case("state", "batch_norm_running", mod(lambda: nn.BatchNorm1d(3)), R(4, 3), note="eval: nothing changes")


class CarriedState(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 2)
        self.register_buffer("h", torch.zeros(1, 1, 2))

    def forward(self, x):
        y, h = self.gru(x, self.h)
        self.h.copy_(h)
        return y


# ---------------------------------------------------------------- control flow


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.small, self.large = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda y: self.large(y) * 2, lambda y: self.small(y), (x,))


case("control", "cond", lambda x: torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,)), U(0, 1, 3), steps=[(U(-1, 0, 3),)], forms="tfc")
case("control", "cond_predicate_input", lambda p, x: torch.cond(p, lambda y: y + 1, lambda y: y * 2, (x,)), V(True), R(3), steps=[(V(False), R(3))])
case("control", "cond_weights", mod(Branches), U(0, 1, 2, 3), steps=[(U(-1, 0, 2, 3),)])
case("control", "cond_two_outputs", lambda x: torch.cond(x.sum() > 0, lambda y: (y + 1, y.sum()), lambda y: (y - 1, y.prod()), (x,)), U(0, 1, 3), steps=[(U(-1, 0, 3),)])
case("control", "cond_nested", lambda x: torch.cond(x.sum() > 0, lambda y: torch.cond(y.max() > 0.5, lambda z: z * 2, lambda z: z * 3, (y,)), lambda y: y - 1, (x,)), U(0, 1, 3), steps=[(U(0, 0.4, 3),), (U(-1, 0, 3),)])
case("control", "cond_on_size", lambda x: torch.cond(x.shape[0] > 4, lambda y: y + 1, lambda y: y - 1, (x,)), R(5, 2), example=(R(3, 2),), steps=[(R(2, 2),)], dyn=dyn({0: "n"}, n=(2, 8)))


def _while(x):
    from torch._higher_order_ops.while_loop import while_loop

    return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2 + 1), (torch.tensor(0), x))


def _while_value(x):
    from torch._higher_order_ops.while_loop import while_loop

    return while_loop(lambda y: y.sum() < 20, lambda y: (y * 2,), (x,))


def _map(x):
    from torch._higher_order_ops.map import map as hop_map

    return hop_map(lambda row, w: row * w, x, torch.ones(2) * 3)


def _scan(x):
    from torch._higher_order_ops.scan import scan

    return scan(lambda c, row: (c + row, c * 2), torch.zeros(2), x)


case("control", "while_loop", _while, R(3))
case("control", "while_loop_value", _while_value, U(0.5, 1, 3))
case("control", "map", _map, R(4, 2))
case("control", "scan", _scan, R(4, 2))
