// Activations and norms spelled out become the operator that means them.
#include <functional>

#include "match/activation.h"
#include "match/norm.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

bool replace_by(ir::Node& node, ir::Rewriter& rewriter, PassContext& context,
                const std::function<Value*(Lift&)>& build) {
  Lift lift(rewriter, node);
  return commit(lift, node, std::vector<Value*>{build(lift)}, context);
}

bool rewrite(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (Value* x = match::match_gelu_tanh(node))
    return replace_by(node, rewriter, context, [&](Lift& lift) {
      return lift.make_outside("gelu", {x}, {{"approximate", std::string("tanh")}});
    });
  if (Value* x = match::match_gelu_erf(node))
    return replace_by(node, rewriter, context, [&](Lift& lift) { return lift.make_outside("gelu", {x}); });
  if (Value* x = match::match_silu(node))
    return replace_by(node, rewriter, context, [&](Lift& lift) { return lift.make_outside("silu", {x}); });
  if (const auto norm = match::match_layer_norm(node)) {
    const ir::Shape& shape = norm->input->type.sizes;
    const ir::IntList normalized(shape.end() - static_cast<std::ptrdiff_t>(norm->dims), shape.end());
    return replace_by(node, rewriter, context, [&](Lift& lift) {
      return lift.make_outside("native_layer_norm", {norm->input, normalized, ir::Arg(), ir::Arg(), norm->eps});
    });
  }
  return false;
}

}  // namespace

Result<bool> recognise(ir::Program& program, PassContext& context) { return rewrite_nodes(program, context, rewrite); }

}  // namespace edgelift::passes
