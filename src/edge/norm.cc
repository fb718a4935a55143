// Normalisations. The default mode keeps native_layer_norm, native_group_norm, rms_norm and
// _native_batch_norm_legit_no_training whole.
#include <limits>

#include "edge/table.h"
#include "ops/infer.h"

namespace edgelift::edge {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Arg or_none(Value* value) { return value == nullptr ? Arg() : Arg(value); }
Value* wide(Builder& b, Value* x) {
  const DType d = b.dtype(x);
  return d == DType::F16 || d == DType::BF16 ? b.cast(x, DType::F32) : x;
}

Result<bool> layer_norm(Builder& b) {
  return b.replace(b.make("native_layer_norm",
                          {b.in("input"), b.arg("normalized_shape"), b.arg("weight"), b.arg("bias"), b.arg("eps")}));
}

Value* group_norm_of(Builder& b, Value* x, Value* weight, Value* bias, int64_t groups, double eps) {
  const SymInt n = b.size(x, 0), c = b.size(x, 1);
  SymInt rest = 1;
  for (int64_t d = 2; d < b.rank(x); ++d) rest = rest * b.size(x, d);
  return b.make("native_group_norm", {x, or_none(weight), or_none(bias), n, c, rest, SymInt(groups), eps});
}

Result<bool> group_norm(Builder& b) {
  return b.replace(group_norm_of(b, b.in("input"), b.maybe("weight"), b.maybe("bias"), b.integer("num_groups"),
                                 b.call.number("eps")));
}

constexpr const char* kTraining =
    "updates its running statistics: the model was exported in training mode; call model.eval() before "
    "torch.export.export";

Result<bool> batch_norm(Builder& b) {
  Value* x = b.in("input");
  Value* mean = b.maybe("running_mean");
  Value* var = b.maybe("running_var");
  const bool training = b.call.flag("training");
  const double eps = b.call.number("eps"), momentum = b.call.number("momentum");
  const bool native = b.base() == "native_batch_norm";
  if (training && mean != nullptr) return b.refuse(kTraining);
  // Without running statistics the batch's own are used in inference as well.
  const auto results = training ? b.make_all("_native_batch_norm_legit.no_stats",
                                             {x, b.arg("weight"), b.arg("bias"), true, momentum, eps})
                                : b.make_all("_native_batch_norm_legit_no_training",
                                             {x, b.arg("weight"), b.arg("bias"), mean, var, momentum, eps});
  if (!native) return b.replace(results[0]);
  return b.replace(results);
}

Result<bool> batch_norm_training(Builder& b) { return b.refuse(kTraining); }

Result<bool> instance_norm(Builder& b) {
  Value* x = b.in("input");
  if (!b.call.flag("use_input_stats"))
    return b.replace(
        b.make("_native_batch_norm_legit_no_training", {x, b.arg("weight"), b.arg("bias"), b.arg("running_mean"),
                                                        b.arg("running_var"), b.arg("momentum"), b.arg("eps")}));
  if (b.maybe("running_mean") != nullptr) return b.refuse(kTraining);
  const SymInt channels = b.size(x, 1);
  if (!channels.is_const()) return b.refuse("has a dynamic number of channels, for which the runtime has no kernel");
  return b.replace(group_norm_of(b, x, b.maybe("weight"), b.maybe("bias"), channels.value(), b.call.number("eps")));
}

// x * rsqrt(mean(x^2) + eps), the mean over the last dims.
struct Rms {
  Value* out;
  Value* rstd;
};
Rms rms(Builder& b, Value* x, Value* weight, std::optional<double> eps) {
  const auto count = static_cast<int64_t>(b.call.ints("normalized_shape").size());
  Value* up = wide(b, x);
  const double epsilon = eps.value_or(b.dtype(up) == DType::F64 ? std::numeric_limits<double>::epsilon()
                                                                : std::numeric_limits<float>::epsilon());
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < count; ++i) dims.push_back(b.rank(x) - 1 - i);
  if (!b.upstream) dims = iota(count, b.rank(x) - count);
  Value* mean = b.mean(b.square(up), dims, true);
  Value* rstd = b.unary("rsqrt", b.make("add.Scalar", {mean, epsilon}));
  Value* out = b.mul(up, rstd);
  if (weight != nullptr) out = b.mul(out, weight);
  return {b.cast(out, b.dtype(x)), rstd};
}

Result<bool> rms_norm(Builder& b) {
  return b.replace(rms(b, b.in("input"), b.maybe("weight"), b.call.opt_number("eps")).out);
}
Result<bool> fused_rms_norm(Builder& b) {
  const bool alone = !b.used(1);
  if (alone && !b.upstream)
    return b.replace(
        {b.make("rms_norm", {b.in("input"), b.arg("normalized_shape"), b.arg("weight"), b.arg("eps")}), nullptr});
  const Rms both = rms(b, b.in("input"), b.maybe("weight"), b.call.opt_number("eps"));
  return b.replace({both.out, both.rstd});
}

// The p-norm over dims.
Value* p_norm(Builder& b, Value* x, double p, const std::vector<int64_t>& dims, bool keep) {
  if (dims.empty() && b.rank(x) == 0) return b.unary("abs", x);
  if (p == 0) return b.sum(b.cast(b.make("ne.Scalar", {x, SymInt(0)}), b.dtype(x)), dims, keep);
  if (p == 1) return b.sum(b.unary("abs", x), dims, keep);
  if (p == 2) return b.unary("sqrt", b.sum(b.square(x), dims, keep));
  if (p == kInf) return b.amax(b.unary("abs", x), dims, keep);
  if (p == -kInf) return b.amin(b.unary("abs", x), dims, keep);
  return b.pow(b.sum(b.pow(b.unary("abs", x), p), dims, keep), 1 / p);
}

