// What import makes of files that torch wrote.
#include <gtest/gtest.h>

#include <cstring>

#include "edit_pt2.h"
#include "ir/text.h"
#include "ir/verifier.h"

namespace edgelift::importer {
namespace {

using edgelift::testing::import_recorded;
using edgelift::testing::Json;
using edgelift::testing::Pt2Editor;

ir::Program imported(const std::string& name) {
  auto program = import_recorded(name);
  if (!program.ok()) throw std::runtime_error(program.error().message);
  const Status verified = ir::verify(*program, ops::table());
  if (!verified.ok()) throw std::runtime_error(verified.error().message);
  return *std::move(program);
}

ir::Node* find(const ir::Program& program, std::string_view result) {
  ir::Node* found = nullptr;
  program.forward().each([&](ir::Node& node) {
    for (const ir::Value* value : node.results)
      if (value->name == result) found = &node;
  });
  if (found == nullptr) throw std::runtime_error("no value " + std::string(result));
  return found;
}

std::string type(const ir::Program& program, std::string_view result) {
  return find(program, result)->result()->type.str();
}

// --- weights ---

TEST(Import, WeightsStayInTheFile) {
  const auto path = edgelift::testing::import_data("base");
  const auto program = imported("base");
  std::vector<std::string> names;
  for (const auto& constant : program.constants) names.push_back(constant->name);
  EXPECT_EQ(names, (std::vector<std::string>{"l.weight", "l.bias", "c", "n", "k", "lifted_tensor_0"}));
  EXPECT_EQ(program.find_constant("c")->data.to_floats(), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(program.find_constant("n")->data.to_floats(), (std::vector<float>{2, 2, 2, 2}));
  EXPECT_EQ(program.find_constant("lifted_tensor_0")->data.to_floats(), (std::vector<float>{1, 2, 3, 4}));
  // Views into one mapped file, in the order of its entries.
  const auto* weight = program.find_constant("l.weight")->data.storage().data();
  const auto* bias = program.find_constant("l.bias")->data.storage().data();
  EXPECT_EQ(bias - weight, 128);
}

TEST(Import, EveryWayATensorIsStored) {
  const auto program = imported("tensors");
  const auto doubles = [&](std::string_view name) { return program.find_constant(name)->data.to_doubles(); };
  const auto sizes = [&](std::string_view name) { return program.find_constant(name)->data.sizes(); };
  using D = std::vector<double>;
  using S = std::vector<int64_t>;
  EXPECT_EQ(doubles("contiguous"), (D{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(sizes("transposed"), (S{3, 2}));
  EXPECT_EQ(doubles("transposed"), (D{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(doubles("slice"), (D{10, 11, 12, 13}));
  EXPECT_EQ(doubles("step"), (D{1, 3, 5, 7}));
  EXPECT_EQ(doubles("view_a"), (D{2, 3, 4, 5}));
  EXPECT_EQ(doubles("view_b"), (D{4, 5, 6, 7}));
  EXPECT_EQ(sizes("expanded"), (S{4, 3}));
  EXPECT_EQ(doubles("expanded"), (D{0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(sizes("scalar"), (S{}));
  EXPECT_EQ(doubles("scalar"), (D{3.5}));
  EXPECT_EQ(sizes("empty"), (S{0, 3}));
  EXPECT_EQ(sizes("empty2"), (S{2, 0}));
  EXPECT_EQ(doubles("flags"), (D{1, 0, 1}));
  EXPECT_EQ(sizes("chlast"), (S{1, 2, 2, 3}));
  EXPECT_EQ(doubles("chlast"), (D{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(program.find_constant("chlast")->data.strides(), (S{12, 1, 6, 2}));
  EXPECT_EQ(doubles("w\xc3\xa9"), (D{0, 1}));
  const std::pair<const char*, DType> dtypes[] = {{"i8", DType::I8},     {"u8", DType::U8},   {"i16", DType::I16},
                                                  {"i32", DType::I32},   {"i64", DType::I64}, {"u16", DType::U16},
                                                  {"u32", DType::U32},   {"u64", DType::U64}, {"f16", DType::F16},
                                                  {"bf16", DType::BF16}, {"f64", DType::F64}};
  for (const auto& [name, dtype] : dtypes) {
    ASSERT_NE(program.find_constant(name), nullptr) << name;
    EXPECT_EQ(program.find_constant(name)->data.dtype(), dtype) << name;
    EXPECT_EQ(doubles(name), (D{0, 1, 2})) << name;
  }
  EXPECT_EQ(program.find_constant("c64")->data.dtype(), DType::C64);
  EXPECT_EQ(program.find_constant("f8a")->data.dtype(), DType::F8E4M3FN);
  EXPECT_EQ(program.find_constant("f8b")->data.dtype(), DType::F8E5M2);
  // All are outputs, as they are.
  const auto& outputs = program.forward().outputs();
  ASSERT_EQ(outputs.size(), 29u);
  EXPECT_TRUE(outputs[0].value->is_constant());
}

TEST(Import, TiedWeightsAreOneConstant) {
  const auto program = imported("tensors");
  size_t tied = 0;
  for (const auto& constant : program.constants) tied += constant->name.starts_with("tied_") ? 1 : 0;
  EXPECT_EQ(tied, 1u);
  const auto& outputs = program.forward().outputs();
  EXPECT_EQ(outputs[27].value->producer->operands()[1], outputs[28].value->producer->operands()[1]);
}

TEST(Import, UnalignedEntriesAreCopied) {
  Pt2Editor edit("base");
  edit.items().insert(edit.items().begin(), {.name = "base/x", .data = "1"});
  const auto program = edit.import({.alignment = 0, .zip64_end = false});
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->find_constant("c")->data.to_floats(), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(program->find_constant("c")->data.storage().data()) % 4, 0u);
}

TEST(Import, OddBoolsBecomeOne) {
  Pt2Editor edit("tensors");
  edit.weights([&](Json& config) {
    const std::string path = config["flags"]["path_name"];
    edit.item("data/weights/" + path).data = std::string("\x00\x02\xff", 3);
  });
  const auto program = edit.import();
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->find_constant("flags")->data.to_doubles(), (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(program->find_constant("flags")->data.bytes()[2], std::byte{1});
}

// --- arguments ---

TEST(Import, DefaultsComeFromTheSchema) {
  const auto program = imported("base");
  const ir::Node* cat = find(program, "cat");
  EXPECT_EQ(std::get<SymInt>(cat->arg("dim")), SymInt(0));
  const ir::Node* add = find(program, "add");
  EXPECT_EQ(std::get<SymInt>(add->arg("alpha")), SymInt(1));
}

TEST(Import, ArgumentKinds) {
  const auto program = imported("kinds");
  const auto& indices = std::get<ir::ValueList>(find(program, "index")->arg("indices"));
  ASSERT_EQ(indices.size(), 2u);
  EXPECT_EQ(indices[0], nullptr);
  EXPECT_EQ(indices[1]->name, "args_1");
  EXPECT_EQ(std::get<std::string>(find(program, "div")->arg("rounding_mode")), "floor");
  EXPECT_EQ(std::get<SymInt>(find(program, "div")->arg("other")), SymInt(2));  // a number given for a tensor stays one
  EXPECT_EQ(std::get<std::string>(find(program, "conv2d")->arg("padding")), "same");
  EXPECT_EQ(std::get<double>(find(program, "full")->arg("fill_value")), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(std::get<double>(find(program, "clamp")->arg("min")), -1e30);
  EXPECT_TRUE(std::get<bool>(find(program, "add_4")->arg("other")));
  EXPECT_EQ(std::get<DType>(find(program, "to")->arg("dtype")), DType::F16);
  EXPECT_EQ(std::get<std::vector<double>>(find(program, "upsample_nearest2d")->arg("scale_factors")),
            (std::vector<double>{2.0, 2.0}));
  EXPECT_TRUE(ir::is_none(find(program, "upsample_nearest2d")->arg("output_size")));
  EXPECT_EQ(std::get<SymInt>(find(program, "slice_4")->arg("end")), SymInt(std::numeric_limits<int64_t>::max()));
  // A keyword behind a gap: stable is given, dim is not.
  const ir::Node* sort = find(program, "getitem");
  EXPECT_TRUE(std::get<bool>(sort->arg("stable")));
  EXPECT_EQ(std::get<SymInt>(sort->arg("dim")), SymInt(-1));
  // A list of tensors is as many results.
  EXPECT_EQ(find(program, "getitem_4")->results.size(), 5u);
  EXPECT_EQ(find(program, "getitem_3")->results[1]->type.str(), "f32[3,4]");
  // Devices mean nothing here.
  EXPECT_TRUE(ir::is_none(find(program, "full")->arg("device")));
}

TEST(Import, InputsOfEveryKind) {
  const auto program = imported("inputs");
  const auto& inputs = program.forward().inputs();
  ASSERT_EQ(inputs.size(), 6u);
  using Kind = ir::Type::Kind;
  const Kind kinds[] = {Kind::Tensor, Kind::Int, Kind::Bool, Kind::None, Kind::Float, Kind::String};
  for (size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(inputs[i]->type.kind, kinds[i]) << i;
  EXPECT_EQ(std::get<SymInt>(inputs[1]->literal), SymInt(3));
  EXPECT_TRUE(std::get<bool>(inputs[2]->literal));
  EXPECT_EQ(std::get<double>(inputs[4]->literal), 2.5);
  EXPECT_EQ(std::get<std::string>(inputs[5]->literal), "hi");
  const auto& outputs = program.forward().outputs();
  ASSERT_EQ(outputs.size(), 5u);
  EXPECT_TRUE(outputs[2].value == nullptr && ir::is_none(outputs[2].literal));
  EXPECT_EQ(std::get<std::string>(outputs[3].literal), "hi");
  EXPECT_EQ(std::get<SymInt>(outputs[4].literal), SymInt(3));
}

TEST(Import, ChannelsLastInputKeepsItsDimOrder) {
  const auto program = imported("channels_last");
  EXPECT_EQ(program.forward().inputs()[0]->type.str(), "f32[1,2,3,4]{0,2,3,1}");
}

// --- sizes ---

TEST(Import, DerivedDimensionsAndRanges) {
  const auto program = imported("derived");
  const auto& inputs = program.forward().inputs();
  const SymInt first = inputs[0]->type.sizes[0], second = inputs[1]->type.sizes[0];
  EXPECT_EQ(first.lower(), 2);
  EXPECT_EQ(first.upper(), 8);
  EXPECT_EQ(second, first + SymInt(1));
  EXPECT_EQ(second.upper(), 9);
  EXPECT_EQ(type(program, "add_1"), "f32[" + first.str() + ",3]");
}

TEST(Import, MultipleOfASymbol) {
  const auto program = imported("multiple");
  const SymInt size = program.forward().inputs()[0]->type.sizes[0];
  EXPECT_EQ(size.lower(), 4);
  EXPECT_EQ(size.upper(), 18);
  EXPECT_EQ(find(program, "reshape")->result()->type.sizes[0] * SymInt(2), size);
}

TEST(Import, NodesThatComputeSizesDisappear) {
  const auto program = imported("sizes");
  const SymInt x = program.forward().inputs()[0]->type.sizes[0], y = program.forward().inputs()[1]->type.sizes[0];
  program.forward().each([](const ir::Node& node) { EXPECT_EQ(node.op->ns, "aten") << node.op->full_name(); });
  EXPECT_EQ(std::get<ir::IntList>(find(program, "zeros")->arg("size"))[0], SymInt::max(x, y));
  EXPECT_EQ(std::get<ir::IntList>(find(program, "zeros_1")->arg("size"))[0], SymInt::min(x * SymInt(2), y + SymInt(3)));
  EXPECT_EQ(std::get<SymInt>(find(program, "div")->arg("other")), x);
  EXPECT_EQ(std::get<SymInt>(find(program, "add_1")->arg("other")), x * SymInt(3));
  EXPECT_EQ(std::get<ir::SymRatio>(find(program, "mul_1")->arg("other")), (ir::SymRatio{x, SymInt(2)}));
  EXPECT_EQ(std::get<ir::SymRatio>(find(program, "mul_3")->arg("other")), (ir::SymRatio{x, SymInt(4)}));
  EXPECT_EQ(std::get<SymInt>(find(program, "add_2")->arg("other")), SymInt::mod(x, SymInt(3)));
  EXPECT_EQ(std::get<SymInt>(find(program, "sub")->arg("other")), SymInt::floordiv(x, SymInt(2)));
}

TEST(Import, RecordedSizeAgreesWithTheRuleInOtherWords) {
  const auto program = imported("pool");
  const SymInt h = program.forward().inputs()[0]->type.sizes[2];
  const SymInt out = find(program, "avg_pool2d")->result()->type.sizes[2];
  for (const int64_t value : {8, 9, 50, 99}) {
    const auto at = out.evaluate([&](const Symbol&) { return std::optional<int64_t>(value); });
    EXPECT_EQ(at, (value + 2 - 3) / 2 + 1) << out.str() << " of " << h.str();
  }
}

TEST(Import, SizesThatCannotBeComputedAreRefusedWhereUsed) {
  edgelift::testing::expect_refused(import_recorded("root"),
                                    {"\"mul\"", "aten::mul.Tensor", "model.py", "argument other", "pow"});
}

TEST(Import, SymbolicInput) {
  const auto program = imported("symbolic_input");
  const ir::Value* k = program.forward().inputs()[1];
  EXPECT_EQ(k->type.kind, ir::Type::Kind::Int);
  ASSERT_NE(k->symbol, nullptr);
  EXPECT_EQ(k->symbol->hi, kUnbounded);
  EXPECT_EQ(std::get<SymInt>(find(program, "mul")->arg("other")), SymInt::symbol(k->symbol));
  const auto& outputs = program.forward().outputs();
  EXPECT_EQ(std::get<SymInt>(outputs[2].literal), SymInt::symbol(k->symbol) * SymInt(2));
}

TEST(Import, NumbersReadFromTensors) {
  const auto whole = imported("item");
  const ir::Value* item = find(whole, "item")->result();
  ASSERT_NE(item->symbol, nullptr);
  EXPECT_EQ(item->symbol->lo, 1);
  EXPECT_EQ(item->symbol->hi, 3);
  EXPECT_EQ(find(whole, "zeros")->result()->type.sizes[0], SymInt::symbol(item->symbol));
  const auto fraction = imported("item_float");
  EXPECT_EQ(std::get<ir::Value*>(find(fraction, "mul")->arg("other")), find(fraction, "item")->result());
  EXPECT_EQ(find(fraction, "item")->result()->type.kind, ir::Type::Kind::Float);
  const auto flag = imported("item_bool");
  EXPECT_EQ(std::get<ir::Value*>(find(flag, "masked_fill")->arg("value")), find(flag, "item")->result());
  EXPECT_EQ(find(flag, "item")->result()->type.kind, ir::Type::Kind::Bool);
}

// --- regions, writes ---

TEST(Import, NoGradRegionsAndDisabledAutocastAreInlined) {
  const auto program = imported("no_grad");
  std::vector<std::string> ops;
  program.forward().each([&](const ir::Node& node) { ops.push_back(node.op->text_name()); });
  EXPECT_EQ(ops, (std::vector<std::string>{"linear", "add.Tensor", "linear", "mul.Tensor"}));
  // Both regions use one weight.
  EXPECT_EQ(program.constants.size(), 3u);
}

TEST(Import, AutocastIsRefusedByName) {
  edgelift::testing::expect_refused(import_recorded("autocast"), {"wrap_with_autocast"});
}

TEST(Import, AllUnknownOperatorsInOneMessage) {
  edgelift::testing::expect_refused(
      import_recorded("unknown"), {"2 operators are not supported", "record::frob.default (2 times, first at model.py:",
                                   "record::grind.default (once, at model.py:"});
  edgelift::testing::expect_refused(
      Pt2Editor("base").node("cat", [](Json& n) { n["target"] = "torch._C._functorch.vmap"; }),
      {"Python function", "vmap"});
}

TEST(Import, WrittenBuffersAreMutable) {
  const auto inplace = imported("mutate");
  EXPECT_TRUE(inplace.find_constant("c")->is_mutable);
  const auto functional = imported("mutate_functional");
  EXPECT_TRUE(functional.find_constant("c")->is_mutable);
  const auto& outputs = functional.forward().outputs();
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(outputs[0].kind, ir::OutputSpec::Kind::BufferMutation);
  EXPECT_EQ(outputs[0].target, functional.find_constant("c"));
  EXPECT_EQ(outputs[1].kind, ir::OutputSpec::Kind::InputMutation);
  EXPECT_EQ(outputs[1].input, 0u);
  EXPECT_EQ(outputs[2].kind, ir::OutputSpec::Kind::User);
  for (const auto& constant : imported("base").constants) EXPECT_FALSE(constant->is_mutable) << constant->name;
}

TEST(Import, WriteThroughAViewReachesTheBuffer) {
  // Only the slice is written; the buffer itself never stands as a written argument.
  const auto program = Pt2Editor("mutate")
                           .graph([](Json& g) {
                             for (Json& node : g["nodes"]) {
                               if (node["name"] == "add_") node["target"] = "torch.ops.aten.add.Tensor";
                               if (node["name"] == "slice_1") node["inputs"][0]["arg"]["as_tensor"]["name"] = "b_c";
                             }
                           })
                           .import();
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_TRUE(program->find_constant("c")->is_mutable);
}

TEST(Import, WritingMemoryThatAnotherBufferSharesIsRefused) {
  edgelift::testing::expect_refused(import_recorded("overlap"), {"\"a\"", "shares memory with \"b\"", "clone"});
}

// --- packages, origins, whole models ---

TEST(Import, NamedProgramOfAPackage) {
  ImportOptions options;
  options.model = "two";
  const auto two = import_pt2(edgelift::testing::import_data("package"), ops::table(), options);
  ASSERT_TRUE(two.ok()) << two.error().message;
  EXPECT_EQ(find(*two, "linear")->result()->type.str(), "f32[2,5]");
  EXPECT_FALSE(import_recorded("package").ok());
}

TEST(Import, Origins) {
  const auto program = imported("base");
  EXPECT_EQ(ir::source_line(find(program, "cat")->origin), "model.py:42");
  EXPECT_EQ(ir::source_line(find(program, "linear")->origin), "model.py:26");
  EXPECT_EQ(ir::module_path(find(program, "linear")->origin), "l");
  EXPECT_EQ(ir::module_path(find(program, "cat")->origin), "");
  uint32_t last = 0;
  program.forward().each([&](const ir::Node& node) {
    EXPECT_GT(node.origin->debug_handle, last);
    last = node.origin->debug_handle;
  });
}

TEST(Import, OriginsOutliveTheCaller) {
  // The program keeps the mapped file.
  ir::Origin origin;
  auto program = std::make_unique<ir::Program>(imported("base"));
  origin = find(*program, "cat")->origin;
  EXPECT_EQ(ir::source_line(origin), "model.py:42");
}

TEST(Import, TextFormReadsBack) {
  for (const char* name :
       {"base", "kinds", "derived", "sizes", "mutate_functional", "no_grad", "item", "symbolic_input"}) {
    const auto program = imported(name);
    const std::string text = ir::print(program);
    const auto again = ir::parse(text, ops::table());
    ASSERT_TRUE(again.ok()) << name << ": " << again.error().message;
    EXPECT_EQ(ir::print(*again), text) << name;
  }
}

TEST(Inspect, SaysWhatIsInside) {
  const auto summary = inspect_pt2(edgelift::testing::import_data("unknown"));
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->nodes, 4u);
  EXPECT_EQ(summary->ops[0].op, "record::frob.default");
  EXPECT_EQ(summary->ops[0].count, 2u);
  const auto base = inspect_pt2(edgelift::testing::import_data("base"));
  ASSERT_TRUE(base.ok());
  EXPECT_EQ(base->torch_version, "2.13.0+cpu");
  EXPECT_EQ(base->schema_version, "8.20");
  EXPECT_EQ(base->dialect, "TRAINING");
  EXPECT_EQ(base->parameters, 2u);
  EXPECT_EQ(base->buffers, 2u);
  EXPECT_EQ(base->tensor_constants, 2u);
  EXPECT_EQ(base->inputs[0].name, "x");
  EXPECT_EQ(base->inputs[0].type, "f32[2,3]");
  EXPECT_EQ(base->weights.entries, 4u);
  const auto dynamic = inspect_pt2(edgelift::testing::import_data("derived"));
  ASSERT_TRUE(dynamic.ok());
  EXPECT_EQ(dynamic->ranges.size(), 2u);
}

TEST(SharedFiles, EveryOneImports) {
  const auto shared = edgelift::testing::shared_dir();
  if (!shared) GTEST_SKIP() << "no shared directory beside the repository";
  size_t count = 0;
  for (const char* folder : {"models", "cases"}) {
    for (const auto& entry : std::filesystem::directory_iterator(*shared / folder)) {
      const auto path = entry.path() / "model.pt2";
      if (!std::filesystem::exists(path)) continue;
      ++count;
      const auto program = import_pt2(path, ops::table());
      if (entry.path().filename() == "44_q4_group_odd") {
        // Its weights are a pickled tensor subclass.
        edgelift::testing::expect_refused(
            program, {"export::access_subclass_inner_tensor.default", "pickle", "unwrap_tensor_subclass"});
        continue;
      }
      ASSERT_TRUE(program.ok()) << path << ": " << program.error().message;
      const Status verified = ir::verify(*program, ops::table());
      EXPECT_TRUE(verified.ok()) << path << ": " << verified.error().message;
    }
  }
  EXPECT_GT(count, 40u);
}

// A chain of 100 000 nodes. Quadratic work anywhere would make this test hang.
TEST(Import, LongGraphs) {
  Pt2Editor edit("base");
  std::string& text = edit.item("models/model.json").data;
  const Json graph = Json::parse(text)["graph_module"]["graph"];
  const std::string node = graph["nodes"][8].dump(), meta = graph["tensor_values"]["mul_1"].dump();  // mul_1 = x * 2.5
  constexpr int kNodes = 100000;
  std::string nodes, values, previous = "\"x\"";
  for (int i = 0; i < kNodes; ++i) {
    const std::string name = "\"m" + std::to_string(i) + "\"";
    std::string next = node;
    next.replace(next.find("\"x\""), 3, previous);
    for (size_t at; (at = next.find("\"mul_1\"")) != next.npos;) next.replace(at, 7, name);
    nodes += ", " + next;
    values += name + ": " + meta + ", ";
    previous = name;
  }
  const std::string border = "], \"tensor_values\": {";
  text.replace(text.find(border), border.size(), nodes + border + values);
  const auto program = edit.import();
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->forward().node_count(), 9u + kNodes);
}

}  // namespace
}  // namespace edgelift::importer
