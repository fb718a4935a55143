// scaled_dot_product_attention becomes two matrix products and a softmax. Query heads that share a key
// head become rows of one product. Masks become finite numbers added to the scores; rows that a mask may hide entirely
// are set to zero, as the operator defines, and only where that can happen.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include "base/numbers.h"
#include "match/constant.h"
#include "ops/infer.h"
#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

constexpr int64_t kMaxScanned = 1 << 20;  // elements of a constant whose largest is looked for

// A score plus this is this, for every score that float32 or float16 attention meets, and it does not overflow.
double hiding(DType dtype) { return dtype == DType::F16 ? -60000.0 : -3.0e38; }

struct Mask {
  Value* added = nullptr;    // null: no mask
  Value* visible = nullptr;  // null: every row has a visible score; else 1 or 0 for each row
};

// x if value repeats each head of x `groups` times: view(clone(expand(unsqueeze(x)))), or repeat_interleave.
Value* repeated_heads(Value* value, int64_t& groups, ir::Shape& base_shape) {
  ir::Node* node = value->producer;
  const int64_t rank = value->type.rank();
  if (node == nullptr || rank < 3) return nullptr;
  if (node->is("repeat_interleave", "self_int")) {
    const ops::Call call(*node);
    const auto dim = call.opt_integer("dim");
    if (!dim || ops::normalize_dim(*dim, rank) != rank - 3 || call.is_symbolic("repeats")) return nullptr;
    Value* base = call.tensor("self");
    groups = call.integer("repeats");
    base_shape = base->type.sizes;
    return base;
  }
  if (!node->is("view") && !node->is("_unsafe_view") && !node->is("reshape")) return nullptr;
  Value* source = std::get<Value*>(node->args[0]);
  while (source->producer != nullptr && source->producer->is("clone"))
    source = std::get<Value*>(source->producer->args[0]);
  node = source->producer;
  if (node == nullptr || !node->is("expand") || source->type.rank() != rank + 1) return nullptr;
  Value* base = std::get<Value*>(node->args[0]);
  if (base->type.rank() != rank + 1) return nullptr;
  const auto at = static_cast<size_t>(rank - 2);  // the repeated dim of [.., heads, groups, S, E]
  for (size_t i = 0; i < base->type.sizes.size(); ++i) {
    const SymInt &from = base->type.sizes[i], &to = source->type.sizes[i];
    if (i == at ? !(from == SymInt(1)) : !(from == to)) return nullptr;
  }
  if (!source->type.sizes[at].is_const()) return nullptr;
  groups = source->type.sizes[at].value();
  base_shape = base->type.sizes;
  base_shape.erase(base_shape.begin() + static_cast<std::ptrdiff_t>(at));
  // The view must join heads and groups and nothing else.
  ir::Shape joined = base_shape;
  joined[at - 1] = joined[at - 1] * SymInt(groups);
  return joined == value->type.sizes ? base : nullptr;
}

// The mask without the dims of size one that a reshape put in front: the scores broadcast it all the same.
Value* without_leading_ones(Value* mask) {
  while (mask->producer != nullptr && (mask->producer->is("view") || mask->producer->is("unsqueeze"))) {
    Value* inner = std::get<Value*>(mask->producer->args[0]);
    const ir::Shape &wide = mask->type.sizes, &narrow = inner->type.sizes;
    if (narrow.size() < 2 || narrow.size() >= wide.size()) break;
    const size_t more = wide.size() - narrow.size();
    bool same = true;
    for (size_t i = 0; i < wide.size() && same; ++i)
      same = i < more ? wide[i] == SymInt(1) : wide[i] == narrow[i - more];
    if (!same) break;
    mask = inner;
  }
  return mask;
}

struct Range {
  double low = 0, high = 0;
};

