// The command line: parses options, calls one function a verb. Exit codes: 0 ok, 1 the input's fault, 2 usage, 3 ours.
#include <csignal>
#include <exception>
#include <limits>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/check.h"
#include "base/numbers.h"
#include "cli/common.h"
#include "cli/options.h"

namespace {

using namespace edgelift::cli;

// A whole number in a range; the message says which instead of what failed to convert.
CLI::Validator whole_number(int64_t from, int64_t to) {
  const std::string range =
      to == std::numeric_limits<int64_t>::max() ? fmt::format("from {}", from) : fmt::format("from {} to {}", from, to);
  return CLI::Validator(
      [=](std::string& text) {
        const auto number = edgelift::parse_int(text);
        return number && *number >= from && *number <= to ? std::string()
                                                          : fmt::format("'{}' is no whole number {}", text, range);
      },
      "");
}
CLI::Validator count_from(int64_t from) { return whole_number(from, std::numeric_limits<int>::max()); }

void add_lowering_options(CLI::App* verb, LoweringArgs& args, bool emits) {
  const std::string group = "How to lower";
  verb->add_option("--recipe", args.recipe, "xnnpack (default), upstream (ExecuTorch's own flow), portable")
      ->type_name("NAME")
      ->group(group);
  verb->add_option("--passes", args.passes, "transform passes to add, in order: a,b:key=value (edgelift opt --list)")
      ->type_name("LIST")
      ->group(group);
  auto* lifts = verb->add_flag_callback(
      "--lift-scalars", [&] { args.lift = 1; }, "lift scalars into rank-0 constants (xnnpack does)");
  lifts->group(group);
  verb->add_flag_callback(
          "--no-lift-scalars", [&] { args.lift = 0; }, "leave scalars as they are (upstream and portable do)")
      ->group(group)
      ->excludes(lifts);
  verb->add_option("--target", args.target,
                   "forms of convolutions: generic (default), host, avx2, avx512, or a table made by `edgelift tune`")
      ->type_name("NAME|FILE")
      ->group(group);
  verb->add_option("--optimize", args.optimize,
                   "size, balanced (default) or speed: how far convolution forms may grow the weights")
      ->type_name("NAME")
      ->group(group);
  verb->add_option("--max-error", args.max_error,
                   "largest error, relative to the output's range, that a form may add (default 5e-6)")
      ->type_name("NUMBER")
      ->group(group);
  verb->add_option("--max-delegate-weights", args.max_delegate_weights,
                   "bytes of weights in one delegate (default 0: no limit)")
      ->type_name("BYTES")
      ->check(whole_number(0, std::numeric_limits<int64_t>::max()))
      ->group(group);
  if (emits)
    verb->add_flag("--allow-missing-kernels", args.allow_missing_kernels,
                   "write calls of kernels that the pinned runtime lacks")
        ->group(group);
  verb->add_flag("--verify", args.verify, "run the verifier after every pass")->group(group);
}

void add_model(CLI::App* verb, LoweringArgs& args) {
  verb->add_option("model", args.model, "exported program (.pt2) or text form (.elir)")->type_name("FILE")->required();
}

void add_inputs(CLI::App* verb, std::vector<std::string>& inputs, bool random) {
  verb->add_option("-i,--input", inputs,
                   fmt::format("FILE.npy, or raw bytes FILE.bin:f32[1,3,224,224]; once for each input, in order{}",
                               random ? "; without any they are random" : ""))
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
}

void add_threads(CLI::App* verb, int& threads, std::string_view standard) {
  verb->add_option("--threads", threads,
                   fmt::format("threads of the runtime, 0: one for each core (default {})", standard))
      ->check(whole_number(0, 1024));
}

void add_iterations(CLI::App* verb, int& iterations, std::string_view what) {
  verb->add_option("--iterations", iterations, std::string(what))->check(count_from(1));
}

void add_method(CLI::App* verb, std::string& method) {
  verb->add_option("--method", method, "the method (default forward)")->type_name("NAME");
}

void add_loader(CLI::App* verb, std::string& loader) {
  verb->add_option("--loader", loader, "how the runtime reads the file: mmap (default), file")->type_name("NAME");
}

void add_json(CLI::App* verb, bool& json) { verb->add_flag("--json", json, "one JSON object on stdout"); }

}  // namespace

