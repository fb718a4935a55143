// native_layer_norm in the delegate's operators: mean and variance as fully-connected with one output and weights 1/C,
// the epsilon as its bias. Against the kernel: at most 4e-7 * sqrt(C) of the output's range, from the order of
// summation.
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

bool lift_node(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  const bool native = node.is("native_layer_norm");
  const bool rms = node.is("rms_norm") || node.is("_fused_rms_norm");
  if (!native && !node.is("layer_norm") && !rms) return false;
  if (delegated(node)) return false;
  const ops::Call call(node);
  Value* input = call.tensor("input");
  Lift lift(rewriter, node);
  const auto& normalized = call.ints("normalized_shape");
  const auto dims = normalized.size();
  const auto rank = static_cast<size_t>(input->type.rank());
  if (dims == 0 || dims > rank) return false;
  Value* x = input;
  ir::Shape shape = input->type.sizes;
  if (dims > 1) {
    const SymInt width = product(std::span(shape).last(dims));
    ir::Shape flat(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(dims));
    flat.push_back(width);
    x = lift.view(x, flat);
  }
  double eps = call.has("eps") ? call.number("eps") : 0;
  Value* y = nullptr;
  if (rms) {
    // Without eps PyTorch takes the element type's epsilon.
    if (!call.has("eps")) eps = input->type.dtype == DType::F16 ? 0x1p-10 : 0x1p-23;
    y = lift.mul(x, lift.make("rsqrt", {lift.mean_last(lift.square(x), eps)}));
  } else {
    y = lift.normalise_last(x, eps);
  }
  y = lift.view(y, shape);
  if (Value* weight = call.opt_tensor("weight")) y = lift.mul(y, weight);
  if (!rms)
    if (Value* bias = call.opt_tensor("bias")) y = lift.add(y, bias);
  return commit(lift, node, std::vector<Value*>{y}, context);
}

}  // namespace

Result<bool> lift_layer_norm(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, lift_node);
}

}  // namespace edgelift::passes
