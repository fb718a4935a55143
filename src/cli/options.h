// What the command line parsed, one struct a verb; main.cc fills them, one file a verb acts on them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace edgelift::cli {

struct LoweringArgs {
  std::string model, recipe = "xnnpack", passes, target = "generic", optimize = "balanced";
  int lift = -1;  // -1: the recipe's default, 0, 1
  size_t max_delegate_weights = 0;
  double max_error = 0;
  bool allow_missing_kernels = false, verify = false;
  bool plan_inputs = true, plan_outputs = true;
};

struct LowerArgs : LoweringArgs {
  std::string output;
  bool json = false, quiet = false;
};
int run_lower(const LowerArgs& args);

struct ExplainArgs : LoweringArgs {
  bool json = false, all = false;
};
int run_explain(const ExplainArgs& args);

struct RunArgs {
  std::string program, output, method = "forward";
  std::vector<std::string> inputs;
  std::string loader = "mmap";
  int threads = 0, repeat = 1;
  bool json = false, weight_cache = false;
};
int run_run(const RunArgs& args);

struct CheckArgs : LoweringArgs {
  std::string program;
  std::vector<std::string> inputs, expected;
  double tolerance = 1e-4;
  int threads = 0;
  uint64_t seed = 1;
  bool json = false;
};
int run_check(const CheckArgs& args);

struct DumpArgs : LoweringArgs {
  std::string stage = "edge";
  bool origins = false;
};
int run_dump(const DumpArgs& args);

struct OptArgs {
  std::string input, passes;
  bool list = false;
};
int run_opt(const OptArgs& args);

struct InspectArgs {
  std::string file;
  bool json = false;
};
int run_inspect(const InspectArgs& args);

struct BenchArgs {
  std::vector<std::string> files, inputs;
  std::string threads = "1,2", loader = "mmap", method = "forward";
  int iterations = 50;
  bool json = false;
};
int run_bench(const BenchArgs& args);

struct ProfileArgs : LoweringArgs {  // model: what the program was lowered from, or empty
  std::string program, method = "forward";
  std::vector<std::string> inputs;
  int threads = 1, iterations = 20;
  bool json = false;
};
int run_profile(const ProfileArgs& args);

struct TuneArgs {
  std::string model, output, name = "tuned";
  int iterations = 30;
  bool grid = false;
};
int run_tune(const TuneArgs& args);

struct OpsArgs {
  bool markdown = false;
};
int run_ops(const OpsArgs& args);

}  // namespace edgelift::cli
