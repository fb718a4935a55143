#include "edge/builder.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "edge/strides.h"
#include "ops/record.h"

namespace edgelift::edge {

// ---- arguments

int64_t Builder::dim(std::string_view name, int64_t rank) const {
  const auto dim = ops::normalize_dim(call.integer(name), rank);
  EL_CHECK(dim.has_value(), "dim out of range");  // the shape rule has checked it
  return *dim;
}

std::vector<int64_t> Builder::dims(std::string_view name, int64_t rank, bool all) const {
  std::vector<int64_t> out;
  if (std::holds_alternative<SymInt>(call.arg(name))) {
    out.push_back(dim(name, rank));
    return out;
  }
  for (const int64_t given : call.integers(name)) {
    const auto dim = ops::normalize_dim(given, rank);
    EL_CHECK(dim.has_value(), "dim out of range");
    out.push_back(*dim);
  }
  if (out.empty() && all) return iota(rank);
  return out;
}

bool Builder::used(size_t i) const {
  const Value* value = node_.results.at(i);
  return !value->users.empty() || node_.graph->is_output(value);
}

// ---- finishing

Result<bool> Builder::replace(Value* value) { return replace(std::vector<Value*>{value}); }
Result<bool> Builder::replace(std::initializer_list<Value*> values) { return replace(std::vector<Value*>(values)); }

Result<bool> Builder::replace(const std::vector<Value*>& values) {
  EL_CHECK(values.size() == node_.results.size(),
           "a decomposition of " + node_.op->full_name() + " gives other results");
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] == nullptr && used(i))
      return refuse("has a result (number " + std::to_string(i + 1) + ") that cannot be computed without its kernel");
  for (size_t i = 0; i < values.size(); ++i) {
    Value* from = node_.results[i];
    if (values[i] == nullptr) continue;
    if (values[i]->strides.empty() && values[i]->producer != nullptr) values[i]->strides = from->strides;
    if (from->symbol != nullptr) values[i]->symbol = from->symbol;
    rewriter_.replace(from, values[i]);
  }
  node_.graph->erase(&node_);
  return true;
}

Result<bool> Builder::drop() {
  for (size_t i = 0; i < node_.results.size(); ++i) EL_CHECK(!used(i), "dropping a node that is used");
  node_.graph->erase(&node_);
  return true;
}

Error Builder::refuse(const std::string& sentence) const {
  std::string place = node_.op->full_name();
  const std::string line = ir::place(node_.origin);
  if (!line.empty()) place += " (" + line + ")";
  return input_error(place + " " + sentence);
}

// ---- types

SymInt Builder::size(const Value* v, int64_t dim) {
  const auto d = ops::normalize_dim(dim, v->type.rank());
  EL_CHECK(d.has_value() && v->type.rank() > 0, "no such dim");
  return v->type.sizes[static_cast<size_t>(*d)];
}

std::optional<double> literal(const Arg& arg) {
  if (const auto* d = std::get_if<double>(&arg)) return *d;
  if (const auto* b = std::get_if<bool>(&arg)) return *b ? 1.0 : 0.0;
  if (const auto* i = std::get_if<SymInt>(&arg))
    if (i->is_const()) return static_cast<double>(i->value());
  return std::nullopt;
}

namespace {

// 0 bool, 1 integer, 2 float
int category(const Arg& number) {
  if (std::holds_alternative<bool>(number)) return 0;
  if (std::holds_alternative<SymInt>(number)) return 1;
  if (const auto* v = std::get_if<Value*>(&number)) {
    if ((*v)->type.kind == Type::Kind::Bool) return 0;
    if ((*v)->type.kind == Type::Kind::Int) return 1;
  }
  return 2;
}

int category(DType dtype) { return dtype == DType::Bool ? 0 : is_integer(dtype) ? 1 : 2; }

}  // namespace

DType wrapped_dtype(const Arg& number, DType beside) {
  if (category(number) <= category(beside)) return beside;
  return category(number) == 2 ? DType::F32 : DType::I64;
}

IntList int_list(std::span<const int64_t> values) { return IntList(values.begin(), values.end()); }
Shape shape_of(std::span<const int64_t> values) { return Shape(values.begin(), values.end()); }

