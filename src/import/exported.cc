#include "import/exported.h"

#include <array>

#include "import/json.h"

namespace edgelift::importer {
namespace {

using namespace std::string_view_literals;

constexpr int kMostSubgraphDepth = 16;

class Parser {
 public:
  explicit Parser(JsonReader& json) : json_(json) {}

  bool program(od::object root, ExportedProgram& out) {
    static constexpr std::array kNames = {"graph_module"sv,  "schema_version"sv, "range_constraints"sv,
                                          "torch_version"sv, "guards_code"sv,    "verifiers"sv};
    return json_.fields(root, "the program", kNames, 0b11, [&](size_t i, od::value value) {
      switch (i) {
        case 0:
          return graph_module(value, out);
        case 1:
          return version(value, out);
        case 2:
          return ranges(value, out.ranges);
        case 3:
          return json_.string(value, "torch_version", out.torch_version);
        case 4:
          return strings(value, "guards_code", out.guards);
        default:
          return strings(value, "verifiers", out.verifiers);
      }
    });
  }

  bool version(od::value value, ExportedProgram& out) {
    static constexpr std::array kNames = {"major"sv, "minor"sv};
    return json_.fields(value, "schema_version", kNames, 0b11, [&](size_t i, od::value number) {
      return json_.integer(number, kNames[i], i == 0 ? out.schema_major : out.schema_minor);
    });
  }

  bool payload_table(od::object root, PayloadTable& out) {
    static constexpr std::array kNames = {"config"sv};
    return json_.fields(root, "the payload table", kNames, 1, [&](size_t, od::value value) {
      return json_.each_field(value, "config", [&](std::string_view fqn, od::value row) {
        RawPayload payload;
        const bool ok = payload_row(row, payload);
        if (ok && out.rows.emplace(fqn, std::move(payload)).second) return true;
        if (ok) json_.fail("config", "each name once", "this name twice");
        json_.set_context(archive::show(fqn));
        return false;
      });
    });
  }

 private:
  bool strings(od::value value, std::string_view what, std::vector<std::string_view>& out) {
    return json_.each_item(value, what, [&](od::value item) { return json_.string(item, what, out.emplace_back()); });
  }

  bool ranges(od::value value, std::vector<RawRange>& out) {
    static constexpr std::array kNames = {"min_val"sv, "max_val"sv};
    return json_.each_field(value, "range_constraints", [&](std::string_view key, od::value bounds) {
      RawRange range;
      range.key = key;
      out.push_back(range);
      return json_.fields(bounds, "a range constraint", kNames, 0, [&](size_t i, od::value bound) {
        if (json_.is_null(bound)) return true;
        return json_.integer(bound, kNames[i], (i == 0 ? out.back().lo : out.back().hi).emplace());
      });
    });
  }

  bool graph_module(od::value value, ExportedProgram& out) {
    static constexpr std::array kNames = {"graph"sv, "signature"sv};
    return json_.fields(value, "graph_module", kNames, 0b11, [&](size_t i, od::value part) {
      return i == 0 ? graph(part, out.graph) : signature(part, out);
    });
  }

  bool graph(od::value value, RawGraph& out) {
    static constexpr std::array kNames = {"inputs"sv, "outputs"sv, "nodes"sv, "tensor_values"sv, "sym_int_values"sv};
    if (++depth_ > kMostSubgraphDepth) {
      return json_.fail("a sub-graph", fmt::format("at most {} levels", kMostSubgraphDepth), "more");
    }
    const bool ok = json_.fields(value, "a graph", kNames, 0b111, [&](size_t i, od::value part) {
      switch (i) {
        case 0:
          return arguments(part, "the graph's inputs", out.inputs);
        case 1:
          return arguments(part, "the graph's outputs", out.outputs);
        case 2:
          return nodes(part, out.nodes);
        case 3:
          return json_.each_field(part, "tensor_values", [&](std::string_view name, od::value meta) {
            const auto [slot, fresh] = out.tensors.try_emplace(name);
            if (!fresh) return json_.fail("tensor_values", "each name once", archive::show(name) + " twice");
            return tensor_meta(meta, slot->second);
          });
        default:
          return json_.each_field(part, "sym_int_values", [&](std::string_view name, od::value size) {
            const auto [slot, fresh] = out.sym_ints.try_emplace(name);
            if (!fresh) return json_.fail("sym_int_values", "each name once", archive::show(name) + " twice");
            return sym_int(size, slot->second);
          });
      }
    });
    --depth_;
    return ok;
  }

