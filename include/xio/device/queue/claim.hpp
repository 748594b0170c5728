// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Claiming tickets: space is checked first and tickets are taken second, so that a refused claim leaves no
/// trace. Independent of vendors.
///
/// A ticket is the number of an operation, counted from the queue's creation. Claims of one ticket can starve a claim
/// of several. A refused waiter therefore writes a reservation: other claims leave it space until it is served, or for
/// a millisecond.
///
/// An `Engine`, here and in tail.hpp, is the interface of a queue to its protocol:
///
/// | member                                     | meaning                                                            |
/// |--------------------------------------------|--------------------------------------------------------------------|
/// | `sharing`, `Policy`, `Tickets`             | compile-time choices; `Tickets` is PlainTickets or similar         |
/// | `QueueState& state()`                      | the counters                                                       |
/// | `uint64_t& claims()`                       | the claim word: usually QueueState::reserved                       |
/// | `uint32_t depth()`                         | maximum number of operations in flight                             |
/// | `bool is_free(uint64_t ticket)`            | whether the ticket's resources other than its ring entry are free  |
/// | `Bell bell()`                              | what publishing and ringing need: few words, passed by value       |
///
/// | member of a Bell                           | meaning                                                            |
/// |--------------------------------------------|--------------------------------------------------------------------|
/// | `sharing`, `Policy`                        | as above                                                           |
/// | `QueueState* state`, `uint32_t depth`      | as above                                                           |
/// | `uint64_t& link(uint64_t ticket)`          | the link at the ticket's ring slot                                 |
/// | `void ring(uint64_t end, uint64_t head)`   | stores the doorbell for all entries before `end`                   |
/// | `checks_use`                               | whether users who use a shared queue in several ways are noticed   |
/// | `kind`                                     | number of what else all users of a shared queue must agree about   |
/// | `has_heads`                                | whether a doorbell repeats an entry's head, its first 8 bytes      |
/// | `uint64_t head(uint64_t end)`              | … the head of the entry before `end`, which any wave published     |
/// | `void leave_head(uint64_t end, head)`      | … stores it for other waves                                        |

#include <xio/device/queue/state.hpp>

XIO_NAMESPACE_BEGIN

namespace protocol {
/// @addtogroup kernel_queue
/// @{

/// Not a value of QueueState::tail.
constexpr uint64_t unread_tail = ~uint64_t{0};

/// Tickets `first` to `first + count - 1`, or none.
struct Claim {
  uint64_t first;
  uint32_t count;
  uint64_t word;                ///< claim word before the claim
  uint64_t tail = unread_tail;  ///< shared queues: QueueState::tail, as the leader has loaded it before the claim
};

/// Tickets claimed so far.
template <class Engine>
XIO_DEVICE_INLINE uint64_t claimed(const Engine& engine) {
  const uint64_t word = read<Engine::sharing>(engine.claims());
  return Engine::Tickets::ticket(word, read_retired<Engine::sharing>(engine.state()));
}

/// claimed(), including every claim that an earlier load of the caller depends on. A load of the word would not do: who
/// stored what the caller has loaded need not have released the claim.
template <class Engine>
XIO_DEVICE_INLINE uint64_t claimed_until_now(const Engine& engine) {
  if constexpr (is_shared<Engine::sharing>) {
    return tickets(arch::fetch_add<state_scope<Engine::sharing>>(&engine.claims(), uint64_t{0}));
  } else {
    return claimed(engine);
  }
}

/// claimed() as a signed limit for comparisons: less than any ticket if the queue is broken and not shared.
template <class Engine>
XIO_DEVICE_INLINE int64_t claimed_or_broken(const Engine& engine) {
  return static_cast<int64_t>(is_shared<Engine::sharing> ? claimed(engine) : engine.claims());
}

/// claimed() in all lanes of the group, not less than any of them knows.
template <class Engine>
XIO_DEVICE_INLINE uint64_t claimed_by_all(const Engine& engine, Group<Engine::sharing> group) {
  group.converge();
  return group.from_leader(claimed(engine));
}

/// Number of consecutive tickets starting at `first`, up to `count`, that may be used now.
template <class Engine>
XIO_DEVICE_INLINE uint32_t leading_free(const Engine& engine, Group<Engine::sharing> group, uint64_t first,
                                        uint32_t count) {
  if constexpr (Engine::sharing == Sharing::thread) {
    uint32_t free_ones = 0;
    while (static_cast<int>(free_ones < count) & static_cast<int>(engine.is_free(first + free_ones))) ++free_ones;
    return free_ones;
  } else {
    const uint32_t lanes = group.lanes();
    for (uint32_t base = 0; base < count; base += lanes) {
      const uint32_t mine = base + group.rank();
      // check: free identifiers. Lanes beyond the count check the first ticket's slot again.
      const uint64_t busy = group.members(!engine.is_free(first + (mine < count ? mine : 0)));
      if (XIO_UNLIKELY(busy != 0)) {
        const uint32_t free_ones = base + group.before(busy);  // bound: identifiers free in a row
        return free_ones < count ? free_ones : count;
      }
    }
    return count;
  }
}

/// The time of a reservation is 48 bits of the clock, which take at least days to wrap.
constexpr uint64_t reservation_time_bits = ~uint64_t{0} >> 16;

/// Whether the time of a reservation is over: any caller may replace it, and no claim heeds it.
XIO_DEVICE_INLINE bool is_over(uint64_t reservation, uint64_t now) {
  return ((now - (reservation >> 16)) & reservation_time_bits) < reservation_time_bits / 2;
}

/// Rare paths of a claim, which use the counters and the claim word. One lane calls.
template <Sharing S>
struct ClaimWord {
  static constexpr arch::Scope scope = state_scope<S>;

