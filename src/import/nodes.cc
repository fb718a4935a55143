// The second walk: nodes.
#include <fmt/format.h>

#include "import/importer.h"

namespace edgelift::importer {

using archive::show;

namespace {

// Sizes written differently may still be equal; this says that they cannot be.
bool known_different(const SymInt& a, const SymInt& b) {
  if (a.is_const() && b.is_const()) return a.value() != b.value();
  const SymValue args[] = {a, b};
  const SymValue equal = sym_apply("eq", args);
  return std::holds_alternative<bool>(equal) && !std::get<bool>(equal);
}

}  // namespace

Error Importer::fail(std::string_view what, std::string_view advice) const {
  std::string place = archive_->source();
  if (here_.node != nullptr) {
    const std::string line = line_of(*here_.node);
    place += fmt::format(": node {} ({}{}{})", show(here_.node->name), parse_target(here_.node->target).name,
                         line.empty() ? "" : ", ", line);
  }
  return input_error(fmt::format("{}: {}{}{}", place, what, advice.empty() ? "" : "; ", advice));
}

Status Importer::define(Scope& scope, std::string_view name, Bound bound) {
  if (scope.names.emplace(name, std::move(bound)).second) return Ok{};
  return fail(fmt::format("the name {} is defined twice", show(name)));
}

Status Importer::build(const RawGraph& graph, Scope& scope) {
  constexpr int kMostDepth = 16;
  if (++depth_ > kMostDepth) return fail(fmt::format("sub-graphs nest deeper than {} levels", kMostDepth));
  const Here outer = here_;
  for (const RawNode& raw : graph.nodes) {
    auto data = std::make_shared<ir::OriginData>();
    data->debug_handle = ++node_index_;
    data->node_name = raw.name;
    data->stack_trace = raw.stack_trace;
    data->module_stack = raw.module_stack;
    if (outer.origin != nullptr && raw.stack_trace.empty()) {
      data->stack_trace = outer.origin->stack_trace;
      data->module_stack = outer.origin->module_stack;
    }
    here_ = {&raw, std::move(data)};
    EL_TRY_OK(node(raw, scope));
  }
  here_ = outer;
  --depth_;
  return Ok{};
}

Status Importer::node(const RawNode& raw, Scope& scope) {
  const Resolved& resolved = resolve(raw.target);
  switch (resolved.target.kind) {
    case Target::Kind::Operator:
      if (resolved.is_check) return Ok{};
      if (resolved.is_size) return size_node(raw, scope);
      return operator_node(raw, *resolved.op, scope);
    case Target::Kind::HigherOrder:
      if (resolved.target.name == "cond") return cond_node(raw, scope);
      if (is_control_flow(resolved.target.name)) return loop_node(raw, resolved.target.name == "scan", scope);
      return inlined_node(raw, inlined_graph(resolved.target, raw).value(), scope);
    case Target::Kind::Number:
      return number_node(raw, resolved.target.name, scope);
    case Target::Kind::Other:
      break;
  }
  EL_UNREACHABLE("the first walk refuses other targets");
}

Status Importer::number_node(const RawNode& raw, std::string_view function, Scope& scope) {
  std::vector<SymValue> args;
  for (const RawNamedArg& named : raw.inputs) {
    EL_TRY(SymValue number, number_of(named.value, scope));
    args.push_back(std::move(number));
  }
  return define_number(raw, sym_apply(function, args), scope);
}

Status Importer::size_node(const RawNode& raw, Scope& scope) {
  const std::string& name = resolve(raw.target).target.name;
  if (raw.inputs.empty() || !std::holds_alternative<TensorArg>(raw.inputs[0].value))
    return fail("the first argument is not a tensor");
  EL_TRY(const ir::Value* const value, tensor_named(std::get<TensorArg>(raw.inputs[0].value).name, scope));
  const ir::Type& type = value->type;
  // Strides and offsets are those of eager PyTorch, which only the file knows.
  SymValue computed = Opaque{SymKind::Int, "it is a stride or offset in memory"};
  if (name == "aten::sym_numel.default") {
    computed = SymInt(1);
    for (const SymInt& size : type.sizes) {
      const SymValue factors[] = {computed, SymValue(size)};
      computed = sym_apply("mul", factors);
    }
  } else if (name == "aten::sym_size.int") {
    const auto* dim = raw.inputs.size() > 1 ? std::get_if<int64_t>(&raw.inputs[1].value) : nullptr;
    if (dim == nullptr || *dim < -type.rank() || *dim >= type.rank()) {
      return fail(fmt::format("argument dim does not name one of the {} dimensions of {}", type.rank(), type.str()));
    }
    computed = type.sizes[static_cast<size_t>(*dim < 0 ? *dim + type.rank() : *dim)];
  }
  return define_number(raw, std::move(computed), scope);
}

Status Importer::define_number(const RawNode& raw, SymValue computed, Scope& scope) {
  const auto* out = raw.outputs.size() == 1 ? std::get_if<SymArg>(&raw.outputs[0]) : nullptr;
  if (out == nullptr || !out->is_name()) return fail("expected one number as its output");
  // The file's own writing of a size is preferred: the recorded shapes use the same.
  if (const auto recorded = scope.raw->sym_ints.find(out->name); recorded != scope.raw->sym_ints.end()) {
    SymValue value = symbols_.value(recorded->second);
    if (const SymInt* size = as_size(value)) {
      const auto* known = std::get_if<SymInt>(&computed);
      if (known != nullptr && known_different(*known, *size)) {
        return fail(
            fmt::format("the file says that {} is {}, but it is {}", show(out->name), size->str(), known->str()));
      }
      computed = *size;
    }
  }
  Bound bound;
  bound.number = std::move(computed);
  return define(scope, out->name, std::move(bound));
}

Result<ir::Type> Importer::check_type(const RawTensorMeta& meta, const ir::Type& inferred, std::string_view name) {
  Result<DType> dtype = dtype_of(meta.dtype);
  const auto contradiction = [&](std::string recorded) {
    return fail(fmt::format("the file says that {} is {}, by the operator's shape rule it is {}", show(name), recorded,
                            inferred.str()),
                "the file is damaged, or edgelift's rule is wrong: please report it");
  };
  if (!dtype) return fail(fmt::format("result {}: {}", show(name), dtype.error().message));
  if (!inferred.is_tensor()) return contradiction("a tensor");
  ir::Type out = ir::Type::tensor(*dtype, {});
  out.dim_order = inferred.dim_order;
  bool same = *dtype == inferred.dtype && meta.sizes.size() == inferred.sizes.size();
  for (size_t i = 0; i < meta.sizes.size() && meta.sizes.size() <= 64; ++i) {
    SymValue value = symbols_.value(meta.sizes[i]);
    const SymInt* size = as_size(value);
    if (size == nullptr) {  // an expression that cannot be held: ours does as well
      out.sizes.push_back(same ? inferred.sizes[i] : SymInt(0));
      continue;
    }
    out.sizes.push_back(*size);
    if (!same) continue;
    const SymInt& rule = inferred.sizes[i];
    same = size->is_const() && rule.is_const() ? *size == rule : !known_different(*size, rule);
  }
  if (!same) return contradiction(out.str());
  if (!holdable(out.sizes))
    return fail(fmt::format("result {}: its sizes {} multiply to more elements than memory can hold", show(name),
                            ir::shape_text(out.sizes)));
  return out;
}

// Parallel lists of the results' types and names; a name without data: the file gives none.
Status Importer::result_types(const RawNode& raw, const ir::Op& op, const std::vector<ir::Type>& inferred, Scope& scope,
                              std::vector<ir::Type>& types, std::vector<std::string_view>& names) {
  const auto& returns = op.schema.returns;
  if (raw.outputs.size() != returns.size()) {
    return fail(fmt::format("the operator has {} results, the file lists {}", returns.size(), raw.outputs.size()));
  }
  for (size_t i = 0; i < returns.size(); ++i) {
    const RawArg& output = raw.outputs[i];
    if (returns[i].kind == ir::ReturnKind::TensorList) {
      const auto* list = std::get_if<TensorsArg>(&output);
      if (list == nullptr) return fail(fmt::format("result {} is {}, expected as_tensors", i, tag_of(output)));
      names.insert(names.end(), list->names.begin(), list->names.end());
    } else if (const auto* tensor = std::get_if<TensorArg>(&output);
               tensor != nullptr && returns[i].kind == ir::ReturnKind::Tensor) {
      names.push_back(tensor->name);
    } else if (const auto* symbolic = std::get_if<SymArg>(&output);
               symbolic != nullptr && symbolic->is_name() && returns[i].kind != ir::ReturnKind::Tensor) {
      names.push_back(symbolic->name);
    } else if (std::holds_alternative<NoneArg>(output) && returns[i].kind == ir::ReturnKind::Tensor) {
      names.emplace_back();
    } else {
      return fail(fmt::format("result {} is {}, which the operator does not return", i, tag_of(output)));
    }
  }
  if (names.size() != inferred.size()) {
    return fail(fmt::format("the file lists {} results, by the operator's shape rule there are {}", names.size(),
                            inferred.size()));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].data() == nullptr || !inferred[i].is_tensor()) {
      types.push_back(inferred[i]);
      continue;
    }
    const auto meta = scope.raw->tensors.find(names[i]);
    if (meta == scope.raw->tensors.end())
      return fail(fmt::format("result {} has no entry in tensor_values", show(names[i])));
    EL_TRY(ir::Type type, check_type(meta->second, inferred[i], names[i]));
    types.push_back(std::move(type));
  }
  return Ok{};
}

