// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief DMA memory accessible to a controller, the CPU and the executing side (DmaBuffer), and a view type (Span).

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/device/core/region.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// Non-owning view of contiguous objects. Indexing is unchecked.
template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](size_t index) const { return data_[index]; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

/// A buffer with a CPU address and a bus address; the destructor releases it.
///
/// Bus addresses are contiguous over the whole buffer. The allocator zeroes it. The buffer keeps its backing memory
/// alive, so it may outlive the transport that allocated it. Movable; one thread at a time.
/// @snippet host.cpp allocate
class DmaBuffer {
 public:
  DmaBuffer() = default;

  /// @param data   CPU address of the first byte
  /// @param bus    bus address of the first byte
  /// @param size   in bytes
  /// @param owner  its deleter releases the memory
  /// @param memory Memory::device: all of it lies in the memory of the GPU that runs the kernels
  /// (MemoryBuffer::memory())
  DmaBuffer(void* data, uint64_t bus, size_t size, std::shared_ptr<void> owner, Memory memory = Memory::host)
      : data_(static_cast<unsigned char*>(data)), bus_(bus), size_(size), memory_(memory), owner_(std::move(owner)) {}

  DmaBuffer(const DmaBuffer&) = delete;
  DmaBuffer& operator=(const DmaBuffer&) = delete;
  DmaBuffer(DmaBuffer&& other) noexcept { swap(other); }
  DmaBuffer& operator=(DmaBuffer&& other) noexcept {
    DmaBuffer taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~DmaBuffer() = default;

  void* data() const { return data_; }  ///< address for the CPU; null: it has none
  /// Bus address of the first byte.
  uint64_t bus() const { return bus_; }
  /// Bus address of a byte of the buffer; one past the end is allowed. Throws Error for any other address.
  /// @snippet host.cpp bus_of
  uint64_t bus_of(const void* inside) const {
    const auto* byte = static_cast<const unsigned char*>(inside);
    if (byte < data_ || byte > data_ + size_) throw Error("DmaBuffer::bus_of: the address is not in this buffer");
    return bus_ + static_cast<uint64_t>(byte - data_);
  }
  /// Size in bytes.
  size_t size() const { return size_; }
  /// Where the memory lies, as the constructor was told.
  Memory memory() const { return memory_; }
  /// Region for kernels; valid for the lifetime of the buffer.
  /// @snippet host.cpp allocate
  Region region() const { return {bus_, size_, 0, memory_, data_}; }
  explicit operator bool() const { return data_ != nullptr; }

  /// Returns the object at `byte_offset`. Throws Error if it does not lie inside the buffer.
  /// @snippet host.cpp as
  template <class T>
  T* as(size_t byte_offset = 0) const {
    if (byte_offset > size_ || size_ - byte_offset < sizeof(T))
      throw Error("DmaBuffer::as: " + std::to_string(sizeof(T)) + " bytes at " + std::to_string(byte_offset) +
                  " do not fit into " + std::to_string(size_));
    return reinterpret_cast<T*>(data_ + byte_offset);
  }

  /// Views the buffer as an array of T; a remainder smaller than T is left out.
  /// @snippet host.cpp span
  template <class T>
  Span<T> span() const {
    return {reinterpret_cast<T*>(data_), size_ / sizeof(T)};
  }

  /// Exchanges two buffers; their memory stays where it is.
  void swap(DmaBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bus_, other.bus_);
    std::swap(size_, other.size_);
    std::swap(memory_, other.memory_);
    owner_.swap(other.owner_);
  }

 private:
  unsigned char* data_ = nullptr;
  uint64_t bus_ = 0;
  size_t size_ = 0;
  Memory memory_ = Memory::host;
  std::shared_ptr<void> owner_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
