// Keys, values, and queries without a bias come out of their projection by head: a batch of matrix products, one a
// head, writes [B, H, T, D] where a linear, a view and a permutation copied. A key's bias adds the same number to all
// scores of a row, which the softmax takes out again, and is dropped; a value's bias passes the softmax, whose rows sum
// to one, into the bias of the linear after it. 1e-6 of the output's range.
#include <algorithm>

#include "match/constant.h"
#include "match/views.h"
#include "passes/affine.h"
#include "passes/lift.h"
#include "passes/passes.h"
#include "passes/weights.h"

namespace edgelift::passes {
namespace {

// The delegate's product works on this many columns at a time, on every machine or a multiple of what it does there.
constexpr int64_t kColumns = 32;
// Fewer rows than this are copied for nothing.
constexpr int64_t kFewestRows = 8;
// Each head reads all of the input: beyond this many bytes it comes from farther than the second cache each time.
constexpr int64_t kLargestInput = 1 << 20;

// Where the elements of a value stand in the value that it is a view of.
struct Strides {
  std::vector<int64_t> sizes, strides;

  // To other sizes; false if strides cannot say it.
  bool reshape(const std::vector<int64_t>& to) {
    std::vector<int64_t> result(to.size(), 0);
    auto at = static_cast<int64_t>(to.size()) - 1;
    if (sizes.empty()) return false;
    // From the back: runs of dims that lie without gaps are cut anew.
    int64_t base = strides.back(), run = 1, done = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
      run *= sizes[d];
      if (d > 0 && (sizes[d - 1] == 1 || strides[d - 1] == run * base)) continue;
      while (at >= 0 && (done < run || to[static_cast<size_t>(at)] == 1)) {
        result[static_cast<size_t>(at)] = done * base;
        done *= to[static_cast<size_t>(at--)];
      }
      if (done != run) return false;
      if (d > 0) {
        base = strides[d - 1];
        run = done = 1;
      }
    }
    sizes = to;
    strides = std::move(result);
    return at < 0;
  }

