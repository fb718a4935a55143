// The text form (.elir). Law: print(parse(print(g))) == print(g).
#pragma once

#include <string>
#include <string_view>

#include "ir/graph.h"
#include "ir/rewriter.h"

namespace edgelift::ir {

struct PrintOptions {
  bool types = true;
  bool origins = false;  // a trailing "; file.py:12" on each node
};
std::string print(const Program& program, const PrintOptions& options = {});
std::string print(const Graph& graph, const PrintOptions& options = {});
std::string print_node(const Node& node);

// What stands before the first line that begins with "; EXPECT": a test keeps what it expects of the program behind it.
std::string_view before_expectation(std::string_view text);

// Errors: "line:column: sentence".
Result<Program> parse(std::string_view text, const OpTable& ops);

}  // namespace edgelift::ir
