#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>

#include <flatbuffers/flatbuffers.h>
#include <fmt/format.h>

#include "program_generated.h"
#include "pte/layout.h"

namespace edgelift::pte {
namespace {

template <class T>
T get(std::span<const std::byte> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

Result<FileHeader> read_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kLoaderReads)
    return input_error(fmt::format("the file has {} bytes, a .pte has at least {}", bytes.size(), kLoaderReads));
  const std::string_view identifier(reinterpret_cast<const char*>(bytes.data()) + 4, 4);
  if (identifier != "ET12") {
    const std::string_view start(reinterpret_cast<const char*>(bytes.data()), 4);
    const char* hint = start.substr(0, 2) == "PK"
                           ? "; this is a zip archive, such as a .pt2, which `edgelift lower` makes a .pte of"
                           : "";
    return input_error(fmt::format("the file does not carry the identifier ET12 of a .pte at byte 4{}", hint));
  }
  FileHeader header;
  header.program_size = bytes.size();
  if (std::memcmp(bytes.data() + kHeaderPosition, "eh00", 4) != 0) return header;
  header.present = true;
  const auto length = get<uint32_t>(bytes, 12);
  if (length < kMinimumHeader)
    return input_error(
        fmt::format("the extended header says it has {} bytes, at least {} are needed", length, kMinimumHeader));
  header.program_size = get<uint64_t>(bytes, 16);
  header.segment_base = get<uint64_t>(bytes, 24);
  if (length >= kHeaderSize && get<uint64_t>(bytes, 32) != 0) header.segment_data_size = get<uint64_t>(bytes, 32);
  if (header.program_size > bytes.size() || header.program_size < kLoaderReads / 2)
    return input_error(
        fmt::format("the header says that the program has {} bytes, the file has {}: it was cut off or damaged",
                    header.program_size, bytes.size()));
  if ((header.segment_data_size && header.segment_base > bytes.size()) ||
      (header.segment_base != 0 && header.segment_base < header.program_size))
    return input_error(
        fmt::format("the header puts the segments at byte {}, which is not between the end of the program ({}) and "
                    "the end of the file ({})",
                    header.segment_base, header.program_size, bytes.size()));
  if (header.segment_data_size && *header.segment_data_size > bytes.size() - header.segment_base)
    return input_error(
        fmt::format("the header says that {} bytes of segments begin at byte {}, the file ends at byte {}: it was "
                    "cut off or damaged",
                    *header.segment_data_size, header.segment_base, bytes.size()));
  return header;
}

Result<VerifiedProgram> verified_program(std::span<const std::byte> bytes) {
  EL_TRY(const FileHeader header, read_header(bytes));
  VerifiedProgram verified;
  verified.header = header;
  std::span<const std::byte> program = bytes.first(header.program_size);
  if (program.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return input_error(fmt::format("the program part has {} bytes, more than a flatbuffer can have", program.size()));
  constexpr size_t kAlignment = 16;
  if (reinterpret_cast<uintptr_t>(program.data()) % kAlignment != 0) {
    auto* copy = static_cast<std::byte*>(::operator new (program.size(), std::align_val_t{kAlignment}));
    std::memcpy(copy, program.data(), program.size());
    verified.copy = {
        copy, [](const std::byte* p) { ::operator delete (const_cast<std::byte*>(p), std::align_val_t{kAlignment}); }};
    program = {copy, program.size()};
  }
  // A table takes at least four bytes plus a reference, so a file without shared tables stays below this count.
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(std::max<size_t>(1000, program.size() / 4));
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(program.data()), program.size(), 64, max_tables);
  if (!executorch_flatbuffer::VerifyProgramBuffer(verifier))
    return input_error("the program is not a sound flatbuffer of ExecuTorch's schema: the file is damaged");
  verified.root = executorch_flatbuffer::GetProgram(program.data());
  return verified;
}

}  // namespace edgelift::pte
