// mean, sum, var, std and norms over any dims: the reduced dims go last, and a fully-connected with one output adds
// them. Against the kernel: at most 1.2e-7 * sqrt(n) of the largest partial sum for n elements, from the order of
// summation.
#include <algorithm>
#include <cmath>

#include "match/constant.h"
#include "match/views.h"
#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

// x with the reduced dims joined into a last one, and how the result is laid out again.
struct Rows {
  Value* rows = nullptr;
  SymInt count = SymInt(0);
};

Rows gather(Lift& lift, Value* x, const std::vector<int64_t>& dims) {
  Rows out;
  const auto rank = static_cast<int64_t>(x->type.sizes.size());
  std::vector<int64_t> order;
  ir::Shape kept;
  for (int64_t d = 0; d < rank; ++d) {
    if (std::binary_search(dims.begin(), dims.end(), d)) continue;
    order.push_back(d);
    kept.push_back(x->type.sizes[static_cast<size_t>(d)]);
  }
  SymInt count(1);
  for (const int64_t d : dims) {
    order.push_back(d);
    count = count * x->type.sizes[static_cast<size_t>(d)];
  }
  if (count == SymInt(0)) {
    lift.fail("it reduces no elements");
    return out;
  }
  out.count = count;
  if (dims.size() == 1 && dims[0] == rank - 1) {
    out.rows = x;
    return out;
  }
  if (dims.size() == 1) {
    out.rows = lift.permute(x, order);
    return out;
  }
  kept.push_back(count);
  out.rows = lift.view(lift.permute(x, order), kept);
  return out;
}

std::optional<std::vector<int64_t>> dims_of(const ops::Call& call, int64_t rank) {
  std::vector<int64_t> given;
  if (call.op().schema.index_of("dim") >= 0 && call.has("dim")) {
    const ir::Arg& arg = call.arg("dim");
    if (const auto* one = std::get_if<SymInt>(&arg)) {
      if (!one->is_const()) return std::nullopt;
      given = {one->value()};
    } else {
      if (call.is_symbolic("dim")) return std::nullopt;
      given = call.integers("dim");
    }
  }
  auto dims = ops::normalize_dims(given, rank, true);
  return dims.ok() ? std::optional(*dims) : std::nullopt;
}

double correction_of(const ops::Call& call) {
  if (call.op().schema.index_of("correction") >= 0) return call.opt_number("correction").value_or(1);
  if (call.op().schema.index_of("unbiased") >= 0) return call.flag("unbiased") ? 1 : 0;
  return 1;
}

// 1/n * sum(x) + number, where the mean has no other use: the number is the bias.
bool join_eps(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!node.is("add", "Tensor") && !node.is("add", "Scalar")) return false;
  const ops::Call call(node);
  Value* mean = call.tensor("self");
  if (mean->producer == nullptr || !mean->producer->is("mean", "dim") || !match::used_once(mean)) return false;
  if (!is_f32_or_f16(mean) || call.opt_number("alpha").value_or(2) != 1) return false;
  std::optional<double> number;
  const ir::Arg& other = node.args.at(1);
  if (const auto* d = std::get_if<double>(&other)) number = *d;
  if (auto* const* v = std::get_if<Value*>(&other)) number = match::as_number(*v);
  if (!number || !std::isfinite(*number) || !(node.result()->type.sizes == mean->type.sizes)) return false;
  const ops::Call inner(*mean->producer);
  Value* x = inner.tensor("self");
  const auto dims = dims_of(inner, x->type.rank());
  if (!dims || !inner.flag("keepdim") || *dims != std::vector<int64_t>{x->type.rank() - 1}) return false;
  if (inner.has("dtype") && x->type.dtype != mean->type.dtype) return false;
  Lift lift(rewriter, node);
  return commit(lift, node, lift.mean_last(x, *number), context);
}

