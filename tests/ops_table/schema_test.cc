// Schema text, names, and kernel texts of the tables.
#include <gtest/gtest.h>

#include "base/check.h"
#include "ops/record.h"

namespace edgelift::ops {
namespace {

using ir::ArgKind;

const ir::ArgSpec& arg(const OpRecord& op, std::string_view name) {
  return op.schema.args.at(static_cast<size_t>(op.schema.index_of(name)));
}

TEST(Schema, ListDefaultsTakeTheirLength) {
  const OpRecord op = parse_schema(
      "aten::avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, "
      "bool count_include_pad=True, int? divisor_override=None) -> Tensor");
  EXPECT_EQ(arg(op, "kernel_size").list_length, 2);
  EXPECT_TRUE(arg(op, "kernel_size").required);
  EXPECT_EQ(std::get<ir::IntList>(arg(op, "stride").default_value).size(), 0U);
  EXPECT_EQ(std::get<ir::IntList>(arg(op, "padding").default_value), (ir::IntList{0, 0}));
  EXPECT_EQ(std::get<bool>(arg(op, "count_include_pad").default_value), true);
  EXPECT_EQ(arg(op, "divisor_override").kind, ArgKind::OptInt);
  EXPECT_TRUE(ir::is_none(arg(op, "divisor_override").default_value));
  EXPECT_EQ(op.overload, "default");
}

TEST(Schema, ScalarDefaultsKeepTheirKind) {
  const OpRecord op =
      parse_schema("aten::f(Tensor self, Scalar a=1, Scalar b=0.01, float c=1, Scalar? d=None, Scalar e=-1) -> Tensor");
  EXPECT_EQ(std::get<SymInt>(arg(op, "a").default_value), SymInt(1));
  EXPECT_EQ(std::get<double>(arg(op, "b").default_value), 0.01);
  EXPECT_EQ(std::get<double>(arg(op, "c").default_value), 1.0);
  EXPECT_EQ(arg(op, "d").kind, ArgKind::OptScalar);
  EXPECT_EQ(std::get<SymInt>(arg(op, "e").default_value), SymInt(-1));
}

TEST(Schema, TypesWithoutMeaningHereAreIgnored) {
  const OpRecord op = parse_schema(
      "aten::rand(SymInt[] size, *, Generator? generator=None, ScalarType? dtype=None, Layout? layout=None, Device? "
      "device=None, "
      "bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor");
  for (const std::string_view name : {"generator", "layout", "device", "pin_memory"})
    EXPECT_EQ(arg(op, name).kind, ArgKind::Ignored) << name;
  EXPECT_EQ(arg(op, "dtype").kind, ArgKind::OptScalarType);
  EXPECT_EQ(arg(op, "memory_format").kind, ArgKind::OptMemoryFormat);
  EXPECT_TRUE(arg(op, "dtype").keyword_only);
  EXPECT_FALSE(arg(op, "size").keyword_only);
}

TEST(Schema, AliasesAndReturns) {
  const OpRecord split =
      parse_schema("aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]");
  EXPECT_TRUE(arg(split, "self").aliased);
  EXPECT_FALSE(arg(split, "self").written);
  ASSERT_EQ(split.schema.returns.size(), 1U);
  EXPECT_EQ(split.schema.returns[0].kind, ir::ReturnKind::TensorList);
  EXPECT_TRUE(split.schema.returns[0].aliased);
  const OpRecord add =
      parse_schema("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
  EXPECT_TRUE(arg(add, "self").written);
  const OpRecord max =
      parse_schema("aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)");
  EXPECT_EQ(max.schema.returns.size(), 2U);
  EXPECT_EQ(parse_schema("aten::_assert_scalar(Scalar self, str assert_msg) -> ()").schema.returns.size(), 0U);
  EXPECT_EQ(parse_schema("aten::sym_size.int(Tensor self, int dim) -> SymInt").schema.returns[0].kind,
            ir::ReturnKind::Int);
  EXPECT_EQ(parse_schema("aten::item(Tensor self) -> Scalar").schema.returns[0].kind, ir::ReturnKind::Scalar);
}

TEST(Schema, OptionalsInAndAroundLists) {
  const OpRecord op = parse_schema(
      "aten::f(Tensor?[] indices, int[1]? dim, SymInt[]? sizes=None, Tensor[] many, str mode=\"a, b\") -> Tensor");
  EXPECT_EQ(arg(op, "indices").kind, ArgKind::OptTensorList);
  EXPECT_EQ(arg(op, "dim").kind, ArgKind::OptIntList);
  EXPECT_EQ(arg(op, "sizes").kind, ArgKind::OptIntList);
  EXPECT_EQ(arg(op, "many").kind, ArgKind::TensorList);
  EXPECT_EQ(std::get<std::string>(arg(op, "mode").default_value), "a, b");
}

TEST(Schema, MalformedTextIsABug) {
  for (const std::string_view text : {"add(Tensor self) -> Tensor", "aten::add(Tensor self)",
                                      "aten::add(Tensor self -> Tensor", "aten::add(Quaternion self) -> Tensor",
                                      "aten::add(Tensor self) -> Tensor, Tensor", "aten::add(int a=x) -> Tensor"})
    EXPECT_THROW(parse_schema(text), Bug) << text;
}

TEST(Table, FindsByBothNames) {
  const OpRecord* add = find("add.Tensor");
  ASSERT_NE(add, nullptr);
  EXPECT_EQ(find("aten::add.Tensor"), add);
  EXPECT_EQ(find("relu"), find("aten::relu.default"));
  EXPECT_NE(find("relu"), nullptr);
  EXPECT_EQ(find("no_such_operator"), nullptr);
  EXPECT_EQ(find("aten::relu.Tensor"), nullptr);
}

TEST(Table, EveryKernelIsOneOfTheRuntimes) {
  for (const OpRecord* op : all_records()) {
    EXPECT_TRUE(op->kernel.empty() || kernel_registered(op->kernel)) << op->full_name() << " names " << op->kernel;
  }
}

TEST(Table, InPlaceOperatorsHaveAFunctionalTwin) {
  size_t twins = 0;
  for (const OpRecord* op : all_records()) {
    if (!op->has(kInPlace)) continue;
    EXPECT_TRUE(op->writes_args()) << op->full_name();
    ++twins;
  }
  EXPECT_GT(twins, 20U);
}

TEST(Table, EdgeNames) {
  EXPECT_EQ(find("aten::permute.default")->edge_name(), "aten::permute_copy.default");
  EXPECT_EQ(find("aten::select.int")->edge_name(), "aten::select_copy.int");
  EXPECT_EQ(find("aten::mul.Scalar")->edge_name(), "aten::mul.Scalar");
  EXPECT_EQ(find("aten::_to_copy.default")->edge_name(), "dim_order_ops::_to_dim_order_copy.default");
  EXPECT_EQ(find("aten::relu6.default")->edge_name(), "aten::relu6.default");
}

TEST(Table, KernelTextsSayTheArguments) {
  const OpRecord& relu6 = *find("relu6");
  EXPECT_EQ(relu6.kernel, "aten::hardtanh.out");
  ASSERT_EQ(relu6.kernel_args.size(), 3U);
  EXPECT_EQ(relu6.kernel_args[0].kind, OpRecord::KernelArg::Kind::Schema);
  EXPECT_EQ(std::get<SymInt>(relu6.kernel_args[2].literal), SymInt(6));
  const OpRecord& copy = *find("_to_copy");
  EXPECT_EQ(copy.kernel_args.back().kind, OpRecord::KernelArg::Kind::DimOrder);
  // Without a list: every argument that is not ignored, keyword-only ones too.
  EXPECT_EQ(find("add.Tensor")->kernel_args.size(), 3U);
}

}  // namespace
}  // namespace edgelift::ops
