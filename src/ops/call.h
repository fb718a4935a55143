// A node (or operator and arguments not yet a node) with typed access to its arguments by schema name.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace edgelift::ops {

class Call {
 public:
  Call(const ir::Op& op, const std::vector<ir::Arg>& args, const ir::Node* node = nullptr)
      : op_(op), args_(args), node_(node) {}
  explicit Call(const ir::Node& node) : Call(*node.op, node.args, &node) {}

  const ir::Op& op() const { return op_; }
  const std::vector<ir::Arg>& args() const { return args_; }
  const ir::Node* node() const { return node_; }  // null while types are inferred for a node that is being made
  ir::Value* result(size_t i = 0) const { return node_->results.at(i); }

  const ir::Arg& arg(std::string_view name) const;  // a Bug if the schema has no such argument
  bool has(std::string_view name) const;            // present in the schema and not None

  // Each is a Bug if the argument is of another kind (the verifier has checked kinds), except where optional.
  ir::Value* tensor(std::string_view name) const;
  ir::Value* opt_tensor(std::string_view name) const;  // null for None
  const ir::ValueList& tensors(std::string_view name) const;
  const ir::Type& type(std::string_view name) const { return tensor_type(arg(name)); }
  SymInt sym_int(std::string_view name) const;
  int64_t integer(std::string_view name) const;  // a Bug if symbolic: ask is_symbolic first
  std::optional<int64_t> opt_integer(std::string_view name) const;
  bool is_symbolic(std::string_view name) const;         // an int or int list that is not all numbers
  const ir::IntList& ints(std::string_view name) const;  // int[]; None reads as empty
  std::vector<int64_t> integers(std::string_view name) const;
  double number(std::string_view name) const;  // float or Scalar (int, float, bool)
  std::optional<double> opt_number(std::string_view name) const;
  bool flag(std::string_view name) const;                   // bool; None reads as false
  std::string_view text(std::string_view name) const;       // str; None reads as ""
  std::optional<DType> dtype(std::string_view name) const;  // ScalarType?
  // True if the Scalar was written as a float (2.0), false for int and bool.
  bool scalar_is_float(std::string_view name) const;

  static const ir::Type& tensor_type(const ir::Arg& arg);

 private:
  const ir::Op& op_;
  const std::vector<ir::Arg>& args_;
  const ir::Node* node_;
};

// dim in [-rank, rank) made non-negative; nullopt if out of range. A rank-0 tensor takes 0 and -1.
std::optional<int64_t> normalize_dim(int64_t dim, int64_t rank);
// Dims made non-negative, sorted, unique; empty input means all dims when empty_is_all.
Result<std::vector<int64_t>> normalize_dims(std::span<const int64_t> dims, int64_t rank, bool empty_is_all);
// int[2]-like lists written with one number: {3} -> {3,3}.
std::vector<int64_t> repeat_to(std::vector<int64_t> list, size_t count);

}  // namespace edgelift::ops
