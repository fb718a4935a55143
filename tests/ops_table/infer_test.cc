// Shape and dtype rules.
#include "graph_builder.h"

namespace edgelift::ops {
namespace {

using InferTest = OpsTest;

TEST_F(InferTest, PromotionByCategory) {
  ir::Value* ints = i64({2});
  ir::Value* floats = f32({2});
  ir::Value* halves = f16({2});
  ir::Value* half0 = f16({});
  ir::Value* double0 = input(DType::F64, {});
  ir::Value* bools = input(DType::Bool, {2});
  EXPECT_EQ(types("add.Tensor", {ints, floats}), "f32[2]");
  EXPECT_EQ(types("add.Tensor", {halves, floats}), "f32[2]");
  EXPECT_EQ(types("add.Tensor", {halves, double0}), "f16[2]");  // a rank-0 tensor of the same kind does not widen
  EXPECT_EQ(types("add.Tensor", {ints, half0}), "f16[2]");      // of a higher kind it does
  EXPECT_EQ(types("mul.Scalar", {ints, 2.5}), "f32[2]");        // a number: the default float
  EXPECT_EQ(types("mul.Scalar", {halves, 2.5}), "f16[2]");
  EXPECT_EQ(types("mul.Scalar", {bools, SymInt(2)}), "i64[2]");
  EXPECT_EQ(types("mul.Scalar", {input(DType::I8, {2}), SymInt(300)}), "i8[2]");
  EXPECT_EQ(types("div.Tensor", {ints, ints}), "f32[2]");
  EXPECT_EQ(types("eq.Tensor", {ints, floats}), "bool[2]");
}

TEST_F(InferTest, BroadcastingWithSymbols) {
  const SymInt s = symbol("s0");
  EXPECT_EQ(types("add.Tensor", {f32({s, 1, 4}), f32({3, 1})}), "f32[s0,3,4]");
  EXPECT_EQ(types("add.Tensor", {f32({s, 4}), f32({s, 4})}), "f32[s0,4]");
  EXPECT_EQ(types("add.Tensor", {f32({2, 3}), f32({4})}), "error: shapes [2,3] and [4] do not broadcast");
}

TEST_F(InferTest, ElementwiseKeepsDimOrder) {
  const std::vector<uint8_t> last{0, 2, 3, 1};
  ir::Value* x = input(DType::F32, {1, 8, 4, 4}, last);
  EXPECT_EQ(types("relu", {x}), "f32[1,8,4,4]{0,2,3,1}");
  EXPECT_EQ(types("add.Tensor", {x, input(DType::F32, {1, 8, 4, 4}, last)}), "f32[1,8,4,4]{0,2,3,1}");
  EXPECT_EQ(types("add.Tensor", {x, f32({1, 8, 4, 4})}), "f32[1,8,4,4]");
}

TEST_F(InferTest, MatrixProducts) {
  const SymInt s = symbol("s0");
  EXPECT_EQ(types("matmul", {f32({5}), f32({5})}), "f32[]");
  EXPECT_EQ(types("matmul", {f32({5}), f32({2, 5, 3})}), "f32[2,3]");
  EXPECT_EQ(types("matmul", {f32({2, 4, 5}), f32({5})}), "f32[2,4]");
  EXPECT_EQ(types("matmul", {f32({s, 1, 4, 5}), f32({7, 5, 3})}), "f32[s0,7,4,3]");
  EXPECT_EQ(types("matmul", {f32({2, 4, 5}), f32({4, 3})}),
            "error: the contracted dims of a matrix product do not agree: 5 and 4");
  EXPECT_EQ(types("linear", {f32({s, 3, 8}), constant({4, 8}), constant({4})}), "f32[s0,3,4]");
  EXPECT_EQ(types("addmm", {f32({4, 1}), f32({4, 2}), f32({2, 3})}), "f32[4,3]");
  EXPECT_EQ(types("addmm", {f32({5, 3}), f32({4, 2}), f32({2, 3})}), "error: shapes [5,3] and [4,3] do not broadcast");
  EXPECT_EQ(types("mm", {f32({4, 2}), i64({2, 3})}),
            "error: the operands of a matrix product have different dtypes: float32 and int64");
  EXPECT_EQ(types("tensordot", {f32({2, 3, 4}), f32({4, 3, 5}), list({1, 2}), list({1, 0})}), "f32[2,5]");
  EXPECT_EQ(types("kron", {f32({2, 3}), f32({4})}), "f32[2,12]");
}

TEST_F(InferTest, Einsum) {
  const SymInt s = symbol("s0");
  const auto einsum = [&](const char* equation, ir::ValueList tensors) {
    return types("einsum", {std::string(equation), std::move(tensors)});
  };
  EXPECT_EQ(einsum("bij,bjk->bik", {f32({s, 2, 3}), f32({s, 3, 4})}), "f32[s0,2,4]");
  EXPECT_EQ(einsum("ij,jk", {f32({2, 3}), f32({3, 4})}), "f32[2,4]");
  EXPECT_EQ(einsum("...ij, ...jk -> ...ik", {f32({5, 1, 2, 3}), f32({7, 3, 4})}), "f32[5,7,2,4]");
  EXPECT_EQ(einsum("ii->i", {f32({3, 3})}), "f32[3]");
  EXPECT_EQ(einsum("ba", {f32({2, 3})}), "f32[3,2]");
  EXPECT_EQ(einsum("ij->", {f32({2, 3})}), "f32[]");
  EXPECT_EQ(einsum("ij,jk->ik", {f32({2, 3}), f32({5, 4})}),
            "error: einsum equation 'ij,jk->ik' gives the label 'j' the sizes 3 and 5");
  EXPECT_EQ(einsum("ij->ik", {f32({2, 3})}), "error: einsum equation 'ij->ik' has the label 'k' only in its output");
  EXPECT_EQ(einsum("ijk->i", {f32({2, 3})}), "error: einsum equation 'ijk->i' does not fit operand 0 of rank 2");
}

TEST_F(InferTest, Convolutions) {
  const SymInt s = symbol("s0"), h = symbol("s1", 8, 64);
  ir::Value* w = constant({6, 4, 3, 3});
  EXPECT_EQ(types("conv2d", {f32({s, 4, 16, 16}), w}), "f32[s0,6,14,14]");
  EXPECT_EQ(types("conv2d", {f32({4, 16, 16}), w, ir::Arg(), list({2}), list({1})}), "f32[6,8,8]");
  EXPECT_EQ(types("conv2d", {f32({1, 4, h, 16}), w, ir::Arg(), list({2, 2}), list({1, 1})}),
            "f32[1,6,floordiv(s1+1, 2),8]");
  EXPECT_EQ(types("conv2d.padding",
                  {f32({1, 4, 9, 9}), constant({6, 4, 4, 2}), ir::Arg(), list({1, 1}), std::string("same")}),
            "f32[1,6,9,9]");
  EXPECT_EQ(types("conv_transpose2d.input", {f32({1, 6, 5, 5}), constant({6, 2, 3, 3}), ir::Arg(), list({2, 2}),
                                             list({1, 1}), list({1, 0}), SymInt(2)}),
            "f32[1,4,10,9]");
  EXPECT_EQ(types("conv1d",
                  {f32({2, 4, 10}), constant({8, 1, 3}), constant({8}), list({1}), list({2}), list({2}), SymInt(4)}),
            "f32[2,8,10]");
  EXPECT_EQ(types("conv3d", {f32({1, 2, 4, 5, 6}), constant({3, 2, 2, 2, 2})}), "f32[1,3,3,4,5]");
  EXPECT_EQ(types("conv2d", {f32({1, 5, 16, 16}), w}),
            "error: a convolution's input of shape [1,5,16,16] has 5 channels, its weight of shape [6,4,3,3] with 1 "
            "groups takes 4");
  EXPECT_EQ(types("conv2d", {f32({1, 4, 2, 16}), w}),
            "error: a kernel of 3 with dilation 1 is larger than the padded input of 2");
  EXPECT_EQ(types("conv2d", {f32({1, 4, 8, 8}), w, constant({5})}),
            "error: a convolution's bias of shape [5] does not fit 6 output channels");
}

TEST_F(InferTest, Pools) {
  // (13 + 2 - 3) / 2 + 1 = 7 both ways; with 14 ceil_mode adds a window, which starts inside the input.
  EXPECT_EQ(types("max_pool2d", {f32({1, 2, 13, 14}), list({3, 3}), list({2, 2}), list({1, 1}), list({1, 1}), true}),
            "f32[1,2,7,8]");
  // A last window that would start in the right padding is dropped.
  EXPECT_EQ(types("avg_pool2d", {f32({1, 1, 3, 4}), list({2, 2}), list({2, 2}), list({1, 1}), true}), "f32[1,1,2,3]");
  EXPECT_EQ(types("avg_pool2d", {f32({1, 1, 5, 5}), list({1, 1}), list({4, 4}), list({0, 0}), true}), "f32[1,1,2,2]");
  EXPECT_EQ(types("max_pool2d_with_indices", {f32({2, 8, 8}), list({2})}), "f32[2,4,4], i64[2,4,4]");
  EXPECT_EQ(types("max_pool1d", {f32({1, 2, symbol("s0")}), list({2}), list({2})}), "f32[1,2,floordiv(s0, 2)]");
  EXPECT_EQ(types("adaptive_avg_pool2d", {f32({1, 3, 7, 9}), list({2, 1})}), "f32[1,3,2,1]");
  EXPECT_EQ(types("avg_pool2d", {f32({1, 1, 8, 8}), list({2, 2}), list({}), list({2, 2})}),
            "error: a padding of 2 is more than half of the kernel of 2");
  EXPECT_EQ(types("max_pool2d", {f32({8, 8}), list({2, 2})}),
            "error: a pooling over 2 dims takes a tensor of rank 3 or 4, not [8,8]");
}

TEST_F(InferTest, Views) {
  const SymInt s = symbol("s0");
  EXPECT_EQ(types("view", {f32({s, 3, 8}), list({-1, 24})}), "f32[s0,24]");
  EXPECT_EQ(types("view", {f32({s, 3, 8}), list({s, -1, 4})}), "f32[s0,6,4]");
  EXPECT_EQ(types("view", {f32({4, 6}), list({-1, 5})}), "error: shape [4,6] has not the element count of [-1,5]");
  EXPECT_EQ(types("view", {f32({4, 6}), list({5, 5})}), "error: shape [4,6] has not the element count of [5,5]");
  EXPECT_EQ(types("view", {f32({4, 6}), list({-1, -1})}), "error: more than one size of [-1,-1] is -1");
  EXPECT_EQ(types("expand", {f32({1, 3}), list({s, -1, 3})}), "f32[s0,1,3]");
  EXPECT_EQ(types("expand", {f32({2, 3}), list({4, 3})}), "error: shape [2,3] does not expand to [4,3]");
  EXPECT_EQ(types("permute", {f32({2, 3, 4}), list({0, 0, 1})}), "error: dim 0 appears twice in the permutation");
}

TEST_F(InferTest, Slices) {
  const SymInt s = symbol("s0", 4, 64);
  const auto slice = [&](ir::Value* x, ir::Arg start, ir::Arg end, int64_t step = 1) {
    return types("slice.Tensor", {x, SymInt(0), std::move(start), std::move(end), SymInt(step)});
  };
  EXPECT_EQ(slice(f32({10}), SymInt(-3), SymInt(INT64_MAX)), "f32[3]");
  EXPECT_EQ(slice(f32({10}), SymInt(-30), SymInt(4)), "f32[4]");
  EXPECT_EQ(slice(f32({10}), SymInt(8), SymInt(2)), "f32[0]");
  EXPECT_EQ(slice(f32({10}), SymInt(1), ir::Arg(), 4), "f32[3]");
  EXPECT_EQ(slice(f32({s}), ir::Arg(), SymInt(-1)), "f32[s0-1]");
  EXPECT_EQ(slice(f32({s}), SymInt(1), SymInt(INT64_MAX)), "f32[s0-1]");
  EXPECT_EQ(slice(f32({s}), ir::Arg(), SymInt(3)), "f32[3]");  // s0 is at least 4
  EXPECT_EQ(slice(f32({s}), ir::Arg(), SymInt(9)), "f32[min(9, s0)]");
}

TEST_F(InferTest, Norms) {
  EXPECT_EQ(types("native_layer_norm", {f32({2, 3, 8}), list({3, 8}), ir::Arg(), ir::Arg(), 1e-5}),
            "f32[2,3,8], f32[2,1,1], f32[2,1,1]");
  EXPECT_EQ(types("native_group_norm",
                  {f32({2, 6, 4}), ir::Arg(), ir::Arg(), SymInt(2), SymInt(6), SymInt(4), SymInt(3), 1e-5}),
            "f32[2,6,4], f32[2,3], f32[2,3]");
  EXPECT_EQ(types("layer_norm", {f32({2, 8}), list({7})}),
            "error: normalized_shape [7] does not fit an input of shape [2,8]");
  EXPECT_EQ(types("group_norm", {f32({2, 6, 4}), SymInt(4)}), "error: 6 channels do not divide into 4 groups");
}

TEST_F(InferTest, Attention) {
  EXPECT_EQ(types("scaled_dot_product_attention", {f32({2, 4, 5, 8}), f32({2, 4, 7, 8}), f32({2, 4, 7, 6})}),
            "f32[2,4,5,6]");
  EXPECT_EQ(types("scaled_dot_product_attention", {f32({2, 4, 5, 8}), f32({2, 2, 7, 8}), f32({2, 2, 7, 8})},
                  {{"enable_gqa", true}}),
            "f32[2,4,5,8]");
  EXPECT_EQ(
      types("_scaled_dot_product_flash_attention_for_cpu", {f32({2, 4, 5, 8}), f32({2, 4, 7, 8}), f32({2, 4, 7, 8})}),
      "f32[2,4,5,8], f32[2,4,5]");
  EXPECT_EQ(types("scaled_dot_product_attention", {f32({2, 4, 5, 8}), f32({2, 4, 7, 9}), f32({2, 4, 7, 9})}),
            "error: the head sizes of attention do not fit: query [2,4,5,8], key [2,4,7,9], value [2,4,7,9]");
}

TEST_F(InferTest, Resampling) {
  const SymInt h = symbol("s0", 4, 64);
  const auto scales = [](double a, double b) { return std::vector<double>{a, b}; };
  EXPECT_EQ(types("upsample_nearest2d.vec", {f32({1, 2, 5, 7}), ir::Arg(), scales(1.5, 2)}), "f32[1,2,7,14]");
  EXPECT_EQ(types("upsample_nearest2d.vec", {f32({1, 2, h, 7}), ir::Arg(), scales(2, 2)}), "f32[1,2,2*s0,14]");
  EXPECT_EQ(types("upsample_nearest2d.vec", {f32({1, 2, h, 7}), ir::Arg(), scales(0.5, 1)}),
            "f32[1,2,floordiv(s0, 2),7]");
  EXPECT_EQ(types("upsample_bilinear2d", {f32({1, 2, 5, 7}), list({9, 3}), false}), "f32[1,2,9,3]");
  EXPECT_EQ(types("pixel_shuffle", {f32({2, 12, 3, 4}), SymInt(2)}), "f32[2,3,6,8]");
  EXPECT_EQ(types("grid_sampler_2d", {f32({1, 3, 8, 8}), f32({1, 4, 5, 2}), SymInt(0), SymInt(0), false}),
            "f32[1,3,4,5]");
  EXPECT_EQ(types("im2col", {f32({1, 3, 6, 6}), list({2, 2}), list({1, 1}), list({0, 0}), list({2, 2})}),
            "f32[1,12,9]");
}

TEST_F(InferTest, RecurrentLayers) {
  ir::ValueList params;
  for (int i = 0; i < 4; ++i) params.push_back(constant({1}));
  EXPECT_EQ(types("lstm.input", {f32({2, 5, 8}), ir::ValueList{f32({2, 2, 6}), f32({2, 2, 6})}, params, true, SymInt(1),
                                 0.0, false, true, true}),
            "f32[2,5,12], f32[2,2,6], f32[2,2,6]");
  EXPECT_EQ(types("gru.input", {f32({5, 8}), f32({1, 6}), params, true, SymInt(1), 0.0, false, false, false}),
            "f32[5,6], f32[1,6]");
}

}  // namespace
}  // namespace edgelift::ops
