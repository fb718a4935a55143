// Recurrent layers and cells: shape rules. They have neither kernel nor node; to_edge unrolls them.
#include "ops/families.h"
#include "ops/infer.h"

namespace edgelift::ops {
namespace {

using ir::Shape;
using ir::Type;

// The [directions * layers, batch, hidden] state that comes in and goes out.
Result<const Type*> state(const Call& c, size_t which, size_t count) {
  const ir::Arg& arg = c.arg("hx");
  if (const auto* list = std::get_if<ir::ValueList>(&arg)) {
    if (list->size() != count)
      return input_error("a recurrent layer takes " + std::to_string(count) + " states, not " +
                         std::to_string(list->size()));
    return &(*list)[which]->type;
  }
  return &Call::tensor_type(arg);
}

Types layer(const Call& c, size_t states) {
  const Type& input = c.type("input");
  const int64_t directions = c.flag("bidirectional") ? 2 : 1;
  if (input.rank() != 2 && input.rank() != 3)
    return input_error("a recurrent layer takes an input of rank 2 or 3, not " + sizes_text(input.sizes));
  // A projected LSTM has a hidden state narrower than its cell: four weights and biases a direction, then one more.
  std::vector<Type> types(1, input);
  for (size_t i = 0; i < states; ++i) {
    EL_TRY(const Type* type, state(c, i, states));
    if (type->rank() != input.rank())
      return input_error("the state of a recurrent layer has another rank than its input");
    types.push_back(*type);
  }
  types[0].sizes.back() = types[1].sizes.back() * SymInt(directions);
  types[0].dim_order.clear();
  return types;
}

Types infer_one_state(const Call& c) { return layer(c, 1); }
Types infer_two_states(const Call& c) { return layer(c, 2); }

Types packed(const Call& c, size_t states) {
  std::vector<Type> types(1, c.type("data"));
  for (size_t i = 0; i < states; ++i) {
    EL_TRY(const Type* type, state(c, i, states));
    types.push_back(*type);
  }
  types[0].sizes.back() = types[1].sizes.back() * SymInt(c.flag("bidirectional") ? 2 : 1);
  return types;
}

Types infer_packed_one(const Call& c) { return packed(c, 1); }
Types infer_packed_two(const Call& c) { return packed(c, 2); }

Types infer_cell(const Call& c) { return one(c.type("hx")); }

Types infer_lstm_cell(const Call& c) {
  std::vector<Type> types;
  for (size_t i = 0; i < 2; ++i) {
    EL_TRY(const Type* type, state(c, i, 2));
    types.push_back(*type);
  }
  return types;
}

constexpr std::string_view kUnrolled = "recurrence is no node of the delegate; to_edge unrolls its steps";

#define LAYER_TAIL ", Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"
#define RNN(NAME)                                                                                                     \
  {.schema = "aten::" NAME ".input(Tensor input, Tensor hx" LAYER_TAIL ", bool batch_first) -> (Tensor, Tensor)",     \
   .infer = infer_one_state,                                                                                          \
   .note = kUnrolled},                                                                                                \
      {.schema = "aten::" NAME ".data(Tensor data, Tensor batch_sizes, Tensor hx" LAYER_TAIL ") -> (Tensor, Tensor)", \
       .infer = infer_packed_one,                                                                                     \
       .note = kUnrolled},                                                                                            \
  {                                                                                                                   \
    .schema = "aten::" NAME                                                                                           \
              "_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "                          \
              "Tensor? b_hh=None) -> Tensor",                                                                         \
    .infer = infer_cell, .note = kUnrolled                                                                            \
  }

constexpr OpDef kOps[] = {
    RNN("gru"),
    RNN("rnn_tanh"),
    RNN("rnn_relu"),
    {.schema =
         "aten::lstm.input(Tensor input, Tensor[] hx" LAYER_TAIL ", bool batch_first) -> (Tensor, Tensor, Tensor)",
     .infer = infer_two_states,
     .note = kUnrolled},
    {.schema =
         "aten::lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx" LAYER_TAIL ") -> (Tensor, Tensor, Tensor)",
     .infer = infer_packed_two,
     .note = kUnrolled},
    {.schema = "aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? "
               "b_hh=None) -> "
               "(Tensor, Tensor)",
     .infer = infer_lstm_cell,
     .note = kUnrolled},
};

}  // namespace

std::span<const OpDef> rnn_ops() { return kOps; }

}  // namespace edgelift::ops
