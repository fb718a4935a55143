
#include "cli/common.h"
#include "edge/table.h"
#include "ops/markdown.h"
#include "ops/record.h"

namespace edgelift::cli {

int run_ops(const OpsArgs& args) {
  if (args.markdown) {
    print_text(ops::markdown([](const ops::OpRecord& record) { return edge::find_entry(&record) != nullptr; }));
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"operator", "kernel", "delegate"}};
  for (const ops::OpRecord* record : ops::all_records())
    rows.push_back(
        {record->full_name(), record->kernel.empty() ? "-" : record->kernel, record->lower != nullptr ? "yes" : "-"});
  print_text(table(rows));
  return 0;
}

}  // namespace edgelift::cli
