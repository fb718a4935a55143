// The only way for a pass to change a graph. It keeps users up to date, infers result types by the operator's shape
// rule, and gives what it creates the origin of what it replaces.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace edgelift::ir {

// Services that src/ops provides to the rewriter and the parser.
class OpTable {
 public:
  virtual ~OpTable() = default;
  virtual const Op* find(std::string_view full_or_text_name) const = 0;
  // The types of the results by the operator's shape rule. Error: one sentence, without the node's name.
  virtual Result<std::vector<Type>> infer(const Op& op, const std::vector<Arg>& args) const = 0;
  // Must not be removed though unused: writes its arguments or has another effect.
  virtual bool has_effect(const Op& op) const { return op.writes_args(); }
};

class Rewriter {
 public:
  Rewriter(Program& program, Graph& graph, const OpTable& ops) : program_(program), graph_(graph), ops_(ops) {}

  Program& program() { return program_; }
  Graph& graph() { return graph_; }
  const OpTable& ops() const { return ops_; }

  // New nodes go before this one (null: at the end of the graph) and take its origin unless set_origin was called.
  void set_insert_point(Node* before);
  void set_origin(Origin origin) { origin_ = std::move(origin); }

  struct Named {
    std::string_view name;
    Arg value;
  };
  // create("mul.Tensor", {x, y}): positional arguments in schema order, then named ones; the rest are defaults. An
  // unknown operator or arguments that break its shape rule are a Bug: a pass builds only what it knows to be valid.
  Node* create(std::string_view op, std::vector<Arg> positional, std::initializer_list<Named> named = {});
  Value* make(std::string_view op, std::vector<Arg> positional, std::initializer_list<Named> named = {}) {
    return create(op, std::move(positional), named)->result();
  }
  // The same, but a broken shape rule is an Error: for arguments that come from the input.
  Result<Node*> try_create(std::string_view op, std::vector<Arg> positional, std::initializer_list<Named> named = {});

  // A program constant and the graph's value for it.
  Value* constant(std::string name_wish, TensorData data);
  // The shared rank-0 constant of dtype holding value; equal literals share one.
  Value* scalar(DType dtype, double value);
  Value* scalar(DType dtype, int64_t value);

  // Every use of `from` becomes a use of `to`; `to` takes over the name when `from` is a graph output. The types must
  // agree (a Bug otherwise), except in dim order and in how a symbolic size is written.
  void replace(Value* from, Value* to);
  void set_arg(Node* node, std::string_view name, Arg value);
  void erase(Node* node) { graph_.erase(node); }
  // Erases node and everything that only it used, backwards.
  void erase_dead(Node* node);
  // Removes every node without uses and effects in the whole graph; true if there was one.
  bool remove_dead_code();

 private:
  Program& program_;
  Graph& graph_;
  const OpTable& ops_;
  Node* before_ = nullptr;
  Origin origin_;
};

}  // namespace edgelift::ir
