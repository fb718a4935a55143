// The argument list of a kernel call from the arguments of a node (kernels.md). Internal to src/emit.
#pragma once

#include <functional>
#include <vector>

#include "base/result.h"
#include "emit/sizes.h"
#include "emit/values.h"
#include "ops/record.h"

namespace edgelift::emit {

class KernelArgs {
 public:
  // `operand` gives the value index of an operand that has been emitted before.
  KernelArgs(PlanValues& values, Sizes& sizes, std::function<Result<int32_t>(const ir::Value*)> operand)
      : values_(values), sizes_(sizes), operand_(std::move(operand)) {}

  // The arguments before the outs. Errors: one sentence without the node's name.
  Result<std::vector<int32_t>> of(const ir::Node& node);
  // A number, flag, text or None by itself.
  Result<int32_t> literal(const ir::Arg& arg);

 private:
  Result<int32_t> by_schema(const ir::Arg& arg, ir::ArgKind kind);
  Result<int32_t> real(const ir::Arg& arg);
  Result<int32_t> scalar(const ir::Arg& arg);
  int32_t dim_order(const ir::Type& type);

  PlanValues& values_;
  Sizes& sizes_;
  std::function<Result<int32_t>(const ir::Value*)> operand_;
};

}  // namespace edgelift::emit
