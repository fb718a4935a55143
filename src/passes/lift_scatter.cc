// Writes into a slice or one place of a dim (select_scatter, slice_scatter): what lies before, the written part, and
// what lies after, joined. A chain of writes along one dim (a loop that fills its result) is joined once. Writes of
// every n-th place (x[..., 0::2] = a) are joined along a dim of n that the dim is split into. Exact.
#include <algorithm>

#include "match/views.h"
#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

constexpr size_t kMaxParts = 1024;

struct Write {
  Value *self = nullptr, *source = nullptr;
  int64_t dim = 0, start = 0, end = 0;
  bool select = false;
};

// The write, if its place is known and in range.
std::optional<Write> as_write(const ir::Node& node) {
  const bool select = node.is("select_scatter");
  if (!select && !node.is("slice_scatter")) return std::nullopt;
  const ops::Call call(node);
  Write w;
  w.self = call.tensor("self");
  w.source = call.tensor("src");
  w.select = select;
  const auto dim = ops::normalize_dim(call.integer("dim"), w.self->type.rank());
  if (!dim || w.self->type.rank() == 0) return std::nullopt;
  w.dim = *dim;
  const SymInt& size = w.self->type.sizes[static_cast<size_t>(*dim)];
  if (!size.is_const()) return std::nullopt;
  if (select) {
    if (call.is_symbolic("index")) return std::nullopt;
    w.start = call.integer("index");
    if (w.start < 0) w.start += size.value();
    w.end = w.start + 1;
  } else {
    if (call.is_symbolic("step") || call.integer("step") != 1) return std::nullopt;
    const auto range = ops::slice_range(size, ops::opt_sym(call, "start"), ops::opt_sym(call, "end"), 1);
    if (!range.start.is_const() || !range.length.is_const()) return std::nullopt;
    w.start = range.start.value();
    w.end = w.start + range.length.value();
  }
  if (w.start < 0 || w.start >= w.end || w.end > size.value()) return std::nullopt;
  return w;
}

// A write of every step-th place from `phase` on to the end.
struct Stride {
  Value *self = nullptr, *source = nullptr;
  int64_t dim = 0, step = 0, phase = 0;
  bool along(const Stride& other) const { return dim == other.dim && step == other.step; }
};

std::optional<Stride> as_stride(const ir::Node& node) {
  if (!node.is("slice_scatter")) return std::nullopt;
  const ops::Call call(node);
  Stride s;
  s.self = call.tensor("self");
  s.source = call.tensor("src");
  if (call.is_symbolic("step") || s.self->type.rank() == 0) return std::nullopt;
  s.step = call.integer("step");
  const auto dim = ops::normalize_dim(call.integer("dim"), s.self->type.rank());
  if (!dim || s.step < 2) return std::nullopt;
  s.dim = *dim;
  const SymInt& size = s.self->type.sizes[static_cast<size_t>(*dim)];
  if (!size.is_const() || size.value() == 0 || size.value() % s.step != 0) return std::nullopt;
  const auto range = ops::slice_range(size, ops::opt_sym(call, "start"), ops::opt_sym(call, "end"), s.step);
  if (!range.start.is_const() || range.length != SymInt(size.value() / s.step)) return std::nullopt;
  s.phase = range.start.value();
  return s;
}

