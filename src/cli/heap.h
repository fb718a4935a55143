// Memory of verbs that lower: see heap.cc.
#pragma once

namespace edgelift::cli {

void use_large_pages();

}  // namespace edgelift::cli
