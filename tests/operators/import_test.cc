// Every recorded program imports: all its operators are in the table, and the shape rules agree with the types that
// PyTorch recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "import/import.h"
#include "ops/record.h"
#include "testing.h"

namespace edgelift::ops {
namespace {

std::vector<std::filesystem::path> programs_under(const std::filesystem::path& root) {
  std::vector<std::filesystem::path> out;
  if (!std::filesystem::exists(root)) return out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
    if (entry.path().extension() == ".pt2") out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

// What no row of the table could help: control flow, weights that are Python objects, sizes to a fractional power, and
// one operator that neither the runtime nor a decomposition knows.
bool is_refused_by_design(const std::string& message) {
  for (const char* reason : {"higher_order::", "tensor subclass", "has no exact form", "aten::conv_tbc"})
    if (message.find(reason) != std::string::npos) return true;
  return false;
}

void import_all(const std::filesystem::path& root, size_t at_least) {
  const auto programs = programs_under(root);
  EXPECT_GE(programs.size(), at_least) << root;
  for (const auto& path : programs) {
    const auto program = importer::import_pt2(path, table());
    EXPECT_TRUE(program.ok() || is_refused_by_design(program.error().message))
        << path << ": " << program.error().message;
  }
}

TEST(Recorded, OperatorCasesAgreeWithTheShapeRules) {
  import_all(edgelift::testing::source_dir() / "tests" / "ops", 400);
}
TEST(Recorded, ModelsAgreeWithTheShapeRules) { import_all(edgelift::testing::source_dir() / "tests" / "models", 20); }

TEST(Recorded, SharedCasesAgreeWithTheShapeRules) {
  const auto shared = edgelift::testing::shared_dir();
  if (!shared) GTEST_SKIP() << "no shared directory";
  import_all(*shared / "cases", 20);
  import_all(*shared / "models", 5);
}

}  // namespace
}  // namespace edgelift::ops