bool join_strides(ir::Node& node, const Stride& top, ir::Rewriter& rewriter, PassContext& context) {
  if (!is_f32_or_f16(node.result())) return false;
  if (top.step > static_cast<int64_t>(kMaxParts)) {
    context.declined(node, "it writes every " + std::to_string(top.step) + "th place");
    return false;
  }
  // The last write of a chain takes the others with it.
  if (const ir::Node* user = match::only_user(node.result())) {
    const auto next = as_stride(*user);
    if (next && next->self == node.result() && next->along(top)) return false;
  }
  std::vector<Value*> written(static_cast<size_t>(top.step), nullptr);
  Stride s = top;
  for (;;) {
    Value*& place = written[static_cast<size_t>(s.phase)];
    if (place == nullptr) place = s.source;
    if (s.self->producer == nullptr || !match::used_once(s.self)) break;
    const auto earlier = as_stride(*s.self->producer);
    if (!earlier || !earlier->along(top)) break;
    s = *earlier;
  }
  if (s.self == top.self && !beside_delegated(node)) return false;
  const auto dim = static_cast<size_t>(top.dim);
  const ir::Shape whole = node.result()->type.sizes;
  const auto split = [&](int64_t places) {
    ir::Shape shape = whole;
    shape[dim] = SymInt(whole[dim].value() / top.step);
    shape.insert(shape.begin() + top.dim + 1, SymInt(places));
    return shape;
  };
  Lift lift(rewriter, node);
  std::vector<Value*> pieces;
  Value* base = nullptr;
  for (size_t from = 0; from < written.size();) {
    if (written[from] != nullptr) {
      pieces.push_back(lift.view(written[from++], split(1)));
      continue;
    }
    size_t to = from;
    while (to < written.size() && written[to] == nullptr) ++to;
    if (base == nullptr) base = lift.view(s.self, split(top.step));
    pieces.push_back(
        lift.slice(base, top.dim + 1, SymInt(static_cast<int64_t>(from)), SymInt(static_cast<int64_t>(to - from))));
    from = to;
  }
  return commit(lift, node, lift.view(lift.cat(std::move(pieces), top.dim + 1), whole), context);
}

bool rewrite(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  if (const auto stride = as_stride(node)) return join_strides(node, *stride, rewriter, context);
  const auto top = as_write(node);
  if (!top || !is_f32_or_f16(node.result())) return false;
  // The last write of a chain takes the others with it.
  if (const ir::Node* user = match::only_user(node.result())) {
    const auto next = as_write(*user);
    if (next && next->self == node.result() && next->dim == top->dim) return false;
  }
  struct Part {
    int64_t start, end;
    const Value* source;
    int64_t offset;  // of start within the source
    bool select;
  };
  const int64_t size = node.result()->type.sizes[static_cast<size_t>(top->dim)].value();
  std::vector<Part> parts;
  std::vector<std::pair<int64_t, int64_t>> open = {{0, size}};  // places whose last write is not found yet
  Write w = *top;
  Value* base = nullptr;
  for (;;) {
    std::vector<std::pair<int64_t, int64_t>> left;
    for (const auto& [from, to] : open) {
      const int64_t a = std::max(from, w.start), b = std::min(to, w.end);
      if (a >= b) {
        left.emplace_back(from, to);
        continue;
      }
      parts.push_back({a, b, w.source, a - w.start, w.select});
      if (from < a) left.emplace_back(from, a);
      if (b < to) left.emplace_back(b, to);
    }
    open = std::move(left);
    base = w.self;
    // Every step of the walk looks at all open places, so that their number is bounded here and not after it.
    if (parts.size() + open.size() > kMaxParts) break;
    if (open.empty() || base->producer == nullptr || !match::used_once(base)) break;
    const auto earlier = as_write(*base->producer);
    if (!earlier || earlier->dim != top->dim) break;
    w = *earlier;
  }
  for (const auto& [from, to] : open) parts.push_back({from, to, base, from, false});
  if (parts.size() > kMaxParts) {
    context.declined(node, "it would be joined from " + std::to_string(parts.size()) + " parts");
    return false;
  }
  const bool chain = w.self != top->self || base != top->self;
  if (!chain && !beside_delegated(node)) return false;
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.start < b.start; });
  Lift lift(rewriter, node);
  std::vector<Value*> pieces;
  for (const Part& part : parts) {
    auto* source = const_cast<Value*>(part.source);
    if (part.select) {
      ir::Shape shape = node.result()->type.sizes;
      shape[static_cast<size_t>(top->dim)] = SymInt(1);
      pieces.push_back(lift.view(source, shape));
    } else {
      pieces.push_back(lift.slice(source, top->dim, SymInt(part.offset), SymInt(part.end - part.start)));
    }
  }
  return commit(lift, node, lift.cat(std::move(pieces), top->dim), context);
}

}  // namespace

Result<bool> lift_scatter(ir::Program& program, PassContext& context) {
  return rewrite_nodes(program, context, rewrite);
}

}  // namespace edgelift::passes
