// SPDX-License-Identifier: MIT
#include "tester/nvme/executor.hpp"

#include <xio/device/core/telemetry.hpp>
#include <xio/host/simt/simt.hpp>

#include "tester/nvme/counting_transport.hpp"
#include "tester/nvme/workload.hpp"

namespace tester {

namespace {

template <class Kernel>
void launch(const NvmePlan& plan, const Phase& phase, uint32_t queues, Kernel kernel) {
  xio::simt::Grid grid = xio::simt::Grid::of_waves(queues, plan.waves, plan.wave_size);
  // All queues run concurrently.
  grid.resident_waves = queues * plan.waves;
  grid.spin = plan.spin;
  xio::simt::launch(grid, kernel, phase);
}

template <xio::Sharing S>
void execute_as(const NvmePlan& plan, const Phase& phase, uint32_t queues, bool substeps) {
  if (substeps) {
    launch(plan, phase, queues, [](const Phase& one) { workload<S, xio::telemetry::Steps>(one); });
  } else {
    launch(plan, phase, queues, [](const Phase& one) { workload<S, xio::telemetry::Off>(one); });
  }
}

}  // namespace

void execute(const NvmePlan& plan, const Phase& phase, uint32_t queues, bool substeps) {
  if (phase.stripes != nullptr) {
    if (substeps)
      return launch(plan, phase, queues, [](const Phase& one) { striped_workload<xio::telemetry::Steps>(one); });
    return launch(plan, phase, queues, [](const Phase& one) { striped_workload<xio::telemetry::Off>(one); });
  }
  if (plan.remote) {
    using Transport = CountingTransport<xio::rxe::Vendor<>>;
    constexpr auto grid = xio::Sharing::grid;
    if (substeps)
      return launch(plan, phase, queues,
                    [](const Phase& one) { workload<grid, xio::telemetry::Steps, Transport>(one); });
    return launch(plan, phase, queues, [](const Phase& one) { workload<grid, xio::telemetry::Off, Transport>(one); });
  }
  switch (plan.sharing) {
    case xio::Sharing::thread: return execute_as<xio::Sharing::thread>(plan, phase, queues, substeps);
    case xio::Sharing::wave: return execute_as<xio::Sharing::wave>(plan, phase, queues, substeps);
    default: return execute_as<xio::Sharing::grid>(plan, phase, queues, substeps);
  }
}

}  // namespace tester
