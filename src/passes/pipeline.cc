// Every pass: its name, what it does in one sentence, and its options. Help and docs come from these rows.
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

constexpr PassInfo kPasses[] = {
    {"remove-noops", "drops operators that leave every element where it is and joins chains of views and permutations",
     remove_noops},
    {"remove-noop-expand", "drops expand operators that expand nothing", remove_noop_expand},
    {"merge-duplicates", "computes equal things once", merge_duplicates},
    {"fold-constants", "computes at compile time what depends on constants alone", fold_constants, "growth=BYTES"},
    {"fold-constant-branches", "joins constants that are added one after the other, through concatenations too",
     fold_constant_branches},
    {"fold-batch-norm", "moves batch norm into the convolution or linear before it", fold_batch_norm},
    {"fuse-rotary", "makes one matrix product of a rotary embedding", fuse_rotary, "table=BYTES"},
    {"merge-rotary", "projects and rotates queries and keys together", merge_rotary, "budget=BYTES"},
    {"project-heads", "projects keys and values head by head, without a copy, and takes their biases out",
     project_heads},
    {"carry-affine", "carries multiplications and additions by channel past the sums of a residual stream",
     carry_affine, "budget=BYTES"},
    {"compose-linear", "makes one linear of two where that saves multiplications", compose_linear, "work=COUNT"},
    {"fold-affine", "moves multiplications and additions by channel into the layer before or after them", fold_affine,
     "budget=BYTES"},
    {"fold-scale", "moves a multiplication by one number into the weights before it, through views", fold_scale,
     "budget=BYTES"},
    {"convert-to-linear", "turns addmm, mm and matmul by a constant matrix into linear", convert_to_linear},
    {"split-linear", "makes one linear for each part of a linear that is only taken apart", split_linear},
    {"slice-early", "computes only the rows that somebody reads: slices go before the operators they cut", slice_early},
    {"fuse-sdpa", "makes one operator of attention spelled out, with one scale", fuse_sdpa},
    {"expand-sdpa", "writes attention as two matrix products and a softmax, masks as numbers added", expand_sdpa},
    {"lift-scalars", "gives arithmetic with a plain number a constant tensor in its place", lift_scalars,
     "keep-sdpa=auto|always|never inexact-f16=no|yes"},
    {"lift-layer-norm", "writes layer norm and RMS norm in the delegate's operators", lift_layer_norm},
    {"center-residual", "takes the mean that layer norms subtract out of the weights that write a residual stream",
     center_residual, "budget=BYTES"},
    {"lift-group-norm", "writes group norm and instance norm in the delegate's operators", lift_group_norm},
    {"lift-batch-norm", "writes a lone batch norm as a multiplication and an addition", lift_batch_norm},
    {"lift-select", "writes select, unbind, split, chunk and strided slices as slices and reshapes", lift_select},
    {"lift-expand",
     "drops expands whose consumers broadcast, and writes others, repeat and tile in the delegate's operators",
     lift_expand},
    {"lift-squeeze", "writes squeeze, unsqueeze, flatten and strided views as reshapes, transposes as permutations",
     lift_squeeze},
    {"lift-arithmetic", "writes powers, other logarithms, truncation and their kin in the delegate's operators",
     lift_arithmetic},
    {"lift-reductions", "writes mean, sum, variance, extrema and norms over any dimensions in the delegate's operators",
     lift_reductions},
    {"lift-activations", "writes gelu by tanh, mish, softplus and their kin in the delegate's operators",
     lift_activations},
    {"lift-softmax", "writes log-softmax and logsumexp over any dimensions in the delegate's operators", lift_softmax},
    {"lift-where", "writes choices by a known mask, and masks before a softmax, as arithmetic", lift_where},
    {"lift-pads", "writes reflected and repeated borders as slices, triangles as products", lift_pads},
    {"lift-index", "writes indexing by known places as slices, repeats and patterns", lift_index},
    {"lift-pools", "writes pools of one element as slices, averages over uneven windows as products", lift_pools},
    {"lift-scatter", "writes a value put into a slice of another as slices and a concatenation", lift_scatter},
    {"lift-windows", "writes unfold and fold as convolutions, windows along one dimension as slices", lift_windows},
    {"lift-upsample", "writes nearest resampling by fractions as slices, repeats and patterns", lift_upsample},
    {"lift-fills", "makes constants that are spread over a dynamic size ones that broadcast", lift_fills},
    {"lift-promotions", "turns integers beside delegated floats into floats, so that arithmetic with them goes inside",
     lift_promotions},
    {"recognise", "finds activations and norms that are spelled out", recognise},
    {"recognise-upsample", "finds bilinear resampling that is spelled out as gathers and blends", recognise_upsample},
    {"patchify", "writes a convolution whose stride is its kernel as patches and a linear", patchify},
    {"lift-stack", "writes stack as a concatenation of reshapes", lift_stack},
};

}  // namespace

std::span<const PassInfo> all_passes() { return kPasses; }

}  // namespace edgelift::passes
