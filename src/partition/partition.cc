// Builds the delegates of a program whose nodes know their partition.
#include "partition/partition.h"

#include <algorithm>
#include <unordered_set>

#include "base/check.h"
#include "base/hash.h"
#include "ops/xnn_builder.h"
#include "partition/plan.h"

namespace edgelift::partition {
namespace {

// Constants that rewrites made (an epsilon, a permuted weight that is not packed), shared by all delegates.
class NewConstants {
 public:
  explicit NewConstants(ir::Program& program) : program_(program) {}

  const ir::Constant* get(const xnn::Value& value) {
    const std::string key = content_key(value.data);
    const auto [begin, end] = by_content_.equal_range(key);
    for (auto at = begin; at != end; ++at)
      if (at->second->data.same_bits(value.data)) return at->second;
    const ir::Constant* made = program_.add_constant(value.name.empty() ? "xnn_const" : value.name, value.data);
    by_content_.emplace(key, made);
    return made;
  }

 private:
  ir::Program& program_;
  std::unordered_multimap<std::string, const ir::Constant*> by_content_;
};

class DelegateMaker {
 public:
  DelegateMaker(Lowered& lowered, ir::Graph& graph, const Options& options, NewConstants& constants)
      : lowered_(lowered), graph_(graph), options_(options), constants_(constants) {
    for (const ir::OutputSpec& output : graph.outputs())
      if (output.value != nullptr) graph_outputs_.insert(output.value);
  }

  // Nodes of one partition, contiguous in execution order.
  Status make(const std::vector<ir::Node*>& nodes) {
    EL_TRY_OK(build(nodes));
    const size_t index = lowered_.program.delegates.size();
    auto delegate = std::make_unique<ir::Delegate>();
    delegate->name = "xnn" + std::to_string(index);
    delegate->body = make_body(nodes, delegate->name);
    lowered_.program.delegates.push_back(std::move(delegate));
    lowered_.graphs.push_back(std::move(xnn_));
    call(nodes, index);
    return Ok{};
  }

 private:
  Status build(const std::vector<ir::Node*>& nodes) {
    ops::XnnBuilder builder;
    outputs_.clear();
    for (const ir::Node* node : nodes) {
      builder.set_debug_handle(node->origin == nullptr ? 0 : node->origin->debug_handle);
      const ops::LowerResult refusal = ops::lower_node(*node, builder);
      EL_CHECK(!refusal, "%" + node->result()->name + " was accepted, then refused: " + refusal->sentence);
      for (ir::Value* result : node->results) {
        const bool leaves = graph_outputs_.contains(result) ||
                            std::any_of(result->users.begin(), result->users.end(),
                                        [&](const ir::Node* user) { return user->partition != node->partition; });
        if (leaves) outputs_.push_back(result);
      }
    }
    for (const ir::Value* output : outputs_) builder.add_output(output);
    // An operand that the lowering has no use for (of an operator that reads only its shape) is handed in all the same.
    for (const ir::Node* node : nodes) {
      for (const ir::Arg& arg : node->args) {
        ir::for_each_value(arg, [&](const ir::Value* value) {
          if (!value->is_constant() && !builder.find(value)) builder.value(value);
        });
      }
    }
    operands_.clear();
    for (const ir::Value* input : builder.external_inputs()) operands_.push_back(const_cast<ir::Value*>(input));

    xnn_ = std::move(builder.graph());
    EL_TRY_OK(xnn::optimize(xnn_, options_.optimize));
    xnn::finalize(xnn_);
    EL_TRY_OK(xnn::verify(xnn_));
    for (const uint32_t id : xnn_.constant_inputs) {
      const xnn::Value& value = xnn_.values[id];
      const auto* constant =
          value.source != nullptr ? static_cast<const ir::Constant*>(value.source) : constants_.get(value);
      operands_.push_back(graph_.constant_value(constant));
    }
    return Ok{};
  }

