// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Ranges of Dataset Management within the controller's limits per command.
///
/// A submission checks only the number of ranges, not their contents in memory. These functions apply the limits (NVM
/// Command Set Specification 1.0, section 3.2.3) of a QueueHandle: dsm_ranges, dsm_range_blocks and dsm_blocks.

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>
#include <xio/vendors/nvme/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// Result of cover_ranges().
struct CoveredBlocks {
  uint32_t ranges;  ///< number of ranges, for dataset_management() or deallocate()
  uint64_t blocks;  ///< blocks that they cover; the rest of the extent needs further commands
};

/// Writes ranges for as many of the `blocks` logical blocks from `lba` on as one command may cover.
/// @param room  capacity of the array of ranges; the queue's dsm_ranges may be less
///
/// @snippet commands.cpp deallocate
template <class Handle>
XIO_DEVICE constexpr CoveredBlocks cover_ranges(const Handle& queue, uint64_t lba, uint64_t blocks, DsmRange* ranges,
                                                uint32_t room = dsm_max_ranges) {
  const uint64_t of_one = queue.dsm_range_blocks != 0 ? queue.dsm_range_blocks : ~0u;
  const uint32_t most = queue.dsm_ranges != 0 && queue.dsm_ranges < room ? queue.dsm_ranges : room;
  const uint64_t all = queue.dsm_blocks != 0 && queue.dsm_blocks < blocks ? queue.dsm_blocks : blocks;
  CoveredBlocks covered{};
  while (covered.ranges < most && covered.blocks < all) {
    const uint64_t left = all - covered.blocks;
    const auto here = static_cast<uint32_t>(left < of_one ? left : of_one);
    ranges[covered.ranges++] = DsmRange{0, here, lba + covered.blocks};
    covered.blocks += here;
  }
  return covered;
}

/// Whether one command may carry these ranges: ok, or invalid_argument.
template <class Handle>
XIO_DEVICE constexpr Status check_ranges(const Handle& queue, const DsmRange* ranges, uint32_t count) {
  if (count - 1 >= (queue.dsm_ranges != 0 ? queue.dsm_ranges : dsm_max_ranges)) return Status::invalid_argument;
  uint64_t blocks = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (queue.dsm_range_blocks != 0 && ranges[i].blocks > queue.dsm_range_blocks) return Status::invalid_argument;
    blocks += ranges[i].blocks;
  }
  return queue.dsm_blocks != 0 && blocks > queue.dsm_blocks ? Status::invalid_argument : Status::ok;
}

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
