// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief `xio-tester clock-test`: checks that the clock of kernels never runs backward between threads, and measures
/// its rate.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <xio/host/gpu/runtime.hpp>

#include "tester/clock/check.hpp"
#include "tester/nvme/options.hpp"

namespace tester {

struct ClockOptions {
  uint64_t readings = 100000;  ///< readings of each thread
  uint32_t threads = 0;        ///< 0: one per processor available to the process
  bool fenced = true;
  uint32_t interval_ms = 100;  ///< duration of each measurement of the rate
  Executor executor = Executor::automatic;
  uint32_t gpu = 0;
  std::string json;
};

struct ClockRun {
  std::vector<ClockReading> readings;  ///< in sequence order
  uint32_t threads = 0;
  bool fenced = true;
  std::optional<ClockOffset> offset;  ///< between two alternating threads; absent for one thread
  bool one_clock = true;              ///< both read the same clock
  double plain_ns = 0;                ///< cost of one arch::clock()
  double fenced_ns = 0;
};

/// Access to the clocks under test.
class ClockReader {
 public:
  virtual ~ClockReader() = default;
  /// Runs all tests except further rounds of the order and the rate.
  virtual ClockRun run(const ClockOptions& options) = 0;
  /// One round: readings of `threads` threads, in sequence order.
  virtual std::vector<ClockReading> read_order(const ClockOptions& options, uint32_t threads) = 0;
  virtual uint64_t now() = 0;
};

/// The CPU's clocks, read by the kernel on the CPU. Threads are pinned to separate processors while there are enough.
std::unique_ptr<ClockReader> host_clock_reader();
/// Clocks of a GPU's processors, one single-thread block on each; the host alternates with one of them.
std::unique_ptr<ClockReader> gpu_clock_reader(std::shared_ptr<xio::host::GpuRuntime> gpu);

CLI::App* add_clock_command(CLI::App& app, ClockOptions& options);

/// Returns exit_failed if the clock ran backward or its rate is not constant.
int run_clock_test(const ClockOptions& options);

}  // namespace tester
