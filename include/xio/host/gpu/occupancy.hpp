// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Maximum grid size for kernels whose waves wait for each other. Include the GPU runtime's header, HIP's or
/// CUDA's, before this one; without it this header is empty.

#include <xio/config.hpp>

#if defined(HIP_INCLUDE_HIP_HIP_RUNTIME_API_H) || defined(CUDART_VERSION)

#include <cstddef>
#include <cstdint>
#include <string>

#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

namespace detail {

/// Result of an occupancy query; `error` is the runtime's message if the query fails.
struct Occupancy {
  int processors = 0;
  int blocks_of_each = 0;
  const char* error = nullptr;
};

template <class Kernel>
Occupancy ask_occupancy(Kernel kernel, int threads, size_t lds) {
  Occupancy answer;
  int device = 0;
#if defined(HIP_INCLUDE_HIP_HIP_RUNTIME_API_H)
  hipError_t result = hipGetDevice(&device);
  if (result == hipSuccess)
    result = hipDeviceGetAttribute(&answer.processors, hipDeviceAttributeMultiprocessorCount, device);
  if (result == hipSuccess)
    result = hipOccupancyMaxActiveBlocksPerMultiprocessor(&answer.blocks_of_each, kernel, threads, lds);
  if (result != hipSuccess) answer.error = hipGetErrorString(result);
#else
  cudaError_t result = cudaGetDevice(&device);
  if (result == cudaSuccess)
    result = cudaDeviceGetAttribute(&answer.processors, cudaDevAttrMultiProcessorCount, device);
  if (result == cudaSuccess)
    result = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&answer.blocks_of_each, kernel, threads, lds);
  if (result != cudaSuccess) answer.error = cudaGetErrorString(result);
#endif
  return answer;
}

}  // namespace detail

/// Number of blocks of a kernel that the current GPU runs concurrently.
///
/// Do not launch a persistent kernel whose waves wait for each other with more: blocks that have not started cannot do
/// the work that others wait for. In either case every wait of the library ends at its deadline.
/// @param threads  threads per block
/// @param lds      bytes of dynamic shared memory per block
/// @throws Error with the runtime's message; also if not even one block fits
template <class... Arguments>
uint32_t resident_blocks(void (*kernel)(Arguments...), uint32_t threads, size_t lds = 0) {
  const detail::Occupancy answer = detail::ask_occupancy(kernel, static_cast<int>(threads), lds);
  if (answer.error != nullptr) throw Error(std::string("resident_blocks: ") + answer.error);
  if (answer.blocks_of_each <= 0 || answer.processors <= 0)
    throw Error("resident_blocks: a block of " + std::to_string(threads) + " threads and " + std::to_string(lds) +
                " bytes of shared memory does not fit; launch smaller blocks");
  return static_cast<uint32_t>(answer.blocks_of_each) * static_cast<uint32_t>(answer.processors);
}

}  // namespace host

XIO_NAMESPACE_END

#endif
