// Matrix products: linear, mm, bmm, matmul and their relatives.
#include <algorithm>

#include "ops/einsum.h"
#include "ops/families.h"
#include "ops/lower_util.h"

namespace edgelift::ops {
namespace {

using Code = Refusal::Code;
using ir::Shape;
using ir::Type;

// ---- shapes ----

Status check_equal(const SymInt& a, const SymInt& b, std::string_view what) {
  if (a.is_const() && b.is_const() && a.value() != b.value())
    return input_error(std::string(what) + " do not agree: " + a.str() + " and " + b.str());
  return Ok{};
}

Result<Shape> matmul_shape(const Shape& a, const Shape& b) {
  if (a.empty() || b.empty()) return input_error("a matrix product needs operands with at least one dim");
  EL_TRY_OK(check_equal(a.back(), b.size() == 1 ? b[0] : b[b.size() - 2], "the contracted dims of a matrix product"));
  Shape batch_a, batch_b;
  if (a.size() > 2) batch_a.assign(a.begin(), a.end() - 2);
  if (b.size() > 2) batch_b.assign(b.begin(), b.end() - 2);
  EL_TRY(Shape out, broadcast_shapes(batch_a, batch_b));
  if (a.size() > 1) out.push_back(a[a.size() - 2]);
  if (b.size() > 1) out.push_back(b.back());
  return out;
}

Types matrix_product(const Type& a, const Type& b, int64_t rank_a, int64_t rank_b) {
  if ((rank_a != 0 && a.rank() != rank_a) || (rank_b != 0 && b.rank() != rank_b))
    return input_error("operands of shapes " + sizes_text(a.sizes) + " and " + sizes_text(b.sizes) +
                       " have not the ranks of this product");
  if (a.dtype != b.dtype)
    return input_error("the operands of a matrix product have different dtypes: " + std::string(long_name(a.dtype)) +
                       " and " + std::string(long_name(b.dtype)));
  EL_TRY(Shape shape, matmul_shape(a.sizes, b.sizes));
  return one(a.dtype, std::move(shape));
}

Types infer_matmul(const Call& c) { return matrix_product(c.type("self"), c.type("other"), 0, 0); }
Types infer_mm(const Call& c) { return matrix_product(c.type("self"), c.type("mat2"), 2, 2); }
Types infer_mv(const Call& c) { return matrix_product(c.type("self"), c.type("vec"), 2, 1); }
Types infer_dot(const Call& c) { return matrix_product(c.type("self"), Call::tensor_type(c.args()[1]), 1, 1); }

Types infer_bmm(const Call& c) {
  const Type& a = c.type("self");
  const Type& b = c.type("mat2");
  if (a.rank() == 3 && b.rank() == 3) EL_TRY_OK(check_equal(a.sizes[0], b.sizes[0], "the batch sizes of bmm"));
  return matrix_product(a, b, 3, 3);
}

Types with_addend(const Call& c, Types product) {
  if (!product.ok()) return product;
  const Type& self = c.type("self");
  const Shape& shape = product->front().sizes;
  EL_TRY(const Shape joined, broadcast_shapes(self.sizes, shape));
  if (!same_shape(joined, shape))
    return input_error("the addend's shape " + sizes_text(self.sizes) + " does not broadcast to " + sizes_text(shape));
  return product;
}

Types infer_addmm(const Call& c) { return with_addend(c, matrix_product(c.type("mat1"), c.type("mat2"), 2, 2)); }
Types infer_baddbmm(const Call& c) { return with_addend(c, matrix_product(c.type("batch1"), c.type("batch2"), 3, 3)); }
Types infer_addmv(const Call& c) { return with_addend(c, matrix_product(c.type("mat"), c.type("vec"), 2, 1)); }

Types infer_addbmm(const Call& c) {
  EL_TRY(std::vector<Type> product, matrix_product(c.type("batch1"), c.type("batch2"), 3, 3));
  Shape& shape = product.front().sizes;
  shape.erase(shape.begin());
  return with_addend(c, std::move(product));
}

Types outer_product(const Type& a, const Type& b) {
  if (a.rank() != 1 || b.rank() != 1) return input_error("an outer product takes two vectors");
  Promotion promotion;
  promotion.add(a);
  promotion.add(b);
  return one(promotion.result(), {a.sizes[0], b.sizes[0]});
}
Types infer_outer(const Call& c) { return outer_product(c.type("self"), c.type("vec2")); }
Types infer_addr(const Call& c) { return with_addend(c, outer_product(c.type("vec1"), c.type("vec2"))); }

Types infer_inner(const Call& c) {
  const Type& a = c.type("self");
  const Type& b = c.type("other");
  if (a.sizes.empty() || b.sizes.empty()) return infer_broadcast(c);
  EL_TRY_OK(check_equal(a.sizes.back(), b.sizes.back(), "the last dims of inner"));
  Shape shape(a.sizes.begin(), a.sizes.end() - 1);
  shape.insert(shape.end(), b.sizes.begin(), b.sizes.end() - 1);
  return one(a.dtype, std::move(shape));
}

Types infer_vecdot(const Call& c) {
  const Type& x = c.type("x");
  EL_TRY(const Shape shape, broadcast_shapes(x.sizes, c.type("y").sizes));
  EL_TRY(Shape out, reduced_shape(shape, std::vector<int64_t>{c.integer("dim")}, false));
  return one(x.dtype, std::move(out));
}

Types infer_tensordot(const Call& c) {
  const Type& a = c.type("self");
  const Type& b = c.type("other");
  EL_TRY(Shape shape, reduced_shape(a.sizes, c.integers("dims_self"), false, false));
  EL_TRY(const Shape right, reduced_shape(b.sizes, c.integers("dims_other"), false, false));
  shape.insert(shape.end(), right.begin(), right.end());
  return one(a.dtype, std::move(shape));
}

Types infer_kron(const Call& c) {
  const Type& a = c.type("self");
  const Type& b = c.type("other");
  const size_t rank = std::max(a.sizes.size(), b.sizes.size());
  Shape shape(rank, SymInt(1));
  for (const Type* type : {&a, &b})
    for (size_t i = 0; i < type->sizes.size(); ++i) {
      SymInt& size = shape[rank - type->sizes.size() + i];
      size = size * type->sizes[i];
    }
  return one(promote_args(c, {"self", "other"}), std::move(shape));
}

Types infer_multi_dot(const Call& c) {
  const auto& tensors = std::get<ir::ValueList>(c.args()[0]);
  if (tensors.size() < 2) return input_error("a chain of matrix products needs at least two operands");
  Shape shape = tensors.front()->type.sizes;
  for (size_t i = 1; i < tensors.size(); ++i) {
    EL_TRY(shape, matmul_shape(shape, tensors[i]->type.sizes));
  }
  return one(tensors.front()->type.dtype, std::move(shape));
}

Types infer_linear(const Call& c) {
  const Type& input = c.type("input");
  const Type& weight = c.type("weight");
  if (input.sizes.empty() || weight.rank() < 1 || weight.rank() > 2)
    return input_error("linear takes an input with dims and a weight of rank 1 or 2, not " + sizes_text(input.sizes) +
                       " and " + sizes_text(weight.sizes));
  EL_TRY_OK(check_equal(input.sizes.back(), weight.sizes.back(), "the last dims of linear's input and weight"));
  Shape shape(input.sizes.begin(), input.sizes.end() - 1);
  if (weight.rank() == 2) shape.push_back(weight.sizes[0]);
  if (const ir::Value* bias = c.opt_tensor("bias")) {
    EL_TRY(const Shape joined, broadcast_shapes(shape, bias->type.sizes));
    if (!same_shape(joined, shape))
      return input_error("linear's bias of shape " + sizes_text(bias->type.sizes) + " does not fit");
  }
  return one(input.dtype, std::move(shape));
}

Types infer_bilinear(const Call& c) {
  const Type& a = c.type("input1");
  const Type& weight = c.type("weight");
  if (weight.rank() != 3 || a.sizes.empty())
    return input_error("bilinear takes a weight of rank 3 and inputs with dims");
  Shape shape(a.sizes.begin(), a.sizes.end() - 1);
  shape.push_back(weight.sizes[0]);
  return one(a.dtype, std::move(shape));
}

// The product of three tensors, each with dims of size 1 inserted where it is expanded, summed over some dims.
Types infer_trilinear(const Call& c) {
  constexpr std::string_view kTensors[] = {"i1", "i2", "i3"};
  constexpr std::string_view kExpands[] = {"expand1", "expand2", "expand3"};
  Shape shape;
  for (size_t i = 0; i < 3; ++i) {
    Shape operand = c.type(kTensors[i]).sizes;
    for (const int64_t at : c.integers(kExpands[i])) {
      if (at < 0 || at > static_cast<int64_t>(operand.size()))
        return input_error("a trilinear product expands at dim " + std::to_string(at));
      operand.insert(operand.begin() + at, SymInt(1));
    }
    EL_TRY(shape, broadcast_shapes(shape, operand));
  }
  EL_TRY(Shape out, reduced_shape(shape, c.integers("sumdim"), false, false));
  return one(c.type("i1").dtype, std::move(out));
}

Types infer_einsum(const Call& c) {
  std::vector<Shape> shapes;
  for (const ir::Value* value : c.tensors("tensors")) shapes.push_back(value->type.sizes);
  if (shapes.empty()) return input_error("einsum without operands");
  EL_TRY(Shape out, einsum_shape(c.text("equation"), shapes));
  return one(c.tensors("tensors").front()->type.dtype, std::move(out));
}

// ---- lowering ----

// A fully-connected node with the matrix `weight`, [in, out] where `transposed`. A constant goes in as it lies in
// memory.
uint32_t fully_connected(XnnBuilder& b, uint32_t in, const ir::Value* weight, bool transposed, uint32_t bias,
                         uint32_t out) {
  const TensorData* data = constant_data(weight);
  if (data == nullptr)
    return b.fully_connected(in, b.value(weight), bias, out, transposed ? xnn::kFlagTransposeWeights : 0);
  constexpr int64_t kSwap[] = {1, 0};
  const TensorData swapped = data->permuted(kSwap);
  const bool swap = swapped.is_contiguous() && !data->is_contiguous();
  return b.fully_connected(in, b.packed(swap ? swapped : *data), bias, out,
                           transposed != swap ? xnn::kFlagTransposeWeights : 0);
}

LowerResult lower_linear(const Call& c, XnnBuilder& b) {
  const ir::Value* weight = c.tensor("weight");
  const ir::Value* bias = c.opt_tensor("bias");
  if (weight->type.rank() != 2) return refuse(Code::Rank, "the weight has rank 1, fully-connected takes a matrix");
  if (bias != nullptr && (bias->type.rank() != 1 || !(bias->type.sizes[0] == weight->type.sizes[0])))
    return refuse(Code::Shape,
                  "the bias of shape " + sizes_text(bias->type.sizes) + " is not a vector of the output's last dim");
  const uint32_t in = b.value(c.tensor("input"));
  const uint32_t bias_id = packed_or_value(b, bias);
  fully_connected(b, in, weight, false, bias_id, b.define(c.result()));
  return std::nullopt;
}

// a @ w for a matrix w. One fully-connected where w is a constant; else a batch matrix product.
void product(XnnBuilder& b, uint32_t a, const ir::Value* w, uint32_t out) {
  if (constant_data(w) != nullptr) {
    fully_connected(b, a, w, true, xnn::kInvalid, out);
  } else {
    b.batch_matmul(a, b.value(w), out);
  }
}

LowerResult lower_mm(const Call& c, XnnBuilder& b) {
  const uint32_t a = b.value(c.tensor("self"));
  product(b, a, c.tensor("mat2"), b.define(c.result()));
  return std::nullopt;
}

LowerResult lower_bmm(const Call& c, XnnBuilder& b) {
  const uint32_t left = b.value(c.tensor("self"));
  const uint32_t right = packed_or_value(b, c.tensor("mat2"));
  b.batch_matmul(left, right, b.define(c.result()));
  return std::nullopt;
}

// out = beta * self + alpha * product, in nodes; beta 0 leaves self out, NaN included, as eager does.
void add_scaled(const Call& c, XnnBuilder& b, uint32_t product, double alpha, double beta) {
  const ir::Value* self = c.tensor("self");
  const DType dtype = self->type.dtype;
  const auto times = [&](uint32_t id, double factor, uint32_t out) {
    return b.binary(xnn::Kind::Multiply, id, b.unpacked_scalar(dtype, factor), out);
  };
  if (beta == 0) {
    times(product, alpha, b.define(c.result()));
    return;
  }
  if (alpha != 1) product = times(product, alpha, xnn::kInvalid);
  uint32_t addend = b.value(self);
  if (beta != 1) addend = times(addend, beta, xnn::kInvalid);
  b.binary(xnn::Kind::Add, product, addend, b.define(c.result()));
}

LowerResult check_factors(const Call& c) {
  const DType dtype = c.result()->type.dtype;
  for (const std::string_view name : {std::string_view("alpha"), std::string_view("beta")})
    if (!exact_scalar(dtype, c.number(name))) return inexact_scalar(name, c.number(name));
  return std::nullopt;
}

LowerResult lower_addmm(const Call& c, XnnBuilder& b) {
  if (auto refused = check_factors(c)) return refused;
  const double alpha = c.number("alpha"), beta = c.number("beta");
  const ir::Value* self = c.tensor("self");
  const ir::Value* mat2 = c.tensor("mat2");
  const uint32_t mat1 = b.value(c.tensor("mat1"));
  // A bias vector is part of the node. [out] and [1, out] are one; its factor is folded where it is a constant.
  const Shape& shape = self->type.sizes;
  const bool vector =
      (shape.size() == 1 || (shape.size() == 2 && shape[0] == SymInt(1))) && shape.back() == mat2->type.sizes[1];
  const TensorData* data = constant_data(self);
  if (vector && data != nullptr && alpha == 1 && beta != 0) {
    TensorData bias = data->reshaped({data->numel()});
    if (beta != 1) bias = scaled(bias, beta);
    fully_connected(b, mat1, mat2, true, b.packed(std::move(bias)), b.define(c.result()));
    return std::nullopt;
  }
  uint32_t result = beta == 0 && alpha == 1 ? b.define(c.result()) : b.temp(self->type.dtype, c.result()->type.sizes);
  product(b, mat1, mat2, result);
  if (beta != 0 || alpha != 1) add_scaled(c, b, result, alpha, beta);
  return std::nullopt;
}

LowerResult lower_baddbmm(const Call& c, XnnBuilder& b) {
  if (auto refused = check_factors(c)) return refused;
  const double alpha = c.number("alpha"), beta = c.number("beta");
  const uint32_t left = b.value(c.tensor("batch1"));
  const uint32_t right = packed_or_value(b, c.tensor("batch2"));
  const uint32_t result =
      beta == 0 && alpha == 1 ? b.define(c.result()) : b.temp(c.result()->type.dtype, c.result()->type.sizes);
  b.batch_matmul(left, right, result);
  if (beta != 0 || alpha != 1) add_scaled(c, b, result, alpha, beta);
  return std::nullopt;
}

// self @ other for any ranks: vectors become matrices of one row or column, and the result loses that dim again.
LowerResult lower_product(const Call& c, XnnBuilder& b, const ir::Value* self, const ir::Value* other) {
  const ir::Value* result = c.result();
  const Shape& left_shape = self->type.sizes;
  const Shape& right_shape = other->type.sizes;
  if (left_shape.size() > 1 && right_shape.size() > 1) {
    const uint32_t left = b.value(self);
    if (right_shape.size() == 2 && constant_data(other) != nullptr) {
      fully_connected(b, left, other, true, xnn::kInvalid, b.define(result));
    } else {
      b.batch_matmul(left, packed_or_value(b, other), b.define(result));
    }
    return std::nullopt;
  }
  if (!reshapable(result->type.sizes))
    return refuse(Code::Dynamic, "the result has more than one dynamic size to reshape to");
  uint32_t left = b.value(self);
  if (right_shape.size() == 1) {  // rows times a vector: a fully-connected with one output
    const TensorData* data = constant_data(other);
    if (data == nullptr && !right_shape[0].is_const()) return refuse(Code::Dynamic, "the vector's size is dynamic");
    const uint32_t filter = data != nullptr ? b.packed(data->reshaped({1, data->numel()}))
                                            : b.reshape(b.value(other), {SymInt(1), right_shape[0]});
    const uint32_t rows = b.fully_connected(left, filter, xnn::kInvalid);
    b.reshape(rows, result->type.sizes, b.define(result));
    return std::nullopt;
  }
  if (!left_shape[0].is_const()) return refuse(Code::Dynamic, "the vector's size is dynamic");
  left = b.reshape(left, {SymInt(1), left_shape[0]});
  uint32_t product = xnn::kInvalid;
  if (right_shape.size() == 2 && constant_data(other) != nullptr) {
    product = fully_connected(b, left, other, true, xnn::kInvalid, xnn::kInvalid);
  } else {
    product = b.batch_matmul(left, packed_or_value(b, other));
  }
  b.reshape(product, result->type.sizes, b.define(result));
  return std::nullopt;
}

LowerResult lower_matmul(const Call& c, XnnBuilder& b) {
  return lower_product(c, b, c.tensor("self"), c.tensor("other"));
}
LowerResult lower_mv(const Call& c, XnnBuilder& b) { return lower_product(c, b, c.tensor("self"), c.tensor("vec")); }
LowerResult lower_dot(const Call& c, XnnBuilder& b) {
  return lower_product(c, b, c.tensor("self"), std::get<ir::Value*>(c.args()[1]));
}

LowerResult lower_outer(const Call& c, XnnBuilder& b) {
  const ir::Value* self = c.tensor("self");
  const uint32_t column = b.reshape(b.value(self), {self->type.sizes[0], SymInt(1)});
  b.binary(xnn::Kind::Multiply, column, b.value(c.tensor("vec2")), b.define(c.result()));
  return std::nullopt;
}

std::optional<std::string> check_linear_kernel(const Call& c) {
  if (c.type("input").rank() < 2 || c.type("weight").rank() != 2) return "the kernel takes inputs of rank 2 or more";
  return std::nullopt;
}

std::optional<std::string> check_addmm_kernel(const Call& c) {
  if (!c.is_symbolic("beta") && c.number("beta") == 0)
    return "the kernel multiplies by a beta of 0, which keeps NaN; eager leaves the addend out";
  return std::nullopt;
}

constexpr std::string_view kFactors = "alpha and beta are exact in the dtype";
constexpr std::string_view kVector = "at most one size of the result is dynamic where an operand is a vector";
constexpr std::string_view kComposite = "the delegate has matrix products, of which this one is composed";

constexpr OpDef kOps[] = {
    {.schema = "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
     .infer = infer_linear,
     .lower = lower_linear,
     .kernel = "aten::linear.out",
     .note = "the weight is a matrix and the bias a vector of the output's last dim",
     .kernel_check = check_linear_kernel},
    {.schema = "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .infer = infer_addmm,
     .lower = lower_addmm,
     .kernel = "aten::addmm.out",
     .note = kFactors,
     .kernel_check = check_addmm_kernel},
    {.schema =
         "aten::addmm_(Tensor(a!) self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)",
     .infer = infer_same,
     .traits = kInPlace},
    {.schema = "aten::mm(Tensor self, Tensor mat2) -> Tensor",
     .infer = infer_mm,
     .lower = lower_mm,
     .kernel = "aten::mm.out"},
    {.schema = "aten::bmm(Tensor self, Tensor mat2) -> Tensor",
     .infer = infer_bmm,
     .lower = lower_bmm,
     .kernel = "aten::bmm.out"},
    {.schema = "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .infer = infer_baddbmm,
     .lower = lower_baddbmm,
     .note = kFactors},
    {.schema = "aten::baddbmm_(Tensor(a!) self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> "
               "Tensor(a!)",
     .infer = infer_same,
     .traits = kInPlace},
    {.schema = "aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .infer = infer_addbmm,
     .note = kComposite},
    {.schema = "aten::matmul(Tensor self, Tensor other) -> Tensor",
     .infer = infer_matmul,
     .lower = lower_matmul,
     .note = kVector},
    {.schema = "aten::linalg_matmul(Tensor self, Tensor other) -> Tensor",
     .infer = infer_matmul,
     .lower = lower_matmul,
     .note = kVector},
    {.schema = "aten::mv(Tensor self, Tensor vec) -> Tensor", .infer = infer_mv, .lower = lower_mv, .note = kVector},
    {.schema = "aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .infer = infer_addmv,
     .note = kComposite},
    {.schema = "aten::dot(Tensor self, Tensor tensor) -> Tensor",
     .infer = infer_dot,
     .lower = lower_dot,
     .note = kVector},
    {.schema = "aten::vdot(Tensor self, Tensor other) -> Tensor",
     .infer = infer_dot,
     .lower = lower_dot,
     .note = kVector},
    {.schema = "aten::inner(Tensor self, Tensor other) -> Tensor", .infer = infer_inner, .note = kComposite},
    {.schema = "aten::outer(Tensor self, Tensor vec2) -> Tensor", .infer = infer_outer, .lower = lower_outer},
    {.schema = "aten::ger(Tensor self, Tensor vec2) -> Tensor", .infer = infer_outer, .lower = lower_outer},
    {.schema = "aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
     .infer = infer_addr,
     .note = kComposite},
    {.schema = "aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
     .infer = infer_vecdot,
     .note = kComposite},
    {.schema = "aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
     .infer = infer_tensordot,
     .note = kComposite},
    {.schema = "aten::kron(Tensor self, Tensor other) -> Tensor", .infer = infer_kron, .note = kComposite},
    {.schema = "aten::linalg_multi_dot(Tensor[] tensors) -> Tensor", .infer = infer_multi_dot, .note = kComposite},
    {.schema = "aten::chain_matmul(Tensor[] matrices) -> Tensor", .infer = infer_multi_dot, .note = kComposite},
    {.schema = "aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
     .infer = infer_bilinear,
     .note = kComposite},
    {.schema =
         "aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, "
         "int unroll_dim=1) -> Tensor",
     .infer = infer_trilinear,
     .note = kComposite},
    {.schema = "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor",
     .infer = infer_einsum,
     .note = kComposite},
};

}  // namespace

std::span<const OpDef> linear_ops() { return kOps; }

}  // namespace edgelift::ops
