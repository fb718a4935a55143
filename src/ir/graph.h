// The program: constants, and one graph (method) or several, each a list of nodes in execution order.
//
// Ownership: a Graph owns its nodes and values, a Program its constants, graphs and delegates. Pointers stay valid
// until the thing is erased. Only Rewriter (rewriter.h), the importer and the parser change a graph.
//
// Symbolic sizes are expressions (SymInt), not values: there are no sym_size or arithmetic nodes. Emission computes the
// expressions that a kernel call needs from the sizes of the inputs. A node that produces a new number (item) has a
// result of kind Int whose Value::symbol names the symbol that stands for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/tensor_data.h"
#include "ir/arg.h"
#include "ir/op.h"
#include "ir/pool.h"
#include "ir/type.h"
#include "ir/users.h"

namespace edgelift::ir {

class Graph;
class Node;
struct Program;

// Where a node came from. The strings are views into the archive's JSON, escaped as they stand there; origin.h decodes.
struct OriginData {
  uint32_t debug_handle = 0;      // index of the exported node + 1; 0 = none
  std::string node_name;          // name of the exported node
  std::string_view stack_trace;   // raw JSON string body, or empty
  std::string_view module_stack;  // raw JSON string body, or empty
};
using Origin = std::shared_ptr<const OriginData>;  // may be null: made by the compiler from nothing

// "model.py:12" of the innermost frame that is the user's, or "" if unknown.
std::string source_line(const Origin& origin);
// "blocks.0.attn" or "".
std::string module_path(const Origin& origin);
// For messages, the best that is known: "model.py:12", else "module blocks.0.attn", else "node linear_3", or "".
std::string place(const Origin& origin);

struct Constant {
  std::string name;  // unique in the program; FQN of the state dict where there is one
  TensorData data;
  // A buffer that the forward pass mutates: the data is its initial value. A mutable constant is never folded, shared
  // or moved into a delegate.
  bool is_mutable = false;
  // How the text form wrote it, where that is not its elements: random(seed=3), @"name". Printed back as it stands.
  std::string text;
  Type type() const;
};

class Value {
 public:
  std::string name;  // unique in the graph
  Type type;
  Node* producer = nullptr;            // null for inputs and constants
  uint32_t index = 0;                  // which result of producer, or which input
  uint32_t times_output = 0;           // as how many of the graph's outputs; kept by Graph
  const Constant* constant = nullptr;  // the value is this constant
  SymbolPtr symbol;                    // kind Int: the symbol that stands for it in SymInts
  // Inputs that are no tensors: the number, flag or text that was fixed at export (the runtime takes no other). The
  // call has a slot for it all the same.
  Arg literal;
  // Strides in elements that eager PyTorch gave the value, from the archive's tensor_values; empty when row-major or
  // not known. Only to_edge reads them, to tell whether reshape, contiguous and to returned a view.
  std::vector<SymInt> strides;
  Users users;  // as an operand; not as an output of the graph

  bool is_input() const { return producer == nullptr && constant == nullptr; }
  bool is_constant() const { return constant != nullptr; }
};

class Node {
 public:
  const Op* op = nullptr;
  std::vector<Arg> args;
  std::vector<Value*> results;  // a Tensor[] result is as many results; types may be unused but are always present
  Origin origin;
  Graph* graph = nullptr;
  Node* prev = nullptr;
  Node* next = nullptr;
  // Position hint: strictly increasing along the list; renumbered by Graph when gaps are used up.
  uint64_t order = 0;
  int32_t partition = -1;  // set by the partitioner

