#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/common.h"
#include "cli/inputs.h"
#include "runtime/compare.h"
#include "runtime/session.h"

namespace edgelift::cli {

namespace {

using Json = nlohmann::ordered_json;
using Arguments = std::vector<runtime::Argument>;

struct Form {
  std::string name;
  std::shared_ptr<std::vector<std::byte>> bytes;
  std::unique_ptr<runtime::Session> session;
  runtime::Method* method = nullptr;
  std::optional<ir::Program> program;  // what was lowered; none of a file
};

Result<Form> lowered_form(const CheckArgs& args, const std::string& recipe) {
  LoweringArgs own = args;
  if (recipe != args.recipe) {
    own.passes.clear();  // the caller's passes belong to the form that is checked, not to the one it is checked against
    own.lift = -1;
  }
  own.recipe = recipe;
  EL_TRY(auto options, lower_options(own));
  EL_TRY(auto model, lower_and_emit(own, std::move(options)));
  Form form;
  form.name = recipe;
  EL_TRY(auto bytes, pte::write_to_memory(model.emitted.program));
  form.bytes = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  EL_TRY(form.session, runtime::Session::open(*form.bytes, form.bytes));
  EL_TRY(form.method, form.session->method());
  form.program = std::move(model.lowered.program);
  return form;
}

Result<Form> file_form(const std::string& path) {
  Form form;
  form.name = path;
  EL_TRY(form.session, runtime::Session::open(path));
  EL_TRY(form.method, form.session->method());
  return form;
}

struct Comparison {
  std::string what;
  size_t output = 0;
  runtime::Difference difference;
};

Status compare_all(const std::string& what, const Arguments& got, const Arguments& expected, double tolerance,
                   std::vector<Comparison>& out) {
  if (got.size() != expected.size())
    return input_error(fmt::format("{}: {} outputs against {}", what, got.size(), expected.size()));
  for (size_t i = 0; i < got.size(); ++i) {
    Comparison row{what, i, {}};
    const auto* a = std::get_if<TensorData>(&got[i]);
    const auto* b = std::get_if<TensorData>(&expected[i]);
    if (a == nullptr || b == nullptr) {
      const auto as_tensor = [](const runtime::Argument& argument) -> std::optional<TensorData> {
        if (const auto* n = std::get_if<int64_t>(&argument)) return scalar_data(DType::I64, *n);
        if (const auto* n = std::get_if<double>(&argument)) return scalar_data(DType::F64, *n);
        if (const auto* n = std::get_if<bool>(&argument)) return scalar_data(DType::Bool, static_cast<int64_t>(*n));
        return std::nullopt;
      };
      const auto x = a != nullptr ? std::optional(*a) : as_tensor(got[i]),
                 y = b != nullptr ? std::optional(*b) : as_tensor(expected[i]);
      if (x.has_value() != y.has_value()) return input_error(fmt::format("{}: output {} is of another kind", what, i));
      if (!x) continue;
      EL_TRY(row.difference, runtime::compare(*x, *y, tolerance));
    } else {
      auto difference = runtime::compare(*a, *b, tolerance);
      if (!difference.ok()) return input_error(fmt::format("{}: output {}: {}", what, i, difference.error().message));
      row.difference = *difference;
    }
    out.push_back(std::move(row));
  }
  return Ok{};
}

Result<Json> check(const CheckArgs& args) {
  if (!(args.tolerance >= 0) || std::isinf(args.tolerance)) return usage_error("--tolerance takes a number from 0");
  EL_TRY_OK(runtime::set_threads(args.threads));
  EL_TRY(Form form, args.program.empty() ? lowered_form(args, args.recipe) : file_form(args.program));
  auto reference = lowered_form(args, "portable");
  if (!reference.ok() && reference.error().kind == ErrorKind::Internal) return reference.take_error();
  if (!reference.ok() && args.expected.empty())
    return input_error(
        fmt::format("there is no portable form to compare with ({}) and no --expect", reference.error().message));

  const auto is_tensor = [](const runtime::InputSpec& spec) { return spec.kind == runtime::InputSpec::Kind::Tensor; };
  const std::vector<runtime::InputSpec>& takes = form.method->inputs();
  if (!args.expected.empty() && args.inputs.empty() && std::any_of(takes.begin(), takes.end(), is_tensor))
    return usage_error("--expect compares with what was recorded for certain inputs; give these with -i");
  EL_TRY(const Arguments inputs, method_inputs(form.method->inputs(), args.inputs, &args.seed));
  const ir::Program* program = form.program ? &*form.program : reference.ok() ? &*reference->program : nullptr;
  ir::Program read;
  if (program == nullptr) {
    EL_TRY(read, read_model(args.model));
    program = &read;
  }
  EL_TRY_OK(check_sizes(program->forward(), inputs));
  EL_TRY(const Arguments got, form.method->run(inputs));
  std::vector<Comparison> rows;
  if (reference.ok()) {
    EL_TRY(const Arguments portable, reference->method->run(inputs));
    EL_TRY_OK(compare_all(fmt::format("{} against portable", form.name), got, portable, args.tolerance, rows));
  }
  if (!args.expected.empty()) {
    Arguments expected;
    for (const std::string& file : args.expected) {
      EL_TRY(auto data, read_input(file));
      expected.emplace_back(std::move(data));
    }
    // An output that is None has no file.
    size_t none = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      if (!std::holds_alternative<std::monostate>(got[i])) continue;
      ++none;
      if (i <= expected.size()) expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(i), std::monostate());
    }
    if (got.size() != expected.size())
      return usage_error(fmt::format("the method has {} output{} to compare, {} given with --expect", got.size() - none,
                                     got.size() - none == 1 ? "" : "s", args.expected.size()));
    EL_TRY_OK(compare_all(fmt::format("{} against recorded", form.name), got, expected, args.tolerance, rows));
  }
  Json json;
  json["model"] = args.model;
  json["form"] = form.name;
  json["tolerance"] = args.tolerance;
  if (!reference.ok()) json["portable_error"] = reference.error().message;
  bool ok = true;
  json["comparisons"] = Json::array();
  for (const Comparison& row : rows) {
    ok = ok && row.difference.ok;
    Json out;
    out["what"] = row.what;
    out["output"] = row.output;
    out["ok"] = row.difference.ok;
    out["max_abs"] = row.difference.max_abs;
    out["range"] = row.difference.range;
    out["relative"] = row.difference.relative();
    out["special"] = row.difference.special;
    out["sentence"] = row.difference.str();
    if (row.difference.first) {
      out["first"] = {{"index", row.difference.first->index},
                      {"got", row.difference.first->got},
                      {"expected", row.difference.first->expected}};
    }
    json["comparisons"].push_back(std::move(out));
  }
  json["ok"] = ok;
  return json;
}

}  // namespace

