// Complex numbers as pairs of reals. A .pte file cannot hold a complex tensor, so every complex value becomes a real
// one with a last dim of two, and every operator on it becomes arithmetic on the parts. Fourier transforms become
// products with constant matrices. Complex inputs and outputs of the program remain, and are refused.
#include "edge/complex.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/check.h"
#include "edge/builder.h"
#include "edge/table.h"

namespace edgelift::edge {
namespace {

// Entries of the largest matrix that a transform may become (16 MB).
constexpr int64_t kMaxMatrix = int64_t{1} << 22;

DType part_dtype(DType dtype) {
  return dtype == DType::C128 ? DType::F64 : dtype == DType::C32 ? DType::F16 : DType::F32;
}

struct Parts {
  Value* re = nullptr;
  Value* im = nullptr;
};

class Lowering {
 public:
  Lowering(ir::Program& program, ir::Graph& graph, const ir::OpTable& ops)
      : rewriter_(program, graph, ops), graph_(graph) {}

  Status run() {
    for (Node* node = graph_.first(); node != nullptr;) {
      Node* next = node->next;
      if (touches(*node)) {
        rewriter_.set_insert_point(node);
        Builder b(*node, rewriter_, options_);
        EL_TRY_OK(lower(*node, b));
        dead_.push_back(node);
      }
      node = next;
    }
    for (const ir::OutputSpec& output : graph_.outputs())
      if (output.value != nullptr && output.value->type.is_tensor() && is_complex(output.value->type.dtype))
        return input_error("output %" + output.value->name +
                           " is complex, which a .pte file cannot hold; return torch.view_as_real of it");
    for (size_t i = dead_.size(); i-- > 0;) graph_.erase(dead_[i]);
    return Ok{};
  }

 private:
  static bool complex(const Value* v) { return v != nullptr && v->type.is_tensor() && is_complex(v->type.dtype); }

  static bool touches(const Node& node) {
    for (const Value* result : node.results)
      if (complex(result)) return true;
    for (const Arg& arg : node.args) {
      bool found = false;
      ir::for_each_value(arg, [&](Value* v) { found = found || complex(v); });
      if (found) return true;
    }
    return false;
  }

  // [.., 2] for a complex value.
  Result<Value*> pair(Builder& b, Value* v) {
    const auto at = pairs_.find(v);
    if (at != pairs_.end()) return at->second;
    if (v->constant != nullptr && !v->constant->is_mutable) {
      const TensorData data = v->constant->data.contiguous();
      std::vector<int64_t> sizes = data.sizes();
      sizes.push_back(2);
      const auto bytes = data.bytes();
      Value* parts = b.constant(
          v->constant->name + "_parts",
          TensorData::own(part_dtype(data.dtype()), sizes, std::vector<std::byte>(bytes.begin(), bytes.end())));
      pairs_[v] = parts;
      return parts;
    }
    return b.refuse("takes the complex tensor %" + v->name +
                    ", which a .pte file cannot hold as an input; pass torch.view_as_real of it");
  }

  Result<Parts> parts(Builder& b, Value* v) {
    if (!complex(v)) {
      Value* re = v;
      return Parts{re, nullptr};
    }
    EL_TRY(Value * both, pair(b, v));
    const int64_t last = b.rank(both) - 1;
    return Parts{b.select(both, last, SymInt(0)), b.select(both, last, SymInt(1))};
  }

  Value* join(Builder& b, Value* re, Value* im) { return b.stack({re, im}, b.rank(re)); }

  void define(const Node& node, Value* value) { pairs_[node.results.at(0)] = value; }
  void define_real(const Node& node, Value* value) { rewriter_.replace(node.results.at(0), value); }

