#include "recorded.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "runtime/compare.h"
#include "runtime/evaluate.h"
#include "runtime/npy.h"
#include "runtime/session.h"

namespace edgelift::testing {

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::vector<fs::path> recorded_cases(const fs::path& root) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.path().filename() == "case.json") out.push_back(entry.path().parent_path());
  std::sort(out.begin(), out.end());
  return out;
}

namespace {

Result<runtime::Argument> read_argument(const fs::path& folder, const Json& entry) {
  if (entry.contains("file")) {
    EL_TRY(auto data, runtime::read_npy(folder / entry["file"].get<std::string>()));
    return runtime::Argument(std::move(data));
  }
  if (!entry.contains("value")) return runtime::Argument();
  const Json& value = entry["value"];
  if (value.is_boolean()) return runtime::Argument(value.get<bool>());
  if (value.is_number_integer()) return runtime::Argument(value.get<int64_t>());
  if (value.is_number()) return runtime::Argument(value.get<double>());
  return runtime::Argument(value.get<std::string>());
}

std::string argument_text(const runtime::Argument& argument) {
  if (const auto* n = std::get_if<int64_t>(&argument)) return fmt::format("{}", *n);
  if (const auto* n = std::get_if<double>(&argument)) return fmt::format("{}", *n);
  if (const auto* n = std::get_if<bool>(&argument)) return *n ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&argument)) return *text;
  return std::holds_alternative<TensorData>(argument) ? "a tensor" : "none";
}

Result<Outcome> run(const fs::path& folder, LowerOptions options, double tolerance) {
  EL_TRY(const std::string text, read_file(folder / "case.json"));
  const Json meta = Json::parse(text);
  const double bound =
      meta.contains("rtol") ? std::max(meta["rtol"].get<double>(), meta["atol"].get<double>()) : tolerance;
  options.evaluate = runtime::evaluate;
  options.verify_each = true;
  EL_TRY(auto program, open(folder / "model.pt2"));
  EL_TRY(const auto lowered, to_edge_transform_and_lower(std::move(program), options));
  EL_TRY(const auto emitted, to_executorch(lowered, {}));
  Outcome outcome;
  const Counts counts = count(lowered);
  outcome.delegates = counts.delegates;
  outcome.portable = counts.portable_total();
  EL_TRY(auto bytes, pte::write_to_memory(emitted.program));
  EL_TRY_OK(pte::verify(bytes));
  const auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  EL_TRY(const auto session, runtime::Session::open(*owner, owner));
  EL_TRY(auto* method, session->method());
  std::vector<Json> calls = {meta};
  if (meta.contains("steps"))
    for (const Json& step : meta["steps"]) calls.push_back(step);
  for (size_t c = 0; c < calls.size(); ++c) {
    std::vector<runtime::Argument> inputs;
    for (const Json& entry : calls[c]["in"]) {
      EL_TRY(auto argument, read_argument(folder, entry));
      inputs.push_back(std::move(argument));
    }
    EL_TRY(const auto outputs, method->run(inputs));
    if (outputs.size() != calls[c]["out"].size())
      return Outcome{Outcome::Kind::Wrong,
                     fmt::format("{} outputs, recorded {}", outputs.size(), calls[c]["out"].size()), 0, 0, 0};
    for (size_t i = 0; i < outputs.size(); ++i) {
      EL_TRY(const auto expected, read_argument(folder, calls[c]["out"][i]));
      const auto* got = std::get_if<TensorData>(&outputs[i]);
      const auto* want = std::get_if<TensorData>(&expected);
      if (got == nullptr || want == nullptr) {
        if (outputs[i].index() == expected.index() && argument_text(outputs[i]) == argument_text(expected)) continue;
        outcome.kind = Outcome::Kind::Wrong;
        outcome.sentence = fmt::format("call {}, output {}: {}, recorded {}", c, i, argument_text(outputs[i]),
                                       argument_text(expected));
        return outcome;
      }
      EL_TRY(const auto difference, runtime::compare(*got, *want, bound));
      outcome.relative = std::max(outcome.relative, difference.relative());
      if (difference.ok) continue;
      outcome.kind = Outcome::Kind::Wrong;
      outcome.sentence = fmt::format("call {}, output {}: {}", c, i, difference.str());
      return outcome;
    }
  }
  return outcome;
}

}  // namespace

Outcome run_recorded(const fs::path& folder, LowerOptions options, double tolerance) {
  auto outcome = run(folder, std::move(options), tolerance);
  if (outcome.ok()) return *outcome;
  // A defect is never an acceptable refusal.
  const bool ours = outcome.error().kind == ErrorKind::Internal;
  std::string sentence = outcome.error().message;
  const std::string file = (folder / "model.pt2").string();
  if (sentence.starts_with(file)) sentence.replace(0, file.size(), "model.pt2");  // the same wherever the tree is
  return {ours ? Outcome::Kind::Wrong : Outcome::Kind::Refused, sentence, 0, 0, 0};
}

}  // namespace edgelift::testing
