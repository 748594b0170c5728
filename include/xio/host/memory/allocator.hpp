// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Memory of a chosen kind, with its address on each side; host memory if there is no GPU.

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/gpu/memory_kind.hpp>
#include <xio/host/gpu/runtime.hpp>
#include <xio/host/linux/page_map.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/power_of_two.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// Memory with its kind and addresses, released when its last copy is destroyed. Copies share the memory.
class MemoryBuffer {
 public:
  MemoryBuffer() = default;

  /// The requested kind.
  MemoryKind kind() const { return kind_; }
  /// Whether the memory is of the requested kind; false if host memory replaces it because there is no GPU.
  bool genuine() const { return genuine_; }
  /// Where the memory lies: that of the allocator's GPU, or host memory.
  Memory memory() const { return genuine_ && is_vram(kind_) ? Memory::device : Memory::host; }
  /// Address for the CPU; null if the CPU cannot access the memory.
  void* cpu() const { return memory_.cpu; }
  /// Address for kernels: the GPU's, or the CPU's where the CPU emulates the GPU.
  void* gpu() const { return memory_.gpu; }
  /// Size in bytes.
  size_t size() const { return size_; }
  explicit operator bool() const { return memory_.gpu != nullptr; }
  /// Owner that keeps the memory alive.
  const std::shared_ptr<void>& owner() const { return owner_; }

  /// Exports GPU memory for drivers of other devices. Throws Error for host memory.
  DmaBufExport export_dma_buf() const {
    if (!genuine_ || !is_vram(kind_))
      throw Error(std::string("dma-buf: only GPU memory is exported; this is ") +
                  (genuine_ ? name_of(kind_) : "host memory in place of it, since there is no GPU"));
    return runtime_->export_dma_buf(memory_.gpu, size_);
  }

 private:
  friend class MemoryAllocator;

  MemoryKind kind_ = MemoryKind::host_coherent;
  bool genuine_ = false;
  GpuAllocation memory_;
  size_t size_ = 0;
  std::shared_ptr<GpuRuntime> runtime_;
  std::shared_ptr<void> owner_;
};

/// Allocates MemoryBuffers. Usable from several threads; buffers may outlive it.
class MemoryAllocator {
 public:
  /// @param gpu  null: there is no GPU, and host memory replaces every kind
  explicit MemoryAllocator(std::shared_ptr<GpuRuntime> gpu = nullptr) : gpu_(std::move(gpu)) {}

  bool has_gpu() const { return gpu_ != nullptr; }
  const std::shared_ptr<GpuRuntime>& gpu() const { return gpu_; }
  /// Human-readable description.
  std::string description() const {
    return gpu_ ? gpu_->description() : "no GPU: host memory stands in for every kind";
  }

  /// Allocates zeroed memory in whole pages.
  /// @param bytes      at least 1; rounded up to pages
  /// @param alignment  of the addresses on both sides, a power of two; at least a page in any case
  MemoryBuffer allocate(MemoryKind kind, size_t bytes, size_t alignment = 0) const {
    const size_t page = PageMap::page_bytes();
    if (bytes == 0 || (alignment != 0 && !is_power_of_two(alignment)))
      throw Error("memory: a size of at least 1 and an alignment that is a power of two are needed");
    if (alignment < page) alignment = page;
    MemoryBuffer buffer;
    buffer.kind_ = kind;
    buffer.genuine_ = gpu_ != nullptr;
    buffer.size_ = (bytes + page - 1) / page * page;
    buffer.runtime_ = gpu_;
    if (gpu_)
      allocate_on_gpu(buffer, alignment);
    else
      allocate_on_host(buffer, alignment);
    return buffer;
  }

 private:
  static uintptr_t number(const void* address) { return reinterpret_cast<uintptr_t>(address); }
  static void* moved(void* address, size_t bytes) {
    return address == nullptr ? nullptr : static_cast<unsigned char*>(address) + bytes;
  }

  void allocate_on_gpu(MemoryBuffer& buffer, size_t alignment) const {
    const auto make = [this, kind = buffer.kind_](size_t bytes) {
      const GpuAllocation made = gpu_->allocate(kind, bytes);
      return std::pair<GpuAllocation, std::shared_ptr<void>>(
          made, std::shared_ptr<void>(made.gpu, [gpu = gpu_, kind, made](void*) { gpu->release(kind, made); }));
    };
    auto [memory, owner] = make(buffer.size_);
    // Runtimes align small allocations to less than a page.
    if (number(memory.gpu) % alignment != 0) {
      owner.reset();
      std::tie(memory, owner) = make(buffer.size_ + alignment);
      const size_t skip = (alignment - number(memory.gpu) % alignment) % alignment;
      memory = {moved(memory.cpu, skip), moved(memory.gpu, skip)};
    }
    buffer.memory_ = memory;
    buffer.owner_ = std::move(owner);
  }

  static void allocate_on_host(MemoryBuffer& buffer, size_t alignment) {
    const size_t whole = (buffer.size_ + alignment - 1) / alignment * alignment;
    void* const memory = std::aligned_alloc(alignment, whole);
    if (memory == nullptr) throw Error("memory: cannot allocate " + std::to_string(buffer.size_) + " bytes");
    std::memset(memory, 0, buffer.size_);
    buffer.memory_ = {memory, memory};
    buffer.owner_ = std::shared_ptr<void>(memory, std::free);
  }

  std::shared_ptr<GpuRuntime> gpu_;
};

/// Translates CPU addresses of registered memory into addresses for kernels. Usable from several threads.
class ExecutorAddresses {
 public:
  /// Registers a buffer and keeps its memory alive.
  void add(const MemoryBuffer& buffer) { add(buffer.cpu(), buffer.gpu(), buffer.size(), buffer.owner()); }
  /// Registers memory that is already mapped for kernels; may be called repeatedly for the same start address.
  /// @param owner  keeps the memory alive; null: remove it before it is freed
  void add(void* cpu, void* gpu, size_t bytes, std::shared_ptr<void> owner = nullptr) {
    if (cpu == nullptr) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    Piece& piece = pieces_[reinterpret_cast<uintptr_t>(cpu)];
    piece.gpu = static_cast<unsigned char*>(gpu);
    piece.bytes = std::max(piece.bytes, bytes);
    piece.owner = std::move(owner);
    ++piece.users;
  }
  /// Removes one registration; the last one ends the translation.
  /// @param cpu  the start address given to add()
  void remove(const void* cpu) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto piece = pieces_.find(reinterpret_cast<uintptr_t>(cpu));
    if (piece != pieces_.end() && --piece->second.users == 0) pieces_.erase(piece);
  }
  /// Translates an address, for QueueOptions::executor_address. Addresses outside every buffer are returned unchanged.
  void* operator()(void* cpu) const {
    const auto address = reinterpret_cast<uintptr_t>(cpu);
    const std::lock_guard<std::mutex> lock(mutex_);
    auto piece = pieces_.upper_bound(address);
    if (piece == pieces_.begin()) return cpu;
    --piece;
    const uintptr_t offset = address - piece->first;
    return offset < piece->second.bytes ? piece->second.gpu + offset : cpu;
  }

 private:
  struct Piece {
    unsigned char* gpu;
    size_t bytes;
    std::shared_ptr<void> owner;
    uint32_t users;
  };
  mutable std::mutex mutex_;
  std::map<uintptr_t, Piece> pieces_;  // keyed by the CPU address
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
