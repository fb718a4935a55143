// Loss functions, as some exported models return them. None has a kernel or a node of its own.
#include "ops/families.h"
#include "ops/infer.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using ir::Shape;

constexpr int64_t kUnreduced = 0;  // reduction: none, mean, sum

DType dtype_of(const Call& call) {
  Promotion promotion;
  for (const std::string_view name : {"self", "input", "input1", "input2", "target"})
    if (call.op().schema.index_of(name) >= 0) promotion.add(call.type(name));
  return float_result(promotion.result());
}

// Element by element of operands that broadcast.
Types infer_elementwise(const Call& call) {
  EL_TRY(Shape shape, broadcast_args(call));
  if (call.integer("reduction") != kUnreduced) shape.clear();
  return one(dtype_of(call), std::move(shape));
}

// One loss for each row of classes: dim 1, or the only one. Class indices lack that dim, class probabilities have it.
Types infer_classes(const Call& call) {
  const Shape& self = call.type("self").sizes;
  if (self.empty()) return input_error("the scores have no dim of classes");
  const DType dtype = call.type("self").dtype;
  if (call.integer("reduction") != kUnreduced) return one(dtype, {});
  Shape shape = self;
  shape.erase(shape.begin() + (self.size() == 1 ? 0 : 1));
  return one(dtype, std::move(shape));
}

// A loss for each pair of vectors.
Types infer_pairs(const Call& call) {
  if (call.integer("reduction") != kUnreduced) return one(dtype_of(call), {});
  return one(dtype_of(call), call.type("target").sizes);
}

constexpr OpDef kRows[] = {
    {"aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     infer_elementwise,
     nullptr,
     {},
     kNone,
     "the delegate has no loss functions"},
    {"aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     infer_elementwise,
     nullptr,
     {},
     kNone,
     "the delegate has no loss functions"},
    {"aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor",
     infer_elementwise,
     nullptr,
     {},
     kNone,
     "the delegate has no loss functions"},
    {"aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor",
     infer_elementwise,
     nullptr,
     {},
     kNone,
     "the delegate has no loss functions"},
    {"aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
     infer_elementwise,
     nullptr,
     {},
     kNone,
     "the delegate has no loss functions"},
    {"aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor",
     infer_elementwise,
     nullptr,
     {},
     kNone,
     "the delegate has no loss functions"},
    {"aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? "
     "pos_weight=None, int reduction=1) -> Tensor",
     infer_elementwise,
     nullptr,
     {},
     kNone,
     "the delegate has no loss functions"},
    {"aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
     infer_elementwise,
     nullptr,
     {},
     kNone,
     "the delegate has no loss functions"},
    {"aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor",
     infer_elementwise,
     nullptr,
     {},
     kNone,
     "the delegate has no loss functions"},
    {"aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> "
     "Tensor",
     infer_elementwise,
     nullptr,
     {},
     kNone,
     "the delegate has no loss functions"},
    {"aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> "
     "Tensor",
     infer_elementwise,
     nullptr,
     {},
     kNone,
     "the delegate has no loss functions"},
    {"aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
     "ignore_index=-100, float label_smoothing=0.) -> Tensor",
     infer_classes,
     nullptr,
     {},
     kNone,
     "the delegate has no loss functions"},
    {"aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> "
     "Tensor",
     infer_classes,
     nullptr,
     {},
     kNone,
     "the delegate has no loss functions"},
    {"aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) "
     "-> Tensor",
     infer_classes,
     nullptr,
     {},
     kNone,
     "the delegate has no loss functions"},
    {"aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> "
     "Tensor",
     infer_pairs,
     nullptr,
     {},
     kNone,
     "the delegate has no loss functions"},
};

}  // namespace

std::span<const OpDef> loss_ops() { return kRows; }

}  // namespace edgelift::ops
