// Sliding windows. unfold of an image and its opposite, fold, are convolutions whose weights are one at one place
// (products with zero: exact where the elements are finite); windows along one dim are slices of blocks (exact).
#include <algorithm>

#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

constexpr int64_t kMaxWeights = 1 << 18;  // elements of the convolution's weight
constexpr int64_t kMaxBlocks = 16;        // pieces of a window along one dim

std::vector<int64_t> two(const ops::Call& call, std::string_view name) {
  return ops::repeat_to(call.integers(name), 2);
}

// [channels * kh * kw, 1, kh, kw]: filter i of each channel reads place i of the window.
Value* one_hot(Lift& lift, DType dtype, int64_t channels, int64_t kh, int64_t kw) {
  const int64_t places = kh * kw;
  std::vector<float> weight(static_cast<size_t>(channels * places * places), 0.0F);
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < places; ++i) weight[static_cast<size_t>((c * places + i) * places + i)] = 1.0F;
  const std::string name = "windows_" + std::string(short_name(dtype)) + "_" + std::to_string(channels) + "_" +
                           std::to_string(kh) + "_" + std::to_string(kw);
  return shared_constant(lift.rewriter(), name,
                         TensorData::of(DType::F32, {channels * places, 1, kh, kw}, weight).converted(dtype));
}

bool lift_image(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  const bool unfold = node.is("im2col");
  if (!unfold && !node.is("col2im")) return false;
  const ops::Call call(node);
  Value* x = call.tensor("self");
  if (!is_f32_or_f16(x) || (!unfold && call.is_symbolic("output_size"))) return false;
  const std::vector<int64_t> kernel = two(call, "kernel_size"), stride = two(call, "stride"),
                             padding = two(call, "padding"), dilation = two(call, "dilation");
  const ir::Shape result = node.result()->type.sizes;
  const bool batched = x->type.rank() == (unfold ? 4 : 3);
  const SymInt batch = batched ? x->type.sizes[0] : SymInt(1);
  const SymInt rows = x->type.sizes[batched ? 1 : 0];
  const int64_t places = kernel[0] * kernel[1];
  if (!rows.is_const() || (!unfold && rows.value() % places != 0)) return false;
  const int64_t channels = unfold ? rows.value() : rows.value() / places;
  if (channels * places * places > kMaxWeights) {
    context.declined(node, "as a convolution it would have " + std::to_string(channels * places * places) + " weights");
    return false;
  }
  const auto pair = [](int64_t a, int64_t b) { return ir::IntList{SymInt(a), SymInt(b)}; };
  Lift lift(rewriter, node);
  Value* weight = one_hot(lift, x->type.dtype, channels, kernel[0], kernel[1]);
  ir::IntList extra = pair(0, 0);
  if (unfold) {
    if (!batched) x = lift.view(x, {batch, rows, x->type.sizes[1], x->type.sizes[2]});
  } else {
    const std::vector<int64_t> size = ops::repeat_to(call.integers("output_size"), 2);
    std::vector<int64_t> steps(2);
    for (size_t i = 0; i < 2; ++i) {
      const int64_t span = dilation[i] * (kernel[i] - 1) + 1;
      steps[i] = (size[i] + 2 * padding[i] - span) / stride[i] + 1;
      const int64_t rest = size[i] - ((steps[i] - 1) * stride[i] - 2 * padding[i] + span);
      extra[i] = SymInt(rest);
    }
    x = lift.view(x, {batch, rows, SymInt(steps[0]), SymInt(steps[1])});
  }
  Value* y = lift.make("convolution", {x, weight, ir::Arg(), int_list(stride), int_list(padding), int_list(dilation),
                                       !unfold, extra, SymInt(channels)});
  return commit(lift, node, lift.view(y, result), context);
}

// unfold(dim, size, step): window i is block i and as many blocks after it as it takes, of `step` elements each.
bool lift_windows_of_dim(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!node.is("unfold") || delegated(node)) return false;
  const ops::Call call(node);
  Value* x = call.tensor("self");
  const int64_t rank = x->type.rank(), size = call.integer("size"), step = call.integer("step");
  if (!is_f32_or_f16(x) || rank == 0) return false;
  const int64_t dim = *ops::normalize_dim(call.integer("dimension"), rank);
  const SymInt length = x->type.sizes[static_cast<size_t>(dim)];
  if (!length.is_const()) {
    context.declined(node, "the dimension of its windows has a size that only the run knows");
    return false;
  }
  const int64_t count = (length.value() - size) / step + 1, pieces = (size + step - 1) / step;
  if (pieces > kMaxBlocks || size == 0) {
    context.declined(node, "a window spans " + std::to_string(pieces) + " steps");
    return false;
  }
  Lift lift(rewriter, node);
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d)
    if (d != dim) order.push_back(d);
  order.push_back(dim);
  Value* rows = lift.permute(x, order);
  // Blocks enough for the last window.
  const int64_t blocks = count - 1 + pieces;
  if (blocks * step <= length.value()) {
    rows = lift.slice(rows, rank - 1, SymInt(0), SymInt(blocks * step));
  } else {
    rows = lift.make("constant_pad_nd", {rows, int_list({0, blocks * step - length.value()}), 0.0});
  }
  if (lift.failed()) return commit(lift, node, rows, context);
  ir::Shape apart = rows->type.sizes;
  apart.back() = SymInt(blocks);
  apart.emplace_back(step);
  rows = lift.view(rows, apart);
  std::vector<Value*> parts;
  for (int64_t j = 0; j < pieces; ++j) {
    Value* part = lift.slice(rows, rank - 1, SymInt(j), SymInt(count));
    parts.push_back(lift.slice(part, rank, SymInt(0), SymInt(std::min(step, size - j * step))));
  }
  // [rest.., count, size], count back to its place
  std::vector<int64_t> back;
  for (int64_t d = 0; d < rank; ++d) back.push_back(d < dim ? d : d == dim ? rank - 1 : d - 1);
  back.push_back(rank);
  return commit(lift, node, lift.permute(lift.cat(std::move(parts), rank), back), context);
}

}  // namespace

Result<bool> lift_windows(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, [](ir::Node& node, ir::Rewriter& rewriter, PassContext& pass) {
    return lift_image(node, rewriter, pass) || lift_windows_of_dim(node, rewriter, pass);
  });
}

}  // namespace edgelift::passes
