#include "base/check.h"
#include "edge/complex.h"
#include "edge/edge.h"
#include "edge/table.h"
#include "edge/upstream.h"
#include "ops/record.h"
#include "ops/xnn_builder.h"

namespace edgelift::edge {
namespace {

bool is_tensor_kind(ir::ArgKind kind) { return kind == ir::ArgKind::Tensor || kind == ir::ArgKind::OptTensor; }

// Whether a number stands where the schema says Tensor: x * 2.0 is recorded as mul.Tensor(x, 2.0).
bool has_number_for_tensor(const Node& node) {
  const auto& specs = node.op->schema.args;
  for (size_t i = 0; i < specs.size(); ++i)
    if (is_tensor_kind(specs[i].kind) && is_number(node.args[i])) return true;
  return false;
}

DType number_dtype(const Arg& number) {
  if (const auto* v = std::get_if<Value*>(&number))
    return (*v)->type.kind == Type::Kind::Bool  ? DType::Bool
           : (*v)->type.kind == Type::Kind::Int ? DType::I64
                                                : DType::F32;
  if (std::holds_alternative<bool>(number)) return DType::Bool;
  return std::holds_alternative<SymInt>(number) ? DType::I64 : DType::F32;
}

// The overload of the same operator that takes a number for `other`, or empty.
std::string scalar_overload(const ir::Op& op, const ir::OpTable& ops) {
  if (op.ns != "aten") return {};
  std::string name;
  if (op.overload == "Tensor")
    name = op.base + ".Scalar";
  else if (op.overload == "Tensor_mode")
    name = op.base + ".Scalar_mode";
  else if (op.is("pow", "Tensor_Tensor"))
    name = "pow.Tensor_Scalar";
  else if (op.is("floor_divide", "default"))
    name = "floor_divide.Scalar";
  if (op.is("bitwise_left_shift", "Tensor") || op.is("bitwise_right_shift", "Tensor"))
    name = op.base + ".Tensor_Scalar";
  return !name.empty() && ops.find(name) != nullptr ? name : std::string();
}

Result<bool> numbers(Builder& b) {
  Node& node = b.node();
  const auto& specs = node.op->schema.args;
  std::vector<Arg> args = node.args;
  std::vector<size_t> at;
  DType beside = DType::Bool;
  bool any_tensor = false;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!is_tensor_kind(specs[i].kind)) continue;
    if (is_number(args[i]))
      at.push_back(i);
    else if (is_tensor(args[i])) {
      const DType d = std::get<Value*>(args[i])->type.dtype;
      beside = any_tensor ? promote(beside, d) : d;
      any_tensor = true;
    }
  }
  if (!b.upstream && at.size() == 1 && at[0] == 1) {
    const std::string scalar = scalar_overload(*node.op, b.rewriter().ops());
    if (!scalar.empty()) {
      // Both overloads take the same arguments; only the second's kind differs.
      return b.replace(b.make_all(scalar, std::move(args)));
    }
  }
  // Upstream: int64, float32 or bool, whatever stands beside; else the dtype that promotion would give the number.
  for (const size_t i : at) {
    const DType dtype = b.upstream || !any_tensor ? number_dtype(args[i]) : wrapped_dtype(args[i], beside);
    args[i] = b.number_tensor(args[i], dtype);
  }
  return b.replace(b.make_all(node.op->full_name(), std::move(args)));
}

Result<bool> drop_check(Builder& b) { return b.drop(); }

constexpr Entry kNumbers = {"", numbers};
constexpr Entry kDropCheck = {"", drop_check};

const Entry* first_pass(const Node& node) {
  const ops::OpRecord& record = ops::record(node);
  if (node.results.empty() && record.has(ops::kCheck)) return &kDropCheck;
  return has_number_for_tensor(node) ? &kNumbers : nullptr;
}

