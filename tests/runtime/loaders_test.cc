// The rule on unpacked constants on whole models: a delegate frees the data that it was created from,
// so what the runtime reads later must not be there. Every loader, with the weight cache off and on, gives the same
// bits. A session refuses a runtime that does not take the option of the cache, so "on" is on.
#include <gtest/gtest.h>

#include "edgelift/edgelift.h"
#include "runtime/bench.h"
#include "runtime/evaluate.h"
#include "runtime/session.h"
#include "testing.h"

namespace edgelift::runtime {
namespace {

struct Way {
  Load load;
  bool weight_cache;
  const char* name;
};
constexpr Way kWays[] = {
    {Load::Mmap, false, "mmap"},       {Load::Mmap, true, "mmap, cache"}, {Load::File, false, "file"},
    {Load::File, true, "file, cache"}, {Load::Memory, false, "memory"},   {Load::Memory, true, "memory, cache"},
};

// The bytes of the outputs of three calls in a row: state moves on, and freed memory has had time to be used again.
using Calls = std::vector<std::vector<TensorData>>;

void run(Session& session, Calls& calls) {
  auto method = session.method();
  ASSERT_TRUE(method.ok()) << method.error().message;
  const std::vector<Argument> arguments = make_inputs((*method)->inputs());
  for (int call = 0; call < 3; ++call) {
    auto outputs = (*method)->run(arguments);
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    std::vector<TensorData>& tensors = calls.emplace_back();
    for (const Argument& output : *outputs)
      if (const auto* tensor = std::get_if<TensorData>(&output)) tensors.push_back(tensor->contiguous());
  }
}

void expect_same(const Calls& calls, const Calls& expected) {
  ASSERT_EQ(calls.size(), expected.size());
  for (size_t c = 0; c < calls.size(); ++c) {
    ASSERT_EQ(calls[c].size(), expected[c].size());
    for (size_t i = 0; i < calls[c].size(); ++i)
      EXPECT_TRUE(calls[c][i].same_bits(expected[c][i])) << "call " << c << ", output " << i;
  }
}

// Lowers the model with its scalars lifted and writes it.
void write_model(const std::string& name, const std::filesystem::path& file, const std::string& optimize = {}) {
  auto program = edgelift::open(testing::source_dir() / "tests" / "models" / name / "model.pt2");
  ASSERT_TRUE(program.ok()) << program.error().message;
  LowerOptions options;
  options.evaluate = evaluate;
  if (!optimize.empty()) {
    options.target = "host";
    options.optimize = optimize;
  }
  const auto lowered = to_edge_transform_and_lower(*std::move(program), options);
  ASSERT_TRUE(lowered.ok()) << lowered.error().message;
  ASSERT_FALSE(lowered->graphs.empty());
  const auto emitted = to_executorch(*lowered, {});
  ASSERT_TRUE(emitted.ok()) << emitted.error().message;
  ASSERT_TRUE(edgelift::write(*emitted, file).ok());
}

// A model, and how its convolutions are written: empty for the plain forms.
struct Lowered {
  const char* name;
  const char* optimize;
};
class LoadedModel : public ::testing::TestWithParam<Lowered> {};

TEST_P(LoadedModel, GivesTheSameBitsWithEveryLoaderAndCache) {
  const std::filesystem::path file = testing::scratch_dir() / "m.pte";
  ASSERT_NO_FATAL_FAILURE(write_model(GetParam().name, file, GetParam().optimize));
  Calls expected;
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    SessionOptions options;
    options.load = way.load;
    options.weight_cache = way.weight_cache;
    auto session = Session::open(file, options);
    ASSERT_TRUE(session.ok()) << session.error().message;
    Calls calls;
    ASSERT_NO_FATAL_FAILURE(run(**session, calls));
    ASSERT_FALSE(calls.at(0).empty());
    if (expected.empty()) expected = calls;
    ASSERT_NO_FATAL_FAILURE(expect_same(calls, expected));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, LoadedModel,
    ::testing::Values(Lowered{"vit", ""}, Lowered{"mobilenet_v3", ""}, Lowered{"llama", ""},
                      Lowered{"llama_kv_cache", ""}, Lowered{"convnext", ""}, Lowered{"lstm_tagger", ""},
                      // Winograd and im2col, whose matrices are packed and whose tiles are not
                      Lowered{"vgg_bn", "speed"}, Lowered{"unet", "speed"}, Lowered{"resnet_basic", "balanced"},
                      // constants folded from parameters, one-hot weights, masks, a dynamic batch
                      Lowered{"detr_decoder", ""}, Lowered{"volo", ""}, Lowered{"swin", ""}, Lowered{"t5_encoder", ""},
                      Lowered{"lstm_dynamic_batch", ""}, Lowered{"mlp_f16", ""}),
    [](const auto& info) {
      return std::string(info.param.name) + (*info.param.optimize != 0 ? "_" : "") + info.param.optimize;
    });

// Sessions that stand side by side, opened in one order and first used in the other: neither the backend's options,
// which are the process's, nor weights that the cache shares between them change what comes out.
TEST(Loaders, SessionsSideBySide) {
  const std::filesystem::path file = testing::scratch_dir() / "m.pte";
  ASSERT_NO_FATAL_FAILURE(write_model("vit", file));
  std::vector<std::unique_ptr<Session>> sessions;
  for (const Way& way : kWays) {
    SessionOptions options;
    options.load = way.load;
    options.weight_cache = way.weight_cache;
    auto session = Session::open(file, options);
    ASSERT_TRUE(session.ok()) << session.error().message;
    sessions.push_back(*std::move(session));
  }
  Calls expected;
  for (size_t i = sessions.size(); i-- > 0;) {
    SCOPED_TRACE(kWays[i].name);
    Calls calls;
    ASSERT_NO_FATAL_FAILURE(run(*sessions[i], calls));
    if (expected.empty()) expected = calls;
    ASSERT_NO_FATAL_FAILURE(expect_same(calls, expected));
  }
  // One that shared weights with others through the cache outlives them.
  while (sessions.size() > 2) sessions.pop_back();
  Calls calls;
  ASSERT_NO_FATAL_FAILURE(run(*sessions[1], calls));
  ASSERT_NO_FATAL_FAILURE(expect_same(calls, expected));
}

}  // namespace
}  // namespace edgelift::runtime
