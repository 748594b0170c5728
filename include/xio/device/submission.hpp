// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The submission side of every queue: claim tickets, publish in order, decide when to ring. Knows no vendor.
///
/// A ticket is the number of an operation, counted from the queue's creation. Claiming takes room first and tickets
/// second, so that a refused claim leaves no trace. Between a claim and its publication a wave waits only for earlier
/// tickets, never for the device: no wave waits for the device while others wait for it.

#include <xio/device/deadline.hpp>
#include <xio/device/policy.hpp>
#include <xio/device/ring.hpp>

XIO_NAMESPACE_BEGIN

/// The mutable state of one queue pair: one 64-byte line in memory that all its users share, zeroed at creation.
struct alignas(64) QueueState {
  uint64_t reserved;      ///< tickets claimed
  uint64_t retired;       ///< completions taken
  uint64_t published;     ///< entries in the ring, in ticket order; shared queues only
  uint64_t rung;          ///< entries announced; deferred ringing only. Shared queues: top bit while being rung
  uint64_t acknowledged;  ///< completions that the device was told of
  uint64_t passed_over;   ///< receive queues: completions that ended no receive
  uint32_t error_count;   ///< failed operations that nobody has waited for
  uint32_t reserved_word;
  uint32_t draining;  ///< 1 while a wave takes completions
  uint32_t broken;    ///< not 0: unusable until the host recovers the queue
};
static_assert(sizeof(QueueState) == 64, "hot state of a queue is one line");

