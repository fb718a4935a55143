// From in-place operators and writes through views to values that never change.
//
// Every value that may share memory with another belongs to a storage. The storage's root is the value that made the
// memory (a node's fresh result, an input, a constant); every other member is a canonical view of an earlier member. A
// write to a member gives it a new value, is carried back to the root through the inverses of the views, and makes all
// other members stale; a stale member is computed again from its parent when somebody reads it next. What the roots of
// inputs and constants hold at the end becomes a mutation of the program's signature.
#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/check.h"
#include "edge/strides.h"
#include "edge/table.h"
#include "ops/record.h"

namespace edgelift::edge {
namespace {

struct Member;

struct Storage {
  Value* root = nullptr;
  uint32_t generation = 0;  // counts the writes
};

struct Member {
  Storage* storage = nullptr;
  Member* parent = nullptr;    // null: the root
  const Node* view = nullptr;  // makes this member from the parent; null: the parent itself under another name
  uint32_t result = 0;         // which of view's results
  Value* current = nullptr;    // the value after the write of that generation
  uint32_t generation = 0;
};

bool is_view(const Node& node) {
  const std::string& base = node.op->base;
  if (node.op->ns != "aten") return false;
  static constexpr std::string_view kViews[] = {
      "view",  "permute",  "expand",     "slice",  "select", "squeeze", "unsqueeze",    "split_with_sizes", "unbind",
      "alias", "diagonal", "as_strided", "unfold", "real",   "imag",    "view_as_real", "view_as_complex"};
  for (const std::string_view view : kViews)
    if (base == view) return true;
  return false;
}

class Functionalizer {
 public:
  Functionalizer(ir::Program& program, ir::Graph& graph, const ir::OpTable& ops, bool upstream)
      : program_(program), graph_(graph), ops_(ops), rewriter_(program, graph, ops), upstream_(upstream) {}

  Status run() {
    for (Node* node = graph_.first(); node != nullptr;) {
      Node* next = node->next;
      EL_TRY_OK(visit(node));
      node = next;
    }
    return finish();
  }

 private:
  Error refuse(const Node& node, const std::string& sentence) const {
    std::string place = node.op->full_name();
    const std::string line = ir::place(node.origin);
    if (!line.empty()) place += " (" + line + ")";
    return input_error(place + " " + sentence);
  }

  Member* find(Value* value) {
    const auto at = members_.find(value);
    return at == members_.end() ? nullptr : at->second;
  }

  Member* member(Value* value) {
    Member*& slot = members_[value];
    if (slot == nullptr) {
      storages_.push_back({value, 0});
      Storage* storage = &storages_.back();
      owned_.push_back({storage, nullptr, nullptr, 0, value, 0});
      slot = &owned_.back();
    }
    return slot;
  }

  // The value of a member now; made before the insert point if it is stale.
  Value* fresh(Member* m) {
    std::vector<Member*> stale;
    for (; m->parent != nullptr && m->generation != m->storage->generation; m = m->parent) stale.push_back(m);
    Value* value = m->current;
    while (!stale.empty()) {
      Member* next = stale.back();
      stale.pop_back();
      value = next->view == nullptr ? value : apply_view(*next, value);
      next->current = value;
      next->generation = next->storage->generation;
    }
    return value;
  }

  Value* apply_view(const Member& m, Value* parent) {
    const Node& view = *m.view;
    const std::string name = view.op->full_name();
    rewriter_.set_origin(view.origin);
    // Of a split, only the part that is read is computed again.
    if (view.op->base == "split_with_sizes") {
      const auto [dim, start, end] = part_of(view, m.result);
      return rewriter_.make("slice.Tensor", {parent, SymInt(dim), start, end, SymInt(1)});
    }
    if (view.op->base == "unbind") {
      const int64_t dim = ops::Call(view).integer("dim");
      return rewriter_.make("select.int", {parent, SymInt(dim), SymInt(m.result)});
    }
    std::vector<Arg> args = view.args;
    args[0] = parent;
    return rewriter_.make(name, std::move(args));
  }

