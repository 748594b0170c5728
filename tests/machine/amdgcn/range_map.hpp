// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Ranges of an address space, split where they overlap, with fast lookup.

#include <algorithm>
#include <cstdint>
#include <vector>

#include <machine/core/address_space.hpp>

namespace machine::amdgcn {

class RangeMap {
 public:
  /// Of overlapping ranges, the later one takes precedence.
  void assign(const std::vector<Range>& ranges) {
    pieces_.clear();
    last_ = 0;
    for (const Range& range : ranges) cover(range);
    std::sort(pieces_.begin(), pieces_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  }

  /// @throws Fault if no range holds all bytes of the access
  const Range& find(uint64_t address, uint32_t bytes) {
    if (last_ < pieces_.size() && address >= pieces_[last_].begin && address + bytes <= pieces_[last_].end)
      return pieces_[last_];
    const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), address,
                                        [](uint64_t at, const Range& range) { return at < range.begin; });
    if (after != pieces_.begin() && address + bytes <= std::prev(after)->end) {
      last_ = static_cast<size_t>(std::prev(after) - pieces_.begin());
      return pieces_[last_];
    }
    char text[96];
    std::snprintf(text, sizeof text, "access of %u bytes to 0x%llx, where nothing is mapped", bytes,
                  static_cast<unsigned long long>(address));
    throw Fault(text);
  }

 private:
  void cover(const Range& range) {
    std::vector<Range> kept;
    for (const Range& old : pieces_) {
      if (old.end <= range.begin || old.begin >= range.end) {
        kept.push_back(old);
        continue;
      }
      if (old.begin < range.begin) {
        kept.push_back(old);
        kept.back().end = range.begin;
      }
      if (old.end > range.end) {
        kept.push_back(old);
        kept.back().begin = range.end;
      }
    }
    if (range.begin < range.end) kept.push_back(range);
    pieces_ = std::move(kept);
  }

  std::vector<Range> pieces_;
  size_t last_ = 0;
};

}  // namespace machine::amdgcn
