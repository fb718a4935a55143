#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "ir/text.h"

namespace edgelift::cli {

int run_explain(const ExplainArgs& args) {
  auto options = lower_options(args);
  if (!options.ok()) return fail(options.error());
  struct Declined {
    std::string pass, op, line, reason;
  };
  std::vector<Declined> declined;
  options->declined = [&](std::string_view pass, const ir::Node& node, std::string_view reason) {
    declined.push_back({std::string(pass), node.op->full_name(), ir::place(node.origin), std::string(reason)});
  };
  auto lowered = lower_model(args, *options, nullptr);
  if (!lowered.ok()) return fail(lowered.error());
  const Counts counts = count(*lowered);
  if (args.json) {
    using Json = nlohmann::ordered_json;
    Json json;
    json["model"] = args.model;
    json["recipe"] = args.recipe;
    json["delegates"] = counts.delegates;
    json["operators"] = Json::array();
    for (const partition::Verdict& v : lowered->verdicts) {
      Json row;
      row["operator"] = v.op;
      row["value"] = v.value;
      row["source"] = ir::place(v.origin);
      row["module"] = ir::module_path(v.origin);
      row["delegated"] = v.delegate >= 0;
      if (v.delegate >= 0) {
        row["delegate"] = v.delegate;
      } else {
        row["reason"] = v.reason;
      }
      json["operators"].push_back(std::move(row));
    }
    json["declined"] = Json::array();
    for (const Declined& d : declined)
      json["declined"].push_back({{"pass", d.pass}, {"operator", d.op}, {"source", d.line}, {"reason", d.reason}});
    print_json(json);
    return 0;
  }
  size_t delegated = 0;
  std::vector<std::vector<std::string>> rows = {{"operator", "value", "source", "where", "why"}};
  for (const partition::Verdict& v : lowered->verdicts) {
    if (v.delegate >= 0) ++delegated;
    if (v.delegate >= 0 && !args.all) continue;
    rows.push_back({v.op, "%" + v.value, ir::place(v.origin),
                    v.delegate >= 0 ? fmt::format("delegate {}", v.delegate) : "portable", v.reason});
  }
  std::string text = fmt::format("{}: {} operators in {} delegate{}, {} portable (recipe {})\n", args.model, delegated,
                                 counts.delegates, counts.delegates == 1 ? "" : "s",
                                 lowered->verdicts.size() - delegated, args.recipe);
  if (rows.size() > 1) text += "\n" + table(rows);
  if (!args.all && delegated != 0) text += "\n(--all lists the delegated operators too)\n";
  if (!declined.empty()) {
    // One line a pass, operator and reason.
    std::map<std::string, int> lines;
    for (const Declined& d : declined) ++lines[fmt::format("{}: {}: {}", d.pass, d.op, d.reason)];
    text += "\nrewrites that passes declined:\n";
    for (const auto& [line, n] : lines) text += fmt::format("  {}{}\n", n > 1 ? fmt::format("{} x ", n) : "", line);
  }
  print_text(text);
  return 0;
}

}  // namespace edgelift::cli
