// The command line: parses options, calls one function a verb. Exit codes: 0 ok, 1 the input's fault, 2 usage, 3 ours.
#include <csignal>
#include <exception>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/check.h"
#include "cli/common.h"
#include "cli/options.h"

namespace {

using namespace edgelift::cli;

void add_lowering_options(CLI::App* verb, LoweringArgs& args) {
  verb->add_option("--recipe", args.recipe, "xnnpack (default), upstream (ExecuTorch's own flow), portable");
  verb->add_option("--passes", args.passes, "transform passes to add, in order: a,b:key=value (edgelift opt --list)");
  verb->add_flag_callback(
      "--lift-scalars", [&] { args.lift = 1; }, "lift scalars into rank-0 constants");
  verb->add_flag_callback(
      "--no-lift-scalars", [&] { args.lift = 0; }, "leave scalars as they are");
  verb->add_option("--target", args.target, "generic (default), host, or a table made by `edgelift tune`");
  verb->add_option("--optimize", args.optimize,
                   "size, balanced (default) or speed: may convolution forms grow the weights");
  verb->add_option("--max-error", args.max_error, "largest error, relative to the output's range, that a form may add");
  verb->add_option("--max-delegate-weights", args.max_delegate_weights,
                   "bytes of weights in one delegate; 0 = no limit")
      ->check(CLI::NonNegativeNumber);
  verb->add_flag("--allow-missing-kernels", args.allow_missing_kernels,
                 "write calls of kernels that the runtime lacks");
  verb->add_flag("--verify", args.verify, "run the verifier after every pass");
}

void add_lowering(CLI::App* verb, LoweringArgs& args) {
  verb->add_option("model", args.model, "exported program (.pt2) or text form (.elir)")->required();
  add_lowering_options(verb, args);
}

}  // namespace

