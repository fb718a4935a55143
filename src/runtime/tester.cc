#include "edgelift/tester.h"

#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "base/file.h"
#include "ops/record.h"
#include "runtime/compare.h"
#include "runtime/evaluate.h"

namespace edgelift {
namespace {

// A counter-based generator: the same inputs on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  double unit() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

 private:
  uint64_t state_;
};

runtime::Argument random_argument(const runtime::InputSpec& spec, Random& random) {
  if (spec.kind != runtime::InputSpec::Kind::Tensor) return spec.literal;
  size_t count = 1;
  for (const int64_t size : spec.sizes) count *= static_cast<size_t>(size);
  std::vector<double> values(count);
  for (double& value : values) {
    value = random.unit() * 4 - 2;
    if (spec.dtype == DType::Bool) value = value > 0 ? 1 : 0;
    if (is_integer(spec.dtype)) value = std::floor(random.unit() * 8);
  }
  return TensorData::of(DType::F64, spec.sizes, values).converted(spec.dtype);
}

void merge(std::map<std::string, int>& counts, const ir::Program& program) {
  for (const auto& graph : program.methods)
    graph->each(
        [&](const ir::Node& node) { ++counts[ops::is_delegate(node) ? "delegate" : ops::record(node).edge_name()]; });
}

}  // namespace

Tester::Tester(std::function<Result<ir::Program>()> source) : source_(std::move(source)) {
  auto program = source_();
  if (program.ok()) {
    program_ = std::move(*program);
  } else {
    status_ = program.take_error();
  }
}

Tester Tester::from_export(const std::filesystem::path& path) {
  return Tester([path] { return open(path); });
}

Tester Tester::from_text(std::string text) {
  return Tester([text = std::move(text)] { return parse_text(text); });
}

template <class F>
Tester& Tester::step(F&& f) {
  if (status_.ok()) status_ = f();
  return *this;
}

Tester& Tester::to_edge_transform_and_lower(TransformPasses passes, std::string_view recipe) {
  LowerOptions options;
  options.recipe = std::string(recipe);
  options.transform_passes = std::move(passes);
  options.evaluate = runtime::evaluate;
  options.verify_each = true;
  return to_edge_transform_and_lower(std::move(options));
}

Tester& Tester::to_edge_transform_and_lower(LowerOptions options) {
  return step([&]() -> Status {
    if (!program_) return usage_error("to_edge_transform_and_lower was called twice");
    ir::Program program = std::move(*program_);
    program_.reset();
    EL_TRY(lowered_, edgelift::to_edge_transform_and_lower(std::move(program), options));
    return Ok{};
  });
}

Tester& Tester::to_edge_transform_and_lower(LoweringStage& stage, TransformPasses passes) {
  return step([&]() -> Status {
    if (!program_) return usage_error("to_edge_transform_and_lower was called twice");
    if (!passes.empty()) {
      if (!stage.takes_transform_passes())
        return usage_error(fmt::format("{} transform pass{} given, but the lowering stage that was supplied takes none",
                                       passes.size(), passes.size() == 1 ? " is" : "es are"));
      EL_TRY_OK(stage.set_transform_passes(std::move(passes)));
    }
    ir::Program program = std::move(*program_);
    program_.reset();
    EL_TRY(lowered_, stage.run(std::move(program)));
    return Ok{};
  });
}

Result<std::map<std::string, int>> Tester::top_level() const {
  std::map<std::string, int> counts;
  if (lowered_) {
    merge(counts, lowered_->program);
  } else if (program_) {
    merge(counts, *program_);
  } else {
    return usage_error("there is no program to look at");
  }
  return counts;
}

Tester& Tester::check_count(const std::map<std::string, int>& expected) {
  return step([&]() -> Status {
    EL_TRY(const auto counts, top_level());
    for (const auto& [name, wanted] : expected) {
      const auto found = counts.find(name);
      const int got = found == counts.end() ? 0 : found->second;
      if (got != wanted)
        return input_error(fmt::format("{} stands {} times at top level instead of {}", name, got, wanted));
    }
    return Ok{};
  });
}

Tester& Tester::check(const std::vector<std::string>& operators) {
  return step([&]() -> Status {
    EL_TRY(const auto counts, top_level());
    for (const std::string& name : operators)
      if (!counts.contains(name)) return input_error(fmt::format("{} does not stand at top level", name));
    return Ok{};
  });
}

