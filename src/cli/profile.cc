#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/common.h"
#include "cli/inputs.h"
#include "ir/graph.h"
#include "ops/record.h"
#include "runtime/attribute.h"
#include "runtime/session.h"

namespace edgelift::cli {

namespace {

using Json = nlohmann::ordered_json;

// Where an event's operator came from in the exported program. Where that is not certain all is empty but `why`.
struct Place {
  uint32_t handle = 0;
  std::string node, module, source, why;
};

struct Row {
  runtime::Event event;
  double ms = 0;  // minimum over the runs
  Place place;
  // Else it is a wrapper of others: a call of a delegate, the whole method.
  bool is_operator() const { return event.delegate || event.name.starts_with("native_call_"); }
};

struct Profile {
  std::vector<Row> rows;
  std::string why;  // why no row has a place
};

Place place_of(const ir::Origin& origin, std::string_view fallback) {
  Place place;
  if (origin == nullptr) {
    place.why = "made by edgelift; no exported node";
    return place;
  }
  place.handle = origin->debug_handle;
  place.node = origin->node_name.empty() ? fallback : origin->node_name;
  place.module = ir::module_path(origin);
  place.source = ir::source_line(origin);
  return place;
}

// What tells the program of the file from the one that was lowered here; empty where both make the same calls.
std::string difference(const pte::Program& file, const pte::Program& made) {
  if (file.plans.size() != made.plans.size())
    return fmt::format("it has {} methods, not {}", file.plans.size(), made.plans.size());
  for (size_t p = 0; p < file.plans.size(); ++p) {
    const pte::Plan &a = file.plans[p], &b = made.plans[p];
    if (a.name != b.name) return fmt::format("its method {} is '{}', not '{}'", p, a.name, b.name);
    if (a.instructions.size() != b.instructions.size())
      return fmt::format("its method {} has {} instruction{}, not {}", a.name, a.instructions.size(),
                         a.instructions.size() == 1 ? "" : "s", b.instructions.size());
    const auto kernel = [](const pte::Plan& plan, const pte::KernelCall& call) {
      const pte::Operator& op = plan.operators.at(static_cast<size_t>(call.op));
      return op.name + "." + op.overload;
    };
    const auto blob = [](const pte::Program& program, const pte::Plan& plan, const pte::DelegateCall& call) {
      const auto delegate = static_cast<size_t>(plan.delegates.at(static_cast<size_t>(call.delegate)).blob);
      return &program.blobs.at(delegate).bytes;
    };
    for (size_t i = 0; i < a.instructions.size(); ++i) {
      const auto at = [&](std::string_view what) {
        return fmt::format("instruction {} of its method {} {}", i, a.name, what);
      };
      if (a.instructions[i].index() != b.instructions[i].index()) return at("is of another kind");
      if (const auto* x = std::get_if<pte::KernelCall>(&a.instructions[i])) {
        const auto& y = std::get<pte::KernelCall>(b.instructions[i]);
        if (kernel(a, *x) != kernel(b, y)) return at(fmt::format("calls {}, not {}", kernel(a, *x), kernel(b, y)));
        if (x->args != y.args) return at("has other arguments");
      } else if (const auto* call = std::get_if<pte::DelegateCall>(&a.instructions[i])) {
        const auto& other = std::get<pte::DelegateCall>(b.instructions[i]);
        if (*blob(file, a, *call) != *blob(made, b, other)) return at("calls a delegate with another graph");
        if (call->args != other.args) return at("has other arguments");
      }
    }
  }
  return "";
}

// Fills the places of the rows of one method.
void locate(const LoweredModel& model, const std::string& method, std::vector<Row>& rows) {
  size_t plan = 0;
  while (model.emitted.program.plans[plan].name != method) ++plan;
  std::map<int32_t, std::vector<Row*>> inside;  // of each delegate call, in the runtime's order
  for (Row& row : rows) {
    if (row.event.instruction < 0) continue;
    if (row.event.delegate) {
      inside[row.event.instruction].push_back(&row);
      continue;
    }
    const ir::Node* node = model.emitted.nodes[plan].at(static_cast<size_t>(row.event.instruction));
    if (node == nullptr) {
      row.place.why = "made by edgelift for sizes, state or outputs of the method";
    } else if (!ops::is_delegate(*node)) {
      row.place = place_of(node->origin, node->results.empty() ? "" : node->results[0]->name);
    }
  }
  for (const auto& [instruction, events] : inside) {
    const ir::Node* call = model.emitted.nodes[plan].at(static_cast<size_t>(instruction));
    const auto number = static_cast<size_t>(std::get<SymInt>(call->args.at(0)).value());
    const xnn::Graph& graph = model.lowered.graphs.at(number);
    std::map<uint32_t, Place> places;
    const ir::Graph& body = *model.lowered.program.delegates.at(number)->body;
    for (const ir::Node* node = body.first(); node != nullptr; node = node->next)
      if (node->origin != nullptr && node->origin->debug_handle != 0)
        places.try_emplace(node->origin->debug_handle, place_of(node->origin, node->results.at(0)->name));
    std::vector<std::string> names;
    for (const Row* row : events) names.push_back(row->event.name);
    const auto ranges = runtime::attribute(graph, names);
    for (size_t i = 0; i < events.size(); ++i) {
      Place& place = events[i]->place;
      if (!ranges.ok()) {
        place.why = ranges.error().message;
        continue;
      }
      // All nodes that it may be come from one place, or nothing is said.
      const uint32_t handle = graph.nodes[(*ranges)[i].first].debug_handle;
      bool same = true;
      for (uint32_t n = (*ranges)[i].first; n <= (*ranges)[i].last; ++n)
        same = same && graph.nodes[n].debug_handle == handle;
      if (const auto at = places.find(handle); same && at != places.end()) {
        place = at->second;
      } else {
        place.why = same ? "made by edgelift; no exported node"
                         : fmt::format("one of the delegate's nodes {} to {}", (*ranges)[i].first, (*ranges)[i].last);
      }
    }
  }
}

struct Subject {
  std::shared_ptr<std::vector<std::byte>> bytes;  // of a program that was lowered here
  std::unique_ptr<runtime::Session> session;
  std::optional<LoweredModel> model;
  std::string why;  // why there is no model
};

Result<LoweredModel> lower_for(const ProfileArgs& args, const std::string& model) {
  LoweringArgs own = args;
  own.model = model;
  EL_TRY(auto options, lower_options(own));
  return lower_and_emit(own, std::move(options));
}

Result<Subject> subject_of(const ProfileArgs& args) {
  Subject subject;
  runtime::SessionOptions options;
  options.profile = true;
  EL_TRY(const bool is_program, is_pte(args.program));
  if (!is_program) {
    if (!args.model.empty()) return usage_error(fmt::format("{} is no .pte file; --model goes with one", args.program));
    EL_TRY(subject.model, lower_for(args, args.program));
    EL_TRY(auto bytes, pte::write_to_memory(subject.model->emitted.program));
    subject.bytes = std::make_shared<std::vector<std::byte>>(std::move(bytes));
    EL_TRY(subject.session, runtime::Session::open(*subject.bytes, subject.bytes, options));
    return subject;
  }
  if (args.model.empty()) {
    subject.why = "--model M.pt2 adds nodes and source lines";
  } else {
    EL_TRY(auto model, lower_for(args, args.model));
    EL_TRY(const auto file, MappedFile::open(args.program));
    auto program = pte::read(file->bytes(), file);
    if (!program.ok()) return Error{program.error().kind, fmt::format("{}: {}", args.program, program.error().message)};
    const std::string differs = difference(*program, model.emitted.program);
    if (differs.empty()) {
      subject.model = std::move(model);
    } else {
      subject.why = fmt::format(
          "no source lines: {} is not what {} becomes with these options ({}); give the recipe, target and passes that "
          "it was lowered with",
          args.program, args.model, differs);
    }
  }
  EL_TRY(subject.session, runtime::Session::open(args.program, options));
  return subject;
}

Result<Profile> measure(const ProfileArgs& args) {
  EL_TRY_OK(runtime::set_threads(args.threads));
  EL_TRY(const Subject subject, subject_of(args));
  EL_TRY(auto* method, subject.session->method(args.method));
  const uint64_t seed = 0;
  EL_TRY(const auto inputs, method_inputs(method->inputs(), args.inputs, &seed));
  // Events are told apart by instruction, name and how often both came before in the same run.
  using Key = std::tuple<int32_t, std::string, int>;
  Profile profile;
  profile.why = subject.why;
  std::map<Key, size_t> known;
  for (int i = 0; i < args.iterations; ++i) {
    EL_TRY_OK(method->set_inputs(inputs));
    EL_TRY_OK(method->execute());
    EL_TRY(const auto events, method->take_events());
    std::map<std::pair<int32_t, std::string>, int> seen;
    for (runtime::Event event : events) {
      event.name = event.name.substr(0, event.name.find(" #"));
      const Key key{event.instruction, event.name, seen[{event.instruction, event.name}]++};
      const auto [at, fresh] = known.try_emplace(key, profile.rows.size());
      if (fresh) profile.rows.push_back({event, event.ms, {}});
      Row& row = profile.rows[at->second];
      row.ms = std::min(row.ms, event.ms);
    }
  }
  if (subject.model) locate(*subject.model, args.method, profile.rows);
  return profile;
}

std::string slowest(const std::vector<Row>& rows) {
  std::vector<const Row*> slow;
  double total = 0;
  for (const Row& row : rows) {
    if (!row.is_operator()) continue;
    slow.push_back(&row);
    total += row.ms;
  }
  if (slow.empty()) return "";
  std::stable_sort(slow.begin(), slow.end(), [](const Row* a, const Row* b) { return a->ms > b->ms; });
  slow.resize(std::min<size_t>(slow.size(), 15));
  std::vector<std::vector<std::string>> table_rows = {{"slowest", "call", "ms", "share", "node", "source"}};
  for (const Row* row : slow) {
    const Place& place = row->place;
    const std::string& source = place.source.empty() ? place.module : place.source;
    table_rows.push_back(
        {row->event.name, fmt::format("{} {}", row->event.delegate ? "in delegate" : "kernel", row->event.instruction),
         fmt::format("{:.4f}", row->ms), total > 0 ? fmt::format("{:.1f}%", 100 * row->ms / total) : "-",
         place.node.empty() && place.why.empty() ? "-" : place.node,
         place.why.empty() ? source : "(" + place.why + ")"});
  }
  return "\n" + table(table_rows);
}

}  // namespace

int run_profile(const ProfileArgs& args) {
  auto profile = measure(args);
  if (!profile.ok()) return fail(profile.error());
  if (args.json) {
    Json json;
    json["program"] = args.program;
    json["method"] = args.method;
    json["threads"] = args.threads;
    if (!profile->why.empty()) json["why_no_places"] = profile->why;
    json["events"] = Json::array();
    for (const Row& row : profile->rows) {
      json["events"].push_back({{"name", row.event.name},
                                {"delegate", row.event.delegate},
                                {"instruction", row.event.instruction},
                                {"ms", row.ms},
                                {"handle", row.place.handle},
                                {"node", row.place.node},
                                {"source", row.place.source},
                                {"module", row.place.module}});
      if (!row.place.why.empty()) json["events"].back()["why_no_place"] = row.place.why;
    }
    print_json(json);
    return 0;
  }
  std::map<std::string, std::pair<double, int>> by_name;
  double inside = 0;
  bool delegates = false;
  for (const Row& row : profile->rows) {
    auto& [ms, n] = by_name[row.event.name];
    ms += row.ms;
    ++n;
    if (row.event.delegate) inside += row.ms;
    delegates = delegates || row.event.delegate;
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, sum] : by_name) order.emplace_back(-sum.first, name);
  std::sort(order.begin(), order.end());
  std::vector<std::vector<std::string>> table_rows = {{"operator", "calls", "ms"}};
  for (const auto& [ms, name] : order)
    table_rows.push_back({name, fmt::format("{}", by_name[name].second), fmt::format("{:.4f}", -ms)});
  std::string text = table(table_rows) + slowest(profile->rows);
  text += fmt::format("\nminimum of {} runs with {}; operators inside delegates {:.3f} ms in all{}\n", args.iterations,
                      args.threads == 1   ? "1 thread"
                      : args.threads == 0 ? "a thread a core"
                                          : fmt::format("{} threads", args.threads),
                      inside, delegates ? " (XNNPACK counts whole microseconds)" : "");
  if (!profile->why.empty()) text += fmt::format("({})\n", profile->why);
  print_text(text);
  return 0;
}

}  // namespace edgelift::cli
