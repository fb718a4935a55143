// select, unbind, split, chunk, narrow and strided slices as plain slices and reshapes.
#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

ir::Shape without(ir::Shape shape, int64_t dim) {
  shape.erase(shape.begin() + dim);
  return shape;
}

bool lift_node(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  const bool select = node.is("select", "int"), unbind = node.is("unbind", "int"), narrow = node.is("narrow");
  const bool sizes = node.is("split_with_sizes"), split = node.is("split", "Tensor"), chunk = node.is("chunk");
  const bool slice = node.is("slice", "Tensor");
  if (!select && !unbind && !narrow && !sizes && !split && !chunk && !slice) return false;
  // A slice of step one is what the others become.
  if (slice && delegated(node) && node.args.size() > 4 && ops::Call(node).arg("step") == ir::Arg(SymInt(1)))
    return false;
  const ops::Call call(node);
  Value* self = call.tensor("self");
  const int64_t rank = self->type.rank();
  const auto dim = ops::normalize_dim(call.integer("dim"), rank);
  if (!dim || rank == 0) return false;
  const auto at = static_cast<size_t>(*dim);
  const SymInt size = self->type.sizes[at];
  Lift lift(rewriter, node);
  if (select) {
    SymInt index = call.sym_int("index");
    if (index.is_const() && index.value() < 0) index = size + index;
    return commit(lift, node, lift.view(lift.slice(self, *dim, index, SymInt(1)), without(self->type.sizes, *dim)),
                  context);
  }
  if (narrow) {
    SymInt start = call.sym_int("start");
    if (start.is_const() && start.value() < 0) start = size + start;
    return commit(lift, node, lift.slice(self, *dim, start, call.sym_int("length")), context);
  }
  if (slice) {
    // Every step-th element: [.., n/step, step, ..] and the first of each group, after the start was cut off.
    if (call.is_symbolic("step") || call.integer("step") < 2 || !size.is_const()) return false;
    const int64_t step = call.integer("step");
    const auto range = ops::slice_range(size, ops::opt_sym(call, "start"), ops::opt_sym(call, "end"), step);
    if (!range.start.is_const() || !range.length.is_const()) return false;
    const int64_t start = range.start.value(), count = range.length.value();
    if (count == 0) return false;
    Value* rows = nullptr;
    if (start + count * step <= size.value()) {
      rows = lift.slice(self, *dim, range.start, SymInt(count * step));
    } else if (start - (step - 1) >= 0 && start + (count - 1) * step < size.value()) {
      // The last group is cut off at its end: take the groups that end at the wanted element instead.
      rows = lift.slice(self, *dim, SymInt(start - (step - 1)), SymInt(count * step));
    } else {
      // Room for the last group; what is padded is not read.
      ir::IntList pad(static_cast<size_t>(2 * (rank - *dim)), SymInt(0));
      pad[pad.size() - 1] = SymInt(start + count * step - size.value());
      rows = lift.slice(lift.make("constant_pad_nd", {self, pad, 0.0}), *dim, range.start, SymInt(count * step));
    }
    if (lift.failed()) return commit(lift, node, rows, context);
    const bool at_end = start + count * step > size.value() && start - (step - 1) >= 0;
    ir::Shape grouped = self->type.sizes;
    grouped[at] = SymInt(count);
    const ir::Shape result = grouped;
    grouped.insert(grouped.begin() + *dim + 1, SymInt(step));
    Value* groups = lift.view(rows, grouped);
    if (lift.failed()) return commit(lift, node, rows, context);
    return commit(lift, node, lift.view(lift.slice(groups, *dim + 1, SymInt(at_end ? step - 1 : 0), SymInt(1)), result),
                  context);
  }
  std::vector<Value*> parts;
  SymInt start(0);
  for (Value* result : node.results) {
    const SymInt length = unbind ? SymInt(1) : result->type.sizes.at(at);
    Value* part = nullptr;
    if (!result->users.empty() || rewriter.graph().is_output(result)) {
      part = lift.slice(self, *dim, start, length);
      if (unbind) part = lift.view(part, without(self->type.sizes, *dim));
    }
    parts.push_back(part);
    start = start + length;
  }
  return commit(lift, node, parts, context);
}

}  // namespace

Result<bool> lift_select(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, lift_node);
}

}  // namespace edgelift::passes
