// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What a lane of a workload records, of NVMe and RDMA alike: plain data that host and kernel can access.

#include <xio/device/core/status.hpp>
#include <xio/device/core/telemetry.hpp>

namespace tester {

/// Number of operations that ended with one status.
struct StatusCount {
  xio::Status status;
  uint64_t count;
  uint64_t first;  ///< NVMe: first block of the first such operation; RDMA: index of that operation
};

/// Zeroed by the host before a run; written by the lane alone.
struct alignas(64) LaneRecord {
  static constexpr uint32_t status_room = 8;  ///< distinct statuses that are counted separately

  uint64_t submitted;    ///< number of operations
  uint64_t completed;    ///< with success; RDMA in one process: on both sides
  uint64_t failed;       ///< with another status, including timeouts
  uint64_t began;        ///< tick
  uint64_t ended;        ///< tick
  uint64_t checked;      ///< NVMe: blocks compared with their expected contents; RDMA: operations
  uint64_t wrong_count;  ///< of them, those that differed
  uint32_t gave_up;      ///< not 0: operations were left in flight, at their deadline or on the host's request
  uint32_t statuses_used;
  StatusCount statuses[status_room];
  xio::telemetry::Steps steps;  ///< zero where steps are not timed

  /// Records a failed operation.
  /// @param first  see StatusCount::first
  XIO_DEVICE void fail(xio::Status status, uint64_t first) {
    ++failed;
    for (uint32_t i = 0; i < status_room; ++i) {
      StatusCount& entry = statuses[i];
      if (i == statuses_used) {
        entry = {status, 0, first};
        ++statuses_used;
      }
      // The last entry counts all further statuses.
      if (entry.status == status || i + 1 == status_room) {
        ++entry.count;
        return;
      }
    }
  }
};

}  // namespace tester
