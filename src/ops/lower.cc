// The gates that hold for every operator, before its own lower().
#include <algorithm>

#include "base/check.h"
#include "ops/xnn_builder.h"

namespace edgelift::ops {
namespace {

using Code = Refusal::Code;

bool has_unbacked(const SymInt& size) {
  for (const SymbolPtr& symbol : size.symbols())
    if (symbol->name.starts_with('u')) return true;
  return false;
}

LowerResult check_type(const ir::Type& type, std::string_view what) {
  if (!type.is_tensor()) return refuse(Code::NoForm, "it takes a number that is known only when the program runs");
  if (type.rank() > static_cast<int64_t>(xnn::kMaxRank))
    return refuse(Code::Rank,
                  std::string(what) + " has rank " + std::to_string(type.rank()) + ", more than XNNPACK's 6");
  for (const SymInt& size : type.sizes) {
    if (size.is_const()) {
      if (size.value() == 0) return refuse(Code::Empty, std::string(what) + " has no elements: " + type.str());
      continue;
    }
    if (has_unbacked(size))
      return refuse(Code::Dynamic,
                    std::string(what) + " has a size that is known only when the program runs: " + type.str());
    if (size.lower() < 1) return refuse(Code::Empty, std::string(what) + " may have no elements: " + type.str());
  }
  return std::nullopt;
}

bool is_used(const ir::Value* result) { return !result->users.empty() || result->producer->graph->is_output(result); }

LowerResult check_dtypes(const ir::Node& node) {
  std::optional<DType> common;
  LowerResult refused;
  const auto check = [&](const ir::Value* value, std::string_view what) {
    if (refused) return;
    const DType dtype = value->type.dtype;
    if (dtype != DType::F32 && dtype != DType::F16) {
      refused = refuse(Code::Dtype, std::string(what) + " is " + std::string(long_name(dtype)) +
                                        "; the delegate computes in float32 and float16");
    } else if (common && *common != dtype) {
      refused = refuse(Code::Dtype, "float32 and float16 are mixed");
    }
    common = dtype;
  };
  for (const ir::Arg& arg : node.args)
    ir::for_each_value(arg, [&](const ir::Value* value) { check(value, "an operand"); });
  for (const ir::Value* result : node.results)
    if (result->index == 0 || is_used(result)) check(result, "the result");
  return refused;
}

}  // namespace

LowerResult lower_node(const ir::Node& node, XnnBuilder& builder) {
  if (is_delegate(node)) return refuse(Code::Policy, "it is a delegate already");
  const OpRecord& op = record(node);
  if (op.has(kInPlace)) return refuse(Code::NoForm, "it writes its argument");
  if (op.lower == nullptr)
    return refuse(Code::NoForm, op.note.empty() ? "the XNNPACK delegate has no node with this meaning" : op.note);
  if (node.results.empty()) return refuse(Code::NoForm, "it has no result");
  LowerResult refused;
  for (const ir::Arg& arg : node.args) {
    ir::for_each_value(arg, [&](const ir::Value* value) {
      if (!refused) refused = check_type(value->type, "an operand");
    });
  }
  if (refused) return refused;
  for (const ir::Value* result : node.results)
    if (result->index == 0 || is_used(result))
      if (auto bad = check_type(result->type, "the result")) return bad;
  if (!op.has(kOwnDtypes))
    if (auto bad = check_dtypes(node)) return bad;
  return op.lower(Call(node), builder);
}

LowerResult refusal(const ir::Node& node) {
  XnnBuilder scratch;
  return lower_node(node, scratch);
}

}  // namespace edgelift::ops
