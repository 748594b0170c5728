// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The completion side of queues whose device may finish operations in any order: the table of completion slots.
///
/// Ticket i uses command identifier i mod W, W being the number of slots. A slot remembers how the last operation that
/// used it ended, until the next one ends: a token can be asked for up to W operations later.

#include <xio/device/submission.hpp>
#include <xio/device/telemetry.hpp>
#include <xio/device/token.hpp>

XIO_NAMESPACE_BEGIN

/// How the last operation with one command identifier ended. Zeroed at creation.
struct alignas(16) CompletionSlot {
  uint64_t word;    ///< first ticket of the next lap << 16 | seen by a waiter, bit 15 | device status, bits 14:0
  uint64_t result;  ///< command specific result (NVMe: CQE dwords 0 and 1); stored before `word`
};
static_assert(sizeof(CompletionSlot) == 16, "one 16-byte slot for each command identifier");

/// Two counters in memory that a drain adds to as operations end: another kernel, a stream or the CPU can wait for them.
/// Zeroed by its owner. `failed` is added to before `done`.
struct alignas(16) Notification {
  uint64_t done;    ///< operations ended, failed ones included
  uint64_t failed;  ///< operations ended with an error
};

namespace protocol {

/// To, with the constness of From.
template <class From, class To>
struct Matching {
  using type = To;
};
template <class From, class To>
struct Matching<const From, To> {
  using type = const To;
};

/// Content of a slot's upper 48 bits that lets `ticket` use it: all operations of earlier laps have ended.
XIO_DEVICE constexpr uint64_t lap_begin(uint64_t ticket, uint32_t slot_mask) { return ticket & ~uint64_t{slot_mask}; }

/// Content of a slot's upper 48 bits once `ticket` has ended.
XIO_DEVICE constexpr uint64_t lap_end(uint64_t ticket, uint32_t slot_mask) { return (ticket | slot_mask) + 1; }

/// The element of a ring that `index` refers to. A base that all lanes share and a 32-bit distance are one address mode of
/// the hardware.
template <class Element>
XIO_DEVICE_INLINE Element& slot_of(Element* ring, uint32_t mask, uint64_t index) {
  using Byte = typename Matching<Element, char>::type;
  const uint32_t distance = ring::slot(index, mask) * static_cast<uint32_t>(sizeof(Element));
  return *reinterpret_cast<Element*>(reinterpret_cast<Byte*>(ring) + distance);
}

/// Whether `ticket` may use its slot.
template <Sharing S>
XIO_DEVICE_INLINE bool slot_free(const CompletionSlot* slots, uint32_t slot_mask, uint64_t ticket) {
  return read<S>(slot_of(slots, slot_mask, ticket).word) >> 16 == lap_begin(ticket, slot_mask);
}

constexpr uint64_t seen_bit = 0x8000;

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
        arch::wait_stores();
        arch::fetch_add<arch::Scope::system>(&target->done, done);
      }
    } else {
      if (errors) arch::fetch_add<arch::Scope::system>(&target->failed, errors);
      arch::wait_stores();
      arch::fetch_add<arch::Scope::system>(&target->done, done);
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

/// Adds to the count of errors that nobody has waited for. All lanes pass the same number.
template <Sharing S>
XIO_DEVICE void add_errors(QueueState& state, uint64_t group, uint32_t number) {
  if constexpr (is_shared<S>) {
    if (leads<S>(group)) arch::fetch_add<state_scope<S>>(&state.error_count, number);
  } else {
    const uint32_t before = state.error_count;
    before_writing<S>(group);
    state.error_count = before + number;
  }
}

/// Puts errors on record that leave the table before anybody waited for them. All lanes pass the same values; `status` is the
/// device's own, of the first.
template <Sharing S>
XIO_DEVICE void record_lost_errors(QueueState& state, uint64_t group, uint32_t number, uint64_t ticket, uint32_t status) {
  uint32_t before = read<S>(state.lost_errors);
  const auto sum = [&] {
    const uint32_t known = before >> 16;
    return (known + number < 0xffff ? known + number : 0xffff) << 16 | (known != 0 ? before & 0xffff : status);
  };
  if constexpr (is_shared<S>) {
    // One wave at a time drains; only quiet() may come in between, and leaves 0.
    if (!leads<S>(group)) return;
    if (before == 0) arch::store<state_scope<S>>(&state.lost_ticket, ticket);
    while (!arch::compare_exchange<state_scope<S>>(&state.lost_errors, before, sum())) {
    }
  } else {
    before_writing<S>(group);
    if (before == 0) state.lost_ticket = ticket;
    state.lost_errors = sum();
  }
}

/// Sets the mark of a waiter in a slot that holds an error; false where it was there before.
template <Sharing S>
XIO_DEVICE_INLINE bool mark_seen(CompletionSlot& slot, uint64_t word) {
  if (word & seen_bit) return false;
  if constexpr (S == Sharing::thread) {
    slot.word = word | seen_bit;
    return true;
  } else {
    // Lanes of one wave may wait for the same operation.
    return arch::compare_exchange<state_scope<S>>(&slot.word, word, word | seen_bit);
  }
}

/// Where a drain finds things; the same for all queues of one vendor.
template <class Format>
struct CompletionRing {
  const typename Format::Entry* entries;
  CompletionSlot* slots;
  Notification** notifications;  ///< one pointer for each slot; null where the policy has no notifications
  uint32_t mask;                 ///< CQ size - 1
  uint32_t slot_mask;
  uint32_t depth;
};

/// Takes the completions that are there, at most one for each lane of `group`, and files them in their slots.
///
/// Format says how an entry looks: `Entry`; `uint64_t look(const Entry*)`, the word with the valid bit, loaded with
/// arch::load; `bool valid(word, phase)`; `uint32_t key(word)`, the command identifier; `uint64_t status(word)`, 15
/// bits; `bool is_error(status)`; `uint64_t result(const Entry*)`.
/// `acknowledge(head)` tells the device how far its ring was read.
/// Returns how many completions were taken. Never waits: where another wave is draining, it returns 0.
template <class Format, Sharing S, class Policy, class Acknowledge, class Telemetry>
XIO_DEVICE uint32_t drain(const CompletionRing<Format>& ring, QueueState& state, uint64_t group,
                                 Acknowledge acknowledge, Telemetry& telemetry) {
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
      claimed = arch::compare_exchange<scope>(&state.draining, idle, 1u);
    }
    if (!any<S>(group, claimed)) return 0;
    head = from_leader<S>(group, arch::observe<scope>(&state.retired));
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
    taken = missing ? arch::count_lanes(group & ((uint64_t{1} << arch::first_lane(missing)) - 1)) : arch::count_lanes(group);
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
    bool failed = false;
    bool lost = false;
    uint64_t before = 0;
    if (hit) {
      // The slot tells which lap is in flight. If none is, or with a key beyond the slots, nobody has that ticket yet.
      before = read<S>(slot.word);
      ticket = (before >> 16) + key;
      strange = ticket >= reserved;
      failed = !strange && Format::is_error(status);
      lost = XIO_UNLIKELY(Format::is_error(before & 0x7fff)) && !strange && mark_seen<S>(slot, before);
    }
    // Counted before anybody can see them: whoever waits for an error, or finds it, takes it out of the count.
    if (XIO_UNLIKELY(any<S>(group, failed || lost))) {
      uint64_t failures = failed;
      uint64_t losses = lost;
      if constexpr (S != Sharing::thread) {
        failures = arch::ballot(group, failed);
        losses = arch::ballot(group, lost);
      }
      add_errors<S>(state, group, arch::count_lanes(failures) - arch::count_lanes(losses));
      if (losses != 0) {
        const uint32_t source = arch::first_lane(losses);
        record_lost_errors<S>(state, group, arch::count_lanes(losses),
                              from_lane<S>(group, ticket - ring.slot_mask - 1, source),
                              from_lane<S>(group, static_cast<uint32_t>(before & 0x7fff), source));
      }
    }
    if (hit && !strange) {
      if constexpr (Policy::notifications) {
        target = reinterpret_cast<Notification*>(read<S>(reinterpret_cast<const uint64_t&>(ring.notifications[key])));
      }
      const uint64_t result = Format::result(entry);
      const uint64_t filed = ((before >> 16) + ring.slot_mask + 1) << 16 | status;
      if constexpr (is_shared<S>) {
        arch::store<scope>(&slot.result, result);
        arch::publish<scope>(&slot.word, filed);
      } else {
        slot.result = result;
        slot.word = filed;
      }
    }
    // All entries are read and all slots written before anybody is told.
    if constexpr (S != Sharing::thread) arch::converge(group);
    if constexpr (Policy::notifications) notify<S>(group, target, failed);
    // A completion of an operation that is not in flight: the device and we no longer agree on the queue.
    if (XIO_UNLIKELY(any<S>(group, strange || (S != Sharing::thread && head + taken > reserved)))) write<S>(state.broken, 1u);

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
  }
  if constexpr (is_shared<S>) {
    if (leads<S>(group)) {
      arch::publish<scope>(&state.retired, head);
      arch::publish<scope>(&state.draining, 0u);
    }
  } else {
    state.retired = head;
  }
  return taken;
}

