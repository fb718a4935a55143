// Requests: the text of --passes, and running them.
#include <algorithm>
#include <numeric>

#include "base/numbers.h"
#include "ir/verifier.h"
#include "passes/pass.h"

namespace edgelift::passes {
namespace {

size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row.back();
}

template <class List, class Name>
std::string nearest(const List& list, std::string_view wish, Name name) {
  std::string best;
  size_t best_distance = 0;
  for (const auto& item : list) {
    const size_t d = distance(wish, name(item));
    if (best.empty() || d < best_distance) {
      best = name(item);
      best_distance = d;
    }
  }
  return best;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

// options: "key=a|b|c other=BYTES": a word in capitals stands for a non-negative integer.
Status check_option(const PassInfo& info, std::string_view key, std::string_view value) {
  for (const std::string_view option : split(info.options, ' ')) {
    const size_t equals = option.find('=');
    if (option.substr(0, equals) != key) continue;
    const std::string_view allowed = option.substr(equals + 1);
    if (!allowed.empty() && allowed.front() >= 'A' && allowed.front() <= 'Z') {
      const auto number = parse_int(value);
      if (number && *number >= 0) return Ok{};
      return usage_error("pass " + std::string(info.name) + ": option " + std::string(key) + "=" + std::string(value) +
                         " is not a non-negative integer");
    }
    for (const std::string_view choice : split(allowed, '|'))
      if (choice == value) return Ok{};
    return usage_error("pass " + std::string(info.name) + ": option " + std::string(key) + "=" + std::string(value) +
                       " is unknown; choose one of " + std::string(allowed));
  }
  return usage_error(
      "pass " + std::string(info.name) + " has no option \"" + std::string(key) + "\"" +
      (info.options.empty() ? std::string("; it takes none") : "; it takes " + std::string(info.options)));
}

}  // namespace

std::string_view PassOptions::get(std::string_view key, std::string_view fallback) const {
  const auto found = values.find(key);
  return found == values.end() ? fallback : std::string_view(found->second);
}

const PassInfo* find_pass(std::string_view name) {
  for (const PassInfo& info : all_passes())
    if (info.name == name) return &info;
  return nullptr;
}

const Recipe* find_recipe(std::string_view name) {
  for (const Recipe& recipe : all_recipes())
    if (recipe.name == name) return &recipe;
  return nullptr;
}

Result<std::vector<PassRequest>> parse_passes(std::string_view text) {
  std::vector<PassRequest> requests;
  if (trim(text).empty()) return requests;
  for (const std::string_view item : split(text, ',')) {
    const std::vector<std::string_view> parts = split(trim(item), ':');
    const std::string_view name = trim(parts.front());
    if (name.empty()) return usage_error("the list of passes \"" + std::string(text) + "\" has an empty name in it");
    PassRequest request;
    request.info = find_pass(name);
    if (request.info == nullptr)
      return usage_error("no pass is called \"" + std::string(name) + "\"; did you mean \"" +
                         nearest(all_passes(), name, [](const PassInfo& info) { return std::string(info.name); }) +
                         "\"? (`edgelift opt --list` has them all)");
    request.name = std::string(name);
    for (size_t i = 1; i < parts.size(); ++i) {
      const size_t equals = parts[i].find('=');
      if (equals == std::string_view::npos)
        return usage_error("pass " + request.name + ": option \"" + std::string(parts[i]) +
                           "\" is not of the form key=value");
      const std::string_view key = parts[i].substr(0, equals), value = parts[i].substr(equals + 1);
      EL_TRY_OK(check_option(*request.info, key, value));
      request.options.values[std::string(key)] = std::string(value);
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

Status run_passes(ir::Program& program, const std::vector<PassRequest>& passes, PassContext& context,
                  bool verify_each) {
  for (size_t i = 0; i < passes.size(); ++i) {
    const PassRequest& request = passes[i];
    context.options = request.options;
    context.pass = request.name;
    context.later.clear();
    for (size_t j = i + 1; j < passes.size(); ++j) context.later.push_back(passes[j].name);
    auto changed = request.custom ? request.custom(program, context) : request.info->run(program, context);
    if (!changed.ok()) {
      Error error = changed.take_error();
      error.message = "pass " + request.name + ": " + error.message;
      return error;
    }
    if (!verify_each || !*changed) continue;
    if (auto status = ir::verify(program, context.ops); !status.ok())
      return internal_error("after pass " + request.name + ": " + status.error().message);
  }
  context.options = {};
  context.later.clear();
  return Ok{};
}

}  // namespace edgelift::passes
