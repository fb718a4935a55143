// The graph of one XNNPACK delegate as plain data (xnnpack-delegate 2). Knows nothing of the ir. Layout is explicit:
// the convolution family, pools and resize read and write NHWC; everything else works on dims as they are.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/symint.h"
#include "base/tensor_data.h"

namespace edgelift::xnn {

inline constexpr uint32_t kInvalid = 0xFFFFFFFFu;
inline constexpr size_t kMaxRank = 6;

// Numbers of the schema's XNodeUnion.
enum class Kind : uint8_t {
  Add = 1,
  FullyConnected = 2,
  Softmax = 3,
  Sigmoid = 4,
  StaticTranspose = 5,
  Clamp = 6,
  Conv2d = 7,
  Div = 8,
  StaticResizeBilinear2D = 9,
  StaticConstantPad = 10,
  AvgPooling2d = 11,
  Minimum = 12,
  DepthwiseConv2d = 13,
  MaxPooling2d = 14,
  Multiply = 15,
  Subtract = 16,
  Floor = 17,
  Convert = 18,
  GlobalAvgPooling2d = 19,
  StaticReshape = 20,
  ArgMaxPooling2d = 21,
  SquareRoot = 22,
  Ceiling = 23,
  Hardswish = 24,
  LeakyReLU = 25,
  Maximum = 26,
  Negate = 27,
  Square = 28,
  ELU = 29,
  Abs = 30,
  PReLU = 31,
  Concatenate2 = 32,
  Concatenate3 = 33,
  Concatenate4 = 34,
  StaticSlice = 35,
  BatchMatrixMultiply = 37,
  Concatenate5 = 38,
  ConvTranspose2d = 39,
  ReciprocalSquareRoot = 40,
  Log = 41,
  Gelu = 42,
  Tanh = 43,
  Exp = 44,
  Sin = 45,
  Copy = 46,
  Cos = 47,
};
const char* kind_name(Kind kind);

// Numbers of the schema's XNNDatatype.
enum class Datatype : uint8_t {
  Invalid = 0,
  F32 = 1,
  F16 = 2,
  QInt8 = 3,
  QUInt8 = 4,
  QInt32 = 5,
  QCInt8 = 6,
  QCInt32 = 7,
  QCInt4 = 8,
  QDInt8 = 9,
  QBInt4 = 10,
  QPInt8 = 11,
  Int32 = 12,
  PF32 = 13,
  BF16 = 14,
};
std::optional<Datatype> datatype_of(DType dtype);  // f32, f16, i32, bf16
const char* datatype_name(Datatype datatype);      // f32, f16, i32, bf16, qint8 …

// How a constant is used. Only packed constants may live in the delegate.
enum class Use : uint8_t {
  None,      // not a constant
  Packed,    // filter or bias of convolution and fully-connected, constant second operand of a batch matmul
  Unpacked,  // any other operand: handed to the delegate as an input
};

struct Value {
  Datatype datatype = Datatype::F32;
  std::vector<SymInt> dims;
  Use use = Use::None;
  TensorData data;               // constants: elements in the order of dims, of the element type of datatype
  const void* source = nullptr;  // Unpacked: the program constant that data is, unchanged (an opaque key); else null
  bool external_input = false;
  bool external_output = false;
  uint32_t external_id = kInvalid;  // set by finalize()
  std::string name;                 // for messages and the text form
};

struct Window {  // convolution and pooling attributes
  uint32_t pad_top = 0, pad_right = 0, pad_bottom = 0, pad_left = 0;
  uint32_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  uint32_t groups = 1, group_input_channels = 0, group_output_channels = 0;
  uint32_t adjustment_h = 0, adjustment_w = 0;
};

struct Node {
  Kind kind = Kind::Add;
  // In the order of the schema's id fields: FullyConnected and the convolutions: input, filter, bias (kInvalid = none);
  // binary: input1, input2; PReLU: input, slope; Concatenate: input1…
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;  // one, but ArgMaxPooling2d: value, index
  uint32_t flags = 0;
  std::optional<std::pair<float, float>> min_max;  // output clamp; see fuses_min_max
  Window window;                                   // convolutions, pools
  int32_t axis = 0;                                // Concatenate
  // StaticTranspose: perm. StaticReshape: new shape, 0 = inferred. StaticSlice: offsets. StaticConstantPad: pre.
  std::vector<int64_t> list;
  // StaticSlice: sizes. StaticConstantPad: post.
  std::vector<int64_t> list2;
  float scalar = 0;                        // pad value, ELU alpha, LeakyReLU slope
  uint32_t new_height = 0, new_width = 0;  // StaticResizeBilinear2D
  uint32_t debug_handle = 0;               // exported node, for profiles and error logs
};

inline constexpr uint32_t kFlagTransposeWeights = 1;  // FullyConnected: filter is [in, out]
inline constexpr uint32_t kFlagTransposeB = 1;        // BatchMatrixMultiply: B is [.., n, k]
inline constexpr uint32_t kFlagKeepDims = 64;         // GlobalAvgPooling2d
inline constexpr uint32_t kFlagSamePadding = 4;
inline constexpr uint32_t kFlagAlignCorners = 8;  // resize

// Whether the runtime honours min_max on this kind (xnnpack-delegate 7).
bool fuses_min_max(Kind kind);
bool reads_nhwc(Kind kind);

// Kinds that share their shape rule and their fields.
enum class Category : uint8_t {
  Unknown,
  Unary,
  Binary,
  PReLU,
  FullyConnected,
  Convolution,
  BatchMatmul,
  Softmax,
  Convert,
  Pooling,
  ArgMaxPooling,
  GlobalPooling,
  Resize,
  Concatenate,
  Transpose,
  Reshape,
  Slice,
  Pad,
};
Category category(Kind kind);
size_t concatenate_arity(Kind kind);  // 2 to 5; 0 for other kinds
// True if XNNPACK copies a constant in this operand's place when the delegate is created.
bool packs_operand(const Node& node, size_t operand);

struct Graph {
  std::vector<Value> values;  // id = index
  std::vector<Node> nodes;    // in an order that defines before use
  // Ids of external values in call order: inputs as given, then constants handed in as inputs, then outputs. The
  // position over all three is the external id and the index into the delegate call's argument list.
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> constant_inputs;  // Use::Unpacked values, each once
  std::vector<uint32_t> outputs;

