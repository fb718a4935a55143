// Kernel texts of the tables, and the names of the edge dialect.
#include "ops/record.h"

#include "base/check.h"
#include "base/numbers.h"
#include "ops/kernel_text.h"

namespace edgelift::ops {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

OpRecord::KernelArg kernel_arg(const OpRecord& op, std::string_view text) {
  OpRecord::KernelArg arg;
  const int index = op.schema.index_of(text);
  if (index >= 0) {
    arg.index = static_cast<size_t>(index);
    return arg;
  }
  if (text == "@dim_order") {
    arg.kind = OpRecord::KernelArg::Kind::DimOrder;
    return arg;
  }
  arg.kind = OpRecord::KernelArg::Kind::Literal;
  if (text == "none") return arg;
  if (text == "true" || text == "false") {
    arg.literal = text == "true";
  } else if (text == "[]") {
    arg.literal = ir::IntList{};
  } else if (const auto integer = parse_int(text)) {
    arg.literal = SymInt(*integer);
  } else if (const auto number = parse_float(text)) {
    arg.literal = *number;
  } else {
    EL_UNREACHABLE("kernel argument '" + std::string(text) + "' of " + op.full_name() +
                   " is neither an argument of its schema nor a literal");
  }
  return arg;
}

}  // namespace

void set_kernel(OpRecord& op, std::string_view text) {
  if (text.empty()) return;
  const size_t paren = text.find('(');
  op.kernel = text.substr(0, paren);
  if (paren == std::string_view::npos) {
    for (size_t i = 0; i < op.schema.args.size(); ++i) {
      if (op.schema.args[i].kind == ir::ArgKind::Ignored) continue;
      OpRecord::KernelArg arg;
      arg.index = i;
      op.kernel_args.push_back(std::move(arg));
    }
    return;
  }
  EL_CHECK(text.back() == ')', "kernel text without ')': " + std::string(text));
  std::string_view list = text.substr(paren + 1, text.size() - paren - 2);
  while (!list.empty()) {
    const size_t comma = list.find(',');
    op.kernel_args.push_back(kernel_arg(op, trim(list.substr(0, comma))));
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
}

// The dialect renames operators that return views to copies, and the three that choose a memory format to
// dim_order_ops. Both renamings show in the kernel that the record names.
std::string OpRecord::edge_name() const {
  const std::string_view target = std::string_view(kernel).substr(0, kernel.rfind('.'));
  if (target.starts_with("dim_order_ops::")) return std::string(target) + ".default";
  if (has(kAlias) && target == ns + "::" + base + "_copy") return std::string(target) + "." + overload;
  return full_name();
}

}  // namespace edgelift::ops
