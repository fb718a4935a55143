// Copies, conversions of dtype and dim order, and the way from a tensor to a number.
#include "ops/families.h"
#include "ops/infer.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using xnn::Kind;

// The dim order that a memory format means for a tensor of this type. None and Preserve keep the operand's.
void set_format(ir::Type& type, const ir::Arg& format) {
  const auto* asked = std::get_if<ir::MemoryFormat>(&format);
  if (asked == nullptr || *asked == ir::MemoryFormat::Preserve) return;
  type.dim_order.clear();
  if (*asked == ir::MemoryFormat::ChannelsLast && type.rank() == 4) type.dim_order = {0, 2, 3, 1};
  if (*asked == ir::MemoryFormat::ChannelsLast3d && type.rank() == 5) type.dim_order = {0, 2, 3, 4, 1};
}

// to.*, _to_copy, clone, contiguous: self with the dtype and memory format that the call asks for, if any.
Types infer_converted(const Call& call) {
  const ir::Schema& schema = call.op().schema;
  ir::Type type = call.type("self");
  if (schema.index_of("dtype") >= 0) type.dtype = call.dtype("dtype").value_or(type.dtype);
  if (schema.index_of("other") >= 0) type.dtype = call.type("other").dtype;
  if (schema.index_of("memory_format") >= 0) {
    const ir::Arg& format = call.arg("memory_format");
    const auto* asked = std::get_if<ir::MemoryFormat>(&format);
    if (asked != nullptr && *asked == ir::MemoryFormat::ChannelsLast && type.rank() != 4)
      return input_error("channels last is a format of four dims, not of " + type.str());
    set_format(type, format);
  }
  return one(std::move(type));
}

// The same with the dim order given as a list (ExecuTorch's dialect); an identity list is row-major.
Types infer_dim_order(const Call& call) {
  ir::Type type = call.op().schema.index_of("self") >= 0
                      ? call.type("self")
                      : ir::Type::tensor(DType::F32, ir::Shape(call.ints("size").begin(), call.ints("size").end()));
  if (call.op().schema.index_of("dtype") >= 0) type.dtype = call.dtype("dtype").value_or(type.dtype);
  if (!call.has("dim_order")) return one(std::move(type));
  const std::vector<int64_t> order = call.integers("dim_order");
  if (!permuted_shape(type.sizes, order)) return input_error("the dim order is not a permutation of the tensor's dims");
  type.dim_order.clear();
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int64_t>(i)) {
      for (const int64_t dim : order) type.dim_order.push_back(static_cast<uint8_t>(dim));
      break;
    }
  }
  return one(std::move(type));
}

bool delegated(DType dtype) { return dtype == DType::F32 || dtype == DType::F16; }

// Within the delegate dims are logical, so that a copy is a name and only a change of dtype computes something.
LowerResult convert(const ir::Value* from, const ir::Value* result, XnnBuilder& b) {
  const DType source = from->type.dtype;
  const DType target = result->type.dtype;
  if (!delegated(source) || !delegated(target))
    return refuse(Code::Dtype, source == target ? "the operand is " + std::string(long_name(source)) +
                                                      "; the delegate computes in float32 and float16"
                                                : "it converts " + std::string(long_name(source)) + " to " +
                                                      std::string(long_name(target)) +
                                                      "; the delegate converts float32 and float16 only");
  const uint32_t in = b.value(from);
  if (source == target) {
    b.alias(result, in);
  } else {
    b.unary(Kind::Convert, in, b.define(result));
  }
  return std::nullopt;
}

LowerResult lower_converted(const Call& call, XnnBuilder& b) { return convert(call.tensor("self"), call.result(), b); }

LowerResult lower_copy(const Call& call, XnnBuilder& b) {
  const ir::Value* source = call.tensor("src");
  if (!same_shape(source->type.sizes, call.result()->type.sizes))
    return refuse(Code::Shape, "the source of shape " + sizes_text(source->type.sizes) + " is broadcast to " +
                                   sizes_text(call.result()->type.sizes));
  return convert(source, call.result(), b);
}

