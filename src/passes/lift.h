// Tools of the passes: walking, and replacing a node by accepted ones or leaving it alone.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ir/rewriter.h"
#include "ops/call.h"
#include "ops/record.h"
#include "passes/pass.h"

namespace edgelift::passes {

using ir::Value;

// True if the delegate can hold the node as it is.
bool delegated(const ir::Node& node);
// True if the delegate can hold what makes one of its operands, or one that reads a result.
bool beside_delegated(const ir::Node& node);

// Calls rewrite(node, rewriter, context) for the nodes of every method in execution order. It may erase the node itself
// and nodes before it, and returns whether it changed anything. Dead code is swept afterwards if it did.
using RewriteFn = std::function<bool(ir::Node& node, ir::Rewriter& rewriter, PassContext& context)>;
Result<bool> rewrite_nodes(ir::Program& program, PassContext& context, const RewriteFn& rewrite);
// Sweeps dead nodes and unused constants of every method.
void sweep(ir::Program& program, const ir::OpTable& ops);

// A constant of that name and content, shared between all who ask for it.
Value* shared_constant(ir::Rewriter& rewriter, const std::string& name, const TensorData& data);

// The replacement of one node, under construction. New nodes stand before the node and have its origin. They stay only
// if commit() succeeds: if every one of them can be delegated and the types agree; otherwise all of them are taken
// back.
class Lift {
 public:
  Lift(ir::Rewriter& rewriter, ir::Node& node) : rewriter_(rewriter), node_(&node), name_(node.op->full_name()) {
    rewriter_.set_insert_point(&node);
  }
  ~Lift() { roll_back(); }
  Lift(const Lift&) = delete;
  Lift& operator=(const Lift&) = delete;

  ir::Rewriter& rewriter() { return rewriter_; }

  Value* make(std::string_view op, std::vector<ir::Arg> args, std::initializer_list<ir::Rewriter::Named> named = {});
  // The same for a node that may stay outside the delegate (a cast of a mask, an index computation).
  Value* make_outside(std::string_view op, std::vector<ir::Arg> args,
                      std::initializer_list<ir::Rewriter::Named> named = {});

  Value* number(const Value* like, double value) { return rewriter_.scalar(like->type.dtype, value); }
  Value* add(Value* a, Value* b) { return make("add.Tensor", {a, b}); }
  Value* sub(Value* a, Value* b) { return make("sub.Tensor", {a, b}); }
  Value* mul(Value* a, Value* b) { return make("mul.Tensor", {a, b}); }
  Value* div(Value* a, Value* b) { return make("div.Tensor", {a, b}); }
  Value* add(Value* a, double b) { return add(a, number(a, b)); }
  Value* sub(double a, Value* b) { return sub(number(b, a), b); }
  Value* mul(Value* a, double b) { return b == 1 ? a : mul(a, number(a, b)); }
  Value* div(double a, Value* b) { return div(number(b, a), b); }
  Value* square(Value* a) { return make("pow.Tensor_Scalar", {a, SymInt(2)}); }
  Value* clamp(Value* a, double low, double high);  // infinite: no bound
  // Reshapes; the value itself if it has the shape.
  Value* view(Value* a, ir::Shape shape);
  Value* permute(Value* a, std::vector<int64_t> dims);  // the value itself for the identity
  Value* swap_last(Value* a);                           // transposes the last two dims
  Value* slice(Value* a, int64_t dim, const SymInt& start, const SymInt& length);
  // `count` elements of a dim of fixed size, `step` apart, as slices and reshapes. They must lie in the dim.
  Value* strided(Value* a, int64_t dim, int64_t start, int64_t step, int64_t count);
  Value* cat(std::vector<Value*> parts, int64_t dim);
  Value* softmax(Value* a);  // over the last dim
  // A bool as 0 and 1. Casts stay outside of the delegate; reshapes and logic that stand before them go in after them.
  Value* flags(Value* mask, DType dtype);
  // Weighted sum over the last dim, which stays with size one: a fully-connected with one output, every weight
  // `weight`, and `bias` added. Long rows are added in two steps, which keeps the error of the order of summation near
  // that of a pairwise sum. A dim of dynamic size is a mean times its size, which is made outside.
  Value* sum_last(Value* a, double weight, double bias = 0);
  // The mean likewise; of a dynamic dim it is a pooling.
  Value* mean_last(Value* a, double bias = 0);
  // (a - mean) / sqrt(variance + eps) over the last dim.
  Value* normalise_last(Value* a, double eps);

  bool failed() const { return failed_; }
  // Declares that the rewriting cannot go on; make() then does nothing and commit() fails.
  void fail(std::string why);
  const std::string& why() const { return why_; }

  // Replaces the node's first result, or all results (null: an unused one), and erases the node.
  bool commit(Value* replacement);
  bool commit(const std::vector<Value*>& replacements);

 private:
  void roll_back();
  Value* row_product(Value* a, double weight, double bias);

  ir::Rewriter& rewriter_;
  ir::Node* node_;
  std::string name_;
  std::vector<ir::Node*> created_;
  std::vector<bool> inside_;
  bool failed_ = false;
  std::string why_;
};

using MakeFn = std::function<Value*(std::string_view op, std::vector<ir::Arg> args)>;

// A bool as 0 and 1: what is known becomes a constant, `and` a product, `not` a difference, `or` a maximum, and
// reshapes come after the cast. `inside` creates operators of the delegate, `outside` others.
struct Makers {
  MakeFn inside;
  std::function<Value*(std::string_view op, std::vector<ir::Arg> args, std::initializer_list<ir::Rewriter::Named>)>
      outside;
};
Value* as_flags(ir::Rewriter& rewriter, Value* mask, DType dtype, const Makers& make);

// The mean over the last dim, which may have a dynamic size and stays with size one. `make` creates an operator.
Value* pooled_mean_last(ir::Rewriter& rewriter, Value* a, const MakeFn& make);

// commit, and the reason to context.declined where it fails.
bool commit(Lift& lift, ir::Node& node, Value* replacement, PassContext& context);
bool commit(Lift& lift, ir::Node& node, const std::vector<Value*>& replacements, PassContext& context);

// Attributes.
inline bool is_number(const SymInt& size) { return size.is_const(); }
ir::IntList int_list(const std::vector<int64_t>& values);
bool is_f32_or_f16(const Value* value);
std::vector<int64_t> identity_permutation(size_t rank);

}  // namespace edgelift::passes
