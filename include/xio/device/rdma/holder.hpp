// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Storage of a send queue's state while a kernel uses it.

#include <xio/device/queue/holder.hpp>
#include <xio/device/rdma/handle.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

/// The handle, with pointers used for plain accesses marked as global memory.
XIO_DEVICE_INLINE QueuePairHandle in_global_memory(QueuePairHandle handle) {
  handle.state = arch::in_global(handle.state);
  handle.send = arch::in_global(handle.send);
  handle.sq = arch::in_global(handle.sq);
  handle.sq_record = arch::in_global(handle.sq_record);
  handle.side_table = arch::in_global(handle.side_table);
  return handle;
}

/// State of a send queue beside its QueueState.
XIO_DEVICE_INLINE SendState* extra_state(const QueuePairHandle& handle) { return handle.send; }

/// Holder that keeps the queue's state in memory, accessible to all users of the queue pair.
using InMemory = StateInMemory<QueuePairHandle, SendState>;
/// Holder that keeps the queue's state in registers, for a loop of one user; see QueuePair::session().
using InRegisters = StateInRegisters<QueuePairHandle, SendState>;

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
