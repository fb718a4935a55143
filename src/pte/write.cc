#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string_view>

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

#include "base/check.h"
#include "base/file.h"
#include "program_generated.h"
#include "pte/dedup.h"
#include "pte/layout.h"
#include "pte/program.h"

namespace edgelift::pte {
namespace {

namespace fb = executorch_flatbuffer;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
template <class T>
using Offsets = std::vector<Offset<T>>;

// Where everything outside the flatbuffer goes, relative to the segment base.
struct Segment {
  uint64_t offset = 0, size = 0;
  std::vector<std::pair<uint64_t, const TensorData*>> tensors;  // offset in the segment, in rising order
  std::span<const std::byte> bytes;                             // or plain bytes
};

struct Layout {
  std::vector<Segment> segments;
  std::vector<uint64_t> constant_offsets, mutable_offsets;  // entry 0 reserved
  std::vector<uint32_t> blob_segments, named_segments;      // parallel to Program::blobs, named
  uint64_t base_alignment = kSegmentAlignment;
};

// Puts the tensors behind each other with alignment and readable tails; equal contents once.
Segment tensor_segment(std::span<const TensorData> tensors, std::vector<uint64_t>& offsets) {
  std::vector<const TensorData*> pointers;
  pointers.reserve(tensors.size());
  for (const TensorData& tensor : tensors) pointers.push_back(&tensor);
  const std::vector<size_t> first = first_equal(pointers);
  Segment segment;
  offsets.assign(1, 0);
  uint64_t end = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (first[i] != i) {
      offsets.push_back(offsets[first[i] + 1]);
      continue;
    }
    const uint64_t size = tensors[i].nbytes();
    const uint64_t offset = align_up(end, size >= 1024 ? 64 : kTensorAlignment);
    offsets.push_back(offset);
    segment.tensors.emplace_back(offset, &tensors[i]);
    end = offset + size + kReadableTail;
  }
  segment.size = align_up(end, kTensorAlignment);
  return segment;
}

Layout lay_out(const Program& program) {
  Layout layout;
  layout.segments.push_back(tensor_segment(program.constants, layout.constant_offsets));
  if (!program.mutable_data.empty())
    layout.segments.push_back(tensor_segment(program.mutable_data, layout.mutable_offsets));
  std::map<std::string_view, uint32_t> blobs;
  for (const DelegateBlob& blob : program.blobs) {
    const std::string_view content(reinterpret_cast<const char*>(blob.bytes.data()), blob.bytes.size());
    const auto [same, inserted] = blobs.try_emplace(content, static_cast<uint32_t>(layout.segments.size()));
    if (!inserted) {
      layout.blob_segments.push_back(same->second);
      continue;
    }
    Segment segment;
    segment.bytes = blob.bytes;
    segment.size = blob.bytes.size();
    layout.blob_segments.push_back(static_cast<uint32_t>(layout.segments.size()));
    layout.segments.push_back(std::move(segment));
  }
  std::vector<const TensorData*> named;
  for (const NamedData& entry : program.named) named.push_back(&entry.data);
  const std::vector<size_t> first = first_equal(named);
  for (size_t i = 0; i < named.size(); ++i) {
    if (first[i] != i) {
      layout.named_segments.push_back(layout.named_segments[first[i]]);
      continue;
    }
    Segment segment;
    segment.size = named[i]->nbytes();
    segment.tensors.emplace_back(0, named[i]);
    layout.named_segments.push_back(static_cast<uint32_t>(layout.segments.size()));
    layout.segments.push_back(std::move(segment));
  }
  uint64_t end = 0;
  for (Segment& segment : layout.segments) {
    const uint64_t alignment = segment.size >= kPageAlignFrom ? kPage : kSegmentAlignment;
    layout.base_alignment = std::max(layout.base_alignment, alignment);
    segment.offset = segment.size == 0 ? 0 : align_up(end, alignment);
    if (segment.size != 0) end = segment.offset + segment.size + kReadableTail;
  }
  return layout;
}

class PlanWriter {
 public:
  PlanWriter(FlatBufferBuilder& builder, const Layout& layout, const Program& program)
      : builder_(builder), layout_(layout), program_(program) {}

