// conv1d, conv2d, conv3d and their transposed forms as aten::convolution; what the runtime's kernel does not take of
// that (three spatial dims) as sums of convolutions with two.
#include "edge/table.h"

namespace edgelift::edge {
namespace {

// int[n] written with one number means n of it.
std::vector<int64_t> spread(Builder& b, std::string_view name, size_t count) {
  return ops::repeat_to(b.call.integers(name), count);
}

Value* convolution(Builder& b, Value* x, Value* weight, Value* bias, const std::vector<int64_t>& stride,
                   const std::vector<int64_t>& padding, const std::vector<int64_t>& dilation, bool transposed,
                   const std::vector<int64_t>& output_padding, int64_t groups) {
  return b.make("convolution", {x, weight, bias == nullptr ? Arg() : Arg(bias), int_list(stride), int_list(padding),
                                int_list(dilation), transposed, int_list(output_padding), SymInt(groups)});
}

// conv1d … conv_transpose3d, with padding given in numbers.
Result<bool> conv(Builder& b) {
  Value* x = b.in("input");
  Value* weight = b.in("weight");
  const auto n = static_cast<size_t>(b.rank(weight) - 2);
  const bool transposed = b.base().starts_with("conv_transpose");
  const bool batched = b.rank(x) == b.rank(weight);
  if (!batched) x = b.unsqueeze(x, 0);
  const auto output_padding = transposed ? spread(b, "output_padding", n) : std::vector<int64_t>(n, 0);
  Value* out = convolution(b, x, weight, b.maybe("bias"), spread(b, "stride", n), spread(b, "padding", n),
                           spread(b, "dilation", n), transposed, output_padding, b.integer("groups"));
  return b.replace(batched ? out : b.squeeze(out, 0));
}

// padding="same": an odd total puts the larger half at the end, which the kernel's one number a dim cannot say.
Result<bool> conv_mode(Builder& b) {
  Value* x = b.in("input");
  Value* weight = b.in("weight");
  const auto n = static_cast<size_t>(b.rank(weight) - 2);
  const bool batched = b.rank(x) == b.rank(weight);
  if (!batched) x = b.unsqueeze(x, 0);
  const auto dilation = spread(b, "dilation", n);
  std::vector<int64_t> padding(n, 0), extra(2 * n, 0);
  bool uneven = false;
  if (b.call.text("padding") == "same") {
    for (size_t i = 0; i < n; ++i) {
      const int64_t total = dilation[i] * (b.size(weight, static_cast<int64_t>(i) + 2).value() - 1);
      padding[i] = total / 2;
      extra[2 * (n - 1 - i) + 1] = total % 2;
      uneven = uneven || total % 2 != 0;
    }
  }
  if (uneven) {
    // Only as many dims, from the innermost, as need it.
    while (extra.back() == 0) extra.resize(extra.size() - 2);
    x = b.pad(x, extra, SymInt(0));
  }
  Value* out = convolution(b, x, weight, b.maybe("bias"), spread(b, "stride", n), padding, dilation, false,
                           std::vector<int64_t>(n, 0), b.integer("groups"));
  return b.replace(batched ? out : b.squeeze(out, 0));
}

// thnn_conv2d, _conv_depthwise2d: kernels that older exporters name.
Result<bool> old_conv(Builder& b) {
  Value* x = b.in();
  Value* weight = b.in("weight");
  const bool depthwise = b.base() == "_conv_depthwise2d";
  const int64_t groups = depthwise ? b.size(x, -3).value() : 1;
  const auto dilation = depthwise ? spread(b, "dilation", 2) : std::vector<int64_t>{1, 1};
  return b.replace(convolution(b, x, weight, b.maybe("bias"), spread(b, "stride", 2), spread(b, "padding", 2), dilation,
                               false, {0, 0}, groups));
}

Result<bool> plain(Builder& b) {
  std::vector<Arg> args(b.node().args.begin(), b.node().args.begin() + 9);
  return b.replace(b.make("convolution", std::move(args)));
}

// The depth dim moved next to the batch: [N, C, D, H, W] -> [N*D, C, H, W].
Value* depth_to_batch(Builder& b, Value* x) {
  Value* moved = b.permute(x, {0, 2, 1, 3, 4});
  return b.merge(moved, 0, 2);
}
Value* batch_to_depth(Builder& b, Value* x, const SymInt& n, const SymInt& depth) {
  return b.permute(b.split_dim(x, 0, {n, depth}), {0, 2, 1, 3, 4});
}

// out[:, :, d] = sum over k of conv2d(x[:, :, d * stride + k * dilation - padding], weight[:, :, k])
Result<bool> conv3d(Builder& b) {
  Value* x = b.in("input");
  Value* weight = b.in("weight");
  const auto stride = spread(b, "stride", 3), padding = spread(b, "padding", 3), dilation = spread(b, "dilation", 3);
  const int64_t depth = b.size(weight, 2).value(), groups = b.integer("groups");
  const SymInt n = b.size(x, 0), out_depth = b.out_type().sizes[2];
  if (padding[0] != 0) x = b.pad(x, {0, 0, 0, 0, padding[0], padding[0]}, SymInt(0));
  const std::vector<int64_t> s(stride.begin() + 1, stride.end()), p(padding.begin() + 1, padding.end()),
      d(dilation.begin() + 1, dilation.end());
  Value* sum = nullptr;
  for (int64_t k = 0; k < depth; ++k) {
    const SymInt start = k * dilation[0];
    const SymInt end = start + (out_depth - SymInt(1)) * SymInt(stride[0]) + SymInt(1);
    Value* part = depth_to_batch(b, b.slice(x, 2, start, end, stride[0]));
    // The bias once.
    Value* term = convolution(b, part, b.select(weight, 2, SymInt(k)), k == 0 ? b.maybe("bias") : nullptr, s, p, d,
                              false, {0, 0}, groups);
    sum = sum == nullptr ? term : b.add(sum, term);
  }
  return b.replace(batch_to_depth(b, sum, n, out_depth));
}

// Every depth slice of x adds conv_transpose2d(x[:, :, d], weight[:, :, k]) at depth d * stride + k * dilation -
// padding.
Result<bool> conv_transpose3d(Builder& b) {
  Value* x = b.in("input");
  Value* weight = b.in("weight");
  const auto stride = spread(b, "stride", 3), padding = spread(b, "padding", 3), dilation = spread(b, "dilation", 3),
             output_padding = spread(b, "output_padding", 3);
  const SymInt n = b.size(x, 0), depth = b.size(x, 2), out_depth = b.out_type().sizes[2];
  if (!depth.is_const() || !out_depth.is_const())
    return b.refuse("has a dynamic depth, for which the runtime has no kernel; export it with a fixed depth");
  const std::vector<int64_t> s(stride.begin() + 1, stride.end()), p(padding.begin() + 1, padding.end()),
      d(dilation.begin() + 1, dilation.end()), o(output_padding.begin() + 1, output_padding.end());
  Value* merged = depth_to_batch(b, x);
  const int64_t groups = b.integer("groups"), kernel = b.size(weight, 2).value();
  // Length of the depth with zeros between the slices.
  const int64_t spaced = (depth.value() - 1) * stride[0] + 1;
  Value* sum = nullptr;
  for (int64_t k = 0; k < kernel; ++k) {
    Value* term = convolution(b, merged, b.select(weight, 2, SymInt(k)), nullptr, s, p, d, true, o, groups);
    term = batch_to_depth(b, term, n, depth);
    if (stride[0] > 1) {
      // [.., D, H, W] -> [.., D, 1, H, W] -> pad the new dim to the stride -> merge.
      Value* open = b.pad(b.unsqueeze(term, 3), {0, 0, 0, 0, 0, stride[0] - 1}, SymInt(0));
      term = b.slice(b.merge(open, 2, 2), 2, SymInt(0), SymInt(spaced));
    }
    const int64_t first = k * dilation[0] - padding[0];
    const int64_t cut_front = std::max<int64_t>(0, -first),
                  cut_back = std::max<int64_t>(0, first + spaced - out_depth.value());
    if (cut_front + cut_back >= spaced) continue;
    term = b.slice(term, 2, SymInt(cut_front), SymInt(spaced - cut_back));
    term = b.pad(term, {0, 0, 0, 0, first + cut_front, out_depth.value() - (first + spaced - cut_back)}, SymInt(0));
    sum = sum == nullptr ? term : b.add(sum, term);
  }
  if (sum == nullptr) sum = b.full(b.out_type().sizes, SymInt(0), b.out_type().dtype);
  if (Value* bias = b.maybe("bias")) sum = b.add(sum, b.view(bias, {b.size(bias, 0), SymInt(1), SymInt(1), SymInt(1)}));
  return b.replace(sum);
}

// Time, batch, channels: a convolution over the first dim.
Result<bool> conv_tbc(Builder& b) {
  Value* x = b.permute(b.in(), {1, 2, 0});
  Value* weight = b.permute(b.in("weight"), {2, 1, 0});
  Value* out = convolution(b, x, weight, b.in("bias"), {1}, {b.integer("pad")}, {1}, false, {0}, 1);
  return b.replace(b.permute(out, {2, 0, 1}));
}

// The runtime's kernel takes one and two spatial dims.
Result<bool> convolution_op(Builder& b) {
  if ((b.upstream && !b.legal) || b.rank(b.in("input")) != 5) return false;
  return b.call.flag("transposed") ? conv_transpose3d(b) : conv3d(b);
}

constexpr Entry kEntries[] = {
    {"conv1d", conv},
    {"conv2d", conv},
    {"conv3d", conv},
    {"conv_transpose1d", conv},
    {"conv_transpose2d.input", conv},
    {"conv_transpose3d.input", conv},
    {"conv1d.padding", conv_mode},
    {"conv2d.padding", conv_mode},
    {"conv3d.padding", conv_mode},
    {"conv_tbc", conv_tbc},
    {"thnn_conv2d", old_conv},
    {"_conv_depthwise2d", old_conv},
    {"_convolution", plain},
    {"_convolution.deprecated", plain},
    {"convolution", convolution_op, kEdge},
};

}  // namespace

std::span<const Entry> convolution_entries() { return kEntries; }

}  // namespace edgelift::edge
