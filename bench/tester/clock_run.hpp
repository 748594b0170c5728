// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs the kernel of clock-test on the processors.

#include <cstdint>
#include <vector>

#include "tester/clock_check.hpp"
#include "tester/clock_test.hpp"

namespace tester {

struct ClockRun {
  std::vector<ClockReading> readings;  ///< in their order
  uint32_t threads = 0;
  bool fenced = true;
  std::optional<ClockOffset> offset;  ///< between two threads that took turns; one thread has none
  double plain_ns = 0;                ///< cost of one arch::clock()
  double fenced_ns = 0;
};

/// One round: readings of so many threads, in their order.
std::vector<ClockReading> read_order(const ClockOptions& options, uint32_t threads);

/// Each thread stays on one processor, as far as there are enough.
ClockRun read_clocks(const ClockOptions& options);

}  // namespace tester
