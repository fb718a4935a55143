// The emission of one method. One class over several files: method.cc (inputs, operands, calls), views.cc (results that
// share memory), finish.cc (outputs, state, memory). Internal to src/emit.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "emit/kernel_args.h"
#include "emit/method.h"
#include "emit/sizes.h"
#include "emit/state.h"
#include "emit/values.h"
#include "ops/record.h"

namespace edgelift::emit {

class MethodEmitter {
 public:
  MethodEmitter(const std::vector<xnn::Graph>& graphs, const ir::Graph& graph, const Options& options, FileData& file,
                DelegateBlobs& blobs, MissingKernels& missing);
  Result<pte::Plan> emit(MemoryPlan& memory, std::vector<const ir::Node*>& nodes);

 private:
  // method.cc
  Error at_value(const ir::Value& value, const Error& error) const;
  Error at_node(const ir::Node& node, const Error& error) const;
  Status inputs();
  Result<int32_t> literal_input(const ir::Value& input);
  Result<int32_t> operand(const ir::Value* value);
  Result<int32_t> constant(const ir::Value* value);
  // A result gets memory of its own, that of a dead operand, or that of the buffer which it becomes the new value of.
  Result<int32_t> result(const ir::Value* value);
  Status node(const ir::Node& node);
  Status delegate_call(const ir::Node& node);
  Status add_blob(size_t number);
  Status kernel_call(const ir::Node& node);
  Status call_with_results(const ir::Node& node, const std::string& kernel, std::vector<int32_t> args,
                           bool convert_results);
  Status in_place_call(const ir::Node& node);
  void report_missing(const ops::OpRecord& record, const std::string& why, const ir::Node& node);

  // method.cc: dim orders
  void convert(int32_t from, int32_t to);
  pte::Tensor bare(int32_t like, std::vector<uint8_t> dim_order) const;
  std::vector<uint8_t> row_major_order(int32_t index) const;
  Result<int32_t> row_major_operand(const ir::Value* value);

  // views.cc
  void set_index(const ir::Value* value, int32_t index);
  uint64_t last_use(const ir::Value* value) const;
  Place in_place_of(const ir::Value* value) const;
  bool elide_view(const ir::Node& node);
  bool elide_slices(const ir::Node& node);
  bool view_call(const ir::Node& node);
  Status view_copy(const ir::Node& node);
  // The tensor with the memory that the tensor points into, where it is a view made at run time; and its block.
  int32_t root_of(int32_t index) const;
  int32_t block_of(int32_t index) const { return values_.place(root_of(index)).block; }

  // finish.cc
  Status outputs();
  int32_t copy_of(int32_t from, std::vector<uint8_t> dim_order);
  void place(MemoryPlan& memory);

  const std::vector<xnn::Graph>& graphs_;
  const ir::Graph& graph_;
  const Options& options_;
  FileData& file_;
  DelegateBlobs& blobs_;
  MissingKernels& missing_;
  pte::Plan plan_;
  PlanValues values_;
  Caller caller_;
  Sizes sizes_;
  State state_;
  KernelArgs args_;
  std::unordered_map<const ir::Value*, int32_t> index_;
  std::unordered_set<const ir::Value*> outputs_;  // what the caller gets
  std::unordered_set<const ir::Value*> kept_;     // that, and what is written back
  std::vector<uint64_t> last_use_;                // of each block, by the values in it so far
  std::unordered_map<int32_t, int32_t>
      row_major_twins_;                            // tensor in another dim order -> its elements in row-major order
  std::unordered_map<int32_t, int32_t> shared_;    // run-time view -> the tensor that it points into
  std::unordered_map<size_t, int32_t> delegates_;  // of the program -> of the plan
  std::vector<int32_t> whole_life_;                // blocks that keep their contents between calls
  bool row_major_args_ = false;
};

inline bool row_major(const ir::Type& type) {
  for (size_t d = 0; d < type.dim_order.size(); ++d)
    if (type.dim_order[d] != d) return false;
  return true;
}

// The base of a view whose elements lie in memory as those of the result do; null if they do not.
const ir::Value* same_memory_base(const ir::Node& node);

}  // namespace edgelift::emit
