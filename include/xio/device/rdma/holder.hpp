// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Storage of a send queue's state while a kernel uses it.

#include <xio/device/rdma/handle.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {

namespace detail {
/// The handle, with pointers used for plain accesses marked as global memory.
XIO_DEVICE_INLINE QueuePairHandle in_global_memory(QueuePairHandle handle) {
  handle.state = arch::in_global(handle.state);
  handle.send = arch::in_global(handle.send);
  handle.sq = arch::in_global(handle.sq);
  handle.sq_record = arch::in_global(handle.sq_record);
  handle.side_table = arch::in_global(handle.side_table);
  return handle;
}
}  // namespace detail

/// Holder that keeps the queue's state in memory, accessible to all users of the queue pair.
class InMemory {
 public:
  static constexpr bool stored_each_time = true;
  XIO_HOST_DEVICE explicit InMemory(const QueuePairHandle& handle, uint64_t lanes = 0)
      : handle_(detail::in_global_memory(handle)), lanes_(lanes) {}
  XIO_HOST_DEVICE const QueuePairHandle& handle() const { return handle_; }

 protected:
  XIO_HOST_DEVICE QueueState& state() const { return *handle_.state; }
  XIO_HOST_DEVICE SendState& send() const { return *handle_.send; }
  QueuePairHandle handle_;
  uint64_t lanes_;  ///< lanes that call together, as a mask; 0: see Group::of_callers()
};

/// Holder that keeps the queue's state in registers, for a loop of one user; see QueuePair::session().
class InRegisters {
 public:
  static constexpr bool stored_each_time = false;
  XIO_HOST_DEVICE InRegisters(const QueuePairHandle& handle, uint64_t lanes)
      : handle_(detail::in_global_memory(handle)), lanes_(lanes), state_(*handle.state), send_(*handle.send) {}
  XIO_HOST_DEVICE const QueuePairHandle& handle() const { return handle_; }
  /// Writes the state back; the session must not be used afterwards.
  XIO_HOST_DEVICE void end() {
    *handle_.state = state_;
    *handle_.send = send_;
  }

 protected:
  XIO_HOST_DEVICE QueueState& state() const { return state_; }
  XIO_HOST_DEVICE SendState& send() const { return send_; }
  QueuePairHandle handle_;
  uint64_t lanes_;
  mutable QueueState state_;
  mutable SendState send_;
};

}  // namespace rdma

XIO_NAMESPACE_END
