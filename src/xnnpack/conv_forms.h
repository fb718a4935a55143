// One convolution, several graphs that compute it. The runtime's direct f32 kernel for spatial filters is far slower
// than its plain GEMM on some machines, so a convolution may be written as data movement around fully-connected nodes.
//
// All forms compute the same sums in another order. Relative to the output's range, measured on random layers of 16 to
// 512 channels (bench/conv_forms): im2col, banded or not, 2e-6, F(2x2,3x3) 3e-6, F(4x4,3x3) 2e-5; form_error() returns
// these bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "xnnpack/graph.h"

namespace edgelift::xnn {

enum class ConvForm : uint8_t {
  Direct,            // the Conv2d node
  Im2col,            // slices and concatenations, one fully-connected over kh*kw*ic
  Im2colBanded,      // likewise, two neighbouring outputs of a row from one patch
  Winograd2,         // F(2x2,3x3): transforms as adds and subtracts on slices, 16 fully-connected
  Winograd2Stacked,  // F(2x2,3x3): the four rows of the transform stacked, so that four batch matmuls do the products
  Winograd2Bmm,      // F(2x2,3x3): transforms as batch matmuls with constant matrices
  Winograd4,         // F(4x4,3x3): likewise, 36 fully-connected
  Winograd4Bmm,      // F(4x4,3x3): transforms as batch matmuls with constant matrices, one batch matmul over 36
};
inline constexpr ConvForm kConvForms[] = {ConvForm::Direct,    ConvForm::Im2col,           ConvForm::Im2colBanded,
                                          ConvForm::Winograd2, ConvForm::Winograd2Stacked, ConvForm::Winograd2Bmm,
                                          ConvForm::Winograd4, ConvForm::Winograd4Bmm};
std::string_view form_name(ConvForm form);
std::optional<ConvForm> form_from_name(std::string_view name);
double form_error(ConvForm form);  // bound on max error / output range against the direct form
// Bytes of weights against the direct form.
double form_weight_growth(ConvForm form, const Window& window);

// True if the form can compute this node: f32, static dims, one group, constant filter and bias; Winograd: 3x3,
// stride 1, dilation 1; banded: an even number of output columns.
bool form_applies(const Graph& graph, const Node& node, ConvForm form);

// Appends to `nodes` the nodes of the form that compute node's output. form_applies must hold and form != Direct.
void expand_convolution(Graph& graph, const Node& node, ConvForm form, std::vector<Node>& nodes);

}  // namespace edgelift::xnn
