#include "runtime/session.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/file.h"
#include "emit/emit.h"
#include "ir/text.h"
#include "ops/record.h"
#include "runtime/bench.h"
#include "runtime/compare.h"
#include "runtime/evaluate.h"
#include "runtime/npy.h"
#include "testing.h"

namespace edgelift::runtime {
namespace {

struct Open {
  std::unique_ptr<Session> session;
  Method* method = nullptr;
};

Open open(std::string_view text, const SessionOptions& options = {}) {
  Open result;
  auto program = ir::parse(text, ops::table());
  EXPECT_TRUE(program.ok()) << program.error().message;
  auto emitted = emit::emit(*program, {}, {});
  EXPECT_TRUE(emitted.ok()) << emitted.error().message;
  const std::filesystem::path path = testing::scratch_dir() / "m.pte";
  EXPECT_TRUE(pte::write(emitted->program, path).ok());
  auto session = Session::open(path, options);
  EXPECT_TRUE(session.ok()) << session.error().message;
  result.session = *std::move(session);
  auto method = result.session->method();
  EXPECT_TRUE(method.ok()) << method.error().message;
  result.method = *method;
  return result;
}

constexpr std::string_view kAdd = R"(program {
  sym s0 in [1, 4]
  fn forward(%x: f32[2,3], %d: f32[s0,2]) {
    %a = relu %x : f32[2,3]
    %b = neg %d : f32[s0,2]
    return %a, %b
  } })";

TensorData f32(std::vector<int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return TensorData::of(DType::F32, std::move(sizes), std::vector<float>(static_cast<size_t>(count), 1.f));
}

void expect_refused(Method& method, const std::vector<Argument>& inputs, const std::string& message) {
  const auto outputs = method.run(inputs);
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().kind, ErrorKind::Input);
  EXPECT_NE(outputs.error().message.find(message), std::string::npos) << outputs.error().message;
}

TEST(Session, InputErrorsNameTheInputAndBothTypes) {
  Open o = open(kAdd);
  expect_refused(*o.method, {f32({2, 3})}, "takes 2 inputs, 1 were given");
  expect_refused(*o.method, {f32({3, 2}), f32({1, 2})},
                 "input 0 of method forward is float32 [3,2], the program takes float32 [2,3]");
  expect_refused(*o.method, {f32({6}), f32({1, 2})},
                 "input 0 of method forward is float32 [6], the program takes float32 [2,3]");
  expect_refused(*o.method, {f32({2, 3}), f32({5, 2})},
                 "input 1 of method forward is float32 [5,2], the program takes float32 [4,2] at most");
  expect_refused(*o.method, {f32({2, 3}).converted(DType::F64), f32({1, 2})},
                 "input 0 of method forward is float64 [2,3], the program takes float32");
  expect_refused(*o.method, {int64_t{3}, f32({1, 2})}, "input 0 of method forward is int 3");
  const auto outputs = o.method->run(std::vector<Argument>{f32({2, 3}), f32({3, 2})});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;  // and it still runs
  EXPECT_EQ(std::get<TensorData>((*outputs)[1]).sizes(), (std::vector<int64_t>{3, 2}));
}

TEST(Session, InputsAreLaidOutAsTheProgramAsks) {
  Open o = open(R"(program { fn forward(%x: f32[1,2,1,2]{0,2,3,1}) -> f32[1,2,1,2]{0,2,3,1} {
    %y = neg %x : f32[1,2,1,2]{0,2,3,1}
    return %y
  } })");
  const auto outputs =
      o.method->run(std::vector<Argument>{TensorData::of<float>(DType::F32, {1, 2, 1, 2}, {1, 2, 3, 4})});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  const auto& y = std::get<TensorData>((*outputs)[0]);
  EXPECT_FALSE(y.is_contiguous());
  EXPECT_EQ(y.to_floats(), (std::vector<float>{-1, -2, -3, -4}));
}

