// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Random scheduling decisions of the executor: which lane runs next, and when a thread yields.

#include <sched.h>
#include <time.h>

#include <xio/device/arch/arch.hpp>

XIO_NAMESPACE_BEGIN

namespace simt::detail {

/// Random number generator of one wave (SplitMix64). Seed 0 disables jitter.
class Jitter {
 public:
  explicit Jitter(uint64_t seed = 0) : on_(seed != 0), state_(seed) {}

  /// Generator for wave number `wave` of the grid.
  static Jitter of_wave(uint64_t seed, uint64_t wave) {
    return seed == 0 ? Jitter() : Jitter(Jitter(seed + wave * 0x9e3779b97f4a7c15).next() | 1);
  }

  explicit operator bool() const { return on_; }

  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  /// Returns true with probability 1/`n`.
  bool one_in(uint32_t n) { return next() % n == 0; }

  /// Returns a random lane of `mask`, which is not 0.
  uint32_t lane_of(uint64_t mask) {
    for (uint64_t skip = next() % arch::count_lanes(mask); skip != 0; --skip) mask &= mask - 1;
    return arch::first_lane(mask);
  }

  /// Occasionally lets other threads run: usually by sched_yield(), sometimes by a short sleep.
  void disturb_thread() {
    const uint64_t dice = next() % 512;
    if (dice == 0) {
      const timespec shortest{0, 1000};
      nanosleep(&shortest, nullptr);
    } else if (dice < 16) {
      sched_yield();
    }
  }

 private:
  bool on_;
  uint64_t state_;
};

}  // namespace simt::detail

XIO_NAMESPACE_END
