// Checks everything that the runtime would refuse, and what it would not refuse but compute wrongly (xnnpack-delegate
// 3, 6, 7, 8, 10). Nothing here comes from a person's input: a failure is a defect of an operator's lowering or of a
// rewrite, and the sentence names the node.
#include <cmath>

#include "xnnpack/graph.h"
#include "xnnpack/text.h"

namespace edgelift::xnn {

Status verify_node_types(const Graph& graph, const Node& node);  // verify_types.cc

namespace {

constexpr size_t kMaxExterns = 4096;

Error broken(std::string message) { return internal_error("XNNPACK graph: " + std::move(message)); }
Error broken(const Graph& graph, const Node& node, const std::string& what) {
  return broken(node_text(graph, node) + ": " + what);
}
std::string value_text(uint32_t id) { return "value " + std::to_string(id); }

size_t expected_inputs(Kind kind) {
  switch (category(kind)) {
    case Category::Binary:
    case Category::PReLU:
    case Category::BatchMatmul:
      return 2;
    case Category::FullyConnected:
    case Category::Convolution:
      return 3;
    case Category::Concatenate:
      return concatenate_arity(kind);
    default:
      return 1;
  }
}

Status verify_value(const Graph& graph, uint32_t id) {
  const Value& value = graph.values[id];
  if (value.dims.size() > kMaxRank) {
    return broken(value_text(id) + " has rank " + std::to_string(value.dims.size()) + "; the delegate takes at most 6");
  }
  switch (value.datatype) {
    case Datatype::F32:
    case Datatype::F16:
    case Datatype::BF16:
    case Datatype::Int32:
      break;
    default:
      return broken(value_text(id) + " has the datatype " + datatype_name(value.datatype) +
                    ", which needs quantization parameters that a graph does not carry");
  }
  for (const SymInt& dim : value.dims) {
    if (dim.is_const() && (dim.value() <= 0 || dim.value() >= static_cast<int64_t>(kInvalid))) {
      return broken(value_text(id) + " has the dims " + dims_text(value.dims));
    }
  }
  if (value.external_input && value.external_output)
    return broken(value_text(id) + " is both input and output; a Copy must stand between");
  if (value.use == Use::None) {
    if (!value.data.sizes().empty() || !value.data.storage().empty())
      return broken(value_text(id) + " has data but is no constant");
    return Ok{};
  }
  if (value.external_output) return broken(value_text(id) + " is a constant and an output; a Copy must stand between");
  const std::optional<Datatype> stored = datatype_of(value.data.dtype());
  if (stored != value.datatype)
    return broken(value_text(id) + " holds data of another type than " + datatype_name(value.datatype));
  const std::vector<int64_t>& sizes = value.data.sizes();
  bool fits = sizes.size() == value.dims.size();
  for (size_t i = 0; fits && i < sizes.size(); ++i)
    fits = value.dims[i].is_const() && value.dims[i].value() == sizes[i];
  if (!fits) return broken(value_text(id) + " holds data of another shape than " + dims_text(value.dims));
  if (value.use == Use::Packed && value.external_input) return broken(value_text(id) + " is packed and an input");
  return Ok{};
}

enum class Place : uint8_t { Nowhere, Input, ConstantInput, Output };

Status verify_externals(const Graph& graph, std::vector<Place>& places) {
  const size_t count = graph.inputs.size() + graph.constant_inputs.size() + graph.outputs.size();
  if (count > kMaxExterns) return broken(std::to_string(count) + " external values; the runtime takes at most 4096");
  places.assign(graph.values.size(), Place::Nowhere);
  uint32_t next = 0;
  const auto list = [&](const std::vector<uint32_t>& ids, Place place) -> Status {
    for (const uint32_t id : ids) {
      if (id >= graph.values.size())
        return broken("the external list names " + value_text(id) + ", which does not exist");
      if (places[id] != Place::Nowhere) return broken(value_text(id) + " is listed twice as external");
      places[id] = place;
      const Value& value = graph.values[id];
      // Numbers are given by finalize; before it none has one.
      if (value.external_id != kInvalid && value.external_id != next) {
        return broken(value_text(id) + " has external id " + std::to_string(value.external_id) + " at place " +
                      std::to_string(next));
      }
      ++next;
      const bool constant = value.use != Use::None;
      if (place == Place::Input && (!value.external_input || constant))
        return broken("input " + value_text(id) + " is not an external input");
      if (place == Place::ConstantInput && (!value.external_input || value.use != Use::Unpacked)) {
        return broken("constant input " + value_text(id) + " is not an unpacked constant handed in");
      }
      if (place == Place::Output && !value.external_output)
        return broken("output " + value_text(id) + " is not an external output");
    }
    return Ok{};
  };
  EL_TRY_OK(list(graph.inputs, Place::Input));
  EL_TRY_OK(list(graph.constant_inputs, Place::ConstantInput));
  EL_TRY_OK(list(graph.outputs, Place::Output));
  for (uint32_t id = 0; id < graph.values.size(); ++id) {
    const Value& value = graph.values[id];
    if ((value.external_input || value.external_output) && places[id] == Place::Nowhere) {
      return broken(value_text(id) + " is external but in no list");
    }
    if (value.external_id != kInvalid && places[id] == Place::Nowhere)
      return broken(value_text(id) + " has an external id but is internal");
  }
  return Ok{};
}

Status verify_operands(const Graph& graph, const Node& node, const std::vector<bool>& defined, bool finalized) {
  if (category(node.kind) == Category::Unknown)
    return broken("node of unknown kind " + std::to_string(static_cast<int>(node.kind)));
  const size_t arity = expected_inputs(node.kind);
  if (node.inputs.size() != arity) {
    return broken(graph, node, std::to_string(node.inputs.size()) + " operands instead of " + std::to_string(arity));
  }
  const Category kinds = category(node.kind);
  const bool optional_bias = kinds == Category::FullyConnected || kinds == Category::Convolution;
  for (size_t i = 0; i < arity; ++i) {
    const uint32_t id = node.inputs[i];
    if (id == kInvalid && optional_bias && i == 2) continue;
    if (id >= graph.values.size()) return broken(graph, node, "operand " + std::to_string(i) + " does not exist");
    if (!defined[id]) return broken(graph, node, value_text(id) + " is used before it is defined");
    const Value& value = graph.values[id];
    // The rule on unpacked constants: what XNNPACK does not copy must outlive the delegate's data.
    if (value.use == Use::Packed && !packs_operand(node, i)) {
      return broken(
          graph, node,
          value_text(id) + " lives in the delegate, but this operand is read at run time after the data is freed");
    }
    if (value.use == Use::Unpacked && finalized && !value.external_input) {
      return broken(graph, node, value_text(id) + " is an unpacked constant that is not handed in");
    }
    if (kinds == Category::Convolution && i > 0 && value.use != Use::Packed) {
      return broken(graph, node, std::string(i == 1 ? "filter" : "bias") + " must be a constant in the delegate");
    }
  }
  return Ok{};
}

Status verify_attributes(const Graph& graph, const Node& node) {
  if (node.min_max) {
    const auto [lo, hi] = *node.min_max;
    if (!fuses_min_max(node.kind)) return broken(graph, node, "this kind ignores an output range");
    // A Clamp of its own takes an empty range as PyTorch does (the result is the upper end); a fused one is refused.
    if (std::isnan(lo) || std::isnan(hi) || (lo > hi && node.kind != Kind::Clamp))
      return broken(graph, node, "the output range is empty");
  } else if (node.kind == Kind::Clamp) {
    return broken(graph, node, "a clamp needs its range");
  }
  const Window& w = node.window;
  const bool padded = w.pad_top != 0 || w.pad_right != 0 || w.pad_bottom != 0 || w.pad_left != 0;
  const auto flags_within = [&](uint32_t allowed) { return (node.flags & ~allowed) == 0; };
  bool flags = true;
  switch (category(node.kind)) {
    case Category::FullyConnected:
      flags = flags_within(kFlagTransposeWeights);
      break;
    case Category::BatchMatmul:
      flags = flags_within(kFlagTransposeB);
      break;
    case Category::GlobalPooling:
      flags = flags_within(kFlagKeepDims);
      break;
    case Category::Resize:
      flags = flags_within(kFlagAlignCorners | 4u) && node.flags != (kFlagAlignCorners | 4u);
      break;
    case Category::Convolution:
      flags = flags_within(node.kind == Kind::ConvTranspose2d ? 0u : kFlagSamePadding);
      if (node.kind == Kind::ConvTranspose2d && (w.adjustment_h >= w.stride_h || w.adjustment_w >= w.stride_w) &&
          (w.adjustment_h != 0 || w.adjustment_w != 0)) {
        return broken(graph, node, "the adjustment must be smaller than the stride");
      }
      if (node.kind != Kind::ConvTranspose2d && (w.adjustment_h != 0 || w.adjustment_w != 0)) {
        return broken(graph, node, "only a transposed convolution has an adjustment");
      }
      break;
    case Category::Pooling:
      flags = flags_within(kFlagSamePadding | 64u);
      break;
    case Category::ArgMaxPooling:
      flags = flags_within(0);
      break;
    default:
      flags = flags_within(0);
      break;
  }
  if (!flags) return broken(graph, node, "flags " + std::to_string(node.flags) + " are not known for this kind");
  if ((node.flags & kFlagSamePadding) != 0 && padded &&
      (category(node.kind) == Category::Convolution || category(node.kind) == Category::Pooling)) {
    return broken(graph, node, "SAME padding excludes explicit padding");
  }
  if (node.kind == Kind::ArgMaxPooling2d) {
    const std::vector<SymInt>& in = graph.values[node.inputs[0]].dims;
    for (size_t i = 1; in.size() == 4 && i < 3; ++i) {
      const int64_t pad = i == 1 ? w.pad_top + w.pad_bottom : w.pad_left + w.pad_right;
      const int64_t pool = i == 1 ? w.kernel_h : w.kernel_w;
      if (!in[i].is_const() || pool == 0 || (in[i].value() + pad) % pool != 0)
        return broken(graph, node, "the pool must divide the padded input");
    }
  }
  return Ok{};
}

Status verify_shapes(const Graph& graph, const Node& node) {
  auto inferred = infer_dims(graph, node);
  if (!inferred) return broken(graph, node, inferred.error().message);
  if (node.outputs.size() != inferred->size()) {
    return broken(graph, node,
                  std::to_string(node.outputs.size()) + " results instead of " + std::to_string(inferred->size()));
  }
  for (size_t i = 0; i < inferred->size(); ++i) {
    const std::vector<SymInt>& found = graph.values[node.outputs[i]].dims;
    const std::vector<SymInt>& expected = (*inferred)[i];
    bool fits = found.size() == expected.size();
    // Symbolic sizes may be written in ways that do not compare equal: only numbers are held against each other.
    for (size_t d = 0; fits && d < found.size(); ++d) {
      fits = !found[d].is_const() || !expected[d].is_const() || found[d].value() == expected[d].value();
    }
    if (!fits)
      return broken(graph, node,
                    "result is declared " + dims_text(found) + ", but the node computes " + dims_text(expected));
  }
  return Ok{};
}

}  // namespace

Status verify(const Graph& graph) {
  for (uint32_t id = 0; id < graph.values.size(); ++id) EL_TRY_OK(verify_value(graph, id));
  std::vector<Place> places;
  EL_TRY_OK(verify_externals(graph, places));
  // After finalize every external value has its number.
  const bool finalized = [&] {
    for (const uint32_t id : graph.inputs)
      if (graph.values[id].external_id == kInvalid) return false;
    for (const uint32_t id : graph.outputs)
      if (graph.values[id].external_id == kInvalid) return false;
    return !graph.outputs.empty();
  }();

  std::vector<bool> defined(graph.values.size(), false), used(graph.values.size(), false);
  for (uint32_t id = 0; id < graph.values.size(); ++id) defined[id] = graph.values[id].use != Use::None;
  for (const uint32_t id : graph.inputs) defined[id] = true;
  for (const Node& node : graph.nodes) {
    EL_TRY_OK(verify_operands(graph, node, defined, finalized));
    for (const uint32_t id : node.inputs)
      if (id != kInvalid) used[id] = true;
    for (const uint32_t id : node.outputs)
      if (id >= graph.values.size()) return broken(graph, node, "a result does not exist");
    EL_TRY_OK(verify_attributes(graph, node));
    EL_TRY_OK(verify_shapes(graph, node));
    EL_TRY_OK(verify_node_types(graph, node));
    for (const uint32_t id : node.outputs) {
      if (defined[id]) return broken(graph, node, value_text(id) + " is defined a second time");
      defined[id] = true;
    }
  }
  for (const uint32_t id : graph.outputs)
    if (!defined[id]) return broken("output " + value_text(id) + " is written by no node");
  for (const Node& node : graph.nodes) {
    // Left unused and internal, the value output of an arg-max pool has no memory when the runtime writes it.
    if (node.kind != Kind::ArgMaxPooling2d) continue;
    const uint32_t value = node.outputs[0];
    if (!used[value] && !graph.values[value].external_output)
      return broken(graph, node, "the value output must be used or external");
  }
  return Ok{};
}

}  // namespace edgelift::xnn
