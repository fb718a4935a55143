// What several verbs share.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/options.h"
#include "edgelift/edgelift.h"

namespace edgelift::cli {

// Prints "edgelift: error: sentence" to stderr and returns the exit code: 1 input, 2 usage, 3 ours.
int fail(const Error& error);
void print_json(const nlohmann::ordered_json& json);
void print_text(const std::string& text);
// False if something that was printed could not be written.
bool flush_output();

// Stage names on stderr while they last longer than a second, on a terminal only.
class Progress {
 public:
  Progress();
  ~Progress();
  void stage(std::string_view name);

 private:
  bool terminal_ = false, shown_ = false;
  double start_ = 0;
};

struct LoweredModel {
  partition::Lowered lowered;
  emit::Emitted emitted;
  std::string missing_bytes;  // a constant of the text form that stands there by name only
  double read_seconds = 0, passes_seconds = 0, partition_seconds = 0, emit_seconds = 0;
};

// Reads a .pt2 or .elir and lowers it with the options of the command line. `keep` and `observe` may be empty.
Result<LowerOptions> lower_options(const LoweringArgs& args);
Result<partition::Lowered> lower_model(const LoweringArgs& args, LowerOptions options, LoweredModel* times);
Result<LoweredModel> lower_and_emit(const LoweringArgs& args, LowerOptions options);
Result<ir::Program> read_model(const std::string& path);
// Whether the file is an ExecuTorch program, of any version.
Result<bool> is_pte(const std::string& path);

// A table with a header row, columns padded, two spaces between; numbers to the right where every cell is one.
std::string table(const std::vector<std::vector<std::string>>& rows);

}  // namespace edgelift::cli
