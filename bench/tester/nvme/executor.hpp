// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs the workload kernel on the CPU.

#include <cstdint>

#include "tester/nvme/phase.hpp"
#include "tester/nvme/plan.hpp"

namespace tester {

/// Runs one phase: all lanes of all queues concurrently. Returns when all have finished.
void execute(const NvmePlan& plan, const Phase& phase, uint32_t queues, bool substeps);

}  // namespace tester
