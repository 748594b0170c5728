// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Memory that a peer has registered, as a kernel names it.

#include <xio/device/core/region.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {

/// A piece of remote memory, and whether all of it is there.
struct RemoteSpan {
  uint64_t address;
  uint32_t length;  ///< bytes
  uint32_t rkey;
  Reach reach = {};
  bool atomics = true;  ///< see RemoteMemory
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
    return {base + offset, bytes, rkey, xio::reach(offset, bytes, length), atomics};
  }
};

/// One piece of a batch: memory of the peer, and as much local memory.
struct Piece {
  RemoteSpan remote;
  RegionSpan local;
};

}  // namespace rdma

XIO_NAMESPACE_END
