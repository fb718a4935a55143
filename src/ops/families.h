// The list of operator families: one file each, one table each. table.cc joins them in this order.
#pragma once

#include <span>

#include "ops/record.h"

namespace edgelift::ops {

// clang-format off
#define EDGELIFT_OPS_FAMILIES(FAMILY)                                                                        \
  FAMILY(linear)                                                                                             \
  FAMILY(conv)                                                                                               \
  FAMILY(pool)                                                                                               \
  FAMILY(norm) FAMILY(attention) FAMILY(activation) FAMILY(resize) FAMILY(rnn) FAMILY(unary) FAMILY(binary)  \
      FAMILY(compare) FAMILY(reduce) FAMILY(view) FAMILY(data) FAMILY(arrange) FAMILY(index) FAMILY(factory) \
          FAMILY(convert) FAMILY(sort) FAMILY(quantized) FAMILY(loss) FAMILY(signal) FAMILY(misc)
// clang-format on

#define EDGELIFT_DECLARE_FAMILY(NAME) std::span<const OpDef> NAME##_ops();
EDGELIFT_OPS_FAMILIES(EDGELIFT_DECLARE_FAMILY)
#undef EDGELIFT_DECLARE_FAMILY

// upstream.cc: the rule of ExecuTorch's own partitioner for an operator of ours, by full name; null: never delegated.
UpstreamFn upstream_rule(std::string_view full_name);

}  // namespace edgelift::ops
