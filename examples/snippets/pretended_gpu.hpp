// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief GPU runtime for machines without a GPU: it shares the CPU's memory and counts launches.

#include <cstdlib>
#include <cstring>

#include <xio/host/error.hpp>
#include <xio/host/gpu/runtime.hpp>

namespace snippets {

class PretendedGpu final : public xio::host::GpuRuntime {
 public:
  std::string description() const override { return "no GPU"; }
  std::string pci_address() const override { return "0000:00:00.0"; }
  uint64_t clock_hz() const override { return 1000000000; }
  xio::host::GpuAllocation allocate(xio::host::MemoryKind, size_t bytes) override {
    void* const memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    std::memset(memory, 0, bytes);
    xio::host::GpuAllocation made{};
    made.gpu = made.cpu = memory;
    return made;
  }
  void release(xio::host::MemoryKind, const xio::host::GpuAllocation& memory) noexcept override {
    std::free(memory.gpu);
  }
  void copy(void* to, const void* from, size_t bytes) override { std::memcpy(to, from, bytes); }
  xio::host::DmaBufExport export_dma_buf(void*, size_t) override { throw xio::host::Error("no GPU"); }

  // Kernels access the process's memory at other addresses.
  static constexpr uintptr_t shift = uintptr_t{1} << 40;
  void* map_memory(void* data, size_t) override { return static_cast<char*>(data) + shift; }
  void unmap_memory(void*) noexcept override {}
  void* map_registers(xio::host::RegisterMapping, void* data, size_t) override { return data; }
  void unmap_registers(xio::host::RegisterMapping, void*) noexcept override {}
  void store(uint32_t* gpu, uint32_t value) override { __atomic_store_n(gpu, value, __ATOMIC_RELEASE); }

  std::string target() const override { return "none"; }
  uint32_t wave_size() const override { return 64; }
  void* load_module(const void* image, size_t) override { return const_cast<void*>(image); }
  void unload_module(void*) noexcept override {}
  void* find_kernel(void* module, const char*) override { return module; }
  uint32_t resident_blocks(void*, uint32_t, size_t) override { return 16; }
  void* create_stream() override { return this; }
  void destroy_stream(void*) noexcept override {}
  void launch(void*, const xio::host::GpuGrid& grid, void**, void*) override { blocks += grid.blocks; }
  bool finished(void*) override { return true; }

  uint32_t blocks = 0;
};

}  // namespace snippets
