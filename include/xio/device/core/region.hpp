// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Descriptors of memory accessible to a device: out-of-range accesses are detected before anything is posted.

#include <xio/device/core/placement.hpp>
#include <xio/device/core/status.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup kernel_core
/// @{

/// Whether a piece lies inside its memory: `sign` is negative if not, so that several pieces are checked in one test.
struct Reach {
  int32_t sign = 0;

  XIO_HOST_DEVICE constexpr bool is_inside() const { return sign >= 0; }
  XIO_HOST_DEVICE constexpr Status status() const { return is_inside() ? Status::ok : Status::out_of_range; }
  /// Whether both pieces are inside.
  XIO_HOST_DEVICE friend constexpr Reach operator&(Reach a, Reach b) { return {a.sign | b.sign}; }
};

/// reach() for processors with cheap branches.
XIO_DEVICE_INLINE constexpr Reach reach_by_branch(uint64_t offset, uint32_t bytes, uint64_t length) {
  const uint64_t end = offset + bytes;
  return {static_cast<int64_t>(offset | end) >= 0 && end <= length ? 0 : -1};
}
/// reach() for processors with cheap arithmetic: both pieces of a transfer and the message size limit become one test.
XIO_DEVICE_INLINE constexpr Reach reach_by_sign(uint64_t offset, uint32_t bytes, uint64_t length) {
  const uint64_t end = offset + bytes;
  // With both below 2^63, the last term is negative if the end exceeds the length, unless the length is 2^63 or more.
  const uint64_t sign = offset | end | ((length - end) & ~length);
  return {static_cast<int32_t>(sign >> 32) | static_cast<int32_t>(bytes)};
}

/// Whether `bytes` bytes at `offset` lie within `length` bytes and below 2^63.
/// @param bytes at most 2^31 - 1; longer transfers, which no device supports, are refused regardless of this result
XIO_DEVICE_INLINE constexpr Reach reach(uint64_t offset, uint32_t bytes, uint64_t length) {
  return arch::branches_are_cheap ? reach_by_branch(offset, bytes, length) : reach_by_sign(offset, bytes, length);
}

/// A piece of a Region, and whether it lies inside. Also a page source for NVMe.
struct RegionSpan {
  static constexpr bool contiguous = true;
  uint64_t address;  ///< address for the device
  uint32_t length;   ///< bytes
  uint32_t key;
  Reach reach = {};
  Memory memory = Memory::host;  ///< as of the Region

  /// Why the piece is refused by queues with this policy; Status::ok: it is not.
  template <class Policy>
  XIO_HOST_DEVICE constexpr Status fault() const {
    return is_placed_for<Policy>(memory) ? reach.status() : Status(Status::unsupported);
  }
  XIO_HOST_DEVICE constexpr uint64_t bus(uint64_t offset) const { return address + offset; }
};

/// Memory that the host has registered with a device. Created by the host (DmaBuffer::region() and similar), passed to
/// kernels by value.
struct Region {
  uint64_t base;     ///< NVMe: bus address of contiguous memory; RDMA: virtual address as registered
  uint64_t length;   ///< bytes
  uint32_t key = 0;  ///< RDMA: local key; NVMe has none
  /// Memory::device: all of it lies in the memory of the GPU that runs the kernels (InGpuMemory).
  Memory memory = Memory::host;
  void* cpu = nullptr;  ///< CPU address of the memory; null where the CPU has no access

  /// The piece of `bytes` bytes at `offset`. Submitting a piece that is not inside is refused with
  /// Status::out_of_range.
  /// @snippet com.cpp at
  XIO_HOST_DEVICE constexpr RegionSpan at(uint64_t offset, uint32_t bytes) const {
    return {base + offset, bytes, key, xio::reach(offset, bytes, length), memory};
  }
};

/// @}
XIO_NAMESPACE_END
