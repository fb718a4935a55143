// A linear function of the last dim that differs by position (rotary embeddings: x * cos + rotate(x) * sin, in
// whichever way the rotation is spelled: slices, concatenations, negations, products with known numbers, sums) becomes
// one matrix product with a matrix for each position. Ten small operators cost more than the zeros that it multiplies:
// with the delegate's threads each operator is a synchronisation. Exact but for the order of two summands where x is
// finite: 2e-7 of the output's range.
#include <algorithm>
#include <unordered_map>

#include "base/numbers.h"
#include "match/constant.h"
#include "match/views.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

// The widest row for which the product was measured to gain, and what a table may add to the file.
constexpr int64_t kLargestWidth = 64;
constexpr int64_t kDefaultTable = 1 << 20;
// Fewer operators than this are not worth a table.
constexpr size_t kFewestNodes = 5;
// Numbers of a form: what goes beyond would make no table that may be added.
constexpr size_t kMostNumbers = 1 << 16;

// Column j of the value is the sum over its terms of base[.., input] * factors[position].
struct Term {
  int64_t input = 0;
  std::vector<double> factors;  // one, or one a position
};
struct Form {
  Value* base = nullptr;
  std::vector<std::vector<Term>> columns;
  int64_t position_dim = -1;  // the dim that positions are counted along; -1: no number differs by position
  size_t nodes = 0;           // operators between base and the value
};

// The forms of all values that mix columns of another one, in one sweep over a graph.
class Forms {
 public:
  void add(const ir::Node& node) {
    if (node.results.size() != 1 || !readable(node.results[0])) return;
    auto form = mixing(node);
    if (form && numbers(*form) <= kMostNumbers) forms_.emplace(node.results[0], std::move(*form));
  }
  const Form* find(const Value* value) const {
    const auto found = forms_.find(value);
    return found == forms_.end() ? nullptr : &found->second;
  }
  Form take(const Value* value) {
    const auto found = forms_.find(value);
    Form form = std::move(found->second);
    forms_.erase(found);
    return form;
  }

 private:
  static bool readable(const Value* value) {
    const ir::Type& type = value->type;
    return type.is_tensor() && type.dtype == DType::F32 && type.rank() == 4 && type.is_static() &&
           type.sizes.back().value() <= 2 * kLargestWidth;
  }

  static size_t numbers(const Form& form) {
    size_t count = 0;
    for (const auto& column : form.columns)
      for (const Term& term : column) count += term.factors.size();
    return count;
  }

  bool mixed(const ir::Arg& arg) const {
    bool any = false;
    ir::for_each_value(arg, [&](const Value* value) { any = any || forms_.contains(value); });
    return any;
  }

  // Slices and concatenations of columns begin to mix; products, sums and negations of what is mixed go on.
  std::optional<Form> mixing(const ir::Node& node) const {
    const ops::Call call(node);
    const int64_t last = node.result()->type.rank() - 1;
    const auto along_last = [&] { return ops::normalize_dim(call.integer("dim"), last + 1) == last; };
    if (node.is("slice", "Tensor")) {
      if (call.is_symbolic("start") || call.is_symbolic("step") || call.integer("step") != 1 || !along_last())
        return std::nullopt;
      return sliced(call);
    }
    if (node.is("cat")) return along_last() ? joined(call) : std::nullopt;
    const bool any = std::any_of(node.args.begin(), node.args.end(), [this](const ir::Arg& arg) { return mixed(arg); });
    return any ? step(node) : std::nullopt;
  }

  std::optional<Form> step(const ir::Node& node) const {
    const ops::Call call(node);
    if (node.is("neg")) return scaled(call.tensor("self"), {-1.0}, -1);
    if (node.is("mul", "Tensor")) return product(call, node.result()->type);
    const bool sub = node.is("sub", "Tensor");
    if ((node.is("add", "Tensor") || sub) && call.number("alpha") == 1) return sum(call, sub ? -1.0 : 1.0);
    return std::nullopt;
  }

  // How the value depends on what it is made of: known, a product by position of a base, or the base itself.
  Form form_of(Value* value, int depth = 0) const {
    if (const Form* known = find(value)) return *known;
    const ir::Node* node = value->producer;
    if (depth < 2 && node != nullptr && node->results.size() == 1 && (node->is("mul", "Tensor") || node->is("neg"))) {
      const ops::Call call(*node);
      auto form = node->is("neg") ? scaled(call.tensor("self"), {-1.0}, -1, depth + 1)
                                  : product(call, node->result()->type, depth + 1);
      if (form) return *std::move(form);
    }
    Form form;
    form.base = value;
    for (int64_t i = 0; i < value->type.sizes.back().value(); ++i) form.columns.push_back({{i, {1.0}}});
    return form;
  }

