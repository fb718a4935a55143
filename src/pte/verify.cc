#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

#include "base/numbers.h"
#include "program_generated.h"
#include "pte/layout.h"
#include "pte/program.h"

namespace edgelift::pte {

namespace fb = executorch_flatbuffer;

uint64_t element_bytes(int8_t scalar_type) {
  switch (scalar_type) {
    case 0:
    case 1:
    case 11:
    case 12:
    case 13:
    case 16:
    case 17:
    case 23:
    case 24:
    case 25:
    case 26:
      return 1;
    case 2:
    case 5:
    case 15:
    case 22:
    case 27:
      return 2;
    case 3:
    case 6:
    case 8:
    case 14:
    case 28:
      return 4;
    case 4:
    case 7:
    case 9:
    case 29:
      return 8;
    case 10:
      return 16;  // 8 to 10 are complex: unnamed in the schema, taken by the runtime
    default:
      return 0;
  }
}

std::optional<uint64_t> tensor_bytes(int8_t scalar_type, std::span<const int32_t> sizes) {
  auto total = static_cast<int64_t>(element_bytes(scalar_type));
  // A zero size makes the tensor empty, but the runtime multiplies in order and must not overflow before.
  for (const int32_t size : sizes) {
    const std::optional<int64_t> next = checked_mul(total, size);
    if (!next) return std::nullopt;
    total = *next;
  }
  return static_cast<uint64_t>(total);
}

namespace {

template <class T>
using FbVector = flatbuffers::Vector<T>;
template <class T>
uint32_t count(const FbVector<T>* list) {
  return list == nullptr ? 0 : list->size();
}

// flatbuffers' verifier looks at the alignment of a list's length, not at that of its 8-byte elements.
template <class T>
bool aligned(const FbVector<T>* list) {
  return list == nullptr || list->size() == 0 || reinterpret_cast<uintptr_t>(list->Data()) % sizeof(T) == 0;
}

std::string_view text(const flatbuffers::String* s) {
  return s == nullptr ? std::string_view() : std::string_view(s->c_str(), s->size());
}

// The segments and what is addressed inside them.
class SegmentRules {
 public:
  SegmentRules(const VerifiedProgram& program, std::span<const std::byte> bytes) : program_(program), bytes_(bytes) {}

  Status check() {
    const fb::Program& root = *program_.root;
    if (root.version() != 0)
      return input_error(
          fmt::format("the program has schema version {}, this version of edgelift knows 0", root.version()));
    const FileHeader& header = program_.header;
    for (uint32_t i = 0; i < count(root.segments()); ++i) {
      const fb::DataSegment& segment = *root.segments()->Get(i);
      if (segment.size() == 0) continue;
      if (!header.present || header.segment_base == 0)
        return input_error(
            fmt::format("segment {} has {} bytes, but the file has no extended header that says where segments begin: "
                        "its magic at byte 8 is damaged",
                        i, segment.size()));
      const uint64_t rest = bytes_.size() - std::min<uint64_t>(header.segment_base, bytes_.size());
      const uint64_t room = header.segment_data_size.value_or(rest);
      if (segment.offset() > room || segment.size() > room - segment.offset())
        return input_error(
            fmt::format("segment {} (offset {}, {} bytes) reaches past the end of the file's segments ({} bytes)", i,
                        segment.offset(), segment.size(), room));
    }
    if (count(root.constant_buffer()) != 0)
      return input_error("the constants are in the old constant_buffer, which ExecuTorch 1.5 does not load");
    const fb::SubsegmentOffsets* constants = root.constant_segment();
    if (constants == nullptr || count(constants->offsets()) == 0)
      return input_error(
          "constant_segment.offsets is missing or empty; the runtime needs at least the reserved entry 0");
    EL_TRY_OK(offsets("constant_segment", *constants));
    for (uint32_t i = 0; i < count(root.mutable_data_segments()); ++i) {
      const fb::SubsegmentOffsets& mutable_data = *root.mutable_data_segments()->Get(i);
      EL_TRY_OK(offsets("mutable_data_segments", mutable_data));
    }
    std::set<std::string_view> keys;
    for (uint32_t i = 0; i < count(root.named_data()); ++i) {
      const fb::NamedData& named = *root.named_data()->Get(i);
      if (text(named.key()).empty()) return input_error(fmt::format("named data {} has no key", i));
      if (!keys.insert(text(named.key())).second)
        return input_error(fmt::format("two entries of named data have the key '{}'", text(named.key())));
      if (named.segment_index() >= count(root.segments()))
        return input_error(fmt::format("named data '{}' is in segment {}, there are {}", text(named.key()),
                                       named.segment_index(), count(root.segments())));
      if (root.segments()->Get(named.segment_index())->size() == 0)
        return input_error(
            fmt::format("named data '{}' is in segment {}, which is empty", text(named.key()), named.segment_index()));
    }
    return Ok{};
  }

