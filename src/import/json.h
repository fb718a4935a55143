// Strict reading of the archive's JSON by simdjson's on-demand parser. Included by this folder's .cc files only.
//
// The first fault is kept with its place; every function returns false from then on, so that a parse is a chain of
// `&&` and early returns. Values that nobody asks for are skipped without building anything. Depth is bounded by the
// code that reads: only sub-graphs nest, and their parser counts.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "archive/zip.h"
#include "base/result.h"

namespace edgelift::importer {

namespace od = simdjson::ondemand;

class JsonReader {
 public:
  // `text` has at least SIMDJSON_PADDING readable bytes behind it (Zip::kTailBytes promises them for entries).
  // `parser` owns the decoded strings: views from string() live as long as it does.
  JsonReader(od::parser& parser, std::string_view text, std::string place)
      : parser_(parser), text_(text), place_(std::move(place)) {
    static_assert(archive::Zip::kTailBytes >= simdjson::SIMDJSON_PADDING);
  }

  // Reads the whole document: one object, nothing after it.
  template <class F>
  bool document(F&& read_root) {
    const simdjson::padded_string_view padded(text_.data(), text_.size(), text_.size() + simdjson::SIMDJSON_PADDING);
    if (const auto code = parser_.iterate(padded).get(document_)) return fault(code, "JSON");
    started_ = true;
    od::object root;
    if (const auto code = document_.get_object().get(root)) return fault(code, "the document");
    if (!read_root(root)) return false;
    // The on-demand parser stops at the root's closing brace.
    if (document_.current_location().error() != simdjson::OUT_OF_BOUNDS)
      return fail("the document", "ends", "more text");
    return true;
  }

  // Calls read(key, value) for every field, in file order.
  template <class F>
  bool each_field(od::object object, std::string_view what, F&& read) {
    for (auto item : object) {
      od::field field;
      if (const auto code = std::move(item).get(field)) return fault(code, what);
      std::string_view key;
      if (const auto code = field.unescaped_key().get(key)) return fault(code, what);
      if (!read(key, field.value())) return false;
    }
    return true;
  }
  template <class F>
  bool each_field(od::value value, std::string_view what, F&& read) {
    od::object object;
    if (const auto code = value.get_object().get(object)) return fault(code, what);
    return each_field(object, what, read);
  }

  // An object with known fields: read(i, value) for names[i]. Unknown fields are ignored, a field that occurs twice is
  // a fault, and so is a missing one of `required` (a bit a name).
  template <class Object, class F>
  bool fields(Object object, std::string_view what, std::span<const std::string_view> names, uint32_t required,
              F&& read) {
    uint32_t seen = 0;
    const bool ok = each_field(object, what, [&](std::string_view key, od::value value) {
      for (size_t i = 0; i < names.size(); ++i) {
        if (names[i] != key) continue;
        if ((seen >> i & 1) != 0) return fail(what, "each field once", fmt::format("{} twice", archive::show(key)));
        seen |= 1u << i;
        return read(i, value);
      }
      return true;
    });
    if (!ok) return false;
    if (const uint32_t missing = required & ~seen; missing != 0) {
      const auto first = static_cast<size_t>(__builtin_ctz(missing));
      return fail(what, fmt::format("the field \"{}\"", names[first]), "an object without it");
    }
    return true;
  }

  // A tagged union: an object with exactly one field.
  template <class F>
  bool tagged(od::value value, std::string_view what, F&& read) {
    size_t count = 0;
    const bool ok = each_field(value, what, [&](std::string_view tag, od::value content) {
      if (++count > 1) return fail(what, "one tag", fmt::format("a second one, {}", archive::show(tag)));
      return read(tag, content);
    });
    if (ok && count == 0) return fail(what, "one tag", "none");
    return ok;
  }

  template <class F>
  bool each_item(od::value value, std::string_view what, F&& read) {
    od::array array;
    if (const auto code = value.get_array().get(array)) return fault(code, what);
    for (auto item : array) {
      od::value element;
      if (const auto code = std::move(item).get(element)) return fault(code, what);
      if (!read(element)) return false;
    }
    return true;
  }

  bool string(od::value value, std::string_view what, std::string_view& out) {
    const std::string_view token = value.raw_json_token();
    const auto code = value.get_string().get(out);
    return code == simdjson::SUCCESS || misfit(code, what, "a string", token);
  }
  // The text between the quotes, escaped as it stands there. Nothing is decoded.
  bool raw_string(od::value value, std::string_view what, std::string_view& out) {
    std::string_view token = value.raw_json_token();
    while (!token.empty() &&
           (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t')) {
      token.remove_suffix(1);
    }
    if (token.size() < 2 || token.front() != '"' || token.back() != '"')
      return fail(what, "a string", "something else");
    out = token.substr(1, token.size() - 2);
    return true;
  }
  bool integer(od::value value, std::string_view what, int64_t& out) {
    const std::string_view token = value.raw_json_token();
    const auto code = value.get_int64().get(out);
    return code == simdjson::SUCCESS || misfit(code, what, "an integer of 64 bits", token);
  }
  bool boolean(od::value value, std::string_view what, bool& out) {
    const std::string_view token = value.raw_json_token();
    const auto code = value.get_bool().get(out);
    return code == simdjson::SUCCESS || misfit(code, what, "true or false", token);
  }
  // A number, or one of the strings that stand for non-finite ones.
  bool number(od::value value, std::string_view what, double& out);
  bool is_null(od::value value) {
    bool null = false;
    return value.is_null().get(null) == simdjson::SUCCESS && null;
  }

  // All return false.
  bool fail(std::string_view what, std::string_view expected, std::string_view found);
  bool fault(simdjson::error_code code, std::string_view what);
  // A scalar that is of another kind than `expected`.
  bool misfit(simdjson::error_code code, std::string_view what, std::string_view expected, std::string_view token);

  // Where in the document it was: "node 12". Set while a failure is passed up; the innermost one counts.
  void set_context(std::string context) {
    if (context_.empty()) context_ = std::move(context);
  }
  Error take_error();

 private:
  od::parser& parser_;
  std::string_view text_;
  std::string place_, context_;
  od::document document_;
  bool started_ = false;  // document_ may be asked for its place
  struct Fault {
    size_t offset;
    std::string what, expected, found;
  };
  std::optional<Fault> fault_;
};

}  // namespace edgelift::importer
