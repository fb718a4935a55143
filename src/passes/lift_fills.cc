// Tensors of one number whose size only the run knows (the zero state of a recurrent layer with a dynamic batch): what
// only rearranges one is one again, a linear of one is one row for all, and consumers that broadcast get a constant
// with ones for the dynamic sizes (lift-expand drops the expansion). Exact.
#include "base/numbers.h"
#include "match/views.h"
#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

// The number that every element is.
std::optional<double> fill_of(const Value* value) {
  const ir::Node* node = value->producer;
  if (node == nullptr || !node->is("full") || !is_f32_or_f16(value) || value->type.is_static()) return std::nullopt;
  const ir::Arg& arg = node->args.at(1);
  if (const auto* d = std::get_if<double>(&arg)) return *d;
  if (const auto* i = std::get_if<SymInt>(&arg); i != nullptr && i->is_const()) return static_cast<double>(i->value());
  return std::nullopt;
}

// A slice, view, permutation … of one number is that number in another shape.
bool rearranged(ir::Node& node, ir::Rewriter& rewriter) {
  if (node.results.size() != 1 || !node.result()->type.is_tensor()) return false;
  if (!ops::record(node).has(ops::kView) && !match::permutation_of(node) && !node.is("slice", "Tensor") &&
      !node.is("select", "int") && !node.is("expand") && !node.is("clone"))
    return false;
  auto* const* source = std::get_if<Value*>(&node.args.at(0));
  if (source == nullptr) return false;
  const auto number = fill_of(*source);
  const ir::Type& type = node.result()->type;
  if (!number || type.dtype != (*source)->type.dtype) return false;
  rewriter.set_insert_point(&node);
  Value* full = nullptr;
  if (type.is_static()) {
    full = rewriter.constant(node.result()->name,
                             scalar_data(type.dtype, *number).expanded(type.static_sizes()).contiguous());
  } else {
    full = rewriter.make("full", {ir::IntList(type.sizes.begin(), type.sizes.end()), *number}, {{"dtype", type.dtype}});
  }
  rewriter.replace(node.result(), full);
  rewriter.erase_dead(&node);
  return true;
}

// The constant with ones for the dynamic sizes.
Value* narrow(ir::Rewriter& rewriter, const Value* full, double number) {
  std::vector<int64_t> sizes;
  std::string name = "fill_" + std::string(short_name(full->type.dtype)) + "_" + float_text(number, full->type.dtype);
  for (const SymInt& size : full->type.sizes) {
    sizes.push_back(size.is_const() ? size.value() : 1);
    name += "_" + std::to_string(sizes.back());
  }
  return shared_constant(rewriter, name, scalar_data(full->type.dtype, number).expanded(sizes).contiguous());
}

bool of_linear(ir::Node& node, ir::Rewriter& rewriter) {
  if (!node.is("linear")) return false;
  Value* x = std::get<Value*>(node.args.at(0));
  const auto number = fill_of(x);
  if (!number || !x->type.sizes.back().is_const()) return false;
  rewriter.set_insert_point(&node);
  const ir::Shape& wide = node.result()->type.sizes;
  Value* row = rewriter.make("linear", {narrow(rewriter, x, *number), node.args.at(1), node.args.at(2)});
  Value* rows = rewriter.make("expand", {row, ir::IntList(wide.begin(), wide.end())});
  rewriter.replace(node.result(), rows);
  rewriter.erase_dead(&node);
  return true;
}

bool open_fill(ir::Node& node, ir::Rewriter& rewriter) {
  if (node.results.size() != 1) return false;
  const auto number = fill_of(node.result());
  if (!number || rewriter.graph().is_output(node.result())) return false;
  // An expansion that nobody's broadcasting takes away would be worse than the fill.
  for (const ir::Node* user : node.result()->users) {
    if (!ops::record(*user).has(ops::kPointwise)) return false;
    bool given = false;
    for (const Value* operand : user->operands())
      given = given || (operand != node.result() && ops::same_shape(operand->type.sizes, user->result()->type.sizes));
    if (!given) return false;
  }
  rewriter.set_insert_point(&node);
  const ir::Shape& wide = node.result()->type.sizes;
  Value* rows =
      rewriter.make("expand", {narrow(rewriter, node.result(), *number), ir::IntList(wide.begin(), wide.end())});
  rewriter.replace(node.result(), rows);
  rewriter.erase_dead(&node);
  return true;
}

}  // namespace

Result<bool> lift_fills(ir::Program& program, PassContext& context) {
  EL_TRY(const bool moved, rewrite_nodes(program, context, [](ir::Node& node, ir::Rewriter& rewriter, PassContext&) {
           return rearranged(node, rewriter) || of_linear(node, rewriter);
         }));
  EL_TRY(const bool opened, rewrite_nodes(program, context, [](ir::Node& node, ir::Rewriter& rewriter, PassContext&) {
           return open_fill(node, rewriter);
         }));
  return moved || opened;
}

}  // namespace edgelift::passes
