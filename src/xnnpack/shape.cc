// The shape rule of every node kind: what XNNPACK infers from the actual inputs on each call.
#include <algorithm>

#include "xnnpack/graph.h"
#include "xnnpack/text.h"

namespace edgelift::xnn {
namespace {

using Dims = std::vector<SymInt>;
using DimsList = std::vector<Dims>;

Error shape_error(std::string message) { return internal_error(std::move(message)); }

// Known to differ for some value of the symbols that the program allows: only numbers are compared.
bool differ(const SymInt& a, const SymInt& b) { return a.is_const() && b.is_const() && a.value() != b.value(); }
bool is_one(const SymInt& a) { return a.is_const() && a.value() == 1; }

Result<Dims> broadcast_dims(const Dims& a, const Dims& b) {
  const Dims& longer = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  Dims out = longer;
  const size_t lead = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    const SymInt& x = longer[lead + i];
    const SymInt& y = shorter[i];
    if (is_one(x)) {
      out[lead + i] = y;
    } else if (!is_one(y) && differ(x, y)) {
      return shape_error("operands " + dims_text(a) + " and " + dims_text(b) + " do not broadcast");
    } else if (y.is_const() && !is_one(y)) {
      out[lead + i] = y;
    }
  }
  return out;
}

Result<SymInt> window_size(const SymInt& in, uint32_t pad, uint32_t kernel, uint32_t stride, uint32_t dilation,
                           bool same) {
  if (kernel == 0 || stride == 0 || dilation == 0) return shape_error("kernel, stride and dilation must be positive");
  if (same) return SymInt::ceildiv(in, SymInt(stride));
  const int64_t extent = static_cast<int64_t>(kernel - 1) * dilation + 1;
  const SymInt padded = in + SymInt(pad);
  if (padded.is_const() && padded.value() < extent) {
    return shape_error("a window of " + std::to_string(extent) + " does not fit into " + padded.str() +
                       " padded elements");
  }
  return SymInt::floordiv(padded - SymInt(extent), SymInt(stride)) + SymInt(1);
}

Result<Dims> window_dims(const Dims& in, const Node& node, SymInt channels) {
  const Window& w = node.window;
  const bool same = (node.flags & kFlagSamePadding) != 0;
  EL_TRY(SymInt h, window_size(in[1], w.pad_top + w.pad_bottom, w.kernel_h, w.stride_h, w.dilation_h, same));
  EL_TRY(SymInt width, window_size(in[2], w.pad_left + w.pad_right, w.kernel_w, w.stride_w, w.dilation_w, same));
  return Dims{in[0], std::move(h), std::move(width), std::move(channels)};
}

SymInt transposed_size(const SymInt& in, uint32_t pad, uint32_t kernel, uint32_t stride, uint32_t dilation,
                       uint32_t adjustment) {
  const int64_t extent = static_cast<int64_t>(kernel - 1) * dilation + 1;
  return (in - SymInt(1)) * SymInt(stride) + SymInt(extent + adjustment) - SymInt(pad);
}

Result<DimsList> convolution(const Dims& in, const Dims& filter, const Node& node) {
  const Window& w = node.window;
  if (in.size() != 4) return shape_error("input must be NHWC of rank 4, is " + dims_text(in));
  if (filter.size() != 4) return shape_error("filter must have rank 4, is " + dims_text(filter));
  if (w.groups == 0 || w.group_input_channels == 0 || w.group_output_channels == 0) {
    return shape_error("groups and channels per group must be positive");
  }
  const int64_t in_channels = static_cast<int64_t>(w.groups) * w.group_input_channels;
  const int64_t out_channels = static_cast<int64_t>(w.groups) * w.group_output_channels;
  if (differ(in[3], SymInt(in_channels))) {
    return shape_error("input has " + in[3].str() + " channels, groups * group_input_channels is " +
                       std::to_string(in_channels));
  }
  const bool depthwise = node.kind == Kind::DepthwiseConv2d;
  if (depthwise && w.group_input_channels != 1)
    return shape_error("a depthwise convolution has one input channel a group");
  const Dims expected =
      depthwise ? Dims{SymInt(1), SymInt(w.kernel_h), SymInt(w.kernel_w), SymInt(out_channels)}
                : Dims{SymInt(out_channels), SymInt(w.kernel_h), SymInt(w.kernel_w), SymInt(w.group_input_channels)};
  if (filter != expected) return shape_error("filter is " + dims_text(filter) + ", expected " + dims_text(expected));
  if (node.kind != Kind::ConvTranspose2d) {
    EL_TRY(Dims out, window_dims(in, node, SymInt(out_channels)));
    return DimsList{std::move(out)};
  }
  if (w.kernel_h == 0 || w.kernel_w == 0 || w.stride_h == 0 || w.stride_w == 0 || w.dilation_h == 0 ||
      w.dilation_w == 0) {
    return shape_error("kernel, stride and dilation must be positive");
  }
  Dims out{in[0],
           transposed_size(in[1], w.pad_top + w.pad_bottom, w.kernel_h, w.stride_h, w.dilation_h, w.adjustment_h),
           transposed_size(in[2], w.pad_left + w.pad_right, w.kernel_w, w.stride_w, w.dilation_w, w.adjustment_w),
           SymInt(out_channels)};
  for (const SymInt& dim : out)
    if (dim.is_const() && dim.value() <= 0) return shape_error("output would be empty: " + dims_text(out));
  return DimsList{std::move(out)};
}

Result<DimsList> fully_connected(const Dims& in, const Dims& filter, const Dims* bias, const Node& node) {
  if (in.empty()) return shape_error("input must have at least one dim");
  if (filter.size() != 2) return shape_error("filter must have rank 2, is " + dims_text(filter));
  const bool transposed = (node.flags & kFlagTransposeWeights) != 0;
  const SymInt& channels_in = filter[transposed ? 0 : 1];
  const SymInt& channels_out = filter[transposed ? 1 : 0];
  if (differ(in.back(), channels_in)) {
    return shape_error("input " + dims_text(in) + " and filter " + dims_text(filter) + " do not fit");
  }
  if (bias != nullptr && (bias->size() != 1 || differ((*bias)[0], channels_out))) {
    return shape_error("bias is " + dims_text(*bias) + ", expected [" + channels_out.str() + "]");
  }
  Dims out = in;
  out.back() = channels_out;
  return DimsList{std::move(out)};
}

Result<DimsList> batch_matmul(const Dims& a, const Dims& b, const Node& node) {
  if (a.size() < 2 || b.size() < 2)
    return shape_error("operands must have at least two dims, are " + dims_text(a) + " and " + dims_text(b));
  const bool transposed = (node.flags & kFlagTransposeB) != 0;
  const SymInt& k = b[b.size() - (transposed ? 1 : 2)];
  const SymInt& n = b[b.size() - (transposed ? 2 : 1)];
  if (differ(a.back(), k)) return shape_error("operands " + dims_text(a) + " and " + dims_text(b) + " do not fit");
  EL_TRY(Dims out, broadcast_dims(Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2)));
  out.push_back(a[a.size() - 2]);
  out.push_back(n);
  return DimsList{std::move(out)};
}