int run_check(const CheckArgs& args) {
  auto json = check(args);
  if (!json.ok()) return fail(json.error());
  const bool ok = (*json)["ok"].get<bool>();
  if (args.json) {
    print_json(*json);
    return ok ? 0 : 1;
  }
  std::string text;
  if (json->contains("portable_error"))
    text += fmt::format("no portable form: {}\n", (*json)["portable_error"].get<std::string>());
  std::vector<std::vector<std::string>> rows = {{"compared", "output", "max error", "relative", "result"}};
  for (const Json& row : (*json)["comparisons"]) {
    rows.push_back({row["what"].get<std::string>(), fmt::format("{}", row["output"].get<size_t>()),
                    fmt::format("{:.2e}", row["max_abs"].get<double>()),
                    fmt::format("{:.2e}", row["relative"].get<double>()), row["ok"].get<bool>() ? "ok" : "DIFFERS"});
  }
  text += table(rows);
  for (const Json& row : (*json)["comparisons"])
    if (!row["ok"].get<bool>())
      text += fmt::format("output {}: {}\n", row["output"].get<size_t>(), row["sentence"].get<std::string>());
  text += ok ? "agrees\n" : fmt::format("differs beyond {:g} of the range\n", args.tolerance);
  print_text(text);
  return ok ? 0 : 1;
}

}  // namespace edgelift::cli
