#include "xnnpack/conv_forms.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "xnnpack/writer.h"

namespace edgelift::xnn {

namespace {

struct FormInfo {
  ConvForm form;
  std::string_view name;
  double error, growth;
};
constexpr std::array kInfo = {
    FormInfo{ConvForm::Direct, "direct", 0, 1},
    FormInfo{ConvForm::Im2col, "im2col", 2e-6, 1},
    FormInfo{ConvForm::Im2colBanded, "im2col-banded", 2e-6, 1},  // and the width of the band: form_weight_growth
    FormInfo{ConvForm::Winograd2, "winograd2", 3e-6, 16.0 / 9},
    FormInfo{ConvForm::Winograd2Stacked, "winograd2-stacked", 3e-6, 16.0 / 9},
    FormInfo{ConvForm::Winograd2Bmm, "winograd2-bmm", 3e-6, 16.0 / 9},
    FormInfo{ConvForm::Winograd4, "winograd4", 2e-5, 4},
    FormInfo{ConvForm::Winograd4Bmm, "winograd4-bmm", 2e-5, 4},
};
const FormInfo& info(ConvForm form) {
  for (const FormInfo& row : kInfo)
    if (row.form == form) return row;
  EL_UNREACHABLE("unknown convolution form");
}

// Lavin and Gray, "Fast algorithms for convolutional neural networks" (2015): Y = A^T [(G g G^T) . (B^T d B)] A.
struct Matrices {
  int m, t;  // outputs and inputs of one dim of a tile
  std::vector<std::vector<double>> bt, g, at;
};

const Matrices& matrices(int m) {
  static const Matrices f2 = {2,
                              4,
                              {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                              {{1, 0, 0}, {.5, .5, .5}, {.5, -.5, .5}, {0, 0, 1}},
                              {{1, 1, 1, 0}, {0, 1, -1, -1}}};
  static const Matrices f4 = {4,
                              6,
                              {{4, 0, -5, 0, 1, 0},
                               {0, -4, -4, 1, 1, 0},
                               {0, 4, -4, -1, 1, 0},
                               {0, -2, -1, 2, 1, 0},
                               {0, 2, -1, -2, 1, 0},
                               {0, 4, 0, -5, 0, 1}},
                              {{1. / 4, 0, 0},
                               {-1. / 6, -1. / 6, -1. / 6},
                               {-1. / 6, 1. / 6, -1. / 6},
                               {1. / 24, 1. / 12, 1. / 6},
                               {1. / 24, -1. / 12, 1. / 6},
                               {0, 0, 1}},
                              {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
  return m == 2 ? f2 : f4;
}

// U[i][j] = G w G^T for every pair of channels, as t*t tensors. transpose false: [oc, ic], true: [ic, oc].
std::vector<std::vector<float>> transform_filter(const TensorData& filter, const Matrices& w, bool transpose) {
  const auto oc = static_cast<size_t>(filter.sizes()[0]), ic = static_cast<size_t>(filter.sizes()[3]);
  const auto t = static_cast<size_t>(w.t);
  std::vector<std::vector<float>> out(t * t, std::vector<float>(oc * ic));
  const std::vector<float> values = filter.to_floats();  // [oc][3][3][ic]
  std::vector<double> half(t * 3);
  for (size_t o = 0; o < oc; ++o) {
    for (size_t c = 0; c < ic; ++c) {
      const float* g = values.data() + o * 9 * ic + c;
      for (size_t i = 0; i < t; ++i)
        for (size_t x = 0; x < 3; ++x) {
          double sum = 0;
          for (size_t y = 0; y < 3; ++y) sum += w.g[i][y] * static_cast<double>(g[(y * 3 + x) * ic]);
          half[i * 3 + x] = sum;
        }
      for (size_t i = 0; i < t; ++i)
        for (size_t j = 0; j < t; ++j) {
          double sum = 0;
          for (size_t x = 0; x < 3; ++x) sum += half[i * 3 + x] * w.g[j][x];
          out[i * t + j][transpose ? c * oc + o : o * ic + c] = static_cast<float>(sum);
        }
    }
  }
  return out;
}

uint32_t scalar_constant(Writer& w, double value) { return w.unpacked(scalar_data(DType::F32, value)); }

// Rows of a small matrix applied to a list of equal tensors. Terms with coefficient +-1 cost one Add or Subtract;
// others a Multiply first, and products that several rows share are made once.
class LinearCombination {
 public:
  LinearCombination(Writer& writer, std::vector<uint32_t> inputs) : writer_(writer), inputs_(std::move(inputs)) {}

  uint32_t row(const std::vector<double>& coefficients) {
    // A positive first term saves a negation: order them so.
    std::vector<std::pair<size_t, double>> terms;
    for (size_t i = 0; i < coefficients.size(); ++i)
      if (coefficients[i] > 0) terms.emplace_back(i, coefficients[i]);
    for (size_t i = 0; i < coefficients.size(); ++i)
      if (coefficients[i] < 0) terms.emplace_back(i, coefficients[i]);
    uint32_t sum = kInvalid;
    for (const auto& [index, coefficient] : terms) {
      if (sum == kInvalid) {
        sum = scaled(index, coefficient);
      } else {
        sum = writer_.binary(coefficient > 0 ? Kind::Add : Kind::Subtract, sum, scaled(index, std::abs(coefficient)));
      }
    }
    return sum;
  }

 private:
  uint32_t scaled(size_t index, double coefficient) {
    if (coefficient == 1) return inputs_[index];
    for (const auto& [i, c, id] : products_)
      if (i == index && c == coefficient) return id;
    const uint32_t id = writer_.binary(Kind::Multiply, inputs_[index], scalar_constant(writer_, coefficient));
    products_.emplace_back(index, coefficient, id);
    return id;
  }

  Writer& writer_;
  std::vector<uint32_t> inputs_;
  std::vector<std::tuple<size_t, double, uint32_t>> products_;
};

struct Shape {
  int64_t n, h, w, ic, oc;  // input and channels
  int64_t out_h, out_w;
};

Shape shape_of(const Graph& graph, const Node& node) {
  const Value& in = graph.values[node.inputs[0]];
  const Value& out = graph.values[node.outputs[0]];
  return {in.dims[0].value(),  in.dims[1].value(),  in.dims[2].value(), in.dims[3].value(),
          out.dims[3].value(), out.dims[1].value(), out.dims[2].value()};
}

const TensorData* bias_of(const Graph& graph, const Node& node) {
  return node.inputs[2] == kInvalid ? nullptr : &graph.values[node.inputs[2]].data;
}

// The padded input as blocks of bh x bw pixels: [n, row blocks, bh, column blocks, bw, ic]. Its windows begin at pixel
// (row, column) of the first block. The slices are taken from a value of this shape, and what is computed from them
// keeps six dims, because a reshape with more than one reader is a copy on the runtime.
struct Blocks {
  uint32_t value;
  int64_t bh, bw, row, column, row_blocks, column_blocks;
};

// Where the blocks of one dim begin and end: so many blocks before the input and after it, for windows over `need`
// pixels that begin `pad` before the input.
struct BlockSpan {
  int64_t pre, post, begin;
};
std::optional<BlockSpan> whole_blocks(int64_t size, int64_t pad, int64_t need, int64_t block) {
  if (size % block != 0) return std::nullopt;
  const int64_t pre = (pad + block - 1) / block, begin = pre * block - pad;
  const int64_t count = (begin + need + block - 1) / block;
  return BlockSpan{pre, std::max<int64_t>(0, count - pre - size / block), begin};
}

// Floats that are too few to be worth a call.
constexpr int64_t kShortRun = 32;

Blocks blocked_input(Writer& w, const Node& node, const Shape& s, int64_t bh, int64_t bw, int64_t need_h,
                     int64_t need_w) {
  const int64_t top = node.window.pad_top, left = node.window.pad_left;
  const auto rows = whole_blocks(s.h, top, need_h, bh), columns = whole_blocks(s.w, left, need_w, bw);
  // The runtime pads with a call for every run of the dims behind the last padded one, that is for every block.
  if (rows && columns && bw * s.ic >= kShortRun) {
    const int64_t row_blocks = rows->pre + s.h / bh + rows->post,
                  column_blocks = columns->pre + s.w / bw + columns->post;
    uint32_t value = w.reshape(node.inputs[0], {s.n, s.h / bh, bh, s.w / bw, bw, s.ic});
    if (rows->pre + rows->post + columns->pre + columns->post != 0)
      value = w.pad(value, {0, rows->pre, 0, columns->pre, 0, 0}, {0, rows->post, 0, columns->post, 0, 0});
    return {value, bh, bw, rows->begin, columns->begin, row_blocks, column_blocks};
  }
  // The padding makes whole blocks; the reshape after it is a copy. Channels count as columns, so that the runs are
  // whole rows.
  const int64_t row_blocks = (std::max(need_h, s.h + top) + bh - 1) / bh,
                column_blocks = (std::max(need_w, s.w + left) + bw - 1) / bw;
  uint32_t value = w.reshape(node.inputs[0], {s.n, s.h, s.w * s.ic});
  const int64_t bottom = row_blocks * bh - s.h - top, right = column_blocks * bw - s.w - left;
  if (top + left + bottom + right != 0) value = w.pad(value, {0, top, left * s.ic}, {0, bottom, right * s.ic});
  return {w.reshape(value, {s.n, row_blocks, bh, column_blocks, bw, s.ic}), bh, bw, 0, 0, row_blocks, column_blocks};
}

// Row `i` of every one of `count` windows that begin a block apart, as [n, count, 1, column blocks, bw, ic].
uint32_t window_row(Writer& w, const Blocks& b, const Shape& s, int64_t i, int64_t count) {
  const int64_t at = b.row + i;
  return w.slice(b.value, {0, at / b.bh, at % b.bh, 0, 0, 0}, {s.n, count, 1, b.column_blocks, b.bw, s.ic});
}

// Tiles of m x m outputs; each reads two rows and columns of the next.
struct Tiling {
  int64_t rows, columns;
};
Tiling tiling_of(const Shape& s, int64_t m) { return {(s.out_h + m - 1) / m, (s.out_w + m - 1) / m}; }

Blocks tile_blocks(Writer& w, const Node& node, const Shape& s, int64_t m) {
  const Tiling tiling = tiling_of(s, m);
  return blocked_input(w, node, s, m, m, tiling.rows * m + 2, tiling.columns * m + 2);
}

// Columns of tiles out of what `rows` rows of them were transformed to.
std::vector<uint32_t> tile_columns(Writer& w, uint32_t row, const Blocks& b, int64_t batch, int64_t th, int64_t tw,
                                   int t, int64_t ic) {
  std::vector<uint32_t> columns;
  for (int j = 0; j < t; ++j) {
    const int64_t at = b.column + j;
    columns.push_back(w.slice(row, {0, 0, 0, at / b.bw, at % b.bw, 0}, {batch, th, 1, tw, 1, ic}));
  }
  return columns;
}

// Writes the outputs of the tiles, [n, th, 1, tw, 1, oc] for every (i, j) of a tile, as the node's output.
void join_tiles(Writer& w, const Node& node, const Shape& s, int64_t m,
                const std::vector<std::vector<uint32_t>>& outputs) {
  const auto [th, tw] = tiling_of(s, m);
  std::vector<uint32_t> rows;
  for (const std::vector<uint32_t>& row : outputs) rows.push_back(w.concat(row, 4));
  const uint32_t joined = w.concat(rows, 2);
  const bool exact = th * m == s.out_h && tw * m == s.out_w;
  const uint32_t full = w.reshape(joined, {s.n, th * m, tw * m, s.oc}, exact ? node.outputs[0] : kInvalid);
  if (!exact) w.slice(full, {0, 0, 0, 0}, {s.n, s.out_h, s.out_w, s.oc}, node.outputs[0]);
}

// The index of the transform-domain element that reaches every output of the tile with coefficient one: where a bias
// may be added once. For both F(2) and F(4) column 1 of A^T is all ones, so it is (1, 1).
constexpr int kBiasRow = 1;

void winograd_elementwise(Graph& graph, const Node& node, int m, std::vector<Node>& nodes) {
  const Matrices& wg = matrices(m);
  const int t = wg.t;
  const Shape s = shape_of(graph, node);
  Writer w(graph, nodes, node.debug_handle);
  const auto [th, tw] = tiling_of(s, m);

  const Blocks blocks = tile_blocks(w, node, s, m);
  std::vector<uint32_t> rows;
  for (int i = 0; i < t; ++i) rows.push_back(window_row(w, blocks, s, i, th));
  LinearCombination row_transform(w, rows);
  const std::vector<std::vector<float>> filters = transform_filter(graph.values[node.inputs[1]].data, wg, false);
  const TensorData* bias = bias_of(graph, node);
  const uint32_t bias_id = bias == nullptr ? kInvalid : w.packed(*bias);
  // half[j][i]: column j of the outputs of row i of the products, made while they are in the cache.
  std::vector<std::vector<uint32_t>> half(static_cast<size_t>(m));
  for (int i = 0; i < t; ++i) {
    const uint32_t row = row_transform.row(wg.bt[static_cast<size_t>(i)]);
    LinearCombination column_transform(w, tile_columns(w, row, blocks, s.n, th, tw, t, s.ic));
    std::vector<uint32_t> products;
    for (int j = 0; j < t; ++j) {
      const uint32_t element = column_transform.row(wg.bt[static_cast<size_t>(j)]);
      const auto index = static_cast<size_t>(i * t + j);
      const uint32_t filter = w.packed(TensorData::of(DType::F32, {s.oc, s.ic}, filters[index]));
      products.push_back(w.fully_connected(element, filter, i == kBiasRow && j == kBiasRow ? bias_id : kInvalid));
    }
    LinearCombination column_output(w, products);
    for (int j = 0; j < m; ++j)
      half[static_cast<size_t>(j)].push_back(column_output.row(wg.at[static_cast<size_t>(j)]));
  }
  std::vector<std::vector<uint32_t>> outputs(static_cast<size_t>(m));
  for (int j = 0; j < m; ++j) {
    LinearCombination row_output(w, half[static_cast<size_t>(j)]);
    for (int i = 0; i < m; ++i) {
      outputs[static_cast<size_t>(i)].push_back(row_output.row(wg.at[static_cast<size_t>(i)]));
      if (node.min_max) w.clamp_last(*node.min_max);
    }
  }
  join_tiles(w, node, s, m, outputs);
}

// Rows are transformed as in winograd_elementwise, then stacked, so that one slice, one add and one batch matmul serve
// all t rows of a column: a quarter of the nodes for one more copy of the input and two of the output.
void winograd_stacked(Graph& graph, const Node& node, int m, std::vector<Node>& nodes) {
  const Matrices& wg = matrices(m);
  const int64_t t = wg.t;
  const Shape s = shape_of(graph, node);
  Writer w(graph, nodes, node.debug_handle);
  const auto [th, tw] = tiling_of(s, m);
  const int64_t tiles = s.n * th * tw;

  const Blocks blocks = tile_blocks(w, node, s, m);
  std::vector<uint32_t> rows;
  for (int64_t i = 0; i < t; ++i) rows.push_back(window_row(w, blocks, s, i, th));
  LinearCombination row_transform(w, rows);
  std::vector<uint32_t> transformed;
  for (int64_t i = 0; i < t; ++i) transformed.push_back(row_transform.row(wg.bt[static_cast<size_t>(i)]));
  const uint32_t stacked = w.concat(transformed, 0);
  LinearCombination column_transform(w, tile_columns(w, stacked, blocks, t * s.n, th, tw, wg.t, s.ic));
  const std::vector<std::vector<float>> filters = transform_filter(graph.values[node.inputs[1]].data, wg, true);
  std::vector<uint32_t> products;
  for (int64_t j = 0; j < t; ++j) {
    std::vector<float> weights;
    for (int64_t i = 0; i < t; ++i) {
      const auto& f = filters[static_cast<size_t>(i * t + j)];
      weights.insert(weights.end(), f.begin(), f.end());
    }
    const uint32_t element = w.reshape(column_transform.row(wg.bt[static_cast<size_t>(j)]), {t, tiles, s.ic});
    products.push_back(w.batch_matmul(element, w.packed(TensorData::of(DType::F32, {t, s.ic, s.oc}, weights))));
  }
  LinearCombination column_output(w, products);
  const TensorData* bias = bias_of(graph, node);
  const uint32_t bias_id = bias == nullptr ? kInvalid : w.unpacked(*bias);
  std::vector<std::vector<uint32_t>> outputs(static_cast<size_t>(m));
  for (int64_t j = 0; j < m; ++j) {
    const uint32_t column = column_output.row(wg.at[static_cast<size_t>(j)]);
    std::vector<uint32_t> parts;
    for (int64_t i = 0; i < t; ++i) parts.push_back(w.slice(column, {i, 0, 0}, {1, tiles, s.oc}));
    LinearCombination row_output(w, parts);
    for (int64_t i = 0; i < m; ++i) {
      uint32_t value = row_output.row(wg.at[static_cast<size_t>(i)]);
      if (bias_id != kInvalid) value = w.binary(Kind::Add, value, bias_id);
      if (node.min_max) w.clamp_last(*node.min_max);
      outputs[static_cast<size_t>(i)].push_back(w.reshape(value, {s.n, th, 1, tw, 1, s.oc}));
    }
  }
  join_tiles(w, node, s, m, outputs);
}

TensorData matrix_constant(const std::vector<std::vector<double>>& rows) {
  std::vector<float> values;
  for (const auto& row : rows)
    for (const double v : row) values.push_back(static_cast<float>(v));
  return TensorData::of(DType::F32, {1, static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size())},
                        values);
}

void winograd_bmm(Graph& graph, const Node& node, int m, std::vector<Node>& nodes) {
  const Matrices& wg = matrices(m);
  const int64_t t = wg.t;
  const Shape s = shape_of(graph, node);
  Writer w(graph, nodes, node.debug_handle);
  const auto [th, tw] = tiling_of(s, m);
  const int64_t nh = s.n * th, pw = (tw + 1) * m;

  // Overlapping tiles of t rows: the block itself and the first two rows of the next.
  const uint32_t padded = w.pad(node.inputs[0], {0, node.window.pad_top, node.window.pad_left, 0},
                                {0, (th + 1) * m - s.h - node.window.pad_top, pw - s.w - node.window.pad_left, 0});
  const uint32_t blocked = w.reshape(padded, {s.n, th + 1, m, pw * s.ic});
  uint32_t rows = w.concat({w.slice(blocked, {0, 0, 0, 0}, {s.n, th, m, pw * s.ic}),
                            w.slice(blocked, {0, 1, 0, 0}, {s.n, th, 2, pw * s.ic})},
                           2);
  const uint32_t bt = w.unpacked(matrix_constant(wg.bt));
  rows = w.batch_matmul(bt, w.reshape(rows, {nh, t, pw * s.ic}));
  const uint32_t column_blocks = w.reshape(rows, {nh * t, tw + 1, m * s.ic});
  uint32_t columns = w.concat({w.slice(column_blocks, {0, 0, 0}, {nh * t, tw, m * s.ic}),
                               w.slice(column_blocks, {0, 1, 0}, {nh * t, tw, 2 * s.ic})},
                              2);
  columns = w.batch_matmul(bt, w.reshape(columns, {nh * t * tw, t, s.ic}));
  uint32_t v = w.transpose(w.reshape(columns, {nh, t, tw, t, s.ic}), {1, 3, 0, 2, 4});
  v = w.reshape(v, {t * t, nh * tw, s.ic});
  const std::vector<std::vector<float>> filters = transform_filter(graph.values[node.inputs[1]].data, wg, true);
  std::vector<float> all;
  all.reserve(filters.size() * filters[0].size());
  for (const auto& f : filters) all.insert(all.end(), f.begin(), f.end());
  uint32_t y = w.batch_matmul(v, w.packed(TensorData::of(DType::F32, {t * t, s.ic, s.oc}, all)));
  const uint32_t at = w.unpacked(matrix_constant(wg.at));
  y = w.batch_matmul(at, w.reshape(y, {1, t, t * nh * tw * s.oc}));
  y = w.batch_matmul(at, w.reshape(y, {m, t, nh * tw * s.oc}));
  y = w.transpose(w.reshape(y, {m, m, nh, tw, s.oc}), {2, 0, 3, 1, 4});
  y = w.reshape(y, {s.n, th * m, tw * m, s.oc});
  if (th * m != s.out_h || tw * m != s.out_w) y = w.slice(y, {0, 0, 0, 0}, {s.n, s.out_h, s.out_w, s.oc});
  const TensorData* bias = bias_of(graph, node);
  if (bias != nullptr) {
    w.binary(Kind::Add, y, w.unpacked(*bias), node.outputs[0]);
    if (node.min_max) w.clamp_last(*node.min_max);
  } else {
    Node clamp;
    clamp.kind = node.min_max ? Kind::Clamp : Kind::Copy;
    clamp.inputs = {y};
    clamp.min_max = node.min_max;
    w.add(std::move(clamp), node.outputs[0]);
  }
}

// Outputs of a row that share a patch in the banded form. Two: with more, the multiplications by zero cost what the
// longer pieces save.
constexpr int64_t kBand = 2;

// Columns of the patch that `group` neighbouring outputs share.
int64_t band_window(const Window& k, int64_t group) {
  return (group - 1) * k.stride_w + (int64_t{k.kernel_w} - 1) * k.dilation_w + 1;
}

// [group * oc, kh * window * ic]: the filter of output g of a group begins g strides into the window.
TensorData banded_filter(const TensorData& filter, const Window& k, int64_t group, int64_t window) {
  const int64_t oc = filter.sizes()[0], kh = filter.sizes()[1], kw = filter.sizes()[2], ic = filter.sizes()[3];
  const std::vector<float> values = filter.to_floats();
  std::vector<float> banded(static_cast<size_t>(group * oc * kh * window * ic));
  for (int64_t g = 0; g < group; ++g)
    for (int64_t o = 0; o < oc; ++o)
      for (int64_t y = 0; y < kh; ++y)
        for (int64_t x = 0; x < kw; ++x) {
          const auto from = ((o * kh + y) * kw + x) * ic;
          const auto to = (((g * oc + o) * kh + y) * window + g * k.stride_w + x * k.dilation_w) * ic;
          std::copy_n(values.begin() + from, ic, banded.begin() + to);
        }
  return TensorData::of(DType::F32, {group * oc, kh * window * ic}, banded);
}

TensorData repeated(const TensorData& bias, int64_t group) {
  const std::vector<float> values = bias.to_floats();
  std::vector<float> out;
  for (int64_t g = 0; g < group; ++g) out.insert(out.end(), values.begin(), values.end());
  return TensorData::of(DType::F32, {group * bias.sizes()[0]}, out);
}

// Column slices joined along the channels, then row slices likewise: a patch of kh rows of `window` columns, and one
// fully-connected over it. With `group` > 1 that many neighbouring outputs of a row share a patch, and the filter is
// written once for each of them, moved by the stride: fewer and longer pieces to copy, for more multiplications.
void im2col(Graph& graph, const Node& node, int64_t group, std::vector<Node>& nodes) {
  const Shape s = shape_of(graph, node);
  const Window& k = node.window;
  Writer w(graph, nodes, node.debug_handle);
  const int64_t sh = k.stride_h, sw = k.stride_w, block = sw * group;
  const auto kh = static_cast<int64_t>(k.kernel_h), kw = static_cast<int64_t>(k.kernel_w);
  const int64_t out_w = s.out_w / group;
  // A column of the patch is a tap of the filter; with a group, the columns in between belong to other taps.
  const int64_t dilation = group == 1 ? k.dilation_w : 1;
  const int64_t window = group == 1 ? kw : band_window(k, group);
  // Blocks of the stride, so that a strided window is a plain slice.
  const Blocks blocks = blocked_input(w, node, s, sh, block, (s.out_h - 1) * sh + (kh - 1) * k.dilation_h + 1,
                                      (out_w - 1) * block + (window - 1) * dilation + 1);
  // One slice takes rows and columns at once where there is one piece of either; otherwise the columns are joined
  // first, for every row, and the rows of that.
  struct Piece {
    int64_t block, at, width;
  };
  std::vector<Piece> pieces;  // neighbouring columns of one block
  for (int64_t j = 0; j < window; j += pieces.back().width) {
    const int64_t at = blocks.column + j * dilation;
    pieces.push_back({at / block, at % block, dilation == 1 ? std::min(block - at % block, window - j) : 1});
  }
  const auto rows_of = [&](uint32_t value, const Piece& piece) {
    std::vector<uint32_t> rows;
    for (int64_t i = 0; i < kh; ++i) {
      const int64_t at = blocks.row + i * k.dilation_h;
      const uint32_t row = w.slice(value, {0, at / sh, at % sh, piece.block, piece.at, 0},
                                   {s.n, s.out_h, 1, out_w, piece.width, w.dims(value).back()});
      rows.push_back(w.reshape(row, {s.n, s.out_h, 1, out_w, 1, piece.width * w.dims(value).back()}));
    }
    return w.concat(rows, 5);
  };
  const auto columns_of = [&](uint32_t value, int64_t row_block, int64_t row_at, int64_t row_blocks,
                              int64_t row_count) {
    std::vector<uint32_t> columns;
    for (const Piece& piece : pieces)
      columns.push_back(w.reshape(w.slice(value, {0, row_block, row_at, piece.block, piece.at, 0},
                                          {s.n, row_blocks, row_count, out_w, piece.width, s.ic}),
                                  {s.n, row_blocks, row_count, out_w, 1, piece.width * s.ic}));
    return w.concat(columns, 5);
  };
  uint32_t patches = kInvalid;
  if (pieces.size() == 1) {
    patches = rows_of(blocks.value, pieces[0]);
  } else if (kh == 1) {
    patches = columns_of(blocks.value, blocks.row / sh, blocks.row % sh, s.out_h, 1);
  } else {
    patches = rows_of(columns_of(blocks.value, 0, 0, blocks.row_blocks, sh), {0, 0, 1});
  }
  const TensorData* bias = bias_of(graph, node);
  const TensorData filter = graph.values[node.inputs[1]].data;
  const bool grouped = group > 1;
  const uint32_t out = w.fully_connected(
      patches, w.packed(grouped ? banded_filter(filter, k, group, window) : filter.reshaped({s.oc, kh * kw * s.ic})),
      bias == nullptr ? kInvalid : w.packed(grouped ? repeated(*bias, group) : *bias));
  if (node.min_max) w.clamp_last(*node.min_max);
  w.reshape(out, {s.n, s.out_h, s.out_w, s.oc}, node.outputs[0]);
}

}  // namespace

std::string_view form_name(ConvForm form) { return info(form).name; }
double form_error(ConvForm form) { return info(form).error; }
double form_weight_growth(ConvForm form, const Window& window) {
  double growth = info(form).growth;
  if (form == ConvForm::Im2colBanded)
    growth *= static_cast<double>(kBand * band_window(window, kBand)) / window.kernel_w;
  return growth;
}
std::optional<ConvForm> form_from_name(std::string_view name) {
  for (const FormInfo& row : kInfo)
    if (row.name == name) return row.form;
  return std::nullopt;
}

bool form_applies(const Graph& graph, const Node& node, ConvForm form) {
  if (form == ConvForm::Direct) return true;
  if (node.kind != Kind::Conv2d || (node.flags & kFlagSamePadding) != 0 || node.window.groups != 1) return false;
  const Value& in = graph.values[node.inputs[0]];
  const Value& filter = graph.values[node.inputs[1]];
  const Value& out = graph.values[node.outputs[0]];
  if (in.datatype != Datatype::F32 || out.datatype != Datatype::F32 || filter.datatype != Datatype::F32) return false;
  if (filter.use != Use::Packed || filter.data.dtype() != DType::F32) return false;
  if (node.inputs[2] != kInvalid && graph.values[node.inputs[2]].data.dtype() != DType::F32) return false;
  for (const SymInt& dim : in.dims)
    if (!dim.is_const() || dim.value() == 0) return false;
  for (const SymInt& dim : out.dims)
    if (!dim.is_const() || dim.value() == 0) return false;
  const Window& w = node.window;
  if (form == ConvForm::Im2colBanded) return w.kernel_w > 1 && out.dims[2].value() % kBand == 0;
  // A 1x1 filter of stride one is a plain GEMM already.
  if (form == ConvForm::Im2col) return w.kernel_h * w.kernel_w * w.stride_h * w.stride_w > 1;
  return w.kernel_h == 3 && w.kernel_w == 3 && w.stride_h == 1 && w.stride_w == 1 && w.dilation_h == 1 &&
         w.dilation_w == 1;
}

void expand_convolution(Graph& graph, const Node& node, ConvForm form, std::vector<Node>& nodes) {
  EL_CHECK(form != ConvForm::Direct && form_applies(graph, node, form), "a convolution form that does not apply");
  switch (form) {
    case ConvForm::Im2col:
      return im2col(graph, node, 1, nodes);
    case ConvForm::Im2colBanded:
      return im2col(graph, node, kBand, nodes);
    case ConvForm::Winograd2:
      return winograd_elementwise(graph, node, 2, nodes);
    case ConvForm::Winograd2Stacked:
      return winograd_stacked(graph, node, 2, nodes);
    case ConvForm::Winograd2Bmm:
      return winograd_bmm(graph, node, 2, nodes);
    case ConvForm::Winograd4:
      return winograd_elementwise(graph, node, 4, nodes);
    case ConvForm::Winograd4Bmm:
      return winograd_bmm(graph, node, 4, nodes);
    case ConvForm::Direct:
      break;
  }
}

}  // namespace edgelift::xnn
