#include <limits>

#include "base/numbers.h"
#include "xnnpack/graph.h"
#include "xnnpack/text.h"

namespace edgelift::xnn {

std::string dims_text(const std::vector<SymInt>& dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i != 0) out += ',';
    out += dims[i].str();
  }
  return out += ']';
}

std::string type_text(Datatype datatype, const std::vector<SymInt>& dims) {
  return datatype_name(datatype) + dims_text(dims);
}

std::string node_text(const Graph& graph, const Node& node) {
  const Node* first = graph.nodes.data();
  std::string out = "node";
  if (&node >= first && &node < first + graph.nodes.size()) out += " " + std::to_string(&node - first);
  out += std::string(" (") + kind_name(node.kind);
  if (node.debug_handle != 0) out += ", debug handle " + std::to_string(node.debug_handle);
  return out + ")";
}

namespace {

std::string list_text(const std::vector<int64_t>& list) {
  std::string out = "[";
  for (size_t i = 0; i < list.size(); ++i) {
    if (i != 0) out += ',';
    out += std::to_string(list[i]);
  }
  return out += ']';
}

std::string pair_text(uint32_t a, uint32_t b) { return "[" + std::to_string(a) + "," + std::to_string(b) + "]"; }
std::string number(float value) { return float_text(value, DType::F32); }

void attributes(const Node& node, std::string& out) {
  const auto add = [&](const char* name, const std::string& text) { out += std::string(", ") + name + "=" + text; };
  const Window& w = node.window;
  switch (category(node.kind)) {
    case Category::Convolution:
    case Category::Pooling:
    case Category::ArgMaxPooling:
      add("kernel", pair_text(w.kernel_h, w.kernel_w));
      if (node.kind != Kind::ArgMaxPooling2d) {
        if (w.stride_h != 1 || w.stride_w != 1) add("stride", pair_text(w.stride_h, w.stride_w));
        if (w.dilation_h != 1 || w.dilation_w != 1) add("dilation", pair_text(w.dilation_h, w.dilation_w));
      }
      if (w.pad_top != 0 || w.pad_right != 0 || w.pad_bottom != 0 || w.pad_left != 0) {
        add("pad", list_text({w.pad_top, w.pad_right, w.pad_bottom, w.pad_left}));
      }
      if (category(node.kind) == Category::Convolution) {
        if (w.groups != 1) add("groups", std::to_string(w.groups));
        add("channels", pair_text(w.group_input_channels, w.group_output_channels));
        if (w.adjustment_h != 0 || w.adjustment_w != 0) add("adjustment", pair_text(w.adjustment_h, w.adjustment_w));
      }
      break;
    case Category::Concatenate:
      add("axis", std::to_string(node.axis));
      break;
    case Category::Transpose:
      add("perm", list_text(node.list));
      break;
    case Category::Reshape:
      add("shape", list_text(node.list));
      break;
    case Category::Slice:
      add("offsets", list_text(node.list));
      add("sizes", list_text(node.list2));
      break;
    case Category::Pad:
      add("pre", list_text(node.list));
      add("post", list_text(node.list2));
      if (node.scalar != 0) add("value", number(node.scalar));
      break;
    case Category::Resize:
      add("size", pair_text(node.new_height, node.new_width));
      break;
    default:
      if (node.kind == Kind::ELU || node.kind == Kind::LeakyReLU) add("alpha", number(node.scalar));
      break;
  }
  if (node.flags != 0) add("flags", std::to_string(node.flags));
  if (node.min_max) add("min_max", "[" + number(node.min_max->first) + "," + number(node.min_max->second) + "]");
}

std::string id_text(uint32_t id) { return id == kInvalid ? "none" : "%" + std::to_string(id); }

void constant_line(const Graph& graph, uint32_t id, std::string& out) {
  const Value& value = graph.values[id];
  out += "  const " + id_text(id) + " : " + type_text(value.datatype, value.dims);
  out += value.use == Use::Packed ? " packed" : " unpacked";
  if (!value.name.empty()) out += " @\"" + value.name + "\"";
  if (value.data.numel() == 1 && byte_size(value.data.dtype()) <= 8) {
    const bool real = is_float(value.data.dtype());
    out += " = " + (real ? float_text(value.data.element_as_double(0), value.data.dtype())
                         : std::to_string(value.data.element_as_int(0)));
  }
  out += '\n';
}

}  // namespace

std::string print(const Graph& graph, std::string_view name) {
  std::string out = "xnn @" + std::string(name) + " {\n";
  for (const uint32_t id : graph.inputs) {
    const Value& value = graph.values[id];
    out += "  input " + id_text(id) + " : " + type_text(value.datatype, value.dims);
    if (!value.name.empty()) out += " @\"" + value.name + "\"";
    out += '\n';
  }
  for (uint32_t id = 0; id < graph.values.size(); ++id)
    if (graph.values[id].use != Use::None) constant_line(graph, id, out);
  for (const Node& node : graph.nodes) {
    out += "  ";
    for (size_t i = 0; i < node.outputs.size(); ++i) out += (i != 0 ? ", " : "") + id_text(node.outputs[i]);
    out += std::string(" = ") + kind_name(node.kind);
    for (size_t i = 0; i < node.inputs.size(); ++i) out += (i != 0 ? ", " : " ") + id_text(node.inputs[i]);
    attributes(node, out);
    out += " :";
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const Value& value = graph.values[node.outputs[i]];
      out += (i != 0 ? ", " : " ") + type_text(value.datatype, value.dims);
    }
    out += '\n';
  }
  out += "  output";
  for (size_t i = 0; i < graph.outputs.size(); ++i) out += (i != 0 ? ", " : " ") + id_text(graph.outputs[i]);
  return out + "\n}\n";
}

}  // namespace edgelift::xnn
