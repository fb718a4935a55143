// A test harness that chains the stages the way a person thinks of them (link edgelift_runtime):
//
//   Tester tester = Tester::from_text(R"(program { … })");
//   tester.to_edge_transform_and_lower(passes).check_count({{"delegate", 1}}).check_not({"aten::mul.Scalar"})
//         .to_executorch().serialize().run_method_and_compare_outputs();
//   EXPECT_TRUE(tester.status().ok()) << tester.status().error().message;
//
// The first stage or check that fails ends the chain: later calls do nothing, and status() keeps the sentence.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgelift/edgelift.h"
#include "runtime/session.h"

namespace edgelift {

class Tester {
 public:
  // What torch.export saved, or the text form. The source is kept: a comparison lowers it a second time, portably.
  static Tester from_export(const std::filesystem::path& path);
  static Tester from_text(std::string text);

  // Lowers with a recipe and transform passes of the caller.
  Tester& to_edge_transform_and_lower(TransformPasses passes = {}, std::string_view recipe = "xnnpack");
  Tester& to_edge_transform_and_lower(LowerOptions options);
  // Lowers with a stage that the caller supplies. The transform passes reach it too; a stage that cannot take them is
  // an error, not a lowering without them.
  Tester& to_edge_transform_and_lower(LoweringStage& stage, TransformPasses passes = {});

  // Top-level operators of the program as it now is, by edge-dialect name (aten::mul.Scalar), and "delegate" for calls
  // of delegates. check_count asks for exact numbers (0 too), check for at least one, check_not for none.
  Tester& check_count(const std::map<std::string, int>& counts);
  Tester& check(const std::vector<std::string>& operators);
  Tester& check_not(const std::vector<std::string>& operators);
  // Operators that went into delegates.
  Tester& check_delegated(const std::map<std::string, int>& counts);

  Tester& to_executorch(const emit::Options& options = {});
  // Keeps the file in memory, and writes it too where a path is given.
  Tester& serialize(const std::optional<std::filesystem::path>& path = std::nullopt);

  // Runs the serialised method on the runtime and compares each output with `expected`; without them, with the portable
  // form of the same source. Without inputs, `runs` different sets of random ones are made by the method's own shapes.
  // Tolerance is relative to the output's range.
  Tester& run_method_and_compare_outputs(std::vector<runtime::Argument> inputs = {},
                                         std::vector<TensorData> expected = {}, double tolerance = 1e-5, int runs = 1,
                                         std::string_view method = "forward");

  // Ok, or the first failure.
  const Status& status() const { return status_; }
  // The results of stages; null before they ran or after a failure.
  const ir::Program* exported() const { return program_ ? &*program_ : nullptr; }
  const partition::Lowered* lowered() const { return lowered_ ? &*lowered_ : nullptr; }
  const std::vector<std::byte>* bytes() const { return bytes_.get(); }

 private:
  explicit Tester(std::function<Result<ir::Program>()> source);
  template <class F>
  Tester& step(F&& f);
  Result<std::map<std::string, int>> top_level() const;
  Result<std::vector<TensorData>> run(const std::vector<std::byte>& bytes, std::shared_ptr<const void> owner,
                                      const std::vector<runtime::Argument>& inputs, std::string_view method) const;

  std::function<Result<ir::Program>()> source_;
  std::optional<ir::Program> program_;
  std::optional<partition::Lowered> lowered_;
  std::optional<emit::Emitted> emitted_;
  std::shared_ptr<std::vector<std::byte>> bytes_;
  Status status_ = Ok{};
};

}  // namespace edgelift