Result<bool> vector_norm(Builder& b) {
  Value* x = b.in();
  const ir::Schema& schema = b.call.op().schema;
  const bool old = b.base() == "norm";
  const Arg order = b.base() == "frobenius_norm" ? Arg() : b.arg(old ? "p" : "ord");
  const double p = literal(order).value_or(2);
  std::vector<int64_t> dims = schema.index_of("dim") >= 0 ? b.dims("dim", b.rank(x), true) : iota(b.rank(x));
  const bool keep = schema.index_of("keepdim") >= 0 && b.call.flag("keepdim");
  x = wide(b, b.cast(x, b.out_type().dtype));
  return b.replace(b.cast(p_norm(b, x, p, dims, keep), b.out_type().dtype));
}

Result<bool> linalg_norm(Builder& b) {
  Value* x = b.in();
  const bool named = std::holds_alternative<std::string>(b.arg("ord"));
  const auto dims = b.dims("dim", b.rank(x), true);
  const bool given = !ir::is_none(b.arg("dim"));
  const bool keep = b.call.flag("keepdim");
  const DType d = b.out_type().dtype;
  x = wide(b, b.cast(x, d));
  const auto finish = [&](Value* v) { return b.replace(b.cast(v, d)); };
  if (named) {
    if (b.call.text("ord") != "fro")
      return b.refuse("asks for a norm from singular values, for which the runtime has no kernel");
    return finish(p_norm(b, x, 2, dims, keep));
  }
  const bool no_order = ir::is_none(b.arg("ord"));
  const double p = literal(b.arg("ord")).value_or(2);
  const bool matrix = b.base() == "linalg_matrix_norm" || (!no_order && dims.size() == 2 && (given || b.rank(x) == 2));
  if (no_order || !matrix) return finish(p_norm(b, x, p, dims, keep));
  if (p != 1 && p != -1 && p != kInf && p != -kInf)
    return b.refuse("asks for a norm from singular values, for which the runtime has no kernel");
  const bool columns = p == 1 || p == -1;  // sums down the columns, then the extreme over them
  const int64_t sum_dim = columns ? dims[0] : dims[1], pick_dim = columns ? dims[1] : dims[0];
  Value* sums = b.sum(b.unary("abs", x), {sum_dim}, true);
  Value* out = p > 0 ? b.amax(sums, {pick_dim}, true) : b.amin(sums, {pick_dim}, true);
  if (!keep) out = b.make("squeeze.dims", {out, int_list(dims)});
  return finish(out);
}

// v * g / |v|, the norm over all dims but one.
Result<bool> weight_norm(Builder& b) {
  Value* v = b.in("v");
  Value* g = b.in("g");
  const int64_t dim = b.integer("dim");
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < b.rank(v); ++i)
    if (dim == -1 || i != dim) dims.push_back(i);
  Value* norm = p_norm(b, v, 2, dims, true);
  Value* out = b.mul(v, b.div(g, norm));
  if (b.node().results.size() == 1) return b.replace(out);
  return b.replace({out, norm});
}

// Slices along dim longer than maxnorm are cut to it.
Result<bool> renorm(Builder& b) {
  Value* x = b.in();
  const int64_t dim = b.dim("dim", b.rank(x));
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < b.rank(x); ++i)
    if (i != dim) dims.push_back(i);
  Value* length = p_norm(b, wide(b, x), b.call.number("p"), dims, true);
  const double most = b.call.number("maxnorm");
  Value* factor = b.mul(b.unary("reciprocal", b.add(length, 1e-7)), most);
  Value* long_ones = b.make("gt.Scalar", {length, most});
  return b.replace(b.cast(b.mul(x, b.where(long_ones, factor, 1.0, b.dtype(length))), b.dtype(x)));
}

constexpr uint8_t kWhole = kUpstream | kLegal;

constexpr Entry kEntries[] = {
    {"group_norm", group_norm},
    {"batch_norm", batch_norm},
    {"native_batch_norm", batch_norm},
    {"_native_batch_norm_legit", batch_norm_training},
    {"_batch_norm_with_update", batch_norm_training},
    {"instance_norm", instance_norm},
    {"rms_norm", rms_norm, kWhole},
    {"_fused_rms_norm", fused_rms_norm},
    {"linalg_vector_norm", vector_norm},
    {"norm.Scalar", vector_norm},
    {"norm.ScalarOpt_dim", vector_norm},
    {"norm.ScalarOpt_dim_dtype", vector_norm},
    {"norm.ScalarOpt_dtype", vector_norm},
    {"linalg_norm", linalg_norm},
    {"linalg_norm.ord_str", linalg_norm},
    {"linalg_matrix_norm", linalg_norm},
    {"linalg_matrix_norm.str_ord", linalg_norm},
    {"_weight_norm", weight_norm},
    {"_weight_norm_interface", weight_norm},
    {"layer_norm", layer_norm},
    {"renorm", renorm},
    {"frobenius_norm.dim", vector_norm},
};

}  // namespace

std::span<const Entry> norm_entries() { return kEntries; }

}  // namespace edgelift::edge
