// SPDX-License-Identifier: MIT
// What is declared of HIP, HSA and CUDA without their headers, against those of whichever version the compiler is
// shown: values of constants, and sizes of what functions take. Checked by the compiler; nothing runs.

#include <type_traits>

#include <xio/host/gpu/cuda_library.hpp>
#include <xio/host/gpu/hip_library.hpp>
#include <xio/host/gpu/hsa_library.hpp>

#if defined(XIO_PARITY_ROCM)
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1
#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#else
#include <cuda.h>
#include <cuda_runtime_api.h>
#endif

namespace {

/// Whether arguments of both types are passed alike: these interfaces have numbers, pointers and one-word structs only.
template <class Ours, class Theirs>
constexpr bool alike_value = sizeof(Ours) == sizeof(Theirs) && !std::is_floating_point_v<Theirs>;

template <class Ours, class Theirs>
struct Alike {
  static constexpr bool value = false;
};
template <class R, class... A, class S, class... B>
struct Alike<R (*)(A...), S(B...)> {
  static constexpr bool both() {
    if constexpr (sizeof...(A) != sizeof...(B)) {
      return false;
    } else {
      return alike_value<R, S> && (... && alike_value<A, B>);
    }
  }
  static constexpr bool value = both();
};

#define XIO_SAME(member, function) static_assert(Alike<decltype(Library::member), decltype(function)>::value, #function)

#if defined(XIO_PARITY_ROCM)

namespace hip = xio::host::hip;
namespace hsa = xio::host::hsa;

static_assert(hip::success == hipSuccess);
static_assert(hip::error_no_device == hipErrorNoDevice);
static_assert(hip::host_malloc_mapped == hipHostMallocMapped);
static_assert(hip::host_malloc_coherent == hipHostMallocCoherent);
static_assert(hip::host_malloc_non_coherent == hipHostMallocNonCoherent);
static_assert(hip::device_malloc_default == hipDeviceMallocDefault);
static_assert(hip::device_malloc_fine_grained == hipDeviceMallocFinegrained);
static_assert(hip::host_register_mapped == hipHostRegisterMapped);
static_assert(hip::host_register_io_memory == hipHostRegisterIoMemory);
static_assert(hip::memcpy_default == hipMemcpyDefault);
static_assert(hip::attribute_is_large_bar == hipDeviceAttributeIsLargeBar);
static_assert(hip::error_no_binary_for_gpu == hipErrorNoBinaryForGpu);
static_assert(hip::error_not_found == hipErrorNotFound);
static_assert(hip::error_not_ready == hipErrorNotReady);
static_assert(hip::attribute_processors == hipDeviceAttributeMultiprocessorCount);
static_assert(hip::attribute_warp_size == hipDeviceAttributeWarpSize);
static_assert(hip::stream_non_blocking == hipStreamNonBlocking);
#if defined(hipDeviceMallocUncached)
static_assert(hip::device_malloc_uncached == hipDeviceMallocUncached);
#endif
#if HIP_VERSION_MAJOR >= 6
static_assert(hip::attribute_wall_clock_rate == hipDeviceAttributeWallClockRate);
#endif

template <class Library>
struct HipFunctions {
  XIO_SAME(get_device_count, hipGetDeviceCount);
  XIO_SAME(set_device, hipSetDevice);
  XIO_SAME(device_get_name, hipDeviceGetName);
  XIO_SAME(device_get_pci_bus_id, hipDeviceGetPCIBusId);
  XIO_SAME(device_get_attribute, hipDeviceGetAttribute);
  XIO_SAME(runtime_get_version, hipRuntimeGetVersion);
  XIO_SAME(get_error_string, hipGetErrorString);
  static_assert(Alike<decltype(Library::host_malloc), hipError_t(void**, size_t, unsigned)>::value);  // overloaded
  XIO_SAME(host_free, hipHostFree);
  XIO_SAME(host_get_device_pointer, hipHostGetDevicePointer);
  XIO_SAME(host_register, hipHostRegister);
  XIO_SAME(host_unregister, hipHostUnregister);
  XIO_SAME(ext_malloc_with_flags, hipExtMallocWithFlags);
  XIO_SAME(free, hipFree);
  XIO_SAME(memset, hipMemset);
  XIO_SAME(memcpy, hipMemcpy);
  XIO_SAME(device_synchronize, hipDeviceSynchronize);
  XIO_SAME(stream_write_value32, hipStreamWriteValue32);
  XIO_SAME(stream_synchronize, hipStreamSynchronize);
  XIO_SAME(stream_create_with_flags, hipStreamCreateWithFlags);
  XIO_SAME(stream_destroy, hipStreamDestroy);
  XIO_SAME(stream_query, hipStreamQuery);
  XIO_SAME(module_load_data, hipModuleLoadData);
  XIO_SAME(module_unload, hipModuleUnload);
  XIO_SAME(module_get_function, hipModuleGetFunction);
  XIO_SAME(module_launch_kernel, hipModuleLaunchKernel);
  XIO_SAME(module_occupancy, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor);
#if HIP_VERSION_MAJOR >= 7
  static_assert(hip::range_handle_dma_buf_fd == hipMemRangeHandleTypeDmaBufFd);
  XIO_SAME(get_handle_for_address_range, hipMemGetHandleForAddressRange);
#endif
};
template struct HipFunctions<xio::host::HipLibrary>;

static_assert(hsa::success == HSA_STATUS_SUCCESS);
static_assert(hsa::info_break == HSA_STATUS_INFO_BREAK);
static_assert(hsa::agent_info_name == HSA_AGENT_INFO_NAME);
static_assert(hsa::agent_info_device == HSA_AGENT_INFO_DEVICE);
static_assert(hsa::device_cpu == HSA_DEVICE_TYPE_CPU);
static_assert(hsa::device_gpu == HSA_DEVICE_TYPE_GPU);
static_assert(hsa::agent_info_bdf_id == HSA_AMD_AGENT_INFO_BDFID);
static_assert(hsa::agent_info_domain == HSA_AMD_AGENT_INFO_DOMAIN);
static_assert(hsa::pool_info_segment == HSA_AMD_MEMORY_POOL_INFO_SEGMENT);
static_assert(hsa::segment_global == HSA_AMD_SEGMENT_GLOBAL);
static_assert(hsa::pool_info_global_flags == HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS);
static_assert(hsa::pool_fine_grained == HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED);

template <class Library>
struct HsaFunctions {
  XIO_SAME(init, hsa_init);
  XIO_SAME(shut_down, hsa_shut_down);
  XIO_SAME(status_string, hsa_status_string);
  XIO_SAME(iterate_agents, hsa_iterate_agents);
  XIO_SAME(agent_get_info, hsa_agent_get_info);
  XIO_SAME(iterate_pools, hsa_amd_agent_iterate_memory_pools);
  XIO_SAME(pool_get_info, hsa_amd_memory_pool_get_info);
  XIO_SAME(memory_lock_to_pool, hsa_amd_memory_lock_to_pool);
  XIO_SAME(memory_unlock, hsa_amd_memory_unlock);
#if HIP_VERSION_MAJOR >= 6
  XIO_SAME(portable_export_dmabuf, hsa_amd_portable_export_dmabuf);
#endif
};
template struct HsaFunctions<xio::host::HsaLibrary>;

#else

namespace cuda = xio::host::cuda;

static_assert(cuda::success == cudaSuccess && cuda::success == CUDA_SUCCESS);
static_assert(cuda::host_alloc_mapped == cudaHostAllocMapped);
static_assert(cuda::host_register_mapped == cudaHostRegisterMapped);
static_assert(cuda::host_register_io_memory == cudaHostRegisterIoMemory);
static_assert(cuda::memcpy_default == cudaMemcpyDefault);
static_assert(cuda::range_handle_dma_buf_fd == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
static_assert(cuda::error_no_device == cudaErrorNoDevice);
static_assert(cuda::error_not_ready == cudaErrorNotReady);
static_assert(cuda::stream_non_blocking == cudaStreamNonBlocking);
static_assert(cuda::attribute_warp_size == cudaDevAttrWarpSize);
static_assert(cuda::attribute_processors == cudaDevAttrMultiProcessorCount);
static_assert(cuda::attribute_capability_major == cudaDevAttrComputeCapabilityMajor);
static_assert(cuda::attribute_capability_minor == cudaDevAttrComputeCapabilityMinor);
static_assert(cuda::driver_error_no_binary == CUDA_ERROR_NO_BINARY_FOR_GPU);
static_assert(cuda::driver_error_invalid_ptx == CUDA_ERROR_INVALID_PTX);
static_assert(cuda::driver_error_unsupported_ptx == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
static_assert(cuda::driver_error_not_found == CUDA_ERROR_NOT_FOUND);
static_assert(cuda::jit_error_log == CU_JIT_ERROR_LOG_BUFFER);
static_assert(cuda::jit_error_log_bytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);

template <class Library>
struct CudaFunctions {
  XIO_SAME(get_device_count, cudaGetDeviceCount);
  XIO_SAME(set_device, cudaSetDevice);
  XIO_SAME(device_get_pci_bus_id, cudaDeviceGetPCIBusId);
  XIO_SAME(runtime_get_version, cudaRuntimeGetVersion);
  XIO_SAME(get_error_string, cudaGetErrorString);
  XIO_SAME(host_alloc, cudaHostAlloc);
  XIO_SAME(free_host, cudaFreeHost);
  static_assert(Alike<decltype(Library::host_get_device_pointer), cudaError_t(void**, void*, unsigned)>::value);
  XIO_SAME(host_register, cudaHostRegister);
  XIO_SAME(host_unregister, cudaHostUnregister);
  static_assert(Alike<decltype(Library::malloc), cudaError_t(void**, size_t)>::value);
  XIO_SAME(free, cudaFree);
  XIO_SAME(memset, cudaMemset);
  XIO_SAME(memcpy, cudaMemcpy);
  XIO_SAME(device_synchronize, cudaDeviceSynchronize);
  XIO_SAME(stream_write_value32, cuStreamWriteValue32);
  static_assert(Alike<decltype(Library::device_get_attribute), cudaError_t(int*, cudaDeviceAttr, int)>::value);
  XIO_SAME(stream_create_with_flags, cudaStreamCreateWithFlags);
  XIO_SAME(stream_destroy, cudaStreamDestroy);
  XIO_SAME(stream_query, cudaStreamQuery);
  XIO_SAME(module_load_data, cuModuleLoadDataEx);
  XIO_SAME(module_unload, cuModuleUnload);
  XIO_SAME(module_get_function, cuModuleGetFunction);
  XIO_SAME(launch_kernel, cuLaunchKernel);
  XIO_SAME(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor);
  XIO_SAME(driver_error_string, cuGetErrorString);
  XIO_SAME(get_handle_for_address_range, cuMemGetHandleForAddressRange);
};
template struct CudaFunctions<xio::host::CudaLibrary>;

#endif

}  // namespace
