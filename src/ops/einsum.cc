#include "ops/einsum.h"

#include <algorithm>
#include <cctype>

namespace edgelift::ops {
namespace {

constexpr std::string_view kEllipsis = "...";

Error bad(std::string_view equation, const std::string& what) {
  return input_error("einsum equation '" + std::string(equation) + "' " + what);
}

}  // namespace

Result<Einsum> parse_einsum(std::string_view equation, const std::vector<size_t>& ranks) {
  std::string text;
  for (const char c : equation)
    if (c != ' ') text += c;
  const size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  std::vector<std::string> terms(1);
  for (const char c : left) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  if (terms.size() != ranks.size())
    return bad(equation,
               "names " + std::to_string(terms.size()) + " operands, " + std::to_string(ranks.size()) + " are given");
  // The widest ellipsis fixes the labels; a narrower one takes the last of them.
  size_t widest = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const size_t at = terms[i].find(kEllipsis);
    const size_t labels = terms[i].size() - (at == std::string::npos ? 0 : kEllipsis.size());
    if (labels > ranks[i] || (at == std::string::npos && labels != ranks[i]))
      return bad(equation, "does not fit operand " + std::to_string(i) + " of rank " + std::to_string(ranks[i]));
    if (at != std::string::npos) widest = std::max(widest, ranks[i] - labels);
  }
  if (widest > 10) return bad(equation, "has an ellipsis of more than 10 dims");
  const std::string dots = std::string("0123456789").substr(0, widest);
  Einsum out;
  for (size_t i = 0; i < terms.size(); ++i) {
    std::string term = terms[i];
    if (const size_t at = term.find(kEllipsis); at != std::string::npos)
      term.replace(at, kEllipsis.size(), dots.substr(widest - (ranks[i] - (term.size() - kEllipsis.size()))));
    out.inputs.push_back(std::move(term));
  }
  const auto valid = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || std::isdigit(static_cast<unsigned char>(c)) != 0;
  };
  for (const std::string& term : out.inputs)
    if (!std::all_of(term.begin(), term.end(), valid)) return bad(equation, "has a label that is not a letter");
  if (arrow != std::string::npos) {
    out.output = text.substr(arrow + 2);
    if (const size_t at = out.output.find(kEllipsis); at != std::string::npos)
      out.output.replace(at, kEllipsis.size(), dots);
  } else {
    out.output = dots;
    std::string once;
    for (const std::string& term : out.inputs)
      for (const char c : term)
        if (std::isalpha(static_cast<unsigned char>(c)) != 0) once += c;
    std::sort(once.begin(), once.end());
    for (size_t i = 0; i < once.size(); ++i)
      if ((i == 0 || once[i - 1] != once[i]) && (i + 1 == once.size() || once[i + 1] != once[i])) out.output += once[i];
  }
  for (size_t i = 0; i < out.output.size(); ++i) {
    const char c = out.output[i];
    if (out.output.find(c, i + 1) != std::string::npos) return bad(equation, "repeats a label in its output");
    const bool known = std::any_of(out.inputs.begin(), out.inputs.end(),
                                   [c](const std::string& term) { return term.find(c) != std::string::npos; });
    if (!known) return bad(equation, std::string("has the label '") + c + "' only in its output");
  }
  return out;
}

Result<ir::Shape> einsum_shape(std::string_view equation, const std::vector<ir::Shape>& shapes) {
  std::vector<size_t> ranks;
  for (const ir::Shape& shape : shapes) ranks.push_back(shape.size());
  EL_TRY(const Einsum parsed, parse_einsum(equation, ranks));
  const auto size_of = [&](char label) -> Result<SymInt> {
    SymInt size(1);
    for (size_t i = 0; i < shapes.size(); ++i)
      for (size_t d = 0; d < parsed.inputs[i].size(); ++d) {
        if (parsed.inputs[i][d] != label) continue;
        const SymInt& here = shapes[i][d];
        if (here.is_const() && here.value() == 1) continue;
        if (size.is_const() && here.is_const() && size.value() != 1 && size.value() != here.value())
          return bad(equation,
                     std::string("gives the label '") + label + "' the sizes " + size.str() + " and " + here.str());
        if (size.is_const() && size.value() == 1) size = here;
      }
    return size;
  };
  for (const std::string& term : parsed.inputs)
    for (const char label : term) EL_TRY_OK(size_of(label));
  ir::Shape out;
  for (const char label : parsed.output) {
    EL_TRY(SymInt size, size_of(label));
    out.push_back(std::move(size));
  }
  return out;
}

}  // namespace edgelift::ops
