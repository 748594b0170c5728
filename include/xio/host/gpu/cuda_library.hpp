// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief libcudart and libcuda, loaded when they are first needed. Declared here without headers, as in
/// hip_library.hpp.

#include <cstddef>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/shared_library.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// Constants of CUDA's interfaces, named without `cuda`.
namespace cuda {
/// @addtogroup host_memory
/// @{
constexpr int success = 0;
constexpr unsigned host_alloc_mapped = 0x2;
constexpr unsigned host_register_mapped = 0x2;
constexpr unsigned host_register_io_memory = 0x4;
constexpr int memcpy_default = 4;
constexpr int range_handle_dma_buf_fd = 0x1;
constexpr int error_no_device = 100;
constexpr int error_not_ready = 600;
constexpr unsigned stream_non_blocking = 0x1;
constexpr int attribute_warp_size = 10;
constexpr int attribute_processors = 16;
constexpr int attribute_capability_major = 75;
constexpr int attribute_capability_minor = 76;
// Driver API.
constexpr int driver_error_no_binary = 209;
constexpr int driver_error_invalid_ptx = 218;
constexpr int driver_error_unsupported_ptx = 222;
constexpr int driver_error_not_found = 500;
constexpr int jit_error_log = 5;
constexpr int jit_error_log_bytes = 6;
/// @}
}  // namespace cuda

/// The functions of CUDA that set-up uses, named without `cuda` and `cu`. Runtime functions return cuda::success or a
/// code for get_error_string(); driver functions return a CUresult number.
class CudaLibrary {
  // First: the functions are found in it.
  const SharedLibrary driver_;
  const SharedLibrary runtime_;

 public:
  struct Files {
    std::vector<std::string> runtime{"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"};
    std::vector<std::string> driver{"libcuda.so.1"};
  };

  /// Throws Error if a library cannot be loaded, or lacks a function.
  CudaLibrary() : CudaLibrary(Files{}) {}
  explicit CudaLibrary(const Files& files)
      : driver_(files.driver, "install NVIDIA's driver"),
        runtime_(files.runtime, "install the CUDA runtime 11 or later") {
    // This form requires a driver setting.
    if (stream_write_value32 == nullptr) stream_write_value32 = driver_.find_optional("cuStreamWriteValue32");
  }
  CudaLibrary(const CudaLibrary&) = delete;
  CudaLibrary& operator=(const CudaLibrary&) = delete;

  int (*get_device_count)(int* count) = runtime_.find("cudaGetDeviceCount");
  int (*set_device)(int device) = runtime_.find("cudaSetDevice");
  int (*device_get_pci_bus_id)(char* address, int room, int device) = runtime_.find("cudaDeviceGetPCIBusId");
  int (*runtime_get_version)(int* version) = runtime_.find("cudaRuntimeGetVersion");
  const char* (*get_error_string)(int error) = runtime_.find("cudaGetErrorString");
  int (*host_alloc)(void** data, size_t bytes, unsigned flags) = runtime_.find("cudaHostAlloc");
  int (*free_host)(void* data) = runtime_.find("cudaFreeHost");
  int (*host_get_device_pointer)(void** gpu, void* cpu, unsigned flags) = runtime_.find("cudaHostGetDevicePointer");
  int (*host_register)(void* data, size_t bytes, unsigned flags) = runtime_.find("cudaHostRegister");
  int (*host_unregister)(void* data) = runtime_.find("cudaHostUnregister");
  int (*malloc)(void** gpu, size_t bytes) = runtime_.find("cudaMalloc");
  int (*free)(void* gpu) = runtime_.find("cudaFree");
  int (*memset)(void* gpu, int value, size_t bytes) = runtime_.find("cudaMemset");
  int (*memcpy)(void* to, const void* from, size_t bytes, int kind) = runtime_.find("cudaMemcpy");
  int (*device_synchronize)() = runtime_.find("cudaDeviceSynchronize");
  int (*device_get_attribute)(int* value, int attribute, int device) = runtime_.find("cudaDeviceGetAttribute");
  int (*stream_create_with_flags)(void** stream, unsigned flags) = runtime_.find("cudaStreamCreateWithFlags");
  int (*stream_destroy)(void* stream) = runtime_.find("cudaStreamDestroy");
  int (*stream_query)(void* stream) = runtime_.find("cudaStreamQuery");
  int (*module_load_data)(void** module, const void* image, unsigned options, int* names,
                          void** values) = driver_.find("cuModuleLoadDataEx");
  int (*module_unload)(void* module) = driver_.find("cuModuleUnload");
  int (*module_get_function)(void** kernel, void* module, const char* name) = driver_.find("cuModuleGetFunction");
  int (*launch_kernel)(void* kernel, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                       unsigned threads_y, unsigned threads_z, unsigned lds, void* stream, void** arguments,
                       void** extra) = driver_.find("cuLaunchKernel");
  int (*occupancy)(int* blocks, void* kernel, int threads,
                   size_t lds) = driver_.find("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  int (*driver_error_string)(int error, const char** text) = driver_.find("cuGetErrorString");
  /// Null if the driver lacks it.
  int (*stream_write_value32)(void* stream, unsigned long long gpu, uint32_t value,
                              unsigned flags) = driver_.find_optional("cuStreamWriteValue32_v2");
  /// Null in versions before 11.7.
  int (*get_handle_for_address_range)(void* handle, unsigned long long gpu, size_t bytes, int type,
                                      unsigned long long flags) =
      driver_.find_optional("cuMemGetHandleForAddressRange");
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
