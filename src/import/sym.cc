#include "import/sym.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/numbers.h"

namespace edgelift::importer {
namespace {

constexpr int64_t kMinusInfinity = std::numeric_limits<int64_t>::min();
// Products of sums are written out, so their number of terms can grow fast; no exported model comes near this.
constexpr size_t kMostTerms = 64;
constexpr int64_t kMostPower = 16;
constexpr int kMostDepth = 64;

using Args = std::span<const SymValue>;

bool too_big(const SymInt& value) { return !value.is_const() && value.expr()->terms.size() > kMostTerms; }

// Integers and ratios as ratios.
std::optional<ir::SymRatio> ratio(const SymValue& value) {
  if (const auto* size = std::get_if<SymInt>(&value)) return ir::SymRatio{*size, SymInt(1)};
  if (const auto* r = std::get_if<ir::SymRatio>(&value)) return *r;
  if (const auto* flag = std::get_if<bool>(&value)) return ir::SymRatio{SymInt(*flag ? 1 : 0), SymInt(1)};
  return std::nullopt;
}

bool is_whole(const SymValue& value) { return std::holds_alternative<SymInt>(value) || std::holds_alternative<bool>(value); }

SymKind kind_of(const SymValue& value) {
  if (const auto* opaque = std::get_if<Opaque>(&value)) return opaque->kind;
  if (std::holds_alternative<bool>(value)) return SymKind::Bool;
  if (std::holds_alternative<SymInt>(value)) return SymKind::Int;
  if (const auto* item = std::get_if<ir::Value*>(&value)) {
    return (*item)->type.kind == ir::Type::Kind::Bool ? SymKind::Bool : SymKind::Float;
  }
  return SymKind::Float;
}

enum class Op : uint8_t {
  Add, Sub, Mul, Neg, Pos, Pow, FloorDiv, CeilDiv, Mod, TrueDiv, Max, Min, ToFloat, Trunc, Floor, Ceil, LShift, RShift,
  ModularIndexing, Eq, Ne, Lt, Le, Gt, Ge, And, Or, Not, Ite, None,
};

struct Named {
  std::string_view name;
  Op op;
};
// The archive's three spellings: Python's operator module, torch.sym_*, and sympy with torch's own functions.
constexpr Named kNames[] = {
    {"add", Op::Add}, {"Add", Op::Add}, {"sub", Op::Sub}, {"mul", Op::Mul}, {"Mul", Op::Mul}, {"neg", Op::Neg},
    {"pos", Op::Pos}, {"pow", Op::Pow}, {"Pow", Op::Pow}, {"PowByNatural", Op::Pow}, {"floordiv", Op::FloorDiv},
    {"FloorDiv", Op::FloorDiv}, {"CleanDiv", Op::FloorDiv}, {"CeilDiv", Op::CeilDiv}, {"mod", Op::Mod}, {"Mod", Op::Mod},
    {"PythonMod", Op::Mod}, {"truediv", Op::TrueDiv}, {"IntTrueDiv", Op::TrueDiv}, {"FloatTrueDiv", Op::TrueDiv},
    {"sym_max", Op::Max}, {"Max", Op::Max}, {"sym_min", Op::Min}, {"Min", Op::Min}, {"sym_float", Op::ToFloat},
    {"ToFloat", Op::ToFloat}, {"sym_int", Op::Trunc}, {"trunc", Op::Trunc}, {"TruncToInt", Op::Trunc},
    {"floor", Op::Floor}, {"FloorToInt", Op::Floor}, {"ceil", Op::Ceil}, {"CeilToInt", Op::Ceil},
    {"lshift", Op::LShift}, {"LShift", Op::LShift}, {"rshift", Op::RShift}, {"RShift", Op::RShift},
    {"ModularIndexing", Op::ModularIndexing}, {"eq", Op::Eq}, {"Equality", Op::Eq}, {"ne", Op::Ne},
    {"Unequality", Op::Ne}, {"lt", Op::Lt}, {"StrictLessThan", Op::Lt}, {"le", Op::Le}, {"LessThan", Op::Le},
    {"gt", Op::Gt}, {"StrictGreaterThan", Op::Gt}, {"ge", Op::Ge}, {"GreaterThan", Op::Ge}, {"and_", Op::And},
    {"And", Op::And}, {"or_", Op::Or}, {"Or", Op::Or}, {"sym_not", Op::Not}, {"not_", Op::Not}, {"Not", Op::Not},
    {"sym_ite", Op::Ite},
};

Op op_of(std::string_view name) {
  const auto* found = std::find_if(std::begin(kNames), std::end(kNames), [&](const Named& n) { return n.name == name; });
  return found == std::end(kNames) ? Op::None : found->op;
}

// What the result would be, for a use to be refused with the right word.
SymKind result_kind(Op op, Args args) {
  if (op >= Op::Eq && op <= Op::Not) return SymKind::Bool;
  if (op == Op::TrueDiv || op == Op::ToFloat) return SymKind::Float;
  if (op == Op::None || op == Op::Trunc || op == Op::Floor || op == Op::Ceil) return SymKind::Int;
  for (const SymValue& arg : args)
    if (kind_of(arg) == SymKind::Float) return SymKind::Float;
  return SymKind::Int;
}

std::optional<SymValue> make_ratio(SymInt numerator, SymInt denominator) {
  if (denominator == SymInt(0) || too_big(numerator) || too_big(denominator)) return std::nullopt;
  return ir::SymRatio{std::move(numerator), std::move(denominator)};
}

// lhs OP rhs for all values of the symbols; nullopt if it depends on them.
std::optional<bool> compare(Op op, const SymInt& a, const SymInt& b) {
  switch (op) {
    case Op::Le: return known_le(a, b) ? std::optional(true) : known_le(b + SymInt(1), a) ? std::optional(false) : std::nullopt;
    case Op::Ge: return compare(Op::Le, b, a);
    case Op::Lt: return compare(Op::Le, a + SymInt(1), b);
    case Op::Gt: return compare(Op::Le, b + SymInt(1), a);
    case Op::Eq:
      if (known_equal(a, b)) return true;
      return known_le(a + SymInt(1), b) || known_le(b + SymInt(1), a) ? std::optional(false) : std::nullopt;
    case Op::Ne: {
      const auto equal = compare(Op::Eq, a, b);
      return equal ? std::optional(!*equal) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

std::optional<SymValue> whole_arithmetic(Op op, const SymInt& a, const SymInt& b) {
  switch (op) {
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::Max: return SymInt::max(a, b);
    case Op::Min: return SymInt::min(a, b);
    case Op::FloorDiv: return b == SymInt(0) ? std::nullopt : std::optional<SymValue>(SymInt::floordiv(a, b));
    case Op::CeilDiv: return b == SymInt(0) ? std::nullopt : std::optional<SymValue>(SymInt::ceildiv(a, b));
    case Op::Mod: return b == SymInt(0) ? std::nullopt : std::optional<SymValue>(SymInt::mod(a, b));
    case Op::LShift:
    case Op::RShift: {
      if (!b.is_const() || b.value() < 0 || b.value() > 62) return std::nullopt;
      const SymInt power(int64_t{1} << b.value());
      return op == Op::LShift ? a * power : SymInt::floordiv(a, power);
    }
    default: return std::nullopt;
  }
}

std::optional<SymValue> power(const SymValue& base, const SymValue& exponent) {
  const auto* e = std::get_if<SymInt>(&exponent);
  if (e == nullptr || !e->is_const()) return std::nullopt;
  const auto r = ratio(base);
  const int64_t count = e->value();
  if (!r || count < -kMostPower || count > kMostPower) return std::nullopt;
  SymInt numerator(1), denominator(1);
  for (int64_t i = 0; i < std::abs(count); ++i) {
    numerator = numerator * r->numerator;
    denominator = denominator * r->denominator;
    if (too_big(numerator) || too_big(denominator)) return std::nullopt;
  }
  if (count < 0) return make_ratio(std::move(denominator), std::move(numerator));
  if (is_whole(base)) return numerator;
  return make_ratio(std::move(numerator), std::move(denominator));
}

// Sums and products of ratios round once where Python rounds at every step: at most an ulp of double apart.
std::optional<SymValue> ratio_arithmetic(Op op, const ir::SymRatio& a, const ir::SymRatio& b) {
  switch (op) {
    case Op::Add:
    case Op::Sub: {
      const SymInt sign(op == Op::Add ? 1 : -1);
      if (a.denominator == b.denominator) return make_ratio(a.numerator + sign * b.numerator, a.denominator);
      return make_ratio(a.numerator * b.denominator + sign * b.numerator * a.denominator, a.denominator * b.denominator);
    }
    case Op::Mul: return make_ratio(a.numerator * b.numerator, a.denominator * b.denominator);
    case Op::TrueDiv: return make_ratio(a.numerator * b.denominator, a.denominator * b.numerator);
    default: return std::nullopt;
  }
}

std::optional<SymValue> to_whole(Op op, const SymValue& value) {
  if (const auto* size = std::get_if<SymInt>(&value)) return *size;
  const auto r = ratio(value);
  if (!r || r->denominator.lower() <= 0) return std::nullopt;
  if (op == Op::Ceil) return SymInt::ceildiv(r->numerator, r->denominator);
  if (op == Op::Trunc && r->numerator.lower() < 0) return std::nullopt;  // rounds to zero, not down
  return SymInt::floordiv(r->numerator, r->denominator);
}

std::optional<SymValue> apply_two(Op op, const SymValue& a, const SymValue& b) {
  if (op == Op::Pow) return power(a, b);
  const auto ra = ratio(a), rb = ratio(b);
  if (!ra || !rb) return std::nullopt;
  if (op >= Op::Eq && op <= Op::Ge) {
    if (!is_whole(a) || !is_whole(b)) return std::nullopt;
    const auto known = compare(op, ra->numerator, rb->numerator);
    return known ? std::optional<SymValue>(*known) : std::nullopt;
  }
  if (op == Op::And || op == Op::Or) {
    const auto *x = std::get_if<bool>(&a), *y = std::get_if<bool>(&b);
    if (x == nullptr || y == nullptr) return std::nullopt;
    return op == Op::And ? (*x && *y) : (*x || *y);
  }
  if (is_whole(a) && is_whole(b) && op != Op::TrueDiv) {
    auto out = whole_arithmetic(op, ra->numerator, rb->numerator);
    if (out && too_big(std::get<SymInt>(*out))) return std::nullopt;
    return out;
  }
  return ratio_arithmetic(op, *ra, *rb);
}

std::optional<SymValue> apply(Op op, Args args) {
  switch (op) {
    case Op::Neg:
      if (args.size() != 1) return std::nullopt;
      return apply_two(Op::Mul, SymValue(SymInt(-1)), args[0]);
    case Op::Pos:
      if (args.size() != 1 || std::holds_alternative<Opaque>(args[0])) return std::nullopt;
      return args[0];
    case Op::ToFloat: {
      if (args.size() != 1) return std::nullopt;
      const auto r = ratio(args[0]);
      return r ? std::optional<SymValue>(*r) : std::nullopt;
    }
    case Op::Trunc:
    case Op::Floor:
    case Op::Ceil:
      return args.size() == 1 ? to_whole(op, args[0]) : std::nullopt;
    case Op::Not: {
      const auto* flag = args.size() == 1 ? std::get_if<bool>(&args[0]) : nullptr;
      return flag != nullptr ? std::optional<SymValue>(!*flag) : std::nullopt;
    }
    case Op::Ite: {
      const auto* flag = args.size() == 3 ? std::get_if<bool>(&args[0]) : nullptr;
      if (flag == nullptr) return std::nullopt;
      return *flag ? args[1] : args[2];
    }
    case Op::ModularIndexing: {
      if (args.size() != 3) return std::nullopt;
      const auto quotient = apply_two(Op::FloorDiv, args[0], args[1]);
      return quotient ? apply_two(Op::Mod, *quotient, args[2]) : std::nullopt;
    }
    case Op::None:
      return std::nullopt;
    default:
      break;
  }
  // Sums, products and extremes take any number, the rest two.
  const bool many = op == Op::Add || op == Op::Mul || op == Op::Max || op == Op::Min || op == Op::And || op == Op::Or;
  if (args.size() < 2 || (!many && args.size() != 2)) return std::nullopt;
  std::optional<SymValue> out = args[0];
  for (size_t i = 1; i < args.size() && out; ++i) out = apply_two(op, *out, args[i]);
  return out;
}

}  // namespace

SymValue sym_apply(std::string_view name, std::span<const SymValue> args) {
  const Op op = op_of(name);
  for (const SymValue& arg : args) {
    if (const auto* opaque = std::get_if<Opaque>(&arg)) return Opaque{result_kind(op, args), opaque->why};
  }
  // Only arithmetic that leaves 64 bits is a Bug in here, and hostile numbers can make it.
  std::optional<SymValue> out;
  try {
    out = apply(op, args);
  } catch (const Bug&) {
    return Opaque{result_kind(op, args), fmt::format("{} leaves the range of 64-bit integers", name)};
  }
  if (out) return *std::move(out);
  return Opaque{result_kind(op, args), fmt::format("{} of these sizes has no exact form", name)};
}

// Literals such as 0.5 and 1.5 are exact ratios of small numbers; others are not worth their rounding.
SymValue sym_literal(double value) {
  constexpr double kMost = 16777216;
  for (double denominator = 1; denominator <= kMost; denominator *= 2) {
    const double numerator = value * denominator;
    if (!(std::abs(numerator) <= kMost)) break;
    if (numerator == std::floor(numerator)) {
      return ir::SymRatio{SymInt(static_cast<int64_t>(numerator)), SymInt(static_cast<int64_t>(denominator))};
    }
  }
  return Opaque{SymKind::Float, fmt::format("the factor {} is not a ratio of small numbers", float_text(value))};
}

const SymInt* as_size(SymValue& value) {
  if (const auto* r = std::get_if<ir::SymRatio>(&value)) {
    if (r->denominator.lower() <= 0) return nullptr;
    value = SymValue(SymInt::floordiv(r->numerator, r->denominator));
  }
  return std::get_if<SymInt>(&value);
}

namespace {

// The text forms. Both parsers stop at the first thing that they do not know.
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
    if (!integer) return Opaque{SymKind::Float, fmt::format("{} is known only when the program runs", archive::show(*name))};
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
      if (scan_.take("+")) out = combine("add", out, term());
      else if (scan_.take("-")) out = combine("sub", out, term());
      else break;
    }
    --depth_;
    return out;
  }
  SymValue term() {
    SymValue out = factor();
    while (!failed_) {
      if (scan_.take("**")) return fail();
      if (scan_.take("*")) out = combine("mul", out, factor());
      else if (scan_.take("//")) out = combine("floordiv", out, factor());
      else if (scan_.take("%")) out = combine("mod", out, factor());
      else break;
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
      return input_error(fmt::format("range constraint of {}: the minimum {} is above the maximum {}; export the model again",
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
      return input_error(fmt::format("range constraints leave no value for {} (at least {}, at most {}); export the model again",
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
