#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "base/file.h"
#include "cli/common.h"
#include "runtime/session.h"
#include "runtime/tune.h"

namespace edgelift::cli {

namespace {

std::string machine() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

Result<xnn::Target> tune(const TuneArgs& args) {
  std::vector<xnn::ConvShape> shapes;
  if (args.grid) {
    shapes = runtime::tuning_grid();
  } else {
    LoweringArgs lowering;
    lowering.model = args.model;
    EL_TRY(auto options, lower_options(lowering));
    options.target.clear();  // the plain forms
    EL_TRY(const auto lowered, lower_model(lowering, std::move(options), nullptr));
    for (const xnn::Graph& graph : lowered.graphs) {
      for (const xnn::Node& node : graph.nodes) {
        const auto shape = xnn::conv_shape(graph, node);
        if (!shape || !xnn::form_applies(graph, node, xnn::ConvForm::Im2col)) continue;
        if (std::find(shapes.begin(), shapes.end(), *shape) == shapes.end()) shapes.push_back(*shape);
      }
    }
    if (shapes.empty())
      return input_error(
          fmt::format("{}: no convolution that has more than one form; there is nothing to tune", args.model));
  }
  runtime::TuneOptions options;
  options.iterations = args.iterations;
  options.progress = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  EL_TRY(auto target, runtime::tune(shapes, options));
  target.name = args.name;
  target.machine = machine();
  return target;
}

}  // namespace

int run_tune(const TuneArgs& args) {
  if (args.grid == !args.model.empty())
    return fail(usage_error("tune takes a model, or --grid for the layers of a shipped table"));
  const auto target = tune(args);
  if (!target.ok()) return fail(target.error());
  const Status written = write_file(args.output, xnn::to_json(*target));
  if (!written.ok()) return fail(written.error());
  print_text(fmt::format("{} layers -> {}; use it with: edgelift lower --target {}\n", target->layers.size(),
                         args.output, args.output));
  return 0;
}

}  // namespace edgelift::cli
