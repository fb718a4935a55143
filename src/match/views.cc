#include "match/views.h"

#include <algorithm>

#include "match/constant.h"
#include "ops/call.h"
#include "ops/infer.h"

namespace edgelift::match {
namespace {

bool same_sizes(const ir::Value* a, const ir::Value* b) {
  return a->type.dtype == b->type.dtype && ops::same_shape(a->type.sizes, b->type.sizes);
}

ir::Value* source_of(const ir::Node& node) {
  if (node.args.empty()) return nullptr;
  auto* const* source = std::get_if<ir::Value*>(&node.args.at(0));
  return source == nullptr || !(*source)->type.is_tensor() ? nullptr : *source;
}

bool is_reshape(const ir::Node& node) {
  const ir::Op& op = *node.op;
  if (op.ns != "aten") return false;
  if (op.base == "view") return op.overload == "default";
  return op.base == "_unsafe_view" || op.base == "reshape" || op.base == "unsqueeze" || op.base == "squeeze" ||
         op.base == "flatten";
}

bool is_identity(const ir::Node& node) {
  const ir::Op& op = *node.op;
  return op.ns == "aten" &&
         (op.base == "clone" || op.base == "alias" || op.base == "detach" || op.base == "contiguous" ||
          op.base == "lift_fresh_copy" || op.base == "alias_copy" || op.base == "detach_copy");
}

}  // namespace

bool is_noop_expand(const ir::Node& node) {
  if (!node.is("expand")) return false;
  const ir::Value* source = source_of(node);
  return source != nullptr && same_sizes(source, node.result());
}

bool is_noop(const ir::Node& node) {
  if (node.op->ns != "aten" && node.op->ns != "dim_order_ops") return false;
  const ir::Value* source = source_of(node);
  if (source == nullptr || node.results.size() != 1 || !node.result()->type.is_tensor()) return false;
  if (!same_sizes(source, node.result()) || source->type.dim_order != node.result()->type.dim_order) return false;
  if (is_identity(node) || is_reshape(node) || node.is("expand") || node.is("_to_copy")) return true;
  const ops::Call call(node);
  const std::string_view base = node.op->base;
  if (base == "_to_dim_order_copy" || base == "_clone_dim_order") return true;
  if (const auto perm = permutation_of(node)) {
    // Dims of size one may move as they like: no element changes its place.
    std::vector<int64_t> wide;
    for (const int64_t d : *perm)
      if (!(source->type.sizes[static_cast<size_t>(d)] == SymInt(1))) wide.push_back(d);
    return std::is_sorted(wide.begin(), wide.end());
  }
  if (base == "slice" && node.op->overload == "Tensor") return !call.is_symbolic("step") && call.integer("step") == 1;
  if (base == "narrow" && node.op->overload == "default") return true;
  if (base == "repeat" || base == "tile") return true;  // equal sizes: every repeat is 1 or the dim is empty
  if (base == "dropout" || base == "feature_dropout" || base == "alpha_dropout" || base == "native_dropout")
    return !call.flag("train");
  if (base == "constant_pad_nd") {
    const auto& pad = call.ints("pad");
    return std::all_of(pad.begin(), pad.end(), [](const SymInt& p) { return p == SymInt(0); });
  }
  if (base == "roll") {
    const auto& shifts = call.ints("shifts");
    return std::all_of(shifts.begin(), shifts.end(), [](const SymInt& s) { return s == SymInt(0); });
  }
  if (node.is("mul", "Tensor") || node.is("mul", "Scalar") || node.is("div", "Tensor") || node.is("div", "Scalar")) {
    const ir::Arg& other = node.args.at(1);
    if (const auto* d = std::get_if<double>(&other)) return *d == 1.0;
    if (const auto* i = std::get_if<SymInt>(&other))
      return *i == SymInt(1) && (base == "mul" || is_float(source->type.dtype));
    auto* const* value = std::get_if<ir::Value*>(&other);
    if (value == nullptr || !(*value)->type.is_tensor()) return false;
    const auto number = as_number(*value);
    return number && *number == 1.0;
  }
  return false;
}

ir::Value* skip_reshapes(ir::Value* value) {
  for (int depth = 0; depth < 24 && value->producer != nullptr; ++depth) {
    ir::Node& node = *value->producer;
    ir::Value* source = source_of(node);
    if (source == nullptr || source->users.size() != 1) return value;
    if (!is_identity(node) && !is_reshape(node) && !is_noop_expand(node)) return value;
    value = source;
  }
  return value;
}

std::optional<std::vector<int64_t>> permutation_of(const ir::Node& node) {
  const ir::Value* source = source_of(node);
  if (source == nullptr) return std::nullopt;
  const int64_t rank = source->type.rank();
  const ops::Call call(node);
  if (node.is("permute")) {
    std::vector<int64_t> dims = call.integers("dims");
    for (int64_t& d : dims) d = d < 0 ? d + rank : d;
    return dims;
  }
  std::vector<int64_t> dims(static_cast<size_t>(rank));
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i);
  if (node.is("transpose", "int")) {
    if (rank == 0) return dims;
    const auto a = ops::normalize_dim(call.integer("dim0"), rank);
    const auto b = ops::normalize_dim(call.integer("dim1"), rank);
    if (!a || !b) return std::nullopt;
    std::swap(dims[static_cast<size_t>(*a)], dims[static_cast<size_t>(*b)]);
    return dims;
  }
  if (node.is("t")) {
    std::reverse(dims.begin(), dims.end());
    return dims;
  }
  return std::nullopt;
}

ir::Value* transposed_source(ir::Value* value, std::vector<ir::Node*>& passed) {
  for (int depth = 0; depth < 24 && value->producer != nullptr; ++depth) {
    ir::Node& node = *value->producer;
    ir::Value* source = source_of(node);
    if (source == nullptr) return nullptr;
    if (const auto perm = permutation_of(node)) {
      const size_t rank = perm->size();
      if (rank < 2) return nullptr;
      for (size_t i = 0; i + 2 < rank; ++i)
        if ((*perm)[i] != static_cast<int64_t>(i)) return nullptr;
      return (*perm)[rank - 2] == static_cast<int64_t>(rank - 1) ? source : nullptr;
    }
    const int64_t rank = value->type.rank(), from = source->type.rank();
    if (!is_identity(node) && !is_reshape(node) && !node.is("expand")) return nullptr;
    if (rank < 2 || from < 2) return nullptr;
    for (int64_t i = 1; i <= 2; ++i)
      if (!(value->type.sizes[static_cast<size_t>(rank - i)] == source->type.sizes[static_cast<size_t>(from - i)]))
        return nullptr;
    passed.push_back(&node);
    value = source;
  }
  return nullptr;
}

}  // namespace edgelift::match
