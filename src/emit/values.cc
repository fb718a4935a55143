#include "emit/values.h"

#include <bit>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "base/check.h"
#include "base/numbers.h"

namespace edgelift::emit {

int32_t FileData::constant(const TensorData& data) {
  const auto next = static_cast<int32_t>(program_.constants.size());
  const Identity identity{data.storage().data(), data.offset(), data.dtype(), data.sizes(), data.strides()};
  const auto [known, inserted] = constants_.try_emplace(identity, next);
  if (inserted) program_.constants.push_back(data);
  return known->second;
}

int32_t FileData::initial(const TensorData& data) {
  program_.mutable_data.push_back(data);
  return static_cast<int32_t>(program_.mutable_data.size()) - 1;
}

uint64_t bytes_of(const pte::Tensor& tensor) {
  uint64_t bytes = byte_size(tensor.dtype);
  for (const int32_t size : tensor.sizes) bytes *= static_cast<uint64_t>(size);
  return bytes;
}

int32_t PlanValues::add(pte::Value value, Place place) {
  plan_.values.push_back(std::move(value));
  places_.push_back(place);
  return static_cast<int32_t>(plan_.values.size()) - 1;
}

template <class Key>
int32_t PlanValues::shared(std::map<Key, int32_t>& known, Key key, pte::Value value) {
  const auto at = known.find(key);
  if (at != known.end()) return at->second;
  const int32_t index = add(std::move(value));
  known.emplace(std::move(key), index);
  return index;
}

int32_t PlanValues::null() {
  if (null_ < 0) null_ = add(pte::Null{});
  return null_;
}
int32_t PlanValues::integer(int64_t value) { return shared(integers_, value, value); }
int32_t PlanValues::real(double value) { return shared(reals_, std::bit_cast<uint64_t>(value), value); }
int32_t PlanValues::flag(bool value) { return shared(flags_, value, value); }
int32_t PlanValues::text(const std::string& value) { return shared(texts_, value, value); }
int32_t PlanValues::int_list(std::vector<int32_t> items) { return shared(int_lists_, items, pte::IntList{items}); }
int32_t PlanValues::tensor_list(std::vector<int32_t> items) {
  return shared(tensor_lists_, items, pte::TensorList{items});
}
int32_t PlanValues::optional_tensor_list(std::vector<int32_t> items) {
  return shared(optional_lists_, items, pte::OptionalTensorList{items});
}
int32_t PlanValues::double_list(std::vector<double> items) { return add(std::move(items)); }
int32_t PlanValues::bool_list(std::vector<bool> items) { return add(std::move(items)); }
int32_t PlanValues::mutable_int() { return add(int64_t{0}); }
int32_t PlanValues::mutable_real() { return add(0.0); }
int32_t PlanValues::mutable_flag() { return add(false); }

Result<pte::Tensor> PlanValues::tensor_of(const ir::Type& type) const {
  EL_CHECK(type.is_tensor(), "a tensor's type");
  constexpr int64_t kMaxRank = 16;
  if (type.rank() > kMaxRank)
    return input_error(fmt::format("has rank {}, the runtime takes at most {}", type.rank(), kMaxRank));
  pte::Tensor tensor;
  tensor.dtype = type.dtype;
  auto bytes = static_cast<int64_t>(byte_size(type.dtype));
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    const SymInt& size = type.sizes[d];
    const int64_t bound = size.upper();
    if (!size.is_const()) tensor.dynamic = true;
    if (bound == kUnbounded)
      return input_error(fmt::format(
          "has the size {} in dimension {}, which has no upper bound; export the model with a maximum for it "
          "(torch.export.Dim(..., max=...)), memory is planned at the maximum",
          size.str(), d));
    if (bound > std::numeric_limits<int32_t>::max())
      return input_error(fmt::format(
          "can have the size {} in dimension {}, more than the 2^31-1 that a .pte file can hold", bound, d));
    EL_CHECK(bound >= 0, "a size is never negative");
    const std::optional<int64_t> next = checked_mul(bytes, bound);
    if (!next) return input_error("can have more than 2^63 bytes");
    bytes = *next;
    tensor.sizes.push_back(static_cast<int32_t>(bound));
  }
  if (type.dim_order.empty()) {
    tensor.dim_order.resize(tensor.sizes.size());
    std::iota(tensor.dim_order.begin(), tensor.dim_order.end(), uint8_t{0});
  } else {
    EL_CHECK(type.dim_order.size() == tensor.sizes.size(), "dim order of a type");
    tensor.dim_order = type.dim_order;
  }
  return tensor;
}

int32_t PlanValues::add_constant(pte::Tensor tensor, const TensorData& data, const std::vector<uint8_t>& dim_order) {
  if (dim_order.empty()) {
    tensor.constant = file_.constant(data);
  } else {
    const std::vector<int64_t> order(dim_order.begin(), dim_order.end());
    tensor.constant = file_.constant(data.permuted(order));
  }
  return add(std::move(tensor));
}

int32_t PlanValues::add_in_new_block(pte::Tensor tensor) {
  block_bytes_.push_back(bytes_of(tensor));
  return add(std::move(tensor), {static_cast<int32_t>(block_bytes_.size()) - 1, 0});
}

int32_t PlanValues::add_in_block(pte::Tensor tensor, Place place) {
  EL_CHECK(place.block >= 0 && place.delta + bytes_of(tensor) <= block_bytes_[static_cast<size_t>(place.block)],
           "a view lies in its block");
  return add(std::move(tensor), place);
}

int32_t PlanValues::add_without_memory(pte::Tensor tensor) { return add(std::move(tensor)); }

}  // namespace edgelift::emit
