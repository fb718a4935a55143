// Joins the families into one immutable table and answers the rewriter's and parser's questions from it.
#include <memory>
#include <unordered_map>

#include "base/check.h"
#include "ops/families.h"
#include "ops/kernel_text.h"

namespace edgelift::ops {
namespace {

class Table final : public ir::OpTable {
 public:
  Table() {
    const std::span<const OpDef> families[] = {
#define EDGELIFT_FAMILY_ROWS(NAME) NAME##_ops(),
        EDGELIFT_OPS_FAMILIES(EDGELIFT_FAMILY_ROWS)
#undef EDGELIFT_FAMILY_ROWS
    };
    size_t count = 0;
    for (const auto& family : families) count += family.size();
    owned_.reserve(count);
    records_.reserve(count);
    by_name_.reserve(2 * count);
    for (const auto& family : families)
      for (const OpDef& def : family) add(def);
  }

  const ir::Op* find(std::string_view name) const override { return find_record(name); }

  const OpRecord* find_record(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second;
  }

  Result<std::vector<ir::Type>> infer(const ir::Op& op, const std::vector<ir::Arg>& args) const override {
    const OpRecord& entry = record(op);
    EL_CHECK(args.size() == entry.schema.args.size(), "arguments of " + entry.full_name() + " are not filled in");
    return entry.infer(Call(op, args));
  }

  std::span<const OpRecord* const> records() const { return records_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  void add(const OpDef& def) {
    auto entry = std::make_unique<OpRecord>(parse_schema(def.schema));
    const std::string full = entry->full_name();
    EL_CHECK(def.infer != nullptr, full + " has no shape rule");
    entry->infer = def.infer;
    entry->lower = def.lower;
    entry->traits = def.traits;
    entry->note = def.note;
    entry->kernel_check = def.kernel_check;
    entry->upstream = upstream_rule(full);
    set_kernel(*entry, def.kernel);
    EL_CHECK(by_name_.emplace(full, entry.get()).second, full + " stands twice in the tables");
    const std::string text = entry->text_name();
    EL_CHECK(text == full || by_name_.emplace(text, entry.get()).second, text + " names two operators");
    records_.push_back(entry.get());
    owned_.push_back(std::move(entry));
  }

  std::vector<std::unique_ptr<OpRecord>> owned_;
  std::vector<const OpRecord*> records_;
  std::unordered_map<std::string, const OpRecord*, Hash, std::equal_to<>> by_name_;
};

const Table& instance() {
  static const Table table;
  return table;
}

}  // namespace

const ir::OpTable& table() { return instance(); }
const OpRecord* find(std::string_view full_or_text_name) { return instance().find_record(full_or_text_name); }
std::span<const OpRecord* const> all_records() { return instance().records(); }

}  // namespace edgelift::ops
