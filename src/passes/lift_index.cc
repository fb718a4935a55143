// Indexing by tensors known at compile time, and reversed dims: slices and concatenations.
#include <algorithm>

#include "match/constant.h"
#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"
#include "passes/selection.h"

namespace edgelift::passes {
namespace {

bool lift_select(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!node.is("index_select")) return false;
  const ops::Call call(node);
  Value* self = call.tensor("self");
  const auto index = match::as_constant(call.tensor("index"));
  const auto dim = ops::normalize_dim(call.integer("dim"), self->type.rank());
  if (!index || !dim || index->empty() || self->type.rank() == 0) return false;
  const SymInt& size = self->type.sizes[static_cast<size_t>(*dim)];
  if (!size.is_const()) return false;
  const auto places = places_of(*index, size.value());
  if (!places) return false;
  Lift lift(rewriter, node);
  return commit(lift, node, select_places(lift, self, *dim, *places, true), context);
}

// gather whose index is known and differs along its dim only.
bool lift_gather(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!node.is("gather")) return false;
  const ops::Call call(node);
  Value* self = call.tensor("self");
  const auto index = match::as_constant(call.tensor("index"));
  if (!index || index->empty() || self->type.rank() == 0 || !is_f32_or_f16(self) || !self->type.is_static())
    return false;
  const auto dim = static_cast<size_t>(*ops::normalize_dim(call.integer("dim"), self->type.rank()));
  TensorData line = *index;
  for (size_t d = 0; d < line.sizes().size(); ++d)
    if (d != dim && line.sizes()[d] > 1) line = line.narrowed(static_cast<int64_t>(d), 0, 1);
  const int64_t length = index->sizes()[dim];
  int64_t inner = 1;
  for (size_t d = dim + 1; d < index->sizes().size(); ++d) inner *= index->sizes()[d];
  const TensorData flat = index->contiguous();
  for (int64_t i = 0; i < flat.numel(); ++i)
    if (flat.element_as_int(i) != line.element_as_int(i / inner % length)) {
      context.declined(node, "its places differ from line to line");
      return false;
    }
  const auto places = places_of(line, self->type.sizes[dim].value());
  if (!places) return false;
  Lift lift(rewriter, node);
  Value* x = self;
  for (size_t d = 0; d < index->sizes().size(); ++d)
    if (d != dim) x = lift.slice(x, static_cast<int64_t>(d), SymInt(0), SymInt(index->sizes()[d]));
  return commit(lift, node, select_places(lift, x, static_cast<int64_t>(dim), *places, true), context);
}

// A reversed dim of few elements.
bool lift_flip(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!node.is("flip")) return false;
  const ops::Call call(node);
  Value* x = call.tensor("self");
  const auto dims = ops::normalize_dims(call.integers("dims"), x->type.rank(), false);
  if (!dims.ok() || !is_f32_or_f16(x)) return false;
  Lift lift(rewriter, node);
  for (const int64_t dim : *dims) {
    const SymInt& size = x->type.sizes[static_cast<size_t>(dim)];
    if (!size.is_const() || size.value() > static_cast<int64_t>(kMaxPieces)) {
      context.declined(node, "it reverses a dimension of more than " + std::to_string(kMaxPieces) + " elements");
      return false;
    }
    std::vector<int64_t> places;
    for (int64_t i = size.value(); i-- > 0;) places.push_back(i);
    if (places.size() > 1) x = select_places(lift, x, dim, places, true);
  }
  return commit(lift, node, x, context);
}

bool lift_index_node(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (!node.is("index", "Tensor")) return false;
  const ops::Call call(node);
  Value* self = call.tensor("self");
  if (!self->type.is_static() || !node.result()->type.is_static()) return false;
  const auto& indices = call.tensors("indices");
  // The indexed dims must stand together: then the result has the broadcast index shape in their place.
  size_t first = indices.size(), last = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] == nullptr) continue;
    if (indices[i]->type.dtype == DType::Bool || indices[i]->type.dtype == DType::U8) return false;
    first = std::min(first, i);
    last = std::max(last, i);
  }
  if (first == indices.size()) return false;
  // Each index varies along at most one dim of the broadcast shape, and no two along the same one.
  struct Axis {
    std::vector<int64_t> places;
    int64_t from_end = 0;  // which dim of the broadcast shape, 0 = none
    int64_t count = 1;
  };
  std::vector<Axis> axes;
  int64_t broadcast_rank = 0;
  std::vector<int64_t> taken;
  for (size_t i = first; i <= last; ++i) {
    if (indices[i] == nullptr) return false;
    const auto index = match::as_constant(indices[i]);
    if (!index || index->empty()) return false;
    broadcast_rank = std::max(broadcast_rank, index->rank());
    Axis axis;
    for (int64_t d = 0; d < index->rank(); ++d) {
      if (index->sizes()[static_cast<size_t>(d)] == 1) continue;
      if (axis.from_end != 0) return false;
      axis.from_end = index->rank() - d;
    }
    axis.count = index->numel();
    if (axis.from_end != 0) {
      if (std::find(taken.begin(), taken.end(), axis.from_end) != taken.end()) return false;
      taken.push_back(axis.from_end);
    }
    const auto places = places_of(*index, self->type.sizes[i].value());
    if (!places || !selectable(*places, self->type.sizes[i].value(), is_f32_or_f16(self))) {
      context.declined(node, "its places are out of range, or make too many runs");
      return false;
    }
    axis.places = *places;
    axes.push_back(std::move(axis));
  }
  const bool inside = is_f32_or_f16(self);
  Lift lift(rewriter, node);
  Value* x = self;
  for (size_t i = 0; i < axes.size(); ++i)
    x = select_places(lift, x, static_cast<int64_t>(first + i), axes[i].places, inside);
  if (lift.failed()) return false;
  // Dims of one element leave, the others follow the order of the broadcast shape.
  std::vector<size_t> order;
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].from_end != 0) order.push_back(i);
  const std::vector<size_t> before = order;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return axes[a].from_end > axes[b].from_end; });
  if (order != before) {
    ir::Shape narrow(self->type.sizes.begin(), self->type.sizes.begin() + static_cast<std::ptrdiff_t>(first));
    for (const size_t i : before) narrow.emplace_back(axes[i].count);
    narrow.insert(narrow.end(), self->type.sizes.begin() + static_cast<std::ptrdiff_t>(last + 1),
                  self->type.sizes.end());
    auto dims = identity_permutation(narrow.size());
    for (size_t i = 0; i < order.size(); ++i)
      dims[first + i] =
          static_cast<int64_t>(first) + std::find(before.begin(), before.end(), order[i]) - before.begin();
    if (!inside) return false;
    x = lift.permute(lift.view(x, narrow), dims);
  }
  const ir::Shape& shape = node.result()->type.sizes;
  if (!lift.failed() && !(x->type.sizes == shape)) {
    std::vector<ir::Arg> args = {x, ir::IntList(shape.begin(), shape.end())};
    x = inside ? lift.make("view", args) : lift.make_outside("view", args);
  }
  return commit(lift, node, x, context);
}

}  // namespace

Result<bool> lift_index(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, [](ir::Node& node, ir::Rewriter& rewriter, PassContext& pass) {
    return lift_select(node, rewriter, pass) || lift_flip(node, rewriter, pass) || lift_gather(node, rewriter, pass) ||
           lift_index_node(node, rewriter, pass);
  });
}

}  // namespace edgelift::passes
