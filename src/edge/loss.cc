// Losses, which some models compute beside their outputs.
#include <cmath>

#include "edge/table.h"

namespace edgelift::edge {
namespace {

Value* reduced(Builder& b, Value* loss, int64_t reduction) {
  if (reduction == 1) return b.mean(loss, iota(b.rank(loss)), false);
  if (reduction == 2) return b.sum(loss, iota(b.rank(loss)), false);
  return loss;
}
Result<bool> finish(Builder& b, Value* loss) { return b.replace(reduced(b, loss, b.integer("reduction"))); }

// log(1 + exp(-|x|)) + max(x, 0)
Value* softplus(Builder& b, Value* x) {
  Value* tail = b.unary("log1p", b.unary("exp", b.neg(b.unary("abs", x))));
  return b.add(tail, b.clamp(x, 0.0, Arg()));
}

Result<bool> kl_div(Builder& b) {
  Value* x = b.in();
  Value* target = b.in("target");
  if (b.call.flag("log_target")) return finish(b, b.mul(b.unary("exp", target), b.sub(target, x)));
  // 0 log 0 is 0.
  Value* own =
      b.where(b.make("gt.Scalar", {target, SymInt(0)}), b.mul(target, b.unary("log", target)), 0.0, b.dtype(x));
  return finish(b, b.sub(own, b.mul(target, x)));
}

Result<bool> binary_cross_entropy(Builder& b) {
  Value* x = b.in();
  Value* target = b.in("target");
  // Logarithms are kept from minus infinity, as eager does.
  Value* yes = b.clamp(b.unary("log", x), -100.0, Arg());
  Value* no = b.clamp(b.unary("log1p", b.neg(x)), -100.0, Arg());
  Value* left = b.mul(b.sub(target, SymInt(1)), no);
  Value* loss = b.sub(left, b.mul(target, yes));
  if (Value* weight = b.maybe("weight")) loss = b.mul(loss, weight);
  return finish(b, loss);
}

Result<bool> binary_cross_entropy_with_logits(Builder& b) {
  Value* x = b.in();
  Value* target = b.in("target");
  // (1 - t) x + (1 + (p - 1) t) softplus(-x)
  Value* tail = softplus(b, b.neg(x));
  if (Value* positive = b.maybe("pos_weight"))
    tail = b.mul(tail, b.add(b.mul(b.sub(positive, SymInt(1)), target), SymInt(1)));
  Value* loss = b.add(b.mul(b.rsub(SymInt(1), target), x), tail);
  if (Value* weight = b.maybe("weight")) loss = b.mul(loss, weight);
  return finish(b, loss);
}

Result<bool> soft_margin(Builder& b) {
  return finish(b, b.unary("log1p", b.unary("exp", b.mul(b.neg(b.in("target")), b.in()))));
}

Result<bool> hinge_embedding(Builder& b) {
  Value* x = b.in();
  Value* target = b.in("target");
  Value* apart = b.clamp(b.make("rsub.Scalar", {x, b.arg("margin")}), SymInt(0), Arg());
  Value* far = b.where(b.make("eq.Scalar", {target, SymInt(1)}), 0.0, apart, b.dtype(x));
  Value* near = b.where(b.make("eq.Scalar", {target, SymInt(-1)}), 0.0, x, b.dtype(x));
  return finish(b, b.add(far, near));
}

Result<bool> margin_ranking(Builder& b) {
  Value* gap = b.sub(b.in("input1"), b.in("input2"));
  Value* loss = b.add(b.mul(b.neg(b.in("target")), gap), b.arg("margin"));
  return finish(b, b.clamp(loss, SymInt(0), Arg()));
}

Result<bool> cosine_embedding(Builder& b) {
  Value* x = b.in("input1");
  Value* y = b.in("input2");
  Value* target = b.in("target");
  const int64_t dim = b.rank(x) - 1;
  const auto square = [&](Value* v) { return b.add(b.sum(b.square(v), {dim}, false), 1e-12); };
  Value* xs = square(x);
  Value* cos = b.div(b.sum(b.mul(x, y), {dim}, false), b.unary("sqrt", b.mul(xs, square(y))));
  Value* near = b.where(b.make("eq.Scalar", {target, SymInt(1)}), b.rsub(SymInt(1), cos), 0.0, b.dtype(x));
  Value* apart = b.clamp(b.sub(cos, b.arg("margin")), SymInt(0), Arg());
  return finish(b, b.add(near, b.where(b.make("eq.Scalar", {target, SymInt(-1)}), apart, 0.0, b.dtype(x))));
}

Result<bool> poisson_nll(Builder& b) {
  Value* x = b.in("input");
  Value* target = b.in("target");
  Value* loss = b.call.flag("log_input") ? b.sub(b.unary("exp", x), b.mul(target, x))
                                         : b.sub(x, b.mul(target, b.unary("log", b.add(x, b.arg("eps")))));
  if (b.call.flag("full")) {
    // Stirling's terms where the target is above 1.
    Value* log = b.unary("log", target);
    Value* stirling = b.add(b.sub(b.mul(target, log), target), b.mul(b.unary("log", b.mul(target, 2 * M_PI)), 0.5));
    loss = b.add(loss, b.where(b.make("gt.Scalar", {target, SymInt(1)}), stirling, 0.0, b.dtype(x)));
  }
  return finish(b, loss);
}

struct Picked {
  Value* loss = nullptr;    // -log p of the target, 0 where ignored
  Value* weight = nullptr;  // of each target, 0 where ignored
};

// log_p [N, C, ..] or [C], target [N, ..] or [].
Picked picked(Builder& b, Value* log_p, Value* target, Value* weight, int64_t ignore) {
  const int64_t dim = b.rank(log_p) == 1 ? 0 : 1;
  Value* kept = b.make("ne.Scalar", {target, SymInt(ignore)});
  Value* safe = b.where(kept, target, SymInt(0), b.dtype(target));
  Value* one = b.make("gather", {log_p, SymInt(dim), b.unsqueeze(safe, dim)});
  Value* own = b.neg(b.squeeze(one, dim));
  Value* w = weight == nullptr ? b.full(target->type.sizes, 1.0, b.dtype(log_p))
                               : b.make("index.Tensor", {weight, ValueList{safe}});
  Picked out;
  out.weight = b.where(kept, w, 0.0, b.dtype(log_p));
  out.loss = b.where(kept, b.mul(own, w), 0.0, b.dtype(log_p));
  return out;
}

Value* weighted(Builder& b, const Picked& p) {
  const int64_t reduction = b.integer("reduction");
  if (reduction == 0) return p.loss;
  Value* sum = b.sum(p.loss, iota(b.rank(p.loss)), false);
  return reduction == 2 ? sum : b.div(sum, b.sum(p.weight, iota(b.rank(p.weight)), false));
}

Result<bool> nll(Builder& b) {
  return b.replace(weighted(b, picked(b, b.in(), b.in("target"), b.maybe("weight"), b.integer("ignore_index"))));
}

Result<bool> nll_forward(Builder& b) {
  const Picked p = picked(b, b.in(), b.in("target"), b.maybe("weight"), b.integer("ignore_index"));
  return b.replace({weighted(b, p), b.used(1) ? b.sum(p.weight, iota(b.rank(p.weight)), false) : nullptr});
}

Result<bool> cross_entropy(Builder& b) {
  Value* x = b.in();
  Value* target = b.in("target");
  Value* weight = b.maybe("weight");
  const double smoothing = b.call.number("label_smoothing");
  const int64_t dim = b.rank(x) == 1 ? 0 : 1;
  const int64_t reduction = b.integer("reduction");
  Value* log_p = b.make("_log_softmax", {x, SymInt(dim), false});
  const auto along = [&](Value* w) {
    Shape line(static_cast<size_t>(b.rank(x)), SymInt(1));
    line[static_cast<size_t>(dim)] = b.size(w, 0);
    return b.view(w, line);
  };
  const SymInt classes = b.size(x, dim);
  if (!classes.is_const()) return b.refuse("has a dynamic number of classes, for which edgelift has no form");
  const auto count = static_cast<double>(classes.value());
  if (is_float(b.dtype(target))) {  // probabilities
    Value* p = smoothing > 0 ? b.add(b.mul(target, 1 - smoothing), smoothing / count) : target;
    Value* terms = b.mul(log_p, p);
    if (weight != nullptr) terms = b.mul(terms, along(weight));
    Value* loss = b.neg(b.sum(terms, {dim}, false));
    if (reduction == 0) return b.replace(loss);
    Value* sum = b.sum(loss, iota(b.rank(loss)), false);
    if (reduction == 2) return b.replace(sum);
    // The mean is over the examples, whatever the weights are.
    const SymInt examples = loss->type.sym_numel();
    return b.replace(b.div(sum, b.number_tensor(examples, b.dtype(sum))));
  }
  const Picked p = picked(b, log_p, target, weight, b.integer("ignore_index"));
  Value* loss = weighted(b, p);
  if (smoothing == 0) return b.replace(loss);
  // The smoothed part: the (weighted) mean over the classes, 0 where ignored.
  Value* spread = weight == nullptr ? log_p : b.mul(log_p, along(weight));
  Value* smooth = b.neg(b.sum(spread, {dim}, false));
  smooth = b.where(b.make("ne.Scalar", {target, b.arg("ignore_index")}), smooth, 0.0, b.dtype(x));
  if (reduction != 0) {
    smooth = b.sum(smooth, iota(b.rank(smooth)), false);
    if (reduction == 1) smooth = b.div(smooth, b.sum(p.weight, iota(b.rank(p.weight)), false));
  }
  return b.replace(b.add(b.mul(loss, 1 - smoothing), b.mul(smooth, smoothing / count)));
}

constexpr Entry kEntries[] = {
    {"kl_div", kl_div},
    {"binary_cross_entropy", binary_cross_entropy},
    {"binary_cross_entropy_with_logits", binary_cross_entropy_with_logits},
    {"soft_margin_loss", soft_margin},
    {"hinge_embedding_loss", hinge_embedding},
    {"margin_ranking_loss", margin_ranking},
    {"cosine_embedding_loss", cosine_embedding},
    {"poisson_nll_loss", poisson_nll},
    {"nll_loss", nll},
    {"nll_loss2d", nll},
    {"nll_loss_nd", nll},
    {"nll_loss_forward", nll_forward},
    {"nll_loss2d_forward", nll_forward},
    {"cross_entropy_loss", cross_entropy},
};

}  // namespace

std::span<const Entry> loss_entries() { return kEntries; }

}  // namespace edgelift::edge
