// Numbers that depend on sizes: the archive's expressions (pt2-format 4) and the nodes that compute with them.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>

#include "base/result.h"
#include "import/exported.h"
#include "ir/graph.h"

namespace edgelift::importer {

// Something that the program's size expressions cannot hold. It does no harm until a node uses it.
struct Opaque {
  SymKind kind = SymKind::Int;
  std::string why;  // "it is FloatPow of sizes"
};

// Value*: a float or bool that a node reads from a tensor (item).
using SymValue = std::variant<SymInt, ir::SymRatio, bool, ir::Value*, Opaque>;

// The result of `_operator.NAME`, `torch.sym_NAME`, `math.NAME` or of the expression function of the same meaning
// (FloorDiv, Max …). Total: what cannot be expressed, or overflows, is Opaque.
SymValue sym_apply(std::string_view name, std::span<const SymValue> args);

// A literal: an exact ratio of small numbers, or Opaque.
SymValue sym_literal(double value);

// A SymRatio whose value is known to be whole, or a SymInt, as SymInt.
const SymInt* as_size(SymValue& value);

class Symbols {
 public:
  // Ranges of the symbols, from range_constraints. Keys that are expressions ("s17 + 1") tighten their symbol's range.
  Status set_ranges(std::span<const RawRange> ranges);

  // Parses an expression's text; equal texts are parsed once.
  const SymValue& parse(std::string_view expr);
  SymValue value(const RawSymInt& raw) { return raw.is_expr() ? parse(raw.expr) : SymValue(SymInt(raw.value)); }
  // The symbol of that name; made at first mention.
  SymbolPtr symbol(std::string_view name, bool positive);

 private:
  struct Range {
    int64_t lo, hi;
  };
  std::map<std::string, Range, std::less<>> ranges_;
  std::map<std::string, SymbolPtr, std::less<>> symbols_;
  std::unordered_map<std::string_view, SymValue> parsed_;
};

}  // namespace edgelift::importer
