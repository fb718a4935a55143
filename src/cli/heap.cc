// A lowering touches tens of megabytes once and ends: half of its time can be page faults. Large pages take most of
// them away. Called by the verbs that only lower; those that run a model leave the heap as the runtime would find it
// anywhere.
#include "cli/heap.h"

#include <cstdint>
#include <cstdlib>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace edgelift::cli {

void use_large_pages() {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
  // Address space alone: pages come into being when they are touched. Failures leave the heap as it was.
  constexpr int kReserve = 64 << 20, kLargestOfHeap = 32 << 20;
  if (mallopt(M_TOP_PAD, kReserve) == 0 || mallopt(M_MMAP_THRESHOLD, kLargestOfHeap) == 0 ||
      mallopt(M_TRIM_THRESHOLD, 4 * kReserve) == 0)
    return;
  void* const grows = std::malloc(kLargestOfHeap / 16);
  auto* const end = static_cast<char*>(sbrk(0));
  if (grows != nullptr && reinterpret_cast<intptr_t>(end) != -1) {
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const uintptr_t first = (reinterpret_cast<uintptr_t>(grows) + page - 1) / page * page;
    if (first < reinterpret_cast<uintptr_t>(end))
      madvise(reinterpret_cast<void*>(first), reinterpret_cast<uintptr_t>(end) - first, MADV_HUGEPAGE);
  }
  std::free(grows);
#endif
}

}  // namespace edgelift::cli
