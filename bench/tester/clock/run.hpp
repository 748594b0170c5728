// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs the kernel of clock-test on the processors.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <xio/host/gpu/runtime.hpp>

#include "tester/clock/check.hpp"
#include "tester/clock/test.hpp"

namespace tester {

struct ClockRun {
  std::vector<ClockReading> readings;  ///< in their order
  uint32_t threads = 0;
  bool fenced = true;
  std::optional<ClockOffset> offset;  ///< between two threads that took turns; one thread has none
  bool one_clock = true;              ///< these two read the same clock
  double plain_ns = 0;                ///< cost of one arch::clock()
  double fenced_ns = 0;
};

/// Whose clock is read, and how.
class ClockReader {
 public:
  virtual ~ClockReader() = default;
  /// Everything but more rounds of the order, and the rate.
  virtual ClockRun run(const ClockOptions& options) = 0;
  /// One round: readings of so many threads, in their order.
  virtual std::vector<ClockReading> read_order(const ClockOptions& options, uint32_t threads) = 0;
  virtual uint64_t now() = 0;
};

/// The processors' clocks, by the kernel that the CPU plays. Each thread stays on one processor, as far as there are
/// enough.
std::unique_ptr<ClockReader> host_clock_reader();
/// Clocks of a GPU's processors, a block of one thread on each; the host takes turns with one of them.
std::unique_ptr<ClockReader> gpu_clock_reader(std::shared_ptr<xio::host::GpuRuntime> gpu);

}  // namespace tester
