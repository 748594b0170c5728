// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Table of completion slots, since a controller may finish commands in any order, and the errors in it.
///
/// Ticket i uses command identifier i mod W, where W is the number of slots. A slot holds the result of the last
/// operation that used it, until the next one ends. Failures then move to a log (failure_log.hpp).

#include <xio/device/core/notification.hpp>
#include <xio/device/nvme/failure_log.hpp>
#include <xio/vendors/nvme/completion.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

/// Result of the last operation with one command identifier. Zeroed at creation.
struct alignas(16) CompletionSlot {
  uint64_t word;    ///< first ticket of the next lap << 16 | seen by a waiter, bit 15 | device status, bits 14:0
  uint64_t result;  ///< command specific result: CQE dwords 0 and 1; stored before `word`
};
static_assert(sizeof(CompletionSlot) == 16, "one 16-byte slot for each command identifier");

namespace detail {

/// Bit of the command identifier of an operation with a notification; a table has at most as many slots. Only drains
/// with Notify know it, and look for a notification where it is set. For others no such command is in flight, so that
/// they break the queue: a notification must not be lost.
constexpr uint32_t notified_bit = 0x8000;

/// The completion table of a queue and what belongs to it.
struct CompletionTable {
  CompletionSlot* slots;
  FailureLog* failures;
  Notification** notifications;  ///< one pointer per slot; null if the policy has no notifications
  uint32_t slot_mask;
  uint32_t failure_entries;
};

/// What a wait learns from its own drains: whether an operation ended with success.
struct Awaited {
  static constexpr bool kept = false;
  static constexpr bool awaits = true;
  uint64_t ticket = ~uint64_t{0};  ///< none
  bool hit = false;
};

/// Value of a slot's upper 48 bits once `ticket` has ended.
XIO_DEVICE constexpr uint64_t lap_end(uint64_t ticket, uint32_t slot_mask) { return (ticket | slot_mask) + 1; }

/// What stands in place of a notification for a command of the library's own, of whose end nobody is told. It stays
/// until the slot has another: who looks for errors may find the failure late, in the log.
XIO_DEVICE constexpr uint64_t own_mark(uint64_t ticket) { return ticket << 2 | 2; }
XIO_DEVICE constexpr bool is_own_mark(uint64_t note) { return (note & 3) == 2; }

/// The word of a notification, for `ticket`.
XIO_DEVICE_INLINE uint64_t& note_of(Notification** notifications, uint32_t slot_mask, uint64_t ticket) {
  return reinterpret_cast<uint64_t&>(ring::element(notifications, slot_mask, ticket));
}

/// Whether the wait for a command of the library's own, which has this ticket, gave up.
template <Sharing S>
XIO_DEVICE_INLINE bool is_abandoned(const CompletionTable& table, uint64_t ticket) {
  if (table.notifications == nullptr) return false;
  return protocol::read<S>(note_of(table.notifications, table.slot_mask, ticket)) == own_mark(ticket);
}

/// Whether `ticket` may use its slot.
template <Sharing S>
XIO_DEVICE_INLINE bool slot_free(const CompletionSlot* slots, uint32_t slot_mask, uint64_t ticket) {
  return (protocol::read<S>(ring::element(slots, slot_mask, ticket).word) >> 16 | slot_mask) == (ticket | slot_mask);
}

/// State of one ticket in the table. `ended`: the slot holds its result; `replaced`: it has ended, and the slot was
/// used again.
enum class Outcome : uint32_t { pending, ended, replaced };

/// Looks up one ticket; `word` receives its slot's word.
template <Sharing S>
XIO_DEVICE_INLINE Outcome look_up(const CompletionSlot* slots, uint32_t slot_mask, uint64_t ticket, uint64_t& word) {
  const uint64_t* const where = &ring::element(slots, slot_mask, ticket).word;
  if constexpr (is_shared<S>) {
    word = arch::load<state_scope<S>>(where);
  } else {
    word = *where;
  }
  const uint64_t end = lap_end(ticket, slot_mask);
  if (word >> 16 < end) return Outcome::pending;  // check: a completion of this lap
  return word >> 16 == end ? Outcome::ended : Outcome::replaced;
}

/// Whether `ticket` has ended. If so, `bad` becomes other than 0 unless it has ended with success, and its slot
/// shows it.
template <Sharing S>
XIO_DEVICE_INLINE bool has_ended(const CompletionSlot* slots, uint32_t slot_mask, uint64_t ticket, uint32_t& bad) {
  const uint64_t& where = ring::element(slots, slot_mask, ticket).word;
  uint64_t word = 0;
  if constexpr (is_shared<S> && arch::looks_acquire) {
    word = arch::observe<state_scope<S>>(&where);  // order: completion before data
  } else {
    word = protocol::read<S>(where);
  }
  const uint64_t success = lap_end(ticket, slot_mask) << 16;
  bad |= static_cast<uint32_t>(word > success);
  return word >= success;
}

/// Adds to the count of errors that no caller has waited for. All lanes pass the same number.
template <Sharing S>
XIO_DEVICE_INLINE void add_errors(QueueState& state, Group<S> group, uint32_t number) {
  if constexpr (is_shared<S>) {
    if (group.leads()) arch::fetch_add<state_scope<S>>(&state.error_count, number);
  } else {
    const uint32_t before = state.error_count;
    group.before_writing();
    state.error_count = before + number;
  }
}

/// Summary of failed operations that no caller has waited for.
struct UnseenErrors {
  uint32_t count;
  uint64_t first_ticket;
  uint32_t first_status;  ///< status reported by the device
  uint32_t own;           ///< further ones, of commands of the library's own

