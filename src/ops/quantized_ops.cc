// Quantisation: the operators that PT2E (quantized_decomposed) and torchao leave in exported programs. They run on the
// runtime's quantised kernels.
#include "ops/families.h"
#include "ops/infer.h"
#include "ops/kernel_limits.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using ir::Shape;

Types retyped(const Call& call, DType dtype) {
  ir::Type type = call.type("input");
  type.dtype = dtype;
  return one(std::move(type));
}

Types infer_quantized(const Call& call) { return retyped(call, *call.dtype("dtype")); }

// dequantize_*: float32 unless another output dtype is asked for.
Types infer_dequantized(const Call& call) {
  for (const std::string_view name : {"out_dtype", "output_dtype"})
    if (call.op().schema.index_of(name) >= 0 && call.has(name)) return retyped(call, *call.dtype(name));
  return retyped(call, DType::F32);
}

Types infer_affine(const Call& call) { return retyped(call, *call.dtype("output_dtype")); }

// One scale and one zero point for the whole tensor.
Types infer_qparams(const Call&) {
  return std::vector<ir::Type>{ir::Type::tensor(DType::F64, {SymInt(1)}), ir::Type::tensor(DType::I64, {SymInt(1)})};
}

// One of each for every row.
Types infer_qparams_per_token(const Call& call) {
  Shape sizes = call.type("input").sizes;
  if (sizes.empty()) return input_error("the operand has rank 0");
  sizes.back() = SymInt(1);
  const bool asymmetric = call.op().base.find("asymmetric") != std::string::npos;
  return std::vector<ir::Type>{ir::Type::tensor(asymmetric ? DType::F64 : DType::F32, sizes),
                               ir::Type::tensor(DType::I64, sizes)};
}

// torchao: one of each for every block of block_size.
Types infer_qparams_affine(const Call& call) {
  const ir::Type& input = call.type("input");
  const ir::IntList& block = call.ints("block_size");
  if (block.size() != input.sizes.size()) return input_error("block_size has not one number a dim of the operand");
  const bool keepdim = call.flag("keepdim");
  Shape sizes;
  for (size_t i = 0; i < block.size(); ++i) {
    const SymInt& size = input.sizes[i];
    if (block[i] == SymInt(1)) {
      sizes.push_back(size);
      continue;
    }
    // A dim in one block is reduced; one in several becomes their number.
    if (block[i] != size) sizes.push_back(SymInt::floordiv(size, block[i]));
    if (keepdim) sizes.emplace_back(1);
  }
  return std::vector<ir::Type>{ir::Type::tensor(call.dtype("scale_dtype").value_or(input.dtype), sizes),
                               ir::Type::tensor(call.dtype("zero_point_dtype").value_or(DType::I32), sizes)};
}

Types infer_embedding(const Call& call) {
  const ir::Type& weight = call.type("weight");
  const ir::Type& scales = call.type("weight_scales");
  if (weight.rank() != 2) return input_error("the table of an embedding has two dims, not " + weight.str());
  Shape sizes = call.type("indices").sizes;
  const int64_t packed = call.op().base == "embedding_2bit" ? 4 : call.op().base == "embedding_4bit" ? 2 : 1;
  sizes.push_back(weight.sizes[1] * SymInt(packed));
  const bool has_dtype = call.op().schema.index_of("dtype") >= 0 && call.has("dtype");
  return one(has_dtype ? *call.dtype("dtype") : scales.dtype, std::move(sizes));
}

Types infer_mixed_product(const Call& call) {
  const ir::Type& input = call.type("input");
  const ir::Type& weight = call.type("weight");
  if (input.rank() < 1 || weight.rank() != 2)
    return input_error("operands " + input.str() + " and " + weight.str() + " do not multiply");
  Shape sizes = input.sizes;
  sizes.back() = weight.sizes[call.op().base == "mixed_mm" ? 1 : 0];
  const bool has_dtype = call.op().schema.index_of("dtype") >= 0 && call.has("dtype");
  return one(has_dtype ? *call.dtype("dtype") : input.dtype, std::move(sizes));
}

Types infer_quantized_add(const Call& call) {
  EL_TRY(Shape sizes, broadcast_shapes(call.type("a").sizes, call.type("b").sizes));
  return one(call.type("a").dtype, std::move(sizes));
}

