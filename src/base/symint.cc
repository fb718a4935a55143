#include "base/symint.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/numbers.h"

namespace edgelift {

namespace {

// Saturating arithmetic on bounds: kUnbounded stands for +infinity, INT64_MIN for -infinity.
constexpr int64_t kMinusInf = std::numeric_limits<int64_t>::min();

bool infinite(int64_t v) { return v == kUnbounded || v == kMinusInf; }

int64_t bound_add(int64_t a, int64_t b) {
  if (infinite(a)) return a;
  if (infinite(b)) return b;
  const auto sum = checked_add(a, b);
  if (sum) return *sum;
  return a > 0 ? kUnbounded : kMinusInf;
}

int64_t bound_mul(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  const bool negative = (a < 0) != (b < 0);
  if (!infinite(a) && !infinite(b)) {
    const auto out = checked_mul(a, b);
    if (out) return *out;
  }
  return negative ? kMinusInf : kUnbounded;
}

struct Range {
  int64_t lo, hi;
};

Range mul(Range a, Range b) {
  const int64_t c[4] = {bound_mul(a.lo, b.lo), bound_mul(a.lo, b.hi), bound_mul(a.hi, b.lo), bound_mul(a.hi, b.hi)};
  return {*std::min_element(c, c + 4), *std::max_element(c, c + 4)};
}

int64_t floor_div(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

Range range_of(const SymInt& value);

Range range_of(const SymAtom& atom) {
  switch (atom.kind) {
    case SymAtom::Kind::Symbol:
      return {atom.symbol->lo, atom.symbol->hi};
    case SymAtom::Kind::FloorDiv: {
      const Range a = range_of(atom.a), b = range_of(atom.b);
      if (b.lo < 1) return {kMinusInf, kUnbounded};
      const auto div = [](int64_t x, int64_t y) {
        return infinite(x) ? x : infinite(y) ? (x < 0 ? -1 : 0) : floor_div(x, y);
      };
      const int64_t c[4] = {div(a.lo, b.lo), div(a.lo, b.hi), div(a.hi, b.lo), div(a.hi, b.hi)};
      return {*std::min_element(c, c + 4), *std::max_element(c, c + 4)};
    }
    case SymAtom::Kind::Mod: {
      const Range a = range_of(atom.a), b = range_of(atom.b);
      if (b.lo < 1) return {kMinusInf, kUnbounded};
      if (a.lo >= 0 && a.hi < b.lo) return a;
      return {0, infinite(b.hi) ? kUnbounded : b.hi - 1};
    }
    case SymAtom::Kind::Max: {
      const Range a = range_of(atom.a), b = range_of(atom.b);
      return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
    case SymAtom::Kind::Min: {
      const Range a = range_of(atom.a), b = range_of(atom.b);
      return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)};
    }
  }
  return {kMinusInf, kUnbounded};
}

Range range_of(const SymInt& value) {
  if (value.is_const()) return {value.value(), value.value()};
  Range sum{0, 0};
  for (const SymTerm& term : value.expr()->terms) {
    Range product{term.coefficient, term.coefficient};
    for (const SymAtomPtr& atom : term.atoms) product = mul(product, range_of(*atom));
    sum = {bound_add(sum.lo, product.lo), bound_add(sum.hi, product.hi)};
  }
  return sum;
}

std::string term_key(const SymTerm& term) {
  std::string key;
  for (const SymAtomPtr& atom : term.atoms) {
    if (!key.empty()) key += '*';
    key += atom->text;
  }
  return key;
}

SymInt from_atom(SymAtom atom) {
  SymTerm term;
  term.atoms.push_back(std::make_shared<const SymAtom>(std::move(atom)));
  return SymExpr::make({std::move(term)});
}

std::vector<SymTerm> terms_of(const SymInt& value) {
  if (!value.is_const()) return value.expr()->terms;
  if (value.value() == 0) return {};
  SymTerm term;
  term.coefficient = value.value();
  return {std::move(term)};
}

int64_t checked(std::optional<int64_t> value) {
  EL_CHECK(value.has_value(), "a size expression overflows 64 bits");
  return *value;
}

// If every coefficient of a is divisible by d: a / d.
std::optional<SymInt> exact_div(const SymInt& a, int64_t d) {
  std::vector<SymTerm> terms = terms_of(a);
  for (SymTerm& term : terms) {
    if (term.coefficient % d != 0) return std::nullopt;
    term.coefficient /= d;
  }
  return SymExpr::make(std::move(terms));
}

void collect(const SymInt& value, std::map<std::string, SymbolPtr>& out) {
  if (value.is_const()) return;
  for (const SymTerm& term : value.expr()->terms) {
    for (const SymAtomPtr& atom : term.atoms) {
      if (atom->kind == SymAtom::Kind::Symbol) {
        out.emplace(atom->symbol->name, atom->symbol);
      } else {
        collect(atom->a, out);
        collect(atom->b, out);
      }
    }
  }
}

SymInt function(SymAtom::Kind kind, const char* name, const SymInt& a, const SymInt& b) {
  SymAtom atom;
  atom.kind = kind;
  atom.a = a;
  atom.b = b;
  atom.text = std::string(name) + "(" + a.str() + ", " + b.str() + ")";
  return from_atom(std::move(atom));
}

}  // namespace

SymInt SymExpr::make(std::vector<SymTerm> terms) {
  std::map<std::string, SymTerm> sum;
  for (SymTerm& term : terms) {
    std::sort(term.atoms.begin(), term.atoms.end(), [](const auto& x, const auto& y) { return x->text < y->text; });
    std::string key = term_key(term);
    const auto [at, added] = sum.try_emplace(std::move(key), term);
    if (!added) at->second.coefficient = checked(checked_add(at->second.coefficient, term.coefficient));
  }
  SymExpr expr;
  for (auto& [key, term] : sum)
    if (term.coefficient != 0) expr.terms.push_back(std::move(term));
  if (expr.terms.empty()) return SymInt(0);
  if (expr.terms.size() == 1 && expr.terms[0].atoms.empty()) return SymInt(expr.terms[0].coefficient);
  // The constant term (key "") sorts first; it prints last.
  std::string text;
  const auto append = [&](const SymTerm& term) {
    const std::string key = term_key(term);
    const int64_t c = term.coefficient;
    if (!text.empty() && c >= 0) text += '+';
    if (key.empty()) {
      text += std::to_string(c);
    } else if (c == 1) {
      text += key;
    } else if (c == -1) {
      text += "-" + key;
    } else {
      text += std::to_string(c) + "*" + key;
    }
  };
  for (const SymTerm& term : expr.terms)
    if (!term.atoms.empty()) append(term);
  for (const SymTerm& term : expr.terms)
    if (term.atoms.empty()) append(term);
  expr.text = std::move(text);
  SymInt out;
  out.expr_ = std::make_shared<const SymExpr>(std::move(expr));
  return out;
}

SymInt SymInt::symbol(SymbolPtr symbol) {
  if (symbol->lo == symbol->hi) return SymInt(symbol->lo);
  SymAtom atom;
  atom.text = symbol->name;
  atom.symbol = std::move(symbol);
  return from_atom(std::move(atom));
}

int64_t SymInt::lower() const { return is_const() ? value_ : range_of(*this).lo; }
int64_t SymInt::upper() const { return is_const() ? value_ : range_of(*this).hi; }

std::vector<SymbolPtr> SymInt::symbols() const {
  std::map<std::string, SymbolPtr> found;
  collect(*this, found);
  std::vector<SymbolPtr> out;
  for (auto& [name, symbol] : found) out.push_back(std::move(symbol));
  return out;
}

std::string SymInt::str() const { return is_const() ? std::to_string(value_) : expr_->text; }

bool operator==(const SymInt& a, const SymInt& b) {
  if (a.is_const() != b.is_const()) return false;
  if (a.is_const()) return a.value_ == b.value_;
  return a.expr_ == b.expr_ || a.expr_->text == b.expr_->text;
}

SymInt operator+(const SymInt& a, const SymInt& b) {
  if (a.is_const() && b.is_const()) return SymInt(checked(checked_add(a.value_, b.value_)));
  std::vector<SymTerm> terms = terms_of(a);
  for (SymTerm& term : terms_of(b)) terms.push_back(std::move(term));
  return SymExpr::make(std::move(terms));
}

SymInt operator-(const SymInt& a, const SymInt& b) { return a + SymInt(-1) * b; }

SymInt operator*(const SymInt& a, const SymInt& b) {
  if (a.is_const() && b.is_const()) return SymInt(checked(checked_mul(a.value_, b.value_)));
  std::vector<SymTerm> terms;
  for (const SymTerm& x : terms_of(a)) {
    for (const SymTerm& y : terms_of(b)) {
      SymTerm term;
      term.coefficient = checked(checked_mul(x.coefficient, y.coefficient));
      term.atoms = x.atoms;
      term.atoms.insert(term.atoms.end(), y.atoms.begin(), y.atoms.end());
      terms.push_back(std::move(term));
    }
  }
  return SymExpr::make(std::move(terms));
}

SymInt SymInt::floordiv(const SymInt& a, const SymInt& b) {
  if (b == SymInt(1)) return a;
  if (b.is_const() && b.value() != 0) {
    const int64_t d = b.value();
    if (a.is_const()) return SymInt(floor_div(a.value(), d));
    if (const auto exact = exact_div(a, d)) return *exact;
    if (d > 0) {
      // floor((d*x + r) / d) = x + floor(r / d): split off the terms that divide.
      std::vector<SymTerm> whole, rest;
      for (SymTerm& term : terms_of(a)) {
        if (term.atoms.empty()) {
          SymTerm quotient = term, remainder = term;
          quotient.coefficient = floor_div(term.coefficient, d);
          remainder.coefficient = term.coefficient - quotient.coefficient * d;
          whole.push_back(std::move(quotient));
          rest.push_back(std::move(remainder));
        } else if (term.coefficient % d == 0) {
          term.coefficient /= d;
          whole.push_back(std::move(term));
        } else {
          rest.push_back(std::move(term));
        }
      }
      const SymInt remainder = SymExpr::make(rest);
      const SymInt quotient = SymExpr::make(whole);
      const Range r = range_of(remainder);
      if (r.lo >= 0 && r.hi < d) return quotient;
      // floor(floor(x / m) / d) = floor(x / (m * d)) for positive m, d.
      if (!remainder.is_const() && remainder.expr()->terms.size() == 1) {
        const SymTerm& only = remainder.expr()->terms[0];
        if (only.coefficient == 1 && only.atoms.size() == 1 && only.atoms[0]->kind == SymAtom::Kind::FloorDiv &&
            only.atoms[0]->b.is_const() && only.atoms[0]->b.value() > 0) {
          const SymInt inner = SymInt(only.atoms[0]->b.value()) * SymInt(d);
          return quotient + function(SymAtom::Kind::FloorDiv, "floordiv", only.atoms[0]->a, inner);
        }
      }
      if (remainder.is_const()) return quotient + SymInt(floor_div(remainder.value(), d));
      return quotient + function(SymAtom::Kind::FloorDiv, "floordiv", remainder, b);
    }
  }
  if (a == SymInt(0)) return SymInt(0);
  // Exact cancellation of a symbolic divisor that divides every term: (s*t*2) / s.
  if (!b.is_const() && b.expr()->terms.size() == 1 && b.lower() > 0) {
    const SymTerm& divisor = b.expr()->terms[0];
    std::vector<SymTerm> out;
    bool divides = true;
    for (SymTerm& term : terms_of(a)) {
      SymTerm quotient = term;
      for (const SymAtomPtr& atom : divisor.atoms) {
        const auto at = std::find_if(quotient.atoms.begin(), quotient.atoms.end(),
                                     [&](const SymAtomPtr& x) { return x->text == atom->text; });
        if (at == quotient.atoms.end()) {
          divides = false;
          break;
        }
        quotient.atoms.erase(at);
      }
      if (!divides || quotient.coefficient % divisor.coefficient != 0) {
        divides = false;
        break;
      }
      quotient.coefficient /= divisor.coefficient;
      out.push_back(std::move(quotient));
    }
    if (divides) return SymExpr::make(std::move(out));
  }
  if (a == b && a.lower() > 0) return SymInt(1);
  return function(SymAtom::Kind::FloorDiv, "floordiv", a, b);
}

SymInt SymInt::mod(const SymInt& a, const SymInt& b) {
  if (b.is_const() && b.value() != 0) {
    if (a.is_const()) return SymInt(a.value() - floor_div(a.value(), b.value()) * b.value());
    if (exact_div(a, b.value())) return SymInt(0);
    const Range r = range_of(a);
    if (b.value() > 0 && r.lo >= 0 && r.hi < b.value()) return a;
  }
  return function(SymAtom::Kind::Mod, "mod", a, b);
}

SymInt SymInt::max(const SymInt& a, const SymInt& b) {
  if (known_le(a, b)) return b;
  if (known_le(b, a)) return a;
  return a.str() < b.str() ? function(SymAtom::Kind::Max, "max", a, b) : function(SymAtom::Kind::Max, "max", b, a);
}

SymInt SymInt::min(const SymInt& a, const SymInt& b) {
  if (known_le(a, b)) return a;
  if (known_le(b, a)) return b;
  return a.str() < b.str() ? function(SymAtom::Kind::Min, "min", a, b) : function(SymAtom::Kind::Min, "min", b, a);
}

namespace {
// a - b, or nothing where a coefficient leaves 64 bits: sizes of a hostile file may lie anywhere, and a question about
// them has the answer "not known".
std::optional<SymInt> difference(const SymInt& a, const SymInt& b) {
  try {
    return a - b;
  } catch (const Bug&) {
    return std::nullopt;
  }
}
}  // namespace

bool known_equal(const SymInt& a, const SymInt& b) {
  if (a == b) return true;
  if (a.is_const() && b.is_const()) return false;
  const auto d = difference(a, b);
  return d && *d == SymInt(0);
}

bool known_le(const SymInt& a, const SymInt& b) {
  if (a.is_const() && b.is_const()) return a.value() <= b.value();
  if (const auto d = difference(b, a); d && range_of(*d).lo >= 0) return true;
  const int64_t hi = a.upper(), lo = b.lower();
  return hi != kUnbounded && hi <= lo;
}

SymInt product(std::span<const SymInt> sizes) {
  SymInt out(1);
  for (const SymInt& size : sizes) out = out * size;
  return out;
}

namespace detail {

namespace {
std::optional<int64_t> evaluate_int(const SymInt& value, const void* context,
                                    std::optional<int64_t> (*lookup)(const void*, const Symbol&)) {
  if (value.is_const()) return value.value();
  return evaluate_expr(*value.expr(), context, lookup);
}
}  // namespace

std::optional<int64_t> evaluate_atom(const SymAtom& atom, const void* context,
                                     std::optional<int64_t> (*lookup)(const void*, const Symbol&)) {
  if (atom.kind == SymAtom::Kind::Symbol) return lookup(context, *atom.symbol);
  const auto a = evaluate_int(atom.a, context, lookup), b = evaluate_int(atom.b, context, lookup);
  if (!a || !b) return std::nullopt;
  switch (atom.kind) {
    case SymAtom::Kind::FloorDiv:
      return *b == 0 ? std::nullopt : std::optional(floor_div(*a, *b));
    case SymAtom::Kind::Mod:
      return *b == 0 ? std::nullopt : std::optional(*a - floor_div(*a, *b) * *b);
    case SymAtom::Kind::Max:
      return std::max(*a, *b);
    case SymAtom::Kind::Min:
      return std::min(*a, *b);
    case SymAtom::Kind::Symbol:
      break;
  }
  return std::nullopt;
}

std::optional<int64_t> evaluate_expr(const SymExpr& expr, const void* context,
                                     std::optional<int64_t> (*lookup)(const void*, const Symbol&)) {
  int64_t sum = 0;
  for (const SymTerm& term : expr.terms) {
    std::optional<int64_t> product = term.coefficient;
    for (const SymAtomPtr& atom : term.atoms) {
      const auto value = evaluate_atom(*atom, context, lookup);
      if (!value) return std::nullopt;
      product = checked_mul(*product, *value);
      if (!product) return std::nullopt;
    }
    const auto next = checked_add(sum, *product);
    if (!next) return std::nullopt;
    sum = *next;
  }
  return sum;
}

}  // namespace detail

}  // namespace edgelift
