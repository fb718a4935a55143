// Resampling by the nearest element.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace edgelift::edge {

// Which of `in` elements each of `out` takes, as eager computes it in float32. `scale` is the caller's factor, if any.
std::vector<int64_t> nearest_places(int64_t in, int64_t out, std::optional<double> scale, bool exact);

}  // namespace edgelift::edge
