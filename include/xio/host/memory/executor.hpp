// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Who runs the kernels, the CPU or a GPU, and how they reach what the host has.

#include <cstddef>
#include <memory>
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

/// Runs kernels: the CPU, or one GPU. Knows which memory its kernels reach, and by which address. Copies mean the same
/// executor. Usable from several threads at once.
///
/// @code
/// const xio::host::Executor gpu(xio::host::find_gpu().runtime);         // the CPU where there is no GPU
/// xio::host::NvmeQueue queue = controller.create_queue(on(gpu));
/// xio::host::DmaBuffer data = gpu.share(controller.allocate(1 << 20));  // data.region() is for kernels
/// @endcode
class Executor {
 public:
  /// The CPU, whose kernels use the addresses that the host does.
  Executor() : Executor(nullptr) {}
  /// @param gpu  null: the CPU
  explicit Executor(std::shared_ptr<GpuRuntime> gpu)
      : gpu_(std::move(gpu)), clock_hz_(gpu_ ? gpu_->clock_hz() : arch::clock_hz) {
    if (!gpu_) return;
    reached_ = std::make_shared<Reached>(gpu_);
    // HIP before 6 does not tell; all AMD GPUs that it knows count at this rate.
    if (clock_hz_ == 0) clock_hz_ = 100000000;
  }

  const std::shared_ptr<GpuRuntime>& gpu() const { return gpu_; }
  /// Ticks of the clock that kernels read, in a second.
  uint64_t clock_hz() const { return clock_hz_; }
  /// An address of the CPU as kernels have it; of memory that was shared, else as it is.
  template <class T>
  T* address(T* cpu) const {
    return reached_ ? static_cast<T*>(reached_->addresses(const_cast<std::remove_const_t<T>*>(cpu))) : cpu;
  }

  /// Lets kernels reach memory of a controller, until the last copy of the result ends.
  /// @param buffer  begins at a page, and no other memory that is shared lies in its pages
  DmaBuffer share(DmaBuffer buffer) const {
    if (!reached_) return buffer;
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
  /// The GPU's own memory, which it reaches already: its addresses are known from now on.
  void add(const MemoryBuffer& buffer) const {
    if (reached_) reached_->addresses.add(buffer);
  }
  /// Lets kernels store doorbells, until the last copy of the result ends; the same ones any number of times.
  /// @param registers  false: they are words in memory, which somebody forwards
  std::shared_ptr<void> share_doorbells(void* words, size_t bytes, bool registers) const {
    if (!reached_) return nullptr;
    reached_->add(words, bytes, registers);
    return {words, [reached = reached_, bytes](void* data) { reached->pages.remove(data, bytes); }};
  }

 private:
  struct Reached {
    explicit Reached(std::shared_ptr<GpuRuntime> gpu) : pages(std::make_shared<GpuReach>(std::move(gpu))) {}
    void add(void* cpu, size_t bytes, bool registers) { addresses.add(cpu, pages.add(cpu, bytes, registers), bytes); }

    ReachablePages pages;
    ExecutorAddresses addresses;
  };

  std::shared_ptr<GpuRuntime> gpu_;
  std::shared_ptr<Reached> reached_;
  uint64_t clock_hz_;
};

}  // namespace host

XIO_NAMESPACE_END
