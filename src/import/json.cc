#include "import/json.h"

#include <cmath>
#include <limits>

#include "base/check.h"

namespace edgelift::importer {

bool JsonReader::number(od::value value, std::string_view what, double& out) {
  od::json_type type{};
  if (const auto code = value.type().get(type)) return fault(code, what);
  if (type == od::json_type::string) {
    std::string_view text;
    if (!string(value, what, text)) return false;
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (text == "Infinity") {
      out = kInfinity;
    } else if (text == "-Infinity") {
      out = -kInfinity;
    } else if (text == "NaN") {
      out = std::numeric_limits<double>::quiet_NaN();
    } else {
      return fail(what, "a number, \"Infinity\", \"-Infinity\" or \"NaN\"", archive::show(text));
    }
    return true;
  }
  if (const auto code = value.get_double().get(out)) return fault(code, what);
  return true;
}

bool JsonReader::fail(std::string_view what, std::string_view expected, std::string_view found) {
  if (error_) return false;
  size_t offset = text_.size();
  if (const char* place = nullptr; document_.current_location().get(place) == simdjson::SUCCESS && place >= text_.data()) {
    offset = std::min(offset, static_cast<size_t>(place - text_.data()));
  }
  error_ = input_error(fmt::format("{}, byte {}{}{}: {}: expected {}, found {}; the file is damaged or was not written by "
                                   "torch.export.save", place_, offset, context_.empty() ? "" : ", ", context_, what,
                                   expected, found));
  return false;
}

bool JsonReader::fault(simdjson::error_code code, std::string_view what) {
  switch (code) {
    case simdjson::INCORRECT_TYPE:
      return fail(what, "another type of value", "one that does not fit");
    case simdjson::NUMBER_ERROR:
    case simdjson::NUMBER_OUT_OF_RANGE:
      return fail(what, "a number in range", "another number or token");
    case simdjson::EMPTY:
      return fail(what, "a JSON object", "nothing");
    case simdjson::CAPACITY:
    case simdjson::MEMALLOC:
      return fail(what, "less than 4 GiB of JSON", "more, or too little memory to index it");
    default:
      return fail(what, "sound JSON", fmt::format("a fault ({})", simdjson::error_message(code)));
  }
}

Error JsonReader::take_error() {
  EL_CHECK(error_.has_value(), "a JSON read failed without saying why");
  return *std::move(error_);
}

}  // namespace edgelift::importer
