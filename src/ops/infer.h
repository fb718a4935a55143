// Shape and dtype rules that families share. All work on symbolic sizes. Errors are one sentence without the operator's
// name: they come from broken input (or from a pass's mistake, which the rewriter turns into a Bug).
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "ir/type.h"
#include "ops/call.h"
#include "ops/record.h"

namespace edgelift::ops {

using Types = Result<std::vector<ir::Type>>;

// ---- dtypes (PyTorch's result_type) ----

// Collects operands and promotes them by PyTorch's three categories: tensors with dims, rank-0 tensors, plain numbers.
// A lower category takes part only where it is of a higher kind (bool < integer < float < complex).
class Promotion {
 public:
  void add(const ir::Type& type);  // tensor, or a number value (item(), an integer input)
  void add(const ir::Arg& arg);    // also numbers; None is skipped
  DType result() const;            // at least one operand
  bool empty() const { return !dims_ && !zero_ && !number_; }

 private:
  std::optional<DType> dims_, zero_, number_;
};
DType promote_args(const Call& call, std::initializer_list<std::string_view> names);
// The type of float-valued functions of integers: f32 for integers and bool, else unchanged.
DType float_result(DType dtype);
// Accumulation type of sum, prod, cumsum without dtype=: i64 for integers and bool.
DType sum_result(DType dtype);
// float for f64 numbers given as Scalar etc.: the dtype of a plain number (bool, i64, f32).
DType number_dtype(const ir::Arg& arg);

// ---- whole rules, usable as OpDef::infer ----

Types infer_same(const Call& call);             // type of the first tensor argument (in-place forms too)
Types infer_same_float(const Call& call);       // its sizes; integers become f32
Types infer_same_bool(const Call& call);        // its sizes; bool
Types infer_broadcast(const Call& call);        // all tensor and number arguments broadcast and promoted
Types infer_broadcast_float(const Call& call);  // the same, integers become f32 (div, atan2)
Types infer_compare(const Call& call);          // broadcast, bool
Types infer_inplace(const Call& call);          // type of self; the others must broadcast to it
Types infer_nothing(const Call& call);          // no result
Types infer_same_two(const Call& call);         // two results of the first tensor's type

// ---- pieces ----

inline Types one(ir::Type type) { return std::vector<ir::Type>{std::move(type)}; }
inline Types one(DType dtype, ir::Shape sizes) { return one(ir::Type::tensor(dtype, std::move(sizes))); }

// A type for an element-wise result: keeps the operands' dim order where all operands of full rank agree on it.
ir::Type pointwise_type(const Call& call, DType dtype, ir::Shape sizes);
Result<ir::Shape> broadcast_shapes(const ir::Shape& a, const ir::Shape& b);
// Broadcasts every tensor argument of the call (numbers count as rank 0).
Result<ir::Shape> broadcast_args(const Call& call);
bool same_shape(const ir::Shape& a, const ir::Shape& b);

// dims as given (negative allowed); empty means all when empty_is_all.
Result<ir::Shape> reduced_shape(const ir::Shape& shape, std::span<const int64_t> dims, bool keepdim,
                                bool empty_is_all = true);
Result<int64_t> checked_dim(int64_t dim, int64_t rank);  // with the sentence for a dim out of range
Result<int64_t> indexed_dim(int64_t dim, int64_t rank);  // the same for a dim that has to exist: rank 0 has none

// floor((in + before + after - dilation*(kernel-1) - 1) / stride) + 1
Result<SymInt> conv_size(const SymInt& in, int64_t kernel, int64_t stride, int64_t padding_sum, int64_t dilation);
Result<SymInt> conv_transpose_size(const SymInt& in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                                   int64_t output_padding);
// Pooling; ceil_mode drops a last window that would start in the right padding. Kernel and stride are numbers.
Result<SymInt> pool_size(const SymInt& in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                         bool ceil_mode);

// Sizes asked of view/reshape, with at most one -1; checks that the element counts agree.
Result<ir::Shape> view_shape(const ir::Shape& from, const ir::IntList& wish);
// Sizes asked of expand (-1 keeps).
Result<ir::Shape> expand_shape(const ir::Shape& from, const ir::IntList& wish);
// Python slicing: start and end may be absent, negative or past the ends. step > 0.
struct SliceRange {
  SymInt start, length;  // start within [0, dim]
};
SliceRange slice_range(const SymInt& dim, const std::optional<SymInt>& start, const std::optional<SymInt>& end,
                       int64_t step);
// An optional int argument as SymInt.
std::optional<SymInt> opt_sym(const Call& call, std::string_view name);
Result<ir::Shape> permuted_shape(const ir::Shape& shape, std::span<const int64_t> dims);

// Sentences: sizes_text gives [1,3,s0] for messages.
inline std::string sizes_text(const ir::Shape& shape) { return ir::shape_text(shape); }

}  // namespace edgelift::ops
