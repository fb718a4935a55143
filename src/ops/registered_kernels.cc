#include <algorithm>
#include <iterator>
#include <string_view>

#include "ops/record.h"

namespace edgelift::ops {
namespace {

constexpr std::string_view kRegistered[] = {
#include "registered_kernels.inc"
};
static_assert(std::is_sorted(std::begin(kRegistered), std::end(kRegistered)));

}  // namespace

bool kernel_registered(std::string_view kernel) {
  return std::binary_search(std::begin(kRegistered), std::end(kRegistered), kernel);
}

}  // namespace edgelift::ops