Result<DimsList> pooling(const Dims& in, const Node& node) {
  if (in.size() != 4) return shape_error("input must be NHWC of rank 4, is " + dims_text(in));
  const Window& w = node.window;
  if (node.kind == Kind::AvgPooling2d) {
    // The dilation fields of an average pool are not read.
    Node plain = node;
    plain.window.dilation_h = plain.window.dilation_w = 1;
    EL_TRY(Dims out, window_dims(in, plain, in[3]));
    return DimsList{std::move(out)};
  }
  if (node.kind == Kind::MaxPooling2d) {
    EL_TRY(Dims out, window_dims(in, node, in[3]));
    return DimsList{std::move(out)};
  }
  if (w.kernel_h == 0 || w.kernel_w == 0) return shape_error("the pool must be positive");
  Dims out{in[0], SymInt::floordiv(in[1] + SymInt(w.pad_top + w.pad_bottom), SymInt(w.kernel_h)),
           SymInt::floordiv(in[2] + SymInt(w.pad_left + w.pad_right), SymInt(w.kernel_w)), in[3]};
  return DimsList{out, out};
}

Result<DimsList> global_pooling(const Dims& in, const Node& node) {
  if (in.size() < 3) return shape_error("input must have at least three dims, is " + dims_text(in));
  Dims out(in.begin(), in.end() - 3);
  if ((node.flags & kFlagKeepDims) != 0) out.insert(out.end(), 2, SymInt(1));
  out.push_back(in.back());
  return DimsList{std::move(out)};
}

Result<DimsList> concatenate(const Graph& graph, const Node& node) {
  Dims out = graph.values[node.inputs[0]].dims;
  if (node.axis < 0 || static_cast<size_t>(node.axis) >= out.size()) {
    return shape_error("axis " + std::to_string(node.axis) + " is outside of " + dims_text(out));
  }
  const auto axis = static_cast<size_t>(node.axis);
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Dims& dims = graph.values[node.inputs[i]].dims;
    bool fits = dims.size() == out.size();
    for (size_t d = 0; fits && d < dims.size(); ++d) fits = d == axis || !differ(dims[d], out[d]);
    if (!fits)
      return shape_error("inputs " + dims_text(graph.values[node.inputs[0]].dims) + " and " + dims_text(dims) +
                         " do not fit along axis " + std::to_string(node.axis));
    out[axis] = out[axis] + dims[axis];
  }
  return DimsList{std::move(out)};
}

Result<DimsList> transpose(const Dims& in, const Node& node) {
  std::vector<bool> seen(in.size(), false);
  if (node.list.size() != in.size())
    return shape_error("perm has " + std::to_string(node.list.size()) + " entries, input is " + dims_text(in));
  Dims out;
  out.reserve(in.size());
  for (const int64_t d : node.list) {
    if (d < 0 || static_cast<size_t>(d) >= in.size() || seen[static_cast<size_t>(d)])
      return shape_error("perm is not a permutation");
    seen[static_cast<size_t>(d)] = true;
    out.push_back(in[static_cast<size_t>(d)]);
  }
  return DimsList{std::move(out)};
}

