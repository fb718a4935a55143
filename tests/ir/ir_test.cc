#include <gtest/gtest.h>

#include "ir/rewriter.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "ops/record.h"

namespace edgelift::ir {
namespace {

Program must_parse(std::string_view text) {
  auto program = parse(text, ops::table());
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
  return program.ok() ? std::move(*program) : Program();
}

constexpr std::string_view kAttention = R"(program {
  const %lift0 : f32[] = 0.59460354
  fn forward(%q: f32[1,2,4,8], %k: f32[1,2,4,8], %v: f32[1,2,4,8]) -> f32[1,2,4,8] {
    %qs = mul.Tensor %q, %lift0 : f32[1,2,4,8]
    %kt = permute %k, dims=[0,1,3,2] : f32[1,2,8,4]
    %s = matmul %qs, %kt : f32[1,2,4,4]
    %p = _softmax %s, dim=-1, half_to_float=false : f32[1,2,4,4]
    %o = matmul %p, %v : f32[1,2,4,8]
    return %o
  }
}
)";

TEST(Text, PrintsWhatItReads) {
  const Program program = must_parse(kAttention);
  EXPECT_EQ(print(program), kAttention);
  EXPECT_TRUE(verify(program, ops::table()).ok());
}

TEST(Text, SymbolsListsResultsAndMutations) {
  constexpr std::string_view text = R"(program {
  sym s0 in [1, 8]
  const %big : f32[5,5] = random(seed=3)
  const %count : i64[3] = [1, -2, 3]
  mutable const %cache : f32[4] = zeros()
  const %flag : bool[2] = [true, false]
  const %w : f16[100] = @"layer.weight"
  fn forward(%x: f32[s0,4], %i: i64[2]) -> f32[2*s0,4], f32[s0,2], i64[s0,2] {
    %c = cat [%x,%x] : f32[2*s0,4]
    %values, %indices = topk %x, k=2 : (f32[s0,2], i64[s0,2])
    %n = add.Tensor %cache, %cache, alpha=2 : f32[4]
    %e = index.Tensor %x, [none,%i] : f32[s0,2]
    return buffer %cache = %n, %c, %values, %indices, none, 3, 2.5, "text"
  }
}
)";
  const Program program = must_parse(text);
  EXPECT_EQ(print(program), text);
}

struct Broken {
  const char* text;
  const char* message;
};

class Errors : public ::testing::TestWithParam<Broken> {};

TEST_P(Errors, NameLineColumnAndReason) {
  const auto program = parse(GetParam().text, ops::table());
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().message, GetParam().message);
  EXPECT_EQ(program.error().kind, ErrorKind::Input);
}

INSTANTIATE_TEST_SUITE_P(
    Text, Errors,
    ::testing::Values(
        Broken{"prog", "1:1: expected 'program'"}, Broken{"program { }", "1:12: the program has no function"},
        Broken{"program {\n fn f(%x: f32[2]) { %y = nonsense %x : f32[2] return %y } }",
               "2:26: unknown operator nonsense"},
        Broken{"program {\n fn f(%x: f32[2]) { %y = relu %z : f32[2] return %y } }", "2:33: %z is not defined here"},
        Broken{"program {\n fn f(%x: f32[2]) { %x = relu %x : f32[2] return %x } }", "2:42: %x is defined twice"},
        Broken{"program {\n fn f(%x: f32[2]) { %y = relu %x : f32[3] return %y } }",
               "2:21: %y is declared f32[3], the shape rule of relu gives f32[2]"},
        Broken{"program {\n fn f(%x: f32[s]) { return %x } }",
               "2:16: unknown symbol s; declare it with 'sym s in [lo, hi]'"},
        Broken{"program {\n const %c : f32[2] = [1.0]\n fn f() { return %c } }",
               "2:27: 1 elements given, the type has 2"},
        Broken{"program {\n fn f(%x: f32[2]) { %y = relu %x, wrong=2 : f32[2] return %y } }",
               "2:35: relu has no argument wrong"},
        Broken{"program {\n fn f(%x: q9[2]) { return %x } }", "2:11: unknown type q9"},
        Broken{"program {\n fn f(%x: f32[2]) { return buffer %x = %x } }", "2:37: %x is not a mutable constant"}));

