#include "runtime/method.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>

#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/method_meta.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "base/numbers.h"
#include "runtime/platform.h"
#include "runtime/tracer.h"

namespace edgelift::runtime {

namespace et = executorch::runtime;
namespace aten = executorch::aten;

std::string InputSpec::str() const {
  switch (kind) {
    case Kind::Tensor:
      return fmt::format("{} [{}]{}", long_name(dtype), fmt::join(sizes, ","), dynamic ? " at most" : "");
    case Kind::Int:
      return fmt::format("int {}", std::get<int64_t>(literal));
    case Kind::Double:
      return fmt::format("float {}", float_text(std::get<double>(literal)));
    case Kind::Bool:
      return std::get<bool>(literal) ? "bool true" : "bool false";
    case Kind::String:
      return fmt::format("string '{}'", std::get<std::string>(literal));
    case Kind::None:
      return "None";
  }
  EL_UNREACHABLE("kind of an input");
}

namespace {

// XNNPACK may read a little past the end of an operand.
constexpr size_t kSlack = 64;

class Buffer {
 public:
  static std::optional<Buffer> allocate(size_t size) {
    if (size > SIZE_MAX / 2) return std::nullopt;
    void* at = ::operator new (size + kSlack, std::align_val_t{64}, std::nothrow);
    if (at == nullptr) return std::nullopt;
    return Buffer(static_cast<uint8_t*>(at), size);
  }
  uint8_t* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(uint8_t* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  Buffer(uint8_t* data, size_t size) : data_(data), size_(size) {}
  std::unique_ptr<uint8_t, Free> data_;
  size_t size_ = 0;
};

std::vector<int64_t> permuted_strides(std::span<const int64_t> sizes, std::span<const uint8_t> dim_order) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = dim_order.size(); i-- > 0;) {
    strides[dim_order[i]] = stride;
    stride *= std::max<int64_t>(sizes[dim_order[i]], 1);
  }
  return strides;
}

std::string argument_text(const Argument& argument) {
  if (const auto* t = std::get_if<TensorData>(&argument))
    return fmt::format("{} [{}]", long_name(t->dtype()), fmt::join(t->sizes(), ","));
  if (const auto* i = std::get_if<int64_t>(&argument)) return fmt::format("int {}", *i);
  if (const auto* d = std::get_if<double>(&argument)) return fmt::format("float {}", float_text(*d));
  if (const auto* b = std::get_if<bool>(&argument)) return *b ? "bool true" : "bool false";
  if (const auto* s = std::get_if<std::string>(&argument)) return fmt::format("string '{}'", *s);
  return "None";
}

bool same_literal(const Argument& a, const Argument& b) {
  if (a.index() != b.index()) return false;
  if (const auto* i = std::get_if<int64_t>(&a)) return *i == std::get<int64_t>(b);
  if (const auto* d = std::get_if<double>(&a)) return *d == std::get<double>(b);
  if (const auto* f = std::get_if<bool>(&a)) return *f == std::get<bool>(b);
  if (const auto* s = std::get_if<std::string>(&a)) return *s == std::get<std::string>(b);
  return std::holds_alternative<std::monostate>(a);
}

// The tensor that is handed to the runtime for one input. The arrays must stay where they are.
struct InputTensor {
  std::optional<Buffer> buffer;
  std::vector<aten::SizesType> sizes;
  std::vector<aten::DimOrderType> dim_order;
  std::vector<aten::StridesType> strides;
  std::unique_ptr<aten::TensorImpl> impl;
};

class LoadedMethod final : public Method {
 public:
  explicit LoadedMethod(std::string name) : name_(std::move(name)) {}

  Status load(const et::Program& program, const SessionOptions& options) {
    return guarded("method " + name_, [&]() -> Status { return load_now(program, options); });
  }

  const std::vector<InputSpec>& inputs() const override { return inputs_; }
  size_t output_count() const override { return method_->outputs_size(); }