 private:
  Status offsets(std::string_view what, const fb::SubsegmentOffsets& list) {
    const fb::Program& root = *program_.root;
    if (!aligned(list.offsets())) return input_error(fmt::format("the offsets of {} are not aligned to 8 bytes", what));
    if (count(list.offsets()) <= 1) return Ok{};  // the segment is not loaded
    if (list.segment_index() >= count(root.segments()))
      return input_error(
          fmt::format("{} is in segment {}, there are {}", what, list.segment_index(), count(root.segments())));
    const uint64_t size = root.segments()->Get(list.segment_index())->size();
    for (uint32_t i = 0; i < list.offsets()->size(); ++i)
      if (list.offsets()->Get(i) > size)
        return input_error(
            fmt::format("{}: entry {} begins at {}, the segment has {} bytes", what, i, list.offsets()->Get(i), size));
    return Ok{};
  }

  const VerifiedProgram& program_;
  std::span<const std::byte> bytes_;
};

class PlanRules {
 public:
  PlanRules(const fb::Program& root, const fb::ExecutionPlan& plan, std::string name)
      : root_(root), plan_(plan), where_("method " + std::move(name)) {}

  Status check() {
    for (const auto& [present, field] :
         {std::pair(plan_.values() != nullptr, "values"), std::pair(plan_.inputs() != nullptr, "inputs"),
          std::pair(plan_.outputs() != nullptr, "outputs"), std::pair(count(plan_.chains()) != 0, "chains"),
          std::pair(plan_.delegates() != nullptr, "delegates"),
          std::pair(count(plan_.non_const_buffer_sizes()) != 0, "non_const_buffer_sizes")})
      if (!present) return fail(fmt::format("the list {} is missing", field));
    if (!aligned(plan_.non_const_buffer_sizes()))
      return fail("the list non_const_buffer_sizes is not aligned to 8 bytes");
    for (uint32_t i = 0; i < plan_.non_const_buffer_sizes()->size(); ++i)
      if (plan_.non_const_buffer_sizes()->Get(i) < 0)
        return fail(fmt::format("planned buffer {} has a negative size", i));
    for (uint32_t i = 0; i < values(); ++i) EL_TRY_OK(value(i));
    for (uint32_t i = 0; i < plan_.inputs()->size(); ++i) {
      const int32_t index = plan_.inputs()->Get(i);
      EL_TRY_OK(in_range(index, fmt::format("input {}", i)));
      const fb::KernelTypes type = kind(index);
      if (type >= fb::KernelTypes::IntList)
        return fail(fmt::format("input {} is a list, which a method cannot take", i));
      if (type == fb::KernelTypes::Tensor && is_constant(index)) return fail(fmt::format("input {} is a constant", i));
    }
    for (uint32_t i = 0; i < plan_.outputs()->size(); ++i)
      EL_TRY_OK(in_range(plan_.outputs()->Get(i), fmt::format("output {}", i)));
    for (uint32_t i = 0; i < count(plan_.operators()); ++i) {
      const fb::Operator& op = *plan_.operators()->Get(i);
      const std::string_view base = text(op.name()), overload = text(op.overload());
      if (base.empty()) return fail(fmt::format("operator {} has no name", i));
      if (base.size() + overload.size() + 1 >= kMaxOperatorName)
        return fail(
            fmt::format("the name of operator {} is longer than the runtime's {} characters", i, kMaxOperatorName));
    }
    for (uint32_t i = 0; i < plan_.delegates()->size(); ++i) EL_TRY_OK(delegate(i));
    return chains();
  }