// In-place operators get their numbers as they are: their functional twins take them.
const Entry* checks_only(const Node& node) {
  return node.results.empty() && ops::record(node).has(ops::kCheck) ? &kDropCheck : nullptr;
}

// Kernels take row-major and channels-last operands. An input laid out otherwise is put in row-major order first.
void order_inputs(ir::Program& program, const ir::OpTable& ops) {
  for (const auto& method : program.methods) {
    ir::Rewriter rewriter(program, *method, ops);
    for (Value* input : std::vector<Value*>(method->inputs())) {
      const auto& order = input->type.dim_order;
      if (!input->type.is_tensor() || order.empty() || input->users.empty()) continue;
      const bool channels_last =
          order == std::vector<uint8_t>{0, 2, 3, 1} || order == std::vector<uint8_t>{0, 2, 3, 4, 1};
      if (channels_last) continue;
      rewriter.set_insert_point(method->first());
      rewriter.set_origin(nullptr);
      Node* copy = rewriter.create("clone", {input}, {{"memory_format", ir::MemoryFormat::Contiguous}});
      std::vector<Node*> users = input->users;
      for (Node* user : users) {
        if (user == copy) continue;
        for (size_t i = 0; i < user->args.size(); ++i) {
          Arg arg = user->args[i];
          bool found = false;
          if (auto* v = std::get_if<Value*>(&arg); v != nullptr && *v == input) *v = copy->result(), found = true;
          if (auto* list = std::get_if<ValueList>(&arg))
            for (Value*& v : *list)
              if (v == input) v = copy->result(), found = true;
          if (found) method->set_arg(user, i, std::move(arg));
        }
      }
    }
  }
}

void clean(ir::Program& program, const ir::OpTable& ops) {
  for (const auto& method : program.methods) {
    ir::Rewriter rewriter(program, *method, ops);
    rewriter.remove_dead_code();
  }
  program.remove_unused_constants();
}

}  // namespace

Status to_edge(ir::Program& program, const ir::OpTable& ops, const EdgeOptions& options) {
  EL_TRY_OK(apply(program, ops, options, checks_only));
  EL_TRY_OK(functionalize(program, ops, options));
  order_inputs(program, ops);
  EL_TRY_OK(apply(program, ops, options, first_pass));
  // What eager computed and nobody uses would only make the next step longer.
  clean(program, ops);
  const uint8_t when = options.upstream ? kUpstream : kEdge;
  const auto pick = [&](const Node& node) -> const Entry* {
    const Entry* entry = find_entry(node.op);
    if (entry == nullptr || (entry->when & when) == 0) return nullptr;
    return options.upstream && upstream_preserves(node) ? nullptr : entry;
  };
  EL_TRY_OK(apply(program, ops, options, pick));
  EL_TRY(const bool complex, lower_complex(program, ops));
  // What complex arithmetic became is decomposed in turn.
  if (complex) EL_TRY_OK(apply(program, ops, options, pick));
  if (options.upstream) EL_TRY_OK(upstream_cleanup(program, ops));
  clean(program, ops);
  program.stage = ir::Stage::Edge;
  return Ok{};
}

Result<bool> legalize(ir::Program& program, const ir::OpTable& ops, Target target) {
  const EdgeOptions options{.upstream = target == Target::Upstream, .legal = true};
  const auto pick = [&](const Node& node) -> const Entry* {
    if (ops::is_delegate(node)) return nullptr;
    const Entry* entry = find_entry(node.op);
    if (entry == nullptr) return nullptr;
    if (!ops::kernel_refusal(ops::Call(node))) return nullptr;
    if (target == Target::Full && !ops::refusal(node).has_value()) return nullptr;
    if (target == Target::Upstream && !ops::upstream_refusal(node).has_value()) return nullptr;
    return entry;
  };
  EL_TRY(const bool changed, apply(program, ops, options, pick));
  clean(program, ops);
  return changed;
}

}  // namespace edgelift::edge