TEST(Session, Bfloat16InputsMayComeAsBits) {
  Open o = open("program { fn forward(%x: bf16[2]) -> bf16[2] { %y = neg %x : bf16[2] return %y } }");
  const auto outputs =
      o.method->run(std::vector<Argument>{TensorData::of<uint16_t>(DType::U16, {2}, {0x3F80, 0x4000})});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ(std::get<TensorData>((*outputs)[0]).to_floats(), (std::vector<float>{-1, -2}));
}

TEST(Session, EveryLoaderGivesTheSame) {
  for (const Load load : {Load::Mmap, Load::File, Load::Memory}) {
    for (const bool cache : {false, true}) {
      SessionOptions options;
      options.load = load;
      options.weight_cache = cache;
      Open o = open(kAdd, options);
      const auto outputs = o.method->run(std::vector<Argument>{f32({2, 3}), f32({2, 2})});
      ASSERT_TRUE(outputs.ok());
      EXPECT_EQ(std::get<TensorData>((*outputs)[1]).to_floats(), std::vector<float>(4, -1.f));
    }
  }
}

TEST(Session, UnknownMethodsAndFilesAreNamed) {
  Open o = open(kAdd);
  const auto method = o.session->method("backward");
  ASSERT_FALSE(method.ok());
  EXPECT_NE(method.error().message.find("no method 'backward'; it has: forward"), std::string::npos)
      << method.error().message;
  const auto missing = Session::open("/nowhere/m.pte");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("/nowhere/m.pte"), std::string::npos);
  const std::filesystem::path path = testing::scratch_dir() / "bad.pte";
  ASSERT_TRUE(write_file(path, std::string(200, 'x')).ok());
  const auto bad = Session::open(path);
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().message.find("bad.pte: "), std::string::npos) << bad.error().message;
}

TEST(Session, AFailingKernelIsAnErrorWithTheRuntimesWords) {
  // The index is out of range, which only the kernel can see.
  Open o = open(R"(program { fn forward(%x: f32[3], %i: i64[1]) -> f32[1] {
    %y = index_select %x, 0, %i : f32[1]
    return %y
  } })");
  expect_refused(*o.method, {f32({3}), TensorData::of<int64_t>(DType::I64, {1}, {9})},
                 "running method forward: the runtime reports");
  const auto outputs = o.method->run(std::vector<Argument>{f32({3}), TensorData::of<int64_t>(DType::I64, {1}, {2})});
  EXPECT_TRUE(outputs.ok());
}

TEST(Session, WhereTheRuntimeWouldAbortItIsAnError) {
  // An Int in the place of a float argument: the kernel wrapper stops the process.
  pte::Program program;
  pte::Plan plan;
  pte::Tensor x;
  x.sizes = {1, 2};
  x.dim_order = {0, 1};
  x.memory_id = 1;
  plan.values = {x, pte::IntList{{2}}, int64_t{2}, pte::Null{}, int64_t{1}};
  for (int i = 1; i <= 3; ++i) {
    x.memory_offset = static_cast<uint64_t>(i) * 16;
    plan.values.emplace_back(x);
  }
  plan.values.emplace_back(pte::TensorList{{5, 6, 7}});
  plan.inputs = {0};
  plan.outputs = {5};
  plan.operators = {{"aten::native_layer_norm", "out"}};
  plan.instructions = {pte::KernelCall{0, {0, 1, 3, 3, 4, 5, 6, 7, 8}}};
  plan.buffer_sizes = {0, 64};
  program.plans.push_back(plan);
  const auto bytes = std::make_shared<std::vector<std::byte>>(*pte::write_to_memory(program));
  auto session = Session::open(*bytes, bytes);
  ASSERT_TRUE(session.ok()) << session.error().message;
  auto method = (*session)->method();
  ASSERT_TRUE(method.ok()) << method.error().message;
  expect_refused(**method, {f32({1, 2})}, "the runtime gave up on this program");
}

TEST(Session, ProfilingRecordsAnEventForEachCall) {
  SessionOptions options;
  options.profile = true;
  Open o = open(kAdd, options);
  ASSERT_TRUE(o.method->run(std::vector<Argument>{f32({2, 3}), f32({2, 2})}).ok());
  const auto events = o.method->take_events();
  ASSERT_TRUE(events.ok());
  int relu = 0, neg = 0;
  for (const Event& event : *events) {
    if (event.name.find("relu") != std::string::npos && event.instruction == 0) ++relu;
    if (event.name.find("neg") != std::string::npos && event.instruction == 1) ++neg;
  }
  EXPECT_GE(relu, 1);
  EXPECT_GE(neg, 1);
  EXPECT_TRUE(o.method->take_events()->empty());
}