 private:
  Error fail(const std::string& sentence) const { return input_error(where_ + ": " + sentence); }
  uint32_t values() const { return plan_.values()->size(); }
  const fb::EValue& at(int32_t index) const { return *plan_.values()->Get(static_cast<uint32_t>(index)); }
  fb::KernelTypes kind(int32_t index) const { return at(index).val_type(); }
  bool is_constant(int32_t index) const {
    const fb::Tensor* tensor = at(index).val_as_Tensor();
    return tensor != nullptr && tensor->allocation_info() == nullptr &&
           (tensor->data_buffer_idx() > 0 || is_external(*tensor));
  }
  static bool is_external(const fb::Tensor& tensor) {
    return tensor.extra_tensor_info() != nullptr &&
           tensor.extra_tensor_info()->location() == fb::TensorDataLocation::EXTERNAL;
  }

  Status in_range(int64_t index, const std::string& what) const {
    if (index >= 0 && index < static_cast<int64_t>(values())) return Ok{};
    return fail(fmt::format("{} is value {}, there are {} values", what, index, values()));
  }

  Status value(uint32_t i) {
    const fb::EValue& value = *plan_.values()->Get(i);
    const auto listed = [&](const auto* items, auto&& rule) -> Status {
      for (uint32_t k = 0; k < count(items); ++k) EL_TRY_OK(rule(static_cast<int64_t>(items->Get(k))));
      return Ok{};
    };
    const auto tensor_item = [&](int64_t item) -> Status {
      EL_TRY_OK(in_range(item, fmt::format("an item of list {}", i)));
      if (kind(static_cast<int32_t>(item)) != fb::KernelTypes::Tensor)
        return fail(fmt::format("list {} holds value {}, which is not a tensor", i, item));
      if (item >= static_cast<int64_t>(i))
        return fail(
            fmt::format("list {} stands before tensor {} that it holds; the runtime reads values in order", i, item));
      return Ok{};
    };
    if (value.val_type() != fb::KernelTypes::Null && value.val() == nullptr)
      return fail(fmt::format("value {} is missing", i));
    switch (value.val_type()) {
      case fb::KernelTypes::Null:
      case fb::KernelTypes::Int:
      case fb::KernelTypes::Bool:
      case fb::KernelTypes::Double:
        return Ok{};
      case fb::KernelTypes::Tensor:
        return tensor(i, *value.val_as_Tensor());
      case fb::KernelTypes::String:
        if (value.val_as_String()->string_val() == nullptr)
          return fail(fmt::format("value {} is a string without text", i));
        return Ok{};
      case fb::KernelTypes::IntList:
        if (!aligned(value.val_as_IntList()->items())) return fail(fmt::format("list {} is not aligned to 8 bytes", i));
        if (value.val_as_IntList()->items() == nullptr) return fail(fmt::format("list {} has no items field", i));
        return listed(value.val_as_IntList()->items(), [&](int64_t item) -> Status {
          EL_TRY_OK(in_range(item, fmt::format("an item of list {}", i)));
          if (kind(static_cast<int32_t>(item)) != fb::KernelTypes::Int)
            return fail(fmt::format("list {} holds value {}, which is not an Int", i, item));
          return Ok{};
        });
      case fb::KernelTypes::DoubleList:
        if (!aligned(value.val_as_DoubleList()->items()))
          return fail(fmt::format("list {} is not aligned to 8 bytes", i));
        if (value.val_as_DoubleList()->items() == nullptr) return fail(fmt::format("list {} has no items field", i));
        return Ok{};
      case fb::KernelTypes::BoolList:
        if (value.val_as_BoolList()->items() == nullptr) return fail(fmt::format("list {} has no items field", i));
        return Ok{};
      case fb::KernelTypes::TensorList:
        if (value.val_as_TensorList()->items() == nullptr) return fail(fmt::format("list {} has no items field", i));
        return listed(value.val_as_TensorList()->items(), tensor_item);
      case fb::KernelTypes::OptionalTensorList:
        if (value.val_as_OptionalTensorList()->items() == nullptr)
          return fail(fmt::format("list {} has no items field", i));
        return listed(value.val_as_OptionalTensorList()->items(), [&](int64_t item) -> Status {
          if (item == -1) return Ok{};
          if (item >= 0 && item < static_cast<int64_t>(values()) &&
              kind(static_cast<int32_t>(item)) == fb::KernelTypes::Null)
            return Ok{};
          return tensor_item(item);
        });
      default:
        return fail(fmt::format("value {} is of a kind ({}) that the schema does not have", i,
                                static_cast<int>(value.val_type())));
    }
  }