  uint32_t add_value(Value value);
  uint32_t temp(Datatype datatype, std::vector<SymInt> dims);
};

// Dims of the node's outputs by its inputs' dims and its attributes: what the runtime will infer. Error: one sentence
// without the node's name, if operands and attributes do not fit.
Result<std::vector<std::vector<SymInt>>> infer_dims(const Graph& graph, const Node& node);

// Checks everything that the runtime would refuse or, worse, not refuse (xnnpack-delegate 3, 7, 10): ids, arity, rank,
// dtypes that agree, static conv filters, window arithmetic, slice bounds, the rule on unpacked constants, externals.
Status verify(const Graph& graph);

// Rewrites the graph into an equal, cheaper one: see optimize.cc for the list. Deterministic.
struct ConvPolicy;  // target.h
struct OptimizeOptions {
  bool layout = true;  // move and cancel transposes
  bool fuse_activations = true;
  bool upstream = false;             // only what ExecuTorch's own flow does
  const ConvPolicy* conv = nullptr;  // forms of convolutions; null: the direct one. Must outlive the call.
};
Status optimize(Graph& graph, const OptimizeOptions& options);

// Fills constant_inputs and numbers the externals; drops unused values. After this the graph is ready to write.
void finalize(Graph& graph);

// The delegate blob: XH00 header and flatbuffer, no inline constants; every packed constant is named data.
struct Blob {
  std::vector<std::byte> bytes;
  struct Named {
    std::string key;
    TensorData data;
  };
  std::vector<Named> named;  // unique keys
};
Result<Blob> serialize(const Graph& graph);

// The `xnn @name { … }` section of the text form, one node a line.
std::string print(const Graph& graph, std::string_view name);

}  // namespace edgelift::xnn
