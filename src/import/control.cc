// Sub-graphs: regions that are inlined, both branches of cond, the unrolled bodies of map and scan.
//
// cond becomes its two branches, one after the other, and aten::where.self(pred, a, b) for each output. That is exact,
// also for NaN and infinity, because a branch has no effect but its outputs: it must not write its arguments, and
// where copies the elements of one side and computes nothing with the other's. What is left is an operator that fails
// on the data which the predicate keeps away from it (an index out of range, an integer division by zero): such
// branches are refused. The cost is the time of both branches, whichever is taken, and the memory of the larger.
//
// map and scan of n steps become n copies of their body, on x.select(0, i). dim and reverse of torch's scan are flips
// and transposes outside the operator, so that it runs over dim 0 and forwards only.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "import/importer.h"

namespace edgelift::importer {

using archive::show;

namespace {

constexpr int64_t kMostSteps = 256;
// Of all copies of bodies in a program: nested loops multiply, and a file of a few kilobytes can nest sixteen.
constexpr size_t kMostUnrolledNodes = 100'000;

// The names that a node gives its results; without data where it is None or a literal.
std::vector<std::string_view> output_names(const RawNode& node) {
  std::vector<std::string_view> out;
  for (const RawArg& arg : node.outputs) {
    if (const auto* tensor = std::get_if<TensorArg>(&arg)) {
      out.push_back(tensor->name);
    } else if (const auto* list = std::get_if<TensorsArg>(&arg)) {
      out.insert(out.end(), list->names.begin(), list->names.end());
    } else if (const auto* symbolic = std::get_if<SymArg>(&arg)) {
      out.push_back(symbolic->name);
    } else {
      out.emplace_back();
    }
  }
  return out;
}

bool known_equal(const SymInt& a, const SymInt& b) {
  if (a == b) return true;
  const SymValue args[] = {a, b};
  const SymValue equal = sym_apply("eq", args);
  return std::holds_alternative<bool>(equal) && std::get<bool>(equal);
}

bool same_type(const ir::Type& a, const ir::Type& b) {
  return a.dtype == b.dtype && std::equal(a.sizes.begin(), a.sizes.end(), b.sizes.begin(), b.sizes.end(), known_equal);
}

bool same_number(const SymValue& a, const SymValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* size = std::get_if<SymInt>(&a)) return *size == std::get<SymInt>(b);
  if (const auto* ratio = std::get_if<ir::SymRatio>(&a)) return *ratio == std::get<ir::SymRatio>(b);
  if (const auto* flag = std::get_if<bool>(&a)) return *flag == std::get<bool>(b);
  return false;
}

// Whether the operator fails for some elements of its operands, which are not known here.
bool fails_on_data(const ir::Node& node) {
  const ir::Op& op = *node.op;
  const auto computed = [&](int arg) {
    bool out = false;
    if (arg >= 0) {
      ir::for_each_value(node.args[static_cast<size_t>(arg)],
                         [&](const ir::Value* value) { out = out || !value->is_constant(); });
    }
    return out;
  };
  if (computed(op.schema.index_of("index")) || computed(op.schema.index_of("indices"))) return true;
  const bool class_numbers = op.base == "one_hot" || op.base.starts_with("nll_loss") || op.base == "cross_entropy_loss";
  if (op.base.starts_with("_assert_async") || class_numbers) return true;
  constexpr std::array<std::string_view, 8> kDivisions = {"div",       "div_",       "divide", "floor_divide",
                                                          "remainder", "remainder_", "fmod",   "floor_divide_"};
  return std::find(kDivisions.begin(), kDivisions.end(), op.base) != kDivisions.end() && !node.results.empty() &&
         is_integer(node.results[0]->type.dtype) && computed(op.schema.index_of("other"));
}

// A number that it reads from data, or a size: a symbol of which there can be only one in a program.
bool makes_symbol(const ir::Node& node) {
  std::unordered_set<std::string> known;
  const auto learn = [&](const SymInt& size) {
    if (!size.is_const())
      for (const SymbolPtr& symbol : size.symbols()) known.insert(symbol->name);
  };
  bool collected = false;
  const auto collect = [&] {
    collected = true;
    for (const ir::Arg& arg : node.args) {
      ir::for_each_value(arg, [&](const ir::Value* value) {
        for (const SymInt& size : value->type.sizes) learn(size);
      });
      if (const auto* size = std::get_if<SymInt>(&arg)) learn(*size);
      if (const auto* list = std::get_if<ir::IntList>(&arg))
        for (const SymInt& size : *list) learn(size);
    }
  };
  for (const ir::Value* result : node.results) {
    if (!result->type.is_tensor()) return true;
    for (const SymInt& size : result->type.sizes) {
      if (size.is_const()) continue;
      if (!collected) collect();
      for (const SymbolPtr& symbol : size.symbols())
        if (!known.contains(symbol->name)) return true;
    }
  }
  return false;
}

}  // namespace