  Status set_inputs(std::span<const Argument> arguments) override {
    if (arguments.size() != inputs_.size())
      return input_error(fmt::format("method {} takes {} inputs, {} were given: {}", name_, inputs_.size(),
                                     arguments.size(), signature()));
    for (size_t i = 0; i < arguments.size(); ++i) EL_TRY_OK(set_input(i, arguments[i]));
    set_ = true;
    return Ok{};
  }

  Status execute() override {
    if (!set_ && !inputs_.empty()) return internal_error("execute() before set_inputs()");
    return guarded("method " + name_, [&]() -> Status {
      const LogCapture log;
      for (size_t i = 0; i < inputs_.size(); ++i) {
        const et::Error error = method_->set_input(value(i), i);
        if (error != et::Error::Ok) return runtime_error(fmt::format("input {}", i), error, log);
      }
      for (const Output& output : outputs_) {
        const et::Error error =
            method_->set_output_data_ptr(output.buffer->data(), output.buffer->size(), output.index);
        if (error != et::Error::Ok) return runtime_error(fmt::format("output {}", output.index), error, log);
      }
      if (tracer_) tracer_->create_event_block("execute");
      const et::Error error = method_->execute();
      if (error != et::Error::Ok) return runtime_error("running method " + name_, error, log);
      return Ok{};
    });
  }

  Result<std::vector<Argument>> outputs() override {
    std::vector<Argument> results;
    for (size_t i = 0; i < method_->outputs_size(); ++i) {
      const et::EValue& value = method_->get_output(i);
      if (value.isTensor()) {
        results.emplace_back(copy(value.toTensor()));
      } else if (value.isInt()) {
        results.emplace_back(value.toInt());
      } else if (value.isDouble()) {
        results.emplace_back(value.toDouble());
      } else if (value.isBool()) {
        results.emplace_back(value.toBool());
      } else if (value.isString()) {
        const auto text = value.toString();
        results.emplace_back(std::string(text.data(), text.size()));
      } else if (value.isNone()) {
        results.emplace_back();
      } else {
        return input_error(fmt::format("output {} of method {} is a list, which a method cannot return", i, name_));
      }
    }
    return results;
  }

  Result<std::vector<Event>> take_events() override {
    if (!tracer_) return internal_error("the session was opened without profiling");
    return tracer_->take();
  }

 private:
  struct Output {
    size_t index;
    std::optional<Buffer> buffer;
  };

  std::string signature() const {
    std::string text;
    for (const InputSpec& input : inputs_) text += (text.empty() ? "" : ", ") + input.str();
    return text.empty() ? "none" : text;
  }

  Status load_now(const et::Program& program, const SessionOptions& options) {
    const LogCapture log;
    const auto meta = program.method_meta(name_.c_str());
    if (!meta.ok()) return runtime_error("method " + name_, meta.error(), log);
    std::vector<et::Span<uint8_t>> spans;
    for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
      const auto size = meta->memory_planned_buffer_size(i);
      if (!size.ok() || *size < 0)
        return input_error(fmt::format("planned buffer {} of method {} has no valid size", i + 1, name_));
      std::optional<Buffer> buffer = Buffer::allocate(static_cast<size_t>(*size));
      if (!buffer)
        return input_error(fmt::format("planned buffer {} of method {} asks for {}, more than this machine gives",
                                       i + 1, name_, human_bytes(static_cast<uint64_t>(*size))));
      spans.emplace_back(buffer->data(), buffer->size());
      planned_.push_back(std::move(*buffer));
    }
    hierarchical_ =
        std::make_unique<et::HierarchicalAllocator>(et::Span<et::Span<uint8_t>>(spans.data(), spans.size()));
    memory_ = std::make_unique<et::MemoryManager>(&method_memory_, hierarchical_.get(), &temporary_memory_);
    if (options.profile) tracer_ = std::make_unique<Tracer>();
    auto method = program.load_method(name_.c_str(), memory_.get(), tracer_.get());
    if (!method.ok()) return runtime_error("loading method " + name_, method.error(), log);
    method_.emplace(std::move(*method));
    describe_inputs();
    return prepare_outputs(*meta);
  }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const et::EValue& own_input(size_t index) const { return method_->get_input(index); }
#pragma GCC diagnostic pop

