// Emission lets element-wise kernels write over a dead operand. That is right only as long as every such kernel of the
// runtime reads an element before it writes the same one: here each of them runs both ways.
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "emit/emit.h"
#include "ops/record.h"
#include "runtime/session.h"

namespace edgelift {
namespace {

using runtime::Argument;

TensorData sample(DType dtype, const std::vector<int64_t>& sizes, int salt) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  std::vector<double> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto step = static_cast<double>((i * 7 + static_cast<size_t>(salt) * 3) % 11);
    values[i] = dtype == DType::Bool ? (step > 5) : is_integer(dtype) ? step + 1 : 0.05 + step / 12;
  }
  return TensorData::of(DType::F64, sizes, values).converted(dtype);
}

struct Case {
  ir::Program program;
  std::vector<Argument> inputs;
  bool in_place_possible = false;
};

// operands -> op -> output, with a step before and after so that nothing but the operator keeps its operands alive.
std::optional<Case> make_case(const ops::OpRecord& record, DType dtype, const std::vector<int64_t>& sizes,
                              bool broadcast) {
  Case result;
  result.program.methods.push_back(std::make_unique<ir::Graph>("forward"));
  ir::Graph& graph = result.program.forward();
  std::vector<ir::Arg> args;
  int tensors = 0;
  const auto one = [&](const std::vector<int64_t>& shape, DType type) {
    ir::Type t = ir::Type::tensor(type, ir::Shape(shape.begin(), shape.end()));
    ir::Value* input = graph.add_input("x" + std::to_string(tensors), t);
    result.inputs.emplace_back(sample(type, shape, tensors));
    const ir::Op* step = ops::table().find("logical_xor");
    if (type == DType::Bool) return graph.insert(step, {input, input}, {t}, nullptr)->result();
    return graph
        .insert(ops::table().find("mul.Scalar"), {input, is_float(type) ? ir::Arg(1.0) : ir::Arg(SymInt(1))}, {t},
                nullptr)
        ->result();
  };
  for (const ir::ArgSpec& spec : record.schema.args) {
    switch (spec.kind) {
      case ir::ArgKind::Tensor: {
        const bool condition = spec.name == "condition" || spec.name == "mask";
        std::vector<int64_t> shape = sizes;
        if (broadcast && tensors > 0) shape.erase(shape.begin());
        args.emplace_back(one(shape, condition ? DType::Bool : dtype));
        ++tensors;
        break;
      }
      case ir::ArgKind::Scalar:
        args.push_back(spec.required ? (is_float(dtype) ? ir::Arg(0.5) : ir::Arg(SymInt(2))) : spec.default_value);
        break;
      case ir::ArgKind::OptScalar:
        args.push_back(spec.name == "min" ? (is_float(dtype) ? ir::Arg(0.2) : ir::Arg(SymInt(2))) : spec.default_value);
        break;
      case ir::ArgKind::Float:
        args.push_back(spec.required ? ir::Arg(0.5) : spec.default_value);
        break;
      case ir::ArgKind::Int:
        args.push_back(spec.required ? ir::Arg(SymInt(1)) : spec.default_value);
        break;
      case ir::ArgKind::Bool:
        args.push_back(spec.required ? ir::Arg(false) : spec.default_value);
        break;
      default:
        if (spec.required) return std::nullopt;
        args.push_back(spec.default_value);
    }
  }
  if (tensors == 0 || (broadcast && tensors < 2)) return std::nullopt;
  const auto types = ops::table().infer(record, args);
  if (!types.ok() || types->size() != 1 || !(*types)[0].is_tensor()) return std::nullopt;
  ir::Node* node = graph.insert(&record, args, *types, nullptr);
  if (ops::kernel_refusal(ops::Call(*node))) return std::nullopt;
  for (const ir::Value* operand : node->operands())
    if (operand->type.dtype == (*types)[0].dtype && operand->type.sizes == (*types)[0].sizes)
      result.in_place_possible = true;
  ir::OutputSpec output;
  output.value = node->result();
  graph.add_output(output);
  result.program.stage = ir::Stage::Edge;
  return result;
}

Result<TensorData> run(const Case& c, bool in_place, uint64_t& arena) {
  emit::Options options;
  options.in_place = in_place;
  EL_TRY(const emit::Emitted emitted, emit::emit(c.program, {}, options));
  arena = emitted.plans[0].arena_bytes;
  const auto bytes = std::make_shared<std::vector<std::byte>>(*pte::write_to_memory(emitted.program));
  EL_TRY(const auto session, runtime::Session::open(*bytes, bytes));
  EL_TRY(runtime::Method* const method, session->method());
  EL_TRY(const std::vector<Argument> outputs, method->run(c.inputs));
  return std::get<TensorData>(outputs[0]);
}

TEST(InPlace, EveryElementWiseKernelMayWriteOverItsOperand) {
  std::set<std::string> shared;
  for (const ops::OpRecord* record : ops::all_records()) {
    if (!record->has(ops::kPointwise) || record->has(ops::kView) || record->has(ops::kInPlace) ||
        record->has(ops::kRandom))
      continue;
    if (record->kernel.empty() || !ops::kernel_registered(record->kernel)) continue;
    for (const DType dtype : {DType::F32, DType::F16, DType::I64, DType::U8, DType::Bool}) {
      for (const auto& [sizes, broadcast] :
           {std::pair(std::vector<int64_t>{3, 37}, false), std::pair(std::vector<int64_t>{3, 37}, true),
            std::pair(std::vector<int64_t>{5, 20011}, false)}) {
        const std::optional<Case> c = make_case(*record, dtype, sizes, broadcast);
        if (!c || !c->in_place_possible) continue;
        uint64_t apart_bytes = 0, shared_bytes = 0;
        const auto apart = run(*c, false, apart_bytes);
        if (!apart.ok()) continue;  // not a dtype of this kernel
        const auto over = run(*c, true, shared_bytes);
        ASSERT_TRUE(over.ok()) << record->full_name() << ": " << over.error().message;
        ASSERT_EQ(apart->nbytes(), over->nbytes());
        EXPECT_EQ(std::memcmp(apart->bytes().data(), over->bytes().data(), over->nbytes()), 0)
            << record->full_name() << " " << long_name(dtype) << (broadcast ? " broadcast" : "");
        EXPECT_LT(shared_bytes, apart_bytes) << record->full_name();
        shared.insert(record->kernel);
      }
    }
  }
  EXPECT_GE(shared.size(), 60u);
}

}  // namespace
}  // namespace edgelift