  bool nodes(od::value value, std::vector<RawNode>& out) {
    static constexpr std::array kNames = {"target"sv, "inputs"sv, "outputs"sv, "metadata"sv, "name"sv};
    return json_.each_item(value, "nodes", [&](od::value item) {
      RawNode& node = out.emplace_back();
      node_index_ = out.size() - 1;
      const bool ok = json_.fields(item, "a node", kNames, 0b111, [&](size_t i, od::value part) {
        switch (i) {
          case 0:
            return json_.string(part, "target", node.target);
          case 1:
            return named_arguments(part, node.inputs);
          case 2:
            return arguments(part, "the node's outputs", node.outputs);
          case 3:
            return metadata(part, node);
          default:
            return json_.is_null(part) || json_.string(part, "name", node.name);
        }
      });
      if (!ok) json_.set_context(fmt::format("node {} ({})", node_index_, archive::show(node.target)));
      return ok;
    });
  }

  bool metadata(od::value value, RawNode& node) {
    return json_.each_field(value, "metadata", [&](std::string_view key, od::value text) {
      if (key == "stack_trace") return json_.raw_string(text, key, node.stack_trace);
      if (key == "nn_module_stack") return json_.raw_string(text, key, node.module_stack);
      return true;
    });
  }

  bool named_arguments(od::value value, std::vector<RawNamedArg>& out) {
    static constexpr std::array kNames = {"arg"sv, "name"sv};
    return json_.each_item(value, "the node's inputs", [&](od::value item) {
      RawNamedArg& named = out.emplace_back();
      return json_.fields(item, "an argument", kNames, 1, [&](size_t i, od::value part) {
        return i == 0 ? argument(part, named.value) : json_.string(part, "the argument's name", named.name);
      });
    });
  }

  bool arguments(od::value value, std::string_view what, std::vector<RawArg>& out) {
    return json_.each_item(value, what, [&](od::value item) { return argument(item, out.emplace_back()); });
  }

  // {"name": "x"}
  bool name_of(od::value value, std::string_view& out) {
    static constexpr std::array kNames = {"name"sv};
    return json_.fields(value, "a value's name", kNames, 1,
                        [&](size_t, od::value name) { return json_.string(name, "a value's name", out); });
  }

  template <class T, class F>
  bool list(od::value value, std::string_view what, RawArg& out, F&& read) {
    auto& items = out.emplace<std::vector<T>>();
    return json_.each_item(value, what, [&](od::value item) {
      T element{};
      if (!read(item, element)) return false;
      items.push_back(element);
      return true;
    });
  }

  bool argument(od::value value, RawArg& out) {
    return json_.tagged(value, "an argument", [&](std::string_view tag, od::value content) {
      if (!tag.starts_with("as_")) return unknown_tag(tag);
      return tagged_argument(tag.substr(3), tag, content, out);
    });
  }

  bool unknown_tag(std::string_view tag) {
    return json_.fail("an argument", "a tag of schema version 8", archive::show(tag));
  }

