#include "cli/inputs.h"

#include <fmt/format.h>

#include "base/numbers.h"
#include "runtime/bench.h"
#include "runtime/npy.h"

namespace edgelift::cli {

Result<TensorData> read_input(const std::string& spec) {
  const size_t bracket = spec.rfind('[');
  const size_t colon = bracket == std::string::npos ? std::string::npos : spec.rfind(':', bracket);
  if (colon == std::string::npos || !spec.ends_with("]")) return runtime::read_npy(spec);
  const std::string name = spec.substr(colon + 1, bracket - colon - 1);
  const auto dtype = dtype_from_short_name(name);
  if (!dtype)
    return usage_error(fmt::format("input '{}': unknown dtype '{}'; write FILE:f32[1,3,224,224]", spec, name));
  std::vector<int64_t> sizes;
  std::string_view list(spec);
  list = list.substr(bracket + 1, list.size() - bracket - 2);
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const auto size = parse_int(list.substr(0, comma));
    if (!size || *size < 0) return usage_error(fmt::format("input '{}': '{}' is no size", spec, list.substr(0, comma)));
    sizes.push_back(*size);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return runtime::read_raw(spec.substr(0, colon), *dtype, std::move(sizes));
}

Result<std::vector<runtime::Argument>> method_inputs(const std::vector<runtime::InputSpec>& specs,
                                                     const std::vector<std::string>& files, const uint64_t* seed) {
  using Kind = runtime::InputSpec::Kind;
  size_t tensors = 0;
  for (const runtime::InputSpec& spec : specs) tensors += spec.kind == Kind::Tensor ? 1 : 0;
  if (files.empty() && seed != nullptr) return runtime::make_inputs(specs, *seed);
  if (files.size() != tensors)
    return usage_error(fmt::format("the method takes {} tensor input{}, {} given with -i", tensors,
                                   tensors == 1 ? "" : "s", files.size()));
  std::vector<runtime::Argument> arguments;
  size_t file = 0;
  for (const runtime::InputSpec& spec : specs) {
    if (spec.kind != Kind::Tensor) {
      arguments.push_back(spec.literal);
    } else {
      EL_TRY(auto data, read_input(files[file++]));
      arguments.emplace_back(std::move(data));
    }
  }
  return arguments;
}

}  // namespace edgelift::cli
