// Pooling. Windows of one dim are windows of two with height 1; an unbatched input has N = 1.
#include <algorithm>

#include "ops/families.h"
#include "ops/lower_util.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using Code = Refusal::Code;
using ir::Shape;
using ir::Type;

struct Pool {
  const ir::Value* input = nullptr;
  std::vector<int64_t> kernel, stride, padding, dilation;  // one entry a pooled dim
  bool ceil_mode = false;

  size_t spatial() const { return kernel.size(); }
  const SymInt& size(size_t i) const { return input->type.sizes[input->type.sizes.size() - spatial() + i]; }
};

int64_t spatial_dims(const Call& c) {
  const std::string& base = c.op().base;
  return base.find("1d") != std::string::npos ? 1 : base.find("2d") != std::string::npos ? 2 : 3;
}

Result<std::vector<int64_t>> window_list(const Call& c, std::string_view name, size_t count) {
  if (c.is_symbolic(name)) return input_error(std::string(name) + " of a pooling is not a number");
  std::vector<int64_t> list = repeat_to(c.integers(name), count);
  if (list.size() != count)
    return input_error(std::string(name) + " of a pooling has " + std::to_string(list.size()) + " entries, not " +
                       std::to_string(count));
  return list;
}

Result<Pool> read(const Call& c) {
  Pool pool;
  pool.input = c.tensor("self");
  const int64_t dims = spatial_dims(c);
  const auto count = static_cast<size_t>(dims);
  const int64_t rank = pool.input->type.rank();
  if (rank != dims + 1 && rank != dims + 2)
    return input_error("a pooling over " + std::to_string(dims) + " dims takes a tensor of rank " +
                       std::to_string(dims + 1) + " or " + std::to_string(dims + 2) + ", not " +
                       sizes_text(pool.input->type.sizes));
  EL_TRY(pool.kernel, window_list(c, "kernel_size", count));
  pool.stride = pool.kernel;
  if (!c.ints("stride").empty()) {
    EL_TRY(pool.stride, window_list(c, "stride", count));
  }
  EL_TRY(pool.padding, window_list(c, "padding", count));
  pool.dilation.assign(count, 1);
  if (c.op().schema.index_of("dilation") >= 0) {
    EL_TRY(pool.dilation, window_list(c, "dilation", count));
  }
  pool.ceil_mode = c.flag("ceil_mode");
  return pool;
}

Result<Type> pooled_type(const Call& c) {
  EL_TRY(const Pool pool, read(c));
  Type type = pool.input->type;
  const size_t first = type.sizes.size() - pool.spatial();
  for (size_t i = 0; i < pool.spatial(); ++i) {
    EL_TRY(type.sizes[first + i],
           pool_size(pool.size(i), pool.kernel[i], pool.stride[i], pool.padding[i], pool.dilation[i], pool.ceil_mode));
  }
  return type;
}

Types infer_pool(const Call& c) {
  EL_TRY(Type type, pooled_type(c));
  return one(std::move(type));
}

Types with_indices(Type type) {
  Type indices = type;
  indices.dtype = DType::I64;
  return std::vector<Type>{std::move(type), std::move(indices)};
}

Types infer_pool_indices(const Call& c) {
  EL_TRY(Type type, pooled_type(c));
  return with_indices(std::move(type));
}

Result<Type> adaptive_type(const Call& c) {
  Type type = c.type("self");
  const int64_t dims = spatial_dims(c);
  if (type.rank() != dims + 1 && type.rank() != dims + 2)
    return input_error("an adaptive pooling over " + std::to_string(dims) + " dims does not take a tensor of shape " +
                       sizes_text(type.sizes));
  ir::IntList sizes = c.ints("output_size");
  if (sizes.size() == 1) sizes.resize(static_cast<size_t>(dims), sizes.front());
  if (static_cast<int64_t>(sizes.size()) != dims)
    return input_error("output_size of an adaptive pooling has the wrong length");
  std::copy(sizes.begin(), sizes.end(), type.sizes.end() - dims);
  return type;
}

Types infer_adaptive(const Call& c) {
  EL_TRY(Type type, adaptive_type(c));
  return one(std::move(type));
}

