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

/// Constants of CUDA's interfaces, named without `cuda`.
namespace cuda {
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
}  // namespace cuda

/// The functions of CUDA that set-up uses, named without `cuda` and `cu`. Runtime functions return cuda::success or a
/// code for get_error_string(); driver functions return a CUresult number.
class CudaLibrary {
 public:
  struct Files {
    std::vector<std::string> runtime{"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"};
    std::vector<std::string> driver{"libcuda.so.1"};
  };

  /// Throws Error if a library cannot be loaded, or lacks a function.
  CudaLibrary() : CudaLibrary(Files{}) {}
  explicit CudaLibrary(const Files& files) {
    const SharedLibrary driver(files.driver, "install NVIDIA's driver");
    const SharedLibrary runtime(files.runtime, "install the CUDA runtime 11 or later");
    runtime.find(get_device_count, "cudaGetDeviceCount");
    runtime.find(set_device, "cudaSetDevice");
    runtime.find(device_get_pci_bus_id, "cudaDeviceGetPCIBusId");
    runtime.find(runtime_get_version, "cudaRuntimeGetVersion");
    runtime.find(get_error_string, "cudaGetErrorString");
    runtime.find(host_alloc, "cudaHostAlloc");
    runtime.find(free_host, "cudaFreeHost");
    runtime.find(host_get_device_pointer, "cudaHostGetDevicePointer");
    runtime.find(host_register, "cudaHostRegister");
    runtime.find(host_unregister, "cudaHostUnregister");
    runtime.find(malloc, "cudaMalloc");
    runtime.find(free, "cudaFree");
    runtime.find(memset, "cudaMemset");
    runtime.find(memcpy, "cudaMemcpy");
    runtime.find(device_synchronize, "cudaDeviceSynchronize");
    runtime.find(device_get_attribute, "cudaDeviceGetAttribute");
    runtime.find(stream_create_with_flags, "cudaStreamCreateWithFlags");
    runtime.find(stream_destroy, "cudaStreamDestroy");
    runtime.find(stream_query, "cudaStreamQuery");
    driver.find(module_load_data, "cuModuleLoadDataEx");
    driver.find(module_unload, "cuModuleUnload");
    driver.find(module_get_function, "cuModuleGetFunction");
    driver.find(launch_kernel, "cuLaunchKernel");
    driver.find(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    driver.find(driver_error_string, "cuGetErrorString");
    // The form without _v2 requires a driver setting.
    if (!driver.find_optional(stream_write_value32, "cuStreamWriteValue32_v2"))
      driver.find_optional(stream_write_value32, "cuStreamWriteValue32");
    driver.find_optional(get_handle_for_address_range, "cuMemGetHandleForAddressRange");
  }
  CudaLibrary(const CudaLibrary&) = delete;
  CudaLibrary& operator=(const CudaLibrary&) = delete;

  int (*get_device_count)(int* count) = nullptr;
  int (*set_device)(int device) = nullptr;
  int (*device_get_pci_bus_id)(char* address, int room, int device) = nullptr;
  int (*runtime_get_version)(int* version) = nullptr;
  const char* (*get_error_string)(int error) = nullptr;
  int (*host_alloc)(void** data, size_t bytes, unsigned flags) = nullptr;
  int (*free_host)(void* data) = nullptr;
  int (*host_get_device_pointer)(void** gpu, void* cpu, unsigned flags) = nullptr;
  int (*host_register)(void* data, size_t bytes, unsigned flags) = nullptr;
  int (*host_unregister)(void* data) = nullptr;
  int (*malloc)(void** gpu, size_t bytes) = nullptr;
  int (*free)(void* gpu) = nullptr;
  int (*memset)(void* gpu, int value, size_t bytes) = nullptr;
  int (*memcpy)(void* to, const void* from, size_t bytes, int kind) = nullptr;
  int (*device_synchronize)() = nullptr;
  int (*device_get_attribute)(int* value, int attribute, int device) = nullptr;
  int (*stream_create_with_flags)(void** stream, unsigned flags) = nullptr;
  int (*stream_destroy)(void* stream) = nullptr;
  int (*stream_query)(void* stream) = nullptr;
  int (*module_load_data)(void** module, const void* image, unsigned options, int* names, void** values) = nullptr;
  int (*module_unload)(void* module) = nullptr;
  int (*module_get_function)(void** kernel, void* module, const char* name) = nullptr;
  int (*launch_kernel)(void* kernel, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                       unsigned threads_y, unsigned threads_z, unsigned lds, void* stream, void** arguments,
                       void** extra) = nullptr;
  int (*occupancy)(int* blocks, void* kernel, int threads, size_t lds) = nullptr;
  int (*driver_error_string)(int error, const char** text) = nullptr;
  /// Null if the driver lacks it.
  int (*stream_write_value32)(void* stream, unsigned long long gpu, uint32_t value, unsigned flags) = nullptr;
  /// Null in versions before 11.7.
  int (*get_handle_for_address_range)(void* handle, unsigned long long gpu, size_t bytes, int type,
                                      unsigned long long flags) = nullptr;
};

}  // namespace host

XIO_NAMESPACE_END
