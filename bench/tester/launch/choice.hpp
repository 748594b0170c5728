// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Which processor runs the kernels: `--executor` and `--gpu` made into a GPU, or none.

#include <memory>
#include <string>

#include <xio/host/gpu/runtime.hpp>

#include "tester/nvme/options.hpp"

namespace tester {

struct ChosenExecutor {
  std::shared_ptr<xio::host::GpuRuntime> gpu;  ///< null: the CPU
  std::string why_not_gpu;                     ///< with the CPU: why it is not a GPU; empty where none was wanted
};

/// @throws CannotRun where a GPU was asked for and there is none, or this build has no kernels for it
ChosenExecutor choose_executor(Executor wanted, uint32_t number);

}  // namespace tester
