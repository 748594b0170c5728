// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Claiming tickets: space is checked first and tickets are taken second, so that a refused claim leaves no
/// trace. Independent of vendors.
///
/// A ticket is the number of an operation, counted from the queue's creation. Claims of one ticket can starve a claim
/// of several. A refused waiter therefore writes a reservation request (`wish`): other claims leave it space until it
/// is served, or for a millisecond.
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
/// | `void ring(uint64_t end, uint64_t note)`   | stores the doorbell for all entries before `end`                   |
/// | `has_notes`                                | whether a doorbell carries a note in addition to `end`             |
/// | `uint64_t note(uint64_t end)`              | … the note, if another wave published the entries                  |
/// | `void leave_note(uint64_t end, note)`      | … stores the note for other waves                                  |

#include <xio/device/queue/state.hpp>

XIO_NAMESPACE_BEGIN

namespace protocol {
/// @addtogroup kernel_queue
/// @{

/// Tickets `first` to `first + count - 1`, or none.
struct Claim {
  uint64_t first;
  uint32_t count;
  uint64_t word;  ///< claim word before the claim
};

/// Tickets claimed so far.
template <class Engine>
XIO_DEVICE_INLINE uint64_t claimed(const Engine& engine) {
  const uint64_t word = read<Engine::sharing>(engine.claims());
  return Engine::Tickets::ticket(word, read<Engine::sharing>(engine.state().retired));
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
  const uint32_t lanes = group.lanes();
  for (uint32_t base = 0; base < count; base += lanes) {
    const uint32_t mine = base + group.rank();
    // Lanes beyond the count check the first ticket's slot again.
    const uint64_t busy = group.members(!engine.is_free(first + (mine < count ? mine : 0)));
    if (XIO_UNLIKELY(busy != 0)) {
      const uint32_t free_ones = base + group.before(busy);
      return free_ones < count ? free_ones : count;
    }
  }
  return count;
}

/// Rare paths of a claim, which use the counters and the claim word. They are called, and exist once per kernel. One
/// lane calls.
template <Sharing S>
struct ClaimWord {
  static constexpr arch::Scope scope = state_scope<S>;
  /// The time of a reservation request is 48 bits of the clock, which take at least days to wrap.
  static constexpr uint64_t time_bits = ~uint64_t{0} >> 16;

  /// Sets and clears bits other than the ticket's.
  XIO_DEVICE_INLINE static void change_flags(uint64_t* word, uint64_t set, uint64_t clear) {
    uint64_t now = arch::load<scope>(word);
    while (((now | set) & ~clear) != now && !arch::compare_exchange<scope>(word, now, (now | set) & ~clear)) {
    }
  }

  XIO_DEVICE_INLINE static bool is_over(uint64_t wish) {
    return ((arch::clock() - (wish >> 16)) & time_bits) < time_bits / 2;
  }

  XIO_DEVICE_INLINE static void break_queue(QueueState* state, uint64_t* word, uint64_t bits) {
    arch::store<scope>(&state->broken, 1u);
    uint64_t now = arch::load<scope>(word);
    while ((now & broken_bit) == 0 && !arch::compare_exchange<scope>(word, now, now ^ bits)) {
    }
  }

  /// Number of operations that may be in flight for a claim that found `now`, which has flags.
  /// @param own reservation request that the caller wrote to QueueState::wish; 0: none
  XIO_LEAF XIO_DEVICE static uint32_t allowed(QueueState* state, uint64_t* word, uint32_t depth, uint64_t now,
                                              uint64_t own) {
    if ((now & broken_bit) != 0) return 0;
    uint64_t wish = arch::load<scope>(&state->wish);
    if (wish != 0 && wish == own) return depth;
    const bool over = wish != 0 && is_over(wish);
    if (over && !arch::compare_exchange<scope>(&state->wish, wish, uint64_t{0})) return 0;  // renewed: check again
    if (over || wish == 0) {
      // If a new request exists by now, its owner sets the bit again.
      change_flags(word, 0, wish_bit);
      return depth;
    }
    const auto held = static_cast<uint32_t>(wish & 0xffff);
    return held < depth ? depth - held : 0;
  }

  XIO_LEAF XIO_DEVICE static uint64_t make_wish(QueueState* state, uint64_t* word, uint32_t count, uint64_t own) {
    constexpr uint64_t hold = arch::clock_hz / 1000;
    const uint64_t now = arch::clock();
    uint64_t there = arch::load<scope>(&state->wish);
    uint64_t answer = 0;
    // The caller's request is renewed in the second half of its time; an expired one may be replaced by any caller.
    if (there != 0 && there == own && ((now + hold / 2 - (there >> 16)) & time_bits) > time_bits / 2) {
      answer = own;
    } else if (there == 0 || there == own || is_over(there)) {
      const uint64_t wish = ((now + hold) & time_bits) << 16 | (count < 0xffff ? count : 0xffff);
      if (arch::compare_exchange<scope>(&state->wish, there, wish)) answer = wish;
    }
    // The owner of an older request may have cleared the bit when it withdrew it.
    if (answer != 0) change_flags(word, wish_bit, 0);
    return answer;
  }

