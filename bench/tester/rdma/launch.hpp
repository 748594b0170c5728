// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs the RDMA workload kernel on the CPU.

#include <xio/host/simt/simt.hpp>

#include "tester/rdma/link.hpp"
#include "tester/rdma/ping_pong.hpp"
#include "tester/rdma/workload.hpp"

namespace tester {

template <class Vendor, bool HasInline, class Telemetry>
void launch_rdma_requester(const xio::simt::Grid& grid, const RdmaPhase& phase) {
  using xio::Sharing;
  if (phase.lanes_per_queue == 1)
    xio::simt::launch(
        grid, [](const RdmaPhase& one) { rdma_workload<Vendor, HasInline, Sharing::thread, Telemetry>(one); }, phase);
  else
    xio::simt::launch(
        grid, [](const RdmaPhase& one) { rdma_workload<Vendor, HasInline, Sharing::grid, Telemetry>(one); }, phase);
}

/// Runs the waves of all queue pairs; returns when all have finished.
/// @param spin unsuccessful polls before a waiting thread yields its processor
template <class Vendor, bool HasInline>
void launch_rdma_workload(const RdmaLinkShape& shape, const RdmaPhase& phase, uint32_t spin = 0) {
  // Ping-pong in one process: the peers' kernels, too.
  const uint32_t blocks = phase.ping_pong && phase.side == RdmaSide::both ? 2 * shape.queues : shape.queues;
  xio::simt::Grid grid = xio::simt::Grid::of_waves(blocks, shape.waves, shape.wave_size);
  // All queue pairs run concurrently.
  grid.resident_waves = blocks * shape.waves;
  grid.spin = spin;
  if (phase.ping_pong)
    xio::simt::launch(grid, [](const RdmaPhase& one) { rdma_ping_pong<Vendor, HasInline>(one); }, phase);
  else if (phase.side == RdmaSide::responder)
    xio::simt::launch(grid, [](const RdmaPhase& one) { rdma_responder<Vendor>(one); }, phase);
  else if (phase.time_steps)
    launch_rdma_requester<Vendor, HasInline, xio::telemetry::Steps>(grid, phase);
  else
    launch_rdma_requester<Vendor, HasInline, xio::telemetry::Off>(grid, phase);
}

}  // namespace tester
