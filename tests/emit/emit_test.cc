// Programs in the text form are emitted, written, verified and run on the real runtime.
#include "emit/emit.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/record.h"
#include "runtime/session.h"

namespace edgelift {
namespace {

using runtime::Argument;

struct Running {
  pte::Program program;
  emit::MemoryPlan memory;
  std::unique_ptr<runtime::Session> session;
  runtime::Method* method = nullptr;

  std::vector<Argument> run(const std::vector<Argument>& inputs) {
    const std::vector<Argument> none(16);  // so that a failed test ends as one
    if (method == nullptr) return none;
    auto outputs = method->run(inputs);
    if (outputs.ok()) return *std::move(outputs);
    ADD_FAILURE() << outputs.error().message;
    return none;
  }
  std::vector<std::string> calls() const {
    std::vector<std::string> names;
    for (const pte::Instruction& instruction : program.plans.at(0).instructions) {
      const auto& call = std::get<pte::KernelCall>(instruction);
      const pte::Operator& op = program.plans[0].operators[static_cast<size_t>(call.op)];
      names.push_back(op.overload.empty() ? op.name : op.name + "." + op.overload);
    }
    return names;
  }
};

Result<emit::Emitted> emitted(std::string_view text, const emit::Options& options = {}) {
  EL_TRY(const ir::Program program, ir::parse(text, ops::table()));
  return emit::emit(program, {}, options);
}

Running start(std::string_view text, const emit::Options& options = {}) {
  Running running;
  auto result = emitted(text, options);
  if (!result.ok()) {
    ADD_FAILURE() << result.error().message;
    return running;
  }
  auto bytes = pte::write_to_memory(result->program);
  EXPECT_TRUE(bytes.ok());
  const auto file = std::make_shared<std::vector<std::byte>>(*std::move(bytes));
  auto session = runtime::Session::open(*file, file);  // verifies
  if (!session.ok()) {
    ADD_FAILURE() << session.error().message;
    return running;
  }
  auto method = (*session)->method();
  if (!method.ok()) {
    ADD_FAILURE() << method.error().message;
    return running;
  }
  running.session = *std::move(session);
  running.method = *method;
  running.program = std::move(result->program);
  running.memory = result->plans[0];
  return running;
}

TensorData f32(std::vector<int64_t> sizes, const std::vector<float>& values) {
  return TensorData::of(DType::F32, std::move(sizes), values);
}
TensorData i64(std::vector<int64_t> sizes, const std::vector<int64_t>& values) {
  return TensorData::of(DType::I64, std::move(sizes), values);
}

std::vector<float> floats(const Argument& argument) {
  const auto* tensor = std::get_if<TensorData>(&argument);
  EXPECT_NE(tensor, nullptr);
  return tensor == nullptr ? std::vector<float>() : tensor->to_floats();
}
std::vector<int64_t> sizes(const Argument& argument) { return std::get<TensorData>(argument).sizes(); }

using Floats = std::vector<float>;
using Names = std::vector<std::string>;

TEST(Emit, CallsOutVariantsWithEveryArgument) {
  Running r = start(R"(program { fn forward(%x: f32[2,3], %y: f32[2,3]) -> f32[2,3] {
    %a = add.Tensor %x, %y, alpha=2 : f32[2,3]
    %b = mul.Scalar %a, 0.5 : f32[2,3]
    return %b
  } })");
  EXPECT_EQ(floats(r.run({f32({2, 3}, {1, 2, 3, 4, 5, 6}), f32({2, 3}, {1, 1, 1, 1, 1, 1})})[0]),
            (Floats{1.5, 2, 2.5, 3, 3.5, 4}));
  EXPECT_EQ(r.calls(), (Names{"aten::add.out", "aten::mul.Scalar_out"}));
}

TEST(Emit, FloatArgumentsWrittenAsIntegersBecomeDoubles) {
  // An Int in the place of eps would stop the process.
  Running r = start(R"(program { fn forward(%x: f32[1,4]) -> f32[1,4] {
    %y, %m, %s = native_layer_norm %x, [4], none, none, 1 : (f32[1,4], f32[1,1], f32[1,1])
    return %y
  } })");
  const Floats y = floats(r.run({f32({1, 4}, {1, 1, 3, 3})})[0]);
  EXPECT_NEAR(y[0], -0.70710678, 1e-6);
  EXPECT_NEAR(y[3], 0.70710678, 1e-6);
}

