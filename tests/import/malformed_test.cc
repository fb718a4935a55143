// Malformed programs (the table of pt2-format 7), each made from a file that torch wrote by one change.
#include <gtest/gtest.h>

#include "edit_pt2.h"

namespace edgelift::importer {
namespace {

using edgelift::testing::expect_refused;
using edgelift::testing::Json;
using edgelift::testing::Pt2Editor;

Pt2Editor base() { return Pt2Editor("base"); }

TEST(Malformed, UnchangedImports) {
  const auto program = base().import();
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->forward().node_count(), 9u);
}

// --- the JSON text itself ---

TEST(Malformed, JsonText) {
  const std::string text = base().item("models/model.json").data;
  const auto with = [&](std::string data) {
    Pt2Editor edit = base();
    edit.item("models/model.json").data = std::move(data);
    return edit;
  };
  expect_refused(with(""), {"base/models/model.json", "expected a JSON object"});
  expect_refused(with("[]"), {"base/models/model.json"});
  expect_refused(with(text + "x"), {"base/models/model.json"});
  expect_refused(with(text + " 5 }"), {"more text"});
  expect_refused(with(text + text), {"more text"});
  expect_refused(with(text.substr(0, text.size() / 2)), {"base/models/model.json", "damaged"});
  expect_refused(with(text.substr(0, text.size() - 1)), {"base/models/model.json"});
  expect_refused(with("{\"graph_module\": " + std::string(100000, '[')), {"base/models/model.json"});
  std::string broken = text;
  broken[broken.find("linear")] = '\xff';
  expect_refused(with(broken), {"UTF-8"});
}

TEST(Malformed, JsonStrings) {
  // A lone surrogate in a name, a bare NaN, a key that occurs twice, numbers that do not fit.
  expect_refused(base().replace("models/model.json", "\"name\": \"mul_1\"", "\"name\": \"\\ud800\""),
                 {"base/models/model.json"});
  expect_refused(base().replace("models/model.json", "\"as_float\": 2.5", "\"as_float\": NaN"),
                 {"base/models/model.json", "as_float"});
  expect_refused(base().replace("models/model.json", "\"as_float\": 2.5", "\"as_float\": \"Nan\""),
                 {"\"Infinity\"", "\"Nan\""});
  expect_refused(base().replace("models/model.json", "\"verifiers\"", "\"torch_version\": \"x\", \"verifiers\""),
                 {"twice"});
  expect_refused(base().replace("models/model.json", "{\"as_int\": 3}", "{\"as_int\": 9223372036854775808}"),
                 {"an integer of 64 bits", "9223372036854775808"});
  expect_refused(base().replace("models/model.json", "{\"as_int\": 3}", "{\"as_int\": 3.0}"),
                 {"base/models/model.json"});
}

TEST(Malformed, NonFiniteFloatsAreStrings) {
  for (const char* text : {"\"Infinity\"", "\"-Infinity\"", "\"NaN\"", "1e300", "-0.0", "2"}) {
    const auto program =
        base().replace("models/model.json", "\"as_float\": 2.5", "\"as_float\": " + std::string(text)).import();
    EXPECT_TRUE(program.ok()) << text << ": " << program.error().message;
  }
}

TEST(Malformed, UnknownFieldsAreIgnored) {
  const auto program = base()
                           .model([](Json& m) {
                             m["future"] = {{"a", {1, 2, {{"b", nullptr}}}}};
                             m["graph_module"]["graph"]["nodes"][0]["future"] = Json::array();
                             m["schema_version"]["minor"] = 99;
                           })
                           .import();
  EXPECT_TRUE(program.ok()) << program.error().message;
}

TEST(Malformed, OlderFilesLackFields) {
  const auto program = base()
                           .model([](Json& m) {
                             for (const char* key : {"verifiers", "torch_version", "guards_code"}) m.erase(key);
                             for (Json& node : m["graph_module"]["graph"]["nodes"]) {
                               node.erase("name");
                               node.erase("is_hop_single_tensor_return");
                               for (Json& input : node["inputs"]) input.erase("kind");
                             }
                           })
                           .import();
  EXPECT_TRUE(program.ok()) << program.error().message;
}

TEST(Malformed, MissingFields) {
  for (const char* key : {"graph_module", "schema_version"}) {
    expect_refused(base().model([&](Json& m) { m.erase(key); }), {key});
  }
  for (const char* key : {"inputs", "outputs", "nodes"})
    expect_refused(base().graph([&](Json& g) { g.erase(key); }), {key});
  expect_refused(base().signature([](Json& s) { s.erase("input_specs"); }), {"input_specs"});
  expect_refused(base().node("linear", [](Json& n) { n.erase("target"); }), {"target"});
}

TEST(Malformed, SchemaVersion) {
  expect_refused(base().model([](Json& m) {
    m["schema_version"] = {{"major", 9}, {"minor", 1}};
  }),
                 {"schema version 9.1", "major version 8"});
  // Also when the graph has become unreadable with it.
  expect_refused(base().model([](Json& m) {
    m["schema_version"]["major"] = 7;
    m["graph_module"]["graph"] = "elsewhere";
  }),
                 {"schema version 7.", "major version 8"});
}

TEST(Malformed, TaggedUnions) {
  const auto argument = [](Json value) {
    return base().node("mul_1", [&](Json& n) { n["inputs"][1]["arg"] = value; });
  };
  expect_refused(argument(Json::object()), {"one tag"});
  expect_refused(argument({{"as_int", 1}, {"as_float", 2.0}}), {"second one", "as_float"});
  expect_refused(argument({{"as_quaternion", 1}}), {"as_quaternion", "schema version 8", "node 8", "aten.mul.Tensor"});
  expect_refused(argument({{"as_complex", {{"real", 1.0}, {"imag", 2.0}}}}), {"mul_1", "argument other", "as_complex"});
  expect_refused(argument({{"as_string", "two"}}), {"mul_1", "argument other", "as_string", "model.py"});
  expect_refused(argument(nullptr), {"base/models/model.json"});
}

// --- names ---

TEST(Malformed, DanglingName) {
  expect_refused(base().node("cat", [](Json& n) { n["inputs"][0]["arg"]["as_tensors"][0]["name"] = "nowhere"; }),
                 {"f.pt2", "\"cat\"", "aten::cat.default", "model.py:42", "\"nowhere\""});
}

TEST(Malformed, NodesOutOfOrder) {
  expect_refused(base().graph([](Json& g) { std::swap(g["nodes"][0], g["nodes"][2]); }),
                 {"\"add\"", "nothing before defines it"});
}

TEST(Malformed, NameDefinedTwice) {
  expect_refused(base().node("add", [](Json& n) { n["outputs"][0]["as_tensor"]["name"] = "linear"; }),
                 {"\"linear\"", "twice"});
  // A result that shadows an input.
  expect_refused(base().node("linear", [](Json& n) { n["outputs"][0]["as_tensor"]["name"] = "x"; }), {"\"x\""});
}

TEST(Malformed, MissingTensorValue) {
  expect_refused(base().graph([](Json& g) { g["tensor_values"].erase("add"); }), {"\"add\"", "tensor_values"});
  expect_refused(base().graph([](Json& g) { g["tensor_values"].erase("x"); }), {"\"x\"", "tensor_values"});
}

// --- operators and arguments ---

TEST(Malformed, Arguments) {
  expect_refused(base().node("linear", [](Json& n) { n["inputs"][1]["name"] = "wait"; }),
                 {"no argument \"wait\"", "aten::linear.default"});
  expect_refused(base().node("linear", [](Json& n) { n["inputs"].erase(1); }), {"required argument weight is missing"});
  expect_refused(base().node("linear", [](Json& n) { n["inputs"].push_back(n["inputs"][1]); }),
                 {"argument weight is given twice"});
  expect_refused(base().node("linear",
                             [](Json& n) {
                               n["inputs"][0]["arg"] = {{"as_none", true}};
                             }),
                 {"argument input", "as_none"});
  expect_refused(base().node("cat",
                             [](Json& n) {
                               n["inputs"][0]["arg"] = {{"as_tensor", {{"name", "x"}}}};
                             }),
                 {"argument tensors", "a list of tensors"});
  // An integer is welcome where a float is expected; the reverse is refused.
  expect_refused(base().node("cat",
                             [](Json& n) {
                               n["inputs"].push_back({{"name", "dim"}, {"arg", {{"as_float", 0.0}}}, {"kind", 1}});
                             }),
                 {"argument dim", "an integer", "as_float"});
}

TEST(Malformed, NumbersOutOfRange) {
  expect_refused(Pt2Editor("kinds").node(
                     "pad", [](Json& n) { n["inputs"][1]["arg"]["as_ints"][0] = std::numeric_limits<int64_t>::max(); }),
                 {"aten::pad.default", "argument pad", "9223372036854775807"});
}

TEST(Malformed, PositionalArgumentsWithoutNames) {
  const auto program = base()
                           .node("linear",
                                 [](Json& n) {
                                   for (Json& input : n["inputs"]) input["name"] = "";
                                 })
                           .import();
  EXPECT_TRUE(program.ok()) << program.error().message;
}

TEST(Malformed, Results) {
  expect_refused(base().node("add",
                             [](Json& n) {
                               n["outputs"].push_back({{"as_tensor", {{"name", "more"}}}});
                             }),
                 {"1 results", "lists 2"});
  expect_refused(base().node("add", [](Json& n) { n["outputs"] = Json::array(); }), {"lists 0"});
  expect_refused(base().node("add",
                             [](Json& n) {
                               n["outputs"][0] = {{"as_tensors", {{{"name", "add"}}}}};
                             }),
                 {"as_tensors"});
  expect_refused(Pt2Editor("kinds").node("split_with_sizes", [](Json& n) { n["outputs"][0]["as_tensors"].erase(1); }),
                 {"split_with_sizes", "lists 1 results"});
}

TEST(Malformed, ShapeRuleAgainstRecordedType) {
  expect_refused(base().graph([](Json& g) { g["tensor_values"]["cat"]["sizes"][0]["as_int"] = 4; }),
                 {"\"cat\"", "f32[4,4]", "f32[3,4]", "model.py:42"});
  expect_refused(base().graph([](Json& g) { g["tensor_values"]["cat"]["dtype"] = 8; }), {"f64[3,4]", "f32[3,4]"});
  expect_refused(base().graph([](Json& g) { g["tensor_values"]["cat"]["sizes"].erase(0); }), {"f32[4]", "f32[3,4]"});
  // Arguments that do not fit the shapes.
  expect_refused(base().node("linear", [](Json& n) { std::swap(n["inputs"][1]["arg"], n["inputs"][2]["arg"]); }),
                 {"\"linear\""});
  expect_refused(Pt2Editor("kinds").node("unbind", [](Json& n) { n["inputs"][1]["arg"]["as_int"] = 7; }), {"unbind"});
}

TEST(Malformed, SymbolicShapeRule) {
  // s10 + 1 is never s10.
  expect_refused(Pt2Editor("derived").graph([](Json& g) {
    g["tensor_values"]["slice_1"]["sizes"][0] = g["tensor_values"]["args_1"]["sizes"][0];
  }),
                 {"slice_1"});
}

TEST(Malformed, Types) {
  for (const int number : {0, 14, 27, 36, -1}) {
    expect_refused(base().graph([&](Json& g) { g["tensor_values"]["x"]["dtype"] = number; }),
                   {"\"x\"", "element type " + std::to_string(number)});
  }
  expect_refused(base().graph([](Json& g) { g["tensor_values"]["x"]["layout"] = 2; }), {"\"x\"", "layout 2"});
  expect_refused(base().graph([](Json& g) { g["tensor_values"]["x"]["sizes"][0]["as_int"] = -2; }),
                 {"\"x\"", "negative"});
  expect_refused(base().graph([](Json& g) {
    for (const size_t i : {0, 1}) g["tensor_values"]["x"]["sizes"][i]["as_int"] = int64_t{1} << 40;
  }),
                 {"\"x\"", "more elements than memory"});
  expect_refused(base().graph([](Json& g) {
    Json& sizes = g["tensor_values"]["x"]["sizes"];
    for (int i = 0; i < 1000; ++i) sizes.push_back({{"as_int", 1}});
  }),
                 {"\"x\"", "1002 dimensions"});
  expect_refused(Pt2Editor("kinds").node("to", [](Json& n) { n["inputs"][1]["arg"]["as_scalar_type"] = 33; }),
                 {"float8_e8m0fnu"});
  expect_refused(Pt2Editor("kinds").node("to", [](Json& n) { n["inputs"][1]["arg"]["as_scalar_type"] = 20; }),
                 {"element type 20"});
  expect_refused(
      Pt2Editor("kinds").node("full",
                              [](Json& n) {
                                n["inputs"].push_back({{"name", "layout"}, {"arg", {{"as_layout", 1}}}, {"kind", 2}});
                              }),
      {"layout 1"});
}

// --- signature ---

TEST(Malformed, Signature) {
  expect_refused(base().signature([](Json& s) { s["input_specs"].erase(0); }), {"inputs", "signature"});
  expect_refused(base().signature([](Json& s) { s["output_specs"].erase(0); }), {"outputs", "signature"});
  expect_refused(base().signature([](Json& s) { std::swap(s["input_specs"][0], s["input_specs"][1]); }),
                 {"p_l_weight", "p_l_bias"});
  expect_refused(base().signature([](Json& s) { std::swap(s["output_specs"][0], s["output_specs"][1]); }),
                 {"output 0"});
  expect_refused(base().signature([](Json& s) {
    s["input_specs"][0] = {{"telepathy", Json::object()}};
  }),
                 {"telepathy"});
  expect_refused(base().signature([](Json& s) {
    s["output_specs"][0] = {{"loss_output", {{"arg", {{"name", "add_1"}}}}}};
  }),
                 {"loss_output"});
  expect_refused(base().model([](Json& m) {
    m["graph_module"]["graph"]["outputs"][0]["as_tensor"]["name"] = "nowhere";
    m["graph_module"]["signature"]["output_specs"][0]["user_output"]["arg"]["as_tensor"]["name"] = "nowhere";
  }),
                 {"\"nowhere\""});
}

TEST(Malformed, MutationOfNothing) {
  expect_refused(Pt2Editor("mutate_functional").signature([](Json& s) {
    s["output_specs"][0]["buffer_mutation"]["buffer_name"] = "z";
  }),
                 {"\"z\"", "does not exist"});
  expect_refused(Pt2Editor("mutate_functional").signature([](Json& s) {
    s["output_specs"][1]["user_input_mutation"]["user_input_name"] = "z";
  }),
                 {"\"z\"", "does not exist"});
  // A value of another type than the buffer.
  expect_refused(Pt2Editor("mutate_functional").model([](Json& m) {
    m["graph_module"]["signature"]["output_specs"][0]["buffer_mutation"]["arg"]["name"] = "add_1";
    m["graph_module"]["graph"]["outputs"][0]["as_tensor"]["name"] = "add_1";
  }),
                 {"\"c\"", "f32[4,3]", "f32[3]"});
}

// --- payloads ---

TEST(Malformed, PayloadTables) {
  Pt2Editor edit = base();
  edit.drop("model_weights_config.json");
  expect_refused(edit, {"base/data/weights/model_weights_config.json", "missing"});
  expect_refused(base().weights([](Json& c) { c.erase("l.weight"); }),
                 {"\"l.weight\"", "not listed", "model_weights_config.json"});
  expect_refused(base().constants([](Json& c) { c.erase("lifted_tensor_0"); }), {"\"lifted_tensor_0\"", "not listed"});
  // A persistent buffer is looked for among the weights, another among the constants.
  expect_refused(base().signature([](Json& s) {
    for (Json& spec : s["input_specs"])
      if (spec.contains("buffer") && spec["buffer"]["buffer_name"] == "n") spec["buffer"]["persistent"] = true;
  }),
                 {"weight \"n\"", "not listed"});
}

TEST(Malformed, PayloadEntry) {
  expect_refused(base().weights([](Json& c) { c["l.weight"]["path_name"] = "weight_77"; }),
                 {"\"l.weight\"", "weight_77", "missing"});
  for (const char* path : {"../weight_0", "a/b", "", "..", "weight 0"}) {
    expect_refused(base().weights([&](Json& c) { c["l.weight"]["path_name"] = path; }),
                   {"\"l.weight\"", "not a plain file name"});
  }
  expect_refused(base().weights([](Json& c) { c["l.weight"]["use_pickle"] = true; }), {"\"l.weight\"", "pickle"});
  expect_refused(base().weights([](Json& c) { c["l.weight"]["tensor_meta"] = nullptr; }), {"\"l.weight\"", "object"});
  Pt2Editor edit = base();
  edit.item("data/weights/weight_0").method = 8;
  expect_refused(edit, {"weight_0", "compressed"});
}

TEST(Malformed, PayloadSize) {
  Pt2Editor edit = base();
  std::string& bytes = edit.item("data/weights/weight_0").data;
  const std::string whole = bytes;
  bytes = whole.substr(0, whole.size() - 4);
  expect_refused(edit, {"\"l.weight\"", "needs 12 elements", "has 11"});
  bytes = whole.substr(0, whole.size() - 1);
  expect_refused(edit, {"\"l.weight\"", "not a multiple of the 4 bytes of float32"});
  bytes = "";
  expect_refused(edit, {"\"l.weight\"", "not saved", "fake or meta"});
  bytes = whole + std::string(400, 'x');  // longer than needed is what a slice of a storage looks like
  const auto program = edit.import();
  EXPECT_TRUE(program.ok()) << program.error().message;
}

TEST(Malformed, PayloadMeta) {
  const auto meta = [](const std::function<void(Json&)>& change) {
    return base().weights([&](Json& c) { change(c["l.weight"]["tensor_meta"]); });
  };
  expect_refused(meta([](Json& m) { m["sizes"][0]["as_int"] = -4; }), {"\"l.weight\"", "negative"});
  expect_refused(meta([](Json& m) { m["strides"][0]["as_int"] = -3; }), {"\"l.weight\"", "negative"});
  expect_refused(meta([](Json& m) { m["storage_offset"]["as_int"] = -1; }), {"\"l.weight\"", "storage_offset"});
  expect_refused(meta([](Json& m) { m["storage_offset"]["as_int"] = std::numeric_limits<int64_t>::max(); }),
                 {"\"l.weight\"", "needs"});
  expect_refused(meta([](Json& m) { m["strides"][0]["as_int"] = std::numeric_limits<int64_t>::max(); }),
                 {"\"l.weight\"", "more than 2^63"});
  expect_refused(meta([](Json& m) { m["sizes"][0]["as_int"] = m["sizes"][1]["as_int"] = int64_t{1} << 40; }),
                 {"\"l.weight\"", "64 bits"});
  expect_refused(meta([](Json& m) { m["strides"].erase(0); }), {"\"l.weight\"", "2 sizes but 1 strides"});
  expect_refused(meta([](Json& m) { m["dtype"] = 33; }), {"\"l.weight\"", "float8_e8m0fnu"});
  expect_refused(meta([](Json& m) { m["layout"] = 1; }), {"\"l.weight\"", "layout 1"});
  expect_refused(meta([](Json& m) {
                   m["sizes"][0] = {{"as_expr", {{"expr_str", "Symbol('s0', integer=True)"}, {"hint", nullptr}}}};
                 }),
                 {"\"l.weight\"", "symbolic"});
  // The table and the graph have to agree.
  expect_refused(meta([](Json& m) { m["sizes"][0]["as_int"] = 3; }), {"\"l.weight\"", "f32[4,3]", "f32[3,3]"});
}

TEST(Malformed, UnusedPayloadsDoNoHarm) {
  // Nothing mentions it: neither its table row nor its bytes are looked at.
  const auto program =
      base()
          .model([](Json& m) {
            Json& inputs = m["graph_module"]["graph"]["inputs"];
            inputs.insert(inputs.begin(), Json::parse(R"({"as_tensor": {"name": "p_unused"}})"));
            Json& specs = m["graph_module"]["signature"]["input_specs"];
            specs.insert(specs.begin(),
                         Json::parse(R"({"parameter": {"arg": {"name": "p_unused"}, "parameter_name": "unused"}})"));
          })
          .weights([](Json& c) {
            c["unused"] =
                Json::parse(R"({"path_name": "gone", "is_param": true, "use_pickle": true, "tensor_meta": null})");
          })
          .import();
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->find_constant("unused"), nullptr);
}

