// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Memory that a controller, the CPU and the executing side can reach: DmaBuffer, and Span to look into it.

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/device/core/region.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Contiguous objects somewhere in memory; owns nothing. Indexing is not checked.
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

/// A piece of memory with an address on the CPU and an address on the controller's bus; gives it back when destroyed.
///
/// Bus addresses are contiguous over the whole buffer. Whoever hands out a buffer zeroes it. The buffer keeps the
/// memory behind it alive, so it may outlive the transport that it came from. Movable; one thread at a time.
class DmaBuffer {
 public:
  DmaBuffer() = default;

  /// @param data   address on the CPU
  /// @param bus    address of the first byte as the controller sees it
  /// @param size   bytes
  /// @param owner  its deleter gives the memory back
  DmaBuffer(void* data, uint64_t bus, size_t size, std::shared_ptr<void> owner)
      : data_(static_cast<unsigned char*>(data)), bus_(bus), size_(size), owner_(std::move(owner)) {}

  DmaBuffer(const DmaBuffer&) = delete;
  DmaBuffer& operator=(const DmaBuffer&) = delete;
  DmaBuffer(DmaBuffer&& other) noexcept { swap(other); }
  DmaBuffer& operator=(DmaBuffer&& other) noexcept {
    DmaBuffer taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~DmaBuffer() = default;

  void* data() const { return data_; }
  /// Bus address of the first byte.
  uint64_t bus() const { return bus_; }
  /// Bus address of a byte of the buffer; the end is allowed. Throws Error for any other address.
  uint64_t bus_of(const void* inside) const {
    const auto* byte = static_cast<const unsigned char*>(inside);
    if (byte < data_ || byte > data_ + size_) throw Error("DmaBuffer::bus_of: the address is not in this buffer");
    return bus_ + static_cast<uint64_t>(byte - data_);
  }
  /// Bytes.
  size_t size() const { return size_; }
  /// For kernels; valid as long as the buffer is.
  Region region() const { return {bus_, size_, 0, data_}; }
  explicit operator bool() const { return data_ != nullptr; }

  /// The object at `byte_offset`; throws Error where it would not lie inside of the buffer.
  template <class T>
  T* as(size_t byte_offset = 0) const {
    if (byte_offset > size_ || size_ - byte_offset < sizeof(T))
      throw Error("DmaBuffer::as: " + std::to_string(sizeof(T)) + " bytes at " + std::to_string(byte_offset) +
                  " do not fit into " + std::to_string(size_));
    return reinterpret_cast<T*>(data_ + byte_offset);
  }

  /// As many T as fit.
  template <class T>
  Span<T> span() const {
    return {reinterpret_cast<T*>(data_), size_ / sizeof(T)};
  }

  void swap(DmaBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bus_, other.bus_);
    std::swap(size_, other.size_);
    owner_.swap(other.owner_);
  }

 private:
  unsigned char* data_ = nullptr;
  uint64_t bus_ = 0;
  size_t size_ = 0;
  std::shared_ptr<void> owner_;
};

}  // namespace host

XIO_NAMESPACE_END
