#include "match/activation.h"

#include <cmath>
#include <optional>
#include <vector>

#include "match/constant.h"
#include "ops/call.h"

namespace edgelift::match {
namespace {

constexpr int kMaxFactors = 6;

ir::Value* operand(const ir::Node& node, size_t index) {
  auto* const* value = std::get_if<ir::Value*>(&node.args.at(index));
  return value == nullptr || !(*value)->type.is_tensor() ? nullptr : *value;
}

std::optional<double> number_of(const ir::Arg& arg) {
  if (const auto* d = std::get_if<double>(&arg)) return *d;
  if (const auto* i = std::get_if<SymInt>(&arg))
    return i->is_const() ? std::optional(static_cast<double>(i->value())) : std::nullopt;
  if (auto* const* value = std::get_if<ir::Value*>(&arg))
    return (*value)->type.is_tensor() ? as_number(*value) : std::nullopt;
  return std::nullopt;
}

bool close(double a, double b) { return std::fabs(a - b) <= 1e-4 * std::fabs(b); }

// A product taken apart: a number and the factors that are no numbers. Inner products are opened only while they have
// no other use, and powers with a small integer exponent count as that many factors.
struct Product {
  double number = 1;
  std::vector<ir::Value*> factors;
};

bool open_product(ir::Value* value, Product& product, bool root) {
  if (value == nullptr || product.factors.size() > kMaxFactors)
    return false;  // a factor may be a number that a node computes
  ir::Node* node = value->producer;
  if (node != nullptr && (root || value->users.size() == 1)) {
    if (node->is("mul", "Tensor") || node->is("mul", "Scalar")) {
      ir::Value* a = operand(*node, 0);
      if (a == nullptr) return false;
      if (const auto number = number_of(node->args.at(1))) {
        product.number *= *number;
        return open_product(a, product, false);
      }
      if (const auto number = as_number(a)) {
        product.number *= *number;
        return open_product(operand(*node, 1), product, false);
      }
      return open_product(a, product, false) && open_product(operand(*node, 1), product, false);
    }
    if (node->is("div", "Tensor") || node->is("div", "Scalar")) {
      const auto number = number_of(node->args.at(1));
      if (number && *number != 0) {
        product.number /= *number;
        return open_product(operand(*node, 0), product, false);
      }
    }
    if (node->is("pow", "Tensor_Scalar")) {
      const auto exponent = number_of(node->args.at(1));
      if (exponent && (*exponent == 2 || *exponent == 3)) {
        for (int i = 0; i < static_cast<int>(*exponent); ++i) product.factors.push_back(operand(*node, 0));
        return true;
      }
    }
  }
  product.factors.push_back(value);
  return product.factors.size() <= kMaxFactors;
}

// a + number, or a + b when other is set.
bool open_sum(ir::Value* value, ir::Value*& a, ir::Value** b, double& number) {
  ir::Node* node = value->producer;
  if (node == nullptr || (!node->is("add", "Tensor") && !node->is("add", "Scalar"))) return false;
  if (ops::Call(*node).opt_number("alpha").value_or(1) != 1) return false;
  a = operand(*node, 0);
  if (a == nullptr) return false;
  if (b != nullptr) {
    *b = operand(*node, 1);
    return *b != nullptr;
  }
  if (const auto right = number_of(node->args.at(1))) {
    number = *right;
    return true;
  }
  if (const auto left = as_number(a)) {
    number = *left;
    a = operand(*node, 1);
    return a != nullptr;
  }
  return false;
}

// If node = 0.5 * x * (1 + f): x and f.
bool half_gate(const ir::Node& node, std::string_view function, ir::Value*& x, ir::Value*& inner) {
  if (!node.is("mul", "Tensor") && !node.is("mul", "Scalar") && !node.is("div", "Scalar") && !node.is("div", "Tensor"))
    return false;
  Product product;
  if (!open_product(node.results.at(0), product, true)) return false;
  if (!close(product.number, 0.5) || product.factors.size() != 2) return false;
  for (size_t side = 0; side < 2; ++side) {
    ir::Value* f = nullptr;
    double one = 0;
    if (!open_sum(product.factors[side], f, nullptr, one) || one != 1) continue;
    if (f->producer == nullptr || !f->producer->is(function)) continue;
    x = product.factors[1 - side];
    inner = operand(*f->producer, 0);
    return inner != nullptr && x->type.sizes == node.results.at(0)->type.sizes;
  }
  return false;
}

}  // namespace

ir::Value* match_silu(const ir::Node& node) {
  if (!node.is("mul", "Tensor")) return nullptr;
  for (size_t side = 0; side < 2; ++side) {
    ir::Value* gate = operand(node, side);
    ir::Value* x = operand(node, 1 - side);
    if (gate == nullptr || x == nullptr || gate->producer == nullptr || !gate->producer->is("sigmoid")) continue;
    if (operand(*gate->producer, 0) == x) return x;
  }
  return nullptr;
}

ir::Value* match_gelu_tanh(const ir::Node& node) {
  ir::Value *x = nullptr, *inner = nullptr;
  if (!half_gate(node, "tanh", x, inner)) return nullptr;
  Product scaled;
  if (!open_product(inner, scaled, true)) return nullptr;
  if (!close(scaled.number, std::sqrt(2.0 / M_PI))) return nullptr;
  if (scaled.factors.size() == 1) {  // c * (x + 0.044715 x^3)
    ir::Value *a = nullptr, *b = nullptr;
    double unused = 0;
    if (!open_sum(scaled.factors[0], a, &b, unused)) return nullptr;
    for (int side = 0; side < 2; ++side, std::swap(a, b)) {
      if (a != x) continue;
      Product cubic;
      if (!open_product(b, cubic, true) || !close(cubic.number, 0.044715) || cubic.factors.size() != 3) continue;
      if (cubic.factors[0] == x && cubic.factors[1] == x && cubic.factors[2] == x) return x;
    }
    return nullptr;
  }
  if (scaled.factors.size() == 2) {  // c * x * (1 + 0.044715 x^2)
    for (size_t side = 0; side < 2; ++side) {
      if (scaled.factors[side] != x) continue;
      ir::Value* square = nullptr;
      double one = 0;
      if (!open_sum(scaled.factors[1 - side], square, nullptr, one) || one != 1) continue;
      Product quadratic;
      if (!open_product(square, quadratic, true) || !close(quadratic.number, 0.044715) || quadratic.factors.size() != 2)
        continue;
      if (quadratic.factors[0] == x && quadratic.factors[1] == x) return x;
    }
  }
  return nullptr;
}

ir::Value* match_gelu_erf(const ir::Node& node) {
  ir::Value *x = nullptr, *inner = nullptr;
  if (!half_gate(node, "erf", x, inner)) return nullptr;
  Product scaled;
  if (!open_product(inner, scaled, true)) return nullptr;
  return close(scaled.number, std::sqrt(0.5)) && scaled.factors.size() == 1 && scaled.factors[0] == x ? x : nullptr;
}

}  // namespace edgelift::match
