// A slice that is the only reader of what it cuts goes before the operator that computes it, so that only the rows
// which somebody reads are computed: a classifier that reads the class token needs one row of the last layer's
// feed-forward, of its queries and of its attention. Goes on up to values with other readers. Bit for bit the same but
// where a matrix product of fewer rows sums in another order: 1e-6 of the output's range.
#include <algorithm>
#include <queue>
#include <unordered_map>

#include "match/constant.h"
#include "match/views.h"
#include "ops/infer.h"
#include "ops/lowering.h"
#include "passes/affine.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

constexpr size_t kMostReaders = 64;
constexpr int kMostRounds = 4;

// Elements [start, start + length) of one dim, all three known.
struct Cut {
  int64_t dim = 0, start = 0, length = 0;
  bool operator==(const Cut&) const = default;
};

std::optional<Cut> as_cut(const ir::Node& node) {
  if (!node.is("slice", "Tensor")) return std::nullopt;
  const ops::Call call(node);
  const Value* self = call.tensor("self");
  const auto dim = ops::normalize_dim(call.integer("dim"), self->type.rank());
  if (!dim || self->type.rank() == 0 || call.is_symbolic("step") || call.integer("step") != 1) return std::nullopt;
  const SymInt& size = self->type.sizes[static_cast<size_t>(*dim)];
  const auto range = ops::slice_range(size, ops::opt_sym(call, "start"), ops::opt_sym(call, "end"), 1);
  if (!size.is_const() || !range.start.is_const() || !range.length.is_const()) return std::nullopt;
  return Cut{*dim, range.start.value(), range.length.value()};
}

// Moves one slice before the operator that makes what it cuts.
class Move {
 public:
  Move(ir::Node& slice, const Cut& cut, ir::Rewriter& rewriter) : slice_(slice), cut_(cut), rewriter_(rewriter) {}

  // False, and the graph as it was, where the operator mixes what the slice takes apart.
  bool run(PassContext& context) {
    ir::Node& producer = *ops::Call(slice_).tensor("self")->producer;
    rewriter_.set_insert_point(&slice_);
    Value* replacement = moved(producer);
    std::string why;
    for (const ir::Node* node : created_)
      if (const auto refused = ops::refusal(*node); refused && why.empty())
        why = "it would need " + node->op->full_name() + ", which the delegate refuses: " + refused->sentence;
    if (!why.empty()) context.declined(slice_, why);
    if (replacement == nullptr || !why.empty()) {
      for (size_t i = created_.size(); i-- > 0;) rewriter_.erase(created_[i]);
      return false;
    }
    result_ = replacement;
    rewriter_.replace(slice_.result(), replacement);
    // Nothing else is erased before the sweep: other slices that wait for their turn may be dead by now.
    rewriter_.erase(&slice_);
    rewriter_.erase(&producer);
    return true;
  }

  // What stands for it after run(), and the slices that this is made of.
  Value* result() const { return result_; }
  const std::vector<ir::Node*>& slices() const { return slices_; }

 private:
  Value* make(std::string_view op, std::vector<ir::Arg> args) {
    created_.push_back(rewriter_.create(op, std::move(args)));
    return created_.back()->result();
  }

  // A part of an operand: a view where it is a constant, the slice that is there already, or a new one.
  Value* part(Value* value, int64_t dim) {
    const Cut cut{dim, cut_.start, cut_.length};
    if (const auto data = match::as_constant(value)) {
      const std::string name = value->is_constant() ? value->constant->name : value->name;
      return rewriter_.constant(name + "_" + std::to_string(cut.start), data->narrowed(dim, cut.start, cut.length));
    }
    // Among very many readers an equal slice is left to merge-duplicates.
    const size_t readers = std::min(value->users.size(), kMostReaders);
    for (size_t i = 0; i < readers; ++i) {
      ir::Node* user = value->users[i];
      const auto other = as_cut(*user);
      if (user == &slice_ || !other || !(*other == cut) || user->args[0] != ir::Arg(value)) continue;
      if (user->order > slice_.order) rewriter_.graph().move_before(user, &slice_);
      slices_.push_back(user);
      return user->result();
    }
    Value* result = make("slice.Tensor", {value, SymInt(dim), SymInt(cut.start), SymInt(cut.start + cut.length)});
    slices_.push_back(result->producer);
    return result;
  }

