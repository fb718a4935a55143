// A linear whose output is only taken apart (query, key and value; gate and value of a gated unit) becomes one linear a
// part, with views of the weight: no copy of the parts at run time. The way between, views and permutations, is
// followed dim by dim.
#include <algorithm>

#include "base/check.h"
#include "match/constant.h"
#include "match/views.h"
#include "passes/affine.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

// A dim of the value at hand: an outer dim of the linear's output, a factor of its feature dim, or a dim of size one.
struct Dim {
  enum class Kind : uint8_t { Outer, Factor, One } kind = Kind::One;
  size_t index = 0;
  SymInt size = SymInt(1);
};

struct Layout {
  std::vector<Dim> dims;
  std::vector<int64_t> factors;  // sizes of the feature dim's factors, outermost first
};

// The layout after a reshape to `shape`, or false where it does more than split the feature dim and move ones about.
bool reshape(Layout& layout, const ir::Shape& shape) {
  std::vector<Dim> wide;
  for (const Dim& dim : layout.dims)
    if (!(dim.size == SymInt(1))) wide.push_back(dim);
  Layout out;
  out.factors = layout.factors;
  size_t at = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == SymInt(1)) {
      out.dims.push_back({});
      continue;
    }
    if (at == wide.size()) return false;
    if (wide[at].size == shape[i]) {
      out.dims.push_back(wide[at++]);
      continue;
    }
    // The feature dim is split once, into the sizes that follow.
    if (wide[at].kind != Dim::Kind::Factor || layout.factors.size() != 1 || !shape[i].is_const()) return false;
    const int64_t total = layout.factors[0];
    out.factors.clear();
    int64_t done = 1;
    for (; i < shape.size() && done < total; ++i) {
      if (!shape[i].is_const() || shape[i].value() == 0) return false;
      const int64_t size = shape[i].value();
      if (size == 1) {
        out.dims.push_back({});
        continue;
      }
      out.dims.push_back({Dim::Kind::Factor, out.factors.size(), SymInt(size)});
      out.factors.push_back(size);
      done *= size;
    }
    --i;
    if (done != total) return false;
    ++at;
  }
  if (at != wide.size()) return false;
  layout = std::move(out);
  return true;
}

struct Piece {
  Value* result = nullptr;
  size_t dim = 0;  // of the layout
  int64_t start = 0, length = 0;
  bool drops = false;  // select and unbind drop the dim
};

// The pieces that a user takes, or false if it is no taking apart along one dim.
bool pieces_of(ir::Node& user, const Value* source, std::vector<Piece>& pieces) {
  const ops::Call call(user);
  const bool select = user.is("select", "int"), unbind = user.is("unbind", "int"), slice = user.is("slice", "Tensor");
  const bool sizes = user.is("split_with_sizes"), split = user.is("split", "Tensor");
  if (!select && !unbind && !slice && !sizes && !split) return false;
  if (call.tensor("self") != source) return false;
  const auto dim = ops::normalize_dim(call.integer("dim"), source->type.rank());
  if (!dim) return false;
  const SymInt& size = source->type.sizes[static_cast<size_t>(*dim)];
  if (!size.is_const()) return false;
  if (select) {
    if (call.is_symbolic("index")) return false;
    const int64_t index = call.integer("index");
    pieces.push_back({user.result(), static_cast<size_t>(*dim), index < 0 ? index + size.value() : index, 1, true});
    return true;
  }
  if (slice) {
    if (call.is_symbolic("start") || call.is_symbolic("end") || call.is_symbolic("step") || call.integer("step") != 1)
      return false;
    int64_t start = call.opt_integer("start").value_or(0);
    if (start < 0) start += size.value();
    start = std::clamp<int64_t>(start, 0, size.value());
    const SymInt& length = user.result()->type.sizes[static_cast<size_t>(*dim)];
    if (!length.is_const()) return false;
    pieces.push_back({user.result(), static_cast<size_t>(*dim), start, length.value(), false});
    return true;
  }
  int64_t start = 0;
  for (Value* result : user.results) {
    const int64_t length = unbind ? 1 : result->type.sizes[static_cast<size_t>(*dim)].maybe_value().value_or(-1);
    if (length < 0) return false;
    pieces.push_back({result, static_cast<size_t>(*dim), start, length, unbind});
    start += length;
  }
  return true;
}

