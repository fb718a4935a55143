#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/numbers.h"
#include "cli/common.h"
#include "cli/heap.h"
#include "runtime/bench.h"

namespace edgelift::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Before {
  size_t nodes = 0;
};

Json counts_json(const std::map<std::string, int>& counts) {
  Json out = Json::object();
  for (const auto& [name, n] : counts) out[name] = n;
  return out;
}

std::string top(const std::map<std::string, int>& counts, size_t most) {
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [name, n] : counts) order.emplace_back(-n, name);
  std::sort(order.begin(), order.end());
  std::string text;
  for (size_t i = 0; i < order.size() && i < most; ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", -order[i].first, order[i].second);
  if (order.size() > most) text += fmt::format(", {} more kinds", order.size() - most);
  return text;
}

}  // namespace

int run_lower(const LowerArgs& args) {
  const auto start = std::chrono::steady_clock::now();
  use_large_pages();
  std::error_code ignored;
  if (std::filesystem::equivalent(args.model, args.output, ignored))
    return fail(usage_error(fmt::format("{}: the output would replace the model", args.output)));
  const uint64_t input_bytes = std::filesystem::file_size(args.model, ignored);
  auto options = lower_options(args);
  if (!options.ok()) return fail(options.error());
  Before before;
  options->observe = [&](std::string_view stage, const ir::Program& program) {
    if (stage == "import")
      for (const auto& graph : program.methods) before.nodes += graph->node_count();
  };
  auto model = lower_and_emit(args, *options);
  if (!model.ok()) return fail(model.error());
  const auto write_start = std::chrono::steady_clock::now();
  auto written = write(model->emitted, args.output);
  if (!written.ok()) return fail(written.error());
  const auto end = std::chrono::steady_clock::now();
  const double total = std::chrono::duration<double>(end - start).count();
  const double writing = std::chrono::duration<double>(end - write_start).count() + model->emit_seconds;
  const Counts counts = count(model->lowered);
  if (args.json) {
    Json json;
    json["model"] = args.model;
    json["output"] = args.output;
    json["recipe"] = args.recipe;
    json["target"] = args.target;
    json["delegates"] = counts.delegates;
    json["portable"] = counts_json(counts.portable);
    json["delegated"] = counts_json(counts.delegated);
    json["bytes"] = {{"input", input_bytes}, {"output", written->bytes}};
    json["seconds"] = {{"read", model->read_seconds},
                       {"passes", model->passes_seconds},
                       {"partition", model->partition_seconds},
                       {"write", writing},
                       {"total", total}};
    json["peak_rss_bytes"] = runtime::peak_rss_bytes();
    uint64_t arena = 0;
    for (const emit::MemoryPlan& plan : model->emitted.plans) arena += plan.arena_bytes;
    json["arena_bytes"] = arena;
    print_json(json);
    return 0;
  }
  if (args.quiet) return 0;
  int delegated = 0;
  for (const auto& [name, n] : counts.delegated) delegated += n;
  uint64_t arena = 0;
  for (const emit::MemoryPlan& plan : model->emitted.plans) arena += plan.arena_bytes;
  std::string text =
      fmt::format("{} -> {} (recipe {}, target {})\n\n", args.model, args.output, args.recipe, args.target);
  text += table({{"", "exported", "lowered"},
                 {"operators", fmt::format("{}", before.nodes),
                  fmt::format("{} delegated, {} portable", delegated, counts.portable_total())},
                 {"delegates", "", fmt::format("{}", counts.delegates)},
                 {"bytes", human_bytes(input_bytes), human_bytes(written->bytes)},
                 {"activations", "", human_bytes(arena)}});
  if (!counts.portable.empty())
    text +=
        fmt::format("\noutside the delegate: {}\n(`edgelift explain {}{}` gives the reason for each)\n",
                    top(counts.portable, 8), args.model, args.recipe == "xnnpack" ? "" : " --recipe " + args.recipe);
  text += fmt::format("\n{:.1f} ms: read {:.1f}, passes {:.1f}, partition {:.1f}, write {:.1f}; peak memory {}\n",
                      total * 1e3, model->read_seconds * 1e3, model->passes_seconds * 1e3,
                      model->partition_seconds * 1e3, writing * 1e3, human_bytes(runtime::peak_rss_bytes()));
  print_text(text);
  return 0;
}

}  // namespace edgelift::cli
