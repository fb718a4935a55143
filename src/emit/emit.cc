#include "emit/emit.h"

#include <fmt/format.h>

#include "emit/method.h"

namespace edgelift::emit {
namespace {

Error missing_kernels(const MissingKernels& missing) {
  std::string text = missing.size() == 1
                         ? "an operator cannot be run by the ExecuTorch runtime:"
                         : fmt::format("{} operators cannot be run by the ExecuTorch runtime:", missing.size());
  bool first = true;
  for (const auto& [key, kernel] : missing) {
    text += fmt::format("{} {} ({}{}{}: {})", first ? "" : ";", kernel.op,
                        kernel.count == 1 ? "once" : fmt::format("{} times", kernel.count),
                        kernel.place.empty() ? ""
                        : kernel.count == 1  ? ", at "
                                             : ", first at ",
                        kernel.place, kernel.why);
    first = false;
  }
  text += "; with --allow-missing-kernels the file is written for a runtime that registers them";
  return input_error(std::move(text));
}

}  // namespace

Result<Emitted> emit(const partition::Lowered& lowered, const Options& options) {
  return emit(lowered.program, lowered.graphs, options);
}

Result<Emitted> emit(const ir::Program& program, const std::vector<xnn::Graph>& graphs, const Options& options) {
  Emitted emitted;
  FileData file(emitted.program);
  DelegateBlobs blobs;
  blobs.blob.assign(graphs.size(), -1);
  MissingKernels missing;
  for (const auto& method : program.methods) {
    MemoryPlan memory;
    std::vector<const ir::Node*> nodes;
    EL_TRY(pte::Plan plan, emit_method(graphs, *method, options, file, blobs, missing, memory, nodes));
    emitted.program.plans.push_back(std::move(plan));
    emitted.plans.push_back(memory);
    emitted.nodes.push_back(std::move(nodes));
  }
  if (!missing.empty()) return missing_kernels(missing);
  return emitted;
}

}  // namespace edgelift::emit
