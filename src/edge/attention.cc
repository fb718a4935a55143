// scaled_dot_product_attention. The default mode keeps it whole; passes expand it late, with the scale folded where it
// can be, and legalisation takes what is left. Recipe upstream gets the exporter's own core form.
#include <cmath>
#include <limits>

#include "edge/strides.h"
#include "edge/table.h"
#include "ops/infer.h"

namespace edgelift::edge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double scale_of(Builder& b, Value* q) {
  if (const auto given = b.call.opt_number("scale")) return *given;
  return 1 / std::sqrt(static_cast<double>(b.size(q, -1).value()));
}

// k or v with each head repeated for its group of query heads.
Value* repeat_heads(Builder& b, Value* x, const SymInt& heads) {
  const int64_t dim = b.rank(x) - 3;
  const SymInt own = b.size(x, dim);
  if (known_equal(own, heads)) return x;
  Value* open = b.unsqueeze(x, dim + 1);
  Shape wide = open->type.sizes;
  wide[static_cast<size_t>(dim + 1)] = SymInt::floordiv(heads, own);
  Value* spread = b.expand(open, std::move(wide));
  if (b.upstream) return b.reshape(spread, with_size(x->type.sizes, dim, heads));
  return b.view(spread, with_size(x->type.sizes, dim, heads));
}

// [L, S] bool, true where query i may see key j <= i.
Value* causal_mask(Builder& b, const SymInt& length, const SymInt& keys) {
  if (b.upstream) {
    Value* ones = b.full({length, keys}, true, DType::Bool);
    Value* columns = b.unsqueeze(b.arange(keys), -2);
    Value* gap = b.sub(columns, b.unsqueeze(b.arange(length), -1));
    return b.make("logical_and", {b.make("le.Scalar", {gap, SymInt(0)}), ones});
  }
  Value* rows = b.unsqueeze(b.arange(length), 1);
  return b.make("le.Tensor", {b.arange(keys), rows});
}

// 0 where the mask is true, -inf elsewhere.
Value* additive(Builder& b, Value* mask, DType dtype) {
  if (!b.upstream) return b.where(mask, 0.0, -kInf, dtype);
  Value* hidden = b.make("scalar_tensor", {-kInf}, {{"dtype", dtype}});
  return b.where(mask, b.make("scalar_tensor", {0.0}, {{"dtype", dtype}}), hidden);
}

// True if a constant mask leaves every query something to see; a mask known only at run time may hide a row.
bool may_hide_a_row(const Value* mask) {
  if (mask->constant == nullptr || mask->constant->is_mutable || mask->type.rank() == 0) return true;
  const TensorData& data = mask->constant->data;
  const int64_t columns = data.sizes().back();
  if (columns == 0 || data.numel() > (int64_t{1} << 22)) return true;
  const TensorData flat = data.contiguous();
  for (int64_t row = 0; row * columns < flat.numel(); ++row) {
    bool seen = false;
    for (int64_t c = 0; c < columns && !seen; ++c) {
      const double v = flat.element_as_double(row * columns + c);
      seen = data.dtype() == DType::Bool ? v != 0 : v != -kInf;
    }
    if (!seen) return true;
  }
  return false;
}

Value* matmul(Builder& b, Value* x, Value* y) { return b.make("matmul", {x, y}); }

