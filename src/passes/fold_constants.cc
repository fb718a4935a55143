// Computes at compile time what depends on constants alone. Views of constants become strided views of
// the bytes; everything else runs on the runtime's own kernels, all of it in one call, after
// what has no kernel was decomposed.
#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "base/numbers.h"
#include "edge/edge.h"
#include "edge/table.h"
#include "match/constant.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

constexpr int64_t kAlwaysFold = 64 * 1024;   // results up to here fold whatever they are made of
constexpr int64_t kDefaultGrowth = 4 << 20;  // bytes that one folded result may add to the file
constexpr int64_t kMaxOperands = 256 << 20;  // constants read by one evaluation are copied once: keep that small

int64_t bytes_of(const ir::Type& type) {
  const auto numel = type.numel();
  return numel ? *numel * static_cast<int64_t>(byte_size(type.dtype)) : -1;
}

bool pure(const ir::Node& node, const ir::OpTable& ops) {
  if (ops::is_delegate(node) || ops.has_effect(*node.op) || node.op->writes_args()) return false;
  if (ops::record(node).has(ops::kRandom) || ops::record(node).has(ops::kEffect)) return false;
  if (node.op->base.starts_with("empty") || node.op->base.starts_with("new_empty")) return false;
  for (const Value* result : node.results)
    if (!result->type.is_tensor() || !result->type.is_static() || result->symbol != nullptr ||
        result->type.numel() == 0)
      return false;
  for (const ir::Arg& arg : node.args) {  // sizes that only the run knows
    if (const auto* number = std::get_if<SymInt>(&arg); number != nullptr && !number->is_const()) return false;
    if (std::holds_alternative<ir::SymRatio>(arg)) return false;
    if (const auto* list = std::get_if<ir::IntList>(&arg))
      for (const SymInt& number : *list)
        if (!number.is_const()) return false;
  }
  return true;
}

// By a kernel of the runtime, or by what it is decomposed into.
bool runnable(const ir::Node& node) {
  const auto& record = ops::record(node);
  return (!record.kernel.empty() && ops::kernel_registered(record.kernel)) || edge::find_entry(node.op) != nullptr;
}

class Folder {
 public:
  Folder(ir::Program& program, PassContext& context, int64_t growth)
      : program_(program), context_(context), growth_(growth) {}

  Result<bool> run() {
    for (const auto& graph : program_.methods) choose(*graph);
    bool changed = fold_views();
    EL_TRY(const bool computed, fold_computed());
    changed = changed || computed;
    if (changed) sweep(program_, context_.ops);
    return changed;
  }

 private:
  struct Root {
    ir::Graph* graph;
    Value* value;
    bool is_view;
    TensorData view;
  };

  // Marks the nodes that depend on constants only, and the values among them that the rest of the graph uses.
  void choose(ir::Graph& graph) {
    std::unordered_map<const ir::Node*, int64_t> leaf_bytes;
    std::vector<ir::Node*> nodes;
    graph.each([&](ir::Node& node) {
      if (!pure(node, context_.ops)) return;
      int64_t bytes = 0;
      for (const Value* operand : node.operands()) {
        if (operand->constant != nullptr && !operand->constant->is_mutable) {
          bytes += static_cast<int64_t>(operand->constant->data.nbytes());
          continue;
        }
        const auto found = operand->producer == nullptr ? leaf_bytes.end() : leaf_bytes.find(operand->producer);
        if (found == leaf_bytes.end()) return;
        bytes += found->second;
      }
      // What cannot be computed here is no constant for those who read it.
      if (!runnable(node) && !(node.results.size() == 1 && match::as_constant(node.result()))) {
        context_.declined(node,
                          "it depends on constants alone, but the runtime has no kernel to compute it at compile time");
        return;
      }
      leaf_bytes[&node] = std::min(bytes, int64_t{1} << 50);
      nodes.push_back(&node);
    });
    // From the users to the producers: a node that must stay makes its operands the values that are folded.
    std::unordered_set<const ir::Node*> folded;
    for (size_t i = nodes.size(); i-- > 0;) {
      ir::Node& node = *nodes[i];
      bool stays = false;
      std::vector<Root> roots;
      for (Value* result : node.results) {
        bool needed = graph.is_output(result);
        stays = stays || needed;  // an output keeps a node that makes it
        for (const ir::Node* user : result->users) needed = needed || !folded.contains(user);
        if (!needed) continue;
        const int64_t bytes = bytes_of(result->type);
        auto view = match::as_constant(result);
        stays = stays || bytes < 0 || (bytes > kAlwaysFold && bytes > leaf_bytes[&node] + growth_);
        roots.push_back({&graph, result, view.has_value(), view ? *view : TensorData()});
      }
      if (stays) continue;
      folded.insert(&node);
      for (Root& root : roots) (root.is_view ? views_ : computed_).push_back(std::move(root));
    }
    std::reverse(views_.begin(), views_.end());
    std::reverse(computed_.begin(), computed_.end());
  }

  void replace(const Root& root, TensorData data) {
    ir::Rewriter rewriter(program_, *root.graph, context_.ops);
    const int64_t numel = data.numel();
    Value* constant = nullptr;
    if (numel == 1 && data.rank() == 0 && is_float(data.dtype())) {
      constant = rewriter.scalar(data.dtype(), data.element_as_double(0));
    } else {
      constant = rewriter.constant("folded_" + root.value->name, std::move(data));
    }
    rewriter.replace(root.value, constant);
  }

