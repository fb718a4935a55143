#include <algorithm>
#include <cstring>
#include <map>

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

#include "base/check.h"
#include "program_generated.h"
#include "pte/layout.h"
#include "pte/program.h"

namespace edgelift::pte {
namespace {

namespace fb = executorch_flatbuffer;

template <class T>
uint32_t count(const flatbuffers::Vector<T>* list) {
  return list == nullptr ? 0 : list->size();
}
std::string text(const flatbuffers::String* s) {
  return s == nullptr ? std::string() : std::string(s->c_str(), s->size());
}

// The rules have been checked, so every index and offset is in range.
class Reader {
 public:
  Reader(const VerifiedProgram& verified, std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : root_(*verified.root), header_(verified.header), bytes_(bytes), owner_(std::move(owner)) {
    // A file that stores everything once cannot hold more elements than bytes; one that refers to the same list again
    // and again could make this reader run out of memory.
    budget_ = 16 * header_.program_size + 2 * bytes.size() + (1u << 20);
  }

  Result<Program> read() {
    // A constant that no tensor uses has no size.
    program_.constants.assign(count(root_.constant_segment()->offsets()) - 1, plain({}));
    if (count(root_.mutable_data_segments()) != 0) {
      const uint32_t entries = count(root_.mutable_data_segments()->Get(0)->offsets());
      program_.mutable_data.assign(entries == 0 ? 0 : entries - 1, plain({}));
    }
    for (uint32_t i = 0; i < root_.execution_plan()->size(); ++i) {
      program_.plans.push_back(plan(*root_.execution_plan()->Get(i)));
      if (foreign_dtype_ != 0)
        return input_error(
            fmt::format("a tensor has the quantised element type {}, which only the schema knows", foreign_dtype_));
      if (exhausted_)
        return input_error(
            "the program refers to the same lists so often that it would take much more memory than the file has "
            "bytes");
    }
    for (uint32_t i = 0; i < count(root_.named_data()); ++i) {
      const fb::NamedData& named = *root_.named_data()->Get(i);
      const std::span<const std::byte> data = segment(named.segment_index());
      program_.named.push_back({text(named.key()), plain(data)});
    }
    return std::move(program_);
  }

 private:
  bool spend(uint64_t elements) {
    if (elements > budget_) exhausted_ = true;
    budget_ -= exhausted_ ? 0 : elements;
    return !exhausted_;
  }

  std::span<const std::byte> segment(uint32_t index) const {
    const fb::DataSegment& s = *root_.segments()->Get(index);
    return s.size() == 0 ? std::span<const std::byte>() : bytes_.subspan(header_.segment_base + s.offset(), s.size());
  }
  TensorData plain(std::span<const std::byte> data) const {
    return TensorData(DType::U8, {static_cast<int64_t>(data.size())}, {1}, 0, data, owner_);
  }

  // Gives the constant its type from a tensor that uses it: the file stores offsets alone.
  void set_data(TensorData& target, const Tensor& tensor, const fb::SubsegmentOffsets& list, uint32_t index) const {
    std::vector<int64_t> sizes;
    for (const uint8_t dim : tensor.dim_order) sizes.push_back(tensor.sizes[dim]);
    const uint64_t bytes = *tensor_bytes(static_cast<int8_t>(tensor.dtype), tensor.sizes);
    if (target.storage().data() != nullptr && target.nbytes() >= bytes) return;
    const std::span<const std::byte> data = segment(list.segment_index()).subspan(list.offsets()->Get(index), bytes);
    std::vector<int64_t> strides = contiguous_strides(sizes);
    target = TensorData(tensor.dtype, std::move(sizes), std::move(strides), 0, data, owner_);
  }

  template <class Item, class T>
  std::vector<Item> list(const flatbuffers::Vector<T>* items) {
    std::vector<Item> result;
    if (!spend(count(items))) return result;
    result.reserve(count(items));
    for (uint32_t i = 0; i < count(items); ++i) result.push_back(static_cast<Item>(items->Get(i)));
    return result;
  }
  std::string string(const flatbuffers::String* s) {
    if (s == nullptr || !spend(s->size())) return {};
    return text(s);
  }

  Tensor tensor(const fb::Tensor& from) {
    Tensor t;
    switch (from.scalar_type()) {
      case fb::ScalarType::QINT8:
      case fb::ScalarType::QUINT8:
      case fb::ScalarType::QINT32:
      case fb::ScalarType::QUINT4X2:
      case fb::ScalarType::QUINT2X4:
      case fb::ScalarType::BITS16:
        foreign_dtype_ = static_cast<int>(from.scalar_type());
        return t;
      default:
        t.dtype = static_cast<DType>(from.scalar_type());
    }
    t.sizes = list<int32_t>(from.sizes());
    t.dim_order = list<uint8_t>(from.dim_order());
    if (exhausted_) return t;
    t.dynamic = from.shape_dynamism() != fb::TensorShapeDynamism::STATIC;
    if (const fb::ExtraTensorInfo* extra = from.extra_tensor_info()) {
      t.name = string(extra->fully_qualified_name());
      t.external = extra->location() == fb::TensorDataLocation::EXTERNAL;
    }
    const auto data = static_cast<int32_t>(from.data_buffer_idx()) - 1;
    if (const fb::AllocationDetails* where = from.allocation_info()) {
      t.memory_id = where->memory_id();
      t.memory_offset = where->memory_offset_low() | static_cast<uint64_t>(where->memory_offset_high()) << 32;
      t.initial = data;
      if (data >= 0)
        set_data(program_.mutable_data[static_cast<size_t>(data)], t, *root_.mutable_data_segments()->Get(0),
                 from.data_buffer_idx());
    } else if (data >= 0 && !t.external) {
      t.constant = data;
      set_data(program_.constants[static_cast<size_t>(data)], t, *root_.constant_segment(), from.data_buffer_idx());
    }
    return t;
  }

  Value value(const fb::EValue& from) {
    switch (from.val_type()) {
      case fb::KernelTypes::Int:
        return from.val_as_Int()->int_val();
      case fb::KernelTypes::Bool:
        return from.val_as_Bool()->bool_val();
      case fb::KernelTypes::Double:
        return from.val_as_Double()->double_val();
      case fb::KernelTypes::Tensor:
        return tensor(*from.val_as_Tensor());
      case fb::KernelTypes::String:
        return string(from.val_as_String()->string_val());
      case fb::KernelTypes::IntList:
        return IntList{list<int32_t>(from.val_as_IntList()->items())};
      case fb::KernelTypes::DoubleList:
        return list<double>(from.val_as_DoubleList()->items());
      case fb::KernelTypes::BoolList:
        return list<bool>(from.val_as_BoolList()->items());
      case fb::KernelTypes::TensorList:
        return TensorList{list<int32_t>(from.val_as_TensorList()->items())};
      case fb::KernelTypes::OptionalTensorList:
        return OptionalTensorList{list<int32_t>(from.val_as_OptionalTensorList()->items())};
      default:
        return Null{};
    }
  }

  Instruction instruction(const fb::Instruction& from, int32_t first) {
    switch (from.instr_args_type()) {
      case fb::InstructionArguments::KernelCall: {
        const fb::KernelCall& call = *from.instr_args_as_KernelCall();
        return KernelCall{call.op_index(), list<int32_t>(call.args())};
      }
      case fb::InstructionArguments::DelegateCall: {
        const fb::DelegateCall& call = *from.instr_args_as_DelegateCall();
        return DelegateCall{call.delegate_index(), list<int32_t>(call.args())};
      }
      case fb::InstructionArguments::MoveCall: {
        const fb::MoveCall& move = *from.instr_args_as_MoveCall();
        return MoveCall{move.move_from(), move.move_to()};
      }
      case fb::InstructionArguments::JumpFalseCall: {
        const fb::JumpFalseCall& jump = *from.instr_args_as_JumpFalseCall();
        return JumpFalseCall{jump.cond_value_index(), first + jump.destination_instruction()};
      }
      default:
        return FreeCall{from.instr_args_as_FreeCall()->value_index()};
    }
  }

  Plan plan(const fb::ExecutionPlan& from) {
    Plan plan;
    plan.name = string(from.name());
    if (!spend(count(from.values()))) return plan;
    for (uint32_t i = 0; i < count(from.values()) && !exhausted_; ++i)
      plan.values.push_back(value(*from.values()->Get(i)));
    plan.inputs = list<int32_t>(from.inputs());
    plan.outputs = list<int32_t>(from.outputs());
    for (uint32_t c = 0; c < count(from.chains()); ++c) {
      const fb::Chain& chain = *from.chains()->Get(c);
      const auto first = static_cast<int32_t>(plan.instructions.size());
      if (!spend(count(chain.instructions()))) return plan;
      for (uint32_t i = 0; i < count(chain.instructions()) && !exhausted_; ++i) {
        plan.instructions.push_back(instruction(*chain.instructions()->Get(i), first));
        plan.frames.push_back(frame(chain, i));
      }
    }
    for (uint32_t i = 0; i < count(from.operators()) && !exhausted_; ++i) {
      const fb::Operator& op = *from.operators()->Get(i);
      plan.operators.push_back({string(op.name()), string(op.overload())});
    }
    for (uint32_t i = 0; i < count(from.delegates()) && !exhausted_; ++i)
      plan.delegates.push_back(delegate(*from.delegates()->Get(i)));
    plan.buffer_sizes = list<uint64_t>(from.non_const_buffer_sizes());
    return plan;
  }

  // "file.py:12" of the innermost frame.
  std::string frame(const fb::Chain& chain, uint32_t i) {
    if (i >= count(chain.stacktrace())) return {};
    const auto* frames = chain.stacktrace()->Get(i)->items();
    if (count(frames) == 0) return {};
    const fb::Frame& innermost = *frames->Get(frames->size() - 1);
    return fmt::format("{}:{}", string(innermost.filename()), innermost.lineno());
  }

  DelegateRef delegate(const fb::BackendDelegate& from) {
    const fb::BackendDelegateDataReference& where = *from.processed();
    const std::string id = string(from.id());
    // The same data for another backend is another blob.
    const auto key = std::tuple(id, where.location(), where.index());
    const auto [known, inserted] = blobs_.try_emplace(key, static_cast<int32_t>(program_.blobs.size()));
    if (inserted) {
      DelegateBlob blob;
      blob.id = id;
      if (where.location() == fb::DataLocation::SEGMENT) {
        const std::span<const std::byte> data = segment(where.index());
        if (spend(data.size())) blob.bytes.assign(data.begin(), data.end());
      } else if (const auto* data = root_.backend_delegate_data()->Get(where.index())->data(); spend(data->size())) {
        const auto* first = reinterpret_cast<const std::byte*>(data->data());
        blob.bytes.assign(first, first + data->size());
      }
      program_.blobs.push_back(std::move(blob));
    }
    return {known->second};
  }

  const fb::Program& root_;
  const FileHeader header_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  uint64_t budget_ = 0;
  bool exhausted_ = false;
  int foreign_dtype_ = 0;
  Program program_;
  std::map<std::tuple<std::string, fb::DataLocation, uint32_t>, int32_t> blobs_;
};

}  // namespace

Result<Program> read(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  EL_TRY(const VerifiedProgram verified, verified_program(bytes));
  EL_TRY_OK(check_rules(verified, bytes));
  return Reader(verified, bytes, std::move(owner)).read();
}

}  // namespace edgelift::pte
