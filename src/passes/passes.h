// The passes, one a file. pipeline.cc says what each does.
#pragma once

#include "passes/pass.h"

namespace edgelift::passes {

#define EDGELIFT_PASS(NAME) Result<bool> NAME(ir::Program& program, PassContext& context);
EDGELIFT_PASS(remove_noops)
EDGELIFT_PASS(remove_noop_expand)
EDGELIFT_PASS(merge_duplicates)
EDGELIFT_PASS(fold_constants)
EDGELIFT_PASS(fold_constant_branches)
EDGELIFT_PASS(fold_batch_norm)
EDGELIFT_PASS(fuse_rotary)
EDGELIFT_PASS(merge_rotary)
EDGELIFT_PASS(project_heads)
EDGELIFT_PASS(carry_affine)
EDGELIFT_PASS(compose_linear)
EDGELIFT_PASS(fold_affine)
EDGELIFT_PASS(fold_scale)
EDGELIFT_PASS(convert_to_linear)
EDGELIFT_PASS(split_linear)
EDGELIFT_PASS(slice_early)
EDGELIFT_PASS(recognise)
EDGELIFT_PASS(recognise_upsample)
EDGELIFT_PASS(fuse_sdpa)
EDGELIFT_PASS(expand_sdpa)
EDGELIFT_PASS(lift_scalars)
EDGELIFT_PASS(lift_layer_norm)
EDGELIFT_PASS(center_residual)
EDGELIFT_PASS(lift_group_norm)
EDGELIFT_PASS(lift_batch_norm)
EDGELIFT_PASS(lift_select)
EDGELIFT_PASS(lift_index)
EDGELIFT_PASS(lift_expand)
EDGELIFT_PASS(lift_squeeze)
EDGELIFT_PASS(lift_stack)
EDGELIFT_PASS(lift_arithmetic)
EDGELIFT_PASS(lift_activations)
EDGELIFT_PASS(lift_reductions)
EDGELIFT_PASS(lift_softmax)
EDGELIFT_PASS(lift_where)
EDGELIFT_PASS(lift_pads)
EDGELIFT_PASS(lift_pools)
EDGELIFT_PASS(lift_scatter)
EDGELIFT_PASS(lift_windows)
EDGELIFT_PASS(lift_upsample)
EDGELIFT_PASS(lift_fills)
EDGELIFT_PASS(lift_promotions)
EDGELIFT_PASS(patchify)
#undef EDGELIFT_PASS

}  // namespace edgelift::passes