  // The delegated nodes as a graph of their own. Its inputs are the call's operands; constants among them are mentioned
  // by the nodes directly and stay without users as inputs.
  std::unique_ptr<ir::Graph> make_body(const std::vector<ir::Node*>& nodes, const std::string& name) {
    auto body = std::make_unique<ir::Graph>(name);
    std::unordered_map<const ir::Value*, ir::Value*> map;
    map.reserve(operands_.size() + nodes.size());
    for (const ir::Value* operand : operands_) {
      ir::Value* input = body->add_input(operand->name, operand->type);
      if (!operand->is_constant() || operand->constant->is_mutable) map.emplace(operand, input);
    }
    const auto translate = [&](ir::Value* value) -> ir::Value* {
      if (value == nullptr) return nullptr;
      if (const auto at = map.find(value); at != map.end()) return at->second;
      return body->constant_value(value->constant);
    };
    for (const ir::Node* node : nodes) {
      std::vector<ir::Arg> args = node->args;
      for (ir::Arg& arg : args) {
        if (auto* value = std::get_if<ir::Value*>(&arg)) *value = translate(*value);
        if (auto* list = std::get_if<ir::ValueList>(&arg))
          for (ir::Value*& value : *list) value = translate(value);
      }
      std::vector<ir::Type> types;
      std::vector<std::string> names;
      for (const ir::Value* result : node->results) {
        types.push_back(result->type);
        names.push_back(result->name);
      }
      ir::Node* copy = body->insert(node->op, std::move(args), std::move(types), nullptr, std::move(names));
      copy->origin = node->origin;
      for (size_t i = 0; i < node->results.size(); ++i) map.emplace(node->results[i], copy->results[i]);
    }
    for (const ir::Value* output : outputs_) {
      ir::OutputSpec spec;
      spec.value = map.at(output);
      body->add_output(spec);
    }
    return body;
  }

  void call(const std::vector<ir::Node*>& nodes, size_t index) {
    std::vector<ir::Type> types;
    std::vector<std::string> names;
    for (ir::Value* output : outputs_) {
      types.push_back(output->type);
      names.push_back(output->name);
      graph_.rename(output, output->name + "_in");  // the call's result takes the name
    }
    ir::Node* call = graph_.insert(&ir::delegate_op(), {SymInt(static_cast<int64_t>(index)), operands_},
                                   std::move(types), nodes.front(), std::move(names));
    call->origin = nodes.back()->origin;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      graph_.replace_uses(outputs_[i], call->results[i]);
      if (graph_outputs_.erase(outputs_[i]) != 0) graph_outputs_.insert(call->results[i]);
    }
    for (size_t i = nodes.size(); i-- > 0;) graph_.erase(nodes[i]);
  }

  Lowered& lowered_;
  ir::Graph& graph_;
  const Options& options_;
  NewConstants& constants_;
  std::unordered_set<const ir::Value*> graph_outputs_;
  xnn::Graph xnn_;
  std::vector<ir::Value*> operands_;
  std::vector<ir::Value*> outputs_;
};

Verdict verdict_of(const ir::Node& node, const std::unordered_map<const ir::Node*, ops::Refusal>& refused,
                   int first_delegate) {
  Verdict verdict;
  verdict.op = ops::record(node).edge_name();
  if (!node.results.empty()) verdict.value = node.results[0]->name;
  verdict.origin = node.origin;
  if (node.partition != kPortable) {
    verdict.delegate = first_delegate + node.partition;
  } else if (const auto at = refused.find(&node); at != refused.end()) {
    verdict.reason = at->second.sentence;
  }
  return verdict;
}

}  // namespace

Result<Lowered> partition(ir::Program program, const ir::OpTable& ops, const Options& options) {
  (void)ops;
  Lowered lowered;
  lowered.program = std::move(program);
  NewConstants constants(lowered.program);
  for (const auto& method : lowered.program.methods) {
    ir::Graph& graph = *method;
    std::unordered_map<const ir::Node*, ops::Refusal> refused;
    EL_TRY(const int count, assign(graph, options, refused));
    const int first = static_cast<int>(lowered.program.delegates.size());
    std::vector<std::vector<ir::Node*>> members(static_cast<size_t>(count));
    lowered.verdicts.reserve(lowered.verdicts.size() + graph.node_count());
    graph.each([&](ir::Node& node) {
      lowered.verdicts.push_back(verdict_of(node, refused, first));
      if (node.partition != kPortable) members[static_cast<size_t>(node.partition)].push_back(&node);
    });
    DelegateMaker maker(lowered, graph, options, constants);
    for (const std::vector<ir::Node*>& nodes : members) EL_TRY_OK(maker.make(nodes));
    graph.remove_unused_constants();
  }
  lowered.program.stage = ir::Stage::Partitioned;
  return lowered;
}

}  // namespace edgelift::partition
