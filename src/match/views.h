// Chains of operators that only relabel elements, seen as one.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace edgelift::match {

// Follows operators whose result is the operand under another name or shape of the same elements in the same order
// (view, squeeze, unsqueeze, clone, an expand that changes nothing), while `value` is their only use.
ir::Value* skip_reshapes(ir::Value* value);

// The permutation that a permute, transpose.int or t applies (dims non-negative); nullopt for other nodes.
std::optional<std::vector<int64_t>> permutation_of(const ir::Node& node);

// The operand in the last two dims of which `value` is the transpose, through reshapes that keep the last two dims;
// null if value is no such transpose. `passed` gets the reshapes passed, outermost first.
ir::Value* transposed_source(ir::Value* value, std::vector<ir::Node*>& passed);

// True for clone, alias, detach and for view, expand, permute, slice, _to_copy … that leave type and order as they are.
bool is_noop(const ir::Node& node);
bool is_noop_expand(const ir::Node& node);

// All uses of the value, graph outputs included.
inline size_t use_count(const ir::Value* value) { return value->users.size() + value->times_output; }
inline bool used_once(const ir::Value* value) { return use_count(value) == 1; }
// The node that has the value's one use; null where there are more, or where the one is an output of the graph.
inline ir::Node* only_user(const ir::Value* value) {
  return used_once(value) && !value->users.empty() ? value->users.front() : nullptr;
}

}  // namespace edgelift::match
