// SPDX-License-Identifier: MIT

/// @file
/// @brief GPU entry points of xio-tester's kernels.

#include <xio/device/core/telemetry.hpp>
#include <xio/device/queue/doorbell.hpp>

#include "tester/clock/kernel.hpp"
#include "tester/launch/gpu/one_wave.hpp"
#include "tester/nvme/endpoint_kernel.hpp"
#include "tester/nvme/workload.hpp"

namespace {

using tester::EitherDoorbell;
using tester::Phase;
using tester::workload;
using xio::MmioDoorbell;
using xio::ShadowDoorbell;
using xio::Sharing;
using xio::telemetry::Off;
using xio::telemetry::Steps;

}  // namespace

extern "C" {

// nvme-ep. A block is the waves of one queue.
ONE_WAVE __global__ void nvme_thread_mmio(Phase phase) { workload<Sharing::thread, MmioDoorbell, Off>(phase); }
ONE_WAVE __global__ void nvme_thread_shadow(Phase phase) { workload<Sharing::thread, ShadowDoorbell, Off>(phase); }
ONE_WAVE __global__ void nvme_thread_steps(Phase phase) { workload<Sharing::thread, EitherDoorbell, Steps>(phase); }
ONE_WAVE __global__ void nvme_wave_mmio(Phase phase) { workload<Sharing::wave, MmioDoorbell, Off>(phase); }
ONE_WAVE __global__ void nvme_wave_shadow(Phase phase) { workload<Sharing::wave, ShadowDoorbell, Off>(phase); }
ONE_WAVE __global__ void nvme_wave_steps(Phase phase) { workload<Sharing::wave, EitherDoorbell, Steps>(phase); }
__global__ void nvme_grid_mmio(Phase phase) { workload<Sharing::grid, MmioDoorbell, Off>(phase); }
__global__ void nvme_grid_shadow(Phase phase) { workload<Sharing::grid, ShadowDoorbell, Off>(phase); }
__global__ void nvme_grid_steps(Phase phase) { workload<Sharing::grid, EitherDoorbell, Steps>(phase); }

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
