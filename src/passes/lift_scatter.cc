// Writes into a slice or one place of a dim (select_scatter, slice_scatter): what lies before, the written part, and
// what lies after, joined. A chain of writes along one dim (a loop that fills its result) is joined once. Exact.
#include <algorithm>

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

bool rewrite(ir::Node& node, ir::Rewriter& rewriter, PassContext& context) {
  const auto top = as_write(node);
  if (!top || !is_f32_or_f16(node.result())) return false;
  // The last write of a chain takes the others with it.
  if (node.result()->users.size() == 1 && !rewriter.graph().is_output(node.result())) {
    const ir::Node* user = node.result()->users[0];
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
    if (open.empty() || base->producer == nullptr || base->users.size() != 1 || rewriter.graph().is_output(base)) break;
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
