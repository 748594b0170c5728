// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Launches I/O kernels in a stream of HIP or CUDA, beside compute kernels. Include the GPU runtime's header,
/// HIP's or CUDA's, before this one; without it this header is empty. host_stream.hpp is the CPU's counterpart.

#include <xio/config.hpp>
#include <xio/host/gpu/occupancy.hpp>
#include <xio/host/gpu/wave_budget.hpp>

#if defined(HIP_INCLUDE_HIP_HIP_RUNTIME_API_H) || defined(CUDART_VERSION)

#include <memory>
#include <string>

#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

#if defined(HIP_INCLUDE_HIP_HIP_RUNTIME_API_H)
using GpuStream = hipStream_t;
#else
using GpuStream = cudaStream_t;
#endif

namespace detail {

/// Launches by function pointer, so that a host compiler accepts it, too. Returns the runtime's message on failure.
inline const char* launch_function(const void* function, uint32_t blocks, uint32_t threads, void** arguments,
                                   size_t lds, GpuStream stream) {
#if defined(HIP_INCLUDE_HIP_HIP_RUNTIME_API_H)
  const hipError_t result = hipLaunchKernel(function, dim3(blocks), dim3(threads), arguments, lds, stream);
  return result == hipSuccess ? nullptr : hipGetErrorString(result);
#else
  const cudaError_t result = cudaLaunchKernel(function, dim3(blocks), dim3(threads), arguments, lds, stream);
  return result == cudaSuccess ? nullptr : cudaGetErrorString(result);
#endif
}

/// Number of lanes in a wave of the current GPU; 0 if the runtime does not report it.
inline uint32_t lanes_of_wave() {
  int device = 0;
  int lanes = 0;
#if defined(HIP_INCLUDE_HIP_HIP_RUNTIME_API_H)
  const bool told = hipGetDevice(&device) == hipSuccess &&
                    hipDeviceGetAttribute(&lanes, hipDeviceAttributeWarpSize, device) == hipSuccess;
#else
  const bool told = cudaGetDevice(&device) == cudaSuccess &&
                    cudaDeviceGetAttribute(&lanes, cudaDevAttrWarpSize, device) == cudaSuccess;
#endif
  return told && lanes > 0 ? static_cast<uint32_t>(lanes) : 0;
}

}  // namespace detail

/// Launches an I/O kernel into a stream, ordered after earlier and before later work of the stream. Returns
/// immediately. Its waves must not wait for work that comes later in the stream: that work would never begin.
/// @param budget  number of waves, all of which run concurrently
/// @throws Error if they do not fit on the GPU together, with the number that fits, or if the launch fails
template <class... Parameters>
void launch_io(GpuStream stream, const WaveBudget& budget, void (*kernel)(Parameters...),
               const typename detail::SameType<Parameters>::type&... arguments) {
  const uint32_t lanes = detail::lanes_of_wave();
  if (lanes == 0) throw Error("launch_io: no GPU was found");
  const uint32_t blocks = detail::blocks_of(budget);
  const uint32_t threads = budget.waves_per_block * lanes;
  const uint32_t fitting = resident_blocks(kernel, threads, budget.lds);
  if (blocks > fitting)
    throw Error("launch_io: of " + std::to_string(budget.waves) + " waves only " +
                std::to_string(fitting * budget.waves_per_block) +
                " run at the same time on this GPU; lower WaveBudget::waves");
  void* values[sizeof...(arguments) + 1] = {const_cast<void*>(static_cast<const void*>(std::addressof(arguments)))...,
                                            nullptr};
  const char* const refusal =
      detail::launch_function(reinterpret_cast<const void*>(kernel), blocks, threads, values, budget.lds, stream);
  if (refusal != nullptr) throw Error(std::string("launch_io: ") + refusal);
}

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
