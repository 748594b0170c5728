// SPDX-License-Identifier: MIT

/// @file
/// @brief GPU entry points of xio-tester's kernels.

#include <xio/device/core/telemetry.hpp>

#include "tester/clock/kernel.hpp"
#include "tester/launch/gpu/one_wave.hpp"
#include "tester/nvme/endpoint_kernel.hpp"
#include "tester/nvme/workload.hpp"

namespace {

using tester::Phase;
using tester::workload;
using xio::Sharing;
using xio::telemetry::Off;
using xio::telemetry::Steps;

}  // namespace

extern "C" {

// nvme-ep. A block is one wave, or one lane.
ONE_WAVE __global__ void nvme_thread(Phase phase) { workload<Sharing::thread, Off>(phase); }
ONE_WAVE __global__ void nvme_thread_steps(Phase phase) { workload<Sharing::thread, Steps>(phase); }
ONE_WAVE __global__ void nvme_wave(Phase phase) { workload<Sharing::wave, Off>(phase); }
ONE_WAVE __global__ void nvme_wave_steps(Phase phase) { workload<Sharing::wave, Steps>(phase); }
ONE_WAVE __global__ void nvme_grid(Phase phase) { workload<Sharing::grid, Off>(phase); }
ONE_WAVE __global__ void nvme_grid_steps(Phase phase) { workload<Sharing::grid, Steps>(phase); }

// test-ep. A block is one thread.
__global__ void endpoints(tester::EndpointJob job) { tester::endpoint_kernel(job); }

// clock-test. A block is one thread.
__global__ void clock_order_plain(tester::ClockProbe probe) {
  tester::collect_clocks<false>(probe, xio::arch::block_index());
}
__global__ void clock_order_fenced(tester::ClockProbe probe) {
  tester::collect_clocks<true>(probe, xio::arch::block_index());
}
__global__ void clock_relay(tester::ClockRelay relay) { (void)tester::relay_clocks(relay, 1); }
__global__ void clock_cost(tester::ClockCost* cost, uint32_t count, uint32_t rounds) {
  tester::time_clock(cost, count, rounds);
}

}  // extern "C"
