#include "cli/common.h"

#include <unistd.h>
#include <chrono>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/numbers.h"
#include "ir/text.h"
#include "runtime/evaluate.h"

namespace edgelift::cli {

namespace {
double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
}  // namespace

int fail(const Error& error) {
  fmt::print(stderr, "edgelift: error: {}\n", error.message);
  switch (error.kind) {
    case ErrorKind::Input:
      return 1;
    case ErrorKind::Usage:
      return 2;
    case ErrorKind::Internal:
      return 3;
  }
  return 3;
}

void print_json(const nlohmann::ordered_json& json) { print_text(json.dump() + "\n"); }
void print_text(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

bool flush_output() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0), start_(now()) {}
Progress::~Progress() {
  if (shown_) fmt::print(stderr, "\r\033[K");
}
void Progress::stage(std::string_view name) {
  if (!terminal_ || now() - start_ < 1.0) return;
  shown_ = true;
  fmt::print(stderr, "\r\033[Kedgelift: {} …", name);
  std::fflush(stderr);
}

Result<ir::Program> read_model(const std::string& path) {
  if (path.size() > 5 && path.ends_with(".elir")) {
    EL_TRY(const std::string text, read_file(path));
    auto program = parse_text(ir::before_expectation(text));
    if (!program.ok()) return Error{program.error().kind, path + ":" + program.error().message};
    program->source = path;
    return program;
  }
  return open(path);
}

Result<bool> is_pte(const std::string& path) {
  EL_TRY(const auto file, MappedFile::open(path));
  const auto bytes = file->bytes();
  return bytes.size() >= 8 && std::string_view(reinterpret_cast<const char*>(bytes.data()) + 4, 2) == "ET";
}

Result<LowerOptions> lower_options(const LoweringArgs& args) {
  if (args.target.empty()) return usage_error("--target takes a name or a file");
  if (!(args.max_error >= 0) || std::isinf(args.max_error)) return usage_error("--max-error takes a number from 0");
  LowerOptions options;
  options.recipe = args.recipe;
  if (args.lift >= 0) options.lift_scalars = args.lift != 0;
  EL_TRY(options.transform_passes, passes::parse_passes(args.passes));
  options.evaluate = runtime::evaluate;
  options.max_delegate_weights = args.max_delegate_weights;
  options.target = args.target;
  options.optimize = args.optimize;
  options.max_error = args.max_error;
  options.verify_each = args.verify;
  return options;
}

Result<partition::Lowered> lower_model(const LoweringArgs& args, LowerOptions options, LoweredModel* times) {
  Progress progress;
  options.progress = [&](std::string_view stage) { progress.stage(stage); };
  progress.stage("reading");
  const double start = now();
  EL_TRY(auto program, read_model(args.model));
  if (times != nullptr) times->read_seconds = now() - start;
  StageTimes stages;
  EL_TRY(auto lowered, to_edge_transform_and_lower(std::move(program), options, &stages));
  if (times != nullptr) {
    times->passes_seconds = stages.passes;
    times->partition_seconds = stages.partition;
  }
  return lowered;
}

Result<LoweredModel> lower_and_emit(const LoweringArgs& args, LowerOptions options) {
  LoweredModel model;
  options.observe = [inner = std::move(options.observe), missing = &model.missing_bytes](std::string_view stage,
                                                                                         const ir::Program& program) {
    if (stage == "import")
      for (const auto& constant : program.constants)
        if (constant->text.starts_with('@')) *missing = constant->name;
    if (inner) inner(stage, program);
  };
  EL_TRY(model.lowered, lower_model(args, std::move(options), &model));
  if (!model.missing_bytes.empty())
    return input_error(fmt::format(
        "{}: the constant %{} stands in the text form by name only, without its elements; lower the .pt2 instead",
        args.model, model.missing_bytes));
  const double start = now();
  emit::Options emission;
  emission.allow_missing_kernels = args.allow_missing_kernels;
  emission.plan_inputs = args.plan_inputs;
  emission.plan_outputs = args.plan_outputs;
  EL_TRY(model.emitted, to_executorch(model.lowered, emission));
  model.emit_seconds = now() - start;
  return model;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return "";
  const size_t columns = rows[0].size();
  std::vector<size_t> width(columns, 0);
  std::vector<bool> right(columns, true);
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t c = 0; c < columns; ++c) {
      const std::string& cell = rows[r][c];
      size_t glyphs = 0;
      for (const char ch : cell) glyphs += (ch & 0xC0) != 0x80 ? 1 : 0;  // UTF-8 continuation bytes take no room
      width[c] = std::max(width[c], glyphs);
      const bool numeric = !cell.empty() && (cell[0] >= '0' && cell[0] <= '9');
      if (r > 0 && !cell.empty() && !numeric) right[c] = false;
    }
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c < columns; ++c) {
      size_t glyphs = 0;
      for (const char ch : row[c]) glyphs += (ch & 0xC0) != 0x80 ? 1 : 0;
      const std::string pad(width[c] - glyphs, ' ');
      if (c != 0) line += "  ";
      line += right[c] ? pad + row[c] : row[c] + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace edgelift::cli
