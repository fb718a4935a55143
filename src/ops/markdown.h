// The table of operators for people: docs/operators.md.
#pragma once

#include <functional>
#include <string>

#include "ops/record.h"

namespace edgelift::ops {

// One row an overload, sorted by name: whether and when it is delegated, its kernel, and what becomes of it otherwise.
// `decomposes` tells which operators to_edge or legalize can rewrite (the table of src/edge, which this folder cannot
// see); without it such operators show as having neither form.
std::string markdown(const std::function<bool(const OpRecord&)>& decomposes = {});

}  // namespace edgelift::ops
