// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the library asks of a GPU's runtime. Needs nothing of HIP or CUDA: hip.hpp and cuda.hpp, which load them
/// at run time, implement it.

#include <cstddef>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/gpu/memory_kind.hpp>
#include <xio/host/linux/file_descriptor.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Memory as both sides see it.
struct GpuAllocation {
  void* cpu = nullptr;  ///< null where the CPU cannot reach it
  void* gpu = nullptr;
};

/// A dma-buf: memory of the GPU that drivers of other devices may import. Closed at the end; the memory is not freed.
struct DmaBufExport {
  FileDescriptor fd;
  uint64_t offset = 0;  ///< where the memory begins in the dma-buf, bytes
  size_t bytes = 0;
};

/// By which call a device's registers get an address for kernels.
enum class RegisterMapping {
  host_register,  ///< hipHostRegister() or cudaHostRegister() with the flag IoMemory
  lock_to_pool    ///< hsa_amd_memory_lock_to_pool()
};

/// What a launch takes.
struct GpuGrid {
  uint32_t blocks = 1;
  uint32_t threads = 64;  ///< of a block
  size_t lds = 0;         ///< bytes of dynamic shared memory of a block
};

/// One GPU. Usable from several threads at once; lives longer than what it gave out. Every function that can fail
/// throws Error with the runtime's words.
class GpuRuntime {
 public:
  virtual ~GpuRuntime() = default;
  GpuRuntime(const GpuRuntime&) = delete;
  GpuRuntime& operator=(const GpuRuntime&) = delete;

  /// For people: runtime, version and GPU.
  virtual std::string description() const = 0;
  /// PCI address of the GPU, `DDDD:BB:DD.F` in lower case.
  virtual std::string pci_address() const = 0;
  /// Rate of the clock that kernels read (arch::clock()), in Hz; 0 where the runtime does not tell.
  virtual uint64_t clock_hz() const = 0;

  /// Zeroed memory, aligned to pages.
  virtual GpuAllocation allocate(MemoryKind kind, size_t bytes) = 0;
  virtual void release(MemoryKind kind, const GpuAllocation& memory) noexcept = 0;
  /// Copies between any two addresses of the CPU or of the GPU; returns when it is done.
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  /// @param gpu    address in memory of a vram kind, a multiple of the page size, as is `bytes`
  virtual DmaBufExport export_dma_buf(void* gpu, size_t bytes) = 0;

  /// Lets kernels use pages of this process; returns their address there.
  virtual void* map_memory(void* data, size_t bytes) = 0;
  virtual void unmap_memory(void* data) noexcept = 0;
  /// The same for registers of a device that this process has mapped.
  virtual void* map_registers(RegisterMapping by, void* data, size_t bytes) = 0;
  virtual void unmap_registers(RegisterMapping by, void* data) noexcept = 0;
  /// The GPU stores `value` to a word that it sees at `gpu`; returns when it has.
  virtual void store(uint32_t* gpu, uint32_t value) = 0;

  // Programs; module.hpp has types for them.

  /// What kernels are compiled for: "gfx942", "sm_90".
  virtual std::string target() const = 0;
  /// Lanes of a wave.
  virtual uint32_t wave_size() const = 0;
  /// Loads a code object, a fat binary (clang-offload-bundler, nvcc) or PTX text, which ends with a 0.
  virtual void* load_module(const void* image) = 0;
  virtual void unload_module(void* module) noexcept = 0;
  virtual void* find_kernel(void* module, const char* name) = 0;
  /// Blocks of a kernel that run at the same time; 0 where not even one fits.
  virtual uint32_t resident_blocks(void* kernel, uint32_t threads, size_t lds) = 0;
  /// Work in a stream is done in order, and beside other streams.
  virtual void* create_stream() = 0;
  virtual void destroy_stream(void* stream) noexcept = 0;
  /// @param arguments  an address for each parameter of the kernel
  virtual void launch(void* kernel, const GpuGrid& grid, void** arguments, void* stream) = 0;
  /// Whether all work of a stream has been done. Throws Error where some of it has failed.
  virtual bool finished(void* stream) = 0;

 protected:
  GpuRuntime() = default;
};

}  // namespace host

XIO_NAMESPACE_END
