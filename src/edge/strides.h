// What eager PyTorch's strides say: whether reshape, contiguous and to returned a view or a copy. Needed only up to
// functionalisation; afterwards no two values share memory.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace edgelift::edge {

using Strides = std::vector<SymInt>;

Strides row_major(const ir::Shape& sizes);
Strides strides_of(const ir::Value* value);  // as recorded, else row-major
bool is_contiguous(const ir::Value* value);
// Dense in NHWC (rank 4) or NDHWC (rank 5) order.
bool is_channels_last(const ir::Value* value);
// The strides that sizes `to` have over the same memory, or nullopt if no view can express them.
std::optional<Strides> view_strides(const ir::Value* from, const ir::Shape& to);
// The strides of an element-wise result of one operand: dense, dims in the operand's order of memory.
Strides pointwise_strides(const ir::Value* operand);
// Fills Value::strides of the results of a canonical view whose strides are not recorded.
void infer_view_strides(const ir::Node& node);

}  // namespace edgelift::edge
