// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Registered memory as a kernel names it: what is out of range is known before anything is posted.

#include <xio/device/status.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {

/// Whether `bytes` from `offset` on lie within `length` bytes. `length` is a reference because compilers turn a
/// comparison with an argument round, which costs moves on AMD GPUs.
XIO_DEVICE_INLINE constexpr bool is_inside(uint64_t offset, uint32_t bytes, const uint64_t& length) {
  // By the end, which the two spans of a transfer often share; past 2^64 it is less than what was added.
  const uint64_t end = offset + bytes;
  return length >= end && end >= bytes;
}

/// A piece of remote memory, with what is wrong with it.
struct RemoteSpan {
  uint64_t address;
  uint32_t length;  ///< bytes
  uint32_t rkey;
  Status fault;
  bool atomics = true;  ///< see RemoteMemory
};

/// A piece of local memory, with what is wrong with it.
struct LocalSpan {
  uint64_t address;
  uint32_t length;  ///< bytes
  uint32_t lkey;
  Status fault;
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
    const bool inside = is_inside(offset, bytes, length);
    return {base + offset, bytes, rkey, inside ? Status::ok : Status::out_of_range, atomics};
  }
};

/// Local registered memory.
struct LocalMemory {
  uint64_t base;    ///< virtual address as it was registered
  uint64_t length;  ///< bytes
  uint32_t lkey;    ///< local key

  /// `bytes` from `offset` on. Posting a piece that is not inside is refused with Status::out_of_range.
  XIO_HOST_DEVICE constexpr LocalSpan at(uint64_t offset, uint32_t bytes) const {
    const bool inside = is_inside(offset, bytes, length);
    return {base + offset, bytes, lkey, inside ? Status::ok : Status::out_of_range};
  }
};

}  // namespace rdma

XIO_NAMESPACE_END
