// The shipped target tables as the JSON that `edgelift tune` writes.
#pragma once

#include <string_view>
#include <vector>

namespace edgelift::xnn {

std::vector<std::string_view> shipped_target_json();

}  // namespace edgelift::xnn
