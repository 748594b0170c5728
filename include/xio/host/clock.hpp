// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The rate of the clock that kernels read (xio::arch::clock), measured against the kernel's; for the `clock_hz`
/// of queue handles.

#include <time.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <thread>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Ticks per second, and how far off that may be.
struct ClockRate {
  double hz = 0;
  double uncertainty = 0;  ///< a part of `hz`: 1e-6 is one in a million

  /// For QueueHandle::clock_hz and its like.
  uint64_t rounded() const { return static_cast<uint64_t>(std::llround(hz)); }
};

namespace detail {

/// Nanoseconds of a clock that nobody adjusts.
inline uint64_t raw_nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

/// A reading of a clock, and when it was made: between two moments of ours.
struct ClockSight {
  uint64_t tick;
  uint64_t before;
  uint64_t after;
};

/// The reading with the least doubt of several.
template <class Read>
ClockSight sight_clock(Read& read, uint32_t tries) {
  ClockSight best{};
  for (uint32_t i = 0; i < tries; ++i) {
    ClockSight one{};
    one.before = raw_nanoseconds();
    one.tick = read();
    one.after = raw_nanoseconds();
    if (i == 0 || one.after - one.before < best.after - best.before) best = one;
  }
  return best;
}

}  // namespace detail

/// Reads a clock at the two ends of an interval. The rate is that of CLOCK_MONOTONIC_RAW's seconds.
/// @param read      returns a tick of the clock: on the CPU arch::clock() itself, on a GPU what a kernel has read,
/// launched
///                  or asked through a word in memory
/// @param interval  above 0; the longer, the less the doubt about the two ends counts
/// @param tries     readings at each end, of which the one with the least doubt is used
template <class Read>
ClockRate measure_clock_rate(Read&& read, std::chrono::milliseconds interval = std::chrono::milliseconds(100),
                             uint32_t tries = 32) {
  const detail::ClockSight first = detail::sight_clock(read, tries);
  std::this_thread::sleep_for(interval);
  const detail::ClockSight last = detail::sight_clock(read, tries);
  // Twice the middle of each sight.
  const double doubled = static_cast<double>(last.before + last.after - first.before - first.after);
  const double doubt = static_cast<double>(last.after - last.before + first.after - first.before);
  ClockRate rate;
  rate.hz = static_cast<double>(last.tick - first.tick) * 2e9 / doubled;
  rate.uncertainty = doubt / doubled;
  return rate;
}

}  // namespace host

XIO_NAMESPACE_END
