// The exported program as it stands in models/NAME.json, before any meaning is given to it (pt2-format 2). Names and
// strings are views: decoded ones into the JSON parser's buffer, which ExportedProgram keeps, and raw ones into the
// mapped archive.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "archive/pt2.h"
#include "base/result.h"

namespace edgelift::importer {

// A size: a number, or an expression's text.
struct RawSymInt {
  int64_t value = 0;
  std::string_view expr;  // empty: value
  bool is_expr() const { return expr.data() != nullptr; }
};

struct RawTensorMeta {
  int64_t dtype = 0;  // the archive's numbering, not c10's
  std::vector<RawSymInt> sizes, strides;
  RawSymInt offset;
  int64_t layout = 0;
};

enum class SymKind : uint8_t { Int, Float, Bool };

struct NoneArg {};
struct TensorArg {
  std::string_view name;
};
struct TensorsArg {
  std::vector<std::string_view> names;  // null data: None
};
// The name of a size, float or bool that a node or the caller produces, or a literal.
struct SymArg {
  SymKind kind = SymKind::Int;
  std::string_view name;  // null data: the literal
  int64_t integer = 0;
  double number = 0;
  bool boolean = false;
  bool is_name() const { return name.data() != nullptr; }
};
struct SymsArg {
  SymKind kind = SymKind::Int;
  std::vector<SymArg> items;
};
struct EnumArg {
  enum class Kind : uint8_t { ScalarType, MemoryFormat, Layout } kind = Kind::ScalarType;
  int64_t value = 0;
};
struct DeviceArg {
  std::string_view type;
};
struct StringArg {
  std::string_view text;
};
struct RawGraph;
struct GraphArg {
  std::string_view name;
  std::unique_ptr<RawGraph> graph;
};
// A kind of argument that the format has and no operator of edgelift takes.
struct OtherArg {
  std::string_view tag;
};

using RawArg =
    std::variant<NoneArg, TensorArg, TensorsArg, int64_t, std::vector<int64_t>, double, std::vector<double>, bool,
                 std::vector<bool>, SymArg, SymsArg, EnumArg, DeviceArg, StringArg, GraphArg, OtherArg>;
// "as_tensor" …, for messages.
std::string_view tag_of(const RawArg& arg);

struct RawNamedArg {
  std::string_view name;  // of the schema; empty for operands of higher-order operators
  RawArg value;
};

struct RawNode {
  std::string_view target, name;
  std::vector<RawNamedArg> inputs;
  std::vector<RawArg> outputs;
  std::string_view stack_trace, module_stack;  // raw JSON string bodies
};

struct RawGraph {
  std::vector<RawArg> inputs, outputs;
  std::vector<RawNode> nodes;
  std::unordered_map<std::string_view, RawTensorMeta> tensors;
  std::unordered_map<std::string_view, RawSymInt> sym_ints;
};

struct RawInputSpec {
  enum class Kind : uint8_t {
    User,
    Parameter,
    Buffer,
    TensorConstant,
    ConstantInput,
    CustomObject,
    Token
  } kind = Kind::User;
  std::string_view name;  // of the value; ConstantInput: of the argument
  std::string_view fqn;   // Parameter, Buffer, TensorConstant, CustomObject
  bool persistent = true;
  RawArg arg;  // User: the argument; ConstantInput: the literal
};

struct RawOutputSpec {
  enum class Kind : uint8_t { User, BufferMutation, InputMutation, ParameterMutation, Other } kind = Kind::User;
  std::string_view tag;     // for messages
  std::string_view name;    // of the value, except User
  std::string_view target;  // FQN or name of the input that is written
  RawArg arg;               // User
};

struct RawRange {
  std::string_view key;  // a printed expression, mostly a symbol
  std::optional<int64_t> lo, hi;
};

struct ExportedProgram {
  RawGraph graph;
  std::vector<RawInputSpec> inputs;
  std::vector<RawOutputSpec> outputs;
  std::vector<RawRange> ranges;
  std::vector<std::string_view> guards, verifiers;
  int64_t schema_major = 0, schema_minor = 0;
  std::string_view torch_version;
  uint64_t json_bytes = 0;
  std::shared_ptr<const void> strings;  // keeps the views alive, together with the archive
};
Result<ExportedProgram> read_exported(const archive::Pt2& archive, std::string_view model);

// One row of a payload table: where a parameter, buffer or constant lies.
struct RawPayload {
  std::string_view path;  // file name inside the table's folder
  bool is_param = false, pickled = false;
  std::optional<RawTensorMeta> meta;  // none for objects
};
struct PayloadTable {
  std::string entry;   // of the table itself, for messages
  std::string folder;  // "data/weights/"
  std::unordered_map<std::string_view, RawPayload> rows;
  std::shared_ptr<const void> strings;
};
Result<PayloadTable> read_payload_table(const archive::Pt2& archive, std::string entry, std::string folder);

}  // namespace edgelift::importer