  XIO_HOST_DEVICE void add(uint32_t number, uint64_t ticket, uint32_t status) {
    if (count == 0 || ticket < first_ticket) {
      first_ticket = ticket;
      first_status = status;
    }
    count += number;
  }
};

/// Searches the table and the log for errors that no caller has waited for; with `take`, marks them as waited for. One
/// lane calls. Returns false if `until` passed before the end was reached.
template <Sharing S, class Until>
XIO_DEVICE bool unseen_errors(const CompletionTable& table, bool take, Until until, UnseenErrors& unseen) {
  const uint32_t slots = table.slot_mask + 1;
  for (uint32_t i = 0;; ++i) {
    // order: loads as written. A failure that has left the table is in the log, which is searched afterwards.
    if (is_shared<S> && i == slots) arch::order_loads<state_scope<S>>();
    if (i >= slots && i - slots >= protocol::read<S>(table.failures->used)) return true;
    if (i % (4 * arch::looks_per_clock) == 4 * arch::looks_per_clock - 1 && until.passed()) return false;
    uint64_t* const where = i < slots ? &table.slots[i].word : entries_of(table.failures) + (i - slots);
    const uint64_t word = protocol::read<S>(*where);
    if (!CompletionFormat::is_error(word & 0x7fff) || (word & seen_bit) != 0) continue;
    const uint64_t ticket = i < slots ? (word >> 16) - slots + i : (word >> 16) - 1;
    // order: loads as written. The mark was stored before the command was published.
    if constexpr (is_shared<S>) arch::order_loads<state_scope<S>>();
    const bool own = is_abandoned<S>(table, ticket);
    if ((take || own) && !mark_seen<S>(where, word)) continue;
    if (own) {
      ++unseen.own;
    } else {
      unseen.add(1, ticket, static_cast<uint32_t>(word & 0x7fff));
    }
  }
}

/// Failed operations that no caller has waited for, including those no longer in table or log; with `take`, they are
/// not reported again. All lanes of `group` call and get the same summary. Returns false if the latest of the lanes'
/// deadlines passed before all were found; then they are still unreported.
template <Sharing S, class Until>
XIO_DEVICE bool find_errors(const CompletionTable& table, QueueState& state, Group<S> group, bool take, Until until,
                            UnseenErrors& all) {
  all = {};
  const uint32_t known = group.from_leader(protocol::read<S>(state.error_count));
  if (known == 0) return true;
  FailureLog* const log = table.failures;
  bool complete = true;
  if (group.leads()) {
    complete = unseen_errors<S>(table, take, until, all);
    uint32_t lost = protocol::read<S>(log->lost);
    if (!complete) {
      if (take && all.count != 0) add_lost<S>(log, all.count, all.first_ticket, all.first_status);
    } else if (lost != 0) {
      // order: loads as written
      if constexpr (is_shared<S>) arch::order_loads<state_scope<S>>();
      const uint64_t ticket = protocol::read<S>(log->lost_ticket);
      const uint32_t status = protocol::read<S>(log->lost_status);
      if constexpr (is_shared<S>) {
        if (take) lost = arch::exchange<state_scope<S>>(&log->lost, 0u);
      } else {
        if (take) log->lost = 0;
      }
      all.add(lost, ticket, status);
    }
  }
  if (group.any(all.own != 0)) add_errors<S>(state, group, 0u - group.from_leader(all.own));
  if (group.any(!complete)) return false;
  all.count = group.from_leader(all.count);
  all.first_ticket = group.from_leader(all.first_ticket);
  all.first_status = group.from_leader(all.first_status);
  if (take) add_errors<S>(state, group, 0u - all.count);
  return true;
}

}  // namespace detail

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
