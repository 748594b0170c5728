// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Random numbers of the machine: every nondeterministic choice of a run is drawn from its seed.

#include <cstdint>

namespace machine {

/// SplitMix64. The same seed draws the same numbers everywhere.
class Random {
 public:
  explicit Random(uint64_t seed = 1) : state_(seed * 0x2545f4914f6cdd1du + 99) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 to `count - 1`; `count` is at least 1.
  uint32_t below(uint32_t count) { return static_cast<uint32_t>((next() >> 32) * count >> 32); }
  /// True once in `chances` calls on average; never if `chances` is 0.
  bool one_in(uint32_t chances) { return chances != 0 && below(chances) == 0; }
  template <class T, uint32_t Count>
  const T& pick(const T (&choices)[Count]) {
    return choices[below(Count)];
  }

 private:
  uint64_t state_;
};

}  // namespace machine