  // The operator with every complex operand by its pair, dims shifted by nothing: they count from the front.
  Status lower(const Node& node, Builder& b) {
    const std::string& base = node.op->base;
    const bool out_complex = !node.results.empty() && complex(node.results[0]);
    Value* x = node.args.empty() ? nullptr : first_value(node.args[0]);
    if (base == "complex") {
      define(node, join(b, b.in("real"), b.in("imag")));
      return Ok{};
    }
    if (base == "polar") {
      Value* size = b.in("abs");
      Value* re = b.mul(size, b.unary("cos", b.in("angle")));
      define(node, join(b, re, b.mul(size, b.unary("sin", b.in("angle")))));
      return Ok{};
    }
    if (base == "view_as_complex") {
      define(node, x);
      return Ok{};
    }
    if (base == "_fft_r2c") return fft_r2c(node, b);
    if (base == "_fft_c2c") return fft_c2c(node, b);
    if (base == "_fft_c2r") return fft_c2r(node, b);
    if (base == "view_as_real" || base == "view_as_real_copy") {
      EL_TRY(Value * both, pair(b, x));
      define_real(node, both);
      return Ok{};
    }
    if (base == "cat") return cat(node, b);
    if (base == "mul" || base == "div" || base == "add" || base == "sub") return arithmetic(node, b);
    if (base == "mm" || base == "bmm" || base == "matmul") return product(node, b);
    if (x == nullptr || !complex(x)) {
      if (base == "_to_copy" && out_complex) {
        Value* re = b.cast(x, part_dtype(node.results[0]->type.dtype));
        define(node, join(b, re, b.full(re->type.sizes, SymInt(0), re->type.dtype)));
        return Ok{};
      }
      return b.refuse("makes complex numbers in a way that edgelift does not know");
    }
    EL_TRY(Value * both, pair(b, x));
    const int64_t last = b.rank(both) - 1;
    const auto part = [&](int64_t i) { return b.select(both, last, SymInt(i)); };
    if (base == "abs") {
      define_real(node, b.unary("sqrt", b.sum(b.square(both), {last}, false)));
    } else if (base == "real" || base == "imag") {
      define_real(node, part(base == "real" ? 0 : 1));
    } else if (base == "angle") {
      Value* im = part(1);
      define_real(node, b.make("atan2", {im, part(0)}));
    } else if (base == "_conj_physical" || base == "conj_physical" || base == "_conj" || base == "conj") {
      Value* re = part(0);
      define(node, join(b, re, b.neg(part(1))));
    } else if (base == "neg" || base == "clone" || base == "alias" || base == "resolve_conj") {
      define(node, base == "neg" ? b.neg(both) : both);
    } else if (base == "exp") {
      Value* size = b.unary("exp", part(0));
      Value* re = b.mul(size, b.unary("cos", part(1)));
      define(node, join(b, re, b.mul(size, b.unary("sin", part(1)))));
    } else if (base == "reciprocal") {
      Value* norm = b.sum(b.square(both), {last}, false);
      Value* re = b.div(part(0), norm);
      define(node, join(b, re, b.neg(b.div(part(1), norm))));
    } else if (base == "sgn") {
      Value* size = b.unary("sqrt", b.sum(b.square(both), {last}, true));
      Value* none = b.make("eq.Scalar", {size, SymInt(0)});
      define(node, b.where(none, 0.0, b.div(both, size), b.dtype(both)));
    } else if (base == "pow" && literal(b.arg("exponent")) == 2.0) {
      define(node, multiply(b, {part(0), part(1)}, {part(0), part(1)}));
    } else if (base == "_to_copy") {
      if (!out_complex)
        define_real(node, b.cast(part(0), node.results[0]->type.dtype));
      else
        define(node, b.cast(both, part_dtype(node.results[0]->type.dtype)));
    } else if (base == "view") {
      Shape to = node.results[0]->type.sizes;
      to.push_back(SymInt(2));
      define(node, b.view(both, std::move(to)));
    } else if (base == "expand") {
      Shape to = node.results[0]->type.sizes;
      to.push_back(SymInt(2));
      define(node, b.expand(both, std::move(to)));
    } else if (base == "permute") {
      auto dims = b.dims("dims", last, false);
      dims.push_back(last);
      define(node, b.permute(both, dims));
    } else if (base == "slice") {
      define(node,
             b.make("slice.Tensor", {both, SymInt(b.dim("dim", last)), b.arg("start"), b.arg("end"), b.arg("step")}));
    } else if (base == "select") {
      define(node, b.select(both, b.dim("dim", last), b.call.sym_int("index")));
    } else if (base == "unsqueeze") {
      define(node, b.unsqueeze(both, b.dim("dim", last + 1)));
    } else if (base == "squeeze") {
      define(node, b.make("squeeze.dims", {both, int_list(b.dims("dim", last, false))}));
    } else if (base == "flip") {
      define(node, b.flip(both, b.dims("dims", last, false)));
    } else if (base == "roll") {
      define(node, b.make("roll", {both, b.arg("shifts"), int_list(b.dims("dims", last, true))}));
    } else if (base == "index_select") {
      define(node, b.make("index_select", {both, SymInt(b.dim("dim", last)), b.arg("index")}));
    } else if (base == "index") {
      define(node, b.make("index.Tensor", {both, b.arg("indices")}));
    } else if (base == "constant_pad_nd") {
      IntList pads = b.call.ints("pad");
      pads.insert(pads.begin(), 2, SymInt(0));
      if (literal(b.arg("value")) != 0.0) return b.refuse("pads complex numbers with something else than 0");
      define(node, b.make("constant_pad_nd", {both, std::move(pads), SymInt(0)}));
    } else if (base == "sum" || base == "mean") {
      const auto dims = b.call.op().schema.index_of("dim") >= 0 ? b.dims("dim", last, true) : iota(last);
      const bool keep = b.call.op().schema.index_of("keepdim") >= 0 && b.call.flag("keepdim");
      define(node, base == "sum" ? b.sum(both, dims, keep) : b.mean(both, dims, keep));
    } else {
      return b.refuse("takes complex numbers, for which edgelift has no form");
    }
    return Ok{};
  }

