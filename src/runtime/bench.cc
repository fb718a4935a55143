#include "runtime/bench.h"

#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "base/check.h"
#include "base/file.h"
#include "pte/program.h"

namespace edgelift::runtime {
namespace {

using Clock = std::chrono::steady_clock;
double milliseconds(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

struct Loaded {
  std::unique_ptr<Session> session;
  Method* method = nullptr;
  double load_ms = 0;
};

Result<Loaded> load(const std::filesystem::path& file, const BenchOptions& options) {
  Loaded loaded;
  SessionOptions session;
  session.load = options.load;
  session.verify = false;  // verified once before
  const Clock::time_point start = Clock::now();
  EL_TRY(loaded.session, Session::open(file, session));
  EL_TRY(loaded.method, loaded.session->method(options.method));
  loaded.load_ms = milliseconds(start, Clock::now());
  auto inputs = options.inputs.empty() ? make_inputs(loaded.method->inputs()) : options.inputs;
  if (const Status status = loaded.method->set_inputs(inputs); !status)
    return Error{status.error().kind, file.string() + ": " + status.error().message};
  return loaded;
}

// Pages of this process that belong to no file, from the kernel's own count.
uint64_t anonymous_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long long size = 0, resident = 0, shared = 0;
  const int read = std::fscanf(file, "%llu %llu %llu", &size, &resident, &shared);
  std::fclose(file);
  return read == 3 && resident >= shared ? (resident - shared) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

struct Memory {
  uint64_t peak_rss = 0, peak_anon = 0;
  char error[512] = {};
};

Memory measure_here(const std::filesystem::path& file, int threads, const BenchOptions& options) {
  Memory memory;
  std::atomic<bool> done = false;
  std::atomic<uint64_t> peak = 0;
  const auto sample = [&] {
    const uint64_t now = anonymous_bytes();
    if (now > peak) peak = now;
  };
  std::thread sampler([&] {
    while (!done) {
      sample();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  const auto run = [&]() -> Status {
    EL_TRY_OK(set_threads(threads));
    EL_TRY(const Loaded loaded, load(file, options));
    sample();
    for (int i = 0; i < 2; ++i) EL_TRY_OK(loaded.method->execute());
    sample();
    return Ok{};
  };
  const Status status = run();
  done = true;
  sampler.join();
  if (!status) std::snprintf(memory.error, sizeof memory.error, "%s", status.error().message.c_str());
  memory.peak_anon = peak;
  memory.peak_rss = peak_rss_bytes();
  return memory;
}

Result<Memory> measure_memory(const std::filesystem::path& file, int threads, const BenchOptions& options) {
  int ends[2];
  if (pipe(ends) != 0) return internal_error("no pipe to measure memory with");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return internal_error("no process to measure memory with");
  }
  if (child == 0) {
    close(ends[0]);
    const Memory memory = measure_here(file, threads, options);
    const ssize_t written = write(ends[1], &memory, sizeof memory);
    _exit(written == sizeof memory ? 0 : 1);
  }
  close(ends[1]);
  Memory memory;
  size_t got = 0;
  while (got < sizeof memory) {
    const ssize_t n = ::read(ends[0], reinterpret_cast<char*>(&memory) + got, sizeof memory - got);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<size_t>(n);
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (got != sizeof memory)
    return input_error(fmt::format("{}: the process that runs it ended early ({})", file.string(),
                                   WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status)) : "no report"));
  if (memory.error[0] != '\0') return input_error(memory.error);
  return memory;
}

}  // namespace

uint64_t peak_rss_bytes() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return 0;
  char line[256];
  unsigned long long kilobytes = 0;
  while (std::fgets(line, sizeof line, file) != nullptr)
    if (std::sscanf(line, "VmHWM: %llu kB", &kilobytes) == 1) break;
  std::fclose(file);
  return kilobytes * 1024;
}

std::vector<Argument> make_inputs(const std::vector<InputSpec>& specs, uint64_t seed) {
  uint64_t state = seed * 2 + 0x9E3779B97F4A7C15u;
  const auto next = [&] {  // splitmix64
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  };
  std::vector<Argument> inputs;
  for (const InputSpec& spec : specs) {
    if (spec.kind != InputSpec::Kind::Tensor) {
      inputs.push_back(spec.literal);
      continue;
    }
    size_t count = 1;
    for (const int64_t size : spec.sizes) count *= static_cast<size_t>(size);
    if (is_float(spec.dtype)) {
      std::vector<float> values(count);
      for (float& value : values) value = static_cast<float>(static_cast<double>(next() >> 40) * 0x1p-23 - 1.0);
      inputs.emplace_back(TensorData::of(DType::F32, spec.sizes, values).converted(spec.dtype));
    } else {
      std::vector<uint8_t> values(count);
      for (uint8_t& value : values) value = static_cast<uint8_t>(next() >> 63);
      inputs.emplace_back(TensorData::of(DType::U8, spec.sizes, values).converted(spec.dtype));
    }
  }
  return inputs;
}

constexpr int kRunsInARow = 5;

Result<BenchReport> bench(const BenchOptions& options) {
  if (options.files.empty()) return usage_error("no file to time");
  if (options.iterations < 1) return usage_error(fmt::format("{} iterations: give 1 or more", options.iterations));
  if (threads_started()) return internal_error("bench must be the first use of the runtime in a process");
  const size_t files = options.files.size();
  for (const std::filesystem::path& file : options.files) {
    EL_TRY(const auto mapped, MappedFile::open(file));
    if (const Status valid = pte::verify(mapped->bytes()); !valid)
      return Error{valid.error().kind, file.string() + ": " + valid.error().message};
  }
  std::vector<Memory> memory;
  for (const int threads : options.threads) {
    if (threads < 1) return usage_error(fmt::format("{} threads: give 1 or more", threads));
    for (const std::filesystem::path& file : options.files) {
      EL_TRY(Memory m, measure_memory(file, threads, options));
      memory.push_back(m);
    }
  }
  BenchReport report;
  double rounds_done = 0;
  for (size_t t = 0; t < options.threads.size(); ++t) {
    EL_TRY_OK(set_threads(options.threads[t]));
    std::vector<Loaded> loaded;
    for (const std::filesystem::path& file : options.files) {
      EL_TRY(Loaded one, load(file, options));
      loaded.push_back(std::move(one));
    }
    std::vector<std::vector<double>> times(files);
    // A few runs of one file, then of the next: as close in time as alternating single runs, without every run finding
    // the caches full of another file's weights, which no user of one model would see.
    const int total = options.warmup + options.iterations;
    for (int begin = 0; begin < total; begin += kRunsInARow) {
      const int end = std::min(begin + kRunsInARow, total);
      for (size_t f = 0; f < files; ++f) {
        for (int i = begin; i < end; ++i) {
          const Clock::time_point start = Clock::now();
          EL_TRY_OK(loaded[f].method->execute());
          if (i >= options.warmup) times[f].push_back(milliseconds(start, Clock::now()));
        }
      }
      options.progress((rounds_done += end - begin) /
                       (static_cast<double>(total) * static_cast<double>(options.threads.size())));
    }
    for (size_t f = 0; f < files; ++f) {
      std::sort(times[f].begin(), times[f].end());
      BenchRow row;
      row.file = options.files[f];
      row.threads = options.threads[t];
      row.min_ms = times[f].front();
      const size_t middle = times[f].size() / 2;
      row.median_ms = times[f].size() % 2 == 1 ? times[f][middle] : (times[f][middle - 1] + times[f][middle]) / 2;
      row.load_ms = loaded[f].load_ms;
      row.peak_rss_bytes = memory[t * files + f].peak_rss;
      row.peak_anon_bytes = memory[t * files + f].peak_anon;
      report.rows.push_back(row);
      if (f == 0) continue;
      const BenchRow& first = report.rows[report.rows.size() - 1 - f];
      report.ratios.push_back({row.file, row.threads, first.min_ms / row.min_ms, first.median_ms / row.median_ms});
    }
  }
  return report;
}

}  // namespace edgelift::runtime
