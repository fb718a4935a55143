// Arguments: from the file's kinds, which follow the Python value, to the schema's.
#include <fmt/format.h>

#include <cmath>

#include "import/importer.h"

namespace edgelift::importer {
namespace {

using archive::show;
using ir::ArgKind;

// What an argument may hold, for messages.
std::string_view wanted(ArgKind kind) {
  switch (kind) {
    case ArgKind::Tensor:
      return "a tensor or a number";
    case ArgKind::OptTensor:
      return "a tensor, a number or None";
    case ArgKind::TensorList:
      return "a list of tensors";
    case ArgKind::OptTensorList:
      return "a list of tensors and None";
    case ArgKind::Int:
      return "an integer";
    case ArgKind::OptInt:
      return "an integer or None";
    case ArgKind::IntList:
      return "a list of integers";
    case ArgKind::OptIntList:
      return "a list of integers or None";
    case ArgKind::Float:
      return "a float";
    case ArgKind::OptFloat:
      return "a float or None";
    case ArgKind::FloatList:
      return "a list of floats";
    case ArgKind::OptFloatList:
      return "a list of floats or None";
    case ArgKind::Bool:
      return "a bool";
    case ArgKind::OptBool:
      return "a bool or None";
    case ArgKind::BoolList:
      return "a list of bools";
    case ArgKind::Scalar:
      return "a number";
    case ArgKind::OptScalar:
      return "a number or None";
    case ArgKind::String:
      return "a string";
    case ArgKind::OptString:
      return "a string or None";
    case ArgKind::ScalarType:
      return "a dtype";
    case ArgKind::OptScalarType:
      return "a dtype or None";
    case ArgKind::MemoryFormat:
      return "a memory format";
    case ArgKind::OptMemoryFormat:
      return "a memory format or None";
    case ArgKind::Ignored:
      return "anything";
  }
  return "";
}

bool takes_none(ArgKind kind) {
  switch (kind) {
    case ArgKind::OptTensor:
    case ArgKind::OptInt:
    case ArgKind::OptIntList:
    case ArgKind::OptFloat:
    case ArgKind::OptFloatList:
    case ArgKind::OptBool:
    case ArgKind::OptScalar:
    case ArgKind::OptString:
    case ArgKind::OptScalarType:
    case ArgKind::OptMemoryFormat:
      return true;
    default:
      return false;
  }
}

bool is_empty_list(const RawArg& raw) {
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&raw)) return ints->empty();
  if (const auto* tensors = std::get_if<TensorsArg>(&raw)) return tensors->names.empty();
  if (const auto* floats = std::get_if<std::vector<double>>(&raw)) return floats->empty();
  if (const auto* bools = std::get_if<std::vector<bool>>(&raw)) return bools->empty();
  if (const auto* symbols = std::get_if<SymsArg>(&raw)) return symbols->items.empty();
  return false;
}

}  // namespace

Result<const Importer::Bound*> Importer::lookup(std::string_view name, const Scope& scope) {
  const auto found = scope.names.find(name);
  if (found == scope.names.end()) {
    return fail(fmt::format("the value {} is used, but nothing before defines it", show(name)));
  }
  return &found->second;
}

Result<ir::Value*> Importer::tensor_named(std::string_view name, Scope& scope) {
  EL_TRY(const Bound* const bound, lookup(name, scope));
  switch (bound->kind) {
    case Bound::Kind::Tensor:
      return bound->tensor;
    case Bound::Kind::Weight:
      return constant_of(bound->weight);
    case Bound::Kind::Number:
      break;
  }
  return fail(fmt::format("the value {} is a number, where a tensor is expected", show(name)));
}

Result<SymValue> Importer::number_of(const RawArg& raw, Scope& scope) {
  if (const auto* integer = std::get_if<int64_t>(&raw)) return SymValue(SymInt(*integer));
  if (const auto* number = std::get_if<double>(&raw)) return sym_literal(*number);
  if (const auto* flag = std::get_if<bool>(&raw)) return SymValue(*flag);
  if (const auto* symbolic = std::get_if<SymArg>(&raw)) {
    if (!symbolic->is_name()) {
      if (symbolic->kind == SymKind::Int) return SymValue(SymInt(symbolic->integer));
      if (symbolic->kind == SymKind::Float) return sym_literal(symbolic->number);
      return SymValue(symbolic->boolean);
    }
    EL_TRY(const Bound* const bound, lookup(symbolic->name, scope));
    if (bound->kind == Bound::Kind::Number) return bound->number;
    return fail(fmt::format("the value {} is a tensor, where a number is expected", show(symbolic->name)));
  }
  return fail(fmt::format("a number is expected, found {}", tag_of(raw)));
}

Result<SymInt> Importer::size_of(const RawArg& raw, Scope& scope) {
  EL_TRY(const SymValue number, number_of(raw, scope));
  if (const auto* size = std::get_if<SymInt>(&number)) return *size;
  if (const auto* flag = std::get_if<bool>(&number)) return SymInt(*flag ? 1 : 0);  // Python's bool is an int
  if (const auto* opaque = std::get_if<Opaque>(&number)) {
    return fail(fmt::format("an integer that depends on sizes cannot be computed: {}", opaque->why));
  }
  return fail("an integer is expected, found a float");
}

