// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Several drives behind the calls of a queue that the workload uses.

#include <xio/device/nvme/drive_set.hpp>

#include "tester/nvme/lane_base.hpp"

namespace tester {

/// The drives of a run, and the memory of all its buffers.
struct Stripes {
  xio::nvme::DriveSetHandle set;
  xio::nvme::DriveRegion memory;
};

/// Blocks are those of the set, and addresses of data are offsets into its memory.
template <class Policy>
class StripedQueue {
 public:
  static constexpr xio::Sharing sharing = xio::Sharing::grid;

  /// @param group  of waves: it selects a queue of each drive
  XIO_DEVICE StripedQueue(const Stripes& stripes, uint32_t group)
      : stripes_(stripes), drives_(stripes.set, group), group_(group) {}

  /// A queue of the first drive: the drives' blocks have one size, and an operation is one command on each.
  XIO_DEVICE const xio::nvme::QueueHandle& handle() const { return *stripes_.set.queues; }
  XIO_DEVICE uint32_t drive_of(uint64_t block) const { return stripes_.set.locate(block).drive; }

  template <class CallOptions>
  XIO_DEVICE xio::Token try_submit(const xio::nvme::Command& command, const xio::nvme::ContiguousPages& pages,
                                   const CallOptions& options) {
    const uint32_t bytes = command.blocks() << handle().block_shift;
    return drives_.try_submit(command, stripes_.memory.at(pages.bus(0), bytes), options).token;
  }
  /// @param block  first block of the operation
  XIO_DEVICE xio::Status wait(const xio::Token& token, uint64_t block, xio::Deadline until) {
    return drives_.wait({token, drive_of(block) * stripes_.set.queues_per_drive + group_}, until);
  }
  XIO_DEVICE void ring() { drives_.ring(); }
  template <class CallOptions>
  XIO_DEVICE uint32_t drain(const CallOptions& options) {
    return drives_.drain(options);
  }

 private:
  const Stripes& stripes_;
  xio::nvme::DriveSet<sharing, Policy> drives_;
  uint32_t group_;
};

template <class Policy>
inline constexpr bool is_striped<StripedQueue<Policy>> = true;

}  // namespace tester