int main(int argc, char** argv) {
  // A file-size limit then is an error of write() like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("edgelift: from torch.export's .pt2 to ExecuTorch's .pte, in one delegate where that can be",
               "edgelift");
  app.require_subcommand(1);
  app.set_version_flag("--version", "edgelift " EDGELIFT_VERSION " (ExecuTorch " EDGELIFT_EXECUTORCH_VERSION ")");
  int code = 0;

  LowerArgs lower;
  auto* lower_verb = app.add_subcommand("lower", "compile a .pt2 to a .pte");
  add_lowering(lower_verb, lower);
  lower_verb->add_option("-o,--output", lower.output, "the .pte to write")->required();
  lower_verb->add_flag("--json", lower.json, "one JSON object on stdout");
  lower_verb->add_flag("--quiet", lower.quiet, "print nothing");
  lower_verb->add_flag_callback(
      "--no-plan-inputs", [&] { lower.plan_inputs = false; }, "inputs use the caller's memory");
  lower_verb->add_flag_callback(
      "--no-plan-outputs", [&] { lower.plan_outputs = false; }, "outputs use the caller's memory");
  lower_verb->callback([&] { code = run_lower(lower); });

  ExplainArgs explain;
  auto* explain_verb = app.add_subcommand("explain", "every operator: delegated or portable, and why");
  add_lowering(explain_verb, explain);
  explain_verb->add_flag("--json", explain.json, "one JSON object on stdout");
  explain_verb->add_flag("--all", explain.all, "list delegated operators too");
  explain_verb->callback([&] { code = run_explain(explain); });

  CheckArgs check;
  auto* check_verb = app.add_subcommand("check", "run the portable and the delegated form on the runtime and compare");
  add_lowering(check_verb, check);
  check_verb->add_option("program", check.program, "a .pte to check in place of a fresh lowering");
  check_verb->add_option("-i,--input", check.inputs, "an input (.npy), once for each; random where not given")
      ->allow_extra_args(false);
  check_verb->add_option("--expect", check.expected, "a recorded output (.npy), once for each")
      ->allow_extra_args(false);
  check_verb->add_option("--tolerance", check.tolerance, "largest error relative to the output's range (default 1e-4)");
  check_verb->add_option("--threads", check.threads, "threads of the runtime");
  check_verb->add_option("--seed", check.seed, "seed of random inputs");
  check_verb->add_flag("--json", check.json, "one JSON object on stdout");
  check_verb->callback([&] { code = run_check(check); });

  RunArgs run;
  auto* run_verb = app.add_subcommand("run", "run a .pte on the ExecuTorch runtime");
  run_verb->add_option("program", run.program, "the .pte")->required();
  run_verb->add_option("-i,--input", run.inputs, "an input: FILE.npy, or FILE.bin:f32[1,3,224,224]")
      ->allow_extra_args(false);
  run_verb->add_option("-o,--output", run.output, "directory for output0.npy …");
  run_verb->add_option("--method", run.method, "method to run (default forward)");
  run_verb->add_option("--threads", run.threads, "threads of the runtime");
  run_verb->add_option("--repeat", run.repeat,
                       "run so often in one process; state is kept; the last outputs are written");
  run_verb->add_option("--loader", run.loader, "mmap (default), file");
  run_verb->add_flag("--weight-cache", run.weight_cache, "turn on the XNNPACK weight cache");
  run_verb->add_flag("--json", run.json, "one JSON object on stdout");
  run_verb->callback([&] { code = run_run(run); });

  DumpArgs dump;
  auto* dump_verb = app.add_subcommand("dump", "print the program as text");
  add_lowering(dump_verb, dump);
  dump_verb->add_option("--stage", dump.stage, "import, edge (default), transform, partition");
  dump_verb->add_flag("--origins", dump.origins, "source line after each node");
  dump_verb->callback([&] { code = run_dump(dump); });

  OptArgs opt;
  auto* opt_verb = app.add_subcommand("opt", "run passes over a program in text form");
  opt_verb->add_option("input", opt.input, "the program (.elir)");
  opt_verb->add_option("--passes", opt.passes, "passes in order: a,b:key=value");
  opt_verb->add_flag("--list", opt.list, "list the passes");
  opt_verb->callback([&] {
    code =
        !opt.list && opt.input.empty() ? fail(edgelift::usage_error("opt needs a program, or --list")) : run_opt(opt);
  });

  InspectArgs inspect;
  auto* inspect_verb = app.add_subcommand("inspect", "what is in a .pt2 or .pte");
  inspect_verb->add_option("file", inspect.file, "the file")->required();
  inspect_verb->add_flag("--json", inspect.json, "one JSON object on stdout");
  inspect_verb->callback([&] { code = run_inspect(inspect); });

  BenchArgs bench;
  auto* bench_verb = app.add_subcommand("bench", "time .pte files against each other, interleaved");
  bench_verb->add_option("files", bench.files, "the .pte files")->required();
  bench_verb->add_option("-i,--input", bench.inputs, "an input (.npy), once for each; random where not given")
      ->allow_extra_args(false);
  bench_verb->add_option("--threads", bench.threads, "thread counts (default 1,2)");
  bench_verb->add_option("--iterations", bench.iterations, "runs of each file (default 50)");
  bench_verb->add_option("--loader", bench.loader, "mmap (default), file");
  bench_verb->add_flag("--json", bench.json, "one JSON object on stdout");
  bench_verb->callback([&] { code = run_bench(bench); });

  ProfileArgs profile;
  auto* profile_verb = app.add_subcommand("profile", "time each operator of a .pte on the runtime");
  profile_verb->add_option("program", profile.program, "a .pte, or a .pt2 or .elir that is lowered first")->required();
  profile_verb->add_option(
      "--model", profile.model,
      "the .pt2 that the .pte was lowered from, for source lines; give the same recipe, target and passes");
  add_lowering_options(profile_verb, profile);
  profile_verb->add_option("--method", profile.method, "method to run (default forward)");
  profile_verb->add_option("-i,--input", profile.inputs, "an input (.npy), once for each; random where not given")
      ->allow_extra_args(false);
  profile_verb->add_option("--threads", profile.threads, "threads (default 1)");
  profile_verb->add_option("--iterations", profile.iterations,
                           "runs (default 20); the minimum of each operator counts");
  profile_verb->add_flag("--json", profile.json, "one JSON object on stdout");
  profile_verb->callback([&] { code = run_profile(profile); });

  TuneArgs tune;
  auto* tune_verb = app.add_subcommand("tune", "time the forms of a model's convolutions on this machine");
  tune_verb->add_option("model", tune.model, "exported program (.pt2)");
  tune_verb->add_option("-o,--output", tune.output, "the table to write (.json)")->required();
  tune_verb->add_option("--name", tune.name, "name of the target in the table");
  tune_verb->add_option("--iterations", tune.iterations, "runs of each form (default 30)");
  tune_verb->add_flag("--grid", tune.grid, "in place of a model: the layers that the shipped tables hold");
  tune_verb->callback([&] { code = run_tune(tune); });

  OpsArgs ops;
  auto* ops_verb = app.add_subcommand("ops", "the operators that edgelift knows");
  ops_verb->add_flag("--markdown", ops.markdown, "as docs/operators.md");
  ops_verb->callback([&] { code = run_ops(ops); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return fail(edgelift::usage_error(fmt::format("{}; see edgelift --help", error.what())));
  } catch (const edgelift::Bug& bug) {
    return fail(
        edgelift::internal_error(fmt::format("internal error: {}; please report it with the model", bug.what())));
  } catch (const std::exception& error) {
    return fail(edgelift::internal_error(fmt::format("unexpected: {}", error.what())));
  }
  if (!flush_output()) return fail(edgelift::input_error("standard output: cannot write"));
  return code;
}