Result<bool> sdpa(Builder& b) {
  Value* q = b.in("query");
  Value* k = b.in("key");
  Value* v = b.in("value");
  const ir::Schema& schema = b.call.op().schema;
  Value* mask = b.maybe("attn_mask");
  if (b.call.number("dropout_p") != 0)
    return b.refuse(
        "drops elements at random: the model was exported in training mode; call model.eval() before "
        "torch.export.export");
  if (!b.size(q, -1).is_const() && ir::is_none(b.arg("scale")))
    return b.refuse("has a dynamic head size, from which the scale cannot be computed ahead of time; give scale=");
  const double scale = scale_of(b, q);
  const DType d = b.dtype(q);
  const bool grouped = schema.index_of("enable_gqa") >= 0 && b.call.flag("enable_gqa");
  const bool causal = b.call.flag("is_causal");
  const bool hides = mask != nullptr && may_hide_a_row(mask);
  const SymInt length = b.size(q, -2), keys = b.size(k, -2);
  const bool same_heads = b.rank(q) < 3 || known_equal(b.size(q, -3), b.size(k, -3));
  if (mask != nullptr && b.dtype(mask) == DType::Bool) mask = additive(b, mask, d);
  if (b.upstream) {
    // Half of the scale on each side, as square roots.
    Value* qs = b.make("mul.Scalar", {q, std::sqrt(scale)});
    qs->strides = pointwise_strides(q);
    if (causal) mask = additive(b, causal_mask(b, length, keys), d);
    if (grouped) {
      k = repeat_heads(b, k, b.size(q, -3));
      v = repeat_heads(b, v, b.size(q, -3));
    }
    Value* kt = b.transpose(k, -2, -1);
    Value* ks = b.make("mul.Scalar", {kt, std::sqrt(scale)});
    ks->strides = pointwise_strides(kt);
    Value* scores = matmul(b, qs, ks);
    if (mask != nullptr) scores = b.add(scores, mask);
    Value* p = b.make("_softmax", {scores, SymInt(-1), false});
    Value* some = b.make("any.dim", {b.logical_not(b.make("eq.Scalar", {scores, -kInf})), SymInt(-1), true});
    Value* none = b.logical_not(some);
    p = b.where(none, b.make("full_like", {p, SymInt(0)}), p);
    Value* out = matmul(b, p, v);
    // Eager's kernel for four dims and equal heads lays its result out as [L, B, H, E].
    const bool flash = b.rank(q) == 4 && same_heads && known_equal(b.size(q, -1), b.size(v, -1));
    if (flash) {
      Value* moved = b.permute(out, {2, 0, 1, 3});
      if (!is_contiguous(moved)) moved = b.make("clone", {moved}, {{"memory_format", ir::MemoryFormat::Contiguous}});
      out = b.permute(moved, {1, 2, 0, 3});
    }
    if (b.node().results.size() == 1) return b.replace(out);
    return b.replace({out, nullptr});
  }
  if (grouped || !same_heads) {
    k = repeat_heads(b, k, b.size(q, -3));
    v = repeat_heads(b, v, b.size(q, -3));
  }
  if (causal) mask = additive(b, causal_mask(b, length, keys), d);
  Value* scores = matmul(b, b.make("mul.Scalar", {q, scale}), b.transpose(k, -2, -1));
  if (mask != nullptr) scores = b.add(scores, mask);
  Value* p = b.make("_softmax", {scores, SymInt(-1), false});
  // A row that sees nothing gives zeros, not NaN. Causality alone never hides a whole row.
  if (hides) {
    Value* some = b.make("any.dim", {b.make("ne.Scalar", {scores, -kInf}), SymInt(-1), true});
    p = b.masked_fill(p, b.logical_not(some), 0.0);
  }
  Value* out = b.cast(matmul(b, p, v), d);
  if (b.node().results.size() == 1) return b.replace(out);
  return b.replace({out, nullptr});
}

// The kernels behind it, met in decomposed programs, mean the same.
Result<bool> named_kernel(Builder& b) {
  if (b.upstream) return sdpa(b);
  const ir::Schema& schema = b.call.op().schema;
  const Arg gqa = schema.index_of("enable_gqa") >= 0 ? b.arg("enable_gqa") : Arg(false);
  Value* out =
      b.make("scaled_dot_product_attention",
             {b.arg("query"), b.arg("key"), b.arg("value"), b.arg("attn_mask"), b.arg("dropout_p"), b.arg("is_causal")},
             {{"scale", b.arg("scale")}, {"enable_gqa", gqa}});
  return b.replace({out, nullptr});
}

constexpr Entry kEntries[] = {
    {"scaled_dot_product_attention", sdpa, kUpstream | kLegal},
    {"_scaled_dot_product_flash_attention_for_cpu", named_kernel},
    {"_scaled_dot_product_attention_math", named_kernel},
};

}  // namespace

std::span<const Entry> attention_entries() { return kEntries; }

}  // namespace edgelift::edge
