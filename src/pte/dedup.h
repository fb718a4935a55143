// Which of several tensors have the same bytes, so that each content is written once. Internal to src/pte.
#pragma once

#include <span>
#include <vector>

#include "base/tensor_data.h"

namespace edgelift::pte {

// For each tensor the index of the first one with the same row-major bytes (possibly its own). Dtype and sizes do not
// count. Reads a few pages of each tensor, and whole tensors only where those agree.
std::vector<size_t> first_equal(std::span<const TensorData* const> tensors);

}  // namespace edgelift::pte
