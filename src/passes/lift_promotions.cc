// Arithmetic of a float with an integer or a bool, beside delegated operators: the integer becomes a float outside, as
// promotion does, and the arithmetic goes inside. Exact.
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

bool rewrite(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!node.is("add", "Tensor") && !node.is("sub", "Tensor") && !node.is("mul", "Tensor") && !node.is("div", "Tensor"))
    return false;
  if (!is_f32_or_f16(node.result())) return false;
  const DType dtype = node.result()->type.dtype;
  size_t floats = 0, others = 0;
  for (const Value* operand : node.operands()) {
    if (operand->type.dtype == dtype)
      ++floats;
    else if (is_integer(operand->type.dtype) || operand->type.dtype == DType::Bool)
      ++others;
    else
      return false;
  }
  if (others == 0 || (floats == 0 && !node.is("div", "Tensor")) || !beside_delegated(node)) return false;
  Lift lift(rewriter, node);
  std::vector<ir::Arg> args = node.args;
  for (ir::Arg& arg : args)
    if (auto** value = std::get_if<Value*>(&arg); value != nullptr && (*value)->type.dtype != dtype)
      *value = lift.flags(*value, dtype);
  if (lift.failed()) return commit(lift, node, node.result(), context);
  return commit(lift, node, lift.make(node.op->full_name(), args), context);
}

}  // namespace

Result<bool> lift_promotions(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, rewrite);
}

}  // namespace edgelift::passes
