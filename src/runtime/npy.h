// NumPy's .npy files and raw files as tensors.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/file.h"
#include "base/result.h"
#include "base/tensor_data.h"

namespace edgelift::runtime {

// C and Fortran order, versions 1 to 3, little-endian. bfloat16 as ml_dtypes writes it (V2) is read as such. The data
// stay in `owner`; they are copied only where the file does not align them to their element.
Result<TensorData> parse_npy(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
Result<TensorData> read_npy(const std::filesystem::path& path);
// The bytes of a file as a tensor of the given type; the size must fit exactly.
Result<TensorData> read_raw(const std::filesystem::path& path, DType dtype, std::vector<int64_t> sizes);

// Row-major, in logical dimension order; bfloat16 as its bits in uint16.
std::string npy_bytes(const TensorData& data);
// Written, but not in place before commit().
Result<std::unique_ptr<AtomicFile>> stage_npy(const std::filesystem::path& path, const TensorData& data);

}  // namespace edgelift::runtime
