// A loaded method. Internal to src/runtime.
#pragma once

#include <memory>
#include <string>

#include <executorch/runtime/executor/program.h>

#include "runtime/session.h"

namespace edgelift::runtime {

// `program` must outlive the method.
Result<std::unique_ptr<Method>> load_method(const executorch::runtime::Program& program, const std::string& name,
                                            const SessionOptions& options);

}  // namespace edgelift::runtime