bool split(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  auto layer = as_layer(node);
  if (!layer || layer->kind != Layer::Kind::Linear || !delegated(node)) return false;
  ir::Graph& graph = rewriter.graph();
  Value* value = node.result();
  Layout layout;
  layout.factors = {layer->out_channels};
  for (size_t i = 0; i < value->type.sizes.size(); ++i) {
    const bool last = i + 1 == value->type.sizes.size();
    layout.dims.push_back({last ? Dim::Kind::Factor : Dim::Kind::Outer, last ? 0 : i, value->type.sizes[i]});
  }
  // Follow views and permutations to where the value is taken apart.
  std::vector<Piece> pieces;
  for (int steps = 0; steps < 16; ++steps) {
    pieces.clear();
    bool apart = !value->users.empty() && !graph.is_output(value);
    std::vector<ir::Node*> users = value->users;
    std::sort(users.begin(), users.end(), [](const ir::Node* a, const ir::Node* b) { return a->order < b->order; });
    users.erase(std::unique(users.begin(), users.end()), users.end());
    for (ir::Node* user : users) apart = apart && pieces_of(*user, value, pieces);
    if (apart) break;
    ir::Node* next = match::only_user(value);
    if (next == nullptr || next->results.size() != 1) return false;
    if (const auto permutation = match::permutation_of(*next)) {
      std::vector<Dim> dims;
      for (const int64_t d : *permutation) dims.push_back(layout.dims[static_cast<size_t>(d)]);
      layout.dims = std::move(dims);
    } else if (next->is("view") || next->is("_unsafe_view") || next->is("reshape") || next->op->base == "unsqueeze" ||
               next->op->base == "squeeze" || match::is_noop(*next)) {
      if (!reshape(layout, next->result()->type.sizes)) return false;
    } else {
      return false;
    }
    value = next->result();
  }
  if (pieces.empty()) return false;
  std::erase_if(pieces,
                [&](const Piece& piece) { return piece.result->users.empty() && !graph.is_output(piece.result); });
  if (pieces.empty()) return false;
  const Dim& cut = layout.dims[pieces[0].dim];
  int64_t total = 0;
  for (const Piece& piece : pieces) {
    const Dim& dim = layout.dims[piece.dim];
    if (dim.kind != Dim::Kind::Factor || cut.kind != Dim::Kind::Factor || dim.index != cut.index || piece.length == 0)
      return false;
    total += piece.length;
  }
  if (pieces.size() < 2 || total > layout.factors[cut.index]) return false;
  if (layer->shares_weight) {
    context.declined(node, "its weight has other users, so that one copy for each part would make the file grow");
    return false;
  }
  size_t symbolic = 0;
  for (const SymInt& size : node.result()->type.sizes) symbolic += !size.is_const();
  if (symbolic > 1) return false;

  std::vector<int64_t> by_factor = layout.factors;
  by_factor.push_back(layer->in_channels);
  const std::string name = layer->weight->is_constant() ? layer->weight->constant->name : layer->weight->name;
  for (const Piece& piece : pieces) {
    const auto axis = static_cast<int64_t>(cut.index);
    TensorData weight = layer->weight_data.reshaped(by_factor).narrowed(axis, piece.start, piece.length);
    const int64_t rows = layer->out_channels / layout.factors[cut.index] * piece.length;
    const std::string suffix = "_" + std::to_string(piece.start);
    rewriter.set_insert_point(&node);
    std::vector<ir::Arg> args = {std::get<Value*>(node.args[0]),
                                 rewriter.constant(name + suffix, weight.reshaped({rows, layer->in_channels}))};
    if (layer->bias_data) {
      const TensorData bias =
          layer->bias_data->reshaped(layout.factors).narrowed(axis, piece.start, piece.length).reshaped({rows});
      args.emplace_back(rewriter.constant(
          (layer->bias->is_constant() ? layer->bias->constant->name : layer->bias->name) + suffix, bias));
    }
    Value* part = rewriter.make("linear", std::move(args));
    // [outer .., factors .., ones ..], then the order of the layout.
    ir::Shape shape(part->type.sizes.begin(), part->type.sizes.end() - 1);
    const size_t outer = shape.size();
    std::vector<size_t> place(layout.factors.size(), 0);
    for (size_t f = 0; f < layout.factors.size(); ++f) {
      if (f == cut.index && piece.drops) continue;
      place[f] = shape.size();
      shape.emplace_back(f == cut.index ? piece.length : layout.factors[f]);
    }
    // Outer dims of size one have lost their place in the layout: they stand wherever a one is asked for.
    std::vector<int64_t> order;
    std::vector<size_t> ones;
    for (size_t o = 0; o < outer; ++o)
      if (shape[o] == SymInt(1)) ones.push_back(o);
    size_t next_one = 0;
    for (size_t d = 0; d < layout.dims.size(); ++d) {
      const Dim& dim = layout.dims[d];
      if (dim.kind == Dim::Kind::Outer && !(dim.size == SymInt(1))) {
        order.push_back(static_cast<int64_t>(dim.index));
      } else if (dim.kind == Dim::Kind::Factor) {
        if (d == piece.dim && piece.drops) continue;
        order.push_back(static_cast<int64_t>(place[dim.index]));
      } else if (next_one < ones.size()) {
        order.push_back(static_cast<int64_t>(ones[next_one++]));
      } else {
        order.push_back(static_cast<int64_t>(shape.size()));
        shape.emplace_back(1);
      }
    }
    // Ones that the layout does not ask for are left out of the view.
    std::vector<bool> asked(shape.size(), false);
    for (const int64_t d : order) asked[static_cast<size_t>(d)] = true;
    std::vector<int64_t> renumbered(shape.size(), -1);
    ir::Shape kept;
    for (size_t d = 0; d < shape.size(); ++d)
      if (asked[d]) {
        renumbered[d] = static_cast<int64_t>(kept.size());
        kept.push_back(shape[d]);
      }
    for (int64_t& d : order) d = renumbered[static_cast<size_t>(d)];
    if (!(kept == part->type.sizes)) part = rewriter.make("view", {part, ir::IntList(kept.begin(), kept.end())});
    if (!std::is_sorted(order.begin(), order.end())) part = rewriter.make("permute", {part, int_list(order)});
    EL_CHECK(part->type.sizes == piece.result->type.sizes,
             "split-linear: " + part->type.str() + " for " + piece.result->type.str());
    rewriter.replace(piece.result, part);
  }
  return true;
}

}  // namespace

Result<bool> split_linear(ir::Program& program, PassContext& context) {
  bool changed = false;
  for (const auto& graph : program.methods) {
    ir::Rewriter rewriter(program, *graph, context.ops);
    std::vector<ir::Node*> linears;
    graph->each([&](ir::Node& node) {
      if (node.is("linear")) linears.push_back(&node);
    });
    for (ir::Node* node : linears) changed = split(*node, rewriter, context) || changed;
  }
  if (changed) sweep(program, context.ops);
  return changed;
}

}  // namespace edgelift::passes