  Value* result() const { return results.at(0); }
  bool is(std::string_view base, std::string_view overload = "default") const { return op->is(base, overload); }
  const Arg& arg(std::string_view name) const;
  std::vector<Value*> operands() const;  // every operand occurrence, None left out
};

// What the caller of a method passes and gets, in flattening order.
struct OutputSpec {
  enum class Kind : uint8_t { User, BufferMutation, InputMutation } kind = Kind::User;
  Value* value = nullptr;            // null with Kind::User: a literal or None, see literal
  Arg literal;                       // None, int, float, bool, string; an int or float may depend on sizes
  const Constant* target = nullptr;  // BufferMutation: the mutable constant that takes value
  uint32_t input = 0;                // InputMutation: which input takes value
};

class Graph {
 public:
  explicit Graph(std::string name) : name_(std::move(name)) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  const std::string& name() const { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }
  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<OutputSpec>& outputs() const { return outputs_; }
  // The values of constants that this graph mentions, in order of first mention.
  const std::vector<Value*>& constants() const { return constants_; }

  // Iteration in execution order. Erasing the current node is allowed if its successor was taken first.
  Node* first() const { return head_; }
  Node* last() const { return tail_; }
  size_t node_count() const { return node_count_; }
  template <class F>
  void each(F&& f) const {
    for (Node* n = head_; n != nullptr;) {
      Node* next = n->next;
      f(*n);
      n = next;
    }
  }
  static bool is_output(const Value* value) { return value->times_output != 0; }

  // Construction (importer, parser, rewriter only).
  Value* add_input(std::string name, Type type);
  Value* constant_value(const Constant* constant);  // the graph's value for it, made at first use
  // Appends before `before` (null: at the end). Results are made by the types; names are made unique.
  Node* insert(const Op* op, std::vector<Arg> args, std::vector<Type> result_types, Node* before,
               std::vector<std::string> names = {});
  void add_output(OutputSpec output);
  void set_outputs(std::vector<OutputSpec> outputs);
  void erase(Node* node);                           // no result may have users or be an output
  void set_arg(Node* node, size_t index, Arg arg);  // keeps users up to date
  void replace_uses(Value* from, Value* to);        // operands and outputs
  void move_before(Node* node, Node* before);       // null: to the end
  void remove_unused_constants();
  void set_inputs(std::vector<Value*> inputs);  // a reordering or subset of inputs without users left out
  std::string unique_name(std::string wish);
  void rename(Value* value, std::string wish);
  void renumber();

 private:
  void link(Node* node, Node* before);
  void unlink(Node* node);
  void add_uses(Node* node, size_t index);
  void drop_uses(Node* node, size_t index);

  std::string name_;
  std::vector<Value*> inputs_, constants_;
  std::vector<OutputSpec> outputs_;
  std::unordered_map<const Value*, std::vector<uint32_t>> output_places_;  // where in outputs_
  std::unordered_map<const Constant*, Value*> constant_values_;
  std::unordered_map<std::string, uint32_t> names_;
  Node* head_ = nullptr;
  Node* tail_ = nullptr;
  size_t node_count_ = 0;
  Pool<Node> nodes_;
  Pool<Value> values_;
};

struct Delegate {
  std::string name;             // xnn0 …
  std::unique_ptr<Graph> body;  // inputs parallel to the call's operands, outputs to its results
};

enum class Stage : uint8_t { Aten, Edge, Transformed, Partitioned };

struct Program {
  Stage stage = Stage::Aten;
  std::vector<std::unique_ptr<Graph>> methods;  // forward first
  std::vector<std::unique_ptr<Constant>> constants;
  std::vector<std::unique_ptr<Delegate>> delegates;
  std::shared_ptr<const void> archive;  // keeps Origin's strings and the constants' bytes alive
  std::string source;                   // file name for messages

  Graph& forward() const { return *methods.at(0); }
  // Adds a constant; the name is made unique.
  Constant* add_constant(std::string name, TensorData data, bool is_mutable = false);
  Constant* find_constant(std::string_view name) const;
  // Drops constants that no graph or delegate mentions.
  void remove_unused_constants();
  // Takes over the methods, constants and delegates of another program; delegate calls are renumbered.
  void absorb(Program&& other);

 private:
  std::string unique_constant_name(const std::string& wish);

  std::unordered_map<std::string, Constant*> by_name_;
  std::unordered_map<std::string, uint32_t> last_number_;  // wish_N: no lower N is free
};

}  // namespace edgelift::ir
