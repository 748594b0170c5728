// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The tester's kernels for GPUs, which travel in the program: a bundle of code objects for AMD, PTX for NVIDIA.

#include <memory>
#include <string>

#include <xio/host/gpu/module.hpp>

namespace tester {

/// A runtime that compiles PTX does so for what is used.
enum class KernelImage {
  basic,  ///< nvme-ep, test-ep, clock-test
  rdma    ///< rdma-ep
};

/// What the program has kernels for: "gfx90a, gfx942, sm_70 and later"; empty: for nothing.
std::string image_targets();
/// Whether kernels for a target are among them: "gfx942", "sm_90".
bool has_image(const std::string& target);

/// @throws CannotRun where this build has no kernels for the GPU
std::unique_ptr<xio::host::GpuModule> load_image(const std::shared_ptr<xio::host::GpuRuntime>& gpu, KernelImage image);

}  // namespace tester
