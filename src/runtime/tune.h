// Times the forms of convolutions on this machine's runtime.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "xnnpack/target.h"

namespace edgelift::runtime {

struct FormTime {
  xnn::ConvForm form = xnn::ConvForm::Direct;
  double ms = 0;     // minimum
  double error = 0;  // largest difference from the direct form, relative to its range
};

// All forms that apply to the layer ("same" padding, bias and relu included), interleaved, with the present number of
// threads. Layers of equal channels and stride one run several in a row, and the time is that of one.
Result<std::vector<FormTime>> time_forms(const xnn::ConvShape& shape, int iterations);

struct TuneOptions {
  int iterations = 30;                                    // of each form and number of threads, over all rounds
  std::function<void(const std::string& line)> progress;  // a line for every round, then one for every layer
};
// Every layer with one and with two threads (one only on a machine with a single core).
Result<xnn::Target> tune(const std::vector<xnn::ConvShape>& shapes, const TuneOptions& options);

// The layers that a table for a class of machines holds.
std::vector<xnn::ConvShape> tuning_grid();

}  // namespace edgelift::runtime