  Offset<fb::ExecutionPlan> plan(const Plan& plan) {
    Offsets<fb::EValue> values;
    values.reserve(plan.values.size());
    for (const Value& v : plan.values) values.push_back(value(v));
    Offsets<fb::Instruction> instructions;
    instructions.reserve(plan.instructions.size());
    for (const Instruction& i : plan.instructions) instructions.push_back(instruction(i));
    Offset<flatbuffers::Vector<Offset<fb::FrameList>>> frames;
    const auto named = [](const std::string& frame) { return !frame.empty(); };
    if (std::any_of(plan.frames.begin(), plan.frames.end(), named)) frames = frame_lists(plan);
    const std::vector<int32_t> none;
    const auto chain = fb::CreateChain(builder_, builder_.CreateVector(none), builder_.CreateVector(none),
                                       builder_.CreateVector(instructions), frames);
    Offsets<fb::Operator> operators;
    for (const Operator& op : plan.operators)
      operators.push_back(
          fb::CreateOperator(builder_, builder_.CreateString(op.name), builder_.CreateString(op.overload)));
    Offsets<fb::BackendDelegate> delegates;
    for (const DelegateRef& delegate : plan.delegates) {
      const auto blob = static_cast<size_t>(delegate.blob);
      const auto where =
          fb::CreateBackendDelegateDataReference(builder_, fb::DataLocation::SEGMENT, layout_.blob_segments.at(blob));
      const auto id = builder_.CreateString(program_.blobs[blob].id);
      delegates.push_back(
          fb::CreateBackendDelegate(builder_, id, where, builder_.CreateVector(Offsets<fb::CompileSpec>{})));
    }
    std::vector<int64_t> buffers(plan.buffer_sizes.begin(), plan.buffer_sizes.end());
    if (buffers.empty()) buffers.push_back(0);
    const auto name = builder_.CreateString(plan.name);
    const auto container = fb::CreateContainerMetadata(builder_, builder_.CreateString(""), builder_.CreateString(""));
    const auto all_values = builder_.CreateVector(values);
    const auto inputs = builder_.CreateVector(plan.inputs);
    const auto outputs = builder_.CreateVector(plan.outputs);
    const auto chains = builder_.CreateVector(Offsets<fb::Chain>{chain});
    const auto all_operators = builder_.CreateVector(operators);
    const auto all_delegates = builder_.CreateVector(delegates);
    const auto all_buffers = builder_.CreateVector(buffers);
    return fb::CreateExecutionPlan(builder_, name, container, all_values, inputs, outputs, chains, all_operators,
                                   all_delegates, all_buffers);
  }

 private:
  Offset<fb::EValue> value(const Value& value) {
    return std::visit([this](const auto& v) { return this->make(v); }, value);
  }
  template <class T>
  Offset<fb::EValue> evalue(fb::KernelTypes kind, Offset<T> table) {
    return fb::CreateEValue(builder_, kind, table.Union());
  }
  Offset<fb::EValue> make(const Null&) { return evalue(fb::KernelTypes::Null, fb::CreateNull(builder_)); }
  Offset<fb::EValue> make(int64_t v) { return evalue(fb::KernelTypes::Int, fb::CreateInt(builder_, v)); }
  Offset<fb::EValue> make(bool v) { return evalue(fb::KernelTypes::Bool, fb::CreateBool(builder_, v)); }
  Offset<fb::EValue> make(double v) { return evalue(fb::KernelTypes::Double, fb::CreateDouble(builder_, v)); }
  Offset<fb::EValue> make(const std::string& v) {
    return evalue(fb::KernelTypes::String, fb::CreateString(builder_, builder_.CreateString(v)));
  }
  Offset<fb::EValue> make(const IntList& v) {
    const std::vector<int64_t> items(v.items.begin(), v.items.end());
    return evalue(fb::KernelTypes::IntList, fb::CreateIntList(builder_, builder_.CreateVector(items)));
  }
  Offset<fb::EValue> make(const std::vector<double>& v) {
    return evalue(fb::KernelTypes::DoubleList, fb::CreateDoubleList(builder_, builder_.CreateVector(v)));
  }
  Offset<fb::EValue> make(const std::vector<bool>& v) {
    return evalue(fb::KernelTypes::BoolList, fb::CreateBoolList(builder_, builder_.CreateVector(v)));
  }
  Offset<fb::EValue> make(const TensorList& v) {
    return evalue(fb::KernelTypes::TensorList, fb::CreateTensorList(builder_, builder_.CreateVector(v.items)));
  }
  Offset<fb::EValue> make(const OptionalTensorList& v) {
    return evalue(fb::KernelTypes::OptionalTensorList,
                  fb::CreateOptionalTensorList(builder_, builder_.CreateVector(v.items)));
  }
  Offset<fb::EValue> make(const Tensor& t) {
    const auto sizes = builder_.CreateVector(t.sizes);
    const auto order = builder_.CreateVector(t.dim_order);
    Offset<fb::AllocationDetails> allocation;
    if (t.memory_id != 0)
      allocation = fb::CreateAllocationDetails(builder_, t.memory_id, static_cast<uint32_t>(t.memory_offset),
                                               static_cast<uint32_t>(t.memory_offset >> 32));
    Offset<fb::ExtraTensorInfo> extra;
    if (!t.name.empty()) extra = fb::CreateExtraTensorInfo(builder_, 0, builder_.CreateString(t.name));
    const int32_t data = t.memory_id != 0 ? t.initial : t.constant;
    const auto dynamism = t.dynamic ? fb::TensorShapeDynamism::DYNAMIC_BOUND : fb::TensorShapeDynamism::STATIC;
    return evalue(fb::KernelTypes::Tensor,
                  fb::CreateTensor(builder_, static_cast<fb::ScalarType>(t.dtype), 0, sizes, order, false,
                                   static_cast<uint32_t>(data + 1), allocation, 0, dynamism, extra));
  }

