// Times several .pte files against each other on the same inputs, interleaved five runs at a time, so that what the
// machine does meanwhile hits all of them.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "runtime/session.h"

namespace edgelift::runtime {

struct BenchOptions {
  std::vector<std::filesystem::path> files;
  std::vector<int> threads = {1};
  int iterations = 100;
  int warmup = 3;
  std::string method = "forward";
  Load load = Load::Mmap;
  // Inputs for all files; where empty, made up from each file's own signature: floats in [-1, 1), integers 0 and 1.
  std::vector<Argument> inputs;
  // Called between rounds with the share that is done, for progress.
  std::function<void(double)> progress = [](double) {};
};

struct BenchRow {
  std::filesystem::path file;
  int threads = 1;
  double min_ms = 0, median_ms = 0;
  double load_ms = 0;            // open, verify nothing, create the delegates
  uint64_t peak_rss_bytes = 0;   // of a process of its own that loads the file and runs it
  uint64_t peak_anon_bytes = 0;  // the same without pages of files, sampled while it loads and runs
};

struct BenchRatio {
  std::filesystem::path file;
  int threads = 1;
  double by_min = 0, by_median = 0;  // time of the first file over the time of this one: above 1 is faster
};

struct BenchReport {
  std::vector<BenchRow> rows;      // by thread count as given, then by file as given
  std::vector<BenchRatio> ratios;  // the same order without the first file
};

// Must be the first use of the runtime in the process: the memory is measured in forks of it, and a fork would not have
// the threads of the runtime's pool.
Result<BenchReport> bench(const BenchOptions& options);

// Peak resident memory of this process in bytes (VmHWM); 0 where the kernel does not say.
uint64_t peak_rss_bytes();

// Made-up inputs for a signature; the same seed gives the same inputs.
std::vector<Argument> make_inputs(const std::vector<InputSpec>& specs, uint64_t seed = 0);

}  // namespace edgelift::runtime
