// Affine quantisation in blocks (torchao) and in groups, as arithmetic. The quantized_decomposed operators per tensor,
// per channel and per token have kernels of their own.
#include <cmath>
#include <limits>

#include "edge/table.h"

namespace edgelift::edge {
namespace {

struct Range {
  double low, high;
};
Range range_of(Builder& b, DType dtype) {
  Range r{-128, 127};
  if (dtype == DType::U8) r = {0, 255};
  if (dtype == DType::I16) r = {-32768, 32767};
  if (dtype == DType::I32) r = {-2147483648.0, 2147483647.0};
  if (const auto low = literal(b.arg("quant_min"))) r.low = *low;
  if (const auto high = literal(b.arg("quant_max"))) r.high = *high;
  return r;
}

// x with every dim split into [blocks, block], and the matching shape of what belongs to a block.
struct Blocks {
  Shape open, scale;
  std::vector<int64_t> inner;  // the dims inside a block
};
Blocks blocks_of(Builder& b, Value* x) {
  Blocks out;
  const IntList& block = b.call.ints("block_size");
  for (int64_t i = 0; i < b.rank(x); ++i) {
    const SymInt size = b.size(x, i), width = block[static_cast<size_t>(i)];
    const bool whole = known_equal(size, width) || width == SymInt(-1), single = width == SymInt(1);
    if (single && !whole) {
      out.open.push_back(size);
      out.scale.push_back(size);
      continue;
    }
    if (!whole) {
      out.open.push_back(SymInt::floordiv(size, width));
      out.scale.push_back(SymInt::floordiv(size, width));
    }
    out.inner.push_back(static_cast<int64_t>(out.open.size()));
    out.open.push_back(whole ? size : width);
    out.scale.push_back(SymInt(1));
  }
  return out;
}

Result<bool> dequantize(Builder& b) {
  Value* q = b.in("input");
  const DType out = b.out_type().dtype;
  const Blocks blocks = blocks_of(b, q);
  Value* x = b.cast(b.view(q, blocks.open), out);
  if (Value* zero = b.maybe("zero_point")) x = b.sub(x, b.cast(b.view(zero, blocks.scale), out));
  x = b.mul(x, b.cast(b.view(b.in("scale"), blocks.scale), out));
  return b.replace(b.view(x, b.out_type().sizes));
}

Result<bool> quantize(Builder& b) {
  Value* x = b.in("input");
  const Blocks blocks = blocks_of(b, x);
  const DType d = b.out_type().dtype;
  const Range range = range_of(b, d);
  Value* scale = b.view(b.in("scale"), blocks.scale);
  Value* q = b.unary("round", b.mul(b.view(x, blocks.open), b.unary("reciprocal", scale)));
  if (Value* zero = b.maybe("zero_point")) q = b.add(q, b.cast(b.view(zero, blocks.scale), b.dtype(q)));
  q = b.cast(b.clamp(q, range.low, range.high), d);
  return b.replace(b.view(q, b.out_type().sizes));
}

Result<bool> choose_qparams(Builder& b) {
  Value* x = b.in("input");
  const std::string_view mapping = b.call.text("mapping_type");
  const DType target = *b.call.dtype("target_dtype");
  const Range range = range_of(b, target);
  const Blocks blocks = blocks_of(b, x);
  Value* open = b.view(x, blocks.open);
  Value* low = b.clamp(b.amin(open, blocks.inner, true), Arg(), 0.0);
  Value* high = b.clamp(b.amax(open, blocks.inner, true), 0.0, Arg());
  const double eps =
      b.call.opt_number("eps").value_or(b.dtype(x) == DType::F16    ? 0.0009765625
                                        : b.dtype(x) == DType::BF16 ? 0.0078125
                                                                    : std::numeric_limits<float>::epsilon());
  Value* scale = nullptr;
  Value* zero = nullptr;
  const Type& zero_type = b.out_type(1);
  if (mapping == "ASYMMETRIC") {
    scale = b.clamp(b.div(b.sub(high, low), range.high - range.low), eps, Arg());
    // quant_min - round(low / scale), kept in range
    Value* steps = b.unary("round", b.div(low, scale));
    zero = b.clamp(b.make("rsub.Scalar", {steps, range.low}), range.low, range.high);
  } else if (mapping == "SYMMETRIC") {
    Value* reach = b.maximum(b.neg(low), high);
    scale = b.clamp(b.div(reach, (range.high - range.low) / 2), eps, Arg());
    zero = b.full(scale->type.sizes, std::floor((range.high + range.low + 1) / 2), b.dtype(scale));
  } else {
    return b.refuse("chooses parameters by mapping type " + std::string(mapping) + ", which edgelift does not know");
  }
  Value* scale_out = b.cast(b.view(scale, b.out_type(0).sizes), b.out_type(0).dtype);
  return b.replace({scale_out, b.used(1) ? b.cast(b.view(zero, zero_type.sizes), zero_type.dtype) : nullptr});
}

// Groups along the last dim.
Result<bool> dequantize_group(Builder& b) {
  Value* q = b.in("input");
  const DType out = b.out_type().dtype;
  const SymInt rows = b.size(q, 0), groups = b.size(b.in("scales"), -1),
               width = SymInt::floordiv(b.size(q, -1), groups);
  Value* x = b.cast(b.view(q, {rows, groups, width}), out);
  if (Value* zero = b.maybe("zero_points")) x = b.sub(x, b.cast(b.view(zero, {rows, groups, SymInt(1)}), out));
  x = b.mul(x, b.cast(b.view(b.in("scales"), {rows, groups, SymInt(1)}), out));
  return b.replace(b.view(x, q->type.sizes));
}

// v in dtype; a constant is converted here and now.
Value* in_dtype(Builder& b, Value* v, DType dtype) {
  if (b.dtype(v) == dtype) return v;
  if (v->constant != nullptr && !v->constant->is_mutable)
    return b.constant(v->constant->name, v->constant->data.converted(dtype));
  return b.cast(v, dtype);
}

// The kernels take scales as double and zero points as int64.
Result<bool> wide_parameters(Builder& b) {
  for (const auto& [name, dtype] : {std::pair{"scales", DType::F64},
                                    {"scale", DType::F64},
                                    {"zero_points", DType::I64},
                                    {"zero_point", DType::I64}}) {
    if (b.call.op().schema.index_of(name) < 0 || !is_tensor(b.arg(name))) continue;
    Value* v = b.in(name);
    Value* wide = in_dtype(b, v, dtype);
    if (wide != v) b.rewriter().set_arg(&b.node(), name, wide);
  }
  return false;
}

// One scale for the whole tensor from its largest size.
Result<bool> choose_symmetric(Builder& b) {
  Value* x = b.in("input");
  if (b.dtype(x) != DType::F32) x = b.cast(x, DType::F32);
  const auto low = static_cast<double>(b.integer("quant_min")), high = static_cast<double>(b.integer("quant_max"));
  const auto eps = static_cast<float>(b.call.number("eps"));
  Value* reach = b.amax(b.unary("abs", x), iota(b.rank(x)), false);
  Value* scale = b.clamp(b.div(reach, (high - low) / 2), static_cast<double>(eps), Arg());
  scale = b.view(b.cast(scale, b.out_type(0).dtype), b.out_type(0).sizes);
  const int64_t zero = *b.call.dtype("dtype") == DType::U8 ? 128 : 0;
  return b.replace({scale, b.used(1) ? b.full(b.out_type(1).sizes, SymInt(zero), b.out_type(1).dtype) : nullptr});
}

Result<bool> per_token_params(Builder& b) {
  return b.replace(b.make_all("quantized_decomposed.choose_qparams_per_token_asymmetric", b.node().args));
}

constexpr uint8_t kWhole = kEdge | kLegal;  // ExecuTorch's own flow keeps torchao's operators

constexpr Entry kEntries[] = {
    {"torchao.dequantize_affine", dequantize, kWhole},
    {"torchao.quantize_affine", quantize, kWhole},
    {"torchao.choose_qparams_affine", choose_qparams, kWhole},
    {"quantized_decomposed.quantize_per_channel", wide_parameters, kWhole},
    {"quantized_decomposed.quantize_per_tensor.tensor", wide_parameters, kWhole},
    {"quantized_decomposed.dequantize_per_tensor.tensor", wide_parameters, kWhole},
    {"quantized_decomposed.choose_qparams_symmetric.tensor", choose_symmetric},
    {"quantized_decomposed.dequantize_per_channel_group", dequantize_group},
    {"quantized_decomposed._choose_qparams_per_token_asymmetric_impl", per_token_params},
};

}  // namespace

std::span<const Entry> quantized_entries() { return kEntries; }

}  // namespace edgelift::edge
