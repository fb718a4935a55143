// The f32 multiply-add peak of this machine, against which bench/run states what share of it an engine uses.
// Usage: fma_peak THREADS; prints GFLOP/s (a fused multiply-add counts as two).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

// As many independent sums as hide the latency of the multiply-add: four to six cycles on two units.
constexpr int kSums = 12;
constexpr int kSteps = 1 << 16;

#if defined(__x86_64__)
__attribute__((target("avx512f"))) double steps_avx512() {
  __m512 sums[kSums];
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (__m512& sum : sums) sum = b;
  for (int i = 0; i < kSteps; ++i)
#pragma GCC unroll 12
    for (int j = 0; j < kSums; ++j) sums[j] = _mm512_fmadd_ps(sums[j], a, b);
  __m512 all = sums[0];
  for (int j = 1; j < kSums; ++j) all = _mm512_add_ps(all, sums[j]);
  alignas(64) float out[16];
  _mm512_store_ps(out, all);
  return static_cast<double>(out[0]);
}
__attribute__((target("avx2,fma"))) double steps_avx2() {
  __m256 sums[kSums];
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
  for (__m256& sum : sums) sum = b;
  for (int i = 0; i < kSteps; ++i)
#pragma GCC unroll 12
    for (int j = 0; j < kSums; ++j) sums[j] = _mm256_fmadd_ps(sums[j], a, b);
  __m256 all = sums[0];
  for (int j = 1; j < kSums; ++j) all = _mm256_add_ps(all, sums[j]);
  alignas(32) float out[8];
  _mm256_store_ps(out, all);
  return static_cast<double>(out[0]);
}
#endif
// Whatever the compiler makes of it for the base instruction set (NEON on 64-bit ARM).
double steps_base() {
  using Vector = float __attribute__((vector_size(16)));
  Vector sums[kSums];
  const Vector a = {0.999f, 0.999f, 0.999f, 0.999f}, b = {0.001f, 0.001f, 0.001f, 0.001f};
  for (Vector& sum : sums) sum = b;
  for (int i = 0; i < kSteps; ++i)
#pragma GCC unroll 12
    for (int j = 0; j < kSums; ++j) sums[j] = sums[j] * a + b;
  Vector all = sums[0];
  for (int j = 1; j < kSums; ++j) all += sums[j];
  return static_cast<double>(all[0]);
}

struct Kernel {
  double (*run)();
  int lanes;
};
Kernel kernel() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") != 0) return {steps_avx512, 16};
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) return {steps_avx2, 8};
#endif
  return {steps_base, 4};
}

}  // namespace

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  if (threads < 1 || threads > 1024) {
    std::fprintf(stderr, "fma_peak: %s threads: give 1 to 1024\n", argc > 1 ? argv[1] : "");
    return 2;
  }
  const Kernel best = kernel();
  double peak = 0;
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<std::thread> pool;
    std::vector<double> seconds(static_cast<size_t>(threads)), results(seconds.size());
    for (size_t t = 0; t < seconds.size(); ++t)
      pool.emplace_back([&, t] {
        double sum = best.run();  // warm
        const Clock::time_point start = Clock::now();
        for (int i = 0; i < 8; ++i) sum += best.run();
        seconds[t] = std::chrono::duration<double>(Clock::now() - start).count();
        results[t] = sum;
      });
    for (std::thread& thread : pool) thread.join();
    double rate = 0;
    for (size_t t = 0; t < seconds.size(); ++t)
      if (results[t] > 0) rate += 8.0 * kSteps * kSums * best.lanes * 2 / seconds[t];
    if (rate > peak) peak = rate;
  }
  std::printf("%.1f\n", peak * 1e-9);
  return 0;
}