namespace protocol {

/// In QueueState::rung while a wave rings. Without it the word is the same whoever shares a queue, which the host that
/// sets the counters does not know.
constexpr uint64_t being_rung = uint64_t{1} << 63;

/// Reads a state word: coherently where others write it, else as a plain variable.
template <Sharing S, class T>
XIO_DEVICE_INLINE T read(const T& word) {
  if constexpr (is_shared<S>) {
    return arch::load<state_scope<S>>(&word);
  } else {
    return word;
  }
}

/// Writes a state word; a plain variable is written by all lanes, so that copies in registers stay the same in all.
template <Sharing S, class T>
XIO_DEVICE_INLINE void write(T& word, T value) {
  if constexpr (is_shared<S>) {
    arch::store<state_scope<S>>(&word, value);
  } else {
    word = value;
  }
}

/// To be called between reading a state word and writing it: the lanes of a wave that owns a queue all do both, and
/// none may write before the others have read.
template <Sharing S>
XIO_DEVICE_INLINE void before_writing(uint64_t group) {
  if constexpr (S == Sharing::wave) arch::converge(group);
}

/// Lanes that act together in one call: a single one where every thread has a queue of its own; all of `lanes` (0: of
/// the wave) where one wave owns it; and where queues are shared those that call at the same time, unless `lanes`
/// names them. To be asked once in a call: the answer may differ the next time.
template <Sharing S>
XIO_DEVICE_ALWAYS_INLINE uint64_t group_of_caller(uint64_t lanes = 0) {
  if constexpr (S == Sharing::thread) {
    return 1;
  } else if constexpr (S == Sharing::wave) {
    return arch::together(lanes);
  } else {
    return lanes != 0 ? arch::together(lanes) : arch::active();
  }
}

/// The same for calls that mean one thing for all lanes, and would be made twice where a wave came in two parts.
template <Sharing S>
XIO_DEVICE_INLINE uint64_t group_of_all(uint64_t lanes) {
  if constexpr (S == Sharing::thread) {
    return 1;
  } else {
    return arch::together(lanes);
  }
}

template <Sharing S>
XIO_DEVICE_INLINE bool any(uint64_t group, bool predicate) {
  if constexpr (S == Sharing::thread) {
    return predicate;
  } else {
    return arch::ballot(group, predicate) != 0;
  }
}

template <Sharing S>
XIO_DEVICE_INLINE uint32_t rank(uint64_t group) {
  if constexpr (S == Sharing::thread) {
    return 0;
  } else {
    return arch::rank_in(group);
  }
}

template <Sharing S>
XIO_DEVICE_INLINE bool leads(uint64_t group) {
  if constexpr (S == Sharing::thread) {
    return true;
  } else {
    return arch::is_first(group);
  }
}

/// Value of one lane of the group, in all of them.
template <Sharing S, class T>
XIO_DEVICE_INLINE T from_lane(uint64_t group, T value, uint32_t lane) {
  if constexpr (S == Sharing::thread) {
    return value;
  } else {
    return arch::broadcast(group, value, lane);
  }
}

/// Value of the leader, in all lanes of the group.
template <Sharing S, class T>
XIO_DEVICE_INLINE T from_leader(uint64_t group, T value) {
  return from_lane<S>(group, value, arch::first_lane(group));
}

/// poll_until() for lanes that stay together: they give up when the most patient of them does.
template <Sharing S, class Look>
XIO_DEVICE bool poll(uint64_t group, Look look, Deadline until) {
  for (uint32_t round = 0;; ++round) {
    const bool late = round % arch::looks_per_clock == arch::looks_per_clock - 1 && !any<S>(group, !until.passed());
    if (look()) return true;
    if (late) return false;
    arch::pause(round);
  }
}

/// Tickets `first` to `first + count - 1`, or none.
struct Claim {
  uint64_t first;
  uint32_t count;
};

/// How many of the tickets `first`, `first + 1`, … up to `count` may be used now. `free(ticket)` says it of one.
template <Sharing S, class Free>
XIO_DEVICE_INLINE uint32_t leading_free(uint64_t group, uint64_t first, uint32_t count, Free free) {
  const uint32_t lanes = S == Sharing::thread ? 1 : arch::count_lanes(group);
  for (uint32_t base = 0; base < count; base += lanes) {
    const uint32_t mine = base + rank<S>(group);
    if constexpr (S == Sharing::thread) {
      if (!free(first + mine)) return base;
    } else {
      // Lanes beyond the count look at the first ticket's slot again.
      const bool busy = !free(first + (mine < count ? mine : 0));
      const uint64_t all_busy = arch::ballot(group, busy);
      if (XIO_UNLIKELY(all_busy)) {
        const uint32_t free_ones = base + arch::count_lanes(group & ((uint64_t{1} << arch::first_lane(all_busy)) - 1));
        return free_ones < count ? free_ones : count;
      }
    }
  }
  return count;
}

/// Takes up to `wanted` tickets, at least `least`, or none at all. All lanes of `group` call and get the same claim.
///
/// @param depth most operations in flight.
/// @param free  says of a ticket whether its completion slot is free; called by one lane for each ticket.
template <Sharing S, class Free>
XIO_DEVICE_INLINE Claim claim(QueueState& state, uint64_t group, uint32_t wanted, uint32_t least, uint32_t depth,
                              Free free) {
  for (;;) {
    // In this order the difference never counts too few operations in flight.
    uint64_t retired = read<S>(state.retired);
    uint64_t first = read<S>(state.reserved);
    if constexpr (is_shared<S>) {
      retired = from_leader<S>(group, retired);
      first = from_leader<S>(group, first);
    }
    const auto in_flight = static_cast<uint32_t>(first - retired);
    if constexpr (S == Sharing::thread) {
      // Both in one test: a branch costs more than a look at a slot that there was no need to look at.
      if (!(static_cast<int>(in_flight < depth) & static_cast<int>(free(first)))) return {first, 0};
      if (wanted == 1) return {first, 1};
    }
    // A shared queue's words are read one after the other: more may seem to be in flight than can be.
    const uint32_t room = S == Sharing::wave || in_flight < depth ? depth - in_flight : 0;
    if (XIO_UNLIKELY(room < least)) return {first, 0};
    const uint32_t count = leading_free<S>(group, first, wanted < room ? wanted : room, free);
    if (XIO_UNLIKELY(count < least)) return {first, 0};
    if constexpr (is_shared<S>) {
      uint64_t expected = first;
      bool taken = false;
      if (leads<S>(group)) taken = arch::compare_exchange<state_scope<S>>(&state.reserved, expected, first + count);
      if (any<S>(group, taken)) return {first, count};
    } else {
      // Nobody else claims: publish() takes the tickets.
      return {first, count};
    }
  }
}

/// Tickets claimed so far: at least those that any lane of the group knows of, whoever of them reads the word.
template <Sharing S>
XIO_DEVICE_INLINE uint64_t claimed(const QueueState& state, uint64_t group) {
  if constexpr (is_shared<S>) arch::converge(group);
  return from_leader<S>(group, read<S>(state.reserved));
}

/// Makes this wave's entries visible to the device, as the policy says.
template <class Policy>
XIO_DEVICE_INLINE void release_entries() {
  if constexpr (Policy::publication == Publication::release || !arch::has_write_through) {
    arch::release_system();
  } else {
    arch::wait_stores();
  }
}

/// Announces what a shared queue has published and not yet announced. One lane calls, which knows what was published by
/// those that it calls for.
///
/// One at a time is in `ring(end)`. Who finds another one ringing leaves: the other looks again after it has given up
/// the word.
template <Sharing S, class Ring>
XIO_DEVICE_INLINE void announce(QueueState& state, Ring ring) {
  constexpr arch::Scope scope = state_scope<S>;
  for (;;) {
    arch::full_fence_system();
    uint64_t rung = arch::load<scope>(&state.rung);
    if (rung & being_rung) return;
    if (arch::observe<scope>(&state.published) == rung) return;
    // Acquires what the last one who rang knew: an older `published` would take the doorbell back.
    if (!arch::compare_exchange_acquire<scope>(&state.rung, rung, rung | being_rung)) continue;
    const uint64_t end = arch::observe<scope>(&state.published);
    arch::pass_on();
    ring(end);
    arch::publish<scope>(&state.rung, end);
  }
}

/// Announces what is published and not yet announced (deferred ringing). Any lane group may call at any time;
/// `ring(end)` stores the doorbell.
template <Sharing S, class Policy, class Ring>
XIO_DEVICE_INLINE void flush(QueueState& state, uint64_t group, Ring ring) {
  if constexpr (Policy::ringing != Ringing::deferred) {
    return;
  } else if constexpr (!is_shared<S>) {
    const uint64_t end = state.reserved;
    if (state.rung == end) return;
    release_entries<Policy>();
    before_writing<S>(group);
    if (leads<S>(group)) ring(end);
    state.rung = end;
  } else {
    // Each of the lanes may have published for itself before.
    arch::converge(group);
    if (leads<S>(group)) announce<S>(state, ring);
  }
}

/// Waits until all earlier tickets are published; false where the policy's limit passes: an owner is gone. One lane
/// calls.
template <Sharing S, class Policy>
XIO_DEVICE_INLINE bool await_turn(QueueState& state, uint64_t first) {
  constexpr arch::Scope scope = state_scope<S>;
  if (arch::observe<scope>(&state.published) == first) return true;
  const auto look = [&] {
    return arch::load<scope>(&state.published) == first || arch::load<scope>(&state.broken) != 0;
  };
  const bool failed =
      !poll_until(look, deadline(Duration{Policy::turn_limit_ns})).is_ok() || arch::load<scope>(&state.broken) != 0;
  arch::order_loads<scope>();
  return !failed;
}

/// In place of what must be done in the order of tickets: nothing.
struct NoStamp {
  static constexpr bool needed = false;
  XIO_HOST_DEVICE void operator()() const {}
};

/// Publishes the entries of a claim in ticket order and rings as the policy says. All lanes of `group` call.
///
/// `stamp()` does what depends on all earlier operations; all lanes call it, in their turn and before the release.
/// Returns Status::broken where an earlier ticket was not published within the policy's limit: its owner is gone.
template <Sharing S, class Policy, class Ring, class Stamp = NoStamp>
XIO_DEVICE_INLINE Status publish(QueueState& state, uint64_t group, Claim claim, Ring ring, Stamp stamp = Stamp()) {
  const uint64_t end = claim.first + claim.count;
  uint64_t rung = 0;
  if constexpr (!is_shared<S> && Policy::ringing == Ringing::deferred) rung = state.rung;
  if constexpr (S != Sharing::thread) arch::converge(group);
  if constexpr (!is_shared<S>) {
    if constexpr (Stamp::needed) {
      stamp();
      if constexpr (S != Sharing::thread) arch::converge(group);
    }
    state.reserved = end;
    if constexpr (Policy::ringing == Ringing::deferred) {
      if (end - rung < Policy::ring_every) return Status::ok;
      release_entries<Policy>();
      if (leads<S>(group)) ring(end);
      state.rung = end;
    } else {
      release_entries<Policy>();
      if (leads<S>(group)) ring(end);
    }
    return Status::ok;
  } else {
    constexpr arch::Scope scope = state_scope<S>;
    bool failed = false;
    if constexpr (Stamp::needed) {
      if (leads<S>(group)) failed = !await_turn<S, Policy>(state, claim.first);
      if (!any<S>(group, failed)) stamp();
      arch::converge(group);
    }
    release_entries<Policy>();
    if (leads<S>(group)) {
      if constexpr (!Stamp::needed) failed = !await_turn<S, Policy>(state, claim.first);
      if (!failed) {
        // In its turn a wave is alone: rings are in order, because the next turn begins after this ring is performed.
        // The doorbell covers earlier turns, too; a stamp is followed by a release that takes their entries along.
        const bool rings = Policy::ringing == Ringing::immediate ||
                           (Policy::ringing == Ringing::coalesced && arch::load<scope>(&state.reserved) == end);
        if (rings) {
          if constexpr (!Stamp::needed) arch::pass_on();
          ring(end);
        }
        arch::publish<scope>(&state.published, end);
        if constexpr (Policy::ringing == Ringing::deferred) {
          if (end - (arch::load<scope>(&state.rung) & ~being_rung) >= Policy::ring_every) announce<S>(state, ring);
        }
      } else {
        arch::store<scope>(&state.broken, 1u);
      }
    }
    return any<S>(group, failed) ? Status::broken : Status::ok;
  }
}

}  // namespace protocol

XIO_NAMESPACE_END
