#include "match/constant.h"

#include <algorithm>
#include <string_view>

#include "ops/call.h"
#include "ops/infer.h"
#include "ops/record.h"

namespace edgelift::match {
namespace {

// Chains longer than this are folded by fold-constants first; the bound keeps every question of constant cost.
constexpr int kMaxDepth = 24;

enum class Arrange { None, Same, View, Permute, Transpose, Matrix, Expand, Slice, Select, Narrow };

Arrange arrangement(const ir::Op& op) {
  if (op.ns != "aten") return Arrange::None;
  const std::string_view base = op.base;
  if (base == "clone" || base == "alias" || base == "detach" || base == "contiguous" || base == "lift_fresh_copy" ||
      base == "lift_fresh" || base == "detach_copy" || base == "alias_copy")
    return Arrange::Same;
  if (base == "view" || base == "_unsafe_view" || base == "reshape" || base == "unsqueeze" || base == "squeeze" ||
      base == "flatten")
    return op.overload == "dtype" ? Arrange::None : Arrange::View;
  if (base == "permute") return Arrange::Permute;
  if (base == "transpose") return op.overload == "int" ? Arrange::Transpose : Arrange::None;
  if (base == "t") return Arrange::Matrix;
  if (base == "expand") return Arrange::Expand;
  if (base == "slice" && op.overload == "Tensor") return Arrange::Slice;
  if (base == "select" && op.overload == "int") return Arrange::Select;
  if (base == "narrow" && op.overload == "default") return Arrange::Narrow;
  return Arrange::None;
}

// sizes as a strided view of data, or nullopt where only a copy could give them.
std::optional<TensorData> viewed(const TensorData& data, const std::vector<int64_t>& sizes) {
  if (data.sizes() == sizes) return data;
  if (data.is_contiguous() || data.numel() <= 64) return data.reshaped(sizes);
  // Every element the same (an expanded scalar): any shape of the same count is again an expansion.
  if (std::all_of(data.strides().begin(), data.strides().end(), [](int64_t s) { return s == 0; }) && !data.empty())
    return TensorData(data.dtype(), sizes, std::vector<int64_t>(sizes.size(), 0), data.offset(), data.storage(),
                      data.owner());
  // Only dims of size one differ.
  std::vector<int64_t> strides;
  size_t from = 0;
  for (const int64_t size : sizes) {
    if (size == 1) {
      strides.push_back(0);
      continue;
    }
    while (from < data.sizes().size() && data.sizes()[from] == 1) ++from;
    if (from == data.sizes().size() || data.sizes()[from] != size) return std::nullopt;
    strides.push_back(data.strides()[from++]);
  }
  while (from < data.sizes().size() && data.sizes()[from] == 1) ++from;
  if (from != data.sizes().size()) return std::nullopt;
  return TensorData(data.dtype(), sizes, std::move(strides), data.offset(), data.storage(), data.owner());
}

std::optional<TensorData> constant_of(const ir::Value* value, int depth);

std::optional<TensorData> filled(const ir::Node& node) {
  const ops::Call call(node);
  const ir::Type& type = node.result()->type;
  if (!type.is_static()) return std::nullopt;
  const std::string_view base = node.op->base;
  std::optional<double> number;
  std::optional<int64_t> integer;
  if (base == "full" || base == "full_like" || base == "new_full" || base == "scalar_tensor") {
    const ir::Arg& arg = call.arg(base == "scalar_tensor" ? "s" : "fill_value");
    if (const auto* d = std::get_if<double>(&arg)) number = *d;
    if (const auto* b = std::get_if<bool>(&arg)) number = *b ? 1.0 : 0.0;
    if (const auto* i = std::get_if<SymInt>(&arg); i != nullptr && i->is_const()) integer = i->value();
  } else if (base == "zeros" || base == "zeros_like" || base == "new_zeros") {
    number = 0;
  } else if (base == "ones" || base == "ones_like" || base == "new_ones") {
    number = 1;
  }
  if (!number && !integer) return std::nullopt;
  if (is_complex(type.dtype)) return std::nullopt;
  if (number && !is_float(type.dtype)) {
    if (*number != static_cast<double>(static_cast<int64_t>(*number))) return std::nullopt;
    integer = static_cast<int64_t>(*number);
  }
  const TensorData scalar = integer ? (is_float(type.dtype) ? scalar_data(type.dtype, static_cast<double>(*integer))
                                                            : scalar_data(type.dtype, *integer))
                                    : scalar_data(type.dtype, *number);
  const std::vector<int64_t> sizes = type.static_sizes();
  return sizes.empty() ? scalar : scalar.expanded(sizes);
}

std::optional<TensorData> through(const ir::Node& node, int depth) {
  const Arrange arrange = arrangement(*node.op);
  if (arrange == Arrange::None) return std::nullopt;
  const auto* source = std::get_if<ir::Value*>(&node.args.at(0));
  if (source == nullptr) return std::nullopt;
  const ir::Type& type = node.result()->type;
  if (!type.is_static() || type.kind != ir::Type::Kind::Tensor) return std::nullopt;
  auto data = constant_of(*source, depth + 1);
  if (!data || data->dtype() != type.dtype) return std::nullopt;
  const ops::Call call(node);
  switch (arrange) {
    case Arrange::Same:
      return data;
    case Arrange::View:
      return viewed(*data, type.static_sizes());
    case Arrange::Permute: {
      std::vector<int64_t> dims = call.integers("dims");
      for (int64_t& d : dims) d = d < 0 ? d + data->rank() : d;
      return data->permuted(dims);
    }
    case Arrange::Transpose: {
      std::vector<int64_t> dims(static_cast<size_t>(data->rank()));
      for (size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int64_t>(i);
      const auto a = ops::normalize_dim(call.integer("dim0"), data->rank());
      const auto b = ops::normalize_dim(call.integer("dim1"), data->rank());
      if (!a || !b || dims.empty()) return data;
      std::swap(dims[static_cast<size_t>(*a)], dims[static_cast<size_t>(*b)]);
      return data->permuted(dims);
    }
    case Arrange::Matrix: {
      if (data->rank() < 2) return data;
      return data->permuted(std::vector<int64_t>{1, 0});
    }
    case Arrange::Expand:
      return data->expanded(type.static_sizes());
    case Arrange::Slice: {
      if (call.is_symbolic("step") || call.integer("step") != 1) return std::nullopt;
      const auto dim = ops::normalize_dim(call.integer("dim"), data->rank());
      if (!dim || data->rank() == 0) return std::nullopt;
      const int64_t size = data->sizes()[static_cast<size_t>(*dim)];
      const auto range = ops::slice_range(SymInt(size), ops::opt_sym(call, "start"), ops::opt_sym(call, "end"), 1);
      if (!range.start.is_const() || !range.length.is_const()) return std::nullopt;
      return data->narrowed(*dim, range.start.value(), range.length.value());
    }
    case Arrange::Select: {
      if (call.is_symbolic("index")) return std::nullopt;
      const auto dim = ops::normalize_dim(call.integer("dim"), data->rank());
      if (!dim || data->rank() == 0) return std::nullopt;
      const int64_t size = data->sizes()[static_cast<size_t>(*dim)];
      const int64_t index = call.integer("index");
      return viewed(data->narrowed(*dim, index < 0 ? index + size : index, 1), type.static_sizes());
    }
    case Arrange::Narrow: {
      if (call.is_symbolic("start") || call.is_symbolic("length")) return std::nullopt;
      const auto dim = ops::normalize_dim(call.integer("dim"), data->rank());
      if (!dim) return std::nullopt;
      const int64_t size = data->sizes()[static_cast<size_t>(*dim)];
      const int64_t start = call.integer("start");
      return data->narrowed(*dim, start < 0 ? start + size : start, call.integer("length"));
    }
    case Arrange::None:
      break;
  }
  return std::nullopt;
}

std::optional<TensorData> constant_of(const ir::Value* value, int depth) {
  if (value->constant != nullptr)
    return value->constant->is_mutable ? std::nullopt : std::optional(value->constant->data);
  if (value->producer == nullptr || depth > kMaxDepth || !value->type.is_tensor()) return std::nullopt;
  if (value->producer->op->ns != "aten" || value->producer->results.size() != 1) return std::nullopt;
  if (auto data = through(*value->producer, depth)) return data;
  return filled(*value->producer);
}

}  // namespace

std::optional<TensorData> as_constant(const ir::Value* value) { return constant_of(value, 0); }

std::optional<double> uniform_number(const TensorData& data) {
  if (data.empty() || is_complex(data.dtype())) return std::nullopt;
  for (size_t i = 0; i < data.sizes().size(); ++i)
    if (data.sizes()[i] != 1 && data.strides()[i] != 0) return std::nullopt;
  return data.element_as_double(0);
}

std::optional<double> as_number(const ir::Value* value) {
  const auto data = as_constant(value);
  return data ? uniform_number(*data) : std::nullopt;
}

bool is_rearrangement(const ir::Node& node) { return arrangement(*node.op) != Arrange::None; }

}  // namespace edgelift::match
