#include "ir/graph.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/check.h"

namespace edgelift::ir {

namespace {
constexpr uint64_t kOrderStep = 1u << 20;
}

Type Constant::type() const {
  Shape sizes;
  for (int64_t size : data.sizes()) sizes.emplace_back(size);
  return Type::tensor(data.dtype(), std::move(sizes));
}

const Arg& Node::arg(std::string_view name) const {
  const int index = op->schema.index_of(name);
  EL_CHECK(index >= 0, op->full_name() + " has no argument " + std::string(name));
  return args.at(static_cast<size_t>(index));
}

std::vector<Value*> Node::operands() const {
  std::vector<Value*> out;
  for (const Arg& arg : args) for_each_value(arg, [&](Value* value) { out.push_back(value); });
  return out;
}

Graph::~Graph() {
  for (Node* node = head_; node != nullptr;) {
    Node* next = node->next;
    for (Value* result : node->results) values_.destroy(result);
    nodes_.destroy(node);
    node = next;
  }
  for (Value* value : inputs_) values_.destroy(value);
  for (Value* value : constants_) values_.destroy(value);
}

void Graph::add_output(OutputSpec output) {
  if (output.value != nullptr) {
    ++output.value->times_output;
    output_places_[output.value].push_back(static_cast<uint32_t>(outputs_.size()));
  }
  outputs_.push_back(std::move(output));
}

void Graph::set_outputs(std::vector<OutputSpec> outputs) {
  for (const OutputSpec& output : outputs_)
    if (output.value != nullptr) output.value->times_output = 0;
  outputs_.clear();
  output_places_.clear();
  for (OutputSpec& output : outputs) add_output(std::move(output));
}

std::string Graph::unique_name(std::string wish) {
  if (wish.empty()) wish = "v";
  const auto [at, fresh] = names_.try_emplace(wish, 0);
  if (fresh) return wish;
  // A counter for each base keeps this linear over many equal wishes.
  for (;;) {
    std::string name = wish + "_" + std::to_string(++names_[wish]);
    if (names_.try_emplace(name, 0).second) return name;
  }
}

void Graph::rename(Value* value, std::string wish) {
  names_.erase(value->name);
  value->name = unique_name(std::move(wish));
}

Value* Graph::add_input(std::string name, Type type) {
  Value* value = values_.make();
  value->name = unique_name(std::move(name));
  value->type = std::move(type);
  value->index = static_cast<uint32_t>(inputs_.size());
  inputs_.push_back(value);
  return value;
}

Value* Graph::constant_value(const Constant* constant) {
  const auto [at, fresh] = constant_values_.try_emplace(constant, nullptr);
  if (!fresh) return at->second;
  Value* value = values_.make();
  value->name = unique_name(constant->name);
  value->type = constant->type();
  value->constant = constant;
  at->second = value;
  constants_.push_back(value);
  return value;
}

namespace {
template <class F>
void for_each_use(Node* node, size_t index, F&& f) {
  const Arg& arg = node->args[index];
  const auto place = static_cast<uint32_t>(index);
  if (const auto* value = std::get_if<Value*>(&arg)) {
    f(*value, Use{node, place, 0});
  } else if (const auto* list = std::get_if<ValueList>(&arg)) {
    for (size_t i = 0; i < list->size(); ++i)
      if ((*list)[i] != nullptr) f((*list)[i], Use{node, place, static_cast<uint32_t>(i)});
  }
}
}  // namespace

void Graph::add_uses(Node* node, size_t index) {
  for_each_use(node, index, [](Value* value, const Use& use) { value->users.add(use); });
}

void Graph::drop_uses(Node* node, size_t index) {
  for_each_use(node, index, [](Value* value, const Use& use) {
    EL_CHECK(value->users.remove(use), "a use that is not in the users of %" + value->name);
  });
}

void Graph::link(Node* node, Node* before) {
  Node* prev = before == nullptr ? tail_ : before->prev;
  node->prev = prev;
  node->next = before;
  (prev == nullptr ? head_ : prev->next) = node;
  (before == nullptr ? tail_ : before->prev) = node;
  ++node_count_;
  const uint64_t low = prev == nullptr ? 0 : prev->order;
  if (before == nullptr) {
    node->order = low + kOrderStep;
  } else if (before->order - low >= 2) {
    node->order = low + (before->order - low) / 2;
  } else {
    renumber();
  }
}

void Graph::unlink(Node* node) {
  (node->prev == nullptr ? head_ : node->prev->next) = node->next;
  (node->next == nullptr ? tail_ : node->next->prev) = node->prev;
  node->prev = node->next = nullptr;
  --node_count_;
}

void Graph::renumber() {
  uint64_t order = 0;
  for (Node* node = head_; node != nullptr; node = node->next) node->order = (order += kOrderStep);
}

Node* Graph::insert(const Op* op, std::vector<Arg> args, std::vector<Type> result_types, Node* before,
                    std::vector<std::string> names) {
  Node* node = nodes_.make();
  node->op = op;
  node->args = std::move(args);
  node->graph = this;
  for (size_t i = 0; i < result_types.size(); ++i) {
    Value* value = values_.make();
    value->name = unique_name(i < names.size() && !names[i].empty() ? std::move(names[i]) : op->base);
    value->type = std::move(result_types[i]);
    value->producer = node;
    value->index = static_cast<uint32_t>(i);
    node->results.push_back(value);
  }
  for (size_t i = 0; i < node->args.size(); ++i) add_uses(node, i);
  link(node, before);
  return node;
}

void Graph::erase(Node* node) {
  for (Value* result : node->results)
    EL_CHECK(result->users.empty() && !is_output(result), "erasing %" + result->name + ", which is used");
  for (size_t i = 0; i < node->args.size(); ++i) drop_uses(node, i);
  unlink(node);
  for (Value* result : node->results) {
    names_.erase(result->name);
    values_.destroy(result);
  }
  nodes_.destroy(node);
}

void Graph::set_arg(Node* node, size_t index, Arg arg) {
  EL_CHECK(index < node->args.size(), "an argument that the node does not have");
  drop_uses(node, index);
  node->args[index] = std::move(arg);
  add_uses(node, index);
}

void Graph::replace_uses(Value* from, Value* to) {
  if (from == to) return;
  for (const Use& use : from->users.take()) {
    Arg& arg = use.node->args[use.arg];
    if (auto* value = std::get_if<Value*>(&arg)) {
      *value = to;
    } else {
      std::get<ValueList>(arg)[use.item] = to;
    }
    to->users.add(use);
  }
  if (from->times_output == 0) return;
  std::vector<uint32_t> places = std::move(output_places_.at(from));
  output_places_.erase(from);
  for (const uint32_t place : places) outputs_[place].value = to;
  to->times_output += std::exchange(from->times_output, 0);
  std::vector<uint32_t>& all = output_places_[to];
  all.insert(all.end(), places.begin(), places.end());
}

void Graph::move_before(Node* node, Node* before) {
  if (node == before || node->next == before) return;
  unlink(node);
  link(node, before);
}

void Graph::remove_unused_constants() {
  std::vector<Value*> kept;
  for (Value* value : constants_) {
    if (!value->users.empty() || is_output(value)) {
      kept.push_back(value);
      continue;
    }
    constant_values_.erase(value->constant);
    names_.erase(value->name);
    values_.destroy(value);
  }
  constants_ = std::move(kept);
}

void Graph::set_inputs(std::vector<Value*> inputs) {
  const std::unordered_set<const Value*> kept(inputs.begin(), inputs.end());
  for (Value* value : inputs_) {
    if (kept.contains(value)) continue;
    EL_CHECK(value->users.empty() && !is_output(value), "dropping input %" + value->name + ", which is used");
    names_.erase(value->name);
    values_.destroy(value);
  }
  inputs_ = std::move(inputs);
  for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i]->index = static_cast<uint32_t>(i);
}

