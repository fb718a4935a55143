// Elements of one dim, known by their places, as slices, reshapes and concatenations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/tensor_data.h"
#include "passes/lift.h"

namespace edgelift::passes {

// More pieces than this cost more than one kernel that gathers.
inline constexpr size_t kMaxPieces = 16;

// The places as numbers from 0, negative ones counted from the end; nothing if one lies outside of the dim.
std::optional<std::vector<int64_t>> places_of(const TensorData& index, int64_t size);

// Whether select_places can write the selection, without an attempt.
bool selectable(const std::vector<int64_t>& places, int64_t size, bool inside);

// x with the given places of `dim` in their order. Repeated places, places at equal distances and patterns that come
// again are found; what is left has at most kMaxPieces runs of consecutive places, or the lift fails. `inside`: the
// operators have to be ones of the delegate; otherwise only runs are looked for.
Value* select_places(Lift& lift, Value* x, int64_t dim, const std::vector<int64_t>& places, bool inside);

}  // namespace edgelift::passes
