#include <fmt/format.h>

#include "base/file.h"
#include "cli/common.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "ops/record.h"

namespace edgelift::cli {

int run_dump(const DumpArgs& args) {
  const std::string& stage = args.stage;
  if (stage != "import" && stage != "edge" && stage != "transform" && stage != "partition")
    return fail(usage_error(fmt::format("unknown stage '{}'; known are import, edge, transform, partition", stage)));
  ir::PrintOptions print;
  print.origins = args.origins;
  if (stage == "import") {
    auto program = read_model(args.model);
    if (!program.ok()) return fail(program.error());
    print_text(ir::print(*program, print));
    return 0;
  }
  auto options = lower_options(args);
  if (!options.ok()) return fail(options.error());
  options->observe = [&](std::string_view at, const ir::Program& program) {
    if (at == stage) print_text(ir::print(program, print));
  };
  auto lowered = lower_model(args, *options, nullptr);
  if (!lowered.ok()) return fail(lowered.error());
  if (stage == "partition") {
    std::string text = ir::print(lowered->program, print);
    for (size_t i = 0; i < lowered->graphs.size(); ++i)
      text += xnn::print(lowered->graphs[i], lowered->program.delegates[i]->name);
    print_text(text);
  }
  return 0;
}

int run_opt(const OptArgs& args) {
  if (args.list) {
    std::vector<std::vector<std::string>> rows = {{"pass", "options", "what it does"}};
    for (const passes::PassInfo& pass : passes::all_passes())
      rows.push_back({std::string(pass.name), std::string(pass.options), std::string(pass.sentence)});
    print_text(table(rows));
    return 0;
  }
  auto program = read_model(args.input);
  if (!program.ok()) return fail(program.error());
  auto requests = passes::parse_passes(args.passes);
  if (!requests.ok()) return fail(requests.error());
  auto options = lower_options(LoweringArgs{});
  passes::PassContext context{.ops = ops::table(),
                              .options = {},
                              .evaluate = options->evaluate,
                              .later = {},
                              .pass = {},
                              .declined = [](const ir::Node&, std::string) {}};
  const Status done = passes::run_passes(*program, *requests, context, true);
  if (!done.ok()) return fail(done.error());
  print_text(ir::print(*program));
  return 0;
}

}  // namespace edgelift::cli
