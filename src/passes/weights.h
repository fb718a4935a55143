// Arithmetic on weights, in double, rounded once.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "base/tensor_data.h"

namespace edgelift::passes {

// Memory for new weights that is written once, not cleared first, and the constant over it.
std::shared_ptr<std::byte[]> uninitialised(size_t bytes);
TensorData adopt(DType dtype, const std::vector<int64_t>& sizes, const std::shared_ptr<std::byte[]>& bytes);

// Rows of a filter [out, ...] times one factor each; columns of a filter [out, in] times one factor each.
TensorData scale_rows(const TensorData& weight, const std::vector<double>& factors);
TensorData scale_columns(const TensorData& weight, const std::vector<double>& factors);
TensorData scale_all(const TensorData& weight, double factor);
// weight [out, in] times vector [in].
std::vector<double> times_vector(const TensorData& weight, const std::vector<double>& vector);
// a [m, k] times b [k, n], in double, as float32; the sums in the order of k.
TensorData times_matrix(const TensorData& a, const TensorData& b);
TensorData vector_data(DType dtype, const std::vector<double>& values);
// Element-wise function of two tensors broadcast to sizes.
TensorData combine(const TensorData& a, const TensorData& b, std::vector<int64_t> sizes,
                   const std::function<double(double, double)>& f);

}  // namespace edgelift::passes
