#include <chrono>
#include <set>

#include <fmt/format.h>

#include "base/check.h"
#include "edge/edge.h"
#include "edgelift/edgelift.h"
#include "import/import.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "ops/record.h"
#include "xnnpack/target.h"

namespace edgelift {

namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Bugs become errors here, at the library's edge.
template <class F>
auto guarded(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const Bug& bug) {
    return internal_error(fmt::format("internal error: {}; please report it with the model", bug.what()));
  } catch (const std::bad_alloc&) {
    return internal_error("out of memory");
  }
}

void append(std::vector<passes::PassRequest>& to, const std::vector<passes::PassRequest>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// The recipe's own passes; "$lift" stands where scalar lifting goes.
Result<std::vector<passes::PassRequest>> recipe_passes(std::string_view text, const passes::Recipe& recipe, bool lift) {
  std::string list(text);
  if (const size_t at = list.find("$lift"); at != std::string::npos) {
    const bool comma = !lift && list.compare(at, 6, "$lift,") == 0;
    list.replace(at, comma ? 6 : 5, lift ? std::string(recipe.lift_scalars_passes) : std::string());
  }
  return passes::parse_passes(list);
}

Result<partition::Lowered> lower_one(ir::Program program, const LowerOptions& options, StageTimes* times) {
  const passes::Recipe* recipe = passes::find_recipe(options.recipe);
  if (recipe == nullptr) {
    std::string known;
    for (const passes::Recipe& r : passes::all_recipes()) known += (known.empty() ? "" : ", ") + std::string(r.name);
    return usage_error(fmt::format("unknown recipe '{}'; known are {}", options.recipe, known));
  }
  const bool lift = options.lift_scalars.value_or(recipe->lift_scalars);
  const ir::OpTable& ops = ops::table();
  const auto progress = [&](std::string_view stage) {
    if (options.progress) options.progress(stage);
  };
  const auto observe = [&](std::string_view stage) {
    if (options.observe) options.observe(stage, program);
  };

  const auto start = Clock::now();
  observe("import");
  progress("edge dialect");
  EL_TRY_OK(edge::to_edge(program, ops, {.upstream = recipe->upstream_edge}));
  program.stage = ir::Stage::Edge;
  if (options.verify_each) EL_TRY_OK(ir::verify(program, ops));
  observe("edge");

  progress("passes");
  EL_TRY(auto pipeline, recipe_passes(recipe->before, *recipe, lift));
  append(pipeline, options.transform_passes);
  if (!options.method_passes.empty() && program.methods.size() > 1)
    return usage_error("passes for one method of a program with several: give the methods one by one");
  for (const auto& [method, list] : options.method_passes) {
    bool known = false;
    for (const auto& graph : program.methods) known = known || graph->name() == method;
    if (!known)
      return usage_error(
          fmt::format("transform passes are given for method '{}', which the program does not have", method));
    append(pipeline, list);
  }
  EL_TRY(auto after, recipe_passes(recipe->after, *recipe, lift));
  append(pipeline, after);
  passes::PassContext context{
      .ops = ops, .options = {}, .evaluate = options.evaluate, .later = {}, .pass = {}, .declined = {}};
  context.declined = [&](const ir::Node& node, std::string reason) {
    if (options.declined) options.declined(context.pass, node, reason);
  };
  EL_TRY_OK(passes::run_passes(program, pipeline, context, options.verify_each));
  // What neither a kernel nor the delegate takes. ExecuTorch's own flow would fail on such an operator, so that this
  // changes nothing where that flow succeeds.
  edge::Target target_of_edge = edge::Target::Full;
  if (recipe->partition == passes::Recipe::Partition::None) target_of_edge = edge::Target::Portable;
  if (recipe->partition == passes::Recipe::Partition::Upstream) target_of_edge = edge::Target::Upstream;
  EL_TRY(const bool decomposed, edge::legalize(program, ops, target_of_edge));
  if (decomposed && !recipe->late.empty()) {
    EL_TRY(const auto late, recipe_passes(recipe->late, *recipe, lift));
    EL_TRY_OK(passes::run_passes(program, late, context, options.verify_each));
  }
  program.stage = ir::Stage::Transformed;
  program.remove_unused_constants();
  if (options.verify_each) EL_TRY_OK(ir::verify(program, ops));
  observe("transform");
  if (times != nullptr) times->passes += seconds_since(start);

  progress("partition");
  const auto partition_start = Clock::now();
  partition::Options partitioning;
  switch (recipe->partition) {
    case passes::Recipe::Partition::None:
      partitioning.policy = partition::Policy::None;
      break;
    case passes::Recipe::Partition::Upstream:
      partitioning.policy = partition::Policy::Upstream;
      break;
    case passes::Recipe::Partition::Full:
      partitioning.policy = partition::Policy::Full;
      break;
  }
  partitioning.optimize.upstream = recipe->upstream_edge;
  xnn::Target target;
  xnn::ConvPolicy convolutions;
  if (!recipe->upstream_edge && !options.target.empty()) {
    EL_TRY(target, xnn::find_target(options.target));
    const auto effort = xnn::effort_from_name(options.optimize);
    if (!effort)
      return usage_error(fmt::format("unknown --optimize '{}'; known are size, balanced, speed", options.optimize));
    convolutions = {.target = &target, .effort = *effort, .max_error = options.max_error};
    partitioning.optimize.conv = &convolutions;
  }
  partitioning.max_delegate_weights = options.max_delegate_weights;
  EL_TRY(auto lowered, partition::partition(std::move(program), ops, partitioning));
  if (options.verify_each) EL_TRY_OK(ir::verify(lowered.program, ops));
  if (times != nullptr) times->partition += seconds_since(partition_start);
  return lowered;
}

}  // namespace

