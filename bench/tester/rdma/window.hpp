// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The operations that a lane of the RDMA workload has in flight, and their places in two rings: memory and
/// records of its own, and memory of the other side.

#include <xio/device/arch/arch.hpp>

namespace tester {

/// Operations are counted from 0. Positions are kept, since GPUs have no instruction that divides.
struct RdmaWindow {
  const uint32_t near_size;  ///< places on this side, and most operations in flight
  const uint32_t far_size;   ///< places on the other side; at least near_size
  uint64_t head = 0;         ///< the oldest operation in flight
  uint64_t tail = 0;         ///< the next operation to post
  uint32_t near_head = 0;    ///< head modulo near_size
  uint32_t far_head = 0;     ///< head modulo far_size; for users of pop() and far_index()

  XIO_DEVICE bool empty() const { return head == tail; }
  XIO_DEVICE uint32_t size() const { return static_cast<uint32_t>(tail - head); }

  /// Position of operation `index`, between head and head + near_size, in the ring of this side.
  XIO_DEVICE uint32_t near_index(uint64_t index) const { return near_after(near_head, index - head); }
  /// Position of operation `index`, between head and head + near_size, in the ring of the other side.
  XIO_DEVICE uint32_t far_index(uint64_t index) const { return wrapped(far_head, index - head, far_size); }
  /// Position `count` places, at most near_size, after `position` in the ring of this side.
  XIO_DEVICE uint32_t near_after(uint32_t position, uint64_t count) const {
    return wrapped(position, count, near_size);
  }

  /// Removes the oldest operations in flight.
  XIO_DEVICE void pop(uint32_t count = 1) {
    near_head = near_index(head + count);
    far_head = far_index(head + count);
    head += count;
  }

 private:
  XIO_DEVICE static uint32_t wrapped(uint32_t from, uint64_t count, uint32_t places) {
    const uint32_t position = from + static_cast<uint32_t>(count);
    return position < places ? position : position - places;
  }
};

}  // namespace tester
