// One record an operator: everything that edgelift knows of it. Records stand in explicit tables, one
// file an operator family; table.cc lists the families.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/rewriter.h"
#include "ops/call.h"

namespace edgelift::ops {

class XnnBuilder;

// Why an operator is not delegated. The sentence is complete without the operator's name:
// "the kernel's weight is not a constant", and goes to the person as it is.
struct Refusal {
  enum class Code : uint8_t {
    NoForm,  // XNNPACK's delegate has no node that means this
    Dtype,
    Rank,
    Shape,
    Dynamic,
    Attribute,
    NotConstant,
    Empty,
    Layout,
    Upstream,  // accepted by edgelift, refused by ExecuTorch's own partitioner (recipe upstream)
    Policy,    // portable recipe, or asked to stay outside
  } code = Code::NoForm;
  std::string sentence;
};
using LowerResult = std::optional<Refusal>;  // nullopt: lowered
inline LowerResult refuse(Refusal::Code code, std::string sentence) { return Refusal{code, std::move(sentence)}; }

using InferFn = Result<std::vector<ir::Type>> (*)(const Call&);
// Appends the nodes that compute the call to the builder, or refuses. The partitioner calls it on a scratch builder,
// the real lowering on the delegate's: it must depend on nothing but the call.
using LowerFn = LowerResult (*)(const Call&, XnnBuilder&);
// What ExecuTorch 1.5.1's partitioner accepts beyond its general gates (xnnpack-op-rules A). Null: never.
using UpstreamFn = LowerResult (*)(const Call&);
// Why the out-variant kernel cannot compute this call (a dtype that it does not take, an argument that it ignores):
// nullopt if it can, else a sentence like a refusal's. Called before emission, so that nothing fails at run time.
using KernelCheckFn = std::optional<std::string> (*)(const Call&);

enum Trait : uint32_t {
  kNone = 0,
  kView = 1u << 0,       // result holds the operand's elements in the same row-major order (view, squeeze, …)
  kPointwise = 1u << 1,  // one output element depends on the operands' elements at the (broadcast) same place
  kInPlace = 1u << 2,    // writes its first argument; edge/functionalize names the functional twin
  kEffect = 1u << 3,     // must not be removed or moved though unused
  kRandom = 1u << 4,
  kCheck = 1u << 5,      // pure assertion without result: dropped by to_edge
  kAlias = 1u << 6,      // ATen returns a view of its first argument (for functionalisation)
  kOwnDtypes = 1u << 7,  // lower() checks dtypes itself (conversions); the general gate leaves them alone
};

// One row of a family's table.
struct OpDef {
  // PyTorch's schema text with namespace: "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
  std::string_view schema;
  InferFn infer = nullptr;  // every record has one
  LowerFn lower = nullptr;
  // The out-variant kernel: "aten::add.out", by default called with every argument of the schema that is not Ignored,
  // then the outs. Where the kernel takes other arguments they are listed: names of schema arguments, or the literals
  // none, true, false, integers, or @dim_order (the result's dim order as int list, or none when row-major):
  // "dim_order_ops::_to_dim_order_copy.out(self, non_blocking, @dim_order)". Empty: no kernel.
  std::string_view kernel = {};
  uint32_t traits = kNone;
  // For docs/operators.md and, where lower is null, for the refusal: with lower, the conditions under which the
  // operator is delegated beyond the general gates; without, why it never is. A sentence without the operator's name.
  std::string_view note = {};
  KernelCheckFn kernel_check = nullptr;
};

struct OpRecord final : ir::Op {
  InferFn infer = nullptr;
  LowerFn lower = nullptr;
  UpstreamFn upstream = nullptr;
  std::string kernel;  // "aten::add.out"; empty: none
  struct KernelArg {
    enum class Kind : uint8_t { Schema, Literal, DimOrder } kind = Kind::Schema;
    size_t index = 0;  // Schema: argument index
    ir::Arg literal;
  };
  std::vector<KernelArg> kernel_args;
  uint32_t traits = kNone;
  std::string note;
  KernelCheckFn kernel_check = nullptr;

  bool has(Trait trait) const { return (traits & trait) != 0; }
  // Name in ExecuTorch's edge dialect, which reports use: aten::permute_copy.default, aten::mul.Scalar.
  std::string edge_name() const;
};

inline const OpRecord& record(const ir::Op& op) { return static_cast<const OpRecord&>(op); }
inline const OpRecord& record(const ir::Node& node) { return static_cast<const OpRecord&>(*node.op); }
inline bool is_delegate(const ir::Node& node) { return node.op == &ir::delegate_op(); }

// The table of all operators; built once at first use, immutable afterwards.
const ir::OpTable& table();
const OpRecord* find(std::string_view full_or_text_name);
std::span<const OpRecord* const> all_records();

// Why the node's kernel cannot run it: none in the runtime, or the record's kernel_check. nullopt if it can.
std::optional<std::string> kernel_refusal(const Call& call);

// True if the pinned runtime registers the kernel (list read from its registry at build time).
bool kernel_registered(std::string_view kernel);

// Parses a schema in PyTorch's text form. Used for the tables; a malformed one is a Bug.
OpRecord parse_schema(std::string_view text);

}  // namespace edgelift::ops
