// Times the forms of a convolution against each other on the real runtime, interleaved, and checks them against the
// direct form. Usage: conv_forms [--threads N] [--iterations N] [IC OC H STRIDE KERNEL]...
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "runtime/graph_program.h"
#include "runtime/session.h"
#include "xnnpack/conv_forms.h"

namespace {

using namespace edgelift;

struct Layer {
  int64_t ic, oc, h, stride, kernel;
};

constexpr int kRepeat = 4;  // equal layers in a row where the shapes allow it, so that a call is long enough to time

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

xnn::Graph build(const Layer& layer, xnn::ConvForm form, int& layers) {
  xnn::Graph graph;
  layers = layer.ic == layer.oc && layer.stride == 1 ? kRepeat : 1;
  xnn::Value input;
  input.dims = {1, layer.h, layer.h, layer.ic};
  input.external_input = true;
  uint32_t current = graph.add_value(input);
  graph.inputs = {current};
  std::vector<xnn::Node> nodes;
  const int64_t pad = layer.kernel / 2;
  const int64_t out_h = (layer.h + 2 * pad - layer.kernel) / layer.stride + 1;
  for (int i = 0; i < layers; ++i) {
    const auto count = static_cast<size_t>(layer.oc * layer.ic * layer.kernel * layer.kernel);
    const float scale = std::sqrt(6.0f / static_cast<float>(layer.ic * layer.kernel * layer.kernel));
    xnn::Value filter;
    filter.dims = {layer.oc, layer.kernel, layer.kernel, layer.ic};
    filter.use = xnn::Use::Packed;
    filter.data = TensorData::of(DType::F32, {layer.oc, layer.kernel, layer.kernel, layer.ic},
                                 random_floats(count, static_cast<uint64_t>(i) + 1, scale));
    xnn::Value bias;
    bias.dims = {layer.oc};
    bias.use = xnn::Use::Packed;
    bias.data = TensorData::of(DType::F32, {layer.oc}, random_floats(static_cast<size_t>(layer.oc), static_cast<uint64_t>(i) + 77, 0.1f));
    xnn::Node node;
    node.kind = xnn::Kind::Conv2d;
    node.inputs = {current, graph.add_value(filter), graph.add_value(bias)};
    node.outputs = {graph.temp(xnn::Datatype::F32, {1, out_h, out_h, layer.oc})};
    node.min_max = std::pair(0.0f, HUGE_VALF);
    xnn::Window& w = node.window;
    w.pad_top = w.pad_left = w.pad_bottom = w.pad_right = static_cast<uint32_t>(pad);
    w.kernel_h = w.kernel_w = static_cast<uint32_t>(layer.kernel);
    w.stride_h = w.stride_w = static_cast<uint32_t>(layer.stride);
    w.group_input_channels = static_cast<uint32_t>(layer.ic);
    w.group_output_channels = static_cast<uint32_t>(layer.oc);
    current = node.outputs[0];
    if (form == xnn::ConvForm::Direct) {
      nodes.push_back(node);
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
  xnn::ConvForm form;
  std::shared_ptr<std::vector<std::byte>> bytes;
  std::unique_ptr<runtime::Session> session;
  runtime::Method* method = nullptr;
  double best = 1e9;
  double error = 0;
};

[[noreturn]] void die(const std::string& message) {
  fmt::print(stderr, "conv_forms: {}\n", message);
  std::exit(1);
}

template <class T>
T must(Result<T> result) {
  if (!result.ok()) die(result.error().message);
  return *std::move(result);
}

void measure(const Layer& layer, int iterations) {
  std::vector<Runner> runners;
  int layers = 1;
  for (const xnn::ConvForm form : xnn::kConvForms) {
    xnn::Graph probe = build(layer, xnn::ConvForm::Direct, layers);
    if (!xnn::form_applies(probe, probe.nodes[0], form)) continue;
    xnn::Graph graph = build(layer, form, layers);
    const Status valid = xnn::verify(graph);
    if (!valid.ok()) die(fmt::format("{}: {}", xnn::form_name(form), valid.error().message));
    Runner runner;
    runner.form = form;
    runner.bytes = std::make_shared<std::vector<std::byte>>(must(pte::write_to_memory(must(runtime::program_of(graph)))));
    runner.session = must(runtime::Session::open(*runner.bytes, runner.bytes));
    runner.method = must(runner.session->method());
    runners.push_back(std::move(runner));
  }
  const TensorData input = TensorData::of(DType::F32, {1, layer.h, layer.h, layer.ic},
                                          random_floats(static_cast<size_t>(layer.h * layer.h * layer.ic), 5, 1.0f));
  std::vector<double> reference;
  double range = 0;
  for (Runner& runner : runners) {
    auto outputs = must(runner.method->run(std::vector<runtime::Argument>{input}));
    const auto values = std::get<TensorData>(outputs[0]).to_doubles();
    if (reference.empty()) {
      reference = values;
      for (const double v : values) range = std::max(range, std::abs(v));
    }
    for (size_t i = 0; i < values.size(); ++i) runner.error = std::max(runner.error, std::abs(values[i] - reference[i]) / range);
  }
  for (int i = 0; i < iterations; ++i)
    for (Runner& runner : runners) {
      const auto start = std::chrono::steady_clock::now();
      if (!runner.method->execute().ok()) die("execute");
      runner.best = std::min(runner.best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
  const int64_t out_h = (layer.h + layer.kernel / 2 * 2 - layer.kernel) / layer.stride + 1;
  const double flops = 2.0 * static_cast<double>(layers * out_h * out_h * layer.oc * layer.ic * layer.kernel * layer.kernel);
  fmt::print("{}x{} k{} s{} {}->{}:", layer.h, layer.h, layer.kernel, layer.stride, layer.ic, layer.oc);
  for (const Runner& runner : runners)
    fmt::print("  {} {:.3f} ms ({:.0f} GFLOP/s, err {:.1e})", xnn::form_name(runner.form), runner.best / layers, flops / runner.best * 1e-6, runner.error);
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 1, iterations = 30;
  std::vector<int64_t> numbers;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
      threads = std::atoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--iterations") == 0 && i + 1 < argc) {
      iterations = std::atoi(argv[++i]);
    } else {
      numbers.push_back(std::atoll(argv[i]));
    }
  }
  if (numbers.size() % 5 != 0) die("layers are five numbers each: IC OC H STRIDE KERNEL");
  if (const Status ok = runtime::set_threads(threads); !ok.ok()) die(ok.error().message);
  std::vector<Layer> layers;
  for (size_t i = 0; i + 4 < numbers.size(); i += 5)
    layers.push_back({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3], numbers[i + 4]});
  if (layers.empty())
    layers = {{64, 64, 56, 1, 3},  {128, 128, 28, 1, 3}, {256, 256, 14, 1, 3}, {512, 512, 7, 1, 3}, {32, 32, 56, 1, 3},
              {16, 16, 112, 1, 3}, {3, 32, 224, 2, 3},   {3, 64, 224, 2, 7},   {64, 128, 56, 2, 3}, {128, 256, 28, 2, 3}};
  for (const Layer& layer : layers) measure(layer, iterations);
  return 0;
}
