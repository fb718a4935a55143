// Passes over a program, the list of them, and recipes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/tensor_data.h"
#include "ir/graph.h"
#include "ir/rewriter.h"

namespace edgelift::passes {

// Runs a graph of constants (no inputs) on the runtime's kernels and returns its outputs. Provided by
// src/runtime.
using Evaluate = std::function<Result<std::vector<TensorData>>(const ir::Program& program)>;

// One "name:key=value" option string split up.
struct PassOptions {
  std::map<std::string, std::string, std::less<>> values;
  std::string_view get(std::string_view key, std::string_view fallback) const;
};

struct PassContext {
  const ir::OpTable& ops;
  PassOptions options;
  Evaluate evaluate;  // may be empty: passes that need it then leave the graph alone and say so
  // Names of the passes that run after this one in the pipeline (lift-scalars asks whether a later stage consumes
  // SDPA).
  std::vector<std::string> later;
  std::string pass;              // name of the running pass, set by run_passes
  int64_t new_weight_bytes = 0;  // weights that all passes so far have copied: see WeightBudget
  // Why a pass declined, for explain: node and one sentence.
  std::function<void(const ir::Node&, std::string)> declined = [](const ir::Node&, std::string) {};
};

// Returns the truth about change.
using PassFn = Result<bool> (*)(ir::Program& program, PassContext& context);

struct PassInfo {
  std::string_view name;      // lift-scalars
  std::string_view sentence;  // what it does, for help and docs
  PassFn run = nullptr;
  // Option keys with their allowed values and default, "keep-sdpa=auto|always|never"; empty: none.
  std::string_view options = {};
};

std::span<const PassInfo> all_passes();  // pipeline.cc
const PassInfo* find_pass(std::string_view name);
// Parses "a,b:key=value,c". Errors name the unknown pass and the nearest known one, or the bad option.
struct PassRequest {
  const PassInfo* info = nullptr;
  PassOptions options;
  std::function<Result<bool>(ir::Program&, PassContext&)> custom;  // a pass given in C++ instead of info
  std::string name;
};
Result<std::vector<PassRequest>> parse_passes(std::string_view text);

struct Recipe {
  std::string_view name;  // upstream, portable, xnnpack
  std::string_view sentence;
  bool upstream_edge = false;
  enum class Partition : uint8_t { None, Upstream, Full } partition = Partition::Full;
  std::string_view before;               // passes before the caller's transform passes
  std::string_view after;                // passes after them
  std::string_view late;                 // passes over what legalize decomposed, if it did
  std::string_view lift_scalars_passes;  // inserted in place of "$lift" where lifting is on
  bool lift_scalars = false;             // default of --lift-scalars
};
std::span<const Recipe> all_recipes();  // recipes.cc
const Recipe* find_recipe(std::string_view name);

// Runs the passes in order; verifies after each when `verify_each`.
Status run_passes(ir::Program& program, const std::vector<PassRequest>& passes, PassContext& context, bool verify_each);

}  // namespace edgelift::passes
