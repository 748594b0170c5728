// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Parameters of a run of kv-ep, derived from the options and the controller.

#include <cstdint>
#include <vector>

#include <xio/host/nvme/controller.hpp>

#include "tester/kv/options.hpp"
#include "tester/launch/memory.hpp"
#include "tester/nvme/target.hpp"

namespace tester {

struct KvPlan {
  uint32_t nsid = 1;
  xio::host::KeyValueInfo space;
  KvContent content;
  uint32_t waves = 1;
  uint32_t wave_size = 1;
  uint32_t spin = 0;          ///< as NvmePlan::spin
  uint64_t buffer_bytes = 0;  ///< of one lane

  uint32_t lanes_per_queue() const { return waves * wave_size; }
};

/// Computes the plan. Throws BadInput if the controller cannot run the options.
/// @param gpu_wave_size  lanes of a wave of the GPU; 0: the CPU runs the kernels
KvPlan make_kv_plan(const KvOptions& options, const Target& target, uint32_t gpu_wave_size);

std::vector<xio::host::NvmeQueue> create_kv_queues(const KvOptions& options, const KvPlan& plan, const Target& target,
                                                   const ExecutorMemory& memory);

}  // namespace tester
