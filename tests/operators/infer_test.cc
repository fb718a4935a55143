// Shape rules on input that does not fit: an error with a sentence, never a wrong type or a crash.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/record.h"

namespace edgelift::ops {
namespace {

struct Broken {
  const char* inputs;
  const char* node;
  const char* sentence;
};

TEST(ShapeRules, SayWhatDoesNotFit) {
  const Broken cases[] = {
      {"%x: f32[2,3], %z: f32[2,4]", "%y = add.Tensor %x, %z : f32[2,3]", "do not broadcast"},
      {"%x: f32[2,3], %z: f32[3,3]", "%y = cat [%x,%z], dim=1 : f32[2,6]", "do not fit along dim 1"},
      {"%x: f32[2,3], %z: f32[2]", "%y = stack [%x,%z] : f32[2,2,3]", "cannot be stacked"},
      {"%x: f32[2,3]", "%y = select.int %x, dim=0, index=2 : f32[3]", "out of range"},
      {"%x: f32[2,3]", "%y = slice.Tensor %x, dim=2 : f32[2,3]", "out of range"},
      {"%x: f32[2,3]", "%y = slice.Tensor %x, dim=1, step=0 : f32[2,3]", "not a positive number"},
      {"%x: f32[]", "%y = slice.Tensor %x : f32[]", "rank 0"},
      {"%x: f32[2,3]", "%y = view %x, size=[4,2] : f32[4,2]", "element count"},
      {"%x: f32[2,3]", "%y = view %x, size=[-1,-1] : f32[2,3]", "more than one size"},
      {"%x: f32[2,3]", "%y = permute %x, dims=[0,0] : f32[2,2]", "twice"},
      {"%x: f32[2,3]", "%y = expand %x, size=[2,4] : f32[2,4]", "does not expand"},
      {"%x: f32[5]", "%a, %b = split_with_sizes %x, split_sizes=[2,2] : (f32[2], f32[2])", "4 elements together"},
      {"%x: f32[2,3]", "%y = mean.dim %x, dim=[0,0] : f32[3]", "twice"},
      {"%x: i64[2,3]", "%y = mean.dim %x, dim=[0] : i64[3]", "not defined"},
      {"%x: f32[2,3]", "%v, %i = topk %x, k=4 : (f32[2,4], i64[2,4])", "k is 4"},
      {"%x: f32[2,3], %i: i64[2,2]", "%y = index_select %x, dim=0, index=%i : f32[2,3]", "more than one dim"},
      {"%x: f32[2,3], %i: i64[2]", "%y = index.Tensor %x, [%i,%i,%i] : f32[2]", "3 dims are indexed"},
      {"%w: f32[4], %i: i64[2]", "%y = embedding %w, %i : f32[2,4]", "two dims"},
      {"%x: f32[2,3]", "%y = constant_pad_nd %x, pad=[1] : f32[2,4]", "paddings"},
      {"%x: f32[2,3]", "%y = constant_pad_nd %x, pad=[-2,-2] : f32[2,-1]", "than it has"},
      {"%x: f32[2,3]", "%y = repeat %x, repeats=[2] : f32[4,3]", "fewer repeats"},
      {"%x: f32[2,3]", "%y = roll %x, shifts=[1,2], dims=[0] : f32[2,3]", "2 shifts"},
      {"%x: f32[2,3]", "%y = unfold %x, dimension=1, size=4, step=1 : f32[2,0,4]", "does not fit"},
      {"%x: f32[2,3]", "%y = diagonal %x, dim1=1 : f32[2]", "two different dims"},
      {"%x: f32[2,3]", "%y = clamp %x : f32[2,3]", "neither min nor max"},
      {"%x: f32[2,3]", "%y = _to_copy %x, memory_format=channels_last : f32[2,3]", "four dims"},
      {"%x: f32[2,3]", "%y = item %x : float", "a number is taken"},
      {"%x: f32[3,4]", "%y = add_.Tensor %x, %x : f32[3,5]", ""},
  };
  for (const Broken& broken : cases) {
    const std::string text = std::string("program {\n  fn forward(") + broken.inputs + ") -> f32[1] {\n    " +
                             broken.node + "\n    return %y\n  }\n}\n";
    const auto program = ir::parse(text, table());
    ASSERT_FALSE(program.ok()) << text;
    EXPECT_NE(program.error().message.find(broken.sentence), std::string::npos) << text << program.error().message;
  }
}

}  // namespace
}  // namespace edgelift::ops
