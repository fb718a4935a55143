// What comes after the nodes: outputs, the new values of state, and where everything lies in memory.
#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "emit/emitter.h"
#include "emit/memory_plan.h"

namespace edgelift::emit {
namespace {

// XNNPACK may read this far past the end of an operand; upstream leaves the same tail.
constexpr uint64_t kArenaTail = 64;

}  // namespace

// The dim order by value: it may stand in a tensor that moves when another is added.
int32_t MethodEmitter::copy_of(int32_t from, std::vector<uint8_t> dim_order) {
  const int32_t to = values_.add_in_new_block(bare(from, dim_order));
  if (dim_order == values_.tensor(from).dim_order && std::is_sorted(dim_order.begin(), dim_order.end())) {
    caller_.call("aten::clone.out", {from, values_.null(), to, to});
  } else {
    convert(from, to);
  }
  return to;
}

Status MethodEmitter::outputs() {
  struct Write {
    int32_t target, source;
  };
  std::vector<Write> writes;
  std::unordered_set<int32_t> written_blocks, written_inputs;
  for (const ir::OutputSpec& output : graph_.outputs()) {
    const ir::Value* target = state_.target_of(output);
    if (target == nullptr) continue;
    EL_TRY(const int32_t to, operand(target));
    EL_TRY(const int32_t from, operand(output.value));
    if (from == to) continue;  // unchanged, or written where it was computed
    writes.push_back({to, from});
    if (const int32_t block = block_of(to); block >= 0)
      written_blocks.insert(block);
    else
      written_inputs.insert(root_of(to));
  }
  const auto will_change = [&](int32_t index) {
    const int32_t block = block_of(index);
    return block >= 0 ? written_blocks.contains(block) : written_inputs.contains(root_of(index));
  };
  // Old values of what is written below are saved first.
  std::unordered_map<int32_t, int32_t> saved;
  const auto save = [&](int32_t index) {
    if (!values_.is_tensor(index) || !will_change(index)) return index;
    const auto [known, inserted] = saved.try_emplace(index, -1);
    if (inserted) known->second = copy_of(index, values_.tensor(index).dim_order);
    return known->second;
  };
  for (Write& write : writes) {
    write.source = save(write.source);
    const std::vector<uint8_t> order = values_.tensor(write.target).dim_order;
    if (values_.tensor(write.source).dim_order != order) write.source = copy_of(write.source, order);
  }
  for (const ir::OutputSpec& output : graph_.outputs()) {
    if (output.kind != ir::OutputSpec::Kind::User) continue;
    if (output.value == nullptr) {
      auto index = args_.literal(output.literal);
      if (!index)
        return input_error(
            fmt::format("method {}: output {} {}", graph_.name(), plan_.outputs.size(), index.error().message));
      plan_.outputs.push_back(*index);
      continue;
    }
    EL_TRY(const int32_t index, operand(output.value));
    plan_.outputs.push_back(save(index));
  }
  for (const Write& write : writes)
    caller_.call("aten::copy_", {write.target, write.source, values_.flag(false), write.target});
  return Ok{};
}

void MethodEmitter::place(MemoryPlan& memory) {
  const std::vector<uint64_t>& bytes = values_.block_bytes();
  std::vector<Block> blocks(bytes.size());
  const auto end = static_cast<int64_t>(plan_.instructions.size());
  for (size_t b = 0; b < blocks.size(); ++b) blocks[b] = {bytes[b], INT64_MAX, -1, 0};
  const auto touch = [&](int32_t index, int64_t when) {
    const int32_t block = values_.is_tensor(index) ? block_of(index) : -1;
    if (block < 0) return;
    Block& b = blocks[static_cast<size_t>(block)];
    b.first = std::min(b.first, when);
    b.last = std::max(b.last, when);
  };
  const auto touch_all = [&](const std::vector<int32_t>& args, int64_t when) {
    for (const int32_t arg : args) {
      const pte::Value& value = plan_.values[static_cast<size_t>(arg)];
      if (const auto* list = std::get_if<pte::TensorList>(&value)) {
        for (const int32_t item : list->items) touch(item, when);
      } else if (const auto* optional = std::get_if<pte::OptionalTensorList>(&value)) {
        for (const int32_t item : optional->items)
          if (item >= 0) touch(item, when);
      } else {
        touch(arg, when);
      }
    }
  };
  for (size_t i = 0; i < plan_.instructions.size(); ++i) {
    const auto when = static_cast<int64_t>(i);
    if (const auto* call = std::get_if<pte::KernelCall>(&plan_.instructions[i])) touch_all(call->args, when);
    if (const auto* call = std::get_if<pte::DelegateCall>(&plan_.instructions[i])) touch_all(call->args, when);
  }
  for (const int32_t input : plan_.inputs) touch(input, 0);
  for (const int32_t output : plan_.outputs) touch(output, end);
  for (const int32_t block : whole_life_)
    blocks[static_cast<size_t>(block)].first = 0, blocks[static_cast<size_t>(block)].last = end;
  for (Block& block : blocks) {
    EL_CHECK(block.last >= 0, "planned memory that no instruction uses");
  }
  uint64_t arena = plan_memory(blocks);
  memory.lower_bound_bytes = lower_bound(blocks);
  plan_.buffer_sizes = {0};
  if (!blocks.empty()) {
    arena += kArenaTail;
    plan_.buffer_sizes.push_back(arena);
    memory.arena_bytes = arena;
  }
  for (size_t v = 0; v < values_.size(); ++v) {
    const auto index = static_cast<int32_t>(v);
    const Place place = values_.place(index);
    if (place.block < 0) continue;
    pte::Tensor& tensor = values_.tensor(index);
    tensor.memory_id = 1;
    tensor.memory_offset = blocks[static_cast<size_t>(place.block)].offset + place.delta;
  }
}

}  // namespace edgelift::emit
