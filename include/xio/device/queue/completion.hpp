// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The completion side of every queue whose device may finish operations in any order: drain, notify, wait.

#include <xio/device/core/telemetry.hpp>
#include <xio/device/core/token.hpp>
#include <xio/device/queue/completion_table.hpp>
#include <xio/device/queue/notification.hpp>

XIO_NAMESPACE_BEGIN

namespace protocol {

/// Status of a failed operation as QueueState keeps it.
XIO_DEVICE constexpr uint32_t pack(Status status) {
  return static_cast<uint32_t>(status.code) | static_cast<uint32_t>(status.vendor) << 16;
}
XIO_DEVICE constexpr Status unpack(uint32_t packed) {
  return {static_cast<Status::Code>(packed & 0xffff), static_cast<uint16_t>(packed >> 16)};
}

/// Where a drain finds things; the same for all queues of one vendor.
template <class Format>
struct CompletionRing {
  const typename Format::Entry* entries;
  CompletionSlot* slots;
  FailureLog* failures;
  Notification** notifications;  ///< one pointer for each slot; null where the policy has no notifications
  uint32_t mask;                 ///< CQ size - 1
  uint32_t slot_mask;
  uint32_t depth;
  uint32_t failure_entries;
};

/// In place of a record of what drain() took: none is kept.
struct NoRecord {
  static constexpr bool kept = false;
};

/// What the calling lane took in one drain().
struct Taken {
  static constexpr bool kept = true;
  bool hit = false;  ///< whether it took an operation; the rest is set only then
  uint64_t ticket = 0;
  uint64_t status = 0;  ///< the device's own
  uint64_t result = 0;
};

/// What drain() returns, having done nothing, where it was told to leave errors alone and met one.
constexpr uint32_t met_error = ~0u;

/// Whether nobody looks for the completions of a shared queue: worth a claim_drain(). True for others.
template <Sharing S>
XIO_DEVICE_INLINE bool nobody_drains(QueueState& state, Group<S> group) {
  if constexpr (is_shared<S>) {
    return group.any(group.leads() && arch::load<state_scope<S>>(&state.draining) == 0);
  } else {
    return true;
  }
}

/// Makes the group the one of all that looks for completions of a shared queue and takes them, where none is; until it
/// stores 0 in QueueState::draining, or leave_drain(). All lanes see what the one before it stored. Never waits.
template <Sharing S>
XIO_DEVICE_INLINE bool claim_drain(QueueState& state, Group<S> group) {
  uint32_t idle = 0;
  bool claimed = false;
  if (group.leads()) claimed = arch::compare_exchange_acquire<state_scope<S>>(&state.draining, idle, 1u);
  if (!group.any(claimed)) return false;
  // The leader has acquired it, and a vote orders nothing.
  group.converge();
  return true;
}

/// Gives back what claim_drain() took, where there was nothing to take.
template <Sharing S>
XIO_DEVICE_INLINE void leave_drain(QueueState& state, Group<S> group) {
  // An exchange hands on what the last one released; a store would not.
  if (group.leads()) arch::exchange<state_scope<S>>(&state.draining, 0u);
}

/// What begin_drain() has read.
struct Found {
  uint64_t head;      ///< completions taken before
  uint64_t word;      ///< of the lane's own entry, or of the first one where the queue is shared
  const void* entry;  ///< that
};

/// Whether there is a completion to be taken, and the group may take it. Of all that share a queue one group at a time
/// looks: completions may be far away. To be called where nobody_drains().
template <class Format, class Device, Sharing S>
XIO_DEVICE_INLINE bool begin_drain(const Device& device, const CompletionRing<Format>& ring, Group<S> group,
                                   Found& found) {
  QueueState& state = device.state();
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

/// Takes the completions that are there, at most one for each lane of `group`, and files them in their slots; after
/// begin_drain().
///
/// Format says how an entry looks: `Entry`; `uint64_t look(const Entry*)`, the word with the valid bit, loaded with
/// arch::load; `bool valid(word, phase)`; `uint32_t key(word)`, the command identifier; `uint64_t status(word)`, 15
/// bits; `bool is_error(status)`; `uint64_t result(const Entry*)`.
/// `acknowledge(head)` tells the device how far its ring was read.
/// Returns how many completions were taken.
/// @param record NoRecord, or Taken: of what the calling lane took. Its errors then count as waited for.
/// @tparam Errors whether it deals with failed operations; else, on queues that are not shared, met_error is returned.
template <class Format, bool Errors, class Device, Sharing S, class Acknowledge, class Telemetry, class Record>
XIO_DEVICE_INLINE uint32_t drain(const Device& device, const CompletionRing<Format>& ring, Group<S> group,
                                 const Found& found, Acknowledge acknowledge, Telemetry& telemetry, Record& record) {
  using Policy = typename Device::Policy;
  constexpr arch::Scope scope = state_scope<S>;
  QueueState& state = device.state();
  const uint32_t position = group.rank();
  uint64_t head = found.head;
  const uint64_t mine = head + position;
  using Entry = typename Format::Entry;
  const Entry* const entry =
      is_shared<S> ? &slot_of(ring.entries, ring.mask, mine) : static_cast<const Entry*>(found.entry);
  const uint64_t word = is_shared<S> ? Format::look(entry) : found.word;
  const bool fresh = position <= ring.mask && Format::valid(word, ring::phase(mine, ring.mask));
  // Only an unbroken row from the head: a device may write entries of one lap in any order.
  uint32_t taken = S == Sharing::thread ? 1 : group.leading(fresh);
  bool hit = S == Sharing::thread || position < taken;
  // The rest of an entry is older than its valid bit says, if it was loaded before it.
  arch::order_loads<arch::Scope::system>();
  const int64_t reserved = claimed_or_broken(device);
  const uint32_t key = Format::key(word);
  CompletionSlot& slot = slot_of(ring.slots, ring.slot_mask, key);
  uint64_t ticket = 0;
  bool strange = false;
  Notification* target = nullptr;
  const uint64_t status = Format::status(word);
  uint64_t before = 0;
  if (hit) {
    // The slot tells which lap is in flight. If none is, or with a key beyond the slots, nobody has that ticket yet.
    before = read<S>(slot.word);
    ticket = (before >> 16) + key;
    strange = static_cast<int64_t>(ticket) >= reserved;
  }
  // More than are in flight: the same one twice. Lanes without a hit may have read an older `reserved`.
  if constexpr (S != Sharing::thread) strange = strange || (hit && static_cast<int64_t>(mine) >= reserved);
  bool errors = hit && (Format::is_error(status) || Format::is_error(before & 0x7fff));
  if constexpr (!Errors) {
    static_assert(!is_shared<S>, "a shared queue was claimed by now");
    if (XIO_UNLIKELY(group.any(strange || errors))) return met_error;
  } else if (XIO_UNLIKELY(group.any(strange))) {
    // A completion of an operation that is not in flight: the device and we no longer agree on the queue. It stays
    // where it is.
    break_queue(device, group);
    taken = group.leading(hit && !strange);
    hit = position < taken;
    errors = errors && hit;
  }
  bool leaves = false;
  uint64_t* moved = nullptr;  // where the failure is now that the slot has told of
  const bool failed = Errors && errors && Format::is_error(status);
  // Counted before anybody can see them: whoever waits for an error, or finds it, takes it out of the count.
  if (Errors && XIO_UNLIKELY(group.any(errors))) {
    add_errors<S>(state, group, arch::count_lanes(group.members(failed && !Record::kept)));
    const bool leaving = errors && Format::is_error(before & 0x7fff);
    leaves = group.any(leaving);
    if (leaves) {
      // One lane after the other: the log is written by one at a time.
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
        // Somebody may have waited for it meanwhile, and perhaps somebody else found it in the log.
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
  // All entries are read and all slots written before anybody is told.
  group.converge();
  if constexpr (Policy::notifications) notify(group, target, failed);

  head += taken;
  // As long as fewer are unacknowledged than the ring has entries to spare, `depth` in flight cannot overrun it.
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

/// How operations ended that have, of which some need more than a look at their slots: they failed, or ended long ago.
struct Collected {
  uint32_t first;  ///< the first answer that is not success, as the device gave it; or not_on_record; 0: none
  uint32_t seen;   ///< errors that nobody had waited for before
};

/// Looks at `count` tickets from `ticket` on, all of which have ended. Lanes call each for itself.
template <class Format, Sharing S>
XIO_LEAF XIO_DEVICE Collected collect(CompletionSlot* slots, FailureLog* log, uint32_t slot_mask, uint64_t ticket,
                                      uint32_t count) {
  slots = arch::in_global(slots);
  Collected all{0, 0};
  while (count != 0) {
    uint64_t word = 0;
    uint64_t* where = &slot_of(slots, slot_mask, ticket).word;
    if (look_up<S>(slots, slot_mask, ticket, word) == Outcome::replaced) {
      const OnRecord found = find_failure<S>(log, ticket);
      word = found.word;
      where = found.where;
    }
    const auto status = static_cast<uint32_t>(word & 0x7fff);
    if (Format::is_error(status)) {
      if ((word & seen_bit) == 0) {
        if (!mark_seen<S>(where, word)) continue;  // it changed: look again
        ++all.seen;
      }
      if (!Format::is_error(all.first)) all.first = status;
    } else if ((word & 0xffff) != 0 && !Format::is_error(all.first) && all.first != not_on_record) {
      // A success can carry bits of its own.
      all.first = word == not_on_record ? static_cast<uint32_t>(not_on_record) : status;
    }
    ++ticket;
    --count;
  }
  return all;
}

/// How the first `ended` operations of each lane's token ended, which have: the first error wins. All lanes of `group`
/// call. Errors count as waited for.
template <class Format, Sharing S>
XIO_DEVICE_INLINE Status outcome(QueueState& state, const CompletionRing<Format>& ring, Group<S> group,
                                 const Token& token, uint32_t ended) {
  Collected all{0, 0};
  if (ended != 0)
    all = collect<Format, S>(ring.slots, ring.failures, ring.slot_mask, token.last + 1 - token.count, ended);
  for (uint64_t lanes = group.members(all.seen != 0); lanes != 0; lanes = group.members(all.seen != 0)) {
    add_errors<S>(state, group, 0u - arch::count_lanes(lanes));
    if (all.seen != 0) --all.seen;
  }
  if (!token.status.is_ok() || all.first == 0) return token.status;
  return all.first == not_on_record ? Status(Status::expired) : Format::decode(static_cast<uint16_t>(all.first));
}

/// Waits until everything that `token` stands for has ended. All lanes of `group` call, each with its own token.
///
/// `drain_now()` takes completions and returns how many; it is called by the whole group.
template <class Format, class Device, Sharing S, class Drain>
XIO_DEVICE_INLINE Status wait(const Device& device, const CompletionRing<Format>& ring, Group<S> group,
                              const Token& token, Deadline until, Drain drain_now) {
  QueueState& state = device.state();
  bool plain = true;  // whether all ended well, and lately
  uint32_t left = token.count;
  bool late = false;
  bool broken = false;
  for (uint32_t round = 0;; ++round) {
    for (; left != 0; --left) {
      uint64_t word = 0;
      const Outcome outcome = look_up<S>(ring.slots, ring.slot_mask, token.last + 1 - left, word);
      if (outcome == Outcome::pending) break;
      plain = plain && outcome == Outcome::ended && (word & 0xffff) == 0;
    }
    if (!group.any(left != 0 && !late && !broken)) break;
    // The clock first: completions that came while the waiter itself was not running are taken.
    if (round % arch::looks_per_clock == arch::looks_per_clock - 1) {
      late = until.passed();
      broken = read<S>(state.broken) != 0;
      help(device, group);
    }
    const uint32_t taken = drain_now();
    if (taken == 0) arch::pause(round);
  }
  Status status = token.status;
  if (XIO_UNLIKELY(group.any(!plain))) {
    status = outcome<Format>(state, ring, group, token, plain ? 0 : token.count - left);
  }
  if (group.any(token.count != 0)) arch::acquire_system();
  if (left != 0) return broken ? Status::broken : Status::timed_out;
  return status;
}

}  // namespace protocol

XIO_NAMESPACE_END