  XIO_DEVICE_INLINE static void break_queue(QueueState* state, uint64_t* word, uint64_t bits, Actors<S> one) {
    uint64_t now = 0;
    if (one.acts()) {
      arch::store<scope>(&state->broken, 1u);  // check: waiters see a broken queue
      now = arch::load<scope>(word);
    }
    bool again = one.acts();
    do {
      // check: claims see a broken queue
      if (one.acts()) again = !arch::compare_exchange<scope>(word, now, (now & broken_bit) != 0 ? now : now ^ bits);
    } while (one.go_on(again));
  }

  /// Makes a reservation for `count` tickets, or with 0 withdraws the caller's. One copy per kernel.
  /// @param own reservation that the caller wrote; 0: none
  /// @return the caller's request; 0: there is none
  XIO_LEAF XIO_DEVICE static uint64_t reserve(QueueState* state, uint64_t* word, uint32_t count, uint64_t own,
                                              Actors<S> one) {
    uint64_t next = 0;
    bool changes = one.acts();
    if (changes) changes = request(state, count, own, next);
    // The bit follows the request, later. Whoever withdraws a request may clear it after another caller has made one:
    // that one sets it again. Whoever made one may set it when the request was replaced and withdrawn: a withdrawal
    // clears it even if there is no request.
    const uint64_t bit = count != 0 ? reservation_bit : 0;
    uint64_t flags = 0;
    if (changes) flags = arch::load<scope>(word);
    bool again = changes && (flags & reservation_bit) != bit;
    while (one.go_on(again)) {
      if (again)
        again =
            !arch::compare_exchange<scope>(word, flags, flags ^ reservation_bit) && (flags & reservation_bit) != bit;
    }
    return next;
  }

