// Every form of a convolution computes what the direct one does, on the runtime, within the form's stated error.
#include "xnnpack/conv_forms.h"

#include <algorithm>
#include <cmath>

#include "make.h"
#include "xnnpack/target.h"
#include "xnnpack/writer.h"

namespace edgelift::testing {
namespace {

using xnn::ConvForm;
using xnn::Kind;

struct Layer {
  const char* name;
  int64_t n, h, w, ic, oc;
  uint32_t kernel_h, kernel_w, stride, dilation;
  uint32_t top, left, bottom, right;
  bool bias = true, relu = true;
};

// The layer between a node before it and one after it, which is what a form meets: neither side is an external value.
xnn::Graph graph_of(const Layer& l) {
  Maker m;
  const uint32_t x = m.op(Kind::Abs, {m.input({l.n, l.h, l.w, l.ic})});
  xnn::Node conv = m.node(Kind::Conv2d, {x, m.packed({l.oc, l.kernel_h, l.kernel_w, l.ic}, 3),
                                         l.bias ? m.packed({l.oc}, 4) : xnn::kInvalid});
  xnn::Window& w = conv.window;
  w.kernel_h = l.kernel_h;
  w.kernel_w = l.kernel_w;
  w.stride_h = w.stride_w = l.stride;
  w.dilation_h = w.dilation_w = l.dilation;
  w.pad_top = l.top;
  w.pad_left = l.left;
  w.pad_bottom = l.bottom;
  w.pad_right = l.right;
  w.group_input_channels = static_cast<uint32_t>(l.ic);
  w.group_output_channels = static_cast<uint32_t>(l.oc);
  if (l.relu) conv.min_max = {0.0f, HUGE_VALF};
  m.output(m.op(Kind::Negate, {m.add(std::move(conv))}));
  return m.graph;
}

const xnn::Node* conv_of(const xnn::Graph& graph) {
  for (const xnn::Node& node : graph.nodes)
    if (node.kind == Kind::Conv2d) return &node;
  return nullptr;
}

xnn::Graph with_form(xnn::Graph graph, ConvForm form) {
  std::vector<xnn::Node> nodes;
  for (const xnn::Node& node : std::vector<xnn::Node>(graph.nodes)) {
    if (node.kind == Kind::Conv2d) {
      xnn::expand_convolution(graph, node, form, nodes);
    } else {
      nodes.push_back(node);
    }
  }
  graph.nodes = std::move(nodes);
  return graph;
}

const Layer kLayers[] = {
    {"whole tiles", 1, 8, 8, 16, 24, 3, 3, 1, 1, 1, 1, 1, 1},
    {"odd size", 1, 7, 9, 16, 8, 3, 3, 1, 1, 1, 1, 1, 1},
    {"no padding", 1, 10, 8, 5, 7, 3, 3, 1, 1, 0, 0, 0, 0},
    {"one side padded", 1, 8, 8, 6, 4, 3, 3, 1, 1, 2, 0, 0, 2},
    {"much padding", 1, 4, 6, 3, 4, 3, 3, 1, 1, 5, 4, 3, 6},
    {"smaller than a tile", 1, 3, 1, 4, 5, 3, 3, 1, 1, 1, 1, 1, 1},
    {"one pixel", 1, 1, 1, 4, 5, 3, 3, 1, 1, 1, 1, 1, 1},
    {"batch", 3, 6, 10, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1},
    {"neither bias nor relu", 1, 8, 8, 4, 4, 3, 3, 1, 1, 1, 1, 1, 1, false, false},
    {"bias alone", 2, 5, 8, 4, 4, 3, 3, 1, 1, 1, 1, 1, 1, true, false},
    {"relu alone", 1, 8, 6, 4, 4, 3, 3, 1, 1, 1, 1, 1, 1, false, true},
    {"stride two", 1, 16, 16, 8, 8, 3, 3, 2, 1, 1, 1, 1, 1},
    {"stride two, odd size", 1, 15, 13, 8, 8, 3, 3, 2, 1, 1, 1, 1, 1},
    {"stem", 1, 32, 32, 3, 8, 7, 7, 2, 1, 3, 3, 3, 3},
    {"stem with padding on one side", 1, 32, 28, 3, 8, 3, 3, 2, 1, 0, 0, 1, 1},
    {"stride three, five columns", 2, 17, 20, 4, 6, 2, 5, 3, 1, 0, 2, 0, 2},
    {"dilation", 1, 12, 14, 4, 6, 3, 3, 1, 2, 2, 2, 2, 2},
    {"stride and dilation", 1, 16, 20, 4, 6, 3, 5, 2, 3, 3, 4, 3, 4},
    {"row", 1, 1, 32, 8, 8, 1, 5, 1, 1, 0, 2, 0, 2},
    {"column", 1, 32, 1, 8, 8, 5, 1, 1, 1, 2, 0, 2, 0},
    {"one tap, stride two", 1, 14, 14, 16, 32, 1, 1, 2, 1, 0, 0, 0, 0},
    {"one tap, stride two, odd size", 2, 7, 9, 16, 32, 1, 1, 2, 1, 0, 0, 0, 0},
    {"one tap, padded", 1, 8, 8, 4, 8, 1, 1, 2, 1, 1, 1, 1, 1},
    {"patches", 1, 8, 12, 6, 8, 2, 2, 2, 1, 0, 0, 0, 0},
    {"row, stride two", 1, 6, 16, 4, 8, 1, 5, 2, 1, 0, 2, 0, 2},
    {"column, stride two", 1, 16, 6, 4, 8, 5, 1, 2, 1, 2, 0, 2, 0},
    {"many rows", 1, 24, 6, 2, 4, 11, 3, 1, 1, 5, 1, 5, 1},
};

TEST(ConvForms, ComputeWhatTheDirectOneDoes) {
  int tried = 0;
  for (const Layer& layer : kLayers) {
    const xnn::Graph direct = graph_of(layer);
    const auto inputs = inputs_for(direct);
    const auto expected = run(direct, inputs).at(0).to_floats();
    double range = 0;
    for (const float v : expected) range = std::max(range, std::abs(static_cast<double>(v)));
    for (const ConvForm form : xnn::kConvForms) {
      if (form == ConvForm::Direct || !xnn::form_applies(direct, *conv_of(direct), form)) continue;
      ++tried;
      const xnn::Graph graph = with_form(direct, form);
      EXPECT_EQ(count(graph, Kind::Conv2d), 0u);
      const auto results = run(graph, inputs);
      ASSERT_EQ(results.size(), 1u) << layer.name << ", " << xnn::form_name(form);
      ASSERT_EQ(results[0].sizes(), run(direct, inputs).at(0).sizes());
      const auto values = results[0].to_floats();
      double worst = 0;
      for (size_t i = 0; i < values.size(); ++i)
        worst = std::max(worst, std::abs(static_cast<double>(values[i]) - static_cast<double>(expected[i])));
      EXPECT_LE(worst, xnn::form_error(form) * range) << layer.name << ", " << xnn::form_name(form);
      // What the compiler does to the graph afterwards changes no bit.
      optimized(graph);
    }
  }
  EXPECT_GE(tried, 80);
}

TEST(ConvForms, DeclineWhatTheyCannotCompute) {
  const auto applies = [](const xnn::Graph& graph, ConvForm form) {
    return xnn::form_applies(graph, *conv_of(graph), form);
  };
  Layer layer = kLayers[0];
  EXPECT_TRUE(applies(graph_of(layer), ConvForm::Winograd2));
  layer.stride = 2;
  EXPECT_FALSE(applies(graph_of(layer), ConvForm::Winograd2));
  EXPECT_TRUE(applies(graph_of(layer), ConvForm::Im2col));
  layer = kLayers[0];
  layer.w = 9;
  EXPECT_FALSE(applies(graph_of(layer), ConvForm::Im2colBanded));
  layer = kLayers[0];
  layer.kernel_h = layer.kernel_w = 1;
  EXPECT_FALSE(applies(graph_of(layer), ConvForm::Im2col));
  EXPECT_FALSE(applies(graph_of(layer), ConvForm::Im2colBanded));

  xnn::Graph dynamic = graph_of(kLayers[0]);
  for (xnn::Value& value : dynamic.values)
    if (value.dims.size() == 4 && value.use == xnn::Use::None)
      value.dims[1] = SymInt::symbol(std::make_shared<const Symbol>(Symbol{"s0", 1, 64}));
  xnn::Graph grouped = graph_of(kLayers[0]);
  for (xnn::Node& node : grouped.nodes)
    if (node.kind == Kind::Conv2d) node.window.groups = 2;
  for (const ConvForm form : xnn::kConvForms) {
    if (form == ConvForm::Direct) continue;
    EXPECT_FALSE(applies(dynamic, form)) << xnn::form_name(form);
    EXPECT_FALSE(applies(grouped, form)) << xnn::form_name(form);
  }
}

TEST(ConvForms, WeightsGrowAsStated) {
  for (const Layer& layer : {kLayers[0], kLayers[13]}) {
    const xnn::Graph direct = graph_of(layer);
    const xnn::Node& conv = *conv_of(direct);
    const auto bytes = [](const xnn::Graph& graph) {
      double sum = 0;
      for (const xnn::Node& node : graph.nodes)
        if (node.kind == Kind::FullyConnected || node.kind == Kind::BatchMatrixMultiply)
          if (const xnn::Value& filter = graph.values[node.inputs[1]]; filter.use == xnn::Use::Packed)
            sum += static_cast<double>(filter.data.nbytes());
      return sum;
    };
    const auto filter = static_cast<double>(direct.values[conv.inputs[1]].data.nbytes());
    for (const ConvForm form : xnn::kConvForms) {
      if (form == ConvForm::Direct || !xnn::form_applies(direct, conv, form)) continue;
      EXPECT_NEAR(bytes(with_form(direct, form)) / filter, xnn::form_weight_growth(form, conv.window), 1e-9)
          << layer.name << ", " << xnn::form_name(form);
    }
  }
}

TEST(ConvForms, NamesReadBack) {
  for (const ConvForm form : xnn::kConvForms) EXPECT_EQ(xnn::form_from_name(xnn::form_name(form)), form);
  EXPECT_EQ(xnn::form_from_name("fft"), std::nullopt);
}

TEST(Writer, JoinsAreFewAndBalanced) {
  for (const size_t n : {1u, 5u, 6u, 7u, 9u, 10u, 25u, 26u, 300u}) {
    std::vector<uint32_t> inputs(n);
    for (size_t i = 0; i < n; ++i) inputs[i] = static_cast<uint32_t>(i);
    std::vector<std::vector<uint32_t>> leaves;  // of every join
    for (size_t i = 0; i < n; ++i) leaves.push_back({static_cast<uint32_t>(i)});
    size_t copied = 0;
    const auto last = xnn::at_most_five(inputs, [&](const std::vector<uint32_t>& part) {
      EXPECT_GE(part.size(), 2u);
      EXPECT_LE(part.size(), 5u);
      std::vector<uint32_t> joined;
      for (const uint32_t id : part) joined.insert(joined.end(), leaves[id].begin(), leaves[id].end());
      copied += joined.size();
      leaves.push_back(joined);
      return static_cast<uint32_t>(leaves.size() - 1);
    });
    EXPECT_LE(last.size(), 5u);
    std::vector<uint32_t> order;
    for (const uint32_t id : last) order.insert(order.end(), leaves[id].begin(), leaves[id].end());
    EXPECT_EQ(order, inputs);
    // At most one copy a level; six inputs need a join of two only.
    EXPECT_LE(static_cast<double>(copied), static_cast<double>(n) * std::ceil(std::log(n) / std::log(5) - 1e-9));
    if (n == 6) {
      EXPECT_EQ(copied, 2u);
    }
    if (n == 7) {
      EXPECT_EQ(copied, 3u);
    }
  }
}

}  // namespace
}  // namespace edgelift::testing