constexpr OpDef kRows[] = {
    {"quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int "
     "quant_max, ScalarType dtype) -> Tensor",
     infer_quantized, nullptr, "quantized_decomposed::quantize_per_tensor.out", kPointwise,
     "quantised operators are not delegated"},
    {"quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, "
     "int quant_max, ScalarType dtype) -> Tensor",
     infer_quantized, nullptr, "quantized_decomposed::quantize_per_tensor.Tensor_out", kPointwise,
     "quantised operators are not delegated", kernel_double_scales},
    {"quantized_decomposed::quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor "
     "quant_min, Tensor quant_max, ScalarType dtype) -> Tensor",
     infer_quantized,
     nullptr,
     {},
     kPointwise,
     "quantised operators are not delegated"},
    {"quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int "
     "quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     infer_dequantized, nullptr, "quantized_decomposed::dequantize_per_tensor.out", kPointwise,
     "quantised operators are not delegated"},
    {"quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int "
     "quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     infer_dequantized, nullptr, "quantized_decomposed::dequantize_per_tensor.Tensor_out", kPointwise,
     "quantised operators are not delegated", kernel_double_scales},
    {"quantized_decomposed::dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, Tensor "
     "quant_min, Tensor quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     infer_dequantized,
     nullptr,
     {},
     kPointwise,
     "quantised operators are not delegated"},
    {"quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int "
     "quant_min, int quant_max, ScalarType dtype) -> Tensor",
     infer_quantized, nullptr, "quantized_decomposed::quantize_per_channel.out", kNone,
     "quantised operators are not delegated", kernel_double_scales},
    {"quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int "
     "quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
     infer_dequantized, nullptr, "quantized_decomposed::dequantize_per_channel.out", kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, int "
     "quant_min, int quant_max, ScalarType dtype, int group_size) -> Tensor",
     infer_quantized,
     nullptr,
     {},
     kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, int "
     "quant_min, int quant_max, ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor",
     infer_dequantized,
     nullptr,
     {},
     kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int "
     "quant_max, ScalarType dtype) -> Tensor",
     infer_quantized, nullptr, "quantized_decomposed::quantize_per_token.out", kNone,
     "quantised operators are not delegated", kernel_double_scales},
    {"quantized_decomposed::dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int "
     "quant_max, ScalarType dtype, ScalarType output_dtype) -> Tensor",
     infer_dequantized, nullptr, "quantized_decomposed::dequantize_per_token.out", kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType "
     "dtype) -> (Tensor, Tensor)",
     infer_qparams, nullptr, "quantized_decomposed::choose_qparams.Tensor_out", kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, "
     "ScalarType dtype) -> (Tensor, Tensor)",
     infer_qparams,
     nullptr,
     {},
     kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
     infer_qparams_per_token,
     nullptr,
     {},
     kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)",
     infer_qparams_per_token, nullptr, "quantized_decomposed::choose_qparams_per_token_asymmetric.out", kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> (Tensor, "
     "Tensor)",
     infer_qparams_per_token, nullptr, "quantized_decomposed::choose_qparams_per_token_asymmetric.out", kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::embedding_byte(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int "
     "weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor",
     infer_embedding, nullptr, "quantized_decomposed::embedding_byte.out", kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::embedding_byte.dtype(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, "
     "int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? dtype=None) -> Tensor",
     infer_embedding, nullptr, "quantized_decomposed::embedding_byte.dtype_out", kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::embedding_4bit(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int "
     "weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor",
     infer_embedding, nullptr, "quantized_decomposed::embedding_4bit.out", kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::embedding_4bit.dtype(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, "
     "int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? dtype=None) -> Tensor",
     infer_embedding, nullptr, "quantized_decomposed::embedding_4bit.dtype_out", kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::embedding_2bit(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int "
     "weight_quant_min, int weight_quant_max, Tensor indices) -> Tensor",
     infer_embedding, nullptr, "quantized_decomposed::embedding_2bit.out", kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::embedding_2bit.dtype(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, "
     "int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? dtype=None) -> Tensor",
     infer_embedding, nullptr, "quantized_decomposed::embedding_2bit.dtype_out", kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::mixed_linear(Tensor input, Tensor weight, Tensor weight_scales, Tensor? "
     "weight_zero_points, ScalarType? dtype=None) -> Tensor",
     infer_mixed_product, nullptr, "quantized_decomposed::mixed_linear.out", kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::mixed_mm(Tensor input, Tensor weight, Tensor weight_scales, Tensor? weight_zero_points) "
     "-> Tensor",
     infer_mixed_product, nullptr, "quantized_decomposed::mixed_mm.out", kNone,
     "quantised operators are not delegated"},
    {"quantized_decomposed::add(Tensor a, float a_scale, int a_zero_point, int a_quant_min, int a_quant_max, Tensor "
     "b, float b_scale, int b_zero_point, int b_quant_min, int b_quant_max, float out_scale, int out_zero_point, "
     "int out_quant_min, int out_quant_max) -> Tensor",
     infer_quantized_add, nullptr, "quantized_decomposed::add.out", kNone, "quantised operators are not delegated"},
    {"torchao::quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType "
     "output_dtype, Scalar? quant_min=None, Scalar? quant_max=None) -> Tensor",
     infer_affine,
     nullptr,
     {},
     kNone,
     "quantised operators are not delegated"},
    {"torchao::dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, ScalarType "
     "input_dtype, Scalar? quant_min=None, Scalar? quant_max=None, ScalarType output_dtype=6) -> Tensor",
     infer_affine,
     nullptr,
     {},
     kNone,
     "quantised operators are not delegated"},
    {"torchao::choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] block_size, ScalarType target_dtype, "
     "Scalar? quant_min=None, Scalar? quant_max=None, float? eps=None, ScalarType? scale_dtype=None, ScalarType? "
     "zero_point_dtype=None, bool keepdim=False) -> (Tensor, Tensor)",
     infer_qparams_affine,
     nullptr,
     {},
     kNone,
     "quantised operators are not delegated"},
};

}  // namespace

std::span<const OpDef> quantized_ops() { return kRows; }

}  // namespace edgelift::ops
