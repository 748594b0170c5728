// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What kernels get of a set of drives: its handle, and memory that every drive can access.

#include <xio/device/core/region.hpp>
#include <xio/device/core/token.hpp>
#include <xio/device/nvme/handle.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

/// Location of a block of a DriveSet.
struct DriveAddress {
  uint32_t drive;
  uint64_t lba;
};

/// A token and the queue that it belongs to.
struct DriveToken {
  Token token;
  uint32_t queue = 0;  ///< index in DriveSetHandle::queues
};

/// Stripes blocks over drives of equal capacity, each with one or more queues. Trivially copyable.
/// @snippet drive_set.cpp DriveSetHandle
struct DriveSetHandle {
  const QueueHandle* queues;  ///< `drives * queues_per_drive` handles, all queues of drive 0 first
  uint32_t drives;
  uint32_t queues_per_drive;
  uint32_t stripe_shift;  ///< log2 of the blocks in a stripe; a transfer must not cross the end of its stripe

  /// Location of `block`: stripe `n` lies on drive `n mod drives`.
  /// @snippet drive_set.cpp locate
  XIO_HOST_DEVICE constexpr DriveAddress locate(uint64_t block) const {
    const uint64_t stripe = block >> stripe_shift;
    const uint64_t inside = block & ((uint64_t{1} << stripe_shift) - 1);
    return {static_cast<uint32_t>(stripe % drives), (stripe / drives) << stripe_shift | inside};
  }

  /// Whether `blocks` blocks from `block` lie in one stripe.
  /// @snippet drive_set.cpp locate
  XIO_HOST_DEVICE constexpr bool in_one_stripe(uint64_t block, uint32_t blocks) const {
    return blocks != 0 && (block & ((uint64_t{1} << stripe_shift) - 1)) + blocks <= uint64_t{1} << stripe_shift;
  }
};

/// A piece of a DriveRegion; on(drive) is that of one drive.
struct DriveSpan {
  const uint64_t* bases;
  uint64_t offset;
  uint32_t length;  ///< bytes
  Reach reach = {};
  Memory memory = Memory::host;

  XIO_DEVICE_INLINE RegionSpan on(uint32_t drive) const { return {bases[drive] + offset, length, 0, reach, memory}; }
};

/// Memory that every drive of a set can access, at an address of its own. Made by the host
/// (host::DriveBuffer::region()), passed to kernels by value.
/// @snippet drive_set.cpp DriveRegion
struct DriveRegion {
  const uint64_t* bases;  ///< bus address for each drive, in memory that the kernel reads
  uint64_t length;        ///< bytes
  Memory memory = Memory::host;

  /// As Region::at().
  XIO_HOST_DEVICE constexpr DriveSpan at(uint64_t offset, uint32_t bytes) const {
    return {bases, offset, bytes, xio::reach(offset, bytes, length), memory};
  }
};

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