 private:
  /// Writes or withdraws a request. Returns false if there is another caller's.
  XIO_DEVICE_INLINE static bool request(QueueState* state, uint32_t count, uint64_t own, uint64_t& written) {
    constexpr uint64_t hold = arch::clock_hz / 1000;
    const uint64_t now = arch::clock();
    uint64_t reservation = arch::load<scope>(&state->reservation);
    const bool mine = reservation != 0 && reservation == own;
    // Another caller's request is replaced when its time is over, and never withdrawn.
    if (reservation != 0 && !mine && (count == 0 || !is_over(reservation, now))) return false;
    uint64_t next = 0;
    if (count != 0) next = ((now + hold) & reservation_time_bits) << 16 | (count < 0xffff ? count : 0xffff);
    // The caller's request is renewed in the second half of its time.
    if (count != 0 && mine && !is_over(reservation, now + hold / 2)) next = own;
    // check: one reservation
    if (next != reservation && !arch::compare_exchange<scope>(&state->reservation, reservation, next)) return false;
    written = next;
    return true;
  }
};

/// Marks the queue as broken: all later claims are refused. All lanes of `group` call.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE void break_queue(const Engine& engine, Group<S> group) {
  if constexpr (is_shared<S>) {
    let_act(group, group.leads(), [&](Actors<S> one) XIO_INLINE_LAMBDA {
      ClaimWord<S>::break_queue(&engine.state(), &engine.claims(), Engine::Tickets::breaks, one);
    });
  } else {
    const bool again = (engine.claims() & broken_bit) != 0;
    group.before_writing();
    engine.state().broken = 1;
    if (!again) engine.claims() ^= Engine::Tickets::breaks;  // check: claims see a broken queue
  }
}

/// Number of tickets, at most the depth, that a reservation holds for another claim than that of its owner.
/// @param own the caller's request; 0: none
template <class Engine, Sharing S>
XIO_DEVICE_INLINE uint32_t reserved_for_others(const Engine& engine, Group<S> group, uint64_t own) {
  const uint64_t reservation = group.from_leader(arch::load<state_scope<S>>(&engine.state().reservation));
  const uint64_t now = group.from_leader(arch::clock());
  // check: a reservation of others
  if (reservation == 0 || reservation == own || is_over(reservation, now)) return 0;
  const uint32_t held = reservation & 0xffff;
  return held < engine.depth() ? held : engine.depth();
}

/// ClaimWord::reserve() for all lanes of `group`. A waiter repeats its request, with the result of its last
/// call as `own`, until it is served, passes it to claim_now(), and withdraws it.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE uint64_t reserve(const Engine& engine, Group<S> group, uint32_t count, uint64_t own) {
  uint64_t answer = 0;
  let_act(group, group.leads(), [&](Actors<S> one) XIO_INLINE_LAMBDA {
    answer = ClaimWord<S>::reserve(&engine.state(), &engine.claims(), count, own, one);
  });
  return group.from_leader(answer);
}

/// compare_exchange() by the leader. Returns the value found, in all lanes: `expected`, if it was exchanged.
template <arch::Scope Scope, Sharing S>
XIO_DEVICE_INLINE uint64_t exchange_by_leader(Group<S> group, uint64_t* where, uint64_t expected, uint64_t desired) {
  uint64_t found = expected;
  if (group.leads()) arch::compare_exchange<Scope>(where, found, desired);
  return group.from_leader(found);
}

/// What a claim on a shared queue depends on.
struct Room {
  uint64_t word;     ///< the claim word
  uint64_t retired;  ///< completions taken: older than the word, it only says that there is less room
  uint64_t tail;     ///< QueueState::tail, or unread_tail
};

/// Begins to load the room of a queue. Called early, the loads are over when claim_now() waits for them. Does nothing
/// where registers are worth more than that (arch::loads_ahead).
template <class Engine>
XIO_DEVICE_INLINE Room begin_claim([[maybe_unused]] const Engine& engine) {
  if constexpr (is_shared<Engine::sharing> && arch::loads_ahead) {
    constexpr arch::Scope scope = state_scope<Engine::sharing>;
    const QueueState& state = engine.state();
    return {arch::load<scope>(&engine.claims()), read_retired<Engine::sharing>(state), arch::load<scope>(&state.tail)};
  } else {
    return {0, 0, unread_tail};
  }
}

/// The leader's room: word and `retired` in all lanes, after all loads have begun.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE Room leaders_room(const Engine& engine, Group<S> group, Room room) {
  if constexpr (!arch::loads_ahead) {
    room.word = arch::load<state_scope<S>>(&engine.claims());
    room.retired = read_retired<S>(engine.state());
  }
  room.word = group.from_leader(room.word);
  room.retired = group.from_leader(room.retired);
  return room;
}

