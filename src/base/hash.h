// Content hash of constants, for keys and deduplication. Not cryptographic: equal keys are confirmed by comparing bytes
// wherever two constants would be merged.
#pragma once

#include <cstdint>
#include <string>

#include "base/tensor_data.h"

namespace edgelift {

// 32 hexadecimal digits: XXH3-128 of dtype, sizes and the row-major bytes.
std::string content_key(const TensorData& data);
// 64 bits of it.
uint64_t content_hash(const TensorData& data);

}  // namespace edgelift
