// The text forms of sizes, and the ranges of symbols.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/numbers.h"
#include "import/sym.h"

namespace edgelift::importer {
namespace {

constexpr int64_t kMinusInfinity = std::numeric_limits<int64_t>::min();
constexpr int kMostDepth = 64;

// Both parsers stop at the first thing that they do not know.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}
  bool at_end() {
    space();
    return at_ == text_.size();
  }
  bool take(std::string_view token) {
    space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  char peek() {
    space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  std::string_view word() {
    space();
    const size_t first = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(first, at_ - first);
  }
  // Digits, a sign, a point or an exponent.
  std::string_view number() {
    space();
    const size_t first = at_;
    if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.')) ++at_;
    return text_.substr(first, at_ - first);
  }
  std::optional<std::string_view> quoted_text() {
    if (!take("'")) return std::nullopt;
    const size_t last = text_.find('\'', at_);
    if (last == text_.npos) return std::nullopt;
    const std::string_view out = text_.substr(at_, last - at_);
    at_ = last + 1;
    return out;
  }

 private:
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  void space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::string_view text_;
  size_t at_ = 0;
};

// Add(Symbol('s17', positive=True, integer=True), Integer(1))
class ExpressionParser {
 public:
  ExpressionParser(Symbols& symbols, std::string_view text) : symbols_(symbols), scan_(text) {}

  SymValue parse() {
    SymValue out = expression();
    if (!failed_ && scan_.at_end()) return out;
    return Opaque{SymKind::Int, fmt::format("its expression cannot be read")};
  }

 private:
  SymValue fail() {
    failed_ = true;
    return Opaque{};
  }

  SymValue expression() {
    if (failed_ || ++depth_ > kMostDepth) return fail();
    SymValue out = call();
    --depth_;
    return out;
  }

  SymValue call() {
    const std::string_view name = scan_.word();
    if (name.empty()) return fail();
    if (!scan_.take("(")) {
      if (name == "true" || name == "True") return true;
      if (name == "false" || name == "False") return false;
      return fail();
    }
    if (name == "Symbol") return symbol();
    if (name == "Integer") {
      const auto value = parse_int(scan_.number());
      return value && scan_.take(")") ? SymValue(SymInt(*value)) : fail();
    }
    if (name == "Float") return float_literal();
    if (name == "Rational") {
      const auto numerator = parse_int(scan_.number());
      if (!numerator || !scan_.take(",")) return fail();
      const auto denominator = parse_int(scan_.number());
      if (!denominator || *denominator <= 0 || !scan_.take(")")) return fail();
      return ir::SymRatio{SymInt(*numerator), SymInt(*denominator)};
    }
    std::vector<SymValue> args;
    if (!scan_.take(")")) {
      do {
        args.push_back(expression());
      } while (!failed_ && scan_.take(","));
      if (failed_ || !scan_.take(")")) return fail();
    }
    return sym_apply(name, args);
  }

  // Assumptions follow the name: positive=True, integer=True.
  SymValue symbol() {
    const auto name = scan_.quoted_text();
    if (!name || name->empty()) return fail();
    bool positive = false, integer = false;
    while (scan_.take(",")) {
      const std::string_view key = scan_.word();
      if (key.empty() || !scan_.take("=")) return fail();
      const bool value = scan_.word() == "True";
      if (key == "positive") positive = value;
      if (key == "integer") integer = value;
    }
    if (!scan_.take(")")) return fail();
    if (!integer)
      return Opaque{SymKind::Float, fmt::format("{} is known only when the program runs", archive::show(*name))};
    return SymInt::symbol(symbols_.symbol(*name, positive));
  }

  SymValue float_literal() {
    std::optional<double> value;
    if (const auto text = scan_.quoted_text()) value = parse_float(*text);
    while (scan_.take(",")) {
      scan_.word();
      if (!scan_.take("=") || scan_.word().empty()) return fail();
    }
    if (!value || !scan_.take(")")) return fail();
    return sym_literal(*value);
  }

  Symbols& symbols_;
  Scanner scan_;
  int depth_ = 0;
  bool failed_ = false;
};

// The printed form of range_constraints' keys: s17 + 1, 2*s39, (s0 + 1)//2.
class PrintedParser {
 public:
  explicit PrintedParser(std::string_view text) : scan_(text) {}
  std::optional<SymInt> parse() {
    SymValue out = sum();
    if (failed_ || !scan_.at_end() || !std::holds_alternative<SymInt>(out)) return std::nullopt;
    return std::get<SymInt>(out);
  }

 private:
  SymValue fail() {
    failed_ = true;
    return SymInt(0);
  }
  SymValue combine(std::string_view op, const SymValue& a, const SymValue& b) {
    const SymValue args[] = {a, b};
    SymValue out = sym_apply(op, args);
    return std::holds_alternative<SymInt>(out) ? out : fail();
  }
  SymValue sum() {
    if (++depth_ > kMostDepth) return fail();
    SymValue out = term();
    while (!failed_) {
      if (scan_.take("+"))
        out = combine("add", out, term());
      else if (scan_.take("-"))
        out = combine("sub", out, term());
      else
        break;
    }
    --depth_;
    return out;
  }
  SymValue term() {
    SymValue out = factor();
    while (!failed_) {
      if (scan_.take("**")) return fail();
      if (scan_.take("*"))
        out = combine("mul", out, factor());
      else if (scan_.take("//"))
        out = combine("floordiv", out, factor());
      else if (scan_.take("%"))
        out = combine("mod", out, factor());
      else
        break;
    }
    return out;
  }
  SymValue factor() {
    if (failed_) return fail();
    if (scan_.take("-")) return ++depth_ > kMostDepth ? fail() : combine("mul", SymValue(SymInt(-1)), factor());
    if (scan_.take("(")) {
      SymValue out = sum();
      return scan_.take(")") ? out : fail();
    }
    const std::string_view word = scan_.word();
    if (word.empty()) return fail();
    if (const auto number = parse_int(word)) return SymInt(*number);
    return SymInt::symbol(std::make_shared<const Symbol>(Symbol{std::string(word), kMinusInfinity, kUnbounded}));
  }
  Scanner scan_;
  int depth_ = 0;
  bool failed_ = false;
};

// coefficient * symbol + offset
struct Affine {
  std::string symbol;
  int64_t coefficient = 1, offset = 0;
};
std::optional<Affine> as_affine(const SymInt& value) {
  if (value.is_const()) return std::nullopt;
  Affine out;
  for (const SymTerm& term : value.expr()->terms) {
    if (term.atoms.empty()) {
      out.offset = term.coefficient;
    } else if (term.atoms.size() == 1 && term.atoms[0]->kind == SymAtom::Kind::Symbol && out.symbol.empty()) {
      out.symbol = term.atoms[0]->symbol->name;
      out.coefficient = term.coefficient;
    } else {
      return std::nullopt;
    }
  }
  return out.coefficient > 0 ? std::optional(out) : std::nullopt;
}

}  // namespace

Status Symbols::set_ranges(std::span<const RawRange> ranges) {
  for (const RawRange& raw : ranges) {
    // Torch writes its own infinity as null, and sometimes as a number near the end of 64 bits.
    constexpr int64_t kHuge = int64_t{1} << 62;
    const int64_t lo = raw.lo && *raw.lo > -kHuge ? *raw.lo : kMinusInfinity;
    const int64_t hi = raw.hi && *raw.hi < kHuge ? *raw.hi : kUnbounded;
    if (lo > hi) {
      return input_error(
          fmt::format("range constraint of {}: the minimum {} is above the maximum {}; export the model again",
                      archive::show(raw.key), lo, hi));
    }
    const auto printed = PrintedParser(raw.key).parse();
    const auto affine = printed ? as_affine(*printed) : std::nullopt;
    if (!affine || std::abs(affine->offset) >= kHuge) continue;  // follows from the ranges of its symbols
    const auto solve = [&](int64_t bound, bool up) {
      const auto shifted = checked_add(bound, -affine->offset);
      if (!shifted) return up ? kMinusInfinity : kUnbounded;
      const int64_t quotient = *shifted / affine->coefficient, rest = *shifted % affine->coefficient;
      if (up) return rest > 0 ? quotient + 1 : quotient;
      return rest < 0 ? quotient - 1 : quotient;
    };
    Range& range = ranges_.try_emplace(affine->symbol, Range{kMinusInfinity, kUnbounded}).first->second;
    if (lo != kMinusInfinity) range.lo = std::max(range.lo, solve(lo, true));
    if (hi != kUnbounded) range.hi = std::min(range.hi, solve(hi, false));
  }
  for (const auto& [name, range] : ranges_) {
    if (range.lo > range.hi) {
      return input_error(
          fmt::format("range constraints leave no value for {} (at least {}, at most {}); export the model again",
                      archive::show(name), range.lo, range.hi));
    }
  }
  return Ok{};
}

SymbolPtr Symbols::symbol(std::string_view name, bool positive) {
  if (const auto found = symbols_.find(name); found != symbols_.end()) return found->second;
  Symbol symbol{std::string(name), positive ? 1 : kMinusInfinity, kUnbounded};
  if (const auto range = ranges_.find(name); range != ranges_.end()) {
    symbol.lo = range->second.lo;
    symbol.hi = range->second.hi;
  }
  return symbols_.emplace(symbol.name, std::make_shared<const Symbol>(symbol)).first->second;
}

const SymValue& Symbols::parse(std::string_view expr) {
  if (const auto found = parsed_.find(expr); found != parsed_.end()) return found->second;
  return parsed_.emplace(expr, ExpressionParser(*this, expr).parse()).first->second;
}

}  // namespace edgelift::importer
