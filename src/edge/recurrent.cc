// LSTM, GRU and plain RNN unrolled over time: the runtime has no loop that could hold them, so the number of steps must
// be known.
#include <functional>

#include "edge/table.h"

namespace edgelift::edge {
namespace {

struct Layer {
  Value* w_ih = nullptr;
  Value* w_hh = nullptr;
  Value* b_ih = nullptr;
  Value* b_hh = nullptr;
  Value* w_hr = nullptr;  // projection of an LSTM's output
};

struct State {
  Value* h = nullptr;
  Value* c = nullptr;  // LSTM only
};

Value* linear(Builder& b, Value* x, Value* weight, Value* bias) {
  return b.make("linear", {x, weight, bias == nullptr ? Arg() : Arg(bias)});
}

// The gates of one step, cut out of a tensor whose last dim holds them one after another.
std::vector<Value*> gates(Builder& b, Value* x, int64_t count) {
  const int64_t dim = b.rank(x) - 1;
  const SymInt width = SymInt::floordiv(b.size(x, dim), SymInt(count));
  if (b.upstream) return b.make_all("split_with_sizes", {x, IntList(static_cast<size_t>(count), width), SymInt(dim)});
  std::vector<Value*> out;
  for (int64_t i = 0; i < count; ++i) out.push_back(b.slice(x, dim, width * SymInt(i), width * SymInt(i + 1)));
  return out;
}

// x: the input's share of the gates at this step, computed for all steps at once.
using Cell = State (*)(Builder&, Value* x, const State&, const Layer&);

State lstm_step(Builder& b, Value* x, const State& state, const Layer& layer) {
  Value* sum = b.add(linear(b, state.h, layer.w_hh, layer.b_hh), x);
  const auto g = gates(b, sum, 4);
  Value* in = b.unary("sigmoid", g[0]);
  Value* forget = b.unary("sigmoid", g[1]);
  Value* cell = b.unary("tanh", g[2]);
  Value* out = b.unary("sigmoid", g[3]);
  Value* kept = b.mul(forget, state.c);
  Value* c = b.add(kept, b.mul(in, cell));
  Value* h = b.mul(out, b.unary("tanh", c));
  if (layer.w_hr != nullptr) h = linear(b, h, layer.w_hr, nullptr);
  return {h, c};
}

State gru_step(Builder& b, Value* x, const State& state, const Layer& layer) {
  const auto i = gates(b, x, 3);
  const auto h = gates(b, linear(b, state.h, layer.w_hh, layer.b_hh), 3);
  Value* reset = b.unary("sigmoid", b.add(h[0], i[0]));
  Value* update = b.unary("sigmoid", b.add(h[1], i[1]));
  Value* fresh = b.unary("tanh", b.add(i[2], b.mul(h[2], reset)));
  return {b.add(b.mul(b.sub(state.h, fresh), update), fresh), nullptr};
}

template <bool kRelu>
State rnn_step(Builder& b, Value* x, const State& state, const Layer& layer) {
  Value* sum = b.add(linear(b, state.h, layer.w_hh, layer.b_hh), x);
  return {b.unary(kRelu ? "relu" : "tanh", sum), nullptr};
}

Cell cell_of(const std::string& base) {
  if (base.starts_with("lstm")) return lstm_step;
  if (base.starts_with("gru")) return gru_step;
  return base.starts_with("rnn_relu") ? Cell(rnn_step<true>) : Cell(rnn_step<false>);
}

struct Run {
  Value* out;  // [T, B, H]
  State last;  // [B, H]
};

// One direction of one layer over x [T, B, I].
Run run(Builder& b, Value* x, State state, const Layer& layer, Cell cell, int64_t steps, bool reverse) {
  Value* share = linear(b, x, layer.w_ih, layer.b_ih);
  std::vector<Value*> outputs(static_cast<size_t>(steps));
  if (b.upstream) {
    state.h = b.unsqueeze(state.h, 0);
    if (state.c != nullptr) state.c = b.unsqueeze(state.c, 0);
    if (reverse) share = b.flip(share, {0});
    const auto inputs = b.make_all("unbind.int", {share, SymInt(0)});
    for (size_t t = 0; t < inputs.size(); ++t) {
      state = cell(b, inputs[t], state, layer);
      outputs[reverse ? inputs.size() - 1 - t : t] = state.h;
    }
    Value* out = b.cat(outputs, 0);
    state.h = b.squeeze(state.h, 0);
    if (state.c != nullptr) state.c = b.squeeze(state.c, 0);
    return {out, state};
  }
  for (int64_t i = 0; i < steps; ++i) {
    const int64_t t = reverse ? steps - 1 - i : i;
    state = cell(b, b.select(share, 0, SymInt(t)), state, layer);
    outputs[static_cast<size_t>(t)] = state.h;
  }
  for (Value*& out : outputs) out = b.unsqueeze(out, 0);
  return {b.cat(outputs, 0), state};
}

// The parameters as they lie in the list: for each layer, for each direction, weights, biases, projection.
Result<std::vector<Layer>> layers_of(Builder& b, size_t count, bool biases, bool lstm) {
  const ValueList& params = b.call.tensors("params");
  const size_t plain = biases ? 4 : 2;
  const bool projected = lstm && params.size() == count * (plain + 1);
  if (!projected && params.size() != count * plain)
    return b.refuse("has " + std::to_string(params.size()) + " parameters for " + std::to_string(count) +
                    " layers and directions");
  std::vector<Layer> out;
  for (size_t i = 0, at = 0; i < count; ++i) {
    Layer layer;
    layer.w_ih = params[at++];
    layer.w_hh = params[at++];
    if (biases) {
      layer.b_ih = params[at++];
      layer.b_hh = params[at++];
    }
    if (projected) layer.w_hr = params[at++];
    out.push_back(layer);
  }
  return out;
}

Value* state_at(Builder& b, Value* all, const std::vector<Value*>& unbound, size_t i) {
  return b.upstream ? unbound.at(i) : b.select(all, 0, SymInt(static_cast<int64_t>(i)));
}

Result<bool> recurrent(Builder& b) {
  Value* x = b.in("input");
  const bool lstm = b.base() == "lstm";
  const bool batch_first = b.call.flag("batch_first"), bidirectional = b.call.flag("bidirectional");
  const int64_t layers = b.integer("num_layers");
  if (b.call.flag("train") && b.call.number("dropout") != 0 && layers > 1)
    return b.refuse(
        "drops elements at random: the model was exported in training mode; call model.eval() before "
        "torch.export.export");
  const SymInt steps = b.size(x, batch_first ? 1 : 0);
  if (!steps.is_const())
    return b.refuse(
        "runs over a dynamic number of steps, and the runtime has no loop for it; export it with a fixed length");
  const size_t directions = bidirectional ? 2 : 1;
  EL_TRY(const auto params, layers_of(b, static_cast<size_t>(layers) * directions, b.call.flag("has_biases"), lstm));
  Value* h0 = lstm ? b.call.tensors("hx").at(0) : b.in("hx");
  Value* c0 = lstm ? b.call.tensors("hx").at(1) : nullptr;
  std::vector<Value*> hs, cs;
  if (b.upstream) {
    hs = b.make_all("unbind.int", {h0, SymInt(0)});
    if (lstm) cs = b.make_all("unbind.int", {c0, SymInt(0)});
  }
  if (batch_first) x = b.transpose(x, 0, 1);
  std::vector<Value*> last_h, last_c;
  const Cell cell = cell_of(b.base());
  for (size_t i = 0; i < static_cast<size_t>(layers); ++i) {
    std::vector<Value*> outs;
    for (size_t d = 0; d < directions; ++d) {
      const size_t at = i * directions + d;
      State state{state_at(b, h0, hs, at), lstm ? state_at(b, c0, cs, at) : nullptr};
      const Run done = run(b, x, state, params[at], cell, steps.value(), d == 1);
      outs.push_back(done.out);
      last_h.push_back(done.last.h);
      last_c.push_back(done.last.c);
    }
    x = directions == 2 ? b.cat(outs, 2) : outs.front();
  }
  if (batch_first) x = b.transpose(x, 0, 1);
  Value* h = b.used(1) ? b.stack(last_h, 0) : nullptr;
  if (!lstm) return b.replace({x, h});
  return b.replace({x, h, b.used(2) ? b.stack(last_c, 0) : nullptr});
}

// lstm_cell, gru_cell …: one step on [B, I].
Result<bool> single(Builder& b) {
  const bool lstm = b.base().starts_with("lstm");
  const Layer layer{b.in("w_ih"), b.in("w_hh"), b.maybe("b_ih"), b.maybe("b_hh"), nullptr};
  State state;
  state.h = lstm ? b.call.tensors("hx").at(0) : b.in("hx");
  state.c = lstm ? b.call.tensors("hx").at(1) : nullptr;
  const State next = cell_of(b.base())(b, linear(b, b.in("input"), layer.w_ih, layer.b_ih), state, layer);
  if (!lstm) return b.replace(next.h);
  return b.replace({next.h, next.c});
}

constexpr Entry kEntries[] = {
    {"lstm.input", recurrent}, {"gru.input", recurrent}, {"rnn_tanh.input", recurrent}, {"rnn_relu.input", recurrent},
    {"lstm_cell", single},     {"gru_cell", single},     {"rnn_tanh_cell", single},     {"rnn_relu_cell", single},
};

}  // namespace

std::span<const Entry> recurrent_entries() { return kEntries; }

}  // namespace edgelift::edge
