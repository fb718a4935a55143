#include "runtime/attribute.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace edgelift::runtime {

namespace {

using xnn::Kind;

// What XNNPACK's operators for a node are called, up to the parenthesis with the layout and the types.
std::vector<std::string_view> operators_of(const xnn::Node& node) {
  switch (node.kind) {
    case Kind::Add:
      return {"Add", "Binary Elementwise"};
    case Kind::FullyConnected:
      return {"Fully Connected", "Dynamic Fully Connected"};
    case Kind::Softmax:
      return {"Softmax"};
    case Kind::Sigmoid:
      return {"Sigmoid", "Unary Elementwise"};
    case Kind::StaticTranspose:
      return {"Transpose"};
    case Kind::Clamp:
      return {"Clamp", "Unary Elementwise"};
    case Kind::Conv2d:
    case Kind::DepthwiseConv2d:
      // A 1x1 window is a matrix product.
      if (node.window.kernel_h == 1 && node.window.kernel_w == 1) return {"Convolution", "Fully Connected"};
      return {"Convolution"};
    case Kind::Div:
      return {"Divide", "Binary Elementwise"};
    case Kind::StaticResizeBilinear2D:
      return {"Resize Bilinear"};
    case Kind::StaticConstantPad:
      return {"Constant Pad"};
    case Kind::AvgPooling2d:
      return {"Average Pooling"};
    case Kind::Minimum:
      return {"Minimum", "Binary Elementwise"};
    case Kind::MaxPooling2d:
      return {"Max Pooling"};
    case Kind::Multiply:
      // By itself it is rewritten into a square.
      if (node.inputs.at(0) == node.inputs.at(1)) return {"Multiply", "Square", "Unary Elementwise"};
      return {"Multiply", "Binary Elementwise"};
    case Kind::Subtract:
      return {"Subtract", "Binary Elementwise"};
    case Kind::Floor:
      return {"Floor", "Unary Elementwise"};
    case Kind::Convert:
      return {"Convert", "Unary Elementwise"};
    case Kind::GlobalAvgPooling2d:
      return {"Mean", "Global Average Pooling"};
    case Kind::StaticReshape:
      return {"Static Reshape", "Copy"};
    case Kind::ArgMaxPooling2d:
      return {"ArgMax Pooling"};
    case Kind::SquareRoot:
      return {"Square Root", "Unary Elementwise"};
    case Kind::Ceiling:
      return {"Ceiling", "Unary Elementwise"};
    case Kind::Hardswish:
      return {"HardSwish", "Unary Elementwise"};
    case Kind::LeakyReLU:
      return {"LeakyReLU", "Leaky ReLU", "Unary Elementwise"};
    case Kind::Maximum:
      return {"Maximum", "Binary Elementwise"};
    case Kind::Negate:
      return {"Negate", "Unary Elementwise"};
    case Kind::Square:
      return {"Square", "Unary Elementwise"};
    case Kind::ELU:
      return {"ELU", "Unary Elementwise"};
    case Kind::Abs:
      return {"Abs", "Unary Elementwise"};
    case Kind::PReLU:
      return {"PReLU", "Prelu", "Binary Elementwise"};
    case Kind::Concatenate2:
    case Kind::Concatenate3:
    case Kind::Concatenate4:
    case Kind::Concatenate5:
      return {"Copy"};  // one for each operand; the runtime adds up their times and reports the first
    case Kind::StaticSlice:
      return {"Slice"};
    case Kind::BatchMatrixMultiply:
      return {"Batch Matrix Multiply"};
    case Kind::ConvTranspose2d:
      return {"Deconvolution"};
    case Kind::ReciprocalSquareRoot:
      return {"Reciprocal Square Root", "Unary Elementwise"};
    case Kind::Log:
      return {"Log", "Unary Elementwise"};
    case Kind::Gelu:
      return {"GELU", "Unary Elementwise"};
    case Kind::Tanh:
      return {"TanH", "Unary Elementwise"};
    case Kind::Exp:
      return {"Exp", "Unary Elementwise"};
    case Kind::Sin:
      return {"Sine", "Unary Elementwise"};
    case Kind::Copy:
      return {"Copy"};
    case Kind::Cos:
      return {"Cosine", "Unary Elementwise"};
  }
  return {};
}

// An operator that the runtime may make of a node: its own, or the clamp behind it that it could not fuse.
struct Slot {
  uint32_t node = 0;
  std::vector<std::string_view> names;

  bool takes(std::string_view event) const {
    const std::string_view name = event.substr(0, event.find(" ("));
    return std::find(names.begin(), names.end(), name) != names.end();
  }
};

std::vector<Slot> slots_of(const xnn::Graph& graph) {
  std::vector<Slot> slots;
  for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const xnn::Node& node = graph.nodes[n];
    slots.push_back({n, operators_of(node)});
    if (node.kind != Kind::Clamp && node.min_max) slots.push_back({n, {"Clamp", "Unary Elementwise"}});
  }
  return slots;
}

}  // namespace

Result<std::vector<NodeRange>> attribute(const xnn::Graph& graph, std::span<const std::string> events) {
  const std::vector<Slot> slots = slots_of(graph);
  std::vector<NodeRange> ranges(events.size());
  // In whatever way the events are laid over the slots in order, each lies between its place when all are taken as
  // early as possible and its place when all are taken as late as possible.
  size_t next = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    while (next < slots.size() && !slots[next].takes(events[i])) ++next;
    if (next == slots.size())
      return input_error(
          fmt::format("the runtime's operators are not those of the delegate's {} nodes: no place is left "
                      "for operator {} of {}, '{}'",
                      graph.nodes.size(), i, events.size(), events[i]));
    ranges[i].first = slots[next++].node;
  }
  next = slots.size();
  for (size_t i = events.size(); i-- > 0;) {
    do {
      --next;  // not below 0: the loop above found a place for each
    } while (!slots[next].takes(events[i]));
    ranges[i].last = slots[next].node;
  }
  return ranges;
}

}  // namespace edgelift::runtime
