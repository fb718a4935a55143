// What is in an archive, without importing its program.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/numbers.h"
#include "import/importer.h"

namespace edgelift::importer {
namespace {

class Describer {
 public:
  explicit Describer(const ExportedProgram& exported) : exported_(exported) {
    (void)symbols_.set_ranges(exported.ranges);
  }

  std::string type(const RawArg& arg) {
    if (const auto* tensor = std::get_if<TensorArg>(&arg)) {
      const auto meta = exported_.graph.tensors.find(tensor->name);
      return meta == exported_.graph.tensors.end() ? "tensor" : tensor_text(meta->second);
    }
    if (const auto* symbolic = std::get_if<SymArg>(&arg)) {
      return symbolic->kind == SymKind::Int ? "int" : symbolic->kind == SymKind::Float ? "float" : "bool";
    }
    if (const auto* integer = std::get_if<int64_t>(&arg)) return fmt::to_string(*integer);
    if (const auto* number = std::get_if<double>(&arg)) return float_text(*number);
    if (const auto* flag = std::get_if<bool>(&arg)) return *flag ? "True" : "False";
    if (const auto* text = std::get_if<StringArg>(&arg)) return archive::show(text->text);
    if (std::holds_alternative<NoneArg>(arg)) return "None";
    return std::string(tag_of(arg));
  }

 private:
  std::string tensor_text(const RawTensorMeta& meta) {
    const Result<DType> dtype = dtype_of(meta.dtype);
    std::string out = dtype ? std::string(short_name(*dtype)) : fmt::format("dtype{}", meta.dtype);
    out += '[';
    for (size_t i = 0; i < meta.sizes.size(); ++i) {
      SymValue value = symbols_.value(meta.sizes[i]);
      const SymInt* size = as_size(value);
      out += (i == 0 ? "" : ",") + (size != nullptr ? size->str() : std::string("?"));
    }
    return out + ']';
  }

  const ExportedProgram& exported_;
  Symbols symbols_;
};

std::string name_of(const RawArg& arg) {
  if (const auto* tensor = std::get_if<TensorArg>(&arg)) return std::string(tensor->name);
  if (const auto* symbolic = std::get_if<SymArg>(&arg)) return std::string(symbolic->name);
  return {};
}

void count_nodes(const RawGraph& graph, std::map<std::string, size_t>& counts, size_t& nodes) {
  std::unordered_map<std::string_view, size_t> targets;
  for (const RawNode& node : graph.nodes) {
    ++nodes;
    ++targets[node.target];
    for (const RawNamedArg& named : node.inputs)
      if (const auto* sub = std::get_if<GraphArg>(&named.value)) count_nodes(*sub->graph, counts, nodes);
  }
  for (const auto& [target, count] : targets) {
    const Target parsed = parse_target(target);
    counts[parsed.kind == Target::Kind::HigherOrder ? "higher_order::" + parsed.name
           : parsed.kind == Target::Kind::Operator  ? parsed.name
                                                    : std::string(target)] += count;
  }
}

}  // namespace

Result<ArchiveSummary> inspect_pt2(const std::filesystem::path& path, const ImportOptions& options) {
  EL_TRY(const auto archive, archive::Pt2::open(path));
  EL_TRY(const std::string_view model, archive->choose_model(options.model));
  EL_TRY(const ExportedProgram exported, read_exported(*archive, model));

  ArchiveSummary out;
  out.source = archive->source();
  out.root = archive->root();
  out.models.assign(archive->models().begin(), archive->models().end());
  out.model = model;
  out.torch_version = exported.torch_version.empty() ? "2.4 or before" : std::string(exported.torch_version);
  out.schema_version = fmt::format("{}.{}", exported.schema_major, exported.schema_minor);
  for (const std::string_view dialect : exported.verifiers)
    out.dialect += (out.dialect.empty() ? "" : ", ") + std::string(dialect);
  out.file_bytes = archive->file_size();
  out.program_bytes = exported.json_bytes;
  for (const archive::ZipEntry& entry : archive->entries()) {
    const std::string_view name = archive->relative(entry);
    ArchiveSummary::Part& part = name.starts_with("data/weights/")         ? out.weights
                                 : name.starts_with("data/constants/")     ? out.constants
                                 : name.starts_with("data/sample_inputs/") ? out.samples
                                                                           : out.other;
    ++part.entries;
    part.bytes += entry.size;
  }
  Describer describe(exported);
  for (size_t i = 0; i < exported.inputs.size(); ++i) {
    const RawInputSpec& spec = exported.inputs[i];
    switch (spec.kind) {
      case RawInputSpec::Kind::Parameter:
        ++out.parameters;
        break;
      case RawInputSpec::Kind::Buffer:
        ++out.buffers;
        break;
      case RawInputSpec::Kind::TensorConstant:
        ++out.tensor_constants;
        break;
      case RawInputSpec::Kind::User:
        out.inputs.push_back({name_of(spec.arg), describe.type(spec.arg)});
        break;
      case RawInputSpec::Kind::ConstantInput:
        out.inputs.push_back({std::string(spec.name), describe.type(spec.arg)});
        break;
      default:
        out.inputs.push_back({std::string(spec.name), "object"});
        break;
    }
  }
  for (const RawOutputSpec& spec : exported.outputs) {
    if (spec.kind == RawOutputSpec::Kind::User) {
      out.outputs.push_back({name_of(spec.arg), describe.type(spec.arg)});
    } else {
      out.outputs.push_back({std::string(spec.target), std::string(spec.tag)});
    }
  }
  out.guards = exported.guards.size();
  for (const RawRange& range : exported.ranges) out.ranges.push_back({std::string(range.key), range.lo, range.hi});
  std::sort(out.ranges.begin(), out.ranges.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::map<std::string, size_t> counts;
  count_nodes(exported.graph, counts, out.nodes);
  for (const auto& [op, count] : counts) out.ops.push_back({op, count});
  std::stable_sort(out.ops.begin(), out.ops.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  return out;
}

}  // namespace edgelift::importer
