// Recorded programs from .pt2 to the runtime's outputs. Exceptions are listed one a line in exceptions_RECIPE.txt: what
// lowering refuses with the beginning of the reason, and where the runtime's own kernels deviate from eager PyTorch on
// NaN or infinity (docs/limits.md). Numbers of delegates and portable operators are in golden_RECIPE.txt.
// EDGELIFT_UPDATE=1 in the environment rewrites both from what happens now; read the difference before committing it.
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "recorded.h"
#include "testing.h"

namespace edgelift::testing {
namespace {

namespace fs = std::filesystem;

bool updating() { return std::getenv("EDGELIFT_UPDATE") != nullptr; }

LowerOptions recipe(std::string name) {
  LowerOptions options;
  options.recipe = std::move(name);
  return options;
}

// "key: value" lines.
std::map<std::string, std::string> read_list(const fs::path& path) {
  std::map<std::string, std::string> out;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t colon = line.find(": ");
    out[line.substr(0, colon)] = colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return out;
}

void write_list(const fs::path& path, const std::string& head, const std::map<std::string, std::string>& list) {
  std::string text = head;
  for (const auto& [key, value] : list) text += key + ": " + value + "\n";
  ASSERT_TRUE(write_file(path, text).ok());
}

class Recorded : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Recipes, Recorded, ::testing::Values("portable", "upstream", "xnnpack"));

// Every operator case agrees with eager, or is a listed exception.
TEST_P(Recorded, OperatorCases) {
  const fs::path list_path = source_dir() / "tests" / "e2e" / fmt::format("exceptions_{}.txt", GetParam());
  const auto refused = read_list(list_path);
  std::map<std::string, std::string> now;
  size_t agreed = 0;
  for (const fs::path& folder : recorded_cases(source_dir() / "tests" / "ops")) {
    const std::string name = folder.parent_path().filename().string() + "/" + folder.filename().string();
    const Outcome outcome = run_recorded(folder, recipe(GetParam()), 1e-5);
    if (outcome.kind == Outcome::Kind::Ok) {
      ++agreed;
      EXPECT_FALSE(refused.contains(name)) << name << " is listed as an exception but agrees";
      continue;
    }
    const std::string verb = outcome.kind == Outcome::Kind::Refused ? "refused: " : "deviates: ";
    now[name] = (verb + outcome.sentence).substr(0, 100);
    if (updating()) continue;
    const auto at = refused.find(name);
    if (at == refused.end()) {
      ADD_FAILURE() << name << ": " << verb << outcome.sentence;
    } else {
      EXPECT_TRUE((verb + outcome.sentence).starts_with(at->second))
          << name << ": " << verb << outcome.sentence << "\nlisted: " << at->second;
    }
  }
  if (updating())
    write_list(list_path,
               "# Operator cases that do not simply agree: refused with the beginning of the reason, or deviating.\n",
               now);
  EXPECT_GE(agreed, 400u);
}

// Every narrow model lowers, runs and agrees, with as many delegates and portable operators as the golden table says.
TEST_P(Recorded, Models) {
  const fs::path list_path = source_dir() / "tests" / "e2e" / fmt::format("golden_{}.txt", GetParam());
  const auto golden = read_list(list_path);
  std::map<std::string, std::string> now;
  for (const fs::path& folder : recorded_cases(source_dir() / "tests" / "models")) {
    const std::string name = folder.filename().string();
    const Outcome outcome = run_recorded(folder, recipe(GetParam()), 1e-5);
    EXPECT_EQ(outcome.kind, Outcome::Kind::Ok) << name << ": " << outcome.sentence;
    now[name] = fmt::format("{} delegates, {} portable", outcome.delegates, outcome.portable);
    if (!updating()) {
      const auto at = golden.find(name);
      EXPECT_EQ(now[name], at == golden.end() ? "not in the golden table" : at->second) << name;
    }
  }
  if (updating()) write_list(list_path, "# Delegates and portable operators of tests/models.\n", now);
  EXPECT_GE(now.size(), 22u);
}

// The small programs on which other tools fail.
TEST_P(Recorded, HardCases) {
  size_t refused = 0;
  for (const fs::path& folder : recorded_cases(source_dir() / "tests" / "cases")) {
    double tolerance = 1e-4;
    std::ifstream source(folder / "source.py");
    for (std::string line; std::getline(source, line);)
      if (line.starts_with("TOL=")) tolerance = std::atof(line.c_str() + 4);
    const Outcome outcome = run_recorded(folder, recipe(GetParam()), tolerance);
    EXPECT_NE(outcome.kind, Outcome::Kind::Wrong) << folder.filename() << ": " << outcome.sentence;
    if (outcome.kind == Outcome::Kind::Refused) {
      ++refused;
      // The weights of this one are pickled Python objects, which the reader refuses.
      EXPECT_EQ(folder.filename(), "44_q4_group_odd") << outcome.sentence;
    }
  }
  EXPECT_LE(refused, 1u);
}

struct Reference {
  const char* model;
  const char* recipe;
  bool lift;
  int delegates, portable, mul_scalar;
};

// What ExecuTorch 1.5.1's own flow gives (upstream), and what ours must.
constexpr Reference kReference[] = {
    {"deit_tiny", "upstream", false, 62, 207, 24},
    {"deit_tiny", "upstream", true, 50, 134, 0},
    {"mobilenet_v3_small", "upstream", false, 1, 18, 0},
    {"mobilenet_v3_small", "upstream", true, 1, 18, 0},
    {"resnet10_narrow", "upstream", false, 1, 0, 0},
    {"resnet10_narrow", "upstream", true, 1, 0, 0},
    {"mobilebert", "upstream", false, 6, 57, 4},
    {"mobilebert", "upstream", true, 4, 44, 0},
    {"llama_tiny", "upstream", false, 19, 111, 6},
    {"llama_tiny", "upstream", true, 16, 91, 0},
    {"deit_tiny", "xnnpack", true, 1, 0, 0},
    {"mobilenet_v3_small", "xnnpack", true, 1, 0, 0},
    {"resnet10_narrow", "xnnpack", true, 1, 0, 0},
};

TEST(Reference, CountsOfTheSharedModels) {
  if (!shared_dir())
    GTEST_SKIP() << "the shared models are not here: " << std::size(kReference) << " lowerings skipped";
  for (const Reference& row : kReference) {
    LowerOptions options = recipe(row.recipe);
    options.lift_scalars = row.lift;
    auto program = open(*shared_dir() / "models" / row.model / "model.pt2");
    ASSERT_TRUE(program.ok()) << program.error().message;
    const auto lowered = to_edge_transform_and_lower(std::move(*program), options);
    ASSERT_TRUE(lowered.ok()) << lowered.error().message;
    const Counts counts = count(*lowered);
    const std::string what = fmt::format("{}, recipe {}, lifting {}", row.model, row.recipe, row.lift ? "on" : "off");
    EXPECT_EQ(counts.delegates, row.delegates) << what;
    EXPECT_EQ(counts.portable_total(), row.portable) << what;
    const auto mul = counts.portable.find("aten::mul.Scalar");
    EXPECT_EQ(mul == counts.portable.end() ? 0 : mul->second, row.mul_scalar) << what;
  }
}

TEST_P(Recorded, SharedModelsAgree) {
  if (!shared_dir()) GTEST_SKIP() << "the shared models are not here: 5 models skipped";
  for (const char* model : {"deit_tiny", "mobilenet_v3_small", "resnet10_narrow", "mobilebert", "llama_tiny"}) {
    const Outcome outcome = run_recorded(*shared_dir() / "models" / model, recipe(GetParam()), 1e-5);
    EXPECT_EQ(outcome.kind, Outcome::Kind::Ok) << model << ": " << outcome.sentence;
  }
}

// The forms of convolutions that a target chooses stay within their bound.
TEST(Targets, EveryTableKeepsTheOutputs) {
  for (const char* target : {"generic", "avx2", "avx512"}) {
    for (const char* effort : {"balanced", "speed"}) {
      LowerOptions options = recipe("xnnpack");
      options.target = target;
      options.optimize = effort;
      options.max_error = std::string(effort) == "speed" ? 1e-4 : 0;
      for (const char* model : {"resnet_basic", "unet", "vgg_bn"}) {
        const Outcome outcome = run_recorded(source_dir() / "tests" / "models" / model, options,
                                             std::string(effort) == "speed" ? 1e-4 : 1e-5);
        EXPECT_EQ(outcome.kind, Outcome::Kind::Ok)
            << model << " for " << target << ", " << effort << ": " << outcome.sentence;
      }
    }
  }
}

TEST(Output, IsTheSameForTheSameInput) {
  for (const char* model : {"vit", "mobilenet_v3", "llama_kv_cache"}) {
    std::vector<std::byte> first;
    for (int i = 0; i < 2; ++i) {
      auto program = open(source_dir() / "tests" / "models" / model / "model.pt2");
      ASSERT_TRUE(program.ok());
      const auto lowered = to_edge_transform_and_lower(std::move(*program), {});
      ASSERT_TRUE(lowered.ok()) << lowered.error().message;
      const auto emitted = to_executorch(*lowered, {});
      ASSERT_TRUE(emitted.ok()) << emitted.error().message;
      auto bytes = pte::write_to_memory(emitted->program);
      ASSERT_TRUE(bytes.ok());
      if (i == 0) {
        first = std::move(*bytes);
      } else {
        EXPECT_EQ(*bytes, first) << model;
      }
    }
  }
}

}  // namespace
}  // namespace edgelift::testing