  // The part of an operand whose dims are aligned with the result's at the last one; whole where it is broadcast.
  Value* broadcast_part(Value* value, int64_t result_rank) {
    const int64_t dim = cut_.dim - (result_rank - value->type.rank());
    if (dim < 0 || value->type.sizes[static_cast<size_t>(dim)] == SymInt(1)) return value;
    return part(value, dim);
  }

  Value* moved(ir::Node& node) {
    const ir::Type& type = node.result()->type;
    const int64_t rank = type.rank();
    const bool last = cut_.dim == rank - 1;
    const ops::Call call(node);
    if (ops::record(node).has(ops::kPointwise)) {
      std::vector<ir::Arg> args = node.args;
      for (ir::Arg& arg : args)
        if (auto* value = std::get_if<Value*>(&arg)) *value = broadcast_part(*value, rank);
      return make(node.op->full_name(), std::move(args));
    }
    if (node.is("linear")) {
      if (last) return narrower(node);
      std::vector<ir::Arg> args = node.args;
      args[0] = part(call.tensor("input"), cut_.dim);
      return make("linear", std::move(args));
    }
    if (node.is("matmul") || node.is("bmm")) {
      Value *a = call.tensor("self"), *b = std::get<Value*>(node.args[1]);
      if (a->type.rank() < 2 || b->type.rank() < 2) return nullptr;
      // Rows of the result are rows of the first operand, columns are columns of the second.
      if (!last) a = broadcast_part(a, rank);
      if (cut_.dim != rank - 2) b = broadcast_part(b, rank);
      return make(node.op->full_name(), {a, b});
    }
    if (node.is("_softmax")) {
      if (ops::normalize_dim(call.integer("dim"), rank) == cut_.dim) return nullptr;
      std::vector<ir::Arg> args = node.args;
      args[0] = part(call.tensor("self"), cut_.dim);
      return make("_softmax", std::move(args));
    }
    if (const auto permutation = match::permutation_of(node))
      return make("permute", {part(std::get<Value*>(node.args[0]), (*permutation)[static_cast<size_t>(cut_.dim)]),
                              int_list(*permutation)});
    if (node.is("view")) return moved_view(call, type.sizes);
    if (node.is("cat")) return moved_cat(call, rank);
    // Of two slices the one of the outer dim goes first: an order, lest they change places for ever.
    if (const auto other = as_cut(node); other && cut_.dim < other->dim) {
      Value* inner = part(call.tensor("self"), cut_.dim);
      return make("slice.Tensor",
                  {inner, SymInt(other->dim), SymInt(other->start), SymInt(other->start + other->length)});
    }
    return nullptr;
  }

  // Columns of a linear are rows of its weight.
  Value* narrower(ir::Node& node) {
    const auto layer = as_layer(node);
    if (!layer || layer->shares_weight) return nullptr;
    const auto rows = [&](const Value* value, const TensorData& data) {
      const std::string name = value->is_constant() ? value->constant->name : value->name;
      return rewriter_.constant(name + "_" + std::to_string(cut_.start), data.narrowed(0, cut_.start, cut_.length));
    };
    std::vector<ir::Arg> args = {node.args[0], rows(layer->weight, layer->weight_data)};
    if (layer->bias_data) args.emplace_back(rows(layer->bias, *layer->bias_data));
    return make("linear", std::move(args));
  }