Shape with_size(Shape sizes, int64_t dim, const SymInt& size) {
  sizes.at(static_cast<size_t>(dim)) = size;
  return sizes;
}

std::vector<int64_t> iota(int64_t count, int64_t start) {
  std::vector<int64_t> out(static_cast<size_t>(std::max<int64_t>(count, 0)));
  for (auto& v : out) v = start++;
  return out;
}

// ---- numbers

Value* Builder::number_tensor(const Arg& number, DType dtype) {
  if (const auto* b = std::get_if<bool>(&number)) return rewriter_.scalar(dtype, static_cast<int64_t>(*b ? 1 : 0));
  if (const auto* d = std::get_if<double>(&number)) {
    if (is_float(dtype)) return rewriter_.scalar(dtype, *d);
    // A float beside an integer dtype is asked for only where the value is whole.
    return rewriter_.scalar(dtype, static_cast<int64_t>(*d));
  }
  if (const auto* i = std::get_if<SymInt>(&number); i != nullptr && i->is_const()) {
    if (is_float(dtype)) return rewriter_.scalar(dtype, static_cast<double>(i->value()));
    return rewriter_.scalar(dtype, i->value());
  }
  return make("scalar_tensor", {number}, {{"dtype", dtype}});
}

Value* Builder::binary(std::string_view base, Value* x, const Arg& y) {
  const std::string name(base);
  if (is_tensor(y)) return make(name + ".Tensor", {x, y});
  if (base == "pow") return make("pow.Tensor_Scalar", {x, y});
  const bool arithmetic = base == "add" || base == "sub" || base == "mul" || base == "div";
  if (upstream && arithmetic) {
    // A Python number becomes int64 or float32 whatever stands beside it; the cast follows in the upstream clean-up.
    const int kind = category(y);
    return make(name + ".Tensor", {x, number_tensor(y, kind == 0 ? DType::Bool : kind == 1 ? DType::I64 : DType::F32)});
  }
  return make(name + ".Scalar", {x, y});
}

Value* Builder::rsub(const Arg& number, Value* x) {
  if (upstream) {
    const int kind = category(number);
    return make("sub.Tensor", {number_tensor(number, kind == 1 ? DType::I64 : DType::F32), x});
  }
  return make("rsub.Scalar", {x, number});
}

Value* Builder::where(Value* condition, const Arg& x, const Arg& y, DType dtype) {
  const auto side = [&](const Arg& arg) -> Value* {
    if (is_tensor(arg)) return std::get<Value*>(arg);
    if (upstream) return make("scalar_tensor", {arg}, {{"dtype", dtype}});
    return number_tensor(arg, dtype);
  };
  Value* a = side(x);
  return where(condition, a, side(y));
}

Value* Builder::cast(Value* x, DType to) {
  if (dtype(x) == to) return x;
  return make("_to_copy", {x}, {{"dtype", to}});
}

// ---- views

namespace {
bool same_sizes(const Shape& a, const Shape& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), known_equal);
}
}  // namespace

Value* Builder::view(Value* x, Shape sizes) {
  if (!upstream && same_sizes(x->type.sizes, sizes)) return x;
  return strided(make("view", {x, IntList(std::move(sizes))}));
}

Value* Builder::reshape(Value* x, Shape sizes) {
  if (!upstream && same_sizes(x->type.sizes, sizes)) return x;
  if (!view_strides(x, sizes)) x = make("clone", {x}, {{"memory_format", ir::MemoryFormat::Contiguous}});
  return strided(make("view", {x, IntList(std::move(sizes))}));
}

// Only ExecuTorch's own flow asks for the strides of what a decomposition makes.
Value* Builder::strided(Value* made) {
  if (upstream) infer_view_strides(*made->producer);
  return made;
}

Value* Builder::permute(Value* x, std::vector<int64_t> dims) {
  if (!upstream && dims == iota(rank(x))) return x;
  return strided(make("permute", {x, int_list(dims)}));
}

Value* Builder::transpose(Value* x, int64_t a, int64_t b) {
  auto order = iota(rank(x));
  const int64_t r = rank(x);
  std::swap(order.at(static_cast<size_t>(a < 0 ? a + r : a)), order.at(static_cast<size_t>(b < 0 ? b + r : b)));
  return permute(x, std::move(order));
}

