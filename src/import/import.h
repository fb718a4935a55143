// .pt2 archive -> ir, stage Aten.
//
// What the importer settles: default arguments are filled in from the schemas; sizes become expressions and the nodes
// that compute with sizes disappear; regions without gradient are inlined; every operator's recorded result type is
// compared with the shape rule of src/ops. In-place operators and views stay as they are for to_edge.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "ir/rewriter.h"

namespace edgelift::importer {

struct ImportOptions {
  // Which program of a package with several; default "model", or the only one.
  std::optional<std::string> model;
  // The method's name in the program that comes out.
  std::string method = "forward";
};

// Maps the file for as long as the program, its constants or its origins live.
Result<ir::Program> import_pt2(const std::filesystem::path& path, const ir::OpTable& ops,
                               const ImportOptions& options = {});
// The same from memory, which `owner` keeps alive. `source` stands for the file's name in messages.
Result<ir::Program> import_bytes(std::span<const std::byte> bytes, std::string source,
                                 std::shared_ptr<const void> owner, const ir::OpTable& ops,
                                 const ImportOptions& options = {});

// What is in an archive, without importing it: works also for programs whose operators are not known.
struct ArchiveSummary {
  std::string source, root;
  std::vector<std::string> models;
  std::string model;  // the one described below
  std::string torch_version, schema_version, dialect;
  struct Part {
    size_t entries = 0;
    uint64_t bytes = 0;
  };
  uint64_t file_bytes = 0, program_bytes = 0;
  Part weights, constants, samples, other;
  size_t parameters = 0, buffers = 0, tensor_constants = 0, guards = 0;
  struct Port {
    std::string name, type;  // "f32[s0,3]{…}", "int", or a literal
  };
  std::vector<Port> inputs, outputs;
  struct Symbol {
    std::string name;
    std::optional<int64_t> lo, hi;
  };
  std::vector<Symbol> ranges;
  struct Count {
    std::string op;
    size_t count = 0;
  };
  size_t nodes = 0;
  std::vector<Count> ops;  // most frequent first, then by name; sub-graphs included
};
Result<ArchiveSummary> inspect_pt2(const std::filesystem::path& path, const ImportOptions& options = {});

}  // namespace edgelift::importer
