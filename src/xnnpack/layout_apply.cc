// Writes the graph's nodes anew under their labels, and puts transposes and reshapes where a base is wanted in another
// form than the stored one. Constants are permuted here and now.
#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "xnnpack/layout.h"

namespace edgelift::xnn::layout {
namespace {

class Writer {
 public:
  Writer(Graph& graph, const Model& model, const std::vector<Perm>& labels)
      : graph_(graph), model_(model), labels_(labels) {
    const size_t count = graph.values.size();
    placed_.resize(count, kInvalid);
    for (uint32_t id = 0; id < count; ++id)
      if (model.base(id) == id && model.producer(id) == kInvalid) placed_[id] = id;
    for (const uint32_t out : graph.outputs) outputs_.try_emplace(key(model.base(out), form(out)), out);
    collect_orders();
  }

  void run() {
    const size_t count = graph_.nodes.size();
    for (uint32_t n = 0; n < count; ++n) {
      if (graph_.nodes[n].kind == Kind::StaticTranspose) {
        finish_output(graph_.nodes[n].outputs[0], graph_.nodes[n].debug_handle);
      } else {
        write(n);
      }
    }
    graph_.nodes = std::move(made_);
  }

 private:
  static uint64_t key(uint32_t base, Signature s) { return static_cast<uint64_t>(base) << 32 | s; }
  Signature form(uint32_t value) const { return signature(model_.dims(model_.base(value)), model_.view(value), 0); }

  Perm stored(uint32_t base) const {
    const uint32_t n = model_.producer(base);
    return n == kInvalid ? identity(model_.dims(base).size()) : labels_[n];
  }

  // Orders in which some reader without a choice wants each base.
  void collect_orders() {
    firm_.resize(placed_.size());
    for (uint32_t n = 0; n < graph_.nodes.size(); ++n) {
      if (graph_.nodes[n].kind == Kind::StaticTranspose) continue;
      for (size_t k = 0; k < graph_.nodes[n].inputs.size(); ++k) {
        if (graph_.nodes[n].inputs[k] == kInvalid) continue;
        const Demand d = model_.demand(n, k, labels_[n]);
        if (!d.or_swapped) firm_[d.base].push_back(order_of(signature(model_.dims(d.base), d.perm, d.lead)));
      }
    }
    for (const uint32_t out : graph_.outputs) firm_[model_.base(out)].push_back(order_of(form(out)));
  }

  Node& append(Kind kind, uint32_t in, uint32_t out, uint32_t handle) {
    Node node;
    node.kind = kind;
    node.inputs = {in};
    node.outputs = {out};
    node.debug_handle = handle;
    return made_.emplace_back(std::move(node));
  }

  uint32_t temp_like(uint32_t base, std::vector<SymInt> dims) {
    const uint32_t id = graph_.temp(graph_.values[base].datatype, std::move(dims));
    graph_.values[id].name = graph_.values[base].name;
    return id;
  }

  uint32_t constant(const Demand& d, bool may_strip) {
    const Value& value = graph_.values[d.base];
    if (value.data.numel() == 1 && d.match == Match::Strip) return d.base;
    Signature wanted = signature(value.dims, d.perm, d.lead);
    Signature have = signature(value.dims, identity(value.dims.size()), 0);
    if (d.match == Match::Strip || may_strip) {
      wanted = without_leading_ones(wanted);
      have = without_leading_ones(have);
    }
    if (wanted == have && (d.match == Match::Strip || may_strip || signature_rank(wanted) == value.dims.size()))
      return d.base;
    const auto [at, fresh] = adapted_.try_emplace(key(d.base, wanted), kInvalid);
    if (!fresh) return at->second;
    Value made = value;
    made.source = nullptr;
    made.external_input = false;
    made.dims = signature_dims(value.dims, wanted);
    std::vector<int64_t> extended(d.lead, 1), perm, sizes;
    extended.insert(extended.end(), value.data.sizes().begin(), value.data.sizes().end());
    for (size_t i = 0; i < d.perm.rank; ++i) perm.push_back(d.perm[i]);
    for (const SymInt& dim : made.dims) sizes.push_back(dim.value());
    made.data = value.data.reshaped(std::move(extended)).permuted(perm).reshaped(std::move(sizes));
    return at->second = graph_.add_value(std::move(made));
  }

