// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs the workload kernels on a GPU.

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
  /// @throws CannotRun where this build has no kernels for the GPU
  GpuExecutor(std::shared_ptr<xio::host::GpuRuntime> gpu, KernelImage image);

  const std::shared_ptr<xio::host::GpuRuntime>& gpu() const { return gpu_; }

  /// Runs a kernel, one block for each queue, all of them at the same time; returns when it has ended.
  /// @param phase     what it is given, by value
  /// @param lanes     of a block
  /// @param deadline  of one operation
  /// @param done      operations so far, as the lanes tell
  /// @param ask       hands on what the user asked for; called now and then
  /// @throws BadInput where so many blocks do not fit
  template <class Phase>
  void run(const std::string& name, const Phase& phase, uint32_t queues, uint32_t lanes,
           std::chrono::milliseconds deadline, const std::function<uint64_t()>& done,
           const std::function<void()>& ask) {
    const auto kernel = module_->kernel<Phase>(name);
    // Queues do not wait for each other, but they are to be measured together.
    const uint32_t fitting = kernel.resident_blocks(lanes);
    if (queues > fitting)
      throw BadInput("--num-queues " + std::to_string(queues) + " of " + std::to_string(lanes) +
                     (lanes == 1 ? " lane" : " lanes") + " do not run on this GPU at the same time; " +
                     std::to_string(fitting) + " do");
    xio::host::GpuWork work(gpu_);
    kernel.launch(work, xio::host::GpuGrid{queues, lanes, 0}, phase);
    wait_for(work, deadline, done, ask);
  }

 private:
  std::shared_ptr<xio::host::GpuRuntime> gpu_;
  std::unique_ptr<xio::host::GpuModule> module_;
};

/// Whether a GPU with waves of `gpu_wave_size` lanes lets so many waves use one queue: whole ones of one block, or one
/// lane.
bool lanes_fit(uint32_t gpu_wave_size, uint32_t waves, uint32_t wave_size);
/// @throws BadInput where it does not
void check_lanes(uint32_t gpu_wave_size, uint32_t waves, uint32_t wave_size);

}  // namespace tester
