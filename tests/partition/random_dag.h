// Random programs whose nodes are all element-wise, and which of them count as accepted is up to the test.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ops/record.h"
#include "partition/plan.h"

namespace edgelift::testing {

struct RandomDag {
  ir::Program program;
  std::vector<bool> accepted;
  ir::Graph& graph() { return program.forward(); }
};

inline const ir::Op* op(std::string_view name) {
  const ir::Op* found = ops::table().find(name);
  EXPECT_NE(found, nullptr) << name;
  return found;
}

// `locality`: operands are among the last so many nodes. `constants`: as many weights, used by linear nodes.
inline RandomDag random_dag(uint32_t seed, int nodes, int percent_accepted, int locality, int constants = 0) {
  std::minstd_rand random(seed);
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
  RandomDag dag;
  dag.program.methods.push_back(std::make_unique<ir::Graph>("forward"));
  ir::Graph& graph = dag.graph();
  const ir::Type type = ir::Type::tensor(DType::F32, {SymInt(4), SymInt(4)});
  std::vector<ir::Value*> values{graph.add_input("x", type), graph.add_input("y", type)};
  std::vector<ir::Value*> weights;
  for (int i = 0; i < constants; ++i) {
    const std::vector<float> numbers(16, static_cast<float>(i));
    weights.push_back(graph.constant_value(
        dag.program.add_constant("w" + std::to_string(i), TensorData::of(DType::F32, {4, 4}, numbers))));
  }
  const auto any = [&] {
    const int last = static_cast<int>(values.size());
    return values[static_cast<size_t>(std::max(0, last - 1 - pick(locality)))];
  };
  for (int i = 0; i < nodes; ++i) {
    ir::Node* node = nullptr;
    const int what = pick(constants > 0 ? 4 : 3);
    if (what == 0) {
      node = graph.insert(op("aten::relu.default"), {any()}, {type}, nullptr);
    } else if (what == 3) {
      ir::Value* weight = weights[static_cast<size_t>(pick(constants))];
      node = graph.insert(op("aten::linear.default"), {any(), weight, std::monostate()}, {type}, nullptr);
    } else {
      node = graph.insert(op("aten::add.Tensor"), {any(), any(), SymInt(1)}, {type}, nullptr);
    }
    values.push_back(node->result());
    dag.accepted.push_back(pick(100) < percent_accepted);
  }
  ir::OutputSpec output;
  output.value = values.back();
  graph.add_output(output);
  return dag;
}

}  // namespace edgelift::testing