TEST(Rewriter, ReplacesAndRemovesWhatIsDead) {
  Program program = must_parse(kAttention);
  Graph& graph = program.forward();
  Rewriter rewriter(program, graph, ops::table());
  Node* scale = graph.first();
  rewriter.set_insert_point(scale);
  Value* twice = rewriter.make("mul.Tensor", {graph.inputs()[0], rewriter.scalar(DType::F32, 0.25)});
  rewriter.replace(scale->result(), twice);
  rewriter.erase_dead(scale);
  EXPECT_TRUE(verify(program, ops::table()).ok());
  EXPECT_EQ(graph.first()->result(), twice);
  program.remove_unused_constants();
  EXPECT_EQ(program.find_constant("lift0"), nullptr);
  // Equal literals share one constant; others do not.
  EXPECT_EQ(rewriter.scalar(DType::F32, 0.25), rewriter.scalar(DType::F32, 0.25));
  EXPECT_NE(rewriter.scalar(DType::F32, 0.25), rewriter.scalar(DType::F32, 0.5));
}

TEST(Rewriter, InsertsManyNodesInOnePlace) {
  Program program = must_parse("program { fn f(%x: f32[2]) -> f32[2] { %y = relu %x : f32[2] return %y } }");
  Graph& graph = program.forward();
  Rewriter rewriter(program, graph, ops::table());
  Node* last = graph.first();
  rewriter.set_insert_point(last);
  Value* value = graph.inputs()[0];
  for (int i = 0; i < 100; ++i) value = rewriter.make("relu", {value});
  rewriter.set_arg(last, "self", value);
  EXPECT_TRUE(verify(program, ops::table()).ok());
  EXPECT_EQ(graph.node_count(), 101u);
}

TEST(Rewriter, WrongTypesAreBugs) {
  Program program = must_parse(kAttention);
  Graph& graph = program.forward();
  Rewriter rewriter(program, graph, ops::table());
  EXPECT_THROW(rewriter.make("no_such_op", {}), Bug);
  EXPECT_THROW(rewriter.make("matmul", {graph.inputs()[0], rewriter.scalar(DType::F32, 1.0)}), Bug);
  EXPECT_THROW(rewriter.replace(graph.first()->result(), rewriter.scalar(DType::F32, 1.0)), Bug);
}

// A value that many nodes read, some of them several times, through every way of changing its uses.
TEST(Graph, UsesOfAHub) {
  Program program = must_parse(
      "program {\n  fn forward(%x: f32[4], %y: f32[4]) -> f32[4] {\n    %a = relu %x : f32[4]\n    return %a\n  "
      "}\n}\n");
  Graph& graph = program.forward();
  Rewriter rewriter(program, graph, ops::table());
  Value *x = graph.inputs()[0], *y = graph.inputs()[1];
  std::vector<Node*> nodes;
  for (int i = 0; i < 300; ++i) {
    Value* made =
        i % 3 == 0 ? rewriter.make("cat", {ValueList{x, y, x}, SymInt(0)}) : rewriter.make("add.Tensor", {x, x});
    nodes.push_back(made->producer);
  }
  EXPECT_EQ(x->users.size(), 601u);
  for (size_t i = 0; i < nodes.size(); i += 2) rewriter.erase(nodes[i]);  // oldest first
  ASSERT_TRUE(verify(program, ops::table()).ok());
  EXPECT_EQ(x->users.size(), 301u);
  rewriter.set_arg(nodes[1], "other", y);
  rewriter.set_arg(nodes[3], "tensors", ValueList{y, x, y});
  EXPECT_EQ(x->users.size(), 299u);
  ASSERT_TRUE(verify(program, ops::table()).ok());
  graph.replace_uses(x, y);
  EXPECT_TRUE(x->users.empty());
  ASSERT_TRUE(verify(program, ops::table()).ok());
  for (size_t i = nodes.size() - 1; i < nodes.size(); i -= 2) rewriter.erase(nodes[i]);
  EXPECT_EQ(y->users.size(), 1u);
  EXPECT_TRUE(verify(program, ops::table()).ok());
}

