// The command line as other tools see it: exit codes, what is printed where, and that nothing partial is left behind.
#include <sys/wait.h>
#include <array>
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "testing.h"

namespace edgelift::testing {
namespace {

namespace fs = std::filesystem;

struct Ended {
  int code = -1;  // 128 + signal where one ended it
  std::string out, error;
};

Ended edgelift(const std::string& arguments, const std::string& prefix = "") {
  const fs::path dir = scratch_dir();
  const std::string command = prefix + (build_dir() / "bin" / "edgelift").string() + " " + arguments + " >" +
                              (dir / "out").string() + " 2>" + (dir / "err").string();
  const int status = std::system(("bash -c '" + command + "'").c_str());
  Ended run;
  run.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  run.out = *read_file(dir / "out");
  run.error = *read_file(dir / "err");
  return run;
}

std::string model(const char* name) { return (source_dir() / "tests" / "models" / name / "model.pt2").string(); }
std::string input(const char* name, int i = 0) {
  return (source_dir() / "tests" / "models" / name / ("in" + std::to_string(i) + ".npy")).string();
}

TEST(Cli, LowerPrintsTheContractsJson) {
  const fs::path out = scratch_dir() / "m.pte";
  const Ended run = edgelift("lower " + model("vit") + " -o " + out.string() + " --json");
  ASSERT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(run.error, "");
  const auto json = nlohmann::json::parse(run.out);
  for (const char* key :
       {"model", "recipe", "delegates", "portable", "delegated", "bytes", "seconds", "peak_rss_bytes"})
    EXPECT_TRUE(json.contains(key)) << key;
  for (const char* key : {"read", "passes", "partition", "write", "total"})
    EXPECT_TRUE(json["seconds"].contains(key)) << key;
  EXPECT_EQ(json["bytes"]["output"], fs::file_size(out));
  EXPECT_EQ(json["delegates"], 1);
  EXPECT_TRUE(json["portable"].empty());
}

TEST(Cli, RunWritesOutputsInOrder) {
  const fs::path dir = scratch_dir();
  ASSERT_EQ(edgelift("lower " + model("detector_head") + " -o " + (dir / "m.pte").string() + " --quiet").code, 0);
  const Ended run = edgelift("run " + (dir / "m.pte").string() + " -i " + input("detector_head") + " -o " +
                             (dir / "o").string() + " --json");
  ASSERT_EQ(run.code, 0) << run.error;
  const auto json = nlohmann::json::parse(run.out);
  for (size_t i = 0; i < json["outputs"].size(); ++i)
    EXPECT_TRUE(fs::exists(dir / "o" / ("output" + std::to_string(i) + ".npy"))) << i;
}

TEST(Cli, RunWritesAllOutputsOrNone) {
  const fs::path dir = scratch_dir();
  ASSERT_EQ(edgelift("lower " + model("detector_head") + " -o " + (dir / "m.pte").string() + " --quiet").code, 0);
  fs::create_directories(dir / "o" / "output1.npy");  // which no file can replace
  const Ended run =
      edgelift("run " + (dir / "m.pte").string() + " -i " + input("detector_head") + " -o " + (dir / "o").string());
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.error.find("output1.npy"), std::string::npos) << run.error;
  for (const auto& entry : fs::directory_iterator(dir / "o")) EXPECT_EQ(entry.path().filename(), "output1.npy");
}

TEST(Cli, BenchPrintsTheContractsJson) {
  const fs::path dir = scratch_dir();
  const std::string a = (dir / "a.pte").string(), b = (dir / "b.pte").string();
  ASSERT_EQ(edgelift("lower " + model("ds_cnn_keywords") + " --quiet -o " + a).code, 0);
  ASSERT_EQ(edgelift("lower " + model("ds_cnn_keywords") + " --quiet --recipe portable -o " + b).code, 0);
  const Ended run = edgelift("bench " + a + " " + b + " --threads 2,1 --iterations 3 --json");
  ASSERT_EQ(run.code, 0) << run.error;
  const auto json = nlohmann::json::parse(run.out);
  ASSERT_EQ(json["files"].size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const auto& row = json["files"][i];
    EXPECT_EQ(row.size(), 7u);
    EXPECT_EQ(row["file"], i % 2 == 0 ? a : b);
    EXPECT_EQ(row["threads"], i < 2 ? 2 : 1);
    EXPECT_LE(row["min_ms"].get<double>(), row["median_ms"].get<double>());
    for (const char* key : {"load_ms", "peak_rss_bytes", "peak_anon_bytes"})
      EXPECT_GT(row[key].get<double>(), 0) << key;
  }
  EXPECT_EQ(json["ratios"].size(), 2u);
}

// A .pte keeps the upper bound of each dim of a dynamic input and cannot tell which are fixed; the model can.
TEST(Cli, CheckKnowsWhichDimsAreFixed) {
  const fs::path dir = scratch_dir();
  ASSERT_TRUE(write_file(dir / "x.bin", std::string(7 * 8, 0)).ok());
  const std::string command = "check " + model("encoder_dynamic_sequence") + " -i " + (dir / "x.bin").string();
  const Ended wrong = edgelift(command + ":i64[1,7]");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.error.find("has size 1 in dim 0, the model was exported for 2"), std::string::npos) << wrong.error;
  ASSERT_TRUE(write_file(dir / "x.bin", std::string(2 * 7 * 8, 0)).ok());
  const Ended right = edgelift(command + ":i64[2,7]");
  EXPECT_EQ(right.code, 0) << right.out << right.error;
}