Value* Builder::unsqueeze(Value* x, int64_t dim) { return strided(make("unsqueeze", {x, SymInt(dim)})); }
Value* Builder::squeeze(Value* x, int64_t dim) { return strided(make("squeeze.dims", {x, IntList{SymInt(dim)}})); }

Value* Builder::expand(Value* x, Shape sizes) {
  if (!upstream && same_sizes(x->type.sizes, sizes)) return x;
  return strided(make("expand", {x, IntList(std::move(sizes))}));
}

Value* Builder::slice(Value* x, int64_t dim, SymInt start, SymInt end, int64_t step) {
  if (!upstream && step == 1 && start == SymInt(0) && known_equal(end, size(x, dim))) return x;
  return strided(make("slice.Tensor", {x, SymInt(dim), start, end, SymInt(step)}));
}

Value* Builder::select(Value* x, int64_t dim, SymInt index) { return make("select.int", {x, SymInt(dim), index}); }

Value* Builder::cat(std::vector<Value*> parts, int64_t dim) {
  if (parts.size() == 1 && !upstream) return parts.front();
  return make("cat", {ValueList(std::move(parts)), SymInt(dim)});
}

Value* Builder::stack(const std::vector<Value*>& parts, int64_t dim) {
  ValueList lifted;
  lifted.reserve(parts.size());
  for (Value* part : parts) lifted.push_back(unsqueeze(part, dim));
  return cat(std::move(lifted), dim);
}

Value* Builder::flip(Value* x, std::vector<int64_t> dims) {
  if (dims.empty()) return x;
  return make("flip", {x, int_list(dims)});
}

Value* Builder::pad(Value* x, std::vector<int64_t> pads, const Arg& value) {
  if (!upstream && std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p == 0; })) return x;
  return make("constant_pad_nd", {x, int_list(pads), value});
}

Value* Builder::merge(Value* x, int64_t first, int64_t count) {
  Shape to;
  const Shape& from = x->type.sizes;
  for (size_t i = 0; i < from.size();) {
    if (i != static_cast<size_t>(first)) {
      to.push_back(from[i++]);
      continue;
    }
    SymInt merged = 1;
    for (int64_t k = 0; k < count; ++k) merged = merged * from[i++];
    to.push_back(merged);
    if (count == 0) to.push_back(from[i++]);
  }
  if (static_cast<size_t>(first) == from.size()) to.push_back(SymInt(1));
  return view(x, std::move(to));
}

Value* Builder::split_dim(Value* x, int64_t dim, Shape sizes) {
  Shape to(x->type.sizes.begin(), x->type.sizes.begin() + dim);
  to.insert(to.end(), sizes.begin(), sizes.end());
  to.insert(to.end(), x->type.sizes.begin() + dim + 1, x->type.sizes.end());
  return view(x, std::move(to));
}

Value* Builder::matmul(Value* a, Value* b) {
  if (rank(a) == 2 && rank(b) == 2) return mm(a, b);
  if (rank(a) == 3 && rank(b) == 3 && known_equal(size(a, 0), size(b, 0))) return bmm(a, b);
  return make("matmul", {a, b});
}

// ---- reductions

Value* Builder::sum(Value* x, std::vector<int64_t> dims, bool keep) {
  return make("sum.dim_IntList", {x, int_list(dims), keep});
}
Value* Builder::mean(Value* x, std::vector<int64_t> dims, bool keep) {
  return make("mean.dim", {x, int_list(dims), keep});
}
Value* Builder::amax(Value* x, std::vector<int64_t> dims, bool keep) { return make("amax", {x, int_list(dims), keep}); }
Value* Builder::amin(Value* x, std::vector<int64_t> dims, bool keep) { return make("amin", {x, int_list(dims), keep}); }

// ---- factories

Value* Builder::full(Shape sizes, const Arg& value, DType dtype) {
  return make("full", {IntList(std::move(sizes)), value}, {{"dtype", dtype}});
}

Value* Builder::full_like(Value* x, const Arg& value) {
  if (upstream) return make("full_like", {x, value});
  return full(x->type.sizes, value, dtype(x));
}

Value* Builder::arange(const SymInt& end, DType dtype) {
  return make("arange.start_step", {SymInt(0), end}, {{"dtype", dtype}});
}

}  // namespace edgelift::edge
