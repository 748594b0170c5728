// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Registered memory as a kernel names it: what is out of range is known before anything is posted.

#include <xio/device/arch.hpp>
#include <xio/device/status.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {

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
/// @param bytes at most 2^31 - 1; longer messages, which no device takes, are refused whatever this says
XIO_DEVICE_INLINE constexpr Reach reach(uint64_t offset, uint32_t bytes, uint64_t length) {
  return arch::branches_are_cheap ? reach_by_branch(offset, bytes, length) : reach_by_sign(offset, bytes, length);
}

/// A piece of remote memory, and whether all of it is there.
struct RemoteSpan {
  uint64_t address;
  uint32_t length;  ///< bytes
  uint32_t rkey;
  Reach reach = {};
  bool atomics = true;  ///< see RemoteMemory
};

/// A piece of local memory, and whether all of it is there.
struct LocalSpan {
  uint64_t address;
  uint32_t length;  ///< bytes
  uint32_t lkey;
  Reach reach = {};
};

/// Remote memory that a peer has registered.
struct RemoteMemory {
  uint64_t base;    ///< remote virtual address
  uint64_t length;  ///< bytes
  uint32_t rkey;    ///< remote key
  /// Whether the peer's device can execute atomics on it. Where it cannot (a region registered without the right to;
  /// memory of a GPU behind a path without PCIe atomics), they are refused with Status::unsupported: some devices would
  /// hang.
  bool atomics = true;

  /// `bytes` from `offset` on. Posting a piece that is not inside is refused with Status::out_of_range.
  XIO_HOST_DEVICE constexpr RemoteSpan at(uint64_t offset, uint32_t bytes) const {
    return {base + offset, bytes, rkey, rdma::reach(offset, bytes, length), atomics};
  }
};

/// Local registered memory.
struct LocalMemory {
  uint64_t base;    ///< virtual address as it was registered
  uint64_t length;  ///< bytes
  uint32_t lkey;    ///< local key

  /// `bytes` from `offset` on. Posting a piece that is not inside is refused with Status::out_of_range.
  XIO_HOST_DEVICE constexpr LocalSpan at(uint64_t offset, uint32_t bytes) const {
    return {base + offset, bytes, lkey, rdma::reach(offset, bytes, length)};
  }
};

}  // namespace rdma

XIO_NAMESPACE_END
