// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief libamdhip64, loaded when it is first needed. Its header is not required: the interface is declared here, and
/// compared with the headers of several versions in tests/layout/gpu_parity.cpp.

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

/// Constants of the HIP runtime's interface, named without `hip`. They are unchanged from HIP 5.2 to 7.2; later
/// additions are marked.
namespace hip {
/// @addtogroup host_memory
/// @{
constexpr int success = 0;
constexpr int error_no_device = 100;
constexpr unsigned host_malloc_mapped = 0x2;
constexpr unsigned host_malloc_coherent = 0x40000000;
constexpr unsigned host_malloc_non_coherent = 0x80000000;
constexpr unsigned device_malloc_default = 0x0;
constexpr unsigned device_malloc_fine_grained = 0x1;
constexpr unsigned device_malloc_uncached = 0x3;  ///< not in 5.2
constexpr unsigned host_register_mapped = 0x2;
constexpr unsigned host_register_io_memory = 0x4;
constexpr int memcpy_default = 4;
constexpr int attribute_is_large_bar = 10011;
constexpr int attribute_wall_clock_rate = 10017;  ///< kHz; not in 5.2
constexpr int range_handle_dma_buf_fd = 0x1;      ///< with hipMemGetHandleForAddressRange
constexpr int error_no_binary_for_gpu = 209;
constexpr int error_not_found = 500;
constexpr int error_not_ready = 600;
constexpr int attribute_processors = 63;  ///< multiprocessorCount
constexpr int attribute_warp_size = 87;
constexpr unsigned stream_non_blocking = 0x1;
/// @}
}  // namespace hip

/// The functions of the HIP runtime that set-up uses, named without `hip`. Each returns hip::success or a code for
/// get_error_string().
class HipLibrary {
  // First: the functions are found in it.
  const SharedLibrary library_;

 public:
  /// Throws Error if the library cannot be loaded, or lacks a function.
  explicit HipLibrary(const std::vector<std::string>& files = usual_files())
      : library_(files, "install the HIP runtime of ROCm 5.2 or later (Debian: libamdhip64-5)") {}
  HipLibrary(const HipLibrary&) = delete;
  HipLibrary& operator=(const HipLibrary&) = delete;

  /// Library names, newest first, as the dynamic linker finds them, then the path used by ROCm's own packages.
  static std::vector<std::string> usual_files() {
    return {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so",
            "/opt/rocm/lib/libamdhip64.so"};
  }

  int (*get_device_count)(int* count) = library_.find("hipGetDeviceCount");
  int (*set_device)(int device) = library_.find("hipSetDevice");
  int (*device_get_name)(char* name, int room, int device) = library_.find("hipDeviceGetName");
  int (*device_get_pci_bus_id)(char* address, int room, int device) = library_.find("hipDeviceGetPCIBusId");
  int (*device_get_attribute)(int* value, int attribute, int device) = library_.find("hipDeviceGetAttribute");
  int (*runtime_get_version)(int* version) = library_.find("hipRuntimeGetVersion");
  const char* (*get_error_string)(int error) = library_.find("hipGetErrorString");
  int (*host_malloc)(void** data, size_t bytes, unsigned flags) = library_.find("hipHostMalloc");
  int (*host_free)(void* data) = library_.find("hipHostFree");
  int (*host_get_device_pointer)(void** gpu, void* cpu, unsigned flags) = library_.find("hipHostGetDevicePointer");
  int (*host_register)(void* data, size_t bytes, unsigned flags) = library_.find("hipHostRegister");
  int (*host_unregister)(void* data) = library_.find("hipHostUnregister");
  int (*ext_malloc_with_flags)(void** gpu, size_t bytes, unsigned flags) = library_.find("hipExtMallocWithFlags");
  int (*free)(void* gpu) = library_.find("hipFree");
  int (*memset)(void* gpu, int value, size_t bytes) = library_.find("hipMemset");
  int (*memcpy)(void* to, const void* from, size_t bytes, int kind) = library_.find("hipMemcpy");
  int (*device_synchronize)() = library_.find("hipDeviceSynchronize");
  int (*stream_write_value32)(void* stream, void* gpu, uint32_t value,
                              unsigned flags) = library_.find("hipStreamWriteValue32");
  int (*stream_synchronize)(void* stream) = library_.find("hipStreamSynchronize");
  int (*stream_create_with_flags)(void** stream, unsigned flags) = library_.find("hipStreamCreateWithFlags");
  int (*stream_destroy)(void* stream) = library_.find("hipStreamDestroy");
  int (*stream_query)(void* stream) = library_.find("hipStreamQuery");
  int (*module_load_data)(void** module, const void* image) = library_.find("hipModuleLoadData");
  int (*module_unload)(void* module) = library_.find("hipModuleUnload");
  int (*module_get_function)(void** kernel, void* module, const char* name) = library_.find("hipModuleGetFunction");
  int (*module_launch_kernel)(void* kernel, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                              unsigned threads_y, unsigned threads_z, unsigned lds, void* stream, void** arguments,
                              void** extra) = library_.find("hipModuleLaunchKernel");
  int (*module_occupancy)(int* blocks, void* kernel, int threads,
                          size_t lds) = library_.find("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
  /// Null in versions before 7.
  int (*get_handle_for_address_range)(void* handle, void* gpu, size_t bytes, int type, unsigned long long flags) =
      library_.find_optional("hipMemGetHandleForAddressRange");
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
