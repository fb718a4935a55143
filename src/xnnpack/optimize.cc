#include "xnnpack/rewrite.h"
#include "xnnpack/target.h"

namespace edgelift::xnn {

// In this order:
//   remove_dead      nodes whose results nobody uses
//   remove_copies    copies that only rename
//   simplify_views   chains of reshapes, reshapes that change nothing, views of constants
//   merge_equal      equal nodes (not upstream)
//   fuse_clamps      relu, relu6, clamp into the node before
//   assign_layout    transposes moved, composed, cancelled, taken into the matmul's flag (the flag not upstream)
//   choose_conv_forms  convolutions in the form that the target was measured to run fastest (target.h)
// and the first four again, for what these left. Consecutive fully-connected nodes of one input stay apart: merging
// them into one and slicing was measured to gain nothing.
Status optimize(Graph& graph, const OptimizeOptions& options) {
  const auto clean = [&] {
    remove_dead(graph);
    remove_copies(graph);
    simplify_views(graph);
    if (!options.upstream) merge_equal(graph);
  };
  clean();
  if (options.fuse_activations) fuse_clamps(graph, options.upstream);
  if (options.layout) {
    assign_layout(graph, options.upstream);
    clean();
  }
  if (options.conv != nullptr && choose_conv_forms(graph, *options.conv) != 0) clean();
  remove_copies(graph);
  remove_dead(graph);
  return Ok{};
}

}  // namespace edgelift::xnn
