// A layer norm subtracts the mean over the channels. Where a value reaches nothing but such subtractions, through sums,
// concatenations and slices that leave the channels alone, the mean can be taken out of whatever is written into it at
// compile time: out of the rows of the linear weights, of their biases, and of constants. The residual stream of a
// pre-norm transformer is such a value; its norms then need no mean and no subtraction (Ashkboos et al., "SliceGPT",
// 2024, section 3). Exact but for the order of summation: 2e-6 of the output's range.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "match/constant.h"
#include "passes/affine.h"
#include "passes/lift.h"
#include "passes/passes.h"
#include "passes/weights.h"

namespace edgelift::passes {
namespace {

constexpr int64_t kBudget = 160 << 20;  // a stream is centred whole or not at all

// The x of sub(x, mean of x over the last dim), where the mean is a linear with one output and weights 1/C.
Value* subtracted_mean(const ir::Node& node) {
  if (!node.is("sub", "Tensor") || ops::Call(node).number("alpha") != 1) return nullptr;
  auto* const* x = std::get_if<Value*>(&node.args[0]);
  auto* const* mean = std::get_if<Value*>(&node.args[1]);
  if (x == nullptr || mean == nullptr || (*mean)->producer == nullptr || !(*mean)->producer->is("linear"))
    return nullptr;
  const ops::Call linear(*(*mean)->producer);
  const Value* weight = linear.tensor("weight");
  if (linear.tensor("input") != *x || linear.opt_tensor("bias") != nullptr || !weight->is_constant() ||
      weight->constant->is_mutable)
    return nullptr;
  const TensorData& data = weight->constant->data;
  if (data.dtype() != DType::F32 || data.rank() != 2 || data.sizes()[0] != 1 || (*x)->type.dtype != DType::F32)
    return nullptr;
  const float share = 1.0F / static_cast<float>(data.sizes()[1]);
  const std::vector<float> values = data.to_floats();
  return std::all_of(values.begin(), values.end(), [&](float v) { return v == share; }) ? *x : nullptr;
}

// Everything that is added up with one value, and what it is made of.
class Stream {
 public:
  Stream(const ir::Graph& graph, int64_t channels) : graph_(graph), channels_(channels) {}

  // False if something else reads the stream, or something that cannot be centred is written into it.
  bool grow(Value* start, const std::unordered_set<const Value*>& failed) {
    std::vector<Value*> work = {start};
    while (!work.empty()) {
      Value* value = work.back();
      work.pop_back();
      if (!members_.insert(value).second) continue;
      if (failed.contains(value)) return false;
      if (!has_channels(value) || graph_.is_output(value) || value->is_input() || value->is_constant()) return false;
      if (!producer(*value, work) || !users(*value, work)) return false;
    }
    return true;
  }

  const std::vector<ir::Node*>& linears() const { return linears_; }
  const std::vector<std::pair<ir::Node*, size_t>>& constants() const { return constants_; }
  const std::vector<ir::Node*>& subtractions() const { return subtractions_; }
  const std::unordered_set<Value*>& members() const { return members_; }
  int64_t weight_bytes() const {
    int64_t bytes = 0;
    for (const ir::Node* linear : linears_)
      bytes += static_cast<int64_t>(ops::Call(*linear).tensor("weight")->constant->data.nbytes());
    return bytes;
  }

 private:
  bool has_channels(const Value* value) const {
    const ir::Type& type = value->type;
    return type.is_tensor() && type.dtype == DType::F32 && type.rank() >= 1 && type.sizes.back() == SymInt(channels_);
  }

  bool constant_operand(const Value* value) const {
    return value->is_constant() && !value->constant->is_mutable && has_channels(value);
  }

  // Operands of a node that only moves or adds; each is a member or a constant.
  bool operands(ir::Node& node, std::vector<Value*>& work) {
    for (size_t i = 0; i < node.args.size(); ++i) {
      bool good = true;
      bool constant = false;
      ir::for_each_value(node.args[i], [&](Value* operand) {
        if (constant_operand(operand)) {
          constant = true;
        } else if (operand->is_constant()) {
          good = false;
        } else {
          work.push_back(operand);
        }
      });
      if (!good) return false;
      if (constant) constants_.emplace_back(&node, i);
    }
    return true;
  }

  bool moves_or_adds(const ir::Node& node) const {
    const auto rank = node.results[0]->type.rank();
    const ops::Call call(node);
    if (node.is("add", "Tensor")) return call.number("alpha") == 1;
    if (node.is("cat")) return ops::normalize_dim(call.integer("dim"), rank) != rank - 1;
    if (node.is("slice", "Tensor")) return ops::normalize_dim(call.integer("dim"), rank) != rank - 1;
    if (node.is("select", "int")) return ops::normalize_dim(call.integer("dim"), rank + 1) != rank;
    return node.is("view") || node.is("unsqueeze") || node.is("squeeze", "dims");
  }

  bool producer(const Value& value, std::vector<Value*>& work) {
    ir::Node& node = *value.producer;
    if (node.is("linear")) {
      const ops::Call call(node);
      for (const std::string_view name : {"weight", "bias"}) {
        const Value* operand = call.opt_tensor(name);
        // A weight with another reader would be written twice.
        if (operand != nullptr &&
            (!operand->is_constant() || operand->constant->is_mutable || operand->users.size() != 1))
          return false;
      }
      linears_.push_back(&node);
      return true;
    }
    return moves_or_adds(node) && operands(node, work);
  }