  template <class T>
  Offset<fb::Instruction> wrap(fb::InstructionArguments kind, Offset<T> table) {
    return fb::CreateInstruction(builder_, kind, table.Union());
  }
  Offset<fb::Instruction> instruction(const Instruction& instruction) {
    if (const auto* call = std::get_if<KernelCall>(&instruction))
      return wrap(fb::InstructionArguments::KernelCall,
                  fb::CreateKernelCall(builder_, call->op, builder_.CreateVector(call->args)));
    if (const auto* call = std::get_if<DelegateCall>(&instruction))
      return wrap(fb::InstructionArguments::DelegateCall,
                  fb::CreateDelegateCall(builder_, call->delegate, builder_.CreateVector(call->args)));
    if (const auto* move = std::get_if<MoveCall>(&instruction))
      return wrap(fb::InstructionArguments::MoveCall, fb::CreateMoveCall(builder_, move->from, move->to));
    if (const auto* jump = std::get_if<JumpFalseCall>(&instruction))
      return wrap(fb::InstructionArguments::JumpFalseCall,
                  fb::CreateJumpFalseCall(builder_, jump->condition, jump->destination));
    return wrap(fb::InstructionArguments::FreeCall,
                fb::CreateFreeCall(builder_, std::get<FreeCall>(instruction).value));
  }

  Offset<flatbuffers::Vector<Offset<fb::FrameList>>> frame_lists(const Plan& plan) {
    Offsets<fb::FrameList> lists;
    for (size_t i = 0; i < plan.instructions.size(); ++i) {
      Offsets<fb::Frame> frames;
      if (i < plan.frames.size() && !plan.frames[i].empty()) {
        const std::string& frame = plan.frames[i];
        const size_t colon = frame.rfind(':');
        const int32_t line = colon == std::string::npos ? 0 : std::atoi(frame.c_str() + colon + 1);
        const auto file = builder_.CreateString(frame.substr(0, colon));
        const auto name = builder_.CreateString("");
        const auto context = builder_.CreateString("");
        frames.push_back(fb::CreateFrame(builder_, file, line, name, context));
      }
      lists.push_back(fb::CreateFrameList(builder_, builder_.CreateVector(frames)));
    }
    return builder_.CreateVector(lists);
  }

  FlatBufferBuilder& builder_;
  const Layout& layout_;
  const Program& program_;
};

void build_flatbuffer(const Program& program, const Layout& layout, FlatBufferBuilder& builder) {
  PlanWriter writer(builder, layout, program);
  Offsets<fb::ExecutionPlan> plans;
  for (const Plan& plan : program.plans) plans.push_back(writer.plan(plan));
  Offsets<fb::DataSegment> segments;
  for (const Segment& segment : layout.segments)
    segments.push_back(fb::CreateDataSegment(builder, segment.offset, segment.size));
  const auto constant_segment = fb::CreateSubsegmentOffsets(builder, 0, builder.CreateVector(layout.constant_offsets));
  Offset<flatbuffers::Vector<Offset<fb::SubsegmentOffsets>>> mutable_segments;
  if (!layout.mutable_offsets.empty()) {
    const auto offsets = fb::CreateSubsegmentOffsets(builder, 1, builder.CreateVector(layout.mutable_offsets));
    mutable_segments = builder.CreateVector(Offsets<fb::SubsegmentOffsets>{offsets});
  }
  Offsets<fb::NamedData> named;
  for (size_t i = 0; i < program.named.size(); ++i)
    named.push_back(fb::CreateNamedData(builder, builder.CreateString(program.named[i].key), layout.named_segments[i]));
  const auto all_plans = builder.CreateVector(plans);
  const auto constant_buffer = builder.CreateVector(Offsets<fb::Buffer>{});
  const auto inline_data = builder.CreateVector(Offsets<fb::BackendDelegateInlineData>{});
  const auto all_segments = builder.CreateVector(segments);
  Offset<flatbuffers::Vector<Offset<fb::NamedData>>> all_named;
  if (!named.empty()) all_named = builder.CreateVector(named);
  fb::FinishProgramBuffer(builder, fb::CreateProgram(builder, 0, all_plans, constant_buffer, inline_data, all_segments,
                                                     constant_segment, mutable_segments, all_named));
}

// Where the bytes go: a file or memory.
struct Sink {
  std::function<Status(std::span<const std::byte>)> write;
  std::function<Status(uint64_t)> pad_to;
  std::function<uint64_t()> position;
};

template <class T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);  // the targets of this compiler are little-endian, as the format is
}

