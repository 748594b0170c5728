// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The tester's GPU kernels, embedded in the program: a bundle of code objects for AMD, PTX for NVIDIA.

#include <memory>
#include <string>

#include <xio/host/gpu/module.hpp>

namespace tester {

/// Kernels by image: a runtime that compiles PTX compiles only the image used.
enum class KernelImage {
  basic,   ///< nvme-ep, test-ep, clock-test
  drives,  ///< nvme-ep with several controllers
  rdma,    ///< rdma-ep
  kv,      ///< kv-ep
  cache    ///< cache-ep
};

/// Targets of the embedded kernels: "gfx90a, gfx942, sm_70 and later"; empty: none.
std::string image_targets();
/// Whether there are kernels for a target such as "gfx942" or "sm_90", or for its generic target.
bool has_image(const std::string& target);

/// @throws CannotRun if this build has no kernels for the GPU
std::unique_ptr<xio::host::GpuModule> load_image(const std::shared_ptr<xio::host::GpuRuntime>& gpu, KernelImage image);

}  // namespace tester
