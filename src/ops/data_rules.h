// How an operator cuts a dim into pieces.
#pragma once

#include <vector>

#include "ops/call.h"

namespace edgelift::ops {

struct Pieces {
  int64_t dim = 0;
  std::vector<SymInt> sizes;
};
// More pieces than any program cuts: a number that only a damaged file holds.
inline constexpr int64_t kMaxPieces = 1 << 20;
// split, split_with_sizes, chunk, tensor_split, hsplit … An Error where the number of pieces is not known.
Result<Pieces> pieces_of(const Call& call);

}  // namespace edgelift::ops