std::string Program::unique_constant_name(const std::string& wish) {
  if (!by_name_.contains(wish)) return wish;
  // The counter keeps this linear over many equal wishes.
  for (uint32_t& number = last_number_[wish];;) {
    std::string name = wish + "_" + std::to_string(++number);
    if (!by_name_.contains(name)) return name;
  }
}

Constant* Program::add_constant(std::string name, TensorData data, bool is_mutable) {
  if (name.empty()) name = "const";
  std::string unique = unique_constant_name(name);
  auto constant = std::make_unique<Constant>();
  constant->name = unique;
  constant->data = std::move(data);
  constant->is_mutable = is_mutable;
  Constant* out = constant.get();
  by_name_.emplace(std::move(unique), out);
  constants.push_back(std::move(constant));
  return out;
}

Constant* Program::find_constant(std::string_view name) const {
  const auto at = by_name_.find(std::string(name));
  return at == by_name_.end() ? nullptr : at->second;
}

void Program::absorb(Program&& other) {
  const auto first = static_cast<int64_t>(delegates.size());
  for (auto& graph : other.methods) {
    for (Node* node = graph->first(); node != nullptr; node = node->next) {
      if (node->op != &delegate_op()) continue;
      const int64_t index = std::get<SymInt>(node->args[0]).value();
      graph->set_arg(node, 0, SymInt(index + first));
    }
    methods.push_back(std::move(graph));
  }
  for (auto& constant : other.constants) {
    constant->name = unique_constant_name(constant->name);
    by_name_.emplace(constant->name, constant.get());
    constants.push_back(std::move(constant));
  }
  for (auto& delegate : other.delegates) {
    delegate->name = "xnn" + std::to_string(delegates.size());
    delegates.push_back(std::move(delegate));
  }
  // Both archives stay alive.
  if (other.archive != nullptr)
    archive = archive == nullptr
                  ? std::move(other.archive)
                  : std::make_shared<const std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
                        std::move(archive), std::move(other.archive));
  other = Program();
}

void Program::remove_unused_constants() {
  std::unordered_set<const Constant*> used;
  const auto visit = [&](Graph& graph) {
    graph.remove_unused_constants();
    for (const Value* value : graph.constants()) used.insert(value->constant);
    for (const OutputSpec& output : graph.outputs())
      if (output.target != nullptr) used.insert(output.target);
  };
  for (const auto& method : methods) visit(*method);
  for (const auto& delegate : delegates)
    if (delegate->body) visit(*delegate->body);
  std::erase_if(constants, [&](const std::unique_ptr<Constant>& constant) {
    if (used.contains(constant.get())) return false;
    by_name_.erase(constant->name);
    last_number_.clear();
    return true;
  });
}

}  // namespace edgelift::ir