// A rule that meets arguments it did not reckon with is a defect of the rule, yet the person wants to know where;
// except where the file gives a number for a tensor, which only arithmetic takes.
Result<std::vector<ir::Type>> Importer::infer(const ir::Op& op, const std::vector<ir::Arg>& args) const {
  try {
    return ops_.infer(op, args);
  } catch (const std::exception& defect) {
    for (size_t i = 0; i < args.size(); ++i) {
      const ir::ArgSpec& spec = op.schema.args[i];
      const bool tensor = spec.kind == ir::ArgKind::Tensor || spec.kind == ir::ArgKind::OptTensor;
      if (tensor && !ir::is_none(args[i]) && !std::holds_alternative<ir::Value*>(args[i])) {
        return input_error(fmt::format("argument {} is a number, and the operator needs a tensor", spec.name));
      }
    }
    return internal_error(fmt::format("the shape rule failed: {}; please report it", defect.what()));
  }
}

Status Importer::operator_node(const RawNode& raw, const ir::Op& op, Scope& scope) {
  EL_TRY(std::vector<ir::Arg> args, arguments(raw, op, scope));
  Result<std::vector<ir::Type>> inferred = infer(op, args);
  if (!inferred) {
    Error error = fail(inferred.error().message);
    error.kind = inferred.error().kind;
    return error;
  }
  std::vector<ir::Type> types;
  std::vector<std::string_view> names;
  EL_TRY_OK(result_types(raw, op, *inferred, scope, types, names));
  std::vector<std::string> wishes;
  wishes.reserve(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    wishes.emplace_back(names[i].data() != nullptr ? std::string(names[i]) : fmt::format("{}_unused_{}", raw.name, i));
  }
  ir::Node* node = graph_->insert(&op, std::move(args), std::move(types), nullptr, std::move(wishes));
  node->origin = here_.origin;
  EL_TRY_OK(bind_results(raw, *node, names, scope));
  track_writes(*node);
  return Ok{};
}

