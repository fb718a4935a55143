// What the caller passes and gets, and the weights.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "base/numbers.h"
#include "import/importer.h"

namespace edgelift::importer {
namespace {

using archive::show;

// The order of dims in memory that row-major-like strides tell, outermost first; empty when row-major or when the
// strides do not order all dims (overlapping or symbolic ones): the caller's memory is then row-major.
std::vector<uint8_t> dim_order_of(const ir::Type& type, const std::vector<SymInt>& strides) {
  if (strides.empty() || type.sizes.size() > 16) return {};
  std::vector<uint8_t> order(type.sizes.size());
  std::iota(order.begin(), order.end(), uint8_t{0});
  for (const SymInt& stride : strides)
    if (stride == SymInt(0)) return {};
  bool decided = true;
  std::stable_sort(order.begin(), order.end(), [&](uint8_t a, uint8_t b) {
    if (strides[a].is_const() && strides[b].is_const()) return strides[a].value() > strides[b].value();
    if (known_le(strides[a], strides[b])) return false;
    if (known_le(strides[b], strides[a])) return true;
    decided = false;
    return a < b;
  });
  if (!decided || std::is_sorted(order.begin(), order.end())) return {};
  return order;
}

std::optional<ir::Type::Kind> literal_kind(const RawArg& arg) {
  if (std::holds_alternative<NoneArg>(arg)) return ir::Type::Kind::None;
  if (std::holds_alternative<int64_t>(arg)) return ir::Type::Kind::Int;
  if (std::holds_alternative<double>(arg)) return ir::Type::Kind::Float;
  if (std::holds_alternative<bool>(arg)) return ir::Type::Kind::Bool;
  if (std::holds_alternative<StringArg>(arg)) return ir::Type::Kind::String;
  return std::nullopt;
}

ir::Arg literal_value(const RawArg& arg) {
  if (const auto* integer = std::get_if<int64_t>(&arg)) return SymInt(*integer);
  if (const auto* number = std::get_if<double>(&arg)) return *number;
  if (const auto* flag = std::get_if<bool>(&arg)) return *flag;
  if (const auto* text = std::get_if<StringArg>(&arg)) return std::string(text->text);
  return std::monostate{};
}

// Row-major is what an empty list of strides says.
bool row_major(const ir::Type& type, const std::vector<SymInt>& strides) {
  SymInt expected(1);
  for (size_t i = type.sizes.size(); i-- > 0;) {
    if (type.sizes[i] == SymInt(1)) continue;
    if (!known_equal(strides[i], expected)) return false;
    expected = expected * type.sizes[i];
  }
  return true;
}

}  // namespace

bool holdable(const ir::Shape& sizes) {
  int64_t bound = 1;
  for (const SymInt& size : sizes) {
    int64_t sum = 1;
    if (size.is_const()) {
      sum = std::max<int64_t>(size.value(), 1);
    } else {
      for (const SymTerm& term : size.expr()->terms) {
        if (term.coefficient == std::numeric_limits<int64_t>::min()) return false;
        const auto next = checked_add(sum, std::abs(term.coefficient));
        if (!next) return false;
        sum = *next;
      }
    }
    const auto next = checked_mul(bound, sum);
    if (!next || *next > (int64_t{1} << 56)) return false;
    bound = *next;
  }
  return true;
}

Result<ir::Type> Importer::tensor_type(const RawTensorMeta& meta, std::string_view name) {
  Result<DType> dtype = dtype_of(meta.dtype);
  if (!dtype)
    return fail(fmt::format("tensor {}: {}", show(name), dtype.error().message), "export it in another dtype");
  if (meta.layout != kStridedLayout) {
    return fail(
        fmt::format("tensor {} has layout {} (sparse or foreign), expected 7 (strided)", show(name), meta.layout));
  }
  if (meta.sizes.size() > 64)
    return fail(fmt::format("tensor {} has {} dimensions, at most 64 are read", show(name), meta.sizes.size()));
  ir::Shape sizes;
  sizes.reserve(meta.sizes.size());
  for (const RawSymInt& raw : meta.sizes) {
    SymValue value = symbols_.value(raw);
    const SymInt* size = as_size(value);
    if (size == nullptr) {
      const auto* opaque = std::get_if<Opaque>(&value);
      return fail(fmt::format("tensor {}: size {} cannot be used: {}", show(name), show(raw.expr),
                              opaque != nullptr ? opaque->why : "it is not a whole number"));
    }
    if (size->is_const() && size->value() < 0)
      return fail(fmt::format("tensor {} has a negative size, {}", show(name), size->value()));
    sizes.push_back(*size);
  }
  if (!holdable(sizes)) {
    return fail(fmt::format("tensor {}: its sizes {} multiply to more elements than memory can hold", show(name),
                            ir::shape_text(sizes)));
  }
  return ir::Type::tensor(*dtype, std::move(sizes));
}

std::vector<SymInt> Importer::eager_strides(const RawTensorMeta& meta, const ir::Type& type) {
  if (meta.strides.size() != type.sizes.size()) return {};
  std::vector<SymInt> strides;
  strides.reserve(meta.strides.size());
  bool plain = true;
  for (const RawSymInt& raw : meta.strides) {
    SymValue value = symbols_.value(raw);
    const SymInt* stride = as_size(value);
    if (stride == nullptr) return {};
    plain = plain && stride->is_const() && stride->value() >= 0;
    strides.push_back(*stride);
  }
  if (plain && type.is_static()) {  // the common case, in plain numbers
    int64_t expected = 1;
    bool contiguous = true;
    for (size_t i = strides.size(); i-- > 0;) {
      const int64_t size = type.sizes[i].value();
      if (size != 1 && strides[i].value() != expected) contiguous = false;
      expected *= std::max<int64_t>(size, 1);
    }
    return contiguous ? std::vector<SymInt>{} : strides;
  }
  return row_major(type, strides) ? std::vector<SymInt>{} : strides;
}

Status Importer::inputs(Scope& scope) {
  const std::vector<RawInputSpec>& specs = exported_.inputs;
  const std::vector<RawArg>& args = exported_.graph.inputs;
  if (specs.size() != args.size()) {
    return fail(fmt::format("the graph has {} inputs, its signature {}", args.size(), specs.size()));
  }
  using Kind = RawInputSpec::Kind;
  for (size_t i = 0; i < specs.size(); ++i) {
    const RawInputSpec& spec = specs[i];
    if (spec.kind == Kind::User || spec.kind == Kind::ConstantInput) {
      EL_TRY_OK(user_input(spec, args[i], scope));
      continue;
    }
    if (spec.kind == Kind::Token || spec.kind == Kind::CustomObject) continue;  // refused where a node uses one
    const auto* tensor = std::get_if<TensorArg>(&args[i]);
    if (tensor == nullptr || tensor->name != spec.name) {
      return fail(fmt::format("input {} of the graph is {}, its signature says {}", i,
                              tensor != nullptr ? show(tensor->name) : std::string(tag_of(args[i])), show(spec.name)));
    }
    Bound bound;
    bound.kind = Bound::Kind::Weight;
    bound.weight = i;
    EL_TRY_OK(define(scope, spec.name, std::move(bound)));
    if (spec.kind != Kind::TensorConstant) weight_of_fqn_.emplace(spec.fqn, i);
  }
  return Ok{};
}

Status Importer::user_input(const RawInputSpec& spec, const RawArg& arg, Scope& scope) {
  if (const auto* tensor = std::get_if<TensorArg>(&arg)) {
    const auto* named = std::get_if<TensorArg>(&spec.arg);
    if (named == nullptr || named->name != tensor->name) {
      return fail(fmt::format("input {} of the graph is not the one that its signature names", show(tensor->name)));
    }
    const auto meta = exported_.graph.tensors.find(tensor->name);
    if (meta == exported_.graph.tensors.end())
      return fail(fmt::format("input {} has no entry in tensor_values", show(tensor->name)));
    EL_TRY(ir::Type type, tensor_type(meta->second, tensor->name));
    std::vector<SymInt> strides = eager_strides(meta->second, type);
    type.dim_order = dim_order_of(type, strides);
    ir::Value* value = graph_->add_input(std::string(tensor->name), std::move(type));
    value->strides = std::move(strides);
    Bound bound;
    bound.kind = Bound::Kind::Tensor;
    bound.tensor = value;
    return define(scope, tensor->name, std::move(bound));
  }
  if (const auto* symbolic = std::get_if<SymArg>(&arg); symbolic != nullptr && symbolic->is_name()) {
    using Kind = ir::Type::Kind;
    const Kind kind = symbolic->kind == SymKind::Int     ? Kind::Int
                      : symbolic->kind == SymKind::Float ? Kind::Float
                                                         : Kind::Bool;
    Bound bound;
    if (symbolic->kind != SymKind::Int) {
      bound.number = graph_->add_input(std::string(symbolic->name), ir::Type::scalar(kind));
      return define(scope, symbolic->name, std::move(bound));
    }
    const auto raw = exported_.graph.sym_ints.find(symbolic->name);
    if (raw == exported_.graph.sym_ints.end())
      return fail(fmt::format("input {} has no entry in sym_int_values", show(symbolic->name)));
    bound.number = symbols_.value(raw->second);
    const auto* size = std::get_if<SymInt>(&bound.number);
    ir::Value* value = graph_->add_input(std::string(symbolic->name), ir::Type::scalar(kind));
    if (size == nullptr) return fail(fmt::format("input {} is not a plain symbol", show(symbolic->name)));
    if (size->is_const()) {
      value->literal = *size;
    } else {
      const auto symbols = size->symbols();
      if (symbols.size() != 1 || !(SymInt::symbol(symbols.front()) == *size)) {
        return fail(fmt::format("input {} is the expression {}, expected a symbol", show(symbolic->name), size->str()));
      }
      value->symbol = symbols.front();
    }
    return define(scope, symbolic->name, std::move(bound));
  }
  // A Python value that the export baked in. It still takes a slot in the call; nodes do not refer to it.
  const RawArg& literal = spec.kind == RawInputSpec::Kind::ConstantInput ? spec.arg : arg;
  const auto kind = literal_kind(literal);
  if (!kind) {
    return fail(fmt::format("input {} of kind {} is not supported; expected a tensor, a number, a string or None",
                            show(spec.name), tag_of(literal)));
  }
  const std::string name = spec.name.empty() ? "input" : std::string(spec.name);
  graph_->add_input(name, ir::Type::scalar(*kind))->literal = literal_value(literal);
  return Ok{};
}

Result<ir::Constant*> Importer::weight_constant(size_t weight) {
  const RawInputSpec& spec = exported_.inputs[weight];
  EL_TRY(Payload payload, payloads_.find(spec));
  const auto [slot, fresh] = constants_.try_emplace(std::move(payload.identity), nullptr);
  if (fresh) {
    slot->second = program_.add_constant(std::string(spec.fqn), std::move(payload.data));
    stored_.push_back({slot->second, payload.entry});
  }
  return slot->second;
}

Result<ir::Value*> Importer::constant_of(size_t weight) {
  const RawInputSpec& spec = exported_.inputs[weight];
  EL_TRY(ir::Constant* const constant, weight_constant(weight));
  // The graph repeats what the table says; both are wrong if they differ.
  const auto meta = exported_.graph.tensors.find(spec.name);
  if (meta != exported_.graph.tensors.end()) {
    EL_TRY(const ir::Type recorded, tensor_type(meta->second, spec.name));
    const ir::Type stored = constant->type();
    if (recorded.dtype != stored.dtype || recorded.sizes != stored.sizes) {
      return fail(fmt::format("weight {} is {} in the graph and {} in the archive", show(spec.fqn), recorded.str(),
                              stored.str()));
    }
  }
  ir::Value* value = graph_->constant_value(constant);
  if (value->strides.empty() && !constant->data.is_contiguous()) {
    for (const int64_t stride : constant->data.strides()) value->strides.emplace_back(stride);
  }
  view_of_.emplace(value, constant);
  return value;
}

// Two weights that share bytes without being one view cannot become two independent constants once one is written.
Status Importer::check_overlaps() {
  std::unordered_map<std::string_view, const ir::Constant*> written;
  for (const Stored& s : stored_)
    if (s.constant->is_mutable && !s.constant->data.empty()) written.emplace(s.entry, s.constant);
  if (written.empty()) return Ok{};
  const auto extent = [](const TensorData& data) {
    int64_t last = data.offset();
    for (size_t i = 0; i < data.sizes().size(); ++i) last += (data.sizes()[i] - 1) * data.strides()[i];
    return std::pair(data.offset(), last);
  };
  for (const Stored& s : stored_) {
    const auto found = written.find(s.entry);
    if (found == written.end() || found->second == s.constant || s.constant->data.empty()) continue;
    const auto [a_first, a_last] = extent(found->second->data);
    const auto [b_first, b_last] = extent(s.constant->data);
    if (a_last < b_first || b_last < a_first) continue;
    return fail(fmt::format("the program writes {}, which shares memory with {}", show(found->second->name),
                            show(s.constant->name)),
                "clone one of them before export");
  }
  return Ok{};
}

Result<ir::OutputSpec> Importer::user_output(const RawArg& arg, Scope& scope) {
  ir::OutputSpec out;
  if (const auto* tensor = std::get_if<TensorArg>(&arg)) {
    EL_TRY(out.value, tensor_named(tensor->name, scope));
    return out;
  }
  if (literal_kind(arg)) {
    out.literal = literal_value(arg);
    return out;
  }
  if (std::holds_alternative<SymArg>(arg)) {
    EL_TRY(SymValue number, number_of(arg, scope));
    if (const auto* size = std::get_if<SymInt>(&number)) {
      out.literal = *size;
    } else if (const auto* ratio = std::get_if<ir::SymRatio>(&number)) {
      out.literal = *ratio;
    } else if (const auto* flag = std::get_if<bool>(&number)) {
      out.literal = *flag;
    } else if (auto* const* value = std::get_if<ir::Value*>(&number)) {
      out.value = *value;
    } else {
      return fail(fmt::format("an output cannot be computed: {}", std::get<Opaque>(number).why),
                  "return a tensor instead");
    }
    return out;
  }
  return fail(
      fmt::format("an output of kind {} is not supported; expected a tensor, a number, a string or None", tag_of(arg)));
}

Status Importer::outputs(Scope& scope) {
  const std::vector<RawOutputSpec>& specs = exported_.outputs;
  const std::vector<RawArg>& args = exported_.graph.outputs;
  here_ = {};
  if (specs.size() != args.size()) {
    return fail(fmt::format("the graph has {} outputs, its signature {}", args.size(), specs.size()));
  }
  using Kind = RawOutputSpec::Kind;
  for (size_t i = 0; i < specs.size(); ++i) {
    const RawOutputSpec& spec = specs[i];
    const auto* tensor = std::get_if<TensorArg>(&args[i]);
    const auto* named = std::get_if<TensorArg>(&spec.arg);
    const std::string_view expected = named != nullptr ? named->name : spec.name;
    if (tensor != nullptr ? tensor->name != expected : (named != nullptr || spec.kind != Kind::User)) {
      return fail(fmt::format("output {} of the graph is not {}, which its signature names", i, show(expected)));
    }
    if (spec.kind == Kind::User) {
      EL_TRY(ir::OutputSpec output, user_output(args[i], scope));
      graph_->add_output(std::move(output));
      continue;
    }
    if (spec.kind == Kind::Other) {
      return fail(
          fmt::format("output {} is of kind {}, which a program for inference does not have", i, show(spec.tag)),
          "export the forward pass alone");
    }
    ir::OutputSpec output;
    EL_TRY(output.value, tensor_named(tensor->name, scope));
    ir::Type target;
    if (spec.kind == Kind::InputMutation) {
      output.kind = ir::OutputSpec::Kind::InputMutation;
      const auto found = scope.names.find(spec.target);
      if (found == scope.names.end() || found->second.kind != Bound::Kind::Tensor ||
          !found->second.tensor->is_input()) {
        return fail(fmt::format("output {} writes input {}, which does not exist", i, show(spec.target)));
      }
      output.input = found->second.tensor->index;
      target = found->second.tensor->type;
    } else {
      output.kind = ir::OutputSpec::Kind::BufferMutation;
      const auto found = weight_of_fqn_.find(spec.target);
      if (found == weight_of_fqn_.end())
        return fail(fmt::format("output {} writes {}, which does not exist", i, show(spec.target)));
      EL_TRY(ir::Constant* const constant, weight_constant(found->second));
      constant->is_mutable = true;
      output.target = constant;
      target = constant->type();
    }
    if (output.value->type.dtype != target.dtype || output.value->type.rank() != target.rank()) {
      return fail(fmt::format("output {} writes a {} into {}, which is {}", i, output.value->type.str(),
                              show(spec.target), target.str()));
    }
    graph_->add_output(std::move(output));
  }
  return Ok{};
}

}  // namespace edgelift::importer