Result<ir::Program> open(const std::filesystem::path& path) {
  return guarded([&]() -> Result<ir::Program> { return importer::import_pt2(path, ops::table()); });
}

Result<ir::Program> parse_text(std::string_view text) {
  return guarded([&]() -> Result<ir::Program> { return ir::parse(text, ops::table()); });
}

Result<partition::Lowered> to_edge_transform_and_lower(ir::Program program, const LowerOptions& options,
                                                       StageTimes* times) {
  return guarded([&]() -> Result<partition::Lowered> { return lower_one(std::move(program), options, times); });
}

Result<partition::Lowered> to_edge_transform_and_lower(std::map<std::string, ir::Program> methods,
                                                       const LowerOptions& options, StageTimes* times) {
  return guarded([&]() -> Result<partition::Lowered> {
    if (methods.empty()) return usage_error("no method to lower");
    for (const auto& [name, passes] : options.method_passes)
      if (!methods.contains(name))
        return usage_error(
            fmt::format("transform passes are given for method '{}', which the program does not have", name));
    std::optional<partition::Lowered> all;
    for (auto& [name, program] : methods) {
      if (program.methods.size() != 1)
        return usage_error(fmt::format("method '{}' is a program of several methods", name));
      program.methods[0]->set_name(name);
      LowerOptions own = options;
      own.method_passes.clear();
      if (const auto at = options.method_passes.find(name); at != options.method_passes.end())
        append(own.transform_passes, at->second);
      EL_TRY(auto lowered, lower_one(std::move(program), own, times));
      if (!all) {
        all = std::move(lowered);
        continue;
      }
      const int first = static_cast<int>(all->program.delegates.size());
      all->program.absorb(std::move(lowered.program));
      for (xnn::Graph& graph : lowered.graphs) all->graphs.push_back(std::move(graph));
      for (partition::Verdict& verdict : lowered.verdicts) {
        if (verdict.delegate >= 0) verdict.delegate += first;
        all->verdicts.push_back(std::move(verdict));
      }
    }
    return std::move(*all);
  });
}

Status LoweringStage::set_transform_passes(TransformPasses passes) {
  (void)passes;
  return usage_error("this lowering stage cannot run transform passes; give them to a stage that takes them");
}

Result<emit::Emitted> to_executorch(const partition::Lowered& lowered, const emit::Options& options) {
  return guarded([&]() -> Result<emit::Emitted> { return emit::emit(lowered, options); });
}

Result<pte::WriteStats> write(const emit::Emitted& emitted, const std::filesystem::path& path) {
  return guarded([&]() -> Result<pte::WriteStats> { return pte::write(emitted.program, path); });
}

int Counts::portable_total() const {
  int total = 0;
  for (const auto& [name, n] : portable) total += n;
  return total;
}

Counts count(const partition::Lowered& lowered) {
  Counts counts;
  for (const auto& graph : lowered.program.methods) {
    for (const ir::Node* node = graph->first(); node != nullptr; node = node->next) {
      if (ops::is_delegate(*node)) {
        ++counts.delegates;
      } else {
        ++counts.portable[ops::record(*node).edge_name()];
      }
    }
  }
  for (const partition::Verdict& verdict : lowered.verdicts)
    if (verdict.delegate >= 0) ++counts.delegated[verdict.op];
  return counts;
}

}  // namespace edgelift
