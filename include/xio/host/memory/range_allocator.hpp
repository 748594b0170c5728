// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief First-fit allocation of numeric ranges, independent of memory.

#include <cstddef>
#include <iterator>
#include <map>
#include <optional>

#include <xio/config.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Allocates ranges of [first, last) and merges free neighbours. Not thread-safe.
class RangeAllocator {
 public:
  RangeAllocator() = default;
  RangeAllocator(uint64_t first, uint64_t last) { add(first, last); }

  /// Adds [first, last) to the free ranges. No part of it may have been added before.
  void add(uint64_t first, uint64_t last) {
    if (first < last) free_[first] = last - first;
  }

  /// Allocates the lowest free range of `length` (at least 1) that starts at a multiple of `alignment` (a power of
  /// two); empty if there is none.
  std::optional<uint64_t> allocate(uint64_t length, uint64_t alignment) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      const uint64_t begin = it->first;
      const uint64_t end = begin + it->second;
      const uint64_t start = (begin + alignment - 1) & ~(alignment - 1);
      if (start < begin || start > end || end - start < length) continue;
      free_.erase(it);
      if (start != begin) free_[begin] = start - begin;
      if (end != start + length) free_[start + length] = end - start - length;
      used_[start] = length;
      return start;
    }
    return std::nullopt;
  }

  /// Releases the range that starts at `start`, and returns its length. Throws Error if no range is allocated there.
  uint64_t release(uint64_t start) {
    const auto used = used_.find(start);
    if (used == used_.end()) throw Error("RangeAllocator::release: no range starts at " + std::to_string(start));
    const uint64_t length = used->second;
    used_.erase(used);

    auto range = free_.emplace(start, length).first;
    const auto next = std::next(range);
    if (next != free_.end() && next->first == start + length) {
      range->second += next->second;
      free_.erase(next);
    }
    if (range != free_.begin()) {
      const auto previous = std::prev(range);
      if (previous->first + previous->second == start) {
        previous->second += range->second;
        free_.erase(range);
      }
    }
    return length;
  }

  /// Length of the longest free range.
  uint64_t largest_free() const {
    uint64_t largest = 0;
    for (const auto& range : free_) largest = largest < range.second ? range.second : largest;
    return largest;
  }
  uint64_t total_free() const {
    uint64_t total = 0;
    for (const auto& range : free_) total += range.second;
    return total;
  }
  size_t used_ranges() const { return used_.size(); }

 private:
  std::map<uint64_t, uint64_t> free_;  // start -> length
  std::map<uint64_t, uint64_t> used_;  // start -> length
};

}  // namespace host

XIO_NAMESPACE_END
