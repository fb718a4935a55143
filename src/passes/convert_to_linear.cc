// addmm, mm and matmul by a constant matrix become linear, whose weight the delegate packs. alpha goes into the weight,
// beta into the bias.
#include <cmath>

#include "match/constant.h"
#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"
#include "passes/weights.h"

namespace edgelift::passes {
namespace {

// The constant matrix [in, out] as a weight [out, in]: the constant that it is the transpose of, where there is one.
Value* transposed_weight(ir::Rewriter& rewriter, Value* matrix, double alpha) {
  const auto data = match::as_constant(matrix);
  if (!data || data->rank() != 2 || !is_float(data->dtype())) return nullptr;
  if (alpha == 1 && matrix->producer != nullptr &&
      (matrix->producer->is("permute") || matrix->producer->is("t") || matrix->producer->is("transpose", "int"))) {
    Value* source = std::get<Value*>(matrix->producer->args[0]);
    if (source->is_constant() && source->type.rank() == 2) {
      const auto straight = match::as_constant(source);
      const auto back = data->permuted(std::vector<int64_t>{1, 0});
      if (straight && straight->sizes() == back.sizes() && straight->strides() == back.strides()) return source;
    }
  }
  const TensorData weight = data->permuted(std::vector<int64_t>{1, 0});
  const std::string base = matrix->is_constant() ? matrix->constant->name : matrix->name;
  if (alpha == 1) return shared_constant(rewriter, base + "_t", weight);
  return rewriter.constant(base + "_t", scale_all(weight, alpha));
}

// The addend of addmm as a bias [out]; null if it is no constant vector along the last dim.
Value* bias_of(ir::Rewriter& rewriter, Value* addend, const SymInt& width, double beta) {
  auto data = match::as_constant(addend);
  if (!data || !width.is_const()) return nullptr;
  const int64_t out = width.value();
  // One row for all rows of the product: [out], [1, out], or a single number.
  const bool row = (data->rank() == 1 || (data->rank() == 2 && data->sizes()[0] == 1)) &&
                   (data->sizes().back() == out || data->sizes().back() == 1);
  if (!row && data->rank() != 0) return nullptr;
  if (data->rank() == 1 && data->sizes()[0] == out && beta == 1 && addend->is_constant()) return addend;
  std::vector<double> values = data->reshaped({data->numel()}).expanded(std::vector<int64_t>{out}).to_doubles();
  for (double& value : values) value *= beta;
  return rewriter.constant((addend->is_constant() ? addend->constant->name : addend->name) + "_bias",
                           vector_data(data->dtype(), values));
}

bool convert_addmm(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  const ops::Call call(node);
  Value *addend = call.tensor("self"), *left = call.tensor("mat1"), *right = call.tensor("mat2");
  const double alpha = call.number("alpha"), beta = call.number("beta");
  const ir::Type type = node.result()->type;
  if (!is_float(type.dtype) || addend->type.dtype != type.dtype || left->type.dtype != type.dtype) return false;
  if (!std::isfinite(alpha) || !std::isfinite(beta)) return false;
  if (!match::as_constant(right)) {
    context.declined(node, "its second matrix is not a constant");
    return false;
  }
  rewriter.set_insert_point(&node);
  Value* weight = transposed_weight(rewriter, right, alpha);
  if (weight == nullptr) return false;
  // beta = 0 means that the addend is not read: NaN in it does not spread.
  Value* bias = beta == 0 ? nullptr : bias_of(rewriter, addend, type.sizes.back(), beta);
  Value* result = nullptr;
  if (bias != nullptr || beta == 0) {
    result = bias != nullptr ? rewriter.make("linear", {left, weight, bias}) : rewriter.make("linear", {left, weight});
  } else {
    Value* scaled = beta == 1 ? addend : rewriter.make("mul.Tensor", {addend, rewriter.scalar(type.dtype, beta)});
    result = rewriter.make("add.Tensor", {rewriter.make("linear", {left, weight}), scaled});
  }
  if (!ops::same_shape(result->type.sizes, type.sizes)) {
    context.declined(node, "its addend broadcasts the product");
    rewriter.erase_dead(result->producer);
    return false;
  }
  rewriter.replace(node.result(), result);
  rewriter.erase_dead(&node);
  return true;
}

bool convert(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (node.is("addmm")) return convert_addmm(node, rewriter, context);
  const bool mm = node.is("mm"), matmul = node.is("matmul");
  if (!mm && !matmul) return false;
  const ops::Call call(node);
  Value *left = call.tensor("self"), *right = call.tensor(mm ? "mat2" : "other");
  if (right->type.rank() != 2 || left->type.rank() < 1 || left->type.dtype != right->type.dtype) return false;
  if (!is_float(left->type.dtype)) return false;
  if (match::as_constant(left) || !match::as_constant(right)) return false;
  rewriter.set_insert_point(&node);
  Value* weight = transposed_weight(rewriter, right, 1);
  if (weight == nullptr) return false;
  rewriter.replace(node.result(), rewriter.make("linear", {left, weight}));
  rewriter.erase_dead(&node);
  return true;
}

}  // namespace

Result<bool> convert_to_linear(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, convert);
}

}  // namespace edgelift::passes
