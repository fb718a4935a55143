// Pipelines with a name. `before` and `after` stand around the caller's transform passes; `late` runs where operators
// had to be decomposed after them.
#include "passes/pass.h"

namespace edgelift::passes {
namespace {

constexpr Recipe kRecipes[] = {
    {.name = "xnnpack",
     .sentence = "everything that can be lifted into the delegate is lifted (the default)",
     .upstream_edge = false,
     .partition = Recipe::Partition::Full,
     .before = "remove-noops,fold-constants,merge-duplicates,fold-batch-norm,convert-to-linear",
     .after = "recognise,recognise-upsample,fuse-sdpa,lift-index,lift-upsample,remove-noops,lift-where,"
              "expand-sdpa,$lift,lift-layer-norm,lift-group-norm,lift-arithmetic,lift-reductions,lift-activations,lift-"
              "softmax,"
              "lift-pools,lift-windows,lift-scatter,lift-select,lift-stack,lift-squeeze,lift-pads,lift-where,"
              "lift-promotions,lift-fills,patchify,remove-noops,fold-constants,fold-constant-branches,"
              "split-linear,lift-batch-norm,fuse-rotary,carry-affine,fold-affine,fold-scale,compose-linear,"
              "center-residual,slice-early,merge-rotary,project-heads,lift-expand,remove-noops,merge-duplicates",
     .late = "$lift,lift-arithmetic,lift-reductions,lift-select,lift-squeeze,lift-where,lift-expand,"
             "remove-noops,merge-duplicates",
     .lift_scalars_passes = "lift-scalars",
     .lift_scalars = true},
    {.name = "upstream",
     .sentence = "what ExecuTorch's own flow does and nothing more, for comparison",
     .upstream_edge = true,
     .partition = Recipe::Partition::Upstream,
     .before = "",
     .after = "$lift",
     .late = "",
     .lift_scalars_passes = "remove-noop-expand,lift-scalars",
     .lift_scalars = false},
    {.name = "portable",
     .sentence = "delegates nothing: every operator runs on the runtime's portable kernels",
     .upstream_edge = false,
     .partition = Recipe::Partition::None,
     .before = "",
     .after = "",
     .late = "",
     .lift_scalars_passes = "",
     .lift_scalars = false},
};

}  // namespace

std::span<const Recipe> all_recipes() { return kRecipes; }

}  // namespace edgelift::passes