  Status tensor(uint32_t i, const fb::Tensor& tensor) {
    const auto bad = [&](const std::string& sentence) { return fail(fmt::format("tensor {}: {}", i, sentence)); };
    const auto type = static_cast<int8_t>(tensor.scalar_type());
    if (element_bytes(type) == 0) return bad(fmt::format("{} is not an element type of the schema", type));
    if (tensor.sizes() == nullptr || tensor.dim_order() == nullptr) return bad("sizes or dim_order is missing");
    const uint32_t rank = tensor.sizes()->size();
    if (rank > kMaxRank) return bad(fmt::format("rank {} is more than the runtime's {}", rank, kMaxRank));
    if (tensor.dim_order()->size() != rank)
      return bad(fmt::format("dim_order has {} entries for rank {}", tensor.dim_order()->size(), rank));
    uint32_t seen = 0;
    for (uint32_t d = 0; d < rank; ++d) {
      if (tensor.sizes()->Get(d) < 0)
        return bad(fmt::format("size {} of dimension {} is negative", tensor.sizes()->Get(d), d));
      const uint8_t dim = tensor.dim_order()->Get(d);
      if (dim >= rank || (seen & 1u << dim) != 0) return bad("dim_order is not a permutation of the dimensions");
      seen |= 1u << dim;
    }
    if (tensor.storage_offset() != 0) return bad("storage_offset is not zero, which the runtime does not take");
    if (tensor.layout() != 0) return bad("layout is not zero (strided)");
    if (tensor.shape_dynamism() != fb::TensorShapeDynamism::STATIC &&
        tensor.shape_dynamism() != fb::TensorShapeDynamism::DYNAMIC_BOUND)
      return bad("its shape has no upper bound, which the runtime does not take");
    const std::optional<uint64_t> bytes = tensor_bytes(type, {tensor.sizes()->data(), rank});
    if (!bytes) return bad("its size in bytes does not fit into 63 bits");
    if (is_external(tensor) && text(tensor.extra_tensor_info()->fully_qualified_name()).empty())
      return bad("its data is outside of the file, but it has no name to find them by");
    if (const fb::AllocationDetails* where = tensor.allocation_info()) {
      const uint32_t buffers = plan_.non_const_buffer_sizes()->size();
      if (where->memory_id() == 0 || where->memory_id() >= buffers)
        return bad(
            fmt::format("it is in planned buffer {}, there are buffers 1 to {}", where->memory_id(), buffers - 1));
      const uint64_t offset = where->memory_offset_low() | static_cast<uint64_t>(where->memory_offset_high()) << 32;
      const auto size = static_cast<uint64_t>(plan_.non_const_buffer_sizes()->Get(where->memory_id()));
      if (offset > size || *bytes > size - offset)
        return bad(fmt::format("{} bytes at offset {} do not fit into planned buffer {} of {} bytes", *bytes, offset,
                               where->memory_id(), size));
      if (tensor.data_buffer_idx() > 0) {
        if (count(root_.mutable_data_segments()) == 0)
          return bad("it has an initial value, but the file has no mutable_data_segments");
        return data(bad, "mutable_data_segments", *root_.mutable_data_segments()->Get(0), tensor.data_buffer_idx(),
                    *bytes);
      }
      return Ok{};
    }
    if (tensor.data_buffer_idx() > 0 && !is_external(tensor))
      return data(bad, "constant_segment", *root_.constant_segment(), tensor.data_buffer_idx(), *bytes);
    return Ok{};
  }

  template <class Bad>
  Status data(const Bad& bad, std::string_view what, const fb::SubsegmentOffsets& list, uint32_t index,
              uint64_t bytes) const {
    if (index >= count(list.offsets()))
      return bad(fmt::format("its data is entry {} of {}, there are {}", index, what, count(list.offsets())));
    const uint64_t size = root_.segments()->Get(list.segment_index())->size();
    const uint64_t offset = list.offsets()->Get(index);
    if (offset > size || bytes > size - offset)
      return bad(fmt::format("its {} bytes at {} reach past the end of {} ({} bytes)", bytes, offset, what, size));
    return Ok{};
  }

