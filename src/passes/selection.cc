#include "passes/selection.h"

#include <algorithm>

namespace edgelift::passes {
namespace {

using Places = std::vector<int64_t>;

struct Run {
  int64_t start = 0, length = 0;
};

std::vector<Run> runs_of(const Places& places) {
  std::vector<Run> runs;
  for (const int64_t at : places) {
    if (!runs.empty() && at == runs.back().start + runs.back().length)
      ++runs.back().length;
    else
      runs.push_back({at, 1});
  }
  return runs;
}

// Each place and how often it comes in a row: 0 0 1 2 2 is 0 1 2 with counts 2 1 2.
struct Repeats {
  Places distinct;
  std::vector<int64_t> counts;
  int64_t most = 0;
};

Repeats repeats_of(const Places& places) {
  Repeats r;
  for (const int64_t at : places) {
    if (!r.distinct.empty() && r.distinct.back() == at) {
      ++r.counts.back();
    } else {
      r.distinct.push_back(at);
      r.counts.push_back(1);
    }
    r.most = std::max(r.most, r.counts.back());
  }
  return r;
}

// Where the wanted elements are once every distinct place stands `most` times.
Places kept_of(const Repeats& r) {
  Places kept;
  for (size_t j = 0; j < r.counts.size(); ++j)
    for (int64_t k = 0; k < r.counts[j]; ++k) kept.push_back(static_cast<int64_t>(j) * r.most + k);
  return kept;
}

// The first `length` places come again, each time `step` further on, and lie within one step.
struct Pattern {
  int64_t length = 0, step = 0, start = 0;
  Places offsets;
};

std::optional<Pattern> pattern_of(const Places& places) {
  const auto count = static_cast<int64_t>(places.size());
  for (int64_t length = 1; length * 2 <= count && length <= static_cast<int64_t>(kMaxPieces); ++length) {
    if (count % length != 0) continue;
    const int64_t step = places[static_cast<size_t>(length)] - places[0];
    if (step <= 0) continue;
    bool again = true;
    for (int64_t i = length; i < count && again; ++i)
      again = places[static_cast<size_t>(i)] - places[static_cast<size_t>(i - length)] == step;
    if (!again) continue;
    Pattern p{length, step, *std::min_element(places.begin(), places.begin() + length), {}};
    for (int64_t i = 0; i < length; ++i) p.offsets.push_back(places[static_cast<size_t>(i)] - p.start);
    if (*std::max_element(p.offsets.begin(), p.offsets.end()) < step) return p;
  }
  return std::nullopt;
}

enum class Form : uint8_t { Runs, Repeats, Pattern };

// Operators of each form; more than any limit where it has none.
constexpr size_t kNever = size_t{1} << 20;

size_t cost_of(const Places& places, bool inside, Form& form) {
  form = Form::Runs;
  const size_t runs = runs_of(places).size();
  size_t best = runs <= kMaxPieces ? runs + (runs > 1) : kNever;
  if (!inside || runs == 1) return best;
  Form inner;
  if (const Repeats r = repeats_of(places); r.most > 1) {
    const Places kept = kept_of(r);
    const size_t cut = static_cast<int64_t>(kept.size()) == static_cast<int64_t>(r.distinct.size()) * r.most
                           ? 0
                           : runs_of(kept).size() + 1;
    const size_t cost = cost_of(r.distinct, inside, inner) + 3 + (cut <= kMaxPieces ? cut : kNever);
    if (cost < best) best = cost, form = Form::Repeats;
  }
  if (const auto p = pattern_of(places)) {
    const size_t cost = cost_of(p->offsets, false, inner) + 3;
    if (cost < best) best = cost, form = Form::Pattern;
  }
  return best;
}

Value* take_runs(Lift& lift, Value* x, int64_t dim, const Places& places, bool inside) {
  std::vector<Value*> parts;
  for (const Run& run : runs_of(places)) {
    if (lift.failed()) return x;
    if (run.start == 0 && x->type.sizes[static_cast<size_t>(dim)] == SymInt(run.length)) {
      parts.push_back(x);
      continue;
    }
    std::vector<ir::Arg> args = {x, SymInt(dim), SymInt(run.start), SymInt(run.start + run.length)};
    parts.push_back(inside ? lift.make("slice.Tensor", args) : lift.make_outside("slice.Tensor", args));
  }
  if (parts.size() == 1) return parts[0];
  std::vector<ir::Arg> args = {ir::ValueList(parts.begin(), parts.end()), SymInt(dim)};
  return inside ? lift.make("cat", args) : lift.make_outside("cat", args);
}

Value* take_pattern(Lift& lift, Value* x, int64_t dim, const Pattern& p, int64_t count) {
  const auto at = static_cast<size_t>(dim);
  const int64_t groups = count / p.length, length = groups * p.step, size = x->type.sizes[at].value();
  int64_t start = p.start, shift = 0;
  if (start + length > size) {
    // The last group is cut off at its end: begin earlier where the offsets allow it, else make room.
    const int64_t over = start + length - size;
    if (over <= start && *std::max_element(p.offsets.begin(), p.offsets.end()) + over < p.step) {
      start -= over;
      shift = over;
    } else {
      ir::IntList pad(static_cast<size_t>(2 * (x->type.rank() - dim)), SymInt(0));
      pad[pad.size() - 1] = SymInt(over);
      x = lift.make("constant_pad_nd", {x, pad, 0.0});
    }
  }
  Value* rows = lift.slice(x, dim, SymInt(start), SymInt(length));
  if (lift.failed()) return x;
  ir::Shape result = rows->type.sizes;
  result[at] = SymInt(groups);
  ir::Shape grouped = result;
  grouped.insert(grouped.begin() + dim + 1, SymInt(p.step));
  Places offsets = p.offsets;
  for (int64_t& offset : offsets) offset += shift;
  Value* taken = take_runs(lift, lift.view(rows, grouped), dim + 1, offsets, true);
  result[at] = SymInt(count);
  return lift.view(taken, result);
}

}  // namespace

std::optional<Places> places_of(const TensorData& index, int64_t size) {
  Places places;
  const int64_t count = index.numel();
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = index.element_as_int(i);
    if (at < 0) at += size;
    if (at < 0 || at >= size) return std::nullopt;  // the kernel reports it
    places.push_back(at);
  }
  return places;
}

