#include "match/norm.h"

#include "match/constant.h"
#include "ops/call.h"
#include "ops/infer.h"

namespace edgelift::match {
namespace {

ir::Node* made_by(ir::Value* value, std::string_view base, std::string_view overload = "default") {
  return value != nullptr && value->producer != nullptr && value->producer->is(base, overload) ? value->producer
                                                                                               : nullptr;
}

ir::Value* operand(const ir::Node& node, size_t index) {
  auto* const* value = std::get_if<ir::Value*>(&node.args.at(index));
  return value == nullptr || !(*value)->type.is_tensor() ? nullptr : *value;
}

// x if value is x*x: pow 2, square, or mul of equal operands.
ir::Value* squared(ir::Value* value) {
  if (ir::Node* pow = made_by(value, "pow", "Tensor_Scalar")) {
    const ops::Call call(*pow);
    const auto exponent = call.opt_number("exponent");
    return exponent && *exponent == 2 ? operand(*pow, 0) : nullptr;
  }
  if (ir::Node* square = made_by(value, "square")) return operand(*square, 0);
  if (ir::Node* mul = made_by(value, "mul", "Tensor"))
    return operand(*mul, 0) == operand(*mul, 1) ? operand(*mul, 0) : nullptr;
  return nullptr;
}

// x if value is mean(x) with keepdim over exactly the `dims` trailing dims; dims is set if it was zero.
ir::Value* mean_of(ir::Value* value, int64_t& dims) {
  ir::Node* mean = made_by(value, "mean", "dim");
  if (mean == nullptr) return nullptr;
  const ops::Call call(*mean);
  ir::Value* x = operand(*mean, 0);
  if (x == nullptr || !call.flag("keepdim") || call.has("dtype")) return nullptr;
  const auto over = ops::normalize_dims(call.integers("dim"), x->type.rank(), true);
  if (!over.ok()) return nullptr;
  const auto count = static_cast<int64_t>(over->size());
  for (int64_t i = 0; i < count; ++i)
    if ((*over)[static_cast<size_t>(i)] != x->type.rank() - count + i) return nullptr;
  if (dims != 0 && dims != count) return nullptr;
  dims = count;
  return x;
}

// x and eps if value is 1/sqrt(x + eps), and how it is applied.
ir::Value* plus_eps(ir::Value* value, double& eps) {
  ir::Node* add = made_by(value, "add", "Tensor");
  if (add == nullptr) add = made_by(value, "add", "Scalar");
  if (add == nullptr) return nullptr;
  const ops::Call call(*add);
  if (const auto alpha = call.opt_number("alpha"); alpha && *alpha != 1) return nullptr;
  ir::Value* x = operand(*add, 0);
  const ir::Arg& other = add->args.at(1);
  if (const auto* d = std::get_if<double>(&other)) {
    eps = *d;
    return x;
  }
  ir::Value* second = operand(*add, 1);
  if (x == nullptr || second == nullptr) return nullptr;
  if (const auto number = as_number(second)) {
    eps = *number;
    return x;
  }
  if (const auto number = as_number(x)) {
    eps = *number;
    return second;
  }
  return nullptr;
}

// The scaled value and the variance-plus-eps if node is a * rsqrt(b) (either order) or a / sqrt(b).
bool normalised(const ir::Node& node, ir::Value*& a, ir::Value*& b, ir::Node*& root) {
  if (node.is("mul", "Tensor")) {
    for (size_t side = 0; side < 2; ++side) {
      ir::Node* rsqrt = made_by(operand(node, side), "rsqrt");
      if (rsqrt == nullptr) continue;
      a = operand(node, 1 - side);
      b = operand(*rsqrt, 0);
      root = rsqrt;
      return a != nullptr;
    }
    return false;
  }
  if (node.is("div", "Tensor")) {
    ir::Node* sqrt = made_by(operand(node, 1), "sqrt");
    if (sqrt == nullptr) return false;
    a = operand(node, 0);
    b = operand(*sqrt, 0);
    root = sqrt;
    return a != nullptr;
  }
  return false;
}

}  // namespace

std::optional<LayerNorm> match_layer_norm(const ir::Node& node) {
  ir::Value *centred = nullptr, *with_eps = nullptr;
  ir::Node* root = nullptr;
  LayerNorm match;
  if (!normalised(node, centred, with_eps, root)) return std::nullopt;
  ir::Value* variance = plus_eps(with_eps, match.eps);
  if (variance == nullptr) return std::nullopt;
  int64_t dims = 0;
  ir::Value* square = mean_of(variance, dims);
  if (square == nullptr || squared(square) != centred) return std::nullopt;
  ir::Node* sub = made_by(centred, "sub", "Tensor");
  if (sub == nullptr || ops::Call(*sub).opt_number("alpha").value_or(1) != 1) return std::nullopt;
  ir::Value* x = operand(*sub, 0);
  if (x == nullptr || mean_of(operand(*sub, 1), dims) != x) return std::nullopt;
  if (node.results.at(0)->type.sizes != x->type.sizes) return std::nullopt;
  match.input = x;
  match.dims = dims;
  return match;
}

std::optional<RmsNorm> match_rms_norm(const ir::Node& node) {
  ir::Value *x = nullptr, *with_eps = nullptr;
  RmsNorm match;
  if (!normalised(node, x, with_eps, match.rsqrt)) return std::nullopt;
  ir::Value* mean = plus_eps(with_eps, match.eps);
  if (mean == nullptr) return std::nullopt;
  int64_t dims = 1;
  ir::Value* square = mean_of(mean, dims);
  if (square == nullptr || squared(square) != x) return std::nullopt;
  if (node.results.at(0)->type.sizes != x->type.sizes) return std::nullopt;
  match.input = x;
  return match;
}

}  // namespace edgelift::match
