// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs the kernels of nvme-ep on a GPU.

#include <cstdint>
#include <functional>
#include <memory>

#include <xio/host/gpu/module.hpp>

#include "tester/nvme_options.hpp"
#include "tester/nvme_plan.hpp"
#include "tester/phase.hpp"

namespace tester {

class GpuNvmeExecutor {
 public:
  /// @throws CannotRun where this build has no kernels for the GPU
  explicit GpuNvmeExecutor(std::shared_ptr<xio::host::GpuRuntime> gpu);

  /// Runs one phase, one block for each queue; returns when it has ended.
  /// @param done  operations so far, as the lanes tell
  /// @param ask   hands on what the user asked for; called now and then
  void run(const NvmePlan& plan, const Phase& phase, uint32_t queues, const NvmeOptions& options,
           const std::function<uint64_t()>& done, const std::function<void()>& ask);

 private:
  std::shared_ptr<xio::host::GpuRuntime> gpu_;
  std::unique_ptr<xio::host::GpuModule> module_;
};

}  // namespace tester
