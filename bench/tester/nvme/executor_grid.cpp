// SPDX-License-Identifier: MIT
#include "tester/nvme/executor_impl.hpp"

namespace tester::detail {

void execute_grid(const NvmePlan& plan, const Phase& phase, uint32_t queues, bool substeps) {
  execute<xio::Sharing::grid>(plan, phase, queues, substeps);
}

}  // namespace tester::detail
