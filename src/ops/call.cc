#include "ops/call.h"

#include <algorithm>

#include "base/check.h"

namespace edgelift::ops {
namespace {

std::string about(const ir::Op& op, std::string_view name, std::string_view what) {
  return op.full_name() + " argument '" + std::string(name) + "' " + std::string(what);
}

template <class T>
const T& as(const ir::Op& op, const ir::Arg& arg, std::string_view name, std::string_view kind) {
  const T* value = std::get_if<T>(&arg);
  EL_CHECK(value != nullptr, about(op, name, "is not " + std::string(kind)));
  return *value;
}

}  // namespace

const ir::Arg& Call::arg(std::string_view name) const {
  const int index = op_.schema.index_of(name);
  EL_CHECK(index >= 0 && static_cast<size_t>(index) < args_.size(), about(op_, name, "does not exist"));
  return args_[static_cast<size_t>(index)];
}

bool Call::has(std::string_view name) const {
  const int index = op_.schema.index_of(name);
  return index >= 0 && static_cast<size_t>(index) < args_.size() && !ir::is_none(args_[static_cast<size_t>(index)]);
}

ir::Value* Call::tensor(std::string_view name) const {
  ir::Value* value = as<ir::Value*>(op_, arg(name), name, "a tensor");
  EL_CHECK(value != nullptr && value->type.is_tensor(), about(op_, name, "is not a tensor"));
  return value;
}

ir::Value* Call::opt_tensor(std::string_view name) const { return has(name) ? tensor(name) : nullptr; }

const ir::ValueList& Call::tensors(std::string_view name) const {
  return as<ir::ValueList>(op_, arg(name), name, "a list of tensors");
}

SymInt Call::sym_int(std::string_view name) const { return as<SymInt>(op_, arg(name), name, "an integer"); }

int64_t Call::integer(std::string_view name) const { return as<SymInt>(op_, arg(name), name, "an integer").value(); }

std::optional<int64_t> Call::opt_integer(std::string_view name) const {
  if (!has(name)) return std::nullopt;
  return integer(name);
}

bool Call::is_symbolic(std::string_view name) const {
  const ir::Arg& value = arg(name);
  if (const auto* number = std::get_if<SymInt>(&value)) return !number->is_const();
  if (const auto* list = std::get_if<ir::IntList>(&value))
    return std::any_of(list->begin(), list->end(), [](const SymInt& item) { return !item.is_const(); });
  return std::holds_alternative<ir::Value*>(value) || std::holds_alternative<ir::SymRatio>(value);
}

const ir::IntList& Call::ints(std::string_view name) const {
  static const ir::IntList empty;
  const ir::Arg& value = arg(name);
  if (ir::is_none(value)) return empty;
  return as<ir::IntList>(op_, value, name, "a list of integers");
}

std::vector<int64_t> Call::integers(std::string_view name) const {
  std::vector<int64_t> out;
  for (const SymInt& item : ints(name)) out.push_back(item.value());
  return out;
}

double Call::number(std::string_view name) const {
  const ir::Arg& value = arg(name);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* number = std::get_if<SymInt>(&value)) return static_cast<double>(number->value());
  return as<bool>(op_, value, name, "a number") ? 1.0 : 0.0;
}

std::optional<double> Call::opt_number(std::string_view name) const {
  if (!has(name)) return std::nullopt;
  return number(name);
}

bool Call::flag(std::string_view name) const {
  const ir::Arg& value = arg(name);
  return !ir::is_none(value) && as<bool>(op_, value, name, "a bool");
}

std::string_view Call::text(std::string_view name) const {
  const ir::Arg& value = arg(name);
  if (ir::is_none(value)) return {};
  return as<std::string>(op_, value, name, "a string");
}

std::optional<DType> Call::dtype(std::string_view name) const {
  const ir::Arg& value = arg(name);
  if (ir::is_none(value)) return std::nullopt;
  return as<DType>(op_, value, name, "a dtype");
}

bool Call::scalar_is_float(std::string_view name) const {
  const ir::Arg& value = arg(name);
  return std::holds_alternative<double>(value) || std::holds_alternative<ir::SymRatio>(value);
}

const ir::Type& Call::tensor_type(const ir::Arg& arg) {
  const auto* value = std::get_if<ir::Value*>(&arg);
  EL_CHECK(value != nullptr && *value != nullptr && (*value)->type.is_tensor(), "an argument is not a tensor");
  return (*value)->type;
}

std::optional<int64_t> normalize_dim(int64_t dim, int64_t rank) {
  const int64_t range = std::max<int64_t>(rank, 1);
  if (dim < -range || dim >= range) return std::nullopt;
  return dim < 0 ? dim + range : dim;
}

Result<std::vector<int64_t>> normalize_dims(std::span<const int64_t> dims, int64_t rank, bool empty_is_all) {
  std::vector<int64_t> out;
  if (dims.empty() && empty_is_all) {
    for (int64_t i = 0; i < rank; ++i) out.push_back(i);
    return out;
  }
  for (const int64_t dim : dims) {
    const auto normal = normalize_dim(dim, rank);
    if (!normal)
      return input_error("dim " + std::to_string(dim) + " is out of range for a tensor of rank " +
                         std::to_string(rank));
    if (rank > 0) out.push_back(*normal);
  }
  std::sort(out.begin(), out.end());
  if (std::adjacent_find(out.begin(), out.end()) != out.end())
    return input_error("a dim appears twice in the list of dims");
  return out;
}

std::vector<int64_t> repeat_to(std::vector<int64_t> list, size_t count) {
  if (list.size() == 1 && count > 1) list.resize(count, list.front());
  return list;
}

}  // namespace edgelift::ops