bool is_control_flow(std::string_view name) { return name == "cond" || name == "map_impl" || name == "scan"; }

// Appends what an argument holds: one value, or each of a list. What is neither tensor nor number does no harm until
// something uses it.
Status Importer::operands(const RawArg& raw, Scope& scope, std::vector<Bound>& out) {
  const auto add_number = [&](SymValue number) {
    Bound bound;
    bound.number = std::move(number);
    out.push_back(std::move(bound));
  };
  const auto add_tensor = [&](std::string_view name) -> Status {
    if (name.data() == nullptr) {
      add_number(Opaque{SymKind::Int, "it is None"});
      return Ok{};
    }
    EL_TRY(const Bound* const bound, lookup(name, scope));
    out.push_back(*bound);
    return Ok{};
  };
  if (const auto* tensor = std::get_if<TensorArg>(&raw)) return add_tensor(tensor->name);
  if (const auto* tensors = std::get_if<TensorsArg>(&raw)) {
    for (const std::string_view name : tensors->names) EL_TRY_OK(add_tensor(name));
    return Ok{};
  }
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&raw)) {
    for (const int64_t item : *ints) add_number(SymInt(item));
    return Ok{};
  }
  if (const auto* symbols = std::get_if<SymsArg>(&raw)) {
    for (const SymArg& item : symbols->items) {
      EL_TRY(SymValue number, number_of(RawArg(item), scope));
      add_number(std::move(number));
    }
    return Ok{};
  }
  if (std::holds_alternative<int64_t>(raw) || std::holds_alternative<double>(raw) ||
      std::holds_alternative<bool>(raw) || std::holds_alternative<SymArg>(raw)) {
    EL_TRY(SymValue number, number_of(raw, scope));
    add_number(std::move(number));
    return Ok{};
  }
  add_number(Opaque{SymKind::Int, fmt::format("it is {}", tag_of(raw))});
  return Ok{};
}

// The nodes of the sub-graph at the end of the graph that is built; its outputs, flattened.
Result<std::vector<Importer::Bound>> Importer::inline_graph(const RawGraph& sub, const std::vector<Bound>& given) {
  if (sub.inputs.size() != given.size()) {
    return fail(fmt::format("the sub-graph has {} inputs, {} operands are given", sub.inputs.size(), given.size()));
  }
  Scope inner;
  inner.raw = &sub;
  for (size_t i = 0; i < given.size(); ++i) {
    const bool is_number = given[i].kind == Bound::Kind::Number;
    if (const auto* tensor = std::get_if<TensorArg>(&sub.inputs[i])) {
      if (is_number) return fail(fmt::format("operand {} is a number, the sub-graph takes a tensor", i));
      EL_TRY_OK(define(inner, tensor->name, given[i]));
    } else if (const auto* symbolic = std::get_if<SymArg>(&sub.inputs[i]); symbolic != nullptr && symbolic->is_name()) {
      if (!is_number) return fail(fmt::format("operand {} is a tensor, the sub-graph takes a number", i));
      EL_TRY_OK(define(inner, symbolic->name, given[i]));
    }
  }
  EL_TRY_OK(build(sub, inner));
  std::vector<Bound> out;
  for (const RawArg& output : sub.outputs) EL_TRY_OK(operands(output, inner, out));
  return out;
}

Status Importer::inlined_node(const RawNode& raw, size_t graph_index, Scope& scope) {
  std::vector<Bound> given;
  for (size_t i = graph_index + 1; i < raw.inputs.size(); ++i) EL_TRY_OK(operands(raw.inputs[i].value, scope, given));
  EL_TRY(const std::vector<Bound> results,
         inline_graph(*std::get<GraphArg>(raw.inputs[graph_index].value).graph, given));
  return define_all(raw, results, scope);
}

