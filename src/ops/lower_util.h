// Small questions that lower() functions of several families ask.
#pragma once

#include <string>

#include "ops/infer.h"
#include "ops/xnn_builder.h"

namespace edgelift::ops {

// The data of an ordinary constant; null for anything else, mutable buffers included.
inline const TensorData* constant_data(const ir::Value* value) {
  return value != nullptr && value->constant != nullptr && !value->constant->is_mutable ? &value->constant->data
                                                                                        : nullptr;
}

// A filter or bias: packed where it is a constant, else an ordinary operand. kInvalid for null.
uint32_t packed_or_value(XnnBuilder& b, const ir::Value* value);

// Whether eager's computation with this scalar is the same with the scalar rounded to dtype. Eager rounds scalars to
// float32 before it computes, so only float16 can differ.
bool exact_scalar(DType dtype, double value);
// The refusal for a scalar that is not exact.
LowerResult inexact_scalar(std::string_view name, double value);

// min(max(in, lo), hi) that keeps NaN as eager does. The float16 kernels of x86 lose it, so that float16 is clamped in
// float32, which holds every bound and result exactly.
void clamp_keeping_nan(XnnBuilder& b, DType dtype, uint32_t in, double lo, double hi, uint32_t out);

// A constant times a number, in its own dtype, computed in double and rounded once.
TensorData scaled(const TensorData& data, double factor);

// All dims numbers, at the given value's type.
inline bool is_static(const ir::Value* value) { return value->type.is_static(); }

std::string number_text(double value);

}  // namespace edgelift::ops
