// What a decomposition writes with: typed access to the node's arguments, and the operators of the result in a few
// words. Everything made goes before the node and carries its origin.
//
// Numbers: a helper that takes an Arg operand accepts a tensor or a number (SymInt, double, bool). With a number the
// default mode uses the operator's .Scalar overload; the upstream mode, for the four operations of arithmetic, uses the
// .Tensor overload with a rank-0 constant, as a Python number becomes in ExecuTorch's flow.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edge/edge.h"
#include "ir/rewriter.h"
#include "ops/call.h"

namespace edgelift::edge {

using ir::Arg;
using ir::IntList;
using ir::Node;
using ir::Shape;
using ir::Type;
using ir::Value;
using ir::ValueList;
using Named = ir::Rewriter::Named;

class Builder {
 public:
  Builder(Node& node, ir::Rewriter& rewriter, const EdgeOptions& options)
      : call(node), upstream(options.upstream), legal(options.legal), node_(node), rewriter_(rewriter) {}

  const ops::Call call;
  const bool upstream;
  const bool legal;  // called by legalize: neither a kernel nor a delegate takes the node as it is

  Node& node() { return node_; }
  ir::Rewriter& rewriter() { return rewriter_; }
  const std::string& base() const { return node_.op->base; }

  // --- the node's arguments
  Value* in(std::string_view name = "self") const { return call.tensor(name); }
  Value* maybe(std::string_view name) const { return call.opt_tensor(name); }
  const Arg& arg(std::string_view name) const { return call.arg(name); }
  // An int argument, not symbolic; dim made non-negative for rank.
  int64_t integer(std::string_view name) const { return call.integer(name); }
  int64_t dim(std::string_view name, int64_t rank) const;
  // An int[] of dims, made non-negative, in the order given; None or empty gives all dims when `all`.
  std::vector<int64_t> dims(std::string_view name, int64_t rank, bool all) const;
  const Type& out_type(size_t i = 0) const { return node_.results.at(i)->type; }
  bool used(size_t i) const;  // whether result i has users or is an output

  // --- finishing: each result of the node becomes the value given (null: the result must be unused)
  Result<bool> replace(Value* value);
  Result<bool> replace(std::initializer_list<Value*> values);
  Result<bool> replace(const std::vector<Value*>& values);
  // The node is erased; it has no results that anybody uses.
  Result<bool> drop();
  // An error that names the operator and its source line. The sentence continues "aten::foo.default (file:line) ".
  Error refuse(const std::string& sentence) const;

  // --- types
  static const Type& type(const Value* v) { return v->type; }
  static DType dtype(const Value* v) { return v->type.dtype; }
  static int64_t rank(const Value* v) { return v->type.rank(); }
  static const Shape& sizes(const Value* v) { return v->type.sizes; }
  static SymInt size(const Value* v, int64_t dim);  // dim may be negative

  // --- operators
  Value* make(std::string_view op, std::vector<Arg> positional, std::initializer_list<Named> named = {}) {
    return rewriter_.make(op, std::move(positional), named);
  }
  std::vector<Value*> make_all(std::string_view op, std::vector<Arg> positional,
                               std::initializer_list<Named> named = {}) {
    return rewriter_.create(op, std::move(positional), named)->results;
  }
  Value* unary(std::string_view op, Value* x) { return make(op, {x}); }
  // base.Tensor or base.Scalar; y a tensor or a number.
  Value* binary(std::string_view base, Value* x, const Arg& y);
  Value* add(Value* x, const Arg& y) { return binary("add", x, y); }
  Value* sub(Value* x, const Arg& y) { return binary("sub", x, y); }
  Value* mul(Value* x, const Arg& y) { return binary("mul", x, y); }
  Value* div(Value* x, const Arg& y) { return binary("div", x, y); }
  Value* rsub(const Arg& number, Value* x);  // number - x
  Value* neg(Value* x) { return unary("neg", x); }
  Value* square(Value* x) { return make("pow.Tensor_Scalar", {x, SymInt(2)}); }
  Value* pow(Value* x, const Arg& exponent) { return make("pow.Tensor_Scalar", {x, exponent}); }
  Value* maximum(Value* x, Value* y) { return make("maximum", {x, y}); }
  Value* minimum(Value* x, Value* y) { return make("minimum", {x, y}); }
  // Either bound may be None.
  Value* clamp(Value* x, Arg lo, Arg hi) { return make("clamp", {x, std::move(lo), std::move(hi)}); }
  Value* logical_not(Value* x) { return unary("logical_not", x); }
  Value* where(Value* condition, Value* x, Value* y) { return make("where.self", {condition, x, y}); }
  // where with numbers for either side, of dtype.
  Value* where(Value* condition, const Arg& x, const Arg& y, DType dtype);
  Value* masked_fill(Value* x, Value* mask, const Arg& number) { return make("masked_fill.Scalar", {x, mask, number}); }

