// Chooses labels. Start from no change at all, so that the sum can only fall. Two kinds of moves: from every border of
// a flexible region, the layout that the border has is spread over the region as far as it goes, and kept if that
// lowers the sum (a chain or a residual network must change as a whole to gain); then single nodes take a neighbour's
// layout where that alone gains. The work is bounded by a multiple of the number of nodes.
#include <algorithm>
#include <deque>

#include "xnnpack/layout.h"

namespace edgelift::xnn::layout {
namespace {

// Bytes transposed first; then bytes that only take other dims (a copy at most).
struct Cost {
  int64_t moved = 0, reshaped = 0;
  Cost& operator+=(const Cost& o) {
    moved += o.moved;
    reshaped += o.reshaped;
    return *this;
  }
  Cost& operator-=(const Cost& o) {
    moved -= o.moved;
    reshaped -= o.reshaped;
    return *this;
  }
  bool gains() const { return moved < 0 || (moved == 0 && reshaped < 0); }
};

struct Wanted {
  Signature signature = 0, swapped = 0;  // swapped = 0: no second choice
  Match match = Match::Exact;
  uint32_t count = 0;
};

class Chooser {
 public:
  explicit Chooser(const Model& model) : model_(model), graph_(model.graph()) {
    labels_.reserve(graph_.nodes.size());
    for (const Node& node : graph_.nodes) labels_.push_back(identity(model_.dims(node.outputs[0]).size()));
    bytes_.resize(graph_.values.size(), 0);
    stored_.resize(graph_.values.size(), 0);
    wanted_.resize(graph_.values.size());
    stamp_.resize(graph_.nodes.size(), 0);
    for (uint32_t id = 0; id < graph_.values.size(); ++id) {
      if (model_.base(id) != id) continue;
      bytes_[id] = bytes_bound(graph_.values[id]);
      stored_[id] = signature(model_.dims(id), identity(model_.dims(id).size()), 0);
      for (const uint32_t out : model_.outputs(id)) want(id, {signature(model_.dims(id), model_.view(out), 0)}, 1);
    }
    for (uint32_t n = 0; n < graph_.nodes.size(); ++n) add_demands(n, 1);
  }

  std::vector<Perm> run() {
    budget_ = 4000 + 60 * static_cast<int64_t>(graph_.nodes.size());
    for (int round = 0; round < 2; ++round) {
      const bool changed = spread_all();
      const bool forward = tune(true), backward = tune(false);
      if (!changed && !forward && !backward) break;
    }
    return std::move(labels_);
  }

 private:
  bool transposed_away(uint32_t n) const { return graph_.nodes[n].kind == Kind::StaticTranspose; }

  void want(uint32_t base, Wanted wanted, int change) {
    for (Wanted& have : wanted_[base]) {
      if (have.signature != wanted.signature || have.swapped != wanted.swapped || have.match != wanted.match) continue;
      have.count = static_cast<uint32_t>(static_cast<int>(have.count) + change);
      return;
    }
    wanted.count = 1;
    wanted_[base].push_back(wanted);
  }

  void add_demands(uint32_t n, int change) {
    if (transposed_away(n)) return;
    for (size_t k = 0; k < graph_.nodes[n].inputs.size(); ++k) {
      if (graph_.nodes[n].inputs[k] == kInvalid) continue;
      const Demand demand = model_.demand(n, k, labels_[n]);
      if (model_.is_constant(demand.base)) continue;
      Wanted wanted;
      wanted.signature = signature(model_.dims(demand.base), demand.perm, demand.lead);
      if (demand.match == Match::Strip) wanted.signature = without_leading_ones(wanted.signature);
      if (demand.match == Match::Order) wanted.signature = order_of(wanted.signature);
      wanted.match = demand.match;
      if (demand.or_swapped) {
        Perm swapped = demand.perm;
        std::swap(swapped.at[swapped.rank - 1u], swapped.at[swapped.rank - 2u]);
        wanted.swapped = signature(model_.dims(demand.base), swapped, 0);
      }
      want(demand.base, wanted, change);
    }
  }

