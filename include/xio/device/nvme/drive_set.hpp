// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Many drives as one address space: a block address selects a drive, one of its queues and an LBA.

#include <xio/device/nvme/queue.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

/// Location of a block of a DriveSet.
struct DriveAddress {
  uint32_t drive;
  uint64_t lba;
};

/// A token and the queue that it belongs to.
struct DriveToken {
  Token token;
  uint32_t queue = 0;  ///< index in DriveSetHandle::queues
};

/// Stripes blocks over drives of equal capacity, each with one or more queues. Trivially copyable.
/// @snippet drive_set.cpp DriveSetHandle
struct DriveSetHandle {
  const QueueHandle* queues;  ///< `drives * queues_per_drive` handles, all queues of drive 0 first
  uint32_t drives;
  uint32_t queues_per_drive;
  uint32_t stripe_shift;  ///< log2 of the blocks in a stripe; a transfer must not cross the end of its stripe

  /// Location of `block`: stripe `n` lies on drive `n mod drives`.
  /// @snippet drive_set.cpp locate
  XIO_HOST_DEVICE constexpr DriveAddress locate(uint64_t block) const {
    const uint64_t stripe = block >> stripe_shift;
    const uint64_t inside = block & ((uint64_t{1} << stripe_shift) - 1);
    return {static_cast<uint32_t>(stripe % drives), (stripe / drives) << stripe_shift | inside};
  }

  /// Whether `blocks` blocks from `block` lie in one stripe.
  /// @snippet drive_set.cpp locate
  XIO_HOST_DEVICE constexpr bool in_one_stripe(uint64_t block, uint32_t blocks) const {
    return blocks != 0 && (block & ((uint64_t{1} << stripe_shift) - 1)) + blocks <= uint64_t{1} << stripe_shift;
  }
};

/// Submits commands over a DriveSetHandle. The wave's number selects the queue of each drive, so that the lanes of a
/// wave that use one drive share one queue and submit together.
///
/// @tparam S  Sharing::grid or Sharing::block; the waves that use a set always share its queues.
template <Sharing S = Sharing::grid, class Policy = xio::Policy<>>
class DriveSet {
 public:
  static_assert(is_shared<S>, "DriveSet needs Sharing::grid or Sharing::block");

  /// @param wave number of the calling wave, the same in all its lanes
  XIO_HOST_DEVICE DriveSet(const DriveSetHandle& set, uint32_t wave)
      : set_(set), lane_queue_(wave % set.queues_per_drive) {}

  /// Submits one command per calling lane: read, write or another command that addresses blocks, with block addresses
  /// of the set. Lanes that use the same drive are submitted together.
  /// @snippet drive_set.cpp submit
  template <class Pages>
  XIO_DEVICE DriveToken submit(const Command& command, const Pages& pages, Deadline until) {
    DriveToken result;
    if (!addresses_blocks(command) || !set_.in_one_stripe(command.lba(), command.blocks())) {
      result.token = Token::refused(Status::invalid_argument);
    }
    const DriveAddress where = set_.locate(command.lba());
    result.queue = where.drive * set_.queues_per_drive + lane_queue_;
    bool pending = result.token.status.is_ok();
    for_each_queue(pending, result.queue, [&](uint32_t queue, uint64_t lanes) {
      const Engine one(set_.queues[queue], lanes);
      telemetry::Off off;
      result.token = detail::submit(one, one.callers(), command.starts_at(where.lba), pages, until,
                                    static_cast<Notification*>(nullptr), off);
    });
    return result;
  }

  /// Waits for the token of each calling lane.
  /// @snippet drive_set.cpp submit
  XIO_DEVICE Status wait(const DriveToken& token, Deadline until) {
    Status status = token.token.status;
    for_each_queue(token.token.submitted(), token.queue, [&](uint32_t queue, uint64_t lanes) {
      const Engine one(set_.queues[queue], lanes);
      telemetry::Off off;
      status = detail::wait(one, one.callers(), token.token, until, off);
    });
    return status;
  }

 private:
  /// Of one queue: the lanes that use it are known here, and need not be looked for by a Queue.
  using Engine = QueueEngine<S, Policy, InMemory>;

  /// Calls `action(queue, lanes)` once per distinct queue, by exactly those participating lanes that use it.
  template <class Action>
  XIO_DEVICE void for_each_queue(bool takes_part, uint32_t queue, Action action) {
    const uint64_t group = arch::active();
    for (uint64_t waiting = arch::ballot(group, takes_part); waiting != 0;) {
      const uint32_t chosen = arch::broadcast(group, queue, arch::first_lane(waiting));
      const bool now = takes_part && queue == chosen;
      const uint64_t together = arch::ballot(group, now);
      if (now) action(chosen, together);
      waiting &= ~together;
    }
  }

  DriveSetHandle set_;
  uint32_t lane_queue_;
};

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
