// What registered kernels of the pinned runtime cannot compute, measured on it: rows name these as kernel_check.
#pragma once

#include <optional>
#include <string>

#include "ops/call.h"

namespace edgelift::ops {

// add.Scalar, sub.Scalar: only where the number does not change the dtype, and not bool.
std::optional<std::string> kernel_keeps_dtype(const Call& call);
// remainder: the sign of signed integers follows the dividend.
std::optional<std::string> kernel_remainder(const Call& call);
// sign: NaN stays NaN, where PyTorch gives 0.
std::optional<std::string> kernel_sign(const Call& call);
// cat, stack: the pieces' bytes are copied, whatever their dtype.
std::optional<std::string> kernel_same_dtypes(const Call& call);
// cumsum: no rank-0 operands.
std::optional<std::string> kernel_has_dims(const Call& call);
// constant_pad_nd: only adds.
std::optional<std::string> kernel_pads_only(const Call& call);
// roll: needs dims.
std::optional<std::string> kernel_names_dims(const Call& call);
// quantize_*, dequantize_* with scales as tensors: float64 scales and int64 zero points only.
std::optional<std::string> kernel_double_scales(const Call& call);

}  // namespace edgelift::ops
