#include "runtime/tune.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "runtime/graph_program.h"
#include "runtime/session.h"

namespace edgelift::runtime {

namespace {

constexpr int kRepeat = 4;
constexpr int kRounds = 3;

std::vector<float> random_floats(size_t n, uint64_t seed, float scale) {
  std::vector<float> out(n);
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
  for (float& v : out) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    v = (static_cast<float>(state >> 40) * 0x1p-23f - 1.0f) * scale;
  }
  return out;
}

uint32_t constant(xnn::Graph& graph, std::vector<int64_t> sizes, uint64_t seed, float scale) {
  xnn::Value value;
  size_t n = 1;
  for (const int64_t size : sizes) {
    value.dims.emplace_back(size);
    n *= static_cast<size_t>(size);
  }
  value.use = xnn::Use::Packed;
  value.data = TensorData::of(DType::F32, std::move(sizes), random_floats(n, seed, scale));
  return graph.add_value(std::move(value));
}

struct Layer {
  int64_t in_h, in_w, pad_h, pad_w;
  int repeat;
};

// The layer as nets have it: padding (kernel - 1) / 2, input as small as gives the output.
Layer layer_of(const xnn::ConvShape& s) {
  Layer layer{};
  layer.pad_h = (s.kernel_h - 1) / 2;
  layer.pad_w = (s.kernel_w - 1) / 2;
  layer.in_h = (s.out_height - 1) * s.stride_h + s.kernel_h - 2 * layer.pad_h + (s.stride_h - 1);
  layer.in_w = (s.out_width - 1) * s.stride_w + s.kernel_w - 2 * layer.pad_w + (s.stride_w - 1);
  const bool chains = s.in_channels == s.out_channels && layer.in_h == s.out_height && layer.in_w == s.out_width;
  layer.repeat = chains ? kRepeat : 1;
  return layer;
}

xnn::Graph build(const xnn::ConvShape& s, const Layer& layer, xnn::ConvForm form) {
  xnn::Graph graph;
  xnn::Value input;
  input.dims = {1, layer.in_h, layer.in_w, s.in_channels};
  input.external_input = true;
  uint32_t current = graph.add_value(std::move(input));
  graph.inputs = {current};
  const float scale = std::sqrt(6.0f / static_cast<float>(s.in_channels * s.kernel_h * s.kernel_w));
  std::vector<xnn::Node> nodes;
  for (int i = 0; i < layer.repeat; ++i) {
    const auto seed = static_cast<uint64_t>(i) + 1;
    xnn::Node node;
    node.kind = xnn::Kind::Conv2d;
    const uint32_t filter = constant(graph, {s.out_channels, s.kernel_h, s.kernel_w, s.in_channels}, seed, scale);
    const uint32_t bias = constant(graph, {s.out_channels}, seed + 100, 0.1f);
    node.inputs = {current, filter, bias};
    node.outputs = {graph.temp(xnn::Datatype::F32, {1, s.out_height, s.out_width, s.out_channels})};
    node.min_max = std::pair(0.0f, HUGE_VALF);
    xnn::Window& w = node.window;
    w.pad_top = w.pad_bottom = static_cast<uint32_t>(layer.pad_h);
    w.pad_left = w.pad_right = static_cast<uint32_t>(layer.pad_w);
    w.kernel_h = s.kernel_h;
    w.kernel_w = s.kernel_w;
    w.stride_h = s.stride_h;
    w.stride_w = s.stride_w;
    w.group_input_channels = static_cast<uint32_t>(s.in_channels);
    w.group_output_channels = static_cast<uint32_t>(s.out_channels);
    current = node.outputs[0];
    if (form == xnn::ConvForm::Direct) {
      nodes.push_back(std::move(node));
    } else {
      xnn::expand_convolution(graph, node, form, nodes);
    }
  }
  graph.nodes = std::move(nodes);
  graph.values[current].external_output = true;
  graph.outputs = {current};
  xnn::finalize(graph);
  return graph;
}

struct Runner {
  FormTime time;
  std::shared_ptr<std::vector<std::byte>> bytes;
  std::unique_ptr<Session> session;
  Method* method = nullptr;
};

}  // namespace

