// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Placement of a run's buffers according to `--memory-mode`.

#include <cstdint>
#include <memory>
#include <string>

#include <xio/host/gpu/runtime.hpp>
#include <xio/host/memory/allocator.hpp>
#include <xio/host/nvme/controller.hpp>

#include "tester/launch/memory.hpp"
#include "tester/nvme/target.hpp"

namespace tester {

/// The GPU for a memory mode; null for mode 0, which needs none. Throws CannotRun if no GPU is available.
/// @param executor  the GPU that runs the kernels and is then chosen; null: the CPU runs them
std::shared_ptr<xio::host::GpuRuntime> gpu_for_mode(uint32_t mode,
                                                    const std::shared_ptr<xio::host::GpuRuntime>& executor);

/// Allocates the memory of one run. Host memory comes from the transport; GPU memory is mapped for the controller.
class BufferPlacement {
 public:
  /// @param gpu       for modes other than 0
  /// @param executor  can access all memory that is allocated
  BufferPlacement(uint32_t mode, std::shared_ptr<xio::host::GpuRuntime> gpu, const Target& target,
                  const ExecutorMemory& executor);

  /// Memory for the data of all queues together.
  xio::host::DmaBuffer data(uint64_t bytes) const;
  /// Sets the placement of the rings in `options`.
  /// @param block_bytes  of the namespace
  void place(xio::host::QueueOptions& options, uint32_t block_bytes);
  /// Description of the GPU; empty if none is used.
  std::string gpu() const;

 private:
  xio::host::DmaBuffer reach(const xio::host::MemoryBuffer& buffer) const;
  xio::host::DmaBuffer allocate(uint32_t part, size_t bytes, size_t alignment) const;
  xio::host::DmaBuffer allocate_host(size_t bytes, size_t alignment) const;

  uint32_t mode_;
  xio::host::MemoryAllocator allocator_;
  xio::host::NvmeController* controller_;
  const ExecutorMemory& executor_;
  xio::host::DmaBuffer flushed_;
};

}  // namespace tester