// Bounds of a value whose making shows them: constants, casts of bools, and sums and products of those. They are
// finite.
std::optional<Range> range_of(const Value* value, int depth = 0) {
  if (depth > 8) return std::nullopt;
  if (const auto data = match::as_constant(value)) {
    if (data->numel() > kMaxScanned || data->empty() || is_complex(data->dtype())) return std::nullopt;
    const std::vector<double> values = data->to_doubles();
    for (const double v : values)
      if (!std::isfinite(v)) return std::nullopt;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return Range{*low, *high};
  }
  const ir::Node* node = value->producer;
  if (node == nullptr) return std::nullopt;
  const auto of = [&](size_t i) -> std::optional<Range> {
    auto* const* operand = std::get_if<Value*>(&node->args.at(i));
    return operand == nullptr ? std::nullopt : range_of(*operand, depth + 1);
  };
  if (node->is("_to_copy")) {
    const Value* source = std::get<Value*>(node->args[0]);
    return source->type.dtype == DType::Bool ? std::optional(Range{0, 1}) : of(0);
  }
  if (node->is("view") || node->is("unsqueeze") || node->is("expand") || node->is("permute") || node->is("clone"))
    return of(0);
  const bool add = node->is("add", "Tensor"), sub = node->is("sub", "Tensor"), mul = node->is("mul", "Tensor");
  if (!add && !sub && !mul) return std::nullopt;
  if (!mul && ops::Call(*node).number("alpha") != 1) return std::nullopt;
  const auto a = of(0), b = of(1);
  if (!a || !b) return std::nullopt;
  if (add) return Range{a->low + b->low, a->high + b->high};
  if (sub) return Range{a->low - b->high, a->high - b->low};
  const auto [low, high] = std::minmax({a->low * b->low, a->low * b->high, a->high * b->low, a->high * b->high});
  return Range{low, high};
}

class Expander {
 public:
  Expander(ir::Rewriter& rewriter, PassContext& context) : rewriter_(rewriter), context_(context) {}

  bool expand(ir::Node& node) {
    if (!node.is("scaled_dot_product_attention")) return false;
    const ops::Call call(node);
    Value *query = call.tensor("query"), *key = call.tensor("key"), *value = call.tensor("value");
    const auto decline = [&](std::string why) {
      context_.declined(node, std::move(why));
      return false;
    };
    if (call.has("dropout_p") && call.number("dropout_p") != 0) return decline("it drops out at inference");
    if (!is_f32_or_f16(query) || key->type.dtype != query->type.dtype || value->type.dtype != query->type.dtype)
      return decline("the delegate multiplies batches of matrices in float32 and float16 only");
    const int64_t rank = query->type.rank();
    if (rank < 2 || key->type.rank() != rank || value->type.rank() != rank)
      return decline("its operands differ in rank");
    double scale = 0;
    if (call.has("scale")) {
      if (!std::holds_alternative<double>(call.arg("scale")))
        return decline("its scale is not a number of the program");
      scale = call.number("scale");
    } else {
      if (!query->type.sizes.back().is_const()) return decline("its head size is not a number");
      scale = 1.0 / std::sqrt(static_cast<double>(query->type.sizes.back().value()));
    }
    const ir::Shape result_shape = node.result()->type.sizes;
    rows_ = query->type.sizes[static_cast<size_t>(rank - 2)];
    columns_ = key->type.sizes[static_cast<size_t>(rank - 2)];
    dtype_ = query->type.dtype;

    Lift lift(rewriter_, node);
    groups_ = 1;
    share_heads(lift, call, query, key, value);
    if (lift.failed()) return decline(lift.why());
    Mask mask;
    std::string why;
    if (!prepare_mask(node, call, lift, mask, why)) return decline(why);

    Value* scores = lift.make("matmul", {lift.mul(query, scale), lift.swap_last(key)});
    if (mask.added != nullptr) scores = lift.add(scores, mask.added);
    Value* out = lift.make("matmul", {lift.softmax(scores), value});
    if (mask.visible != nullptr) out = lift.mul(out, mask.visible);
    return commit(lift, node, lift.view(out, result_shape), context_);
  }

 private:
  // Query heads that read one key head become rows: [.., Hk*G, L, E] is [.., Hk, G*L, E] in the same order.
  void share_heads(Lift& lift, const ops::Call& call, Value*& query, Value*& key, Value*& value) {
    const int64_t rank = query->type.rank();
    if (rank < 3) return;
    const auto head = static_cast<size_t>(rank - 3);
    if (call.flag("enable_gqa")) {
      const SymInt &wide = query->type.sizes[head], &narrow = key->type.sizes[head];
      if (!(narrow == value->type.sizes[head])) return lift.fail("its key and value differ in heads");
      if (wide == narrow) return;
      if (!wide.is_const() || !narrow.is_const() || narrow.value() == 0 || wide.value() % narrow.value() != 0)
        return lift.fail("its query heads are no multiple of its key heads");
      groups_ = wide.value() / narrow.value();
    } else {
      int64_t key_groups = 1, value_groups = 1;
      ir::Shape key_shape, value_shape;
      Value* narrow_key = repeated_heads(key, key_groups, key_shape);
      Value* narrow_value = repeated_heads(value, value_groups, value_shape);
      if (narrow_key == nullptr || narrow_value == nullptr || key_groups != value_groups || key_groups < 2) return;
      key = lift.view(narrow_key, key_shape);
      value = lift.view(narrow_value, value_shape);
      groups_ = key_groups;
    }
    query = lift.view(query, grouped(query->type.sizes, head));
  }

