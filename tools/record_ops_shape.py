"""Cases that move elements: views, joins, splits, indexing, scatters, padding, factories."""
import torch
import torch.nn.functional as F

from record_ops_table import B, E, F16, I, INF, R, U, V, Z, case, nhwc

f16, bf16, f32, f64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
i8, i16, i32, i64, u8, boolean = torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool
aten = torch.ops.aten

# ---------------------------------------------------------------- views

for _name, _fn, _shape, _forms in (
    ("view", lambda x: x.view(3, 4), (2, 6), "t"), ("view_minus_one", lambda x: x.view(-1, 2), (2, 6), "t"), ("reshape", lambda x: x.reshape(3, -1), (2, 6), "tfc"),
    ("reshape_needs_copy", lambda x: x.t().reshape(-1), (2, 6), "tfc"), ("flatten", lambda x: x.flatten(1, 2), (2, 3, 4), "tfc"), ("flatten_all", lambda x: x.flatten(), (2, 3), "t"),
    ("flatten_scalar", lambda x: x.flatten(), (), "t"), ("unflatten", lambda x: x.unflatten(1, (2, 3)), (2, 6), "tf"), ("view_as", lambda x: x.view_as(torch.zeros(6)), (2, 3), "t"), ("ravel", lambda x: x.ravel() + 1, (2, 3), "t"),
    ("permute", lambda x: x.permute(2, 0, 1), (2, 3, 4), "tf"), ("permute_negative", lambda x: x.permute(0, -1, 1), (2, 3, 4), "t"), ("permute_nhwc", lambda x: x.permute(0, 2, 3, 1), (1, 2, 3, 4), "t"), ("permute_rank6", lambda x: x.permute(0, 1, 3, 5, 2, 4), (1, 2, 2, 3, 2, 2), "t"),
    ("transpose", lambda x: x.transpose(-1, 0), (2, 3, 4), "tfc"), ("t", lambda x: x.t(), (2, 3), "tfc"), ("t_1d", lambda x: x.t() + 0.0, (3,), "t"), ("T", lambda x: x.T, (2, 3), "tf"), ("mT", lambda x: x.mT, (2, 2, 3), "tf"), ("swapaxes", lambda x: x.swapaxes(0, 2), (2, 3, 4), "tf"),
    ("movedim", lambda x: torch.movedim(x, 0, 2), (2, 3, 4), "tf"), ("movedim_two", lambda x: torch.movedim(x, (0, 1), (-1, 0)), (2, 3, 4), "t"),
    ("unsqueeze_first", lambda x: x.unsqueeze(0), (2, 3), "t"), ("unsqueeze_last", lambda x: x.unsqueeze(-1), (2, 3), "t"), ("unsqueeze_middle", lambda x: x.unsqueeze(1), (2, 3), "t"), ("unsqueeze_scalar", lambda x: x.unsqueeze(0), (), "t"),
    ("squeeze", lambda x: x.squeeze(), (1, 2, 1), "tc"), ("squeeze_dim", lambda x: x.squeeze(1), (2, 1, 3), "tc"), ("squeeze_dim_not_one", lambda x: x.squeeze(0) * 1, (2, 1, 3), "t"), ("squeeze_dims", lambda x: x.squeeze((0, 2)), (1, 2, 1, 3), "t"),
    ("expand", lambda x: x.expand(2, 4, 3), (4, 1), "tc"), ("expand_minus_one", lambda x: x.expand(-1, 5), (2, 1), "t"), ("expand_to_empty", lambda x: x.expand(0, 3), (1, 3), "t"), ("expand_as", lambda x: x.expand_as(torch.zeros(2, 3)), (1, 3), "tf"), ("broadcast_to", lambda x: torch.broadcast_to(x, (2, 3)), (3,), "t"),
    ("select", lambda x: x[:, 1], (2, 3, 4), "tc"), ("select_negative", lambda x: x.select(2, -1), (2, 3, 4), "t"), ("slice", lambda x: x[:, 1:3], (2, 5), "tc"), ("slice_step", lambda x: x[:, ::2], (2, 5), "t"), ("slice_negative", lambda x: x[:, -3:-1], (2, 5), "t"),
    ("slice_past_end", lambda x: x[:, 2:99], (2, 5), "t"), ("slice_far_negative", lambda x: aten.slice.Tensor(x, 1, -99, 3), (2, 5), "t"), ("slice_empty", lambda x: x[:, 3:3], (2, 5), "t"), ("slice_step_three", lambda x: x[1::3], (8, 2), "t"), ("slice_two_dims", lambda x: x[..., 1:, :2], (2, 3, 4), "t"),
    ("none_index", lambda x: x[:, None, 0], (2, 3), "t"), ("narrow", lambda x: torch.narrow(x, 1, 1, 2), (2, 5), "tf"), ("diagonal", lambda x: torch.diagonal(x), (3, 4), "tc"), ("diagonal_offset", lambda x: torch.diagonal(x, 1, 1, 2), (2, 3, 4), "t"), ("diag_embed", lambda x: torch.diag_embed(x), (2, 3), "tc"), ("diag", lambda x: torch.diag(x), (3,), "t"),
    ("as_strided", lambda x: torch.as_strided(x, (2, 2), (1, 2), 1), (2, 4), "tc"), ("unfold", lambda x: x.unfold(1, 3, 2), (2, 7), "tc"), ("unfold_dim0", lambda x: x.unfold(0, 2, 1), (4, 2), "t"),
    ("view_same_shape", lambda x: x.view(2, 3) * 2, (2, 3), "t"), ("permute_identity", lambda x: x.permute(0, 1) * 2, (2, 3), "t"), ("atleast_2d", lambda x: torch.atleast_2d(x), (3,), "t"), ("pixel_like_rank6", lambda x: x.view(1, 2, 2, 2, 3, 3).permute(0, 1, 4, 2, 5, 3).reshape(1, 2, 6, 6), (1, 8, 3, 3), "tc"),
    ("adjoint", lambda x: x.adjoint(), (2, 3), "t"), ("view_chain", lambda x: x.transpose(1, 2).unsqueeze(0).flatten(0, 1).contiguous().view(2, -1), (2, 3, 4), "tc"), ("real", lambda x: torch.real(x) + 0, (3,), "t"), ("ellipsis_last", lambda x: x[..., -1], (2, 3, 4), "t"),
):
    case("view", _name, _fn, R(*_shape), forms=_forms)
