// What a machine's runtime was measured to do with each form of a convolution. A target is a list of
// measured layers; the gain of a form on another layer is interpolated between its nearest neighbours in the logarithm
// of channels and pixels. Where nothing near was measured nothing is claimed, and the direct form stays.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "xnnpack/conv_forms.h"
#include "xnnpack/graph.h"

namespace edgelift::xnn {

struct ConvShape {
  int64_t in_channels = 0, out_channels = 0, out_height = 0, out_width = 0;
  uint32_t kernel_h = 0, kernel_w = 0, stride_h = 0, stride_w = 0;
  friend bool operator==(const ConvShape&, const ConvShape&) = default;
};
// Static NHWC Conv2d nodes only; nullopt otherwise.
std::optional<ConvShape> conv_shape(const Graph& graph, const Node& node);

struct FormGain {
  ConvForm form = ConvForm::Direct;
  double gain = 1;  // time of the direct form / time of this one; the geometric mean over one and two threads
};
struct MeasuredLayer {
  ConvShape shape;
  std::vector<FormGain> gains;
};

struct Target {
  std::string name;     // avx2, avx512, generic, or a file
  std::string machine;  // what was measured, in words
  std::vector<MeasuredLayer> layers;
};

std::optional<double> gain(const Target& target, const ConvShape& shape, ConvForm form);

// The tables that ship. `generic` has for every form the least gain over all of them.
const std::vector<Target>& shipped_targets();
// generic, host (the shipped table of this machine's class; generic where there is none), the name of a shipped table,
// or the path of a file that `edgelift tune` wrote.
Result<Target> find_target(std::string_view name);

std::string to_json(const Target& target);
Result<Target> target_from_json(std::string_view text, std::string_view source);

// How much weights may grow for speed.
enum class Effort : uint8_t {
  Size,      // never
  Balanced,  // a form must gain 1.3 times on its layer and grow the weights at most 1.8 times
  Speed,     // any form that gains 1.05 times
};
std::optional<Effort> effort_from_name(std::string_view name);

struct ConvPolicy {
  const Target* target = nullptr;  // null: direct everywhere
  Effort effort = Effort::Balanced;
  double max_error = 0;  // 0: forms within kDefaultMaxError
};
// Default bound on the error that a form may add, relative to the output's range.
inline constexpr double kDefaultMaxError = 5e-6;

ConvForm choose_form(const Graph& graph, const Node& node, const ConvPolicy& policy);
// Replaces every convolution by the form of the policy; returns how many are not direct.
int choose_conv_forms(Graph& graph, const ConvPolicy& policy);

}  // namespace edgelift::xnn
