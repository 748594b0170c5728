// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Failed operations whose completion slots were used again, so that who asks late gets the right answer.
///
/// A slot that was used again proves that the operation before has ended; what it does not tell any more is how. The
/// drain puts a failure here before its slot is overwritten: an operation that neither the table nor the log shows has
/// succeeded. The log has a fixed size. Where an entry has to make room, `floor` rises above its ticket, and below the
/// floor nothing is claimed any more (Status::expired).

#include <xio/device/submission.hpp>

XIO_NAMESPACE_BEGIN

/// Head of the log; its entries follow. One line in memory, zeroed at creation like the entries. An entry is: ticket +
/// 1
/// << 16 | seen by a waiter, bit 15 | device status, bits 14:0.
struct alignas(64) FailureLog {
  uint64_t floor;  ///< an operation with a lower ticket may have failed without being on record
  uint32_t used;   ///< entries in use, from the first on
  uint32_t next;   ///< where the search for an entry to replace begins, once all are in use
};
static_assert(sizeof(FailureLog) == 64, "the entries begin on a line of their own");

namespace protocol {

constexpr uint64_t seen_bit = 0x8000;

/// In place of an entry: the log does not tell. No operation that succeeded is seen.
constexpr uint64_t not_on_record = seen_bit;

/// So many entries that nobody has waited for are never replaced while there are others.
constexpr uint32_t failures_kept = 64;

/// Bytes that a log of so many entries takes.
XIO_HOST_DEVICE constexpr uint64_t failure_log_bytes(uint32_t entries) {
  return sizeof(FailureLog) + uint64_t{entries} * sizeof(uint64_t);
}

XIO_DEVICE_INLINE uint64_t* entries_of(FailureLog* log) { return reinterpret_cast<uint64_t*>(log + 1); }

/// Sets the mark of a waiter in a word of the table or the log that tells of a failure. False where the word has
/// changed: another has marked it, or it moved from the table to the log.
template <Sharing S>
XIO_DEVICE_INLINE bool mark_seen(uint64_t* where, uint64_t word) {
  if constexpr (S == Sharing::thread) {
    *where = word | seen_bit;
    return true;
  } else {
    // Lanes of one wave may wait for the same operation.
    return arch::compare_exchange<state_scope<S>>(where, word, word | seen_bit);
  }
}

/// What is on record of an operation whose slot was seen to be used again: its entry, with `where` that is; 0 where it
/// has succeeded; not_on_record. `log` may be null. Lanes call each for itself.
template <Sharing S>
XIO_COLD XIO_DEVICE uint64_t find_failure(FailureLog* log, uint64_t ticket, uint64_t*& where) {
  if (!log) return not_on_record;
  // An entry is stored before its slot is used again, and the floor before an entry is replaced.
  if constexpr (is_shared<S>) arch::order_loads<state_scope<S>>();
  const uint32_t used = read<S>(log->used);
  for (uint32_t i = 0; i < used; ++i) {
    where = entries_of(log) + i;
    const uint64_t word = read<S>(*where);
    if (word >> 16 == ticket + 1) return word;
  }
  if constexpr (is_shared<S>) arch::order_loads<state_scope<S>>();
  return ticket < read<S>(log->floor) ? not_on_record : 0;
}

/// What keep_failure() did.
struct Kept {
  uint64_t* where;    ///< the new entry
  uint64_t replaced;  ///< the one before, 0 for none
};

/// Puts a failure on record. One lane calls, of the wave that takes completions.
template <Sharing S>
XIO_COLD XIO_DEVICE Kept keep_failure(FailureLog* log, uint32_t entries, uint64_t ticket, uint64_t status_and_seen) {
  const uint64_t entry = (ticket + 1) << 16 | status_and_seen;
  const uint32_t used = read<S>(log->used);
  if (used < entries) {
    uint64_t* const free = entries_of(log) + used;
    write<S>(*free, entry);
    if constexpr (is_shared<S>) arch::wait_stores();
    write<S>(log->used, used + 1);
    return {free, 0};
  }
  // The next in turn; but what somebody still has to be told of stays while there is anything else.
  uint32_t at = log->next;
  uint64_t* where = entries_of(log) + at;
  for (uint32_t tries = 0; tries < failures_kept && (read<S>(*where) & seen_bit) == 0; ++tries) {
    at = at + 1 < entries ? at + 1 : 0;
    where = entries_of(log) + at;
  }
  if ((read<S>(*where) & seen_bit) == 0) where = entries_of(log) + (at = log->next);
  log->next = at + 1 < entries ? at + 1 : 0;
  uint64_t replaced = read<S>(*where);
  const uint64_t floor = replaced >> 16;
  if (floor > read<S>(log->floor)) write<S>(log->floor, floor);
  if constexpr (is_shared<S>) {
    replaced = arch::publish_exchange<state_scope<S>>(where, entry);
  } else {
    *where = entry;
  }
  return {where, replaced};
}

}  // namespace protocol

XIO_NAMESPACE_END
