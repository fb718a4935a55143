// Runs a fuzz target without libFuzzer, so that it works under g++ with ASan and UBSan: mutates seeds for a while with
// a pseudo-random generator of fixed seed. Build a target with clang's -fsanitize=fuzzer instead to have coverage guide
// it.
//
// usage: fuzz_X [--seconds=N] [--seed=N] [--runs=N] FILE_OR_FOLDER...
// With --runs=0 every file is run once as it is: that is how a saved crash is looked at.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// Optional in a target: a mutation that knows the format.
extern "C" __attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most,
                                                                unsigned int seed);
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using Bytes = std::vector<uint8_t>;

Bytes current;

// The input that is being run goes to a file when it kills the process.
void save_current() {
  static bool saved = false;
  if (saved) return;
  saved = true;
  if (std::FILE* file = std::fopen("fuzz-crash.bin", "wb")) {
    std::fwrite(current.data(), 1, current.size(), file);
    std::fclose(file);
    std::fprintf(stderr, "\nthe input was written to fuzz-crash.bin (%zu bytes)\n", current.size());
  }
}

void on_signal(int number) {
  save_current();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

struct Random {
  uint64_t state;
  uint64_t next() {  // splitmix64
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  size_t below(size_t bound) { return bound == 0 ? 0 : static_cast<size_t>(next() % bound); }
};

void mutate_bytes(Bytes& bytes, Random& random) {
  if (bytes.empty()) {
    bytes.push_back(static_cast<uint8_t>(random.next()));
    return;
  }
  const size_t at = random.below(bytes.size());
  const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  const size_t length = std::min(bytes.size() - at, size_t{1} << random.below(12));
  const auto end = place + static_cast<std::ptrdiff_t>(length);
  switch (random.below(7)) {
    case 0:
      bytes[at] = static_cast<uint8_t>(bytes[at] ^ (1u << random.below(8)));
      break;
    case 1:
      bytes[at] = static_cast<uint8_t>(random.next());
      break;
    case 2:
      bytes.erase(place, end);
      break;
    case 3: {
      const Bytes copy(place, end);
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(random.below(bytes.size())), copy.begin(), copy.end());
      break;
    }
    case 4:
      bytes.resize(at);
      break;
    case 5: {  // a number of some width, at its limits
      const uint64_t values[] = {0,           1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0xffffffff, 0x7fffffffffffffff,
                                 ~uint64_t{0}};
      const uint64_t value = values[random.below(std::size(values))];
      const size_t width = std::min(bytes.size() - at, size_t{1} << random.below(4));
      std::memcpy(bytes.data() + at, &value, width);
      break;
    }
    default:
      std::fill(place, end, static_cast<uint8_t>(random.below(2) == 0 ? 0 : 0xff));
      break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 60;
  uint64_t seed = 1, most_runs = ~uint64_t{0};
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg.starts_with("--seconds=")) {
      seconds = std::stod(arg.substr(10));
    } else if (arg.starts_with("--seed=")) {
      seed = std::stoull(arg.substr(7));
    } else if (arg.starts_with("--runs=")) {
      most_runs = std::stoull(arg.substr(7));
    } else if (std::filesystem::is_directory(arg)) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(arg))
        if (entry.is_regular_file()) files.push_back(entry.path());
    } else {
      files.emplace_back(arg);
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> seeds;
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "cannot read %s\n", path.c_str());
      return 2;
    }
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (seeds.empty()) {
    std::fprintf(stderr, "usage: %s [--seconds=N] [--seed=N] [--runs=N] FILE_OR_FOLDER...\n", argv[0]);
    return 2;
  }
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(save_current);
  } else {
    std::signal(SIGSEGV, on_signal);
  }
  std::signal(SIGABRT, on_signal);

  const auto run = [](const Bytes& bytes) {
    current = bytes;
    // Exactly sized, so that ASan sees a read behind the end.
    Bytes exact(bytes);
    exact.shrink_to_fit();
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
  };
  for (const Bytes& bytes : seeds) run(bytes);
  Random random{seed};
  const auto start = std::chrono::steady_clock::now();
  uint64_t runs = 0;
  double slowest = 0;
  for (; runs < most_runs; ++runs) {
    const auto before = std::chrono::steady_clock::now();
    if (std::chrono::duration<double>(before - start).count() > seconds) break;
    Bytes bytes = seeds[random.below(seeds.size())];
    const size_t count = 1 + random.below(4);
    const bool knows = LLVMFuzzerCustomMutator != nullptr && random.below(4) != 0;
    for (size_t i = 0; i < count; ++i) {
      if (!knows) {
        mutate_bytes(bytes, random);
        continue;
      }
      const size_t size = bytes.size(), most = size * 2 + 65536;
      bytes.resize(most);
      bytes.resize(LLVMFuzzerCustomMutator(bytes.data(), size, most, static_cast<unsigned>(random.next())));
    }
    const auto ready = std::chrono::steady_clock::now();
    run(bytes);
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - ready).count();
    if (took > slowest) {
      slowest = took;
      if (took > 20) {
        std::fprintf(stderr, "one input took %.0f s\n", took);
        save_current();
        return 1;
      }
    }
  }
  std::printf("%llu runs from %zu seeds, the slowest took %.3f s\n", static_cast<unsigned long long>(runs),
              seeds.size(), slowest);
  return 0;
}
