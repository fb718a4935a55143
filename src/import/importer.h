// The import of one program. Internal to this folder.
//
// Two walks over the nodes: check_operators() finds every operator that is not known, so that one message names them
// all; build() makes the graph. A name is looked up in the scope of its (sub-)graph, which a single forward walk fills:
// an out-of-order, dangling or doubled name is found by the lookup itself.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/exported.h"
#include "import/import.h"
#include "import/payload.h"
#include "import/sym.h"
#include "ir/graph.h"
#include "ir/rewriter.h"

namespace edgelift::importer {

// Whether a tensor of these sizes could exist: arithmetic on plausible sizes stays far from the end of 64 bits.
bool holdable(const ir::Shape& sizes);

// What a target string names (pt2-format 3.1).
struct Target {
  enum class Kind : uint8_t {
    Operator,     // torch.ops.NS.OP.OVERLOAD
    HigherOrder,  // torch.ops.higher_order.NAME
    Number,       // _operator.NAME, torch.sym_NAME, math.NAME
    Other,
  } kind = Kind::Other;
  std::string name;  // "aten::add.Tensor", "cond", "floordiv"
};
Target parse_target(std::string_view target);
// The index of the sub-graph among the inputs of a higher-order operator that is inlined; nullopt: it is refused.
std::optional<size_t> inlined_graph(const Target& target, const RawNode& node);
// Higher-order operators whose sub-graphs are inlined as branches or unrolled as loops (control.cc).
bool is_control_flow(std::string_view name);
// Operators whose result is a size, or which only check sizes: they have no node in ir.
bool is_size_operator(std::string_view name);
bool is_size_check(std::string_view name);

class Importer {
 public:
  Importer(std::shared_ptr<const archive::Pt2> archive, ExportedProgram exported, Payloads payloads,
           const ir::OpTable& ops)
      : archive_(std::move(archive)), exported_(std::move(exported)), payloads_(std::move(payloads)), ops_(ops) {}

  Result<ir::Program> run(const std::string& method);

 private:
  // What a name stands for. Weights become constants of the program when something first mentions them.
  struct Bound {
    enum class Kind : uint8_t { Tensor, Weight, Number } kind = Kind::Number;
    ir::Value* tensor = nullptr;  // Tensor
    size_t weight = 0;            // Weight: index into the signature's inputs
    SymValue number;              // Number
  };
  struct Scope {
    const RawGraph* raw = nullptr;
    std::unordered_map<std::string_view, Bound> names;
  };
  // The node that is being read, for messages and origins.
  struct Here {
    const RawNode* node = nullptr;
    ir::Origin origin;
  };

  // A target string, looked up once.
  struct Resolved {
    Target target;
    const ir::Op* op = nullptr;  // null: not in the table
    bool is_size = false, is_check = false;
  };
  const Resolved& resolve(std::string_view target);

  // --- unsupported.cc: the first walk ---
  struct Unsupported {
    std::string what;
    size_t count = 0;
    std::string first_line;
    bool advised = false;  // `what` says already what to do
  };
  Status check_operators();
  void find_unsupported(const RawGraph& graph);
  void note_unsupported(const RawNode& node, std::string what, bool advised = false);

  // --- signature.cc ---
  Status inputs(Scope& scope);
  Status user_input(const RawInputSpec& spec, const RawArg& arg, Scope& scope);
  Status outputs(Scope& scope);
  Result<ir::OutputSpec> user_output(const RawArg& arg, Scope& scope);
  Result<ir::Value*> constant_of(size_t weight);
  Result<ir::Constant*> weight_constant(size_t weight);
  Status check_overlaps();
  Result<ir::Type> tensor_type(const RawTensorMeta& meta, std::string_view name);
  std::vector<SymInt> eager_strides(const RawTensorMeta& meta, const ir::Type& type);

