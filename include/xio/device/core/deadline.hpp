// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Durations, deadlines, and the library's polling loop.

#include <xio/device/arch/arch.hpp>
#include <xio/device/core/status.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup kernel_core
/// @{

/// A length of time in nanoseconds. For some device compilers the standard library's durations are host functions.
struct Duration {
  uint64_t nanoseconds;
};

/// The longest time that a deadline can be away: 18 years. Longer durations, `Duration{~uint64_t{0}}` among them, count
/// as this one.
constexpr Duration longest_duration{uint64_t{1} << 59};

namespace detail {
/// `n` times `unit` nanoseconds, or longest_duration.
XIO_DEVICE constexpr Duration times(uint64_t n, uint64_t unit) {
  return n <= longest_duration.nanoseconds / unit ? Duration{n * unit} : longest_duration;
}
}  // namespace detail

inline namespace literals {
XIO_DEVICE constexpr Duration operator""_ns(unsigned long long n) { return detail::times(n, 1); }
XIO_DEVICE constexpr Duration operator""_us(unsigned long long n) { return detail::times(n, 1000); }
XIO_DEVICE constexpr Duration operator""_ms(unsigned long long n) { return detail::times(n, 1000000); }
XIO_DEVICE constexpr Duration operator""_s(unsigned long long n) { return detail::times(n, 1000000000); }
}  // namespace literals

/// A point in time, in ticks of the executing side's constant-rate clock. There is no infinite deadline.
/// @snippet com.cpp Deadline
struct Deadline {
  uint64_t tick;

  /// Whether the deadline has passed.
  XIO_HOST_DEVICE bool passed() const { return arch::clock() >= tick; }
};

/// Replaces a deadline in a call that must not wait: `Now{}`.
struct Now {
  XIO_HOST_DEVICE static constexpr bool passed() { return true; }
};

/// The deadline `from_now` after this call, at most longest_duration.
/// @param hz rate of the clock in Hz: pass the measured rate of a queue handle where available.
///
/// @snippet com.cpp wait_until
XIO_DEVICE Deadline deadline(Duration from_now, uint64_t hz = arch::clock_hz) {
  // With any clock below 15 GHz the sum stays within 64 bits; of a constant the compiler compares nothing.
  constexpr uint64_t most = longest_duration.nanoseconds;
  const uint64_t nanoseconds = from_now.nanoseconds < most ? from_now.nanoseconds : most;
  const uint64_t whole = nanoseconds / 1000000000 * hz;
  const uint64_t part = nanoseconds % 1000000000 * (hz / 1000) / 1000000;
  return {arch::clock() + whole + part};
}

/// Polls `look` until it returns true (Status::ok) or the deadline has passed (Status::timed_out).
///
/// It polls at least once, and once more after the deadline, so that an event that occurred while the waiter was not
/// running is still seen. The clock is read once in arch::looks_per_clock polls. `look` reads with arch::load; what the
/// writer stored before the awaited word is visible after arch::order_loads (coherent loads) or arch::acquire_system
/// (all loads).
/// @snippet com.cpp poll_until
template <class Look>
XIO_DEVICE Status poll_until(Look look, Deadline until) {
  for (uint32_t round = 0;; ++round) {
    // bound: polls between looks at the clock
    const bool late = round % arch::looks_per_clock == arch::looks_per_clock - 1 && until.passed();
    if (look()) return Status::ok;  // order: look before giving up
    if (late) return Status::timed_out;
    arch::pause(round);
  }
}

/// Waits until `*word` is at least `at_least`. The word is written by a peer, by a drain (see Notification) or by the
/// host.
///
/// On Status::ok everything written before the word is visible to the caller.
/// @snippet com.cpp wait_until
XIO_DEVICE Status wait_until(const uint64_t* word, uint64_t at_least, Deadline until) {
  const Status status = poll_until([=] { return arch::load<arch::Scope::system>(word) >= at_least; }, until);
  if (status.is_ok()) arch::acquire_system();  // order: completion before data
  return status;
}

/// @}
XIO_NAMESPACE_END