  Cost cost(uint32_t base) {
    Cost out;
    const Signature have = order_of(stored_[base]);
    orders_.clear();
    reshapes_.clear();
    const auto known = [&](Signature order) {
      return order == have || std::find(orders_.begin(), orders_.end(), order) != orders_.end();
    };
    for (const Wanted& wanted : wanted_[base]) {
      if (wanted.count == 0 || wanted.swapped != 0) continue;
      const Signature order = order_of(wanted.signature);
      if (!known(order)) orders_.push_back(order);
      if (order != have || wanted.match == Match::Order) continue;
      const Signature as_stored = wanted.match == Match::Strip ? without_leading_ones(stored_[base]) : stored_[base];
      if (wanted.signature != as_stored &&
          std::find(reshapes_.begin(), reshapes_.end(), wanted.signature) == reshapes_.end()) {
        reshapes_.push_back(wanted.signature);
      }
    }
    for (const Wanted& wanted : wanted_[base]) {
      if (wanted.count == 0 || wanted.swapped == 0) continue;
      if (!known(order_of(wanted.signature)) && !known(order_of(wanted.swapped)))
        orders_.push_back(order_of(wanted.signature));
    }
    out.moved = static_cast<int64_t>(orders_.size()) * bytes_[base];
    out.reshaped = static_cast<int64_t>(reshapes_.size()) * (bytes_[base] + 64);
    return out;
  }

  // Gives the node another label; returns the change of the sum.
  Cost set(uint32_t n, const Perm& label) {
    const Node& node = graph_.nodes[n];
    touched_.assign(1, model_.base(node.outputs[0]));
    for (const uint32_t id : node.inputs) {
      if (id == kInvalid || model_.is_constant(model_.base(id))) continue;
      if (std::find(touched_.begin(), touched_.end(), model_.base(id)) == touched_.end())
        touched_.push_back(model_.base(id));
    }
    Cost change;
    for (const uint32_t base : touched_) change -= cost(base);
    add_demands(n, -1);
    labels_[n] = label;
    add_demands(n, 1);
    stored_[node.outputs[0]] = signature(model_.dims(node.outputs[0]), label, 0);
    for (const uint32_t base : touched_) change += cost(base);
    budget_ -= static_cast<int64_t>(touched_.size());
    return change;
  }

  Perm stored_perm(uint32_t base) const {
    const uint32_t n = model_.producer(base);
    return n == kInvalid ? identity(model_.dims(base).size()) : labels_[n];
  }

  // The label under which the producer of operand k's base gives what node n with this label wants.
  std::optional<Perm> producer_label(uint32_t n, size_t k, const Perm& label, uint32_t& producer) const {
    const Demand demand = model_.demand(n, k, label);
    producer = model_.producer(demand.base);
    if (producer == kInvalid || !model_.flexible(producer) || demand.lead != 0 || !model_.allows(producer, demand.perm))
      return std::nullopt;
    return demand.perm;
  }

  bool spread(uint32_t seed, const Perm& label) {
    ++visit_;
    undo_.clear();
    Cost change;
    std::deque<std::pair<uint32_t, Perm>> queue{{seed, label}};
    stamp_[seed] = visit_;
    while (!queue.empty()) {
      const auto [n, perm] = queue.front();
      queue.pop_front();
      tried_[n].push_back(perm);
      undo_.emplace_back(n, labels_[n]);
      if (labels_[n] != perm) change += set(n, perm);
      --budget_;
      const Node& node = graph_.nodes[n];
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        if (node.inputs[k] == kInvalid || (model_.flex(n) == Flex::Rows && k != 0)) continue;
        uint32_t producer = kInvalid;
        const auto next = producer_label(n, k, perm, producer);
        if (!next || stamp_[producer] == visit_) continue;
        stamp_[producer] = visit_;
        queue.emplace_back(producer, *next);
      }
      for (const Model::Reader& reader : model_.readers(node.outputs[0])) {
        if (stamp_[reader.node] == visit_) continue;
        const auto next = model_.label_for(reader.node, reader.operand, perm);
        if (!next) continue;
        stamp_[reader.node] = visit_;
        queue.emplace_back(reader.node, *next);
      }
    }
    if (change.gains()) return true;
    for (size_t i = undo_.size(); i-- > 0;)
      if (labels_[undo_[i].first] != undo_[i].second) set(undo_[i].first, undo_[i].second);
    return false;
  }