TEST(Emit, ListsAsResultsAndOperands) {
  Running r = start(R"(program { fn forward(%x: f32[4,2]) -> f32[4,2] {
    %a, %b = split_with_sizes %x, [1,3] : (f32[1,2], f32[3,2])
    %c = cat [%b, %a] : f32[4,2]
    return %c
  } })");
  EXPECT_EQ(floats(r.run({f32({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7})})[0]), (Floats{2, 3, 4, 5, 6, 7, 0, 1}));
}

TEST(Emit, SeveralResultsOfWhichSomeAreUnused) {
  Running r = start(R"(program { fn forward(%x: f32[2,3]) -> i64[2] {
    %v, %i = max.dim %x, 1 : (f32[2], i64[2])
    return %i
  } })");
  const auto out = r.run({f32({2, 3}, {1, 5, 2, 9, 0, 3})});
  EXPECT_EQ(std::get<TensorData>(out[0]).element_as_int(0), 1);
  EXPECT_EQ(std::get<TensorData>(out[0]).element_as_int(1), 0);
}

TEST(Emit, OptionalTensorLists) {
  Running r = start(R"(program { fn forward(%x: f32[2,3], %i: i64[2]) -> f32[2,2] {
    %y = index.Tensor %x, [none, %i] : f32[2,2]
    return %y
  } })");
  EXPECT_EQ(floats(r.run({f32({2, 3}, {0, 1, 2, 3, 4, 5}), i64({2}, {2, 0})})[0]), (Floats{2, 0, 5, 3}));
}

TEST(Emit, OutputsThatAreInputsConstantsRepeatedOrLiterals) {
  for (const bool planned : {true, false}) {
    emit::Options options;
    options.plan_inputs = options.plan_outputs = planned;
    Running r = start(R"(program {
      const %c : f32[2] = [7.0, 8.0]
      fn forward(%x: f32[2]) {
        %y = relu %x : f32[2]
        %z = neg %y : f32[2]
        return %y, %x, %c, %y, none, 3, 2.5, true, "text", %z
      } })",
                      options);
    const auto out = r.run({f32({2}, {-1, 2})});
    ASSERT_EQ(out.size(), 10u);
    EXPECT_EQ(floats(out[0]), (Floats{0, 2}));
    EXPECT_EQ(floats(out[1]), (Floats{-1, 2}));
    EXPECT_EQ(floats(out[2]), (Floats{7, 8}));
    EXPECT_EQ(floats(out[3]), (Floats{0, 2}));
    EXPECT_TRUE(std::holds_alternative<std::monostate>(out[4]));
    EXPECT_EQ(std::get<int64_t>(out[5]), 3);
    EXPECT_EQ(std::get<double>(out[6]), 2.5);
    EXPECT_EQ(std::get<bool>(out[7]), true);
    EXPECT_EQ(std::get<std::string>(out[8]), "text");
    EXPECT_EQ(floats(out[9]), (Floats{0, -2}));
  }
}

TEST(Emit, APlannedInputThatIsAnOutputKeepsItsValue) {
  // Enough intermediate tensors that the plan would use the input's bytes again.
  Running r = start(R"(program { fn forward(%x: f32[64]) {
    %a = neg %x : f32[64]
    %b = neg %a : f32[64]
    %c = neg %b : f32[64]
    %d = neg %c : f32[64]
    return %d, %x
  } })");
  const Floats x(64, 3.0f);
  const auto out = r.run({f32({64}, x)});
  EXPECT_EQ(floats(out[0]), x);
  EXPECT_EQ(floats(out[1]), x);
}

