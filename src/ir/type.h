// Types of values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/symint.h"

namespace edgelift::ir {

using Shape = std::vector<SymInt>;

struct Type {
  enum class Kind : uint8_t {
    Tensor,
    Int,  // a SymInt that a node or the caller produces (item(), an integer input)
    Float,
    Bool,
    String,
    None,  // an output that is None
  };
  Kind kind = Kind::Tensor;
  DType dtype = DType::F32;
  Shape sizes;
  // Order of dims in memory, outermost first; empty means row-major. Same meaning as in .pte (pte-format 3).
  std::vector<uint8_t> dim_order;

  static Type tensor(DType dtype, Shape sizes) { return {Kind::Tensor, dtype, std::move(sizes), {}}; }
  static Type scalar(Kind kind) { return {kind, DType::F32, {}, {}}; }

  bool is_tensor() const { return kind == Kind::Tensor; }
  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
  bool is_static() const;                // every size is a number
  std::optional<int64_t> numel() const;  // if static
  SymInt sym_numel() const { return product(sizes); }
  int64_t max_numel() const;                  // at the upper bounds; kUnbounded if there is none
  std::vector<int64_t> static_sizes() const;  // a Bug if not static
  // f32[1,3,224,224], i64[], f32[s0,8]{0,2,3,1} for a dim order, int, bool
  std::string str() const;
  friend bool operator==(const Type&, const Type&) = default;
};

// Numpy broadcasting; nullopt if the shapes do not fit. Symbolic dims must be known equal or one of them 1.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);
std::string shape_text(const Shape& shape);  // [1,3,s0]

}  // namespace edgelift::ir
