// Long because the grammar is one recursive-descent class: every rule needs the same text, position and scopes.
#include <cmath>
#include <cstring>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "base/check.h"
#include "base/numbers.h"
#include "ir/text.h"

namespace edgelift::ir {

namespace {

constexpr int kMaxDepth = 64;                       // of size expressions
constexpr int64_t kMaxElements = int64_t{1} << 24;  // of a generated constant: tests, not weights

struct ParseError {
  size_t at;  // byte of the text; line and column are counted only for the error that is reported
  std::string message;
};

std::string located(std::string_view text, const ParseError& error) {
  size_t line = 1, column = 1;
  for (size_t i = 0; i < error.at && i < text.size(); ++i) {
    ++column;
    if (text[i] == '\n') {
      ++line;
      column = 1;
    }
  }
  return fmt::format("{}:{}: {}", line, column, error.message);
}

// Recursive descent over the text. Errors travel as ParseError to parse(), the only caller, which returns them.
class Parser {
 public:
  Parser(std::string_view text, const OpTable& ops) : text_(text), ops_(ops) {}

  Program run() {
    word("program");
    sign("{");
    while (!accept("}")) {
      if (accept_word("sym")) {
        symbol();
      } else if (accept_word("const")) {
        constant(false);
      } else if (accept_word("mutable")) {
        word("const");
        constant(true);
      } else if (accept_word("fn")) {
        function();
      } else {
        fail("expected 'sym', 'const', 'mutable const', 'fn' or '}'");
      }
    }
    skip();
    if (at_ != text_.size()) fail("expected the end of the text after the program");
    if (program_.methods.empty()) fail("the program has no function");
    bool writes = false;
    for (const auto& graph : program_.methods)
      for (const Node* n = graph->first(); n != nullptr; n = n->next) writes = writes || n->op->writes_args();
    program_.stage = writes || numbers_for_tensors_ ? Stage::Aten : Stage::Edge;
    return std::move(program_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_at(at_, what); }
  [[noreturn]] void fail_at(size_t where, const std::string& what) const { throw ParseError{where, what}; }

  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
      } else if (c == ';') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  bool accept(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void sign(std::string_view token) {
    if (!accept(token)) fail("expected '" + std::string(token) + "'");
  }
  static bool name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  }
  std::string_view peek_word() {
    skip();
    size_t end = at_;
    while (end < text_.size() && name_char(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool accept_word(std::string_view name) {
    if (peek_word() != name) return false;
    at_ += name.size();
    return true;
  }
  void word(std::string_view name) {
    if (!accept_word(name)) fail("expected '" + std::string(name) + "'");
  }
  std::string identifier(const char* what) {
    const std::string_view name = peek_word();
    if (name.empty()) fail(std::string("expected ") + what);
    at_ += name.size();
    return std::string(name);
  }

  std::string string() {
    skip();
    if (at_ >= text_.size() || text_[at_] != '"') fail("expected a string");
    ++at_;
    std::string out;
    for (;;) {
      if (at_ >= text_.size()) fail("a string without end");
      char c = text_[at_++];
      if (c == '"') return out;
      if (c != '\\') {
        out += c;
        continue;
      }
      if (at_ >= text_.size()) fail("a string without end");
      c = text_[at_++];
      if (c == 'n') {
        out += '\n';
      } else if (c == '"' || c == '\\') {
        out += c;
      } else if (c == 'x') {
        int value = 0;
        for (int i = 0; i < 2; ++i) {
          const char h = at_ < text_.size() ? text_[at_] : ' ';
          const int digit = h >= '0' && h <= '9' ? h - '0' : h >= 'a' && h <= 'f' ? h - 'a' + 10 : -1;
          if (digit < 0) fail("expected two hexadecimal digits after \\x");
          value = value * 16 + digit;
          ++at_;
        }
        out += static_cast<char>(value);
      } else {
        fail("unknown escape in a string");
      }
    }
  }

  std::string value_name() {
    sign("%");
    if (at_ < text_.size() && text_[at_] == '"') return string();
    size_t end = at_;
    while (end < text_.size() && name_char(text_[end])) ++end;
    if (end == at_) fail("expected a name after '%'");
    std::string name(text_.substr(at_, end - at_));
    at_ = end;
    return name;
  }

  // --- numbers and sizes

  std::string_view number_text() {
    skip();
    size_t end = at_;
    if (end < text_.size() && text_[end] == '-') ++end;
    if (text_.substr(end, 3) == "inf" || text_.substr(end, 3) == "nan") {
      end += 3;
    } else {
      while (end < text_.size()) {
        const char c = text_[end];
        const bool exponent_sign = (c == '-' || c == '+') && end > at_ && text_[end - 1] == 'e';
        if ((c >= '0' && c <= '9') || c == '.' || c == 'e' || exponent_sign) {
          ++end;
        } else {
          break;
        }
      }
    }
    return text_.substr(at_, end - at_);
  }

  int64_t integer() {
    const std::string_view text = number_text();
    const auto value = parse_int(text);
    if (!value) fail("expected an integer");
    at_ += text.size();
    return *value;
  }

  double real() {
    const std::string_view text = number_text();
    const auto value = parse_float(text);
    if (!value) fail("expected a number");
    at_ += text.size();
    return *value;
  }

  SymInt size(int depth = 0) {
    if (depth > kMaxDepth) fail("a size expression nested too deeply");
    SymInt sum = term(depth);
    for (;;) {
      skip();
      if (at_ < text_.size() && text_[at_] == '+') {
        ++at_;
        sum = sum + term(depth);
      } else if (at_ < text_.size() && text_[at_] == '-') {
        sum = sum + term(depth);
      } else {
        return sum;
      }
    }
  }

  SymInt term(int depth) {
    SymInt product = factor(depth);
    while (accept("*")) product = product * factor(depth);
    return product;
  }

  SymInt factor(int depth) {
    skip();
    if (at_ < text_.size() && text_[at_] == '-' && at_ + 1 < text_.size() &&
        !(text_[at_ + 1] >= '0' && text_[at_ + 1] <= '9')) {
      ++at_;
      return SymInt(-1) * factor(depth + 1);
    }
    if (at_ < text_.size() && (text_[at_] == '-' || (text_[at_] >= '0' && text_[at_] <= '9'))) return SymInt(integer());
    const std::string name = identifier("a size");
    if (name == "floordiv" || name == "mod" || name == "max" || name == "min") {
      sign("(");
      const SymInt a = size(depth + 1);
      sign(",");
      const SymInt b = size(depth + 1);
      sign(")");
      if (name == "max") return SymInt::max(a, b);
      if (name == "min") return SymInt::min(a, b);
      if (b == SymInt(0)) fail("division by zero in a size");
      return name == "floordiv" ? SymInt::floordiv(a, b) : SymInt::mod(a, b);
    }
    const auto at = symbols_.find(name);
    if (at == symbols_.end()) fail("unknown symbol " + name + "; declare it with 'sym " + name + " in [lo, hi]'");
    return SymInt::symbol(at->second);
  }

  void symbol() {
    auto symbol = std::make_shared<Symbol>();
    symbol->name = identifier("a symbol's name");
    word("in");
    sign("[");
    symbol->lo = integer();
    sign(",");
    if (accept_word("inf")) {
      symbol->hi = kUnbounded;
    } else {
      symbol->hi = integer();
    }
    sign("]");
    if (symbol->lo > symbol->hi) fail("an empty range");
    if (!symbols_.emplace(symbol->name, symbol).second) fail("symbol " + symbol->name + " is declared twice");
  }

  DType dtype(std::string_view name) {
    const auto found = dtype_from_short_name(name);
    if (!found) fail("unknown dtype " + std::string(name));
    return *found;
  }

  Type type() {
    skip();
    const size_t start = at_;
    const std::string name = identifier("a type");
    if (name == "int") return Type::scalar(Type::Kind::Int);
    if (name == "float") return Type::scalar(Type::Kind::Float);
    if (name == "str") return Type::scalar(Type::Kind::String);
    if (name == "none") return Type::scalar(Type::Kind::None);
    skip();
    if (name == "bool" && (at_ >= text_.size() || text_[at_] != '[')) return Type::scalar(Type::Kind::Bool);
    const auto element = dtype_from_short_name(name);
    if (!element) fail_at(start, "unknown type " + name);
    Type out = Type::tensor(*element, {});
    sign("[");
    if (!accept("]")) {
      do out.sizes.push_back(size());
      while (accept(","));
      sign("]");
    }
    // Directly after the sizes; after a space it opens the function's body.
    if (at_ < text_.size() && text_[at_] == '{') {
      ++at_;
      do out.dim_order.push_back(static_cast<uint8_t>(integer()));
      while (accept(","));
      sign("}");
      std::vector<bool> seen(out.sizes.size(), false);
      bool permutation = out.dim_order.size() == out.sizes.size();
      for (const uint8_t d : out.dim_order) {
        permutation = permutation && d < seen.size() && !seen[d];
        if (permutation) seen[d] = true;
      }
      if (!permutation) fail("the dim order is not a permutation of the dims");
    }
    return out;
  }

  // --- constants

  void constant(bool is_mutable) {
    const std::string name = value_name();
    if (program_.find_constant(name) != nullptr) fail("constant %" + name + " is defined twice");
    sign(":");
    const Type t = type();
    if (!t.is_tensor() || !t.is_static()) fail("a constant is a tensor of known sizes");
    sign("=");
    std::vector<int64_t> sizes = t.static_sizes();
    int64_t elements = 1;
    for (const int64_t s : sizes) {
      const auto next = s < 0 ? std::nullopt : checked_mul(elements, s);
      if (!next || *next > kMaxElements) fail("a constant of this size cannot be written in the text form");
      elements = *next;
    }
    skip();
    const size_t start = at_;
    TensorData data;
    if (accept("@")) {
      string();  // bytes that live in an archive: their place is taken by zeros that all elements share
      data = TensorData::own(t.dtype, {1}, std::vector<std::byte>(byte_size(t.dtype)));
      data = data.reshaped({}).expanded(sizes);
    } else if (accept_word("random")) {
      sign("(");
      word("seed");
      sign("=");
      const int64_t seed = integer();
      sign(")");
      data = generate(t, sizes, elements, static_cast<uint64_t>(seed) | (uint64_t{1} << 63));
    } else if (accept_word("iota")) {
      sign("(");
      sign(")");
      data = generate(t, sizes, elements, 0);
    } else if (accept_word("zeros")) {
      sign("(");
      sign(")");
      data =
          TensorData::own(t.dtype, sizes, std::vector<std::byte>(static_cast<size_t>(elements) * byte_size(t.dtype)));
    } else {
      data = literal(t, sizes, elements);
    }
    std::string text(text_.substr(start, at_ - start));
    const bool elements_print =
        elements <= 16 && (text.empty() || (text[0] != '@' && text[0] != 'r' && text[0] != 'i' && text[0] != 'z'));
    Constant* made = program_.add_constant(name, std::move(data), is_mutable);
    if (!elements_print) made->text = std::move(text);
  }

  // Evenly spread in [-1, 1) by a counter-based generator for floats (seed with the top bit set), small integers for
  // the others; seed 0 counts 0, 1, 2 …
  TensorData generate(const Type& t, const std::vector<int64_t>& sizes, int64_t elements, uint64_t seed) {
    if (is_complex(t.dtype) || byte_size(t.dtype) == 0 || (is_float(t.dtype) && t.dtype >= DType::F8E5M2))
      fail("cannot generate this dtype");
    std::vector<double> values(static_cast<size_t>(elements));
    for (size_t i = 0; i < values.size(); ++i) {
      if (seed == 0) {
        values[i] = t.dtype == DType::Bool ? static_cast<double>(i & 1)
                    : is_float(t.dtype)    ? static_cast<double>(i)
                                           : static_cast<double>(i % 100);
        continue;
      }
      uint64_t z = (seed + 0x9E3779B97F4A7C15u * (i + 1));
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
      z ^= z >> 31;
      const double unit = static_cast<double>(z >> 40) * 0x1p-24;
      values[i] = t.dtype == DType::Bool ? (unit < 0.5 ? 1 : 0)
                  : is_float(t.dtype)    ? unit * 2 - 1
                                         : std::floor(unit * 100);
    }
    return TensorData::of(DType::F64, sizes, values).converted(t.dtype);
  }

  TensorData literal(const Type& t, const std::vector<int64_t>& sizes, int64_t elements) {
    if (is_complex(t.dtype)) fail("a complex constant cannot be written in the text form");
    std::vector<double> reals;
    std::vector<int64_t> ints;
    const auto element = [&] {
      if (t.dtype == DType::Bool) {
        if (accept_word("true")) {
          ints.push_back(1);
        } else {
          word("false");
          ints.push_back(0);
        }
      } else if (is_float(t.dtype)) {
        reals.push_back(real());
      } else {
        ints.push_back(integer());
      }
    };
    if (sizes.empty()) {
      element();
    } else {
      sign("[");
      if (!accept("]")) {
        do element();
        while (accept(","));
        sign("]");
      }
    }
    if (static_cast<int64_t>(reals.size() + ints.size()) != elements)
      fail(fmt::format("{} elements given, the type has {}", reals.size() + ints.size(), elements));
    return is_float(t.dtype) ? TensorData::of(DType::F64, sizes, reals).converted(t.dtype)
                             : TensorData::of(DType::I64, sizes, ints).converted(t.dtype);
  }

  // --- functions

  void define(const std::string& name, Value* value) {
    if (program_.find_constant(name) != nullptr || !values_.emplace(name, value).second)
      fail("%" + name + " is defined twice");
  }

  Value* use(const std::string& name) {
    const auto at = values_.find(name);
    if (at != values_.end()) return at->second;
    if (const Constant* constant = program_.find_constant(name)) return graph_->constant_value(constant);
    fail("%" + name + " is not defined here");
  }

  void bind_symbol(Value* value) {
    if (value->type.kind != Type::Kind::Int || !accept("(")) return;
    const std::string name = identifier("a symbol");
    const auto at = symbols_.find(name);
    if (at == symbols_.end()) fail("unknown symbol " + name);
    value->symbol = at->second;
    sign(")");
  }

  void function() {
    const std::string name = identifier("a function's name");
    for (const auto& other : program_.methods)
      if (other->name() == name) fail("function " + name + " is defined twice");
    program_.methods.push_back(std::make_unique<Graph>(name));
    graph_ = program_.methods.back().get();
    values_.clear();
    sign("(");
    if (!accept(")")) {
      do {
        const std::string input = value_name();
        sign(":");
        Value* value = graph_->add_input(input, type());
        bind_symbol(value);
        define(input, value);
      } while (accept(","));
      sign(")");
    }
    std::vector<Type> declared;
    if (accept("->")) {
      do declared.push_back(type());
      while (accept(","));
    }
    sign("{");
    while (!accept_word("return")) statement();
    outputs(declared);
    sign("}");
  }

  // Arguments that no exported program has can break what a shape rule takes for granted; here they are the text's
  // fault.
  Result<std::vector<Type>> infer(const Op& op, const std::vector<Arg>& args, size_t where) const {
    try {
      return ops_.infer(op, args);
    } catch (const Bug&) {
      fail_at(where, op.text_name() + ": the shape rule does not take these arguments");
    }
  }

  Value* use_tensor(const std::string& name) {
    Value* value = use(name);
    if (!value->type.is_tensor()) fail("%" + name + " is of type " + value->type.str() + ", a tensor is expected");
    return value;
  }

  void statement() {
    std::vector<std::string> names;
    skip();
    const size_t start = at_;
    if (at_ < text_.size() && text_[at_] == '%') {
      do names.push_back(value_name());
      while (accept(","));
      sign("=");
    }
    skip();
    const size_t op_at = at_;
    const std::string op_name = identifier("an operator");
    if (op_name == "delegate") fail_at(op_at, "a partitioned program can be printed but not read back");
    const Op* op = ops_.find(op_name);
    if (op == nullptr) fail_at(op_at, "unknown operator " + op_name);
    std::vector<Arg> args = arguments(*op);
    auto types = infer(*op, args, op_at);
    if (!types.ok()) fail_at(op_at, op_name + ": " + types.error().message);
    std::vector<Type> declared;
    if (!names.empty()) {
      sign(":");
      if (names.size() == 1) {
        declared.push_back(type());
      } else {
        sign("(");
        do declared.push_back(type());
        while (accept(","));
        sign(")");
      }
    }
    if (names.size() != types->size() || declared.size() != names.size())
      fail_at(start, fmt::format("{} has {} results, {} are named", op_name, types->size(), names.size()));
    for (size_t i = 0; i < declared.size(); ++i)
      if (!compatible(declared[i], (*types)[i]))
        fail_at(start, fmt::format("%{} is declared {}, the shape rule of {} gives {}", names[i], declared[i].str(),
                                   op_name, (*types)[i].str()));
    Node* node = graph_->insert(op, std::move(args), declared, nullptr, names);
    for (size_t i = 0; i < names.size(); ++i) {
      if (node->results[i]->name != names[i]) graph_->rename(node->results[i], names[i]);
      define(names[i], node->results[i]);
    }
    // int(u0) follows the single type.
    if (names.size() == 1) bind_symbol(node->results[0]);
  }

  static bool compatible(const Type& declared, const Type& rule) {
    if (declared.kind != rule.kind) return false;
    if (!declared.is_tensor()) return true;
    if (declared.dtype != rule.dtype || declared.sizes.size() != rule.sizes.size()) return false;
    for (size_t i = 0; i < rule.sizes.size(); ++i)
      if (declared.sizes[i].is_const() && rule.sizes[i].is_const() && !(declared.sizes[i] == rule.sizes[i]))
        return false;
    return true;
  }

  std::vector<Arg> arguments(const Op& op) {
    const Schema& schema = op.schema;
    std::vector<Arg> args(schema.args.size());
    std::vector<bool> given(schema.args.size(), false);
    skip();
    size_t positional = 0;
    const auto ends = [&] {
      skip();
      return at_ >= text_.size() || text_[at_] == ':' || text_[at_] == '}' || next_is_statement();
    };
    if (!ends()) {
      do {
        size_t index = positional;
        skip();
        const std::string_view name = peek_word();
        const size_t after = at_ + name.size();
        if (!name.empty() && after < text_.size() && text_[after] == '=') {
          const int found = schema.index_of(name);
          if (found < 0) fail(op.text_name() + " has no argument " + std::string(name));
          index = static_cast<size_t>(found);
          at_ = after + 1;
        } else {
          ++positional;
        }
        if (index >= args.size()) fail(op.text_name() + " takes " + std::to_string(args.size()) + " arguments");
        if (given[index]) fail("argument " + schema.args[index].name + " is given twice");
        args[index] = argument(schema.args[index]);
        given[index] = true;
      } while (accept(","));
    }
    for (size_t i = 0; i < args.size(); ++i) {
      if (given[i]) continue;
      if (schema.args[i].required) fail(op.text_name() + " lacks argument " + schema.args[i].name);
      args[i] = schema.args[i].default_value;
    }
    return args;
  }

  // An operator without results and without a type is followed by the next statement.
  bool next_is_statement() {
    if (peek_word() == "return") return true;
    const size_t saved = at_;
    bool is_statement = false;
    if (text_[at_] == '%') {
      try {
        do value_name();
        while (accept(","));
        skip();
        is_statement = at_ < text_.size() && text_[at_] == '=';
      } catch (const ParseError&) {
        is_statement = false;
      }
    }
    at_ = saved;
    return is_statement;
  }

  Arg argument(const ArgSpec& spec) {
    using K = ArgKind;
    skip();
    if (accept_word("none")) return {};
    switch (spec.kind) {
      case K::Tensor:
      case K::OptTensor:
        if (at_ < text_.size() && text_[at_] == '%') return use_tensor(value_name());
        numbers_for_tensors_ = true;
        return scalar();
      case K::TensorList:
      case K::OptTensorList:
        return list<ValueList>([&]() -> Value* { return accept_word("none") ? nullptr : use_tensor(value_name()); });
      case K::Int:
      case K::OptInt:
        return size();
      case K::IntList:
      case K::OptIntList:
        return list<IntList>([&] { return size(); });
      case K::Float:
      case K::OptFloat:
        if (peek_word() == "ratio") return ratio();
        return real();
      case K::FloatList:
      case K::OptFloatList:
        return list<std::vector<double>>([&] { return real(); });
      case K::Bool:
      case K::OptBool:
        return boolean();
      case K::BoolList:
        return list<std::vector<bool>>([&] { return boolean(); });
      case K::Scalar:
      case K::OptScalar:
        if (at_ < text_.size() && text_[at_] == '%') return use(value_name());
        return scalar();
      case K::String:
      case K::OptString:
        return string();
      case K::ScalarType:
      case K::OptScalarType:
        return dtype(identifier("a dtype"));
      case K::MemoryFormat:
      case K::OptMemoryFormat: {
        const std::string name = identifier("a memory format");
        if (name == "contiguous") return MemoryFormat::Contiguous;
        if (name == "channels_last") return MemoryFormat::ChannelsLast;
        if (name == "channels_last_3d") return MemoryFormat::ChannelsLast3d;
        if (name == "preserve") return MemoryFormat::Preserve;
        fail("unknown memory format " + name);
      }
      case K::Ignored:
        fail("argument " + spec.name + " is always none");
    }
    fail("unknown argument kind");
  }

  bool boolean() {
    if (accept_word("true")) return true;
    if (accept_word("false")) return false;
    fail("expected true or false");
  }

  Arg ratio() {
    word("ratio");
    sign("(");
    SymRatio out;
    out.numerator = size();
    sign(",");
    out.denominator = size();
    sign(")");
    return out;
  }

  Arg scalar() {
    const std::string_view name = peek_word();
    if (name == "true" || name == "false") return boolean();
    if (name == "ratio") return ratio();
    const std::string_view number = number_text();
    if (parse_int(number)) return size();
    if (parse_float(number)) return real();
    return size();
  }

  template <class List, class F>
  Arg list(F&& item) {
    List out;
    sign("[");
    if (accept("]")) return out;
    do out.push_back(item());
    while (accept(","));
    sign("]");
    return out;
  }

  void outputs(const std::vector<Type>& declared) {
    size_t user = 0;
    skip();
    if (at_ < text_.size() && text_[at_] == '}') return;
    do {
      OutputSpec output;
      skip();
      if (accept_word("buffer")) {
        output.kind = OutputSpec::Kind::BufferMutation;
        const std::string name = value_name();
        output.target = program_.find_constant(name);
        if (output.target == nullptr || !output.target->is_mutable) fail("%" + name + " is not a mutable constant");
        sign("=");
      } else if (accept_word("input")) {
        output.kind = OutputSpec::Kind::InputMutation;
        const Value* input = use(value_name());
        if (!input->is_input()) fail("%" + input->name + " is not an input");
        output.input = input->index;
        sign("=");
      }
      skip();
      if (at_ < text_.size() && text_[at_] == '%') {
        output.value = use(value_name());
      } else if (output.kind != OutputSpec::Kind::User) {
        fail("expected a value");
      } else if (accept_word("none")) {
        output.literal = {};
      } else if (at_ < text_.size() && text_[at_] == '"') {
        output.literal = string();
      } else {
        output.literal = scalar();
      }
      if (output.kind == OutputSpec::Kind::User && output.value != nullptr) {
        if (user < declared.size() && !compatible(declared[user], output.value->type))
          fail(fmt::format("output {} is declared {}, %{} is {}", user, declared[user].str(), output.value->name,
                           output.value->type.str()));
        ++user;
      }
      graph_->add_output(std::move(output));
    } while (accept(","));
    if (!declared.empty() && declared.size() != user)
      fail(fmt::format("{} outputs are declared, {} returned", declared.size(), user));
  }

  std::string_view text_;
  const OpTable& ops_;
  size_t at_ = 0;
  Program program_;
  Graph* graph_ = nullptr;
  bool numbers_for_tensors_ = false;
  std::map<std::string, SymbolPtr> symbols_;
  std::unordered_map<std::string, Value*> values_;
};

}  // namespace

std::string_view before_expectation(std::string_view text) {
  constexpr std::string_view kMark = "; EXPECT";
  for (size_t line = 0; line < text.size();) {
    if (text.substr(line).starts_with(kMark)) return text.substr(0, line);
    const size_t end = text.find('\n', line);
    if (end == text.npos) break;
    line = end + 1;
  }
  return text;
}

Result<Program> parse(std::string_view text, const OpTable& ops) {
  try {
    return Parser(text, ops).run();
  } catch (const ParseError& error) {
    return input_error(located(text, error));
  }
}

}  // namespace edgelift::ir
