#include "edge/table.h"

#include <unordered_map>

#include "base/check.h"
#include "ops/record.h"

namespace edgelift::edge {
namespace {

struct Table {
  std::vector<Entry> rows;
  std::unordered_map<const ir::Op*, const Entry*> by_op;

  Table() {
    for (const auto& family :
         {view_entries(),      alias_entries(),     normal_entries(),      activation_entries(),  pointwise_entries(),
          linear_entries(),    einsum_entries(),    convolution_entries(), norm_entries(),        attention_entries(),
          recurrent_entries(), pool_entries(),      resize_entries(),      pad_entries(),         reduce_entries(),
          sort_entries(),      index_entries(),     arrange_entries(),     create_entries(),      loss_entries(),
          fft_entries(),       quantized_entries(), training_entries(),    kernel_limit_entries()})
      rows.insert(rows.end(), family.begin(), family.end());
    // Rows of operators that the operator table does not have cannot be met: import refuses them.
    for (const Entry& row : rows)
      if (const ir::Op* op = ops::find(row.op); op != nullptr)
        EL_CHECK(by_op.emplace(op, &row).second, "two decompositions of " + std::string(row.op));
  }
};

const Table& instance() {
  static const Table table;
  return table;
}

// Many bad nodes make one error of at most this many sentences.
constexpr size_t kMaxErrors = 20;

}  // namespace

const Entry* find_entry(const ir::Op* op) {
  const auto at = instance().by_op.find(op);
  return at == instance().by_op.end() ? nullptr : at->second;
}

std::span<const Entry> all_entries() { return instance().rows; }

Result<bool> apply(ir::Program& program, const ir::OpTable& ops, const EdgeOptions& options,
                   const std::function<const Entry*(const ir::Node&)>& pick) {
  bool changed = false;
  std::vector<Error> errors;
  for (const auto& method : program.methods) {
    ir::Rewriter rewriter(program, *method, ops);
    for (Node* node = method->first(); node != nullptr;) {
      const Entry* entry = pick(*node);
      if (entry == nullptr) {
        node = node->next;
        continue;
      }
      Node* before = node->prev;
      Node* after = node->next;
      rewriter.set_insert_point(node);
      Builder builder(*node, rewriter, options);
      auto done = entry->fn(builder);
      if (!done.ok()) {
        errors.push_back(done.take_error());
        node = after;
      } else if (!*done) {
        node = after;
      } else {
        changed = true;
        node = before == nullptr ? method->first() : before->next;  // what the entry made is looked at as well
      }
    }
  }
  if (errors.empty()) return changed;
  std::string message;
  for (size_t i = 0; i < errors.size() && i < kMaxErrors; ++i) message += (i == 0 ? "" : "\n") + errors[i].message;
  if (errors.size() > kMaxErrors) message += "\n… and " + std::to_string(errors.size() - kMaxErrors) + " more";
  return Error{errors.front().kind, std::move(message)};
}

}  // namespace edgelift::edge