  bool users(const Value& value, std::vector<Value*>& work) {
    for (ir::Node* user : value.users) {
      if (subtracted_mean(*user) == &value) {
        if (subtracting_.insert(user).second) subtractions_.push_back(user);
        continue;
      }
      const auto feeds_mean = [&](const Value* mean) {
        return !mean->users.empty() && std::all_of(mean->users.begin(), mean->users.end(),
                                                   [&](const ir::Node* n) { return subtracted_mean(*n) == &value; });
      };
      if (user->is("linear") && std::get<Value*>(user->args[0]) == &value && feeds_mean(user->result())) continue;
      if (user->results.size() != 1 || !moves_or_adds(*user)) return false;
      work.push_back(user->result());
    }
    return true;
  }

  const ir::Graph& graph_;
  int64_t channels_;
  std::unordered_set<Value*> members_;
  std::unordered_set<const ir::Node*> subtracting_;
  std::vector<ir::Node*> linears_, subtractions_;
  std::vector<std::pair<ir::Node*, size_t>> constants_;
};

// Without the mean over the first or the last dim; the sums in double, row by row.
TensorData centred(const TensorData& data, bool first) {
  EL_CHECK(data.dtype() == DType::F32, "only float32 values are centred");
  const TensorData packed = data.contiguous();
  const auto count = static_cast<size_t>(packed.numel());
  const std::shared_ptr<std::byte[]> bytes = uninitialised(count * sizeof(float));
  const std::byte* const in = packed.bytes().data();
  const auto read = [&](size_t i) {
    float x = 0;
    std::memcpy(&x, in + i * sizeof x, sizeof x);
    return static_cast<double>(x);
  };
  const auto write = [&](size_t i, double value) {
    const auto x = static_cast<float>(value);
    std::memcpy(bytes.get() + i * sizeof x, &x, sizeof x);
  };
  const auto n = static_cast<size_t>(first ? data.sizes().front() : data.sizes().back());
  const size_t rest = n == 0 ? 0 : count / n;
  if (first) {
    std::vector<double> sums(rest, 0.0);
    for (size_t i = 0; i < n; ++i)
      for (size_t g = 0; g < rest; ++g) sums[g] += read(i * rest + g);
    for (double& sum : sums) sum /= static_cast<double>(n);
    for (size_t i = 0; i < n; ++i)
      for (size_t g = 0; g < rest; ++g) write(i * rest + g, read(i * rest + g) - sums[g]);
  } else {
    for (size_t g = 0; g < rest; ++g) {
      double sum = 0;
      for (size_t i = 0; i < n; ++i) sum += read(g * n + i);
      for (size_t i = 0; i < n; ++i) write(g * n + i, read(g * n + i) - sum / static_cast<double>(n));
    }
  }
  return adopt(DType::F32, data.sizes(), bytes);
}

void replace_constant(ir::Rewriter& rewriter, ir::Node& node, size_t index, bool first) {
  ir::Arg arg = node.args[index];
  const auto centre = [&](Value* value) {
    if (value == nullptr || !value->is_constant()) return value;
    return rewriter.constant(value->constant->name + ".centred", centred(value->constant->data, first));
  };
  if (auto* value = std::get_if<Value*>(&arg)) {
    *value = centre(*value);
  } else {
    for (Value*& item : std::get<ir::ValueList>(arg)) item = centre(item);
  }
  rewriter.graph().set_arg(&node, index, std::move(arg));
}

}  // namespace

Result<bool> center_residual(ir::Program& program, PassContext& context) {
  bool changed = false;
  WeightBudget budget(context, kBudget);
  for (const auto& graph : program.methods) {
    std::unordered_set<const Value*> seen;
    std::vector<ir::Node*> subtractions;
    graph->each([&](ir::Node& node) {
      if (subtracted_mean(node) != nullptr) subtractions.push_back(&node);
    });
    std::unordered_set<const ir::Node*> done;
    ir::Rewriter rewriter(program, *graph, context.ops);
    for (ir::Node* node : subtractions) {
      if (done.contains(node)) continue;
      Value* x = subtracted_mean(*node);
      if (seen.contains(x)) continue;
      Stream stream(*graph, x->type.sizes.back().value());
      // A value that was met before is part of a stream that cannot be centred, and so is this one then.
      const bool whole = stream.grow(x, seen);
      for (const Value* member : stream.members()) seen.insert(member);
      if (!whole) {
        context.declined(*node, "what it normalises is read or written by more than sums, norms and linears");
        continue;
      }
      if (!budget.take(stream.weight_bytes(), *node, context)) continue;
      for (ir::Node* linear : stream.linears()) {
        const auto& schema = linear->op->schema;
        replace_constant(rewriter, *linear, static_cast<size_t>(schema.index_of("weight")), true);
        const auto bias = static_cast<size_t>(schema.index_of("bias"));
        if (!ir::is_none(linear->args[bias])) replace_constant(rewriter, *linear, bias, true);
      }
      for (const auto& [user, index] : stream.constants()) replace_constant(rewriter, *user, index, false);
      for (ir::Node* subtraction : stream.subtractions()) {
        done.insert(subtraction);
        Value* source = std::get<Value*>(subtraction->args[0]);
        rewriter.replace(subtraction->result(), source);
      }
      changed = true;
    }
  }
  if (changed) sweep(program, context.ops);
  return changed;
}

}  // namespace edgelift::passes
