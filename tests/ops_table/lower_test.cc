// What operators become in the delegate, and why others are refused.
#include "graph_builder.h"

namespace edgelift::ops {
namespace {

using LowerTest = OpsTest;

TEST_F(LowerTest, GeneralGates) {
  EXPECT_EQ(lowered("relu", {i64({2})}), "refused: an operand is int64; the delegate computes in float32 and float16");
  EXPECT_EQ(lowered("relu", {input(DType::BF16, {2})}),
            "refused: an operand is bfloat16; the delegate computes in float32 and float16");
  EXPECT_EQ(lowered("relu", {f32({2, 0})}), "refused: an operand has no elements: f32[2,0]");
  EXPECT_EQ(lowered("relu", {f32({symbol("s0", 0, 8)})}), "refused: an operand may have no elements: f32[s0]");
  EXPECT_EQ(lowered("relu", {f32({symbol("u0", 1, 8)})}),
            "refused: an operand has a size that is known only when the program runs: f32[u0]");
  EXPECT_EQ(lowered("relu", {f32({1, 1, 1, 1, 1, 1, 2})}), "refused: an operand has rank 7, more than XNNPACK's 6");
  EXPECT_EQ(lowered("prelu", {f16({1, 2}), constant({1})}), "refused: float32 and float16 are mixed");
  EXPECT_EQ(lowered("relu_", {f32({2})}), "refused: it writes its argument");
  EXPECT_EQ(lowered("relu", {f32({symbol("s0")})}), "Clamp");
}

TEST_F(LowerTest, ChannelsLastOperandsArriveAsTheyLie) {
  const ir::Node* node = create("relu", {input(DType::F32, {1, 8, 4, 5}, {0, 2, 3, 1})});
  ASSERT_FALSE(lower_node(*node, builder));
  builder.add_output(node->result());
  const xnn::Graph& graph = builder.graph();
  ASSERT_EQ(graph.inputs.size(), 1U);
  EXPECT_EQ(graph.values[graph.inputs[0]].dims, (std::vector<SymInt>{1, 4, 5, 8}));
  EXPECT_EQ(graph.values[graph.outputs[0]].dims, (std::vector<SymInt>{1, 4, 5, 8}));
}

TEST_F(LowerTest, OutputsThatAreInputsAreCopied) {
  const ir::Node* node = create("dropout", {f32({3}), 0.5, false});
  ASSERT_FALSE(lower_node(*node, builder));
  EXPECT_TRUE(builder.graph().nodes.empty());
  builder.add_output(node->result());
  EXPECT_EQ(builder.graph().nodes.back().kind, xnn::Kind::Copy);
  EXPECT_EQ(lowered("dropout", {f32({3}), 0.5, true}), "refused: it drops elements at random (training mode)");
}

TEST_F(LowerTest, Linear) {
  EXPECT_EQ(lowered("linear", {f32({2, 3, 8}), constant({4, 8}), constant({4})}), "FullyConnected");
  EXPECT_EQ(node_of(xnn::Kind::FullyConnected).flags, 0U);
  EXPECT_EQ(lowered("linear", {f32({2, 8}), f32({4, 8})}), "FullyConnected");
  EXPECT_EQ(lowered("linear", {f32({2, 8}), constant({8})}),
            "refused: the weight has rank 1, fully-connected takes a matrix");
  EXPECT_EQ(lowered("linear", {f32({2, 8}), constant({4, 8}), constant({1})}),
            "refused: the bias of shape [1] is not a vector of the output's last dim");
}

TEST_F(LowerTest, AddmmHonoursItsFactors) {
  EXPECT_EQ(lowered("addmm", {constant({3}), f32({4, 2}), constant({2, 3})}), "FullyConnected");
  EXPECT_EQ(node_of(xnn::Kind::FullyConnected).flags, xnn::kFlagTransposeWeights);
  // beta goes into the bias
  EXPECT_EQ(lowered("addmm", {constant({3}), f32({4, 2}), constant({2, 3})}, {{"beta", 2.0}}), "FullyConnected");
  const uint32_t bias = node_of(xnn::Kind::FullyConnected).inputs[2];
  EXPECT_EQ(builder.graph().values[bias].data.to_doubles(), (std::vector<double>{0, 2, 4}));
  EXPECT_EQ(lowered("addmm", {constant({3}), f32({4, 2}), constant({2, 3})}, {{"alpha", 3.0}}),
            "FullyConnected Multiply Add");
  EXPECT_EQ(lowered("addmm", {constant({3}), f32({4, 2}), constant({2, 3})}, {{"beta", SymInt(0)}}), "FullyConnected");
  EXPECT_EQ(node_of(xnn::Kind::FullyConnected).inputs[2], xnn::kInvalid);
  EXPECT_EQ(lowered("addmm", {f32({4, 1}), f32({4, 2}), f32({2, 3})}, {{"beta", 0.5}, {"alpha", 2.0}}),
            "BatchMatrixMultiply Multiply Multiply Add");
  EXPECT_EQ(lowered("addmm", {constant({4, 3}), f32({4, 2}), constant({2, 3})}), "FullyConnected Add");
  EXPECT_EQ(lowered("addmm", {f16({3}), f16({4, 2}), f16({2, 3})}, {{"beta", 0.1}}),
            "refused: beta 0.1 is not exact in float16, and eager computes with the unrounded number");
}

TEST_F(LowerTest, AlphaIsAFactor) {
  ir::Value* x = f32({2, 3});
  EXPECT_EQ(lowered("add.Tensor", {x, f32({3})}), "Add");
  EXPECT_EQ(lowered("add.Tensor", {x, f32({3})}, {{"alpha", 2.5}}), "Multiply Add");
  EXPECT_EQ(lowered("rsub.Tensor", {x, f32({3})}, {{"alpha", SymInt(2)}}), "Multiply Subtract");
  EXPECT_EQ(lowered("sub.Tensor", {f16({2}), f16({2})}, {{"alpha", 0.1}}),
            "refused: alpha 0.1 is not exact in float16, and eager computes with the unrounded number");
}

TEST_F(LowerTest, ProductsOfAllRanks) {
  EXPECT_EQ(lowered("mm", {f32({4, 2}), f32({2, 3})}), "BatchMatrixMultiply");
  EXPECT_EQ(lowered("mm", {f32({4, 2}), constant({2, 3})}), "FullyConnected");
  EXPECT_EQ(lowered("bmm", {f32({5, 4, 2}), constant({5, 2, 3})}), "BatchMatrixMultiply");
  EXPECT_EQ(builder.graph().values[node_of(xnn::Kind::BatchMatrixMultiply).inputs[1]].use, xnn::Use::Packed);
  EXPECT_EQ(lowered("matmul", {f32({2, 1, 4, 5}), f32({7, 5, 3})}), "BatchMatrixMultiply");
  EXPECT_EQ(lowered("matmul", {f32({2, 4, 5}), constant({5, 3})}), "FullyConnected");
  EXPECT_EQ(lowered("matmul", {f32({5}), f32({5})}), "StaticReshape FullyConnected StaticReshape");
  EXPECT_EQ(lowered("matmul", {f32({5}), f32({2, 5, 3})}), "StaticReshape BatchMatrixMultiply StaticReshape");
  EXPECT_EQ(lowered("mv", {f32({4, 5}), constant({5})}), "FullyConnected StaticReshape");
}

TEST_F(LowerTest, Convolutions) {
  ir::Value* x = f32({1, 4, 8, 9});
  EXPECT_EQ(lowered("conv2d", {x, constant({6, 4, 3, 3}), constant({6}), list({2}), list({1, 0})}),
            "StaticTranspose Conv2d StaticTranspose");
  const xnn::Node& conv = node_of(xnn::Kind::Conv2d);
  EXPECT_EQ(conv.window.pad_top, 1U);
  EXPECT_EQ(conv.window.pad_left, 0U);
  EXPECT_EQ(conv.window.stride_w, 2U);
  EXPECT_EQ(conv.window.group_input_channels, 4U);
  EXPECT_EQ(builder.graph().values[conv.inputs[1]].data.sizes(), (std::vector<int64_t>{6, 3, 3, 4}));

  EXPECT_EQ(lowered("conv2d", {x, constant({8, 1, 3, 3}), ir::Arg(), list({1}), list({0}), list({1}), SymInt(4)}),
            "StaticTranspose DepthwiseConv2d StaticTranspose");
  const xnn::Node& depthwise = node_of(xnn::Kind::DepthwiseConv2d);
  EXPECT_EQ(builder.graph().values[depthwise.inputs[1]].data.sizes(), (std::vector<int64_t>{1, 3, 3, 8}));
  EXPECT_EQ(depthwise.window.groups, 4U);
  EXPECT_EQ(depthwise.window.group_output_channels, 2U);

  EXPECT_EQ(lowered("conv2d.padding", {x, constant({6, 4, 2, 4}), ir::Arg(), list({1}), std::string("same")}),
            "StaticTranspose Conv2d StaticTranspose");
  EXPECT_EQ(node_of(xnn::Kind::Conv2d).window.pad_left, 1U);
  EXPECT_EQ(node_of(xnn::Kind::Conv2d).window.pad_right, 2U);

  EXPECT_EQ(lowered("conv1d", {f32({2, 4, 10}), constant({6, 4, 3})}),
            "StaticTranspose StaticReshape Conv2d StaticReshape StaticTranspose");
  EXPECT_EQ(lowered("conv2d", {f32({4, 8, 9}), constant({6, 4, 3, 3})}),
            "StaticTranspose StaticReshape Conv2d StaticReshape StaticTranspose");
  EXPECT_EQ(lowered("conv2d", {x, f32({6, 4, 3, 3})}), "refused: the convolution's weight is not a constant");
  EXPECT_EQ(lowered("conv2d", {x, constant({6, 4, 3, 3}), f32({6})}),
            "refused: the convolution's bias is not a constant");
  EXPECT_EQ(lowered("conv3d", {f32({1, 2, 4, 5, 6}), constant({3, 2, 2, 2, 2})}),
            "refused: XNNPACK has no 3-D convolution");
  EXPECT_EQ(lowered("conv1d", {f32({symbol("s0"), 4, symbol("s1", 8)}), constant({6, 4, 3})}),
            "refused: it needs a reshape with more than one dynamic size");
}

TEST_F(LowerTest, TransposedConvolutionSwapsChannelsWithinGroups) {
  // weight [in = 4, out / groups = 1, 1, 1] with 2 groups, values 0 to 3: filter [out = 2, 1, 1, in / groups = 2]
  EXPECT_EQ(lowered("conv_transpose2d.input", {f32({1, 4, 3, 3}), constant({4, 1, 1, 1}), ir::Arg(), list({2, 2}),
                                               list({0, 0}), list({1, 0}), SymInt(2)}),
            "StaticTranspose ConvTranspose2d StaticTranspose");
  const xnn::Node& node = node_of(xnn::Kind::ConvTranspose2d);
  EXPECT_EQ(builder.graph().values[node.inputs[1]].data.to_doubles(), (std::vector<double>{0, 1, 2, 3}));
  EXPECT_EQ(node.window.adjustment_h, 1U);
  // weight [in = 4, out / groups = 2]: [in 0..1 | out 0..1], [in 2..3 | out 2..3]
  EXPECT_EQ(lowered("conv_transpose2d.input", {f32({1, 4, 3, 3}), constant({4, 2, 1, 1}), ir::Arg(), list({1, 1}),
                                               list({0, 0}), list({0, 0}), SymInt(2)}),
            "StaticTranspose ConvTranspose2d StaticTranspose");
  EXPECT_EQ(builder.graph().values[node_of(xnn::Kind::ConvTranspose2d).inputs[1]].data.to_doubles(),
            (std::vector<double>{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(lowered("conv_transpose2d.input", {f32({1, 4, 3, 3}), constant({4, 2, 3, 3}), ir::Arg(), list({1, 1}),
                                               list({0, 0}), list({1, 1}), SymInt(1), list({2, 2})}),
            "refused: output_padding 1 is not below the stride 1");
}

TEST_F(LowerTest, MaxPool) {
  EXPECT_EQ(lowered("max_pool2d", {f32({1, 2, 14, 13}), list({3, 3}), list({2, 2}), list({1, 1}), list({1, 1}), true}),
            "StaticTranspose MaxPooling2d StaticTranspose");
  const xnn::Node& pool = node_of(xnn::Kind::MaxPooling2d);
  EXPECT_EQ(pool.window.pad_bottom, 2U);  // the window that ceil_mode adds
  EXPECT_EQ(pool.window.pad_right, 1U);
  EXPECT_EQ(lowered("max_pool2d",
                    {f32({1, 2, symbol("s0", 8), 13}), list({3, 3}), list({2, 2}), list({1, 1}), list({1, 1}), true}),
            "refused: ceil_mode with a dynamic size needs a padding that is not known");
  EXPECT_EQ(lowered("max_pool2d", {f32({1, 2, 8, 8}), list({1, 1})}),
            "refused: XNNPACK takes no pooling window of one element");
  const ir::Node* node = create("max_pool2d_with_indices", {f32({1, 2, 8, 8}), list({2, 2})});
  EXPECT_FALSE(refusal(*node));
  create("add.Tensor", {node->results[1], node->results[1]});
  EXPECT_EQ(refusal(*node)->sentence, "the result is int64; the delegate computes in float32 and float16");
}

TEST_F(LowerTest, AveragePoolDividesAsEagerDoes) {
  ir::Value* x = f32({1, 2, 8, 8});
  EXPECT_EQ(lowered("avg_pool2d", {x, list({3, 3}), list({2, 2}), list({1, 1}), false, false}),
            "StaticTranspose AvgPooling2d StaticTranspose");
  EXPECT_EQ(node_of(xnn::Kind::AvgPooling2d).window.pad_top, 1U);
  EXPECT_EQ(lowered("avg_pool2d", {x, list({3, 3}), list({2, 2}), list({1, 1}), false, true}),
            "StaticTranspose StaticConstantPad AvgPooling2d StaticTranspose");
  EXPECT_EQ(node_of(xnn::Kind::AvgPooling2d).window.pad_top, 0U);
  // The overhang of ceil_mode is not counted even where padding is.
  EXPECT_EQ(lowered("avg_pool2d", {x, list({3, 3}), list({2, 2}), list({1, 1}), true, true}),
            "StaticTranspose StaticConstantPad AvgPooling2d StaticTranspose");
  EXPECT_EQ(node_of(xnn::Kind::AvgPooling2d).window.pad_bottom, 1U);
  EXPECT_EQ(lowered("avg_pool2d", {x, list({2, 2}), list({2, 2}), list({0, 0}), false, true, SymInt(3)}),
            "StaticTranspose AvgPooling2d Multiply StaticTranspose");
  EXPECT_EQ(lowered("adaptive_avg_pool2d", {x, list({1, 1})}), "StaticTranspose GlobalAvgPooling2d StaticTranspose");
  EXPECT_EQ(lowered("adaptive_avg_pool2d", {x, list({4, 2})}), "StaticTranspose AvgPooling2d StaticTranspose");
  EXPECT_EQ(lowered("adaptive_avg_pool2d", {x, list({8, 8})}), "");  // the same value
  EXPECT_EQ(lowered("adaptive_avg_pool2d", {x, list({3, 3})}),
            "refused: an input of 8 does not divide into 3 equal windows");
}

TEST_F(LowerTest, Softmax) {
  ir::Value* x = f32({2, 3, 4});
  EXPECT_EQ(lowered("softmax.int", {x, SymInt(-1)}), "Softmax");
  EXPECT_EQ(lowered("softmax.int", {x, SymInt(1)}), "StaticTranspose Softmax StaticTranspose");
  EXPECT_EQ(lowered("_softmax", {f16({2, 3}), SymInt(1), true}), "refused: float32 and float16 are mixed");
  EXPECT_TRUE(lowered("log_softmax.int", {x, SymInt(-1)}).starts_with("refused: "));
}

TEST_F(LowerTest, BatchNormIsADepthwiseConvolution) {
  const auto norm = [&](ir::Value* x, ir::Value* mean) {
    return lowered("_native_batch_norm_legit_no_training",
                   {x, constant({2}), constant({2}), mean, constant({2}), 0.1, 1e-5});
  };
  EXPECT_EQ(norm(f32({1, 2, 4, 4}), constant({2})), "StaticTranspose DepthwiseConv2d StaticTranspose");
  EXPECT_EQ(norm(f32({3, 2}), constant({2})), "StaticReshape DepthwiseConv2d StaticReshape");
  EXPECT_EQ(norm(f32({1, 2, 4, 4, 4}), constant({2})), "refused: a batch norm of rank 5 has no form in the delegate");
  EXPECT_EQ(norm(f32({1, 2, 4, 4}), f32({2})), "refused: the batch norm's running_mean is not a constant");
}

TEST_F(LowerTest, ActivationsHonourTheirArguments) {
  ir::Value* x = f32({2, 3});
  EXPECT_EQ(lowered("gelu", {x}), "Gelu");
  EXPECT_EQ(lowered("gelu", {x}, {{"approximate", std::string("tanh")}}),
            "refused: XNNPACK's gelu is the exact one, not approximate='tanh'");
  EXPECT_EQ(lowered("hardtanh", {x, SymInt(0), SymInt(6)}), "Clamp");
  EXPECT_EQ(*node_of(xnn::Kind::Clamp).min_max, std::make_pair(0.0F, 6.0F));
  EXPECT_EQ(lowered("relu", {f16({2, 3})}), "Convert Clamp Convert");  // float16 clamps lose NaN
  EXPECT_EQ(lowered("hardtanh", {x, 2.0, 1.0}), "refused: the bounds 2.0 and 1.0 leave no range");
  EXPECT_EQ(lowered("elu", {x, 0.5}), "ELU");
  EXPECT_EQ(lowered("elu", {x, 0.5, 2.0}), "ELU Multiply");
  EXPECT_EQ(lowered("celu", {x, 2.0}), "Multiply ELU Multiply");
  EXPECT_EQ(lowered("elu", {x, -1.0}), "refused: XNNPACK's ELU takes a positive alpha, not -1.0");
  EXPECT_EQ(lowered("threshold", {x, SymInt(0), SymInt(0)}), "Clamp");
  EXPECT_EQ(lowered("threshold", {x, SymInt(1), SymInt(0)}),
            "refused: only threshold(0, 0), which is relu, has a form in the delegate");
  EXPECT_EQ(lowered("silu", {x}), "Sigmoid Multiply");
  EXPECT_EQ(lowered("glu", {f32({2, 6})}), "StaticSlice StaticSlice Sigmoid Multiply");
  EXPECT_EQ(lowered("prelu", {f32({1, 3, 4, 4}), constant({3})}), "PReLU");
  EXPECT_EQ(builder.dims(node_of(xnn::Kind::PReLU).inputs[1]), (std::vector<SymInt>{3, 1, 1}));
}

TEST_F(LowerTest, Resampling) {
  ir::Value* x = f32({1, 2, 4, 4});
  EXPECT_EQ(lowered("upsample_bilinear2d.vec", {x, list({8, 6}), true, ir::Arg()}),
            "StaticTranspose StaticResizeBilinear2D StaticTranspose");
  EXPECT_EQ(node_of(xnn::Kind::StaticResizeBilinear2D).flags, xnn::kFlagAlignCorners);
  EXPECT_EQ(
      lowered("upsample_bilinear2d.vec", {f32({1, 2, 5, 4}), ir::Arg(), false, std::vector<double>{1.5, 2.0}}),
      "refused: the scale factor 1.5 is not the ratio of the sizes 7 and 5, from which XNNPACK takes its coordinates");
  EXPECT_EQ(lowered("upsample_nearest2d.vec", {x, ir::Arg(), std::vector<double>{2.0, 3.0}}),
            "StaticReshape Multiply StaticReshape");
  EXPECT_EQ(lowered("upsample_nearest2d.vec", {x, list({6, 8}), ir::Arg()}),
            "refused: XNNPACK has no nearest resampling; only whole factors can be expressed, not 4 to 6");
  EXPECT_EQ(lowered("pixel_shuffle", {f32({1, 8, 3, 3}), SymInt(2)}), "StaticReshape StaticTranspose StaticReshape");
  EXPECT_EQ(lowered("channel_shuffle", {f32({1, 8, 3, 3}), SymInt(2)}), "StaticReshape StaticTranspose StaticReshape");
}

TEST_F(LowerTest, UpstreamTakesLess) {
  ir::Value* x = f32({1, 4, 8, 8});
  EXPECT_EQ(upstream("relu", {x}), "taken");
  EXPECT_EQ(upstream("elu", {x}), "ExecuTorch's partitioner has no rule for it");
  EXPECT_EQ(upstream("mean.dim", {x, list({-1, -2}), true}), "taken");
  EXPECT_EQ(upstream("mean.dim", {x, list({2, 3}), false}),
            "ExecuTorch's partitioner takes mean.dim with keepdim only");
  EXPECT_EQ(upstream("pow.Tensor_Scalar", {x, SymInt(2)}), "taken");
  EXPECT_EQ(upstream("pow.Tensor_Scalar", {x, 2.0}), "ExecuTorch's partitioner takes no power but the integer 2");
  EXPECT_EQ(upstream("unsqueeze", {x, SymInt(4)}), "taken");
  EXPECT_EQ(upstream("unsqueeze", {x, SymInt(0)}), "ExecuTorch's partitioner takes unsqueeze of the last dim only");
  EXPECT_EQ(upstream("mm", {f32({2, 3}), f32({3, 4})}),
            "ExecuTorch's partitioner takes no weight that is not a parameter");
  EXPECT_EQ(upstream("cat", {ir::ValueList{x, x}}),
            "ExecuTorch's partitioner takes no concatenation of fewer than two different tensors");
  EXPECT_EQ(upstream("gelu", {f16({2})}), "ExecuTorch's partitioner takes no gelu in float16");
  EXPECT_EQ(upstream("max_pool2d", {x, list({2, 2}), list({3, 3})}),
            "ExecuTorch's partitioner takes no max_pool2d with a stride above its window");
  const SymInt s = symbol("s0");
  EXPECT_EQ(upstream("view", {f32({s, 4}), list({-1})}), "taken");
  EXPECT_EQ(upstream("view", {f32({s, 4}), list({s, 2, 2})}),
            "ExecuTorch's partitioner takes no size that is known only at run time as an argument");
  EXPECT_EQ(upstream("add.Tensor", {x, x}, {{"alpha", SymInt(2)}}),
            "ExecuTorch's partitioner takes no alpha other than 1");
}

}  // namespace
}  // namespace edgelift::ops
