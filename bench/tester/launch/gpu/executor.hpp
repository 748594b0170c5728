// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs the workload kernels on a GPU.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <xio/host/gpu/module.hpp>

#include "tester/cli/errors.hpp"
#include "tester/launch/gpu/images.hpp"
#include "tester/launch/gpu/wait.hpp"

namespace tester {

class GpuExecutor {
 public:
  /// @throws CannotRun if this build has no kernels for the GPU
  GpuExecutor(std::shared_ptr<xio::host::GpuRuntime> gpu, KernelImage image);

  const std::shared_ptr<xio::host::GpuRuntime>& gpu() const { return gpu_; }

  /// Runs a kernel with one block per wave, all blocks concurrently; returns when it has ended.
  /// @param phase     kernel argument, passed by value
  /// @param lanes     lanes per queue: whole waves of the GPU, or 1
  /// @param deadline  deadline of one operation
  /// @param done      returns the operations completed so far
  /// @param ask       forwards stop requests; called periodically
  /// @throws BadInput if that many blocks cannot be resident
  template <class Phase>
  void run(const std::string& name, const Phase& phase, uint32_t queues, uint32_t lanes,
           std::chrono::milliseconds deadline, const std::function<uint64_t()>& done,
           const std::function<void()>& ask) {
    const auto kernel = module_->kernel<Phase>(name);
    const uint32_t block = std::min(lanes, gpu_->wave_size());
    const uint32_t waves = lanes / block;
    // Queues do not depend on each other, but must be measured concurrently.
    const uint32_t fitting = kernel.resident_blocks(block);
    if (queues > fitting / waves)
      throw BadInput("--num-queues " + std::to_string(queues) + " with " + std::to_string(waves) +
                     (waves == 1 ? " wave" : " waves") + " each do not run on this GPU at the same time; " +
                     std::to_string(fitting) + " waves do");
    xio::host::GpuWork work(gpu_);
    kernel.launch(work, xio::host::GpuGrid{queues * waves, block, 0}, phase);
    wait_for(work, deadline, done, ask);
  }

 private:
  std::shared_ptr<xio::host::GpuRuntime> gpu_;
  std::unique_ptr<xio::host::GpuModule> module_;
};

/// Whether a GPU with waves of `gpu_wave_size` lanes runs this many waves of `wave_size` lanes: whole waves, or one
/// lane.
bool lanes_fit(uint32_t gpu_wave_size, uint32_t waves, uint32_t wave_size);
/// @throws BadInput if lanes_fit() is false
void check_lanes(uint32_t gpu_wave_size, uint32_t waves, uint32_t wave_size);

}  // namespace tester
