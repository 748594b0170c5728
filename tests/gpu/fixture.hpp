// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The in-process controller with everything that a GPU touches in pinned host memory.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <gpu/runtime.hpp>
#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/nvme/controller.hpp>

namespace gpu {

/// Pinned host memory at any alignment.
inline xio::emulation::MemorySource pinned_memory() {
  struct Blocks {
    std::mutex mutex;
    std::map<void*, void*> start;  // aligned address to allocation
  };
  const auto blocks = std::make_shared<Blocks>();
  xio::emulation::MemorySource source;
  source.allocate = [blocks](size_t bytes, size_t alignment) -> void* {
    void* const memory = allocate_host(bytes + alignment);
    const auto address = (reinterpret_cast<uintptr_t>(memory) + alignment - 1) & ~(uintptr_t{alignment} - 1);
    const std::lock_guard<std::mutex> lock(blocks->mutex);
    blocks->start[reinterpret_cast<void*>(address)] = memory;
    return reinterpret_cast<void*>(address);
  };
  source.release = [blocks](void* memory) {
    const std::lock_guard<std::mutex> lock(blocks->mutex);
    const auto found = blocks->start.find(memory);
    if (found == blocks->start.end()) return;
    free_host(found->second);
    blocks->start.erase(found);
  };
  return source;
}

/// Options for a queue whose state, which only kernels access, lies in the GPU's memory.
inline xio::host::QueueOptions state_on_gpu(xio::host::QueueOptions options = {}) {
  options.allocate_state = [](size_t bytes, size_t) {
    char* const memory = allocate_device<char>(bytes);
    return xio::host::DmaBuffer(memory, 0, bytes, std::shared_ptr<void>(memory, free_device));
  };
  return options;
}

/// A controller, and access to its model.
struct ModelController {
  explicit ModelController(xio::emulation::NvmeConfig config = {}) {
    config.memory = pinned_memory();
    auto transport = std::make_unique<xio::emulation::NvmeController>(std::move(config));
    model = transport.get();
    controller = std::make_unique<xio::host::NvmeController>(std::move(transport));
  }

  xio::emulation::NvmeController* model;
  std::unique_ptr<xio::host::NvmeController> controller;
};

}  // namespace gpu
