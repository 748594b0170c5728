// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Small types of the NVMe queue: storage of its state, completions, pieces of a batch.

#include <xio/device/core/notification.hpp>
#include <xio/device/nvme/handle.hpp>
#include <xio/device/queue/holder.hpp>
#include <xio/vendors/nvme/completion.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

/// The handle, with pointers used for plain accesses marked as global memory.
XIO_DEVICE_INLINE QueueHandle in_global_memory(QueueHandle handle) {
  handle.state = arch::in_global(handle.state);
  handle.slots = arch::in_global(handle.slots);
  handle.lists = arch::in_global(handle.lists);
  handle.failures = arch::in_global(handle.failures);
  handle.notifications = arch::in_global(handle.notifications);
  return handle;
}

/// The handle, with members that each lane uses for itself or that are passed to functions in vector registers: a
/// kernel that uses a shared queue has no scalar register to spare.
XIO_DEVICE_INLINE QueueHandle in_vector_registers(QueueHandle handle) {
  handle.lists = arch::per_lane(handle.lists);
  handle.lists_bus = arch::per_lane(handle.lists_bus);
  handle.cq = arch::per_lane(handle.cq);
  handle.cq_doorbell = arch::per_lane(handle.cq_doorbell);
  handle.notifications = arch::per_lane(handle.notifications);
  handle.failures = arch::per_lane(handle.failures);
  handle.cq_shadow = arch::per_lane(handle.cq_shadow);
  handle.cq_event_index = arch::per_lane(handle.cq_event_index);
  return handle;
}

/// Holder that keeps the queue's state in memory, accessible to all users of the queue.
using InMemory = StateInMemory<QueueHandle>;
/// Holder that keeps the queue's state in registers, for a loop of one user; see Queue::session().
using InRegisters = StateInRegisters<QueueHandle>;

/// A command that has ended, as Queue::process_completions() reports it.
struct Completion {
  uint64_t ticket;        ///< its ticket: Token::last of a command that was not split
  uint64_t result;        ///< as Queue::result(): CQE dword 0 in bits 31:0, dword 1 above
  uint32_t slot;          ///< command identifier, at most QueueHandle::slot_mask; unique among commands in flight
  uint16_t status_field;  ///< status field of the CQE without the phase bit

  XIO_HOST_DEVICE constexpr bool is_ok() const { return !CompletionFormat::is_error(status_field); }
  XIO_HOST_DEVICE constexpr Status status() const { return CompletionFormat::decode(status_field); }
};

/// One piece of a batch: `blocks` logical blocks from `lba`, to or from contiguous memory at bus address `bus`.
struct Piece {
  uint64_t lba;
  uint64_t bus;
  uint32_t blocks;  ///< 1 to QueueHandle::max_blocks; pieces are not split
};

/// A piece of a batch with other data: a page source, a piece of a Region, or an SGL.
/// @snippet nvme.cpp PieceOf
template <class Pages>
struct PieceOf {
  uint64_t lba;
  Pages pages;
  uint32_t blocks;  ///< as of Piece
};

/// A piece of a batch, of any type, with a notification of its own in place of the batch's.
/// @snippet nvme.cpp PieceOf
template <class AnyPiece>
struct NotifiedPiece {
  AnyPiece piece;
  Notification* notified;  ///< null: none
};

/// Summary of failed operations that no caller has waited for.
struct ErrorSummary {
  uint32_t count;
  uint64_t first_ticket;
  Status first;
};

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
