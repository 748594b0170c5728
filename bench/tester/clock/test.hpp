// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief `xio-tester clock-test`: whether the clock that kernels read runs forward from thread to thread, and how
/// fast.

#include <cstdint>
#include <string>

#include "tester/nvme/options.hpp"

namespace tester {

struct ClockOptions {
  uint64_t readings = 100000;  ///< of each thread
  uint32_t threads = 0;        ///< 0: one for each processor that may run us
  bool fenced = true;
  uint32_t interval_ms = 100;  ///< of each measurement of the rate
  Executor executor = Executor::automatic;
  uint32_t gpu = 0;
  std::string json;
};

CLI::App* add_clock_command(CLI::App& app, ClockOptions& options);

/// exit_failed where the clock went back, or does not run at a constant rate.
int run_clock_test(const ClockOptions& options);

}  // namespace tester