TEST(Malformed, FakeWeights) {
  expect_refused(edgelift::testing::import_recorded("fake"), {"\"weight\"", "not saved"});
}

// --- sub-graphs, symbols ---

TEST(Malformed, SubGraphs) {
  expect_refused(Pt2Editor("no_grad").graph([](Json& g) { g["nodes"][0]["inputs"].erase(2); }),
                 {"wrap_with_set_grad_enabled", "operands"});
  expect_refused(Pt2Editor("no_grad").graph([](Json& g) {
    g["nodes"][0]["inputs"][1]["arg"]["as_graph"]["graph"]["outputs"] = Json::array();
  }),
                 {"0 outputs"});
  // A graph in a graph in a graph …
  Pt2Editor edit("no_grad");
  edit.graph([](Json& g) {
    Json node = g["nodes"][0];
    for (int i = 0; i < 40; ++i) {
      Json outer = node;
      outer["inputs"][1]["arg"]["as_graph"]["graph"]["nodes"] = Json::array({node});
      node = outer;
    }
    g["nodes"][0] = node;
  });
  expect_refused(edit, {"16 levels"});
}

TEST(Malformed, Symbols) {
  const auto size = [](const std::string& expr) {
    return Pt2Editor("derived").graph(
        [&](Json& g) { g["tensor_values"]["args_0"]["sizes"][0]["as_expr"]["expr_str"] = expr; });
  };
  expect_refused(size("Mystery(Integer(2))"), {"\"args_0\"", "Mystery"});
  expect_refused(size("FloorDiv(Integer(2), Integer(0))"), {"\"args_0\"", "FloorDiv"});
  expect_refused(size("Add(Symbol('s0', integer=True)"), {"\"args_0\"", "cannot be read"});
  expect_refused(size("__import__('os')"), {"\"args_0\"", "cannot be read"});
  expect_refused(size("Mul(Integer(9223372036854775807), Integer(9223372036854775807))"), {"\"args_0\"", "64-bit"});
  std::string deep = "Integer(1)";
  for (int i = 0; i < 5000; ++i) deep = "Add(Integer(1), " + deep + ")";
  expect_refused(size(deep), {"\"args_0\"", "cannot be read"});
  // (s + 1)^64 written out would have more terms than a size ever needs.
  std::string wide = "Add(Symbol('a', integer=True), Add(Symbol('b', integer=True), Symbol('c', integer=True)))";
  expect_refused(size("Pow(" + wide + ", Integer(16))"), {"\"args_0\"", "Pow"});
  expect_refused(Pt2Editor("derived").model([](Json& m) {
    m["range_constraints"].begin().value() = {{"min_val", 9}, {"max_val", 2}};
  }),
                 {"range constraint", "minimum 9"});
}

}  // namespace
}  // namespace edgelift::importer