  Status delegate(uint32_t i) const {
    const fb::BackendDelegate& delegate = *plan_.delegates()->Get(i);
    if (text(delegate.id()).empty()) return fail(fmt::format("delegate {} has no backend", i));
    const fb::BackendDelegateDataReference* where = delegate.processed();
    if (where == nullptr) return fail(fmt::format("delegate {} has no data", i));
    const bool in_segment = where->location() == fb::DataLocation::SEGMENT;
    if (!in_segment && where->location() != fb::DataLocation::INLINE)
      return fail(fmt::format("delegate {} has its data in a place that the schema does not have", i));
    const uint32_t available = in_segment ? count(root_.segments()) : count(root_.backend_delegate_data());
    if (where->index() >= available)
      return fail(fmt::format("delegate {} has its data in {} {}, there are {}", i,
                              in_segment ? "segment" : "inline data", where->index(), available));
    if (!in_segment && root_.backend_delegate_data()->Get(where->index())->data() == nullptr)
      return fail(fmt::format("the inline data of delegate {} are missing", i));
    for (uint32_t k = 0; k < count(delegate.compile_specs()); ++k) {
      const fb::CompileSpec& spec = *delegate.compile_specs()->Get(k);
      if (spec.key() == nullptr || spec.value() == nullptr)
        return fail(fmt::format("compile spec {} of delegate {} is incomplete", k, i));
    }
    return Ok{};
  }

  // Tensors that get a pointer while the program runs: everything else without memory would be a null pointer.
  void find_late_pointers(std::vector<bool>& late) const {
    for (uint32_t i = 0; i < plan_.inputs()->size(); ++i) late[static_cast<size_t>(plan_.inputs()->Get(i))] = true;
    for (uint32_t i = 0; i < plan_.outputs()->size(); ++i) late[static_cast<size_t>(plan_.outputs()->Get(i))] = true;
  }
  bool lacks_memory(int32_t index, const std::vector<bool>& late) const {
    const fb::Tensor* tensor = at(index).val_as_Tensor();
    if (tensor == nullptr || tensor->allocation_info() != nullptr || tensor->data_buffer_idx() > 0 ||
        is_external(*tensor))
      return false;
    return !late[static_cast<size_t>(index)];
  }

  Status chains() {
    std::vector<bool> late(values(), false);
    find_late_pointers(late);
    // A move or a view may stand in a branch, so its target counts as set everywhere.
    for (uint32_t c = 0; c < plan_.chains()->size(); ++c) {
      const fb::Chain& chain = *plan_.chains()->Get(c);
      if (chain.instructions() == nullptr) return fail(fmt::format("chain {} has no instruction list", c));
      for (uint32_t i = 0; i < chain.instructions()->size(); ++i) EL_TRY_OK(instruction(chain, i, late));
    }
    for (uint32_t c = 0; c < plan_.chains()->size(); ++c) {
      const fb::Chain& chain = *plan_.chains()->Get(c);
      for (uint32_t i = 0; i < chain.instructions()->size(); ++i)
        EL_TRY_OK(memory(*chain.instructions()->Get(i), i, late));
    }
    return Ok{};
  }

