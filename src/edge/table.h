// The decomposition table: one function an operator, one row an overload.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "edge/builder.h"

namespace edgelift::edge {

// Returns true when the node was replaced (the builder erases it), false when the entry declines, and an error when the
// program cannot be compiled because of this node.
using DecomposeFn = Result<bool> (*)(Builder&);

// When an entry applies.
enum When : uint8_t {
  kView = 1,      // before functionalisation: another spelling of canonical views (flatten, chunk, T …)
  kEdge = 2,      // to_edge of the default recipes: what passes do not know as a whole
  kUpstream = 4,  // to_edge of recipe upstream
  kLegal = 8,     // legalize: only where neither a kernel nor a delegate's form takes the operator
};
inline constexpr uint8_t kAll = kEdge | kUpstream | kLegal;

struct Entry {
  std::string_view op;  // text name: add.Tensor, relu
  DecomposeFn fn;
  uint8_t when = kAll;
};

// The families, each in the file of its name.
std::span<const Entry> view_entries();
std::span<const Entry> alias_entries();
std::span<const Entry> normal_entries();
std::span<const Entry> activation_entries();
std::span<const Entry> pointwise_entries();
std::span<const Entry> linear_entries();
std::span<const Entry> einsum_entries();
std::span<const Entry> convolution_entries();
std::span<const Entry> norm_entries();
std::span<const Entry> attention_entries();
std::span<const Entry> recurrent_entries();
std::span<const Entry> pool_entries();
std::span<const Entry> resize_entries();
std::span<const Entry> pad_entries();
std::span<const Entry> reduce_entries();
std::span<const Entry> sort_entries();
std::span<const Entry> index_entries();
std::span<const Entry> arrange_entries();
std::span<const Entry> create_entries();
std::span<const Entry> loss_entries();
std::span<const Entry> fft_entries();
std::span<const Entry> quantized_entries();
std::span<const Entry> training_entries();
std::span<const Entry> kernel_limit_entries();

// The entry for an operator, or null.
const Entry* find_entry(const ir::Op* op);
// Every row, for tests and docs.
std::span<const Entry> all_entries();

// Walks every graph once in execution order, rewriting each node that `pick` gives an entry for, and then what the
// entry made. Errors of single nodes are collected and reported together.
Result<bool> apply(ir::Program& program, const ir::OpTable& ops, const EdgeOptions& options,
                   const std::function<const Entry*(const ir::Node&)>& pick);

}  // namespace edgelift::edge