  bool is(const std::vector<int64_t>& wanted) const {
    for (size_t d = 0; d < sizes.size(); ++d)
      if (sizes[d] != 1 && strides[d] != wanted[d]) return false;
    return true;
  }
};

struct Heads {
  Layer layer;
  Value* input = nullptr;
  int64_t batch = 1, rows = 0, heads = 0, width = 0;
  bool ranks_batch = false;  // the value is [B, H, T, D], not [H, T, D]
};

// value is [B, H, T, D] ([B, H, D, T] if `transposed`) of the features of a linear [B, T, H*D], by views for it alone.
std::optional<Heads> heads_of(Value* value, bool transposed) {
  const size_t rank = value->type.sizes.size();
  if (value->type.dtype != DType::F32 || !value->type.is_static() || (rank != 3 && rank != 4)) return std::nullopt;
  std::vector<const ir::Node*> views;
  Value* made = value;
  while (views.size() < 8) {
    if (made->producer == nullptr || !match::used_once(made)) return std::nullopt;
    if (made->producer->is("linear")) break;
    if (!made->producer->is("view") && !match::permutation_of(*made->producer)) return std::nullopt;
    views.push_back(made->producer);
    made = std::get<Value*>(made->producer->args[0]);
  }
  if (made->producer == nullptr || !made->producer->is("linear")) return std::nullopt;
  auto layer = as_layer(*made->producer);
  const std::vector<int64_t> sizes = made->type.static_sizes();
  if (!layer || layer->shares_weight || (sizes.size() != 2 && sizes.size() != 3)) return std::nullopt;
  Heads heads;
  heads.ranks_batch = rank == 4;
  heads.batch = sizes.size() == 3 ? sizes[0] : 1;
  heads.rows = sizes[sizes.size() - 2];
  const std::vector<int64_t> target = value->type.static_sizes();
  heads.heads = target[rank - 3];
  heads.width = transposed ? target[rank - 2] : target[rank - 1];
  if (heads.heads * heads.width != sizes.back() || (rank == 3 && heads.batch != 1)) return std::nullopt;
  Strides strides{sizes, contiguous_strides(sizes)};
  for (size_t i = views.size(); i-- > 0;) {
    if (const auto permutation = match::permutation_of(*views[i])) {
      const Strides before = strides;
      for (size_t d = 0; d < permutation->size(); ++d) {
        strides.sizes[d] = before.sizes[static_cast<size_t>((*permutation)[d])];
        strides.strides[d] = before.strides[static_cast<size_t>((*permutation)[d])];
      }
    } else if (!strides.reshape(views[i]->results[0]->type.static_sizes())) {
      return std::nullopt;
    }
  }
  const int64_t features = sizes.back();
  std::vector<int64_t> wanted = {heads.width, features, 1};
  if (transposed) std::swap(wanted[1], wanted[2]);
  if (rank == 4) wanted.insert(wanted.begin(), heads.rows * features);
  if (!strides.is(wanted) || target[rank - (transposed ? 1 : 2)] != heads.rows) return std::nullopt;
  // A view without copies in between is no gain.
  if (heads.heads == 1 || heads.rows < kFewestRows || heads.width % kColumns != 0) return std::nullopt;
  if (heads.rows * layer->in_channels * static_cast<int64_t>(sizeof(float)) > kLargestInput) return std::nullopt;
  heads.input = ops::Call(*made->producer).tensor("input");
  heads.layer = std::move(*layer);
  return heads;
}

// The projection as a batch of products: [B, H, T, D] or [H, T, D].
Value* by_head(const Heads& heads, ir::Node& before, ir::Rewriter& rewriter) {
  rewriter.set_insert_point(&before);
  const std::vector<int64_t> swap = {0, 2, 1};
  const int64_t in = heads.layer.in_channels;
  const TensorData weight = heads.layer.weight_data.reshaped({heads.heads, heads.width, in}).permuted(swap);
  Value* x = heads.input;
  if (heads.ranks_batch || x->type.rank() != 3) {
    // The batch dims of the product are [B, 1] and [H].
    ir::Shape shape = {SymInt(heads.batch), SymInt(1), SymInt(heads.rows), SymInt(in)};
    if (!heads.ranks_batch || heads.batch == 1) shape.erase(shape.begin());
    if (!(x->type.sizes == shape)) x = rewriter.make("view", {x, ir::IntList(shape.begin(), shape.end())});
  }
  const std::vector<int64_t> sizes = heads.ranks_batch ? std::vector<int64_t>{1, heads.heads, in, heads.width}
                                                       : std::vector<int64_t>{heads.heads, in, heads.width};
  return rewriter.make("matmul", {x, rewriter.constant(heads.layer.weight->name + "_by_head", weight.reshaped(sizes))});
}

bool is_softmax_of_rows(const ir::Node& node) {
  return node.is("_softmax") && ops::normalize_dim(ops::Call(node).integer("dim"), node.result()->type.rank()) ==
                                    node.result()->type.rank() - 1;
}

// Scores that reach nothing but a softmax over the keys, a mask added or not.
bool reaches_softmax(const Value* scores) {
  for (int depth = 0; depth < 2; ++depth) {
    const ir::Node* user = match::only_user(scores);
    if (user == nullptr) return false;
    if (is_softmax_of_rows(*user)) return true;
    if (!user->is("add", "Tensor") || ops::Call(*user).number("alpha") != 1 || !(user->result()->type == scores->type))
      return false;
    scores = user->result();
  }
  return false;
}

// Where a value's bias goes: out -> permute to [B, T, H, D] -> view [B, T, H*D] -> linear.
std::optional<Layer> layer_after(const Value* out, const Heads& heads) {
  ir::Node* permute = match::only_user(out);
  const std::vector<int64_t> swap =
      heads.ranks_batch ? std::vector<int64_t>{0, 2, 1, 3} : std::vector<int64_t>{1, 0, 2};
  if (permute == nullptr || match::permutation_of(*permute) != swap) return std::nullopt;
  ir::Node* view = match::only_user(permute->result());
  const int64_t features = heads.heads * heads.width;
  if (view == nullptr || !view->is("view") || !(view->result()->type.sizes.back() == SymInt(features)))
    return std::nullopt;
  ir::Node* linear = match::only_user(view->result());
  if (linear == nullptr || !linear->is("linear") || linear->args[0] != ir::Arg(view->result())) return std::nullopt;
  return as_layer(*linear);
}

bool project(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!node.is("matmul") && !node.is("bmm")) return false;
  auto* first = std::get<Value*>(node.args[0]);
  auto* second = std::get<Value*>(node.args[1]);
  const bool attends = first->producer != nullptr && is_softmax_of_rows(*first->producer);
  const bool scores = reaches_softmax(node.result());
  if (!attends && !scores) return false;
  if (attends) {
    auto heads = heads_of(second, false);
    if (!heads) return false;
    if (heads->layer.bias_data) {
      auto after = layer_after(node.result(), *heads);
      if (!after || after->in_channels != heads->layer.out_channels) {
        context.declined(node, "the bias of its values has no linear after it to go to");
        return false;
      }
      rewriter.set_insert_point(after->node);
      rewrite_outputs(rewriter, *after, std::vector<double>(static_cast<size_t>(after->out_channels), 1.0),
                      times_vector(after->weight_data, heads->layer.bias_data->to_doubles()));
    }
    rewriter.replace(second, by_head(*heads, node, rewriter));
    return true;
  }
  bool changed = false;
  if (const auto keys = heads_of(second, true)) {
    std::vector<int64_t> swap = identity_permutation(second->type.sizes.size());
    std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
    Value* by_rows = by_head(*keys, node, rewriter);
    rewriter.replace(second, rewriter.make("permute", {by_rows, int_list(swap)}));
    changed = true;
  }
  if (const auto queries = heads_of(first, false); queries && !queries->layer.bias_data) {
    rewriter.replace(first, by_head(*queries, node, rewriter));
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> project_heads(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, project);
}

}  // namespace edgelift::passes
