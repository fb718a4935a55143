// Arguments of a node: one for each argument of the operator's schema, in schema order, defaults filled in.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/symint.h"

namespace edgelift::ir {

class Value;

// Numbers are those of the .pt2 schema (pt2-format 2.6).
enum class MemoryFormat : uint8_t { Contiguous = 1, ChannelsLast = 2, ChannelsLast3d = 3, Preserve = 4 };

// A float computed from sizes (torch.sym_float, truediv): numerator/denominator of integer expressions.
struct SymRatio {
  SymInt numerator, denominator = SymInt(1);
  friend bool operator==(const SymRatio&, const SymRatio&) = default;
};

using ValueList = std::vector<Value*>;  // nullptr = None, only in OptTensorList
using IntList = std::vector<SymInt>;
using Arg = std::variant<std::monostate,       // None
                         Value*,               // Tensor, or an Int/Float/Bool value used as a Scalar
                         ValueList,            // Tensor[]
                         SymInt,               // int
                         double,               // float
                         bool,                 // bool
                         std::string,          // str
                         IntList,              // int[]
                         std::vector<double>,  // float[]
                         std::vector<bool>,    // bool[]
                         DType,                // ScalarType
                         MemoryFormat,         // MemoryFormat
                         SymRatio>;            // float or Scalar, from sizes

inline bool is_none(const Arg& arg) { return std::holds_alternative<std::monostate>(arg); }

// Calls f(Value*) for every operand in the argument, in order, None excluded.
template <class F>
void for_each_value(const Arg& arg, F&& f) {
  if (const auto* v = std::get_if<Value*>(&arg)) {
    f(*v);
  } else if (const auto* list = std::get_if<ValueList>(&arg)) {
    for (Value* value : *list)
      if (value != nullptr) f(value);
  }
}

}  // namespace edgelift::ir
