// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Choice of the processor that runs the kernels, from `--executor` and `--gpu`.

#include <memory>
#include <string>

#include <xio/host/gpu/runtime.hpp>

#include "tester/nvme/options.hpp"

namespace tester {

struct ChosenExecutor {
  std::shared_ptr<xio::host::GpuRuntime> gpu;  ///< null: the CPU
  std::string why_not_gpu;                     ///< with the CPU: why no GPU was chosen; empty if none was wanted
};

/// @throws CannotRun if a GPU was requested but is absent, or this build has no kernels for it
ChosenExecutor choose_executor(Executor wanted, uint32_t number);

}  // namespace tester