Result<std::vector<FormTime>> time_forms(const xnn::ConvShape& shape, int iterations) {
  const Layer layer = layer_of(shape);
  const xnn::Graph direct = build(shape, layer, xnn::ConvForm::Direct);
  std::vector<Runner> runners;
  for (const xnn::ConvForm form : xnn::kConvForms) {
    if (!xnn::form_applies(direct, direct.nodes[0], form)) continue;
    const xnn::Graph graph = build(shape, layer, form);
    EL_TRY_OK(xnn::verify(graph));
    EL_TRY(const pte::Program program, program_of(graph));
    EL_TRY(auto bytes, pte::write_to_memory(program));
    Runner runner;
    runner.time.form = form;
    runner.bytes = std::make_shared<std::vector<std::byte>>(std::move(bytes));
    EL_TRY(runner.session, Session::open(*runner.bytes, runner.bytes));
    EL_TRY(runner.method, runner.session->method());
    runners.push_back(std::move(runner));
  }
  const auto elements = static_cast<size_t>(layer.in_h * layer.in_w * shape.in_channels);
  const TensorData input =
      TensorData::of(DType::F32, {1, layer.in_h, layer.in_w, shape.in_channels}, random_floats(elements, 7, 1.0f));
  std::vector<float> reference;
  double range = 0;
  for (Runner& runner : runners) {
    EL_TRY(const auto outputs, runner.method->run(std::vector<Argument>{input}));
    const std::vector<float> values = std::get<TensorData>(outputs.at(0)).to_floats();
    if (reference.empty()) {
      reference = values;
      for (const float v : values) range = std::max(range, std::abs(static_cast<double>(v)));
    }
    for (size_t i = 0; i < values.size(); ++i)
      runner.time.error = std::max(
          runner.time.error, std::abs(static_cast<double>(values[i]) - static_cast<double>(reference[i])) / range);
    runner.time.ms = HUGE_VAL;
  }
  for (int i = 0; i < iterations; ++i) {
    for (Runner& runner : runners) {
      const auto start = std::chrono::steady_clock::now();
      EL_TRY_OK(runner.method->execute());
      const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
      runner.time.ms = std::min(runner.time.ms, ms / layer.repeat);
    }
  }
  std::vector<FormTime> times;
  for (const Runner& runner : runners) times.push_back(runner.time);
  return times;
}

Result<xnn::Target> tune(const std::vector<xnn::ConvShape>& shapes, const TuneOptions& options) {
  const int most = std::thread::hardware_concurrency() > 1 ? 2 : 1;
  // A machine has slow and fast minutes: every layer is measured in several rounds, and the minimum over them counts.
  const int each = std::max(1, (options.iterations + kRounds - 1) / kRounds);
  std::vector<std::vector<std::vector<FormTime>>> times(static_cast<size_t>(most));
  for (int round = 0; round < kRounds; ++round) {
    if (options.progress) options.progress(fmt::format("round {} of {}: {} layers", round + 1, kRounds, shapes.size()));
    for (int threads = 1; threads <= most; ++threads) {
      EL_TRY_OK(set_threads(threads));
      auto& rows = times[static_cast<size_t>(threads - 1)];
      rows.resize(shapes.size());
      for (size_t i = 0; i < shapes.size(); ++i) {
        EL_TRY(const auto measured, time_forms(shapes[i], each));
        if (rows[i].empty()) rows[i] = measured;
        for (size_t f = 0; f < measured.size(); ++f) rows[i][f].ms = std::min(rows[i][f].ms, measured[f].ms);
      }
    }
  }
  EL_TRY_OK(set_threads(0));
  xnn::Target target;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const xnn::ConvShape& s = shapes[i];
    xnn::MeasuredLayer layer{s, {}};
    std::string line = fmt::format("{}x{} {}->{} {}x{}/{}, direct {:.3f} ms", s.out_height, s.out_width, s.in_channels,
                                   s.out_channels, s.kernel_h, s.kernel_w, s.stride_h, times[0][i][0].ms);
    for (size_t f = 1; f < times[0][i].size(); ++f) {
      double product = 1;
      for (const auto& rows : times) product *= rows[i][0].ms / rows[i][f].ms;
      layer.gains.push_back({times[0][i][f].form, std::pow(product, 1.0 / most)});
      line += fmt::format(", {} {:.2f}x", xnn::form_name(layer.gains.back().form), layer.gains.back().gain);
    }
    if (options.progress) options.progress(line);
    target.layers.push_back(std::move(layer));
  }
  return target;
}

std::vector<xnn::ConvShape> tuning_grid() {
  std::vector<xnn::ConvShape> grid;
  const std::pair<int64_t, std::vector<int64_t>> sizes[] = {{16, {112, 56, 28}},   {32, {112, 56, 28, 14}},
                                                            {64, {56, 28, 14, 7}}, {128, {56, 28, 14, 7}},
                                                            {256, {28, 14, 7}},    {512, {14, 7}}};
  for (const auto& [channels, spatial] : sizes)
    for (const int64_t size : spatial) grid.push_back({channels, channels, size, size, 3, 3, 1, 1});
  grid.push_back({64, 128, 28, 28, 3, 3, 1, 1});
  grid.push_back({128, 64, 28, 28, 3, 3, 1, 1});
  for (const auto& [channels, size] :
       {std::pair<int64_t, int64_t>{16, 56}, {32, 28}, {64, 28}, {128, 14}, {256, 7}, {256, 14}})
    grid.push_back({channels, channels * 2, size, size, 3, 3, 2, 2});
  for (const int64_t channels : {16, 32, 64}) grid.push_back({3, channels, 112, 112, 3, 3, 2, 2});
  for (const int64_t channels : {32, 64}) grid.push_back({3, channels, 112, 112, 7, 7, 2, 2});
  for (const auto& [in, out, size] :
       {std::array<int64_t, 3>{64, 128, 28}, {128, 256, 14}, {256, 512, 28}, {512, 1024, 14}})
    grid.push_back({in, out, size, size, 1, 1, 2, 2});
  grid.push_back({64, 64, 28, 28, 5, 5, 1, 1});
  return grid;
}

}  // namespace edgelift::runtime
