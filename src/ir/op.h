// What the graph knows of an operator: its name and schema. Everything else about it (shape rule, kernel, lowering)
// lives in src/ops, whose OpRecord derives from Op.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/arg.h"

namespace edgelift::ir {

enum class ArgKind : uint8_t {
  Tensor,
  OptTensor,
  TensorList,
  OptTensorList,
  Int,
  OptInt,
  IntList,
  OptIntList,
  Float,
  OptFloat,
  FloatList,
  OptFloatList,
  Bool,
  OptBool,
  BoolList,
  Scalar,
  OptScalar,
  String,
  OptString,
  ScalarType,
  OptScalarType,
  MemoryFormat,
  OptMemoryFormat,
  Ignored,  // Layout, Device, Generator, pin_memory…: accepted on import, always None afterwards
};

struct ArgSpec {
  std::string name;
  ArgKind kind = ArgKind::Tensor;
  int list_length = 0;   // int[2] = 2: a single number in the file means a list of that many
  bool required = true;  // no default in the schema
  bool keyword_only = false;
  bool written = false;  // Tensor(a!)
  bool aliased = false;  // Tensor(a) or Tensor(a!)
  Arg default_value;
};

enum class ReturnKind : uint8_t {
  Tensor,
  TensorList,
  Int,
  Float,
  Bool,
  Scalar,  // Int, Float or Bool by the dtype of an operand (item)
};
struct ReturnSpec {
  ReturnKind kind = ReturnKind::Tensor;
  bool aliased = false;
};

struct Schema {
  std::vector<ArgSpec> args;
  std::vector<ReturnSpec> returns;
  // Index of the argument called name, or -1.
  int index_of(std::string_view name) const;
};

struct Op {
  std::string ns;        // aten, prims, dim_order_ops, quantized_decomposed, edgelift …
  std::string base;      // add
  std::string overload;  // Tensor, default
  Schema schema;
  virtual ~Op() = default;

  // aten::add.Tensor; aten::relu.default
  std::string full_name() const { return ns + "::" + base + "." + overload; }
  // The text form's name: add.Tensor, relu, quantized_decomposed.dequantize_per_tensor
  std::string text_name() const;
  bool is(std::string_view base_name, std::string_view overload_name) const {
    return ns == "aten" && base == base_name && overload == overload_name;
  }
  bool writes_args() const;
};

// The only operator that is not in the table: a call of Program::delegates[index]. Its arguments are
// {index, [operands]}; results are the delegate's outputs.
const Op& delegate_op();

}  // namespace edgelift::ir