  // A view that has the dim, with as many elements before it, on both sides.
  Value* moved_view(const ops::Call& call, ir::Shape shape) {
    Value* source = call.tensor("self");
    const ir::Shape& sizes = source->type.sizes;
    const auto at = static_cast<size_t>(cut_.dim);
    const SymInt before = product({shape.data(), at});
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (!(sizes[i] == shape[at]) || !(product({sizes.data(), i}) == before)) continue;
      shape[at] = SymInt(cut_.length);
      return make("view", {part(source, static_cast<int64_t>(i)), ir::IntList(shape.begin(), shape.end())});
    }
    return nullptr;
  }

  Value* moved_cat(const ops::Call& call, int64_t rank) {
    const auto dim = ops::normalize_dim(call.integer("dim"), rank);
    const ir::ValueList& tensors = call.tensors("tensors");
    for (const Value* tensor : tensors)
      if (tensor->type.rank() != rank) return nullptr;  // the old form: empty tensors of rank 1
    if (dim != cut_.dim) {
      ir::ValueList parts;
      for (Value* tensor : tensors) parts.push_back(part(tensor, cut_.dim));
      return make("cat", {std::move(parts), SymInt(*dim)});
    }
    int64_t begin = 0;
    for (Value* tensor : tensors) {
      const SymInt& size = tensor->type.sizes[static_cast<size_t>(*dim)];
      if (!size.is_const()) return nullptr;
      if (cut_.start >= begin && cut_.start + cut_.length <= begin + size.value()) {
        const Cut whole = cut_;
        cut_.start -= begin;
        Value* result = cut_.length == size.value() ? tensor : part(tensor, *dim);
        cut_ = whole;
        return result;
      }
      begin += size.value();
    }
    return nullptr;
  }

  ir::Node& slice_;
  Cut cut_;
  ir::Rewriter& rewriter_;
  Value* result_ = nullptr;
  std::vector<ir::Node*> created_;
  std::vector<ir::Node*> slices_;
};

// Two slices of a value must pay for the rows that are saved.
constexpr int64_t kLeastShare = 2;

bool worth_moving(const ir::Node& node, const Cut& cut) {
  const Value* source = ops::Call(node).tensor("self");
  if (source->producer == nullptr || source->producer->results.size() != 1 || !match::used_once(source)) return false;
  const int64_t size = source->type.sizes[static_cast<size_t>(cut.dim)].value();
  if (cut.length == 0 || cut.length * kLeastShare > size) return false;
  return is_f32_or_f16(source) && delegated(node) && delegated(*source->producer);
}

// An entry counts while it is the last one of a node that is still there.
struct Entry {
  uint64_t order = 0, id = 0;
  ir::Node* node = nullptr;
  bool operator<(const Entry& other) const { return order < other.order; }
};

// Every slice of a graph once, from the end: a value is looked at after all its readers, which may have become one
// slice. `dropped` is set where parts of a concatenation are read by nobody afterwards.
bool move_slices(ir::Graph& graph, ir::Rewriter& rewriter, PassContext& context, bool& dropped) {
  std::priority_queue<Entry> queue;
  std::unordered_map<const ir::Node*, uint64_t> waiting;
  uint64_t next_id = 0;
  const auto push = [&](ir::Node* node) {
    const Value* source = ops::Call(*node).tensor("self");
    if (source->producer == nullptr || waiting.contains(node)) return;
    waiting[node] = ++next_id;
    queue.push({source->producer->order, next_id, node});
  };
  graph.renumber();
  graph.each([&](ir::Node& node) {
    if (as_cut(node)) push(&node);
  });
  bool changed = false;
  while (!queue.empty()) {
    const Entry entry = queue.top();
    queue.pop();
    const auto known = waiting.find(entry.node);
    if (known == waiting.end() || known->second != entry.id) continue;
    waiting.erase(known);
    const auto cut = as_cut(*entry.node);
    if (!cut || !worth_moving(*entry.node, *cut)) continue;
    const ir::Node* producer = ops::Call(*entry.node).tensor("self")->producer;
    const bool parts = producer->is("cat");
    Move move(*entry.node, *cut, rewriter);
    if (!move.run(context)) continue;
    waiting.erase(producer);
    changed = true;
    dropped = dropped || parts;
    for (ir::Node* slice : move.slices()) push(slice);
    // What cuts the result further has another operator before it now.
    for (ir::Node* user : move.result()->users)
      if (as_cut(*user)) push(user);
  }
  return changed;
}

}  // namespace

Result<bool> slice_early(ir::Program& program, PassContext& context) {
  bool changed = false;
  for (const auto& graph : program.methods) {
    ir::Rewriter rewriter(program, *graph, context.ops);
    // A reader that nobody needs holds a slice up: those are swept before, and those that the moves leave behind.
    for (int round = 0; round < kMostRounds; ++round) {
      bool dropped = false;
      changed = rewriter.remove_dead_code() || changed;
      changed = move_slices(*graph, rewriter, context, dropped) || changed;
      if (!dropped) break;
    }
  }
  if (changed) sweep(program, context.ops);
  return changed;
}

}  // namespace edgelift::passes
