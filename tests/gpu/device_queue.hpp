// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An NVMe queue pair in GPU memory, for the null device.

#include <xio/device/nvme/queue.hpp>

#include <gpu/null_device.hpp>
#include <gpu/runtime.hpp>

namespace gpu {

/// One queue pair whose rings, doorbells and state all lie in GPU memory.
struct DeviceQueue {
  explicit DeviceQueue(uint32_t depth) {
    uint32_t entries = 2;
    while (entries < depth + 1) entries *= 2;
    handle = {};
    handle.sq = allocate_device<xio::nvme::Sqe>(entries);
    handle.cq = allocate_device<xio::nvme::Cqe>(2 * size_t{entries});
    handle.sq_doorbell = allocate_device<uint32_t>(64);
    handle.cq_doorbell = handle.sq_doorbell + 32;
    handle.state =
        reinterpret_cast<xio::QueueState*>(allocate_device<char>(sizeof(xio::QueueState) + xio::link_bytes(entries)));
    handle.slots = allocate_device<xio::nvme::CompletionSlot>(2 * size_t{entries});
    handle.failure_entries = 64;
    handle.failures = reinterpret_cast<xio::nvme::FailureLog*>(allocate_device<char>(xio::nvme::failure_log_bytes(64)));
    handle.notifications = allocate_device<xio::Notification*>(2 * size_t{entries});
    handle.sq_mask = entries - 1;
    handle.cq_mask = 2 * entries - 1;
    handle.slot_mask = 2 * entries - 1;
    handle.depth = depth;
    handle.nsid = 1;
    handle.page_shift = 12;
    handle.block_shift = 9;
    handle.max_blocks = 256;
    handle.abi = XIO_ABI_NUMBER;
    handle.handle_bytes = sizeof(xio::nvme::QueueHandle);
    null = {handle.sq,          const_cast<xio::nvme::Cqe*>(handle.cq),
            handle.sq_doorbell, handle.cq_doorbell,
            handle.sq_mask,     handle.cq_mask};
  }
  ~DeviceQueue() {
    for (void* memory :
         {static_cast<void*>(handle.sq), static_cast<void*>(const_cast<xio::nvme::Cqe*>(handle.cq)),
          static_cast<void*>(handle.sq_doorbell), static_cast<void*>(handle.state), static_cast<void*>(handle.slots),
          static_cast<void*>(handle.failures), static_cast<void*>(handle.notifications)}) {
      free_device(memory);
    }
  }
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;
  xio::nvme::QueueHandle handle;
  NullQueue null;
};

}  // namespace gpu