TEST(Cli, OptReadsTheTestsOfPasses) {
  const fs::path dir = scratch_dir();
  const std::string program =
      "; RUN: --passes=remove-noops\nprogram {\n  fn forward(%x: f32[2]) -> f32[2] {\n    %y = neg %x : f32[2]\n"
      "    return %y\n  }\n}\n";
  ASSERT_TRUE(write_file(dir / "case.elir", program + "; EXPECT\nanything").ok());
  const Ended run = edgelift("opt " + (dir / "case.elir").string());
  EXPECT_EQ(run.code, 0) << run.error;
  EXPECT_EQ(run.out, program.substr(program.find('\n') + 1));
  ASSERT_TRUE(write_file(dir / "case.elir", program + "; other\nanything").ok());
  const Ended other = edgelift("opt " + (dir / "case.elir").string());
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.error.find("case.elir:9:1: expected the end"), std::string::npos) << other.error;
}

struct Bad {
  const char* name;
  const char*
      arguments;  // M: a model, O: an output path, T: a truncated model, G: a file of rubbish, P: a .pte, D: a folder
  int code;
  const char* says;
};

class BadInput : public ::testing::TestWithParam<Bad> {};

std::string filled(const char* pattern, const fs::path& dir) {
  std::string out;
  for (const char* c = pattern; *c != 0; ++c) {
    const bool word = (c == pattern || c[-1] == ' ') && (c[1] == ' ' || c[1] == 0 || c[1] == '/');
    switch (word ? *c : 0) {
      case 'M':
        out += model("resnet_basic");
        break;
      case 'O':
        out += (dir / "out.pte").string();
        break;
      case 'T':
        out += (dir / "truncated.pt2").string();
        break;
      case 'G':
        out += (dir / "rubbish").string();
        break;
      case 'P':
        out += (dir / "good.pte").string();
        break;
      case 'D':
        out += dir.string();
        break;
      case 'I':
        out += input("resnet_basic");
        break;
      case 'W':
        out += input("llama");
        break;
      default:
        out += *c;
    }
  }
  return out;
}