  bool tagged_argument(std::string_view kind, std::string_view tag, od::value content, RawArg& out) {
    // The frequent ones first.
    if (kind == "tensor") return name_of(content, out.emplace<TensorArg>().name);
    if (kind == "int") return json_.integer(content, tag, out.emplace<int64_t>());
    if (kind == "ints") {
      return list<int64_t>(content, tag, out, [&](od::value item, int64_t& x) { return json_.integer(item, tag, x); });
    }
    if (kind == "float") return json_.number(content, tag, out.emplace<double>());
    if (kind == "bool") return json_.boolean(content, tag, out.emplace<bool>());
    if (kind == "none") {
      bool ignored = false;
      out.emplace<NoneArg>();
      return json_.boolean(content, tag, ignored);
    }
    if (kind == "tensors") {
      auto& names = out.emplace<TensorsArg>().names;
      return json_.each_item(content, tag, [&](od::value item) { return name_of(item, names.emplace_back()); });
    }
    if (kind == "optional_tensors") {
      auto& names = out.emplace<TensorsArg>().names;
      return json_.each_item(content, tag, [&](od::value item) { return optional_tensor(item, names.emplace_back()); });
    }
    if (kind == "optional_tensor") {
      std::string_view name;
      if (!optional_tensor(content, name)) return false;
      if (name.data() == nullptr) {
        out.emplace<NoneArg>();
      } else {
        out.emplace<TensorArg>().name = name;
      }
      return true;
    }
    if (kind == "scalar_type") return enumeration(content, tag, EnumArg::Kind::ScalarType, out);
    if (kind == "memory_format") return enumeration(content, tag, EnumArg::Kind::MemoryFormat, out);
    if (kind == "layout") return enumeration(content, tag, EnumArg::Kind::Layout, out);
    if (kind == "string") return json_.string(content, tag, out.emplace<StringArg>().text);
    if (kind == "device") {
      static constexpr std::array kNames = {"type"sv};
      auto& device = out.emplace<DeviceArg>();
      return json_.fields(content, tag, kNames, 1,
                          [&](size_t, od::value type) { return json_.string(type, tag, device.type); });
    }
    if (kind == "floats") {
      return list<double>(content, tag, out, [&](od::value item, double& x) { return json_.number(item, tag, x); });
    }
    if (kind == "bools") {
      auto& items = out.emplace<std::vector<bool>>();
      return json_.each_item(content, tag, [&](od::value item) {
        bool element = false;
        if (!json_.boolean(item, tag, element)) return false;
        items.push_back(element);
        return true;
      });
    }
    if (kind == "sym_int") return sym_argument(content, SymKind::Int, out.emplace<SymArg>());
    if (kind == "sym_float") return sym_argument(content, SymKind::Float, out.emplace<SymArg>());
    if (kind == "sym_bool") return sym_argument(content, SymKind::Bool, out.emplace<SymArg>());
    if (kind == "sym_ints") return sym_arguments(content, tag, SymKind::Int, out);
    if (kind == "sym_floats") return sym_arguments(content, tag, SymKind::Float, out);
    if (kind == "sym_bools") return sym_arguments(content, tag, SymKind::Bool, out);
    if (kind == "graph") {
      static constexpr std::array kNames = {"graph"sv, "name"sv};
      auto& sub = out.emplace<GraphArg>();
      sub.graph = std::make_unique<RawGraph>();
      return json_.fields(content, tag, kNames, 1, [&](size_t i, od::value part) {
        return i == 0 ? graph(part, *sub.graph) : json_.string(part, "the sub-graph's name", sub.name);
      });
    }
    static constexpr std::array kOthers = {"strings"sv,        "complex"sv,   "custom_obj"sv,  "operator"sv,
                                           "nested_tensors"sv, "int_lists"sv, "float_lists"sv, "string_to_argument"sv};
    for (const std::string_view other : kOthers) {
      if (kind == other) {
        out.emplace<OtherArg>().tag = tag;
        return true;
      }
    }
    return unknown_tag(tag);
  }

  bool optional_tensor(od::value value, std::string_view& out) {
    return json_.tagged(value, "an optional tensor", [&](std::string_view tag, od::value content) {
      if (tag == "as_none") return true;
      if (tag == "as_tensor") return name_of(content, out);
      return json_.fail("an optional tensor", "as_none or as_tensor", archive::show(tag));
    });
  }

  bool enumeration(od::value value, std::string_view tag, EnumArg::Kind kind, RawArg& out) {
    auto& argument = out.emplace<EnumArg>();
    argument.kind = kind;
    return json_.integer(value, tag, argument.value);
  }

  bool sym_argument(od::value value, SymKind kind, SymArg& out) {
    out.kind = kind;
    return json_.tagged(value, "a symbolic argument", [&](std::string_view tag, od::value content) {
      if (tag == "as_name") return json_.string(content, tag, out.name);
      if (tag == "as_int" && kind == SymKind::Int) return json_.integer(content, tag, out.integer);
      if (tag == "as_float" && kind == SymKind::Float) return json_.number(content, tag, out.number);
      if (tag == "as_bool" && kind == SymKind::Bool) return json_.boolean(content, tag, out.boolean);
      return json_.fail("a symbolic argument", "as_name or a number", archive::show(tag));
    });
  }

  bool sym_arguments(od::value value, std::string_view tag, SymKind kind, RawArg& out) {
    auto& symbols = out.emplace<SymsArg>();
    symbols.kind = kind;
    return json_.each_item(value, tag,
                           [&](od::value item) { return sym_argument(item, kind, symbols.items.emplace_back()); });
  }

  bool sym_int(od::value value, RawSymInt& out) {
    return json_.tagged(value, "a size", [&](std::string_view tag, od::value content) {
      if (tag == "as_int") return json_.integer(content, tag, out.value);
      if (tag != "as_expr") return json_.fail("a size", "as_int or as_expr", archive::show(tag));
      static constexpr std::array kNames = {"expr_str"sv};
      return json_.fields(content, "a size", kNames, 1,
                          [&](size_t, od::value text) { return json_.string(text, "expr_str", out.expr); });
    });
  }

