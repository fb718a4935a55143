#include "xnnpack/target.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/file.h"
#include "xnnpack/target_tables.h"

namespace edgelift::xnn {

std::optional<ConvShape> conv_shape(const Graph& graph, const Node& node) {
  if (node.kind != Kind::Conv2d) return std::nullopt;
  const Value& in = graph.values[node.inputs[0]];
  const Value& out = graph.values[node.outputs[0]];
  for (const SymInt& dim : in.dims)
    if (!dim.is_const()) return std::nullopt;
  for (const SymInt& dim : out.dims)
    if (!dim.is_const()) return std::nullopt;
  const Window& w = node.window;
  return ConvShape{in.dims[3].value(), out.dims[3].value(), out.dims[1].value(), out.dims[2].value(),
                   w.kernel_h,         w.kernel_w,          w.stride_h,          w.stride_w};
}

namespace {

double log2_of(int64_t n) { return std::log2(static_cast<double>(std::max<int64_t>(n, 1))); }

// Octaves between two layers of one kernel and stride.
double distance(const ConvShape& a, const ConvShape& b) {
  const double ic = log2_of(a.in_channels) - log2_of(b.in_channels),
               oc = log2_of(a.out_channels) - log2_of(b.out_channels);
  const double pixels = (log2_of(a.out_height * a.out_width) - log2_of(b.out_height * b.out_width)) / 2;
  return std::sqrt(ic * ic / 2 + oc * oc / 2 + pixels * pixels);
}

constexpr double kReach = 1.6;  // octaves beyond which a measurement says nothing
constexpr size_t kNeighbours = 3;

}  // namespace

std::optional<double> gain(const Target& target, const ConvShape& shape, ConvForm form) {
  std::vector<std::pair<double, double>> near;  // distance, log gain
  for (const MeasuredLayer& layer : target.layers) {
    const ConvShape& s = layer.shape;
    if (s.kernel_h != shape.kernel_h || s.kernel_w != shape.kernel_w || s.stride_h != shape.stride_h ||
        s.stride_w != shape.stride_w)
      continue;
    for (const FormGain& row : layer.gains) {
      if (row.form != form || row.gain <= 0) continue;
      const double d = distance(s, shape);
      if (d < 1e-9) return row.gain;
      if (d <= kReach) near.emplace_back(d, std::log(row.gain));
    }
  }
  if (near.empty()) return std::nullopt;
  std::sort(near.begin(), near.end());
  near.resize(std::min(near.size(), kNeighbours));
  double weight = 0, sum = 0;
  for (const auto& [d, log_gain] : near) {
    weight += 1 / (d * d);
    sum += log_gain / (d * d);
  }
  return std::exp(sum / weight);
}

const std::vector<Target>& shipped_targets() {
  static const std::vector<Target> targets = [] {
    std::vector<Target> made;
    for (const std::string_view json : shipped_target_json()) {
      auto target = target_from_json(json, "a shipped table");
      EL_CHECK(target.ok(), target.ok() ? "" : target.error().message);
      made.push_back(*std::move(target));
    }
    return made;
  }();
  return targets;
}

namespace {

const Target* shipped(std::string_view name) {
  for (const Target& target : shipped_targets())
    if (target.name == name) return &target;
  return nullptr;
}

// Every layer that any table measured, with the least gain that the tables give it.
Target generic_target() {
  Target generic;
  generic.name = "generic";
  generic.machine = "the least of every shipped table";
  for (const Target& target : shipped_targets()) {
    for (const MeasuredLayer& layer : target.layers) {
      if (std::any_of(generic.layers.begin(), generic.layers.end(),
                      [&](const MeasuredLayer& l) { return l.shape == layer.shape; }))
        continue;
      MeasuredLayer least{layer.shape, {}};
      for (const FormGain& row : layer.gains) {
        double value = row.gain;
        bool everywhere = true;
        for (const Target& other : shipped_targets()) {
          const auto g = gain(other, layer.shape, row.form);
          everywhere = everywhere && g.has_value();
          if (g) value = std::min(value, *g);
        }
        if (everywhere) least.gains.push_back({row.form, value});
      }
      generic.layers.push_back(std::move(least));
    }
  }
  return generic;
}

std::string_view host_class() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0) return "avx512";
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) return "avx2";
#endif
  return "";
}

}  // namespace

Result<Target> find_target(std::string_view name) {
  if (name == "generic") return generic_target();
  if (name == "host") {
    const Target* found = shipped(host_class());
    return found != nullptr ? *found : generic_target();
  }
  if (const Target* found = shipped(name)) return *found;
  const std::filesystem::path path(name);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    std::string known = "generic, host";
    for (const Target& target : shipped_targets()) known += ", " + target.name;
    return usage_error(
        fmt::format("unknown target '{}': neither a file nor one of {}; `edgelift tune` makes a file", name, known));
  }
  EL_TRY(const std::string text, read_file(path));
  return target_from_json(text, name);
}