  static Value* first_value(const Arg& arg) {
    const auto* v = std::get_if<Value*>(&arg);
    return v == nullptr ? nullptr : *v;
  }

  Value* multiply(Builder& b, Parts x, Parts y) {
    Value* re = b.sub(b.mul(x.re, y.re), b.mul(x.im, y.im));
    Value* cross = b.mul(x.re, y.im);
    return join(b, re, b.add(cross, b.mul(x.im, y.re)));
  }

  Status arithmetic(const Node& node, Builder& b) {
    const std::string& base = node.op->base;
    const Arg other = b.arg("other");
    Value* x = b.in();
    if (!is_tensor(other)) {
      EL_TRY(Value * both, pair(b, x));
      if (base == "mul" || base == "div") {
        define(node, b.binary(base, both, other));
        return Ok{};
      }
      Parts p{b.select(both, b.rank(both) - 1, SymInt(0)), b.select(both, b.rank(both) - 1, SymInt(1))};
      define(node, join(b, b.make(base + ".Scalar", {p.re, other}, {{"alpha", b.arg("alpha")}}), p.im));
      return Ok{};
    }
    EL_TRY(Parts l, parts(b, x));
    EL_TRY(Parts r, parts(b, std::get<Value*>(other)));
    const DType d = part_dtype(node.results[0]->type.dtype);
    for (Value** v : {&l.re, &l.im, &r.re, &r.im})
      if (*v != nullptr) *v = b.cast(*v, d);
    if (base == "mul") {
      if (l.im == nullptr) std::swap(l, r);
      if (r.im != nullptr) {
        define(node, multiply(b, l, r));
      } else {
        Value* re = b.mul(l.re, r.re);
        define(node, join(b, re, b.mul(l.im, r.re)));
      }
      return Ok{};
    }
    if (base == "div") {
      if (b.call.op().overload != "Tensor") return b.refuse("rounds complex numbers");
      if (r.im == nullptr) {
        Value* re = b.div(l.re, r.re);
        define(node, join(b, re, b.div(l.im, r.re)));
        return Ok{};
      }
      Value* norm = b.add(b.square(r.re), b.square(r.im));
      Parts inverse{b.div(r.re, norm), b.neg(b.div(r.im, norm))};
      if (l.im != nullptr) {
        define(node, multiply(b, l, inverse));
      } else {
        Value* re = b.mul(l.re, inverse.re);
        define(node, join(b, re, b.mul(l.re, inverse.im)));
      }
      return Ok{};
    }
    const auto combine = [&](Value* p, Value* q) {
      return b.make(base + ".Tensor", {p, q}, {{"alpha", b.arg("alpha")}});
    };
    Value* re = combine(l.re, r.re);
    const auto zero = [&](Value* like) { return b.full(like->type.sizes, SymInt(0), d); };
    Value* im = combine(l.im == nullptr ? zero(l.re) : l.im, r.im == nullptr ? zero(r.re) : r.im);
    define(node, join(b, re, im));
    return Ok{};
  }

