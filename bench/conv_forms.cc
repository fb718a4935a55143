// Times the forms of convolutions against each other on the real runtime, interleaved, and prints their error against
// the direct form. Usage: bench_conv_forms [--threads N] [--iterations N] [IC OC OUT_H STRIDE KERNEL]...
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "runtime/session.h"
#include "runtime/tune.h"

int main(int argc, char** argv) {
  using namespace edgelift;
  int threads = 1, iterations = 30;
  std::vector<int64_t> numbers;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
      threads = std::atoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--iterations") == 0 && i + 1 < argc) {
      iterations = std::atoi(argv[++i]);
    } else {
      numbers.push_back(std::atoll(argv[i]));
    }
  }
  std::vector<xnn::ConvShape> shapes;
  for (size_t i = 0; i + 4 < numbers.size(); i += 5) {
    const auto kernel = static_cast<uint32_t>(numbers[i + 4]), stride = static_cast<uint32_t>(numbers[i + 3]);
    shapes.push_back({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 2], kernel, kernel, stride, stride});
  }
  if (shapes.empty()) shapes = runtime::tuning_grid();
  if (const Status ok = runtime::set_threads(threads); !ok.ok()) {
    fmt::print(stderr, "{}\n", ok.error().message);
    return 1;
  }
  for (const xnn::ConvShape& s : shapes) {
    const auto times = runtime::time_forms(s, iterations);
    if (!times.ok()) {
      fmt::print(stderr, "{}\n", times.error().message);
      return 1;
    }
    const double flops = 2.0 * static_cast<double>(s.out_height * s.out_width * s.out_channels * s.in_channels *
                                                   s.kernel_h * s.kernel_w);
    fmt::print("{}x{} {}->{} {}x{}/{}:", s.out_height, s.out_width, s.in_channels, s.out_channels, s.kernel_h,
               s.kernel_w, s.stride_h);
    for (const runtime::FormTime& time : *times)
      fmt::print("  {} {:.3f} ms ({:.0f} GFLOP/s, error {:.1e})", xnn::form_name(time.form), time.ms,
                 flops / time.ms * 1e-6, time.error);
    fmt::print("\n");
  }
  return 0;
}
