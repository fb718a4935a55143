#include "xnnpack/rewrite.h"

namespace edgelift::xnn {

Status optimize(Graph& graph, const OptimizeOptions& options) {
  (void)options;
  remove_dead(graph);
  return Ok{};
}

}  // namespace edgelift::xnn
