// What must hold of every row of the operator tables.
#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "edge/table.h"
#include "ops/markdown.h"
#include "ops/record.h"
#include "testing.h"

namespace edgelift::ops {
namespace {

TEST(Table, HasTheBreadthThatExportNeeds) { EXPECT_GE(all_records().size(), 850U); }

TEST(Table, EveryKernelIsRegisteredByTheRuntime) {
  for (const OpRecord* op : all_records()) {
    if (!op->kernel.empty()) {
      EXPECT_TRUE(kernel_registered(op->kernel)) << op->full_name() << " names " << op->kernel;
    }
  }
}

TEST(Table, InPlaceFormsAreThoseWhoseSchemaWrites) {
  for (const OpRecord* op : all_records()) {
    // Batch norm in training writes its running statistics beside the result it returns.
    if (op->is("_native_batch_norm_legit", "default")) continue;
    EXPECT_EQ(op->has(kInPlace), op->writes_args()) << op->full_name();
  }
}

TEST(Table, InPlaceFormsHaveAFunctionalTwin) {
  // Named as edge/functionalize looks them up.
  for (const OpRecord* op : all_records()) {
    // These two have none in PyTorch; functionalisation writes them with other operators.
    if (!op->has(kInPlace) || op->is("fill_diagonal_", "default") || op->is("_index_put_impl_", "default")) continue;
    std::string base = op->base;
    if (base.starts_with("__i")) {
      base.erase(2, 1);
    } else {
      ASSERT_TRUE(base.ends_with('_')) << op->full_name();
      base.pop_back();
    }
    bool found = false;
    for (const OpRecord* other : all_records()) found = found || (other->ns == op->ns && other->base == base);
    EXPECT_TRUE(found) << op->full_name();
  }
}

TEST(Table, AliasTraitFollowsTheSchema) {
  for (const OpRecord* op : all_records()) {
    if (op->schema.args.empty() || op->has(kInPlace)) continue;
    const ir::ArgSpec& first = op->schema.args.front();
    const bool aliases = first.aliased && !first.written;
    // Three composites return their argument where its rank is enough, without saying so.
    if (op->base.starts_with("atleast_")) continue;
    EXPECT_EQ(op->has(kAlias), aliases) << op->full_name();
  }
}

TEST(Table, InPlaceAndCheckingOperatorsAreNotDelegated) {
  for (const OpRecord* op : all_records()) {
    if (op->has(kInPlace) || op->has(kCheck)) {
      EXPECT_EQ(op->lower, nullptr) << op->full_name();
    }
  }
}

TEST(Table, NotesAreSentencesWithoutFullStop) {
  for (const OpRecord* op : all_records()) {
    EXPECT_FALSE(op->note.ends_with('.')) << op->full_name();
    EXPECT_EQ(op->note.find('\n'), std::string::npos) << op->full_name();
  }
}

TEST(Markdown, DocsOperatorsIsNotStale) {
  const std::string wanted = markdown([](const OpRecord& op) { return edge::find_entry(&op) != nullptr; });
  const auto found = read_file(edgelift::testing::source_dir() / "docs" / "operators.md");
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(*found, wanted) << "run: build/bin/edgelift ops --markdown > docs/operators.md";
}

TEST(Markdown, SaysWhatBecomesOfAnOperator) {
  const std::string text = markdown([](const OpRecord& op) { return op.is("sort", "default"); });
  EXPECT_NE(text.find("| `aten::add_.Tensor` | no |  |  | made functional: `aten::add.Tensor` |"), std::string::npos);
  EXPECT_NE(text.find("| `aten::sort.default` | no |  |  | the delegate does not sort; decomposed"), std::string::npos);
  EXPECT_NE(text.find("| `aten::cos.default` | yes | `aten::cos.out` | yes |  |"), std::string::npos);
}

}  // namespace
}  // namespace edgelift::ops
