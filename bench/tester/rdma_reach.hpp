// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Rings of emulated NICs in memory that the executor reaches, and their handles with the executor's addresses.

#include <xio/device/rdma_handle.hpp>
#include <xio/host/emulation/memory_source.hpp>

#include "tester/executor_memory.hpp"

namespace tester {

/// Where rings come from; they are kept as long as `memory` is.
inline xio::emulation::MemorySource ring_memory(const ExecutorMemory& memory) {
  if (!memory.gpu()) return xio::emulation::heap_memory();
  const auto allocate = [memory](size_t bytes, size_t) -> void* {
    const xio::host::MemoryBuffer buffer =
        xio::host::MemoryAllocator(memory.gpu()).allocate(xio::host::MemoryKind::host_coherent, bytes);
    memory.add(buffer);
    return buffer.cpu();
  };
  return {allocate, [](void*) {}};
}

template <class T>
void to_executor(const ExecutorMemory& memory, T*& address) {
  if (address != nullptr) address = static_cast<T*>(memory.address(const_cast<std::remove_const_t<T>*>(address)));
}

inline xio::rdma::CompletionQueueHandle for_executor(xio::rdma::CompletionQueueHandle handle,
                                                     const ExecutorMemory& memory) {
  to_executor(memory, handle.entries);
  to_executor(memory, handle.producer);
  to_executor(memory, handle.record);
  to_executor(memory, handle.doorbell);
  return handle;
}

inline xio::rdma::QueuePairHandle for_executor(xio::rdma::QueuePairHandle handle, const ExecutorMemory& memory) {
  to_executor(memory, handle.state);
  to_executor(memory, handle.send);
  to_executor(memory, handle.sq);
  to_executor(memory, handle.sq_record);
  to_executor(memory, handle.sq_doorbell);
  to_executor(memory, handle.side_table);
  handle.cq = for_executor(handle.cq, memory);
  handle.clock_hz = memory.clock_hz();
  return handle;
}

inline xio::rdma::ReceiveQueueHandle for_executor(xio::rdma::ReceiveQueueHandle handle, const ExecutorMemory& memory) {
  to_executor(memory, handle.state);
  to_executor(memory, handle.rq);
  to_executor(memory, handle.record);
  to_executor(memory, handle.doorbell);
  to_executor(memory, handle.slots);
  handle.cq = for_executor(handle.cq, memory);
  handle.clock_hz = memory.clock_hz();
  return handle;
}

}  // namespace tester