  Status instruction(const fb::Chain& chain, uint32_t i, std::vector<bool>& late) const {
    const fb::Instruction& instruction = *chain.instructions()->Get(i);
    const std::string what = fmt::format("instruction {}", i);
    if (instruction.instr_args() == nullptr) return fail(what + " is missing");
    const auto args = [&](const FbVector<int32_t>* list) -> Status {
      if (list == nullptr) return fail(what + " has no argument list");
      for (uint32_t k = 0; k < list->size(); ++k) {
        const int32_t index = list->Get(k);
        if (index < 0 || static_cast<uint32_t>(index) >= values())
          EL_TRY_OK(in_range(index, fmt::format("argument {} of {}", k, what)));
      }
      return Ok{};
    };
    switch (instruction.instr_args_type()) {
      case fb::InstructionArguments::KernelCall: {
        const fb::KernelCall& call = *instruction.instr_args_as_KernelCall();
        if (call.op_index() < 0 || static_cast<uint32_t>(call.op_index()) >= count(plan_.operators()))
          return fail(
              fmt::format("{} calls operator {}, there are {}", what, call.op_index(), count(plan_.operators())));
        EL_TRY_OK(args(call.args()));
        const std::string_view name = text(plan_.operators()->Get(static_cast<uint32_t>(call.op_index()))->name());
        if (name == "executorch_prim::et_view" && call.args()->size() == 3)
          late[static_cast<size_t>(call.args()->Get(2))] = true;
        return Ok{};
      }
      case fb::InstructionArguments::DelegateCall: {
        const fb::DelegateCall& call = *instruction.instr_args_as_DelegateCall();
        if (call.delegate_index() < 0 || static_cast<uint32_t>(call.delegate_index()) >= plan_.delegates()->size())
          return fail(fmt::format("{} calls delegate {}, there are {}", what, call.delegate_index(),
                                  plan_.delegates()->size()));
        return args(call.args());
      }
      case fb::InstructionArguments::MoveCall: {
        const fb::MoveCall& move = *instruction.instr_args_as_MoveCall();
        EL_TRY_OK(in_range(move.move_from(), "the source of " + what));
        EL_TRY_OK(in_range(move.move_to(), "the target of " + what));
        late[static_cast<size_t>(move.move_to())] = true;
        return Ok{};
      }
      case fb::InstructionArguments::JumpFalseCall: {
        const fb::JumpFalseCall& jump = *instruction.instr_args_as_JumpFalseCall();
        EL_TRY_OK(in_range(jump.cond_value_index(), "the condition of " + what));
        const fb::Tensor* tensor = at(jump.cond_value_index()).val_as_Tensor();
        if (kind(jump.cond_value_index()) != fb::KernelTypes::Bool &&
            (tensor == nullptr || tensor->scalar_type() != fb::ScalarType::BOOL))
          return fail("the condition of " + what + " is neither a Bool nor a bool tensor");
        if (jump.destination_instruction() < 0 ||
            static_cast<uint32_t>(jump.destination_instruction()) > chain.instructions()->size())
          return fail(fmt::format("{} jumps to instruction {}, the chain has {}", what, jump.destination_instruction(),
                                  chain.instructions()->size()));
        return Ok{};
      }
      case fb::InstructionArguments::FreeCall: {
        const int32_t index = instruction.instr_args_as_FreeCall()->value_index();
        EL_TRY_OK(in_range(index, "the operand of " + what));
        if (kind(index) != fb::KernelTypes::Tensor) return fail(what + " frees a value that is not a tensor");
        return Ok{};
      }
      default:
        return fail(what + " is of a kind that the schema does not have");
    }
  }

  Status memory(const fb::Instruction& instruction, uint32_t i, const std::vector<bool>& late) const {
    const FbVector<int32_t>* args = nullptr;
    if (const fb::KernelCall* call = instruction.instr_args_as_KernelCall()) args = call->args();
    if (const fb::DelegateCall* call = instruction.instr_args_as_DelegateCall()) args = call->args();
    for (uint32_t k = 0; k < count(args); ++k)
      if (lacks_memory(args->Get(k), late))
        return fail(fmt::format(
            "argument {} of instruction {} is tensor {}, which has no memory and gets none: the runtime would "
            "follow a null pointer",
            k, i, args->Get(k)));
    return Ok{};
  }

  const fb::Program& root_;
  const fb::ExecutionPlan& plan_;
  std::string where_;
};

}  // namespace

Status check_rules(const VerifiedProgram& program, std::span<const std::byte> bytes) {
  EL_TRY_OK(SegmentRules(program, bytes).check());
  const fb::Program& root = *program.root;
  if (count(root.execution_plan()) == 0) return input_error("the program has no method");
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < root.execution_plan()->size(); ++i) {
    const fb::ExecutionPlan& plan = *root.execution_plan()->Get(i);
    const std::string_view name = text(plan.name());
    if (name.empty()) return input_error(fmt::format("method {} has no name", i));
    if (!names.insert(name).second) return input_error(fmt::format("two methods have the name '{}'", name));
    EL_TRY_OK(PlanRules(root, plan, std::string(name)).check());
  }
  return Ok{};
}

Status verify(std::span<const std::byte> bytes) {
  EL_TRY(const VerifiedProgram program, verified_program(bytes));
  return check_rules(program, bytes);
}

}  // namespace edgelift::pte
