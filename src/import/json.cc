#include "import/json.h"

#include <algorithm>
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
  if (fault_) return false;
  size_t offset = started_ ? text_.size() : 0;
  if (const char* place = nullptr;
      started_ && document_.current_location().get(place) == simdjson::SUCCESS && place >= text_.data()) {
    offset = std::min(offset, static_cast<size_t>(place - text_.data()));
  }
  fault_ = {offset, std::string(what), std::string(expected), std::string(found)};
  return false;
}

bool JsonReader::misfit(simdjson::error_code code, std::string_view what, std::string_view expected,
                        std::string_view token) {
  if (code != simdjson::INCORRECT_TYPE && code != simdjson::NUMBER_ERROR && code != simdjson::NUMBER_OUT_OF_RANGE)
    return fault(code, what);
  constexpr size_t kMost = 40;
  return fail(what, expected, archive::show(token.substr(0, std::min(token.find_last_not_of(" \t\r\n") + 1, kMost))));
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
  EL_CHECK(fault_.has_value(), "a JSON read failed without saying why");
  return input_error(fmt::format(
      "{}, byte {}{}{}: {}: expected {}, found {}; the file is damaged or was not written by "
      "torch.export.save",
      place_, fault_->offset, context_.empty() ? "" : ", ", context_, fault_->what, fault_->expected, fault_->found));
}

}  // namespace edgelift::importer
