// How far two outputs are apart.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor_data.h"

namespace edgelift::runtime {

struct Difference {
  double max_abs = 0;  // over elements that are finite in both
  double range = 0;    // largest absolute value of the expected elements that are finite
  double relative() const { return max_abs == 0 ? 0 : max_abs / (range == 0 ? 1 : range); }
  int64_t special = 0;  // elements where one is NaN or infinite and the other is not the same; NaN equals NaN
  struct Element {
    std::vector<int64_t> index;
    double got = 0, expected = 0;
  };
  std::optional<Element> first;  // in row-major order, that is outside of the tolerance
  std::optional<Element> worst;  // of the finite ones
  bool ok = true;                // nothing is outside
  std::string str() const;       // one sentence
};

// An element is outside if it differs by more than tolerance times the range, or is special. Error: other dtypes or
// sizes. Integers and bools must be equal. bfloat16 may come as its bits in uint16 (as .npy files hold it).
Result<Difference> compare(const TensorData& got, const TensorData& expected, double tolerance);

}  // namespace edgelift::runtime