Status Importer::define_all(const RawNode& raw, const std::vector<Bound>& results, Scope& scope) {
  const std::vector<std::string_view> names = output_names(raw);
  if (results.size() != names.size())
    return fail(fmt::format("the sub-graph has {} outputs, the node {}", results.size(), names.size()));
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].data() != nullptr) EL_TRY_OK(define(scope, names[i], results[i]));
  }
  return Ok{};
}

Result<ir::Value*> Importer::tensor_of(const Bound& bound, std::string_view what) {
  if (bound.kind == Bound::Kind::Tensor) return bound.tensor;
  if (bound.kind == Bound::Kind::Weight) return constant_of(bound.weight);
  return fail(fmt::format("{} is not a tensor", what));
}

// A node that the file does not have. `recorded`: the name in `scope` of what it computes, whose type the file tells.
Result<ir::Value*> Importer::emit(std::string_view name, std::vector<ir::Arg> args, std::string wish,
                                  std::string_view recorded, Scope& scope) {
  const ir::Op* op = ops_.find(name);
  EL_CHECK(op != nullptr && args.size() <= op->schema.args.size(), std::string(name));
  for (size_t i = args.size(); i < op->schema.args.size(); ++i) args.push_back(op->schema.args[i].default_value);
  Result<std::vector<ir::Type>> types = infer(*op, args);
  if (!types) return fail(types.error().message);
  std::vector<SymInt> strides;
  if (recorded.data() != nullptr) {
    const auto meta = scope.raw->tensors.find(recorded);
    if (meta == scope.raw->tensors.end())
      return fail(fmt::format("result {} has no entry in tensor_values", show(recorded)));
    EL_TRY((*types)[0], check_type(meta->second, (*types)[0], recorded));
    strides = eager_strides(meta->second, (*types)[0]);
  }
  ir::Node* node = graph_->insert(op, std::move(args), std::move(*types), nullptr, {std::move(wish)});
  node->origin = here_.origin;
  node->result()->strides = std::move(strides);
  track_writes(*node);
  return node->result();
}

// What a region, the nodes after `before`, must not do. `speculative`: it also runs where the program would not run it.
Status Importer::check_region(const ir::Node* before, std::string_view what, bool speculative) {
  std::unordered_set<const ir::Value*> own;  // memory that the region made
  for (const ir::Node* node = before != nullptr ? before->next : graph_->first(); node != nullptr; node = node->next) {
    const ir::Schema& schema = node->op->schema;
    bool writes_foreign = false, views_foreign = false;
    for (size_t i = 0; i < schema.args.size(); ++i) {
      if (!schema.args[i].aliased && !schema.args[i].written) continue;
      ir::for_each_value(node->args[i], [&](const ir::Value* value) {
        if (own.contains(value)) return;
        views_foreign = true;
        writes_foreign = writes_foreign || schema.args[i].written;
      });
    }
    if (writes_foreign)
      return fail(fmt::format("{} writes one of its arguments ({})", what, node->op->full_name()),
                  "return the new value as an output instead");
    if (makes_symbol(*node))
      return fail(fmt::format("{} reads a number or a size from data ({})", what, node->op->full_name()),
                  "move it out of the sub-graph, or compute with tensors");
    if (speculative && fails_on_data(*node))
      return fail(fmt::format("both branches are run, and {} in {} fails on indices or divisors that the predicate may "
                              "exclude",
                              node->op->full_name(), what),
                  "move it out of cond, or write the choice with torch.where on safe operands");
    size_t result = 0;
    for (const ir::ReturnSpec& returned : schema.returns) {
      const size_t count = returned.kind == ir::ReturnKind::TensorList ? node->results.size() : 1;
      for (size_t i = 0; i < count && result < node->results.size(); ++i, ++result)
        if (!returned.aliased || !views_foreign) own.insert(node->results[result]);
    }
  }
  return Ok{};
}

