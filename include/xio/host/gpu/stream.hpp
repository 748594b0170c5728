// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief I/O kernels in a stream of HIP or CUDA, beside kernels that compute. Include the GPU runtime's header, HIP's
/// or CUDA's, before this one; without it there is nothing here. host_stream.hpp has the same for the CPU.

#include <xio/config.hpp>
#include <xio/host/gpu/occupancy.hpp>
#include <xio/host/gpu/wave_budget.hpp>

#if defined(HIP_INCLUDE_HIP_HIP_RUNTIME_API_H) || defined(CUDART_VERSION)

#include <memory>
#include <string>

#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

#if defined(HIP_INCLUDE_HIP_HIP_RUNTIME_API_H)
using GpuStream = hipStream_t;
#else
using GpuStream = cudaStream_t;
#endif

namespace detail {

/// Launches by function, so that a host compiler takes it, too. Returns the runtime's message where it refuses.
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

/// Lanes of a wave of the current GPU; 0 where the runtime does not tell.
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

/// Launches an I/O kernel into a stream: it begins after what was put there before, and what follows begins after it.
/// Returns at once. Its waves do not wait for work that comes later in the stream: that would never begin.
/// @param budget  waves that it gets, all at the same time
/// @throws Error where they do not fit on the GPU together, with the number that does, or the runtime refuses
template <class... Parameters>
void launch_io(GpuStream stream, const WaveBudget& budget, void (*kernel)(Parameters...),
               const typename detail::SameType<Parameters>::type&... arguments) {
  const uint32_t lanes = detail::lanes_of_wave();
  if (lanes == 0) throw Error("launch_io: there is no GPU");
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

}  // namespace host

XIO_NAMESPACE_END

#endif
