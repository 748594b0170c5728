// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Initial slots of a receive queue that does not begin at receive 0.

#include <xio/device/rdma/handle.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Initialises slots for a queue whose next receive is number `next`, counted from 0: nothing has arrived, and every
/// slot is free. For 0 this equals zeroed memory. No kernel may use the queue meanwhile.
/// @param entries of the ring, a power of two; `slots` has as many
inline void begin_slots(rdma::ReceiveSlot* slots, uint32_t entries, uint64_t next) {
  for (uint64_t index = next; index < next + entries; ++index) {
    rdma::ReceiveSlot& slot = slots[index & (entries - 1)];
    slot = {};
    slot.lap = static_cast<uint32_t>(index) & ~(entries - 1);
  }
}

}  // namespace host

XIO_NAMESPACE_END
