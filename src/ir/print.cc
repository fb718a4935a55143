#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "base/numbers.h"
#include "ir/text.h"

namespace edgelift::ir {

namespace {

// Constants of at most this many elements print their elements.
constexpr int64_t kInlineElements = 16;

bool plain_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  });
}

std::string quoted(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\x";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string sigil(std::string_view name) { return plain_name(name) ? "%" + std::string(name) : "%" + quoted(name); }

class Printer {
 public:
  Printer(const PrintOptions& options, const Program* program) : options_(options), program_(program) {}

  std::string program() {
    out_ = "program {\n";
    std::map<std::string, SymbolPtr> symbols;
    for (const auto& graph : program_->methods) collect_symbols(*graph, symbols);
    for (const auto& [name, symbol] : symbols) {
      out_ += "  sym " + name + " in [" + std::to_string(symbol->lo) + ", " +
              (symbol->hi == kUnbounded ? std::string("inf") : std::to_string(symbol->hi)) + "]\n";
    }
    for (const auto& constant : program_->constants) print_constant(*constant);
    for (const auto& graph : program_->methods) print_graph(*graph, "  ");
    out_ += "}\n";
    return std::move(out_);
  }

  std::string graph(const Graph& graph) {
    print_graph(graph, "");
    return std::move(out_);
  }

  std::string node(const Node& node) {
    print_node(node);
    return std::move(out_);
  }

 private:
  static void add_symbols(const SymInt& size, std::map<std::string, SymbolPtr>& symbols) {
    for (SymbolPtr& symbol : size.symbols()) symbols.emplace(symbol->name, symbol);
  }

  static void collect_symbols(const Graph& graph, std::map<std::string, SymbolPtr>& symbols) {
    const auto type = [&](const Type& t) {
      for (const SymInt& size : t.sizes)
        if (!size.is_const()) add_symbols(size, symbols);
    };
    for (const Value* value : graph.inputs()) {
      type(value->type);
      if (value->symbol) symbols.emplace(value->symbol->name, value->symbol);
    }
    for (const Node* node = graph.first(); node != nullptr; node = node->next) {
      for (const Value* value : node->results) {
        type(value->type);
        if (value->symbol) symbols.emplace(value->symbol->name, value->symbol);
      }
      for (const Arg& arg : node->args) {
        if (const auto* size = std::get_if<SymInt>(&arg)) add_symbols(*size, symbols);
        if (const auto* list = std::get_if<IntList>(&arg))
          for (const SymInt& size : *list) add_symbols(size, symbols);
        if (const auto* ratio = std::get_if<SymRatio>(&arg)) {
          add_symbols(ratio->numerator, symbols);
          add_symbols(ratio->denominator, symbols);
        }
      }
    }
  }

  void print_constant(const Constant& constant) {
    out_ += constant.is_mutable ? "  mutable const " : "  const ";
    out_ += sigil(constant.name) + " : " + constant.type().str() + " = ";
    if (!constant.text.empty()) {
      out_ += constant.text;
    } else if (constant.data.numel() > kInlineElements || is_complex(constant.data.dtype())) {
      out_ += "@" + quoted(constant.name);
    } else {
      const bool list = constant.data.rank() != 0;
      if (list) out_ += '[';
      for (int64_t i = 0; i < constant.data.numel(); ++i) {
        if (i != 0) out_ += ", ";
        element(constant.data, i);
      }
      if (list) out_ += ']';
    }
    out_ += '\n';
  }

  void element(const TensorData& data, int64_t index) {
    if (data.dtype() == DType::Bool) {
      out_ += data.element_as_int(index) != 0 ? "true" : "false";
    } else if (is_float(data.dtype())) {
      out_ += float_text(data.element_as_double(index), data.dtype());
    } else {
      out_ += std::to_string(data.element_as_int(index));
    }
  }

  // Node results may not share a name with a constant, for both are written %name.
  const std::string& name_of(const Value* value) {
    if (value->constant != nullptr) return value->constant->name;
    if (program_ == nullptr) return value->name;
    const auto [at, fresh] = renamed_.try_emplace(value, value->name);
    if (fresh && program_->find_constant(value->name) != nullptr) {
      std::string name = value->name + "_v";
      while (program_->find_constant(name) != nullptr || !taken_.insert(name).second) name += "v";
      at->second = std::move(name);
    }
    return at->second;
  }

  void print_graph(const Graph& graph, const std::string& indent) {
    renamed_.clear();
    taken_.clear();
    for (const Value* value : graph.inputs()) taken_.insert(value->name);
    for (const Node* n = graph.first(); n != nullptr; n = n->next)
      for (const Value* value : n->results) taken_.insert(value->name);
    out_ += indent + "fn " + graph.name() + "(";
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      if (i != 0) out_ += ", ";
      const Value* value = graph.inputs()[i];
      out_ += sigil(name_of(value)) + ": " + type_text(*value);
    }
    out_ += ")";
    bool first = true;
    for (const OutputSpec& output : graph.outputs()) {
      if (output.kind != OutputSpec::Kind::User || output.value == nullptr) continue;
      out_ += first ? " -> " : ", ";
      first = false;
      out_ += output.value->type.str();
    }
    out_ += " {\n";
    for (const Node* n = graph.first(); n != nullptr; n = n->next) {
      out_ += indent + "  ";
      print_node(*n);
      if (options_.origins) {
        const std::string line = source_line(n->origin);
        if (!line.empty()) out_ += "  ; " + line;
      }
      out_ += '\n';
    }
    out_ += indent + "  return";
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const OutputSpec& output = graph.outputs()[i];
      out_ += i == 0 ? " " : ", ";
      switch (output.kind) {
        case OutputSpec::Kind::BufferMutation:
          out_ += "buffer " + sigil(output.target->name) + " = ";
          break;
        case OutputSpec::Kind::InputMutation:
          out_ += "input " + sigil(name_of(graph.inputs().at(output.input))) + " = ";
          break;
        case OutputSpec::Kind::User:
          break;
      }
      if (output.value != nullptr) {
        out_ += sigil(name_of(output.value));
      } else {
        print_arg(output.literal, DType::F64);
      }
    }
    out_ += "\n" + indent + "}\n";
  }

  static std::string type_text(const Value& value) {
    std::string text = value.type.str();
    if (value.symbol != nullptr) text += "(" + value.symbol->name + ")";
    return text;
  }

  void print_node(const Node& node) {
    for (size_t i = 0; i < node.results.size(); ++i) {
      if (i != 0) out_ += ", ";
      out_ += sigil(name_of(node.results[i]));
    }
    if (!node.results.empty()) out_ += " = ";
    if (node.op == &delegate_op()) {
      const auto index = static_cast<size_t>(std::get<SymInt>(node.args.at(0)).value());
      out_ += "delegate @";
      out_ += program_ != nullptr ? program_->delegates.at(index)->name : std::to_string(index);
      out_ += "(";
      const auto& operands = std::get<ValueList>(node.args.at(1));
      for (size_t i = 0; i < operands.size(); ++i) {
        if (i != 0) out_ += ", ";
        out_ += sigil(name_of(operands[i]));
      }
      out_ += ")";
    } else {
      print_call(node);
    }
    if (!options_.types || node.results.empty()) return;
    out_ += " : ";
    const bool many = node.results.size() != 1;
    if (many) out_ += "(";
    for (size_t i = 0; i < node.results.size(); ++i) {
      if (i != 0) out_ += ", ";
      out_ += type_text(*node.results[i]);
    }
    if (many) out_ += ")";
  }

  void print_call(const Node& node) {
    out_ += node.op->text_name();
    // The dtype in which floats print: that of the tensor they meet, if it is a float.
    DType floats = DType::F64;
    bool positional = true, first = true;
    for (size_t i = 0; i < node.args.size(); ++i) {
      const Arg& arg = node.args[i];
      const ArgSpec& spec = node.op->schema.args[i];
      const bool operand = std::holds_alternative<Value*>(arg) || std::holds_alternative<ValueList>(arg);
      if (!operand || !positional) {
        if (!spec.required && arg == spec.default_value) {
          positional = false;
          continue;
        }
      }
      out_ += first ? " " : ", ";
      first = false;
      if (!operand || !positional) {
        positional = false;
        out_ += spec.name + "=";
      }
      print_arg(arg, floats);
    }
  }

  void print_arg(const Arg& arg, DType floats) {
    if (is_none(arg)) {
      out_ += "none";
    } else if (const auto* value = std::get_if<Value*>(&arg)) {
      out_ += sigil(name_of(*value));
    } else if (const auto* values = std::get_if<ValueList>(&arg)) {
      list(*values, [&](const Value* v) { out_ += v == nullptr ? "none" : sigil(name_of(v)); });
    } else if (const auto* number = std::get_if<SymInt>(&arg)) {
      out_ += number->str();
    } else if (const auto* real = std::get_if<double>(&arg)) {
      out_ += float_text(*real, floats);
    } else if (const auto* flag = std::get_if<bool>(&arg)) {
      out_ += *flag ? "true" : "false";
    } else if (const auto* text = std::get_if<std::string>(&arg)) {
      out_ += quoted(*text);
    } else if (const auto* ints = std::get_if<IntList>(&arg)) {
      list(*ints, [&](const SymInt& n) { out_ += n.str(); });
    } else if (const auto* reals = std::get_if<std::vector<double>>(&arg)) {
      list(*reals, [&](double n) { out_ += float_text(n, floats); });
    } else if (const auto* flags = std::get_if<std::vector<bool>>(&arg)) {
      list(*flags, [&](bool b) { out_ += b ? "true" : "false"; });
    } else if (const auto* dtype = std::get_if<DType>(&arg)) {
      out_ += short_name(*dtype);
    } else if (const auto* format = std::get_if<MemoryFormat>(&arg)) {
      switch (*format) {
        case MemoryFormat::Contiguous:
          out_ += "contiguous";
          break;
        case MemoryFormat::ChannelsLast:
          out_ += "channels_last";
          break;
        case MemoryFormat::ChannelsLast3d:
          out_ += "channels_last_3d";
          break;
        case MemoryFormat::Preserve:
          out_ += "preserve";
          break;
      }
    } else {
      const auto& ratio = std::get<SymRatio>(arg);
      out_ += "ratio(" + ratio.numerator.str() + ", " + ratio.denominator.str() + ")";
    }
  }

  template <class List, class F>
  void list(const List& items, F&& f) {
    out_ += '[';
    bool first = true;
    for (const auto& item : items) {
      if (!first) out_ += ',';
      first = false;
      f(item);
    }
    out_ += ']';
  }

  const PrintOptions& options_;
  const Program* program_;
  std::string out_;
  std::unordered_map<const Value*, std::string> renamed_;
  std::unordered_set<std::string> taken_;
};

}  // namespace

std::string print(const Program& program, const PrintOptions& options) { return Printer(options, &program).program(); }
std::string print(const Graph& graph, const PrintOptions& options) { return Printer(options, nullptr).graph(graph); }
std::string print_node(const Node& node) { return Printer({}, nullptr).node(node); }

}  // namespace edgelift::ir
