// Inputs named on the command line, and random ones.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/graph.h"
#include "runtime/session.h"

namespace edgelift::cli {

// The loader of that name.
Result<runtime::Load> loader(const std::string& name);
// "x.npy", or raw bytes with their type: "x.bin:f32[1,3,224,224]".
Result<TensorData> read_input(const std::string& spec);
// One argument an input of the method: the files given, in order, for the tensors; literals where the program fixes
// them. With none given and `seed` set, random values: floats evenly in [-1, 1), integers in [0, 2), dynamic dims at
// their upper bounds.
Result<std::vector<runtime::Argument>> method_inputs(const std::vector<runtime::InputSpec>& specs,
                                                     const std::vector<std::string>& files, const uint64_t* seed);

// What the exported program says of its inputs' sizes and a .pte cannot: which dims of an input are fixed, from where
// to where the others may go, and which depend on each other.
Status check_sizes(const ir::Graph& graph, std::span<const runtime::Argument> inputs);

}  // namespace edgelift::cli
