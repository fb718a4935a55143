// Other names for one operator, numbers given where the schema says Tensor, and overloads without a kernel of their
// own.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "edge/table.h"

namespace edgelift::edge {
namespace {

struct Pair {
  std::string_view from, to;
};

// Same arguments, same meaning.
constexpr auto kNames = std::to_array<Pair>({
    {"absolute", "abs"},
    {"arccos", "acos"},
    {"arccosh", "acosh"},
    {"arcsin", "asin"},
    {"arcsinh", "asinh"},
    {"arctan", "atan"},
    {"arctan2", "atan2"},
    {"arctanh", "atanh"},
    {"clip", "clamp"},
    {"clip.Tensor", "clamp.Tensor"},
    {"concat", "cat"},
    {"concatenate", "cat"},
    {"divide.Scalar", "div.Scalar"},
    {"divide.Scalar_mode", "div.Scalar_mode"},
    {"divide.Tensor", "div.Tensor"},
    {"divide.Tensor_mode", "div.Tensor_mode"},
    {"true_divide.Scalar", "div.Scalar"},
    {"true_divide.Tensor", "div.Tensor"},
    {"fix", "trunc"},
    {"greater.Scalar", "gt.Scalar"},
    {"greater.Tensor", "gt.Tensor"},
    {"greater_equal.Scalar", "ge.Scalar"},
    {"greater_equal.Tensor", "ge.Tensor"},
    {"less.Scalar", "lt.Scalar"},
    {"less.Tensor", "lt.Tensor"},
    {"less_equal.Scalar", "le.Scalar"},
    {"less_equal.Tensor", "le.Tensor"},
    {"not_equal.Scalar", "ne.Scalar"},
    {"not_equal.Tensor", "ne.Tensor"},
    {"multiply.Scalar", "mul.Scalar"},
    {"multiply.Tensor", "mul.Tensor"},
    {"subtract.Scalar", "sub.Scalar"},
    {"subtract.Tensor", "sub.Tensor"},
    {"negative", "neg"},
    {"max.other", "maximum"},
    {"min.other", "minimum"},
    {"special_erf", "erf"},
    {"special_erfc", "erfc"},
    {"special_exp2", "exp2"},
    {"special_expit", "sigmoid"},
    {"special_expm1", "expm1"},
    {"special_log1p", "log1p"},
    {"special_logit", "logit"},
    {"special_logsumexp", "logsumexp"},
    {"special_log_softmax", "log_softmax.int"},
    {"special_softmax", "softmax.int"},
    {"special_round", "round"},
    {"special_sinc", "sinc"},
    {"special_xlogy", "xlogy.Tensor"},
    {"__and__.Scalar", "bitwise_and.Scalar"},
    {"__and__.Tensor", "bitwise_and.Tensor"},
    {"__or__.Scalar", "bitwise_or.Scalar"},
    {"__or__.Tensor", "bitwise_or.Tensor"},
    {"__xor__.Scalar", "bitwise_xor.Scalar"},
    {"__xor__.Tensor", "bitwise_xor.Tensor"},
    {"__lshift__.Scalar", "bitwise_left_shift.Tensor_Scalar"},
    {"__lshift__.Tensor", "bitwise_left_shift.Tensor"},
    {"__rshift__.Scalar", "bitwise_right_shift.Tensor_Scalar"},
    {"__rshift__.Tensor", "bitwise_right_shift.Tensor"},
    {"_unsafe_index.Tensor", "index.Tensor"},
    {"_unsafe_index_put", "index_put"},
    {"linalg_matmul", "matmul"},
    {"item", "_local_scalar_dense"},
});

Result<bool> rename(Builder& b) {
  const std::string name = b.node().op->text_name();
  const auto at = std::find_if(kNames.begin(), kNames.end(), [&](const Pair& pair) { return pair.from == name; });
  EL_CHECK(at != kNames.end(), name + " has no other name");
  const std::string_view to = at->to;
  if (to == "_local_scalar_dense" && b.out_type().kind == Type::Kind::Int && b.node().results[0]->symbol == nullptr &&
      !b.used(0))
    return b.drop();
  return b.replace(b.make_all(to, b.node().args));
}

std::array<Entry, kNames.size()> make_entries() {
  std::array<Entry, kNames.size()> entries{};
  for (size_t i = 0; i < kNames.size(); ++i) entries[i] = {kNames[i].from, rename, kAll};
  return entries;
}

}  // namespace

std::span<const Entry> normal_entries() {
  static const auto entries = make_entries();
  return entries;
}

}  // namespace edgelift::edge
