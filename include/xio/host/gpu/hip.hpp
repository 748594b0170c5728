// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief GpuRuntime through HIP and HSA, both loaded at run time: neither is needed to compile, link or start a
/// program.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/gpu/code_object.hpp>
#include <xio/host/gpu/hip_library.hpp>
#include <xio/host/gpu/hsa_agent.hpp>
#include <xio/host/gpu/runtime.hpp>
#include <xio/host/linux/pci.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// An AMD GPU. Features that HIP 5.2 lacks are requested on first use; only then is their absence an error.
class HipRuntime final : public GpuRuntime {
 public:
  struct Options {
    int device = 0;  ///< HIP device number
    std::vector<std::string> hip_files = HipLibrary::usual_files();
    std::vector<std::string> hsa_files = HsaLibrary::usual_files();
  };

  /// Throws Error if HIP is missing, or there is no such GPU.
  HipRuntime() : HipRuntime(Options{}) {}
  explicit HipRuntime(const Options& options)
      : hip_(options.hip_files), hsa_files_(options.hsa_files), device_(options.device) {
    int count = 0;
    const int status = hip_.get_device_count(&count);
    if (status == hip::error_no_device || (status == hip::success && count == 0))
      throw Error("HIP sees no GPU (is the amdgpu driver loaded, and may this user open /dev/kfd?)");
    check(status, "hipGetDeviceCount");
    if (device_ < 0 || device_ >= count)
      throw Error("HIP has no GPU " + std::to_string(device_) + "; it has " + std::to_string(count));
    use();
    char address[32] = {};
    check(hip_.device_get_pci_bus_id(address, sizeof address, device_), "hipDeviceGetPCIBusId");
    address_ = parse_pci_address(address).value_or(std::string());
    int flag = 0;
    if (hip_.device_get_attribute(&flag, hip::attribute_warp_size, device_) == hip::success && flag > 0)
      wave_size_ = static_cast<uint32_t>(flag);
    flag = 0;
    large_bar_ = hip_.device_get_attribute(&flag, hip::attribute_is_large_bar, device_) == hip::success && flag != 0;
  }

  std::string description() const override {
    int version = 0;
    char name[256] = {};
    hip_.runtime_get_version(&version);
    hip_.device_get_name(name, sizeof name - 1, device_);
    return "HIP " + std::to_string(version / 10000000) + "." + std::to_string(version / 100000 % 100) + ", GPU " +
           std::to_string(device_) + " at " + address_ + (name[0] != 0 ? std::string(" (") + name + ")" : "");
  }
  std::string pci_address() const override { return address_; }
  uint64_t clock_hz() const override {
    int kilohertz = 0;
    const int status = hip_.device_get_attribute(&kilohertz, hip::attribute_wall_clock_rate, device_);
    return status == hip::success && kilohertz > 0 ? uint64_t{1000} * static_cast<uint64_t>(kilohertz) : 0;
  }

  GpuAllocation allocate(MemoryKind kind, size_t bytes) override {
    use();
    GpuAllocation made;
    if (is_vram(kind)) {
      const unsigned flags = kind == MemoryKind::vram_uncached ? hip::device_malloc_uncached
                             : kind == MemoryKind::vram_fine   ? hip::device_malloc_fine_grained
                                                               : hip::device_malloc_default;
      const int status = hip_.ext_malloc_with_flags(&made.gpu, bytes, flags);
      if (status != hip::success && kind == MemoryKind::vram_uncached)
        throw Error(failure(status, "hipExtMallocWithFlags") +
                    "; uncached memory needs a HIP later than 5.2, fine-grained memory does not");
      check(status, "hipExtMallocWithFlags");
      if (large_bar_) made.cpu = made.gpu;
    } else {
      const unsigned flags =
          hip::host_malloc_mapped |
          (kind == MemoryKind::host_coherent ? hip::host_malloc_coherent : hip::host_malloc_non_coherent);
      check(hip_.host_malloc(&made.cpu, bytes, flags), "hipHostMalloc");
      const int status = hip_.host_get_device_pointer(&made.gpu, made.cpu, 0);
      if (status != hip::success) hip_.host_free(made.cpu);
      check(status, "hipHostGetDevicePointer");
    }
    try {
      check(hip_.memset(made.gpu, 0, bytes), "hipMemset");
      check(hip_.device_synchronize(), "hipDeviceSynchronize");
    } catch (...) {
      release(kind, made);
      throw;
    }
    return made;
  }
  void release(MemoryKind kind, const GpuAllocation& memory) noexcept override {
    hip_.set_device(device_);
    if (is_vram(kind))
      hip_.free(memory.gpu);
    else
      hip_.host_free(memory.cpu);
  }
  void copy(void* to, const void* from, size_t bytes) override {
    use();
    check(hip_.memcpy(to, from, bytes, hip::memcpy_default), "hipMemcpy");
    check(hip_.device_synchronize(), "hipDeviceSynchronize");
  }
  DmaBufExport export_dma_buf(void* gpu, size_t bytes) override {
    use();
    if (hip_.get_handle_for_address_range == nullptr) return agent().export_dma_buf(gpu, bytes);
    int fd = -1;
    check(hip_.get_handle_for_address_range(&fd, gpu, bytes, hip::range_handle_dma_buf_fd, 0),
          "hipMemGetHandleForAddressRange");
    DmaBufExport made;
    made.fd = FileDescriptor(fd, "dma-buf");
    made.bytes = bytes;
    return made;
  }

