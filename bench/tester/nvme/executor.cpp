// SPDX-License-Identifier: MIT
#include "tester/nvme/executor.hpp"

namespace tester {

void execute(const NvmePlan& plan, const Phase& phase, uint32_t queues, bool substeps) {
  switch (plan.sharing) {
    case xio::Sharing::thread: return detail::execute_thread(plan, phase, queues, substeps);
    case xio::Sharing::wave: return detail::execute_wave(plan, phase, queues, substeps);
    default: return detail::execute_grid(plan, phase, queues, substeps);
  }
}

}  // namespace tester