TEST(Emit, ViewsWithFixedSizesCostNothing) {
  const std::string_view text = R"(program {
    const %c : f32[6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    fn forward(%x: f32[2,3]) {
      %a = relu %x : f32[2,3]
      %b = view %a, [6] : f32[6]
      %e = view %c, [3,2] : f32[3,2]
      %d = unsqueeze %b, 0 : f32[1,6]
      %f = view %x, [3,2] : f32[3,2]
      %g = add.Tensor %f, %e : f32[3,2]
      return %d, %b, %g
    } })";
  for (const bool planned : {true, false}) {
    emit::Options options;
    options.plan_inputs = planned;
    Running r = start(text, options);
    const auto out = r.run({f32({2, 3}, {-1, 2, -3, 4, -5, 6})});
    EXPECT_EQ(sizes(out[0]), (std::vector<int64_t>{1, 6}));
    EXPECT_EQ(floats(out[0]), (Floats{0, 2, 0, 4, 0, 6}));
    EXPECT_EQ(floats(out[1]), (Floats{0, 2, 0, 4, 0, 6}));
    EXPECT_EQ(floats(out[2]), (Floats{0, 4, 0, 8, 0, 12}));
    if (planned) {
      EXPECT_EQ(r.calls(), (Names{"aten::relu.out", "aten::add.out"}));
    } else {
      EXPECT_EQ(r.calls(), (Names{"aten::relu.out", "executorch_prim::et_view.default", "aten::add.out"}));
    }
  }
}

TEST(Emit, DynamicSizesAreBoundFromInputsAndComputed) {
  Running r = start(R"(program {
    sym s0 in [1, 8]
    fn forward(%x: f32[s0,4], %y: f32[2*s0]) {
      %a = relu %x : f32[s0,4]
      %v = view %a, [2*s0,2] : f32[2*s0,2]
      %e = expand %v, [3,-1,-1] : f32[3,2*s0,2]
      %f = full [s0,2], 1.5 : f32[s0,2]
      %n = neg %y : f32[2*s0]
      return %e, %f, %n
    } })");
  for (const int64_t n : {1, 3, 8, 2}) {
    Floats x, y;
    for (int64_t i = 0; i < 4 * n; ++i) x.push_back(static_cast<float>(i));
    for (int64_t i = 0; i < 2 * n; ++i) y.push_back(static_cast<float>(i));
    const auto out = r.run({f32({n, 4}, x), f32({2 * n}, y)});
    ASSERT_EQ(out.size(), 3u);
    EXPECT_EQ(sizes(out[0]), (std::vector<int64_t>{3, 2 * n, 2}));
    EXPECT_EQ(sizes(out[1]), (std::vector<int64_t>{n, 2}));
    Floats expanded;
    for (int k = 0; k < 3; ++k) expanded.insert(expanded.end(), x.begin(), x.end());
    EXPECT_EQ(floats(out[0]), expanded);
    EXPECT_EQ(floats(out[1]), Floats(static_cast<size_t>(2 * n), 1.5f));
  }
}

TEST(Emit, EachSizeExpressionIsComputedOnce) {
  Running r = start(R"(program {
    sym s0 in [1, 8]
    fn forward(%x: f32[s0]) {
      %a = full [s0*3,2], 1.0 : f32[s0*3,2]
      %b = full [s0*3], 2.0 : f32[s0*3]
      %c = full [floordiv(s0, 2) + 1], 2.0 : f32[floordiv(s0, 2) + 1]
      %d = full [mod(s0, 3), s0*3], 2.0 : f32[mod(s0, 3), s0*3]
      return %a, %b, %c, %d
    } })");
  const Names calls = r.calls();
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "aten::sym_size.int"), 1);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "executorch_prim::mul.Scalar"), 2);  // s0*3 and the mod's
  const auto out = r.run({f32({5}, Floats(5, 0.f))});
  EXPECT_EQ(sizes(out[0]), (std::vector<int64_t>{15, 2}));
  EXPECT_EQ(sizes(out[2]), (std::vector<int64_t>{3}));
  EXPECT_EQ(sizes(out[3]), (std::vector<int64_t>{2, 15}));
}

TEST(Emit, ASymbolThatOnlyStandsInAnExpressionIsSolvedFor) {
  Running r = start(R"(program {
    sym s0 in [1, 8]
    fn forward(%x: f32[3*s0+1]) -> f32[s0] {
      %a = full [s0], 1.0 : f32[s0]
      return %a
    } })");
  EXPECT_EQ(sizes(r.run({f32({16}, Floats(16, 0.f))})[0]), (std::vector<int64_t>{5}));
}

