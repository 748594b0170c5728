// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Notification of the end of operations: counters that a drain adds to, and results that are kept.

#include <xio/device/queue/group.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup kernel_queue
/// @{

/// Two counters in memory that a drain increments as operations end: another kernel, a stream or the CPU can wait for
/// them. Zeroed by its owner. `failed` is incremented before `done`.
/// @snippet options.cpp Notification
struct alignas(16) Notification {
  uint64_t done;    ///< operations ended, failed ones included
  uint64_t failed;  ///< operations ended with an error
};

/// Result of one operation, in its owner's memory, readable at any later time: for commands whose result matters (the
/// LBA of a Zone Append). Zeroed by its owner before each use, like the memory of a Notification.
/// @snippet options.cpp keep
struct alignas(16) KeptResult {
  static constexpr uint64_t mark = 1;  // marks a pointer that does not point to a Notification
  static constexpr uint64_t has_ended = uint64_t{1} << 63;

  uint64_t ended;   ///< 0, or has_ended | status reported by the device
  uint64_t result;  ///< command specific result (NVMe: CQE dwords 0 and 1); valid once `ended` is not 0
};

namespace protocol {
/// @addtogroup kernel_queue
/// @{

/// Adds one operation, and `failed`, to each lane's notification, merging lanes with the same target.
template <Sharing S>
XIO_DEVICE_INLINE void notify(Group<S> group, Notification* target, bool failed) {
  if (group.any(target != nullptr)) arch::wait_stores();  // once for all counters
  while (group.any(target != nullptr)) {
    uint64_t done = 1;
    uint64_t errors = failed;
    bool chosen = true;
    bool adds = true;
    if constexpr (S != Sharing::thread) {
      const auto mine = reinterpret_cast<uint64_t>(target);
      chosen = mine == group.from_lane(mine, arch::first_lane(group.members(target != nullptr)));
      const uint64_t same = group.members(chosen);
      done = arch::count_lanes(same);
      errors = arch::count_lanes(group.members(chosen && failed));
      adds = chosen && arch::is_first(same);
    }
    if (adds) {
      if (errors != 0) {
        arch::fetch_add<arch::Scope::system>(&target->failed, errors);
        arch::wait_stores();
      }
      arch::publish_add<arch::Scope::system>(&target->done, done);
    }
    if (chosen) target = nullptr;
  }
}

/// @}
}  // namespace protocol

/// @}
XIO_NAMESPACE_END
