// Prints the names of all kernels that the linked ExecuTorch libraries register, as sorted lines of a C++ initialiser.
// Run by the build (cmake/kernels.cmake).
#include <cstdio>
#include <set>
#include <string>

#include <executorch/runtime/kernel/operator_registry.h>

int main(int argc, char** argv) {
  std::set<std::string> names;
  for (const executorch::runtime::Kernel& kernel : executorch::runtime::get_registered_kernels())
    if (kernel.name_ != nullptr) names.insert(kernel.name_);
  if (names.empty() || argc != 2) return 1;
  std::FILE* out = std::fopen(argv[1], "w");
  if (out == nullptr) return 1;
  for (const std::string& name : names) std::fprintf(out, "\"%s\",\n", name.c_str());
  return std::fclose(out) == 0 ? 0 : 1;
}
