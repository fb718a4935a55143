#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/inputs.h"
#include "ir/graph.h"
#include "runtime/session.h"

namespace edgelift::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Row {
  runtime::Event event;
  double ms = 0;  // minimum over the runs
  std::string source, module;
};

// Source line and module path by debug handle, from the exported program.
Result<std::map<uint32_t, std::pair<std::string, std::string>>> origins(const std::string& model) {
  std::map<uint32_t, std::pair<std::string, std::string>> out;
  if (model.empty()) return out;
  EL_TRY(const auto program, read_model(model));
  for (const auto& graph : program.methods)
    for (const ir::Node* node = graph->first(); node != nullptr; node = node->next)
      if (node->origin != nullptr)
        out[node->origin->debug_handle] = {ir::source_line(node->origin), ir::module_path(node->origin)};
  return out;
}

Result<std::vector<Row>> measure(const ProfileArgs& args) {
  if (args.iterations < 1) return usage_error("--iterations takes a number from 1");
  if (args.threads < 0) return usage_error("--threads takes a number from 0");
  EL_TRY(const auto sources, origins(args.model));
  EL_TRY_OK(runtime::set_threads(args.threads));
  runtime::SessionOptions options;
  options.profile = true;
  EL_TRY(auto session, runtime::Session::open(args.program, options));
  EL_TRY(auto* method, session->method());
  const uint64_t seed = 0;
  EL_TRY(const auto inputs, method_inputs(method->inputs(), args.inputs, &seed));
  // Events are told apart by name, handle and how often both came before in the same run.
  using Key = std::tuple<std::string, uint32_t, int>;
  std::vector<Row> rows;
  std::map<Key, size_t> known;
  for (int i = 0; i < args.iterations; ++i) {
    EL_TRY_OK(method->set_inputs(inputs));
    EL_TRY_OK(method->execute());
    EL_TRY(const auto events, method->take_events());
    std::map<std::pair<std::string, uint32_t>, int> seen;
    for (runtime::Event event : events) {
      event.name = event.name.substr(0, event.name.find(" #"));
      const Key key{event.name, event.delegate_handle, seen[{event.name, event.delegate_handle}]++};
      const auto [at, fresh] = known.try_emplace(key, rows.size());
      if (fresh) rows.push_back({event, event.ms, {}, {}});
      rows[at->second].ms = std::min(rows[at->second].ms, event.ms);
    }
  }
  for (Row& row : rows) {
    if (!row.event.delegate) continue;
    if (const auto at = sources.find(row.event.delegate_handle); at != sources.end()) {
      row.source = at->second.first;
      row.module = at->second.second;
    }
  }
  return rows;
}

}  // namespace

int run_profile(const ProfileArgs& args) {
  auto rows = measure(args);
  if (!rows.ok()) return fail(rows.error());
  if (args.json) {
    Json json;
    json["program"] = args.program;
    json["threads"] = args.threads;
    json["events"] = Json::array();
    for (const Row& row : *rows)
      json["events"].push_back({{"name", row.event.name},
                                {"delegate", row.event.delegate},
                                {"handle", row.event.delegate_handle},
                                {"instruction", row.event.instruction},
                                {"ms", row.ms},
                                {"source", row.source},
                                {"module", row.module}});
    print_json(json);
    return 0;
  }
  std::map<std::string, std::pair<double, int>> by_name;
  double inside = 0;
  for (const Row& row : *rows) {
    auto& [ms, n] = by_name[row.event.name];
    ms += row.ms;
    ++n;
    if (row.event.delegate) inside += row.ms;
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, sum] : by_name) order.emplace_back(-sum.first, name);
  std::sort(order.begin(), order.end());
  std::vector<std::vector<std::string>> table_rows = {{"operator", "calls", "ms"}};
  for (const auto& [ms, name] : order)
    table_rows.push_back({name, fmt::format("{}", by_name[name].second), fmt::format("{:.3f}", -ms)});
  std::string text = table(table_rows);
  std::vector<const Row*> slow;
  for (const Row& row : *rows)
    if (row.event.delegate) slow.push_back(&row);
  std::stable_sort(slow.begin(), slow.end(), [](const Row* a, const Row* b) { return a->ms > b->ms; });
  slow.resize(std::min<size_t>(slow.size(), 15));
  if (!slow.empty()) {
    table_rows = {{"slowest in delegates", "handle", "ms", "share", "source"}};
    for (const Row* row : slow)
      table_rows.push_back({row->event.name, fmt::format("{}", row->event.delegate_handle),
                            fmt::format("{:.3f}", row->ms),
                            inside > 0 ? fmt::format("{:.1f}%", 100 * row->ms / inside) : "-",
                            row->source.empty() ? row->module : row->source});
    text += "\n" + table(table_rows);
  }
  text += fmt::format("\nminimum of {} runs with {} thread{}; operators inside delegates {:.3f} ms in all\n",
                      args.iterations, args.threads, args.threads == 1 ? "" : "s", inside);
  if (args.model.empty()) text += "(--model M.pt2 adds source lines)\n";
  print_text(text);
  return 0;
}

}  // namespace edgelift::cli
