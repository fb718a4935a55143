// The decomposition table as a whole, and the size of what functionalisation makes.
#include <gtest/gtest.h>

#include <set>

#include "edge/edge.h"
#include "edge/table.h"
#include "ir/text.h"
#include "ops/record.h"

namespace edgelift::edge {
namespace {

TEST(Table, NoOperatorHasTwoRows) {
  std::set<std::string_view> seen;
  for (const Entry& entry : all_entries()) EXPECT_TRUE(seen.insert(entry.op).second) << entry.op;
}

// Whatever the importer accepts and the portable recipe keeps must have a kernel or a row, or be known here as an
// operator that emission refuses by name.
TEST(Table, EveryOperatorHasAKernelARowOrAReason) {
  const std::set<std::string_view> without = {
      // docs/edge.md: nothing of the runtime can compute these.
      "nextafter", "gcd", "lcm", "erfinv", "lgamma", "digamma", "i0", "view.dtype", "grid_sampler_3d",
      // Packed sequences.
      "lstm.data", "gru.data", "rnn_tanh.data", "rnn_relu.data",
      // Gradients, and statistics of training.
      "max_pool2d_with_indices_backward", "_native_batch_norm_legit_functional",
      // A number for Python, which a method cannot branch on.
      "is_nonzero",
      // An inner form of batch_norm that has not been met in a program.
      "_batch_norm_no_update",
      // Scales that are known only at run time, or a group.
      "quantized_decomposed.quantize_per_tensor.tensor2", "quantized_decomposed.dequantize_per_tensor.tensor2",
      "quantized_decomposed.quantize_per_channel_group", "quantized_decomposed.choose_qparams_per_token"};
  std::string missing;
  for (const ops::OpRecord* op : ops::all_records()) {
    if (op->ns != "aten" && op->ns != "quantized_decomposed" && op->ns != "torchao") continue;
    if (op->writes_args() || op->has(ops::kCheck) || op->has(ops::kInPlace)) continue;
    if (!op->kernel.empty() && ops::kernel_registered(op->kernel)) continue;
    if (find_entry(op) != nullptr || without.contains(op->text_name())) continue;
    if (op->schema.returns.empty()) continue;
    bool complex = false;
    for (const std::string_view base : {"complex", "polar", "view_as_complex", "_fft_c2c", "conj_physical"})
      complex = complex || op->base == base;
    if (!complex) missing += op->text_name() + " ";
  }
  EXPECT_EQ(missing, "");
}

// n in-place additions through a slice of one buffer-like value.
std::string chain(int n) {
  std::string text = "program {\n  fn forward(%x: f32[4,4]) -> f32[4,4] {\n    %c = clone %x : f32[4,4]\n";
  for (int i = 0; i < n; ++i) {
    const std::string k = std::to_string(i);
    text += "    %s" + k + " = slice.Tensor %c, dim=0, start=1, end=3 : f32[2,4]\n";
    text += "    %a" + k + " = add_.Scalar %s" + k + ", other=1.0 : f32[2,4]\n";
  }
  return text + "    return %c\n  }\n}\n";
}

// Nodes that functionalisation leaves of n writes.
size_t nodes_after(int n) {
  auto program = ir::parse(chain(n), ops::table());
  EXPECT_TRUE(program.ok()) << program.error().message;
  const Status done = functionalize(*program, ops::table());
  EXPECT_TRUE(done.ok()) << done.error().message;
  return program->forward().node_count();
}

// Each write costs as many nodes as any other: no view is computed again for writes that came before it.
TEST(Functionalize, LeavesTheSameNumberOfNodesForEveryWrite) {
  const size_t few = nodes_after(10), more = nodes_after(20), many = nodes_after(1000);
  const size_t each = (more - few) / 10;
  EXPECT_LE(each, 3u);  // slice, add, slice_scatter
  EXPECT_EQ(more, few + 10 * each);
  EXPECT_EQ(many, few + 990 * each);
}

}  // namespace
}  // namespace edgelift::edge
