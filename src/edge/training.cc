// Operators that do nothing in inference, and the refusal of programs that were exported in training mode.
#include "edge/table.h"

namespace edgelift::edge {
namespace {

constexpr const char* kAdvice = "the model was exported in training mode; call model.eval() before torch.export.export";

Result<bool> dropout(Builder& b) {
  Value* x = std::get<Value*>(b.node().args.at(0));
  const bool native = b.base() == "native_dropout";
  const bool train = native ? (!ir::is_none(b.arg("train")) && b.call.flag("train")) : b.call.flag("train");
  if (train && b.call.number("p") != 0) return b.refuse(std::string("drops elements at random: ") + kAdvice);
  Value* out = b.upstream ? b.make("clone", {x}) : x;
  if (!native) return b.replace(out);
  Value* mask = b.used(1) ? b.full(x->type.sizes, true, DType::Bool) : nullptr;
  return b.replace({out, mask});
}

Result<bool> rrelu(Builder& b) {
  if (b.call.flag("training")) return b.refuse(std::string("draws random slopes: ") + kAdvice);
  const double slope = (b.call.number("lower") + b.call.number("upper")) / 2;
  return b.replace(b.make("leaky_relu", {b.in(), slope}));
}

// The form that decompositions write: the noise is given, and stays as it is in inference.
Result<bool> rrelu_with_noise(Builder& b) {
  if (b.call.flag("training")) return b.refuse(std::string("draws random slopes: ") + kAdvice);
  const double slope = (b.call.number("lower") + b.call.number("upper")) / 2;
  return b.replace({b.make("leaky_relu", {b.in(), slope}), b.in("noise")});
}

Result<bool> random(Builder& b) {
  return b.refuse("draws random numbers, for which the runtime has no kernel; pass the numbers as an input");
}

constexpr Entry kEntries[] = {
    {"dropout", dropout},
    {"feature_dropout", dropout},
    {"alpha_dropout", dropout},
    {"feature_alpha_dropout", dropout},
    {"native_dropout", dropout},
    {"rrelu", rrelu},
    {"rrelu_with_noise_functional", rrelu_with_noise},
    {"bernoulli", random},
    {"bernoulli.p", random},
    {"multinomial", random},
    {"normal.float_float", random},
    {"normal_functional", random},
    {"normal.Tensor_float", random},
    {"normal.float_Tensor", random},
    {"normal.Tensor_Tensor", random},
    {"uniform", random},
    {"exponential", random},
    {"randint", random},
    {"randint.low", random},
    {"randint_like", random},
    {"randint_like.low_dtype", random},
    {"randperm", random},
};

}  // namespace

std::span<const Entry> training_entries() { return kEntries; }

}  // namespace edgelift::edge
