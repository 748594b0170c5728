// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Memory of a run, accessible to the host and the executor, which is the CPU or a GPU.

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <xio/host/memory.hpp>
#include <xio/host/memory/allocator.hpp>
#include <xio/host/memory/executor.hpp>

#include "tester/measure/zeroed_array.hpp"

namespace tester {

using ExecutorMemory = xio::host::Executor;

/// Plain objects that kernels use while the host does not access them: with a GPU, in its memory, with a copy for the
/// host.
template <class T>
class MirroredArray {
  static_assert(std::is_trivially_copyable_v<T>, "copied as bytes");

 public:
  MirroredArray() = default;
  MirroredArray(const ExecutorMemory& memory, size_t count) : host_(count), count_(count), gpu_(memory.gpu()) {
    if (gpu_ != nullptr && count != 0)
      far_ = xio::host::MemoryAllocator(gpu_).allocate(xio::host::MemoryKind::vram_coarse, count * sizeof(T));
  }

  size_t size() const { return count_; }
  T* data() const { return host_.data(); }
  T& operator[](size_t index) const { return host_[index]; }
  T* begin() const { return host_.data(); }
  T* end() const { return host_.data() + count_; }
  /// Address for kernels.
  T* executor() const { return far_ ? static_cast<T*>(far_.gpu()) : host_.data(); }
  /// push() copies the host's data to the kernel's memory before a run, pull() copies it back.
  void push() const {
    if (far_) gpu_->copy(far_.gpu(), host_.data(), count_ * sizeof(T));
  }
  void pull() const {
    if (far_) gpu_->copy(host_.data(), far_.gpu(), count_ * sizeof(T));
  }

 private:
  ZeroedArray<T> host_;
  size_t count_ = 0;
  std::shared_ptr<xio::host::GpuRuntime> gpu_;
  xio::host::MemoryBuffer far_;
};

/// Plain objects that host and kernels access concurrently, in host memory.
template <class T>
class SharedArray {
  static_assert(std::is_trivially_copyable_v<T>, "seen by two kinds of processors");

 public:
  SharedArray() = default;
  SharedArray(const ExecutorMemory& memory, size_t count)
      : buffer_(
            xio::host::MemoryAllocator(memory.gpu()).allocate(xio::host::MemoryKind::host_coherent, count * sizeof(T))),
        count_(count) {}

  T* begin() const { return static_cast<T*>(buffer_.cpu()); }
  T* end() const { return begin() + count_; }
  T& operator[](size_t index) const { return begin()[index]; }
  T* executor() const { return static_cast<T*>(buffer_.gpu()); }

 private:
  xio::host::MemoryBuffer buffer_;
  size_t count_ = 0;
};

}  // namespace tester
