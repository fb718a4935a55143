// The layout problem, shared by layout*.cc.
//
// Transposes are taken out of the graph: every value is a base (something a node computes or the caller hands in) seen
// through a permutation. A flexible node can compute its result in any permutation of the dims (its label), given its
// operands in the permutation that follows. Then each base is stored in one permutation, and is wanted in some; every
// wanted one that is not the stored one is a transpose of so many bytes. Labels are chosen for the least sum, and the
// transposes are put back where they are still needed.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "xnnpack/rewrite.h"

namespace edgelift::xnn::layout {

// w = T_p(x): dim i of w is dim p[i] of x.
struct Perm {
  uint8_t rank = 0;
  std::array<uint8_t, kMaxRank> at{};
  uint8_t operator[](size_t i) const { return at[i]; }
  friend bool operator==(const Perm&, const Perm&) = default;
};
Perm identity(size_t rank);
bool is_identity(const Perm& perm);
Perm compose(const Perm& a, const Perm& b);  // T_b(T_a(x)): i -> a[b[i]]
Perm inverse(const Perm& perm);
Perm with_leading(const Perm& perm, size_t lead);  // over a rank that is larger by lead dims in front, which stay there
std::vector<SymInt> permuted(const std::vector<SymInt>& dims, const Perm& perm);

// What a permutation means in memory: the order of the base's dims that are not 1, and where the ones stand. Two equal
// signatures are the same bytes under the same dims; two equal orders are the same bytes, a reshape apart.
using Signature = uint32_t;
Signature signature(const std::vector<SymInt>& base_dims, const Perm& perm, size_t lead);
Signature without_leading_ones(Signature signature);
Signature order_of(Signature signature);
size_t signature_rank(Signature signature);
std::vector<SymInt> signature_dims(const std::vector<SymInt>& base_dims, Signature signature);

// Blocks of a reshape: consecutive input dims that hold the same elements as consecutive output dims.
struct Block {
  uint8_t in_begin, in_end, out_begin, out_end;
};
std::vector<Block> reshape_blocks(const std::vector<SymInt>& in, const std::vector<SymInt>& out);
// The permutation of one side that makes the other side's permutation again a plain reshape, if there is one.
std::optional<Perm> through_reshape(const std::vector<Block>& blocks, const std::vector<SymInt>& from_dims,
                                    const Perm& from, size_t to_rank, bool from_is_output);

enum class Match : uint8_t {
  Exact,  // the dims as they are
  Strip,  // leading ones may be missing (an operand that broadcasts)
  Order,  // only the order of elements matters (the operand of a reshape)
};

struct Demand {
  uint32_t base = kInvalid;
  Perm perm;  // over the base's dims with `lead` ones in front
  uint8_t lead = 0;
  Match match = Match::Exact;
  bool or_swapped = false;  // the last two dims swapped would do as well (TRANSPOSE_B, TRANSPOSE_WEIGHTS)
};

enum class Flex : uint8_t { Fixed, Same, Broadcast, Rows, Axis, Lists, Reshape };

// The graph without its transposes.
class Model {
 public:
  Model(const Graph& graph, bool upstream);

  const Graph& graph() const { return graph_; }
  uint32_t base(uint32_t value) const { return base_[value]; }
  const Perm& view(uint32_t value) const { return view_[value]; }
  bool is_constant(uint32_t base) const { return graph_.values[base].use != Use::None; }
  bool flexible(uint32_t node) const { return flex_[node] != Flex::Fixed; }
  Flex flex(uint32_t node) const { return flex_[node]; }
  uint32_t producer(uint32_t base) const { return producer_[base]; }
  const std::vector<SymInt>& dims(uint32_t value) const { return graph_.values[value].dims; }

  // Whether a flexible node can have this label.
  bool allows(uint32_t node, const Perm& label) const;
  // What operand k must be, given the node's label (identity for a fixed node).
  Demand demand(uint32_t node, size_t k, const Perm& label) const;
  // The label under which the node takes operand k as its base is stored; nullopt if there is none.
  std::optional<Perm> label_for(uint32_t node, size_t k, const Perm& stored) const;

  // Readers of a base: node and operand.
  struct Reader {
    uint32_t node;
    uint32_t operand;
  };
  const std::vector<Reader>& readers(uint32_t base) const { return readers_[base]; }
  // External outputs that are the base, or transposes of it.
  const std::vector<uint32_t>& outputs(uint32_t base) const { return outputs_[base]; }

 private:
  Flex classify(const Node& node) const;
  const Graph& graph_;
  bool upstream_;
  std::vector<uint32_t> base_, producer_;
  std::vector<Perm> view_;
  std::vector<Flex> flex_;
  std::vector<std::vector<Block>> blocks_;  // of reshapes
  std::vector<std::vector<Reader>> readers_;
  std::vector<std::vector<uint32_t>> outputs_;
};

// A label for each node (identity for fixed ones).
std::vector<Perm> choose_labels(const Model& model);
// The graph's nodes anew, with transposes where labels disagree.
void apply_labels(Graph& graph, const Model& model, const std::vector<Perm>& labels);

}  // namespace edgelift::xnn::layout
