// Sizes that are numbers or expressions over symbols with ranges. Expressions are kept in a normal form (a sum of
// integer multiples of products of atoms), so that equal expressions that differ only in writing compare equal.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"

namespace edgelift {

inline constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

// A symbol of a program: s17 (backed by an input's size) or u0 (known only when the program runs). lo <= value <= hi.
struct Symbol {
  std::string name;
  int64_t lo = 0;
  int64_t hi = kUnbounded;
};
using SymbolPtr = std::shared_ptr<const Symbol>;

struct SymExpr;

class SymInt {
 public:
  SymInt(int64_t value = 0) : value_(value) {}  // NOLINT: a number is a size
  static SymInt symbol(SymbolPtr symbol);

  bool is_const() const { return expr_ == nullptr; }
  // The number; only for constants (a Bug otherwise).
  int64_t value() const {
    EL_CHECK(is_const(), "symbolic size used as a number: " + str());
    return value_;
  }
  std::optional<int64_t> maybe_value() const { return is_const() ? std::optional(value_) : std::nullopt; }
  // Bounds over the ranges of the symbols; upper() is kUnbounded when there is none.
  int64_t lower() const;
  int64_t upper() const;
  // All symbols, each once, in order of name.
  std::vector<SymbolPtr> symbols() const;
  // The value for given symbol values; `lookup` returns nullopt for an unknown symbol.
  template <class F>
  std::optional<int64_t> evaluate(F&& lookup) const;
  // 12, s0, 2*s0+1, s0*s1, floordiv(s0, 2), mod(s0, 3), max(s0, 1), min(…)
  std::string str() const;
  const std::shared_ptr<const SymExpr>& expr() const { return expr_; }

  friend bool operator==(const SymInt& a, const SymInt& b);
  friend SymInt operator+(const SymInt& a, const SymInt& b);
  friend SymInt operator-(const SymInt& a, const SymInt& b);
  friend SymInt operator*(const SymInt& a, const SymInt& b);
  static SymInt floordiv(const SymInt& a, const SymInt& b);
  static SymInt mod(const SymInt& a, const SymInt& b);  // Python's sign rule
  static SymInt max(const SymInt& a, const SymInt& b);
  static SymInt min(const SymInt& a, const SymInt& b);
  static SymInt ceildiv(const SymInt& a, const SymInt& b) { return floordiv(a + b - SymInt(1), b); }

 private:
  friend struct SymExpr;
  int64_t value_ = 0;
  std::shared_ptr<const SymExpr> expr_;
};

// A product of atoms with a coefficient; atoms sorted by text.
struct SymAtom;
using SymAtomPtr = std::shared_ptr<const SymAtom>;
struct SymTerm {
  int64_t coefficient = 1;
  std::vector<SymAtomPtr> atoms;  // empty: the constant term
};
struct SymExpr {
  std::vector<SymTerm> terms;  // sorted by text of their atoms, no zero coefficient, no duplicates
  std::string text;            // canonical; equality of expressions is equality of texts
  static SymInt make(std::vector<SymTerm> terms);
};
struct SymAtom {
  enum class Kind : uint8_t { Symbol, FloorDiv, Mod, Max, Min } kind = Kind::Symbol;
  SymbolPtr symbol;  // Kind::Symbol
  SymInt a, b;       // otherwise
  std::string text;
};

// True if a is known to equal b, to be <= b, for every value of the symbols.
bool known_equal(const SymInt& a, const SymInt& b);
bool known_le(const SymInt& a, const SymInt& b);

SymInt product(std::span<const SymInt> sizes);

namespace detail {
std::optional<int64_t> evaluate_atom(const SymAtom& atom, const void* context,
                                     std::optional<int64_t> (*lookup)(const void*, const Symbol&));
std::optional<int64_t> evaluate_expr(const SymExpr& expr, const void* context,
                                     std::optional<int64_t> (*lookup)(const void*, const Symbol&));
}  // namespace detail

template <class F>
std::optional<int64_t> SymInt::evaluate(F&& lookup) const {
  if (is_const()) return value_;
  const auto call = [](const void* context, const Symbol& symbol) -> std::optional<int64_t> {
    return (*static_cast<const std::remove_reference_t<F>*>(context))(symbol);
  };
  return detail::evaluate_expr(*expr_, &lookup, call);
}

}  // namespace edgelift
