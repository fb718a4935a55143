// The uses of a value. A hub that every node of a large graph reads is as cheap to add to and take from as any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <vector>

namespace edgelift::ir {

class Node;

// node->args[arg] is the value, or item `item` of the list there is.
struct Use {
  Node* node = nullptr;
  uint32_t arg = 0, item = 0;
  friend bool operator==(const Use&, const Use&) = default;
};

// One entry a use, in no particular order; iterates over the nodes. Only Graph changes it.
class Users {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Node*;
    using difference_type = std::ptrdiff_t;
    using pointer = Node* const*;
    using reference = Node* const&;
    Iterator() = default;
    explicit Iterator(const Use* at) : at_(at) {}
    reference operator*() const { return at_->node; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const Use* at_ = nullptr;
  };

  size_t size() const { return uses_.size(); }
  bool empty() const { return uses_.empty(); }
  Iterator begin() const { return Iterator(uses_.data()); }
  Iterator end() const { return Iterator(uses_.data() + uses_.size()); }
  Node* front() const { return uses_.front().node; }
  Node* operator[](size_t i) const { return uses_[i].node; }
  const std::vector<Use>& uses() const { return uses_; }
  operator std::vector<Node*>() const { return {begin(), end()}; }  // NOLINT: a copy to change the graph by

  void add(Use use);
  bool remove(const Use& use);  // false if it is not there
  std::vector<Use> take();      // all, leaving none

 private:
  struct Hash {
    size_t operator()(const Use& use) const;
  };
  std::vector<Use> uses_;
  // Where each use is; made when a search first finds the list long.
  std::unique_ptr<std::unordered_map<Use, uint32_t, Hash>> places_;
};

}  // namespace edgelift::ir