  // [.., Hk*G, L, x] -> [.., Hk, G*L, x]
  ir::Shape grouped(ir::Shape shape, size_t head) const {
    shape[head] = SymInt::floordiv(shape[head], SymInt(groups_));
    shape[head + 1] = shape[head + 1] * SymInt(groups_);
    return shape;
  }

  bool prepare_mask(ir::Node& node, const ops::Call& call, Lift& lift, Mask& mask, std::string& why) {
    Value* given = call.opt_tensor("attn_mask");
    if (call.flag("is_causal")) {
      if (given != nullptr) {
        why = "it has a mask and is causal as well";
        return false;
      }
      if (!rows_.is_const() || !columns_.is_const()) {
        if (dtype_ == DType::F16 && std::max(rows_.upper(), columns_.upper()) > 2048) {
          why = "its causal mask has a dynamic size beyond the whole numbers of float16";
          return false;
        }
        rewriter_.set_insert_point(&node);
        mask = dynamic_causal();
        lift.rewriter().set_insert_point(&node);
        return true;
      }
      mask = causal();
      return true;
    }
    if (given == nullptr) return true;
    // where(condition, 0, -inf) is the condition.
    if (const ir::Node* where = given->producer; where != nullptr && where->is("where", "self")) {
      const auto shown = match::as_number(std::get<Value*>(where->args[1])),
                 hidden = match::as_number(std::get<Value*>(where->args[2]));
      Value* condition = std::get<Value*>(where->args[0]);
      if (shown && hidden && *shown == 0 && std::isinf(*hidden) && *hidden < 0 &&
          condition->type.dtype == DType::Bool && condition->type.sizes == given->type.sizes)
        given = condition;
    }
    const bool keep = given->type.dtype == DType::Bool;
    if (!keep && given->type.dtype != dtype_) {
      why = "its mask has another element type than the query";
      return false;
    }
    // An expand does not matter: the scores broadcast the mask.
    while (given->producer != nullptr && given->producer->is("expand") &&
           std::get<Value*>(given->producer->args[0])->type.rank() == given->type.rank())
      given = std::get<Value*>(given->producer->args[0]);
    given = without_leading_ones(given);
    const std::string key = std::to_string(groups_) + (dtype_ == DType::F16 ? "h" : "f");
    auto& known = masks_[given][key];
    if (known) {
      mask = *known;
      return true;
    }
    if (const auto data = match::as_constant(given)) {
      mask = constant_mask(*data, given->name, why);
    } else {
      rewriter_.set_insert_point(&node);
      mask = keep ? runtime_bool_mask(given) : runtime_float_mask(given, why);
      mask.added = group_mask(mask.added, why);
      mask.visible = group_mask(mask.visible, why);
    }
    lift.rewriter().set_insert_point(&node);
    if (!why.empty()) return false;
    known = mask;
    return true;
  }

  // Row i may see column j <= i: clamp(i - j, -1, 0) times a large number. The positions are made outside.
  Mask dynamic_causal() {
    std::optional<Mask>& known = causal_["dynamic_" + rows_.str() + "_" + columns_.str() + "_" +
                                         std::to_string(groups_) + "_" + std::string(short_name(dtype_))];
    if (known) return *known;
    const auto positions = [&](const SymInt& count) {
      return rewriter_.make("arange.start_step", {SymInt(0), count, SymInt(1)}, {{"dtype", dtype_}});
    };
    Value* columns = positions(columns_);
    Value* rows = rows_ == columns_ ? columns : positions(rows_);
    rows = rewriter_.make("view", {rows, ir::IntList{rows_, SymInt(1)}});
    Value* ahead = rewriter_.make("clamp", {rewriter_.make("sub.Tensor", {rows, columns}), -1.0, 0.0});
    Mask mask;
    mask.added = rewriter_.make("mul.Tensor", {ahead, rewriter_.scalar(dtype_, -hiding(dtype_))});
    std::string why;
    mask.added = group_mask(mask.added, why);
    known = mask;
    return mask;
  }

