#include "cli/inputs.h"

#include <map>

#include <fmt/format.h>

#include "base/numbers.h"
#include "runtime/bench.h"
#include "runtime/npy.h"

namespace edgelift::cli {

Result<runtime::Load> loader(const std::string& name) {
  if (name == "mmap") return runtime::Load::Mmap;
  if (name == "file") return runtime::Load::File;
  return usage_error(fmt::format("unknown loader '{}'; known are mmap, file", name));
}

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

Status check_sizes(const ir::Graph& graph, std::span<const runtime::Argument> inputs) {
  if (inputs.size() != graph.inputs().size()) return Ok{};  // the runtime says what it takes
  struct Bound {
    int64_t size;
    std::string where;
  };
  std::map<std::string, Bound> symbols;
  const auto lookup = [&](const Symbol& symbol) -> std::optional<int64_t> {
    const auto at = symbols.find(symbol.name);
    return at == symbols.end() ? std::nullopt : std::optional(at->second.size);
  };
  // First the dims that are a symbol of their own, then those that are computed of them.
  for (const bool computed : {false, true}) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto* given = std::get_if<TensorData>(&inputs[i]);
      const ir::Value& input = *graph.inputs()[i];
      if (given == nullptr || !input.type.is_tensor() || given->sizes().size() != input.type.sizes.size()) continue;
      for (size_t d = 0; d < input.type.sizes.size(); ++d) {
        const SymInt& size = input.type.sizes[d];
        const int64_t got = given->sizes()[d];
        const auto refuse = [&](const std::string& expected) {
          return input_error(fmt::format("input {} ({}) has size {} in dim {}, the model was exported for {} ({})", i,
                                         input.name, got, d, expected, ir::shape_text(input.type.sizes)));
        };
        const std::vector<SymbolPtr> used = size.symbols();
        const bool plain = used.size() == 1 && size == SymInt::symbol(used[0]);
        if (!computed && size.is_const() && size.value() != got) return refuse(fmt::format("{}", size.value()));
        if (size.is_const() || plain == computed) continue;
        if (got < size.lower() || got > size.upper())
          return refuse(size.upper() == kUnbounded ? fmt::format("at least {}", size.lower())
                                                   : fmt::format("{} to {}", size.lower(), size.upper()));
        if (plain) {
          const auto [at, fresh] =
              symbols.try_emplace(used[0]->name, Bound{got, fmt::format("dim {} of input {}", d, i)});
          if (!fresh && at->second.size != got)
            return refuse(fmt::format("the same as {}, {}", at->second.where, at->second.size));
        } else if (const auto expected = size.evaluate(lookup); expected && *expected != got) {
          return refuse(fmt::format("{} = {}", size.str(), *expected));
        }
      }
    }
  }
  return Ok{};
}

}  // namespace edgelift::cli
