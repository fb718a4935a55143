// Pieces that the lower() functions of several families share.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/call.h"
#include "ops/record.h"
#include "ops/xnn_builder.h"

namespace edgelift::ops {

using Code = Refusal::Code;

// result = KIND(self)
template <xnn::Kind kKind>
LowerResult lower_unary(const Call& call, XnnBuilder& b) {
  const uint32_t in = b.value(call.tensor("self"));
  b.unary(kKind, in, b.define(call.result()));
  return std::nullopt;
}

// The result is the operand's elements under other sizes: view, squeeze, flatten … One StaticReshape, or nothing.
LowerResult lower_as_view(const Call& call, XnnBuilder& b);

// Notes of operators that the delegate cannot hold, said in one way by all families.
inline constexpr std::string_view kNoScalarForm =
    "the delegate has no operand that is a plain number; the pass lift-scalars makes a constant of it";
inline constexpr std::string_view kNoComparison = "the delegate has neither comparisons nor bool tensors";
inline constexpr std::string_view kNoIndexing = "the delegate cannot address elements by an index tensor";
inline constexpr std::string_view kBoolResult = "its result is bool, which the delegate has not";
inline constexpr std::string_view kIntegersOnly = "it works on integers, which the delegate is not used for";
inline constexpr std::string_view kNoNode = "the delegate has no node that computes it";

// Refuses a call that has a number where the schema says Tensor (the exported form before to_edge lifts it), or one of
// the named Scalars is not a number yet.
LowerResult refuse_numbers(const Call& call);
// A Scalar argument's number; nullopt if it is symbolic or produced by a node.
std::optional<double> known_number(const Call& call, std::string_view name);

// value + (NaN where source is NaN, else 0): XNNPACK's x86 kernels of some nodes lose the NaN of an operand.
uint32_t with_nan_of(XnnBuilder& b, uint32_t source, uint32_t value, uint32_t out = xnn::kInvalid);
// Maximum or Minimum that returns NaN where either operand is NaN, as PyTorch does.
uint32_t nan_extremum(XnnBuilder& b, xnn::Kind kind, const ir::Value* a, const ir::Value* c, uint32_t out);
// Square root, and its reciprocal, with PyTorch's values at 0 and infinity, which XNNPACK's x86 kernels miss: a float32
// SquareRoot of infinity and a ReciprocalSquareRoot of 0 are NaN there. `value` is what b.value(value) stands for.
uint32_t square_root(XnnBuilder& b, uint32_t in, uint32_t out = xnn::kInvalid);
uint32_t reciprocal_square_root(XnnBuilder& b, const ir::Value* value, uint32_t out = xnn::kInvalid);
// Runs a unary node in float32 on a float16 operand: for nodes whose float16 kernels miss special values.
uint32_t unary_in_f32(XnnBuilder& b, xnn::Kind kind, uint32_t in, uint32_t out);

// StaticSlice of one dim, everything of the others; `start` and `length` are numbers. Other dims may be symbolic if
// they have an upper bound. The result is a new temp when out is kInvalid.
LowerResult slice_dim(XnnBuilder& b, uint32_t in, int64_t dim, int64_t start, int64_t length, uint32_t* out);
// x repeated along a new axis: sizes [before, count, after] for x of [before, 1, after], by one multiplication.
uint32_t repeat_middle(XnnBuilder& b, uint32_t in, DType dtype, const SymInt& before, int64_t count,
                       const SymInt& after);

// Product of sizes[first, last).
SymInt product_of(std::span<const SymInt> sizes, size_t first, size_t last);

}  // namespace edgelift::ops