Result<SymInt> Importer::size_of(const SymArg& raw, Scope& scope) {
  if (!raw.is_name() && raw.kind == SymKind::Int) return SymInt(raw.integer);
  return size_of(RawArg(raw), scope);
}

// Float, Scalar, Bool, and tensor arguments that are given as a number: kept as what the file says they are.
Result<ir::Arg> Importer::number_argument(const RawArg& raw, const ir::ArgSpec& spec, Scope& scope) {
  const bool wants_float = spec.kind == ArgKind::Float || spec.kind == ArgKind::OptFloat;
  const bool wants_bool = spec.kind == ArgKind::Bool || spec.kind == ArgKind::OptBool;
  if (const auto* number = std::get_if<double>(&raw); number != nullptr && !wants_bool) return ir::Arg(*number);
  if (const auto* integer = std::get_if<int64_t>(&raw); integer != nullptr && !wants_bool) {
    return wants_float ? ir::Arg(static_cast<double>(*integer)) : ir::Arg(SymInt(*integer));
  }
  if (const auto* flag = std::get_if<bool>(&raw)) return wants_float ? ir::Arg(*flag ? 1.0 : 0.0) : ir::Arg(*flag);
  if (const auto* symbolic = std::get_if<SymArg>(&raw)) {
    if (!symbolic->is_name() && symbolic->kind == SymKind::Float && !wants_bool) return ir::Arg(symbolic->number);
    EL_TRY(const SymValue number, number_of(raw, scope));
    if (const auto* opaque = std::get_if<Opaque>(&number)) {
      return fail(fmt::format("argument {}: its value depends on sizes in a way that cannot be computed: {}", spec.name,
                              opaque->why),
                  "compute it with tensors in the model");
    }
    if (const auto* flag = std::get_if<bool>(&number)) return ir::Arg(*flag);
    if (!wants_bool) {
      if (const auto* size = std::get_if<SymInt>(&number)) {
        if (!wants_float) return ir::Arg(*size);
        return size->is_const() ? ir::Arg(static_cast<double>(size->value())) : ir::Arg(ir::SymRatio{*size, SymInt(1)});
      }
      if (const auto* ratio = std::get_if<ir::SymRatio>(&number)) {
        if (ratio->numerator.is_const() && ratio->denominator.is_const()) {
          return ir::Arg(static_cast<double>(ratio->numerator.value()) /
                         static_cast<double>(ratio->denominator.value()));
        }
        return ir::Arg(*ratio);
      }
    }
    if (auto* const* value = std::get_if<ir::Value*>(&number); value != nullptr && !wants_float && !wants_bool) {
      return ir::Arg(*value);
    }
  }
  return fail(fmt::format("argument {}: expected {}, found {}", spec.name, wanted(spec.kind), tag_of(raw)));
}

