// Objects of one type side by side in memory, so that a walk over a graph's nodes is a walk over memory. Whoever makes
// an object destroys it before the pool goes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace edgelift::ir {

template <class T>
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

#if defined(__SANITIZE_ADDRESS__)  // each object on its own, so that the sanitizer sees a use after its end
  T* make() { return new T(); }
  void destroy(T* object) { delete object; }
#else
  T* make() {
    if (free_ == nullptr) grow();
    Slot* slot = free_;
    free_ = slot->next;
    return new (slot->bytes) T();
  }
  void destroy(T* object) {
    object->~T();
    auto* slot = new (static_cast<void*>(object)) Slot;
    slot->next = free_;
    free_ = slot;
  }
#endif

 private:
  union Slot {
    Slot* next;
    alignas(T) std::byte bytes[sizeof(T)];
  };

  void grow() {
    // Small at first: a program may have many graphs of a few nodes.
    const size_t count = size_t{2} << std::min<size_t>(blocks_.size(), 8);
    blocks_.push_back(std::make_unique_for_overwrite<Slot[]>(count));
    for (size_t i = count; i-- > 0;) {
      blocks_.back()[i].next = free_;
      free_ = &blocks_.back()[i];
    }
  }

  std::vector<std::unique_ptr<Slot[]>> blocks_;
  Slot* free_ = nullptr;
};

}  // namespace edgelift::ir
