#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/numbers.h"
#include "cli/common.h"
#include "cli/inputs.h"
#include "runtime/bench.h"

namespace edgelift::cli {

namespace {

Result<std::vector<int>> thread_counts(std::string_view text) {
  std::vector<int> counts;
  for (;;) {
    const size_t comma = std::min(text.find(','), text.size());
    const auto n = parse_int(text.substr(0, comma));
    if (!n || *n < 1 || *n > 1024)
      return usage_error(
          fmt::format("--threads: '{}' is no number of threads from 1 to 1024; write 1,2", text.substr(0, comma)));
    counts.push_back(static_cast<int>(*n));
    if (comma == text.size()) return counts;
    text.remove_prefix(comma + 1);
  }
}

Result<runtime::BenchReport> measure(const BenchArgs& args) {
  runtime::BenchOptions options;
  for (const std::string& file : args.files) options.files.emplace_back(file);
  EL_TRY(options.threads, thread_counts(args.threads));
  options.iterations = args.iterations;
  options.method = args.method;
  EL_TRY(options.load, loader(args.loader));
  for (const std::string& file : args.inputs) {
    EL_TRY(auto data, read_input(file));
    options.inputs.emplace_back(std::move(data));
  }
  Progress progress;
  options.progress = [&](double share) { progress.stage(fmt::format("timing, {:.0f}%", share * 100)); };
  return runtime::bench(options);
}

}  // namespace

int run_bench(const BenchArgs& args) {
  const auto report = measure(args);
  if (!report.ok()) return fail(report.error());
  if (args.json) {
    using Json = nlohmann::ordered_json;
    Json json;
    json["files"] = Json::array();
    for (const runtime::BenchRow& row : report->rows)
      json["files"].push_back({{"file", row.file.string()},
                               {"threads", row.threads},
                               {"min_ms", row.min_ms},
                               {"median_ms", row.median_ms},
                               {"load_ms", row.load_ms},
                               {"peak_rss_bytes", row.peak_rss_bytes},
                               {"peak_anon_bytes", row.peak_anon_bytes}});
    json["ratios"] = Json::array();
    for (const runtime::BenchRatio& ratio : report->ratios)
      json["ratios"].push_back({{"file", ratio.file.string()},
                                {"against", args.files[0]},
                                {"threads", ratio.threads},
                                {"min", ratio.by_min},
                                {"median", ratio.by_median}});
    print_json(json);
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {
      {"file", "threads", "min ms", "median ms", "speed", "load ms", "peak memory", "of it anonymous"}};
  size_t ratio = 0;
  for (const runtime::BenchRow& row : report->rows) {
    const bool first = row.file.string() == args.files[0];
    std::string speed = "1.00x";
    if (!first && ratio < report->ratios.size()) {
      const double by_min = report->ratios[ratio++].by_min;
      speed = by_min < 0.1 ? fmt::format("{:.2g}x", by_min) : fmt::format("{:.2f}x", by_min);
    }
    rows.push_back({row.file.string(), fmt::format("{}", row.threads), fmt::format("{:.3f}", row.min_ms),
                    fmt::format("{:.3f}", row.median_ms), speed, fmt::format("{:.1f}", row.load_ms),
                    human_bytes(row.peak_rss_bytes), human_bytes(row.peak_anon_bytes)});
  }
  print_text(table(rows) + fmt::format("\nspeed: against {}, by the minimum of {} interleaved runs\n", args.files[0],
                                       args.iterations));
  return 0;
}

}  // namespace edgelift::cli