  // Labels that a node would have if it followed a fixed neighbour.
  template <class F>
  void border_labels(uint32_t n, F&& f) {
    const Node& node = graph_.nodes[n];
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      if (node.inputs[k] == kInvalid) continue;
      const uint32_t base = model_.base(node.inputs[k]);
      if (model_.is_constant(base)) continue;
      const uint32_t producer = model_.producer(base);
      if (producer != kInvalid && model_.flexible(producer)) continue;
      if (const auto label = model_.label_for(n, k, identity(model_.dims(base).size()))) f(*label);
    }
    const uint32_t out = node.outputs[0];
    for (const uint32_t id : model_.outputs(out))
      if (model_.allows(n, model_.view(id))) f(model_.view(id));
    for (const Model::Reader& reader : model_.readers(out)) {
      if (model_.flexible(reader.node) && !(model_.flex(reader.node) == Flex::Rows && reader.operand != 0)) continue;
      const Demand demand = model_.demand(reader.node, reader.operand, labels_[reader.node]);
      if (model_.allows(n, demand.perm)) f(demand.perm);
    }
  }

  bool spread_all() {
    bool changed = false;
    tried_.assign(graph_.nodes.size(), {});
    std::vector<Perm> candidates;
    for (uint32_t n = 0; n < graph_.nodes.size() && budget_ > 0; ++n) {
      if (transposed_away(n) || !model_.flexible(n)) continue;
      candidates.clear();
      border_labels(n, [&](const Perm& label) {
        if (std::find(candidates.begin(), candidates.end(), label) == candidates.end()) candidates.push_back(label);
      });
      for (const Perm& label : candidates) {
        if (label == labels_[n] || budget_ <= 0) continue;
        if (std::find(tried_[n].begin(), tried_[n].end(), label) != tried_[n].end()) continue;
        changed = spread(n, label) || changed;
      }
    }
    return changed;
  }

  bool tune(bool forward) {
    constexpr size_t kManyReaders = 64;
    bool changed = false;
    const auto count = static_cast<uint32_t>(graph_.nodes.size());
    std::vector<Perm> candidates;
    for (uint32_t i = 0; i < count && budget_ > 0; ++i) {
      const uint32_t n = forward ? i : count - 1 - i;
      if (transposed_away(n) || !model_.flexible(n)) continue;
      const Node& node = graph_.nodes[n];
      candidates.clear();
      const auto add = [&](const Perm& label) {
        if (label != labels_[n] && std::find(candidates.begin(), candidates.end(), label) == candidates.end())
          candidates.push_back(label);
      };
      add(identity(labels_[n].rank));
      for (size_t k = 0; k < node.inputs.size(); ++k) {
        if (node.inputs[k] == kInvalid) continue;
        const uint32_t base = model_.base(node.inputs[k]);
        if (model_.is_constant(base)) continue;
        if (const auto label = model_.label_for(n, k, stored_perm(base))) add(*label);
      }
      const auto& readers = model_.readers(node.outputs[0]);
      for (size_t r = 0; r < std::min(readers.size(), kManyReaders); ++r) {
        const Demand demand = model_.demand(readers[r].node, readers[r].operand, labels_[readers[r].node]);
        if (demand.lead == 0 && model_.allows(n, demand.perm)) add(demand.perm);
      }
      for (const Perm& label : candidates) {
        if (!model_.allows(n, label)) continue;
        const Perm before = labels_[n];
        if (set(n, label).gains()) {
          changed = true;
        } else {
          set(n, before);
        }
      }
    }
    return changed;
  }

  const Model& model_;
  const Graph& graph_;
  std::vector<Perm> labels_;
  std::vector<int64_t> bytes_;               // by base
  std::vector<Signature> stored_;            // by base
  std::vector<std::vector<Wanted>> wanted_;  // by base
  std::vector<std::vector<Perm>> tried_;     // by node, of this round
  std::vector<uint32_t> stamp_;
  uint32_t visit_ = 0;
  int64_t budget_ = 0;
  // Scratch.
  std::vector<Signature> orders_, reshapes_;
  std::vector<uint32_t> touched_;
  std::vector<std::pair<uint32_t, Perm>> undo_;
};

}  // namespace

std::vector<Perm> choose_labels(const Model& model) { return Chooser(model).run(); }

}  // namespace edgelift::xnn::layout
