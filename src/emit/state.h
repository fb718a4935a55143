// What a method writes back: buffers that it mutates and inputs that it writes to. Decides where the new value can be
// computed right in the place of the old one. Internal to src/emit.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "ir/graph.h"

namespace edgelift::emit {

class State {
 public:
  explicit State(const ir::Graph& graph);

  // The buffer's value or the input that the output is written to; null for what the method returns, and for a buffer
  // that the method never reads (nobody could see the new value: state belongs to one method).
  const ir::Value* target_of(const ir::OutputSpec& output) const;
  bool is_written(const ir::Value* input) const { return targets_.contains(input); }

  // The target in whose memory the value may be computed: the old value is not read any more when the value's node
  // writes, and nobody asks for it afterwards. Null: the value needs memory of its own.
  const ir::Value* written_directly(const ir::Value* value) const;
  // An index_put on a target that nobody else reads any more: it may change the target in place.
  bool writes_in_place(const ir::Node& node) const { return in_place_.contains(&node); }

 private:
  void decide(const ir::Value* target, const ir::Value* source);

  const ir::Graph& graph_;
  std::unordered_map<const ir::Constant*, const ir::Value*> buffers_;
  std::unordered_set<const ir::Value*> targets_;
  std::unordered_map<const ir::Value*, size_t> output_uses_;
  std::unordered_map<const ir::Value*, const ir::Value*> direct_;
  std::unordered_set<const ir::Node*> in_place_;
};

}  // namespace edgelift::emit