  void describe_inputs() {
    tensors_.resize(method_->inputs_size());
    for (size_t i = 0; i < method_->inputs_size(); ++i) {
      InputSpec spec;
      const et::EValue& value = own_input(i);  // the metadata do not say whether a shape may change
      if (value.isTensor()) {
        const aten::Tensor& tensor = value.toTensor();
        spec.dtype = static_cast<DType>(tensor.scalar_type());
        spec.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
        spec.dim_order.assign(tensor.dim_order().begin(), tensor.dim_order().end());
        spec.dynamic = tensor.shape_dynamism() != aten::TensorShapeDynamism::STATIC;
      } else if (value.isInt()) {
        spec.kind = InputSpec::Kind::Int;
        spec.literal = value.toInt();
      } else if (value.isDouble()) {
        spec.kind = InputSpec::Kind::Double;
        spec.literal = value.toDouble();
      } else if (value.isBool()) {
        spec.kind = InputSpec::Kind::Bool;
        spec.literal = value.toBool();
      } else if (value.isString()) {
        spec.kind = InputSpec::Kind::String;
        spec.literal = std::string(value.toString().data(), value.toString().size());
      } else {
        spec.kind = InputSpec::Kind::None;
      }
      inputs_.push_back(std::move(spec));
    }
  }

  // Outputs without planned memory get a buffer of ours, except where they are an input, which has one.
  Status prepare_outputs(const et::MethodMeta& meta) {
    std::vector<const et::EValue*> seen;
    for (size_t i = 0; i < method_->inputs_size(); ++i) seen.push_back(&own_input(i));
    for (size_t i = 0; i < method_->outputs_size(); ++i) {
      const et::EValue& value = method_->get_output(i);
      if (!value.isTensor() || std::find(seen.begin(), seen.end(), &value) != seen.end()) continue;
      seen.push_back(&value);
      const auto info = meta.output_tensor_meta(i);
      if (!info.ok() || info->is_memory_planned()) continue;
      std::optional<Buffer> buffer = Buffer::allocate(info->nbytes());
      if (!buffer)
        return input_error(
            fmt::format("output {} of method {} asks for more memory than this machine gives", i, name_));
      outputs_.push_back({i, std::move(buffer)});
    }
    return Ok{};
  }

  Status set_input(size_t index, const Argument& argument) {
    const InputSpec& spec = inputs_[index];
    const auto mismatch = [&](std::string_view why) {
      return input_error(fmt::format("input {} of method {} is {}, the program takes {}{}", index, name_,
                                     argument_text(argument), spec.str(), why));
    };
    if (spec.kind != InputSpec::Kind::Tensor) {
      if (same_literal(argument, spec.literal)) return Ok{};
      return mismatch(": numbers and flags were fixed when the model was exported");
    }
    const auto* given = std::get_if<TensorData>(&argument);
    if (given == nullptr) return mismatch("");
    const bool bits = spec.dtype == DType::BF16 && given->dtype() == DType::U16;
    if (given->dtype() != spec.dtype && !bits) return mismatch("");
    if (given->sizes().size() != spec.sizes.size()) return mismatch("");
    for (size_t d = 0; d < spec.sizes.size(); ++d) {
      const bool fits = spec.dynamic ? given->sizes()[d] <= spec.sizes[d] : given->sizes()[d] == spec.sizes[d];
      if (!fits) return mismatch("");
    }
    return bind(index, *given);
  }

