#include "ops/record.h"

namespace edgelift::ops {

std::optional<std::string> kernel_refusal(const Call& call) {
  const OpRecord& op = record(call.op());
  if (op.kernel.empty()) return "the runtime has no kernel for it";
  if (!kernel_registered(op.kernel)) return "the runtime does not register its kernel " + op.kernel;
  if (op.kernel_check != nullptr) return op.kernel_check(call);
  return std::nullopt;
}

}  // namespace edgelift::ops
