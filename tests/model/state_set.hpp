// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A set of digests: open addressing, 8 bytes a place.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace model {

class StateSet {
 public:
  /// Returns false if the digest was in the set.
  bool insert(uint64_t digest) {
    if (digest == empty) digest = 1;
    if (size_ >= places_.size() / 8 * 7) grow();
    uint64_t& place = find(digest);
    if (place == digest) return false;
    place = digest;
    ++size_;
    return true;
  }
  uint64_t size() const { return size_; }

 private:
  static constexpr uint64_t empty = 0;

  uint64_t& find(uint64_t digest) {
    const size_t mask = places_.size() - 1;
    size_t at = static_cast<size_t>(digest * 0x9e3779b97f4a7c15 >> 20) & mask;
    while (places_[at] != empty && places_[at] != digest) at = (at + 1) & mask;
    return places_[at];
  }
  void grow() {
    std::vector<uint64_t> before(places_.size() * 2);
    before.swap(places_);
    for (const uint64_t digest : before) {
      if (digest != empty) find(digest) = digest;
    }
  }

  std::vector<uint64_t> places_ = std::vector<uint64_t>(1024);
  uint64_t size_ = 0;
};

}  // namespace model
