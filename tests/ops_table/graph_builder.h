// A graph to try operators on: inputs and constants by type text, nodes through the rewriter and so through the shape
// rules.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/rewriter.h"
#include "ops/record.h"
#include "ops/xnn_builder.h"

namespace edgelift::ops {

class OpsTest : public ::testing::Test {
 protected:
  OpsTest() {
    program.methods.push_back(std::make_unique<ir::Graph>("forward"));
    rewriter = std::make_unique<ir::Rewriter>(program, program.forward(), table());
  }

  ir::Value* input(DType dtype, ir::Shape sizes, std::vector<uint8_t> dim_order = {}) {
    ir::Type type = ir::Type::tensor(dtype, std::move(sizes));
    type.dim_order = std::move(dim_order);
    return program.forward().add_input("x", std::move(type));
  }
  ir::Value* f32(ir::Shape sizes) { return input(DType::F32, std::move(sizes)); }
  ir::Value* f16(ir::Shape sizes) { return input(DType::F16, std::move(sizes)); }
  ir::Value* i64(ir::Shape sizes) { return input(DType::I64, std::move(sizes)); }

  // 0, 1, 2, … of the given sizes.
  ir::Value* constant(std::vector<int64_t> sizes, DType dtype = DType::F32) {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i));
    return rewriter->constant("w", TensorData::of(DType::F32, std::move(sizes), values).converted(dtype));
  }

  static SymInt symbol(const std::string& name, int64_t lo = 2, int64_t hi = 64) {
    return SymInt::symbol(std::make_shared<Symbol>(Symbol{name, lo, hi}));
  }
  static ir::IntList list(std::initializer_list<SymInt> values) { return values; }

  ir::Node* create(std::string_view op, std::vector<ir::Arg> args,
                   std::initializer_list<ir::Rewriter::Named> named = {}) {
    auto node = rewriter->try_create(op, std::move(args), named);
    EXPECT_TRUE(node.ok()) << op << ": " << (node.ok() ? "" : node.error().message);
    return node.ok() ? *node : nullptr;
  }
  // The types of the results, "f32[2,3]" or "f32[2,3], i64[2,3]"; or "error: " and the sentence.
  std::string types(std::string_view op, std::vector<ir::Arg> args,
                    std::initializer_list<ir::Rewriter::Named> named = {}) {
    auto node = rewriter->try_create(op, std::move(args), named);
    if (!node.ok()) return "error: " + node.error().message;
    std::string text;
    for (const ir::Value* result : (*node)->results) text += (text.empty() ? "" : ", ") + result->type.str();
    return text;
  }
  // The kinds of the XNNPACK nodes that the operator becomes, "Conv2d Clamp"; or "refused: " and the sentence.
  std::string lowered(std::string_view op, std::vector<ir::Arg> args,
                      std::initializer_list<ir::Rewriter::Named> named = {}) {
    const ir::Node* node = create(op, std::move(args), named);
    if (node == nullptr) return "not created";
    builder = XnnBuilder();
    if (const LowerResult refused = lower_node(*node, builder)) return "refused: " + refused->sentence;
    std::string text;
    for (const xnn::Node& xnn : builder.graph().nodes)
      text += (text.empty() ? "" : " ") + std::string(xnn::kind_name(xnn.kind));
    for (const ir::Value* result : node->results)
      if (result->index == 0) builder.add_output(result);
    xnn::finalize(builder.graph());
    const Status verified = xnn::verify(builder.graph());
    EXPECT_TRUE(verified.ok()) << op << ": " << (verified.ok() ? "" : verified.error().message);
    return text;
  }
  std::string upstream(std::string_view op, std::vector<ir::Arg> args,
                       std::initializer_list<ir::Rewriter::Named> named = {}) {
    const ir::Node* node = create(op, std::move(args), named);
    if (node == nullptr) return "not created";
    const LowerResult refused = upstream_refusal(*node);
    return refused ? refused->sentence : "taken";
  }
  const xnn::Node& node_of(xnn::Kind kind) const {
    for (const xnn::Node& node : builder.graph().nodes)
      if (node.kind == kind) return node;
    throw std::runtime_error("no such node");
  }

  ir::Program program;
  std::unique_ptr<ir::Rewriter> rewriter;
  XnnBuilder builder;
};

}  // namespace edgelift::ops
