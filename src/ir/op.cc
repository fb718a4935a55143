#include "ir/op.h"

namespace edgelift::ir {

int Schema::index_of(std::string_view name) const {
  for (size_t i = 0; i < args.size(); ++i)
    if (args[i].name == name) return static_cast<int>(i);
  return -1;
}

std::string Op::text_name() const {
  std::string text = ns == "aten" ? base : ns + "." + base;
  if (overload != "default") text += "." + overload;
  return text;
}

bool Op::writes_args() const {
  for (const ArgSpec& arg : schema.args)
    if (arg.written) return true;
  return false;
}

const Op& delegate_op() {
  static const Op op = [] {
    Op made;
    made.ns = "edgelift";
    made.base = "delegate";
    made.overload = "default";
    ArgSpec index;
    index.name = "index";
    index.kind = ArgKind::Int;
    ArgSpec operands;
    operands.name = "operands";
    operands.kind = ArgKind::TensorList;
    made.schema.args = {index, operands};
    made.schema.returns = {ReturnSpec{ReturnKind::TensorList, false}};
    return made;
  }();
  return op;
}

}  // namespace edgelift::ir