  Status bind(size_t index, const TensorData& given) {
    const InputSpec& spec = inputs_[index];
    InputTensor& tensor = tensors_[index];
    if (!tensor.buffer) {
      size_t bytes = byte_size(spec.dtype);
      for (const int64_t size : spec.sizes) bytes *= static_cast<size_t>(size);
      tensor.buffer = Buffer::allocate(bytes);
      if (!tensor.buffer)
        return input_error(fmt::format("input {} asks for more memory than this machine gives", index));
    }
    std::vector<int64_t> order(spec.dim_order.begin(), spec.dim_order.end());
    uint8_t* at = tensor.buffer->data();
    EL_TRY_OK(given.permuted(order).stream([&](std::span<const std::byte> chunk) -> Status {
      std::memcpy(at, chunk.data(), chunk.size());
      at += chunk.size();
      return Ok{};
    }));
    tensor.sizes.assign(given.sizes().begin(), given.sizes().end());
    tensor.dim_order.assign(spec.dim_order.begin(), spec.dim_order.end());
    const std::vector<int64_t> strides = permuted_strides(given.sizes(), spec.dim_order);
    tensor.strides.assign(strides.begin(), strides.end());
    tensor.impl = std::make_unique<aten::TensorImpl>(
        static_cast<aten::ScalarType>(spec.dtype), static_cast<ssize_t>(tensor.sizes.size()), tensor.sizes.data(),
        tensor.buffer->data(), tensor.dim_order.data(), tensor.strides.data());
    return Ok{};
  }

  et::EValue value(size_t index) const {
    const InputSpec& spec = inputs_[index];
    switch (spec.kind) {
      case InputSpec::Kind::Tensor:
        return et::EValue(aten::Tensor(tensors_[index].impl.get()));
      case InputSpec::Kind::Int:
        return et::EValue(std::get<int64_t>(spec.literal));
      case InputSpec::Kind::Double:
        return et::EValue(std::get<double>(spec.literal));
      case InputSpec::Kind::Bool:
        return et::EValue(std::get<bool>(spec.literal));
      case InputSpec::Kind::String:
        // The runtime takes no string from outside: its own, whose value set_input has checked, goes back to it.
        return own_input(index);
      case InputSpec::Kind::None:
        return et::EValue();
    }
    EL_UNREACHABLE("kind of an input");
  }

  static TensorData copy(const aten::Tensor& tensor) {
    const auto* first = static_cast<const std::byte*>(tensor.const_data_ptr());
    auto bytes = std::make_shared<std::vector<std::byte>>(first, first + tensor.nbytes());
    std::vector<int64_t> sizes(tensor.sizes().begin(), tensor.sizes().end());
    const std::vector<uint8_t> dim_order(tensor.dim_order().begin(), tensor.dim_order().end());
    std::vector<int64_t> strides = permuted_strides(sizes, dim_order);
    const std::span<const std::byte> storage(*bytes);
    return TensorData(static_cast<DType>(tensor.scalar_type()), std::move(sizes), std::move(strides), 0, storage,
                      std::move(bytes));
  }

  std::string name_;
  std::vector<Buffer> planned_;
  executorch::extension::MallocMemoryAllocator method_memory_, temporary_memory_;
  std::unique_ptr<et::HierarchicalAllocator> hierarchical_;
  std::unique_ptr<et::MemoryManager> memory_;
  std::unique_ptr<Tracer> tracer_;
  std::optional<et::Method> method_;  // after everything that it points to
  std::vector<InputSpec> inputs_;
  std::vector<InputTensor> tensors_;
  std::vector<Output> outputs_;
  bool set_ = false;
};

}  // namespace

Result<std::unique_ptr<Method>> load_method(const et::Program& program, const std::string& name,
                                            const SessionOptions& options) {
  auto method = std::make_unique<LoadedMethod>(name);
  EL_TRY_OK(method->load(program, options));
  return std::unique_ptr<Method>(std::move(method));
}

}  // namespace edgelift::runtime