  struct Part {
    int64_t dim;
    SymInt start, end;
  };
  static Part part_of(const Node& split, uint32_t index) {
    const ops::Call call(split);
    const IntList& sizes = call.ints("split_sizes");
    SymInt start = 0;
    for (uint32_t i = 0; i < index; ++i) start = start + sizes[i];
    return {call.integer("dim"), start, start + sizes[index]};
  }

  // The parent's new value when the member made by `m.view` from `old` becomes `value`.
  Result<Value*> inverse(const Node& writer, const Member& m, Value* old, Value* value) {
    if (m.view == nullptr) return value;
    const Node& view = *m.view;
    const std::string& base = view.op->base;
    const ops::Call call(view);
    const Shape& sizes = old->type.sizes;
    if (base == "alias") return value;
    if (base == "view" && view.op->overload == "default") return rewriter_.make("view", {value, IntList(sizes)});
    if (base == "squeeze" || base == "unsqueeze") return rewriter_.make("view", {value, IntList(sizes)});
    if (base == "permute") {
      const auto dims = call.integers("dims");
      std::vector<int64_t> back(dims.size());
      for (size_t i = 0; i < dims.size(); ++i)
        back[static_cast<size_t>(*ops::normalize_dim(dims[i], old->type.rank()))] = static_cast<int64_t>(i);
      return rewriter_.make("permute", {value, int_list(back)});
    }
    if (base == "slice")
      return rewriter_.make("slice_scatter",
                            {old, value, call.arg("dim"), call.arg("start"), call.arg("end"), call.arg("step")});
    if (base == "select") return rewriter_.make("select_scatter", {old, value, call.arg("dim"), call.arg("index")});
    if (base == "split_with_sizes") {
      const auto [dim, start, end] = part_of(view, m.result);
      return rewriter_.make("slice_scatter", {old, value, SymInt(dim), start, end, SymInt(1)});
    }
    if (base == "unbind") return rewriter_.make("select_scatter", {old, value, call.arg("dim"), SymInt(m.result)});
    if (base == "diagonal")
      return rewriter_.make("diagonal_scatter", {old, value, call.arg("offset"), call.arg("dim1"), call.arg("dim2")});
    if (base == "expand" && old->type.sizes == value->type.sizes) return value;
    if (base == "expand" && old->type.sym_numel() == value->type.sym_numel())
      return rewriter_.make("view", {value, IntList(sizes)});
    return refuse(writer, "writes into the result of " + view.op->full_name() +
                              ", which cannot be turned into a functional form; write into a copy (clone) instead");
  }

  // The member takes a new value, and so does everything it shares memory with.
  Status write(const Node& writer, Value* target, Value* value) {
    Member* m = member(target);
    std::vector<Member*> chain;  // from the member to the root
    for (Member* c = m; c != nullptr; c = c->parent) chain.push_back(c);
    std::vector<Value*> old(chain.size());
    for (size_t i = chain.size(); i-- > 1;) old[i] = fresh(chain[i]);
    rewriter_.set_origin(writer.origin);
    std::vector<Value*> now(chain.size());
    now[0] = value;
    for (size_t i = 1; i < chain.size(); ++i) {
      EL_TRY(now[i], inverse(writer, *chain[i - 1], old[i], now[i - 1]));
    }
    Storage* storage = m->storage;
    ++storage->generation;
    for (size_t i = 0; i < chain.size(); ++i) {
      chain[i]->current = now[i];
      chain[i]->generation = storage->generation;
    }
    return Ok{};
  }

  Value* now(Value* value) {
    Member* m = find(value);
    return m == nullptr ? value : fresh(m);
  }

  Status visit(Node* node) {
    rewriter_.set_insert_point(node);
    for (size_t i = 0; i < node->args.size(); ++i) read(node, i);
    if (node->op->writes_args()) return write_node(node);
    if (!is_view(*node)) return Ok{};
    // The operand was replaced by its current value above; the member it belongs to is the original one.
    auto* parent = first_member_;
    if (parent == nullptr) parent = member(std::get<Value*>(node->args[0]));
    for (Value* result : node->results) add_view(result, parent, node, result->index);
    return Ok{};
  }

  void add_view(Value* result, Member* parent, const Node* view, uint32_t index) {
    owned_.push_back({parent->storage, parent, view, index, result, parent->storage->generation});
    members_[result] = &owned_.back();
  }

