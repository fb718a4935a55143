// Softmax and scaled dot product attention.
#include <numeric>

#include "ops/families.h"
#include "ops/lower_util.h"

namespace edgelift::ops {
namespace {

using Code = Refusal::Code;
using ir::Shape;
using ir::Type;

Types infer_softmax(const Call& c) {
  Type type = c.type("self");
  EL_TRY_OK(checked_dim(c.integer("dim"), type.rank()));
  type.dtype = c.op().schema.index_of("dtype") >= 0 && c.has("dtype") ? *c.dtype("dtype") : float_result(type.dtype);
  return one(std::move(type));
}

Types infer_softmax_half(const Call& c) {
  Type type = c.type("self");
  EL_TRY_OK(checked_dim(c.integer("dim"), type.rank()));
  if (c.flag("half_to_float")) type.dtype = DType::F32;
  return one(std::move(type));
}

struct Attention {
  Type output;
  Shape batch;  // all dims but the last two
};

Result<Attention> attention(const Call& c) {
  const Type& q = c.type("query");
  const Type& k = c.type("key");
  const Type& v = c.type("value");
  const auto misfit = [&](std::string_view what) {
    return input_error(std::string(what) + " of attention do not fit: query " + sizes_text(q.sizes) + ", key " +
                       sizes_text(k.sizes) + ", value " + sizes_text(v.sizes));
  };
  if (q.rank() < 2 || k.rank() < 2 || v.rank() < 2) return misfit("the ranks");
  const auto differ = [](const SymInt& a, const SymInt& b) {
    return a.is_const() && b.is_const() && a.value() != b.value();
  };
  if (differ(q.sizes.back(), k.sizes.back())) return misfit("the head sizes");
  if (differ(k.sizes[k.sizes.size() - 2], v.sizes[v.sizes.size() - 2])) return misfit("the lengths of key and value");
  const auto batch_of = [](const Type& type) { return Shape(type.sizes.begin(), type.sizes.end() - 2); };
  Attention out;
  out.batch = batch_of(q);
  if (c.op().schema.index_of("enable_gqa") < 0 || !c.flag("enable_gqa")) {
    for (const Type* type : {&k, &v}) {
      auto joined = broadcast_shapes(out.batch, batch_of(*type));
      if (!joined.ok()) return misfit("the batch dims");
      out.batch = *std::move(joined);
    }
  }
  Shape shape = out.batch;
  shape.push_back(q.sizes[q.sizes.size() - 2]);
  shape.push_back(v.sizes.back());
  out.output = Type::tensor(q.dtype, std::move(shape));
  return out;
}

Types infer_sdpa(const Call& c) {
  EL_TRY(Attention out, attention(c));
  return one(std::move(out.output));
}

Types infer_sdpa_flash_cpu(const Call& c) {
  EL_TRY(Attention out, attention(c));
  Shape rows(out.output.sizes.begin(), out.output.sizes.end() - 1);
  const DType dtype = out.output.dtype == DType::F64 ? DType::F64 : DType::F32;
  return std::vector<Type>{std::move(out.output), Type::tensor(dtype, std::move(rows))};
}

Types infer_sdpa_math(const Call& c) {
  EL_TRY(Attention out, attention(c));
  Shape weights(out.output.sizes.begin(), out.output.sizes.end() - 1);
  weights.push_back(c.type("key").sizes[c.type("key").sizes.size() - 2]);
  const DType dtype = out.output.dtype;
  return std::vector<Type>{std::move(out.output), Type::tensor(dtype, std::move(weights))};
}

// XNNPACK's node works on the last dim; any other is brought there and back.
LowerResult lower_softmax(const Call& c, XnnBuilder& b) {
  const ir::Value* self = c.tensor("self");
  const int64_t rank = self->type.rank();
  if (rank == 0) return refuse(Code::Rank, "a softmax of a tensor without dims");
  const int64_t dim = *normalize_dim(c.integer("dim"), rank);
  const uint32_t in = b.value(self);
  if (dim == rank - 1) {
    b.softmax(in, b.define(c.result()));
    return std::nullopt;
  }
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(dim)], perm.back());
  b.transpose(b.softmax(b.transpose(in, perm)), perm, b.define(c.result()));
  return std::nullopt;
}

std::optional<std::string> check_half_to_float(const Call& c) {
  if (c.flag("half_to_float")) return "the kernel does not convert float16 to float32";
  return std::nullopt;
}

std::optional<std::string> check_log_softmax_kernel(const Call& c) {
  if (c.type("self").dtype == DType::F64) return "the kernel takes no float64";
  return check_half_to_float(c);
}

constexpr std::string_view kSameDtype = "it converts no dtype";
constexpr std::string_view kLogSoftmax =
    "the delegate has no log-softmax, and the logarithm of its softmax loses small probabilities";
constexpr std::string_view kSafeSoftmax = "XNNPACK's softmax gives NaN, not 0, for a row that is masked whole";
constexpr std::string_view kSdpa =
    "attention is no node of the delegate; the pass expand-sdpa makes matrix products of it";

constexpr OpDef kOps[] = {
    {.schema = "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .infer = infer_softmax,
     .lower = lower_softmax,
     .note = kSameDtype},
    {.schema = "aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .infer = infer_softmax,
     .lower = lower_softmax,
     .note = kSameDtype},
    {.schema = "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     .infer = infer_softmax_half,
     .lower = lower_softmax,
     .kernel = "aten::_softmax.out",
     .note = kSameDtype,
     .kernel_check = check_half_to_float},
    {.schema = "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .infer = infer_softmax,
     .note = kLogSoftmax},
    {.schema = "aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
     .infer = infer_softmax,
     .note = kLogSoftmax},
    {.schema = "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
     .infer = infer_softmax_half,
     .kernel = "aten::_log_softmax.out",
     .note = kLogSoftmax,
     .kernel_check = check_log_softmax_kernel},
    {.schema = "aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
     .infer = infer_softmax,
     .note = kSafeSoftmax},
    {.schema = "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
               "float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
     .infer = infer_sdpa,
     .note = kSdpa},
    {.schema =
         "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float "
         "dropout_p=0., "
         "bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
     .infer = infer_sdpa_flash_cpu,
     .note = kSdpa},
    {.schema =
         "aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
         "float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, "
         "bool enable_gqa=False) -> (Tensor, Tensor)",
     .infer = infer_sdpa_math,
     .note = kSdpa},
};

}  // namespace

std::span<const OpDef> attention_ops() { return kOps; }

}  // namespace edgelift::ops