Types infer_adaptive_indices(const Call& c) {
  EL_TRY(Type type, adaptive_type(c));
  return with_indices(std::move(type));
}

Types infer_max_unpool(const Call& c) {
  Type type = c.type("self");
  const ir::IntList& sizes = c.ints("output_size");
  if (sizes.size() != 2 || type.rank() < 3)
    return input_error("max_unpool2d takes two output sizes and a tensor of rank 3 or 4");
  std::copy(sizes.begin(), sizes.end(), type.sizes.end() - 2);
  return one(std::move(type));
}

// ---- lowering ----

// [N,]C[,H],W to N,H,W,C and back.
class Nhwc {
 public:
  Nhwc(const ir::Value* input, const ir::Value* result, size_t spatial)
      : one_dim_(spatial == 1), batched_(input->type.sizes.size() == spatial + 2), input_(input), result_(result) {}

  LowerResult check() const {
    if ((one_dim_ || !batched_) && (!reshapable(input_->type.sizes) || !reshapable(result_->type.sizes)))
      return refuse(Code::Dynamic, "it needs a reshape with more than one dynamic size");
    return std::nullopt;
  }

  uint32_t enter(XnnBuilder& b) const {
    uint32_t in = b.transpose(b.value(input_), perm(true));
    Shape dims = b.dims(in);
    if (!batched_) dims.insert(dims.begin(), SymInt(1));
    if (one_dim_) dims.insert(dims.begin() + 1, SymInt(1));
    return one_dim_ || !batched_ ? b.reshape(in, std::move(dims)) : in;
  }

  // The dims of the pooled tensor in NHWC.
  Shape result_dims() const {
    Shape dims = result_->type.sizes;
    if (!batched_) dims.insert(dims.begin(), SymInt(1));
    if (one_dim_) dims.insert(dims.begin() + 2, SymInt(1));
    return {dims[0], dims[2], dims[3], dims[1]};
  }

  void leave(XnnBuilder& b, uint32_t out) const {
    if (one_dim_ || !batched_) {
      Shape dims = b.dims(out);
      if (one_dim_) dims.erase(dims.begin() + 1);
      if (!batched_) dims.erase(dims.begin());
      out = b.reshape(out, std::move(dims));
    }
    b.transpose(out, perm(false), b.define(result_));
  }

 private:
  std::vector<int64_t> perm(bool forth) const {
    if (one_dim_) return batched_ ? std::vector<int64_t>{0, 2, 1} : std::vector<int64_t>{1, 0};
    if (!batched_) return forth ? std::vector<int64_t>{1, 2, 0} : std::vector<int64_t>{2, 0, 1};
    return forth ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 3, 1, 2};
  }

  bool one_dim_, batched_;
  const ir::Value* input_;
  const ir::Value* result_;
};

bool is_used(const ir::Value* value) { return !value->users.empty() || value->producer->graph->is_output(value); }

// How far the last window reaches past the input's end and its padding, per pooled dim: only ceil_mode makes that > 0.
LowerResult overhang(const Pool& pool, const ir::Value* result, std::vector<int64_t>& extra) {
  extra.assign(pool.spatial(), 0);
  if (!pool.ceil_mode) return std::nullopt;
  const size_t first = result->type.sizes.size() - pool.spatial();
  for (size_t i = 0; i < pool.spatial(); ++i) {
    const SymInt& out = result->type.sizes[first + i];
    if (!out.is_const() || !pool.size(i).is_const())
      return refuse(Code::Dynamic, "ceil_mode with a dynamic size needs a padding that is not known");
    const int64_t reach = (out.value() - 1) * pool.stride[i] + pool.dilation[i] * (pool.kernel[i] - 1) + 1;
    extra[i] = std::max<int64_t>(0, reach - pool.size(i).value() - 2 * pool.padding[i]);
  }
  return std::nullopt;
}

