// edgelift: from torch.export's .pt2 to ExecuTorch's .pte.
//
//   auto program = edgelift::open("model.pt2");
//   auto lowered = edgelift::to_edge_transform_and_lower(std::move(*program), options);
//   auto emitted = edgelift::to_executorch(*lowered, {});
//   auto written = edgelift::write(*emitted, "model.pte");
//
// Every function returns a Result: the value, or an Error with one sentence that names the place, what was found, what
// was expected and what to do. Nothing prints, exits or throws across this interface. Link the CMake target `edgelift`;
// no ExecuTorch code comes with it (running needs `edgelift_runtime`).
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "emit/emit.h"
#include "ir/graph.h"
#include "partition/partition.h"
#include "passes/pass.h"
#include "pte/program.h"

namespace edgelift {

// Reads a .pt2 archive of torch 2.13 or 2.14. The constants stay in the mapped file, which the program keeps open.
Result<ir::Program> open(const std::filesystem::path& path);
// Reads the text form (.elir).
Result<ir::Program> parse_text(std::string_view text);

using TransformPasses = std::vector<passes::PassRequest>;

struct LowerOptions {
  std::string recipe = "xnnpack";
  std::optional<bool> lift_scalars;  // default: what the recipe says
  // Passes of the caller, between the recipe's own: for every method, and for one method by name.
  TransformPasses transform_passes;
  std::map<std::string, TransformPasses, std::less<>> method_passes;
  passes::Evaluate evaluate;        // constant folding; without it constants are folded only by direct arithmetic
  size_t max_delegate_weights = 0;  // bytes of weights in one delegate; 0 = no limit
  bool verify_each = false;         // run the verifier after every pass
  std::string target = "generic";  // generic, host, or the path of a table that `edgelift tune` wrote; "" = plain forms
  std::string optimize = "balanced";  // size, balanced, speed: which convolution forms may grow the weights
  double max_error = 0;  // largest error (relative to the output's range) a form may add; 0 = the default forms
  std::function<void(std::string_view stage)> progress;  // called as each stage begins
  // Called with the program after each stage: "import", "edge", "transform".
  std::function<void(std::string_view stage, const ir::Program&)> observe;
  // Why a pass declined to rewrite a node, in the order it happened.
  std::function<void(std::string_view pass, const ir::Node&, std::string_view reason)> declined;
};

struct StageTimes {
  double passes = 0, partition = 0;  // seconds
};

// ExecuTorch's to_edge_transform_and_lower: edge dialect, the recipe's passes with the caller's among them, partition.
Result<partition::Lowered> to_edge_transform_and_lower(ir::Program program, const LowerOptions& options,
                                                       StageTimes* times = nullptr);
// The same for several methods, each exported on its own; the keys are the method names.
Result<partition::Lowered> to_edge_transform_and_lower(std::map<std::string, ir::Program> methods,
                                                       const LowerOptions& options, StageTimes* times = nullptr);

// A stage that somebody else supplies in place of to_edge_transform_and_lower (see Tester). One that cannot run
// transform passes says so, and giving it some is an error.
class LoweringStage {
 public:
  virtual ~LoweringStage() = default;
  virtual bool takes_transform_passes() const { return false; }
  // Only called where takes_transform_passes() is true.
  virtual Status set_transform_passes(TransformPasses passes);
  virtual Result<partition::Lowered> run(ir::Program program) = 0;
};

Result<emit::Emitted> to_executorch(const partition::Lowered& lowered, const emit::Options& options);

// Writes the file: to a temporary one beside it, checked with flatbuffers' verifier, then renamed.
Result<pte::WriteStats> write(const emit::Emitted& emitted, const std::filesystem::path& path);

// Counts of what stays at top level, by edge-dialect name (aten::mul.Scalar), and the number of delegate calls.
struct Counts {
  int delegates = 0;
  std::map<std::string, int> portable;
  std::map<std::string, int> delegated;
  int portable_total() const;
};
Counts count(const partition::Lowered& lowered);

}  // namespace edgelift
