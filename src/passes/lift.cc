#include "passes/lift.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/numbers.h"
#include "match/constant.h"
#include "ops/infer.h"
#include "ops/xnn_builder.h"

namespace edgelift::passes {

bool delegated(const ir::Node& node) { return !ops::is_delegate(node) && !ops::refusal(node).has_value(); }

bool beside_delegated(const ir::Node& node) {
  for (const Value* operand : node.operands())
    if (operand->producer != nullptr && delegated(*operand->producer)) return true;
  for (const Value* result : node.results)
    for (const ir::Node* user : result->users)
      if (delegated(*user)) return true;
  return false;
}

Result<bool> rewrite_nodes(ir::Program& program, PassContext& context, const RewriteFn& rewrite) {
  bool changed = false;
  const size_t constants = program.constants.size();
  for (const auto& graph : program.methods) {
    ir::Rewriter rewriter(program, *graph, context.ops);
    for (ir::Node* node = graph->first(); node != nullptr;) {
      ir::Node* next = node->next;
      changed = rewrite(*node, rewriter, context) || changed;
      node = next;
    }
  }
  // Attempts that were taken back leave constants behind.
  if (changed || program.constants.size() != constants) sweep(program, context.ops);
  return changed;
}

void sweep(ir::Program& program, const ir::OpTable& ops) {
  for (const auto& graph : program.methods) {
    ir::Rewriter(program, *graph, ops).remove_dead_code();
    graph->remove_unused_constants();
  }
  program.remove_unused_constants();
}

Value* shared_constant(ir::Rewriter& rewriter, const std::string& name, const TensorData& data) {
  if (ir::Constant* known = rewriter.program().find_constant(name);
      known != nullptr && !known->is_mutable && known->data.same_bits(data))
    return rewriter.graph().constant_value(known);
  return rewriter.constant(name, data);
}

Value* Lift::make(std::string_view op, std::vector<ir::Arg> args, std::initializer_list<ir::Rewriter::Named> named) {
  Value* result = make_outside(op, std::move(args), named);
  if (result != nullptr && !failed_) inside_.back() = true;
  return result;
}

Value* Lift::make_outside(std::string_view op, std::vector<ir::Arg> args,
                          std::initializer_list<ir::Rewriter::Named> named) {
  // After a failure the steps that follow have nothing to work on; any value keeps the caller's code straight.
  if (failed_) return node_->results.at(0);
  auto node = rewriter_.try_create(op, std::move(args), named);
  if (!node.ok()) {
    fail(std::string(op) + ": " + node.error().message);
    return node_->results.at(0);
  }
  created_.push_back(*node);
  inside_.push_back(false);
  return (*node)->result();
}

Value* Lift::clamp(Value* a, double low, double high) {
  const ir::Arg lo = std::isinf(low) ? ir::Arg() : ir::Arg(low);
  const ir::Arg hi = std::isinf(high) ? ir::Arg() : ir::Arg(high);
  if (ir::is_none(lo) && ir::is_none(hi)) return a;
  return make("clamp", {a, lo, hi});
}

Value* Lift::view(Value* a, ir::Shape shape) {
  if (failed_ || a->type.sizes == shape) return a;
  return make("view", {a, ir::IntList(shape.begin(), shape.end())});
}

Value* Lift::permute(Value* a, std::vector<int64_t> dims) {
  if (failed_ || std::is_sorted(dims.begin(), dims.end())) return a;
  return make("permute", {a, int_list(dims)});
}

Value* Lift::swap_last(Value* a) {
  if (failed_) return a;
  auto dims = identity_permutation(a->type.sizes.size());
  EL_CHECK(dims.size() >= 2, "a transposition needs two dims");
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return permute(a, std::move(dims));
}

Value* Lift::slice(Value* a, int64_t dim, const SymInt& start, const SymInt& length) {
  if (failed_) return a;
  const SymInt& size = a->type.sizes.at(static_cast<size_t>(dim));
  if (start == SymInt(0) && length == size) return a;
  return make("slice.Tensor", {a, SymInt(dim), start, start + length});
}

Value* Lift::strided(Value* a, int64_t dim, int64_t start, int64_t step, int64_t count) {
  if (failed_) return a;
  const auto at = static_cast<size_t>(dim);
  const int64_t size = a->type.sizes.at(at).value();
  if (step == 1 || count == 1) return slice(a, dim, SymInt(start), SymInt(count));
  // [.., count, step, ..] and one of each group, after the start was cut off.
  int64_t first = 0;
  Value* rows = nullptr;
  if (start + count * step <= size) {
    rows = slice(a, dim, SymInt(start), SymInt(count * step));
  } else if (start - (step - 1) >= 0) {
    // The last group is cut off at its end: take the groups that end at the wanted element instead.
    rows = slice(a, dim, SymInt(start - (step - 1)), SymInt(count * step));
    first = step - 1;
  } else {
    // Room for the last group; what is padded is not read.
    const int64_t rank = a->type.rank();
    ir::IntList pad(static_cast<size_t>(2 * (rank - dim)), SymInt(0));
    pad[pad.size() - 1] = SymInt(start + count * step - size);
    rows = slice(make("constant_pad_nd", {a, pad, 0.0}), dim, SymInt(start), SymInt(count * step));
  }
  if (failed_) return a;
  ir::Shape result = a->type.sizes;
  result[at] = SymInt(count);
  ir::Shape grouped = result;
  grouped.insert(grouped.begin() + dim + 1, SymInt(step));
  return view(slice(view(rows, grouped), dim + 1, SymInt(first), SymInt(1)), result);
}

Value* Lift::cat(std::vector<Value*> parts, int64_t dim) {
  if (failed_ || parts.size() == 1) return parts.at(0);
  return make("cat", {ir::ValueList(parts.begin(), parts.end()), SymInt(dim)});
}

Value* Lift::softmax(Value* a) {
  if (failed_) return a;
  return make("_softmax", {a, SymInt(a->type.rank() - 1), false});
}

Value* Lift::flags(Value* mask, DType dtype) {
  if (failed_) return mask;
  return as_flags(
      rewriter_, mask, dtype,
      {[&](std::string_view op, std::vector<ir::Arg> args) { return make(op, std::move(args)); },
       [&](std::string_view op, std::vector<ir::Arg> args, std::initializer_list<ir::Rewriter::Named> named) {
         return make_outside(op, std::move(args), named);
       }});
}

namespace {

constexpr int kMaxLogic = 16;               // operators above one another
constexpr int64_t kMaxKnownMask = 1 << 22;  // elements of a known mask that become numbers

Value* flags_of(ir::Rewriter& rewriter, Value* mask, DType dtype, const Makers& make, int depth) {
  if (const auto data = match::as_constant(mask); data && data->numel() <= kMaxKnownMask)
    return rewriter.constant(mask->name + "_flags", data->converted(dtype));
  const ir::Node* node = mask->producer;
  const auto cast = [&] { return make.outside("_to_copy", {mask}, {{"dtype", dtype}}); };
  if (node == nullptr || depth > kMaxLogic) return cast();
  const auto of = [&](size_t i) {
    return flags_of(rewriter, std::get<Value*>(node->args.at(i)), dtype, make, depth + 1);
  };
  const ir::IntList sizes(mask->type.sizes.begin(), mask->type.sizes.end());
  if (node->is("view") || node->is("unsqueeze")) {
    Value* inner = of(0);
    return inner->type.sizes == mask->type.sizes ? inner : make.inside("view", {inner, sizes});
  }
  if (node->is("expand")) return make.outside("expand", {of(0), sizes}, {});
  for (const Value* operand : node->operands())
    if (operand->type.dtype != DType::Bool) return cast();
  const std::string_view base = node->op->base;
  if (base == "bitwise_not" || base == "logical_not")
    return make.inside("sub.Tensor", {rewriter.scalar(dtype, 1.0), of(0)});
  if (node->operands().size() != 2) return cast();
  if (base == "bitwise_and" || base == "logical_and") return make.inside("mul.Tensor", {of(0), of(1)});
  if (base == "bitwise_or" || base == "logical_or") return make.inside("maximum", {of(0), of(1)});
  return cast();
}

}  // namespace

Value* as_flags(ir::Rewriter& rewriter, Value* mask, DType dtype, const Makers& make) {
  return flags_of(rewriter, mask, dtype, make, 0);
}

// One fully-connected with one output.
Value* Lift::row_product(Value* a, double weight, double bias) {
  if (failed_) return a;
  const ir::Type& type = a->type;
  const int64_t width = type.sizes.back().value();
  const TensorData one = scalar_data(type.dtype, weight);
  const std::string suffix =
      std::string(short_name(type.dtype)) + "_" + std::to_string(width) + "_" + float_text(weight, type.dtype);
  Value* weights =
      shared_constant(rewriter_, "row_" + suffix, one.expanded(std::vector<int64_t>{1, width}).contiguous());
  ir::Arg offset;
  if (bias != 0)
    offset =
        shared_constant(rewriter_, "bias_" + std::string(short_name(type.dtype)) + "_" + float_text(bias, type.dtype),
                        scalar_data(type.dtype, bias).reshaped({1}));
  return make("linear", {a, weights, offset});
}

Value* Lift::sum_last(Value* a, double weight, double bias) {
  if (failed_) return a;
  const ir::Type& type = a->type;
  if (type.rank() == 0) {
    fail("it has no dimension to add over");
    return a;
  }
  if (type.dtype != DType::F32 && type.dtype != DType::F16) {
    fail("the delegate sums float32 and float16 only");
    return a;
  }
  if (!type.sizes.back().is_const()) {
    // Worth an operator outside only where the sum would split a delegate.
    if (!beside_delegated(*node_)) {
      fail("the number of elements that are added is dynamic, and nothing beside it is delegated");
      return a;
    }
    Value* mean = mean_last(a);
    Value* count = make_outside("scalar_tensor", {type.sizes.back()}, {{"dtype", type.dtype}});
    if (failed_) return a;
    Value* sum = mul(mul(mean, count), weight);
    return bias == 0 ? sum : add(sum, bias);
  }
  const int64_t width = type.sizes.back().value();
  // Longer than the rows of norms over channels: those of group norms over an image.
  constexpr int64_t kLongRow = 8192;
  const auto dynamic =
      std::count_if(type.sizes.begin(), type.sizes.end(), [](const SymInt& size) { return !size.is_const(); });
  if (width > kLongRow && dynamic <= 1) {
    int64_t inner = 1;
    for (int64_t k = 2; k * k <= width; ++k)
      if (width % k == 0) inner = k;
    if (inner >= 8) {
      ir::Shape parts = type.sizes;
      parts.back() = SymInt(inner);
      parts.emplace_back(width / inner);
      const ir::Shape joined(parts.begin(), parts.end() - 1);
      return row_product(view(row_product(view(a, parts), weight, 0), joined), 1.0, bias);
    }
  }
  return row_product(a, weight, bias);
}

Value* Lift::mean_last(Value* a, double bias) {
  if (failed_) return a;
  const ir::Type& type = a->type;
  if (type.rank() == 0 || type.sizes.back() == SymInt(0)) {
    fail("it has no elements to average");
    return a;
  }
  if (!type.sizes.back().is_const()) {
    Value* mean = pooled_mean_last(
        rewriter_, a, [&](std::string_view op, std::vector<ir::Arg> args) { return make(op, std::move(args)); });
    return bias == 0 || failed_ ? mean : add(mean, bias);
  }
  return sum_last(a, 1.0 / static_cast<double>(type.sizes.back().value()), bias);
}

// The delegate averages over the two dims before the last one. The row goes there beside a dim of size one, and a dim
// of size one goes last: a product with a one of higher rank makes both, whatever the other sizes are.
Value* Lift::normalise_last(Value* a, double eps) {
  Value* centred = sub(a, mean_last(a));
  Value* variance = mean_last(square(centred), eps);
  return mul(centred, make("rsqrt", {variance}));
}

Value* pooled_mean_last(ir::Rewriter& rewriter, Value* a, const MakeFn& make) {
  const ir::Shape sizes = a->type.sizes;
  const auto rank = static_cast<int64_t>(sizes.size());
  const auto dynamic = std::count_if(sizes.begin(), sizes.end(), [](const SymInt& s) { return !s.is_const(); });
  if (dynamic == 1) {  // a reshape can infer it
    ir::Shape open = sizes;
    open.emplace_back(1);
    Value* columns = make("view", {a, ir::IntList(open.begin(), open.end())});
    return make("mean.dim", {columns, ir::IntList{SymInt(rank - 1)}, false});
  }
  const std::vector<int64_t> ones(static_cast<size_t>(rank + 2), 1);
  const std::string name = "ones_" + std::string(short_name(a->type.dtype)) + "_rank" + std::to_string(rank + 2);
  Value* one = shared_constant(rewriter, name, scalar_data(a->type.dtype, 1.0).reshaped(ones));
  Value* wide = make("mul.Tensor", {a, one});
  std::vector<int64_t> order;
  for (int64_t d = 0; d + 1 < rank; ++d) order.push_back(d + 2);
  order.insert(order.end(), {0, rank + 1, 1});
  Value* rows = make("permute", {wide, int_list(order)});
  return make("mean.dim", {rows, ir::IntList{SymInt(rank - 1), SymInt(rank)}, false});
}

void Lift::fail(std::string why) {
  if (failed_) return;
  failed_ = true;
  why_ = std::move(why);
}

bool Lift::commit(Value* replacement) { return commit(std::vector<Value*>{replacement}); }

bool Lift::commit(const std::vector<Value*>& replacements) {
  for (size_t i = 0; i < created_.size() && !failed_; ++i) {
    if (!inside_[i]) continue;
    if (auto refused = ops::refusal(*created_[i]))
      fail("its lifted form needs " + created_[i]->op->full_name() + " : " + created_[i]->result()->type.str() +
           ", which the delegate refuses: " + refused->sentence);
  }
  const auto& results = node_->results;
  for (size_t i = 0; i < replacements.size() && !failed_; ++i) {
    if (replacements[i] == nullptr) continue;
    const ir::Type &from = results.at(i)->type, &to = replacements[i]->type;
    if (from.dtype != to.dtype || !ops::same_shape(from.sizes, to.sizes))
      fail("its lifted form would be " + to.str() + " instead of " + from.str());
    // A value of the caller cannot be handed back without an operator in between.
    if (replacements[i]->producer == nullptr && rewriter_.graph().is_output(results.at(i)))
      fail("it hands a value of the caller back unchanged");
  }
  for (size_t i = 0; i < results.size() && !failed_; ++i) {
    const bool replaced = i < replacements.size() && replacements[i] != nullptr;
    if (!replaced && (!results[i]->users.empty() || rewriter_.graph().is_output(results[i])))
      fail("its result " + std::to_string(i) + " is used and has no lifted form");
  }
  if (failed_) {
    roll_back();
    return false;
  }
  for (size_t i = 0; i < replacements.size(); ++i)
    if (replacements[i] != nullptr) rewriter_.replace(results.at(i), replacements[i]);
  rewriter_.erase_dead(node_);
  created_.clear();
  node_ = nullptr;
  return true;
}

void Lift::roll_back() {
  for (size_t i = created_.size(); i-- > 0;) rewriter_.erase(created_[i]);
  created_.clear();
}

bool commit(Lift& lift, ir::Node& node, Value* replacement, PassContext& context) {
  return commit(lift, node, std::vector<Value*>{replacement}, context);
}

bool commit(Lift& lift, ir::Node& node, const std::vector<Value*>& replacements, PassContext& context) {
  if (lift.commit(replacements)) return true;
  context.declined(node, lift.why());
  return false;
}

ir::IntList int_list(const std::vector<int64_t>& values) { return ir::IntList(values.begin(), values.end()); }

bool is_f32_or_f16(const Value* value) {
  return value->type.is_tensor() && (value->type.dtype == DType::F32 || value->type.dtype == DType::F16);
}

std::vector<int64_t> identity_permutation(size_t rank) {
  std::vector<int64_t> dims(rank);
  for (size_t i = 0; i < rank; ++i) dims[i] = static_cast<int64_t>(i);
  return dims;
}

}  // namespace edgelift::passes
