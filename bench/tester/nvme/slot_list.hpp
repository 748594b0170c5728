// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Lists of window places, linked through the places themselves.

#include "tester/nvme/phase.hpp"

namespace tester {

constexpr uint32_t no_slot = ~0u;

/// FIFO list of a lane's places; a place is in one list at a time.
struct SlotList {
  uint32_t head = no_slot;
  uint32_t tail = no_slot;
  uint32_t size = 0;

  XIO_DEVICE void push_back(Slot* slots, uint32_t place) {
    slots[place].next = no_slot;
    if (tail == no_slot) {
      head = place;
    } else {
      slots[tail].next = place;
    }
    tail = place;
    ++size;
  }

  /// Removes and returns the first place. @pre The list is not empty.
  XIO_DEVICE uint32_t pop_front(Slot* slots) {
    const uint32_t place = head;
    remove_after(slots, no_slot, place);
    return place;
  }

  /// Removes `place`; `before` is its predecessor, or no_slot.
  XIO_DEVICE void remove_after(Slot* slots, uint32_t before, uint32_t place) {
    const uint32_t next = slots[place].next;
    if (before == no_slot) {
      head = next;
    } else {
      slots[before].next = next;
    }
    if (tail == place) tail = before;
    --size;
  }
};

}  // namespace tester