  // --- nodes.cc: the second walk ---
  Status build(const RawGraph& graph, Scope& scope);
  Status node(const RawNode& raw, Scope& scope);
  Status operator_node(const RawNode& raw, const ir::Op& op, Scope& scope);
  Result<std::vector<ir::Type>> infer(const ir::Op& op, const std::vector<ir::Arg>& args) const;
  Status number_node(const RawNode& raw, std::string_view function, Scope& scope);
  Status size_node(const RawNode& raw, Scope& scope);
  Status define(Scope& scope, std::string_view name, Bound bound);
  Status define_number(const RawNode& raw, SymValue computed, Scope& scope);
  Status result_types(const RawNode& raw, const ir::Op& op, const std::vector<ir::Type>& inferred, Scope& scope,
                      std::vector<ir::Type>& types, std::vector<std::string_view>& names);
  Result<ir::Type> check_type(const RawTensorMeta& meta, const ir::Type& inferred, std::string_view name);
  Status bind_results(const RawNode& raw, ir::Node& node, const std::vector<std::string_view>& names, Scope& scope);
  void track_writes(const ir::Node& node);

  // --- control.cc ---
  Status inlined_node(const RawNode& raw, size_t graph_index, Scope& scope);
  Status cond_node(const RawNode& raw, Scope& scope);
  Status loop_node(const RawNode& raw, bool is_scan, Scope& scope);
  Status operands(const RawArg& raw, Scope& scope, std::vector<Bound>& out);
  Result<std::vector<Bound>> inline_graph(const RawGraph& sub, const std::vector<Bound>& given);
  Status define_all(const RawNode& raw, const std::vector<Bound>& results, Scope& scope);
  Result<ir::Value*> tensor_of(const Bound& bound, std::string_view what);
  Result<ir::Value*> emit(std::string_view name, std::vector<ir::Arg> args, std::string wish, std::string_view recorded,
                          Scope& scope);
  Status check_region(const ir::Node* before, std::string_view what, bool speculative);
  Result<int64_t> step_count(const std::vector<ir::Value*>& xs);

  // --- args.cc ---
  Result<std::vector<ir::Arg>> arguments(const RawNode& raw, const ir::Op& op, Scope& scope);
  Result<ir::Arg> argument(const RawArg& raw, const ir::ArgSpec& spec, Scope& scope);
  Result<ir::Arg> number_argument(const RawArg& raw, const ir::ArgSpec& spec, Scope& scope);
  Result<ir::Value*> tensor_named(std::string_view name, Scope& scope);
  Result<SymValue> number_of(const RawArg& raw, Scope& scope);
  Result<SymInt> size_of(const RawArg& raw, Scope& scope);
  Result<SymInt> size_of(const SymArg& raw, Scope& scope);
  Result<const Bound*> lookup(std::string_view name, const Scope& scope);

  // A message with the file, and the node where there is one.
  Error fail(std::string_view what, std::string_view advice = {}) const;
  std::string line_of(const RawNode& node) const;  // or the module; the node is named where this stands

  std::shared_ptr<const archive::Pt2> archive_;
  ExportedProgram exported_;
  Payloads payloads_;
  const ir::OpTable& ops_;
  Symbols symbols_;
  ir::Program program_;
  ir::Graph* graph_ = nullptr;
  Here here_;
  uint32_t node_index_ = 0;
  int depth_ = 0;
  size_t unrolled_nodes_ = 0;

  std::unordered_map<std::string_view, Resolved> resolved_;
  std::vector<Unsupported> unsupported_;
  std::unordered_map<std::string, size_t> unsupported_index_;

  std::unordered_map<std::string_view, size_t> weight_of_fqn_;
  std::unordered_map<std::string, ir::Constant*> constants_;  // by Payload::identity
  struct Stored {
    ir::Constant* constant;
    std::string_view entry;
  };
  std::vector<Stored> stored_;
  // The constant that a value is, or is a view of.
  std::unordered_map<const ir::Value*, ir::Constant*> view_of_;
};

}  // namespace edgelift::importer
