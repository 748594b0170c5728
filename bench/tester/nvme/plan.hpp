// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Parameters of a run, derived from the options and the controller.

#include <cstdint>
#include <vector>

#include <xio/device/core/policy.hpp>
#include <xio/host/nvme/controller.hpp>

#include <xio/host/nvme/drive_set.hpp>
#include "tester/nvme/access_pattern.hpp"
#include "tester/nvme/block_content.hpp"

#include "tester/nvme/buffer_placement.hpp"
#include "tester/nvme/options.hpp"
#include "tester/nvme/target.hpp"

namespace tester {

struct NvmePlan {
  xio::Sharing sharing = xio::Sharing::thread;
  uint32_t queue_length = 0;     ///< commands in flight that a queue is created for
  uint32_t depth = 0;            ///< operations in flight on a queue
  bool remote = false;           ///< behind RDMA
  uint32_t drives = 1;           ///< each group of lanes has a queue on each of them
  uint32_t stripe_blocks = 0;    ///< several drives: blocks of a stripe
  uint32_t batch = 0;            ///< entries per doorbell; 0: as many as fit
  uint32_t lanes_per_queue = 1;  ///< all lanes of all waves
  uint32_t active_lanes = 1;     ///< lanes of one queue that have a window

  uint32_t nsid = 1;
  uint32_t first_queue_id = 0;  ///< identifier of the first queue created
  uint32_t last_queue_id = 0;   ///< lower than the first if identifiers are assigned from the top
  uint32_t block_bytes = 0;
  uint64_t namespace_blocks = 0;  ///< several drives: of all of them
  uint64_t operation_bytes = 0;
  uint32_t commands_per_operation = 1;
  AccessPattern pattern;
  BlockContent content;

  uint64_t buffer_bytes = 0;  ///< distance of consecutive buffers
  uint32_t buffers_per_slot = 1;
  uint64_t data_bytes = 0;  ///< total size of all buffers

  /// Operations in flight of a group of lanes, on all its queues.
  uint32_t in_flight() const { return depth * drives; }
  /// Index of a thread's lane among the lanes of its queue that have a window; ~0: it has none.
  uint32_t lane_number(uint32_t thread) const;
  /// Most operations in flight of such a lane, and the total of the lanes before it.
  uint32_t window(uint32_t number) const;
  uint32_t windows_before(uint32_t number) const;

  uint32_t waves = 1;
  uint32_t wave_size = 1;
  uint32_t spin = 0;  ///< unsuccessful polls before a thread yields its processor
};

/// Computes the plan. Throws BadInput if the controller cannot run the options.
/// @param gpu_wave_size  lanes of a wave of the GPU; 0: the CPU runs the kernels
NvmePlan make_plan(const NvmeOptions& options, const std::vector<const Target*>& targets, uint32_t gpu_wave_size);

/// Creates the queues, and adjusts `plan` if they hold less than requested.
std::vector<xio::host::NvmeQueue> create_queues(const NvmeOptions& options, NvmePlan& plan,
                                                xio::host::NvmeController& controller, BufferPlacement& buffers);

/// The same of a controller behind RDMA; the queues are RemoteController::handles().
void create_remote_queues(const NvmeOptions& options, NvmePlan& plan, RemoteController& controller);

/// The same for several controllers.
/// @param executor  runs the kernels
xio::host::NvmeDriveSet create_drive_set(const NvmeOptions& options, NvmePlan& plan,
                                         const std::vector<xio::host::NvmeController*>& controllers,
                                         const ExecutorMemory& executor);

/// For kernels, in the order of `queues`.
std::vector<xio::nvme::QueueHandle> handles_of(const std::vector<xio::host::NvmeQueue>& queues);

}  // namespace tester
