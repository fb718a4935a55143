// Tables of measured gains: reading and writing them, what they say of layers between, and what is chosen from them.
#include "xnnpack/target.h"

#include "make.h"

namespace edgelift::testing {
namespace {

using xnn::ConvForm;
using xnn::ConvShape;
using xnn::Effort;

ConvShape same(int64_t channels, int64_t size) { return {channels, channels, size, size, 3, 3, 1, 1}; }

xnn::Target table(std::vector<xnn::MeasuredLayer> layers) { return {"test", "a machine", std::move(layers)}; }

xnn::Graph layer(int64_t channels, int64_t size) {
  Maker m;
  m.output(m.conv(m.input({1, size, size, channels}), static_cast<uint32_t>(channels), 3, 1));
  return m.graph;
}

TEST(Target, JsonReadsBack) {
  const xnn::Target t = table({{same(64, 56), {{ConvForm::Im2col, 1.5}, {ConvForm::Winograd2, 3.25}}}});
  const auto again = xnn::target_from_json(xnn::to_json(t), "t.json");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->name, "test");
  ASSERT_EQ(again->layers.size(), 1u);
  EXPECT_EQ(again->layers[0].shape, same(64, 56));
  EXPECT_EQ(xnn::gain(*again, same(64, 56), ConvForm::Winograd2), 3.25);
  EXPECT_EQ(xnn::to_json(*again), xnn::to_json(t));
}

TEST(Target, BadTablesSayWhere) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not a JSON object"},
      {"[]", "not a JSON object"},
      {"{\"layers\": []}", "\"edgelift_target\": 1"},
      {"{\"edgelift_target\": 2, \"layers\": []}", "\"edgelift_target\": 1"},
      {"{\"edgelift_target\": 1}", "no \"layers\""},
      {"{\"edgelift_target\": 1, \"layers\": [{}]}", "eight \"conv\" numbers"},
      {"{\"edgelift_target\": 1, \"layers\": [{\"conv\": [1,2,3,4,5,6,7]}]}", "eight \"conv\" numbers"},
      {"{\"edgelift_target\": 1, \"layers\": [{\"conv\": [1,2,3,4,5,6,7,-1]}]}", "out of range"},
      {"{\"edgelift_target\": 1, \"layers\": [{\"conv\": [1,2,3,4,5,6,7,1e9]}]}", "out of range"},
      {"{\"edgelift_target\": 1, \"layers\": [{\"conv\": [1,2,3,4,3,3,1,1], \"fft\": 2}]}", "unknown form \"fft\""},
      {"{\"edgelift_target\": 1, \"layers\": [{\"conv\": [1,2,3,4,3,3,1,1], \"im2col\": -2}]}", "not a positive"},
      {"{\"edgelift_target\": 1, \"layers\": [{\"conv\": [1,2,3,4,3,3,1,1], \"im2col\": \"2\"}]}", "not a positive"},
  };
  for (const auto& [text, expected] : cases) {
    const auto read = xnn::target_from_json(text, "t.json");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.error().message.find("t.json"), std::string::npos) << read.error().message;
    EXPECT_NE(read.error().message.find(expected), std::string::npos) << read.error().message;
  }
  const auto unknown = xnn::find_target("no such target");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("generic, host, avx2, avx512"), std::string::npos) << unknown.error().message;
}

TEST(Target, BetweenMeasuredLayersTheGainIsBetweenTheirs) {
  const xnn::Target t = table({{same(64, 56), {{ConvForm::Im2col, 1.0}}}, {same(128, 28), {{ConvForm::Im2col, 4.0}}}});
  const auto between = xnn::gain(t, {96, 96, 40, 40, 3, 3, 1, 1}, ConvForm::Im2col);
  ASSERT_TRUE(between.has_value());
  EXPECT_GT(*between, 1.3);
  EXPECT_LT(*between, 3.0);
  // Nothing is claimed of forms, kernels, strides and sizes that were not measured.
  EXPECT_EQ(xnn::gain(t, same(64, 56), ConvForm::Winograd2), std::nullopt);
  EXPECT_EQ(xnn::gain(t, {64, 64, 56, 56, 5, 5, 1, 1}, ConvForm::Im2col), std::nullopt);
  EXPECT_EQ(xnn::gain(t, {64, 64, 56, 56, 3, 3, 2, 2}, ConvForm::Im2col), std::nullopt);
  EXPECT_EQ(xnn::gain(t, same(4, 56), ConvForm::Im2col), std::nullopt);
}

TEST(Target, TheEffortDecides) {
  const xnn::Graph graph = layer(16, 8);
  const auto choose = [&](std::vector<xnn::FormGain> gains, Effort effort, double max_error = 0) {
    const xnn::Target t = table({{same(16, 8), std::move(gains)}});
    return xnn::choose_form(graph, graph.nodes[0], {&t, effort, max_error});
  };
  // Balanced: 1.3 times, weights at most 1.8 times. Size: no growth. Speed: 1.05 times, any growth.
  EXPECT_EQ(choose({{ConvForm::Winograd2, 1.29}}, Effort::Balanced), ConvForm::Direct);
  EXPECT_EQ(choose({{ConvForm::Winograd2, 1.31}}, Effort::Balanced), ConvForm::Winograd2);
  EXPECT_EQ(choose({{ConvForm::Winograd2, 1.31}}, Effort::Size), ConvForm::Direct);
  EXPECT_EQ(choose({{ConvForm::Im2col, 1.31}}, Effort::Size), ConvForm::Im2col);
  EXPECT_EQ(choose({{ConvForm::Im2col, 1.31}, {ConvForm::Winograd2, 2}}, Effort::Size), ConvForm::Im2col);
  EXPECT_EQ(choose({{ConvForm::Im2colBanded, 2}}, Effort::Balanced), ConvForm::Direct);  // 2 * 4 / 3
  EXPECT_EQ(choose({{ConvForm::Im2colBanded, 2}}, Effort::Speed), ConvForm::Im2colBanded);
  EXPECT_EQ(choose({{ConvForm::Winograd2, 1.06}}, Effort::Speed), ConvForm::Winograd2);
  EXPECT_EQ(choose({{ConvForm::Winograd2, 1.04}}, Effort::Speed), ConvForm::Direct);
  // Winograd4's error is above the default bound whatever it gains.
  EXPECT_EQ(choose({{ConvForm::Winograd4Bmm, 9}}, Effort::Speed), ConvForm::Direct);
  EXPECT_EQ(choose({{ConvForm::Winograd4Bmm, 9}}, Effort::Speed, 5e-5), ConvForm::Winograd4Bmm);
  EXPECT_EQ(choose({{ConvForm::Winograd4Bmm, 9}}, Effort::Balanced, 5e-5), ConvForm::Direct);
  EXPECT_EQ(choose({{ConvForm::Winograd2, 9}}, Effort::Speed, 1e-6), ConvForm::Direct);
}

TEST(Target, GenericIsTheLeastOfAll) {
  const auto generic = xnn::find_target("generic");
  ASSERT_TRUE(generic.ok());
  ASSERT_GE(xnn::shipped_targets().size(), 2u);
  int compared = 0;
  for (const xnn::MeasuredLayer& row : generic->layers)
    for (const xnn::FormGain& g : row.gains)
      for (const xnn::Target& target : xnn::shipped_targets())
        if (const auto other = xnn::gain(target, row.shape, g.form)) {
          ++compared;
          EXPECT_LE(g.gain, *other + 1e-12);
        }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace edgelift::testing
