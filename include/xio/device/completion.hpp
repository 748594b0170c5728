// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The completion side of every queue whose device may finish operations in any order: drain, notify, wait.

#include <xio/device/completion_table.hpp>
#include <xio/device/telemetry.hpp>
#include <xio/device/token.hpp>

XIO_NAMESPACE_BEGIN

/// Two counters in memory that a drain adds to as operations end: another kernel, a stream or the CPU can wait for
/// them. Zeroed by its owner. `failed` is added to before `done`.
struct alignas(16) Notification {
  uint64_t done;    ///< operations ended, failed ones included
  uint64_t failed;  ///< operations ended with an error
};

/// How one operation ended, in memory of its owner's, who may look as late as he likes: for commands whose result
/// matters (the LBA of a Zone Append). Zeroed by its owner before each use; the same for a Notification's memory.
struct alignas(16) KeptResult {
  static constexpr uint64_t mark = 1;  // of a pointer that is not one to a Notification
  static constexpr uint64_t has_ended = uint64_t{1} << 63;

  uint64_t ended;   ///< 0, or has_ended | the device's own status
  uint64_t result;  ///< command specific result (NVMe: CQE dwords 0 and 1); valid once `ended` is not 0
};

namespace protocol {

/// Adds `failed` and one to a notification for each lane that holds one, merging lanes that hold the same.
template <Sharing S>
XIO_DEVICE void notify(uint64_t group, Notification* target, bool failed) {
  for (;;) {
    uint64_t holders = 1;
    if constexpr (S == Sharing::thread) {
      if (!target) return;
    } else {
      holders = arch::ballot(group, target != nullptr);
      if (!holders) return;
    }
    const auto mine = reinterpret_cast<uint64_t>(target);
    const uint64_t chosen = from_lane<S>(group, mine, arch::first_lane(holders));
    uint64_t done = 1;
    uint64_t errors = failed;
    if constexpr (S != Sharing::thread) {
      const uint64_t same = arch::ballot(group, mine == chosen);
      done = arch::count_lanes(same);
      errors = arch::count_lanes(arch::ballot(group, mine == chosen && failed));
      if (arch::is_first(same) && mine == chosen) {
        if (errors) arch::fetch_add<arch::Scope::system>(&target->failed, errors);
        arch::publish_add<arch::Scope::system>(&target->done, done);
      }
    } else {
      if (errors) arch::fetch_add<arch::Scope::system>(&target->failed, errors);
      arch::publish_add<arch::Scope::system>(&target->done, done);
    }
    if (mine == chosen) target = nullptr;
  }
}

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

/// Takes the completions that are there, at most one for each lane of `group`, and files them in their slots.
///
/// Format says how an entry looks: `Entry`; `uint64_t look(const Entry*)`, the word with the valid bit, loaded with
/// arch::load; `bool valid(word, phase)`; `uint32_t key(word)`, the command identifier; `uint64_t status(word)`, 15
/// bits; `bool is_error(status)`; `uint64_t result(const Entry*)`.
/// `acknowledge(head)` tells the device how far its ring was read.
/// Returns how many completions were taken. Never waits: where another wave is draining, it returns 0.
/// @param record NoRecord, or Taken: of what the calling lane took. Its errors then count as waited for.
/// @tparam Errors whether it deals with failed operations; else, on queues that are not shared, met_error is returned.
template <class Format, Sharing S, class Policy, bool Errors, class Acknowledge, class Telemetry, class Record>
XIO_DEVICE uint32_t drain(const CompletionRing<Format>& ring, QueueState& state, uint64_t group,
                          Acknowledge acknowledge, Telemetry& telemetry, Record& record) {
  constexpr arch::Scope scope = state_scope<S>;
  const uint32_t position = rank<S>(group);
  uint64_t head = read<S>(state.retired);
  if constexpr (is_shared<S>) {
    // One look before the claim keeps idle waves from fighting for it.
    head = from_leader<S>(group, head);
    if (!any<S>(group, position == 0 && Format::valid(Format::look(&slot_of(ring.entries, ring.mask, head)),
                                                      ring::phase(head, ring.mask)))) {
      return 0;
    }
    uint32_t idle = 0;
    bool claimed = false;
    if (leads<S>(group) && arch::load<scope>(&state.draining) == 0) {
      claimed = arch::compare_exchange_acquire<scope>(&state.draining, idle, 1u);
    }
    if (!any<S>(group, claimed)) return 0;
    arch::converge(group);  // what the leader acquired holds for all lanes
    head = from_leader<S>(group, arch::load<scope>(&state.retired));
  }

  const uint64_t mine = head + position;
  const typename Format::Entry* const entry = &slot_of(ring.entries, ring.mask, mine);
  const uint64_t word = Format::look(entry);
  const bool fresh = position <= ring.mask && Format::valid(word, ring::phase(mine, ring.mask));
  bool hit = fresh;
  uint32_t taken = fresh;
  if constexpr (S != Sharing::thread) {
    // Only an unbroken row from the head: a device may write entries of one lap in any order.
    const uint64_t missing = group & ~arch::ballot(group, fresh);
    taken = missing ? arch::count_lanes(group & ((uint64_t{1} << arch::first_lane(missing)) - 1))
                    : arch::count_lanes(group);
    hit = position < taken;
  }
  if constexpr (!is_shared<S>) {
    if (taken == 0) return 0;
  }
  if (taken != 0) {
    // The rest of an entry is older than its valid bit says, if it was loaded before it.
    arch::order_loads<arch::Scope::system>();
    const uint64_t reserved = read<S>(state.reserved);
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
      strange = ticket >= reserved;
    }
    const bool errors = hit && (Format::is_error(status) || Format::is_error(before & 0x7fff));
    // More than are in flight: the same one twice. Lanes without a hit may have read an older `reserved`.
    const bool repeated = S != Sharing::thread && hit && mine >= reserved;
    if constexpr (!Errors) {
      static_assert(!is_shared<S>, "a shared queue was claimed by now");
      if (XIO_UNLIKELY(any<S>(group, strange || repeated || errors))) return met_error;
    }
    bool leaves = false;
    uint64_t* moved = nullptr;  // where the failure is now that the slot has told of
    const bool failed = Errors && errors && !strange && Format::is_error(status);
    // Counted before anybody can see them: whoever waits for an error, or finds it, takes it out of the count.
    if (Errors && XIO_UNLIKELY(any<S>(group, errors && !strange))) {
      const bool unseen = failed && !Record::kept;
      uint64_t failures = unseen;
      if constexpr (S != Sharing::thread) failures = arch::ballot(group, unseen);
      add_errors<S>(state, group, arch::count_lanes(failures));
      const bool leaving = errors && !strange && Format::is_error(before & 0x7fff);
      leaves = any<S>(group, leaving);
      if (leaves) {
        // One lane after the other: the log is written by one at a time.
        for (uint64_t lanes = S == Sharing::thread ? 1 : arch::ballot(group, leaving); lanes != 0; lanes &= lanes - 1) {
          if (S == Sharing::thread || arch::lane() == arch::first_lane(lanes)) {
            moved = keep_failure<S>(ring.failures, ring.failure_entries, ticket - ring.slot_mask - 1, before);
          }
          if constexpr (S != Sharing::thread) arch::converge(group);
        }
      }
    }
    if (hit && !strange) {
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
    if constexpr (S != Sharing::thread) arch::converge(group);
    if constexpr (Policy::notifications) notify<S>(group, target, failed);
    // A completion of an operation that is not in flight: the device and we no longer agree on the queue.
    if (Errors && XIO_UNLIKELY(any<S>(group, strange || repeated))) write<S>(state.broken, 1u);

    head += taken;
    // As long as fewer are unacknowledged than the ring has entries to spare, `depth` in flight cannot overrun it.
    const auto unacknowledged = static_cast<uint32_t>(head - read<S>(state.acknowledged));
    if (unacknowledged >= ring.mask - ring.depth) {
      const uint64_t started = Telemetry::start();
      before_writing<S>(group);
      if (leads<S>(group)) acknowledge(head);
      telemetry.stop(telemetry::Step::cq_doorbell, started);
      if constexpr (is_shared<S>) {
        if (leads<S>(group)) arch::store<scope>(&state.acknowledged, head);
      } else {
        state.acknowledged = head;
      }
    }
    if constexpr (!is_shared<S>) state.retired = head;
  }
  if constexpr (is_shared<S>) {
    if (leads<S>(group)) {
      arch::publish<scope>(&state.retired, head);
      arch::publish<scope>(&state.draining, 0u);
    }
  }
  return taken;
}

/// Waits until everything that `token` stands for has ended. All lanes of `group` call, each with its own token.
///
/// `drain_now()` takes completions and returns how many; it is called by the whole group.
template <class Format, Sharing S, class Drain>
XIO_DEVICE Status wait(const CompletionRing<Format>& ring, QueueState& state, uint64_t group, const Token& token,
                       Deadline until, Drain drain_now) {
  uint32_t first = 0;  // the first answer that is not success, as the device gave it; or not_on_record
  uint64_t ticket = token.last + 1 - token.count;
  uint32_t left = token.count;
  bool late = false;
  bool broken = false;
  for (uint32_t round = 0;; ++round) {
    bool error = false;
    while (left != 0 && !error) {
      uint64_t word = 0;
      const Outcome outcome = look_up<S>(ring.slots, ring.slot_mask, ticket, word);
      if (outcome == Outcome::pending) break;
      uint64_t* where = &slot_of(ring.slots, ring.slot_mask, ticket).word;
      if (XIO_UNLIKELY(outcome == Outcome::replaced)) {
        const OnRecord found = find_failure<S>(ring.failures, ticket);
        word = found.word;
        where = found.where;
      }
      if (XIO_UNLIKELY((word & 0xffff) != 0)) {
        const auto status = static_cast<uint32_t>(word & 0x7fff);
        if (Format::is_error(status)) {
          if ((word & seen_bit) == 0) {
            error = mark_seen<S>(where, word);
            if (!error) continue;  // it changed: look again
          }
          if (!Format::is_error(first)) first = status;
        } else if (!Format::is_error(first) && first != not_on_record) {
          // A success can carry bits of its own.
          first = word == not_on_record ? static_cast<uint32_t>(not_on_record) : status;
        }
      }
      ++ticket;
      --left;
    }
    if (XIO_UNLIKELY(any<S>(group, error))) {
      uint64_t seen = 1;
      if constexpr (S != Sharing::thread) seen = arch::ballot(group, error);
      add_errors<S>(state, group, 0u - arch::count_lanes(seen));
      continue;
    }
    if (!any<S>(group, left != 0 && !late && !broken)) break;
    // The clock first: completions that came while the waiter itself was not running are taken.
    if (round % arch::looks_per_clock == arch::looks_per_clock - 1) {
      late = until.passed();
      broken = read<S>(state.broken) != 0;
    }
    const uint32_t taken = drain_now();
    if (taken == 0) arch::pause(round);
  }
  if (any<S>(group, token.count != 0)) arch::acquire_system();
  if (left != 0) return broken ? Status::broken : Status::timed_out;
  if (!token.status.is_ok() || first == 0) return token.status;
  return first == not_on_record ? Status(Status::expired) : Format::decode(static_cast<uint16_t>(first));
}

}  // namespace protocol

XIO_NAMESPACE_END
