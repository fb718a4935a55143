// Scaled dot product attention, whole or spelled out. The fusion and the guard of lift-scalars both ask
// this function and have no pattern of their own.
#pragma once

#include <optional>

#include "ir/graph.h"
#include "match/scaled.h"

namespace edgelift::match {

struct Sdpa {
  ir::Node* anchor = nullptr;  // the whole operator, or the last matmul of the decomposed form
  bool whole = false;
  Scaled query;                // base and views: [.., L, E] after the views are applied
  Scaled key;                  // whole: [.., S, E]; decomposed: the second operand of the first matmul, [.., E, S]
  ir::Value* value = nullptr;  // [.., S, Ev]
  ir::Value* mask = nullptr;   // null: none
  // How the mask acts: Add: a float added to the scores. Keep: a bool, true where the score counts. Drop: its negation.
  enum class Mask : uint8_t { None, Add, Keep, Drop } mask_kind = Mask::None;
  bool is_causal = false;   // whole form only
  bool enable_gqa = false;  // whole form only
  double scale = 1;         // everything that multiplies q·k: stripped from q, from k and from the scores
  std::vector<ir::Node*> scale_nodes;
  ir::Value* scores = nullptr;  // decomposed: the softmax's operand
  ir::Node* softmax = nullptr;  // decomposed
  bool safe_tail = false;       // decomposed: rows that the mask hides entirely give zero, not NaN
};

// `node` is a scaled_dot_product_attention or a softmax (any spelling) over the last dim. nullopt if it is no
// attention.
std::optional<Sdpa> match_sdpa(ir::Node& node);

}  // namespace edgelift::match
