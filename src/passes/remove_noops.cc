// Removes operators that leave every element where it is, and joins chains of views and of permutations.
#include <algorithm>

#include "match/constant.h"
#include "match/views.h"
#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

// Whether uses of `from` may become uses of `to`: a value that the caller or the program owns cannot be an output, and
// one value should not be two outputs.
bool may_replace(const ir::Graph& graph, const Value* from, const Value* to) {
  if (!graph.is_output(from)) return true;
  return to->producer != nullptr && !graph.is_output(to);
}

Value* source_of(const ir::Node& node) {
  if (node.args.empty()) return nullptr;
  auto* const* source = std::get_if<Value*>(&node.args[0]);
  return source != nullptr && (*source)->type.is_tensor() ? *source : nullptr;
}

bool is_reshape(const ir::Node& node) {
  if (node.op->ns != "aten" || node.results.size() != 1) return false;
  const std::string_view base = node.op->base;
  if (base == "view") return node.op->overload == "default";
  return base == "_unsafe_view" || base == "reshape" || base == "unsqueeze" || base == "squeeze" || base == "flatten";
}

size_t symbolic_dims(const ir::Type& type) {
  size_t count = 0;
  for (const SymInt& size : type.sizes) count += !size.is_const();
  return count;
}

// view(view(x)) -> view(x)
bool join_reshapes(ir::Node& node, ir::Rewriter& rewriter) {
  Value* source = source_of(node);
  if (!is_reshape(node) || source == nullptr || source->producer == nullptr || !is_reshape(*source->producer))
    return false;
  Value* base = source_of(*source->producer);
  const ir::Type& type = node.result()->type;
  if (base == nullptr || !type.dim_order.empty() || !base->type.dim_order.empty() || !source->type.dim_order.empty())
    return false;
  if (symbolic_dims(type) > 1) return false;
  rewriter.set_insert_point(&node);
  Value* joined = base;
  if (!ops::same_shape(base->type.sizes, type.sizes) || !may_replace(rewriter.graph(), node.result(), base))
    joined = rewriter.make("view", {base, ir::IntList(type.sizes.begin(), type.sizes.end())});
  rewriter.replace(node.result(), joined);
  rewriter.erase_dead(&node);
  return true;
}

// permute(permute(x)) -> permute(x)
bool join_permutes(ir::Node& node, ir::Rewriter& rewriter) {
  const auto outer = match::permutation_of(node);
  if (!outer) return false;
  Value* source = source_of(node);
  if (source->producer == nullptr) return false;
  const auto inner = match::permutation_of(*source->producer);
  if (!inner || inner->size() != outer->size()) return false;
  Value* base = source_of(*source->producer);
  if (!node.result()->type.dim_order.empty() || !base->type.dim_order.empty()) return false;
  ir::IntList dims;
  bool identity = true;
  for (size_t i = 0; i < outer->size(); ++i) {
    const int64_t from = (*inner)[static_cast<size_t>((*outer)[i])];
    identity = identity && from == static_cast<int64_t>(i);
    dims.emplace_back(from);
  }
  rewriter.set_insert_point(&node);
  Value* joined = base;
  if (!identity || !may_replace(rewriter.graph(), node.result(), base)) joined = rewriter.make("permute", {base, dims});
  rewriter.replace(node.result(), joined);
  rewriter.erase_dead(&node);
  return true;
}

bool drop_if_noop(ir::Node& node, ir::Rewriter& rewriter) {
  Value* source = nullptr;
  if (node.is("cat")) {
    const auto& parts = std::get<ir::ValueList>(node.args.at(0));
    if (parts.size() == 1 && parts[0]->type == node.result()->type) source = parts[0];
  } else if (match::is_noop(node)) {
    source = source_of(node);
  }
  if (source == nullptr || !may_replace(rewriter.graph(), node.result(), source)) return false;
  rewriter.replace(node.result(), source);
  rewriter.erase_dead(&node);
  return true;
}

// x and true, x or false: x, spread to the shape of the other side.
bool drop_logic(ir::Node& node, ir::Rewriter& rewriter) {
  const std::string_view base = node.op->base;
  const bool conjunction = base == "logical_and" || base == "bitwise_and" || base == "__and__";
  if (!conjunction && base != "logical_or" && base != "bitwise_or" && base != "__or__") return false;
  if (node.op->ns != "aten" || node.args.size() < 2 || node.result()->type.dtype != DType::Bool) return false;
  for (size_t side = 0; side < 2; ++side) {
    auto* const* constant = std::get_if<Value*>(&node.args[side]);
    auto* const* x = std::get_if<Value*>(&node.args[1 - side]);
    if (constant == nullptr || x == nullptr || (*constant)->type.dtype != DType::Bool ||
        (*x)->type.dtype != DType::Bool)
      continue;
    const auto data = match::as_constant(*constant);
    if (!data || data->empty() || data->numel() > (1 << 20)) continue;
    const std::vector<double> values = data->to_doubles();
    if (!std::all_of(values.begin(), values.end(), [&](double v) { return (v != 0) == conjunction; })) continue;
    const ir::Shape& shape = node.result()->type.sizes;
    Value* result = *x;
    rewriter.set_insert_point(&node);
    if (!ops::same_shape((*x)->type.sizes, shape)) {
      result = rewriter.make("expand", {*x, ir::IntList(shape.begin(), shape.end())});
    } else if (!may_replace(rewriter.graph(), node.result(), *x)) {
      continue;
    }
    rewriter.replace(node.result(), result);
    rewriter.erase_dead(&node);
    return true;
  }
  return false;
}

}  // namespace

Result<bool> remove_noops(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, [](ir::Node& node, ir::Rewriter& rewriter, PassContext&) {
    if (node.results.size() != 1) return false;
    return drop_if_noop(node, rewriter) || drop_logic(node, rewriter) || join_reshapes(node, rewriter) ||
           join_permutes(node, rewriter);
  });
}

Result<bool> remove_noop_expand(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, [](ir::Node& node, ir::Rewriter& rewriter, PassContext&) {
    if (!match::is_noop_expand(node)) return false;
    Value* source = source_of(node);
    if (!may_replace(rewriter.graph(), node.result(), source)) return false;
    rewriter.replace(node.result(), source);
    rewriter.erase_dead(&node);
    return true;
  });
}

}  // namespace edgelift::passes
