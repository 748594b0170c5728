// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief `xio-tester test-ep`: round trips between a kernel and a host thread.

#include <cstdint>
#include <string>

#include "tester/nvme/endpoint_kernel.hpp"
#include "tester/nvme/options.hpp"

namespace CLI {
class App;
}

namespace tester {

struct EndpointOptions {
  uint64_t iterations = 10000;
  uint32_t batch_size = 1;
  uint32_t threads = 1;
  Announcement mode = Announcement::doorbell;
  uint32_t deadline_ms = 30000;
  Executor executor = Executor::automatic;
  uint32_t gpu = 0;
  bool less_timing = false;
  bool substep_timing = false;
  bool histogram = false;
  std::string json;
};

CLI::App* add_endpoint_command(CLI::App& app, EndpointOptions& options);
int run_endpoint(const EndpointOptions& options);

}  // namespace tester
