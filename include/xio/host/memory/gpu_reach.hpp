// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief ExecutorReach through a GpuRuntime: a GPU's access to memory and registers of this process.

#include <memory>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/gpu/runtime.hpp>
#include <xio/host/memory/allocator.hpp>
#include <xio/host/memory/executor_reach.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// Maps the parts of a queue pair for a GPU: memory through the runtime's registration, registers through the first of
/// two mechanisms that accepts them. A NIC's doorbells cannot be probed without ringing them: whether the GPU can
/// access the registers shows only when the first operation of a queue pair completes or exceeds its deadline. Usable
/// from several threads.
class GpuReach final : public ExecutorReach {
 public:
  explicit GpuReach(std::shared_ptr<GpuRuntime> gpu) : gpu_(std::move(gpu)) {}

  std::shared_ptr<void> add_memory(void* first, size_t bytes) override {
    return {gpu_->map_memory(first, bytes), [gpu = gpu_, first](void*) { gpu->unmap_memory(first); }};
  }
  std::shared_ptr<void> add_registers(void* first, size_t bytes) override {
    std::string why;
    for (const RegisterMapping way : {RegisterMapping::host_register, RegisterMapping::lock_to_pool}) {
      try {
        return {gpu_->map_registers(way, first, bytes),
                [gpu = gpu_, way, first](void*) { gpu->unmap_registers(way, first); }};
      } catch (const Error& reason) {
        why += (why.empty() ? "" : "; ") + std::string(reason.what());
      }
    }
    throw Error("the registers of this device cannot be mapped for " + gpu_->description() + ": " + why +
                "; let the CPU run the kernels");
  }
  std::shared_ptr<void> copy(const void* from, size_t bytes) override {
    const MemoryBuffer made = MemoryAllocator(gpu_).allocate(MemoryKind::vram_coarse, bytes);
    gpu_->copy(made.gpu(), from, bytes);
    return {made.owner(), made.gpu()};
  }

 private:
  std::shared_ptr<GpuRuntime> gpu_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
