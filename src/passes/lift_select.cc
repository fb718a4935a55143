// select, unbind, split, chunk, narrow, strided slices and diagonals as plain slices and reshapes.
#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

ir::Shape without(ir::Shape shape, int64_t dim) {
  shape.erase(shape.begin() + dim);
  return shape;
}

// diagonal: every (columns + 1)-th element of the matrix's rows one after the other.
bool lift_diagonal(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!node.is("diagonal")) return false;
  const ops::Call call(node);
  Value* x = call.tensor("self");
  const int64_t rank = x->type.rank();
  const auto first = ops::normalize_dim(call.integer("dim1"), rank),
             second = ops::normalize_dim(call.integer("dim2"), rank);
  if (!is_f32_or_f16(x) || !first || !second) return false;
  const SymInt rows = x->type.sizes[static_cast<size_t>(*first)], columns = x->type.sizes[static_cast<size_t>(*second)];
  if (!rows.is_const() || !columns.is_const()) {
    context.declined(node, "its matrix has a size that only the run knows");
    return false;
  }
  const int64_t offset = call.integer("offset"), width = columns.value();
  const int64_t start = offset >= 0 ? offset : -offset * width;
  const SymInt count = node.result()->type.sizes.back();
  if (!count.is_const() || count.value() == 0) return false;
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d)
    if (d != *first && d != *second) order.push_back(d);
  order.insert(order.end(), {*first, *second});
  Lift lift(rewriter, node);
  Value* matrix = lift.permute(x, order);
  if (lift.failed()) return commit(lift, node, matrix, context);
  ir::Shape flat(matrix->type.sizes.begin(), matrix->type.sizes.end() - 2);
  flat.push_back(rows * columns);
  return commit(lift, node, lift.strided(lift.view(matrix, flat), rank - 2, start, width + 1, count.value()), context);
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
    if (call.is_symbolic("step") || call.integer("step") < 2 || !size.is_const()) return false;
    const int64_t step = call.integer("step");
    const auto range = ops::slice_range(size, ops::opt_sym(call, "start"), ops::opt_sym(call, "end"), step);
    if (!range.start.is_const() || !range.length.is_const()) return false;
    if (range.length == SymInt(0)) return false;
    return commit(lift, node, lift.strided(self, *dim, range.start.value(), step, range.length.value()), context);
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
  return rewrite_nodes(program, context, [](ir::Node& node, ir::Rewriter& rewriter, PassContext& pass) {
    return lift_node(node, rewriter, pass) || lift_diagonal(node, rewriter, pass);
  });
}

}  // namespace edgelift::passes
