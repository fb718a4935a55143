// The first walk: every operator that cannot be imported, in one message.
#include <fmt/format.h>

#include <algorithm>

#include "import/importer.h"

namespace edgelift::importer {

namespace {
constexpr size_t kMostNamed = 40;  // of one message
}

Target parse_target(std::string_view target) {
  const auto last_part = [&] { return std::string(target.substr(target.rfind('.') + 1)); };
  if (target.starts_with("torch.ops.higher_order.")) return {Target::Kind::HigherOrder, last_part()};
  if (target.starts_with("torch.ops.")) {
    const std::string_view path = target.substr(10);
    const size_t first = path.find('.'), last = path.rfind('.');
    if (first != path.npos && last > first + 1 && first > 0 && last + 1 < path.size()) {
      return {Target::Kind::Operator, fmt::format("{}::{}.{}", path.substr(0, first),
                                                  path.substr(first + 1, last - first - 1), path.substr(last + 1))};
    }
  } else if (target.starts_with("_operator.") || target.starts_with("math.")) {
    return {Target::Kind::Number, last_part()};
  } else if (target.starts_with("torch.") && last_part().starts_with("sym_")) {
    return {Target::Kind::Number, last_part()};
  }
  return {Target::Kind::Other, std::string(target)};
}

std::optional<size_t> inlined_graph(const Target& target, const RawNode& node) {
  const auto graph_at = [&](size_t i) {
    return i < node.inputs.size() && std::holds_alternative<GraphArg>(node.inputs[i].value) ? std::optional(i)
                                                                                            : std::nullopt;
  };
  if (target.name == "wrap_with_set_grad_enabled") return graph_at(1);
  if (target.name == "wrap_with_autocast" && node.inputs.size() > 2) {
    // The sub-graph holds the operators before casting: inlining it under autocast would change results.
    const auto* enabled = std::get_if<bool>(&node.inputs[2].value);
    if (enabled != nullptr && !*enabled) return graph_at(4);
  }
  return std::nullopt;
}

bool is_size_operator(std::string_view name) {
  return name == "aten::sym_size.int" || name == "aten::sym_numel.default" || name == "aten::sym_stride.int" ||
         name == "aten::sym_storage_offset.default";
}

// What they check of sizes is in the ranges of the symbols already.
bool is_size_check(std::string_view name) {
  return name == "aten::_assert_scalar.default" || name == "aten::sym_constrain_range.default" ||
         name == "aten::sym_constrain_range_for_size.default";
}

const Importer::Resolved& Importer::resolve(std::string_view target) {
  const auto [slot, fresh] = resolved_.try_emplace(target);
  if (fresh) {
    Resolved& out = slot->second;
    out.target = parse_target(target);
    if (out.target.kind == Target::Kind::Operator) {
      out.is_size = is_size_operator(out.target.name);
      out.is_check = is_size_check(out.target.name);
      out.op = ops_.find(out.target.name);
    }
  }
  return slot->second;
}

void Importer::note_unsupported(const RawNode& node, std::string what, bool advised) {
  const auto [slot, fresh] = unsupported_index_.try_emplace(what, unsupported_.size());
  if (fresh) unsupported_.push_back({std::move(what), 0, line_of(node), advised});
  if (fresh && unsupported_.back().first_line.empty())
    unsupported_.back().first_line = fmt::format("node {}", node.name);
  ++unsupported_[slot->second].count;
}

void Importer::find_unsupported(const RawGraph& graph) {
  for (const RawNode& node : graph.nodes) {
    const Resolved& resolved = resolve(node.target);
    switch (resolved.target.kind) {
      case Target::Kind::Operator:
        if (resolved.op == nullptr && !resolved.is_size && !resolved.is_check) {
          // What reads the parts of a tensor subclass: its bytes are a pickle, so they could not be read either.
          const bool subclass = resolved.target.name.starts_with("export::access_subclass_inner_tensor.");
          note_unsupported(
              node,
              resolved.target.name + (subclass ? " (a weight is a tensor subclass, stored as a pickle: call torchao's "
                                                 "unwrap_tensor_subclass(model) before export)"
                                               : ""),
              subclass);
        }
        break;
      case Target::Kind::HigherOrder:
        if (is_control_flow(resolved.target.name)) {
          for (const RawNamedArg& named : node.inputs)
            if (const auto* sub = std::get_if<GraphArg>(&named.value)) find_unsupported(*sub->graph);
        } else if (const auto index = inlined_graph(resolved.target, node)) {
          find_unsupported(*std::get<GraphArg>(node.inputs[*index].value).graph);
        } else {
          const std::string& name = resolved.target.name;
          note_unsupported(
              node, fmt::format("higher_order::{}{}", name,
                                name == "wrap_with_autocast" ? " (enabled autocast)"
                                : name == "while_loop"       ? " (how often it runs depends on data, so that it cannot "
                                                               "be unrolled)"
                                                             : ""));
        }
        break;
      case Target::Kind::Number:
        break;
      case Target::Kind::Other:
        note_unsupported(node, fmt::format("the Python function {}", archive::show(node.target)));
        break;
    }
  }
}

Status Importer::check_operators() {
  find_unsupported(exported_.graph);
  if (unsupported_.empty()) return Ok{};
  std::string list;
  for (size_t i = 0; i < std::min(unsupported_.size(), kMostNamed); ++i) {
    const Unsupported& u = unsupported_[i];
    list += fmt::format("{}{} ({}{}{})", i == 0 ? "" : ", ", u.what,
                        u.count == 1 ? "once" : fmt::format("{} times", u.count),
                        u.first_line.empty() ? ""
                        : u.count == 1       ? ", at "
                                             : ", first at ",
                        u.first_line);
  }
  if (unsupported_.size() > kMostNamed) list += fmt::format(", and {} more", unsupported_.size() - kMostNamed);
  const bool one = unsupported_.size() == 1;
  const auto open = std::count_if(unsupported_.begin(), unsupported_.end(), [](const auto& u) { return !u.advised; });
  std::string advice;
  if (open != 0)
    advice = fmt::format("; rewrite the model without {}, or try exported.run_decompositions() before saving",
                         one                                                ? "it"
                         : static_cast<size_t>(open) == unsupported_.size() ? "them"
                                                                            : "the others");
  return input_error(fmt::format("{}: {} not supported: {}{}", archive_->source(),
                                 one ? "an operator is" : fmt::format("{} operators are", unsupported_.size()), list,
                                 advice));
}

std::string Importer::line_of(const RawNode& node) const {
  ir::OriginData data;
  data.stack_trace = node.stack_trace;
  data.module_stack = node.module_stack;
  return ir::place(std::make_shared<const ir::OriginData>(std::move(data)));
}

}  // namespace edgelift::importer