  Value* cast(Value* x, DType dtype);  // x itself when it has dtype
  // Views. In the default mode each returns x itself when nothing changes; in upstream mode the node is always made.
  Value* view(Value* x, Shape sizes);
  // A view where eager's strides allow one, else a view of a row-major copy. A copy makes no difference once values do
  // not share memory, so only the upstream mode and what runs before functionalisation need it.
  Value* reshape(Value* x, Shape sizes);
  Value* permute(Value* x, std::vector<int64_t> dims);
  Value* transpose(Value* x, int64_t a, int64_t b);
  Value* unsqueeze(Value* x, int64_t dim);
  Value* squeeze(Value* x, int64_t dim);
  Value* expand(Value* x, Shape sizes);
  Value* slice(Value* x, int64_t dim, SymInt start, SymInt end, int64_t step = 1);
  Value* select(Value* x, int64_t dim, SymInt index);
  Value* cat(std::vector<Value*> parts, int64_t dim);
  Value* stack(const std::vector<Value*>& parts, int64_t dim);
  Value* flip(Value* x, std::vector<int64_t> dims);
  Value* pad(Value* x, std::vector<int64_t> pads, const Arg& value);  // last dim first, as constant_pad_nd
  Value* merge(Value* x, int64_t first, int64_t count);               // dims [first, first+count) become one
  Value* split_dim(Value* x, int64_t dim, Shape sizes);               // dim becomes these

  Value* mm(Value* a, Value* b) { return make("mm", {a, b}); }
  Value* bmm(Value* a, Value* b) { return make("bmm", {a, b}); }
  Value* matmul(Value* a, Value* b);  // mm, bmm or matmul by the ranks (all >= 2); upstream: what core ATen has

  Value* sum(Value* x, std::vector<int64_t> dims, bool keep);
  Value* mean(Value* x, std::vector<int64_t> dims, bool keep);
  Value* amax(Value* x, std::vector<int64_t> dims, bool keep);
  Value* amin(Value* x, std::vector<int64_t> dims, bool keep);

  Value* full(Shape sizes, const Arg& value, DType dtype);
  Value* full_like(Value* x, const Arg& value);
  Value* arange(const SymInt& end, DType dtype = DType::I64);
  Value* constant(std::string_view name, TensorData data) {
    return rewriter_.constant(std::string(name), std::move(data));
  }
  Value* scalar(DType dtype, double value) { return rewriter_.scalar(dtype, value); }
  Value* scalar(DType dtype, int64_t value) { return rewriter_.scalar(dtype, value); }
  // A rank-0 tensor for a number: a constant, or scalar_tensor for a symbolic one or a produced one.
  Value* number_tensor(const Arg& number, DType dtype);

 private:
  Value* strided(Value* made);

  Node& node_;
  ir::Rewriter& rewriter_;
};

inline bool is_tensor(const Arg& arg) {
  const auto* v = std::get_if<Value*>(&arg);
  return v != nullptr && (*v)->type.is_tensor();
}
// A number given where a Tensor could be: int, float, bool, a ratio of sizes, or a value of such a kind.
inline bool is_number(const Arg& arg) {
  if (const auto* v = std::get_if<Value*>(&arg)) return !(*v)->type.is_tensor();
  return std::holds_alternative<SymInt>(arg) || std::holds_alternative<double>(arg) ||
         std::holds_alternative<bool>(arg) || std::holds_alternative<ir::SymRatio>(arg);
}
// The literal as a double, if it is one.
std::optional<double> literal(const Arg& arg);
// The dtype of a rank-0 tensor that stands for the number beside a tensor of dtype `beside`, by the rule of wrapped
// numbers: the tensor's own dtype where the number's category is not higher.
DType wrapped_dtype(const Arg& number, DType beside);

IntList int_list(std::span<const int64_t> values);
Shape shape_of(std::span<const int64_t> values);
// sizes with dim replaced.
Shape with_size(Shape sizes, int64_t dim, const SymInt& size);
std::vector<int64_t> iota(int64_t count, int64_t start = 0);

}  // namespace edgelift::edge
