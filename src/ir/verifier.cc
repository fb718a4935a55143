#include "ir/verifier.h"

#include <map>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/text.h"

namespace edgelift::ir {

namespace {

class Verifier {
 public:
  Verifier(const Program& program, const OpTable& ops) : program_(program), ops_(ops) {
    for (const auto& constant : program.constants) constants_.insert(constant.get());
  }

  Status graph(const Graph& graph, bool delegate_body) {
    graph_ = &graph;
    defined_.clear();
    names_.clear();
    uses_.clear();
    outputs_.clear();
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const Value* input = graph.inputs()[i];
      if (input->index != i) return fail(nullptr, "input %" + input->name + " has a wrong index");
      EL_TRY_OK(define(input, nullptr));
    }
    for (const Value* constant : graph.constants()) {
      if (!constants_.contains(constant->constant))
        return fail(nullptr, "%" + constant->name + " is a constant that the program does not own");
      EL_TRY_OK(define(constant, nullptr));
    }
    uint64_t order = 0;
    size_t count = 0;
    const Node* prev = nullptr;
    for (const Node* n = graph.first(); n != nullptr; prev = n, n = n->next) {
      if (n->prev != prev || n->graph != &graph) return fail(n, "is linked wrongly");
      if (n->order <= order) return fail(n, "has an order that does not increase");
      order = n->order;
      ++count;
      EL_TRY_OK(node(*n, delegate_body));
    }
    if (count != graph.node_count()) return fail(nullptr, "the node count is wrong");
    for (const OutputSpec& output : graph.outputs()) {
      if (output.value != nullptr) ++outputs_[output.value];
      EL_TRY_OK(this->output(output));
    }
    return users();
  }

 private:
  Status fail(const Node* node, const std::string& sentence) const {
    std::string place = "fn " + graph_->name();
    if (node != nullptr) place += ": " + print_node(*node);
    return internal_error(fmt::format("verifier: {}: {}", place, sentence));
  }

  Status define(const Value* value, const Node* node) {
    if (!defined_.insert(value).second) return fail(node, "%" + value->name + " is defined twice");
    if (!names_.insert(value->name).second) return fail(node, "two values have the name %" + value->name);
    return Ok{};
  }

  static bool matches(const Arg& arg, const ArgSpec& spec, Stage stage) {
    using K = ArgKind;
    const bool none = is_none(arg);
    const bool number = std::holds_alternative<SymInt>(arg) || std::holds_alternative<double>(arg) ||
                        std::holds_alternative<bool>(arg) || std::holds_alternative<SymRatio>(arg);
    switch (spec.kind) {
      case K::Tensor:
        return std::holds_alternative<Value*>(arg) || (stage == Stage::Aten && number);
      case K::OptTensor:
        return none || std::holds_alternative<Value*>(arg) || (stage == Stage::Aten && number);
      case K::TensorList:
      case K::OptTensorList:
        return std::holds_alternative<ValueList>(arg);
      case K::Int:
        return std::holds_alternative<SymInt>(arg);
      case K::OptInt:
        return none || std::holds_alternative<SymInt>(arg);
      case K::IntList:
        return std::holds_alternative<IntList>(arg);
      case K::OptIntList:
        return none || std::holds_alternative<IntList>(arg);
      case K::Float:
        return std::holds_alternative<double>(arg) || std::holds_alternative<SymRatio>(arg);
      case K::OptFloat:
        return none || std::holds_alternative<double>(arg) || std::holds_alternative<SymRatio>(arg);
      case K::FloatList:
        return std::holds_alternative<std::vector<double>>(arg);
      case K::OptFloatList:
        return none || std::holds_alternative<std::vector<double>>(arg);
      case K::Bool:
        return std::holds_alternative<bool>(arg);
      case K::OptBool:
        return none || std::holds_alternative<bool>(arg);
      case K::BoolList:
        return std::holds_alternative<std::vector<bool>>(arg);
      case K::Scalar:
        return number || std::holds_alternative<Value*>(arg);
      case K::OptScalar:
        return none || number || std::holds_alternative<Value*>(arg);
      case K::String:
        return std::holds_alternative<std::string>(arg);
      case K::OptString:
        return none || std::holds_alternative<std::string>(arg);
      case K::ScalarType:
        return std::holds_alternative<DType>(arg);
      case K::OptScalarType:
        return none || std::holds_alternative<DType>(arg);
      case K::MemoryFormat:
        return std::holds_alternative<MemoryFormat>(arg);
      case K::OptMemoryFormat:
        return none || std::holds_alternative<MemoryFormat>(arg);
      case K::Ignored:
        return none;
    }
    return false;
  }