case("view", "view_dtype", lambda x: x.view(i32), R(3), note="the bits of a float")
case("view", "int_views", lambda x: x.view(3, 2).t()[1], I(0, 99, 6, dtype=u8))
case("view", "f16_permute", lambda x: x.permute(1, 0), R(2, 3, dtype=f16), **F16)
case("view", "channels_last_view", lambda x: x.flatten(1), nhwc(R(2, 3, 2, 2)), note="channels-last in memory, flattened logically")
case("view", "channels_last_permute_is_contiguous", lambda x: x.permute(0, 2, 3, 1).reshape(2, 4, 3), nhwc(R(2, 3, 2, 2)))
case("view", "view_copy_ops", lambda x: aten.view_copy.default(aten.permute_copy.default(x, [1, 0]), [6]), R(2, 3))
case("view", "slice_copy_op", lambda x: aten.slice_copy.Tensor(x, 1, 0, 2), R(2, 3))

# view-writing forms: the slices are written through
WRITES = {
    "row": lambda x, y: _write(x, lambda z: z.__setitem__(0, y)), "column": lambda x, y: _write(x, lambda z: z.__setitem__((slice(None), 1), 7.0)), "slice": lambda x, y: _write(x, lambda z: z[:, 1:3].copy_(y[1:3])),
    "step": lambda x, y: _write(x, lambda z: z[:, ::2].mul_(3)), "transposed": lambda x, y: _write(x, lambda z: z.t()[1].add_(1)), "two_views": lambda x, y: _write(x, lambda z: z[1][2].fill_(9)), "through_view": lambda x, y: _write(x, lambda z: z.view(-1)[3:5].zero_()),
    "diagonal": lambda x, y: _write(x, lambda z: z.diagonal().fill_(0)), "squeezed": lambda x, y: _write(x, lambda z: z.unsqueeze(0).squeeze(0)[0].neg_()), "mask": lambda x, y: _write(x, lambda z: z.__setitem__(z > 0, 0.0)), "index_list": lambda x, y: _write(x, lambda z: z.__setitem__(torch.tensor([0, 1]), y)),
    "negative_slice": lambda x, y: _write(x, lambda z: z[:, -2:].exp_()), "chunk": lambda x, y: _write(x, lambda z: z.chunk(2, 1)[1].add_(5)), "overlapping_reads": lambda x, y: _write(x, lambda z: z[:, 1:].add_(z[:, :-1].clone())), "swap": lambda x, y: _write(x, lambda z: z.__setitem__((slice(None), [0, 1]), z[:, [1, 0]])),
}


