// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Table of cache lines by address. Lines are reused after clear(), together with their allocations.

#include <cstdint>
#include <deque>
#include <vector>

namespace machine {

/// Lines by address. Line has the member `address`, a multiple of 64, and reset().
template <class Line>
class LineTable {
 public:
  /// The line that begins at an address; null if absent.
  Line* find(uint64_t address) const {
    for (size_t at = place(address);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].address == address || slots_[at].line == nullptr) return slots_[at].line;
    }
  }

  /// Adds a line that the table does not contain yet. The reference stays valid until clear().
  Line& add(uint64_t address) {
    if (used_ == lines_.size()) lines_.emplace_back();
    Line& line = lines_[used_++];
    line.address = address;
    if (2 * used_ > slots_.size()) {
      slots_.assign(2 * slots_.size(), {});
      for (size_t i = 0; i + 1 < used_; ++i) insert(lines_[i]);
    }
    insert(line);
    return line;
  }

  void clear() {
    for (size_t i = 0; i < used_; ++i) lines_[i].reset();
    if (used_ != 0) slots_.assign(slots_.size(), {});
    used_ = 0;
  }

 private:
  struct Slot {
    uint64_t address = 1;  // of no line
    Line* line = nullptr;
  };

  size_t place(uint64_t address) const { return (address >> 6) * 0x9e3779b97f4a7c15u >> 32 & (slots_.size() - 1); }
  void insert(Line& line) {
    size_t at = place(line.address);
    while (slots_[at].line != nullptr) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {line.address, &line};
  }

  std::deque<Line> lines_;
  size_t used_ = 0;
  std::vector<Slot> slots_ = std::vector<Slot>(1024);
};

}  // namespace machine