Status Importer::bind_results(const RawNode& raw, ir::Node& node, const std::vector<std::string_view>& names,
                              Scope& scope) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].data() == nullptr) continue;
    ir::Value* value = node.results[i];
    Bound bound;
    if (value->type.is_tensor()) {
      bound.kind = Bound::Kind::Tensor;
      bound.tensor = value;
      value->strides = eager_strides(scope.raw->tensors.find(names[i])->second, value->type);
    } else if (value->type.kind == ir::Type::Kind::Int) {
      // A number read from a tensor: the symbol that the file gives it, or one of its own.
      const auto recorded = scope.raw->sym_ints.find(names[i]);
      if (recorded == scope.raw->sym_ints.end())
        return fail(fmt::format("result {} has no entry in sym_int_values", show(names[i])));
      SymValue number = symbols_.value(recorded->second);
      const SymInt* size = as_size(number);
      if (size == nullptr) return fail(fmt::format("result {} is not an integer symbol", show(names[i])));
      if (!size->is_const()) {
        const auto symbols = size->symbols();
        if (symbols.size() != 1 || !(SymInt::symbol(symbols.front()) == *size)) {
          return fail(fmt::format("result {} is the expression {}, expected a symbol", show(names[i]), size->str()));
        }
        value->symbol = symbols.front();
      }
      bound.number = *size;
    } else {
      bound.number = value;
    }
    EL_TRY_OK(define(scope, names[i], std::move(bound)));
  }
  (void)raw;
  return Ok{};
}

// Follows views, so that a write through one marks the constant behind it.
void Importer::track_writes(const ir::Node& node) {
  const ir::Schema& schema = node.op->schema;
  ir::Constant* behind = nullptr;
  for (size_t i = 0; i < schema.args.size(); ++i) {
    if (!schema.args[i].aliased && !schema.args[i].written) continue;
    ir::for_each_value(node.args[i], [&](const ir::Value* value) {
      const auto found = view_of_.find(value);
      if (found == view_of_.end()) return;
      behind = found->second;
      if (schema.args[i].written) behind->is_mutable = true;
    });
  }
  if (behind == nullptr) return;
  size_t result = 0;
  for (const ir::ReturnSpec& returned : schema.returns) {
    const size_t count = returned.kind == ir::ReturnKind::TensorList ? node.results.size() : 1;
    for (size_t i = 0; i < count && result < node.results.size(); ++i, ++result) {
      if (returned.aliased) view_of_.emplace(node.results[result], behind);
    }
  }
}

}  // namespace edgelift::importer
