// The program file: written, read back, and every rule that keeps a bad file from the runtime.
#include "pte/program.h"

#include <cstring>
#include <fstream>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "base/file.h"
#include "program_generated.h"
#include "runtime/session.h"
#include "testing.h"

namespace edgelift::pte {
namespace {

Tensor planned(std::vector<int32_t> sizes, uint64_t offset) {
  Tensor tensor;
  tensor.dim_order.resize(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) tensor.dim_order[d] = static_cast<uint8_t>(d);
  tensor.sizes = std::move(sizes);
  tensor.memory_id = 1;
  tensor.memory_offset = offset;
  return tensor;
}
Tensor constant(std::vector<int32_t> sizes, int32_t index) {
  Tensor tensor = planned(std::move(sizes), 0);
  tensor.memory_id = 0;
  tensor.constant = index;
  return tensor;
}

// x * 2.5, with a rank-0 constant.
Program multiply() {
  Program program;
  program.constants.push_back(TensorData::of<float>(DType::F32, {}, {2.5f}));
  Plan plan;
  plan.values = {planned({2, 3}, 0), constant({}, 0), planned({2, 3}, 32)};
  plan.inputs = {0};
  plan.outputs = {2};
  plan.operators = {{"aten::mul", "out"}};
  plan.instructions = {KernelCall{0, {0, 1, 2, 2}}};
  plan.buffer_sizes = {0, 64};
  program.plans.push_back(std::move(plan));
  return program;
}

std::vector<std::byte> bytes_of(const Program& program) {
  auto bytes = write_to_memory(program);
  EXPECT_TRUE(bytes.ok());
  return *std::move(bytes);
}
Result<Program> read_bytes(std::vector<std::byte> bytes) {
  const auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  return read(*owner, owner);
}

TEST(Pte, TheRuntimeRunsWhatIsWritten) {
  const auto bytes = std::make_shared<std::vector<std::byte>>(bytes_of(multiply()));
  auto session = runtime::Session::open(*bytes, bytes);
  ASSERT_TRUE(session.ok()) << session.error().message;
  auto method = (*session)->method();
  ASSERT_TRUE(method.ok()) << method.error().message;
  auto outputs =
      (*method)->run(std::vector<runtime::Argument>{TensorData::of<float>(DType::F32, {2, 3}, {0, 1, 2, 3, 4, 5})});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message;
  EXPECT_EQ(std::get<TensorData>((*outputs)[0]).to_floats(), (std::vector<float>{0, 2.5, 5, 7.5, 10, 12.5}));
}

TEST(Pte, EveryKindOfValueAndInstructionComesBack) {
  Program program = multiply();
  program.mutable_data.push_back(TensorData::of<float>(DType::F32, {2}, {1, 2}));
  program.blobs.push_back({"XnnpackBackend", std::vector<std::byte>(37, std::byte{7})});
  program.named.push_back({"weight", TensorData::of<float>(DType::F32, {3}, {4, 5, 6})});
  Plan& plan = program.plans[0];
  Tensor state = planned({2}, 48);
  state.initial = 0;
  state.name = "cache.k";
  state.dynamic = true;
  plan.values.insert(plan.values.end(), {Null{}, int64_t{-5}, true, -0.5, state, std::string("tanh"), IntList{{4, 4}},
                                         std::vector<double>{1, 2.5}, std::vector<bool>{true, false},
                                         TensorList{{0, 2}}, OptionalTensorList{{-1, 0}}});
  plan.instructions.insert(plan.instructions.end(),
                           {DelegateCall{0, {0, 2}}, MoveCall{4, 4}, JumpFalseCall{5, 1}, FreeCall{0}});
  plan.delegates = {{0}};
  plan.frames = {"model.py:12", "", "", "", ""};
  const std::vector<std::byte> bytes = bytes_of(program);
  const Status sound = verify(bytes);
  ASSERT_TRUE(sound.ok()) << sound.error().message;
  auto again = read_bytes(bytes);
  ASSERT_TRUE(again.ok()) << again.error().message;
  const Plan& read_plan = again->plans.at(0);
  ASSERT_EQ(read_plan.values.size(), plan.values.size());
  for (size_t i = 0; i < plan.values.size(); ++i) EXPECT_EQ(read_plan.values[i].index(), plan.values[i].index()) << i;
  EXPECT_EQ(std::get<int64_t>(read_plan.values[4]), -5);
  EXPECT_EQ(std::get<double>(read_plan.values[6]), -0.5);
  const auto& read_state = std::get<Tensor>(read_plan.values[7]);
  EXPECT_EQ(read_state.name, "cache.k");
  EXPECT_TRUE(read_state.dynamic);
  EXPECT_EQ(read_state.initial, 0);
  EXPECT_EQ(std::get<std::string>(read_plan.values[8]), "tanh");
  EXPECT_EQ(std::get<IntList>(read_plan.values[9]).items, (std::vector<int32_t>{4, 4}));
  EXPECT_EQ(std::get<std::vector<double>>(read_plan.values[10]), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(std::get<std::vector<bool>>(read_plan.values[11]), (std::vector<bool>{true, false}));
  EXPECT_EQ(std::get<OptionalTensorList>(read_plan.values[13]).items, (std::vector<int32_t>{-1, 0}));
  ASSERT_EQ(read_plan.instructions.size(), 5u);
  EXPECT_EQ(std::get<JumpFalseCall>(read_plan.instructions[3]).destination, 1);
  EXPECT_EQ(read_plan.frames[0], "model.py:12");
  EXPECT_EQ(read_plan.frames[1], "");
  EXPECT_EQ(again->mutable_data.at(0).to_floats(), (std::vector<float>{1, 2}));
  EXPECT_EQ(again->blobs.at(0).bytes, program.blobs[0].bytes);
  EXPECT_EQ(again->named.at(0).key, "weight");
  EXPECT_EQ(std::memcmp(again->named[0].data.bytes().data(), program.named[0].data.bytes().data(), 12), 0);
  EXPECT_EQ(bytes_of(*again), bytes);  // and what was read is written the same
}

TEST(Pte, StridedConstantsAreWrittenInMemoryOrder) {
  Program program = multiply();
  const std::vector<int64_t> swap = {1, 0};
  program.constants.push_back(TensorData::of<float>(DType::F32, {2, 3}, {0, 1, 2, 3, 4, 5}).permuted(swap));
  program.plans[0].values.emplace_back(constant({3, 2}, 1));
  auto again = read_bytes(bytes_of(program));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->constants.at(1).to_floats(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
}

TEST(Pte, EachContentIsWrittenOnce) {
  std::mt19937 random(1);
  std::vector<float> values(5000);
  for (float& value : values) value = static_cast<float>(random());
  const auto count_bytes = [&](int copies, bool differ) {
    Program program = multiply();
    for (int i = 0; i < copies; ++i) {
      std::vector<float> mine = values;
      if (differ) mine[1234] = static_cast<float>(i);  // away from the sampled places
      program.constants.push_back(TensorData::of(DType::F32, {5000}, mine));
      program.named.push_back({"key" + std::to_string(i), program.constants.back()});
      program.blobs.push_back({"XnnpackBackend", std::vector<std::byte>(3000, std::byte{1})});
      program.plans[0].values.emplace_back(constant({5000}, i + 1));
    }
    auto again = read_bytes(bytes_of(program));
    EXPECT_TRUE(again.ok());
    for (int i = 0; i < copies; ++i)
      EXPECT_TRUE(
          again->constants[static_cast<size_t>(i) + 1].same_bits(program.constants[static_cast<size_t>(i) + 1]));
    return bytes_of(program).size();
  };
  EXPECT_LT(count_bytes(4, false), count_bytes(1, false) + 3000);
  EXPECT_GT(count_bytes(4, true), count_bytes(1, true) + 6 * 20000);
}

TEST(Pte, ConstantsAreAlignedAndFollowedByReadableZeros) {
  Program program = multiply();
  for (int i = 1; i <= 5; ++i) {
    program.constants.push_back(
        TensorData::of(DType::U8, {i * 7}, std::vector<uint8_t>(static_cast<size_t>(i) * 7, 255)));
    Tensor tensor = constant({i * 7}, i);
    tensor.dtype = DType::U8;
    program.plans[0].values.emplace_back(tensor);
  }
  const std::vector<std::byte> bytes = bytes_of(program);
  const auto again = read_bytes(bytes);
  ASSERT_TRUE(again.ok());
  const std::byte* first = again->constants[0].storage().data();
  for (size_t i = 1; i < again->constants.size(); ++i) {
    const std::span<const std::byte> data = again->constants[i].bytes();
    EXPECT_EQ((data.data() - first) % 16, 0);
    for (size_t k = 0; k < 16; ++k) EXPECT_EQ(data.data()[data.size() + k], std::byte{0}) << i;
  }
}

TEST(Pte, AFullTargetLeavesNoFile) {
  const std::filesystem::path dir = testing::scratch_dir();
  EXPECT_FALSE(write(multiply(), dir / "missing" / "m.pte").ok());
  EXPECT_FALSE(write(multiply(), dir).ok());
  EXPECT_TRUE(std::filesystem::is_empty(dir));
  const auto stats = write(multiply(), dir / "m.pte");
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats->bytes, std::filesystem::file_size(dir / "m.pte"));
}

TEST(Pte, ExecuTorchsOwnFilesAreRead) {
  const auto shared = testing::shared_dir();
  if (!shared) GTEST_SKIP() << "shared/models is not there";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*shared / "models")) {
    const std::filesystem::path path = entry.path() / "model.et.pte";
    if (!std::filesystem::exists(path)) continue;
    ++files;
    auto file = MappedFile::open(path);
    ASSERT_TRUE(file.ok());
    const auto program = read((*file)->bytes(), *file);
    ASSERT_TRUE(program.ok()) << path << ": " << program.error().message;
    EXPECT_FALSE(program->plans.at(0).delegates.empty());
    EXPECT_FALSE(program->named.empty());
    // Written again, the runtime's loader takes it.
    const std::filesystem::path copy = testing::scratch_dir() / "copy.pte";
    ASSERT_TRUE(write(*program, copy).ok());
    auto session = runtime::Session::open(copy);
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_TRUE((*session)->method().ok());
  }
  EXPECT_GT(files, 0);
}

// ---- every rule broken once ----

struct Broken {
  const char* name;
  std::function<void(Program&)> change;
  const char* message;
};
template <class T>
T& value(Program& program, size_t index) {
  return std::get<T>(program.plans[0].values[index]);
}
KernelCall& call(Program& program) { return std::get<KernelCall>(program.plans[0].instructions[0]); }

class BrokenProgram : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenProgram, IsRefused) {
  Program program = multiply();
  ASSERT_TRUE(verify(bytes_of(program)).ok());
  GetParam().change(program);
  const std::vector<std::byte> bytes = bytes_of(program);
  const Status status = verify(bytes);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().kind, ErrorKind::Input);
  EXPECT_NE(status.error().message.find(GetParam().message), std::string::npos) << status.error().message;
  EXPECT_FALSE(read_bytes(bytes).ok());
  const auto owner = std::make_shared<std::vector<std::byte>>(bytes);
  EXPECT_FALSE(runtime::Session::open(*owner, owner).ok());
  // The writer of files holds the program against the same rules: a defect of ours, and nothing is left behind.
  const std::filesystem::path dir = testing::scratch_dir();
  const auto written = write(program, dir / "m.pte");
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().kind, ErrorKind::Internal);
  EXPECT_NE(written.error().message.find(GetParam().message), std::string::npos) << written.error().message;
  EXPECT_TRUE(std::filesystem::is_empty(dir));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, BrokenProgram,
    ::testing::Values(
        Broken{"no_method", [](Program& p) { p.plans.clear(); }, "no method"},
        Broken{"unnamed_method", [](Program& p) { p.plans[0].name = ""; }, "has no name"},
        Broken{"method_twice", [](Program& p) { p.plans.push_back(p.plans[0]); }, "two methods have the name 'forward'"},
        Broken{"input_range", [](Program& p) { p.plans[0].inputs = {9}; }, "input 0 is value 9"},
        Broken{"input_list", [](Program& p) { p.plans[0].values.emplace_back(IntList{}); p.plans[0].inputs = {3}; }, "input 0 is a list"},
        Broken{"input_constant", [](Program& p) { p.plans[0].inputs = {1}; }, "input 0 is a constant"},
        Broken{"output_range", [](Program& p) { p.plans[0].outputs = {-1}; }, "output 0 is value -1"},
        Broken{"argument_range", [](Program& p) { call(p).args[0] = 77; }, "argument 0 of instruction 0 is value 77"},
        Broken{"operator_range", [](Program& p) { call(p).op = 3; }, "calls operator 3"},
        Broken{"operator_name", [](Program& p) { p.plans[0].operators[0].name = ""; }, "operator 0 has no name"},
        Broken{"long_name", [](Program& p) { p.plans[0].operators[0].name = std::string(120, 'a'); }, "longer than the runtime's"},
        Broken{"dtype", [](Program& p) { value<Tensor>(p, 0).dtype = static_cast<DType>(40); }, "is not an element type"},
        Broken{"negative_size", [](Program& p) { value<Tensor>(p, 0).sizes[0] = -2; }, "is negative"},
        Broken{"huge_size", [](Program& p) { value<Tensor>(p, 0) = planned({2147483647, 2147483647, 2147483647}, 0); }, "63 bits"},
        Broken{"rank", [](Program& p) { value<Tensor>(p, 0) = planned(std::vector<int32_t>(17, 1), 0); }, "rank 17"},
        Broken{"dim_order_length", [](Program& p) { value<Tensor>(p, 0).dim_order = {0}; }, "dim_order has 1 entries"},
        Broken{"dim_order_repeats", [](Program& p) { value<Tensor>(p, 0).dim_order = {1, 1}; }, "not a permutation"},
        Broken{"dim_order_range", [](Program& p) { value<Tensor>(p, 0).dim_order = {0, 200}; }, "not a permutation"},
        Broken{"memory_id", [](Program& p) { value<Tensor>(p, 0).memory_id = 5; }, "planned buffer 5"},
        Broken{"memory_overflow", [](Program& p) { value<Tensor>(p, 2).memory_offset = 48; }, "do not fit into planned buffer 1"},
        Broken{"memory_wrap", [](Program& p) { value<Tensor>(p, 2).memory_offset = ~uint64_t{0} - 8; }, "do not fit into planned buffer"},
        Broken{"constant_index", [](Program& p) { value<Tensor>(p, 1).constant = 4; }, "entry 5 of constant_segment"},
        Broken{"constant_size", [](Program& p) { value<Tensor>(p, 1) = constant({1000}, 0); }, "reach past the end of constant_segment"},
        Broken{"initial_without_data", [](Program& p) { value<Tensor>(p, 2).initial = 0; }, "no mutable_data_segments"},
        Broken{"int_list_item", [](Program& p) { p.plans[0].values.emplace_back(IntList{{0}}); }, "which is not an Int"},
        Broken{"int_list_range", [](Program& p) { p.plans[0].values.emplace_back(IntList{{99}}); }, "an item of list 3 is value 99"},
        Broken{"tensor_list_item", [](Program& p) { p.plans[0].values.emplace_back(Null{}); p.plans[0].values.emplace_back(TensorList{{3}}); },
               "which is not a tensor"},
        Broken{"tensor_list_order", [](Program& p) { p.plans[0].values.emplace_back(TensorList{{4}}); p.plans[0].values.emplace_back(planned({1}, 0)); },
               "stands before tensor 4"},
        Broken{"optional_list_range", [](Program& p) { p.plans[0].values.emplace_back(OptionalTensorList{{-2}}); }, "an item of list 3 is value -2"},
        Broken{"delegate_range", [](Program& p) { p.plans[0].instructions.emplace_back(DelegateCall{0, {0}}); }, "calls delegate 0"},
        Broken{"delegate_without_backend", [](Program& p) { p.blobs.push_back({"", {std::byte{1}}}); p.plans[0].delegates = {{0}}; },
               "delegate 0 has no backend"},
        Broken{"move_range", [](Program& p) { p.plans[0].instructions.emplace_back(MoveCall{0, 50}); }, "the target of instruction 1 is value 50"},
        Broken{"jump_condition", [](Program& p) { p.plans[0].instructions.emplace_back(JumpFalseCall{0, 0}); }, "neither a Bool nor a bool tensor"},
        Broken{"jump_target", [](Program& p) { p.plans[0].values.emplace_back(true); p.plans[0].instructions.emplace_back(JumpFalseCall{3, 9}); },
               "jumps to instruction 9"},
        Broken{"free_number", [](Program& p) { p.plans[0].values.emplace_back(int64_t{1}); p.plans[0].instructions.emplace_back(FreeCall{3}); },
               "not a tensor"},
        Broken{"null_pointer",
               [](Program& p) {
                 Tensor nowhere = planned({2, 3}, 0);
                 nowhere.memory_id = 0;
                 p.plans[0].values.emplace_back(nowhere);
                 p.plans[0].instructions.emplace_back(KernelCall{0, {0, 1, 3, 3}});
               },
               "no memory"},
        Broken{"named_twice",
               [](Program& p) {
                 p.named.push_back({"k", TensorData::of<float>(DType::F32, {1}, {1})});
                 p.named.push_back({"k", TensorData::of<float>(DType::F32, {1}, {2})});
               },
               "have the key 'k'"},
        Broken{"named_without_key", [](Program& p) { p.named.push_back({"", TensorData::of<float>(DType::F32, {1}, {1})}); }, "has no key"}),
    [](const auto& info) { return std::string(info.param.name); });

