// The rule on unpacked constants on the real runtime, with every kind of operand that takes one:
// whatever way the file is loaded, and with the backend's weight cache on and off, the same bits come out, also after
// several runs.
#include "make.h"
#include "testing.h"

namespace edgelift::testing {
namespace {

using xnn::Kind;

xnn::Graph with_every_kind_of_constant() {
  Maker m;
  const uint32_t x = m.input({1, 6, 6, 4});
  uint32_t y = m.conv(x, 8, 3, 1);
  y = m.op(Kind::Multiply, {y, m.constant(scalar_data(DType::F32, 0.25), xnn::Use::Unpacked)});
  y = m.op(Kind::Add, {m.unpacked({6, 6, 8}, 4), y});
  y = m.op(Kind::PReLU, {y, m.unpacked({8}, 5)});
  y = m.reshape(y, {36, 8});
  y = m.concat(m.unpacked({1, 8}, 6), y, 0);
  y = m.linear(y, m.packed({16, 8}, 7), m.packed({16}, 8));
  y = m.batch_matmul(y, m.packed({16, 5}, 9));
  m.output(y);
  m.output(m.op(Kind::Copy, {m.unpacked({3}, 10)}));
  return m.graph;
}

TEST(Lifetime, EveryLoaderWithAndWithoutTheWeightCache) {
  xnn::Graph graph = with_every_kind_of_constant();
  const std::vector<TensorData> inputs = inputs_for(graph);
  const std::vector<TensorData> expected = run(graph, inputs);
  ASSERT_EQ(expected.size(), 2u);
  xnn::finalize(graph);
  auto program = runtime::program_of(graph);
  ASSERT_TRUE(program.ok()) << program.error().message;
  const auto path = scratch_dir() / "constants.pte";
  ASSERT_TRUE(pte::write(*program, path).ok());
  const std::vector<runtime::Argument> arguments(inputs.begin(), inputs.end());
  for (const runtime::Load load : {runtime::Load::Mmap, runtime::Load::File, runtime::Load::Memory}) {
    for (const bool cache : {false, true}) {
      runtime::SessionOptions options;
      options.load = load;
      options.weight_cache = cache;
      auto session = runtime::Session::open(path, options);
      ASSERT_TRUE(session.ok()) << session.error().message;
      auto method = (*session)->method();
      ASSERT_TRUE(method.ok()) << method.error().message;
      for (int repeat = 0; repeat < 3; ++repeat) {
        auto outputs = (*method)->run(arguments);
        ASSERT_TRUE(outputs.ok()) << outputs.error().message;
        for (size_t i = 0; i < expected.size(); ++i)
          EXPECT_TRUE(std::get<TensorData>((*outputs)[i]).contiguous().same_bits(expected[i]))
              << "loader " << static_cast<int>(load) << " cache " << cache;
      }
    }
  }
}

}  // namespace
}  // namespace edgelift::testing
