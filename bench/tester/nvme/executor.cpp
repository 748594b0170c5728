// SPDX-License-Identifier: MIT
#include "tester/nvme/executor.hpp"

#include <xio/device/core/telemetry.hpp>
#include <xio/host/simt/simt.hpp>

#include "tester/nvme/workload.hpp"

namespace tester {

namespace {

template <xio::Sharing S, class Telemetry>
void launch(const NvmePlan& plan, const Phase& phase, uint32_t queues) {
  xio::simt::Grid grid = xio::simt::Grid::of_waves(queues, plan.waves, plan.wave_size);
  // All queues run concurrently.
  grid.resident_waves = queues * plan.waves;
  grid.spin = plan.spin;
  xio::simt::launch(grid, [](const Phase& one) { workload<S, Telemetry>(one); }, phase);
}

template <xio::Sharing S>
void execute_as(const NvmePlan& plan, const Phase& phase, uint32_t queues, bool substeps) {
  if (substeps) {
    launch<S, xio::telemetry::Steps>(plan, phase, queues);
  } else {
    launch<S, xio::telemetry::Off>(plan, phase, queues);
  }
}

}  // namespace

void execute(const NvmePlan& plan, const Phase& phase, uint32_t queues, bool substeps) {
  switch (plan.sharing) {
    case xio::Sharing::thread: return execute_as<xio::Sharing::thread>(plan, phase, queues, substeps);
    case xio::Sharing::wave: return execute_as<xio::Sharing::wave>(plan, phase, queues, substeps);
    default: return execute_as<xio::Sharing::grid>(plan, phase, queues, substeps);
  }
}

}  // namespace tester
