// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Memory of a GPU that controllers access: what drive sets and tools put there.

#include <cstddef>
#include <memory>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/gpu/bus.hpp>
#include <xio/host/gpu/runtime.hpp>
#include <xio/host/linux/pci.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/memory/allocator.hpp>
#include <xio/host/memory/executor.hpp>
#include <xio/host/memory/placement.hpp>
#include <xio/host/nvme/transport.hpp>

XIO_NAMESPACE_BEGIN

namespace host::detail {

/// Maps GPU memory for a controller, and translates its address for kernels, until the result is destroyed. Throws
/// Error if the CPU or the controller cannot access it.
/// @param gpu     whose memory it is: the executor's, or any if the CPU runs the kernels
/// @param buffer  whole pages
inline DmaBuffer map_gpu_memory(const MemoryBuffer& buffer, const GpuRuntime& gpu, const Executor& executor,
                                NvmeTransport& transport) {
  // A controller gets the memory that lies behind an address of the CPU.
  if (buffer.cpu() == nullptr)
    throw Error("the CPU cannot access this GPU's memory, and has to map it for " + transport.description() +
                "; take an AMD GPU with a large BAR, or host memory");
  if (transport.doorbells_are_registers())  // a drive on the bus
    check_gpu_memory(PciFunction(gpu.pci_address(), "/sys"), buffer.cpu(), buffer.size());
  return executor.share(transport.map_memory(buffer.cpu(), buffer.size(), buffer.owner()), buffer);
}

/// Allocates one part of a queue pair (memory_mode), or its data, in the memory of the executor's GPU.
inline MemoryBuffer allocate_gpu_memory(const Executor& executor, uint32_t part, size_t bytes, size_t alignment) {
  if (!executor.gpu())
    throw Error(
        "gpu_memory: the CPU runs the kernels; pass an Executor of a GPU (find_gpu()), or leave gpu_memory out");
  return allocate_for(MemoryAllocator(executor.gpu()), part, part, bytes, alignment);
}

}  // namespace host::detail

XIO_NAMESPACE_END
