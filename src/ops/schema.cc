// Reads PyTorch's schema text. The grammar is the one that torch.ops.<op>._schema prints; what it does not cover is a
// defect of a table, not of an input, and therefore a Bug.
#include <cctype>
#include <cstdlib>

#include "base/check.h"
#include "base/numbers.h"
#include "ops/record.h"

namespace edgelift::ops {
namespace {

using ir::ArgKind;

class SchemaParser {
 public:
  explicit SchemaParser(std::string_view text) : text_(text) {}

  void parse(OpRecord& op) {
    parse_name(op);
    expect('(');
    parse_args(op.schema);
    skip_space();
    EL_CHECK(take("->"), where("a schema needs '->'"));
    parse_returns(op.schema);
    skip_space();
    EL_CHECK(at_ == text_.size(), where("text after the schema"));
  }

 private:
  std::string where(std::string_view what) const {
    return std::string(what) + " at column " + std::to_string(at_ + 1) + " of schema '" + std::string(text_) + "'";
  }
  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void expect(char c) {
    skip_space();
    EL_CHECK(peek() == c, where(std::string("expected '") + c + "'"));
    ++at_;
  }
  std::string_view word() {
    skip_space();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    EL_CHECK(at_ > begin, where("expected a name"));
    return text_.substr(begin, at_ - begin);
  }

  void parse_name(OpRecord& op) {
    const size_t colons = text_.find("::");
    const size_t paren = text_.find('(');
    EL_CHECK(colons != std::string_view::npos && paren != std::string_view::npos && colons < paren,
             where("a schema starts with namespace::name("));
    op.ns = text_.substr(0, colons);
    const std::string_view full = text_.substr(colons + 2, paren - colons - 2);
    const size_t dot = full.find('.');
    op.base = full.substr(0, dot);
    op.overload = dot == std::string_view::npos ? std::string("default") : std::string(full.substr(dot + 1));
    EL_CHECK(!op.base.empty() && !op.overload.empty(), where("empty operator name"));
    at_ = paren;
  }

  struct TypeText {
    std::string_view base;
    bool optional_element = false, optional = false, list = false;
    int length = 0;
    bool written = false, aliased = false;
  };

  TypeText parse_type() {
    TypeText type;
    type.base = word();
    for (;;) {
      if (peek() == '(') {  // alias annotation: (a), (a!), (a -> *)
        const size_t close = text_.find(')', at_);
        EL_CHECK(close != std::string_view::npos, where("an alias annotation without ')'"));
        const std::string_view set = text_.substr(at_, close - at_);
        type.aliased = true;
        type.written = type.written || set.find('!') != std::string_view::npos;
        at_ = close + 1;
      } else if (peek() == '?') {
        ++at_;
        (peek() == '[' ? type.optional_element : type.optional) = true;
      } else if (peek() == '[') {
        EL_CHECK(!type.list, where("a list of lists"));
        type.list = true;
        ++at_;
        while (std::isdigit(static_cast<unsigned char>(peek())) != 0)
          type.length = type.length * 10 + (text_[at_++] - '0');
        expect(']');
      } else {
        return type;
      }
    }
  }

  ArgKind kind_of(const TypeText& t, std::string_view name) const {
    const auto pick = [&](ArgKind plain, ArgKind optional) { return t.optional ? optional : plain; };
    if (t.base == "Tensor") {
      if (t.list) return t.optional_element ? ArgKind::OptTensorList : ArgKind::TensorList;
      return pick(ArgKind::Tensor, ArgKind::OptTensor);
    }
    if (t.base == "int" || t.base == "SymInt")
      return t.list ? pick(ArgKind::IntList, ArgKind::OptIntList) : pick(ArgKind::Int, ArgKind::OptInt);
    if (t.base == "float" || t.base == "SymFloat")
      return t.list ? pick(ArgKind::FloatList, ArgKind::OptFloatList) : pick(ArgKind::Float, ArgKind::OptFloat);
    if (t.base == "bool" || t.base == "SymBool") {
      if (name == "pin_memory") return ArgKind::Ignored;
      return t.list ? ArgKind::BoolList : pick(ArgKind::Bool, ArgKind::OptBool);
    }
    if (!t.list) {
      if (t.base == "Scalar") return pick(ArgKind::Scalar, ArgKind::OptScalar);
      if (t.base == "str") return pick(ArgKind::String, ArgKind::OptString);
      if (t.base == "ScalarType") return pick(ArgKind::ScalarType, ArgKind::OptScalarType);
      if (t.base == "MemoryFormat") return pick(ArgKind::MemoryFormat, ArgKind::OptMemoryFormat);
      if (t.base == "Layout" || t.base == "Device" || t.base == "Generator") return ArgKind::Ignored;
    }
    EL_UNREACHABLE(where("argument type '" + std::string(t.base) + "' is not known"));
  }