  std::optional<Form> sliced(const ops::Call& call) const {
    Value* source = call.tensor("self");
    if (!readable(source) || source->is_constant()) return std::nullopt;
    Form form = form_of(source);
    const auto size = static_cast<int64_t>(form.columns.size());
    int64_t start = call.opt_integer("start").value_or(0);
    start = std::clamp<int64_t>(start < 0 ? start + size : start, 0, size);
    const int64_t length = call.result()->type.sizes.back().value();
    if (start + length > size) return std::nullopt;
    form.columns = {form.columns.begin() + start, form.columns.begin() + start + length};
    ++form.nodes;
    return form;
  }

  std::optional<Form> joined(const ops::Call& call) const {
    Form form;
    for (Value* part : call.tensors("tensors")) {
      if (!readable(part) || part->is_constant()) return std::nullopt;
      Form piece = form_of(part);
      if (form.base == nullptr) {
        form = std::move(piece);
        continue;
      }
      if (!joins(form, piece)) return std::nullopt;
      form.columns.insert(form.columns.end(), piece.columns.begin(), piece.columns.end());
    }
    ++form.nodes;
    return form;
  }

  // One base and one dim of positions for both; counts both sides' operators.
  static bool joins(Form& form, const Form& other) {
    if (form.base != other.base) return false;
    if (form.position_dim >= 0 && other.position_dim >= 0 && form.position_dim != other.position_dim) return false;
    form.position_dim = std::max(form.position_dim, other.position_dim);
    form.nodes += other.nodes;
    return true;
  }

  // Export writes the tensor forms of products and sums with plain numbers too.
  static bool between_tensors(const ops::Call& call) { return std::holds_alternative<Value*>(call.arg("other")); }

  std::optional<Form> product(const ops::Call& call, const ir::Type& type, int depth = 0) const {
    if (!between_tensors(call)) return std::nullopt;
    Value *x = call.tensor("self"), *c = call.tensor("other");
    auto data = match::as_constant(c);
    if (!data) {
      data = match::as_constant(x);
      std::swap(x, c);
    }
    if (!data || match::as_constant(x) || !(x->type == type) || data->dtype() != DType::F32) return std::nullopt;
    // The numbers may differ by column and along one other dim.
    const int64_t rank = type.rank();
    int64_t along = -1;
    TensorData numbers = *data;
    for (int64_t d = 0; d < data->rank(); ++d) {
      const int64_t at = rank - data->rank() + d;
      const auto i = static_cast<size_t>(d);
      if (at == rank - 1 || data->sizes()[i] == 1) continue;
      if (data->strides()[i] == 0) {  // repeated elements: one of them
        numbers = numbers.narrowed(d, 0, 1);
        continue;
      }
      if (along >= 0) return std::nullopt;
      along = at;
    }
    std::vector<int64_t> sizes(static_cast<size_t>(rank), 1);
    sizes.back() = type.sizes.back().value();
    if (along >= 0) sizes[static_cast<size_t>(along)] = type.sizes[static_cast<size_t>(along)].value();
    return scaled(x, numbers.expanded(sizes).to_doubles(), along, depth);
  }

  // factors: one number, or for each position (one where `along` is negative) one a column.
  std::optional<Form> scaled(Value* x, const std::vector<double>& factors, int64_t along, int depth = 0) const {
    if (!readable(x)) return std::nullopt;
    Form form = form_of(x, depth);
    if (along >= 0 && form.position_dim >= 0 && form.position_dim != along) return std::nullopt;
    form.position_dim = std::max(form.position_dim, along);
    const size_t width = form.columns.size();
    const size_t positions = along < 0 ? 1 : factors.size() / width;
    for (size_t column = 0; column < width; ++column) {
      for (Term& term : form.columns[column]) {
        if (term.factors.size() < positions) term.factors.assign(positions, term.factors.at(0));
        for (size_t p = 0; p < term.factors.size(); ++p)
          term.factors[p] *= factors[factors.size() == 1 ? 0 : (positions == 1 ? 0 : p) * width + column];
      }
    }
    ++form.nodes;
    return form;
  }

  static void add_term(std::vector<Term>& column, Term term) {
    const auto same = std::find_if(column.begin(), column.end(), [&](const Term& t) { return t.input == term.input; });
    if (same == column.end()) {
      column.push_back(std::move(term));
      return;
    }
    if (same->factors.size() < term.factors.size()) std::swap(same->factors, term.factors);
    for (size_t p = 0; p < same->factors.size(); ++p)
      same->factors[p] += term.factors[term.factors.size() == 1 ? 0 : p];
  }

  std::optional<Form> sum(const ops::Call& call, double sign) const {
    if (!between_tensors(call)) return std::nullopt;
    Value *a = call.tensor("self"), *b = call.tensor("other");
    if (!readable(a) || !readable(b) || !(a->type == b->type) || a->is_constant() || b->is_constant())
      return std::nullopt;
    Form left = form_of(a);
    Form right = form_of(b);
    if (!joins(left, right)) return std::nullopt;
    for (size_t column = 0; column < left.columns.size(); ++column) {
      for (Term& term : right.columns[column]) {
        for (double& factor : term.factors) factor *= sign;
        add_term(left.columns[column], std::move(term));
      }
    }
    ++left.nodes;
    return left;
  }