TEST_P(BadInput, IsRefusedClearly) {
  const fs::path dir = scratch_dir();
  const std::string whole = *read_file(model("resnet_basic"));
  ASSERT_TRUE(write_file(dir / "truncated.pt2", whole.substr(0, whole.size() / 2)).ok());
  ASSERT_TRUE(write_file(dir / "rubbish", std::string(5000, 'x')).ok());
  ASSERT_EQ(edgelift("lower " + model("resnet_basic") + " -o " + (dir / "good.pte").string() + " --quiet").code, 0);
  const Ended run = edgelift(filled(GetParam().arguments, dir));
  EXPECT_EQ(run.code, GetParam().code) << run.error;
  EXPECT_TRUE(run.error.starts_with("edgelift: error: ")) << run.error;
  EXPECT_NE(run.error.find(GetParam().says), std::string::npos) << run.error;
  EXPECT_EQ(run.out, "");
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(dir)) files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 3u) << "something was left behind";
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadInput,
    ::testing::Values(
        Bad{"TruncatedZip", "lower T -o O", 1, "/truncated.pt2: "}, Bad{"NotAnArchive", "lower G -o O", 1, "rubbish"},
        Bad{"Folder", "lower D -o O", 1, "not a regular file"},
        Bad{"Missing", "lower D/none.pt2 -o O", 1, "No such file"}, Bad{"Program", "lower P -o O", 1, "good.pte"},
        Bad{"MissingFolder", "lower M -o D/none/out.pte", 1, "No such file"},
        Bad{"Device", "lower M -o /dev/full", 1, "is a device or pipe"},
        Bad{"UnknownRecipe", "lower M -o O --recipe best", 2, "unknown recipe"},
        Bad{"UnknownPass", "lower M -o O --passes lift-scalar", 2, "lift-scalars"},
        Bad{"UnknownTarget", "lower M -o O --target moon", 2, "unknown target"},
        Bad{"UnknownOption", "lower M -o O --wrong", 2, "--wrong"}, Bad{"NoOutput", "lower M", 2, "--output"},
        Bad{"WrongInput", "run P -i W", 1, "input 0"}, Bad{"NoInput", "run P", 2, "takes 1 tensor input"},
        Bad{"RubbishInput", "run P -i G", 1, "rubbish"}, Bad{"RubbishProgram", "run G -i I", 1, "rubbish"},
        Bad{"TooManyThreads", "run P -i I --threads 99999", 2, "from 0 to 1024"},
        Bad{"NegativeThreads", "check M --threads -1", 2, "from 0 to 1024"},
        Bad{"NoThreads", "bench P --threads 1,,2", 2, "number of threads"},
        Bad{"ThreadsEndInAComma", "bench P --threads 1,", 2, "number of threads"},
        Bad{"NoIterations", "bench P --iterations 0", 2, "--iterations: '0'"},
        Bad{"IterationsOfWords", "profile P --iterations few", 2, "'few'"},
        Bad{"Repeat", "run P -i I --repeat 0", 2, "--repeat: '0'"},
        Bad{"WeightLimit", "lower M -o O --max-delegate-weights -1", 2, "'-1'"},
        Bad{"TargetIsRubbish", "lower M -o O --target G", 1, "not a target table"},
        Bad{"TargetIsAFolder", "lower M -o O --target D", 1, "not a regular file"},
        Bad{"TargetIsEmpty", R"(lower M -o O --target "")", 2, "--target takes"},
        Bad{"BenchRubbish", "bench P G", 1, "rubbish: the file does not carry"},
        Bad{"BenchAModel", "bench M", 1, "edgelift lower"}, Bad{"BenchMissing", "bench D/none.pte", 1, "No such file"},
        Bad{"BenchFolder", "bench D", 1, "not a regular file"}, Bad{"RunAModel", "run M -i I", 1, "edgelift lower"},
        Bad{"CheckRubbish", "check M G", 1, "rubbish: the file does not carry"},
        Bad{"ProfileRubbish", "profile G", 1, "rubbish"},
        Bad{"ProfileAModelTwice", "profile M --model M", 2, "is no .pte file"},
        Bad{"BothLifts", "lower M -o O --lift-scalars --no-lift-scalars", 2, "excludes"},
        Bad{"ExpectWithoutInputs", "check M --expect I", 2, "give these with -i"},
        Bad{"ExpectTooMany", "check M -i I --expect I --expect I", 2, "has 1 output to compare, 2 given"},
        Bad{"InspectRubbish", "inspect G", 1, "rubbish: not a .pt2 archive"},
        Bad{"UnknownVerb", "compile M", 2, "unknown verb"}, Bad{"NoVerb", "", 2, "a verb is missing"},
        Bad{"Tolerance", "check M --tolerance nan", 2, "--tolerance"}),
    [](const auto& info) { return info.param.name; });

TEST(Cli, APipeBehindALinkIsNoOutput) {
  const Ended run = edgelift("lower " + model("resnet_basic") + " -o /dev/stdout 2>&1 | cat", "set -o pipefail; ");
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.out, "edgelift: error: /dev/stdout: cannot write: is a device or pipe; give the name of a file\n");
}

TEST(Cli, CheckPassesOverOutputsThatAreNone) {
  const std::string folder = (source_dir() / "tests" / "ops" / "program" / "output_none").string();
  const std::string check = "check " + folder + "/model.pt2 -i " + folder + "/in0.npy --expect " + folder + "/out0.npy";
  const Ended run = edgelift(check);
  EXPECT_EQ(run.code, 0) << run.out << run.error;
}

TEST(Cli, ARefusalGivesOneAdvice) {
  const fs::path pickled = source_dir() / "tests" / "cases" / "44_q4_group_odd" / "model.pt2";
  const Ended run = edgelift("explain " + pickled.string());
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.error.find("unwrap_tensor_subclass(model) before export"), std::string::npos) << run.error;
  EXPECT_EQ(run.error.find("run_decompositions"), std::string::npos) << run.error;
}