  // The id of a value that holds the base as demanded.
  uint32_t operand(const Demand& d, uint32_t handle) {
    const uint32_t base = d.base;
    const std::vector<SymInt> dims = model_.dims(base);
    const Perm have = stored(base);
    const Signature have_form = signature(dims, have, 0);
    Signature wanted = signature(dims, d.perm, d.lead);
    const bool same_order = order_of(wanted) == order_of(have_form);
    if (d.match == Match::Strip && same_order) wanted = without_leading_ones(wanted);
    const uint32_t placed = placed_[base];
    if (wanted == have_form) return placed;
    if (d.match == Match::Strip && wanted == without_leading_ones(have_form)) return placed;
    if (d.match == Match::Order && same_order) return placed;
    const auto [at, fresh] = adapted_.try_emplace(key(base, wanted), kInvalid);
    if (!fresh) return at->second;
    uint32_t out = kInvalid;
    if (const auto output = outputs_.find(key(base, wanted)); output != outputs_.end() && d.lead == 0)
      out = output->second;
    if (out == kInvalid) out = temp_like(base, signature_dims(dims, wanted));
    at->second = out;
    if (same_order && reshape(placed, out, handle)) return out;
    // The same order under other dims may have been made already.
    const auto [moved, first] = moved_.try_emplace(key(base, order_of(wanted)), out);
    if (!first && reshape(moved->second, out, handle)) return out;
    // A transpose; an operand of lower rank first gets its leading ones.
    uint32_t in = placed;
    Perm from = have;
    if (d.lead != 0) {
      from = with_leading(have, d.lead);
      std::vector<SymInt> extended(d.lead, SymInt(1));
      const std::vector<SymInt> stored_dims = permuted(dims, have);
      extended.insert(extended.end(), stored_dims.begin(), stored_dims.end());
      in = temp_like(base, std::move(extended));
      EL_CHECK(reshape(placed, in, handle), "an operand with two symbolic sizes was to be reshaped");
    }
    const Perm move = compose(inverse(from), d.perm);
    Node& node = append(Kind::StaticTranspose, in, out, handle);
    for (size_t i = 0; i < move.rank; ++i) node.list.push_back(move[i]);
    return out;
  }

  bool reshape(uint32_t in, uint32_t out, uint32_t handle) {
    std::vector<int64_t> list;
    int inferred = 0;
    for (const SymInt& dim : graph_.values[out].dims) {
      list.push_back(dim.is_const() ? dim.value() : 0);
      if (!dim.is_const()) ++inferred;
    }
    if (inferred > 1) return false;
    append(Kind::StaticReshape, in, out, handle).list = std::move(list);
    return true;
  }

  // Whether the operand with two possible forms should take the swapped one.
  bool swap(const Demand& d, const Demand& swapped) const {
    const std::vector<SymInt>& dims = model_.dims(d.base);
    const Signature have = order_of(signature(dims, stored(d.base), 0));
    const Signature plain = order_of(signature(dims, d.perm, 0)), other = order_of(signature(dims, swapped.perm, 0));
    if (plain == have || other == have) return plain != have;
    const auto& firm = firm_[d.base];
    const auto wanted = [&](Signature order) { return std::find(firm.begin(), firm.end(), order) != firm.end(); };
    if (wanted(plain) || wanted(other)) return !wanted(plain);
    // Both need a transpose: rows that stay rows are copied faster.
    const size_t last = d.perm.rank - 1u;
    const Perm from = inverse(stored(d.base));
    return from[d.perm[last]] != last && from[swapped.perm[last]] == last;
  }

  static void permute_list(std::vector<int64_t>& list, const Perm& label) {
    std::vector<int64_t> out;
    for (size_t i = 0; i < label.rank; ++i) out.push_back(list[label[i]]);
    list = std::move(out);
  }

