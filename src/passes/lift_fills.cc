// Tensors of one number whose size only the run knows (the zero state of a recurrent layer with a dynamic batch): what
// only rearranges one is one again, a linear of one is one row for all, and consumers that broadcast get a constant
// with ones for the dynamic sizes (lift-expand drops the expansion). Exact.
#include <algorithm>

#include "base/numbers.h"
#include "match/constant.h"
#include "match/views.h"
#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

// The number that every element is.
std::optional<double> fill_of(const Value* value) {
  const ir::Node* node = value->producer;
  if (node == nullptr || !node->is("full") || !is_f32_or_f16(value) || value->type.is_static()) return std::nullopt;
  const ir::Arg& arg = node->args.at(1);
  if (const auto* d = std::get_if<double>(&arg)) return *d;
  if (const auto* i = std::get_if<SymInt>(&arg); i != nullptr && i->is_const()) return static_cast<double>(i->value());
  return std::nullopt;
}

// A slice, view, permutation … of one number is that number in another shape.
bool rearranged(ir::Node& node, ir::Rewriter& rewriter) {
  if (node.results.size() != 1 || !node.result()->type.is_tensor()) return false;
  if (!ops::record(node).has(ops::kView) && !match::permutation_of(node) && !node.is("slice", "Tensor") &&
      !node.is("select", "int") && !node.is("expand") && !node.is("clone"))
    return false;
  auto* const* source = std::get_if<Value*>(&node.args.at(0));
  if (source == nullptr) return false;
  const auto number = fill_of(*source);
  const ir::Type& type = node.result()->type;
  if (!number || type.dtype != (*source)->type.dtype) return false;
  rewriter.set_insert_point(&node);
  Value* full = nullptr;
  if (type.is_static()) {
    full = rewriter.constant(node.result()->name,
                             scalar_data(type.dtype, *number).expanded(type.static_sizes()).contiguous());
  } else {
    full = rewriter.make("full", {ir::IntList(type.sizes.begin(), type.sizes.end()), *number}, {{"dtype", type.dtype}});
  }
  rewriter.replace(node.result(), full);
  rewriter.erase_dead(&node);
  return true;
}

// The constant with ones for the dynamic sizes.
Value* narrow(ir::Rewriter& rewriter, const Value* full, double number) {
  std::vector<int64_t> sizes;
  std::string name = "fill_" + std::string(short_name(full->type.dtype)) + "_" + float_text(number, full->type.dtype);
  for (const SymInt& size : full->type.sizes) {
    sizes.push_back(size.is_const() ? size.value() : 1);
    name += "_" + std::to_string(sizes.back());
  }
  return shared_constant(rewriter, name, scalar_data(full->type.dtype, number).expanded(sizes).contiguous());
}

bool of_linear(ir::Node& node, ir::Rewriter& rewriter) {
  if (!node.is("linear")) return false;
  Value* x = std::get<Value*>(node.args.at(0));
  const auto number = fill_of(x);
  if (!number || !x->type.sizes.back().is_const()) return false;
  rewriter.set_insert_point(&node);
  const ir::Shape& wide = node.result()->type.sizes;
  Value* row = rewriter.make("linear", {narrow(rewriter, x, *number), node.args.at(1), node.args.at(2)});
  Value* rows = rewriter.make("expand", {row, ir::IntList(wide.begin(), wide.end())});
  rewriter.replace(node.result(), rows);
  rewriter.erase_dead(&node);
  return true;
}

bool open_fill(ir::Node& node, ir::Rewriter& rewriter) {
  if (node.results.size() != 1) return false;
  const auto number = fill_of(node.result());
  if (!number || rewriter.graph().is_output(node.result())) return false;
  // An expansion that nobody's broadcasting takes away would be worse than the fill.
  for (const ir::Node* user : node.result()->users) {
    if (!ops::record(*user).has(ops::kPointwise)) return false;
    bool given = false;
    for (const Value* operand : user->operands())
      given = given || (operand != node.result() && ops::same_shape(operand->type.sizes, user->result()->type.sizes));
    if (!given) return false;
  }
  rewriter.set_insert_point(&node);
  const ir::Shape& wide = node.result()->type.sizes;
  Value* rows =
      rewriter.make("expand", {narrow(rewriter, node.result(), *number), ir::IntList(wide.begin(), wide.end())});
  rewriter.replace(node.result(), rows);
  rewriter.erase_dead(&node);
  return true;
}

