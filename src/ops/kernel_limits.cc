#include "ops/kernel_limits.h"

#include "ops/infer.h"

namespace edgelift::ops {
namespace {

std::string name_of(DType dtype) { return std::string(long_name(dtype)); }

}  // namespace

std::optional<std::string> kernel_keeps_dtype(const Call& call) {
  const DType self = call.type("self").dtype;
  if (self == DType::Bool) return "the kernel takes no bool operand";
  const DType result = promote_args(call, {"self", "other"});
  if (result != self) return "the kernel does not make " + name_of(result) + " of " + name_of(self);
  return std::nullopt;
}

std::optional<std::string> kernel_remainder(const Call& call) {
  const DType dtype = promote_args(call, {"self", "other"});
  if (is_integer(dtype) && dtype != DType::U8)
    return "the kernel gives the remainder of negative integers the dividend's sign, PyTorch the divisor's";
  return std::nullopt;
}

std::optional<std::string> kernel_sign(const Call& call) {
  if (is_float(call.type("self").dtype)) return "the kernel keeps NaN, of which PyTorch's sign is 0";
  return std::nullopt;
}

std::optional<std::string> kernel_same_dtypes(const Call& call) {
  const ir::ValueList& tensors = call.tensors("tensors");
  for (const ir::Value* value : tensors)
    if (value->type.dtype != tensors.front()->type.dtype)
      return "the kernel does not convert between " + name_of(tensors.front()->type.dtype) + " and " +
             name_of(value->type.dtype);
  return std::nullopt;
}

std::optional<std::string> kernel_has_dims(const Call& call) {
  if (call.type("self").rank() == 0) return "the kernel takes no operand of rank 0";
  return std::nullopt;
}

std::optional<std::string> kernel_pads_only(const Call& call) {
  for (const SymInt& pad : call.ints("pad"))
    if (pad.lower() < 0) return "the kernel takes no negative padding";
  return std::nullopt;
}

std::optional<std::string> kernel_names_dims(const Call& call) {
  if (call.ints("dims").empty()) return "the kernel rolls dims that are named, not the elements in row-major order";
  return std::nullopt;
}

std::optional<std::string> kernel_double_scales(const Call& call) {
  for (const auto& [name, dtype] : {std::pair<std::string_view, DType>{"scale", DType::F64},
                                    {"scales", DType::F64},
                                    {"zero_point", DType::I64},
                                    {"zero_points", DType::I64}}) {
    if (call.op().schema.index_of(name) < 0 || !call.has(name)) continue;
    if (call.type(name).dtype != dtype)
      return "the kernel takes '" + std::string(name) + "' in " + name_of(dtype) + " only, not in " +
             name_of(call.type(name).dtype);
  }
  return std::nullopt;
}

}  // namespace edgelift::ops