TEST(Emit, ASizeWithoutBoundIsRefusedByName) {
  const auto result = emitted(R"(program {
    sym s0 in [1, inf]
    fn forward(%x: f32[2,s0]) -> f32[2,s0] {
      %a = relu %x : f32[2,s0]
      return %a
    } })");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Input);
  EXPECT_NE(result.error().message.find("%x has the size s0 in dimension 1"), std::string::npos)
      << result.error().message;
  EXPECT_NE(result.error().message.find("max="), std::string::npos);
}

TEST(Emit, AllMissingKernelsAreNamedAtOnceWithCounts) {
  const std::string_view text = R"(program { fn forward(%x: f32[2,2]) {
    %a = silu %x : f32[2,2]
    %b = silu %a : f32[2,2]
    %c = softplus %b : f32[2,2]
    %d = relu %c : f32[2,2]
    return %d
  } })";
  const auto result = emitted(text);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::Input);
  const std::string& message = result.error().message;
  EXPECT_NE(message.find("aten::silu.default (2 times"), std::string::npos) << message;
  EXPECT_NE(message.find("aten::softplus.default (once"), std::string::npos) << message;
  EXPECT_EQ(message.find("relu"), std::string::npos) << message;
}

TEST(Emit, StateIsKeptBetweenCalls) {
  for (const bool planned : {true, false}) {
    emit::Options options;
    options.plan_inputs = options.plan_outputs = planned;
    Running r = start(R"(program {
      mutable const %count : f32[2] = [10.0, 20.0]
      fn forward(%x: f32[2]) -> f32[2] {
        %next = add.Tensor %count, %x : f32[2]
        %twice = mul.Scalar %next, 2.0 : f32[2]
        return %twice, buffer %count = %next
      } })",
                      options);
    EXPECT_EQ(floats(r.run({f32({2}, {1, 2})})[0]), (Floats{22, 44}));
    EXPECT_EQ(floats(r.run({f32({2}, {1, 2})})[0]), (Floats{24, 48}));
    EXPECT_EQ(floats(r.run({f32({2}, {0, 100})})[0]), (Floats{24, 248}));
  }
}

TEST(Emit, OldAndNewStateAreBothToBeHad) {
  Running r = start(R"(program {
    mutable const %s : f32[4] = [1.0, 2.0, 3.0, 4.0]
    fn forward(%x: f32[4]) {
      %old = view %s, [2,2] : f32[2,2]
      %new = add.Tensor %s, %x : f32[4]
      return %s, %old, %new, buffer %s = %new
    } })");
  for (int call = 0; call < 3; ++call) {
    const auto out = r.run({f32({4}, {1, 1, 1, 1})});
    const auto base = static_cast<float>(call);
    EXPECT_EQ(floats(out[0]), (Floats{base + 1, base + 2, base + 3, base + 4}));
    EXPECT_EQ(floats(out[1]), (Floats{base + 1, base + 2, base + 3, base + 4}));
    EXPECT_EQ(floats(out[2]), (Floats{base + 2, base + 3, base + 4, base + 5}));
  }
}

TEST(Emit, BuffersThatSwapTheirValues) {
  Running r = start(R"(program {
    mutable const %a : f32[2] = [1.0, 2.0]
    mutable const %b : f32[2] = [3.0, 4.0]
    fn forward(%x: f32[2]) {
      %sum = add.Tensor %a, %x : f32[2]
      return %sum, buffer %a = %b, buffer %b = %a
    } })");
  EXPECT_EQ(floats(r.run({f32({2}, {0, 0})})[0]), (Floats{1, 2}));
  EXPECT_EQ(floats(r.run({f32({2}, {0, 0})})[0]), (Floats{3, 4}));
  EXPECT_EQ(floats(r.run({f32({2}, {0, 0})})[0]), (Floats{1, 2}));
}

TEST(Emit, ANewValueReadBeforeTheLastReadOfTheOldOne) {
  // %new must not be computed in the buffer's place: %late still reads the old value.
  Running r = start(R"(program {
    mutable const %s : f32[2] = [1.0, 2.0]
    fn forward(%x: f32[2]) {
      %new = mul.Tensor %x, %x : f32[2]
      %late = add.Tensor %s, %new : f32[2]
      return %late, buffer %s = %new
    } })");
  EXPECT_EQ(floats(r.run({f32({2}, {2, 3})})[0]), (Floats{5, 11}));
  EXPECT_EQ(floats(r.run({f32({2}, {1, 1})})[0]), (Floats{5, 10}));
}