xnn::Window window_of(const Pool& pool, const std::vector<int64_t>& padding, const std::vector<int64_t>& extra) {
  const auto u32 = [](int64_t value) { return static_cast<uint32_t>(value); };
  xnn::Window window;
  const size_t w = pool.spatial() - 1;
  window.pad_left = u32(padding[w]);
  window.pad_right = u32(padding[w] + extra[w]);
  window.kernel_w = u32(pool.kernel[w]);
  window.stride_w = u32(pool.stride[w]);
  window.dilation_w = u32(pool.dilation[w]);
  if (w == 1) {
    window.pad_top = u32(padding[0]);
    window.pad_bottom = u32(padding[0] + extra[0]);
    window.kernel_h = u32(pool.kernel[0]);
    window.stride_h = u32(pool.stride[0]);
    window.dilation_h = u32(pool.dilation[0]);
  }
  return window;
}

int64_t window_size(const Pool& pool) {
  int64_t size = 1;
  for (const int64_t k : pool.kernel) size *= k;
  return size;
}

LowerResult check_window(const Pool& pool) {
  if (pool.spatial() == 3) return refuse(Code::NoForm, "XNNPACK pools over two dims, not three");
  if (window_size(pool) == 1) return refuse(Code::Attribute, "XNNPACK takes no pooling window of one element");
  return std::nullopt;
}

LowerResult lower_max(XnnBuilder& b, const Pool& pool, const ir::Value* result) {
  if (auto refused = check_window(pool)) return refused;
  std::vector<int64_t> extra;
  if (auto refused = overhang(pool, result, extra)) return refused;
  const Nhwc layout(pool.input, result, pool.spatial());
  if (auto refused = layout.check()) return refused;
  const uint32_t in = layout.enter(b);
  const uint32_t out = b.temp(result->type.dtype, layout.result_dims());
  b.node(xnn::Kind::MaxPooling2d, {in}, {out}).window = window_of(pool, pool.padding, extra);
  layout.leave(b, out);
  return std::nullopt;
}

LowerResult lower_max_pool(const Call& c, XnnBuilder& b) {
  const auto pool = read(c);
  EL_CHECK(pool.ok(), "a pooling that was not verified");
  if (c.node()->results.size() > 1 && is_used(c.result(1)))
    return refuse(Code::NoForm, "the indices of the maxima are used, XNNPACK's pooling gives values only");
  return lower_max(b, *pool, c.result());
}

// XNNPACK divides by the number of real elements under the window. Padding that eager counts is therefore made real by
// a pad node; the overhang of ceil_mode is never counted by eager and stays padding of the pooling node.
LowerResult lower_average(XnnBuilder& b, const Pool& pool, const ir::Value* result, bool count_include_pad,
                          std::optional<int64_t> divisor) {
  if (auto refused = check_window(pool)) return refused;
  std::vector<int64_t> extra;
  if (auto refused = overhang(pool, result, extra)) return refused;
  if (divisor && *divisor == 0) return refuse(Code::Attribute, "divisor_override is 0");
  const double factor = divisor ? static_cast<double>(window_size(pool)) / static_cast<double>(*divisor) : 1.0;
  if (!exact_scalar(result->type.dtype, factor)) return inexact_scalar("the factor of divisor_override", factor);
  const Nhwc layout(pool.input, result, pool.spatial());
  if (auto refused = layout.check()) return refused;
  uint32_t in = layout.enter(b);
  std::vector<int64_t> padding = pool.padding;
  const bool any = std::any_of(padding.begin(), padding.end(), [](int64_t p) { return p != 0; });
  const bool overhangs = std::any_of(extra.begin(), extra.end(), [](int64_t p) { return p != 0; });
  if ((count_include_pad && any) || (divisor && (any || overhangs))) {
    std::vector<int64_t> pre(4, 0), post(4, 0);
    for (size_t i = 0; i < pool.spatial(); ++i) {
      const size_t axis = 3 - pool.spatial() + i;
      pre[axis] = padding[i];
      post[axis] = padding[i] + (divisor ? extra[i] : 0);
      padding[i] = 0;
      if (divisor) extra[i] = 0;
    }
    in = b.pad(in, std::move(pre), std::move(post), 0.0F);
  }
  uint32_t out = b.temp(result->type.dtype, layout.result_dims());
  b.node(xnn::Kind::AvgPooling2d, {in}, {out}).window = window_of(pool, padding, extra);
  if (factor != 1) out = b.binary(xnn::Kind::Multiply, out, b.unpacked_scalar(result->type.dtype, factor));
  layout.leave(b, out);
  return std::nullopt;
}

