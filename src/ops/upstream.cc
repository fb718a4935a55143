// What the partitioner of ExecuTorch 1.5.1 takes, operator by operator, for the recipe that reproduces its flow. An
// operator that is not in the table is never delegated there. Facts: xnnpack-op-rules, part A.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "ops/families.h"
#include "ops/infer.h"
#include "ops/xnn_builder.h"

namespace edgelift::ops {
namespace {

LowerResult never(std::string sentence) {
  return refuse(Refusal::Code::Upstream, "ExecuTorch's partitioner " + std::move(sentence));
}

bool is_parameter(const ir::Value* value) { return value == nullptr || value->is_constant(); }
bool is_used(const ir::Value* value) { return !value->users.empty() || value->producer->graph->is_output(value); }

LowerResult always(const Call&) { return std::nullopt; }

LowerResult add(const Call& c) {
  if (std::abs(c.number("alpha") - 1.0) > 2e-9) return never("takes no alpha other than 1");
  return std::nullopt;
}

LowerResult gemm(const Call& c, std::string_view weight, std::string_view bias) {
  if (!is_parameter(c.tensor(weight))) return never("takes no weight that is not a parameter");
  if (!bias.empty() && !is_parameter(c.opt_tensor(bias))) return never("takes no bias that is not a parameter");
  return std::nullopt;
}
LowerResult linear(const Call& c) { return gemm(c, "weight", "bias"); }
LowerResult addmm(const Call& c) { return gemm(c, "mat2", "self"); }
LowerResult mm(const Call& c) { return gemm(c, "mat2", ""); }

LowerResult convolution(const Call& c) {
  if (auto refused = gemm(c, "weight", "bias")) return refused;
  if (c.type("weight").rank() > 4) return never("takes no 3-D convolution");
  return std::nullopt;
}

LowerResult batch_norm(const Call& c) {
  const ir::Type& input = c.type("input");
  if (input.rank() < 2 || input.rank() > 4) return never("takes batch norms of rank 2 to 4");
  if (!input.sizes[1].is_const()) return never("takes no dynamic number of channels");
  for (const std::string_view name : {"weight", "bias", "running_mean", "running_var"})
    if (!is_parameter(c.opt_tensor(name)))
      return never("takes no batch norm with a " + std::string(name) + " that is not a parameter");
  for (size_t i = 1; i < c.node()->results.size(); ++i)
    if (is_used(c.result(i))) return never("takes no batch norm whose statistics are used");
  return std::nullopt;
}

LowerResult avg_pool(const Call& c) {
  if (c.flag("ceil_mode")) return never("takes no ceil_mode in avg_pool2d");
  const std::vector<int64_t> padding = c.integers("padding");
  const bool padded = std::any_of(padding.begin(), padding.end(), [](int64_t p) { return p != 0; });
  if (padded && c.flag("count_include_pad")) return never("takes no avg_pool2d that counts its padding");
  const std::vector<int64_t> kernel = repeat_to(c.integers("kernel_size"), 2);
  if (c.has("divisor_override") && c.integer("divisor_override") != kernel.at(0) * kernel.at(1))
    return never("takes no divisor_override");
  return std::nullopt;
}

LowerResult max_pool(const Call& c) {
  const std::vector<int64_t> kernel = repeat_to(c.integers("kernel_size"), 2);
  const std::vector<int64_t> stride = c.ints("stride").empty() ? kernel : repeat_to(c.integers("stride"), 2);
  if (c.flag("ceil_mode") && !c.result()->type.is_static()) return never("takes no ceil_mode with dynamic sizes");
  if (stride.at(0) > kernel.at(0) || stride.at(1) > kernel.at(1))
    return never("takes no max_pool2d with a stride above its window");
  return std::nullopt;
}

LowerResult max_dim(const Call& c) {
  if (c.type("self").rank() != 4) return never("takes max.dim of rank 4 only");
  if (is_used(c.result(1))) return never("takes no max.dim whose indices are used");
  return std::nullopt;
}

LowerResult cat(const Call& c) {
  const ir::ValueList& tensors = c.tensors("tensors");
  const bool distinct =
      std::any_of(tensors.begin(), tensors.end(), [&](const ir::Value* v) { return v != tensors.front(); });
  return distinct ? std::nullopt : never("takes no concatenation of fewer than two different tensors");
}

LowerResult clone(const Call& c) {
  if (c.type("self").dim_order != c.result()->type.dim_order)
    return never("takes no copy that changes the memory format");
  return std::nullopt;
}

LowerResult to_copy(const Call& c) {
  if (c.type("self").dtype != c.result()->type.dtype) return never("takes no conversion of dtypes");
  return std::nullopt;
}

LowerResult gelu(const Call& c) {
  if (c.result()->type.dtype == DType::F16) return never("takes no gelu in float16");
  return std::nullopt;
}

LowerResult softmax(const Call& c) {
  const int64_t rank = c.type("self").rank();
  const int64_t dim = c.integer("dim");
  return dim == -1 || dim == rank - 1 ? std::nullopt : never("takes softmax over the last dim only");
}

LowerResult mean(const Call& c) {
  std::vector<int64_t> dims = c.integers("dim");
  for (int64_t& dim : dims) dim = dim < 0 ? dim + 4 : dim;
  std::sort(dims.begin(), dims.end());
  if (c.type("self").rank() != 4 || dims != std::vector<int64_t>{2, 3})
    return never("takes mean.dim over H and W of rank 4 only");
  if (!c.flag("keepdim")) return never("takes mean.dim with keepdim only");
  if (c.has("dtype")) return never("takes no dtype in mean.dim");
  return std::nullopt;
}

LowerResult pow(const Call& c) {
  if (c.scalar_is_float("exponent") || c.is_symbolic("exponent") || c.number("exponent") != 2)
    return never("takes no power but the integer 2");
  return std::nullopt;
}

LowerResult prelu(const Call& c) {
  return is_parameter(c.tensor("weight")) ? std::nullopt : never("takes no prelu whose weight is not a parameter");
}

LowerResult slice(const Call& c) {
  if (c.integer("step") != 1) return never("takes no slice with a step");
  if (!c.type("self").is_static() || !c.result()->type.is_static()) return never("takes no slice of dynamic sizes");
  return std::nullopt;
}

LowerResult unsqueeze(const Call& c) {
  const int64_t dim = c.integer("dim");
  return dim == -1 || dim == c.type("self").rank() ? std::nullopt : never("takes unsqueeze of the last dim only");
}

LowerResult upsample(const Call& c) {
  return c.result()->type.is_static() ? std::nullopt : never("takes no resize to dynamic sizes");
}

LowerResult pad(const Call& c) {
  const std::vector<int64_t> padding = c.integers("pad");
  return std::any_of(padding.begin(), padding.end(), [](int64_t p) { return p < 0; })
             ? never("takes no negative padding")
             : std::nullopt;
}

const std::unordered_map<std::string_view, UpstreamFn>& rules() {
  static const std::unordered_map<std::string_view, UpstreamFn> table = {
      {"aten::abs.default", always},
      {"aten::add.Tensor", add},
      {"aten::addmm.default", addmm},
      {"aten::avg_pool2d.default", avg_pool},
      {"aten::_native_batch_norm_legit_no_training.default", batch_norm},
      {"aten::bmm.default", always},
      {"aten::cat.default", cat},
      {"aten::ceil.default", always},
      {"aten::clone.default", clone},
      {"dim_order_ops::_clone_dim_order.default", clone},
      {"aten::constant_pad_nd.default", pad},
      {"aten::convolution.default", convolution},
      {"aten::clamp.default", always},
      {"aten::div.Tensor", always},
      {"aten::exp.default", always},
      {"aten::floor.default", always},
      {"aten::gelu.default", gelu},
      {"aten::hardtanh.default", always},
      {"aten::hardswish.default", always},
      {"aten::leaky_relu.default", always},
      {"aten::linear.default", linear},
      {"aten::log.default", always},
      {"aten::max.dim", max_dim},
      {"aten::maximum.default", always},
      {"aten::max_pool2d.default", max_pool},
      {"aten::mean.dim", mean},
      {"aten::minimum.default", always},
      {"aten::mm.default", mm},
      {"aten::mul.Tensor", always},
      {"aten::neg.default", always},
      {"aten::permute.default", always},
      {"aten::pow.Tensor_Scalar", pow},
      {"aten::prelu.default", prelu},
      {"aten::rsqrt.default", always},
      {"aten::relu.default", always},
      {"aten::tanh.default", always},
      {"aten::_to_copy.default", to_copy},
      {"dim_order_ops::_to_dim_order_copy.default", to_copy},
      {"aten::sigmoid.default", always},
      {"aten::sin.default", always},
      {"aten::cos.default", always},
      {"aten::slice.Tensor", slice},
      {"aten::_softmax.default", softmax},
      {"aten::sqrt.default", always},
      {"aten::sub.Tensor", add},
      {"aten::unsqueeze.default", unsqueeze},
      {"aten::upsample_bilinear2d.vec", upsample},
      {"aten::view.default", always},
  };
  return table;
}

// A size that is known only at run time is an operand there, and operands are tensors.
bool has_symbolic_argument(const ir::Node& node) {
  for (const ir::Arg& arg : node.args) {
    if (const auto* size = std::get_if<SymInt>(&arg); size != nullptr && !size->is_const()) return true;
    if (const auto* list = std::get_if<ir::IntList>(&arg);
        list != nullptr && std::any_of(list->begin(), list->end(), [](const SymInt& size) { return !size.is_const(); }))
      return true;
    if (std::holds_alternative<ir::SymRatio>(arg)) return true;
  }
  return false;
}

}  // namespace

UpstreamFn upstream_rule(std::string_view full_name) {
  const auto found = rules().find(full_name);
  return found == rules().end() ? nullptr : found->second;
}

LowerResult upstream_refusal(const ir::Node& node) {
  if (is_delegate(node)) return refuse(Refusal::Code::Policy, "it is a delegate already");
  const OpRecord& op = record(node);
  if (op.upstream == nullptr) return never("has no rule for it");
  if (auto refused = refusal(node)) return refused;
  if (has_symbolic_argument(node)) return never("takes no size that is known only at run time as an argument");
  return op.upstream(Call(node));
}

}  // namespace edgelift::ops
