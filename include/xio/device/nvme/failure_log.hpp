// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Log of failed operations whose completion slots were used again, so that late waiters get the right status.
///
/// A slot that was used again proves that the earlier operation has ended, but no longer holds its status. The drain
/// records a failure here before its slot is overwritten: an operation in neither the table nor the log has succeeded.
/// The log has a fixed size. If an entry is replaced, `floor` rises above its ticket; the outcome of a ticket below the
/// floor is unknown (Status::expired).

#include <xio/device/queue/state.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

/// Head of the log, followed by its entries. One line in memory, zeroed at creation like the entries. An entry is:
/// ticket plus one, bits 63:16 | seen by a waiter, bit 15 | device status, bits 14:0. The wave that takes completions
/// writes; quiet() resets `lost`.
struct alignas(64) FailureLog {
  uint64_t floor;        ///< an operation with a lower ticket may have failed without being on record
  uint64_t lost_ticket;  ///< ticket of the first failure that `lost` counts
  uint32_t lost_status;  ///< its status, as reported by the device
  uint32_t lost;         ///< failures replaced before a caller waited for them
  uint32_t used;         ///< entries in use, starting with the first
  uint32_t next;         ///< where the search for an entry to replace begins, once all are in use
};
static_assert(sizeof(FailureLog) == 64, "entries must start on their own cache line");

/// Up to this many entries that no caller has waited for are never replaced while there are others.
constexpr uint32_t failures_kept = 64;

/// Size in bytes of a log with `entries` entries.
XIO_HOST_DEVICE constexpr uint64_t failure_log_bytes(uint32_t entries) {
  return sizeof(FailureLog) + uint64_t{entries} * sizeof(uint64_t);
}

namespace detail {

constexpr uint64_t seen_bit = 0x8000;

/// Replaces an entry: the outcome is not on record. A success never has the seen bit.
constexpr uint64_t not_on_record = seen_bit;

XIO_DEVICE_INLINE uint64_t* entries_of(FailureLog* log) {
  return arch::in_global(reinterpret_cast<uint64_t*>(log + 1));
}

/// Sets the seen bit in a word of the table or the log that holds a failure. Returns false if the word has changed:
/// another waiter marked it, or it moved from the table to the log.
template <Sharing S>
XIO_DEVICE_INLINE bool mark_seen(uint64_t* where, uint64_t word) {
  if constexpr (S == Sharing::thread) {
    *arch::in_global(where) = word | seen_bit;
    return true;
  } else {
    // Lanes of one wave may wait for the same operation.
    return arch::compare_exchange<state_scope<S>>(where, word, word | seen_bit);
  }
}

/// Record of an operation.
struct OnRecord {
  uint64_t word;    ///< the entry; 0 if the operation has succeeded; or not_on_record
  uint64_t* where;  ///< its address
};

/// Searches for an operation whose slot was seen to be used again. Each lane that acts does so for itself.
template <Sharing S>
XIO_DEVICE_INLINE OnRecord find_failure(FailureLog* log, uint64_t ticket, Actors<S> each) {
  log = arch::in_global(log);
  // order: loads as written. An entry is stored before its slot is used again, and the floor before an entry is
  // replaced.
  if constexpr (is_shared<S>) arch::order_loads<state_scope<S>>();
  uint64_t* where = entries_of(log);
  uint64_t word = 0;
  uint32_t left = 0;
  if (each.acts()) left = protocol::read<S>(log->used);
  for (bool more = left != 0; each.go_on(more);) {
    if (!more) continue;
    word = protocol::read<S>(*where++);
    --left;
    more = static_cast<int>(left != 0) & static_cast<int>(word >> 16 != ticket + 1);
  }
  if (word >> 16 == ticket + 1) return {word, where - 1};
  if constexpr (is_shared<S>) arch::order_loads<state_scope<S>>();  // order: loads as written
  return {ticket < protocol::read<S>(log->floor) ? not_on_record : 0, nullptr};
}

/// Counts failures that can no longer be reported by token. One lane acts, if `number` is not 0.
template <Sharing S>
XIO_DEVICE_INLINE void add_lost(FailureLog* log, uint32_t number, uint64_t ticket, uint32_t status,
                                Actors<S> one = Actors<S>::alone()) {
  bool again = one.acts() && number != 0;
  while (one.go_on(again)) {
    if (!again) continue;
    uint32_t before = protocol::read<S>(log->lost);
    const uint64_t first = protocol::read<S>(log->lost_ticket);
    if (static_cast<int>(before == 0) | static_cast<int>(ticket < first)) {
      protocol::write<S>(log->lost_ticket, ticket);
      protocol::write<S>(log->lost_status, status);
      if constexpr (is_shared<S>) arch::wait_stores();
    }
    if constexpr (is_shared<S>) {
      // quiet() may intervene.
      again = !arch::compare_exchange<state_scope<S>>(&log->lost, before, before + number);
    } else {
      log->lost = before + number;
      again = false;
    }
  }
}

/// Records a failure, given the lower 16 bits of its slot's word, and returns its entry. One lane acts, of the wave
/// that takes completions.
template <Sharing S>
XIO_DEVICE_INLINE uint64_t* keep_failure(FailureLog* log, uint32_t entries, uint64_t ticket, uint64_t word,
                                         Actors<S> one) {
  log = arch::in_global(log);
  const uint64_t entry = (ticket + 1) << 16 | (word & 0xffff);
  // The next one in turn, but rather one that is free or was seen by a waiter.
  uint32_t at = 0;
  if (one.acts()) at = protocol::read<S>(log->next);
  uint32_t tries = entries < failures_kept ? entries : failures_kept;
  for (bool looking = one.acts(); one.go_on(looking);) {
    if (!looking) continue;
    const uint64_t there = protocol::read<S>(entries_of(log)[at]);
    looking = static_cast<int>(there != 0) & static_cast<int>((there & seen_bit) == 0) & static_cast<int>(tries != 0);
    at = !looking ? at : at + 1 < entries ? at + 1 : 0;
    --tries;
  }
  uint64_t* const where = entries_of(log) + at;
  uint64_t replaced = 0;  // 0: none
  if (one.acts()) {
    protocol::write<S>(log->next, at + 1 < entries ? at + 1 : 0);
    // Before or after its entry: both are performed before the slot is used again, and nobody searches for the failure
    // here earlier.
    const uint32_t used = protocol::read<S>(log->used);
    protocol::write<S>(log->used, used > at ? used : at + 1);
    replaced = protocol::read<S>(*where);
    const uint64_t floor = protocol::read<S>(log->floor);
    // order: floor before entry
    protocol::write<S>(log->floor, replaced >> 16 > floor ? replaced >> 16 : floor);
    if constexpr (is_shared<S>) {
      replaced = arch::publish_exchange<state_scope<S>>(where, entry);
    } else {
      *where = entry;
    }
  }
  const bool loses = replaced != 0 && (replaced & seen_bit) == 0;
  if (arch::lanes_stay_together || loses)
    add_lost<S>(log, loses, (replaced >> 16) - 1, static_cast<uint32_t>(replaced & 0x7fff), one);
  return where;
}

}  // namespace detail

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