int main(int argc, char** argv) {
  // A file-size limit then is an error of write() like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app("edgelift: from torch.export's .pt2 to ExecuTorch's .pte, in one delegate where that can be",
               "edgelift");
  app.require_subcommand(1);
  app.set_version_flag("--version", "edgelift " EDGELIFT_VERSION " (ExecuTorch " EDGELIFT_EXECUTORCH_VERSION ")");
  app.footer(
      "`edgelift VERB --help` has the options of a verb.\n"
      "Exit codes: 0 ok, 1 the input's fault, 2 usage, 3 a defect of edgelift.");
  int code = 0;

  LowerArgs lower;
  auto* lower_verb = app.add_subcommand("lower", "compile a .pt2 to a .pte");
  add_model(lower_verb, lower);
  lower_verb->add_option("-o,--output", lower.output, "the .pte to write")->type_name("FILE")->required();
  add_json(lower_verb, lower.json);
  lower_verb->add_flag("--quiet", lower.quiet, "print nothing");
  lower_verb->add_flag_callback(
      "--no-plan-inputs", [&] { lower.plan_inputs = false; }, "inputs use the caller's memory, not the arena");
  lower_verb->add_flag_callback(
      "--no-plan-outputs", [&] { lower.plan_outputs = false; }, "outputs use the caller's memory, not the arena");
  add_lowering_options(lower_verb, lower, true);
  lower_verb->footer("Example: edgelift lower model.pt2 -o model.pte --target host");
  lower_verb->callback([&] { code = run_lower(lower); });

  ExplainArgs explain;
  auto* explain_verb = app.add_subcommand("explain", "every operator: delegated or portable, where from, and why");
  add_model(explain_verb, explain);
  add_json(explain_verb, explain.json);
  explain_verb->add_flag("--all", explain.all, "list delegated operators too");
  add_lowering_options(explain_verb, explain, false);
  explain_verb->footer("Example: edgelift explain model.pt2 --recipe upstream");
  explain_verb->callback([&] { code = run_explain(explain); });

  CheckArgs check;
  auto* check_verb = app.add_subcommand("check", "run the portable and the delegated form on the runtime and compare");
  add_model(check_verb, check);
  check_verb->add_option("program", check.program, "a .pte to check in place of a fresh lowering")->type_name("FILE");
  add_inputs(check_verb, check.inputs, true);
  check_verb->add_option("--expect", check.expected, "a recorded output (.npy), once for each, in order")
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
  check_verb->add_option("--tolerance", check.tolerance, "largest error relative to the output's range (default 1e-4)")
      ->type_name("NUMBER");
  add_threads(check_verb, check.threads, "0");
  check_verb->add_option("--seed", check.seed, "seed of random inputs (default 1)")
      ->check(whole_number(0, std::numeric_limits<int64_t>::max()));
  add_json(check_verb, check.json);
  add_lowering_options(check_verb, check, true);
  check_verb->footer(
      "Example: edgelift check model.pt2 model.pte -i x.npy --expect y.npy\nExit code 1 where something differs.");
  check_verb->callback([&] { code = run_check(check); });

  RunArgs run;
  auto* run_verb = app.add_subcommand("run", "run a .pte on the ExecuTorch runtime");
  run_verb->add_option("program", run.program, "the .pte")->type_name("FILE")->required();
  add_inputs(run_verb, run.inputs, false);
  run_verb->add_option("-o,--output", run.output, "folder for output0.npy …; all are written or none")
      ->type_name("FOLDER");
  add_method(run_verb, run.method);
  add_threads(run_verb, run.threads, "0");
  run_verb
      ->add_option("--repeat", run.repeat,
                   "calls in one process (default 1); state is kept; the last outputs are written")
      ->check(count_from(1));
  add_loader(run_verb, run.loader);
  run_verb->add_flag("--weight-cache", run.weight_cache, "turn on the XNNPACK weight cache");
  add_json(run_verb, run.json);
  run_verb->footer("Example: edgelift run model.pte -i x.npy -o out/");
  run_verb->callback([&] { code = run_run(run); });

  BenchArgs bench;
  auto* bench_verb = app.add_subcommand("bench", "time .pte files against each other, interleaved");
  bench_verb->add_option("files", bench.files, "the .pte files; ratios are against the first")
      ->type_name("FILE")
      ->required();
  add_inputs(bench_verb, bench.inputs, true);
  bench_verb->add_option("--threads", bench.threads, "thread counts, in order (default 1,2)")->type_name("LIST");
  add_iterations(bench_verb, bench.iterations, "runs of each file and thread count (default 50)");
  add_method(bench_verb, bench.method);
  add_loader(bench_verb, bench.loader);
  add_json(bench_verb, bench.json);
  bench_verb->footer("Example: edgelift bench a.pte b.pte --threads 1,2 --iterations 100");
  bench_verb->callback([&] { code = run_bench(bench); });

  ProfileArgs profile;
  auto* profile_verb =
      app.add_subcommand("profile", "time each operator on the runtime, with the node and source line it came from");
  profile_verb->add_option("program", profile.program, "a .pt2 or .elir, which is lowered first, or a .pte")
      ->type_name("FILE")
      ->required();
  profile_verb
      ->add_option("--model", profile.model,
                   "with a .pte: the .pt2 that it was lowered from, for source lines; lower it in the same way")
      ->type_name("FILE");
  add_inputs(profile_verb, profile.inputs, true);
  add_method(profile_verb, profile.method);
  add_threads(profile_verb, profile.threads, "1");
  add_iterations(profile_verb, profile.iterations, "runs (default 20); the minimum of each operator counts");
  add_json(profile_verb, profile.json);
  add_lowering_options(profile_verb, profile, true);
  profile_verb->footer("Example: edgelift profile model.pt2 -i x.npy");
  profile_verb->callback([&] { code = run_profile(profile); });

  TuneArgs tune;
  auto* tune_verb = app.add_subcommand("tune", "time the forms of a model's convolutions on this machine");
  tune_verb->add_option("model", tune.model, "exported program (.pt2)")->type_name("FILE");
  tune_verb->add_option("-o,--output", tune.output, "the table to write (.json)")->type_name("FILE")->required();
  tune_verb->add_option("--name", tune.name, "name of the target in the table (default tuned)")->type_name("NAME");
  add_iterations(tune_verb, tune.iterations, "runs of each form (default 30)");
  tune_verb->add_flag("--grid", tune.grid, "in place of a model: the layers that the shipped tables hold");
  tune_verb->footer(
      "Example: edgelift tune model.pt2 -o here.json && edgelift lower model.pt2 -o m.pte --target here.json");
  tune_verb->callback([&] { code = run_tune(tune); });

  InspectArgs inspect;
  auto* inspect_verb = app.add_subcommand("inspect", "what is in a .pt2 or .pte");
  inspect_verb->add_option("file", inspect.file, "the file")->type_name("FILE")->required();
  add_json(inspect_verb, inspect.json);
  inspect_verb->footer("Example: edgelift inspect model.pte");
  inspect_verb->callback([&] { code = run_inspect(inspect); });

  DumpArgs dump;
  auto* dump_verb = app.add_subcommand("dump", "print the program as text");
  add_model(dump_verb, dump);
  dump_verb->add_option("--stage", dump.stage, "after which: import, edge (default), transform, partition")
      ->type_name("NAME");
  dump_verb->add_flag("--origins", dump.origins, "source line after each node");
  add_lowering_options(dump_verb, dump, false);
  dump_verb->footer("Example: edgelift dump model.pt2 --stage partition");
  dump_verb->callback([&] { code = run_dump(dump); });

  OptArgs opt;
  auto* opt_verb = app.add_subcommand("opt", "run passes over a program and print it as text");
  opt_verb->add_option("input", opt.input, "the program (.elir or .pt2)")->type_name("FILE");
  opt_verb->add_option("--passes", opt.passes, "passes in order: a,b:key=value")->type_name("LIST");
  opt_verb->add_flag("--list", opt.list, "list the passes and their options");
  opt_verb->footer("Example: edgelift opt program.elir --passes lift-scalars");
  opt_verb->callback([&] {
    code =
        !opt.list && opt.input.empty() ? fail(edgelift::usage_error("opt needs a program, or --list")) : run_opt(opt);
  });

  OpsArgs ops;
  auto* ops_verb = app.add_subcommand("ops", "the operators that edgelift knows");
  ops_verb->add_flag("--markdown", ops.markdown, "as docs/operators.md");
  ops_verb->footer("Example: edgelift ops --markdown");
  ops_verb->callback([&] { code = run_ops(ops); });

  const std::string_view verb = argc > 1 ? argv[1] : "";
  std::string verbs;
  bool known = verb.empty() || verb[0] == '-';
  for (const CLI::App* one : app.get_subcommands([](CLI::App*) { return true; })) {
    known = known || one->get_name() == verb;
    verbs += (verbs.empty() ? "" : ", ") + one->get_name();
  }
  if (!known) return fail(edgelift::usage_error(fmt::format("unknown verb '{}'; known are {}", verb, verbs)));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    if (verb.empty())
      return fail(edgelift::usage_error(fmt::format("a verb is missing; known are {}; see edgelift --help", verbs)));
    return fail(edgelift::usage_error(
        fmt::format("{}; see edgelift {}--help", error.what(), verb[0] == '-' ? "" : std::string(verb) + " ")));
  } catch (const edgelift::Bug& bug) {
    return fail(
        edgelift::internal_error(fmt::format("internal error: {}; please report it with the model", bug.what())));
  } catch (const std::exception& error) {
    return fail(edgelift::internal_error(fmt::format("unexpected: {}", error.what())));
  }
  if (!flush_output()) return fail(edgelift::input_error("standard output: cannot write"));
  return code;
}