bool selectable(const Places& places, int64_t size, bool inside) {
  Form form;
  return !places.empty() && places.size() <= static_cast<size_t>(std::max<int64_t>(size, 1)) * 4096 &&
         cost_of(places, inside, form) < kNever;
}

Value* select_places(Lift& lift, Value* x, int64_t dim, const Places& places, bool inside) {
  if (lift.failed()) return x;
  Form form;
  if (cost_of(places, inside, form) >= kNever) {
    lift.fail("its places make more than " + std::to_string(kMaxPieces) + " runs and no pattern");
    return x;
  }
  switch (form) {
    case Form::Runs:
      break;
    case Form::Pattern:
      return take_pattern(lift, x, dim, *pattern_of(places), static_cast<int64_t>(places.size()));
    case Form::Repeats: {
      const Repeats r = repeats_of(places);
      Value* distinct = select_places(lift, x, dim, r.distinct, inside);
      if (lift.failed()) return x;
      ir::Shape joined = distinct->type.sizes, apart = joined;
      joined[static_cast<size_t>(dim)] = SymInt(static_cast<int64_t>(r.distinct.size()) * r.most);
      apart.insert(apart.begin() + dim + 1, SymInt(1));
      Value* repeated = lift.cat(std::vector<Value*>(static_cast<size_t>(r.most), lift.view(distinct, apart)), dim + 1);
      return take_runs(lift, lift.view(repeated, joined), dim, kept_of(r), inside);
    }
  }
  return take_runs(lift, x, dim, places, inside);
}

}  // namespace edgelift::passes