def _write(x, action):
    z = x.clone()
    action(z)
    return z


for _tag, _fn in WRITES.items():
    case("view_write", _tag, _fn, R(2, 4), R(4), forms="tfc" if _tag in ("row", "slice", "transposed", "through_view", "mask") else "t")
case("view_write", "in_turns", lambda x: _in_turns(x), R(2, 3, 6))
case("view_write", "loop_over_rows", lambda x: _fill_rows(x), R(3, 2), forms="tf")


def _in_turns(x):  # a rotation of pairs as many models spell it, and one place of three
    y = torch.relu(x)
    pairs, thirds = torch.empty_like(y), y * 2
    pairs[..., 0::2] = -x[..., 1::2]
    pairs[..., 1::2] = x[..., 0::2]
    thirds[:, :, 1::3] = y[:, :, :2]
    thirds[:, ::3] += 1
    return pairs, thirds


def _fill_rows(x):
    out = torch.zeros(3, 2)
    for i in range(3):
        out[i] = x[i] * i
    return out


# ---------------------------------------------------------------- joins and splits

case("join", "cat", lambda x, y: torch.cat([x, y], 1), R(2, 3), R(2, 1))
case("join", "cat_negative_dim", lambda x, y: torch.cat([x, y], -2), R(2, 3), R(1, 3))
case("join", "cat_three_rank4", lambda x, y, z: torch.cat([x, y, z], 1), R(1, 2, 2, 2), R(1, 1, 2, 2), R(1, 3, 2, 2))
case("join", "cat_same_twice", lambda x: torch.cat([x, x], 0), R(2, 3))
case("join", "cat_one", lambda x: torch.cat([x], 0) * 1, R(2, 3))
case("join", "cat_six", lambda x: torch.cat([x, x + 1, x + 2, x + 3, x + 4, x + 5], 1), R(2, 1))
case("join", "cat_legacy_empty", lambda x, y: torch.cat([x, y], 1), Z(0), R(2, 3), note="a 1-d empty tensor among others is skipped")
case("join", "cat_with_empty", lambda x, y: torch.cat([x, y], 0), Z(0, 3), R(2, 3))
case("join", "cat_all_empty", lambda x, y: torch.cat([x, y], 0), Z(0, 3), Z(0, 3))
case("join", "cat_int", lambda x, y: torch.cat([x, y]), I(0, 9, 3), I(0, 9, 2))
case("join", "cat_bool", lambda x, y: torch.cat([x, y]), B(3), B(2))
case("join", "cat_channels_last", lambda x, y: torch.cat([x, y], 1), nhwc(R(1, 2, 2, 2)), nhwc(R(1, 3, 2, 2)))
case("join", "cat_mixed_layout", lambda x, y: torch.cat([x, y], 1), nhwc(R(1, 2, 2, 2)), R(1, 3, 2, 2))
case("join", "concat_alias", lambda x, y: torch.concat([x, y], 0), R(2, 3), R(1, 3), forms="tf")
case("join", "stack", lambda x, y: torch.stack([x, y]), R(2, 3), R(2, 3), forms="tc")
case("join", "stack_last", lambda x, y: torch.stack([x, y], -1), R(2, 3), R(2, 3), forms="tc")
case("join", "stack_scalars", lambda x: torch.stack([x.sum(), x.mean(), x.max()]), R(2, 3))
case("join", "hstack", lambda x, y: torch.hstack([x, y]), R(2, 3), R(2, 1))
case("join", "vstack", lambda x, y: torch.vstack([x, y]), R(3), R(3))
case("join", "dstack", lambda x, y: torch.dstack([x, y]), R(2, 3), R(2, 3))
case("join", "column_stack", lambda x, y: torch.column_stack([x, y]), R(3), R(3))
case("join", "block_diag", lambda x, y: torch.block_diag(x, y), R(2, 2), R(1, 3))
case("join", "cartesian_prod", lambda x, y: torch.cartesian_prod(x, y), R(2), R(3))
case("join", "meshgrid_ij", lambda x, y: torch.meshgrid(x, y, indexing="ij"), R(2), R(3), forms="tfc")
case("join", "meshgrid_xy", lambda x, y: torch.meshgrid(x, y, indexing="xy"), R(2), R(3))
case("split", "split", lambda x: torch.split(x, 2, 1), R(2, 5), forms="tfc", note="the last part is smaller")
case("split", "split_sizes", lambda x: torch.split(x, [1, 2, 2], 1), R(2, 5), forms="tc")
case("split", "split_first_only", lambda x: torch.split(x, 2, 1)[0], R(2, 5))
case("split", "split_zero_part", lambda x: torch.split(x, [0, 5], 1), R(2, 5))
case("split", "chunk", lambda x: x.chunk(3, 1), R(2, 7), forms="tfc")
case("split", "chunk_fewer", lambda x: x.chunk(4, 0), R(5, 2), note="fewer parts than asked")
case("split", "chunk_products", lambda x: x.chunk(2, -1)[0] * x.chunk(2, -1)[1].sigmoid(), R(2, 6))
case("split", "tensor_split", lambda x: torch.tensor_split(x, 3, 1), R(2, 7), forms="tf")
case("split", "tensor_split_at", lambda x: torch.tensor_split(x, (1, 3), 1), R(2, 7))
case("split", "unbind", lambda x: x.unbind(0), R(3, 2), forms="tfc")
case("split", "unbind_last", lambda x: x.unbind(-1)[1], R(3, 2))
case("split", "qkv_unbind", lambda x: (lambda q, k, v: q @ k.transpose(-1, -2) @ v)(*x.reshape(1, 4, 3, 2, 2).permute(2, 0, 3, 1, 4).unbind(0)), R(1, 4, 12))
case("split", "unpacking", lambda x: (lambda a, b: a - b)(*x), R(2, 3))
case("split", "hsplit", lambda x: torch.hsplit(x, 2), R(2, 4))
case("split", "unsafe_split", lambda x: torch.unsafe_split(x, 2, 1), R(2, 4))
case("split", "split_copy_op", lambda x: aten.split_copy.Tensor(x, 2, 1), R(2, 5))
case("split", "split_with_sizes_copy_op", lambda x: aten.split_with_sizes_copy.default(x, [1, 4], 1), R(2, 5))
case("split", "unbind_copy_op", lambda x: aten.unbind_copy.int(x, 1), R(2, 3))