  bool fold_views() {
    for (Root& root : views_) replace(root, std::move(root.view));
    return !views_.empty();
  }

  Result<bool> fold_computed() {
    if (computed_.empty()) return false;
    if (!context_.evaluate) {
      for (const Root& root : computed_)
        context_.declined(*root.value->producer,
                          "it depends on constants alone, but no runtime is at hand to compute it");
      return false;
    }
    return evaluate(computed_);
  }

  // Where the evaluation fails the roots are tried in halves: one of them shall not keep the others.
  bool evaluate(std::span<const Root> roots) {
    std::string why;
    if (evaluated(roots, why)) return true;
    if (why.empty()) return false;
    if (roots.size() > 1) {
      const bool first = evaluate(roots.first(roots.size() / 2));
      return evaluate(roots.subspan(roots.size() / 2)) || first;
    }
    context_.declined(*roots[0].value->producer, why);
    return false;
  }

  // True if something was folded; `why` is set where the evaluation failed.
  bool evaluated(std::span<const Root> roots, std::string& why) {
    ir::Program small;
    small.stage = program_.stage;
    small.source = program_.source;
    small.archive = program_.archive;
    auto graph = std::make_unique<ir::Graph>("forward");
    std::unordered_map<const Value*, Value*> copies;
    int64_t operand_bytes = 0;
    const auto leaf = [&](const Value* value) {
      auto& copy = copies[value];
      if (copy == nullptr) {
        operand_bytes += static_cast<int64_t>(value->constant->data.nbytes());
        copy = graph->constant_value(small.add_constant(value->constant->name, value->constant->data));
      }
      return copy;
    };
    // Collects what the roots need, without recursion (chains may be long), then copies it in execution order.
    std::vector<const ir::Node*> needed;
    std::unordered_set<const ir::Node*> seen;
    std::vector<const ir::Node*> work;
    for (const Root& root : roots) work.push_back(root.value->producer);
    while (!work.empty()) {
      const ir::Node* node = work.back();
      work.pop_back();
      if (!seen.insert(node).second) continue;
      needed.push_back(node);
      for (const Value* operand : node->operands())
        if (operand->producer != nullptr) work.push_back(operand->producer);
    }
    std::unordered_map<const ir::Graph*, size_t> rank;
    for (size_t i = 0; i < program_.methods.size(); ++i) rank[program_.methods[i].get()] = i;
    std::sort(needed.begin(), needed.end(), [&](const ir::Node* a, const ir::Node* b) {
      return a->graph != b->graph ? rank[a->graph] < rank[b->graph] : a->order < b->order;
    });
    for (const ir::Node* node : needed) {
      std::vector<ir::Arg> args = node->args;
      const auto mapped = [&](Value* value) { return value->constant != nullptr ? leaf(value) : copies.at(value); };
      for (ir::Arg& arg : args) {
        if (auto** value = std::get_if<Value*>(&arg)) *value = mapped(*value);
        if (auto* list = std::get_if<ir::ValueList>(&arg))
          for (Value*& value : *list)
            if (value != nullptr) value = mapped(value);
      }
      std::vector<ir::Type> types;
      std::vector<std::string> names;
      for (const Value* result : node->results) {
        types.push_back(result->type);
        names.push_back(result->name);
      }
      ir::Node* copy = graph->insert(node->op, std::move(args), std::move(types), nullptr, std::move(names));
      copy->origin = node->origin;
      for (size_t i = 0; i < node->results.size(); ++i) copies[node->results[i]] = copy->results[i];
    }
    if (operand_bytes > kMaxOperands) {
      why = "it depends on constants alone, but on " + human_bytes(static_cast<uint64_t>(operand_bytes)) +
            " of them, more than compile-time evaluation copies";
      return false;
    }
    for (const Root& root : roots) {
      ir::OutputSpec output;
      output.value = copies.at(root.value);
      graph->add_output(std::move(output));
    }
    small.methods.push_back(std::move(graph));
    if (auto legal = edge::legalize(small, context_.ops, edge::Target::Portable); !legal.ok()) {
      why = "its evaluation at compile time failed: " + legal.error().message;
      return false;
    }
    auto values = context_.evaluate(small);
    if (!values.ok()) {
      why = "its evaluation at compile time failed: " + values.error().message;
      return false;
    }
    bool changed = false;
    for (size_t i = 0; i < roots.size(); ++i) {
      TensorData& data = values->at(i);
      const ir::Type& type = roots[i].value->type;
      if (data.dtype() != type.dtype || data.sizes() != type.static_sizes()) {
        context_.declined(*roots[i].value->producer, "its kernel gave another type than its shape rule says");
        continue;
      }
      replace(roots[i], std::move(data));
      changed = true;
    }
    return changed;
  }

  ir::Program& program_;
  PassContext& context_;
  int64_t growth_;
  std::vector<Root> views_, computed_;
};

}  // namespace

Result<bool> fold_constants(ir::Program& program, PassContext& context) {
  const std::string_view growth = context.options.get("growth", "");
  return Folder(program, context, growth.empty() ? kDefaultGrowth : *parse_int(growth)).run();
}

}  // namespace edgelift::passes
