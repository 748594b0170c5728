// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief `xio-tester clock-test`: checks that the clock of kernels never runs backward between threads, and measures
/// its rate.

#include <cstdint>
#include <string>

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

CLI::App* add_clock_command(CLI::App& app, ClockOptions& options);

/// Returns exit_failed if the clock ran backward or its rate is not constant.
int run_clock_test(const ClockOptions& options);

}  // namespace tester