Types infer_number(const Call& call) {
  const ir::Type& self = call.type("self");
  if (const auto count = self.numel(); count && *count != 1)
    return input_error("a number is taken from a tensor of " + self.str());
  if (is_complex(self.dtype)) return input_error("a complex number is taken from a tensor");
  return one(ir::Type::scalar(self.dtype == DType::Bool ? ir::Type::Kind::Bool
                              : is_float(self.dtype)    ? ir::Type::Kind::Float
                                                        : ir::Type::Kind::Int));
}

Types infer_bool_number(const Call&) { return one(ir::Type::scalar(ir::Type::Kind::Bool)); }

template <DType kDType>
Types infer_cast(const Call& call) {
  ir::Type type = call.type("self");
  type.dtype = kDType;
  return one(std::move(type));
}

constexpr std::string_view kToCopy = "dim_order_ops::_to_dim_order_copy.out(self, false, @dim_order)";
constexpr std::string_view kClone = "dim_order_ops::_clone_dim_order.out(self, false, @dim_order)";

constexpr OpDef kRows[] = {
    {"aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
     infer_converted, lower_converted, kToCopy, kOwnDtypes, "between float32 and float16"},
    {"aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, MemoryFormat? "
     "memory_format=None) -> Tensor(a)",
     infer_converted, lower_converted, kToCopy, kOwnDtypes | kAlias, "between float32 and float16"},
    {"aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> "
     "Tensor(a)",
     infer_converted, lower_converted, kToCopy, kOwnDtypes | kAlias, "between float32 and float16"},
    {"aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool copy=False, "
     "MemoryFormat? memory_format=None) -> Tensor(a)",
     infer_converted, lower_converted, kToCopy, kOwnDtypes | kAlias, "between float32 and float16"},
    {"aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, MemoryFormat? "
     "memory_format=None) -> Tensor(a)",
     infer_converted, lower_converted, kToCopy, kOwnDtypes | kAlias, "between float32 and float16"},
    {"aten::type_as(Tensor self, Tensor other) -> Tensor", infer_converted, lower_converted, kToCopy, kOwnDtypes,
     "between float32 and float16"},
    {"aten::data(Tensor self) -> Tensor", infer_same, lower_converted, "aten::alias_copy.out", kOwnDtypes | kView,
     "float32 or float16; a copy costs nothing inside the delegate"},
    {"aten::_cast_Float(Tensor self, bool non_blocking=False) -> Tensor", infer_cast<DType::F32>, lower_converted,
     kToCopy, kOwnDtypes, "between float32 and float16"},
    {"aten::_cast_Double(Tensor self, bool non_blocking=False) -> Tensor", infer_cast<DType::F64>, lower_converted,
     kToCopy, kOwnDtypes, "between float32 and float16"},
    {"aten::_cast_Half(Tensor self, bool non_blocking=False) -> Tensor", infer_cast<DType::F16>, lower_converted,
     kToCopy, kOwnDtypes, "between float32 and float16"},
    {"aten::_cast_Int(Tensor self, bool non_blocking=False) -> Tensor", infer_cast<DType::I32>, lower_converted,
     kToCopy, kOwnDtypes, "between float32 and float16"},
    {"aten::_cast_Long(Tensor self, bool non_blocking=False) -> Tensor", infer_cast<DType::I64>, lower_converted,
     kToCopy, kOwnDtypes, "between float32 and float16"},
    {"aten::_cast_Short(Tensor self, bool non_blocking=False) -> Tensor", infer_cast<DType::I16>, lower_converted,
     kToCopy, kOwnDtypes, "between float32 and float16"},
    {"aten::_cast_Char(Tensor self, bool non_blocking=False) -> Tensor", infer_cast<DType::I8>, lower_converted,
     kToCopy, kOwnDtypes, "between float32 and float16"},
    {"aten::_cast_Byte(Tensor self, bool non_blocking=False) -> Tensor", infer_cast<DType::U8>, lower_converted,
     kToCopy, kOwnDtypes, "between float32 and float16"},
    {"aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", infer_converted, lower_converted,
     kClone, kOwnDtypes, "float32 or float16; a copy costs nothing inside the delegate"},
    {"aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)", infer_converted, lower_converted,
     kClone, kOwnDtypes | kAlias, "float32 or float16; a copy costs nothing inside the delegate"},
    {"dim_order_ops::_to_dim_order_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None, bool non_blocking=False, int[]? dim_order=None) -> Tensor",
     infer_dim_order, lower_converted, kToCopy, kOwnDtypes, "between float32 and float16"},
    {"dim_order_ops::_clone_dim_order(Tensor self, *, bool non_blocking=False, int[]? dim_order=None) -> Tensor",
     infer_dim_order, lower_converted, kClone, kOwnDtypes,
     "float32 or float16; a copy costs nothing inside the delegate"},
    {"dim_order_ops::_empty_dim_order(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
     "device=None, bool? pin_memory=None, int[]? dim_order=None) -> Tensor",
     infer_dim_order, nullptr, "dim_order_ops::_empty_dim_order.out(size, @dim_order)", kNone,
     "the delegate does not make tensors from numbers"},
    {"aten::alias(Tensor(a) self) -> Tensor(a)", infer_same, lower_converted, "aten::alias_copy.out",
     kOwnDtypes | kView | kAlias, "float32 or float16; a copy costs nothing inside the delegate"},
    {"aten::alias_copy(Tensor self) -> Tensor", infer_same, lower_converted, "aten::alias_copy.out", kOwnDtypes | kView,
     "float32 or float16; a copy costs nothing inside the delegate"},
    {"aten::detach(Tensor(a) self) -> Tensor(a)", infer_same, lower_converted, "aten::detach_copy.out",
     kOwnDtypes | kView | kAlias, "float32 or float16; a copy costs nothing inside the delegate"},
    {"aten::detach_copy(Tensor self) -> Tensor", infer_same, lower_converted, "aten::detach_copy.out",
     kOwnDtypes | kView, "float32 or float16; a copy costs nothing inside the delegate"},
    {"aten::lift(Tensor self) -> Tensor", infer_same, lower_converted, "aten::alias_copy.out", kOwnDtypes | kView,
     "float32 or float16; a copy costs nothing inside the delegate"},
    {"aten::lift_fresh(Tensor(a) self) -> Tensor(a)", infer_same, lower_converted, "aten::alias_copy.out",
     kOwnDtypes | kView | kAlias, "float32 or float16; a copy costs nothing inside the delegate"},
    {"aten::lift_fresh_copy(Tensor self) -> Tensor", infer_same, lower_converted, "aten::lift_fresh_copy.out",
     kOwnDtypes | kView, "float32 or float16; a copy costs nothing inside the delegate"},
    {"aten::detach_(Tensor(a!) self) -> Tensor(a!)", infer_same, nullptr, {}, kInPlace},
    {"aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", infer_same, lower_copy, "aten::copy.out",
     kOwnDtypes, "the source has the shape of the result; float32 and float16"},
    {"aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    // Numbers.
    {"aten::_local_scalar_dense(Tensor self) -> Scalar", infer_number, nullptr, "aten::_local_scalar_dense", kNone,
     "the delegate returns tensors only"},
    {"aten::item(Tensor self) -> Scalar", infer_number, nullptr, "aten::_local_scalar_dense", kNone,
     "the delegate returns tensors only"},
    {"aten::is_nonzero(Tensor self) -> bool",
     infer_bool_number,
     nullptr,
     {},
     kNone,
     "the delegate returns tensors only"},
};

}  // namespace

std::span<const OpDef> convert_ops() { return kRows; }

}  // namespace edgelift::ops
