#include "edge/upstream.h"

#include <algorithm>

#include "edge/builder.h"
#include "ops/record.h"
#include "ops/xnn_builder.h"

namespace edgelift::edge {
namespace {

bool is_any(const Node& node, std::initializer_list<std::string_view> bases) {
  return std::find(bases.begin(), bases.end(), std::string_view(node.op->base)) != bases.end();
}

// The operand that the node returns unchanged, or null.
Value* bypass(const Node& node) {
  if (node.op->ns != "aten") return nullptr;
  if (node.is("slice", "Tensor")) {
    auto* x = std::get<Value*>(node.args[0]);
    const Type& out = node.results[0]->type;
    return x->type.is_static() && out.is_static() && x->type.sizes == out.sizes ? x : nullptr;
  }
  if (node.is("_to_copy")) {
    auto* x = std::get<Value*>(node.args[0]);
    const Type& out = node.results[0]->type;
    const auto order = [](const Type& type) {
      auto order = type.dim_order;
      for (size_t i = order.size(); i < type.sizes.size(); ++i) order.push_back(static_cast<uint8_t>(i));
      return order;
    };
    return x->type.dtype == out.dtype && order(x->type) == order(out) ? x : nullptr;
  }
  return nullptr;
}

void prune_empty(Node& node, ir::Rewriter& rewriter) {
  const ValueList parts = std::get<ValueList>(node.arg("tensors"));
  ValueList kept;
  for (Value* part : parts) {
    const auto numel = part->type.numel();
    if (!numel || *numel != 0) kept.push_back(part);
  }
  if (kept.size() == parts.size()) return;
  if (!kept.empty()) {
    rewriter.set_arg(&node, "tensors", std::move(kept));
    return;
  }
  const Type& type = node.results[0]->type;
  Value* zeros = rewriter.make("full", {IntList(type.sizes), SymInt(0)}, {{"dtype", type.dtype}});
  rewriter.replace(node.results[0], zeros);
  rewriter.erase(&node);
}

bool same_arguments(const Node& a, const Node& b) {
  // Everything but the tensor itself, by name: the scale, the zero point and the range.
  for (size_t i = 1; i < a.op->schema.args.size(); ++i) {
    const std::string& name = a.op->schema.args[i].name;
    if (name == "out_dtype") continue;
    if (b.op->schema.index_of(name) < 0 || !(a.args[i] == b.arg(name))) return false;
  }
  return true;
}

// quantize(dequantize(x)) with the same parameters is x.
bool join_quantize(Node& node, ir::Rewriter& rewriter) {
  if (node.op->ns != "quantized_decomposed" || !node.op->base.starts_with("quantize_")) return false;
  Value* x = std::get<Value*>(node.args[0]);
  const Node* from = x->producer;
  if (from == nullptr || from->op->ns != "quantized_decomposed" || from->op->base != "de" + node.op->base ||
      from->op->overload != node.op->overload || !same_arguments(*from, node))
    return false;
  Value* source = std::get<Value*>(from->args[0]);
  if (source->type.dtype != node.results[0]->type.dtype) return false;
  rewriter.replace(node.results[0], source);
  rewriter.erase(&node);
  return true;
}

// ExecuTorch promotes by casts, and only for these operators.
void cast_operands(Node& node, ir::Rewriter& rewriter) {
  const bool arithmetic = is_any(node, {"add", "sub", "mul", "div"}) && node.op->overload.starts_with("Tensor");
  if (node.op->ns != "aten" || (!arithmetic && !node.is("minimum"))) return;
  const DType to = node.results[0]->type.dtype;
  for (size_t i = 0; i < 2; ++i) {
    auto* x = std::get_if<Value*>(&node.args[i]);
    if (x == nullptr || !(*x)->type.is_tensor() || (*x)->type.dtype == to) continue;
    Value* cast = rewriter.make("_to_copy", {*x}, {{"dtype", to}});
    rewriter.set_arg(&node, node.op->schema.args[i].name, cast);
  }
}

}  // namespace

bool upstream_preserves(const Node& node) {
  const bool listed = node.is("linear") || node.is("max_pool2d") || node.is("upsample_bilinear2d", "vec") ||
                      node.is("prelu") || node.is("hardswish");
  return listed && !ops::upstream_refusal(node).has_value();
}

Status upstream_cleanup(ir::Program& program, const ir::OpTable& ops) {
  for (const auto& method : program.methods) {
    ir::Rewriter rewriter(program, *method, ops);
    for (Node* node = method->first(); node != nullptr;) {
      Node* next = node->next;
      rewriter.set_insert_point(node);
      if (Value* same = bypass(*node)) {
        rewriter.replace(node->results[0], same);
        rewriter.erase(node);
      } else if (node->is("cat")) {
        prune_empty(*node, rewriter);
      } else if (!join_quantize(*node, rewriter)) {
        cast_operands(*node, rewriter);
      }
      node = next;
    }
  }
  return Ok{};
}

}  // namespace edgelift::edge
