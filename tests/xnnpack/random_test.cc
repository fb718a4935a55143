// Random graphs: whatever optimize does, the same bits come out, and no more bytes are transposed than before.
#include <algorithm>
#include <cstdlib>

#include "make.h"

namespace edgelift::testing {
namespace {

using xnn::Kind;

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : random_(seed) {}

  xnn::Graph make() {
    for (int i = 0; i < 1 + pick(2); ++i) values_.push_back(m_.input({1, 4, 6, 6}));
    if (pick(2) == 0) values_.push_back(m_.input({4, 1, 1}));
    const int nodes = 4 + pick(20);
    for (int i = 0; i < nodes; ++i) step();
    // Every value that nobody reads leaves, and some others.
    std::vector<bool> read(m_.graph.values.size(), false), made(m_.graph.values.size(), false);
    for (const xnn::Node& node : m_.graph.nodes) {
      for (const uint32_t id : node.inputs)
        if (id != xnn::kInvalid) read[id] = true;
      made[node.outputs[0]] = true;
    }
    for (uint32_t id = 0; id < read.size(); ++id)
      if (made[id] && (!read[id] || pick(8) == 0)) m_.output(id);
    return m_.graph;
  }

 private:
  uint32_t next() { return static_cast<uint32_t>(random_()); }
  int pick(int n) { return static_cast<int>(next() % static_cast<uint32_t>(n)); }
  uint32_t any() { return values_[static_cast<size_t>(pick(static_cast<int>(values_.size())))]; }
  Dims dims(uint32_t id) const {
    Dims out;
    for (const SymInt& d : m_.dims(id)) out.push_back(d.value());
    return out;
  }
  uint32_t any_of_rank(size_t rank) {
    for (int i = 0; i < 20; ++i)
      if (const uint32_t id = any(); dims(id).size() == rank) return id;
    return xnn::kInvalid;
  }
  static bool broadcasts(const Dims& a, const Dims& b) {
    for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
      const int64_t x = a[a.size() - i], y = b[b.size() - i];
      if (x != y && x != 1 && y != 1) return false;
    }
    return true;
  }
  std::vector<int64_t> random_perm(size_t rank) {
    std::vector<int64_t> perm(rank);
    for (size_t i = 0; i < rank; ++i) perm[i] = static_cast<int64_t>(i);
    if (rank == 4 && pick(3) != 0)
      return pick(2) == 0 ? std::vector<int64_t>{0, 2, 3, 1} : std::vector<int64_t>{0, 3, 1, 2};
    std::shuffle(perm.begin(), perm.end(), random_);
    return perm;
  }

  void step() {
    const uint32_t in = any();
    const Dims d = dims(in);
    int64_t numel = 1;
    for (const int64_t x : d) numel *= x;
    uint32_t out = xnn::kInvalid;
    switch (pick(14)) {
      case 0:
        out = m_.op(Kind::Abs, {in});
        break;
      case 1:
        out = m_.clamp(in, -1, 1);
        break;
      case 2:
      case 3: {
        uint32_t other = any();
        if (!broadcasts(d, dims(other)))
          other = d.size() >= 3 ? m_.unpacked({d[d.size() - 3], 1, 1}, next()) : m_.unpacked({d.back()}, next());
        static constexpr Kind kKinds[] = {Kind::Add, Kind::Subtract, Kind::Multiply, Kind::Maximum};
        out = pick(2) == 0 ? m_.op(kKinds[pick(4)], {in, other}) : m_.op(kKinds[pick(4)], {other, in});
        break;
      }
      case 4:
      case 5:
      case 6:
        out = m_.transpose(in, random_perm(d.size()));
        break;
      case 7:
      case 8:
        if (d.size() == 4) out = m_.conv_nchw(in, static_cast<uint32_t>(1 + pick(5)), pick(2) == 0 ? 1 : 3, next());
        break;
      case 9: {
        // Merge two neighbouring dims, or split one.
        Dims shape = d;
        if (pick(2) == 0 && d.size() >= 2) {
          const auto at = static_cast<size_t>(pick(static_cast<int>(d.size()) - 1));
          shape[at] *= shape[at + 1];
          shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        } else if (d.size() < 5) {
          const auto at = static_cast<size_t>(pick(static_cast<int>(d.size())));
          const int64_t factor = shape[at] % 2 == 0 ? 2 : 1;
          shape[at] /= factor;
          shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), factor);
        }
        out = m_.reshape(in, shape);
        break;
      }
      case 10: {
        std::vector<int64_t> offsets(d.size(), 0), sizes = d;
        const auto at = static_cast<size_t>(pick(static_cast<int>(d.size())));
        if (d[at] > 1) {
          offsets[at] = 1;
          sizes[at] -= 1;
        }
        out = m_.slice(in, offsets, sizes);
        break;
      }
      case 11: {
        std::vector<int64_t> pre(d.size(), 0), post(d.size(), 0);
        pre[static_cast<size_t>(pick(static_cast<int>(d.size())))] = 1;
        if (numel < 4000) out = m_.pad(in, pre, post);
        break;
      }
      case 12:
        if (numel < 4000) out = m_.concat(in, in, pick(static_cast<int>(d.size())));
        break;
      default:
        if (pick(3) == 0) {
          out = m_.op(Kind::Softmax, {in});
        } else if (pick(2) == 0) {
          out = m_.linear(in, m_.packed({5, d.back()}, next()), pick(2) == 0 ? m_.packed({5}, next()) : xnn::kInvalid);
        } else if (d.size() >= 2) {
          // x times its own transpose.
          std::vector<int64_t> perm(d.size());
          for (size_t i = 0; i < d.size(); ++i) perm[i] = static_cast<int64_t>(i);
          std::swap(perm[d.size() - 1], perm[d.size() - 2]);
          if (numel < 2000) out = m_.batch_matmul(in, m_.transpose(in, perm));
        }
        break;
    }
    if (out != xnn::kInvalid) values_.push_back(out);
  }

  std::minstd_rand random_;
  Maker m_;
  std::vector<uint32_t> values_;
};

TEST(Random, OptimizeKeepsEveryBit) {
  // EDGELIFT_RANDOM_GRAPHS=N runs more of them.
  const char* wish = std::getenv("EDGELIFT_RANDOM_GRAPHS");
  const uint32_t count = wish == nullptr ? 400 : static_cast<uint32_t>(std::atoi(wish));
  int64_t before = 0, after = 0;
  for (uint32_t seed = 1; seed <= count; ++seed) {
    const xnn::Graph graph = RandomGraph(seed).make();
    SCOPED_TRACE(seed);
    xnn::OptimizeOptions options;
    options.upstream = seed % 4 == 0;
    const xnn::Graph better = optimized(graph, options);
    EXPECT_LE(transposed_bytes(better), transposed_bytes(graph));
    before += transposed_bytes(graph);
    after += transposed_bytes(better);
    if (HasFailure()) return;
  }
  EXPECT_LT(after, before * 3 / 4);
}

}  // namespace
}  // namespace edgelift::testing