TEST(Cli, AFullDiskLeavesNoFile) {
  const fs::path dir = scratch_dir();
  const Ended run = edgelift("lower " + model("mobilebert") + " -o " + (dir / "m.pte").string(), "ulimit -f 20; ");
  EXPECT_EQ(run.code, 1) << run.error;
  EXPECT_NE(run.error.find("cannot write"), std::string::npos) << run.error;
  EXPECT_TRUE(fs::is_empty(dir));
}

TEST(Cli, CheckFindsTheFirstDifference) {
  const Ended run = edgelift("check " + model("resnet_basic") + " -i " + input("resnet_basic") + " --expect " +
                             input("resnet_basic") + " --json");
  EXPECT_EQ(run.code, 1);
  const fs::path out = source_dir() / "tests" / "models" / "resnet_basic" / "out0.npy";
  const Ended good =
      edgelift("check " + model("resnet_basic") + " -i " + input("resnet_basic") + " --expect " + out.string());
  EXPECT_EQ(good.code, 0) << good.out << good.error;
}

// Operators inside delegates and outside: each row of the runtime's names the exported node that it came from.
size_t without_place(const nlohmann::json& json) {
  size_t without = 0;
  for (const auto& event : json["events"]) {
    const bool kernel = event["name"].get<std::string>().starts_with("native_call_");
    if (!kernel && !event["delegate"].get<bool>()) continue;
    if (event["node"] == "") {
      ++without;
      EXPECT_TRUE(json.contains("why_no_places") || event.contains("why_no_place")) << event;
    }
  }
  return without;
}

TEST(Cli, ProfileNamesTheNodeOfEachOperator) {
  for (const char* name : {"mobilevit_block", "resnet_basic", "llama", "two_towers"}) {
    for (const char* recipe : {"xnnpack", "portable"}) {
      const Ended run = edgelift("profile " + model(name) + " --iterations 1 --json --recipe " + recipe);
      ASSERT_EQ(run.code, 0) << run.error;
      const auto json = nlohmann::json::parse(run.out);
      EXPECT_GT(json["events"].size(), 5u);
      EXPECT_EQ(without_place(json), 0u) << name << ", " << recipe;
    }
  }
}

TEST(Cli, ProfileFindsTheSoftmaxOfTheAttention) {
  const Ended run = edgelift("profile " + model("mobilevit_block") + " --iterations 1 --json");
  ASSERT_EQ(run.code, 0) << run.error;
  size_t found = 0;
  const auto json = nlohmann::json::parse(run.out);
  for (const auto& event : json["events"]) {
    if (!event["name"].get<std::string>().starts_with("Softmax")) continue;
    ++found;
    EXPECT_EQ(event["node"], "scaled_dot_product_attention");
    EXPECT_NE(event["source"].get<std::string>().find("attention.py:"), std::string::npos) << event;
    EXPECT_NE(event["module"], "");
  }
  EXPECT_EQ(found, 1u);
}

TEST(Cli, ProfileOfAFileNeedsTheSameLowering) {
  const std::string pte = (scratch_dir() / "m.pte").string();
  ASSERT_EQ(edgelift("lower " + model("llama") + " --recipe upstream --quiet -o " + pte).code, 0);
  const std::string command = "profile " + pte + " --iterations 1 --json";
  const Ended bare = edgelift(command);
  ASSERT_EQ(bare.code, 0) << bare.error;
  EXPECT_GT(without_place(nlohmann::json::parse(bare.out)), 0u);
  const Ended same = edgelift(command + " --recipe upstream --model " + model("llama"));
  ASSERT_EQ(same.code, 0) << same.error;
  EXPECT_EQ(without_place(nlohmann::json::parse(same.out)), 0u);
  const Ended other = edgelift(command + " --model " + model("llama"));
  ASSERT_EQ(other.code, 0) << other.error;
  EXPECT_GT(without_place(nlohmann::json::parse(other.out)), 0u);
}

TEST(Cli, ExplainGivesReasons) {
  const Ended run = edgelift("explain " + model("llama") + " --json");
  ASSERT_EQ(run.code, 0) << run.error;
  size_t outside = 0;
  const auto json = nlohmann::json::parse(run.out);
  for (const auto& row : json["operators"]) {
    if (row["delegated"].get<bool>()) continue;
    ++outside;
    EXPECT_GT(row["reason"].get<std::string>().size(), 10u);
  }
  EXPECT_EQ(outside, 1u);
}

}  // namespace
}  // namespace edgelift::testing
