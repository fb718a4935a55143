// A linear of a linear is one linear: W2 (W1 x + b1 + p) + b2 = (W2 W1) x + (W2 b1 + b2) + W2 p, where p is a known
// tensor that is added in between (positions of an embedding). Done where it saves multiplications: where x is narrower
// than what stands between, which may go on to have other readers. Weights get smaller; the known tensor is written
// once for each of the layers. The product of the weights is computed in double and rounded once: 1e-6 of the output's
// range.
#include <algorithm>

#include "base/numbers.h"
#include "match/constant.h"
#include "match/views.h"
#include "passes/affine.h"
#include "passes/lift.h"
#include "passes/passes.h"
#include "passes/weights.h"

namespace edgelift::passes {
namespace {

// Multiplications of weights at compile time, 5 ns for each hundred.
constexpr int64_t kDefaultWork = 256 << 20;
// An addition of a known tensor costs what this many multiplications of a matrix product do.
constexpr int64_t kSumCost = 32;
// Bytes that known tensors, written once for each layer, may add to the file beyond what the weights lose.
constexpr int64_t kMostGrowth = 1 << 20;

// middle = linear(x) + added
struct Inner {
  Layer layer;
  Value* input = nullptr;
  std::optional<TensorData> added;
};

std::optional<Inner> inner_of(Value* middle) {
  if (middle->producer == nullptr || middle->type.dtype != DType::F32) return std::nullopt;
  Inner inner;
  Value* made = middle;
  if (const ir::Node& sum = *middle->producer; sum.is("add", "Tensor") && ops::Call(sum).number("alpha") == 1) {
    if (!between_tensors(sum)) return std::nullopt;
    Value *a = std::get<Value*>(sum.args[0]), *b = std::get<Value*>(sum.args[1]);
    inner.added = match::as_constant(b);
    if (!inner.added) {
      inner.added = match::as_constant(a);
      std::swap(a, b);
    }
    // Rows of the layer's width, so that the second layer can be applied to them.
    if (!inner.added || match::as_constant(a) || !match::used_once(a) || !(a->type == middle->type) ||
        inner.added->rank() == 0 || !(SymInt(inner.added->sizes().back()) == a->type.sizes.back()))
      return std::nullopt;
    made = a;
  }
  if (made->producer == nullptr || !made->producer->is("linear")) return std::nullopt;
  auto layer = as_layer(*made->producer);
  if (!layer) return std::nullopt;
  inner.input = ops::Call(*made->producer).tensor("input");
  inner.layer = std::move(*layer);
  return inner;
}

bool compose(ir::Node& node, ir::Rewriter& rewriter, PassContext& context, int64_t& work) {
  if (!node.is("linear") && !node.is("add", "Tensor")) return false;
  const ir::Graph& graph = rewriter.graph();
  Value* middle = node.result();
  std::vector<ir::Node*> users = middle->users;  // in no order of their own
  std::sort(users.begin(), users.end(), [](const ir::Node* a, const ir::Node* b) { return a->order < b->order; });
  std::vector<Layer> readers;
  bool others = graph.is_output(middle);
  for (ir::Node* user : users) {
    auto layer = user->is("linear") ? as_layer(*user) : std::nullopt;
    if (layer && user->args[0] == ir::Arg(middle) && !layer->shares_weight) {
      readers.push_back(std::move(*layer));
    } else {
      others = true;
    }
  }
  if (readers.empty()) return false;
  const auto inner = inner_of(middle);
  if (!inner) return false;
  const int64_t narrow = inner->layer.in_channels, wide = inner->layer.out_channels;
  int64_t outputs = 0;
  for (const Layer& reader : readers) outputs += reader.out_channels;
  // Multiplications a row.
  const int64_t before = outputs * wide + (others ? 0 : wide * narrow);
  const int64_t after = outputs * (narrow + (inner->added ? kSumCost : 0));
  if (after > before - before / 8) return false;
  const int64_t known = inner->added ? inner->added->numel() / wide : 0;  // rows of the known tensor
  const int64_t rows = narrow + known;
  const int64_t growth = outputs * rows - outputs * wide - (others ? 0 : wide * (narrow + known));
  if (growth * static_cast<int64_t>(sizeof(float)) > kMostGrowth) {
    context.declined(node, "the known tensor that is added would take " +
                               std::to_string(growth * static_cast<int64_t>(sizeof(float))) +
                               " bytes more once it is written for each of the layers after it");
    return false;
  }
  const int64_t cost = outputs * wide * rows;
  if (cost > work) {
    context.declined(node, "the product of its weights with those of the layers after it would take " +
                               std::to_string(cost) + " multiplications, more than is left of the pass's budget");
    return false;
  }
  work -= cost;
  for (Layer& reader : readers) {
    const std::string name = reader.weight->name;
    const TensorData weight = times_matrix(reader.weight_data, inner->layer.weight_data);
    ir::Arg bias;
    if (inner->layer.bias_data) {
      std::vector<double> values = times_vector(reader.weight_data, inner->layer.bias_data->to_doubles());
      if (reader.bias_data) {
        const std::vector<double> own = reader.bias_data->to_doubles();
        for (size_t i = 0; i < values.size(); ++i) values[i] += own[i];
      }
      bias = rewriter.constant(name + "_composed_bias", vector_data(DType::F32, values));
    } else if (reader.bias != nullptr) {
      bias = reader.bias;
    }
    rewriter.set_insert_point(reader.node);
    Value* y = rewriter.make("linear", {inner->input, rewriter.constant(name + "_composed", weight), bias});
    if (inner->added) {
      // p W2' as a matrix [rows of p, outputs].
      std::vector<int64_t> sizes = inner->added->sizes();
      const TensorData flat = inner->added->contiguous().reshaped({inner->added->numel() / wide, wide});
      const std::vector<int64_t> swap = {1, 0};
      sizes.back() = reader.out_channels;
      y = rewriter.make("add.Tensor",
                        {y, rewriter.constant(name + "_composed_sum",
                                              times_matrix(flat, reader.weight_data.permuted(swap)).reshaped(sizes))});
    }
    rewriter.replace(reader.node->result(), y);
    rewriter.erase(reader.node);
  }
  return true;
}

}  // namespace

Result<bool> compose_linear(ir::Program& program, PassContext& context) {
  const std::string_view given = context.options.get("work", "");
  int64_t work = given.empty() ? kDefaultWork : *parse_int(given);
  bool changed = false;
  for (const auto& graph : program.methods) {
    ir::Rewriter rewriter(program, *graph, context.ops);
    // The layers after a node are replaced, the node itself stays until the sweep.
    for (ir::Node* node = graph->first(); node != nullptr; node = node->next)
      changed = compose(*node, rewriter, context, work) || changed;
  }
  if (changed) sweep(program, context.ops);
  return changed;
}

}  // namespace edgelift::passes
