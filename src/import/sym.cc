// Arithmetic on numbers that depend on sizes.
#include "import/sym.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/numbers.h"

namespace edgelift::importer {
namespace {

// Products of sums are written out, so their number of terms can grow fast; no exported model comes near this.
constexpr size_t kMostTerms = 64;
constexpr int64_t kMostPower = 16;

using Args = std::span<const SymValue>;

bool too_big(const SymInt& value) { return !value.is_const() && value.expr()->terms.size() > kMostTerms; }

// Integers and ratios as ratios.
std::optional<ir::SymRatio> ratio(const SymValue& value) {
  if (const auto* size = std::get_if<SymInt>(&value)) return ir::SymRatio{*size, SymInt(1)};
  if (const auto* r = std::get_if<ir::SymRatio>(&value)) return *r;
  if (const auto* flag = std::get_if<bool>(&value)) return ir::SymRatio{SymInt(*flag ? 1 : 0), SymInt(1)};
  return std::nullopt;
}

bool is_whole(const SymValue& value) {
  return std::holds_alternative<SymInt>(value) || std::holds_alternative<bool>(value);
}

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
  Add,
  Sub,
  Mul,
  Neg,
  Pos,
  Pow,
  FloorDiv,
  CeilDiv,
  Mod,
  TrueDiv,
  Max,
  Min,
  ToFloat,
  Trunc,
  Floor,
  Ceil,
  LShift,
  RShift,
  ModularIndexing,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  And,
  Or,
  Not,
  Ite,
  None,
};

struct Named {
  std::string_view name;
  Op op;
};
// The archive's three spellings: Python's operator module, torch.sym_*, and sympy with torch's own functions.
constexpr Named kNames[] = {
    {"add", Op::Add},
    {"Add", Op::Add},
    {"sub", Op::Sub},
    {"mul", Op::Mul},
    {"Mul", Op::Mul},
    {"neg", Op::Neg},
    {"pos", Op::Pos},
    {"pow", Op::Pow},
    {"Pow", Op::Pow},
    {"PowByNatural", Op::Pow},
    {"floordiv", Op::FloorDiv},
    {"FloorDiv", Op::FloorDiv},
    {"CleanDiv", Op::FloorDiv},
    {"CeilDiv", Op::CeilDiv},
    {"mod", Op::Mod},
    {"Mod", Op::Mod},
    {"PythonMod", Op::Mod},
    {"truediv", Op::TrueDiv},
    {"IntTrueDiv", Op::TrueDiv},
    {"FloatTrueDiv", Op::TrueDiv},
    {"sym_max", Op::Max},
    {"Max", Op::Max},
    {"sym_min", Op::Min},
    {"Min", Op::Min},
    {"sym_float", Op::ToFloat},
    {"ToFloat", Op::ToFloat},
    {"sym_int", Op::Trunc},
    {"trunc", Op::Trunc},
    {"TruncToInt", Op::Trunc},
    {"floor", Op::Floor},
    {"FloorToInt", Op::Floor},
    {"ceil", Op::Ceil},
    {"CeilToInt", Op::Ceil},
    {"lshift", Op::LShift},
    {"LShift", Op::LShift},
    {"rshift", Op::RShift},
    {"RShift", Op::RShift},
    {"ModularIndexing", Op::ModularIndexing},
    {"eq", Op::Eq},
    {"Equality", Op::Eq},
    {"ne", Op::Ne},
    {"Unequality", Op::Ne},
    {"lt", Op::Lt},
    {"StrictLessThan", Op::Lt},
    {"le", Op::Le},
    {"LessThan", Op::Le},
    {"gt", Op::Gt},
    {"StrictGreaterThan", Op::Gt},
    {"ge", Op::Ge},
    {"GreaterThan", Op::Ge},
    {"and_", Op::And},
    {"And", Op::And},
    {"or_", Op::Or},
    {"Or", Op::Or},
    {"sym_not", Op::Not},
    {"not_", Op::Not},
    {"Not", Op::Not},
    {"sym_ite", Op::Ite},
};

Op op_of(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const Named& n) { return n.name == name; });
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
    case Op::Le:
      return known_le(a, b) ? std::optional(true) : known_le(b + SymInt(1), a) ? std::optional(false) : std::nullopt;
    case Op::Ge:
      return compare(Op::Le, b, a);
    case Op::Lt:
      return compare(Op::Le, a + SymInt(1), b);
    case Op::Gt:
      return compare(Op::Le, b + SymInt(1), a);
    case Op::Eq:
      if (known_equal(a, b)) return true;
      return known_le(a + SymInt(1), b) || known_le(b + SymInt(1), a) ? std::optional(false) : std::nullopt;
    case Op::Ne: {
      const auto equal = compare(Op::Eq, a, b);
      return equal ? std::optional(!*equal) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::optional<SymValue> whole_arithmetic(Op op, const SymInt& a, const SymInt& b) {
  switch (op) {
    case Op::Add:
      return a + b;
    case Op::Sub:
      return a - b;
    case Op::Mul:
      return a * b;
    case Op::Max:
      return SymInt::max(a, b);
    case Op::Min:
      return SymInt::min(a, b);
    case Op::FloorDiv:
      return b == SymInt(0) ? std::nullopt : std::optional<SymValue>(SymInt::floordiv(a, b));
    case Op::CeilDiv:
      return b == SymInt(0) ? std::nullopt : std::optional<SymValue>(SymInt::ceildiv(a, b));
    case Op::Mod:
      return b == SymInt(0) ? std::nullopt : std::optional<SymValue>(SymInt::mod(a, b));
    case Op::LShift:
    case Op::RShift: {
      if (!b.is_const() || b.value() < 0 || b.value() > 62) return std::nullopt;
      const SymInt power(int64_t{1} << b.value());
      return op == Op::LShift ? a * power : SymInt::floordiv(a, power);
    }
    default:
      return std::nullopt;
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
      return make_ratio(a.numerator * b.denominator + sign * b.numerator * a.denominator,
                        a.denominator * b.denominator);
    }
    case Op::Mul:
      return make_ratio(a.numerator * b.numerator, a.denominator * b.denominator);
    case Op::TrueDiv:
      return make_ratio(a.numerator * b.denominator, a.denominator * b.numerator);
    default:
      return std::nullopt;
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

}  // namespace edgelift::importer
