// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Memory that a device may reach, as a kernel names it: what is out of range is known before anything is
/// posted.

#include <xio/device/arch/arch.hpp>
#include <xio/device/core/status.hpp>

XIO_NAMESPACE_BEGIN

/// Whether a piece lies inside the memory that it was cut from: a number that is negative where it does not, so that
/// several are looked at in one test.
struct Reach {
  int32_t sign = 0;

  XIO_HOST_DEVICE constexpr bool is_inside() const { return sign >= 0; }
  XIO_HOST_DEVICE constexpr Status status() const { return is_inside() ? Status::ok : Status::out_of_range; }
  /// Whether both pieces are inside.
  XIO_HOST_DEVICE friend constexpr Reach operator&(Reach a, Reach b) { return {a.sign | b.sign}; }
};

/// reach() where branches are cheap.
XIO_DEVICE_INLINE constexpr Reach reach_by_branch(uint64_t offset, uint32_t bytes, uint64_t length) {
  const uint64_t end = offset + bytes;
  return {static_cast<int64_t>(offset | end) >= 0 && end <= length ? 0 : -1};
}
/// reach() where arithmetic is: both pieces of a transfer and the limit of messages become one test.
XIO_DEVICE_INLINE constexpr Reach reach_by_sign(uint64_t offset, uint32_t bytes, uint64_t length) {
  const uint64_t end = offset + bytes;
  // Where both are below 2^63 the last term is negative for an end behind the length; not so for lengths from there on.
  const uint64_t sign = offset | end | ((length - end) & ~length);
  return {static_cast<int32_t>(sign >> 32) | static_cast<int32_t>(bytes)};
}

/// Whether `bytes` from `offset` on lie within `length` bytes, and below 2^63: no device has more.
/// @param bytes at most 2^31 - 1; more, which no device takes at once, is refused whatever this says
XIO_DEVICE_INLINE constexpr Reach reach(uint64_t offset, uint32_t bytes, uint64_t length) {
  return arch::branches_are_cheap ? reach_by_branch(offset, bytes, length) : reach_by_sign(offset, bytes, length);
}

/// A piece of a Region, and whether all of it is there. A page source of NVMe, too.
struct RegionSpan {
  uint64_t address;  ///< as the device knows it
  uint32_t length;   ///< bytes
  uint32_t key;
  Reach reach = {};

  XIO_HOST_DEVICE constexpr uint64_t bus(uint64_t offset) const { return address + offset; }
};

/// Memory that the host has made known to a device. Made by the host (DmaBuffer::region() and its like), passed to
/// kernels by value.
struct Region {
  uint64_t base;        ///< NVMe: bus address, contiguous from there on; RDMA: virtual address as it was registered
  uint64_t length;      ///< bytes
  uint32_t key = 0;     ///< RDMA: local key; NVMe has none
  void* cpu = nullptr;  ///< where the CPU finds the same bytes; null where it does not

  /// `bytes` from `offset` on. Submitting a piece that is not inside is refused with Status::out_of_range.
  XIO_HOST_DEVICE constexpr RegionSpan at(uint64_t offset, uint32_t bytes) const {
    return {base + offset, bytes, key, xio::reach(offset, bytes, length)};
  }
};

XIO_NAMESPACE_END