  Status product(const Node& node, Builder& b) {
    EL_TRY(Parts l, parts(b, b.in()));
    EL_TRY(Parts r, parts(b, b.in(node.op->base == "matmul" ? "other" : "mat2")));
    const auto times = [&](Value* p, Value* q) { return b.make(node.op->text_name(), {p, q}); };
    Value* re = times(l.re, r.re);
    if (l.im != nullptr && r.im != nullptr) re = b.sub(re, times(l.im, r.im));
    Value* im = nullptr;
    if (r.im != nullptr) im = times(l.re, r.im);
    if (l.im != nullptr) im = im == nullptr ? times(l.im, r.re) : b.add(im, times(l.im, r.re));
    define(node, join(b, re, im));
    return Ok{};
  }

  Status cat(const Node& node, Builder& b) {
    std::vector<Value*> out;
    const ValueList list = b.call.tensors("tensors");
    for (Value* v : list) {
      if (complex(v)) {
        EL_TRY(Value * both, pair(b, v));
        out.push_back(both);
      } else {
        Value* re = b.cast(v, part_dtype(node.results[0]->type.dtype));
        out.push_back(join(b, re, b.full(re->type.sizes, SymInt(0), re->type.dtype)));
      }
    }
    define(node, b.cat(out, b.dim("dim", node.results[0]->type.rank())));
    return Ok{};
  }

  // ---- Fourier transforms

  struct Matrix {
    Value* cos;
    Value* sin;
  };

  // cos and sin of sign * 2 pi j k / n, times scale; [n, bins].
  Result<Matrix> matrix(Builder& b, int64_t n, int64_t bins, double sign, double scale, DType dtype) {
    if (n * bins > kMaxMatrix)
      return b.refuse("transforms " + std::to_string(n) +
                      " points; edgelift writes transforms as matrices and takes at most " +
                      std::to_string(kMaxMatrix) + " entries");
    std::vector<double> cos, sin;
    cos.reserve(static_cast<size_t>(n * bins));
    sin.reserve(static_cast<size_t>(n * bins));
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t k = 0; k < bins; ++k) {
        const double angle = sign * 2 * M_PI * static_cast<double>((j * k) % n) / static_cast<double>(n);
        cos.push_back(scale * std::cos(angle));
        sin.push_back(scale * std::sin(angle));
      }
    }
    return Matrix{b.constant("dft_cos", TensorData::of(DType::F64, {n, bins}, cos).converted(dtype)),
                  b.constant("dft_sin", TensorData::of(DType::F64, {n, bins}, sin).converted(dtype))};
  }

  static double scale_of(int64_t normalization, double points) {
    return normalization == 1 ? 1 / std::sqrt(points) : normalization == 2 ? 1 / points : 1.0;
  }

  // v [.., n] along dim times m [n, bins].
  static Value* along(Builder& b, Value* v, int64_t dim, Value* m) {
    const int64_t last = b.rank(v) - 1;
    Value* moved = dim == last ? v : b.transpose(v, dim, last);
    Shape to = moved->type.sizes;
    SymInt rows = 1;
    for (size_t i = 0; i + 1 < to.size(); ++i) rows = rows * to[i];
    to.back() = b.size(m, 1);
    Value* out = b.view(b.mm(b.view(moved, {rows, b.size(m, 0)}), m), to);
    return dim == last ? out : b.transpose(out, dim, last);
  }

  Result<int64_t> points_of(Builder& b, const Value* v, int64_t dim) {
    const SymInt n = b.size(v, dim);
    if (!n.is_const()) return b.refuse("transforms a dynamic number of points; export it with a fixed number");
    return n.value();
  }

  Result<Parts> transform(Builder& b, Parts p, int64_t dim, double sign, double scale) {
    EL_TRY(const int64_t n, points_of(b, p.re, dim));
    EL_TRY(const Matrix m, matrix(b, n, n, sign, scale, b.dtype(p.re)));
    Value* re = b.sub(along(b, p.re, dim, m.cos), along(b, p.im, dim, m.sin));
    Value* im = along(b, p.re, dim, m.sin);
    return Parts{re, b.add(im, along(b, p.im, dim, m.cos))};
  }

