#include <algorithm>

#include "base/check.h"
#include "xnnpack/layout.h"

namespace edgelift::xnn::layout {

Perm identity(size_t rank) {
  Perm perm;
  perm.rank = static_cast<uint8_t>(rank);
  for (size_t i = 0; i < rank; ++i) perm.at[i] = static_cast<uint8_t>(i);
  return perm;
}

bool is_identity(const Perm& perm) {
  for (size_t i = 0; i < perm.rank; ++i)
    if (perm[i] != i) return false;
  return true;
}

Perm compose(const Perm& a, const Perm& b) {
  EL_CHECK(a.rank == b.rank, "permutations of different rank");
  Perm out;
  out.rank = a.rank;
  for (size_t i = 0; i < a.rank; ++i) out.at[i] = a[b[i]];
  return out;
}

Perm inverse(const Perm& perm) {
  Perm out;
  out.rank = perm.rank;
  for (size_t i = 0; i < perm.rank; ++i) out.at[perm[i]] = static_cast<uint8_t>(i);
  return out;
}

Perm with_leading(const Perm& perm, size_t lead) {
  Perm out = identity(perm.rank + lead);
  for (size_t i = 0; i < perm.rank; ++i) out.at[lead + i] = static_cast<uint8_t>(perm[i] + lead);
  return out;
}

std::vector<SymInt> permuted(const std::vector<SymInt>& dims, const Perm& perm) {
  std::vector<SymInt> out;
  out.reserve(dims.size());
  for (size_t i = 0; i < perm.rank; ++i) out.push_back(dims[perm[i]]);
  return out;
}

// Three bits a place, from the lowest: a dim of the base, or 7 for a one. The rank stands above.
namespace {
constexpr uint32_t kOne = 7;
constexpr int kRankShift = 18;
uint32_t place(Signature s, size_t i) { return (s >> (3 * i)) & 7u; }
bool one(const SymInt& dim) { return dim.is_const() && dim.value() == 1; }
}  // namespace

size_t signature_rank(Signature s) { return s >> kRankShift; }

Signature signature(const std::vector<SymInt>& base_dims, const Perm& perm, size_t lead) {
  Signature out = static_cast<uint32_t>(perm.rank) << kRankShift;
  for (size_t i = 0; i < perm.rank; ++i) {
    uint32_t what = kOne;
    if (perm[i] >= lead && !one(base_dims[perm[i] - lead])) what = static_cast<uint32_t>(perm[i] - lead);
    out |= what << (3 * i);
  }
  return out;
}

Signature without_leading_ones(Signature s) {
  size_t rank = signature_rank(s);
  uint32_t places = s & ((1u << kRankShift) - 1);
  while (rank > 0 && (places & 7u) == kOne) {
    places >>= 3;
    --rank;
  }
  return places | static_cast<uint32_t>(rank) << kRankShift;
}

Signature order_of(Signature s) {
  uint32_t out = 0;
  size_t rank = 0;
  for (size_t i = 0; i < signature_rank(s); ++i)
    if (place(s, i) != kOne) out |= place(s, i) << (3 * rank++);
  return out | static_cast<uint32_t>(rank) << kRankShift;
}

std::vector<SymInt> signature_dims(const std::vector<SymInt>& base_dims, Signature s) {
  std::vector<SymInt> out;
  for (size_t i = 0; i < signature_rank(s); ++i)
    out.push_back(place(s, i) == kOne ? SymInt(1) : base_dims[place(s, i)]);
  return out;
}

std::vector<Block> reshape_blocks(const std::vector<SymInt>& in, const std::vector<SymInt>& out) {
  std::vector<Block> blocks;
  size_t i = 0, j = 0;
  const auto add = [&](size_t i_end, size_t j_end) {
    // A side without dims joins the block before.
    if ((i_end == i || j_end == j) && !blocks.empty()) {
      blocks.back().in_end = static_cast<uint8_t>(i_end);
      blocks.back().out_end = static_cast<uint8_t>(j_end);
    } else if (i_end != i || j_end != j) {
      blocks.push_back(
          {static_cast<uint8_t>(i), static_cast<uint8_t>(i_end), static_cast<uint8_t>(j), static_cast<uint8_t>(j_end)});
    }
    i = i_end;
    j = j_end;
  };
  while (i < in.size() && j < out.size() && in[i] == out[j]) add(i + 1, j + 1);
  size_t tail = 0;
  while (in.size() - tail > i && out.size() - tail > j && in[in.size() - 1 - tail] == out[out.size() - 1 - tail])
    ++tail;
  const size_t in_end = in.size() - tail, out_end = out.size() - tail;
  bool numbers = true;
  for (size_t k = i; k < in_end; ++k) numbers = numbers && in[k].is_const();
  for (size_t k = j; k < out_end; ++k) numbers = numbers && out[k].is_const();
  if (!numbers) {
    add(in_end, out_end);
  } else {
    while (i < in_end && j < out_end) {
      size_t a = i + 1, b = j + 1;
      int64_t x = in[i].value(), y = out[j].value();
      while (x != y) {
        if (x < y && a < in_end) {
          x *= in[a++].value();
        } else if (x > y && b < out_end) {
          y *= out[b++].value();
        } else {
          break;  // cannot happen where the counts agree
        }
      }
      add(a, b);
    }
    add(in_end, out_end);
  }
  for (; tail > 0; --tail) add(i + 1, j + 1);
  return blocks;
}

std::optional<Perm> through_reshape(const std::vector<Block>& blocks, const std::vector<SymInt>& from_dims,
                                    const Perm& from, size_t to_rank, bool from_is_output) {
  std::array<size_t, kMaxRank> block_of{};
  for (size_t b = 0; b < blocks.size(); ++b) {
    const size_t begin = from_is_output ? blocks[b].out_begin : blocks[b].in_begin;
    const size_t end = from_is_output ? blocks[b].out_end : blocks[b].in_end;
    for (size_t d = begin; d < end; ++d) block_of[d] = b;
  }
  // The dims that matter must come block by block, in order inside each.
  std::vector<size_t> sequence;
  std::vector<bool> met(blocks.size(), false);
  size_t last_dim = 0;
  for (size_t i = 0; i < from.rank; ++i) {
    const size_t dim = from[i];
    if (one(from_dims[dim])) continue;
    const size_t b = block_of[dim];
    if (!sequence.empty() && sequence.back() == b) {
      if (dim < last_dim) return std::nullopt;
    } else {
      if (met[b]) return std::nullopt;
      met[b] = true;
      sequence.push_back(b);
    }
    last_dim = dim;
  }
  // Blocks of ones go where they stand: after the block before them.
  std::vector<size_t> all;
  const auto ones_after = [&](size_t b) {
    for (size_t next = b; next < blocks.size() && !met[next]; ++next) all.push_back(next);
  };
  ones_after(0);
  for (const size_t b : sequence) {
    all.push_back(b);
    ones_after(b + 1);
  }
  Perm out;
  for (const size_t b : all) {
    const size_t begin = from_is_output ? blocks[b].in_begin : blocks[b].out_begin;
    const size_t end = from_is_output ? blocks[b].in_end : blocks[b].out_end;
    for (size_t d = begin; d < end; ++d) out.at[out.rank++] = static_cast<uint8_t>(d);
  }
  EL_CHECK(out.rank == to_rank, "blocks of a reshape do not cover its dims");
  return out;
}

}  // namespace edgelift::xnn::layout
