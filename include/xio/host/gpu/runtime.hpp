// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Interface to a GPU's runtime. Independent of HIP and CUDA: hip.hpp and cuda.hpp, which load them at run time,
/// implement it.

#include <cstddef>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/gpu/memory_kind.hpp>
#include <xio/host/linux/file_descriptor.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// Memory with its address on each side.
struct GpuAllocation {
  void* cpu = nullptr;  ///< null if the CPU cannot access it
  void* gpu = nullptr;
};

/// A dma-buf: GPU memory that drivers of other devices may import. The descriptor is closed on destruction; the memory
/// is not freed.
struct DmaBufExport {
  FileDescriptor fd;
  uint64_t offset = 0;  ///< start of the memory within the dma-buf, bytes
  size_t bytes = 0;
};

/// The call that maps a device's registers for kernels.
enum class RegisterMapping {
  host_register,  ///< hipHostRegister() or cudaHostRegister() with the flag IoMemory
  lock_to_pool    ///< hsa_amd_memory_lock_to_pool()
};

/// Launch dimensions.
struct GpuGrid {
  uint32_t blocks = 1;
  uint32_t threads = 64;  ///< per block
  size_t lds = 0;         ///< bytes of dynamic shared memory per block
};

/// One GPU. Usable from several threads; must outlive everything that it returned. Every function that can fail throws
/// Error with the runtime's message.
class GpuRuntime {
 public:
  virtual ~GpuRuntime() = default;
  GpuRuntime(const GpuRuntime&) = delete;
  GpuRuntime& operator=(const GpuRuntime&) = delete;

  /// Human-readable description: runtime, version and GPU.
  virtual std::string description() const = 0;
  /// PCI address of the GPU, `DDDD:BB:DD.F` in lower case.
  virtual std::string pci_address() const = 0;
  /// Rate of the clock that kernels read (arch::clock()), in Hz; 0 if the runtime does not report it.
  virtual uint64_t clock_hz() const = 0;

  /// Allocates zeroed memory, aligned to pages.
  virtual GpuAllocation allocate(MemoryKind kind, size_t bytes) = 0;
  virtual void release(MemoryKind kind, const GpuAllocation& memory) noexcept = 0;
  /// Copies between any two CPU or GPU addresses; returns when the copy is complete.
  virtual void copy(void* to, const void* from, size_t bytes) = 0;
  /// Exports GPU memory as a dma-buf.
  /// @param gpu  address in memory of a vram kind, a multiple of the page size, as is `bytes`
  virtual DmaBufExport export_dma_buf(void* gpu, size_t bytes) = 0;

  /// Makes pages of this process accessible to kernels; returns their GPU address.
  virtual void* map_memory(void* data, size_t bytes) = 0;
  virtual void unmap_memory(void* data) noexcept = 0;
  /// Makes device registers mapped in this process accessible to kernels; returns their GPU address.
  virtual void* map_registers(RegisterMapping by, void* data, size_t bytes) = 0;
  virtual void unmap_registers(RegisterMapping by, void* data) noexcept = 0;
  /// Makes the GPU store `value` to the word at its address `gpu`; returns when the store is complete.
  virtual void store(uint32_t* gpu, uint32_t value) = 0;

  // Programs; module.hpp wraps them in types.

  /// Compilation target of kernels: "gfx942", "sm_90".
  virtual std::string target() const = 0;
  /// Number of lanes in a wave.
  virtual uint32_t wave_size() const = 0;
  /// Loads a code object, a fat binary (clang-offload-bundler, nvcc) or null-terminated PTX text.
  /// @param bytes  of the image, a terminating null included
  virtual void* load_module(const void* image, size_t bytes) = 0;
  virtual void unload_module(void* module) noexcept = 0;
  virtual void* find_kernel(void* module, const char* name) = 0;
  /// Number of blocks of a kernel that run concurrently; 0 if not even one fits.
  virtual uint32_t resident_blocks(void* kernel, uint32_t threads, size_t lds) = 0;
  /// Creates a stream: its work is executed in order, and concurrently with other streams.
  virtual void* create_stream() = 0;
  virtual void destroy_stream(void* stream) noexcept = 0;
  /// @param arguments  an address for each parameter of the kernel
  virtual void launch(void* kernel, const GpuGrid& grid, void** arguments, void* stream) = 0;
  /// Whether all work of a stream is complete. Throws Error if some of it has failed.
  virtual bool finished(void* stream) = 0;

 protected:
  GpuRuntime() = default;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
