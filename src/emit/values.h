// The value list of one plan under construction, and the constants of the whole file. Internal to src/emit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "pte/program.h"

namespace edgelift::emit {

// What all plans of a file share.
class FileData {
 public:
  explicit FileData(pte::Program& program) : program_(program) {}
  // Index into Program::constants; the same view of the same storage gets the same index.
  int32_t constant(const TensorData& data);
  int32_t initial(const TensorData& data);
  pte::Program& program() { return program_; }

 private:
  using Identity = std::tuple<const std::byte*, int64_t, DType, std::vector<int64_t>, std::vector<int64_t>>;
  pte::Program& program_;
  std::map<Identity, int32_t> constants_;
};

// Where a tensor value lives. Several values may lie in one block: views of each other.
struct Place {
  int32_t block = -1;  // -1: a constant, or a pointer that arrives at run time
  uint64_t delta = 0;  // bytes from the start of the block
};

class PlanValues {
 public:
  PlanValues(pte::Plan& plan, FileData& file) : plan_(plan), file_(file) {}

  // Literals: equal ones share a value, except in mutable_int, which an instruction overwrites.
  int32_t null();
  int32_t integer(int64_t value);
  int32_t real(double value);
  int32_t flag(bool value);
  int32_t text(const std::string& value);
  int32_t int_list(std::vector<int32_t> items);
  int32_t tensor_list(std::vector<int32_t> items);
  int32_t optional_tensor_list(std::vector<int32_t> items);
  int32_t double_list(std::vector<double> items);
  int32_t bool_list(std::vector<bool> items);
  int32_t mutable_int();
  int32_t mutable_real();
  int32_t mutable_flag();

  // A tensor of the type at its upper bounds, without memory. Error: one sentence about the type, without a name.
  Result<pte::Tensor> tensor_of(const ir::Type& type) const;
  int32_t add_constant(pte::Tensor tensor, const TensorData& data, const std::vector<uint8_t>& dim_order);
  int32_t add_in_new_block(pte::Tensor tensor);
  int32_t add_in_block(pte::Tensor tensor, Place place);
  int32_t add_without_memory(pte::Tensor tensor);

  const pte::Tensor& tensor(int32_t index) const {
    return std::get<pte::Tensor>(plan_.values[static_cast<size_t>(index)]);
  }
  pte::Tensor& tensor(int32_t index) { return std::get<pte::Tensor>(plan_.values[static_cast<size_t>(index)]); }
  bool is_tensor(int32_t index) const {
    return std::holds_alternative<pte::Tensor>(plan_.values[static_cast<size_t>(index)]);
  }
  Place place(int32_t index) const { return places_[static_cast<size_t>(index)]; }
  size_t size() const { return plan_.values.size(); }
  const std::vector<uint64_t>& block_bytes() const { return block_bytes_; }

 private:
  int32_t add(pte::Value value, Place place = {});
  template <class Key>
  int32_t shared(std::map<Key, int32_t>& known, Key key, pte::Value value);

  pte::Plan& plan_;
  FileData& file_;
  std::vector<Place> places_;  // parallel to plan_.values
  std::vector<uint64_t> block_bytes_;
  int32_t null_ = -1;
  std::map<int64_t, int32_t> integers_;
  std::map<uint64_t, int32_t> reals_;  // by bits: -0.0 and nan are values of their own
  std::map<bool, int32_t> flags_;
  std::map<std::string, int32_t> texts_;
  std::map<std::vector<int32_t>, int32_t> int_lists_, tensor_lists_, optional_lists_;
};

uint64_t bytes_of(const pte::Tensor& tensor);

}  // namespace edgelift::emit
