// SPDX-License-Identifier: MIT
#include "tester/nvme/executor_impl.hpp"

namespace tester::detail {

void execute_grid(const NvmePlan& plan, const Phase& phase, uint32_t queues, DoorbellKind doorbell, bool substeps) {
  execute<xio::Sharing::grid>(plan, phase, queues, doorbell, substeps);
}

}  // namespace tester::detail