LowerResult lower_avg_pool(const Call& c, XnnBuilder& b) {
  const auto pool = read(c);
  EL_CHECK(pool.ok(), "a pooling that was not verified");
  const bool has_divisor = c.op().schema.index_of("divisor_override") >= 0;
  return lower_average(b, *pool, c.result(), c.flag("count_include_pad"),
                       has_divisor ? c.opt_integer("divisor_override") : std::nullopt);
}

// An adaptive pooling whose windows are all of one size: output sizes that divide the input's.
LowerResult adaptive_pool(const Call& c, Pool& pool) {
  pool.input = c.tensor("self");
  const auto spatial = static_cast<size_t>(spatial_dims(c));
  const Shape& out = c.result()->type.sizes;
  pool.kernel.assign(spatial, 1);
  pool.padding.assign(spatial, 0);
  pool.dilation.assign(spatial, 1);
  for (size_t i = 0; i < spatial; ++i) {
    const SymInt& from = pool.size(i);
    const SymInt& to = out[out.size() - spatial + i];
    if (!from.is_const() || !to.is_const()) return refuse(Code::Dynamic, "the window depends on a dynamic size");
    if (from.value() % to.value() != 0)
      return refuse(Code::Shape, "an input of " + from.str() + " does not divide into " + to.str() + " equal windows");
    pool.kernel[i] = from.value() / to.value();
  }
  pool.stride = pool.kernel;
  return std::nullopt;
}

LowerResult lower_adaptive_avg(const Call& c, XnnBuilder& b) {
  const ir::Value* input = c.tensor("self");
  const ir::Value* result = c.result();
  if (known_equal(input->type.sym_numel(), result->type.sym_numel()) &&
      same_shape(input->type.sizes, result->type.sizes)) {
    b.alias(result, b.value(input));
    return std::nullopt;
  }
  const auto spatial = static_cast<size_t>(spatial_dims(c));
  if (spatial == 3) return refuse(Code::NoForm, "XNNPACK pools over two dims, not three");
  const Shape& out = result->type.sizes;
  if (std::all_of(out.end() - static_cast<ptrdiff_t>(spatial), out.end(),
                  [](const SymInt& size) { return size == SymInt(1); })) {
    const Nhwc layout(input, result, spatial);
    if (auto refused = layout.check()) return refused;
    const uint32_t in = layout.enter(b);
    const uint32_t mean = b.temp(result->type.dtype, layout.result_dims());
    b.node(xnn::Kind::GlobalAvgPooling2d, {in}, {mean}).flags = xnn::kFlagKeepDims;
    layout.leave(b, mean);
    return std::nullopt;
  }
  Pool pool;
  if (auto refused = adaptive_pool(c, pool)) return refused;
  return lower_average(b, pool, result, true, std::nullopt);
}

LowerResult lower_adaptive_max(const Call& c, XnnBuilder& b) {
  if (is_used(c.result(1)))
    return refuse(Code::NoForm, "the indices of the maxima are used, XNNPACK's pooling gives values only");
  Pool pool;
  if (auto refused = adaptive_pool(c, pool)) return refused;
  if (window_size(pool) == 1) {
    b.alias(c.result(), b.value(pool.input));
    return std::nullopt;
  }
  return lower_max(b, pool, c.result());
}

#define MAX_POOL_ARGS(N, ZERO, ONE)                                                                     \
  "(Tensor self, int[" #N "] kernel_size, int[" #N "] stride=[], int[" #N "] padding=" ZERO ", int[" #N \
  "] dilation=" ONE ", bool ceil_mode=False) -> "

constexpr std::string_view kWindow =
    "the window covers one or two dims and more than one element; ceil_mode takes fixed sizes";
constexpr std::string_view kMaxWindow =
    "the window covers one or two dims and more than one element, and the indices are not used; ceil_mode takes fixed "
    "sizes";
