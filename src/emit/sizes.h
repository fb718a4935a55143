// Symbolic sizes at run time: finds each symbol in the sizes of a tensor (or in a number that an operator made), and
// computes expressions with the runtime's integer primitives, each expression once. Internal to src/emit.
#pragma once

#include <map>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "base/symint.h"
#include "emit/values.h"
#include "ir/arg.h"
#include "pte/program.h"

namespace edgelift::emit {

// Adds one instruction that calls operator "aten::add.out" with these values.
class Caller {
 public:
  explicit Caller(pte::Plan& plan) : plan_(plan) {}
  void call(std::string_view kernel, std::vector<int32_t> args);

 private:
  pte::Plan& plan_;
  std::map<std::string, int32_t, std::less<>> operators_;
};

class Sizes {
 public:
  Sizes(PlanValues& values, Caller& caller) : values_(values), caller_(caller) {}

  // Says that from here on the tensor value can tell its symbols; the first one that can is used.
  void learn(const ir::Type& type, int32_t tensor);
  void learn(const SymbolPtr& symbol, int32_t int_value);

  // The value index of an expression, computed at this point of the program where it is needed for the first time.
  // Error: one sentence that names the symbol.
  Result<int32_t> value(const SymInt& size);
  Result<int32_t> value(const ir::SymRatio& ratio);  // a Double
  Result<int32_t> list(const std::vector<SymInt>& sizes);

 private:
  struct Source {
    int32_t tensor = -1;
    int32_t dim = 0;
    int64_t coefficient = 1, offset = 0;  // size = coefficient * symbol + offset
  };
  Result<int32_t> symbol(const Symbol& symbol);
  Result<int32_t> term(const SymTerm& term);
  Result<int32_t> atom(const SymAtom& atom);
  int32_t compute(std::string_view primitive, int32_t a, int32_t b);

  PlanValues& values_;
  Caller& caller_;
  std::unordered_map<std::string, Source> sources_;
  std::unordered_map<std::string, int32_t> symbols_;
  std::unordered_map<std::string, int32_t> expressions_;  // by canonical text
  std::map<std::tuple<std::string, int32_t, int32_t>, int32_t> computed_;
};

}  // namespace edgelift::emit