  void* map_memory(void* data, size_t bytes) override { return register_host(data, bytes, hip::host_register_mapped); }
  void unmap_memory(void* data) noexcept override { hip_.host_unregister(data); }
  void* map_registers(RegisterMapping by, void* data, size_t bytes) override {
    if (by == RegisterMapping::lock_to_pool) return agent().lock(data, bytes);
    return register_host(data, bytes, hip::host_register_mapped | hip::host_register_io_memory);
  }
  void unmap_registers(RegisterMapping by, void* data) noexcept override {
    if (by == RegisterMapping::host_register)
      hip_.host_unregister(data);
    else if (agent_)
      agent_->unlock(data);
  }
  void store(uint32_t* gpu, uint32_t value) override {
    use();
    check(hip_.stream_write_value32(nullptr, gpu, value, 0), "hipStreamWriteValue32");
    check(hip_.stream_synchronize(nullptr), "hipStreamSynchronize");
  }

  std::string target() const override { return agent().name(); }
  uint32_t wave_size() const override { return wave_size_; }
  void* load_module(const void* image, size_t bytes) override {
    use();
    void* module = nullptr;
    detail::CodeObject found;
    if (detail::is_bundle(image, bytes)) found = detail::find_code_object(image, bytes, target());
    const int status = hip_.module_load_data(&module, found.code != nullptr ? found.code : image);
    if (status != hip::success && !found.generic.empty())
      check(status, ("hipModuleLoadData (code for " + found.generic + ", which needs ROCm 6.3 or newer)").c_str());
    if (status == hip::error_no_binary_for_gpu)
      throw Error("this program has no kernels for " + description() + ", a " + target());
    check(status, "hipModuleLoadData");
    return module;
  }
  void unload_module(void* module) noexcept override {
    hip_.set_device(device_);
    hip_.module_unload(module);
  }
  void* find_kernel(void* module, const char* name) override {
    use();
    void* kernel = nullptr;
    const int status = hip_.module_get_function(&kernel, module, name);
    if (status == hip::error_not_found) throw Error(std::string("this program has no kernel ") + name);
    check(status, "hipModuleGetFunction");
    return kernel;
  }
  uint32_t resident_blocks(void* kernel, uint32_t threads, size_t lds) override {
    use();
    int processors = 0;
    int blocks = 0;
    check(hip_.device_get_attribute(&processors, hip::attribute_processors, device_), "hipDeviceGetAttribute");
    check(hip_.module_occupancy(&blocks, kernel, static_cast<int>(threads), lds),
          "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
    return static_cast<uint32_t>(processors * blocks);
  }
  void* create_stream() override {
    use();
    void* stream = nullptr;
    check(hip_.stream_create_with_flags(&stream, hip::stream_non_blocking), "hipStreamCreateWithFlags");
    return stream;
  }
  void destroy_stream(void* stream) noexcept override {
    hip_.set_device(device_);
    hip_.stream_destroy(stream);
  }
  void launch(void* kernel, const GpuGrid& grid, void** arguments, void* stream) override {
    use();
    check(hip_.module_launch_kernel(kernel, grid.blocks, 1, 1, grid.threads, 1, 1, static_cast<unsigned>(grid.lds),
                                    stream, arguments, nullptr),
          "hipModuleLaunchKernel");
  }
  bool finished(void* stream) override {
    use();
    const int status = hip_.stream_query(stream);
    if (status == hip::error_not_ready) return false;
    check(status, "hipStreamQuery");
    return true;
  }

 private:
  std::string failure(int status, const char* call) const {
    const char* const text = hip_.get_error_string(status);
    return std::string(call) + ": " + (text != nullptr ? text : "unknown error");
  }
  void check(int status, const char* call) const {
    if (status != hip::success) throw Error(failure(status, call));
  }
  /// The runtime's current GPU is per thread.
  void use() const { check(hip_.set_device(device_), "hipSetDevice"); }

  void* register_host(void* data, size_t bytes, unsigned flags) {
    use();
    check(hip_.host_register(data, bytes, flags), "hipHostRegister");
    void* gpu = nullptr;
    const int status = hip_.host_get_device_pointer(&gpu, data, 0);
    if (status != hip::success) hip_.host_unregister(data);
    check(status, "hipHostGetDevicePointer");
    return gpu;
  }

  HsaAgent& agent() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!agent_) agent_ = std::make_unique<HsaAgent>(address_, hsa_files_);
    return *agent_;
  }

  HipLibrary hip_;
  std::vector<std::string> hsa_files_;
  int device_;
  std::string address_;
  bool large_bar_ = false;
  uint32_t wave_size_ = 64;
  mutable std::mutex mutex_;  // guards the creation of agent_
  mutable std::unique_ptr<HsaAgent> agent_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
