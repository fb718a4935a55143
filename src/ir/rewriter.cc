#include "ir/rewriter.h"

#include <cmath>
#include <unordered_set>

#include "base/check.h"

namespace edgelift::ir {

void Rewriter::set_insert_point(Node* before) {
  before_ = before;
  if (before != nullptr) origin_ = before->origin;
}

Result<Node*> Rewriter::try_create(std::string_view op_name, std::vector<Arg> positional,
                                   std::initializer_list<Named> named) {
  const Op* op = ops_.find(op_name);
  EL_CHECK(op != nullptr, "no operator " + std::string(op_name));
  const Schema& schema = op->schema;
  EL_CHECK(positional.size() <= schema.args.size(), "too many arguments for " + op->full_name());
  std::vector<Arg> args(schema.args.size());
  std::vector<bool> given(schema.args.size(), false);
  for (size_t i = 0; i < positional.size(); ++i) {
    args[i] = std::move(positional[i]);
    given[i] = true;
  }
  for (const Named& argument : named) {
    const int index = schema.index_of(argument.name);
    EL_CHECK(index >= 0, op->full_name() + " has no argument " + std::string(argument.name));
    args[static_cast<size_t>(index)] = argument.value;
    given[static_cast<size_t>(index)] = true;
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (given[i]) continue;
    EL_CHECK(!schema.args[i].required, op->full_name() + " lacks argument " + schema.args[i].name);
    args[i] = schema.args[i].default_value;
  }
  EL_TRY(auto types, ops_.infer(*op, args));
  Node* node = graph_.insert(op, std::move(args), std::move(types), before_);
  node->origin = origin_;
  return node;
}

Node* Rewriter::create(std::string_view op, std::vector<Arg> positional, std::initializer_list<Named> named) {
  auto node = try_create(op, std::move(positional), named);
  EL_CHECK(node.ok(), std::string(op) + ": " + node.error().message);
  return *node;
}

Value* Rewriter::constant(std::string name_wish, TensorData data) {
  return graph_.constant_value(program_.add_constant(std::move(name_wish), std::move(data)));
}

namespace {

// One constant a literal: the name says dtype and value, so that equal literals meet in the program's table.
template <class T>
Value* shared_scalar(Program& program, Graph& graph, DType dtype, T value, const std::string& name) {
  TensorData data = scalar_data(dtype, value);
  if (Constant* known = program.find_constant(name);
      known != nullptr && !known->is_mutable && known->data.same_bits(data))
    return graph.constant_value(known);
  return graph.constant_value(program.add_constant(name, std::move(data)));
}

std::string bits_name(DType dtype, const TensorData& data) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string name = "lift_" + std::string(short_name(dtype)) + "_";
  const auto bytes = data.bytes();
  for (size_t i = bytes.size(); i-- > 0;) {
    const auto byte = static_cast<unsigned>(bytes[i]);
    name += kHex[byte >> 4];
    name += kHex[byte & 15u];
  }
  return name;
}

}  // namespace

Value* Rewriter::scalar(DType dtype, double value) {
  return shared_scalar(program_, graph_, dtype, value, bits_name(dtype, scalar_data(dtype, value)));
}

Value* Rewriter::scalar(DType dtype, int64_t value) {
  return shared_scalar(program_, graph_, dtype, value, bits_name(dtype, scalar_data(dtype, value)));
}

void Rewriter::replace(Value* from, Value* to) {
  if (from == to) return;
  EL_CHECK(from->type.kind == to->type.kind && from->type.dtype == to->type.dtype &&
               from->type.sizes.size() == to->type.sizes.size(),
           "replacing %" + from->name + " : " + from->type.str() + " by %" + to->name + " : " + to->type.str());
  for (size_t i = 0; i < from->type.sizes.size(); ++i) {
    const SymInt& a = from->type.sizes[i];
    const SymInt& b = to->type.sizes[i];
    // Different symbolic spellings of one size are legal (the importer checked them); different numbers are not.
    EL_CHECK(!(a.is_const() && b.is_const()) || a == b,
             "replacing %" + from->name + " : " + from->type.str() + " by %" + to->name + " : " + to->type.str());
  }
  const bool keeps_name = to->producer != nullptr && graph_.is_output(from) && !graph_.is_output(to);
  graph_.replace_uses(from, to);
  if (keeps_name) {
    const std::string name = from->name;
    graph_.rename(from, name + "_old");
    graph_.rename(to, name);
  }
}

void Rewriter::set_arg(Node* node, std::string_view name, Arg value) {
  const int index = node->op->schema.index_of(name);
  EL_CHECK(index >= 0, node->op->full_name() + " has no argument " + std::string(name));
  graph_.set_arg(node, static_cast<size_t>(index), std::move(value));
}

void Rewriter::erase_dead(Node* node) {
  std::vector<Node*> work = {node};
  std::unordered_set<Node*> queued = {node};
  while (!work.empty()) {
    Node* current = work.back();
    work.pop_back();
    queued.erase(current);
    bool used = current != node && ops_.has_effect(*current->op);
    for (const Value* result : current->results)
      used = used || !result->users.empty() || result->symbol != nullptr || graph_.is_output(result);
    if (used) continue;
    const std::vector<Value*> operands = current->operands();
    if (current == before_) before_ = current->next;
    graph_.erase(current);
    for (Value* operand : operands)
      if (operand->producer != nullptr && operand->users.empty() && queued.insert(operand->producer).second)
        work.push_back(operand->producer);
  }
}

bool Rewriter::remove_dead_code() {
  bool changed = false;
  for (Node* node = graph_.last(); node != nullptr;) {
    Node* prev = node->prev;
    bool used = ops_.has_effect(*node->op);
    for (const Value* result : node->results)
      used = used || !result->users.empty() || graph_.is_output(result) || result->symbol != nullptr;
    if (!used) {
      graph_.erase(node);
      changed = true;
    }
    node = prev;
  }
  return changed;
}

}  // namespace edgelift::ir