  // Gives the node the current values of its operands; remembers the member that the first argument named.
  void read(Node* node, size_t i) {
    if (i == 0) first_member_ = nullptr;
    const Arg& arg = node->args[i];
    if (const auto* value = std::get_if<Value*>(&arg)) {
      Member* m = find(*value);
      if (m == nullptr) return;
      if (i == 0) first_member_ = m;
      Value* current = fresh(m);
      rewriter_.set_origin(node->origin);
      // A written operand keeps its name here: write_node needs to know which value is the target.
      if (current != *value && !node->op->schema.args[i].written) graph_.set_arg(node, i, current);
    } else if (const auto* list = std::get_if<ValueList>(&arg)) {
      ValueList current = *list;
      bool changed = false;
      for (Value*& value : current) {
        if (value == nullptr) continue;
        Value* fresh_value = now(value);
        changed = changed || fresh_value != value;
        value = fresh_value;
      }
      rewriter_.set_origin(node->origin);
      if (changed) graph_.set_arg(node, i, std::move(current));
    }
  }

  Status write_node(Node* node) {
    const ir::Schema& schema = node->op->schema;
    size_t target_index = schema.args.size(), writes = 0;
    for (size_t i = 0; i < schema.args.size(); ++i) {
      if (!schema.args[i].written) continue;
      ++writes;
      if (target_index == schema.args.size()) target_index = i;
    }
    const auto* target_value = std::get_if<Value*>(&node->args[target_index]);
    if (writes != 1 || target_value == nullptr)
      return refuse(*node, "writes several of its arguments, which has no functional form here");
    Value* target = *target_value;
    Member* m = member(target);
    Value* old = fresh(m);
    rewriter_.set_origin(node->origin);
    const std::string& base = node->op->base;
    dead_.push_back(node);
    if (base == "detach_" || is_idle_dropout(*node)) {
      members_[node->results[0]] = m;
      return Ok{};
    }
    if (is_metadata_write(base)) return reshape_in_place(node, target, m, old);
    EL_TRY(Value * value, functional(node, target_index, old));
    EL_TRY_OK(write(*node, target, value));
    // The result is the target under another name. Its users find the current value when their turn comes; the node
    // itself goes at the end, when nobody uses it any more.
    for (Value* result : node->results) members_[result] = m;
    return Ok{};
  }

  // dropout_(train=false) writes nothing.
  static bool is_idle_dropout(const Node& node) {
    return node.op->base.ends_with("dropout_") && node.op->schema.index_of("train") >= 0 &&
           !ops::Call(node).flag("train");
  }

  static bool is_metadata_write(std::string_view base) {
    for (const std::string_view name : {"squeeze_", "unsqueeze_", "transpose_", "t_", "swapaxes_", "swapdims_"})
      if (base == name) return true;
    return false;
  }

  // x.unsqueeze_(0): from here on x names the view.
  Status reshape_in_place(Node* node, Value* target, Member* parent, Value* old) {
    const std::string& base = node->op->base;
    Value* view = nullptr;
    if (base == "unsqueeze_" || base == "squeeze_") {
      view = rewriter_.make("view", {old, IntList(node->results[0]->type.sizes)});
    } else {
      const int64_t rank = old->type.rank();
      auto dims = iota(rank);
      const auto dim = [&](size_t i) {
        return static_cast<size_t>(*ops::normalize_dim(std::get<SymInt>(node->args[i]).value(), rank));
      };
      if (base == "t_") {
        if (rank == 2) std::swap(dims[0], dims[1]);
      } else if (rank > 0) {
        std::swap(dims[dim(1)], dims[dim(2)]);
      }
      view = rewriter_.make("permute", {old, int_list(dims)});
    }
    add_view(view, parent, view->producer, 0);
    members_[target] = members_[node->results[0]] = members_[view];
    return Ok{};
  }