# ---------------------------------------------------------------- rearranging

for _name, _fn, _shape, _forms in (
    ("flip", lambda x: x.flip(1), (2, 3), "t"), ("flip_two", lambda x: torch.flip(x, (0, -1)), (2, 3, 2), "t"), ("fliplr", lambda x: torch.fliplr(x), (2, 3), "t"), ("flipud", lambda x: torch.flipud(x), (2, 3), "t"), ("rot90", lambda x: torch.rot90(x), (2, 3), "t"),
    ("roll", lambda x: torch.roll(x, 2, 1), (2, 5), "tc"), ("roll_negative_two_dims", lambda x: torch.roll(x, (-1, 2), (0, 1)), (3, 5), "tc"), ("roll_flat", lambda x: torch.roll(x, 3), (2, 4), "t"), ("roll_more_than_size", lambda x: torch.roll(x, -12, 1), (2, 5), "t"), ("roll_windows", lambda x: torch.roll(x, (-1, -1), (1, 2)), (1, 4, 4, 2), "t"),
    ("repeat", lambda x: x.repeat(2, 3), (2, 2), "t"), ("repeat_more_dims", lambda x: x.repeat(2, 1, 2), (2, 3), "t"), ("repeat_zero", lambda x: x.repeat(0, 1), (2, 3), "t"), ("tile", lambda x: torch.tile(x, (2, 2)), (3,), "tf"),
    ("repeat_interleave", lambda x: x.repeat_interleave(2, dim=1), (2, 3), "tfc"), ("repeat_interleave_flat", lambda x: x.repeat_interleave(3), (2, 2), "tc"), ("repeat_interleave_tensor", lambda x: x.repeat_interleave(torch.tensor([2, 0, 1]), dim=1, output_size=3), (2, 3), "tc"),
    ("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), (1, 8, 2, 3), "tc"), ("pixel_shuffle_3d", lambda x: F.pixel_shuffle(x, 2), (4, 2, 3), "t"), ("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), (1, 2, 4, 6), "tc"), ("channel_shuffle", lambda x: F.channel_shuffle(x, 2), (1, 4, 2, 2), "tc"),
    ("im2col", lambda x: F.unfold(x, 2), (1, 2, 3, 3), "tc"), ("im2col_padding_stride", lambda x: F.unfold(x, 3, padding=1, stride=2), (1, 2, 5, 5), "t"), ("col2im", lambda x: F.fold(x, (3, 3), 2), (1, 8, 4), "tc"),
    ("tril", lambda x: x.tril(), (3, 4), "tfc"), ("tril_diagonal", lambda x: x.tril(-1), (2, 3, 3), "t"), ("triu", lambda x: x.triu(), (3, 4), "tfc"), ("triu_diagonal", lambda x: x.triu(2), (3, 4), "t"), ("permute_nchw_window", lambda x: x.view(1, 2, 2, 2, 2, 3).permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, 3), (1, 4, 4, 3), "tc"),
):
    case("rearrange", _name, _fn, R(*_shape), forms=_forms)
