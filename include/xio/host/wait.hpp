// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Deadlines and back-off for host threads.

#include <chrono>
#include <limits>
#include <string>
#include <thread>

#include <xio/config.hpp>
#include <xio/device/arch/host/give_way.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_support
/// @{

/// Deadline of a wait. Lengths that the clock cannot express last for ever; negative ones are over at once.
class Timeout {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Timeout(std::chrono::milliseconds from_now) : length_(from_now), end_(after(Clock::now(), from_now)) {}

  /// A time `length` after `now`, or the end of time.
  template <class Rep, class Period>
  static Clock::time_point after(Clock::time_point now, std::chrono::duration<Rep, Period> length) {
    using Seconds = std::chrono::duration<double>;
    // An hour is more than the rounding of the comparison.
    if (Seconds(length) >= Seconds(Clock::time_point::max() - now - std::chrono::hours(1)))
      return Clock::time_point::max();
    return length.count() < 0 ? now : now + std::chrono::duration_cast<Clock::duration>(length);
  }

  bool passed() const { return Clock::now() >= end_; }
  /// Milliseconds left, from 0 to the largest int, rounded up; suitable for poll(2).
  int poll_timeout() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
    if (left >= std::numeric_limits<int>::max()) return std::numeric_limits<int>::max();
    return left < 0 ? 0 : static_cast<int>(left) + 1;
  }
  /// Time left, as poll_timeout() computes it.
  std::chrono::milliseconds left() const { return std::chrono::milliseconds(poll_timeout()); }
  /// Length of the timeout for messages: "5000 ms".
  std::string text() const { return std::to_string(length_.count()) + " ms"; }

 private:
  std::chrono::milliseconds length_;
  Clock::time_point end_;
};

/// Back-off between polls of state that another thread or process changes: first yields the CPU, then sleeps for
/// intervals that double up to a bound. Never a busy loop: the other side may need this CPU.
class Backoff {
 public:
  /// @param patience  how long to yield before sleeping
  /// @param longest   upper bound of one sleep
  explicit Backoff(std::chrono::microseconds patience = std::chrono::microseconds(200),
                   std::chrono::microseconds longest = std::chrono::microseconds(500))
      : patience_(patience), longest_(longest) {}

  void pause() {
    // Reading the clock at every pause would cost more than the pause itself.
    if (sleep_.count() == 0) {
      if (++rounds_ % 16 == 1) {
        const auto now = Timeout::Clock::now();
        if (rounds_ == 1) start_ = now;
        if (now - start_ >= patience_) sleep_ = std::chrono::microseconds(20);
      }
      arch::give_way();
      return;
    }
    std::this_thread::sleep_for(sleep_);
    sleep_ = sleep_ * 2 < longest_ ? sleep_ * 2 : longest_;
  }

  /// Restarts the back-off after progress.
  void reset() {
    rounds_ = 0;
    sleep_ = std::chrono::microseconds(0);
  }

 private:
  std::chrono::microseconds patience_;
  std::chrono::microseconds longest_;
  std::chrono::microseconds sleep_{0};
  Timeout::Clock::time_point start_{};
  uint32_t rounds_ = 0;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