Result<ir::Arg> Importer::argument(const RawArg& raw, const ir::ArgSpec& spec, Scope& scope) {
  const auto mismatch = [&] {
    return fail(fmt::format("argument {}: expected {}, found {}", spec.name, wanted(spec.kind), tag_of(raw)));
  };
  if (std::holds_alternative<NoneArg>(raw)) {
    if (takes_none(spec.kind) || spec.kind == ArgKind::Ignored) return ir::Arg();
    return mismatch();
  }
  switch (spec.kind) {
    case ArgKind::Tensor:
    case ArgKind::OptTensor:
      if (const auto* tensor = std::get_if<TensorArg>(&raw)) {
        EL_TRY(ir::Value* const value, tensor_named(tensor->name, scope));
        return ir::Arg(value);
      }
      return number_argument(raw, spec, scope);
    case ArgKind::TensorList:
    case ArgKind::OptTensorList: {
      if (is_empty_list(raw)) return ir::Arg(ir::ValueList{});
      const auto* tensors = std::get_if<TensorsArg>(&raw);
      if (tensors == nullptr) return mismatch();
      ir::ValueList list;
      list.reserve(tensors->names.size());
      for (const std::string_view name : tensors->names) {
        if (name.data() == nullptr) {
          if (spec.kind == ArgKind::TensorList)
            return fail(fmt::format("argument {}: a list of tensors holds None", spec.name));
          list.push_back(nullptr);
          continue;
        }
        EL_TRY(ir::Value* const value, tensor_named(name, scope));
        list.push_back(value);
      }
      return ir::Arg(std::move(list));
    }
    case ArgKind::Int:
    case ArgKind::OptInt: {
      if (!std::holds_alternative<int64_t>(raw) && !std::holds_alternative<SymArg>(raw) &&
          !std::holds_alternative<bool>(raw)) {
        return mismatch();
      }
      EL_TRY(SymInt size, size_of(raw, scope));
      return ir::Arg(std::move(size));
    }
    case ArgKind::IntList:
    case ArgKind::OptIntList: {
      ir::IntList list;
      if (const auto* ints = std::get_if<std::vector<int64_t>>(&raw)) {
        list.assign(ints->begin(), ints->end());
      } else if (const auto* symbols = std::get_if<SymsArg>(&raw);
                 symbols != nullptr && symbols->kind == SymKind::Int) {
        for (const SymArg& item : symbols->items) {
          EL_TRY(SymInt size, size_of(item, scope));
          list.push_back(std::move(size));
        }
      } else if (spec.list_length > 0 &&
                 (std::holds_alternative<int64_t>(raw) || std::holds_alternative<SymArg>(raw))) {
        EL_TRY(const SymInt size, size_of(raw, scope));
        list.assign(static_cast<size_t>(spec.list_length), size);
      } else if (!is_empty_list(raw)) {
        return mismatch();
      }
      // Sizes, strides, paddings: shape rules add and multiply them, and no tensor is as large as that.
      constexpr int64_t kMost = int64_t{1} << 48;
      for (const SymInt& item : list) {
        if (item.is_const() && (item.value() > kMost || item.value() < -kMost))
          return fail(fmt::format("argument {}: {} is out of any tensor's range", spec.name, item.value()));
      }
      return ir::Arg(std::move(list));
    }
    case ArgKind::FloatList:
    case ArgKind::OptFloatList: {
      if (const auto* floats = std::get_if<std::vector<double>>(&raw)) return ir::Arg(*floats);
      if (const auto* ints = std::get_if<std::vector<int64_t>>(&raw)) {
        return ir::Arg(std::vector<double>(ints->begin(), ints->end()));
      }
      if (is_empty_list(raw)) return ir::Arg(std::vector<double>{});
      return mismatch();
    }
    case ArgKind::BoolList: {
      if (const auto* bools = std::get_if<std::vector<bool>>(&raw)) return ir::Arg(*bools);
      if (is_empty_list(raw)) return ir::Arg(std::vector<bool>{});
      return mismatch();
    }
    case ArgKind::Float:
    case ArgKind::OptFloat:
    case ArgKind::Bool:
    case ArgKind::OptBool:
    case ArgKind::Scalar:
    case ArgKind::OptScalar:
      return number_argument(raw, spec, scope);
    case ArgKind::String:
    case ArgKind::OptString:
      if (const auto* text = std::get_if<StringArg>(&raw)) return ir::Arg(std::string(text->text));
      return mismatch();
    case ArgKind::ScalarType:
    case ArgKind::OptScalarType: {
      const auto* number = std::get_if<EnumArg>(&raw);
      if (number == nullptr || number->kind != EnumArg::Kind::ScalarType) return mismatch();
      Result<DType> dtype = dtype_of(number->value);
      if (!dtype) return fail(fmt::format("argument {}: {}", spec.name, dtype.error().message));
      return ir::Arg(*dtype);
    }
    case ArgKind::MemoryFormat:
    case ArgKind::OptMemoryFormat: {
      const auto* number = std::get_if<EnumArg>(&raw);
      if (number == nullptr || number->kind != EnumArg::Kind::MemoryFormat) return mismatch();
      Result<ir::MemoryFormat> format = memory_format_of(number->value);
      if (!format) return fail(fmt::format("argument {}: {}", spec.name, format.error().message));
      return ir::Arg(*format);
    }
    case ArgKind::Ignored: {
      // Devices and pinning mean nothing here; a layout does.
      const auto* number = std::get_if<EnumArg>(&raw);
      if (number != nullptr && number->kind == EnumArg::Kind::Layout && number->value != kStridedLayout) {
        return fail(
            fmt::format("argument {}: layout {} (sparse or foreign), expected 7 (strided)", spec.name, number->value));
      }
      return ir::Arg();
    }
  }
  return mismatch();
}

Result<std::vector<ir::Arg>> Importer::arguments(const RawNode& raw, const ir::Op& op, Scope& scope) {
  const std::vector<ir::ArgSpec>& specs = op.schema.args;
  std::vector<ir::Arg> args(specs.size());
  std::vector<bool> given(specs.size(), false);
  for (size_t i = 0; i < raw.inputs.size(); ++i) {
    const RawNamedArg& named = raw.inputs[i];
    // Arguments come in schema order with gaps; where a file gives no name, the position has to do.
    size_t index = i;
    if (!named.name.empty() && (i >= specs.size() || specs[i].name != named.name)) {
      const int found = op.schema.index_of(named.name);
      index = found < 0 ? specs.size() : static_cast<size_t>(found);
    }
    if (index >= specs.size()) {
      return fail(fmt::format("the operator has no argument {}",
                              named.name.empty() ? fmt::format("number {}", i + 1) : show(named.name)),
                  "save the model with torch 2.13 or 2.14");
    }
    if (given[index]) return fail(fmt::format("argument {} is given twice", specs[index].name));
    given[index] = true;
    EL_TRY(args[index], argument(named.value, specs[index], scope));
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    if (given[i]) continue;
    if (specs[i].required && specs[i].kind != ArgKind::Ignored)
      return fail(fmt::format("the required argument {} is missing", specs[i].name));
    args[i] = specs[i].default_value;
  }
  return args;
}

}  // namespace edgelift::importer