Tester& Tester::check_not(const std::vector<std::string>& operators) {
  return step([&]() -> Status {
    EL_TRY(const auto counts, top_level());
    for (const std::string& name : operators)
      if (const auto found = counts.find(name); found != counts.end())
        return input_error(fmt::format("{} stands {} times at top level", name, found->second));
    return Ok{};
  });
}

Tester& Tester::check_delegated(const std::map<std::string, int>& expected) {
  return step([&]() -> Status {
    if (!lowered_) return usage_error("check_delegated before to_edge_transform_and_lower");
    const Counts counts = count(*lowered_);
    for (const auto& [name, wanted] : expected) {
      const auto found = counts.delegated.find(name);
      const int got = found == counts.delegated.end() ? 0 : found->second;
      if (got != wanted) return input_error(fmt::format("{} is delegated {} times instead of {}", name, got, wanted));
    }
    return Ok{};
  });
}

Tester& Tester::to_executorch(const emit::Options& options) {
  return step([&]() -> Status {
    if (!lowered_) return usage_error("to_executorch before to_edge_transform_and_lower");
    EL_TRY(emitted_, edgelift::to_executorch(*lowered_, options));
    return Ok{};
  });
}

Tester& Tester::serialize(const std::optional<std::filesystem::path>& path) {
  return step([&]() -> Status {
    if (!emitted_) return usage_error("serialize before to_executorch");
    EL_TRY(auto bytes, pte::write_to_memory(emitted_->program));
    EL_TRY_OK(pte::verify(bytes));
    bytes_ = std::make_shared<std::vector<std::byte>>(std::move(bytes));
    if (path) EL_TRY_OK(write(*emitted_, *path));
    return Ok{};
  });
}

Result<std::vector<TensorData>> Tester::run(const std::vector<std::byte>& bytes, std::shared_ptr<const void> owner,
                                            const std::vector<runtime::Argument>& inputs, std::string_view name) const {
  EL_TRY(const auto session, runtime::Session::open(bytes, std::move(owner)));
  EL_TRY(runtime::Method* const method, session->method(name));
  EL_TRY(const auto outputs, method->run(inputs));
  std::vector<TensorData> tensors;
  for (const runtime::Argument& output : outputs) {
    if (const auto* tensor = std::get_if<TensorData>(&output)) tensors.push_back(tensor->contiguous());
  }
  return tensors;
}

Tester& Tester::run_method_and_compare_outputs(std::vector<runtime::Argument> inputs, std::vector<TensorData> expected,
                                               double tolerance, int runs, std::string_view method) {
  return step([&]() -> Status {
    if (!bytes_) return usage_error("run_method_and_compare_outputs before serialize");
    std::shared_ptr<std::vector<std::byte>> reference;
    if (expected.empty()) {
      EL_TRY(auto program, source_());
      LowerOptions options;
      options.recipe = "portable";
      EL_TRY(const auto lowered, edgelift::to_edge_transform_and_lower(std::move(program), options));
      EL_TRY(const auto emitted, edgelift::to_executorch(lowered, {}));
      EL_TRY(auto bytes, pte::write_to_memory(emitted.program));
      reference = std::make_shared<std::vector<std::byte>>(std::move(bytes));
    }
    std::vector<runtime::InputSpec> specs;
    if (inputs.empty()) {
      EL_TRY(const auto session, runtime::Session::open(*bytes_, bytes_));
      EL_TRY(runtime::Method* const loaded, session->method(method));
      specs = loaded->inputs();
    }
    for (int i = 0; i < (specs.empty() ? 1 : runs); ++i) {
      std::vector<runtime::Argument> given = inputs;
      Random random(static_cast<uint64_t>(i) + 1);
      for (const runtime::InputSpec& spec : specs) given.push_back(random_argument(spec, random));
      EL_TRY(const auto got, run(*bytes_, bytes_, given, method));
      std::vector<TensorData> wanted = expected;
      if (reference) {
        EL_TRY(wanted, run(*reference, reference, given, method));
      }
      if (got.size() != wanted.size())
        return input_error(fmt::format("the method gives {} tensors instead of {}", got.size(), wanted.size()));
      for (size_t k = 0; k < got.size(); ++k) {
        EL_TRY(const auto difference, runtime::compare(got[k], wanted[k], tolerance));
        if (!difference.ok) return input_error(fmt::format("output {} differs: {}", k, difference.str()));
      }
    }
    return Ok{};
  });
}

}  // namespace edgelift
