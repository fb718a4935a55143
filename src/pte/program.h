// The program file as plain data (pte-format). No ir, no ExecuTorch code: the schema alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "base/tensor_data.h"

namespace edgelift::pte {

struct Tensor {
  DType dtype = DType::F32;
  std::vector<int32_t> sizes;  // upper bounds where dynamic
  std::vector<uint8_t> dim_order;
  bool dynamic = false;  // DYNAMIC_BOUND
  // Data: constant (constant >= 0), planned memory (memory_id >= 1), both (mutable with initial value: initial >= 0 and
  // planned), or none of them (pointer arrives at run time).
  int32_t constant = -1;  // index into Program::constants, whose row-major bytes are this tensor's memory
  int32_t initial = -1;   // index into Program::mutable_data
  uint32_t memory_id = 0;
  uint64_t memory_offset = 0;
  std::string name;       // fully qualified name of a mutable buffer or of external data, or ""
  bool external = false;  // the data is looked up by name in a .ptd file (read only; edgelift writes none)
};
struct Null {};
struct IntList {
  std::vector<int32_t> items;
};  // value indices of Ints
struct TensorList {
  std::vector<int32_t> items;
};  // value indices
struct OptionalTensorList {
  std::vector<int32_t> items;
};  // value indices, -1 = None
using Value = std::variant<Null, int64_t, bool, double, Tensor, std::string, IntList, std::vector<double>,
                           std::vector<bool>, TensorList, OptionalTensorList>;

struct KernelCall {
  int32_t op = 0;
  std::vector<int32_t> args;
};
struct DelegateCall {
  int32_t delegate = 0;
  std::vector<int32_t> args;
};
struct MoveCall {
  int32_t from = 0, to = 0;
};
struct JumpFalseCall {
  int32_t condition = 0, destination = 0;
};
struct FreeCall {
  int32_t value = 0;
};
using Instruction = std::variant<KernelCall, DelegateCall, MoveCall, JumpFalseCall, FreeCall>;

struct Operator {
  std::string name, overload;
};  // "aten::add", "out"

struct DelegateBlob {
  std::string id = "XnnpackBackend";
  std::vector<std::byte> bytes;
};
struct DelegateRef {
  int32_t blob = 0;
};  // index into Program::blobs

struct Plan {
  std::string name = "forward";
  std::vector<Value> values;
  std::vector<int32_t> inputs, outputs;
  std::vector<Instruction> instructions;  // one chain; several that a file may have are read as one
  std::vector<std::string> frames;        // optional, parallel: "file.py:12" or ""
  std::vector<Operator> operators;
  std::vector<DelegateRef> delegates;
  std::vector<uint64_t> buffer_sizes;  // planned buffers; index 0 is reserved and 0
};

struct NamedData {
  std::string key;
  TensorData data;
};

struct Program {
  std::vector<Plan> plans;
  std::vector<TensorData> constants;     // constant segment, deduplicated by the emitter
  std::vector<TensorData> mutable_data;  // initial values
  std::vector<DelegateBlob> blobs;       // one segment each
  std::vector<NamedData> named;          // one segment each
};

struct WriteStats {
  uint64_t bytes = 0;
  uint64_t constant_bytes = 0, delegate_bytes = 0, named_bytes = 0;
};
// Streams constants from their storage. What would not verify is an internal error before a byte is written; temp file,
// then rename.
Result<WriteStats> write(const Program& program, const std::filesystem::path& path);
// The same bytes, unchecked.
Result<std::vector<std::byte>> write_to_memory(const Program& program);

// Reads any ET12 file; constants and blobs are views into the bytes, which `owner` keeps alive. Every offset is
// checked.
Result<Program> read(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

// flatbuffers' own verifier plus every rule of pte-format 2-6 that a runtime would trip over.
Status verify(std::span<const std::byte> bytes);

}  // namespace edgelift::pte