Result<DimsList> reshape(const Dims& in, const Node& node) {
  if (node.list.size() > kMaxRank) return shape_error("new shape has more than six dims");
  Dims out;
  out.reserve(node.list.size());
  int64_t known = 1;
  size_t inferred = node.list.size();
  for (size_t i = 0; i < node.list.size(); ++i) {
    const int64_t size = node.list[i];
    if (size < 0) return shape_error("new shape has a negative size");
    if (size == 0) {
      if (inferred != node.list.size()) return shape_error("new shape has two inferred sizes");
      inferred = i;
    } else {
      known *= size;
    }
    out.push_back(SymInt(size));
  }
  const SymInt count = product(in);
  if (inferred != node.list.size()) {
    if (count.is_const() && (known == 0 || count.value() % known != 0)) {
      return shape_error(dims_text(in) + " cannot be viewed with " + std::to_string(known) +
                         " elements in the given dims");
    }
    out[inferred] = SymInt::floordiv(count, SymInt(known));
  } else if (count.is_const() && count.value() != known) {
    return shape_error(dims_text(in) + " cannot be viewed as " + dims_text(out));
  }
  return DimsList{std::move(out)};
}

Result<DimsList> slice(const Dims& in, const Node& node) {
  if (node.list.size() != in.size() || node.list2.size() != in.size())
    return shape_error("offsets and sizes must have the rank of " + dims_text(in));
  Dims out;
  out.reserve(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    const int64_t offset = node.list[i], size = node.list2[i];
    if (offset < 0) return shape_error("offset " + std::to_string(offset) + " is negative");
    if (size <= 0) return shape_error("size " + std::to_string(size) + " is not positive");
    if (in[i].is_const()) {
      if (offset + size > in[i].value()) {
        return shape_error("elements " + std::to_string(offset) + " to " + std::to_string(offset + size) +
                           " are outside of a dim of " + in[i].str());
      }
      out.push_back(SymInt(size));
    } else if (offset == 0 && size >= in[i].upper()) {
      out.push_back(in[i]);
    } else {
      out.push_back(SymInt::min(SymInt(size), in[i] - SymInt(offset)));
    }
  }
  return DimsList{std::move(out)};
}

Result<DimsList> pad(const Dims& in, const Node& node) {
  if (node.list.size() != in.size() || node.list2.size() != in.size())
    return shape_error("paddings must have the rank of " + dims_text(in));
  Dims out;
  out.reserve(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    if (node.list[i] < 0 || node.list2[i] < 0) return shape_error("paddings must not be negative");
    out.push_back(in[i] + SymInt(node.list[i] + node.list2[i]));
  }
  return DimsList{std::move(out)};
}

}  // namespace

Result<std::vector<std::vector<SymInt>>> infer_dims(const Graph& graph, const Node& node) {
  const auto dims = [&](size_t operand) -> const Dims& { return graph.values[node.inputs[operand]].dims; };
  switch (category(node.kind)) {
    case Category::Unary:
    case Category::Convert:
      return DimsList{dims(0)};
    case Category::Softmax:
      if (dims(0).empty()) return shape_error("input must have at least one dim");
      return DimsList{dims(0)};
    case Category::Binary:
    case Category::PReLU: {
      EL_TRY(Dims out, broadcast_dims(dims(0), dims(1)));
      return DimsList{std::move(out)};
    }
    case Category::FullyConnected:
      return fully_connected(dims(0), dims(1), node.inputs[2] == kInvalid ? nullptr : &dims(2), node);
    case Category::Convolution: {
      EL_TRY(DimsList out, convolution(dims(0), dims(1), node));
      if (node.inputs[2] != kInvalid && (dims(2).size() != 1 || dims(2)[0] != out[0][3])) {
        return shape_error("bias is " + dims_text(dims(2)) + ", expected [" + out[0][3].str() + "]");
      }
      return out;
    }
    case Category::BatchMatmul:
      return batch_matmul(dims(0), dims(1), node);
    case Category::Pooling:
    case Category::ArgMaxPooling:
      return pooling(dims(0), node);
    case Category::GlobalPooling:
      return global_pooling(dims(0), node);
    case Category::Resize: {
      const Dims& in = dims(0);
      if (in.size() != 4) return shape_error("input must be NHWC of rank 4, is " + dims_text(in));
      if (node.new_height == 0 || node.new_width == 0) return shape_error("the new size must be positive");
      return DimsList{{in[0], SymInt(node.new_height), SymInt(node.new_width), in[3]}};
    }
    case Category::Concatenate:
      return concatenate(graph, node);
    case Category::Transpose:
      return transpose(dims(0), node);
    case Category::Reshape:
      return reshape(dims(0), node);
    case Category::Slice:
      return slice(dims(0), node);
    case Category::Pad:
      return pad(dims(0), node);
    case Category::Unknown:
      break;
  }
  return shape_error("unknown node kind " + std::to_string(static_cast<int>(node.kind)));
}

}  // namespace edgelift::xnn
