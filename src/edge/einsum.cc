// einsum as matrix products: operands are taken from the left two at a time.
#include "ops/einsum.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "edge/table.h"

namespace edgelift::edge {
namespace {

struct Operand {
  Value* value = nullptr;
  std::string labels;  // one for each dim
};

bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

// A label that stands twice in one operand takes the diagonal.
void take_diagonals(Builder& b, Operand& operand) {
  for (size_t i = 0; i < operand.labels.size();) {
    const size_t j = operand.labels.find(operand.labels[i], i + 1);
    if (j == std::string::npos) {
      ++i;
      continue;
    }
    const char label = operand.labels[i];
    operand.value = b.make(
        "diagonal", {operand.value, SymInt(0), SymInt(static_cast<int64_t>(i)), SymInt(static_cast<int64_t>(j))});
    operand.labels.erase(j, 1);
    operand.labels.erase(i, 1);
    operand.labels += label;  // diagonal puts the common dim last
  }
}

// Sums over the labels that nobody else has.
void sum_out(Builder& b, Operand& operand, const std::string& needed) {
  std::vector<int64_t> dims;
  std::string kept;
  for (size_t i = 0; i < operand.labels.size(); ++i) {
    if (has(needed, operand.labels[i]))
      kept += operand.labels[i];
    else
      dims.push_back(static_cast<int64_t>(i));
  }
  if (dims.empty()) return;
  operand.value = b.sum(operand.value, dims, false);
  operand.labels = kept;
}

SymInt size_of(Builder& b, const Operand& operand, char label) {
  return b.size(operand.value, static_cast<int64_t>(operand.labels.find(label)));
}

Value* arranged(Builder& b, const Operand& operand, const std::string& order) {
  std::vector<int64_t> dims;
  for (const char label : order) dims.push_back(static_cast<int64_t>(operand.labels.find(label)));
  return b.permute(operand.value, dims);
}

// What both have and is not needed any more is contracted; what both have and is needed is a batch.
Operand contract(Builder& b, Operand x, Operand y, const std::string& needed) {
  sum_out(b, x, needed + y.labels);
  sum_out(b, y, needed + x.labels);
  std::string batch, inner, left, right;
  for (const char label : x.labels) {
    if (!has(y.labels, label))
      left += label;
    else if (has(needed, label))
      batch += label;
    else
      inner += label;
  }
  for (const char label : y.labels)
    if (!has(x.labels, label)) right += label;
  Operand out{nullptr, batch + left + right};
  Shape out_sizes, x_batch, y_batch;
  SymInt count = 1, rows = 1, columns = 1;
  const auto common = [&](char label) {
    const SymInt size = size_of(b, x, label);
    return size == SymInt(1) ? size_of(b, y, label) : size;
  };
  for (const char label : batch) {
    out_sizes.push_back(common(label));
    x_batch.push_back(size_of(b, x, label));
    y_batch.push_back(size_of(b, y, label));
  }
  if (inner.empty()) {
    // Nothing to contract: an outer product, by broadcasting.
    Shape xs = x_batch, ys = y_batch;
    for (const char label : left) {
      xs.push_back(size_of(b, x, label));
      ys.push_back(SymInt(1));
    }
    for (const char label : right) {
      xs.push_back(SymInt(1));
      ys.push_back(size_of(b, y, label));
    }
    Value* a = b.view(arranged(b, x, batch + left), xs);
    out.value = b.mul(a, b.view(arranged(b, y, batch + right), ys));
    return out;
  }
  for (const char label : inner) {
    // A contracted dim of one element broadcasts against the other.
    if (known_equal(size_of(b, x, label), size_of(b, y, label))) continue;
    Operand& wide = size_of(b, x, label) == SymInt(1) ? y : x;
    wide.value = b.sum(wide.value, {static_cast<int64_t>(wide.labels.find(label))}, true);
  }
  for (const char label : inner) count = count * size_of(b, x, label);
  // The left operand keeps its own dims where there is no batch: matmul takes any rank there.
  Shape xs = x_batch, ys = y_batch;
  for (const char label : left) {
    rows = rows * size_of(b, x, label);
    if (batch.empty()) xs.push_back(size_of(b, x, label));
    out_sizes.push_back(size_of(b, x, label));
  }
  if (!batch.empty() || left.empty()) xs.push_back(rows);
  xs.push_back(count);
  for (const char label : right) {
    columns = columns * size_of(b, y, label);
    out_sizes.push_back(size_of(b, y, label));
  }
  ys.push_back(count);
  ys.push_back(columns);
  Value* a = b.view(arranged(b, x, batch + left + inner), xs);
  Value* product = b.matmul(a, b.view(arranged(b, y, batch + inner + right), ys));
  out.value = b.view(product, out_sizes);
  return out;
}

// ExecuTorch's flow has the exporter's own form of a product of two operands.
Value* upstream_pair(Builder& b, const Operand& x, const Operand& y, const std::string& output) {
  // All labels: the output's first, then the contracted ones in order of appearance.
  std::string all = output, inner;
  for (const Operand* operand : {&x, &y})
    for (const char label : operand->labels)
      if (!has(all, label)) {
        all += label;
        inner += label;
      }
  const auto full = [&](const Operand& operand) {
    Value* v = operand.value;
    std::string labels = operand.labels;
    for (const char label : all)
      if (!has(labels, label)) {
        v = b.unsqueeze(v, b.rank(v));
        labels += label;
      }
    std::vector<int64_t> dims;
    for (const char label : all) dims.push_back(static_cast<int64_t>(labels.find(label)));
    return b.permute(v, dims);
  };
  Value* left = full(x);
  Value* right = full(y);
  std::vector<int64_t> lro, lo, sum, ro;
  SymInt lro_size = 1, lo_size = 1, ro_size = 1, sum_size = 1;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto d = static_cast<int64_t>(i);
    const bool l = b.size(left, d) != SymInt(1), r = b.size(right, d) != SymInt(1);
    if (has(inner, all[i])) {
      sum.push_back(d);
      sum_size = sum_size * b.size(left, d);
    } else if (l && r) {
      lro.push_back(d);
      lro_size = lro_size * b.size(left, d);
    } else if (l) {
      lo.push_back(d);
      lo_size = lo_size * b.size(left, d);
    } else {
      ro.push_back(d);
      ro_size = ro_size * b.size(right, d);
    }
  }
  const auto join = [](std::initializer_list<const std::vector<int64_t>*> lists) {
    std::vector<int64_t> out;
    for (const auto* list : lists) out.insert(out.end(), list->begin(), list->end());
    return out;
  };
  Shape out_sizes;
  for (const int64_t d : join({&lro, &lo})) out_sizes.push_back(b.size(left, d));
  for (size_t i = 0; i < sum.size(); ++i) out_sizes.push_back(SymInt(1));
  for (const int64_t d : ro) out_sizes.push_back(b.size(right, d));
  Value* a = b.reshape(b.permute(left, join({&lro, &lo, &sum, &ro})), {lro_size, lo_size, sum_size});
  Value* c = b.reshape(b.permute(right, join({&lro, &sum, &ro, &lo})), {lro_size, sum_size, ro_size});
  Value* product = b.view(b.bmm(a, c), out_sizes);
  const auto order = join({&lro, &lo, &sum, &ro});
  std::vector<int64_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  product = b.permute(product, back);
  if (sum.empty()) return product;
  return b.view(product, b.out_type().sizes);
}

Result<bool> einsum(Builder& b) {
  const ValueList parts = b.call.tensors("tensors");
  std::vector<size_t> ranks;
  for (const Value* part : parts) ranks.push_back(part->type.sizes.size());
  EL_TRY(const auto equation, ops::parse_einsum(b.call.text("equation"), ranks));
  std::vector<Operand> operands;
  for (size_t i = 0; i < parts.size(); ++i) {
    operands.push_back({parts[i], equation.inputs[i]});
    take_diagonals(b, operands.back());
  }
  if (b.upstream && operands.size() == 2) return b.replace(upstream_pair(b, operands[0], operands[1], equation.output));
  Operand result = operands.front();
  for (size_t i = 1; i < operands.size(); ++i) {
    std::string needed = equation.output;
    for (size_t k = i + 1; k < operands.size(); ++k) needed += operands[k].labels;
    result = contract(b, result, operands[i], needed);
  }
  sum_out(b, result, equation.output);
  return b.replace(arranged(b, result, equation.output));
}

constexpr Entry kEntries[] = {{"einsum", einsum}};

}  // namespace

std::span<const Entry> einsum_entries() { return kEntries; }

}  // namespace edgelift::edge