  // What the written argument holds afterwards.
  Result<Value*> functional(Node* node, size_t target_index, Value* old) {
    const std::string& base = node->op->base;
    std::vector<Arg> args = node->args;
    args[target_index] = old;
    for (size_t i = 0; i < args.size(); ++i)
      if (i != target_index)
        if (auto* v = std::get_if<Value*>(&args[i])) *v = now(*v);
    rewriter_.set_origin(node->origin);
    if (base == "copy_" && upstream_) return rewriter_.make("copy", {old, args[1]});
    if (base == "copy_") return fitted(std::get<Value*>(args[1]), old->type);
    if (base == "fill_" && node->op->overload == "Tensor") return fitted(std::get<Value*>(args[1]), old->type);
    if (base == "fill_") return full(old, args[1]);
    if (base == "zero_") return full(old, SymInt(0));
    if (base.size() < 2 || (base.back() != '_' && !base.starts_with("__i")))
      return refuse(*node, "writes its argument and has no functional form here");
    if (base == "fill_diagonal_") return fill_diagonal(*node, old);
    // relu_ -> relu; __iadd__ -> add; __iand__ -> __and__
    std::string twin = base.starts_with("__i") ? "__" + base.substr(3) : base.substr(0, base.size() - 1);
    std::string overload = node->op->overload;
    if (twin == "pow" || twin == "float_power") overload = overload == "Scalar" ? "Tensor_Scalar" : "Tensor_Tensor";
    if (twin == "floor_divide" && overload == "Tensor") overload = "default";
    const ir::Op* op = ops_.find("aten::" + twin + "." + overload);
    if (op == nullptr && base.starts_with("__i")) {
      twin = base.substr(3, base.size() - 5);
      op = ops_.find("aten::" + twin + "." + node->op->overload);
    }
    if (op == nullptr)
      return refuse(*node, "writes its argument, and edgelift knows no functional form aten::" + twin + "." +
                               node->op->overload + " of it");
    // The twin's arguments by name: some in-place forms have an argument less (generator …).
    std::vector<Arg> twin_args(op->schema.args.size());
    for (size_t i = 0; i < op->schema.args.size(); ++i) {
      // dropout_ calls self what dropout calls input.
      const int from = i == 0 ? 0 : node->op->schema.index_of(op->schema.args[i].name);
      twin_args[i] = from >= 0 ? args[static_cast<size_t>(from)] : op->schema.args[i].default_value;
    }
    EL_TRY(Node * made, rewriter_.try_create(op->full_name(), std::move(twin_args)));
    return fitted(made->result(), old->type);
  }

  // The diagonal of every dim at once; with wrap a tall matrix starts again after each square and a gap of one row.
  Result<Value*> fill_diagonal(const Node& node, Value* old) {
    const ops::Call call(node);
    if (!old->type.is_static())
      return refuse(node, "fills the diagonal of a dynamic shape, for which edgelift has no form");
    const auto shape = old->type.static_sizes();
    const int64_t columns = shape.at(1);
    const bool wrap = call.flag("wrap") && shape.size() == 2;
    std::vector<uint8_t> mask(static_cast<size_t>(*old->type.numel()), 0);
    int64_t step = 0;
    for (const int64_t stride : contiguous_strides(shape)) step += stride;
    const int64_t smallest = *std::min_element(shape.begin(), shape.end());
    const int64_t end = wrap ? static_cast<int64_t>(mask.size())
                             : std::min(static_cast<int64_t>(mask.size()), (smallest - 1) * step + 1);
    for (int64_t at = 0; at < end; at += wrap ? columns + 1 : step) mask[static_cast<size_t>(at)] = 1;
    Value* where = rewriter_.constant("diagonal", TensorData::of(DType::Bool, shape, mask));
    return rewriter_.make("masked_fill.Scalar", {old, where, call.arg("fill_value")});
  }

  Value* full(Value* old, const Arg& value) {
    if (upstream_) return rewriter_.make("full_like", {old, value});
    return rewriter_.make("full", {IntList(old->type.sizes), value}, {{"dtype", old->type.dtype}});
  }

  // What a tensor of `type` holds after copy_(value): converted and broadcast.
  Value* fitted(Value* value, const Type& type) {
    if (value->type.dtype != type.dtype) value = rewriter_.make("_to_copy", {value}, {{"dtype", type.dtype}});
    if (value->type.sizes != type.sizes) {
      const bool same = value->type.sizes.size() == type.sizes.size() &&
                        std::equal(type.sizes.begin(), type.sizes.end(), value->type.sizes.begin(), known_equal);
      if (!same) value = rewriter_.make("expand", {value, IntList(type.sizes)});
    }
    return value;
  }

