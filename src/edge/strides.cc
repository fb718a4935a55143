#include "edge/strides.h"

#include "ops/call.h"

namespace edgelift::edge {

Strides row_major(const ir::Shape& sizes) {
  Strides out(sizes.size());
  SymInt step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    out[i] = step;
    step = step * sizes[i];
  }
  return out;
}

Strides strides_of(const ir::Value* value) {
  if (value->strides.size() == value->type.sizes.size() && !value->strides.empty()) return value->strides;
  return row_major(value->type.sizes);
}

namespace {

// Dense with dims in memory order `order`, outermost first; dims of one element may have any stride.
bool dense_in_order(const ir::Value* value, const std::vector<size_t>& order) {
  SymInt step = 1;
  const auto& sizes = value->type.sizes;
  const Strides strides = strides_of(value);
  for (size_t k = order.size(); k-- > 0;) {
    const size_t i = order[k];
    if (sizes[i] == SymInt(1)) continue;
    if (sizes[i] == SymInt(0)) return true;
    if (!known_equal(strides[i], step)) return false;
    step = step * sizes[i];
  }
  return true;
}

}  // namespace

bool is_contiguous(const ir::Value* value) {
  if (value->strides.empty()) return true;
  std::vector<size_t> order(value->type.sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  return dense_in_order(value, order);
}

bool is_channels_last(const ir::Value* value) {
  if (value->type.rank() == 4) return dense_in_order(value, {0, 2, 3, 1});
  if (value->type.rank() == 5) return dense_in_order(value, {0, 2, 3, 4, 1});
  return false;
}

std::optional<Strides> view_strides(const ir::Value* from, const ir::Shape& to) {
  if (is_contiguous(from)) return row_major(to);
  const ir::Shape& sizes = from->type.sizes;
  const Strides strides = strides_of(from);
  for (const SymInt& size : sizes)
    if (size == SymInt(0)) return row_major(to);
  Strides out(to.size());
  // Walk both shapes from the innermost dim in blocks of memory that one stride covers.
  auto d = static_cast<int64_t>(to.size()) - 1;
  SymInt block_stride = strides.back(), block = 1, taken = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    block = block * sizes[i];
    const bool joins = i > 0 && (sizes[i - 1] == SymInt(1) || known_equal(strides[i - 1], block * block_stride));
    if (joins) continue;
    while (d >= 0 && (!known_equal(taken, block) || to[static_cast<size_t>(d)] == SymInt(1))) {
      out[static_cast<size_t>(d)] = taken * block_stride;
      taken = taken * to[static_cast<size_t>(d)];
      --d;
    }
    if (!known_equal(taken, block)) return std::nullopt;
    if (i > 0) {
      block_stride = strides[i - 1];
      block = taken = 1;
    }
  }
  if (d != -1) return std::nullopt;
  return out;
}

Strides pointwise_strides(const ir::Value* operand) {
  if (operand->strides.empty()) return {};
  const ir::Shape& sizes = operand->type.sizes;
  const Strides strides = strides_of(operand);
  std::vector<size_t> order(sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  // Outermost first: the larger stride; where that is not known the dims keep their places.
  const auto outer = [&](size_t a, size_t b) {
    return strides[a].is_const() && strides[b].is_const()
               ? strides[a].value() > strides[b].value()
               : known_le(strides[b], strides[a]) && !known_le(strides[a], strides[b]);
  };
  for (size_t i = 1; i < order.size(); ++i)
    for (size_t k = i; k > 0 && sizes[order[k]] != SymInt(1) && outer(order[k], order[k - 1]); --k)
      std::swap(order[k], order[k - 1]);
  Strides out(sizes.size());
  SymInt step = 1;
  for (size_t k = order.size(); k-- > 0;) {
    out[order[k]] = step;
    step = step * sizes[order[k]];
  }
  return out;
}

void infer_view_strides(const ir::Node& node) {
  if (node.results.empty() || node.args.empty()) return;
  const auto* first = std::get_if<ir::Value*>(&node.args[0]);
  if (first == nullptr) return;
  const ir::Value* from = *first;
  const std::string& base = node.op->base;
  ir::Value* to = node.results[0];
  if (!to->strides.empty() || !to->type.is_tensor()) return;
  const auto at = [](const Strides& s, int64_t i) { return s[static_cast<size_t>(i)]; };
  const ops::Call call(node);
  if (base == "permute") {
    const Strides s = strides_of(from);
    Strides out;
    for (const int64_t dim : call.integers("dims")) out.push_back(at(s, *ops::normalize_dim(dim, from->type.rank())));
    to->strides = std::move(out);
  } else if (base == "expand") {
    const Strides s = strides_of(from);
    const size_t added = to->type.sizes.size() - from->type.sizes.size();
    Strides out(to->type.sizes.size(), SymInt(0));
    for (size_t i = added; i < out.size(); ++i)
      if (known_equal(to->type.sizes[i], from->type.sizes[i - added])) out[i] = s[i - added];
    to->strides = std::move(out);
  } else if (base == "slice" && node.op->overload == "Tensor") {
    to->strides = strides_of(from);
    const auto dim = static_cast<size_t>(*ops::normalize_dim(call.integer("dim"), from->type.rank()));
    to->strides[dim] = to->strides[dim] * call.sym_int("step");
  } else if (base == "select" && node.op->overload == "int") {
    to->strides = strides_of(from);
    to->strides.erase(to->strides.begin() + *ops::normalize_dim(call.integer("dim"), from->type.rank()));
  } else if (base == "split_with_sizes") {
    for (ir::Value* part : node.results)
      if (part->strides.empty()) part->strides = strides_of(from);
  } else if (base == "unbind") {
    const int64_t dim = *ops::normalize_dim(call.integer("dim"), from->type.rank());
    for (ir::Value* part : node.results) {
      if (!part->strides.empty()) continue;
      part->strides = strides_of(from);
      part->strides.erase(part->strides.begin() + dim);
    }
  } else if (from->strides.empty()) {
    return;  // what follows keeps a contiguous value contiguous
  } else if (base == "view" || base == "squeeze" || base == "unsqueeze" || base == "_unsafe_view") {
    if (auto strides = view_strides(from, to->type.sizes)) to->strides = *std::move(strides);
  } else if (base == "alias" || base == "detach") {
    to->strides = from->strides;
  }
}

}  // namespace edgelift::edge
