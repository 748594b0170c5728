// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The completion side of queues whose device may finish operations in any order: drain, notify, wait.

#include <xio/device/core/telemetry.hpp>
#include <xio/device/queue/agree.hpp>
#include <xio/device/queue/completion_table.hpp>
#include <xio/device/queue/notification.hpp>

XIO_NAMESPACE_BEGIN

namespace protocol {
/// @addtogroup kernel_queue
/// @{

/// Memory that a drain uses; common to all queues of one vendor.
template <class Format>
struct CompletionRing {
  const typename Format::Entry* entries;
  CompletionSlot* slots;
  FailureLog* failures;
  Notification** notifications;  ///< one pointer per slot; null if the policy has no notifications
  uint32_t mask;                 ///< CQ size - 1
  uint32_t slot_mask;
  uint32_t depth;
  uint32_t failure_entries;
};

/// Replaces Taken if no record of what drain() took is kept.
struct NoRecord {
  static constexpr bool kept = false;
};

/// Record of what the calling lane took in one drain().
struct Taken {
  static constexpr bool kept = true;
  bool hit = false;  ///< whether it took an operation; the other members are set only then
  uint64_t ticket = 0;
  uint64_t status = 0;  ///< status reported by the device
  uint64_t result = 0;
};

/// Result of a drain() without error handling that met an error and had no effect.
constexpr uint32_t met_error = ~0u;

/// Whether no group drains a shared queue, so that a claim_drain() is worthwhile. True for queues that are not shared.
template <Sharing S>
XIO_DEVICE_INLINE bool nobody_drains(QueueState& state, Group<S> group) {
  if constexpr (is_shared<S>) {
    return group.any(group.leads() && arch::load<state_scope<S>>(&state.draining) == 0);
  } else {
    return true;
  }
}

/// Makes the group the only one that polls a shared queue for completions and takes them, if there is none yet, until
/// it stores 0 in QueueState::draining or calls leave_drain(). All lanes see what the previous group stored. Never
/// waits.
template <Sharing S>
XIO_DEVICE_INLINE bool claim_drain(QueueState& state, Group<S> group) {
  uint32_t idle = 0;
  bool claimed = false;
  if (group.leads()) claimed = arch::compare_exchange_acquire<state_scope<S>>(&state.draining, idle, 1u);
  if (!group.any(claimed)) return false;
  // Only the leader has acquired, and a vote orders nothing.
  group.converge();
  return true;
}

/// Releases what claim_drain() took, if no completion was available.
template <Sharing S>
XIO_DEVICE_INLINE void leave_drain(QueueState& state, Group<S> group) {
  // An exchange passes on what the previous group released; a store would not.
  if (group.leads()) arch::exchange<state_scope<S>>(&state.draining, 0u);
}

/// Result of begin_drain().
struct Found {
  uint64_t head;      ///< completions taken before
  uint64_t word;      ///< word of the lane's entry, or of the first entry if the queue is shared
  const void* entry;  ///< that entry
};

/// Whether a completion is available and the group may take it. Only one group at a time polls a shared queue, since
/// its completions may be in distant memory. Call if nobody_drains().
template <class Format, class Engine, Sharing S>
XIO_DEVICE_INLINE bool begin_drain(const Engine& engine, const CompletionRing<Format>& ring, Group<S> group,
                                   Found& found) {
  QueueState& state = engine.state();
  if (is_shared<S> && !claim_drain(state, group)) return false;
  const uint64_t head = group.agreed(read<S>(state.retired));
  const uint64_t mine = is_shared<S> ? head : head + group.rank();
  const typename Format::Entry* const entry = &slot_of(ring.entries, ring.mask, mine);
  found = {head, 0, entry};
  if (!is_shared<S> || group.leads()) found.word = Format::look(entry);
  if (group.any(group.rank() == 0 && Format::valid(found.word, ring::phase(mine, ring.mask)))) return true;
  if constexpr (is_shared<S>) leave_drain(state, group);
  return false;
}

/// Takes the available completions, at most one per lane of `group`, and records them in their slots; after
/// begin_drain().
///
/// Format describes an entry: `Entry`; `uint64_t look(const Entry*)`, the word with the valid bit, loaded with
/// arch::load, and `observe(const Entry*)`, the same with arch::observe; `bool valid(word, phase)`; `uint32_t
/// key(word)`, the command identifier; `uint64_t status(word)`, 15 bits; `bool is_error(status)`; `uint64_t
/// result(const Entry*)`. `acknowledge(head)` reports to the device how far its ring was read. Returns how many
/// completions were taken.
/// @param record NoRecord, or Taken for what the calling lane took, whose errors then count as waited for.
/// @tparam Errors whether failed operations are handled; if not, on queues that are not shared, it returns met_error.
template <class Format, bool Errors, class Engine, Sharing S, class Acknowledge, class Telemetry, class Record>
XIO_DEVICE_INLINE uint32_t drain(const Engine& engine, const CompletionRing<Format>& ring, Group<S> group,
                                 const Found& found, Acknowledge acknowledge, Telemetry& telemetry, Record& record) {
  using Policy = typename Engine::Policy;
  constexpr arch::Scope scope = state_scope<S>;
  QueueState& state = engine.state();
  const uint32_t position = group.rank();
  uint64_t head = found.head;
  const uint64_t mine = head + position;
  using Entry = typename Format::Entry;
  const Entry* const entry =
      is_shared<S> ? &slot_of(ring.entries, ring.mask, mine) : static_cast<const Entry*>(found.entry);
  // Without this order, the rest of an entry could be loaded before its valid bit, and be stale.
  const uint64_t word = is_shared<S> ? Format::observe(entry) : found.word;
  if constexpr (!is_shared<S>) arch::order_loads<arch::Scope::system>();
  const bool fresh = position <= ring.mask && Format::valid(word, ring::phase(mine, ring.mask));
  const int64_t reserved = claimed_or_broken(engine);
  const uint32_t key = Format::key(word);
  CompletionSlot& slot = slot_of(ring.slots, ring.slot_mask, key);
  uint64_t ticket = 0;
  uint64_t before = 0;
  bool strange = false;
  Notification* target = nullptr;
  const uint64_t status = Format::status(word);
  if (S == Sharing::thread || fresh) {
    // The slot holds the lap in flight. If there is none, or the key is beyond the slots, the ticket is not claimed
    // yet.
    before = read<S>(slot.word);
    ticket = (before >> 16) + key;
    strange = static_cast<int64_t>(ticket) >= reserved;
    // More completions than operations in flight: a duplicate.
    if constexpr (S != Sharing::thread) strange = strange || static_cast<int64_t>(mine) >= reserved;
  }
  // Only consecutive entries from the head: a device may write entries of one lap in any order.
  uint32_t taken = 1;
  if constexpr (S != Sharing::thread) {
    taken = group.leading(fresh && !strange);
  } else if constexpr (Errors) {
    taken = static_cast<uint32_t>(!strange);
  }
  const bool hit = (S == Sharing::thread && !Errors) || position < taken;
  const bool errors = hit && (Format::is_error(status) || Format::is_error(before & 0x7fff));
  if constexpr (!Errors) {
    static_assert(!is_shared<S>, "a shared queue must have been claimed");
    if (XIO_UNLIKELY(group.any(strange || errors))) return met_error;
  } else if (XIO_UNLIKELY(group.any(strange && position == taken))) {
    // A completion of an operation that is not in flight: the device and the library disagree on the queue's state. The
    // head does not advance over it.
    break_queue(engine, group);
  }
  bool leaves = false;
  uint64_t* moved = nullptr;  // new place of the failure that the slot held
  const bool failed = Errors && errors && Format::is_error(status);
  // Counted before they are visible: a waiter that takes note of an error subtracts it from the count.
  if (Errors && XIO_UNLIKELY(group.any(errors))) {
    add_errors<S>(state, group, arch::count_lanes(group.members(failed && !Record::kept)));
    group.converge();  // the leader has counted for all lanes
    const bool leaving = errors && Format::is_error(before & 0x7fff);
    leaves = group.any(leaving);
    if (leaves) {
      // One lane after the other: the log has one writer at a time.
      for (uint64_t lanes = group.members(leaving); lanes != 0; lanes &= lanes - 1) {
        if (S == Sharing::thread || arch::lane() == arch::first_lane(lanes)) {
          moved = keep_failure<S>(ring.failures, ring.failure_entries, ticket - ring.slot_mask - 1, before);
        }
        group.converge();
      }
    }
  }
  if (hit) {
    const uint64_t result = Format::result(entry);
    if constexpr (Policy::notifications) {
      const uint64_t told = read<S>(reinterpret_cast<const uint64_t&>(ring.notifications[key]));
      if (XIO_UNLIKELY((told & KeptResult::mark) != 0)) {
        auto* const kept = reinterpret_cast<KeptResult*>(told - KeptResult::mark);
        arch::store<arch::Scope::system>(&kept->result, result);
        arch::publish<arch::Scope::system>(&kept->ended, KeptResult::has_ended | status);
      } else {
        target = reinterpret_cast<Notification*>(told);
      }
    }
    const uint64_t seen = Record::kept && failed ? seen_bit : 0;
    const uint64_t filed = ((before >> 16) + ring.slot_mask + 1) << 16 | status | seen;
    if constexpr (is_shared<S>) {
      arch::store<scope>(&slot.result, result);
      if (XIO_UNLIKELY(leaves)) {
        // A waiter may have marked it meanwhile, and another found it in the log.
        const uint64_t last = arch::publish_exchange<scope>(&slot.word, filed);
        const bool told = moved && ((last ^ before) & seen_bit) != 0;
        const uint64_t logged = (ticket - ring.slot_mask) << 16 | (before & 0xffff);
        if (told && !mark_seen<S>(moved, logged)) arch::fetch_add<scope>(&state.error_count, 1u);
      } else {
        arch::publish<scope>(&slot.word, filed);
      }
    } else {
      slot.result = result;
      slot.word = filed;
    }
    if constexpr (Record::kept) {
      record.hit = true;
      record.ticket = ticket;
      record.status = status;
      record.result = result;
    }
  }
  // All entries are read and all slots written before any notification.
  group.converge();
  if constexpr (Policy::notifications) notify(group, target, failed);

  head += taken;
  // While fewer are unacknowledged than the ring has spare entries, `depth` operations in flight cannot overrun it.
  const auto unacknowledged = static_cast<uint32_t>(head - read<S>(state.acknowledged));
  if (taken != 0 && group.any(unacknowledged >= ring.mask - ring.depth)) {
    const uint64_t started = Telemetry::start();
    group.before_writing();
    if (group.leads()) acknowledge(head);
    telemetry.stop(telemetry::Step::cq_doorbell, started);
    if constexpr (is_shared<S>) {
      if (group.leads()) arch::store<scope>(&state.acknowledged, head);
    } else {
      state.acknowledged = head;
    }
  }
  if constexpr (!is_shared<S>) state.retired = head;
  if constexpr (is_shared<S>) {
    if (group.leads()) {
      arch::publish<scope>(&state.retired, head);
      arch::publish<scope>(&state.draining, 0u);
    }
  }
  return taken;
}

/// Result of operations that have ended, of which some need more than a check of their slots: they failed, or ended
/// long ago.
struct Collected {
  uint32_t first;  ///< first status that is not success, packed; 0: none
  uint32_t seen;   ///< errors that no caller had waited for before
};

/// Collects the results of `count` tickets, at least one, starting at `ticket`, all of which have ended. Each lane
/// calls for itself.
/// @param state if not null, its count of errors is reduced; otherwise the caller does that
/// @tparam Counts whether `state` is given
template <class Format, Sharing S, bool Counts>
XIO_LEAF XIO_DEVICE Collected collect([[maybe_unused]] QueueState* state, CompletionSlot* slots, FailureLog* log,
                                      uint32_t slot_mask, uint64_t ticket, uint32_t count) {
  slots = arch::in_global(slots);
  Collected all{0, 0};
  for (;;) {
    uint64_t word = 0;
    uint64_t* where = &slot_of(slots, slot_mask, ticket).word;
    if (look_up<S>(slots, slot_mask, ticket, word) == Outcome::replaced) {
      const OnRecord found = find_failure<S>(log, ticket);
      word = found.word;
      where = found.where;
    }
    const auto status = static_cast<uint32_t>(word & 0x7fff);
    const bool failed = Format::is_error(status);
    if (failed && (word & seen_bit) == 0) {
      if (!mark_seen<S>(where, word)) continue;  // changed: check again
      ++all.seen;
    }
    // A success can carry further bits.
    const uint32_t now = word == not_on_record ? static_cast<uint32_t>(not_on_record) : status;
    if (!Format::is_error(all.first) && (failed || (now != 0 && all.first != not_on_record))) all.first = now;
    if (--count == 0) break;
    ++ticket;
  }
  if constexpr (is_shared<S>) {
    arch::fetch_add<state_scope<S>>(&state->error_count, 0u - all.seen);
  } else if constexpr (Counts) {
    arch::in_global(state)->error_count -= all.seen;
  }
  Status first = Format::decode(static_cast<uint16_t>(all.first));
  if (all.first == not_on_record) first = Status(Status::expired);
  all.first = pack(first);
  return all;
}

/// Status of the first `ended` operations of each lane's token, which have ended: the first error wins. All lanes of
/// `group` call; one that is alone, with at least one operation. The errors count as waited for.
template <class Format, class Engine, Sharing S>
XIO_DEVICE_INLINE Status outcome(const Engine& engine, const CompletionRing<Format>& ring, Group<S> group,
                                 const Token& token, uint32_t ended) {
  QueueState& state = engine.state();
  // The lanes of a wave reduce the count together, and a state in registers is not passed to a function.
  constexpr bool counts = is_shared<S> || (S == Sharing::thread && Engine::stored_each_time);
  Collected all{0, 0};
  if (S == Sharing::thread || ended != 0)
    all = collect<Format, S, counts>(counts ? &state : nullptr, ring.slots, ring.failures, ring.slot_mask,
                                     token.last + 1 - token.count, ended);
  if constexpr (S == Sharing::wave) {
    for (uint64_t lanes = group.members(all.seen != 0); lanes != 0; lanes = group.members(all.seen != 0)) {
      add_errors<S>(state, group, 0u - arch::count_lanes(lanes));
      if (all.seen != 0) --all.seen;
    }
  } else if constexpr (!counts) {
    add_errors<S>(state, group, 0u - all.seen);
  }
  return token.status.is_ok() && all.first != 0 ? unpack(all.first) : token.status;
}

/// Waits until everything that `token` denotes has ended. All lanes of `group` call, each with its own token.
///
/// `drain_now()` takes completions and returns how many; the whole group calls it.
template <class Format, class Engine, Sharing S, class Drain>
XIO_DEVICE_INLINE Status wait(const Engine& engine, const CompletionRing<Format>& ring, Group<S> group,
                              const Token& token, Deadline until, Drain drain_now) {
  QueueState& state = engine.state();
  uint32_t odd = 0;  // not 0: some failed, or ended long ago
  uint32_t left = token.count;
  uint32_t given_up = 0;  // Status::Code of the reason
  for (uint32_t round = 0;; ++round) {
    if constexpr (arch::branches_are_cheap) {
      while (left != 0 && has_ended<S>(ring.slots, ring.slot_mask, token.last + 1 - left, odd)) --left;
    } else {
      // One exit: for each, a wave keeps the lanes that took it.
      for (bool more = left != 0; more;) {
        const bool ended = has_ended<S>(ring.slots, ring.slot_mask, token.last + 1 - left, odd);
        left -= static_cast<uint32_t>(ended);
        more = static_cast<int>(ended) & static_cast<int>(left != 0);
      }
    }
    if (!group.any(static_cast<int>(left != 0) & static_cast<int>(given_up == 0))) break;
    // Read before the drain: completions that arrived while the waiter was not running are still taken.
    if (round % arch::looks_per_clock == arch::looks_per_clock - 1) {
      if (until.passed()) given_up = Status::timed_out;
      if (read<S>(state.broken) != 0) given_up = Status::broken;
      help(engine, group);
    }
    const uint32_t taken = drain_now();
    if (taken == 0) arch::pause(round);
  }
  Status status = token.status;
  if (XIO_UNLIKELY(group.any(odd != 0))) {
    status = outcome<Format>(engine, ring, group, token, odd == 0 ? 0 : token.count - left);
  }
  if (group.any(token.count != 0)) arch::acquire_published<state_scope<S>, is_shared<S>>();
  if (left != 0) return static_cast<Status::Code>(given_up);
  return status;
}

/// @}
}  // namespace protocol

XIO_NAMESPACE_END