  Status fft_r2c(const Node& node, Builder& b) {
    Value* x = b.in();
    const auto dims = b.dims("dim", b.rank(x), false);
    const bool half = b.call.flag("onesided");
    double points = 1;
    for (const int64_t dim : dims) {
      EL_TRY(const int64_t n, points_of(b, x, dim));
      points *= static_cast<double>(n);
    }
    EL_TRY(const int64_t n, points_of(b, x, dims.back()));
    const double scale = scale_of(b.integer("normalization"), points);
    EL_TRY(const Matrix m, matrix(b, n, half ? n / 2 + 1 : n, -1, scale, b.dtype(x)));
    Value* re = along(b, x, dims.back(), m.cos);
    Parts p{re, along(b, x, dims.back(), m.sin)};
    for (size_t i = dims.size() - 1; i-- > 0;) {
      EL_TRY(p, transform(b, p, dims[i], -1, 1));
    }
    define(node, join(b, p.re, p.im));
    return Ok{};
  }

  Status fft_c2c(const Node& node, Builder& b) {
    EL_TRY(Parts p, parts(b, b.in()));
    const auto dims = b.dims("dim", b.rank(p.re), false);
    const double sign = b.call.flag("forward") ? -1 : 1;
    double points = 1;
    for (const int64_t dim : dims) {
      EL_TRY(const int64_t n, points_of(b, p.re, dim));
      points *= static_cast<double>(n);
    }
    double scale = scale_of(b.integer("normalization"), points);
    for (const int64_t dim : dims) {
      EL_TRY(p, transform(b, p, dim, sign, scale));
      scale = 1;
    }
    define(node, join(b, p.re, p.im));
    return Ok{};
  }

  // The last dim holds half the bins of a real signal; the others count twice, but for the first and, of an even
  // number, the last.
  Status fft_c2r(const Node& node, Builder& b) {
    EL_TRY(Parts p, parts(b, b.in()));
    const auto dims = b.dims("dim", b.rank(p.re), false);
    const int64_t n = b.integer("last_dim_size"), bins = n / 2 + 1;
    double points = static_cast<double>(n);
    for (size_t i = 0; i + 1 < dims.size(); ++i) {
      EL_TRY(const int64_t m, points_of(b, p.re, dims[i]));
      points *= static_cast<double>(m);
    }
    const double scale = scale_of(b.integer("normalization"), points);
    for (size_t i = 0; i + 1 < dims.size(); ++i) {
      EL_TRY(p, transform(b, p, dims[i], 1, 1));
    }
    if (n * bins > kMaxMatrix)
      return b.refuse("transforms " + std::to_string(n) + " points, more than edgelift writes as a matrix");
    std::vector<double> cos, sin;
    for (int64_t k = 0; k < bins; ++k) {
      const double weight = (k == 0 || (n % 2 == 0 && k == bins - 1) ? 1.0 : 2.0) * scale;
      for (int64_t j = 0; j < n; ++j) {
        const double angle = 2 * M_PI * static_cast<double>((j * k) % n) / static_cast<double>(n);
        cos.push_back(weight * std::cos(angle));
        sin.push_back(-weight * std::sin(angle));
      }
    }
    const DType d = b.dtype(p.re);
    Value* c = b.constant("dft_cos", TensorData::of(DType::F64, {bins, n}, cos).converted(d));
    Value* s = b.constant("dft_sin", TensorData::of(DType::F64, {bins, n}, sin).converted(d));
    Value* even = along(b, p.re, dims.back(), c);
    define_real(node, b.add(even, along(b, p.im, dims.back(), s)));
    return Ok{};
  }

  const EdgeOptions options_;
  ir::Rewriter rewriter_;
  ir::Graph& graph_;
  std::unordered_map<const Value*, Value*> pairs_;
  std::vector<Node*> dead_;
};

bool has_complex(const ir::Graph& graph) {
  for (const Node* node = graph.first(); node != nullptr; node = node->next)
    for (const Value* result : node->results)
      if (result->type.is_tensor() && is_complex(result->type.dtype)) return true;
  for (const Value* constant : graph.constants())
    if (is_complex(constant->type.dtype) && !constant->users.empty()) return true;
  for (const Value* input : graph.inputs())
    if (input->type.is_tensor() && is_complex(input->type.dtype) && !input->users.empty()) return true;
  return false;
}

}  // namespace

Result<bool> lower_complex(ir::Program& program, const ir::OpTable& ops) {
  bool changed = false;
  for (const auto& method : program.methods) {
    if (!has_complex(*method)) continue;
    EL_TRY_OK(Lowering(program, *method, ops).run());
    changed = true;
  }
  return changed;
}

}  // namespace edgelift::edge
