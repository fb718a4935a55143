// What registered kernels of the runtime cannot compute (ops/kernel_limits.h), in terms of what they can. legalize
// calls these where a kernel refuses the call; everywhere else the operator stays what it is.
#include "edge/table.h"
#include "ops/infer.h"

namespace edgelift::edge {
namespace {

bool is_tensor(const Arg& arg) {
  const auto* value = std::get_if<Value*>(&arg);
  return value != nullptr && *value != nullptr && (*value)->type.is_tensor();
}

Value* tensor_of(Builder& b, const Arg& arg, DType dtype) {
  return is_tensor(arg) ? b.cast(std::get<Value*>(arg), dtype) : b.number_tensor(arg, dtype);
}

// x - floor(x / y) * y; only integers come here.
Result<bool> remainder(Builder& b) {
  const DType dtype = b.out_type().dtype;
  Value* x = b.cast(b.in(), dtype);
  Value* y = tensor_of(b, b.arg("other"), dtype);
  Value* quotient = b.make("floor_divide", {x, y});
  return b.replace(b.make("sub.Tensor", {x, b.make("mul.Tensor", {quotient, y})}));
}

// The number as a rank-0 tensor, which promotes as the number does.
template <const char* kTensorForm>
Result<bool> scalar_operand(Builder& b) {
  const Arg& other = b.arg("other");
  return b.replace(
      b.make(kTensorForm, {b.in(), tensor_of(b, other, ops::number_dtype(other))}, {{"alpha", b.arg("alpha")}}));
}
constexpr char kAdd[] = "add.Tensor";
constexpr char kSub[] = "sub.Tensor";

// The running sum of one number.
Result<bool> cumsum(Builder& b) {
  if (b.rank(b.in()) != 0) return false;
  Value* sum = b.make("cumsum", {b.view(b.in(), {SymInt(1)}), SymInt(0)}, {{"dtype", b.arg("dtype")}});
  return b.replace(b.view(sum, {}));
}

// 1 where positive, -1 where negative, 0 elsewhere and for NaN.
Result<bool> sign(Builder& b) {
  const DType dtype = b.out_type().dtype;
  Value* positive = b.cast(b.make("gt.Scalar", {b.in(), SymInt(0)}), dtype);
  Value* negative = b.cast(b.make("lt.Scalar", {b.in(), SymInt(0)}), dtype);
  return b.replace(b.make("sub.Tensor", {positive, negative}));
}

// Scales and zero points in the dtypes that the kernels of the quantisation take.
Result<bool> double_scales(Builder& b) {
  for (const auto& [name, dtype] : {std::pair<std::string_view, DType>{"scale", DType::F64},
                                    {"scales", DType::F64},
                                    {"zero_point", DType::I64},
                                    {"zero_points", DType::I64}})
    if (b.node().op->schema.index_of(name) >= 0 && b.call.has(name) && b.dtype(b.in(name)) != dtype)
      b.rewriter().set_arg(&b.node(), name, b.cast(b.in(name), dtype));
  return false;
}

constexpr Entry kEntries[] = {
    {"remainder.Tensor", remainder, kLegal},
    {"remainder.Scalar", remainder, kLegal},
    {"add.Scalar", scalar_operand<kAdd>, kLegal},
    {"sub.Scalar", scalar_operand<kSub>, kLegal},
    {"cumsum", cumsum, kLegal},
    {"sign", sign, kLegal},
    {"quantized_decomposed.quantize_per_token", double_scales, kLegal},
};

}  // namespace

std::span<const Entry> kernel_limit_entries() { return kEntries; }

}  // namespace edgelift::edge
