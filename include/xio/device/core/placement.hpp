// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Location of each part of a queue pair, as a type.

#include <xio/device/core/policy.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup kernel_queue
/// @{

/// Parts of a queue pair that may lie in GPU memory, as bits of a memory mode.
namespace memory_mode {
/// @addtogroup kernel_queue
/// @{
constexpr uint32_t sq = 1;
constexpr uint32_t cq = 2;
constexpr uint32_t doorbell_record = 4;  ///< shadow doorbells of NVMe
constexpr uint32_t data = 8;
constexpr uint32_t all = 15;
constexpr uint32_t queue = sq | cq | doorbell_record;  ///< a queue pair without its data
/// @}
}  // namespace memory_mode

/// Locations of submission ring, completion ring, doorbell record and data.
template <Memory Sq, Memory Cq, Memory Record, Memory Data>
struct Placement {
  static constexpr Memory sq = Sq;
  static constexpr Memory cq = Cq;
  static constexpr Memory doorbell_record = Record;
  static constexpr Memory data = Data;
  static constexpr uint32_t mode =
      (Sq == Memory::device ? memory_mode::sq : 0) | (Cq == Memory::device ? memory_mode::cq : 0) |
      (Record == Memory::device ? memory_mode::doorbell_record : 0) | (Data == Memory::device ? memory_mode::data : 0);

  /// Tag for a queue's policy: `Policy<Tag>`.
  using Tag = Placed<Cq, Data>;
};

/// The placement of a memory mode, 0 to 15.
template <uint32_t Mode>
using PlacementOf = Placement<(Mode & memory_mode::sq) != 0 ? Memory::device : Memory::host,
                              (Mode & memory_mode::cq) != 0 ? Memory::device : Memory::host,
                              (Mode & memory_mode::doorbell_record) != 0 ? Memory::device : Memory::host,
                              (Mode & memory_mode::data) != 0 ? Memory::device : Memory::host>;

/// Whether a queue whose handle says that the parts `mode` lie in GPU memory is what a policy supposes: see
/// InGpuMemory.
template <class Policy>
XIO_HOST_DEVICE constexpr bool is_placed_for(uint32_t mode) {
  return !Policy::in_gpu_memory || (mode & memory_mode::queue) == memory_mode::queue;
}
/// Whether a piece of a Region in `memory` is.
template <class Policy>
XIO_HOST_DEVICE constexpr bool is_placed_for(Memory memory) {
  return !Policy::in_gpu_memory || memory == Memory::device;
}

/// Whether data may become visible after its completion: see Placed.
XIO_HOST_DEVICE constexpr bool needs_inbound_flush(uint32_t mode) {
  return (mode & memory_mode::data) != 0 && (mode & memory_mode::cq) == 0;
}

/// @}
XIO_NAMESPACE_END