  Mask causal() {
    const int64_t rows = rows_.value(), columns = columns_.value();
    std::vector<float> numbers(static_cast<size_t>(rows * columns));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        numbers[static_cast<size_t>(r * columns + c)] = c <= r ? 0.0f : -std::numeric_limits<float>::infinity();
    std::string why;
    auto& known = causal_[std::to_string(rows) + "_" + std::to_string(columns) + "_" + std::to_string(groups_) + "_" +
                          std::string(short_name(dtype_))];
    if (!known) known = constant_mask(TensorData::of(DType::F32, {rows, columns}, numbers), "causal", why);
    return *known;
  }

  // Rows that are hidden entirely get zeros in the mask and a zero in `visible`.
  Mask constant_mask(const TensorData& data, const std::string& name, std::string& why) {
    Mask mask;
    std::vector<float> numbers = data.to_floats();
    if (data.dtype() == DType::Bool)
      for (float& number : numbers) number = number != 0 ? 0.0f : -std::numeric_limits<float>::infinity();
    bool all_zero = true;
    for (const float number : numbers) all_zero = all_zero && number == 0;
    if (all_zero) return mask;
    if (data.rank() < 2 || data.sizes().back() == 0) {
      why = "its mask has fewer than two dimensions";
      return mask;
    }
    const auto width = static_cast<size_t>(data.sizes().back());
    const size_t rows = numbers.size() / width;
    std::vector<float> seen(rows, 0.0f);
    bool hidden = false;
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < width; ++c)
        if (numbers[r * width + c] != -std::numeric_limits<float>::infinity()) seen[r] = 1.0f;
      if (seen[r] != 0) continue;
      hidden = true;
      for (size_t c = 0; c < width; ++c) numbers[r * width + c] = 0;
    }
    auto added = grouped_data(TensorData::of(DType::F32, data.sizes(), numbers), why);
    if (!added) return mask;
    mask.added = rewriter_.constant("mask_" + name, added->converted(dtype_));
    if (hidden) {
      std::vector<int64_t> sizes = data.sizes();
      sizes.back() = 1;
      auto visible = grouped_data(TensorData::of(DType::F32, sizes, seen), why);
      if (visible) mask.visible = rewriter_.constant("visible_" + name, visible->converted(dtype_));
    }
    return mask;
  }

  // [.., H|1, L|1, x] -> the rows of the grouped scores: [.., Hk|1, G*L|1, x]
  std::optional<TensorData> grouped_data(const TensorData& data, std::string& why) {
    if (groups_ == 1) return data;
    std::vector<int64_t> sizes = data.sizes();
    const size_t rank = sizes.size();
    const int64_t heads = rank < 3 ? 1 : sizes[rank - 3];
    if (heads != 1) {
      if (sizes[rank - 2] == 1 && !(rows_ == SymInt(1))) {
        why = "its mask differs by head but not by row, which grouped heads cannot broadcast";
        return std::nullopt;
      }
      sizes[rank - 3] /= groups_;
      sizes[rank - 2] *= groups_;
      return data.reshaped(sizes);
    }
    if (sizes[rank - 2] == 1) return data;
    std::vector<int64_t> wide = sizes;
    wide.insert(wide.end() - 2, groups_);
    std::vector<int64_t> narrow = sizes;
    narrow.insert(narrow.end() - 2, 1);
    sizes[rank - 2] *= groups_;
    return data.reshaped(narrow).expanded(wide).contiguous().reshaped(sizes);
  }

  Value* group_mask(Value* mask, std::string& why) {
    if (mask == nullptr || groups_ == 1 || !why.empty()) return mask;
    ir::Shape shape = mask->type.sizes;
    const size_t rank = shape.size();
    if (rank >= 3 && !(shape[rank - 3] == SymInt(1))) {
      if (shape[rank - 2] == SymInt(1) && !(rows_ == SymInt(1))) {
        why = "its mask differs by head but not by row, which grouped heads cannot broadcast";
        return mask;
      }
      const ir::Shape joined = grouped(shape, rank - 3);
      return rewriter_.make("view", {mask, ir::IntList(joined.begin(), joined.end())});
    }
    if (shape[rank - 2] == SymInt(1)) return mask;
    return rewriter_.make("cat",
                          {ir::ValueList(static_cast<size_t>(groups_), mask), SymInt(static_cast<int64_t>(rank) - 2)});
  }

  Mask runtime_bool_mask(Value* given) {
    Mask mask;
    // Not part of the lift: the nodes serve every attention with this mask, whatever becomes of the first.
    Value* kept = as_flags(
        rewriter_, given, dtype_,
        {[&](std::string_view op, std::vector<ir::Arg> args) { return rewriter_.make(op, std::move(args)); },
         [&](std::string_view op, std::vector<ir::Arg> args, std::initializer_list<ir::Rewriter::Named> named) {
           return rewriter_.make(op, std::move(args), named);
         }});
    Value* minus = rewriter_.make("sub.Tensor", {kept, rewriter_.scalar(dtype_, 1.0)});
    mask.added = rewriter_.make("mul.Tensor", {minus, rewriter_.scalar(dtype_, -hiding(dtype_))});
    mask.visible = any_of_row(kept, 1.0);
    return mask;
  }

  Mask runtime_float_mask(Value* given, std::string& why) {
    Mask mask;
    if (given->type.rank() < 2) {
      why = "its mask has fewer than two dimensions";
      return mask;
    }
    if (const auto range = range_of(given);
        range && range->low > 1.1 * hiding(dtype_) && range->high < -1.1 * hiding(dtype_)) {
      mask.added = given;  // no row can be hidden
      return mask;
    }
    mask.added = rewriter_.make("clamp", {given, hiding(dtype_)});
    // exp is 0 for minus infinity only, once every finite number is brought near zero.
    Value* small =
        rewriter_.make("mul.Tensor", {given, rewriter_.scalar(dtype_, dtype_ == DType::F16 ? 0x1p-14 : 0x1p-126)});
    mask.visible = any_of_row(rewriter_.make("exp", {small}), 128.0);
    return mask;
  }

  // 1 for rows that have an entry of at least 1/weight, 0 for rows of zeros.
  Value* any_of_row(Value* flags, double weight) {
    const SymInt& width = flags->type.sizes.back();
    const std::string dtype(short_name(dtype_));
    Value* sum = nullptr;
    if (width.is_const()) {
      const TensorData row = scalar_data(dtype_, weight).expanded(std::vector<int64_t>{1, width.value()}).contiguous();
      sum = rewriter_.make("linear", {flags, shared_constant(rewriter_,
                                                             "row_" + dtype + "_" + std::to_string(width.value()) +
                                                                 "_" + float_text(weight, dtype_),
                                                             row)});
    } else {
      // A mean is at least 1/weight over the largest width.
      Value* mean = pooled_mean_last(rewriter_, flags, [&](std::string_view op, std::vector<ir::Arg> args) {
        return rewriter_.make(op, std::move(args));
      });
      const double most = width.upper() == kUnbounded ? 1e6 : static_cast<double>(width.upper());
      sum = rewriter_.make("mul.Tensor", {mean, rewriter_.scalar(dtype_, 2 * weight * most)});
    }
    return rewriter_.make("clamp", {sum, 0.0, 1.0});
  }

  ir::Rewriter& rewriter_;
  PassContext& context_;
  SymInt rows_, columns_;
  DType dtype_ = DType::F32;
  int64_t groups_ = 1;
  // Masks are prepared once for all attentions that share them.
  std::unordered_map<const Value*, std::map<std::string, std::optional<Mask>>> masks_;
  std::map<std::string, std::optional<Mask>> causal_;
};

}  // namespace

Result<bool> expand_sdpa(ir::Program& program, PassContext& context) {
  bool changed = false;
  for (const auto& graph : program.methods) {
    ir::Rewriter rewriter(program, *graph, context.ops);
    Expander expander(rewriter, context);
    graph->each([&](ir::Node& node) { changed = expander.expand(node) || changed; });
  }
  sweep(program, context.ops);  // also what was made for attentions that stayed whole
  return changed;
}

}  // namespace edgelift::passes
