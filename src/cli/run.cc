#include <chrono>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/common.h"
#include "cli/inputs.h"
#include "runtime/npy.h"
#include "runtime/session.h"

namespace edgelift::cli {

namespace {

using Json = nlohmann::ordered_json;

Status write_outputs(const std::string& directory, const std::vector<runtime::Argument>& outputs, Json& json) {
  std::error_code error;
  if (!directory.empty()) {
    std::filesystem::create_directories(directory, error);
    if (error) return input_error(fmt::format("{}: cannot create the directory: {}", directory, error.message()));
  }
  // All or none: nothing is in place before everything is written.
  std::vector<std::unique_ptr<AtomicFile>> staged;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Json row;
    if (const auto* tensor = std::get_if<TensorData>(&outputs[i])) {
      row["dtype"] = std::string(long_name(tensor->dtype()));
      row["shape"] = tensor->sizes();
      if (!directory.empty()) {
        const std::string path = (std::filesystem::path(directory) / fmt::format("output{}.npy", i)).string();
        EL_TRY(auto file, runtime::stage_npy(path, *tensor));
        staged.push_back(std::move(file));
        row["file"] = path;
      }
    } else if (const auto* integer = std::get_if<int64_t>(&outputs[i])) {
      row["value"] = *integer;
    } else if (const auto* number = std::get_if<double>(&outputs[i])) {
      row["value"] = *number;
    } else if (const auto* flag = std::get_if<bool>(&outputs[i])) {
      row["value"] = *flag;
    } else if (const auto* text = std::get_if<std::string>(&outputs[i])) {
      row["value"] = *text;
    } else {
      row["value"] = nullptr;
    }
    json.push_back(std::move(row));
  }
  for (const auto& file : staged) EL_TRY_OK(file->commit());
  return Ok{};
}

Result<Json> run(const RunArgs& args) {
  EL_TRY_OK(runtime::set_threads(args.threads));
  runtime::SessionOptions options;
  EL_TRY(options.load, loader(args.loader));
  options.weight_cache = args.weight_cache;
  EL_TRY(auto session, runtime::Session::open(args.program, options));
  EL_TRY(auto* method, session->method(args.method));
  EL_TRY(const auto inputs, method_inputs(method->inputs(), args.inputs, nullptr));
  double best = 0, total = 0;
  for (int i = 0; i < args.repeat; ++i) {
    // The arena may reuse an input's memory, so inputs are set for every call.
    EL_TRY_OK(method->set_inputs(inputs));
    const auto start = std::chrono::steady_clock::now();
    EL_TRY_OK(method->execute());
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    best = i == 0 ? ms : std::min(best, ms);
    total += ms;
  }
  EL_TRY(const auto outputs, method->outputs());
  Json json;
  json["program"] = args.program;
  json["method"] = args.method;
  json["calls"] = args.repeat;
  json["min_ms"] = best;
  json["mean_ms"] = total / args.repeat;
  json["outputs"] = Json::array();
  EL_TRY_OK(write_outputs(args.output, outputs, json["outputs"]));
  return json;
}

}  // namespace

int run_run(const RunArgs& args) {
  const auto json = run(args);
  if (!json.ok()) return fail(json.error());
  if (args.json) {
    print_json(*json);
    return 0;
  }
  std::string text;
  for (size_t i = 0; i < (*json)["outputs"].size(); ++i) {
    const Json& row = (*json)["outputs"][i];
    if (row.contains("value")) {
      text += fmt::format("output {}: {}\n", i, row["value"].dump());
    } else {
      text += fmt::format("output {}: {} {}{}\n", i, row["dtype"].get<std::string>(), row["shape"].dump(),
                          row.contains("file") ? " -> " + row["file"].get<std::string>() : "");
    }
  }
  text += fmt::format("{:.3f} ms{}\n", (*json)["min_ms"].get<double>(),
                      args.repeat > 1 ? fmt::format(" (best of {})", args.repeat) : "");
  print_text(text);
  return 0;
}

}  // namespace edgelift::cli
