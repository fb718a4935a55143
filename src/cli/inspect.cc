#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/numbers.h"
#include "cli/common.h"
#include "import/import.h"

namespace edgelift::cli {

namespace {

using Json = nlohmann::ordered_json;

Json archive_json(const importer::ArchiveSummary& s) {
  Json json;
  json["file"] = s.source;
  json["kind"] = "pt2";
  json["torch"] = s.torch_version;
  json["schema"] = s.schema_version;
  json["dialect"] = s.dialect;
  json["models"] = s.models;
  json["bytes"] = {{"file", s.file_bytes},
                   {"program", s.program_bytes},
                   {"weights", s.weights.bytes},
                   {"constants", s.constants.bytes},
                   {"sample_inputs", s.samples.bytes}};
  json["parameters"] = s.parameters;
  json["buffers"] = s.buffers;
  for (const auto& port : s.inputs) json["inputs"].push_back({{"name", port.name}, {"type", port.type}});
  for (const auto& port : s.outputs) json["outputs"].push_back({{"name", port.name}, {"type", port.type}});
  json["nodes"] = s.nodes;
  json["operators"] = Json::object();
  for (const auto& row : s.ops) json["operators"][row.op] = row.count;
  return json;
}

std::string tensor_text(const pte::Tensor& t) {
  std::string sizes;
  for (const int32_t size : t.sizes) sizes += fmt::format("{}{}", sizes.empty() ? "" : ",", size);
  return fmt::format("{}[{}]{}", short_name(t.dtype), sizes, t.dynamic ? " (upper bounds)" : "");
}

std::string port_text(const pte::Value& value) {
  if (const auto* tensor = std::get_if<pte::Tensor>(&value)) return tensor_text(*tensor);
  if (const auto* n = std::get_if<int64_t>(&value)) return fmt::format("int {}", *n);
  if (const auto* n = std::get_if<double>(&value)) return fmt::format("float {}", *n);
  if (const auto* n = std::get_if<bool>(&value)) return *n ? "bool true" : "bool false";
  if (const auto* text = std::get_if<std::string>(&value)) return fmt::format("str \"{}\"", *text);
  return "none";
}

Json program_json(const std::string& path, const pte::Program& program, uint64_t file_bytes) {
  Json json;
  json["file"] = path;
  json["kind"] = "pte";
  uint64_t constants = 0, initial = 0, named = 0, blobs = 0;
  for (const TensorData& data : program.constants) constants += data.nbytes();
  for (const TensorData& data : program.mutable_data) initial += data.nbytes();
  for (const pte::NamedData& data : program.named) named += data.data.nbytes();
  for (const pte::DelegateBlob& blob : program.blobs) blobs += blob.bytes.size();
  json["bytes"] = {{"file", file_bytes},
                   {"constants", constants},
                   {"initial_state", initial},
                   {"delegate_weights", named},
                   {"delegates", blobs}};
  json["methods"] = Json::array();
  for (const pte::Plan& plan : program.plans) {
    Json row;
    row["name"] = plan.name;
    for (const int32_t i : plan.inputs) row["inputs"].push_back(port_text(plan.values.at(static_cast<size_t>(i))));
    for (const int32_t i : plan.outputs) row["outputs"].push_back(port_text(plan.values.at(static_cast<size_t>(i))));
    uint64_t arena = 0;
    for (const uint64_t size : plan.buffer_sizes) arena += size;
    row["arena_bytes"] = arena;
    std::map<std::string, int> kernels;
    int delegates = 0;
    for (const pte::Instruction& instruction : plan.instructions) {
      if (const auto* call = std::get_if<pte::KernelCall>(&instruction)) {
        const pte::Operator& op = plan.operators.at(static_cast<size_t>(call->op));
        ++kernels[op.overload.empty() ? op.name : op.name + "." + op.overload];
      } else if (std::holds_alternative<pte::DelegateCall>(instruction)) {
        ++delegates;
      }
    }
    row["delegate_calls"] = delegates;
    row["kernel_calls"] = Json::object();
    for (const auto& [name, n] : kernels) row["kernel_calls"][name] = n;
    json["methods"].push_back(std::move(row));
  }
  return json;
}

// Two columns: what, value; nested objects and lists indented.
void rows_of(const Json& json, const std::string& indent, std::vector<std::vector<std::string>>& rows) {
  for (const auto& [key, value] : json.items()) {
    const std::string label = json.is_array() ? "" : key;
    if (value.is_object() || value.is_array()) {
      if (!json.is_array()) rows.push_back({indent + label, ""});
      rows_of(value, indent + (json.is_array() ? "" : "  "), rows);
    } else {
      rows.push_back({indent + label, value.is_string() ? value.get<std::string>() : value.dump()});
    }
  }
}

Result<Json> inspect(const std::string& path) {
  EL_TRY(const bool marked, is_pte(path));
  if (marked || path.ends_with(".pte")) {  // a damaged one too: the message is about what it should be
    EL_TRY(const auto file, MappedFile::open(path));
    auto program = pte::read(file->bytes(), file);
    if (!program.ok()) return Error{program.error().kind, fmt::format("{}: {}", path, program.error().message)};
    return program_json(path, *program, file->bytes().size());
  }
  EL_TRY(const auto summary, importer::inspect_pt2(path));
  return archive_json(summary);
}

}  // namespace

int run_inspect(const InspectArgs& args) {
  const auto json = inspect(args.file);
  if (!json.ok()) return fail(json.error());
  if (args.json) {
    print_json(*json);
    return 0;
  }
  std::vector<std::vector<std::string>> rows;
  rows_of(*json, "", rows);
  std::string text;
  size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row[0].size());
  for (const auto& row : rows) {
    std::string line = row[0] + std::string(width - row[0].size() + 2, ' ') + row[1];
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  print_text(text);
  return 0;
}

}  // namespace edgelift::cli