  std::unordered_map<const Value*, Form> forms_;
};

// [1, T, in, out]
TensorData table_of(const Form& form, int64_t positions, int64_t width) {
  const auto out = static_cast<int64_t>(form.columns.size());
  std::vector<double> numbers(static_cast<size_t>(positions * width * out), 0.0);
  for (int64_t column = 0; column < out; ++column)
    for (const Term& term : form.columns[static_cast<size_t>(column)])
      for (int64_t p = 0; p < positions; ++p)
        numbers[static_cast<size_t>((p * width + term.input) * out + column)] +=
            term.factors[term.factors.size() == 1 ? 0 : static_cast<size_t>(p)];
  return TensorData::of(DType::F64, {1, positions, width, out}, numbers).converted(DType::F32);
}

// Whether the table of a form may be made; the reason to context.declined otherwise.
bool worth_fusing(const ir::Node& node, const Form& form, PassContext& context) {
  if (form.nodes < kFewestNodes || (form.position_dim != 1 && form.position_dim != 2)) return false;
  const Value* x = form.base;
  const int64_t width = x->type.sizes.back().value(), out = node.result()->type.sizes.back().value();
  if (width > kLargestWidth || out > kLargestWidth) {
    context.declined(node, "rows of " + std::to_string(std::max(width, out)) +
                               " are too wide for a matrix a position to be faster than products and sums");
    return false;
  }
  const int64_t positions = x->type.sizes[static_cast<size_t>(form.position_dim)].value();
  const std::string_view given = context.options.get("table", "");
  const int64_t bytes = positions * width * out * static_cast<int64_t>(sizeof(float));
  if (bytes > (given.empty() ? kDefaultTable : *parse_int(given))) {
    context.declined(node, "a matrix for each position would take " + human_bytes(static_cast<uint64_t>(bytes)) +
                               ", more than the pass may add");
    return false;
  }
  return true;
}

bool fuse(ir::Node& node, const Form& form, ir::Rewriter& rewriter, PassContext& context) {
  Value* x = form.base;
  const int64_t width = x->type.sizes.back().value();
  const int64_t positions = x->type.sizes[static_cast<size_t>(form.position_dim)].value();
  // Positions are the matrix product's batch, heads its rows: [B, T, H, D], as the projection gives it.
  const std::vector<int64_t> swap = {0, 2, 1, 3};
  const bool swapped = form.position_dim == 2;
  if (swapped) {
    if (x->producer == nullptr || match::permutation_of(*x->producer) != swap) {
      context.declined(node, "what it rotates has its positions after its heads, and was not brought into that order");
      return false;
    }
    x = std::get<Value*>(x->producer->args[0]);
  }
  Lift lift(rewriter, node);
  Value* table = shared_constant(rewriter, "rotation_" + std::to_string(positions) + "_" + std::to_string(width),
                                 table_of(form, positions, width));
  Value* y = lift.make("matmul", {x, table});
  if (swapped) y = lift.permute(y, swap);
  return commit(lift, node, y, context);
}

// The largest forms of a graph: those that no reader takes on.
std::vector<std::pair<ir::Node*, Form>> largest_forms(const ir::Graph& graph, PassContext& context) {
  Forms forms;
  std::vector<std::pair<ir::Node*, Form>> found;
  const auto end = [&](Value* value) {
    Form form = forms.take(value);
    if (worth_fusing(*value->producer, form, context)) found.emplace_back(value->producer, std::move(form));
  };
  graph.each([&](ir::Node& node) {
    forms.add(node);
    const Form* form = node.results.size() == 1 ? forms.find(node.results[0]) : nullptr;
    for (Value* operand : node.operands()) {
      const Form* part = forms.find(operand);
      if (part == nullptr) continue;
      if (form == nullptr || form->base != part->base) {
        end(operand);
      } else if (match::used_once(operand)) {
        forms.take(operand);
      }
    }
  });
  for (const ir::OutputSpec& output : graph.outputs())
    if (output.value != nullptr && forms.find(output.value) != nullptr) end(output.value);
  // From the end of the graph: the base of a form may be what another one computes.
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first->order > b.first->order; });
  return found;
}

}  // namespace

Result<bool> fuse_rotary(ir::Program& program, PassContext& context) {
  bool changed = false;
  const size_t constants = program.constants.size();
  for (const auto& graph : program.methods) {
    auto found = largest_forms(*graph, context);
    ir::Rewriter rewriter(program, *graph, context.ops);
    for (auto& [node, form] : found) changed = fuse(*node, form, rewriter, context) || changed;
  }
  if (changed || program.constants.size() != constants) sweep(program, context.ops);
  return changed;
}

}  // namespace edgelift::passes
