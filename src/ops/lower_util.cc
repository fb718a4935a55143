#include "ops/lower_util.h"

#include "base/numbers.h"

namespace edgelift::ops {

uint32_t packed_or_value(XnnBuilder& b, const ir::Value* value) {
  if (value == nullptr) return xnn::kInvalid;
  const TensorData* data = constant_data(value);
  return data != nullptr ? b.packed(*data) : b.value(value);
}

bool exact_scalar(DType dtype, double value) {
  if (dtype != DType::F16) return true;
  return scalar_data(dtype, value).element_as_double(0) == value || value != value;
}

void clamp_keeping_nan(XnnBuilder& b, DType dtype, uint32_t in, double lo, double hi, uint32_t out) {
  if (dtype != DType::F16) {
    b.clamp(in, static_cast<float>(lo), static_cast<float>(hi), out);
    return;
  }
  const uint32_t wide = b.unary(xnn::Kind::Convert, in, b.temp(DType::F32, b.dims(in)));
  b.unary(xnn::Kind::Convert, b.clamp(wide, static_cast<float>(lo), static_cast<float>(hi)), out);
}

std::string number_text(double value) { return float_text(value); }

LowerResult inexact_scalar(std::string_view name, double value) {
  return refuse(Refusal::Code::Attribute, std::string(name) + " " + number_text(value) +
                                              " is not exact in float16, and eager computes with the unrounded number");
}

TensorData scaled(const TensorData& data, double factor) {
  std::vector<double> values = data.to_doubles();
  for (double& value : values) value *= factor;
  return TensorData::of(DType::F64, data.sizes(), values).converted(data.dtype());
}

}  // namespace edgelift::ops
