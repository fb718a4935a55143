// Bilinear resampling spelled out: four gathers by constant indices, blended along W and then along H. The constants
// are checked against the definition, for both conventions of the corners.
#include <algorithm>
#include <cmath>

#include "match/constant.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

Value* operand(const ir::Node& node, size_t index) {
  auto* const* value = std::get_if<Value*>(&node.args.at(index));
  return value == nullptr || !(*value)->type.is_tensor() ? nullptr : *value;
}

ir::Node* made_by(Value* value, std::string_view base) {
  return value != nullptr && value->producer != nullptr && value->producer->is(base, "Tensor") ? value->producer
                                                                                               : nullptr;
}

// low + (high - low) * alpha in either order of the sum and of the product.
struct Blend {
  Value *low = nullptr, *high = nullptr;
  TensorData alpha;
};

bool as_blend(Value* value, Blend& blend) {
  ir::Node* add = made_by(value, "add");
  if (add == nullptr) return false;
  for (size_t side = 0; side < 2; ++side) {
    ir::Node* mul = made_by(operand(*add, side), "mul");
    Value* low = operand(*add, 1 - side);
    if (mul == nullptr || low == nullptr) continue;
    for (size_t factor = 0; factor < 2; ++factor) {
      ir::Node* sub = made_by(operand(*mul, factor), "sub");
      if (sub == nullptr || operand(*sub, 1) != low || operand(*mul, 1 - factor) == nullptr) continue;
      const auto alpha = match::as_constant(operand(*mul, 1 - factor));
      if (!alpha) continue;
      blend.low = low;
      blend.high = operand(*sub, 0);
      blend.alpha = *alpha;
      return blend.high != nullptr;
    }
  }
  return false;
}

struct Gather {
  Value* source = nullptr;
  std::vector<double> rows, columns;
};

bool as_gather(Value* value, Gather& gather) {
  if (value == nullptr || value->producer == nullptr) return false;
  const ir::Node& node = *value->producer;
  if (node.op->base != "index" && node.op->base != "_unsafe_index") return false;
  gather.source = operand(node, 0);
  const auto* indices = std::get_if<ir::ValueList>(&node.args.at(1));
  if (gather.source == nullptr || indices == nullptr || indices->size() != 4 || (*indices)[0] != nullptr ||
      (*indices)[1] != nullptr)
    return false;
  if ((*indices)[2] == nullptr || (*indices)[3] == nullptr || gather.source->type.rank() != 4) return false;
  const auto rows = match::as_constant((*indices)[2]), columns = match::as_constant((*indices)[3]);
  if (!rows || !columns) return false;
  // [H, 1] and [W], or [W] with leading ones.
  if (rows->rank() < 2 || rows->sizes().back() != 1 || columns->rank() < 1 ||
      columns->sizes().back() != columns->numel())
    return false;
  gather.rows = rows->to_doubles();
  gather.columns = columns->to_doubles();
  return true;
}

// Whether position i of the output lies between elements low[i] and high[i], alpha[i] of the way, by the definition.
bool is_linear(const std::vector<double>& low, const std::vector<double>& high, const std::vector<double>& alpha,
               int64_t in, bool align_corners) {
  const auto out = static_cast<double>(low.size());
  if (high.size() != low.size() || alpha.size() != low.size()) return false;
  const double step =
      align_corners ? (out > 1 ? static_cast<double>(in - 1) / (out - 1) : 0) : static_cast<double>(in) / out;
  for (size_t i = 0; i < low.size(); ++i) {
    const auto at = static_cast<double>(i);
    const double source = align_corners ? at * step : std::max(0.0, (at + 0.5) * step - 0.5);
    // Positions in float32 may fall on either side of an element: what counts is the blended position.
    const double blended = low[i] + (high[i] - low[i]) * alpha[i];
    if (std::fabs(blended - std::min(source, static_cast<double>(in - 1))) > 1e-4 * std::max(1.0, source)) return false;
    if (high[i] - low[i] != 1 && high[i] != low[i]) return false;
  }
  return true;
}

bool rewrite(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!node.is("add", "Tensor") || node.result()->type.rank() != 4) return false;
  Blend outer, upper, lower;
  if (!as_blend(node.result(), outer) || !as_blend(outer.low, upper) || !as_blend(outer.high, lower)) return false;
  Gather corners[4];
  Value* values[4] = {upper.low, upper.high, lower.low, lower.high};
  for (size_t i = 0; i < 4; ++i)
    if (!as_gather(values[i], corners[i]) || corners[i].source != corners[0].source) return false;
  Value* source = corners[0].source;
  if (!source->type.is_static() || !node.result()->type.is_static()) return false;
  // The corners share their rows and columns in pairs: 00 01 10 11.
  if (corners[0].rows != corners[1].rows || corners[2].rows != corners[3].rows ||
      corners[0].columns != corners[2].columns || corners[1].columns != corners[3].columns ||
      !(upper.alpha.to_doubles() == lower.alpha.to_doubles()))
    return false;
  const std::vector<int64_t> from = source->type.static_sizes(), to = node.result()->type.static_sizes();
  const std::vector<double> down = outer.alpha.to_doubles(), across = upper.alpha.to_doubles();
  for (const bool align_corners : {false, true}) {
    if (!is_linear(corners[0].rows, corners[2].rows, down, from[2], align_corners)) continue;
    if (!is_linear(corners[0].columns, corners[1].columns, across, from[3], align_corners)) continue;
    Lift lift(rewriter, node);
    Value* resized = lift.make_outside("upsample_bilinear2d.vec",
                                       {source, ir::IntList{SymInt(to[2]), SymInt(to[3])}, align_corners, ir::Arg()});
    return commit(lift, node, resized, context);
  }
  return false;
}

}  // namespace

Result<bool> recognise_upsample(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, rewrite);
}

}  // namespace edgelift::passes
