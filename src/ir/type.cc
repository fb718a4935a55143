#include "ir/type.h"

#include <algorithm>

#include "base/numbers.h"

namespace edgelift::ir {

bool Type::is_static() const {
  return std::all_of(sizes.begin(), sizes.end(), [](const SymInt& s) { return s.is_const(); });
}

std::optional<int64_t> Type::numel() const {
  int64_t n = 1;
  for (const SymInt& size : sizes) {
    if (!size.is_const()) return std::nullopt;
    n *= size.value();
  }
  return n;
}

int64_t Type::max_numel() const {
  int64_t n = 1;
  for (const SymInt& size : sizes) {
    const int64_t bound = size.upper();
    if (bound == kUnbounded) return kUnbounded;
    const auto next = checked_mul(n, bound);
    if (!next) return kUnbounded;
    n = *next;
  }
  return n;
}

std::vector<int64_t> Type::static_sizes() const {
  std::vector<int64_t> out;
  out.reserve(sizes.size());
  for (const SymInt& size : sizes) out.push_back(size.value());
  return out;
}

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ',';
    text += shape[i].str();
  }
  return text + "]";
}

std::string Type::str() const {
  switch (kind) {
    case Kind::Int:
      return "int";
    case Kind::Float:
      return "float";
    case Kind::Bool:
      return "bool";
    case Kind::String:
      return "str";
    case Kind::None:
      return "none";
    case Kind::Tensor:
      break;
  }
  std::string text = std::string(short_name(dtype)) + shape_text(sizes);
  if (!dim_order.empty()) {
    text += "{";
    for (size_t i = 0; i < dim_order.size(); ++i) {
      if (i != 0) text += ',';
      text += std::to_string(dim_order[i]);
    }
    text += "}";
  }
  return text;
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  const SymInt one(1);
  for (size_t i = 0; i < rank; ++i) {
    const SymInt& x = i < rank - a.size() ? one : a[i - (rank - a.size())];
    const SymInt& y = i < rank - b.size() ? one : b[i - (rank - b.size())];
    if (x == one) {
      out[i] = y;
    } else if (y == one || known_equal(x, y)) {
      out[i] = x;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace edgelift::ir
