// Laws of passes, over every model of tests/models.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "edge/edge.h"
#include "edgelift/edgelift.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "ops/record.h"
#include "runtime/evaluate.h"
#include "testing.h"

namespace edgelift::passes {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> models() {
  std::vector<std::string> names;
  const fs::path root = testing::source_dir() / "tests" / "models";
  if (fs::is_directory(root))
    for (const auto& entry : fs::directory_iterator(root))
      if (fs::exists(entry.path() / "model.pt2")) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

PassContext make_context() {
  PassContext context{
      .ops = ops::table(), .options = {}, .evaluate = runtime::evaluate, .later = {}, .pass = {}, .declined = {}};
  context.declined = [](const ir::Node&, std::string) {};
  return context;
}

class Models : public ::testing::TestWithParam<std::string> {
 protected:
  // The model in the edge dialect; `upstream` spells attention out.
  ir::Program edge(bool upstream = false) {
    auto program = open(testing::source_dir() / "tests" / "models" / GetParam() / "model.pt2");
    EXPECT_TRUE(program.ok()) << program.error().message;
    const auto status = edge::to_edge(*program, ops::table(), {.upstream = upstream});
    EXPECT_TRUE(status.ok()) << status.error().message;
    return std::move(*program);
  }

  static void run(ir::Program& program, std::string_view list) {
    auto requests = parse_passes(list);
    ASSERT_TRUE(requests.ok()) << requests.error().message;
    PassContext context = make_context();
    const auto status = run_passes(program, *requests, context, true);
    ASSERT_TRUE(status.ok()) << status.error().message;
  }

  static std::string nodes(const ir::Program& program) {
    std::string text;
    for (const auto& graph : program.methods)
      graph->each([&](const ir::Node& node) { text += ir::print_node(node) + "\n"; });
    return text;
  }
};

// Operators, types and numbers without names: those differ by what was made and dropped in between.
std::string shape_of(const ir::Program& program) {
  std::string text;
  for (const auto& graph : program.methods)
    graph->each([&](const ir::Node& node) {
      text += node.op->full_name();
      for (const ir::Value* result : node.results) text += " " + result->type.str();
      for (const ir::Arg& arg : node.args)
        if (const auto* number = std::get_if<double>(&arg)) text += " " + std::to_string(*number);
      text += "\n";
    });
  return text;
}

std::string recipe_list() {
  const Recipe* recipe = find_recipe("xnnpack");
  std::string list = std::string(recipe->before) + "," + std::string(recipe->after);
  list.replace(list.find("$lift"), 5, recipe->lift_scalars_passes);
  return list;
}

TEST_P(Models, PassesTellTheTruthAboutChange) {
  ir::Program program = edge();
  auto requests = parse_passes(recipe_list());
  ASSERT_TRUE(requests.ok());
  for (const PassRequest& request : *requests) {
    const std::string before = nodes(program);
    PassContext context = make_context();
    context.options = request.options;
    const auto changed = request.info->run(program, context);
    ASSERT_TRUE(changed.ok()) << request.name << ": " << changed.error().message;
    EXPECT_EQ(*changed, nodes(program) != before) << request.name;
    const auto verified = ir::verify(program, ops::table());
    ASSERT_TRUE(verified.ok()) << request.name << ": " << verified.error().message;
  }
}

TEST_P(Models, EveryPassIsIdempotent) {
  ir::Program program = edge();
  auto requests = parse_passes(recipe_list());
  ASSERT_TRUE(requests.ok());
  for (const PassRequest& request : *requests) {
    // Joins of views and constants may need a second round to see what the first one uncovered.
    for (int round = 0; round < 3; ++round) {
      PassContext context = make_context();
      context.options = request.options;
      const auto changed = request.info->run(program, context);
      ASSERT_TRUE(changed.ok()) << request.name;
      if (!*changed) break;
      EXPECT_LT(round, 2) << request.name << " still changes the program in its third round";
    }
  }
}

TEST_P(Models, TheRecipeIsAFixedPoint) {
  ir::Program program = edge();
  run(program, recipe_list());
  run(program, recipe_list());
  const std::string once = shape_of(program);
  run(program, recipe_list());
  EXPECT_EQ(shape_of(program), once);
}

TEST_P(Models, FusingAndLiftingCommute) {
  for (const bool upstream : {false, true}) {
    ir::Program fused = edge(upstream);
    run(fused, "remove-noops,fuse-sdpa,lift-scalars:keep-sdpa=never,remove-noops,merge-duplicates");
    ir::Program lifted = edge(upstream);
    run(lifted, "remove-noops,lift-scalars:keep-sdpa=never,fuse-sdpa,remove-noops,merge-duplicates");
    EXPECT_EQ(shape_of(lifted), shape_of(fused)) << (upstream ? "spelled out" : "whole");
  }
}

TEST_P(Models, LoweringIsDeterministic) {
  ir::Program first = edge(), second = edge();
  run(first, recipe_list());
  run(second, recipe_list());
  EXPECT_EQ(ir::print(first), ir::print(second));
}

INSTANTIATE_TEST_SUITE_P(All, Models, ::testing::ValuesIn(models()), [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Models);

// ---- lists of passes ----

TEST(ParsePasses, ReadsNamesAndOptions) {
  const auto list = parse_passes("remove-noops, lift-scalars:keep-sdpa=never:inexact-f16=yes,fold-constants:growth=0");
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 3u);
  EXPECT_EQ((*list)[1].options.get("keep-sdpa", ""), "never");
  EXPECT_EQ((*list)[1].options.get("inexact-f16", ""), "yes");
  EXPECT_EQ((*list)[2].options.get("growth", ""), "0");
  EXPECT_EQ((*list)[2].options.get("other", "fallback"), "fallback");
  EXPECT_TRUE(parse_passes("")->empty());
}

TEST(ParsePasses, NamesTheNearestPass) {
  const auto list = parse_passes("lift-scalar");
  ASSERT_FALSE(list.ok());
  EXPECT_EQ(list.error().kind, ErrorKind::Usage);
  EXPECT_EQ(list.error().message,
            "no pass is called \"lift-scalar\"; did you mean \"lift-scalars\"? (`edgelift opt --list` has them all)");
}

TEST(ParsePasses, RefusesBadOptions) {
  EXPECT_NE(parse_passes("lift-scalars:keep-sdpa=maybe").error().message.find("choose one of auto|always|never"),
            std::string::npos);
  EXPECT_NE(parse_passes("lift-scalars:colour=red").error().message.find("has no option \"colour\""),
            std::string::npos);
  EXPECT_NE(parse_passes("remove-noops:x=1").error().message.find("it takes none"), std::string::npos);
  EXPECT_NE(parse_passes("fold-constants:growth=-1").error().message.find("not a non-negative integer"),
            std::string::npos);
  EXPECT_NE(parse_passes("fold-constants:growth").error().message.find("not of the form key=value"), std::string::npos);
  EXPECT_NE(parse_passes("remove-noops,,fold-scale").error().message.find("empty name"), std::string::npos);
}

TEST(Recipes, AllParse) {
  for (const Recipe& recipe : all_recipes()) {
    for (std::string list : {std::string(recipe.before), std::string(recipe.after)}) {
      if (const size_t at = list.find("$lift"); at != std::string::npos)
        list.replace(at, 5, recipe.lift_scalars_passes);
      EXPECT_TRUE(parse_passes(list).ok()) << recipe.name;
    }
    EXPECT_EQ(find_recipe(recipe.name), &recipe);
  }
  EXPECT_EQ(find_recipe("no such recipe"), nullptr);
}

}  // namespace
}  // namespace edgelift::passes
