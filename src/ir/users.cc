#include "ir/users.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace edgelift::ir {

namespace {
constexpr size_t kSearched = 32;  // a list of up to so many uses is searched
}

size_t Users::Hash::operator()(const Use& use) const {
  const uint64_t place = (uint64_t{use.arg} << 32 | use.item) + 1;
  return std::hash<const void*>()(use.node) ^ static_cast<size_t>(place * 0x9e3779b97f4a7c15ULL);
}

void Users::add(Use use) {
  if (places_ != nullptr) places_->emplace(use, static_cast<uint32_t>(uses_.size()));
  uses_.push_back(use);
}

bool Users::remove(const Use& use) {
  size_t at = 0;
  if (uses_.size() <= kSearched && places_ == nullptr) {
    // The latest entries are the likeliest: search from the back.
    const auto found = std::find(uses_.rbegin(), uses_.rend(), use);
    if (found == uses_.rend()) return false;
    at = static_cast<size_t>(uses_.rend() - found) - 1;
  } else {
    if (places_ == nullptr) {
      places_ = std::make_unique<std::unordered_map<Use, uint32_t, Hash>>();
      places_->reserve(uses_.size());
      for (size_t i = 0; i < uses_.size(); ++i) places_->emplace(uses_[i], static_cast<uint32_t>(i));
    }
    const auto found = places_->find(use);
    if (found == places_->end()) return false;
    at = found->second;
    places_->erase(found);
    if (at + 1 != uses_.size()) (*places_)[uses_.back()] = static_cast<uint32_t>(at);
  }
  uses_[at] = uses_.back();
  uses_.pop_back();
  return true;
}

std::vector<Use> Users::take() {
  places_.reset();
  return std::exchange(uses_, {});
}

}  // namespace edgelift::ir
