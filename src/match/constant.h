// What a value is known to be at compile time. Read-only and free of copies: the answer is a view into the constant.
#pragma once

#include <optional>

#include "base/tensor_data.h"
#include "ir/graph.h"

namespace edgelift::match {

// The value's elements where they are known without running a kernel: an immutable constant, a number-filled factory
// (full, zeros, scalar_tensor …), or either seen through view-like operators (permute, expand, slice, clone …) that a
// strided view expresses. nullopt otherwise.
std::optional<TensorData> as_constant(const ir::Value* value);

// The one number that every element of the value is: a one-element constant, or one spread by expand or full.
std::optional<double> as_number(const ir::Value* value);

// True if every element of the constant is the same number by its strides or because it has one element.
std::optional<double> uniform_number(const TensorData& data);

// True for operators whose result holds elements of their first argument, unchanged and in some arrangement, and that
// scaling commutes with: views, expand, permute, slice, clone.
bool is_rearrangement(const ir::Node& node);

}  // namespace edgelift::match
