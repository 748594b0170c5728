// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Calibration of the device clock (xio::arch::clock) against the operating system's; for `clock_hz` of queue
/// handles.

#include <time.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>

#include <xio/device/arch/host/time_stamp.hpp>
#include <xio/host/files.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_support
/// @{

/// Measured frequency of a clock, with its uncertainty.
struct ClockRate {
  double hz = 0;           ///< ticks per second
  double uncertainty = 0;  ///< relative to `hz`: 1e-6 is one part per million

  /// Frequency as an integer, for QueueHandle::clock_hz and similar fields.
  uint64_t rounded() const { return static_cast<uint64_t>(std::llround(hz)); }
};

namespace detail {

/// CLOCK_MONOTONIC_RAW in nanoseconds: not slewed by NTP or adjtime().
inline uint64_t raw_nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

/// A clock reading, bracketed by two raw_nanoseconds() timestamps.
struct ClockSight {
  uint64_t tick;
  uint64_t before;
  uint64_t after;
};

/// Reads the clock `tries` times and returns the reading with the narrowest bracket.
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

/// Measures the frequency of a clock over an interval of CLOCK_MONOTONIC_RAW.
/// @param read      returns the clock's tick count: arch::clock() on the CPU; on a GPU, a value read by a kernel that
///                  `read` launches or signals through memory
/// @param interval  above 0; a longer interval reduces the uncertainty
/// @param tries     readings at each end of the interval; the one with the narrowest bracket is used
template <class Read>
ClockRate measure_clock_rate(Read&& read, std::chrono::milliseconds interval = std::chrono::milliseconds(100),
                             uint32_t tries = 32) {
  const detail::ClockSight first = detail::sight_clock(read, tries);
  std::this_thread::sleep_for(interval);
  const detail::ClockSight last = detail::sight_clock(read, tries);
  // The bracket's sum is twice its midpoint.
  const double doubled = static_cast<double>(last.before + last.after - first.before - first.after);
  const double doubt = static_cast<double>(last.after - last.before + first.after - first.before);
  ClockRate rate;
  rate.hz = static_cast<double>(last.tick - first.tick) * 2e9 / doubled;
  rate.uncertainty = doubt / doubled;
  return rate;
}

/// Makes arch::clock() on the CPU read the processor's time stamp counter instead of asking the operating system.
/// Before any kernel runs: deadlines from before are void. Times are off by the uncertainty that is returned.
///
/// Returns a rate of 0, and changes nothing, where the operating system itself does not trust the counter: its rate may
/// change then, or differ between processors.
inline ClockRate use_time_stamp_counter(std::chrono::milliseconds interval = std::chrono::milliseconds(20)) {
  const std::string source = detail::first_word("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (source != "tsc" || arch::time_stamp() == 0) return {};
  const ClockRate rate = measure_clock_rate([] { return arch::time_stamp(); }, interval);
  arch::time_stamp_scale = static_cast<uint64_t>(std::llround(1e9 / rate.hz * 4294967296.0));
  return rate;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
