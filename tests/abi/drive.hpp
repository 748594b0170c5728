// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A queue of the in-process controller in memory of the model, for kernels that are linked with the bitcode.

#include <memory>
#include <string>

#include <machine/core/gpu.hpp>
#include <machine/core/host_memory.hpp>
#include <scenarios/arena.hpp>
#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/nvme/controller.hpp>

namespace abi_tests {

using machine::MemoryKind;

/// Its controller is stepped by the model. What a kernel needs beside it comes from the arena, before map().
class Drive {
 public:
  static constexpr uint32_t depth = 16;

  explicit Drive(const machine::Gpu& gpu) : kind_(machine::host_memory(gpu.target())) {
    xio::emulation::NvmeConfig config;
    config.execution = xio::emulation::NvmeExecution::stepped;
    config.memory = arena.source(kind_, "controller");
    auto owned = std::make_unique<xio::emulation::NvmeController>(config);
    device_ = owned.get();
    controller_ = std::make_unique<xio::host::NvmeController>(std::move(owned));
    xio::host::QueueOptions options;
    options.depth = depth;
    options.clock_hz = 100'000'000;
    options.allocate_state = [this](size_t bytes, size_t alignment) {
      void* const at = arena.allocate(bytes, alignment < 4096 ? 4096 : alignment, MemoryKind::local, "state");
      return xio::host::DmaBuffer(at, reinterpret_cast<uint64_t>(at), bytes, nullptr);
    };
    queue_ = std::make_unique<xio::host::NvmeQueue>(controller_->create_queue(options));
    handle_ = arena.make<xio::nvme::QueueHandle>(1, MemoryKind::local, "handle");
    *handle_ = queue_->handle();
  }

  uint64_t handle() const { return reinterpret_cast<uint64_t>(handle_); }  ///< its address
  xio::host::DmaBuffer allocate(size_t bytes) { return controller_->allocate(bytes); }
  xio::emulation::NvmeController& device() { return *device_; }

  /// All memory so far, and the doorbells.
  /// @param idle the controller does nothing in so many of its first steps
  void map(machine::Gpu& gpu, uint32_t idle) {
    arena.map(gpu.memory);
    for (const uint32_t* bell : {handle_->sq_doorbell, handle_->cq_doorbell})
      gpu.memory.add(bell, sizeof *bell, MemoryKind::registers, "doorbell");
    gpu.step_devices = [this, idle](machine::Random& random) mutable {
      if (idle != 0 && --idle != 0) return false;
      device_->step(random.one_in(2) ? 1 + random.below(3) : ~0u);
      return true;
    };
  }

  scenarios::Arena arena;

 private:
  MemoryKind kind_;
  xio::emulation::NvmeController* device_ = nullptr;
  std::unique_ptr<xio::host::NvmeController> controller_;
  std::unique_ptr<xio::host::NvmeQueue> queue_;
  xio::nvme::QueueHandle* handle_ = nullptr;
};

}  // namespace abi_tests