case("rearrange", "tril_of_bool", lambda x: x.tril(), B(4, 4, p=0.9))
case("rearrange", "triu_minus_inf", lambda x: torch.full((4, 4), -INF).triu(1) + x, R(4, 4), forms="tfc", note="a causal mask; 0 * inf must not appear")
case("rearrange", "tril_nan", lambda x: x.tril(), E(12))
case("rearrange", "flip_int", lambda x: x.flip(0), I(0, 9, 4))
case("rearrange", "repeat_interleave_heads", lambda x: x[:, :, None].expand(1, 2, 3, 4, 2).reshape(1, 6, 4, 2), R(1, 2, 4, 2), forms="tc", note="shared key heads by expand")

for _mode in ("reflect", "replicate", "circular"):
    for _rank, _shape, _pad in ((1, (1, 2, 5), (2, 1)), (2, (1, 2, 4, 5), (1, 2, 2, 1)), (3, (1, 1, 3, 3, 4), (1, 1, 0, 2, 1, 0))):
        case("pad", f"{_mode}_{_rank}d", (lambda m, p: lambda x: F.pad(x, p, mode=m))(_mode, _pad), R(*_shape), forms="tc" if _rank == 2 else "t")
for _name, _fn, _shape in (
    ("constant", lambda x: F.pad(x, (1, 2)), (2, 3)), ("constant_value", lambda x: F.pad(x, (1, 0, 2, 1), value=-1.5), (2, 3)), ("constant_inf", lambda x: F.pad(x, (0, 1), value=-INF), (2, 3)), ("constant_negative", lambda x: F.pad(x, (-1, 1)), (2, 3)),
    ("constant_crop", lambda x: F.pad(x, (-1, -1, 0, -1)), (3, 4)), ("constant_spatial", lambda x: F.pad(x, (0, 1, 1, 0)), (1, 2, 3, 3)), ("constant_batch_dim", lambda x: F.pad(x, (0, 0, 0, 0, 1, 1)), (1, 2, 2)), ("constant_nothing", lambda x: F.pad(x, (0, 0)) * 2, (2, 3)),
    ("reflect_unbatched", lambda x: F.pad(x, (1, 1), mode="reflect"), (2, 4)), ("replicate_unbatched", lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"), (2, 3, 4)), ("replicate_wide", lambda x: F.pad(x, (5, 0), mode="replicate"), (1, 1, 3)),
):
    case("pad", _name, _fn, R(*_shape), forms="tfc" if _name in ("constant_value", "constant_negative") else "t")
case("pad", "constant_int", lambda x: F.pad(x, (1, 1), value=7), I(0, 9, 2, 3))
case("pad", "constant_bool", lambda x: F.pad(x, (1, 1), value=True), B(2, 3))
case("pad", "constant_f16", lambda x: F.pad(x, (1, 1), value=0.5), R(2, 3, dtype=f16), **F16)

# ---------------------------------------------------------------- gathers and indexing

case("index", "gather", lambda x, i: torch.gather(x, 1, i), R(3, 4), I(0, 4, 3, 2))
case("index", "gather_dim0", lambda x, i: torch.gather(x, 0, i), R(3, 4), I(0, 3, 5, 2))
case("index", "gather_negative_dim", lambda x, i: x.gather(-1, i), R(2, 3, 4), I(0, 4, 2, 3, 1))
case("index", "gather_int", lambda x, i: x.gather(1, i), I(0, 99, 3, 4), I(0, 4, 3, 2))
case("index", "gather_zero_dim", lambda x, i: x.gather(0, i), R(), I(0, 1))
case("index", "take_along_dim", lambda x, i: torch.take_along_dim(x, i, 1), R(3, 4), I(0, 4, 3, 2))
case("index", "take", lambda x, i: torch.take(x, i), R(3, 4), I(0, 12, 2, 2), forms="tc")
case("index", "index_select", lambda x, i: torch.index_select(x, 1, i), R(3, 4), I(0, 4, 6))
case("index", "index_select_i32", lambda x, i: torch.index_select(x, 0, i), R(3, 4), I(0, 3, 2, dtype=i32))
case("index", "index_select_scalar_index", lambda x, i: torch.index_select(x, 0, i), R(3, 4), I(0, 3))
case("index", "index_select_empty", lambda x, i: torch.index_select(x, 0, i), R(3, 4), Z(0, dtype=i64))
case("index", "tensor", lambda x, i: x[i], R(4, 3), I(0, 4, 5))
case("index", "tensor_negative", lambda x, i: x[i], R(4, 3), I(-4, 4, 5))
case("index", "tensor_2d_index", lambda x, i: x[i], R(4, 3), I(0, 4, 2, 2))
case("index", "tensor_second_dim", lambda x, i: x[:, i], R(2, 4, 3), I(0, 4, 5))
case("index", "tensor_two", lambda x, i, j: x[i, j], R(4, 3), I(0, 4, 5), I(0, 3, 5))
case("index", "tensor_two_broadcast", lambda x, i, j: x[i, j], R(4, 3), I(0, 4, 5, 1), I(0, 3, 2))
case("index", "tensor_two_apart", lambda x, i, j: x[i, :, j], R(4, 2, 3), I(0, 4, 5), I(0, 3, 5), note="indices apart: their dim comes first")
case("index", "tensor_last", lambda x, i: x[..., i], R(2, 3, 4), I(0, 4, 2))
case("index", "tensor_literal_list", lambda x: x[:, [2, 0]], R(2, 3), forms="tfc")
case("index", "tensor_i32", lambda x, i: x[i], R(4, 3), I(0, 4, 5, dtype=i32))
case("index", "tensor_bool_mask", lambda x, m: x[m], R(6), B(6), note="the number of elements is known at run time only")
case("index", "tensor_of_int", lambda x, i: x[i], I(0, 99, 4, 3), I(0, 4, 2))
case("index", "pooled_token", lambda x, i: x[torch.arange(2), i], R(2, 5, 3), I(0, 5, 2), forms="tc")
case("index", "unsafe_index", lambda x, i: aten._unsafe_index.Tensor(x, [None, i]), R(2, 4), I(0, 4, 3))
case("index", "masked_select", lambda x, m: torch.masked_select(x, m), R(2, 3), B(2, 3))
case("index", "nonzero", lambda x: torch.nonzero(x), I(0, 2, 3, 3))
case("index", "nonzero_tuple", lambda x: torch.nonzero(x, as_tuple=True), I(0, 2, 3, 3))
case("index", "argwhere", lambda x: torch.argwhere(x > 0), R(3, 3))
case("index", "relative_position_bias", lambda t: t[(torch.arange(4)[:, None] - torch.arange(4)[None, :] + 3).view(-1)].view(4, 4, 2).permute(2, 0, 1), R(7, 2), forms="tc")

case("index_put", "rows", lambda x, i, v: x.index_put((i,), v), R(4, 3), V([2, 0]), R(2, 3), forms="tc")
case("index_put", "rows_in_place", lambda x, i, v: (x * 1).index_put_((i,), v), R(4, 3), V([2, 0]), R(2, 3), forms="tf")
case("index_put", "accumulate", lambda x, i, v: x.index_put((i,), v, accumulate=True), R(4), V([2, 0, 2]), R(3), note="the same index twice")
case("index_put", "two_indices", lambda x, i, j, v: x.index_put((i, j), v), R(4, 3), V([2, 0]), V([1, 2]), R(2))
case("index_put", "scalar_value", lambda x, i, v: x.index_put((i,), v), R(4, 3), V([2, 0]), R())
case("index_put", "cache_update", lambda x, i, v: _put(x, i, v), R(1, 2, 5, 3), V([1, 4]), R(1, 2, 2, 3), forms="tfc", note="x[:, :, i] = v")
case("index_put", "bool_mask", lambda x, m: _put_mask(x, m), R(4, 3), B(4, 3), forms="tc")
case("index_put", "negative_index", lambda x, i, v: x.index_put((i,), v), R(4), V([-1, -4]), R(2))
case("index_put", "int", lambda x, i, v: x.index_put((i,), v), I(0, 9, 4), V([1]), V([77]))


def _put(x, i, v):
    y = x.clone()
    y[:, :, i] = v
    return y


def _put_mask(x, m):
    y = x.clone()
    y[m] = -1.0
    return y


case("scatter", "src", lambda x, i, s: x.scatter(1, i, s), R(3, 4), I(0, 1, 3, 2).map(lambda t: t + torch.arange(2) * 2), R(3, 2), forms="tf")
case("scatter", "value", lambda x, i: x.scatter(1, i, 2.5), R(3, 4), I(0, 4, 3, 2))
case("scatter", "value_int", lambda x, i: x.scatter(0, i, 5), I(0, 9, 3, 4), I(0, 3, 1, 4))
case("scatter", "in_place", lambda x, i: (x * 1).scatter_(1, i, 1.0), R(3, 4), I(0, 4, 3, 1), forms="tf")
case("scatter", "add", lambda x, i, s: x.scatter_add(1, i, s), R(3, 4), I(0, 4, 3, 5), R(3, 5))
case("scatter", "add_in_place_zeros", lambda i, s: torch.zeros(5).scatter_add_(0, i, s), I(0, 5, 7), R(7))
case("scatter", "add_int", lambda x, i, s: x.scatter_add(0, i, s), I(0, 9, 4), I(0, 4, 6), I(0, 9, 6))
case("scatter", "reduce_multiply", lambda x, i, s: x.scatter(0, i, s, reduce="multiply"), R(4), V([1, 3]), R(2))
for _mode in ("sum", "amax", "amin", "mean", "prod"):
    case("scatter", f"reduce_{_mode}", (lambda m: lambda x, i, s: x.scatter_reduce(0, i, s, reduce=m))(_mode), R(4), I(0, 4, 6), R(6))
case("scatter", "reduce_exclude_self", lambda x, i, s: x.scatter_reduce(0, i, s, reduce="amax", include_self=False), R(4), I(0, 3, 6), R(6))
case("scatter", "select_scatter", lambda x, s: torch.select_scatter(x, s, 1, 2), R(3, 4), R(3), forms="tc")
case("scatter", "slice_scatter", lambda x, s: torch.slice_scatter(x, s, 1, 1, 3), R(3, 4), R(3, 2), forms="tc")
case("scatter", "slice_scatter_step", lambda x, s: torch.slice_scatter(x, s, 0, 0, 9, 2), R(3, 4), R(2, 4))
case("scatter", "diagonal_scatter", lambda x, s: torch.diagonal_scatter(x, s), R(3, 3), R(3), forms="tc")
case("scatter", "as_strided_scatter", lambda x, s: torch.as_strided_scatter(x, s, (2,), (2,), 1), R(6), R(2))
case("scatter", "masked_scatter", lambda x, m, s: x.masked_scatter(m, s), R(2, 3), V([[True, False, True], [False, True, True]]), R(5), forms="tc")
case("scatter", "masked_scatter_rows", lambda x, m, s: x.masked_scatter(m.unsqueeze(-1), s), R(4, 2), V([True, False, True, False]), R(2, 2), note="image tokens put among text tokens")
case("scatter", "index_copy", lambda x, i, s: torch.index_copy(x, 0, i, s), R(4, 3), V([3, 1]), R(2, 3), forms="tfc")
case("scatter", "index_copy_in_place", lambda x, i, s: (x * 1).index_copy_(1, i, s), R(2, 4), V([3, 1]), R(2, 2), forms="tf")
case("scatter", "index_add", lambda x, i, s: torch.index_add(x, 0, i, s, alpha=2), R(4, 3), V([3, 1, 3]), R(3, 3), forms="tfc")
case("scatter", "index_fill", lambda x, i: torch.index_fill(x, 1, i, -2.0), R(3, 4), V([3, 0]), forms="tfc")
case("scatter", "index_reduce", lambda x, i, s: torch.index_reduce(x, 0, i, s, "amax"), R(4, 3), V([3, 1, 3]), R(3, 3))
case("scatter", "put", lambda x, i, s: torch.put(x, i, s), R(2, 3), V([5, 1]), R(2))
case("scatter", "fill_diagonal", lambda x: x.clone().fill_diagonal_(1.5), R(3, 3))
case("scatter", "one_hot", lambda i: F.one_hot(i, 5), I(0, 5, 2, 3), forms="tfc")
case("scatter", "one_hot_float", lambda i, w: F.one_hot(i, 4).float() @ w, I(0, 4, 3), R(4, 2), forms="tc")

# ---------------------------------------------------------------- factories

for _name, _fn, _forms in (
    ("arange", lambda x: x + torch.arange(5), "tfc"), ("arange_start_step", lambda x: x + torch.arange(1, 11, 2), "tc"), ("arange_float", lambda x: x + torch.arange(0, 1, 0.2), "tc"), ("arange_negative", lambda x: x + torch.arange(5, 0, -1), "t"), ("arange_dtype", lambda x: x + torch.arange(5, dtype=f32), "t"),
    ("arange_i32", lambda x: torch.arange(5, dtype=i32), "t"), ("arange_empty", lambda x: torch.arange(3, 3), "t"), ("full", lambda x: x + torch.full((2, 5), 1.5), "t"), ("full_int", lambda x: torch.full((2,), 7), "t"), ("full_bool", lambda x: torch.full((2,), True), "t"), ("full_inf", lambda x: torch.full((2, 2), -INF), "t"),
    ("full_like", lambda x: torch.full_like(x, 2.0), "t"), ("full_like_dtype", lambda x: torch.full_like(x, 2, dtype=i64), "t"), ("zeros", lambda x: torch.zeros(2, 3), "tc"), ("zeros_like", lambda x: torch.zeros_like(x), "tc"), ("ones", lambda x: torch.ones(2, 3, dtype=i64), "tc"), ("ones_like", lambda x: torch.ones_like(x, dtype=boolean), "tc"),
    ("new_zeros", lambda x: x.new_zeros(3), "tc"), ("new_ones", lambda x: x.new_ones(2, 2), "tc"), ("new_full", lambda x: x.new_full((2,), 3.5), "tc"), ("new_empty_filled", lambda x: x.new_empty(4).fill_(1.0), "t"), ("new_tensor", lambda x: x.new_tensor([1.0, 2.0, 3.0]), "t"), ("empty_filled", lambda x: torch.empty(2, 5).copy_(x), "tc"), ("empty_like_zero", lambda x: torch.empty_like(x).zero_(), "tf"),
    ("eye", lambda x: torch.eye(3), "tfc"), ("eye_rectangle", lambda x: torch.eye(2, 4, dtype=i64), "t"), ("linspace", lambda x: torch.linspace(-1, 1, 5) * x, "tfc"), ("linspace_one", lambda x: torch.linspace(2, 5, 1), "t"), ("linspace_int", lambda x: torch.linspace(0, 10, 5, dtype=i64), "t"), ("logspace", lambda x: torch.logspace(0, 1, 4), "t"),
    ("tril_indices", lambda x: torch.tril_indices(3, 3), "tc"), ("triu_indices", lambda x: torch.triu_indices(3, 4, 1), "tc"), ("scalar_tensor", lambda x: x * torch.scalar_tensor(0.5), "t"), ("tensor_literal", lambda x: torch.tensor([[1, 2], [3, 4]]), "t"), ("tensor_number", lambda x: torch.tensor(0.25) * x, "tf"), ("hann_window", lambda x: torch.hann_window(8), "t"),
    ("causal_mask", lambda x: torch.ones(4, 4, dtype=boolean).tril(), "tc"), ("causal_mask_by_compare", lambda x: torch.arange(4)[None, :] <= torch.arange(4)[:, None], "tc"), ("vander", lambda x: torch.vander(x, 3), "t"), ("zeros_no_elements", lambda x: torch.zeros(0, 3), "t"), ("complex_parts", lambda x: torch.view_as_real(torch.complex(x, x * 2)), "t"),
    ("rand_shape", lambda x: (torch.rand(2, 3) >= 0), "tc"), ("rand_like_shape", lambda x: (torch.rand_like(x) < 2), "tc"), ("randn_shape", lambda x: torch.randn(2, 3) * 0 + 1, "t"), ("randint_shape", lambda x: torch.randint(0, 5, (3,)) < 5, "t"), ("randperm_sorted", lambda x: torch.randperm(4).sort()[0], "t"),
    ("fill_scalar", lambda x: torch.fill(x, 3.0), "t"), ("fill_tensor", lambda x: torch.fill(x, torch.tensor(2.5)), "t"), ("rotary_table", lambda x: torch.outer(torch.arange(4).float(), 1.0 / (10000 ** (torch.arange(0, 4, 2).float() / 4))).cos(), "tfc"), ("sinusoid", lambda x: (torch.arange(5)[:, None] * torch.exp(torch.arange(0, 4, 2) * -0.3)).sin(), "tc"),
):
    case("factory", _name, _fn, R(5), forms=_forms)
