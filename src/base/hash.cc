#include "base/hash.h"

#include <memory>

#include <fmt/format.h>
#include <xxhash.h>

namespace edgelift {

namespace {

XXH128_hash_t hash_of(const TensorData& data) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  const auto dtype = static_cast<uint8_t>(data.dtype());
  XXH3_128bits_update(state.get(), &dtype, 1);
  const uint64_t rank = data.sizes().size();
  XXH3_128bits_update(state.get(), &rank, sizeof rank);
  if (rank != 0) XXH3_128bits_update(state.get(), data.sizes().data(), rank * sizeof(int64_t));
  const Status status = data.stream([&](std::span<const std::byte> chunk) -> Status {
    XXH3_128bits_update(state.get(), chunk.data(), chunk.size());
    return Ok{};
  });
  (void)status;  // the sink above cannot fail
  return XXH3_128bits_digest(state.get());
}

}  // namespace

std::string content_key(const TensorData& data) {
  const XXH128_hash_t hash = hash_of(data);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

uint64_t content_hash(const TensorData& data) { return hash_of(data).low64; }

}  // namespace edgelift
