// Branches and loops: what import makes of cond, map and scan, and what it refuses.
#include <gtest/gtest.h>

#include "edit_pt2.h"
#include "ir/verifier.h"

namespace edgelift::importer {
namespace {

using edgelift::testing::expect_refused;
using edgelift::testing::import_recorded;
using edgelift::testing::Json;
using edgelift::testing::Pt2Editor;

// The recorded cases of tests/ops/control; their results are compared in tests/e2e.
Pt2Editor recorded(const std::string& name) { return Pt2Editor("../../ops/control/" + name + "/model"); }

std::vector<std::string> ops_of(const Result<ir::Program>& program) {
  if (!program.ok()) return {program.error().message};
  const Status verified = ir::verify(*program, ops::table());
  if (!verified.ok()) return {verified.error().message};
  std::vector<std::string> out;
  program->forward().each([&](const ir::Node& node) { out.push_back(node.op->text_name()); });
  return out;
}
using Names = std::vector<std::string>;

// The higher-order node of a graph, and a sub-graph of it.
Json& control(Json& graph) {
  for (Json& node : graph["nodes"])
    if (node["target"].get<std::string>().starts_with("torch.ops.higher_order.")) return node;
  throw std::runtime_error("no higher-order operator");
}
Json& sub(Json& graph, size_t input) { return control(graph)["inputs"][input]["arg"]["as_graph"]["graph"]; }

// --- cond ---

TEST(Control, CondRunsBothBranchesAndSelects) {
  const auto program = recorded("cond").import();
  ASSERT_EQ(ops_of(program), (Names{"sum", "gt.Scalar", "sin", "cos", "where.self"}));
  const ir::Node& where = *program->forward().last();
  EXPECT_EQ(std::get<ir::Value*>(where.args[1])->producer->op->base, "sin");
  EXPECT_EQ(std::get<ir::Value*>(where.args[2])->producer->op->base, "cos");
  // A name that both a branch and the program use is made unique.
  EXPECT_EQ(ops_of(recorded("cond_two_outputs").import()),
            (Names{"sum", "gt.Scalar", "add.Tensor", "sum", "sub.Tensor", "prod", "where.self", "where.self"}));
  const auto located = import_recorded("cond");
  ASSERT_TRUE(located.ok()) << located.error().message;
  EXPECT_TRUE(ir::source_line(located->forward().last()->origin).starts_with("model.py:"));
}

TEST(Control, PredicateOfRankOneBecomesRankZero) {
  const auto shaped = [](Json sizes) {
    return recorded("cond_predicate_input").graph([&](Json& g) {
      Json& p = g["tensor_values"]["p"];
      p["sizes"] = sizes;
      p["strides"] = Json::array();
      for (size_t i = 0; i < sizes.size(); ++i) p["strides"].push_back({{"as_int", 1}});
    });
  };
  EXPECT_EQ(ops_of(shaped({{{"as_int", 1}}}).import()), (Names{"reshape", "add.Tensor", "mul.Tensor", "where.self"}));
  expect_refused(shaped({{{"as_int", 2}}}), {"the predicate is bool[2]", "one element"});
  expect_refused(recorded("cond_predicate_input").graph([](Json& g) { g["tensor_values"]["p"]["dtype"] = 7; }),
                 {"the predicate is f32[]"});
}

TEST(Control, KnownPredicateTakesItsBranch) {
  for (const bool taken : {true, false}) {
    auto edit = recorded("cond_predicate_input").graph([&](Json& g) {
      control(g)["inputs"][0]["arg"] = {{"as_bool", taken}};
    });
    EXPECT_EQ(ops_of(edit.import()), Names{taken ? "add.Tensor" : "mul.Tensor"});
  }
  expect_refused(recorded("cond_on_size"), {"(cond", "the predicate", "not known at export", "static sizes"});
}

TEST(Control, CondBranchesMustAgree) {
  expect_refused(recorded("cond").graph([](Json& g) {
    sub(g, 2)["nodes"][0]["target"] = "torch.ops.aten.sum.default";
    sub(g, 2)["tensor_values"]["cos"]["sizes"] = Json::array();
    sub(g, 2)["tensor_values"]["cos"]["strides"] = Json::array();
  }),
                 {"\"getitem\"", "f32[3] in the true branch", "f32[] in the false"});
  expect_refused(recorded("cond").graph([](Json& g) { sub(g, 1)["outputs"].push_back(sub(g, 1)["outputs"][0]); }),
                 {"2 and 1 outputs"});
  expect_refused(recorded("cond").graph([](Json& g) {
    sub(g, 1)["outputs"] = Json::array({{{"as_int", 3}}});
  }),
                 {"\"getitem\" of the true branch is not a tensor"});
  expect_refused(recorded("cond").graph([](Json& g) {
    sub(g, 1)["outputs"] = Json::array({{{"as_int", 3}}});
    sub(g, 2)["outputs"] = Json::array({{{"as_int", 4}}});
  }),
                 {"\"getitem\"", "differs between the branches"});
  // The file's type of the result has to be the branches'.
  expect_refused(recorded("cond").graph([](Json& g) { g["tensor_values"]["getitem"]["sizes"][0]["as_int"] = 4; }),
                 {"\"getitem\"", "f32[4]", "f32[3]"});
}

TEST(Control, CondBranchesHaveNoOtherEffect) {
  const auto sin_becomes = [](std::string target) {
    return recorded("cond").graph([&](Json& g) { sub(g, 1)["nodes"][0]["target"] = target; });
  };
  expect_refused(sin_becomes("torch.ops.aten.sin_.default"), {"the true branch writes", "aten::sin_.default"});
  // A write to what the branch made itself is none of the caller's business.
  const auto own = recorded("cond").graph([](Json& g) {
    Json& branch = sub(g, 2);
    Json node = branch["nodes"][0];
    node["target"] = "torch.ops.aten.relu_.default";
    node["inputs"][0]["arg"]["as_tensor"]["name"] = "cos";
    node["outputs"][0]["as_tensor"]["name"] = "relu_";
    branch["nodes"].push_back(node);
    branch["tensor_values"]["relu_"] = branch["tensor_values"]["cos"];
    branch["outputs"][0]["as_tensor"]["name"] = "relu_";
  });
  EXPECT_EQ(ops_of(own.import()), (Names{"sum", "gt.Scalar", "sin", "cos", "relu_", "where.self"}));
  // A write through a view of an argument is one to the argument.
  expect_refused(recorded("cond").graph([](Json& g) {
    Json& branch = sub(g, 2);
    Json node = branch["nodes"][0];
    branch["nodes"][0]["target"] = "torch.ops.aten.alias.default";
    node["target"] = "torch.ops.aten.relu_.default";
    node["inputs"][0]["arg"]["as_tensor"]["name"] = "cos";
    node["outputs"][0]["as_tensor"]["name"] = "relu_";
    branch["nodes"].push_back(node);
    branch["tensor_values"]["relu_"] = branch["tensor_values"]["cos"];
  }),
                 {"the false branch writes", "aten::relu_.default"});
}

// The predicate may be what keeps the index in range.
TEST(Control, CondRefusesWhatFailsOnData) {
  const auto edit = recorded("cond").graph([](Json& g) {
    Json& branch = sub(g, 1);
    const Json meta = branch["tensor_values"]["sin"];
    const auto node = [](std::string target, std::string out, Json inputs) {
      return Json{{"target", target},
                  {"inputs", inputs},
                  {"outputs", {{{"as_tensor", {{"name", out}}}}}},
                  {"metadata", Json::object()},
                  {"is_hop_single_tensor_return", nullptr},
                  {"name", out}};
    };
    const Json x = {{"name", "self"}, {"arg", {{"as_tensor", {{"name", "x"}}}}}, {"kind", 1}};
    const Json i64 = {{"name", "dtype"}, {"arg", {{"as_scalar_type", 5}}}, {"kind", 1}};
    const Json dim = {{"name", "dim"}, {"arg", {{"as_int", 0}}}, {"kind", 1}};
    const Json index = {{"name", "index"}, {"arg", {{"as_tensor", {{"name", "to"}}}}}, {"kind", 1}};
    branch["nodes"] = Json::array({node("torch.ops.aten.to.dtype", "to", Json::array({x, i64})),
                                   node("torch.ops.aten.index_select.default", "sin", Json::array({x, dim, index}))});
    branch["tensor_values"]["to"] = meta;
    branch["tensor_values"]["to"]["dtype"] = 5;
  });
  expect_refused(edit, {"both branches are run", "aten::index_select.default", "the true branch"});
}

TEST(Control, Arity) {
  expect_refused(recorded("cond").graph([](Json& g) { control(g)["inputs"].erase(3); }),
                 {"(cond", "two sub-graphs and the list of their operands"});
  expect_refused(recorded("cond").graph([](Json& g) { control(g)["inputs"][3]["arg"]["as_tensors"] = Json::array(); }),
                 {"(cond", "the sub-graph has 1 inputs, 0 operands"});
  expect_refused(recorded("cond").graph([](Json& g) {
    control(g)["inputs"][3]["arg"] = {{"as_ints", {1}}};
  }),
                 {"operand 0 is a number, the sub-graph takes a tensor"});
  expect_refused(recorded("map").graph([](Json& g) { control(g)["inputs"].erase(2); }), {"(map_impl", "expected a"});
  expect_refused(recorded("map").graph([](Json& g) { control(g)["inputs"][2]["arg"]["as_tensors"] = Json::array(); }),
                 {"2 inputs, 1 operands"});
  expect_refused(recorded("map").graph([](Json& g) { sub(g, 0)["outputs"] = Json::array(); }), {"0 outputs"});
  expect_refused(recorded("scan").graph([](Json& g) { control(g)["inputs"].erase(3); }), {"(scan", "initial carry"});
  expect_refused(recorded("scan").graph([](Json& g) { sub(g, 0)["outputs"].erase(1); }), {"1 outputs, the node 2"});
}

// --- loops ---

TEST(Control, MapIsUnrolled) {
  const auto program = recorded("map").import();
  Names expected = {"ones", "mul.Tensor"};
  for (int i = 0; i < 4; ++i) expected.insert(expected.end(), {"select.int", "mul.Tensor"});
  expected.push_back("stack");
  ASSERT_EQ(ops_of(program), expected);
  const ir::Node& stack = *program->forward().last();
  const auto& rows = std::get<ir::ValueList>(stack.args[0]);
  ASSERT_EQ(rows.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const ir::Node* select = std::get<ir::Value*>(rows[i]->producer->args[0])->producer;
    EXPECT_EQ(std::get<SymInt>(select->args[2]), SymInt(static_cast<int64_t>(i)));
    // The copies come from one node of the file.
    EXPECT_EQ(rows[i]->producer->origin->debug_handle, rows[0]->producer->origin->debug_handle);
  }
}

TEST(Control, ScanCarries) {
  const auto program = recorded("scan").import();
  Names expected = {"zeros"};
  for (int i = 0; i < 4; ++i) expected.insert(expected.end(), {"select.int", "add.Tensor", "mul.Tensor"});
  expected.push_back("stack");
  ASSERT_EQ(ops_of(program), expected);
  // The final carry is what the fourth addition gives; its chain leads back to the zeros.
  const auto& outputs = program->forward().outputs();
  ASSERT_EQ(outputs.size(), 2u);
  const ir::Node* node = outputs[0].value->producer;
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(node->op->base, "add");
    node = std::get<ir::Value*>(node->args[0])->producer;
  }
  EXPECT_EQ(node->op->base, "zeros");
  EXPECT_EQ(outputs[1].value->producer->op->base, "stack");
}

TEST(Control, LengthsOfLoops) {
  const auto length = [](std::string name, Json size) {
    return recorded(name).graph([&](Json& g) { g["tensor_values"]["x"]["sizes"][0] = size; });
  };
  expect_refused(length("map", {{"as_int", 0}}), {"1 to 256 steps", "it has 0"});
  expect_refused(length("scan", {{"as_int", 257}}), {"1 to 256 steps", "it has 257"});
  expect_refused(
      length("map", {{"as_expr", {{"expr_str", "Symbol('s77', positive=True, integer=True)"}, {"hint", nullptr}}}}),
      {"(map_impl", "s77, is dynamic", "static"});
  expect_refused(length("map", {{"as_int", 5}}), {"\"getitem\"", "f32[4,2]", "f32[5,2]"});
  expect_refused(recorded("map").graph([](Json& g) { control(g)["inputs"][1]["arg"]["as_tensors"] = Json::array(); }),
                 {"no tensor to run over"});
  expect_refused(recorded("map").graph([](Json& g) {
    control(g)["inputs"][1]["arg"]["as_tensors"].push_back({{"name", "mul"}});
  }),
                 {"lengths 4 and 2"});
}

TEST(Control, LoopsWriteNothing) {
  expect_refused(recorded("map").graph([](Json& g) { sub(g, 0)["nodes"][0]["target"] = "torch.ops.aten.mul_.Tensor"; }),
                 {"the body writes", "aten::mul_.Tensor"});
  expect_refused(
      recorded("scan").graph([](Json& g) { sub(g, 0)["nodes"][0]["target"] = "torch.ops.aten.add_.Tensor"; }),
      {"the body writes", "aten::add_.Tensor"});
}

TEST(Control, CarriesKeepTheirType) {
  expect_refused(recorded("scan").graph([](Json& g) {
    Json& body = sub(g, 0);
    body["nodes"][0]["target"] = "torch.ops.aten.ge.Tensor";
    body["tensor_values"]["add"]["dtype"] = 12;
  }),
                 {"carry 0 is f32[2] before a step and bool[2] after it"});
}

// Loops in loops multiply: the bound is on the whole program.
TEST(Control, NestedLoopsAreBounded) {
  const auto nested = [](int depth) {
    return recorded("map").graph([&](Json& g) {
      const Json original = sub(g, 0);
      Json rows = g["tensor_values"]["x"];  // f32[4,2]
      rows["sizes"][0]["as_int"] = 2;
      Json body = original;
      for (int i = 0; i < depth; ++i) {
        Json inner = control(g);  // over the elements of the operand that all steps share
        inner["inputs"][0]["arg"]["as_graph"]["graph"] = body;
        inner["inputs"][1]["arg"]["as_tensors"][0]["name"] = "mul";
        inner["outputs"][0]["as_tensor"]["name"] = "rows";
        body = original;
        body["nodes"].insert(body["nodes"].begin(), inner);
        body["tensor_values"]["rows"] = rows;
      }
      sub(g, 0) = body;
    });
  };
  EXPECT_EQ(ops_of(nested(1).import()).size(), 2u + 4 * (1 + 2 * 2 + 1 + 1) + 1);
  expect_refused(nested(14), {"unroll to more than 100000 nodes"});
}

// --- what stays refused ---

TEST(Control, WhileLoopIsRefusedByName) {
  expect_refused(recorded("while_loop"), {"higher_order::while_loop", "depends on data"});
  // Unknown operators in a branch are found by the first walk, with those outside.
  expect_refused(recorded("cond").graph([](Json& g) { sub(g, 2)["nodes"][0]["target"] = "torch.ops.foo.bar.default"; }),
                 {"not supported", "foo::bar.default"});
}

}  // namespace
}  // namespace edgelift::importer
