// Times the forms of a mean over the last dim inside the delegate, as the layer norm lifting uses it: a fully-connected
// node with one output and weights 1/C against a global average pool over a reshaped view.
// Usage: bench_norm_forms [ROWS CHANNELS]...
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "runtime/graph_program.h"
#include "runtime/session.h"
#include "xnnpack/writer.h"

namespace {

using namespace edgelift;
constexpr int kRepeat = 20;

uint32_t mean(xnn::Writer& w, uint32_t x, int64_t rows, int64_t channels, bool pool) {
  if (pool) {
    xnn::Node node;
    node.kind = xnn::Kind::GlobalAvgPooling2d;
    node.inputs = {w.reshape(x, {rows, channels, 1, 1})};
    return w.reshape(w.add(std::move(node)), {rows, 1});
  }
  const std::vector<float> weights(static_cast<size_t>(channels), 1.0f / static_cast<float>(channels));
  return w.fully_connected(x, w.packed(TensorData::of(DType::F32, {1, channels}, weights)), xnn::kInvalid);
}

xnn::Graph build(int64_t rows, int64_t channels, bool pool, bool whole) {
  xnn::Graph graph;
  xnn::Value input;
  input.dims = {rows, channels};
  input.external_input = true;
  uint32_t x = graph.add_value(std::move(input));
  graph.inputs = {x};
  std::vector<xnn::Node> nodes;
  xnn::Writer w(graph, nodes, 0);
  const uint32_t eps = w.unpacked(scalar_data(DType::F32, 1e-6));
  for (int i = 0; i < kRepeat; ++i) {
    const uint32_t centred = w.binary(xnn::Kind::Subtract, x, mean(w, x, rows, channels, pool));
    if (!whole) {
      x = centred;
      continue;
    }
    const uint32_t variance = mean(w, w.unary(xnn::Kind::Square, centred), rows, channels, pool);
    x = w.binary(xnn::Kind::Multiply, centred,
                 w.unary(xnn::Kind::ReciprocalSquareRoot, w.binary(xnn::Kind::Add, variance, eps)));
  }
  graph.nodes = std::move(nodes);
  graph.values[x].external_output = true;
  graph.outputs = {x};
  xnn::finalize(graph);
  return graph;
}

template <class T>
T must(Result<T> result) {
  if (result.ok()) return *std::move(result);
  fmt::print(stderr, "bench_norm_forms: {}\n", result.error().message);
  std::exit(1);
}

void measure(int64_t rows, int64_t channels) {
  struct Runner {
    const char* name;
    std::shared_ptr<std::vector<std::byte>> bytes;
    std::unique_ptr<runtime::Session> session;
    runtime::Method* method = nullptr;
    double best = HUGE_VAL;
    std::vector<float> out;
  };
  std::vector<Runner> runners;
  for (const bool pool : {false, true}) {
    const xnn::Graph graph = build(rows, channels, pool, true);
    must(xnn::verify(graph));
    Runner runner;
    runner.name = pool ? "pool" : "fully-connected";
    runner.bytes =
        std::make_shared<std::vector<std::byte>>(must(pte::write_to_memory(must(runtime::program_of(graph)))));
    runner.session = must(runtime::Session::open(*runner.bytes, runner.bytes));
    runner.method = must(runner.session->method());
    runners.push_back(std::move(runner));
  }
  std::vector<float> values(static_cast<size_t>(rows * channels));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i) * 0.37f) + 0.5f;
  const TensorData input = TensorData::of(DType::F32, {rows, channels}, values);
  for (Runner& runner : runners)
    runner.out =
        std::get<TensorData>(must(runner.method->run(std::vector<runtime::Argument>{input})).at(0)).to_floats();
  for (int i = 0; i < 200; ++i) {
    for (Runner& runner : runners) {
      const auto start = std::chrono::steady_clock::now();
      must(runner.method->execute());
      runner.best = std::min(
          runner.best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
    }
  }
  fmt::print("[{}, {}] layer norm:", rows, channels);
  for (const Runner& runner : runners) {
    double error = 0;
    for (size_t i = 0; i < runner.out.size(); ++i)
      error = std::max(error, std::abs(static_cast<double>(runner.out[i]) - static_cast<double>(runners[0].out[i])));
    fmt::print("  {} {:.1f} us (difference {:.1e})", runner.name, runner.best / kRepeat, error);
  }
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  for (const int threads : {1, 2}) {
    must(runtime::set_threads(threads));
    fmt::print("{} thread{}\n", threads, threads == 1 ? "" : "s");
    if (argc < 3) {
      for (const auto& [rows, channels] :
           {std::pair<int64_t, int64_t>{197, 192}, {128, 512}, {32, 192}, {197, 768}, {1, 1024}})
        measure(rows, channels);
    }
    for (int i = 1; i + 1 < argc; i += 2) measure(std::atoll(argv[i]), std::atoll(argv[i + 1]));
  }
  return 0;
}
