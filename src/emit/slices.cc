#include "emit/slices.h"

#include <algorithm>

#include "ops/record.h"

namespace edgelift::emit {

std::optional<std::vector<int64_t>> contiguous_pieces(const ir::Node& node) {
  const std::string& kernel = ops::record(node).kernel;
  const bool slice = kernel.starts_with("aten::slice_copy.Tensor_out"),
             select = kernel.starts_with("aten::select_copy.int_out");
  const bool list = kernel.starts_with("aten::split_copy.") || kernel.starts_with("aten::split_with_sizes_copy.") ||
                    kernel.starts_with("aten::unbind_copy.");
  if (!slice && !select && !list) return std::nullopt;
  const ops::Call call(node);
  const auto* operand = std::get_if<ir::Value*>(&node.args.at(0));
  if (operand == nullptr || *operand == nullptr || call.op().schema.index_of("dim") < 0 || call.is_symbolic("dim"))
    return std::nullopt;
  const ir::Type& from = (*operand)->type;
  const auto in_order = [](const ir::Type& type) {
    return type.is_tensor() && type.is_static() &&
           (type.dim_order.empty() || std::is_sorted(type.dim_order.begin(), type.dim_order.end()));
  };
  if (!in_order(from)) return std::nullopt;
  for (const ir::Value* result : node.results)
    if (!in_order(result->type) || result->type.dtype != from.dtype) return std::nullopt;
  const std::optional<int64_t> dim = ops::normalize_dim(call.integer("dim"), from.rank());
  if (!dim || from.rank() == 0) return std::nullopt;
  const std::vector<int64_t> sizes = from.static_sizes();
  const auto d = static_cast<size_t>(*dim);
  if (std::any_of(sizes.begin(), sizes.begin() + *dim, [](int64_t size) { return size != 1; })) return std::nullopt;
  int64_t stride = 1;
  for (size_t i = d + 1; i < sizes.size(); ++i) stride *= sizes[i];

  std::vector<int64_t> firsts;
  if (list) {
    int64_t at = 0;
    for (const ir::Value* result : node.results) {
      firsts.push_back(at);
      at += *result->type.numel();
    }
    return firsts;
  }
  int64_t start = 0;
  if (select) {
    if (call.is_symbolic("index")) return std::nullopt;
    start = call.integer("index");
  } else {
    if (call.is_symbolic("step") || call.integer("step") != 1) return std::nullopt;
    if (call.has("start")) {
      if (call.is_symbolic("start")) return std::nullopt;
      start = call.integer("start");
    }
  }
  if (start < 0) start += sizes[d];
  start = std::clamp<int64_t>(start, 0, sizes[d]);
  // An empty result has no first element that must exist.
  if (*node.result()->type.numel() == 0) start = 0;
  return std::vector<int64_t>{start * stride};
}

}  // namespace edgelift::emit