  XIO_LEAF XIO_DEVICE static void take_back(QueueState* state, uint64_t* word, uint64_t own) {
    if (arch::compare_exchange<scope>(&state->wish, own, uint64_t{0})) change_flags(word, 0, wish_bit);
  }
};

/// Marks the queue as broken: all later claims are refused. All lanes of `group` call.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE void break_queue(const Engine& engine, Group<S> group) {
  if constexpr (is_shared<S>) {
    if (group.leads()) ClaimWord<S>::break_queue(&engine.state(), &engine.claims(), Engine::Tickets::breaks);
  } else {
    const bool again = (engine.claims() & broken_bit) != 0;
    group.before_writing();
    engine.state().broken = 1;
    if (!again) engine.claims() ^= Engine::Tickets::breaks;
  }
}

/// compare_exchange() by the leader. Returns the value found, in all lanes: `expected`, if it was exchanged.
template <arch::Scope Scope, Sharing S>
XIO_DEVICE_INLINE uint64_t exchange_by_leader(Group<S> group, uint64_t* where, uint64_t expected, uint64_t desired) {
  uint64_t found = expected;
  if (group.leads()) arch::compare_exchange<Scope>(where, found, desired);
  return group.from_leader(found);
}

/// Claims up to `wanted` tickets if `least` fit, else none; if `wanted` is at most `least`, all of `wanted` or none.
/// All lanes of `group` call and get the same claim.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE Claim claim_now(const Engine& engine, Group<S> group, uint32_t wanted, uint32_t least,
                                  typename Engine::Tickets::Step step = {}, uint64_t wish = 0) {
  using Tickets = typename Engine::Tickets;
  if constexpr (!is_shared<S>) {
    const uint64_t first = engine.claims();
    // In a broken queue this exceeds any depth.
    const auto in_flight = static_cast<uint32_t>(first - engine.state().retired);
    if constexpr (S == Sharing::thread) {
      // Both in one test: a branch costs more than an unnecessary check of a slot.
      if (!(static_cast<int>(in_flight < engine.depth()) & static_cast<int>(engine.is_free(first))))
        return {first, 0, 0};
      if (wanted == 1 && least == 1) return {first, 1, 0};
    }
    const uint32_t room = in_flight < engine.depth() ? engine.depth() - in_flight : 0;
    if (XIO_UNLIKELY(room < least)) return {first, 0, 0};
    const uint32_t count = leading_free(engine, group, first, wanted < room ? wanted : room);
    // There are no other claimants: publish() takes the tickets.
    return {first, count < least && count < wanted ? 0 : count, 0};
  } else {
    constexpr arch::Scope scope = state_scope<S>;
    uint64_t* const where = &engine.claims();
    uint64_t word = group.from_leader(arch::load<scope>(where));
    // Older than the word, it only says that there is less room; but tickets that wrap it would complete wrongly.
    uint64_t retired = group.from_leader(arch::load<scope>(&engine.state().retired));
    for (;;) {
      uint32_t most = engine.depth();
      if (XIO_UNLIKELY((word & ~ticket_bits) != 0)) {
        if (group.leads()) most = ClaimWord<S>::allowed(&engine.state(), where, most, word, wish);
        most = group.from_leader(most);
      }
      const uint64_t first = Tickets::ticket(word, retired);
      const uint64_t in_flight = first - retired;
      const uint32_t room = in_flight < most ? most - static_cast<uint32_t>(in_flight) : 0;
      uint32_t count = 0;
      if (XIO_LIKELY(room >= least)) count = leading_free(engine, group, first, wanted < room ? wanted : room);
      const uint64_t before = word;
      if (XIO_UNLIKELY(count < least && count < wanted)) {
        const uint64_t older = retired;
        word = group.from_leader(arch::load<scope>(where));
        retired = group.from_leader(arch::load<scope>(&engine.state().retired));
        if (word == before && retired == older) return {first, 0, 0};
      } else {
        word = exchange_by_leader<scope>(group, where, before, Tickets::after(before, count, step));
        if (word == before) return {first, count, before};
        if constexpr (Tickets::wraps) retired = group.from_leader(arch::load<scope>(&engine.state().retired));
      }
    }
  }
}

/// Writes a reservation request for `count` tickets unless another one exists. Returns what it wrote, to be passed to
/// claim_now() and take_back(); 0 if another request exists. All lanes of `group` call, repeatedly, until they are
/// served.
/// @param own result of the caller's last call
template <class Engine>
XIO_DEVICE_INLINE uint64_t make_wish(const Engine& engine, Group<Engine::sharing> group, uint32_t count, uint64_t own) {
  uint64_t answer = 0;
  if (group.leads()) {
    answer = ClaimWord<Engine::sharing>::make_wish(&engine.state(), &engine.claims(), count, own);
  }
  return group.from_leader(answer);
}

template <class Engine>
XIO_DEVICE_INLINE void take_back(const Engine& engine, Group<Engine::sharing> group, uint64_t own) {
  if (group.leads()) ClaimWord<Engine::sharing>::take_back(&engine.state(), &engine.claims(), own);
}

/// @}
}  // namespace protocol

XIO_NAMESPACE_END
