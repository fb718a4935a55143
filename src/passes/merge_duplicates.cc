// Computes equal things once: nodes with the same operator and the same arguments become one.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "passes/lift.h"
#include "passes/passes.h"

namespace edgelift::passes {
namespace {

size_t combine(size_t seed, size_t value) { return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6) + (seed >> 2)); }

size_t hash_size(const SymInt& size) {
  return size.is_const() ? std::hash<int64_t>()(size.value()) : std::hash<std::string>()(size.str());
}

size_t hash_of(const ir::Node& node) {
  size_t seed = std::hash<const void*>()(node.op);
  for (const ir::Arg& arg : node.args) {
    seed = combine(seed, arg.index());
    if (auto* const* value = std::get_if<Value*>(&arg)) seed = combine(seed, std::hash<const void*>()(*value));
    if (const auto* list = std::get_if<ir::ValueList>(&arg))
      for (const Value* value : *list) seed = combine(seed, std::hash<const void*>()(value));
    if (const auto* number = std::get_if<SymInt>(&arg)) seed = combine(seed, hash_size(*number));
    if (const auto* number = std::get_if<double>(&arg)) seed = combine(seed, std::hash<double>()(*number));
    if (const auto* list = std::get_if<ir::IntList>(&arg))
      for (const SymInt& number : *list) seed = combine(seed, hash_size(number));
  }
  return seed;
}

bool equal(const ir::Node& a, const ir::Node& b) {
  if (a.op != b.op || a.args != b.args || a.results.size() != b.results.size()) return false;
  for (size_t i = 0; i < a.results.size(); ++i)
    if (!(a.results[i]->type == b.results[i]->type)) return false;
  return true;
}

bool mergeable(const ir::Node& node, const ir::OpTable& ops) {
  if (ops::is_delegate(node) || ops.has_effect(*node.op) || node.op->writes_args()) return false;
  if (ops::record(node).has(ops::kRandom)) return false;
  // Memory that is not written by its maker (empty) has no value to share.
  if (node.op->base.starts_with("empty") || node.op->base.starts_with("new_empty")) return false;
  for (const Value* result : node.results)
    if (result->symbol != nullptr) return false;
  return true;
}

}  // namespace

Result<bool> merge_duplicates(ir::Program& program, PassContext& context) {
  bool changed = false;
  for (const auto& graph : program.methods) {
    ir::Rewriter rewriter(program, *graph, context.ops);
    // The order of buckets never matters: within one, the first of equal nodes stays. Most hold one node.
    struct Bucket {
      ir::Node* first = nullptr;
      std::vector<ir::Node*> rest;
    };
    std::unordered_map<size_t, Bucket> seen;
    seen.reserve(graph->node_count());
    graph->each([&](ir::Node& node) {
      if (!mergeable(node, context.ops)) return;
      auto& bucket = seen[hash_of(node)];
      if (bucket.first == nullptr) {
        bucket.first = &node;
        return;
      }
      const auto merged_into = [&](ir::Node* earlier) {
        if (!equal(*earlier, node)) return false;
        for (size_t i = 0; i < node.results.size(); ++i)
          if (graph->is_output(node.results[i]) && graph->is_output(earlier->results[i])) return false;
        for (size_t i = 0; i < node.results.size(); ++i) rewriter.replace(node.results[i], earlier->results[i]);
        rewriter.erase(&node);
        return true;
      };
      if (merged_into(bucket.first) || std::any_of(bucket.rest.begin(), bucket.rest.end(), merged_into)) {
        changed = true;
      } else {
        bucket.rest.push_back(&node);
      }
    });
  }
  return changed;
}

}  // namespace edgelift::passes