// repeat of dims of size one by a count that only the run knows, as an expansion.
bool repeat_of_ones(ir::Node& node, ir::Rewriter& rewriter) {
  if (!node.is("repeat")) return false;
  const ops::Call call(node);
  const Value* self = call.tensor("self");
  const ir::IntList& repeats = call.ints("repeats");
  bool dynamic = false;
  const size_t more = repeats.size() - self->type.sizes.size();
  for (size_t i = 0; i < repeats.size(); ++i) {
    const bool one = i < more || self->type.sizes[i - more] == SymInt(1);
    if (!one && !(repeats[i] == SymInt(1))) return false;
    dynamic = dynamic || !repeats[i].is_const();
  }
  if (!dynamic) return false;
  rewriter.set_insert_point(&node);
  const ir::Shape& wide = node.result()->type.sizes;
  Value* rows = rewriter.make("expand", {node.args.at(0), ir::IntList(wide.begin(), wide.end())});
  rewriter.replace(node.result(), rows);
  rewriter.erase_dead(&node);
  return true;
}

constexpr int64_t kMaxPadded = 4 << 20;  // elements of the constant

// cat of x and of constants that are expanded to its batch (a class token): x padded with zeros, and a constant added
// that is zero where x is.
bool cat_of_tokens(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!node.is("cat") || node.result()->type.is_static() || !is_f32_or_f16(node.result())) return false;
  const ops::Call call(node);
  const int64_t rank = node.result()->type.rank();
  const auto dim = ops::normalize_dim(call.integer("dim"), rank);
  if (!dim || !node.result()->type.sizes[static_cast<size_t>(*dim)].is_const()) return false;
  const auto at = static_cast<size_t>(*dim);
  Value* x = nullptr;
  int64_t before = 0, after = 0;
  std::vector<TensorData> parts;
  for (Value* part : call.tensors("tensors")) {
    const int64_t length = part->type.sizes[at].value();
    const ir::Node* expand = part->producer;
    std::optional<TensorData> data;
    if (expand != nullptr && expand->is("expand")) data = match::as_constant(std::get<Value*>(expand->args[0]));
    if (data && data->rank() == rank && data->sizes()[at] == length) {
      (x == nullptr ? before : after) += length;
      parts.push_back(*data);
    } else if (x == nullptr) {
      x = part;
      parts.emplace_back();
    } else {
      return false;
    }
  }
  if (x == nullptr || before + after == 0 || x->type.dtype != node.result()->type.dtype) return false;
  // One constant over the sizes that the parts have besides dim.
  std::vector<int64_t> sizes(static_cast<size_t>(rank), 1);
  for (const TensorData& part : parts)
    for (size_t d = 0; part.rank() == rank && d < sizes.size(); ++d) sizes[d] = std::max(sizes[d], part.sizes()[d]);
  sizes[at] = node.result()->type.sizes[at].value();
  int64_t inner = 1, outer = 1;
  for (size_t d = at + 1; d < sizes.size(); ++d) inner *= sizes[d];
  for (size_t d = 0; d < at; ++d) outer *= sizes[d];
  if (outer * sizes[at] * inner > kMaxPadded) {
    context.declined(node, "the constant to add would have " + std::to_string(outer * sizes[at] * inner) + " elements");
    return false;
  }
  std::vector<double> numbers(static_cast<size_t>(outer * sizes[at] * inner), 0.0);
  int64_t start = 0;
  for (const TensorData& part : parts) {
    if (part.rank() != rank) {
      start += x->type.sizes[at].value();
      continue;
    }
    std::vector<int64_t> wide = sizes;
    wide[at] = part.sizes()[at];
    const std::vector<double> values = part.expanded(wide).contiguous().to_doubles();
    const int64_t block = wide[at] * inner;
    for (int64_t o = 0; o < outer; ++o)
      std::copy_n(values.begin() + o * block, block, numbers.begin() + (o * sizes[at] + start) * inner);
    start += wide[at];
  }
  Lift lift(rewriter, node);
  std::vector<int64_t> pads(static_cast<size_t>(2 * (rank - *dim)), 0);
  pads[pads.size() - 2] = before;
  pads[pads.size() - 1] = after;
  Value* padded = lift.make("constant_pad_nd", {x, int_list(pads), 0.0});
  Value* tokens = rewriter.constant("tokens_" + node.result()->name,
                                    TensorData::of(DType::F64, sizes, numbers).converted(x->type.dtype));
  return commit(lift, node, lift.add(padded, tokens), context);
}

}  // namespace

Result<bool> lift_fills(ir::Program& program, PassContext& context) {
  EL_TRY(const bool moved,
         rewrite_nodes(program, context, [](ir::Node& node, ir::Rewriter& rewriter, PassContext& pass) {
           return rearranged(node, rewriter) || of_linear(node, rewriter) || repeat_of_ones(node, rewriter) ||
                  cat_of_tokens(node, rewriter, pass);
         }));
  EL_TRY(const bool opened, rewrite_nodes(program, context, [](ir::Node& node, ir::Rewriter& rewriter, PassContext&) {
           return open_fill(node, rewriter);
         }));
  return moved || opened;
}

}  // namespace edgelift::passes
