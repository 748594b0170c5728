// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Notification of the end of operations: counters that a drain adds to, and results that are kept.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup kernel_queue
/// @{

/// Counters in memory that a drain increments as operations end: another kernel, a stream or the CPU can wait for them.
/// Zeroed by its owner. `done` is incremented last.
///
/// A command that a drive completes twice, against the specification, may be counted twice: lanes of a group take both
/// completions in one look. The queue breaks at the latest with the last completion of those in flight.
/// @snippet options.cpp Notification
struct alignas(16) Notification {
  static constexpr uint32_t owned = 0x80000000;      // of `status`: the failures are reported by transfer() alone
  static constexpr uint32_t device_status = 0x7fff;  // of `status`

  uint64_t done;    ///< operations ended, failed ones included
  uint32_t failed;  ///< operations ended with an error
  uint32_t status;  ///< bits 14:0: status reported by the device for one of the first that failed; 0: none has
};

/// Result of one operation, in its owner's memory, readable at any later time: for commands whose result matters (the
/// LBA of a Zone Append). Zeroed by its owner before each use, like the memory of a Notification.
/// @snippet options.cpp keep
struct alignas(16) KeptResult {
  static constexpr uint64_t mark = 1;  // marks a pointer that does not point to a Notification
  static constexpr uint64_t part = 4;  // marks it, too, for one of several parts
  static constexpr uint64_t has_ended = uint64_t{1} << 63;

  /// 0, or has_ended | status reported by the device; of a split command, for the first part that failed.
  uint64_t ended;
  uint64_t result;  ///< command specific result (NVMe: CQE dwords 0 and 1); valid once `ended` is not 0
};

/// @}
XIO_NAMESPACE_END
