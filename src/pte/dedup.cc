#include "pte/dedup.h"

#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace edgelift::pte {
namespace {

// A strided tensor up to this size is laid out once to be compared; larger ones are merged by identity only.
constexpr size_t kCopyLimit = size_t{1} << 20;

uint64_t fingerprint(std::span<const std::byte> bytes) {
  constexpr size_t kSample = 64, kSamples = 8;
  if (bytes.size() <= kSample * kSamples) return XXH3_64bits(bytes.data(), bytes.size());
  uint64_t hash = bytes.size();
  const size_t last = bytes.size() - kSample;
  for (size_t i = 0; i < kSamples; ++i)
    hash = XXH3_64bits_withSeed(bytes.data() + last / (kSamples - 1) * i, kSample, hash);
  return hash;
}

struct Candidate {
  size_t index;
  std::span<const std::byte> bytes;
  std::optional<XXH128_hash_t> hash = {};  // of everything; made when a second candidate has the same fingerprint

  const XXH128_hash_t& full() {
    if (!hash) hash = XXH3_128bits(bytes.data(), bytes.size());
    return *hash;
  }
};

struct Bucket {
  std::vector<Candidate> distinct;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<size_t>> by_hash;  // positions in distinct
};

}  // namespace

std::vector<size_t> first_equal(std::span<const TensorData* const> tensors) {
  std::vector<size_t> first(tensors.size());
  using Identity = std::tuple<const std::byte*, int64_t, size_t, std::vector<int64_t>, std::vector<int64_t>>;
  std::map<Identity, size_t> by_identity;
  std::unordered_map<uint64_t, Bucket> buckets;
  std::vector<TensorData> copies;  // keep the bytes of small strided tensors alive
  copies.reserve(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorData& data = *tensors[i];
    first[i] = i;
    const auto [same, inserted] = by_identity.try_emplace(
        Identity{data.storage().data(), data.offset(), byte_size(data.dtype()), data.sizes(), data.strides()}, i);
    if (!inserted) {
      first[i] = same->second;
      continue;
    }
    if (data.empty()) continue;
    std::span<const std::byte> bytes;
    if (data.is_contiguous()) {
      bytes = data.bytes();
    } else if (data.nbytes() <= kCopyLimit) {
      copies.push_back(data.contiguous());
      bytes = copies.back().bytes();
    } else {
      continue;
    }
    Bucket& bucket = buckets[fingerprint(bytes)];
    Candidate candidate{i, bytes};
    if (!bucket.distinct.empty()) {
      if (bucket.by_hash.empty()) {
        const XXH128_hash_t& hash = bucket.distinct.front().full();
        bucket.by_hash[{hash.high64, hash.low64}].push_back(0);
      }
      const XXH128_hash_t& hash = candidate.full();
      std::vector<size_t>& alike = bucket.by_hash[{hash.high64, hash.low64}];
      bool found = false;
      for (const size_t position : alike) {
        const Candidate& other = bucket.distinct[position];
        if (other.bytes.size() != bytes.size() || std::memcmp(other.bytes.data(), bytes.data(), bytes.size()) != 0)
          continue;
        first[i] = other.index;
        found = true;
        break;
      }
      if (found) continue;
      alike.push_back(bucket.distinct.size());
    }
    bucket.distinct.push_back(std::move(candidate));
  }
  return first;
}

}  // namespace edgelift::pte