// ---- bytes changed in the file ----

void put(std::vector<std::byte>& bytes, size_t at, uint64_t value, size_t size) {
  std::memcpy(bytes.data() + at, &value, size);
}

struct Damaged {
  const char* name;
  std::function<void(std::vector<std::byte>&)> change;
  const char* message;
};
class DamagedFile : public ::testing::TestWithParam<Damaged> {};

TEST_P(DamagedFile, IsRefused) {
  std::vector<std::byte> bytes = bytes_of(multiply());
  GetParam().change(bytes);
  const Status status = verify(bytes);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find(GetParam().message), std::string::npos) << status.error().message;
  EXPECT_FALSE(read_bytes(bytes).ok());
}

INSTANTIATE_TEST_SUITE_P(
    Bytes, DamagedFile,
    ::testing::Values(
        Damaged{"empty", [](auto& b) { b.clear(); }, "0 bytes"},
        Damaged{"short", [](auto& b) { b.resize(40); }, "40 bytes"},
        Damaged{"identifier", [](auto& b) { b[4] = std::byte{'X'}; }, "identifier ET12"},
        Damaged{"zip", [](auto& b) { std::memcpy(b.data(), "PK\x03\x04zzzz", 8); }, ".pt2"},
        Damaged{"cut_off", [](auto& b) { b.resize(b.size() - 40); }, "cut off"},
        Damaged{"header_length", [](auto& b) { put(b, 12, 20, 4); }, "at least 24"},
        Damaged{"program_size", [](auto& b) { put(b, 16, b.size() + 1, 8); }, "cut off"},
        Damaged{"segment_base", [](auto& b) { put(b, 24, 64, 8); }, "puts the segments at byte 64"},
        Damaged{"segment_base_far", [](auto& b) { put(b, 24, ~uint64_t{0}, 8); }, "puts the segments"},
        Damaged{"segment_size", [](auto& b) { put(b, 32, b.size(), 8); }, "cut off"},
        // A broken magic would make the runtime read constants from the start of the file without an error.
        Damaged{"header_magic", [](auto& b) { b[8] = std::byte{'x'}; }, "magic"},
        Damaged{"root_offset", [](auto& b) { put(b, 0, 0x7FFFFFF0, 4); }, "not a sound flatbuffer"}),
    [](const auto& info) { return std::string(info.param.name); });