  bool sym_ints(od::value value, std::string_view what, std::vector<RawSymInt>& out) {
    return json_.each_item(value, what, [&](od::value item) { return sym_int(item, out.emplace_back()); });
  }

  bool tensor_meta(od::value value, RawTensorMeta& out) {
    static constexpr std::array kNames = {"dtype"sv, "sizes"sv, "strides"sv, "storage_offset"sv, "layout"sv};
    return json_.fields(value, "a tensor's description", kNames, 0b11111, [&](size_t i, od::value part) {
      switch (i) {
        case 0:
          return json_.integer(part, "dtype", out.dtype);
        case 1:
          return sym_ints(part, "sizes", out.sizes);
        case 2:
          return sym_ints(part, "strides", out.strides);
        case 3:
          return sym_int(part, out.offset);
        default:
          return json_.integer(part, "layout", out.layout);
      }
    });
  }

  bool signature(od::value value, ExportedProgram& out) {
    static constexpr std::array kNames = {"input_specs"sv, "output_specs"sv};
    return json_.fields(value, "the signature", kNames, 0b11, [&](size_t i, od::value part) {
      return json_.each_item(part, kNames[i], [&](od::value item) {
        return json_.tagged(item, kNames[i], [&](std::string_view tag, od::value body) {
          return i == 0 ? input_spec(tag, body, out.inputs.emplace_back())
                        : output_spec(tag, body, out.outputs.emplace_back());
        });
      });
    });
  }

  bool input_spec(std::string_view tag, od::value body, RawInputSpec& out) {
    using Kind = RawInputSpec::Kind;
    if (tag == "user_input") {
      static constexpr std::array kNames = {"arg"sv};
      return json_.fields(body, tag, kNames, 1, [&](size_t, od::value part) { return argument(part, out.arg); });
    }
    if (tag == "constant_input") {
      static constexpr std::array kNames = {"name"sv, "value"sv};
      out.kind = Kind::ConstantInput;
      return json_.fields(body, tag, kNames, 0b11, [&](size_t i, od::value part) {
        return i == 0 ? json_.string(part, tag, out.name) : argument(part, out.arg);
      });
    }
    static constexpr std::array kNames = {
        "arg"sv, "parameter_name"sv, "buffer_name"sv, "tensor_constant_name"sv, "custom_obj_name"sv, "persistent"sv};
    uint32_t required = 1;
    if (tag == "parameter") {
      out.kind = Kind::Parameter;
      required |= 1u << 1;
    } else if (tag == "buffer") {
      out.kind = Kind::Buffer;
      required |= 1u << 2 | 1u << 5;
    } else if (tag == "tensor_constant") {
      out.kind = Kind::TensorConstant;
      required |= 1u << 3;
    } else if (tag == "custom_obj") {
      out.kind = Kind::CustomObject;
      required |= 1u << 4;
    } else if (tag == "token") {
      out.kind = Kind::Token;
    } else {
      return json_.fail("input_specs", "a kind of input of schema version 8", archive::show(tag));
    }
    return json_.fields(body, tag, kNames, required, [&](size_t i, od::value part) {
      if (i == 0) return name_of(part, out.name);
      if (i == 5) return json_.boolean(part, "persistent", out.persistent);
      return json_.string(part, kNames[i], out.fqn);
    });
  }

  bool output_spec(std::string_view tag, od::value body, RawOutputSpec& out) {
    using Kind = RawOutputSpec::Kind;
    out.tag = tag;
    if (tag == "user_output") {
      static constexpr std::array kNames = {"arg"sv};
      return json_.fields(body, tag, kNames, 1, [&](size_t, od::value part) { return argument(part, out.arg); });
    }
    static constexpr std::array kNames = {"arg"sv, "buffer_name"sv, "parameter_name"sv, "user_input_name"sv};
    uint32_t required = 1;
    if (tag == "buffer_mutation") {
      out.kind = Kind::BufferMutation;
      required |= 1u << 1;
    } else if (tag == "parameter_mutation") {
      out.kind = Kind::ParameterMutation;
      required |= 1u << 2;
    } else if (tag == "user_input_mutation") {
      out.kind = Kind::InputMutation;
      required |= 1u << 3;
    } else {
      out.kind = Kind::Other;
    }
    return json_.fields(body, tag, kNames, required, [&](size_t i, od::value part) {
      return i == 0 ? name_of(part, out.name) : json_.string(part, kNames[i], out.target);
    });
  }

