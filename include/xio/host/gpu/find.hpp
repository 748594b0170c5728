// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Finds the GPU of this machine, of any vendor.

#include <memory>
#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/gpu/cuda.hpp>
#include <xio/host/gpu/hip.hpp>
#include <xio/host/gpu/runtime.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// A GPU, or the reason why there is none.
struct FoundGpu {
  std::shared_ptr<GpuRuntime> runtime;  ///< null: no GPU
  std::string why_none;                 ///< error messages of HIP and CUDA
};

/// Finds GPU number `device` through HIP, then through CUDA; loads their libraries. Does not throw if there is none.
inline FoundGpu find_gpu(int device = 0) {
  FoundGpu found;
  try {
    HipRuntime::Options options;
    options.device = device;
    found.runtime = std::make_shared<HipRuntime>(options);
    return found;
  } catch (const Error& reason) {
    found.why_none = std::string("HIP: ") + reason.what();
  }
  try {
    CudaRuntime::Options options;
    options.device = device;
    found.runtime = std::make_shared<CudaRuntime>(options);
    found.why_none.clear();
  } catch (const Error& reason) {
    found.why_none += std::string("; CUDA: ") + reason.what();
  }
  return found;
}

}  // namespace host

XIO_NAMESPACE_END