// Rules on fields that our own writer cannot write otherwise.
class ChangedTable : public ::testing::Test {
 protected:
  std::vector<std::byte> bytes_ = bytes_of(multiply());
  executorch_flatbuffer::Program& root() { return *executorch_flatbuffer::GetMutableProgram(bytes_.data()); }
  void expect_refused(const char* message) {
    const Status status = verify(bytes_);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find(message), std::string::npos) << status.error().message;
  }
};

TEST_F(ChangedTable, SegmentReachesPastTheEnd) {
  auto* segment = root().mutable_segments()->GetMutableObject(0);
  ASSERT_TRUE(segment->mutate_size(1 << 30));
  expect_refused("segment 0");
}
TEST_F(ChangedTable, ConstantOffsetOutOfRange) {
  root().mutable_constant_segment()->mutable_offsets()->Mutate(1, 1u << 20);
  expect_refused("constant_segment: entry 1");
}

TEST(Pte, ChangedBytesNeverBringTheReaderDown) {
  Program program = multiply();
  program.blobs.push_back({"XnnpackBackend", std::vector<std::byte>(64, std::byte{7})});
  program.plans[0].delegates = {{0}};
  program.plans[0].values.emplace_back(int64_t{3});
  program.plans[0].values.emplace_back(IntList{{3, 3}});
  program.plans[0].values.emplace_back(TensorList{{0, 2}});
  const std::vector<std::byte> sound = bytes_of(program);
  std::mt19937 random(5);
  int passed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes = sound;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < changes; ++i) {
      const size_t at = random() % bytes.size();
      if (random() % 2 == 0)
        bytes[at] = static_cast<std::byte>(random());
      else
        bytes[at] ^= static_cast<std::byte>(1u << random() % 8);
    }
    if (random() % 10 == 0) bytes.resize(random() % bytes.size());
    const bool ok = verify(bytes).ok();
    const auto program_again = read_bytes(bytes);
    if (program_again.ok()) {
      EXPECT_TRUE(ok);
      ++passed;
      for (const TensorData& data : program_again->constants)
        if (!data.empty()) data.element_as_double(data.numel() - 1);
    }
  }
  EXPECT_GT(passed, 0);
}

}  // namespace
}  // namespace edgelift::pte