  std::string_view default_text() {
    skip_space();
    const size_t begin = at_;
    if (peek() == '[') {
      const size_t close = text_.find(']', at_);
      EL_CHECK(close != std::string_view::npos, where("a list without ']'"));
      at_ = close + 1;
    } else if (peek() == '"' || peek() == '\'') {
      const size_t close = text_.find(peek(), at_ + 1);
      EL_CHECK(close != std::string_view::npos, where("a string without its closing quote"));
      at_ = close + 1;
    } else {
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ')') ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  double number(std::string_view text) const {
    const auto value = parse_float(text);
    EL_CHECK(value.has_value(), where("default '" + std::string(text) + "' is not a number"));
    return *value;
  }
  int64_t integer(std::string_view text) const {
    const auto value = parse_int(text);
    EL_CHECK(value.has_value(), where("default '" + std::string(text) + "' is not an integer"));
    return *value;
  }
  bool boolean(std::string_view text) const {
    EL_CHECK(text == "True" || text == "False", where("default '" + std::string(text) + "' is not a bool"));
    return text == "True";
  }
  // One number stands for `length` equal ones; a list stands for itself.
  std::vector<std::string_view> elements(std::string_view text, int length) const {
    std::vector<std::string_view> out;
    if (text.front() != '[') {
      out.assign(static_cast<size_t>(length > 0 ? length : 1), text);
      return out;
    }
    text = text.substr(1, text.size() - 2);
    while (!text.empty()) {
      const size_t comma = text.find(',');
      std::string_view item = text.substr(0, comma);
      while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
      while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
      if (!item.empty()) out.push_back(item);
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
    }
    return out;
  }

  ir::Arg default_of(std::string_view text, const ir::ArgSpec& spec) const {
    if (text == "None" || spec.kind == ArgKind::Ignored) return std::monostate{};
    switch (spec.kind) {
      case ArgKind::Int:
      case ArgKind::OptInt:
        return SymInt(integer(text));
      case ArgKind::Float:
      case ArgKind::OptFloat:
        return number(text);
      case ArgKind::Bool:
      case ArgKind::OptBool:
        return boolean(text);
      case ArgKind::Scalar:
      case ArgKind::OptScalar:
        if (text == "True" || text == "False") return boolean(text);
        if (text.find_first_of(".einf") == std::string_view::npos) return SymInt(integer(text));
        return number(text);
      case ArgKind::String:
      case ArgKind::OptString:
        EL_CHECK(text.size() >= 2, where("a string default needs quotes"));
        return std::string(text.substr(1, text.size() - 2));
      case ArgKind::IntList:
      case ArgKind::OptIntList: {
        ir::IntList list;
        for (std::string_view item : elements(text, spec.list_length)) list.emplace_back(integer(item));
        return list;
      }
      case ArgKind::FloatList:
      case ArgKind::OptFloatList: {
        std::vector<double> list;
        for (std::string_view item : elements(text, spec.list_length)) list.push_back(number(item));
        return list;
      }
      case ArgKind::BoolList: {
        std::vector<bool> list;
        for (std::string_view item : elements(text, spec.list_length)) list.push_back(boolean(item));
        return list;
      }
      case ArgKind::MemoryFormat:
      case ArgKind::OptMemoryFormat:
        // The registry prints c10's number; only the contiguous format is ever a default.
        EL_CHECK(text == "contiguous_format" || text == "0", where("unknown memory format default"));
        return ir::MemoryFormat::Contiguous;
      case ArgKind::ScalarType:
      case ArgKind::OptScalarType:
        return static_cast<DType>(integer(text));
      default:
        EL_UNREACHABLE(where("a default for an argument of this type"));
    }
  }

  void parse_args(ir::Schema& schema) {
    bool keyword_only = false;
    if (take(")")) return;
    for (;;) {
      skip_space();
      if (take("*")) {
        keyword_only = true;
        expect(',');
        continue;
      }
      ir::ArgSpec spec;
      const TypeText type = parse_type();
      spec.name = word();
      spec.kind = kind_of(type, spec.name);
      spec.list_length = type.length;
      spec.keyword_only = keyword_only;
      spec.written = type.written;
      spec.aliased = type.aliased;
      if (take("=")) {
        spec.required = false;
        spec.default_value = default_of(default_text(), spec);
      } else if (spec.kind == ArgKind::Ignored) {
        spec.required = false;
      }
      schema.args.push_back(std::move(spec));
      if (take(")")) return;
      expect(',');
    }
  }

  ir::ReturnSpec parse_return() {
    const TypeText type = parse_type();
    skip_space();
    if (std::isalpha(static_cast<unsigned char>(peek())) != 0) word();  // the name of the result
    ir::ReturnSpec spec;
    spec.aliased = type.aliased;
    if (type.base == "Tensor") {
      spec.kind = type.list ? ir::ReturnKind::TensorList : ir::ReturnKind::Tensor;
    } else if (type.base == "int" || type.base == "SymInt") {
      spec.kind = ir::ReturnKind::Int;
    } else if (type.base == "float") {
      spec.kind = ir::ReturnKind::Float;
    } else if (type.base == "bool") {
      spec.kind = ir::ReturnKind::Bool;
    } else if (type.base == "Scalar") {
      spec.kind = ir::ReturnKind::Scalar;
    } else {
      EL_UNREACHABLE(where("return type '" + std::string(type.base) + "' is not known"));
    }
    return spec;
  }

  void parse_returns(ir::Schema& schema) {
    skip_space();
    if (!take("(")) {
      schema.returns.push_back(parse_return());
      return;
    }
    if (take(")")) return;
    for (;;) {
      schema.returns.push_back(parse_return());
      if (take(")")) return;
      expect(',');
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

OpRecord parse_schema(std::string_view text) {
  OpRecord op;
  SchemaParser(text).parse(op);
  return op;
}

}  // namespace edgelift::ops