/// What is known of one ticket.
enum class Outcome : uint32_t { pending, ended, expired };

/// Looks up one ticket; `status` is set where it has ended.
template <Sharing S>
XIO_DEVICE_INLINE Outcome look_up(const CompletionSlot* slots, uint32_t slot_mask, uint64_t ticket, uint64_t& word) {
  const uint64_t* const where = &slot_of(slots, slot_mask, ticket).word;
  if constexpr (is_shared<S>) {
    word = arch::load<state_scope<S>>(where);
  } else {
    word = *where;
  }
  const uint64_t end = lap_end(ticket, slot_mask);
  if (word >> 16 < end) return Outcome::pending;
  return word >> 16 == end ? Outcome::ended : Outcome::expired;
}

/// Failed operations that nobody has waited for.
struct UnseenErrors {
  uint32_t count;
  uint64_t first_ticket;
  uint32_t first_status;  ///< the device's own
};

/// Looks through the table; with `take`, for the caller, who waits for all of them by that. One lane calls.
template <class Format, Sharing S>
XIO_DEVICE UnseenErrors unseen_errors(const QueueState& state, CompletionSlot* slots, uint32_t slot_mask, bool take) {
  UnseenErrors unseen{};
  const uint64_t end = read<S>(state.reserved);
  for (uint64_t ticket = end > slot_mask ? end - slot_mask - 1 : 0; ticket < end; ++ticket) {
    uint64_t word = 0;
    if (look_up<S>(slots, slot_mask, ticket, word) != Outcome::ended) continue;
    if (!Format::is_error(word & 0x7fff) || (word & seen_bit) != 0) continue;
    if (take && !mark_seen<S>(slot_of(slots, slot_mask, ticket), word)) continue;
    if (unseen.count++ == 0) {
      unseen.first_ticket = ticket;
      unseen.first_status = static_cast<uint32_t>(word & 0x7fff);
    }
  }
  return unseen;
}

