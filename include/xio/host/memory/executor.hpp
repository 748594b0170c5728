// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The executor of kernels, the CPU or a GPU, and its access to host memory.

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>

#include <xio/config.hpp>
#include <xio/device/arch/arch.hpp>
#include <xio/host/gpu/runtime.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/memory/allocator.hpp>
#include <xio/host/memory/executor_reach.hpp>
#include <xio/host/memory/gpu_reach.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// Executor of kernels: the CPU, or one GPU. Records the memory that its kernels can access, and at which address.
/// Copies, and other executors of the same GPU in this process, share that record. Usable from several threads.
///
/// @snippet host.cpp Executor
class Executor {
 public:
  /// The CPU, whose kernels use host addresses.
  Executor() : Executor(nullptr) {}
  /// @param gpu  null: the CPU
  explicit Executor(std::shared_ptr<GpuRuntime> gpu)
      : gpu_(std::move(gpu)), clock_hz_(gpu_ ? gpu_->clock_hz() : arch::clock_hz) {
    if (!gpu_) return;
    reached_ = reached_by(gpu_);
    // HIP before 6 does not report the rate; all AMD GPUs that it supports use this one.
    if (clock_hz_ == 0) clock_hz_ = 100000000;
  }

  const std::shared_ptr<GpuRuntime>& gpu() const { return gpu_; }  ///< null: the CPU
  /// Frequency in Hz of the clock that kernels read.
  uint64_t clock_hz() const { return clock_hz_; }
  /// Lanes of a wave: for blocks of one wave, which alone may use a queue with Sharing::wave.
  /// @snippet host.cpp Executor
  uint32_t wave_size() const { return gpu_ ? gpu_->wave_size() : 64; }
  /// Translates a CPU address for kernels; addresses outside shared memory are returned unchanged.
  /// @snippet host.cpp share
  template <class T>
  T* address(T* cpu) const {
    return reached_ ? static_cast<T*>(reached_->addresses(const_cast<std::remove_const_t<T>*>(cpu))) : cpu;
  }

  /// Makes a controller's memory accessible to kernels, until the last copy of the result is destroyed. Returns memory
  /// of the GPU (Memory::device) as it is: the GPU accesses it already.
  /// @param buffer  begins at a page boundary, and no other shared memory lies in its pages
  ///
  /// @snippet host.cpp share
  DmaBuffer share(DmaBuffer buffer) const {
    if (!reached_ || buffer.memory() == Memory::device) return buffer;
    void* const cpu = buffer.data();
    const size_t bytes = buffer.size();
    const uint64_t bus = buffer.bus();
    reached_->add(cpu, bytes, false);
    auto kept = std::make_shared<DmaBuffer>(std::move(buffer));
    return {cpu, bus, bytes, {cpu, [reached = reached_, kept, bytes](void* data) {
                                reached->addresses.remove(data);
                                reached->pages.remove(data, bytes);
                              }}};
  }
  /// The same for memory of the GPU that a controller has mapped: kernels find it at the GPU's own address.
  /// @param mapped  of NvmeTransport::map_memory()
  /// @param own     what was mapped
  ///
  /// @snippet host.cpp share_own
  DmaBuffer share(DmaBuffer mapped, const MemoryBuffer& own) const {
    if (!reached_) return mapped;
    reached_->addresses.add(own);
    void* const cpu = mapped.data();
    const uint64_t bus = mapped.bus();
    const size_t bytes = mapped.size();
    auto kept = std::make_shared<DmaBuffer>(std::move(mapped));
    return {cpu,
            bus,
            bytes,
            {cpu, [reached = reached_, kept](void* data) { reached->addresses.remove(data); }},
            own.memory()};
  }
  /// Adds the GPU's own memory, which it can access already: its addresses are translated from now on.
  /// @snippet host.cpp add
  void add(const MemoryBuffer& buffer) const {
    if (reached_) reached_->addresses.add(buffer);
  }
  /// Lets kernels store doorbells, until the last copy of the result is destroyed; may be called repeatedly for the
  /// same doorbells.
  /// @param registers  false: the doorbells are words in memory, which are forwarded
  ///
  /// @snippet host.cpp share_doorbells
  std::shared_ptr<void> share_doorbells(void* words, size_t bytes, bool registers) const {
    if (!reached_) return nullptr;
    reached_->add(words, bytes, registers);
    return {words, [reached = reached_, bytes](void* data) {
              reached->addresses.remove(data);
              reached->pages.remove(data, bytes);
            }};
  }

 private:
  struct Reached {
    explicit Reached(std::shared_ptr<GpuRuntime> gpu) : pages(std::make_shared<GpuReach>(std::move(gpu))) {}
    void add(void* cpu, size_t bytes, bool registers) { addresses.add(cpu, pages.add(cpu, bytes, registers), bytes); }

    ReachablePages pages;
    ExecutorAddresses addresses;
  };

  /// One for each GPU: its runtime refuses to register a page twice.
  static std::shared_ptr<Reached> reached_by(const std::shared_ptr<GpuRuntime>& gpu) {
    static std::mutex mutex;
    static std::map<std::string, std::weak_ptr<Reached>> all;
    const std::lock_guard<std::mutex> lock(mutex);
    std::weak_ptr<Reached>& known = all[gpu->description()];
    std::shared_ptr<Reached> found = known.lock();
    if (!found) known = found = std::make_shared<Reached>(gpu);
    return found;
  }

  std::shared_ptr<GpuRuntime> gpu_;
  std::shared_ptr<Reached> reached_;
  uint64_t clock_hz_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
