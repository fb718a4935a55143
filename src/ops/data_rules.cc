#include "ops/data_rules.h"

#include "ops/infer.h"

namespace edgelift::ops {
namespace {

// The number of pieces, where it does not depend on the dynamic size.
Result<int64_t> count_of(const SymInt& count, const SymInt& size) {
  if (count.is_const()) return count.value();
  if (count.lower() == count.upper()) return count.lower();
  return input_error("a dim of dynamic size " + size.str() + " is cut into an unknown number of pieces");
}

Error too_many(int64_t count) {
  return input_error("a dim is cut into " + std::to_string(count) + " pieces, more than the " +
                     std::to_string(kMaxPieces) + " that are supported");
}

Status fill_equal(Pieces& pieces, const SymInt& size, const SymInt& piece) {
  EL_TRY(const int64_t count, count_of(SymInt::ceildiv(size, piece), size));
  if (count > kMaxPieces) return too_many(count);
  if (count == 0) {
    pieces.sizes.emplace_back(0);  // an empty dim is one empty piece
    return Ok{};
  }
  for (int64_t i = 0; i + 1 < count; ++i) pieces.sizes.push_back(piece);
  pieces.sizes.push_back(size - piece * SymInt(count - 1));
  return Ok{};
}

// Cut before each index.
void fill_indices(Pieces& pieces, const SymInt& size, const ir::IntList& indices) {
  SymInt at(0);
  for (const SymInt& index : indices) {
    const SliceRange range = slice_range(size, at, index, 1);
    pieces.sizes.push_back(range.length);
    at = index;
  }
  pieces.sizes.push_back(slice_range(size, at, std::nullopt, 1).length);
}

Status fill_sections(Pieces& pieces, const SymInt& size, const SymInt& sections) {
  if (!size.is_const() || !sections.is_const())
    return input_error("a dim of dynamic size " + size.str() + " is cut into sections");
  const int64_t count = sections.value();
  if (count <= 0) return input_error("the number of sections is not positive");
  if (count > kMaxPieces) return too_many(count);
  for (int64_t i = 0; i < count; ++i)
    pieces.sizes.emplace_back(size.value() / count + (i < size.value() % count ? 1 : 0));
  return Ok{};
}

}  // namespace

Result<Pieces> pieces_of(const Call& call) {
  const ir::Type& self = call.type("self");
  if (self.rank() == 0) return input_error("a tensor of rank 0 cannot be cut into pieces");
  const ir::Schema& schema = call.op().schema;
  const std::string& base = call.op().base;
  int64_t wish = 0;
  if (schema.index_of("dim") >= 0) {
    wish = call.integer("dim");
  } else if (base == "dsplit") {
    wish = 2;
  } else if (base == "hsplit") {
    wish = self.rank() == 1 ? 0 : 1;
  }
  Pieces pieces;
  EL_TRY(pieces.dim, checked_dim(wish, self.rank()));
  const SymInt& size = self.sizes[static_cast<size_t>(pieces.dim)];
  const auto has = [&](std::string_view name) { return schema.index_of(name) >= 0; };
  if (has("split_sizes") || (has("split_size") && std::holds_alternative<ir::IntList>(call.arg("split_size")))) {
    const ir::IntList& sizes = call.ints(has("split_sizes") ? "split_sizes" : "split_size");
    SymInt total(0);
    for (const SymInt& piece : sizes) {
      if (piece.is_const() && piece.value() < 0) return input_error("a piece has the negative size " + piece.str());
      total = total + piece;
    }
    if (total.is_const() && size.is_const() && total != size)
      return input_error("the pieces have " + total.str() + " elements together, the dim has " + size.str());
    pieces.sizes.assign(sizes.begin(), sizes.end());
  } else if (has("split_size")) {
    const SymInt piece = call.sym_int("split_size");
    if (piece.is_const() && piece.value() <= 0) {
      if (size.is_const() && size.value() == 0) {
        pieces.sizes.emplace_back(0);
        return pieces;
      }
      return input_error("the size of the pieces is not positive");
    }
    EL_TRY_OK(fill_equal(pieces, size, piece));
  } else if (has("chunks")) {
    const int64_t chunks = call.integer("chunks");
    if (chunks <= 0) return input_error("the number of chunks is not positive");
    if (chunks > kMaxPieces) return too_many(chunks);
    if (size.is_const() && size.value() == 0) {
      pieces.sizes.assign(static_cast<size_t>(chunks), SymInt(0));
      return pieces;
    }
    EL_TRY_OK(fill_equal(pieces, size, SymInt::ceildiv(size, SymInt(chunks))));
  } else if (has("indices")) {
    fill_indices(pieces, size, call.ints("indices"));
  } else {
    EL_TRY_OK(fill_sections(pieces, size, call.sym_int("sections")));
  }
  return pieces;
}

}  // namespace edgelift::ops
