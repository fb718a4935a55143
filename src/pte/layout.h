// The numbers of the file layout (pte-format 1), shared by the writer, the reader and the verifier. Internal to
// src/pte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"

namespace executorch_flatbuffer {
struct Program;
}

namespace edgelift::pte {

inline constexpr size_t kHeaderPosition = 8;  // right after the root offset and the identifier
inline constexpr size_t kHeaderSize = 32;     // also a multiple of every alignment inside the flatbuffer
inline constexpr size_t kMinimumHeader = 24;  // without segment_data_size
inline constexpr size_t kLoaderReads = 64;    // the loader always reads this much
inline constexpr uint64_t kTensorAlignment = 16;
inline constexpr uint64_t kSegmentAlignment = 128;
inline constexpr uint64_t kPage = 4096;
// Segments from this size on begin on a page, so that a loader that maps them shares no page with a neighbour.
inline constexpr uint64_t kPageAlignFrom = 256 * kPage;
// Zero bytes that stay readable after each constant: XNNPACK's kernels read up to this much past the end of an operand.
inline constexpr uint64_t kReadableTail = 16;
inline constexpr size_t kMaxRank = 16;
inline constexpr size_t kMaxOperatorName = 100;

constexpr uint64_t align_up(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// What the file says about itself before the flatbuffer is looked at.
struct FileHeader {
  bool present = false;
  uint64_t program_size = 0;  // bytes of the flatbuffer, this header included
  uint64_t segment_base = 0;
  std::optional<uint64_t> segment_data_size;  // absent or 0 in old files
};
Result<FileHeader> read_header(std::span<const std::byte> bytes);

// The header and a flatbuffer that passed flatbuffers' verifier. `copy` holds the flatbuffer where the bytes given were
// not aligned as flatbuffers need them.
struct VerifiedProgram {
  FileHeader header;
  const executorch_flatbuffer::Program* root = nullptr;
  std::shared_ptr<const std::byte> copy;
};
Result<VerifiedProgram> verified_program(std::span<const std::byte> bytes);

// The bytes of a tensor at its (upper-bound) sizes; nullopt where they do not fit into 63 bits.
std::optional<uint64_t> tensor_bytes(int8_t scalar_type, std::span<const int32_t> sizes);
// Bytes of an element, or 0 for a number that is no type of the schema that a tensor may have.
uint64_t element_bytes(int8_t scalar_type);

// Every rule of pte-format 2-6 on a program whose flatbuffer is sound.
Status check_rules(const VerifiedProgram& program, std::span<const std::byte> bytes);

}  // namespace edgelift::pte
