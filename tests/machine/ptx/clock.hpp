// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Vector clocks: how much of each author's stores is known to an observer.

#include <cstdint>
#include <memory>
#include <vector>

namespace machine::ptx {

/// Per author the last known epoch. Sizes are multiples of 8.
class Clock {
 public:
  Clock() = default;
  explicit Clock(size_t authors) : known_((authors + 7) / 8) {}

  /// Nothing is known.
  void clear(size_t authors) { known_.assign((authors + 7) / 8, {}); }

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

/// Join of two clocks; one of the arguments if the other adds nothing.
inline ClockPointer joined(const ClockPointer& a, const ClockPointer& b) {
  if (!a || a == b) return b;
  if (!b) return a;
  auto out = std::make_shared<Clock>(*a);
  out->join(*b);
  return out;
}

}  // namespace machine::ptx
