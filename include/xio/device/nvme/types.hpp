// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Small types of the NVMe queue: storage of its state, completions, pieces of a batch.

#include <xio/device/nvme/handle.hpp>
#include <xio/device/queue/completion.hpp>
#include <xio/vendors/nvme/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {

namespace detail {
/// The handle, with pointers used for plain accesses marked as global memory.
XIO_DEVICE_INLINE QueueHandle in_global_memory(QueueHandle handle) {
  handle.state = arch::in_global(handle.state);
  handle.slots = arch::in_global(handle.slots);
  handle.lists = arch::in_global(handle.lists);
  handle.failures = arch::in_global(handle.failures);
  handle.notifications = arch::in_global(handle.notifications);
  return handle;
}
}  // namespace detail

/// Holder that keeps the queue's state in memory, accessible to all users of the queue.
class InMemory {
 public:
  static constexpr bool stored_each_time = true;
  XIO_HOST_DEVICE explicit InMemory(const QueueHandle& handle, uint64_t lanes = 0)
      : handle_(detail::in_global_memory(handle)), lanes_(lanes) {}
  XIO_HOST_DEVICE const QueueHandle& handle() const { return handle_; }

 protected:
  XIO_HOST_DEVICE QueueState& state() const { return *handle_.state; }
  QueueHandle handle_;
  uint64_t lanes_;  ///< lanes that call together, as a mask; 0: see Group::of_callers()
};

/// Holder that keeps the queue's state in registers, for a loop of one user; see BasicQueue::session().
class InRegisters {
 public:
  static constexpr bool stored_each_time = false;
  XIO_HOST_DEVICE InRegisters(const QueueHandle& handle, uint64_t lanes)
      : handle_(detail::in_global_memory(handle)), lanes_(lanes), state_(*handle.state) {}
  XIO_HOST_DEVICE const QueueHandle& handle() const { return handle_; }
  /// Writes the state back; the session must not be used afterwards.
  XIO_HOST_DEVICE void end() { *handle_.state = state_; }

 protected:
  XIO_HOST_DEVICE QueueState& state() { return state_; }
  QueueHandle handle_;
  uint64_t lanes_;
  QueueState state_;
};

/// A command that has ended, as BasicQueue::process_completions() reports it.
struct Completion {
  uint64_t ticket;        ///< its ticket: Token::last of a command that was not split
  uint64_t result;        ///< as BasicQueue::result(): CQE dword 0 in bits 31:0, dword 1 above
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

/// Summary of failed operations that no caller has waited for.
struct ErrorSummary {
  uint32_t count;
  uint64_t first_ticket;
  Status first;
};

}  // namespace nvme

XIO_NAMESPACE_END
