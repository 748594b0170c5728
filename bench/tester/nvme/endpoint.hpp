// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief `xio-tester test-ep`: round trips between a kernel and a host thread.

#include <array>
#include <cstdint>
#include <string>

#include "tester/cli/errors.hpp"
#include "tester/cli/usage.hpp"
#include "tester/launch/memory.hpp"
#include "tester/measure/summary.hpp"
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
/// Results of all endpoints.
struct EndpointOutcome {
  Summary latency;
  uint64_t trips = 0;
  uint64_t wrong = 0;
  bool late = false;
  bool interrupted = false;
  double seconds = 0;
  Usage usage;
  xio::arch::OperationCounts counts;
  std::array<double, xio::telemetry::step_count> steps_ns{};  ///< per round trip

  int exit_status() const {
    if (interrupted) return exit_interrupted;
    return late || wrong != 0 ? exit_failed : exit_ok;
  }
  double rate() const { return seconds > 0 ? static_cast<double>(trips) / seconds : 0; }
  double doorbells() const {
    return trips == 0 ? 0 : static_cast<double>(counts.mmio_stores) / static_cast<double>(trips);
  }
};

/// Runs without printing. Throws BadInput if the GPU cannot run this many endpoints concurrently.
EndpointOutcome measure(const EndpointOptions& options, const ExecutorMemory& memory);

int run_endpoint(const EndpointOptions& options);

}  // namespace tester
