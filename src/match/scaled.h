// "x times a known number", in every spelling. The one function that fusion and the lifting guard
// share.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace edgelift::match {

struct Scaled {
  ir::Value* base = nullptr;      // what is scaled; equals the value asked about when there is no scale
  double factor = 1;              // product of all scales found
  std::vector<ir::Node*> scales;  // the nodes that multiply or divide, outermost first
  // The nodes between the value asked about and base that only rearrange elements, outermost first, casts between float
  // types included. Applying them to base in reverse order gives the unscaled operand.
  std::vector<ir::Node*> views;
  bool found() const { return !scales.empty(); }
};

// Sees mul.Scalar, mul.Tensor by a one-element constant on either side, div.Scalar, div.Tensor by one;
// and all of these through expand, view, permute, slice, clone and float casts. Views below the last scale stay in
// base.
Scaled as_scaled(ir::Value* value);

// One step: if node computes x times a known number, x and the number. The result has x's type.
struct ScaleStep {
  ir::Value* base = nullptr;
  double factor = 1;
};
bool match_scale(const ir::Node& node, ScaleStep& step);

}  // namespace edgelift::match