// (pred, true_graph, false_graph, operands)
Status Importer::cond_node(const RawNode& raw, Scope& scope) {
  const auto graph = [&](size_t i) {
    const auto* arg = std::get_if<GraphArg>(&raw.inputs[i].value);
    return arg == nullptr ? nullptr : arg->graph.get();
  };
  if (raw.inputs.size() != 4 || graph(1) == nullptr || graph(2) == nullptr)
    return fail("expected a predicate, two sub-graphs and the list of their operands");
  std::vector<Bound> given;
  EL_TRY_OK(operands(raw.inputs[3].value, scope, given));
  const auto* tensor = std::get_if<TensorArg>(&raw.inputs[0].value);
  if (tensor == nullptr) {
    EL_TRY(const SymValue number, number_of(raw.inputs[0].value, scope));
    if (const auto* taken = std::get_if<bool>(&number)) {
      EL_TRY(const std::vector<Bound> results, inline_graph(*graph(*taken ? 1 : 2), given));
      return define_all(raw, results, scope);
    }
    const auto* opaque = std::get_if<Opaque>(&number);
    return fail(fmt::format("the predicate is not a tensor and is not known at export{}{}",
                            opaque != nullptr ? ": " : "", opaque != nullptr ? opaque->why : ""),
                "export with static sizes, or make the predicate a bool tensor");
  }
  EL_TRY(ir::Value * pred, tensor_named(tensor->name, scope));
  const ir::Type type = pred->type;
  if (type.dtype != DType::Bool || !std::all_of(type.sizes.begin(), type.sizes.end(), [](const SymInt& size) {
        return size.is_const() && size.value() == 1;
      })) {
    return fail(fmt::format("the predicate is {}, expected a bool tensor of one element", type.str()));
  }
  if (type.rank() != 0) {
    EL_TRY(pred, emit("aten::reshape.default", {ir::Arg(pred), ir::Arg(ir::IntList{})},
                      fmt::format("{}_pred", raw.name), {}, scope));
  }
  const ir::Node* before = graph_->last();
  EL_TRY(const std::vector<Bound> yes, inline_graph(*graph(1), given));
  EL_TRY_OK(check_region(before, "the true branch", true));
  before = graph_->last();
  EL_TRY(const std::vector<Bound> no, inline_graph(*graph(2), given));
  EL_TRY_OK(check_region(before, "the false branch", true));

  const std::vector<std::string_view> names = output_names(raw);
  if (yes.size() != no.size() || yes.size() != names.size()) {
    return fail(fmt::format("the branches have {} and {} outputs, the node {}", yes.size(), no.size(), names.size()));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string label = names[i].data() != nullptr ? show(names[i]) : fmt::format("number {}", i);
    Bound bound;
    if (yes[i].kind == Bound::Kind::Number && no[i].kind == Bound::Kind::Number) {
      const bool nones = std::holds_alternative<Opaque>(yes[i].number) && std::holds_alternative<Opaque>(no[i].number);
      if (names[i].data() == nullptr && nones) continue;
      if (!same_number(yes[i].number, no[i].number))
        return fail(fmt::format("output {} is a number that differs between the branches", label),
                    "return a tensor instead");
      bound = yes[i];
    } else {
      EL_TRY(ir::Value* const a, tensor_of(yes[i], fmt::format("output {} of the true branch", label)));
      EL_TRY(ir::Value* const b, tensor_of(no[i], fmt::format("output {} of the false branch", label)));
      if (!same_type(a->type, b->type)) {
        return fail(fmt::format("output {} is {} in the true branch and {} in the false one", label, a->type.str(),
                                b->type.str()),
                    "both branches must return the same dtypes and shapes");
      }
      const std::string wish = names[i].data() != nullptr ? std::string(names[i]) : fmt::format("{}_{}", raw.name, i);
      bound.kind = Bound::Kind::Tensor;
      EL_TRY(bound.tensor, emit("aten::where.self", {ir::Arg(pred), ir::Arg(a), ir::Arg(b)}, wish, names[i], scope));
    }
    if (names[i].data() != nullptr) EL_TRY_OK(define(scope, names[i], std::move(bound)));
  }
  return Ok{};
}

// How many steps a loop over dim 0 of every x takes.
Result<int64_t> Importer::step_count(const std::vector<ir::Value*>& xs) {
  if (xs.empty()) return fail("there is no tensor to run over");
  for (const ir::Value* x : xs) {
    if (x->type.rank() == 0) return fail("a tensor of rank 0 has no dim to run over");
    const SymInt& size = x->type.sizes[0];
    if (!size.is_const()) {
      return fail(fmt::format("the number of steps, {}, is dynamic, and the loop is unrolled", size.str()),
                  "export with this dim static");
    }
    if (!(size == xs[0]->type.sizes[0])) {
      return fail(
          fmt::format("the tensors to run over are of lengths {} and {}", xs[0]->type.sizes[0].str(), size.str()));
    }
  }
  const int64_t steps = xs[0]->type.sizes[0].value();
  if (steps < 1 || steps > kMostSteps) {
    return fail(fmt::format("the loop is unrolled, which goes for 1 to {} steps; it has {}", kMostSteps, steps));
  }
  return steps;
}