  bool payload_row(od::value value, RawPayload& out) {
    static constexpr std::array kNames = {"path_name"sv, "tensor_meta"sv, "is_param"sv, "use_pickle"sv};
    return json_.fields(value, "a payload", kNames, 0b0011, [&](size_t i, od::value part) {
      switch (i) {
        case 0:
          return json_.string(part, "path_name", out.path);
        case 1:
          return json_.is_null(part) || tensor_meta(part, out.meta.emplace());
        case 2:
          return json_.boolean(part, "is_param", out.is_param);
        default:
          return json_.boolean(part, "use_pickle", out.pickled);
      }
    });
  }

  JsonReader& json_;
  size_t node_index_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string_view tag_of(const RawArg& arg) {
  struct Visitor {
    std::string_view operator()(const NoneArg&) const { return "as_none"; }
    std::string_view operator()(const TensorArg&) const { return "as_tensor"; }
    std::string_view operator()(const TensorsArg&) const { return "as_tensors"; }
    std::string_view operator()(int64_t) const { return "as_int"; }
    std::string_view operator()(const std::vector<int64_t>&) const { return "as_ints"; }
    std::string_view operator()(double) const { return "as_float"; }
    std::string_view operator()(const std::vector<double>&) const { return "as_floats"; }
    std::string_view operator()(bool) const { return "as_bool"; }
    std::string_view operator()(const std::vector<bool>&) const { return "as_bools"; }
    std::string_view operator()(const SymArg& s) const {
      return s.kind == SymKind::Int ? "as_sym_int" : s.kind == SymKind::Float ? "as_sym_float" : "as_sym_bool";
    }
    std::string_view operator()(const SymsArg& s) const {
      return s.kind == SymKind::Int ? "as_sym_ints" : s.kind == SymKind::Float ? "as_sym_floats" : "as_sym_bools";
    }
    std::string_view operator()(const EnumArg& e) const {
      return e.kind == EnumArg::Kind::ScalarType ? "as_scalar_type"
             : e.kind == EnumArg::Kind::Layout   ? "as_layout"
                                                 : "as_memory_format";
    }
    std::string_view operator()(const DeviceArg&) const { return "as_device"; }
    std::string_view operator()(const StringArg&) const { return "as_string"; }
    std::string_view operator()(const GraphArg&) const { return "as_graph"; }
    std::string_view operator()(const OtherArg& o) const { return o.tag; }
  };
  return std::visit(Visitor{}, arg);
}

Result<ExportedProgram> read_exported(const archive::Pt2& archive, std::string_view model) {
  const std::string entry = fmt::format("models/{}.json", model);
  EL_TRY(const std::string_view text, archive.text(entry));
  const auto parser = std::make_shared<od::parser>();
  const std::string place = fmt::format("{}: entry {}/{}", archive.source(), archive.root(), entry);
  ExportedProgram program;
  program.json_bytes = text.size();
  program.strings = parser;

  JsonReader json(*parser, text, place);
  Parser reader(json);
  const bool ok = json.document([&](od::object root) { return reader.program(root, program); });
  if (!ok) {
    // Another generation of the schema may be the reason; it stands behind the graph, so look for it by itself.
    od::parser second_parser;
    JsonReader second(second_parser, text, place);
    Parser version_reader(second);
    ExportedProgram other;
    (void)second.document([&](od::object root) {
      return second.each_field(root, "the program", [&](std::string_view key, od::value value) {
        return key != "schema_version" || version_reader.version(value, other);
      });
    });
    if (other.schema_major == 0 || other.schema_major == 8) return json.take_error();
    program.schema_major = other.schema_major;
    program.schema_minor = other.schema_minor;
  }
  if (program.schema_major != 8) {
    return input_error(
        fmt::format("{}: schema version {}.{}, and this reader knows major version 8; save the model again "
                    "with torch 2.13 or 2.14",
                    place, program.schema_major, program.schema_minor));
  }
  return program;
}

Result<PayloadTable> read_payload_table(const archive::Pt2& archive, std::string entry, std::string folder) {
  EL_TRY(const std::string_view text, archive.text(entry));
  const auto parser = std::make_shared<od::parser>();
  JsonReader json(*parser, text, fmt::format("{}: entry {}/{}", archive.source(), archive.root(), entry));
  PayloadTable table;
  table.entry = std::move(entry);
  table.folder = std::move(folder);
  table.strings = parser;
  Parser reader(json);
  if (!json.document([&](od::object root) { return reader.payload_table(root, table); })) return json.take_error();
  return table;
}

}  // namespace edgelift::importer
