#include "emit/method.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/check.h"
#include "emit/emitter.h"

namespace edgelift::emit {
namespace {

// True if the kernel does the right thing with these dim orders: nothing to follow, a copy that is made for it, or
// element by element over tensors that all lie in memory in the same way.
bool follows_dim_order(const ir::Node& node) {
  const ops::OpRecord& record = ops::record(node);
  if (record.kernel.starts_with("dim_order_ops::")) return true;
  std::vector<const ir::Type*> types;
  for (const ir::Value* value : node.operands()) types.push_back(&value->type);
  for (const ir::Value* value : node.results) types.push_back(&value->type);
  std::erase_if(types, [](const ir::Type* type) { return !type->is_tensor(); });
  if (std::all_of(types.begin(), types.end(), [](const ir::Type* type) { return row_major(*type); })) return true;
  return record.has(ops::kPointwise) && std::all_of(types.begin(), types.end(), [&](const ir::Type* type) {
           return type->sizes == types[0]->sizes && type->dim_order == types[0]->dim_order;
         });
}

}  // namespace

MethodEmitter::MethodEmitter(const std::vector<xnn::Graph>& graphs, const ir::Graph& graph, const Options& options,
                             FileData& file, DelegateBlobs& blobs, MissingKernels& missing)
    : graphs_(graphs),
      graph_(graph),
      options_(options),
      file_(file),
      blobs_(blobs),
      missing_(missing),
      values_(plan_, file),
      caller_(plan_),
      sizes_(values_, caller_),
      state_(graph),
      args_(values_, sizes_,
            [this](const ir::Value* value) { return row_major_args_ ? row_major_operand(value) : operand(value); }) {}

Result<pte::Plan> MethodEmitter::emit(MemoryPlan& memory, std::vector<const ir::Node*>& nodes) {
  plan_.name = graph_.name();
  for (const ir::OutputSpec& output : graph_.outputs()) {
    if (output.value == nullptr) continue;
    kept_.insert(output.value);
    if (output.kind == ir::OutputSpec::Kind::User) outputs_.insert(output.value);
  }
  EL_TRY_OK(inputs());
  for (const ir::Node* node = graph_.first(); node != nullptr; node = node->next) {
    const size_t before = plan_.instructions.size();
    EL_TRY_OK(this->node(*node));
    nodes.resize(before);
    nodes.resize(plan_.instructions.size(), node);
    if (options_.frames) {
      plan_.frames.resize(before);
      plan_.frames.resize(plan_.instructions.size(), ir::source_line(node->origin));
    }
  }
  EL_TRY_OK(outputs());
  nodes.resize(plan_.instructions.size());
  if (missing_.empty()) place(memory);  // else the program is refused
  return std::move(plan_);
}

Error MethodEmitter::at_value(const ir::Value& value, const Error& error) const {
  const ir::Node* node = value.producer;
  if (node == nullptr) return input_error(fmt::format("method {}: %{} {}", graph_.name(), value.name, error.message));
  return at_node(*node, error);
}

Error MethodEmitter::at_node(const ir::Node& node, const Error& error) const {
  const std::string line = ir::place(node.origin);
  const std::string op = ops::is_delegate(node) ? "a delegate's result" : ops::record(node).edge_name();
  const std::string name = node.results.empty() ? "" : " (%" + node.results[0]->name + ")";
  return {error.kind, fmt::format("method {}: {}{}{} {}", graph_.name(), op, name, line.empty() ? "" : " at " + line,
                                  error.message)};
}

Status MethodEmitter::inputs() {
  for (const ir::Value* input : graph_.inputs()) {
    if (!input->type.is_tensor()) {
      EL_TRY(const int32_t index, literal_input(*input));
      set_index(input, index);
      plan_.inputs.push_back(index);
      continue;
    }
    auto tensor = values_.tensor_of(input->type);
    if (!tensor) return at_value(*input, tensor.error());
    // What the method writes back must reach the caller's own memory.
    const bool planned = options_.plan_inputs && !state_.is_written(input);
    const int32_t index =
        planned ? values_.add_in_new_block(std::move(*tensor)) : values_.add_without_memory(std::move(*tensor));
    set_index(input, index);
    plan_.inputs.push_back(index);
    sizes_.learn(input->type, index);
  }
  return Ok{};
}

Result<int32_t> MethodEmitter::literal_input(const ir::Value& input) {
  const SymbolPtr& symbol = input.symbol;
  if (symbol != nullptr && symbol->lo == symbol->hi) {
    sizes_.learn(symbol, values_.integer(symbol->lo));
    return values_.integer(symbol->lo);
  }
  if (input.type.kind == ir::Type::Kind::None) return values_.null();
  if (const auto* number = std::get_if<SymInt>(&input.literal); number != nullptr && number->is_const())
    return values_.integer(number->value());
  if (const auto* number = std::get_if<double>(&input.literal)) return values_.real(*number);
  if (const auto* flag = std::get_if<bool>(&input.literal)) return values_.flag(*flag);
  if (const auto* text = std::get_if<std::string>(&input.literal)) return values_.text(*text);
  return input_error(
      fmt::format("method {}: input {} is a number that may change from call to call; ExecuTorch's runtime takes only "
                  "the number that was fixed at export. Pass it as a tensor of one element",
                  graph_.name(), input.name));
}

Result<int32_t> MethodEmitter::operand(const ir::Value* value) {
  if (const auto known = index_.find(value); known != index_.end()) return known->second;
  EL_CHECK(value->constant != nullptr, "%" + value->name + " is used before it is computed");
  return constant(value);
}

Result<int32_t> MethodEmitter::constant(const ir::Value* value) {
  const ir::Constant& constant = *value->constant;
  auto tensor = values_.tensor_of(value->type);
  if (!tensor)
    return Error{ErrorKind::Input,
                 fmt::format("uses the constant {}, which {}", constant.name, tensor.error().message)};
  int32_t index = -1;
  if (constant.is_mutable) {
    tensor->initial = file_.initial(constant.data);
    tensor->name = constant.name;
    index = values_.add_in_new_block(std::move(*tensor));
    whole_life_.push_back(values_.place(index).block);
  } else {
    index = values_.add_constant(std::move(*tensor), constant.data, value->type.dim_order);
  }
  set_index(value, index);
  return index;
}

Status MethodEmitter::node(const ir::Node& node) {
  const Status status = ops::is_delegate(node) ? delegate_call(node) : kernel_call(node);
  if (!status) return at_node(node, status.error());
  for (const ir::Value* result : node.results) {
    const auto index = index_.find(result);
    if (index != index_.end()) sizes_.learn(result->type, index->second);
  }
  return Ok{};
}

// A result gets memory of its own, or that of the buffer which it becomes the new value of.
Result<int32_t> MethodEmitter::result(const ir::Value* value) {
  if (const ir::Value* buffer = state_.written_directly(value)) {
    EL_TRY(const int32_t index, operand(buffer));
    set_index(value, index);
    return index;
  }
  EL_TRY(pte::Tensor tensor, values_.tensor_of(value->type));
  const bool planned = options_.plan_outputs || !outputs_.contains(value);
  int32_t index = -1;
  if (!planned) {
    index = values_.add_without_memory(std::move(tensor));
  } else if (const Place place = in_place_of(value); place.block >= 0) {
    index = values_.add_in_block(std::move(tensor), place);
  } else {
    index = values_.add_in_new_block(std::move(tensor));
  }
  set_index(value, index);
  return index;
}

Status MethodEmitter::delegate_call(const ir::Node& node) {
  const auto number = static_cast<size_t>(std::get<SymInt>(node.args.at(0)).value());
  const auto& operands = std::get<ir::ValueList>(node.args.at(1));
  const xnn::Graph& graph = graphs_.at(number);
  EL_CHECK(graph.inputs.size() + graph.constant_inputs.size() == operands.size() &&
               graph.outputs.size() == node.results.size(),
           "operands and results of a delegate call");
  pte::DelegateCall call;
  for (const ir::Value* value : operands) {
    EL_TRY(const int32_t index, operand(value));
    call.args.push_back(index);
  }
  for (const ir::Value* value : node.results) {
    EL_TRY(const int32_t index, result(value));
    call.args.push_back(index);
  }
  if (blobs_.blob.at(number) < 0) EL_TRY_OK(add_blob(number));
  const auto [known, inserted] = delegates_.try_emplace(number, static_cast<int32_t>(plan_.delegates.size()));
  if (inserted) plan_.delegates.push_back({blobs_.blob[number]});
  call.delegate = known->second;
  plan_.instructions.emplace_back(std::move(call));
  return Ok{};
}

Status MethodEmitter::add_blob(size_t number) {
  EL_TRY(xnn::Blob blob, xnn::serialize(graphs_[number]));
  pte::Program& program = file_.program();
  blobs_.blob[number] = static_cast<int32_t>(program.blobs.size());
  pte::DelegateBlob out;
  out.bytes = std::move(blob.bytes);
  program.blobs.push_back(std::move(out));
  for (xnn::Blob::Named& named : blob.named) {
    // The key is the content's hash, so weights that several delegates use are written once.
    const auto [known, inserted] = blobs_.named.try_emplace(named.key, program.named.size());
    if (inserted) {
      program.named.push_back({named.key, std::move(named.data)});
    } else {
      EL_CHECK(program.named[known->second].data.nbytes() == named.data.nbytes(),
               "two weights with the key " + named.key);
    }
  }
  return Ok{};
}

Status MethodEmitter::kernel_call(const ir::Node& node) {
  const ops::OpRecord& record = ops::record(node);
  if (record.has(ops::kView) && (elide_view(node) || view_call(node))) return Ok{};
  if (elide_slices(node)) return Ok{};
  if (const std::optional<std::string> why = ops::kernel_refusal(ops::Call(node))) {
    if (options_.allow_missing_kernels && !record.kernel.empty()) {
      // The person registers it; its arguments are those of the record.
    } else if (record.has(ops::kView) && same_memory_base(node) != nullptr) {
      return view_copy(node);
    } else {
      report_missing(record, *why, node);
      for (const ir::Value* value : node.results)
        if (value->type.is_tensor()) EL_TRY_OK(result(value));
      return Ok{};
    }
  }
  if (state_.writes_in_place(node)) return in_place_call(node);
  // Most kernels take their operands' elements to lie in row-major order, some without a check.
  row_major_args_ = !follows_dim_order(node);
  Result<std::vector<int32_t>> args = args_.of(node);
  const bool convert_results = std::exchange(row_major_args_, false);
  if (!args) return args.take_error();
  return call_with_results(node, record.kernel, *std::move(args), convert_results);
}

Status MethodEmitter::call_with_results(const ir::Node& node, const std::string& kernel, std::vector<int32_t> args,
                                        bool convert_results) {
  const ops::OpRecord& record = ops::record(node);
  std::vector<int32_t> outs;
  std::vector<std::pair<int32_t, int32_t>> conversions;
  for (const ir::Value* value : node.results) {
    if (value->type.is_tensor()) {
      EL_TRY(const int32_t index, result(value));
      if (convert_results && !row_major(value->type)) {
        const int32_t made = values_.add_in_new_block(bare(index, row_major_order(index)));
        outs.push_back(made);
        conversions.emplace_back(made, index);
        row_major_twins_.emplace(index, made);
      } else {
        outs.push_back(index);
      }
      continue;
    }
    // A number that the operator makes: primitives overwrite one value and have no slot for a return.
    int32_t index = -1;
    switch (value->type.kind) {
      case ir::Type::Kind::Int:
        index = values_.mutable_int();
        break;
      case ir::Type::Kind::Float:
        index = values_.mutable_real();
        break;
      case ir::Type::Kind::Bool:
        index = values_.mutable_flag();
        break;
      default:
        return input_error("has a result of a kind that no kernel makes");
    }
    set_index(value, index);
    if (value->symbol != nullptr) sizes_.learn(value->symbol, index);
    args.push_back(index);
  }
  const bool list = !record.schema.returns.empty() && record.schema.returns[0].kind == ir::ReturnKind::TensorList;
  if (list) {
    const int32_t index = values_.tensor_list(std::move(outs));
    args.push_back(index);
    args.push_back(index);
  } else if (outs.size() == 1) {
    args.push_back(outs[0]);
    args.push_back(outs[0]);
  } else if (!outs.empty()) {
    args.insert(args.end(), outs.begin(), outs.end());
    args.push_back(values_.tensor_list(std::move(outs)));
  }
  caller_.call(kernel, std::move(args));
  for (const auto& [from, to] : conversions) convert(from, to);
  return Ok{};
}

// index_put on a buffer that takes the result: the runtime has the in-place kernel, so the buffer is not copied.
Status MethodEmitter::in_place_call(const ir::Node& node) {
  EL_TRY(std::vector<int32_t> args, args_.of(node));
  set_index(node.result(), args.at(0));
  args.push_back(args[0]);
  caller_.call("aten::index_put_", std::move(args));
  return Ok{};
}

void MethodEmitter::report_missing(const ops::OpRecord& record, const std::string& why, const ir::Node& node) {
  MissingKernel& missing = missing_[record.edge_name() + "\n" + why];
  if (missing.count++ == 0) {
    missing.op = record.edge_name();
    missing.why = why;
    missing.place = ir::place(node.origin);
  }
}

// A tensor with the elements of another in another dim order.
void MethodEmitter::convert(int32_t from, int32_t to) {
  std::vector<int32_t> order;
  const std::vector<uint8_t> dims = values_.tensor(to).dim_order;
  for (const uint8_t dim : dims) order.push_back(values_.integer(dim));
  caller_.call("dim_order_ops::_to_dim_order_copy.out",
               {from, values_.flag(false), values_.int_list(std::move(order)), to, to});
}

pte::Tensor MethodEmitter::bare(int32_t like, std::vector<uint8_t> dim_order) const {
  pte::Tensor tensor = values_.tensor(like);
  tensor.constant = tensor.initial = -1;
  tensor.name.clear();
  tensor.dim_order = std::move(dim_order);
  return tensor;
}

std::vector<uint8_t> MethodEmitter::row_major_order(int32_t index) const {
  std::vector<uint8_t> order(values_.tensor(index).dim_order.size());
  std::iota(order.begin(), order.end(), uint8_t{0});
  return order;
}

Result<int32_t> MethodEmitter::row_major_operand(const ir::Value* value) {
  EL_TRY(const int32_t index, operand(value));
  if (!value->type.is_tensor() || row_major(value->type)) return index;
  const auto [known, inserted] = row_major_twins_.try_emplace(index, -1);
  if (inserted) {
    const int32_t twin = values_.add_in_new_block(bare(index, row_major_order(index)));
    known->second = twin;
    convert(index, twin);
  }
  return known->second;
}

Result<pte::Plan> emit_method(const std::vector<xnn::Graph>& graphs, const ir::Graph& graph, const Options& options,
                              FileData& file, DelegateBlobs& blobs, MissingKernels& missing, MemoryPlan& memory,
                              std::vector<const ir::Node*>& nodes) {
  return MethodEmitter(graphs, graph, options, file, blobs, missing).emit(memory, nodes);
}

}  // namespace edgelift::emit