  Status node(const Node& n, bool delegate_body) {
    const Schema& schema = n.op->schema;
    if (n.args.size() != schema.args.size())
      return fail(&n, fmt::format("has {} arguments, the schema has {}", n.args.size(), schema.args.size()));
    for (size_t i = 0; i < n.args.size(); ++i) {
      if (!matches(n.args[i], schema.args[i], program_.stage))
        return fail(&n, "argument " + schema.args[i].name + " is of the wrong kind");
      Status ok = Ok{};
      for_each_value(n.args[i], [&](Value* value) {
        if (!defined_.contains(value)) ok = fail(&n, "uses %" + value->name + " before it is defined");
        ++uses_[value][&n];
      });
      EL_TRY_OK(std::move(ok));
      if (const auto* list = std::get_if<ValueList>(&n.args[i]);
          list != nullptr && schema.args[i].kind == ArgKind::TensorList)
        for (const Value* value : *list)
          if (value == nullptr) return fail(&n, "argument " + schema.args[i].name + " lists None");
    }
    for (size_t i = 0; i < n.results.size(); ++i) {
      const Value* result = n.results[i];
      if (result->producer != &n || result->index != i) return fail(&n, "result %" + result->name + " is not its own");
      EL_TRY_OK(define(result, &n));
    }
    if (n.op == &delegate_op()) return delegate(n);
    if (program_.stage != Stage::Aten && n.op->writes_args())
      return fail(&n, "writes its arguments, which the edge dialect does not allow");
    if (delegate_body && n.op->writes_args()) return fail(&n, "writes its arguments inside a delegate");
    auto types = ops_.infer(*n.op, n.args);
    if (!types.ok()) return fail(&n, types.error().message);
    if (types->size() != n.results.size())
      return fail(&n, fmt::format("has {} results, the shape rule gives {}", n.results.size(), types->size()));
    for (size_t i = 0; i < types->size(); ++i) {
      const Type& is = n.results[i]->type;
      const Type& rule = (*types)[i];
      bool same = is.kind == rule.kind && is.dtype == rule.dtype && is.sizes.size() == rule.sizes.size();
      for (size_t d = 0; same && d < is.sizes.size(); ++d)
        same = !(is.sizes[d].is_const() && rule.sizes[d].is_const()) || is.sizes[d] == rule.sizes[d];
      if (!same) return fail(&n, fmt::format("is of type {}, the shape rule gives {}", is.str(), rule.str()));
    }
    return Ok{};
  }

  Status delegate(const Node& n) {
    const auto index = static_cast<size_t>(std::get<SymInt>(n.args[0]).value());
    if (program_.stage != Stage::Partitioned) return fail(&n, "a delegate before partitioning");
    if (index >= program_.delegates.size()) return fail(&n, "calls a delegate that does not exist");
    const Graph* body = program_.delegates[index]->body.get();
    if (body == nullptr) return Ok{};
    const auto& operands = std::get<ValueList>(n.args[1]);
    if (operands.size() < body->inputs().size() || n.results.size() != body->outputs().size())
      return fail(&n, "does not fit the delegate's signature");
    for (size_t i = 0; i < n.results.size(); ++i)
      if (body->outputs()[i].value->type != n.results[i]->type)
        return fail(&n, "result %" + n.results[i]->name + " is of another type than the delegate's output");
    return Ok{};
  }

  Status output(const OutputSpec& output) const {
    if (output.value != nullptr && !defined_.contains(output.value))
      return fail(nullptr, "returns %" + output.value->name + ", which is not defined in it");
    switch (output.kind) {
      case OutputSpec::Kind::User:
        return Ok{};
      case OutputSpec::Kind::BufferMutation:
        if (output.value == nullptr || output.target == nullptr || !constants_.contains(output.target) ||
            !output.target->is_mutable)
          return fail(nullptr, "mutates something that is not a mutable constant of the program");
        if (output.value->type.sizes != output.target->type().sizes ||
            output.value->type.dtype != output.target->data.dtype())
          return fail(nullptr, "%" + output.value->name + " : " + output.value->type.str() + " does not fit buffer %" +
                                   output.target->name + " : " + output.target->type().str());
        return Ok{};
      case OutputSpec::Kind::InputMutation:
        if (output.value == nullptr || output.input >= graph_->inputs().size())
          return fail(nullptr, "mutates an input that does not exist");
        return Ok{};
    }
    return Ok{};
  }

  // The users list of every value holds exactly one entry a use.
  Status users() {
    for (const Value* value : defined_) {
      std::map<const Node*, size_t> listed;
      for (const Node* user : value->users) ++listed[user];
      const auto at = uses_.find(value);
      const bool same = at == uses_.end() ? listed.empty() : listed == at->second;
      if (!same) return fail(nullptr, "the users of %" + value->name + " are not its uses");
      const auto outputs = outputs_.find(value);
      if (value->times_output != (outputs == outputs_.end() ? 0 : outputs->second))
        return fail(nullptr, "%" + value->name + " is not as many outputs as it says");
    }
    return Ok{};
  }

  const Program& program_;
  const OpTable& ops_;
  const Graph* graph_ = nullptr;
  std::unordered_set<const Constant*> constants_;
  std::unordered_set<const Value*> defined_;
  std::unordered_set<std::string_view> names_;
  std::unordered_map<const Value*, std::map<const Node*, size_t>> uses_;
  std::unordered_map<const Value*, uint32_t> outputs_;
};

}  // namespace

Status verify(const Program& program, const OpTable& ops) {
  Verifier verifier(program, ops);
  if (program.methods.empty()) return internal_error("verifier: the program has no method");
  for (const auto& method : program.methods) EL_TRY_OK(verifier.graph(*method, false));
  for (const auto& delegate : program.delegates)
    if (delegate->body != nullptr) EL_TRY_OK(verifier.graph(*delegate->body, true));
  return Ok{};
}

}  // namespace edgelift::ir