std::string to_json(const Target& target) {
  nlohmann::ordered_json json;
  json["edgelift_target"] = 1;
  json["name"] = target.name;
  json["machine"] = target.machine;
  json["layers"] = nlohmann::ordered_json::array();
  for (const MeasuredLayer& layer : target.layers) {
    const ConvShape& s = layer.shape;
    nlohmann::ordered_json row;
    row["conv"] = {s.in_channels, s.out_channels, s.out_height, s.out_width,
                   s.kernel_h,    s.kernel_w,     s.stride_h,   s.stride_w};
    for (const FormGain& g : layer.gains) row[std::string(form_name(g.form))] = std::round(g.gain * 1000) / 1000;
    json["layers"].push_back(std::move(row));
  }
  // One layer a line, so that tables can be read and compared.
  std::string text = fmt::format("{{\"edgelift_target\": 1, \"name\": {}, \"machine\": {}, \"layers\": [\n",
                                 json["name"].dump(), json["machine"].dump());
  for (size_t i = 0; i < json["layers"].size(); ++i)
    text += "  " + json["layers"][i].dump() + (i + 1 < json["layers"].size() ? ",\n" : "\n");
  return text + "]}\n";
}

Result<Target> target_from_json(std::string_view text, std::string_view source) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto bad = [&](std::string_view what) {
    return input_error(fmt::format("{}: not a target table: {}; `edgelift tune` writes one", source, what));
  };
  if (json.is_discarded() || !json.is_object()) return bad("not a JSON object");
  if (!json.contains("edgelift_target") || json["edgelift_target"] != 1) return bad("no \"edgelift_target\": 1");
  if (!json.contains("layers") || !json["layers"].is_array()) return bad("no \"layers\"");
  Target target;
  target.name =
      json.contains("name") && json["name"].is_string() ? json["name"].get<std::string>() : std::string(source);
  if (json.contains("machine") && json["machine"].is_string()) target.machine = json["machine"].get<std::string>();
  for (const auto& row : json["layers"]) {
    if (!row.is_object() || !row.contains("conv") || !row["conv"].is_array() || row["conv"].size() != 8)
      return bad("a layer without eight \"conv\" numbers");
    std::vector<int64_t> n;
    for (const auto& number : row["conv"]) {
      if (!number.is_number_integer() || number.get<int64_t>() <= 0 || number.get<int64_t>() > (int64_t{1} << 31))
        return bad("a \"conv\" number out of range");
      n.push_back(number.get<int64_t>());
    }
    MeasuredLayer layer;
    layer.shape = {n[0],
                   n[1],
                   n[2],
                   n[3],
                   static_cast<uint32_t>(n[4]),
                   static_cast<uint32_t>(n[5]),
                   static_cast<uint32_t>(n[6]),
                   static_cast<uint32_t>(n[7])};
    for (const auto& [key, value] : row.items()) {
      if (key == "conv") continue;
      const auto form = form_from_name(key);
      if (!form) return bad(fmt::format("unknown form \"{}\"", key));
      if (!value.is_number() || !(value.get<double>() > 0))
        return bad(fmt::format("the gain of \"{}\" is not a positive number", key));
      layer.gains.push_back({*form, value.get<double>()});
    }
    target.layers.push_back(std::move(layer));
  }
  return target;
}

std::optional<Effort> effort_from_name(std::string_view name) {
  if (name == "size") return Effort::Size;
  if (name == "balanced") return Effort::Balanced;
  if (name == "speed") return Effort::Speed;
  return std::nullopt;
}

ConvForm choose_form(const Graph& graph, const Node& node, const ConvPolicy& policy) {
  if (policy.target == nullptr) return ConvForm::Direct;
  const auto shape = conv_shape(graph, node);
  if (!shape) return ConvForm::Direct;
  const double max_error = policy.max_error > 0 ? policy.max_error : kDefaultMaxError;
  const double least = policy.effort == Effort::Speed ? 1.05 : 1.3;
  const double growth = policy.effort == Effort::Size ? 1.0 : policy.effort == Effort::Balanced ? 1.8 : 1e9;
  ConvForm best = ConvForm::Direct;
  double best_gain = least;
  for (const ConvForm form : kConvForms) {
    if (form == ConvForm::Direct || form_error(form) > max_error || form_weight_growth(form, node.window) > growth)
      continue;
    if (!form_applies(graph, node, form)) continue;
    const auto g = gain(*policy.target, *shape, form);
    if (g && *g >= best_gain) {
      best = form;
      best_gain = *g;
    }
  }
  return best;
}

int choose_conv_forms(Graph& graph, const ConvPolicy& policy) {
  int changed = 0;
  std::vector<Node> nodes;
  for (const Node& node : std::vector<Node>(graph.nodes)) {
    const ConvForm form = choose_form(graph, node, policy);
    if (form == ConvForm::Direct) {
      nodes.push_back(node);
      continue;
    }
    ++changed;
    expand_convolution(graph, node, form, nodes);
  }
  if (changed != 0) graph.nodes = std::move(nodes);
  return changed;
}

}  // namespace edgelift::xnn