// The maximum over adjacent dims [A, R, B] as a pooling over R, which takes B for its channels. Pooling passes over
// NaN; a sum of zero times every element brings it back.
Value* maximum(Lift& lift, Value* x, const std::vector<int64_t>& dims) {
  const ir::Shape& sizes = x->type.sizes;
  const auto first = static_cast<size_t>(dims.front()), last = static_cast<size_t>(dims.back());
  if (last - first + 1 != dims.size()) {
    lift.fail("the reduced dimensions are not adjacent");
    return x;
  }
  SymInt before = product(std::span(sizes).first(first)), after = product(std::span(sizes).subspan(last + 1));
  const SymInt count = product(std::span(sizes).subspan(first, dims.size()));
  if (!count.is_const() || count.value() == 0) {
    lift.fail("the number of reduced elements is not a positive number");
    return x;
  }
  const double bound = x->type.dtype == DType::F16 ? 60000.0 : 3.0e38;
  Value* zeros = lift.mul(lift.clamp(x, -bound, bound), 0.0);
  Value *columns = nullptr, *zero_rows = nullptr;
  if (after == SymInt(1)) {  // rows: they become the channels
    columns = lift.view(x, {SymInt(1), before, count, SymInt(1)});
    zero_rows = lift.view(zeros, {before, count});
  } else {
    columns = lift.permute(lift.view(x, {before, count, SymInt(1), after}), {0, 3, 1, 2});
    zero_rows = lift.permute(lift.view(zeros, {before, count, after}), {0, 2, 1});
  }
  Value* top = lift.make("max_pool2d", {columns, ir::IntList{count, SymInt(1)}, ir::IntList{count, SymInt(1)}});
  Value* flag = lift.sum_last(zero_rows, 1.0);
  if (lift.failed()) return x;
  return lift.add(lift.view(top, flag->type.sizes), flag);
}

// amax, amin, and max and min whose places are not asked for.
bool lift_extremum(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  const bool top = node.is("amax") || node.is("max", "dim") || node.is("max");
  const bool bottom = node.is("amin") || node.is("min", "dim") || node.is("min");
  if (!top && !bottom) return false;
  const ops::Call call(node);
  Value* self = call.tensor("self");
  if (!is_f32_or_f16(self) || self->type.rank() == 0 || delegated(node)) return false;
  const auto dims = dims_of(call, self->type.rank());
  if (!dims || dims->empty()) return false;
  Lift lift(rewriter, node);
  Value* x = bottom ? lift.make("neg", {self}) : self;
  x = maximum(lift, x, *dims);
  if (bottom && !lift.failed()) x = lift.make("neg", {x});
  return commit(lift, node, lift.view(x, node.result()->type.sizes), context);
}

bool lift_node(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (node.op->ns != "aten") return false;
  if (lift_extremum(node, rewriter, context)) return true;
  if (node.results.size() != 1) return false;
  if (join_eps(node, rewriter, context)) return true;
  const std::string_view base = node.op->base;
  const bool mean = base == "mean", sum = base == "sum", var = base == "var", std_dev = base == "std";
  const bool norm = base == "linalg_vector_norm";
  if (!mean && !sum && !var && !std_dev && !norm) return false;
  const ops::Call call(node);
  Value* self = call.tensor("self");
  if (!is_f32_or_f16(self) || node.result()->type.dtype != self->type.dtype || delegated(node)) return false;
  const auto dims = dims_of(call, self->type.rank());
  if (!dims || dims->empty()) return false;
  Lift lift(rewriter, node);
  const Rows x = gather(lift, self, *dims);
  Value* result = x.rows;
  if (!lift.failed()) {
    if (mean) result = lift.mean_last(x.rows);
    if (sum) result = lift.sum_last(x.rows, 1.0);
    if (var || std_dev) {
      const double correction = correction_of(call);
      Value* squares = lift.square(lift.sub(x.rows, lift.mean_last(x.rows)));
      if (correction == 0) {
        result = lift.mean_last(squares);
      } else if (!x.count.is_const()) {
        lift.fail("its divisor depends on a size that only the run knows");
      } else {
        const double divisor = static_cast<double>(x.count.value()) - correction;
        if (divisor <= 0) return false;  // NaN or infinity: the kernel's
        result = lift.sum_last(squares, 1.0 / divisor);
      }
      if (std_dev) result = lift.make("sqrt", {result});
    }
    if (norm) {
      const auto order = call.opt_number("ord");
      if (!order || (*order != 1 && *order != 2)) {
        context.declined(node, "only the norms of order 1 and 2 have a form in the delegate");
        return false;
      }
      result = *order == 2 ? lift.make("sqrt", {lift.sum_last(lift.square(x.rows), 1.0)})
                           : lift.sum_last(lift.make("abs", {x.rows}), 1.0);
    }
  }
  return commit(lift, node, lift.view(result, node.result()->type.sizes), context);
}

}  // namespace

Result<bool> lift_reductions(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, lift_node);
}

}  // namespace edgelift::passes
