// Expressions of sizes.
#include "import/sym.h"

#include <gtest/gtest.h>

#include <list>

namespace edgelift::importer {
namespace {

std::string text(const SymValue& value) {
  if (const auto* size = std::get_if<SymInt>(&value)) return size->str();
  if (const auto* ratio = std::get_if<ir::SymRatio>(&value))
    return ratio->numerator.str() + " / " + ratio->denominator.str();
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* opaque = std::get_if<Opaque>(&value)) return "opaque: " + opaque->why;
  return "value";
}

class SymTest : public ::testing::Test {
 protected:
  SymTest() {
    const RawRange ranges[] = {{"s0", 2, 8}, {"s1", 1, std::nullopt}};
    EXPECT_TRUE(symbols_.set_ranges(ranges).ok());
  }
  std::string parse(const std::string& expr) { return text(symbols_.parse(*kept_.insert(kept_.end(), expr))); }
  SymInt size(const std::string& expr) { return std::get<SymInt>(symbols_.parse(*kept_.insert(kept_.end(), expr))); }

  std::list<std::string> kept_;
  Symbols symbols_;
  const std::string s0 = "Symbol('s0', positive=True, integer=True)", s1 = "Symbol('s1', positive=True, integer=True)";
};

TEST_F(SymTest, Arithmetic) {
  EXPECT_EQ(parse(s0), "s0");
  EXPECT_EQ(parse("Integer(-7)"), "-7");
  EXPECT_EQ(size("Add(" + s0 + ", Integer(1))"), size(s0) + SymInt(1));
  EXPECT_EQ(size("Mul(Integer(2), " + s0 + ", " + s1 + ")"), SymInt(2) * size(s0) * size(s1));
  EXPECT_EQ(size("Pow(" + s0 + ", Integer(2))"), size(s0) * size(s0));
  EXPECT_EQ(size("FloorDiv(" + s0 + ", Integer(3))"), SymInt::floordiv(size(s0), SymInt(3)));
  EXPECT_EQ(size("Mod(" + s0 + ", Integer(3))"), SymInt::mod(size(s0), SymInt(3)));
  EXPECT_EQ(size("CeilDiv(" + s0 + ", Integer(3))"), SymInt::ceildiv(size(s0), SymInt(3)));
  EXPECT_EQ(size("Max(Integer(1), " + s0 + ", " + s1 + ")"), SymInt::max(size(s0), size(s1)));
  EXPECT_EQ(size("Min(Integer(9), " + s0 + ")"), size(s0));
  EXPECT_EQ(size("ModularIndexing(" + s0 + ", Integer(2), Integer(3))"),
            SymInt::mod(SymInt::floordiv(size(s0), SymInt(2)), SymInt(3)));
  EXPECT_EQ(size("LShift(" + s0 + ", Integer(2))"), size(s0) * SymInt(4));
}

TEST_F(SymTest, Ratios) {
  EXPECT_EQ(parse("IntTrueDiv(" + s0 + ", Integer(2))"), "s0 / 2");
  EXPECT_EQ(parse("ToFloat(" + s0 + ")"), "s0 / 1");
  EXPECT_EQ(parse("Mul(Float('0.25', precision=53), ToFloat(" + s0 + "))"), "s0 / 4");
  EXPECT_EQ(parse("TruncToInt(Mul(Float('1.5', precision=53), ToFloat(" + s0 + ")))"), "floordiv(3*s0, 2)");
  EXPECT_EQ(parse("CeilToInt(IntTrueDiv(" + s0 + ", Integer(3)))"), text(SymInt::ceildiv(size(s0), SymInt(3))));
  EXPECT_EQ(parse("Mul(Rational(1, 2), " + s0 + ")"), "s0 / 2");
  EXPECT_EQ(parse("Pow(" + s0 + ", Integer(-1))"), "1 / s0");
  // 0.1 is no ratio of small numbers: rounding it would be another number than Python's.
  EXPECT_TRUE(parse("Mul(Float('0.1', precision=53), ToFloat(" + s0 + "))").starts_with("opaque: the factor 0.1"));
}

TEST_F(SymTest, Comparisons) {
  EXPECT_EQ(parse("GreaterThan(" + s0 + ", Integer(2))"), "true");
  EXPECT_EQ(parse("StrictLessThan(" + s0 + ", Integer(2))"), "false");
  EXPECT_EQ(parse("Equality(" + s0 + ", Integer(20))"), "false");
  EXPECT_TRUE(parse("LessThan(" + s0 + ", Integer(5))").starts_with("opaque"));
}

TEST_F(SymTest, WhatIsNotKnownIsOpaque) {
  for (const std::string& expr :
       {"FloatPow(ToFloat(" + s0 + "), Float('0.5', precision=53))", std::string("Symbol('zuf0')"),
        "Piecewise(ExprCondPair(Integer(1), Equality(" + s0 + ", Integer(3))), ExprCondPair(Integer(0), true))",
        std::string("Mod(Integer(3), Integer(0))"), std::string("Pow(Integer(2), Integer(99))")}) {
    EXPECT_TRUE(parse(expr).starts_with("opaque")) << expr << " is " << parse(expr);
  }
  for (const char* broken : {"", "(", "Integer(", "Integer(x)", "Integer(1) Integer(2)", "Symbol(s0)", "Symbol('s0'",
                             "Add(Integer(1),)", "Rational(1, 0)"}) {
    EXPECT_TRUE(parse(broken).starts_with("opaque: its expression cannot be read"))
        << broken << " is " << parse(broken);
  }
}

TEST_F(SymTest, Overflow) {
  EXPECT_TRUE(parse("Mul(Integer(9223372036854775807), " + s0 + ", Integer(2))").starts_with("opaque: Mul leaves"));
  EXPECT_TRUE(parse("Add(Integer(9223372036854775807), Integer(1))").starts_with("opaque: Add leaves"));
  EXPECT_TRUE(parse("Integer(9223372036854775808)").starts_with("opaque"));
}

TEST(Symbols, Ranges) {
  Symbols symbols;
  const RawRange ranges[] = {
      {"s0 + 1", 3, 9}, {"2*s1", 5, 19}, {"s0*s1", 0, 5}, {"u0", std::nullopt, std::nullopt}, {"s9 - 4", 0, 4}};
  ASSERT_TRUE(symbols.set_ranges(ranges).ok());
  EXPECT_EQ(symbols.symbol("s0", true)->lo, 2);
  EXPECT_EQ(symbols.symbol("s0", true)->hi, 8);
  EXPECT_EQ(symbols.symbol("s1", true)->lo, 3);  // 2*s1 >= 5
  EXPECT_EQ(symbols.symbol("s1", true)->hi, 9);
  EXPECT_EQ(symbols.symbol("s9", true)->lo, 4);
  EXPECT_EQ(symbols.symbol("s9", true)->hi, 8);
  EXPECT_EQ(symbols.symbol("u0", false)->lo, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(symbols.symbol("u0", false)->hi, kUnbounded);
  EXPECT_EQ(symbols.symbol("s5", true)->lo, 1);
  EXPECT_EQ(symbols.symbol("s0", true), symbols.symbol("s0", false));
  Symbols empty;
  const RawRange contradiction[] = {{"s0", 2, 3}, {"s0 + 1", 9, 12}};
  EXPECT_FALSE(empty.set_ranges(contradiction).ok());
}

}  // namespace
}  // namespace edgelift::importer
