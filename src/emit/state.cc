#include "emit/state.h"

#include <algorithm>

#include "emit/slices.h"
#include "ops/record.h"

namespace edgelift::emit {

State::State(const ir::Graph& graph) : graph_(graph) {
  for (const ir::Value* value : graph.constants()) buffers_.emplace(value->constant, value);
  for (const ir::OutputSpec& output : graph.outputs()) {
    if (output.value != nullptr) ++output_uses_[output.value];
    if (const ir::Value* target = target_of(output)) targets_.insert(target);
  }
  for (const ir::OutputSpec& output : graph.outputs())
    if (const ir::Value* target = target_of(output)) decide(target, output.value);
}

const ir::Value* State::target_of(const ir::OutputSpec& output) const {
  if (output.kind == ir::OutputSpec::Kind::InputMutation) return graph_.inputs().at(output.input);
  if (output.kind != ir::OutputSpec::Kind::BufferMutation) return nullptr;
  const auto at = buffers_.find(output.target);
  return at == buffers_.end() ? nullptr : at->second;
}

const ir::Value* State::written_directly(const ir::Value* value) const {
  const auto at = direct_.find(value);
  return at == direct_.end() ? nullptr : at->second;
}

namespace {

// The in-place kernel with one index (the others None) neither broadcasts the values nor takes an index of another
// rank.
bool in_place_kernel_takes(const ir::Node& put) {
  const auto& indices = std::get<ir::ValueList>(put.arg("indices"));
  const ir::Type& self = std::get<ir::Value*>(put.arg("self"))->type;
  const ir::Type& values = std::get<ir::Value*>(put.arg("values"))->type;
  size_t dim = indices.size();
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] == nullptr) continue;
    if (dim != indices.size()) return false;
    dim = i;
  }
  if (dim == indices.size() || indices[dim]->type.rank() != 1 || is_float(indices[dim]->type.dtype)) return false;
  ir::Shape expected = self.sizes;
  expected[dim] = indices[dim]->type.sizes[0];
  return indices[dim]->type.dtype != DType::Bool && values.sizes == expected;
}

}  // namespace

void State::decide(const ir::Value* target, const ir::Value* source) {
  const ir::Node* node = source->producer;
  if (node == nullptr || output_uses_.contains(target) || direct_.contains(source)) return;
  const bool delegate = ops::is_delegate(*node);
  if (!delegate && (ops::record(*node).has(ops::kView) || contiguous_pieces(*node)))
    return;  // may share the memory of its operand
  const auto row_major = [](const ir::Type& type) {
    return type.dim_order.empty() || std::is_sorted(type.dim_order.begin(), type.dim_order.end());
  };
  const ir::Type& to = target->type;
  const ir::Type& from = source->type;
  if (!to.is_tensor() || !to.is_static() || to.sizes != from.sizes || to.dtype != from.dtype || !row_major(to) ||
      !row_major(from))
    return;

  const bool put = !delegate && node->op->is("index_put", "default") &&
                   std::get<ir::Value*>(node->args.at(0)) == target && in_place_kernel_takes(*node);
  // Views may be another name for the target's memory, so their readers count as readers of the target.
  std::vector<const ir::Value*> names = {target};
  for (size_t i = 0; i < names.size(); ++i) {
    for (const ir::Node* user : names[i]->users) {
      if (user == node) {
        const std::vector<ir::Value*> operands = node->operands();
        const bool only_self = put && names[i] == target && std::count(operands.begin(), operands.end(), target) == 1;
        if (!only_self) return;
        continue;
      }
      if (user->order > node->order) return;
      if (ops::is_delegate(*user) || (!ops::record(*user).has(ops::kView) && !contiguous_pieces(*user))) continue;
      for (const ir::Value* result : user->results) {
        if (output_uses_.contains(result)) return;
        if (std::find(names.begin(), names.end(), result) == names.end()) names.push_back(result);
      }
    }
  }
  if (put) {
    in_place_.insert(node);
  }
  direct_.emplace(source, target);
}

}  // namespace edgelift::emit