/// Failed operations that nobody has waited for, also those that the table shows no more; with `take`, nobody is told of
/// them again. All lanes of `group` call, and get the same.
template <class Format, Sharing S>
XIO_DEVICE UnseenErrors find_errors(QueueState& state, uint64_t group, CompletionSlot* slots, uint32_t slot_mask,
                                    bool take) {
  UnseenErrors all{};
  uint32_t lost = from_leader<S>(group, read<S>(state.lost_errors));
  all.count = from_leader<S>(group, read<S>(state.error_count));
  if (all.count == 0 && lost == 0) return all;
  if (leads<S>(group)) {
    all = unseen_errors<Format, S>(state, slots, slot_mask, take);
    if constexpr (is_shared<S>) {
      if (take && lost != 0) lost = arch::exchange<state_scope<S>>(&state.lost_errors, 0u);
    }
    // Those are older than anything in the table.
    if (lost != 0) {
      all.first_ticket = read<S>(state.lost_ticket);
      all.first_status = lost & 0xffff;
    }
  }
  const uint32_t taken = from_leader<S>(group, all.count);
  lost = from_leader<S>(group, lost);
  all.count = taken + (lost >> 16);
  all.first_ticket = from_leader<S>(group, all.first_ticket);
  all.first_status = from_leader<S>(group, all.first_status);
  if (take) {
    add_errors<S>(state, group, 0u - taken);
    if constexpr (!is_shared<S>) state.lost_errors = 0;
  }
  return all;
}

/// Waits until everything that `token` stands for has ended. All lanes of `group` call, each with its own token.
///
/// `drain_now()` takes completions and returns how many; it is called by the whole group.
template <class Format, Sharing S, class Drain>
XIO_DEVICE Status wait(const CompletionRing<Format>& ring, QueueState& state, uint64_t group, const Token& token,
                       Deadline until, Drain drain_now) {
  constexpr uint32_t gone = 0x8000;
  uint32_t first = 0;  // the first answer that is not success, as the device gave it; or `gone`
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
      if (outcome == Outcome::expired) {
        if (first == 0) first = gone;
      } else if (XIO_UNLIKELY((word & 0x7fff) != 0)) {
        // A success can carry bits of its own.
        if (first != gone && !Format::is_error(first)) first = static_cast<uint32_t>(word & 0x7fff);
        if (Format::is_error(word & 0x7fff)) error = mark_seen<S>(slot_of(ring.slots, ring.slot_mask, ticket), word);
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
    const uint32_t taken = drain_now();
    if (round % arch::looks_per_clock == arch::looks_per_clock - 1) {
      late = until.passed();
      broken = read<S>(state.broken) != 0;
    }
    if (taken == 0) arch::pause(round);
  }
  if (any<S>(group, token.count != 0)) arch::acquire_system();
  if (left != 0) return broken ? Status::broken : Status::timed_out;
  if (!token.status.is_ok() || first == 0) return token.status;
  return first == gone ? Status(Status::expired) : Format::decode(static_cast<uint16_t>(first));
}

}  // namespace protocol

XIO_NAMESPACE_END
