// Parts of a tensor that lie in one piece in its memory. Internal to src/emit.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace edgelift::emit {

// Where a slice, select, split or unbind takes one contiguous piece of its row-major operand for each result: the
// first element of each. nullopt for other operators, for symbolic sizes and for pieces with gaps.
std::optional<std::vector<int64_t>> contiguous_pieces(const ir::Node& node);

}  // namespace edgelift::emit
