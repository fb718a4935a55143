#include "emit/sizes.h"

#include <fmt/format.h>

#include "base/check.h"

namespace edgelift::emit {

void Caller::call(std::string_view kernel, std::vector<int32_t> args) {
  const auto next = static_cast<int32_t>(plan_.operators.size());
  const auto [known, inserted] = operators_.try_emplace(std::string(kernel), next);
  if (inserted) {
    // The overload follows the first point after the namespace.
    const size_t colons = kernel.find("::");
    const size_t dot = kernel.find('.', colons == std::string_view::npos ? 0 : colons);
    pte::Operator op;
    op.name = kernel.substr(0, dot);
    if (dot != std::string_view::npos) op.overload = kernel.substr(dot + 1);
    plan_.operators.push_back(std::move(op));
  }
  plan_.instructions.emplace_back(pte::KernelCall{known->second, std::move(args)});
}

void Sizes::learn(const ir::Type& type, int32_t tensor) {
  if (!type.is_tensor()) return;
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    const SymInt& size = type.sizes[d];
    if (size.is_const()) continue;
    Source source{tensor, static_cast<int32_t>(d)};
    const SymbolPtr* symbol = nullptr;
    bool solvable = true;
    for (const SymTerm& term : size.expr()->terms) {
      if (term.atoms.empty()) {
        source.offset = term.coefficient;
      } else if (term.atoms.size() == 1 && term.atoms[0]->kind == SymAtom::Kind::Symbol && symbol == nullptr) {
        symbol = &term.atoms[0]->symbol;
        source.coefficient = term.coefficient;
      } else {
        solvable = false;
      }
    }
    if (!solvable || symbol == nullptr) continue;
    // A plain size is better than one that must be solved for the symbol.
    const auto [known, inserted] = sources_.try_emplace((*symbol)->name, source);
    const bool plain = source.coefficient == 1 && source.offset == 0;
    if (!inserted && plain && (known->second.coefficient != 1 || known->second.offset != 0)) known->second = source;
  }
}

void Sizes::learn(const SymbolPtr& symbol, int32_t int_value) { symbols_.try_emplace(symbol->name, int_value); }

int32_t Sizes::compute(std::string_view primitive, int32_t a, int32_t b) {
  const auto [known, inserted] = computed_.try_emplace({std::string(primitive), a, b}, -1);
  if (inserted) {
    known->second = values_.mutable_int();
    caller_.call(primitive, {a, b, known->second});
  }
  return known->second;
}

Result<int32_t> Sizes::symbol(const Symbol& symbol) {
  if (const auto known = symbols_.find(symbol.name); known != symbols_.end()) return known->second;
  const auto found = sources_.find(symbol.name);
  if (found == sources_.end())
    return input_error(
        fmt::format("needs the size {} at run time, and no input or earlier result has it", symbol.name));
  const Source& source = found->second;
  int32_t index = values_.mutable_int();
  caller_.call("aten::sym_size.int", {source.tensor, values_.integer(source.dim), index});
  if (source.offset != 0) index = compute("executorch_prim::sub.Scalar", index, values_.integer(source.offset));
  if (source.coefficient != 1)
    index = compute("executorch_prim::floordiv.Scalar", index, values_.integer(source.coefficient));
  symbols_.emplace(symbol.name, index);
  return index;
}

Result<int32_t> Sizes::atom(const SymAtom& atom) {
  if (atom.kind == SymAtom::Kind::Symbol) return symbol(*atom.symbol);
  EL_TRY(const int32_t a, value(atom.a));
  EL_TRY(const int32_t b, value(atom.b));
  switch (atom.kind) {
    case SymAtom::Kind::FloorDiv:
      return compute("executorch_prim::floordiv.Scalar", a, b);
    case SymAtom::Kind::Mod: {
      // a - (a // b) * b has Python's sign rule whatever the runtime's own mod does.
      const int32_t quotient = compute("executorch_prim::floordiv.Scalar", a, b);
      return compute("executorch_prim::sub.Scalar", a, compute("executorch_prim::mul.Scalar", quotient, b));
    }
    case SymAtom::Kind::Max:
      return compute("executorch_prim::sym_max.Scalar", a, b);
    case SymAtom::Kind::Min:
      return compute("executorch_prim::sym_min.Scalar", a, b);
    case SymAtom::Kind::Symbol:
      break;
  }
  EL_UNREACHABLE("kind of a size expression");
}

Result<int32_t> Sizes::term(const SymTerm& term) {
  int32_t product = -1;
  for (const SymAtomPtr& factor : term.atoms) {
    EL_TRY(const int32_t index, atom(*factor));
    product = product < 0 ? index : compute("executorch_prim::mul.Scalar", product, index);
  }
  if (product < 0) return values_.integer(term.coefficient);
  if (term.coefficient == 1) return product;
  return compute("executorch_prim::mul.Scalar", product, values_.integer(term.coefficient));
}

Result<int32_t> Sizes::value(const SymInt& size) {
  if (size.is_const()) return values_.integer(size.value());
  if (const auto known = expressions_.find(size.expr()->text); known != expressions_.end()) return known->second;
  int32_t sum = -1;
  for (const SymTerm& part : size.expr()->terms) {
    EL_TRY(const int32_t index, term(part));
    sum = sum < 0 ? index : compute("executorch_prim::add.Scalar", sum, index);
  }
  EL_CHECK(sum >= 0, "an expression has a term");
  expressions_.emplace(size.expr()->text, sum);
  return sum;
}

Result<int32_t> Sizes::value(const ir::SymRatio& ratio) {
  if (ratio.numerator.is_const() && ratio.denominator.is_const())
    return values_.real(static_cast<double>(ratio.numerator.value()) / static_cast<double>(ratio.denominator.value()));
  EL_TRY(const int32_t numerator, value(ratio.numerator));
  EL_TRY(const int32_t denominator, value(ratio.denominator));
  const auto [known, inserted] = computed_.try_emplace({"executorch_prim::truediv.Scalar", numerator, denominator}, -1);
  if (inserted) {
    known->second = values_.mutable_real();
    caller_.call("executorch_prim::truediv.Scalar", {numerator, denominator, known->second});
  }
  return known->second;
}

Result<int32_t> Sizes::list(const std::vector<SymInt>& sizes) {
  std::vector<int32_t> items;
  items.reserve(sizes.size());
  for (const SymInt& size : sizes) {
    EL_TRY(const int32_t index, value(size));
    items.push_back(index);
  }
  return values_.int_list(std::move(items));
}

}  // namespace edgelift::emit
