// A convolution whose stride is its kernel reads every element once: it is a reshape to patches and a fully-connected,
// which runs at the speed of the matrix product. Done where the result becomes a row of tokens, or the input is the
// caller's; between other convolutions the reshape would leave their layout.
#include "match/views.h"
#include "passes/affine.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

bool becomes_tokens(const Value* value) {
  const ir::Node* view = match::only_user(value);
  if (view == nullptr || view->results.size() != 1 || view->result()->type.rank() != 3) return false;
  const ir::Node* after = match::only_user(view->result());
  if (after == nullptr) return false;
  const auto permutation = match::permutation_of(*after);
  return permutation && *permutation == std::vector<int64_t>{0, 2, 1};
}

bool rewrite(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!node.is("convolution") && !node.is("conv2d")) return false;
  const auto layer = as_layer(node);
  if (!layer || layer->kind != Layer::Kind::Conv || layer->groups != 1 || layer->padded) return false;
  const ops::Call call(node);
  Value* input = call.tensor("input");
  const auto& sizes = layer->weight_data.sizes();
  if (sizes.size() != 4 || input->type.rank() != 4 || !input->type.is_static()) return false;
  if (call.is_symbolic("stride") || call.is_symbolic("dilation")) return false;
  const auto stride = ops::repeat_to(call.integers("stride"), 2),
             dilation = ops::repeat_to(call.integers("dilation"), 2);
  const int64_t kh = sizes[2], kw = sizes[3];
  if (stride[0] != kh || stride[1] != kw || kh * kw == 1) return false;
  if ((kh > 1 && dilation[0] != 1) || (kw > 1 && dilation[1] != 1)) return false;
  const std::vector<int64_t> shape = input->type.static_sizes();
  if (shape[2] % kh != 0 || shape[3] % kw != 0) return false;
  const bool tokens = becomes_tokens(node.result());
  if (!tokens && !input->is_input()) return false;

  const SymInt batch(shape[0]), rows(shape[2] / kh), columns(shape[3] / kw);
  const int64_t width = sizes[1] * kh * kw;
  Lift lift(rewriter, node);
  Value* patches = lift.view(input, {batch, SymInt(shape[1]), rows, SymInt(kh), columns, SymInt(kw)});
  patches = lift.view(lift.permute(patches, {0, 2, 4, 1, 3, 5}), {batch, rows * columns, SymInt(width)});
  const std::string name = layer->weight->is_constant() ? layer->weight->constant->name : layer->weight->name;
  Value* weight = rewriter.constant(name + "_rows", layer->weight_data.reshaped({sizes[0], width}));
  Value* out = layer->bias != nullptr ? lift.make("linear", {patches, weight, layer->bias})
                                      : lift.make("linear", {patches, weight});
  out = lift.view(lift.permute(out, {0, 2, 1}), {batch, SymInt(sizes[0]), rows, columns});
  return commit(lift, node, out, context);
}

}  // namespace

Result<bool> patchify(ir::Program& program, PassContext& context) { return rewrite_nodes(program, context, rewrite); }

}  // namespace edgelift::passes
