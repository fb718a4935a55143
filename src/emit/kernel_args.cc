#include "emit/kernel_args.h"

#include "base/check.h"

namespace edgelift::emit {

namespace {
// c10::MemoryFormat's numbers, which the kernels compare with.
int64_t memory_format_number(ir::MemoryFormat format) {
  switch (format) {
    case ir::MemoryFormat::Contiguous:
      return 0;
    case ir::MemoryFormat::Preserve:
      return 1;
    case ir::MemoryFormat::ChannelsLast:
      return 2;
    case ir::MemoryFormat::ChannelsLast3d:
      return 3;
  }
  EL_UNREACHABLE("memory format");
}
}  // namespace

Result<std::vector<int32_t>> KernelArgs::of(const ir::Node& node) {
  const ops::OpRecord& record = ops::record(node);
  std::vector<int32_t> args;
  for (const ops::OpRecord::KernelArg& arg : record.kernel_args) {
    switch (arg.kind) {
      case ops::OpRecord::KernelArg::Kind::Schema: {
        EL_TRY(const int32_t index, by_schema(node.args.at(arg.index), record.schema.args.at(arg.index).kind));
        args.push_back(index);
        break;
      }
      case ops::OpRecord::KernelArg::Kind::Literal: {
        EL_TRY(const int32_t index, literal(arg.literal));
        args.push_back(index);
        break;
      }
      case ops::OpRecord::KernelArg::Kind::DimOrder:
        args.push_back(dim_order(node.result()->type));
        break;
    }
  }
  return args;
}

int32_t KernelArgs::dim_order(const ir::Type& type) {
  // Written out for row-major results too: null means the operand's order, not row-major.
  if (type.sizes.empty()) return values_.null();
  std::vector<int32_t> items;
  for (size_t i = 0; i < type.sizes.size(); ++i)
    items.push_back(values_.integer(type.dim_order.empty() ? static_cast<int64_t>(i) : type.dim_order[i]));
  return values_.int_list(std::move(items));
}

// A float argument must be a Double: the runtime aborts on an Int there.
Result<int32_t> KernelArgs::real(const ir::Arg& arg) {
  if (const auto* number = std::get_if<double>(&arg)) return values_.real(*number);
  if (const auto* flag = std::get_if<bool>(&arg)) return values_.real(*flag ? 1.0 : 0.0);
  if (const auto* ratio = std::get_if<ir::SymRatio>(&arg)) return sizes_.value(*ratio);
  if (const auto* size = std::get_if<SymInt>(&arg)) {
    if (size->is_const()) return values_.real(static_cast<double>(size->value()));
    return sizes_.value(ir::SymRatio{*size, SymInt(1)});
  }
  if (const auto* value = std::get_if<ir::Value*>(&arg); value != nullptr && *value != nullptr) {
    if ((*value)->type.kind == ir::Type::Kind::Float) return operand_(*value);
    if ((*value)->symbol != nullptr) return sizes_.value(ir::SymRatio{SymInt::symbol((*value)->symbol), SymInt(1)});
  }
  return input_error("has a float argument of a kind that no kernel takes");
}

// A Scalar keeps the type that PyTorch recorded.
Result<int32_t> KernelArgs::scalar(const ir::Arg& arg) {
  if (const auto* number = std::get_if<double>(&arg)) return values_.real(*number);
  if (const auto* flag = std::get_if<bool>(&arg)) return values_.flag(*flag);
  if (const auto* size = std::get_if<SymInt>(&arg)) return sizes_.value(*size);
  if (const auto* ratio = std::get_if<ir::SymRatio>(&arg)) return sizes_.value(*ratio);
  if (const auto* value = std::get_if<ir::Value*>(&arg); value != nullptr && *value != nullptr) return operand_(*value);
  return input_error("has a Scalar argument of a kind that no kernel takes");
}

Result<int32_t> KernelArgs::literal(const ir::Arg& arg) {
  if (ir::is_none(arg)) return values_.null();
  if (const auto* text = std::get_if<std::string>(&arg)) return values_.text(*text);
  return scalar(arg);
}

Result<int32_t> KernelArgs::by_schema(const ir::Arg& arg, ir::ArgKind kind) {
  using Kind = ir::ArgKind;
  if (ir::is_none(arg)) return values_.null();
  switch (kind) {
    case Kind::Tensor:
    case Kind::OptTensor:
      return operand_(std::get<ir::Value*>(arg));
    case Kind::TensorList:
    case Kind::OptTensorList: {
      std::vector<int32_t> items;
      for (const ir::Value* value : std::get<ir::ValueList>(arg)) {
        if (value == nullptr) {
          items.push_back(-1);
          continue;
        }
        EL_TRY(const int32_t index, operand_(value));
        items.push_back(index);
      }
      return kind == Kind::TensorList ? values_.tensor_list(std::move(items))
                                      : values_.optional_tensor_list(std::move(items));
    }
    case Kind::Int:
    case Kind::OptInt:
      return scalar(arg);
    case Kind::IntList:
    case Kind::OptIntList:
      return sizes_.list(std::get<ir::IntList>(arg));
    case Kind::Float:
    case Kind::OptFloat:
      return real(arg);
    case Kind::FloatList:
    case Kind::OptFloatList:
      return values_.double_list(std::get<std::vector<double>>(arg));
    case Kind::Bool:
    case Kind::OptBool:
      return scalar(arg);
    case Kind::BoolList:
      return values_.bool_list(std::get<std::vector<bool>>(arg));
    case Kind::Scalar:
    case Kind::OptScalar:
      return scalar(arg);
    case Kind::String:
    case Kind::OptString:
      return values_.text(std::get<std::string>(arg));
    case Kind::ScalarType:
    case Kind::OptScalarType:
      return values_.integer(static_cast<int64_t>(std::get<DType>(arg)));
    case Kind::MemoryFormat:
    case Kind::OptMemoryFormat:
      return values_.integer(memory_format_number(std::get<ir::MemoryFormat>(arg)));
    case Kind::Ignored:
      return values_.null();
  }
  EL_UNREACHABLE("kind of an argument");
}

}  // namespace edgelift::emit