// With `check`, the finished flatbuffer is held against flatbuffers' verifier and every rule before a byte is written.
Result<WriteStats> write_to(const Program& program, const Sink& sink, bool check) {
  const Layout layout = lay_out(program);
  FlatBufferBuilder builder(size_t{1} << 16);
  build_flatbuffer(program, layout, builder);
  const auto* const finished = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  const size_t size = builder.GetSize();

  const uint64_t program_size = size + kHeaderSize;
  uint64_t data_size = 0;
  for (const Segment& segment : layout.segments) data_size = std::max(data_size, segment.offset + segment.size);
  const uint64_t base = data_size == 0 ? 0 : align_up(program_size, layout.base_alignment);  // 0: no segments

  if (check) {
    flatbuffers::Verifier verifier(builder.GetBufferPointer(), size, 64,
                                   static_cast<flatbuffers::uoffset_t>(std::max<size_t>(1000, size / 4)));
    if (!fb::VerifyProgramBuffer(verifier)) return internal_error("the program does not pass flatbuffers' verifier");
    VerifiedProgram verified;
    verified.header = {true, program_size, base, data_size};
    verified.root = fb::GetProgram(finished);
    if (const Status rules = check_rules(verified, {}); !rules)
      return internal_error("the program breaks a rule of the file format: " + rules.error().message);
  }

  std::byte head[kHeaderPosition + kHeaderSize] = {};
  std::memcpy(head, finished, kHeaderPosition);
  uint32_t root = 0;
  std::memcpy(&root, finished, sizeof root);
  put<uint32_t>(head, root + static_cast<uint32_t>(kHeaderSize));
  std::memcpy(head + 8, "eh00", 4);
  put<uint32_t>(head + 12, kHeaderSize);
  put<uint64_t>(head + 16, program_size);
  put<uint64_t>(head + 24, base);
  put<uint64_t>(head + 32, data_size);
  EL_TRY_OK(sink.write(head));
  EL_TRY_OK(sink.write({finished + kHeaderPosition, size - kHeaderPosition}));

  for (const Segment& segment : layout.segments) {
    if (segment.size == 0) continue;
    EL_TRY_OK(sink.pad_to(base + segment.offset));
    if (!segment.bytes.empty()) EL_TRY_OK(sink.write(segment.bytes));
    for (const auto& [offset, tensor] : segment.tensors) {
      EL_TRY_OK(sink.pad_to(base + segment.offset + offset));
      EL_TRY_OK(tensor->stream(sink.write));
    }
    EL_TRY_OK(sink.pad_to(base + segment.offset + segment.size));
  }
  // The loader reads a fixed number of bytes first, and mapped constants keep their readable tail.
  EL_TRY_OK(sink.pad_to(std::max<uint64_t>(kLoaderReads, sink.position() + (data_size != 0 ? kReadableTail : 0))));

  WriteStats stats;
  stats.bytes = sink.position();
  stats.constant_bytes = layout.segments[0].size + (layout.mutable_offsets.empty() ? 0 : layout.segments[1].size);
  std::vector<bool> counted(layout.segments.size(), false);
  const auto add = [&](uint32_t index, uint64_t& sum) {
    if (!counted[index]) sum += layout.segments[index].size;
    counted[index] = true;
  };
  for (const uint32_t index : layout.blob_segments) add(index, stats.delegate_bytes);
  for (const uint32_t index : layout.named_segments) add(index, stats.named_bytes);
  return stats;
}

}  // namespace

Result<WriteStats> write(const Program& program, const std::filesystem::path& path) {
  EL_TRY(const std::unique_ptr<AtomicFile> file, AtomicFile::create(path));
  Sink sink;
  sink.write = [&](std::span<const std::byte> bytes) { return file->write(bytes); };
  sink.pad_to = [&](uint64_t offset) { return file->pad_to(offset); };
  sink.position = [&] { return file->position(); };
  EL_TRY(const WriteStats stats, write_to(program, sink, true));
  EL_TRY_OK(file->commit());
  return stats;
}

Result<std::vector<std::byte>> write_to_memory(const Program& program) {
  std::vector<std::byte> bytes;
  Sink sink;
  sink.write = [&](std::span<const std::byte> more) -> Status {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return Ok{};
  };
  sink.pad_to = [&](uint64_t offset) -> Status {
    EL_CHECK(offset >= bytes.size(), "padding backwards");
    bytes.resize(offset);
    return Ok{};
  };
  sink.position = [&] { return static_cast<uint64_t>(bytes.size()); };
  EL_TRY_OK(write_to(program, sink, false));
  return bytes;
}

}  // namespace edgelift::pte