  void write(uint32_t n) {
    Node node = graph_.nodes[n];
    const Perm& label = labels_[n];
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if (node.inputs[k] == kInvalid) continue;
      Demand d = model_.demand(n, k, label);
      if (model_.is_constant(d.base)) {
        node.inputs[k] = constant(d, strippable(graph_.nodes[n], k, label));
        continue;
      }
      if (d.or_swapped) {
        Demand swapped = d;
        std::swap(swapped.perm.at[d.perm.rank - 1u], swapped.perm.at[d.perm.rank - 2u]);
        if (swap(d, swapped)) {
          d = swapped;
          node.flags ^= node.kind == Kind::BatchMatrixMultiply ? kFlagTransposeB : kFlagTransposeWeights;
        }
      }
      node.inputs[k] = operand(d, node.debug_handle);
    }
    if (model_.flexible(n) && !is_identity(label)) {
      switch (model_.flex(n)) {
        case Flex::Axis:
          node.axis = inverse(label)[static_cast<size_t>(node.axis)];
          break;
        case Flex::Reshape:
          permute_list(node.list, label);
          break;
        case Flex::Lists:
          permute_list(node.list, label);
          permute_list(node.list2, label);
          break;
        default:
          break;
      }
    }
    const uint32_t handle = node.debug_handle;
    for (uint32_t& out : node.outputs)
      place(out, node.outputs.size() == 1 ? label : identity(model_.dims(out).size()), out);
    const std::vector<uint32_t> originals = graph_.nodes[n].outputs;
    made_.push_back(std::move(node));
    for (const uint32_t out : originals) finish_output(out, handle);
  }

  // A constant may lose leading ones where another operand has the full rank anyway.
  bool strippable(const Node& node, size_t k, const Perm& label) const {
    if (category(node.kind) != Category::Binary && category(node.kind) != Category::PReLU) return false;
    if (is_identity(label)) return false;  // leave the program's constant as it is
    const uint32_t other = node.inputs[1 - k];
    return graph_.values[other].use == Use::None && model_.dims(other).size() == label.rank;
  }

  // Where a node's result goes: to an output of the delegate that has just this form, or to a value of its own.
  void place(uint32_t base, const Perm& label, uint32_t& id) {
    const Signature s = signature(model_.dims(base), label, 0);
    const auto output = outputs_.find(key(base, s));
    if (output != outputs_.end()) {
      id = output->second;
    } else if (is_identity(label) && !graph_.values[base].external_output) {
      id = base;
    } else {
      id = temp_like(base, permuted(model_.dims(base), label));
    }
    placed_[base] = id;
  }

  // Makes sure that an external output is written, now that its base is there.
  void finish_output(uint32_t value, uint32_t handle) {
    if (!graph_.values[value].external_output) return;
    Demand d;
    d.base = model_.base(value);
    d.perm = model_.view(value);
    const uint32_t id = model_.is_constant(d.base) ? constant(d, false) : operand(d, handle);
    if (id != value) append(Kind::Copy, id, value, handle);
  }

  Graph& graph_;
  const Model& model_;
  const std::vector<Perm>& labels_;
  std::vector<Node> made_;
  std::vector<uint32_t> placed_;                    // by base: the value that holds it
  std::unordered_map<uint64_t, uint32_t> outputs_;  // base and form -> external output
  std::unordered_map<uint64_t, uint32_t> adapted_;  // base and form -> value made from the stored one
  std::unordered_map<uint64_t, uint32_t> moved_;    // base and order -> the first transposed value of that order
  std::vector<std::vector<Signature>> firm_;
};

}  // namespace

void apply_labels(Graph& graph, const Model& model, const std::vector<Perm>& labels) {
  Writer(graph, model, labels).run();
}

}  // namespace edgelift::xnn::layout

namespace edgelift::xnn {

void assign_layout(Graph& graph, bool upstream) {
  const bool any = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                               [](const Node& node) { return node.kind == Kind::StaticTranspose; });
  if (!any) return;
  const layout::Model model(graph, upstream);
  const std::vector<layout::Perm> labels = layout::choose_labels(model);
  layout::apply_labels(graph, model, labels);
}

}  // namespace edgelift::xnn
