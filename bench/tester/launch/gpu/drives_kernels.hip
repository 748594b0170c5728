// SPDX-License-Identifier: MIT

/// @file
/// @brief GPU entry points of nvme-ep's kernel for several controllers. A block is one wave, or one lane.

#include <xio/device/core/telemetry.hpp>

#include "tester/launch/gpu/one_wave.hpp"
#include "tester/nvme/workload.hpp"

extern "C" {
ONE_WAVE __global__ void nvme_drives(tester::Phase phase) { tester::striped_workload<xio::telemetry::Off>(phase); }
ONE_WAVE __global__ void nvme_drives_steps(tester::Phase phase) {
  tester::striped_workload<xio::telemetry::Steps>(phase);
}
}  // extern "C"
