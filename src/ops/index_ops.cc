// Elements addressed by index tensors and masks. None of it exists in the delegate.
#include <algorithm>

#include "ops/families.h"
#include "ops/infer.h"
#include "ops/lowering.h"

namespace edgelift::ops {
namespace {

using ir::Shape;

Types like_self(const Call& call, Shape sizes) { return one(call.type("self").dtype, std::move(sizes)); }

// A size that only the data decides.
SymInt data_size(int64_t most) { return SymInt::symbol(std::make_shared<const Symbol>(Symbol{"u_data", 0, most})); }

Types infer_embedding(const Call& call) {
  const ir::Type& weight = call.type("weight");
  if (weight.rank() != 2) return input_error("the table of an embedding has two dims, not " + weight.str());
  Shape sizes = call.type("indices").sizes;
  sizes.push_back(weight.sizes[1]);
  return one(weight.dtype, std::move(sizes));
}

Types infer_gather(const Call& call) {
  const ir::Type& self = call.type("self");
  EL_TRY_OK(checked_dim(call.integer("dim"), self.rank()));
  return like_self(call, call.type("index").sizes);
}

Types infer_dim_of_self(const Call& call) {
  EL_TRY_OK(checked_dim(call.integer("dim"), call.type("self").rank()));
  return infer_same(call);
}

Types infer_index_select(const Call& call) {
  const ir::Type& self = call.type("self");
  const ir::Type& index = call.type("index");
  if (index.rank() > 1) return input_error("the index has more than one dim: " + index.str());
  EL_TRY(const int64_t dim, checked_dim(call.integer("dim"), self.rank()));
  Shape sizes = self.sizes;
  if (!sizes.empty()) sizes[static_cast<size_t>(dim)] = index.rank() == 0 ? SymInt(1) : index.sizes[0];
  return like_self(call, std::move(sizes));
}

bool is_mask(const ir::Type& type) { return type.dtype == DType::Bool || type.dtype == DType::U8; }

// self[indices]: the index tensors broadcast together; their dims stand in the place of the indexed dims where those
// are adjacent, else in front. A mask of rank r stands for r index tensors whose length the data decides.
Types infer_index(const Call& call) {
  const ir::Type& self = call.type("self");
  const ir::ValueList& indices = call.tensors("indices");
  Shape index_shape, out;
  std::vector<bool> indexed;
  std::optional<SymInt> selected;
  for (const ir::Value* index : indices) {
    if (index == nullptr) {
      indexed.push_back(false);
      continue;
    }
    if (!is_mask(index->type)) {
      EL_TRY(index_shape, broadcast_shapes(index_shape, index->type.sizes));
      indexed.push_back(true);
      continue;
    }
    const int64_t most = index->type.max_numel();
    if (!selected) selected = data_size(most);
    EL_TRY(index_shape, broadcast_shapes(index_shape, {*selected}));
    if (index->type.rank() == 0) return input_error("a mask of rank 0 is not an index of the exported form");
    indexed.insert(indexed.end(), static_cast<size_t>(index->type.rank()), true);
  }
  if (indexed.size() > self.sizes.size())
    return input_error(std::to_string(indexed.size()) + " dims are indexed of a tensor of rank " +
                       std::to_string(self.rank()));
  indexed.resize(self.sizes.size(), false);
  const auto first = static_cast<size_t>(std::find(indexed.begin(), indexed.end(), true) - indexed.begin());
  size_t last = first;
  bool adjacent = true;
  for (size_t i = first; i < indexed.size(); ++i) {
    if (!indexed[i]) continue;
    adjacent = adjacent && (i == first || i == last + 1);
    last = i;
  }
  if (first == indexed.size()) return like_self(call, self.sizes);
  if (!adjacent) out = index_shape;
  for (size_t i = 0; i < indexed.size(); ++i) {
    if (adjacent && i == first) out.insert(out.end(), index_shape.begin(), index_shape.end());
    if (!indexed[i]) out.push_back(self.sizes[i]);
  }
  return like_self(call, std::move(out));
}

Types infer_masked_select(const Call& call) {
  EL_TRY(const Shape shape, broadcast_shapes(call.type("self").sizes, call.type("mask").sizes));
  return like_self(call, {data_size(ir::Type::tensor(DType::Bool, shape).max_numel())});
}

Types infer_masked(const Call& call) {
  EL_TRY(Shape shape, broadcast_shapes(call.type("self").sizes, call.type("mask").sizes));
  return like_self(call, std::move(shape));
}

Types infer_take(const Call& call) { return like_self(call, call.type("index").sizes); }

Types infer_take_along_dim(const Call& call) {
  const Shape& indices = call.type("indices").sizes;
  if (!call.has("dim")) return like_self(call, {product(indices)});
  const Shape& self = call.type("self").sizes;
  EL_TRY(const int64_t dim, checked_dim(call.integer("dim"), static_cast<int64_t>(self.size())));
  if (self.size() != indices.size()) return input_error("the operand and the indices have different ranks");
  Shape out;
  for (size_t i = 0; i < self.size(); ++i) {
    if (i == static_cast<size_t>(dim)) {
      out.push_back(indices[i]);
      continue;
    }
    EL_TRY(const Shape size, broadcast_shapes({self[i]}, {indices[i]}));
    out.push_back(size[0]);
  }
  return like_self(call, std::move(out));
}

Types infer_buckets(const Call& call) {
  const DType dtype = call.flag("out_int32") ? DType::I32 : DType::I64;
  const auto* self = std::get_if<ir::Value*>(&call.arg("self"));
  return one(dtype, self == nullptr || !(*self)->type.is_tensor() ? Shape{} : (*self)->type.sizes);
}

Types infer_one_hot(const Call& call) {
  Shape sizes = call.type("self").sizes;
  const int64_t classes = call.integer("num_classes");
  sizes.push_back(classes < 0 ? data_size(kUnbounded) : SymInt(classes));
  return one(DType::I64, std::move(sizes));
}

Types infer_nonzero(const Call& call) {
  const ir::Type& self = call.type("self");
  return one(DType::I64, {data_size(self.max_numel()), SymInt(self.rank())});
}

Types infer_embedding_bag(const Call& call) {
  const ir::Type& weight = call.type("weight");
  const ir::Type& indices = call.type("indices");
  const ir::Type& offsets = call.type("offsets");
  if (weight.rank() != 2 || offsets.rank() != 1) return input_error("the table and the offsets have wrong ranks");
  const SymInt bags = call.flag("include_last_offset") ? offsets.sizes[0] - SymInt(1) : offsets.sizes[0];
  const DType index = promote(indices.dtype, offsets.dtype);
  const int64_t mode = call.integer("mode");  // sum, mean, max
  // Eager's fast path for plain sums leaves the map from indices to bags empty.
  const bool padded =
      call.op().schema.index_of("padding_idx") >= 0 && call.has("padding_idx") && call.integer("padding_idx") >= 0;
  const bool fast = mode == 0 && !padded && (weight.dtype == DType::F32 || weight.dtype == DType::F16);
  return std::vector<ir::Type>{
      ir::Type::tensor(weight.dtype, {bags, weight.sizes[1]}),
      ir::Type::tensor(index, {fast ? SymInt(0) : indices.sym_numel()}), ir::Type::tensor(index, {bags}),
      mode == 2 ? ir::Type::tensor(index, {bags, weight.sizes[1]}) : ir::Type::tensor(index, {bags})};
}

Types infer_narrow_tensor(const Call& call) {
  Shape sizes = call.type("self").sizes;
  EL_TRY(const int64_t dim, indexed_dim(call.integer("dim"), static_cast<int64_t>(sizes.size())));
  sizes.at(static_cast<size_t>(dim)) = call.sym_int("length");
  return like_self(call, std::move(sizes));
}

// One list of positions for each dim.
Types infer_nonzero_numpy(const Call& call) {
  const ir::Type& self = call.type(call.op().base == "where" ? "condition" : "self");
  const SymInt count = data_size(self.max_numel());
  const auto lists = static_cast<size_t>(std::max<int64_t>(self.rank(), 1));
  return std::vector<ir::Type>(lists, ir::Type::tensor(DType::I64, {count}));
}

constexpr OpDef kRows[] = {
    {"aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool "
     "sparse=False) -> Tensor",
     infer_embedding, nullptr, "aten::embedding.out", kNone, "the delegate cannot address elements by an index tensor"},
    {"aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
     "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> "
     "(Tensor, Tensor, Tensor, Tensor)",
     infer_embedding_bag,
     nullptr,
     {},
     kNone,
     "the delegate cannot address elements by an index tensor"},
    {"aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int "
     "mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, "
     "Tensor, Tensor, Tensor)",
     infer_embedding_bag,
     nullptr,
     {},
     kNone,
     "the delegate cannot address elements by an index tensor"},
    {"aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool "
     "scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool "
     "include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
     infer_embedding_bag,
     nullptr,
     {},
     kNone,
     "the delegate cannot address elements by an index tensor"},
    {"aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", infer_gather, nullptr,
     "aten::gather.out", kNone, "the delegate cannot address elements by an index tensor"},
    {"aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", infer_index_select, nullptr,
     "aten::index_select.out", kNone, "the delegate cannot address elements by an index tensor"},
    {"aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", infer_index, nullptr, "aten::index.Tensor_out",
     kNone, "the delegate cannot address elements by an index tensor"},
    {"aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", infer_index, nullptr,
     "aten::index.Tensor_out", kNone, "the delegate cannot address elements by an index tensor"},
    {"aten::take(Tensor self, Tensor index) -> Tensor",
     infer_take,
     nullptr,
     {},
     kNone,
     "the delegate cannot address elements by an index tensor"},
    {"aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
     infer_take_along_dim,
     nullptr,
     {},
     kNone,
     "the delegate cannot address elements by an index tensor"},
    {"aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", infer_dim_of_self, nullptr,
     "aten::scatter.src_out", kNone, "the delegate cannot address elements by an index tensor"},
    {"aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", infer_dim_of_self, nullptr,
     "aten::scatter.value_out", kNone, "the delegate cannot address elements by an index tensor"},
    {"aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
     infer_dim_of_self,
     nullptr,
     {},
     kNone,
     "the delegate cannot address elements by an index tensor"},
    {"aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
     infer_dim_of_self,
     nullptr,
     {},
     kNone,
     "the delegate cannot address elements by an index tensor"},
    {"aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", infer_dim_of_self, nullptr,
     "aten::scatter_add.out", kNone, "the delegate cannot address elements by an index tensor"},
    {"aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
     "include_self=True) -> Tensor",
     infer_dim_of_self,
     nullptr,
     {},
     kNone,
     "the delegate cannot address elements by an index tensor"},
    {"aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", infer_same,
     nullptr, "aten::index_put.out", kNone, "the delegate cannot address elements by an index tensor"},
    {"aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
     infer_same, nullptr, "aten::index_put.out", kNone, "the delegate cannot address elements by an index tensor"},
    {"aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
     infer_dim_of_self,
     nullptr,
     {},
     kNone,
     "the delegate cannot address elements by an index tensor"},
    {"aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
     infer_dim_of_self,
     nullptr,
     {},
     kNone,
     "the delegate cannot address elements by an index tensor"},
    {"aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) "
     "-> Tensor",
     infer_dim_of_self,
     nullptr,
     {},
     kNone,
     "the delegate cannot address elements by an index tensor"},
    {"aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
     infer_dim_of_self,
     nullptr,
     {},
     kNone,
     "the delegate cannot address elements by an index tensor"},
    {"aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
     infer_dim_of_self,
     nullptr,
     {},
     kNone,
     "the delegate cannot address elements by an index tensor"},
    {"aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
     infer_same,
     nullptr,
     {},
     kNone,
     "the delegate cannot address elements by an index tensor"},
    {"aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", infer_masked, nullptr,
     "aten::masked_fill.Scalar_out", kPointwise, "the delegate has no selection by a bool tensor"},
    {"aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
     infer_masked,
     nullptr,
     {},
     kPointwise,
     "the delegate has no selection by a bool tensor"},
    {"aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", infer_masked, nullptr,
     "aten::masked_scatter.out", kNone, "the delegate has no selection by a bool tensor"},
    {"aten::masked_select(Tensor self, Tensor mask) -> Tensor", infer_masked_select, nullptr, "aten::masked_select.out",
     kNone, "the delegate has no selection by a bool tensor"},
    {"aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
     infer_buckets,
     nullptr,
     {},
     kNone,
     "the delegate has neither comparisons nor bool tensors"},
    {"aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
     infer_buckets,
     nullptr,
     {},
     kNone,
     "the delegate has neither comparisons nor bool tensors"},
    {"aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? "
     "side=None, Tensor? sorter=None) -> Tensor",
     infer_buckets,
     nullptr,
     {},
     kNone,
     "the delegate has neither comparisons nor bool tensors"},
    {"aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? "
     "side=None, Tensor? sorter=None) -> Tensor",
     infer_buckets,
     nullptr,
     {},
     kNone,
     "the delegate has neither comparisons nor bool tensors"},
    {"aten::one_hot(Tensor self, int num_classes=-1) -> Tensor",
     infer_one_hot,
     nullptr,
     {},
     kNone,
     "the delegate has neither comparisons nor bool tensors"},
    {"aten::nonzero(Tensor self) -> Tensor", infer_nonzero, nullptr, "aten::nonzero.out", kNone,
     "the delegate has neither comparisons nor bool tensors"},
    {"aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)",
     infer_narrow_tensor,
     nullptr,
     {},
     kAlias,
     "the delegate cannot address elements by an index tensor"},
    {"aten::nonzero_numpy(Tensor self) -> Tensor[]",
     infer_nonzero_numpy,
     nullptr,
     {},
     kNone,
     "the delegate has neither comparisons nor bool tensors"},
    {"aten::argwhere(Tensor self) -> Tensor", infer_nonzero, nullptr, "aten::nonzero.out", kNone,
     "the delegate has neither comparisons nor bool tensors"},
    // In-place forms.
    {"aten::scatter_.src(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    {"aten::scatter_.value(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    {"aten::scatter_.reduce(Tensor(a!) self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    {"aten::scatter_.value_reduce(Tensor(a!) self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    {"aten::scatter_add_(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    {"aten::scatter_reduce_.two(Tensor(a!) self, int dim, Tensor index, Tensor src, str reduce, *, bool "
     "include_self=True) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    {"aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    {"aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    {"aten::index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    {"aten::index_fill_.int_Scalar(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    {"aten::index_fill_.int_Tensor(Tensor(a!) self, int dim, Tensor index, Tensor value) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    {"aten::put_(Tensor(a!) self, Tensor index, Tensor source, bool accumulate=False) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    {"aten::masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace | kPointwise},
    {"aten::masked_scatter_(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    {"aten::_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False, bool "
     "unsafe=False) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
    {"aten::index_reduce_(Tensor(a!) self, int dim, Tensor index, Tensor source, str reduce, *, bool "
     "include_self=True) -> Tensor(a!)",
     infer_same,
     nullptr,
     {},
     kInPlace},
};

}  // namespace

std::span<const OpDef> index_ops() { return kRows; }

}  // namespace edgelift::ops