  Status finish() {
    rewriter_.set_insert_point(nullptr);
    rewriter_.set_origin(nullptr);
    std::vector<ir::OutputSpec> outputs = graph_.outputs();
    for (auto& output : outputs)
      if (output.value != nullptr) output.value = now(output.value);
    graph_.set_outputs(outputs);
    for (size_t i = dead_.size(); i-- > 0;) graph_.erase(dead_[i]);
    std::vector<ir::OutputSpec> mutations;
    std::unordered_map<const Value*, Value*> written_roots;
    for (const Member& m : owned_)
      if (m.parent == nullptr && m.storage->generation > 0) written_roots.emplace(m.storage->root, m.current);
    const auto mutated = [&](const Value* value) -> Value* {
      const auto at = written_roots.find(value);
      return at == written_roots.end() ? nullptr : at->second;
    };
    // Constants first, then inputs, each in the order of the signature: the order of the exporter's own decomposition.
    std::vector<Value*> constants;
    for (Value* value : graph_.constants()) constants.push_back(value);
    for (Value* value : constants) {
      Value* last = mutated(value);
      if (last == nullptr) continue;
      ir::Constant* constant = program_.find_constant(value->constant->name);
      EL_CHECK(constant == value->constant, "a constant of another program");
      constant->is_mutable = true;
      ir::OutputSpec spec;
      spec.kind = ir::OutputSpec::Kind::BufferMutation;
      spec.value = last;
      spec.target = constant;
      mutations.push_back(std::move(spec));
      EL_TRY_OK(check_unshared(*constant));
    }
    for (Value* value : graph_.inputs()) {
      Value* last = mutated(value);
      if (last == nullptr) continue;
      ir::OutputSpec spec;
      spec.kind = ir::OutputSpec::Kind::InputMutation;
      spec.value = last;
      spec.input = value->index;
      mutations.push_back(std::move(spec));
    }
    if (mutations.empty()) return Ok{};
    outputs.insert(outputs.begin(), mutations.begin(), mutations.end());
    graph_.set_outputs(std::move(outputs));
    return Ok{};
  }

  // Two constants over the same bytes are tied in eager: a write to one would show in the other.
  Status check_unshared(const ir::Constant& written) const {
    const auto storage = written.data.storage();
    if (storage.empty()) return Ok{};
    for (const Value* other : graph_.constants()) {
      if (other->constant == &written || other->users.empty()) continue;
      const auto bytes = other->constant->data.storage();
      if (bytes.data() < storage.data() + storage.size() && storage.data() < bytes.data() + bytes.size())
        return input_error("buffer " + written.name + " is written by the program and shares its memory with " +
                           other->constant->name + "; give one of them a copy before exporting");
    }
    return Ok{};
  }

  ir::Program& program_;
  ir::Graph& graph_;
  const ir::OpTable& ops_;
  ir::Rewriter rewriter_;
  std::unordered_map<Value*, Member*> members_;
  std::deque<Storage> storages_;
  std::deque<Member> owned_;
  std::vector<Node*> dead_;  // the in-place nodes, replaced by functional ones
  Member* first_member_ = nullptr;
  bool upstream_;
};

bool writes(const ir::Graph& graph) {
  for (const Node* node = graph.first(); node != nullptr; node = node->next)
    if (node->op->writes_args()) return true;
  return false;
}

}  // namespace

Status functionalize(ir::Program& program, const ir::OpTable& ops, const EdgeOptions& options) {
  // Canonical views first: functionalisation knows the inverses of those only.
  const auto pick = [](const Node& node) -> const Entry* {
    infer_view_strides(node);
    const Entry* entry = find_entry(node.op);
    return entry != nullptr && (entry->when & kView) != 0 ? entry : nullptr;
  };
  EL_TRY_OK(apply(program, ops, options, pick));
  for (const auto& method : program.methods)
    if (writes(*method)) EL_TRY_OK(Functionalizer(program, *method, ops, options.upstream).run());
  return Ok{};
}

}  // namespace edgelift::edge
