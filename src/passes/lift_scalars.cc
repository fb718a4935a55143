// aten.<op>.Scalar becomes aten.<op>.Tensor with a rank-0 constant, so that the delegate can hold it.
#include <cmath>
#include <unordered_set>

#include "match/sdpa.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

struct Guards {
  bool inexact_f16 = false;
  const std::unordered_set<const ir::Node*>& kept;
};

// A number written in the program, as the constant's dtype will hold it.
struct Number {
  double real = 0;
  std::optional<int64_t> integer;  // set where it was written as an integer
};

std::optional<Number> number_of(const ir::Arg& arg) {
  if (const auto* d = std::get_if<double>(&arg)) return Number{*d, std::nullopt};
  if (const auto* i = std::get_if<SymInt>(&arg); i != nullptr && i->is_const())
    return Number{static_cast<double>(i->value()), i->value()};
  return std::nullopt;
}

// Why the number cannot stand in a constant of the dtype, or "".
std::string objection(const Number& number, DType dtype, bool inexact_f16) {
  if (!std::isfinite(number.real)) return "the number is not finite";
  if (is_integer(dtype)) {
    if (!number.integer) return "a float number would be truncated in an integer constant";
    if (scalar_data(DType::I64, *number.integer).converted(dtype).converted(DType::I64).element_as_int(0) !=
        *number.integer)
      return "the number does not fit the element type";
    return "";
  }
  if (number.integer && static_cast<int64_t>(number.real) != *number.integer)
    return "the integer has no exact float form";
  if (dtype == DType::F32 || dtype == DType::F64) {
    // Eager rounds the number to float32 itself.
    return dtype == DType::F32 && !std::isfinite(static_cast<float>(number.real)) ? "the number overflows float32" : "";
  }
  if (dtype != DType::F16 && dtype != DType::BF16) return "constants of this element type are not lifted";
  const double rounded = scalar_data(dtype, number.real).element_as_double(0);
  if (rounded == number.real) return "";
  if (!std::isfinite(rounded)) return "the number overflows the element type";
  return inexact_f16
             ? ""
             : "the number is not exact in 16 bits, and eager computes with the unrounded one (option inexact-f16=yes)";
}

Value* constant_for(ir::Rewriter& rewriter, DType dtype, const Number& number) {
  if (is_integer(dtype)) return rewriter.scalar(dtype, *number.integer);
  return rewriter.scalar(dtype, number.real);
}

bool lift_binary(ir::Node& node, ir::Rewriter& rewriter, PassContext& context, const Guards& guards) {
  const std::string_view base = node.op->base;
  const bool known = base == "mul" || base == "add" || base == "sub" || base == "rsub" || base == "div";
  if (!known || node.op->ns != "aten" || node.op->overload != "Scalar") return false;
  auto* const* self = std::get_if<Value*>(&node.args.at(0));
  if (self == nullptr) return false;
  const ir::Type& type = (*self)->type;
  auto number = number_of(node.args.at(1));
  if (!number) {
    context.declined(node, "its scalar is not a number of the program");
    return false;
  }
  if (type.dtype == DType::Bool || node.result()->type.dtype != type.dtype) {
    context.declined(node, "the result's element type differs from the operand's");
    return false;
  }
  if (guards.kept.contains(&node)) {
    context.declined(node, "it carries the scale of an attention that a later pass recognises");
    return false;
  }
  const ops::Call call(node);
  const bool has_alpha = base == "add" || base == "sub" || base == "rsub";
  double alpha = 1;
  if (has_alpha) {
    const auto a = number_of(call.arg("alpha"));
    if (!a) {
      context.declined(node, "its alpha is not a number of the program");
      return false;
    }
    alpha = a->real;
    if (alpha != 1) {
      // self + alpha * other: one number where both are; rsub computes other - alpha * self and stays.
      if (base == "rsub" || (number->integer && !a->integer)) {
        context.declined(node, "its alpha is not 1");
        return false;
      }
      number->real *= alpha;
      if (number->integer) number->integer = *number->integer * *a->integer;
      if (!std::isfinite(number->real) || std::fabs(number->real) > 9e15) number->integer.reset();
    }
  }
  if (const std::string why = objection(*number, type.dtype, guards.inexact_f16); !why.empty()) {
    context.declined(node, why);
    return false;
  }
  rewriter.set_insert_point(&node);
  Value* constant = constant_for(rewriter, type.dtype, *number);
  Value* lifted = base == "rsub" ? rewriter.make("sub.Tensor", {constant, *self})
                                 : rewriter.make(std::string(base) + ".Tensor", {*self, constant});
  if (!(lifted->type.sizes == node.result()->type.sizes)) {
    rewriter.erase_dead(lifted->producer);
    return false;
  }
  rewriter.replace(node.result(), lifted);
  rewriter.erase_dead(&node);
  return true;
}

// pow by 2.0, 0.5, -0.5: exact in the delegate as square, square root, reciprocal square root.
bool lift_pow(ir::Node& node, ir::Rewriter& rewriter, PassContext&, const Guards&) {
  if (!node.is("pow", "Tensor_Scalar")) return false;
  const auto exponent = number_of(node.args.at(1));
  auto* const* self = std::get_if<Value*>(&node.args.at(0));
  if (!exponent || self == nullptr || !is_float((*self)->type.dtype) || exponent->integer) return false;
  rewriter.set_insert_point(&node);
  Value* lifted = nullptr;
  if (exponent->real == 2.0) lifted = rewriter.make("pow.Tensor_Scalar", {*self, SymInt(2)});
  if (exponent->real == 0.5) lifted = rewriter.make("sqrt", {*self});
  if (exponent->real == -0.5) lifted = rewriter.make("rsqrt", {*self});
  if (lifted == nullptr) return false;
  rewriter.replace(node.result(), lifted);
  rewriter.erase_dead(&node);
  return true;
}

bool consumes_attention(const std::string& pass) { return pass == "fuse-sdpa" || pass == "expand-sdpa"; }

}  // namespace

Result<bool> lift_scalars(ir::Program& program, PassContext& context) {
  const std::string_view keep = context.options.get("keep-sdpa", "auto");
  bool keep_scales = keep == "always";
  if (keep == "auto")
    for (const std::string& pass : context.later) keep_scales = keep_scales || consumes_attention(pass);
  std::unordered_set<const ir::Node*> kept;
  const Guards guards{context.options.get("inexact-f16", "no") == "yes", kept};
  bool changed = false;
  for (const auto& graph : program.methods) {
    kept.clear();
    if (keep_scales)
      graph->each([&](ir::Node& node) {
        if (const auto attention = match::match_sdpa(node))
          kept.insert(attention->scale_nodes.begin(), attention->scale_nodes.end());
      });
    ir::Rewriter rewriter(program, *graph, context.ops);
    graph->each([&](ir::Node& node) {
      changed = lift_binary(node, rewriter, context, guards) || lift_pow(node, rewriter, context, guards) || changed;
    });
  }
  return changed;
}

}  // namespace edgelift::passes