TEST(Graph, OutputsFollowTheirValue) {
  Program program = must_parse(
      "program {\n  fn forward(%x: f32[4]) -> f32[4], f32[4], f32[4] {\n    %a = relu %x : f32[4]\n    %b = neg %x : "
      "f32[4]\n    return %a, %b, %a\n  }\n}\n");
  Graph& graph = program.forward();
  Value *a = graph.first()->result(), *b = graph.last()->result();
  EXPECT_EQ(a->times_output, 2u);
  EXPECT_TRUE(graph.is_output(b));
  graph.replace_uses(a, b);
  EXPECT_FALSE(graph.is_output(a));
  EXPECT_EQ(b->times_output, 3u);
  for (const OutputSpec& output : graph.outputs()) EXPECT_EQ(output.value, b);
  ASSERT_TRUE(verify(program, ops::table()).ok());
  std::vector<OutputSpec> outputs = graph.outputs();
  outputs.resize(1);
  outputs[0].value = a;
  graph.set_outputs(outputs);
  EXPECT_EQ(b->times_output, 0u);
  graph.replace_uses(a, b);  // once more, the other way round
  EXPECT_EQ(graph.outputs()[0].value, b);
  ASSERT_TRUE(verify(program, ops::table()).ok());
}

TEST(Verifier, FindsAWrongOutputCount) {
  Program program = must_parse(kAttention);
  program.forward().inputs()[0]->times_output = 1;
  const Status status = verify(program, ops::table());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("%q is not as many outputs as it says"), std::string::npos)
      << status.error().message;
}

TEST(Verifier, FindsAWrongUsersList) {
  Program program = must_parse(kAttention);
  program.forward().inputs()[0]->users.take();
  const Status status = verify(program, ops::table());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("the users of %q are not its uses"), std::string::npos)
      << status.error().message;
}

TEST(Verifier, FindsANameTwice) {
  Program program = must_parse(kAttention);
  program.forward().first()->result()->name = "q";
  const Status status = verify(program, ops::table());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("two values have the name %q"), std::string::npos) << status.error().message;
}

TEST(Verifier, FindsAWrongType) {
  Program program = must_parse(kAttention);
  program.forward().first()->result()->type.sizes[0] = SymInt(7);
  const Status status = verify(program, ops::table());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("the shape rule gives f32[1,2,4,8]"), std::string::npos)
      << status.error().message;
}

TEST(Verifier, FindsUseBeforeDefinition) {
  Program program = must_parse(kAttention);
  Graph& graph = program.forward();
  graph.move_before(graph.first(), nullptr);
  const Status status = verify(program, ops::table());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("before it is defined"), std::string::npos) << status.error().message;
}

TEST(Program, AbsorbKeepsBothAndRenamesConstants) {
  Program a = must_parse(
      "program { const %c : f32[] = 1.0 fn one(%x: f32[2]) -> f32[2] { %y = add.Tensor %x, %c : f32[2] return %y } }");
  Program b = must_parse(
      "program { const %c : f32[] = 2.0 fn two(%x: f32[2]) -> f32[2] { %y = add.Tensor %x, %c : f32[2] return %y } }");
  a.absorb(std::move(b));
  ASSERT_EQ(a.methods.size(), 2u);
  EXPECT_EQ(a.constants.size(), 2u);
  EXPECT_NE(a.constants[0]->name, a.constants[1]->name);
  EXPECT_TRUE(verify(a, ops::table()).ok());
}

}  // namespace
}  // namespace edgelift::ir
