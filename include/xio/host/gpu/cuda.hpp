// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief GpuRuntime through CUDA, loaded at run time.

#include <cstring>
#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/gpu/cuda_library.hpp>
#include <xio/host/gpu/runtime.hpp>
#include <xio/host/linux/pci.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// An NVIDIA GPU. CUDA has one kind of pinned host memory, which is coherent, and one kind of GPU memory, which the CPU
/// cannot access: all host kinds map to the former, all vram kinds to the latter.
class CudaRuntime final : public GpuRuntime {
 public:
  struct Options {
    int device = 0;  ///< CUDA device number
    CudaLibrary::Files files;
  };

  /// Throws Error if CUDA is missing, or there is no such GPU.
  CudaRuntime() : CudaRuntime(Options{}) {}
  explicit CudaRuntime(const Options& options) : cuda_(options.files), device_(options.device) {
    int count = 0;
    check(cuda_.get_device_count(&count), "cudaGetDeviceCount");
    if (device_ < 0 || device_ >= count)
      throw Error("CUDA has no GPU " + std::to_string(device_) + "; it has " + std::to_string(count));
    use();
    char address[32] = {};
    check(cuda_.device_get_pci_bus_id(address, sizeof address, device_), "cudaDeviceGetPCIBusId");
    address_ = parse_pci_address(address).value_or(std::string());
  }

  std::string description() const override {
    int version = 0;
    cuda_.runtime_get_version(&version);
    return "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version / 10 % 100) + ", GPU " +
           std::to_string(device_) + " at " + address_;
  }
  std::string pci_address() const override { return address_; }
  /// Kernels read globaltimer, which counts nanoseconds.
  uint64_t clock_hz() const override { return 1000000000; }

  GpuAllocation allocate(MemoryKind kind, size_t bytes) override {
    use();
    GpuAllocation made;
    if (is_vram(kind)) {
      check(cuda_.malloc(&made.gpu, bytes), "cudaMalloc");
    } else {
      check(cuda_.host_alloc(&made.cpu, bytes, cuda::host_alloc_mapped), "cudaHostAlloc");
      const int status = cuda_.host_get_device_pointer(&made.gpu, made.cpu, 0);
      if (status != cuda::success) cuda_.free_host(made.cpu);
      check(status, "cudaHostGetDevicePointer");
    }
    try {
      check(cuda_.memset(made.gpu, 0, bytes), "cudaMemset");
      check(cuda_.device_synchronize(), "cudaDeviceSynchronize");
    } catch (...) {
      release(kind, made);
      throw;
    }
    return made;
  }
  void release(MemoryKind kind, const GpuAllocation& memory) noexcept override {
    cuda_.set_device(device_);
    if (is_vram(kind))
      cuda_.free(memory.gpu);
    else
      cuda_.free_host(memory.cpu);
  }
  void copy(void* to, const void* from, size_t bytes) override {
    use();
    check(cuda_.memcpy(to, from, bytes, cuda::memcpy_default), "cudaMemcpy");
    check(cuda_.device_synchronize(), "cudaDeviceSynchronize");
  }
  DmaBufExport export_dma_buf(void* gpu, size_t bytes) override {
    use();
    if (cuda_.get_handle_for_address_range == nullptr)
      throw Error("this driver has no cuMemGetHandleForAddressRange; install one for CUDA 11.7 or later");
    int fd = -1;
    driver_check(cuda_.get_handle_for_address_range(&fd, number(gpu), bytes, cuda::range_handle_dma_buf_fd, 0),
                 "cuMemGetHandleForAddressRange (dma-bufs need NVIDIA's open kernel modules)");
    DmaBufExport made;
    made.fd = FileDescriptor(fd, "dma-buf");
    made.bytes = bytes;
    return made;
  }

  void* map_memory(void* data, size_t bytes) override { return register_host(data, bytes, cuda::host_register_mapped); }
  void unmap_memory(void* data) noexcept override { cuda_.host_unregister(data); }
  void* map_registers(RegisterMapping by, void* data, size_t bytes) override {
    if (by == RegisterMapping::lock_to_pool) throw Error("hsa_amd_memory_lock_to_pool: for AMD GPUs only");
    return register_host(data, bytes, cuda::host_register_mapped | cuda::host_register_io_memory);
  }
  void unmap_registers(RegisterMapping, void* data) noexcept override { cuda_.host_unregister(data); }
  void store(uint32_t* gpu, uint32_t value) override {
    use();
    if (cuda_.stream_write_value32 == nullptr) throw Error("this driver has no cuStreamWriteValue32");
    driver_check(cuda_.stream_write_value32(nullptr, number(gpu), value, 0), "cuStreamWriteValue32");
    check(cuda_.device_synchronize(), "cudaDeviceSynchronize");
  }

