// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Kernel launch with one signature for GPU and CPU. The compiler selects the target: hipcc, clang (`-x hip`)
/// and nvcc build for a GPU, other compilers for the CPU.

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#endif

#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/gpu/find.hpp>
#include <xio/host/gpu/stream.hpp>
#include <xio/host/memory/executor.hpp>
#include <xio/host/simt/simt.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_launch
/// @{

/// Dimensions of a grid.
/// @snippet host.cpp launch
struct LaunchShape {
  uint32_t blocks = 1;    ///< number of blocks
  uint32_t threads = 64;  ///< threads per block
};

#if defined(HIP_INCLUDE_HIP_HIP_RUNTIME_API_H) || defined(CUDART_VERSION)

/// Returns the executor of this program's kernels: GPU number `device`. Throws Error if it is absent.
/// @snippet host.cpp launch
inline Executor default_executor(int device = 0) {
  FoundGpu found = find_gpu(device);
  if (!found.runtime)
    throw Error("this program is built for a GPU, but no GPU was found (" + found.why_none +
                "); build it with g++ to run on the CPU");
  return Executor(std::move(found.runtime));
}

namespace detail {

/// Synchronizes the device. Returns null, or the runtime's error message.
inline const char* wait_for_device() {
#if defined(HIP_INCLUDE_HIP_HIP_RUNTIME_API_H)
  const hipError_t result = hipDeviceSynchronize();
  return result == hipSuccess ? nullptr : hipGetErrorString(result);
#else
  const cudaError_t result = cudaDeviceSynchronize();
  return result == cudaSuccess ? nullptr : cudaGetErrorString(result);
#endif
}

}  // namespace detail

/// Runs `kernel`, an XIO_KERNEL, on every thread of the grid and waits for completion. Throws Error if the launch or
/// the kernel fails.
/// @snippet host.cpp launch
template <class... Parameters>
void launch(const Executor& executor, const LaunchShape& shape, void (*kernel)(Parameters...),
            const typename detail::SameType<Parameters>::type&... arguments) {
  if (!executor.gpu()) throw Error("launch: this program is built for a GPU; build it with g++ to run on the CPU");
  void* values[sizeof...(arguments) + 1] = {const_cast<void*>(static_cast<const void*>(std::addressof(arguments)))...,
                                            nullptr};
  const char* refusal =
      detail::launch_function(reinterpret_cast<const void*>(kernel), shape.blocks, shape.threads, values, 0, nullptr);
  if (refusal == nullptr) refusal = detail::wait_for_device();
  if (refusal != nullptr) throw Error(std::string("launch: ") + refusal);
}

#elif XIO_HAS_SIMT

/// Returns the executor of this program's kernels: the CPU. `device` is ignored.
/// @snippet host.cpp launch
inline Executor default_executor(int device = 0) {
  static_cast<void>(device);
  return Executor();
}

/// Runs `kernel`, an XIO_KERNEL, on every thread of the grid and waits for completion. Throws Error if the launch
/// fails; rethrows what a kernel throws.
/// @snippet host.cpp launch
template <class... Parameters>
void launch(const Executor& executor, const LaunchShape& shape, void (*kernel)(Parameters...),
            const typename detail::SameType<Parameters>::type&... arguments) {
  if (executor.gpu()) throw Error("launch: this program is built for the CPU; build it for the GPU");
  simt::Grid grid;
  grid.blocks = shape.blocks;
  grid.threads_per_block = shape.threads;
  grid.wave_size = executor.wave_size();
  simt::launch(grid, kernel, arguments...);
}

#endif

/// @}
}  // namespace host

XIO_NAMESPACE_END
