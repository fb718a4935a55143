// Reading of OpDef::kernel, for the table.
#pragma once

#include <string_view>

#include "ops/record.h"

namespace edgelift::ops {

// Fills kernel and kernel_args of a record whose schema is parsed. A malformed text is a Bug.
void set_kernel(OpRecord& op, std::string_view text);

}  // namespace edgelift::ops