TEST(Emit, ANewValueIsComputedInPlaceWhereNobodyReadsTheOldOne) {
  Running r = start(R"(program {
    mutable const %s : f32[2] = [1.0, 2.0]
    fn forward(%x: f32[2]) {
      %a = add.Tensor %s, %x : f32[2]
      %b = neg %a : f32[2]
      %new = neg %b : f32[2]
      return %b, buffer %s = %new
    } })");
  EXPECT_EQ(r.calls(), (Names{"aten::add.out", "aten::neg.out", "aten::neg.out"}));
  EXPECT_EQ(floats(r.run({f32({2}, {1, 1})})[0]), (Floats{-2, -3}));
  EXPECT_EQ(floats(r.run({f32({2}, {1, 1})})[0]), (Floats{-3, -4}));
}

TEST(Emit, ACacheIsUpdatedInPlace) {
  Running r = start(R"(program {
    mutable const %cache : f32[4,2] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    fn forward(%at: i64[1], %x: f32[1,2]) -> f32[4,2] {
      %new = index_put %cache, [%at], %x : f32[4,2]
      %y = mul.Scalar %new, 1.0 : f32[4,2]
      return %y, buffer %cache = %new
    } })");
  EXPECT_EQ(r.calls(), (Names{"aten::index_put_", "aten::mul.Scalar_out"}));
  EXPECT_EQ(floats(r.run({i64({1}, {2}), f32({1, 2}, {5, 6})})[0]), (Floats{0, 0, 0, 0, 5, 6, 0, 0}));
  EXPECT_EQ(floats(r.run({i64({1}, {0}), f32({1, 2}, {7, 8})})[0]), (Floats{7, 8, 0, 0, 5, 6, 0, 0}));
}

TEST(Emit, ACacheWhoseOldValueIsStillReadIsNotUpdatedInPlace) {
  Running r = start(R"(program {
    mutable const %cache : f32[3] = [1.0, 2.0, 3.0]
    fn forward(%at: i64[1], %x: f32[1]) -> f32[3] {
      %new = index_put %cache, [%at], %x : f32[3]
      %y = sub.Tensor %new, %cache : f32[3]
      return %y, buffer %cache = %new
    } })");
  EXPECT_EQ(floats(r.run({i64({1}, {1}), f32({1}, {5})})[0]), (Floats{0, 3, 0}));
  EXPECT_EQ(floats(r.run({i64({1}, {1}), f32({1}, {6})})[0]), (Floats{0, 1, 0}));
}

TEST(Emit, KernelsThatReadRowMajorGetItFromChannelsLast) {
  Running r = start(R"(program { fn forward(%x: f32[1,2,2,2]{0,2,3,1}) {
    %a = relu %x : f32[1,2,2,2]{0,2,3,1}
    %m = mean.dim %a, [2,3] : f32[1,2]
    %c = cumsum %a, 3 : f32[1,2,2,2]{0,2,3,1}
    return %a, %m, %c
  } })");
  const auto out = r.run({f32({1, 2, 2, 2}, {1, 2, 3, 4, 10, 20, 30, 40})});
  EXPECT_EQ(floats(out[0]), (Floats{1, 2, 3, 4, 10, 20, 30, 40}));
  EXPECT_EQ(floats(out[1]), (Floats{2.5, 25}));
  EXPECT_EQ(floats(out[2]), (Floats{1, 3, 3, 7, 10, 30, 30, 70}));
}

TEST(Emit, EqualConstantsAreWrittenOnceAndRankZeroOnesRun) {
  auto result = emitted(R"(program {
    const %a : f32[] = 2.5
    const %b : f32[300] = random(seed=1)
    const %c : f32[300] = random(seed=1)
    fn forward(%x: f32[300]) -> f32[300] {
      %y = mul.Tensor %x, %a : f32[300]
      %z = mul.Tensor %y, %b : f32[300]
      %w = mul.Tensor %z, %c : f32[300]
      return %w
    } })");
  ASSERT_TRUE(result.ok()) << result.error().message;
  const auto bytes = pte::write_to_memory(result->program);
  ASSERT_TRUE(bytes.ok());
  EXPECT_LT(bytes->size(), 2 * 300 * sizeof(float) + 1100);
}

