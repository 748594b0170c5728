// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs the RDMA workload kernel on the CPU.

#include <xio/host/simt.hpp>

#include "tester/rdma_workload.hpp"

namespace tester {

/// One thread for each queue pair; returns when the last one is done.
template <class Vendor, bool HasInline>
void launch_rdma_workload(uint32_t queues, const RdmaPhase& phase) {
  xio::simt::Grid grid = xio::simt::Grid::of_waves(queues, 1, 1);
  // All queue pairs are at work at the same time.
  grid.resident_waves = queues;
  xio::simt::launch(grid, [](const RdmaPhase& one) { rdma_workload<Vendor, HasInline>(one); }, phase);
}

}  // namespace tester
