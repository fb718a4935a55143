// Source lines and module paths out of raw JSON text.
#include <gtest/gtest.h>

#include "ir/graph.h"

namespace edgelift::ir {
namespace {

Origin origin(std::string_view trace, std::string_view modules = {}) {
  OriginData data;
  data.stack_trace = trace;
  data.module_stack = modules;
  return std::make_shared<const OriginData>(data);
}

TEST(SourceLine, InnermostFrameOutsideOfTorch) {
  EXPECT_EQ(
      source_line(origin(
          R"(File \"/Users/me/net.py\", line 3, in forward\n    x = self.block(x)\n  File \"/Users/me/blocks/attn.py\", line 14, in forward\n    y = self.fc(x)\n  File \"/usr/lib/python3/site-packages/torch/nn/modules/linear.py\", line 134, in forward\n    return F.linear(input, self.weight, self.bias)\n)")),
      "blocks/attn.py:14");
}

TEST(SourceLine, LibraryOfModels) {
  EXPECT_EQ(
      source_line(origin(
          R"(  File \"/x/site-packages/timm/layers/mlp.py\", line 52, in forward\n    x\n  File \"/x/site-packages/torch/nn/functional.py\", line 9, in gelu\n)")),
      "layers/mlp.py:52");
}

TEST(SourceLine, OnlyTorch) {
  EXPECT_EQ(source_line(origin(R"(File \"/x/torch/nn/modules/linear.py\", line 134, in forward\n)")),
            "modules/linear.py:134");
}

TEST(SourceLine, OtherSpellings) {
  EXPECT_EQ(source_line(origin(R"(File \"C:\\Users\\me\\net.py\", line 7, in forward\n)")), "me\\net.py:7");
  EXPECT_EQ(source_line(origin(R"(File \"model.py\", line 7, in forward\n)")), "model.py:7");
  EXPECT_EQ(source_line(origin(R"(File \"/a/mod\u00e9l.py\", line 7, in f\n)")), "a/mod\xc3\xa9l.py:7");
  EXPECT_EQ(source_line(origin(R"(File \"/a/\ud83d\ude00.py\", line 1, in f\n)")), "a/\xf0\x9f\x98\x80.py:1");
}

TEST(Place, TheLineElseTheModuleElseTheNode) {
  OriginData data;
  EXPECT_EQ(place(nullptr), "");
  EXPECT_EQ(place(std::make_shared<const OriginData>(data)), "");
  data.node_name = "linear_3";
  EXPECT_EQ(place(std::make_shared<const OriginData>(data)), "node linear_3");
  data.module_stack = "L__self__,,net.Net;L__self___fc,blocks.0.fc,torch.nn.Linear";
  EXPECT_EQ(place(std::make_shared<const OriginData>(data)), "module blocks.0.fc");
  data.stack_trace = R"(File \"/me/net.py\", line 3, in forward\n)";
  EXPECT_EQ(place(std::make_shared<const OriginData>(data)), "me/net.py:3");
}

TEST(SourceLine, Unknown) {
  EXPECT_EQ(source_line(nullptr), "");
  EXPECT_EQ(source_line(origin("")), "");
  EXPECT_EQ(source_line(origin("no frames here")), "");
  EXPECT_EQ(source_line(origin(R"(File \"/a/b.py\", line , in f)")), "");
  // Never checked on import: broken escapes must do no harm.
  EXPECT_EQ(source_line(origin(R"(File \"/a/\ud83dx.py\", line 1, in f\n)")), "a/\xef\xbf\xbdx.py:1");
  EXPECT_EQ(source_line(origin("\\")), "");
  EXPECT_EQ(source_line(origin("\\u12")), "");
}

TEST(ModulePath, InnermostModule) {
  EXPECT_EQ(module_path(origin("",
                               "L__self__,,timm.VisionTransformer;L__self__blocks,blocks,torch.Sequential;L__self__"
                               "blocks.1,blocks.1.mlp,timm.Mlp")),
            "blocks.1.mlp");
  EXPECT_EQ(module_path(origin("", "L__self__,,timm.VisionTransformer")), "");
  EXPECT_EQ(module_path(origin("")), "");
  EXPECT_EQ(module_path(origin("", "junk")), "");
}

}  // namespace
}  // namespace edgelift::ir
