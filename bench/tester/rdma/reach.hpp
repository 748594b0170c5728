// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Rings of emulated NICs in memory that the executor can access, and handles with the executor's addresses.

#include <xio/device/rdma/handle.hpp>
#include <xio/host/emulation/memory_source.hpp>

#include "tester/launch/memory.hpp"

namespace tester {

/// Allocator of rings, which live as long as `memory`.
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

/// Converts CPU addresses to the executor's addresses.
template <class... T>
void to_executor(const ExecutorMemory& memory, T*&... addresses) {
  const auto translated = [&memory](auto* cpu) {
    using Object = std::remove_pointer_t<decltype(cpu)>;
    return cpu == nullptr ? cpu : static_cast<Object*>(memory.address(const_cast<std::remove_const_t<Object>*>(cpu)));
  };
  ((addresses = translated(addresses)), ...);
}

inline void to_executor(const ExecutorMemory& memory, xio::rdma::CompletionQueueHandle& cq) {
  to_executor(memory, cq.entries, cq.producer, cq.record, cq.doorbell);
}

inline xio::rdma::QueuePairHandle for_executor(xio::rdma::QueuePairHandle handle, const ExecutorMemory& memory) {
  to_executor(memory, handle.state, handle.send, handle.sq, handle.sq_record, handle.sq_doorbell, handle.side_table);
  to_executor(memory, handle.cq);
  handle.clock_hz = memory.clock_hz();
  return handle;
}

inline xio::rdma::ReceiveQueueHandle for_executor(xio::rdma::ReceiveQueueHandle handle, const ExecutorMemory& memory) {
  to_executor(memory, handle.state, handle.rq, handle.record, handle.doorbell, handle.slots);
  to_executor(memory, handle.cq);
  handle.clock_hz = memory.clock_hz();
  return handle;
}

}  // namespace tester
