// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Descriptors of memory registered by a peer.

#include <xio/device/core/region.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

/// A piece of remote memory, and whether it lies inside.
struct RemoteSpan {
  uint64_t address;
  uint32_t length;  ///< bytes
  uint32_t rkey;
  Reach reach = {};
  bool atomics = true;  ///< see RemoteMemory
};

/// Remote memory registered by a peer.
struct RemoteMemory {
  uint64_t base;    ///< remote virtual address
  uint64_t length;  ///< bytes
  uint32_t rkey;    ///< remote key
  /// Whether the peer's device can execute atomics on it. If not (a region registered without the access right; GPU
  /// memory behind a path without PCIe atomics), atomics are refused with Status::unsupported: some devices would hang.
  bool atomics = true;

  /// The piece of `bytes` bytes at `offset`. Posting a piece that is not inside is refused with Status::out_of_range.
  /// @snippet com.cpp remote_at
  XIO_HOST_DEVICE constexpr RemoteSpan at(uint64_t offset, uint32_t bytes) const {
    return {base + offset, bytes, rkey, xio::reach(offset, bytes, length), atomics};
  }
};

/// One piece of a batch: memory of the peer, and local memory of the same length.
struct Piece {
  RemoteSpan remote;
  RegionSpan local;
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