// map_impl: (body, xs, operands) -> ys. scan: (body, init, xs, operands) -> final carries, ys.
Status Importer::loop_node(const RawNode& raw, bool is_scan, Scope& scope) {
  const auto* body = raw.inputs.empty() ? nullptr : std::get_if<GraphArg>(&raw.inputs[0].value);
  if (body == nullptr || raw.inputs.size() != (is_scan ? 4u : 3u)) {
    return fail(fmt::format("expected a sub-graph, {}the tensors to run over and the list of further operands",
                            is_scan ? "the initial carry, " : ""));
  }
  std::vector<Bound> carry, sliced, extra;
  if (is_scan) EL_TRY_OK(operands(raw.inputs[1].value, scope, carry));
  EL_TRY_OK(operands(raw.inputs[is_scan ? 2 : 1].value, scope, sliced));
  EL_TRY_OK(operands(raw.inputs[is_scan ? 3 : 2].value, scope, extra));
  std::vector<ir::Value*> xs;
  for (size_t i = 0; i < sliced.size(); ++i) {
    EL_TRY(ir::Value* const x, tensor_of(sliced[i], fmt::format("tensor {} to run over", i)));
    xs.push_back(x);
  }
  EL_TRY(const int64_t steps, step_count(xs));

  const std::vector<std::string_view> names = output_names(raw);
  const size_t carries = carry.size();
  std::vector<ir::ValueList> ys(names.size() - std::min(carries, names.size()));
  const uint32_t first_index = node_index_;
  for (int64_t step = 0; step < steps; ++step) {
    unrolled_nodes_ += body->graph->nodes.size() + 1;
    if (unrolled_nodes_ > kMostUnrolledNodes)
      return fail(fmt::format("the loops of the program unroll to more than {} nodes", kMostUnrolledNodes));
    node_index_ = first_index;  // the copies of a node come from one node of the file
    const ir::Node* before = graph_->last();
    std::vector<Bound> given = carry;
    for (size_t i = 0; i < xs.size(); ++i) {
      Bound slice;
      slice.kind = Bound::Kind::Tensor;
      EL_TRY(slice.tensor, emit("aten::select.int", {ir::Arg(xs[i]), ir::Arg(SymInt(0)), ir::Arg(SymInt(step))},
                                fmt::format("{}_x{}_{}", raw.name, i, step), {}, scope));
      given.push_back(std::move(slice));
    }
    given.insert(given.end(), extra.begin(), extra.end());
    EL_TRY(const std::vector<Bound> results, inline_graph(*body->graph, given));
    EL_TRY_OK(check_region(before, "the body", false));
    if (results.size() != names.size())
      return fail(fmt::format("the sub-graph has {} outputs, the node {}", results.size(), names.size()));
    if (results.size() < carries)
      return fail(fmt::format("the sub-graph has {} outputs, fewer than the {} carries", results.size(), carries));
    for (size_t i = 0; i < carries; ++i) {
      EL_TRY(ir::Value* const old, tensor_of(carry[i], fmt::format("carry {}", i)));
      EL_TRY(ir::Value* const next, tensor_of(results[i], fmt::format("carry {} after a step", i)));
      if (!same_type(old->type, next->type))
        return fail(fmt::format("carry {} is {} before a step and {} after it", i, old->type.str(), next->type.str()));
      carry[i] = results[i];
    }
    for (size_t i = carries; i < results.size(); ++i) {
      if (names[i].data() == nullptr) continue;  // None
      EL_TRY(ir::Value* const y, tensor_of(results[i], fmt::format("output {}", show(names[i]))));
      ir::ValueList& list = ys[i - carries];
      if (!list.empty() && !same_type(list[0]->type, y->type)) {
        return fail(fmt::format("output {} is {} in one step and {} in another", show(names[i]), list[0]->type.str(),
                                y->type.str()));
      }
      list.push_back(y);
    }
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].data() == nullptr) continue;
    if (i < carries) {
      EL_TRY_OK(define(scope, names[i], carry[i]));
      continue;
    }
    Bound bound;
    bound.kind = Bound::Kind::Tensor;
    EL_TRY(bound.tensor, emit("aten::stack.default", {ir::Arg(std::move(ys[i - carries])), ir::Arg(SymInt(0))},
                              std::string(names[i]), names[i], scope));
    EL_TRY_OK(define(scope, names[i], std::move(bound)));
  }
  return Ok{};
}

}  // namespace edgelift::importer