  std::string target() const override {
    return "sm_" + std::to_string(attribute(cuda::attribute_capability_major)) +
           std::to_string(attribute(cuda::attribute_capability_minor));
  }
  uint32_t wave_size() const override { return static_cast<uint32_t>(attribute(cuda::attribute_warp_size)); }
  void* load_module(const void* image, size_t bytes) override {
    // PTX has no size of its own.
    if (!has_size(image, bytes) && std::memchr(image, 0, bytes) == nullptr)
      throw Error("this program's PTX does not end within its " + std::to_string(bytes) + " bytes: add a null");
    use();
    check(cuda_.free(nullptr), "cudaFree");  // creates the context that the driver calls need
    char log[2048] = {};
    int names[] = {cuda::jit_error_log, cuda::jit_error_log_bytes};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    void* module = nullptr;
    const int status = cuda_.module_load_data(&module, image, 2, names, values);
    if (status == cuda::driver_error_no_binary)
      throw Error("this program has no kernels for " + description() + ", which is " + target());
    if (status == cuda::driver_error_unsupported_ptx)
      throw Error("this program's PTX is newer than the driver of " + description() + "; install a newer driver");
    log[sizeof log - 1] = '\0';
    driver_check(status,
                 log[0] != '\0' ? (std::string("cuModuleLoadDataEx (") + log + ")").c_str() : "cuModuleLoadDataEx");
    return module;
  }
  void unload_module(void* module) noexcept override {
    cuda_.set_device(device_);
    cuda_.module_unload(module);
  }
  void* find_kernel(void* module, const char* name) override {
    use();
    void* kernel = nullptr;
    const int status = cuda_.module_get_function(&kernel, module, name);
    if (status == cuda::driver_error_not_found) throw Error(std::string("this program has no kernel ") + name);
    driver_check(status, "cuModuleGetFunction");
    return kernel;
  }
  uint32_t resident_blocks(void* kernel, uint32_t threads, size_t lds) override {
    use();
    int blocks = 0;
    driver_check(cuda_.occupancy(&blocks, kernel, static_cast<int>(threads), lds),
                 "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    return static_cast<uint32_t>(blocks * attribute(cuda::attribute_processors));
  }
  void* create_stream() override {
    use();
    void* stream = nullptr;
    check(cuda_.stream_create_with_flags(&stream, cuda::stream_non_blocking), "cudaStreamCreateWithFlags");
    return stream;
  }
  void destroy_stream(void* stream) noexcept override {
    cuda_.set_device(device_);
    cuda_.stream_destroy(stream);
  }
  void launch(void* kernel, const GpuGrid& grid, void** arguments, void* stream) override {
    use();
    driver_check(cuda_.launch_kernel(kernel, grid.blocks, 1, 1, grid.threads, 1, 1, static_cast<unsigned>(grid.lds),
                                     stream, arguments, nullptr),
                 "cuLaunchKernel");
  }
  bool finished(void* stream) override {
    use();
    const int status = cuda_.stream_query(stream);
    if (status == cuda::error_not_ready) return false;
    check(status, "cudaStreamQuery");
    return true;
  }

 private:
  int attribute(int number_of_it) const {
    int value = 0;
    check(cuda_.device_get_attribute(&value, number_of_it, device_), "cudaDeviceGetAttribute");
    return value;
  }
  /// Whether an image is an ELF file or a fat binary of nvcc.
  static bool has_size(const void* image, size_t bytes) {
    constexpr unsigned char fat_binary[] = {0x50, 0xed, 0x55, 0xba};
    return bytes >= 4 && (std::memcmp(image, "\177ELF", 4) == 0 || std::memcmp(image, fat_binary, 4) == 0);
  }
  static unsigned long long number(const void* gpu) { return reinterpret_cast<uintptr_t>(gpu); }

  void check(int status, const char* call) const {
    if (status == cuda::success) return;
    const char* const text = cuda_.get_error_string(status);
    throw Error(std::string(call) + ": " + (text != nullptr ? text : "unknown error"));
  }
  void driver_check(int status, const char* call) const {
    if (status == cuda::success) return;
    const char* text = nullptr;
    if (cuda_.driver_error_string(status, &text) != cuda::success || text == nullptr) text = "unknown error";
    throw Error(std::string(call) + ": " + text);
  }
  /// The runtime's current GPU is per thread.
  void use() const { check(cuda_.set_device(device_), "cudaSetDevice"); }

  void* register_host(void* data, size_t bytes, unsigned flags) {
    use();
    check(cuda_.host_register(data, bytes, flags), "cudaHostRegister");
    void* gpu = nullptr;
    const int status = cuda_.host_get_device_pointer(&gpu, data, 0);
    if (status != cuda::success) cuda_.host_unregister(data);
    check(status, "cudaHostGetDevicePointer");
    return gpu;
  }

  CudaLibrary cuda_;
  int device_;
  std::string address_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