/// Claims up to `wanted` tickets if `least` fit, else none; if `wanted` is at most `least`, all of `wanted` or none.
/// All lanes of `group` call and get the same claim.
/// @param room begin_claim()
/// @tparam Several `wanted` may be more than one and is at most `least`; else a lane alone tests first whether one fits
template <bool Several = false, class Engine, Sharing S>
XIO_DEVICE_INLINE Claim claim_now(const Engine& engine, Group<S> group, [[maybe_unused]] Room room, uint32_t wanted,
                                  uint32_t least, typename Engine::Tickets::Step step = {}, uint64_t reservation = 0) {
  using Tickets = typename Engine::Tickets;
  if constexpr (!is_shared<S>) {
    const uint64_t first = engine.claims();
    // In a broken queue this exceeds any depth.
    const auto in_flight = static_cast<uint32_t>(first - engine.state().retired);
    if constexpr (S == Sharing::thread && !Several) {
      // Both in one test: a branch costs more than an unnecessary check of a slot.
      const bool one = static_cast<int>(in_flight < engine.depth()) & static_cast<int>(engine.is_free(first));
      if (wanted == 1 && least == 1) return {first, one, 0};
    }
    const uint32_t left = in_flight < engine.depth() ? engine.depth() - in_flight : 0;
    if (XIO_UNLIKELY(left < least)) return {first, 0, 0};
    // There are no other claimants: publish() takes the tickets.
    if constexpr (Several) {
      return {first, leading_free(engine, group, first, wanted) == wanted ? wanted : 0, 0};
    } else {
      const uint32_t count = leading_free(engine, group, first, wanted < left ? wanted : left);
      return {first, count < least && count < wanted ? 0 : count, 0};
    }
  } else {
    constexpr arch::Scope scope = state_scope<S>;
    Room now = leaders_room(engine, group, room);
    for (;;) {
      uint32_t most = engine.depth();
      if (XIO_UNLIKELY((now.word & ~ticket_bits) != 0)) {
        most = (now.word & broken_bit) != 0 ? 0 : most - reserved_for_others(engine, group, reservation);
      }
      const uint64_t first = Tickets::ticket(now.word, now.retired);
      const uint64_t in_flight = first - now.retired;
      const uint32_t left = in_flight < most ? most - static_cast<uint32_t>(in_flight) : 0;
      uint32_t count = 0;
      if (XIO_LIKELY(left >= least)) count = leading_free(engine, group, first, wanted < left ? wanted : left);
      const Room before = now;
      if (XIO_UNLIKELY(count < least && count < wanted)) {
        now = leaders_room(engine, group, begin_claim(engine));
        // check: the room is the same
        if (now.word == before.word && now.retired == before.retired) return {first, 0, 0};
      } else {
        // order: room before tickets
        now.word =
            exchange_by_leader<scope>(group, &engine.claims(), before.word, Tickets::after(before.word, count, step));
        if (now.word == before.word) return {first, count, before.word, now.tail};
        // order: counter after the word
        if constexpr (Tickets::wraps) now.retired = group.from_leader(read_retired<S>(engine.state()));
      }
    }
  }
}

/// One attempt of claim_now() on a shared queue for `count` tickets, or none. It fails, too, if another group claims at
/// the same time. It takes what a reservation holds: the operation is one with which others end, and so what
/// the request waits for.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE Claim claim_once(const Engine& engine, Group<S> group, Room room, uint32_t count,
                                   typename Engine::Tickets::Step step) {
  constexpr arch::Scope scope = state_scope<S>;
  using Tickets = typename Engine::Tickets;
  const Room now = leaders_room(engine, group, room);
  const uint64_t first = Tickets::ticket(now.word, now.retired);
  const bool fits = (now.word & broken_bit) == 0 && first + count - now.retired <= engine.depth();
  if (!fits || leading_free(engine, group, first, count) < count) return {first, 0, 0};
  const uint64_t found =
      exchange_by_leader<scope>(group, &engine.claims(), now.word, Tickets::after(now.word, count, step));
  return {first, found == now.word ? count : 0, now.word};
}

/// @}
}  // namespace protocol

XIO_NAMESPACE_END
