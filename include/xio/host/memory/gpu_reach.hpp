// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief ExecutorReach through a GpuRuntime: a GPU's access to memory and registers of this process.

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/gpu/runtime.hpp>
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

  void* add_memory(void* first, size_t bytes) override {
    void* const gpu = gpu_->map_memory(first, bytes);
    note(first, By::memory);
    return gpu;
  }
  void* add_registers(void* first, size_t bytes) override {
    std::string why;
    for (const auto& [by, way] : {std::pair<By, RegisterMapping>{By::host_register, RegisterMapping::host_register},
                                  {By::lock_to_pool, RegisterMapping::lock_to_pool}}) {
      try {
        void* const gpu = gpu_->map_registers(way, first, bytes);
        note(first, by);
        return gpu;
      } catch (const Error& reason) {
        why += (why.empty() ? "" : "; ") + std::string(reason.what());
      }
    }
    throw Error("the registers of this device cannot be mapped for " + gpu_->description() + ": " + why +
                "; let the CPU run the kernels");
  }
  std::shared_ptr<void> copy(const void* from, size_t bytes) override {
    const GpuAllocation made = gpu_->allocate(MemoryKind::vram_coarse, bytes);
    std::shared_ptr<void> owner(made.gpu, [gpu = gpu_, made](void*) { gpu->release(MemoryKind::vram_coarse, made); });
    gpu_->copy(made.gpu, from, bytes);
    return owner;
  }
  void remove(void* first, size_t) noexcept override {
    By by = By::memory;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = ways_.find(first);
      if (found == ways_.end()) return;
      by = found->second;
      ways_.erase(found);
    }
    if (by == By::memory)
      gpu_->unmap_memory(first);
    else
      gpu_->unmap_registers(by == By::host_register ? RegisterMapping::host_register : RegisterMapping::lock_to_pool,
                            first);
  }

 private:
  enum class By { memory, host_register, lock_to_pool };

  void note(void* first, By by) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ways_[first] = by;
  }

  std::shared_ptr<GpuRuntime> gpu_;
  std::mutex mutex_;
  std::map<void*, By> ways_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