constexpr std::string_view kAdaptive = "it is over one or two dims, to one element or to windows of equal size";

constexpr OpDef kOps[] = {
    {.schema = "aten::max_pool1d" MAX_POOL_ARGS(1, "[0]", "[1]") "Tensor",
     .infer = infer_pool,
     .lower = lower_max_pool,
     .note = kMaxWindow},
    {.schema = "aten::max_pool2d" MAX_POOL_ARGS(2, "0", "1") "Tensor",
     .infer = infer_pool,
     .lower = lower_max_pool,
     .note = kMaxWindow},
    {.schema = "aten::max_pool3d" MAX_POOL_ARGS(3, "0", "1") "Tensor",
     .infer = infer_pool,
     .lower = lower_max_pool,
     .note = kMaxWindow},
    {.schema = "aten::max_pool1d_with_indices" MAX_POOL_ARGS(1, "[0]", "[1]") "(Tensor, Tensor)",
     .infer = infer_pool_indices,
     .lower = lower_max_pool,
     .note = kMaxWindow},
    {.schema = "aten::max_pool2d_with_indices" MAX_POOL_ARGS(2, "0", "1") "(Tensor, Tensor)",
     .infer = infer_pool_indices,
     .lower = lower_max_pool,
     .kernel = "aten::max_pool2d_with_indices.out",
     .note = kMaxWindow},
    {.schema = "aten::max_pool3d_with_indices" MAX_POOL_ARGS(3, "0", "1") "(Tensor, Tensor)",
     .infer = infer_pool_indices,
     .lower = lower_max_pool,
     .note = kMaxWindow},
    {.schema = "aten::avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=[0], bool "
               "ceil_mode=False, "
               "bool count_include_pad=True) -> Tensor",
     .infer = infer_pool,
     .lower = lower_avg_pool,
     .note = kWindow},
    {.schema =
         "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, "
         "bool count_include_pad=True, int? divisor_override=None) -> Tensor",
     .infer = infer_pool,
     .lower = lower_avg_pool,
     .kernel = "aten::avg_pool2d.out",
     .note = kWindow},
    {.schema =
         "aten::avg_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, "
         "bool count_include_pad=True, int? divisor_override=None) -> Tensor",
     .infer = infer_pool,
     .lower = lower_avg_pool,
     .note = kWindow},
    {.schema = "aten::adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
     .infer = infer_adaptive,
     .lower = lower_adaptive_avg,
     .note = kAdaptive},
    {.schema = "aten::adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
     .infer = infer_adaptive,
     .lower = lower_adaptive_avg,
     .kernel = "aten::_adaptive_avg_pool2d.out",
     .note = kAdaptive},
    {.schema = "aten::adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
     .infer = infer_adaptive,
     .lower = lower_adaptive_avg,
     .note = kAdaptive},
    {.schema = "aten::_adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
     .infer = infer_adaptive,
     .lower = lower_adaptive_avg,
     .kernel = "aten::_adaptive_avg_pool2d.out",
     .note = kAdaptive},
    {.schema = "aten::_adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
     .infer = infer_adaptive,
     .lower = lower_adaptive_avg,
     .note = kAdaptive},
    {.schema = "aten::adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
     .infer = infer_adaptive_indices,
     .lower = lower_adaptive_max,
     .note = kAdaptive},
    {.schema = "aten::adaptive_max_pool2d(Tensor self, int[2] output_size) -> (Tensor, Tensor)",
     .infer = infer_adaptive_indices,
     .lower = lower_adaptive_max,
     .note = kAdaptive},
    {.schema = "aten::adaptive_max_pool3d(Tensor self, int[3] output_size) -> (Tensor, Tensor)",
     .infer = infer_adaptive_indices,
     .lower = lower_adaptive_max,
     .note = kAdaptive},
    {.schema = "aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor",
     .infer = infer_max_unpool,
     .note = kNoIndexing},
};

}  // namespace

std::span<const OpDef> pool_ops() { return kOps; }

}  // namespace edgelift::ops
