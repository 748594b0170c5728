// SPDX-License-Identifier: MIT
#include "tester/nvme/executor.hpp"

namespace tester {

void execute(const NvmePlan& plan, const Phase& phase, uint32_t queues, DoorbellKind doorbell, bool substeps) {
  switch (plan.sharing) {
    case xio::Sharing::thread: return detail::execute_thread(plan, phase, queues, doorbell, substeps);
    case xio::Sharing::wave: return detail::execute_wave(plan, phase, queues, doorbell, substeps);
    default: return detail::execute_grid(plan, phase, queues, doorbell, substeps);
  }
}

}  // namespace tester