TEST(Session, TheNumberOfThreadsCannotChangeUnderASession) {
  ASSERT_TRUE(set_threads(2).ok());
  Open o = open(kAdd);
  EXPECT_FALSE(set_threads(1).ok());
  EXPECT_FALSE(set_threads(-1).ok());
  o.session.reset();
  EXPECT_TRUE(set_threads(1).ok());
}

TEST(Evaluate, RunsAGraphOfConstants) {
  const auto program = ir::parse(R"(program {
    const %c : f32[3] = [1.0, 4.0, 9.0]
    fn forward() {
      %a = sqrt %c : f32[3]
      %b = sum.dim_IntList %a, [0] : f32[]
      %e = arange.start_step 0, 6, 2 : i64[3]
      return %a, %b, %e
    } })",
                                 ops::table());
  ASSERT_TRUE(program.ok()) << program.error().message;
  const auto values = evaluate(*program);
  ASSERT_TRUE(values.ok()) << values.error().message;
  EXPECT_EQ((*values)[0].to_floats(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ((*values)[1].to_floats(), (std::vector<float>{6}));
  EXPECT_EQ((*values)[2].element_as_int(2), 4);
}

TEST(Compare, FindsTheFirstElementOutside) {
  const TensorData expected = TensorData::of<float>(DType::F32, {2, 2}, {1, 2, 3, 100});
  const TensorData got = TensorData::of<float>(DType::F32, {2, 2}, {1, 2.0005f, 3.5f, 100});
  auto difference = compare(got, expected, 1e-5);
  ASSERT_TRUE(difference.ok());
  EXPECT_FALSE(difference->ok);
  EXPECT_EQ(difference->first->index, (std::vector<int64_t>{1, 0}));
  EXPECT_NEAR(difference->max_abs, 0.5, 1e-6);
  EXPECT_EQ(difference->range, 100);
  difference = compare(got, expected, 0.01);
  EXPECT_TRUE(difference->ok);
  EXPECT_EQ(difference->worst->index, (std::vector<int64_t>{1, 0}));
}

TEST(Compare, NanAndInfinity) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const TensorData expected = TensorData::of<float>(DType::F32, {4}, {nan, inf, -inf, 1});
  EXPECT_TRUE(compare(expected, expected, 0)->ok);
  const auto difference = compare(TensorData::of<float>(DType::F32, {4}, {nan, -inf, 5, nan}), expected, 1e-5);
  EXPECT_FALSE(difference->ok);
  EXPECT_EQ(difference->special, 3);
  EXPECT_EQ(difference->first->index, (std::vector<int64_t>{1}));
}

TEST(Compare, IntegersMustBeEqualAndTypesMustAgree) {
  const TensorData a = TensorData::of<int64_t>(DType::I64, {2}, {1, 1000000});
  const TensorData b = TensorData::of<int64_t>(DType::I64, {2}, {1, 1000001});
  EXPECT_FALSE(compare(a, b, 0.1)->ok);
  EXPECT_FALSE(compare(a, a.converted(DType::I32), 0.1).ok());
  EXPECT_FALSE(compare(a, a.reshaped({2, 1}), 0.1).ok());
}

TEST(Bench, MadeUpInputsFitTheSignature) {
  Open o = open(R"(program { fn forward(%x: f16[3], %i: i64[4], %m: bool[2]) {
    %a = neg %x : f16[3]
    return %a, %i, %m
  } })");
  const std::vector<Argument> inputs = make_inputs(o.method->inputs());
  const auto outputs = o.method->run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  const auto again = make_inputs(o.method->inputs());
  EXPECT_TRUE(std::get<TensorData>(again[0]).same_bits(std::get<TensorData>(inputs[0])));
}

}  // namespace
}  // namespace edgelift::runtime