TEST(Emit, ScalarsKeepTheirKind) {
  Running r = start(R"(program { fn forward(%x: i64[3]) {
    %a = mul.Scalar %x, 2 : i64[3]
    %b = mul.Scalar %x, 2.0 : f32[3]
    return %a, %b
  } })");
  const auto out = r.run({i64({3}, {1, 2, 3})});
  EXPECT_EQ(std::get<TensorData>(out[0]).dtype(), DType::I64);
  EXPECT_EQ(std::get<TensorData>(out[0]).element_as_int(2), 6);
  EXPECT_EQ(floats(out[1]), (Floats{2, 4, 6}));
}

TEST(Emit, ZeroSizeTensors) {
  Running r = start(R"(program { fn forward(%x: f32[0,3], %y: f32[2,3]) -> f32[2,3] {
    %a = relu %x : f32[0,3]
    %b = cat [%a, %y] : f32[2,3]
    return %b
  } })");
  EXPECT_EQ(floats(r.run({f32({0, 3}, {}), f32({2, 3}, {1, 2, 3, 4, 5, 6})})[0]), (Floats{1, 2, 3, 4, 5, 6}));
}

TEST(Emit, FramesCarrySourceLinesOnlyWhenAsked) {
  const std::string_view text = "program { fn forward(%x: f32[2]) -> f32[2] { %a = relu %x : f32[2] return %a } }";
  EXPECT_TRUE(start(text).program.plans[0].frames.empty());
  emit::Options options;
  options.frames = true;
  EXPECT_EQ(start(text, options).program.plans[0].frames.size(), 1u);
}

TEST(Emit, SlicesInOnePieceCostNothing) {
  Running r = start(R"(program { fn forward(%x: f32[6,2]) {
    %a = relu %x : f32[6,2]
    %s = slice.Tensor %a, 0, 2, 4 : f32[2,2]
    %t = select.int %a, 0, -1 : f32[2]
    %p, %q = split_with_sizes %a, [1,5] : (f32[1,2], f32[5,2])
    %g = slice.Tensor %a, 1, 1, 2 : f32[6,1]
    %n = neg %q : f32[5,2]
    return %s, %t, %p, %n, %g
  } })");
  const auto out = r.run({f32({6, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})});
  EXPECT_EQ(floats(out[0]), (Floats{4, 5, 6, 7}));
  EXPECT_EQ(floats(out[1]), (Floats{10, 11}));
  EXPECT_EQ(floats(out[2]), (Floats{0, 1}));
  EXPECT_EQ(floats(out[3]), (Floats{-2, -3, -4, -5, -6, -7, -8, -9, -10, -11}));
  EXPECT_EQ(floats(out[4]), (Floats{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(r.calls(), (Names{"aten::relu.out", "aten::slice_copy.Tensor_out", "aten::neg.out"}));
}

TEST(Emit, AnOperandIsOverwrittenOnlyWhenNobodyReadsItAgain) {
  Running r = start(R"(program { fn forward(%x: f32[8]) {
    %a = neg %x : f32[8]
    %half = slice.Tensor %a, 0, 4, 8 : f32[4]
    %b = relu %a : f32[8]
    %c = add.Tensor %b, %b : f32[8]
    %d = exp %half : f32[4]
    return %c, %d
  } })");
  const auto out = r.run({f32({8}, {1, -1, 2, -2, 0, 0, -3, 0})});
  EXPECT_EQ(floats(out[0]), (Floats{0, 2, 0, 4, 0, 0, 6, 0}));
  EXPECT_EQ(floats(out[1])[0], 1);
  EXPECT_NEAR(floats(out[1])[2], 20.0855, 1e-3);
  EXPECT_EQ(r.memory.arena_bytes, 64u + 64u);  // two tensors of eight, the second over the input's end
}

TEST(Emit, SeveralMethodsShareConstants) {
  auto result = emitted(R"(program {
    const %c : f32[100] = random(seed=1)
    fn forward(%x: f32[100]) -> f32[100] { %y = add.Tensor %x, %c : f32[100] return %y }
    fn other(%x: f32[100]) -> f32[100] { %y = mul.Tensor %x, %c : f32[100] return %y } })");
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(result->program.plans.size(), 2u);
  EXPECT_EQ(result->program.constants.size(), 1u);
}

}  // namespace
}  // namespace edgelift
