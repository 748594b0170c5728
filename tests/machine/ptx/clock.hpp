// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Vector clocks: how far somebody knows of what each author has done.

#include <cstdint>
#include <memory>
#include <vector>

namespace machine::ptx {

/// For each author the last of its epochs that is known. Sizes are multiples of 8.
class Clock {
 public:
  Clock() = default;
  explicit Clock(size_t authors) : known_((authors + 7) / 8) {}

  uint32_t operator[](size_t author) const { return known_[author / 8].epochs[author % 8]; }
  void set(size_t author, uint32_t epoch) { known_[author / 8].epochs[author % 8] = epoch; }

  void join(const Clock& other) {
    for (size_t i = 0; i < other.known_.size(); ++i) {
      uint32_t* const mine = known_[i].epochs;
      const uint32_t* const theirs = other.known_[i].epochs;
      for (int k = 0; k < 8; ++k) mine[k] = mine[k] > theirs[k] ? mine[k] : theirs[k];
    }
  }

 private:
  struct Eight {
    uint32_t epochs[8] = {};
  };
  std::vector<Eight> known_;
};

using ClockPointer = std::shared_ptr<const Clock>;

/// Both; the same object where one of them adds nothing.
inline ClockPointer joined(const ClockPointer& a, const ClockPointer& b) {
  if (!a || a == b) return b;
  if (!b) return a;
  auto out = std::make_shared<Clock>(*a);
  out->join(*b);
  return out;
}

}  // namespace machine::ptx
