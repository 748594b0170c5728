// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Publishing entries and ringing for them without waiting for other waves. Independent of vendors.
///
/// The tail of a shared queue is the number of entries that the device may fetch: all entries before it are complete.
/// The wave whose claim begins at the tail advances it. Any other wave leaves a *link* at the ring slot of its first
/// ticket, which holds the end of its claim, and returns; the wave that advances the tail follows all links from there.
/// A wave that is stopped between claim and publication thus delays later entries of the ring, but no wave waits for it
/// here.
///
/// Doorbells combine. A wave that advances the tail while no other wave rings becomes the ringer: it stores the
/// doorbell, waits until the store is performed, and clears the ringing bit. If the tail has advanced meanwhile, it
/// rings again. Doorbell values therefore never decrease, one store is in progress at a time, and entries published
/// during it are announced by the next.
///
/// A link holds the end of a claim as a ticket. At the tail it belongs to the claim that begins there if it is at most
/// `depth` tickets ahead: the end of an earlier lap lies before the tail, that of a later lap more than a ring ahead.
/// Links are never cleared.

#include <xio/device/queue/claim.hpp>

XIO_NAMESPACE_BEGIN

namespace protocol {
/// @addtogroup kernel_queue
/// @{

/// Bit of QueueState::tail: a wave is ringing.
constexpr uint64_t ringing_bit = 1;
/// Bit of QueueState::tail: published entries are not announced, and the first wave to see this rings. Left by a wave
/// that has rung for others often enough.
constexpr uint64_t owed_bit = uint64_t{1} << 63;

/// Number of published entries in a value of QueueState::tail.
XIO_HOST_DEVICE constexpr uint64_t published(uint64_t tail) { return (tail & ~owed_bit) >> 1; }

/// Makes this wave's entries visible to the device, as the policy requires. Its loads have been performed, too: the
/// device may write the memory that they read.
template <class Policy>
XIO_DEVICE_INLINE void release_entries() {
  if constexpr (Policy::publication == Publication::release || !arch::has_write_through) {
    arch::release_system<Policy::in_gpu_memory>();
  } else {
    arch::wait_accesses<Policy::in_gpu_memory>();
  }
}

/// End of the claim that begins at `tail` if it is linked; else `tail`.
template <class Bell>
XIO_DEVICE_INLINE uint64_t link_of(const Bell& bell, uint64_t tail) {
  const uint64_t end = arch::observe<state_scope<Bell::sharing>>(&bell.link(tail));
  return end - tail - 1 < bell.depth ? end : tail;  // bound: links within the depth
}

/// End of the claims from `tail` on that are linked without a gap; `tail` if there is none, or not `follows`.
template <class Bell>
XIO_DEVICE_INLINE uint64_t linked_end(const Bell& bell, uint64_t tail, bool follows, Actors<Bell::sharing> one) {
  // More than `depth` tickets can be linked only if another wave has moved the tail: the exchange fails then.
  uint32_t claims = 0;
  do {
    if (follows) {
      const uint64_t end = link_of(bell, tail);
      follows = end != tail && ++claims < bell.depth;
      tail = end;
    }
  } while (one.go_on(follows));
  return tail;
}

/// compare_exchange_ordered() by the only active lane, which makes the value found uniform.
template <arch::Scope S>
XIO_DEVICE_INLINE bool exchange_alone(uint64_t* where, uint64_t& expected, uint64_t desired) {
  const uint64_t before = expected;
  arch::compare_exchange_ordered<S>(where, expected, desired);
  expected = arch::uniform(expected);
  return expected == before;
}

/// How a shared queue is used, on which all its users must agree: more than has_abandoned.
template <class Bell>
constexpr uint32_t way_of_use = 2 | (Bell::sharing == Sharing::block ? 4 : 0) |
                                (Bell::Policy::ringing == Ringing::deferred ? 8 : 0) | Bell::kind << 4;

/// Notes how the caller uses a shared queue; marks it as broken if others use it in another way. One lane calls.
template <class Bell>
XIO_DEVICE_INLINE void check_use(const Bell& bell) {
  constexpr arch::Scope scope = state_scope<Bell::sharing>;
  QueueState& state = *bell.state;
  const uint32_t found = arch::load<scope>(&state.way_of_use);
  if (XIO_LIKELY(found == way_of_use<Bell>)) return;
  // Of two that come at once, one finds what the other has stored when it comes again.
  arch::store<scope>(found <= has_abandoned ? &state.way_of_use : &state.broken, way_of_use<Bell>);
}

/// Advances the tail over all linked claims of any wave and rings as the policy requires. One lane calls.
///
/// @param tail  QueueState::tail as it was observed
/// @param rings whether the caller owns the ringing bit, and clears it
template <class Bell>
XIO_LEAF XIO_DEVICE void advance(Bell bell, uint64_t tail, bool rings, Actors<Bell::sharing> one) {
  constexpr arch::Scope scope = state_scope<Bell::sharing>;
  constexpr bool at_once = Bell::Policy::ringing != Ringing::deferred;
  uint64_t* const where = &bell.state->tail;
  bool goes_on = one.acts();
  for (uint32_t doorbells = 0; one.go_on(goes_on);) {
    const bool enough = doorbells >= Bell::Policy::most_doorbells;  // bound: doorbells in a row
    uint64_t next = 0;
    const bool follows = goes_on && !(at_once && rings);
    if (goes_on && !follows) {
      next = tail & ~ringing_bit;
      if (enough) {
        next |= owed_bit;
      } else {
        arch::pass_on<Bell::Policy::in_gpu_memory>();
        bell.ring(published(tail), bell.head(published(tail)));
        // Performed before anybody else may ring.
        arch::wait_before_exchange();
        ++doorbells;
      }
    }
    const uint64_t end = linked_end(bell, published(tail), follows, one);
    if (follows) {
      if (end == published(tail) && !(at_once && (tail & owed_bit) != 0)) {
        // A wave that waits, and helps in vain.
        if (Bell::checks_use && doorbells == 0) check_use(bell);
        goes_on = false;
      }
      next = end << 1 | (tail & ringing_bit);
      if (at_once && next % 2 == 0) next |= enough ? owed_bit : ringing_bit;
    }
    // It passes on what the links' owners released. If it fails while this wave rings, others published more.
    const uint64_t before = tail;
    const bool moved = goes_on && exchange_alone<scope>(where, tail, next);
    if (moved) {
      tail = next;
      rings = (next & ~before & ringing_bit) != 0;  // check: nobody else rings
    }
    if constexpr (at_once) {
      const bool owes = moved && (next & owed_bit) != 0;
      // Under contention another wave sees the bit by now.
      XIO_ROLLED for (uint32_t look = 0; one.go_on(owes && look < 4 && (tail & owed_bit) != 0); ++look) {
        if (owes && (tail & owed_bit) != 0) tail = arch::uniform(arch::observe<scope>(where));
      }
      if (owes) {
        goes_on = (tail & owed_bit) != 0;
        doorbells = 0;  // check: somebody saw the bit
      }
    }
  }
}

/// Announces entries that a shared queue has published and not yet announced (deferred ringing). One lane calls.
template <class Bell>
XIO_LEAF XIO_DEVICE void announce(Bell bell) {
  constexpr arch::Scope scope = state_scope<Bell::sharing>;
  QueueState& state = *bell.state;
  uint64_t tail = arch::uniform(arch::observe<scope>(&state.tail));
  for (;;) {
    // check: not announced yet. The ringer finds that more was published when it clears the bit.
    if ((tail & ringing_bit) != 0 || arch::uniform(arch::load<scope>(&state.rung)) == published(tail)) return;
    if (!exchange_alone<scope>(&state.tail, tail, tail | ringing_bit)) continue;
    tail |= ringing_bit;
    bool last = false;
    for (uint32_t in_a_row = 1; !last; ++in_a_row) {
      const uint64_t end = published(tail);
      // check: not announced yet
      if (arch::uniform(arch::load<scope>(&state.rung)) != end) {
        arch::pass_on<Bell::Policy::in_gpu_memory>();
        bell.ring(end, bell.head(end));
        arch::store<scope>(&state.rung, end);  // order: rung before bit
      }
      // order: doorbell before bit. Both stores are performed before anybody else may ring.
      arch::wait_before_exchange();
      if (exchange_alone<scope>(&state.tail, tail, tail & ~ringing_bit)) return;  // check: more was published
      last = in_a_row >= Bell::Policy::most_doorbells;
    }
    // Other waves keep publishing: under contention one of them announces it by now.
    while (!exchange_alone<scope>(&state.tail, tail, tail & ~ringing_bit)) {
    }
    for (uint32_t look = 0; look < 4; ++look) tail = arch::uniform(arch::observe<scope>(&state.tail));
  }
}

/// Completes the work of a wave that was stopped in the middle of it. Waiting lanes call it from time to time.
/// @tparam Announces whether deferred entries are announced, too
template <bool Announces = true, class Engine>
XIO_DEVICE_INLINE void help(const Engine& engine, Group<Engine::sharing> group) {
  if constexpr (is_shared<Engine::sharing>) {
    let_act(group, group.leads(), [&](Actors<Engine::sharing> one) XIO_INLINE_LAMBDA {
      uint64_t tail = 0;
      if (one.acts()) tail = arch::observe<state_scope<Engine::sharing>>(&engine.state().tail);
      advance(engine.bell(), tail, false, one);
      // check: a stopped wave announced
      if constexpr (Announces && Engine::Policy::ringing == Ringing::deferred) {
        if (one.acts()) announce(engine.bell());
      }
    });
  }
}

/// Announces entries that are published and not yet announced (deferred ringing). Any group may call at any time.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE void ring_deferred(const Engine& engine, Group<S> group) {
  using Policy = typename Engine::Policy;
  if constexpr (Policy::ringing != Ringing::deferred) {
    return;
  } else if constexpr (!is_shared<S>) {
    QueueState& state = engine.state();
    const uint64_t end = tickets(engine.claims());
    if (state.rung == end) return;
    release_entries<Policy>();
    group.before_writing();
    if (group.leads()) engine.bell().ring(end, engine.bell().head(end));
    state.rung = end;
  } else {
    // Each lane may have published on its own before.
    group.converge();
    if (group.leads()) announce(engine.bell());
  }
}

/// ring_deferred() by a caller that finds no room, unless so much is announced and in flight that some of it will be
/// reported: in a queue that stays full, each post would ring otherwise.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE void ring_for_room(const Engine& engine, Group<S> group) {
  if constexpr (Engine::Policy::ringing == Ringing::deferred) {
    const QueueState& state = engine.state();
    // Negative where a device has completed what it was not told of.
    const auto in_flight = static_cast<int64_t>(read<S>(state.rung) - read_retired<S>(state));
    if (group.any(in_flight < engine.reported_after())) ring_deferred(engine, group);
  }
}

/// publish() of an exclusive queue, whose state has no other writers.
template <class Engine>
XIO_DEVICE_INLINE void publish_alone(const Engine& engine, Group<Engine::sharing> group, uint64_t end, uint64_t head) {
  using Policy = typename Engine::Policy;
  constexpr bool at_once = Policy::ringing != Ringing::deferred;
  QueueState& state = engine.state();
  const uint64_t rung = at_once ? 0 : state.rung;
  group.converge();
  engine.claims() = end;
  if (!at_once && end - rung < Policy::ring_every) return;
  release_entries<Policy>();                         // order: entries before doorbell
  if (group.leads()) engine.bell().ring(end, head);  // check: one lane rings
  if constexpr (!at_once) state.rung = end;
}

/// Links a claim that ends at `end`, whose entries are released. Returns the tail afterwards: either it is at `first`,
/// or whoever brings it there sees the link. One lane calls.
template <class Bell>
XIO_DEVICE_INLINE uint64_t link(const Bell& bell, uint64_t first, uint64_t end, [[maybe_unused]] uint64_t head) {
  constexpr arch::Scope scope = state_scope<Bell::sharing>;
  if constexpr (Bell::has_heads) {
    bell.leave_head(end, head);
    arch::publish<scope>(&bell.link(first), end);  // order: head before link
  } else {
    arch::store<scope>(&bell.link(first), end);
  }
  // order: link before the look at the tail. Every change of the tail is an exchange, among which the look has its
  // place: those behind it acquire the link.
  arch::wait_before_exchange();
  return arch::observe_ordered<scope>(&bell.state->tail);
}

/// publish() on a shared queue whose caller calls help() afterwards, which advances the tail over the claim.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE void publish_before_help(const Engine& engine, Group<S> group, const Claim& claim, uint64_t head) {
  group.converge();
  release_entries<typename Engine::Policy>();
  if (group.leads()) (void)link(engine.bell(), claim.first, claim.first + claim.count, head);
}

/// Publishes the entries of a claim and rings as the policy requires. All lanes of `group` call.
///
/// @param head head of the claim's last entry, for doorbells that repeat it
template <class Engine, Sharing S>
XIO_DEVICE_INLINE void publish(const Engine& engine, Group<S> group, const Claim& claim, uint64_t head = 0) {
  using Policy = typename Engine::Policy;
  const uint64_t end = claim.first + claim.count;
  if constexpr (!is_shared<S>) {
    publish_alone(engine, group, end, head);
  } else {
    constexpr arch::Scope scope = state_scope<S>;
    constexpr bool at_once = Policy::ringing != Ringing::deferred;
    const auto bell = engine.bell();
    uint64_t* const where = &bell.state->tail;
    bool due = false;
    group.converge();
    // Nobody else moves the tail from the claim's begin: found there before, it still is.
    uint64_t tail = claim.tail;
    bool rings = false;
    bool more = false;
    // order: tail before release. The release then covers what earlier waves released.
    if (group.leads() && tail != claim.first << 1) tail = arch::observe<scope>(where);
    release_entries<Policy>();  // order: entries before tail
    if (group.leads()) {
      rings = at_once && tail == claim.first << 1;  // check: no gap and no ringer
      if (XIO_LIKELY(rings)) {
        // No wave moves the tail over a claim without a link, none rings, and nothing is owed: this wave owns the word.
        tail = end << 1 | ringing_bit;
        (void)arch::exchange<scope>(where, tail);  // order: bit before doorbell
        bell.ring(end, head);
        // order: doorbell before bit. Performed before anybody else may ring.
        arch::wait_before_exchange();
        rings = !arch::compare_exchange_ordered<scope>(where, tail, end << 1);  // order: bit last
        if (!rings) {
          tail = end << 1;
          more = link_of(bell, end) != end;  // check: a link behind
        } else {
          more = true;  // check: more was published
        }
      } else {
        tail = link(bell, claim.first, end, head);
        more = published(tail) == claim.first || (at_once && (tail & owed_bit) != 0);
      }
      if constexpr (!arch::lanes_stay_together) {
        if (XIO_UNLIKELY(more)) advance(bell, tail, rings, Actors<S>(group, true));
      }
      // bound: entries not announced
      if constexpr (!at_once) due = end - arch::load<scope>(&bell.state->rung) >= Policy::ring_every;
    }
    if constexpr (arch::lanes_stay_together) {
      if (XIO_UNLIKELY(group.any(more))) advance(bell, tail, rings, Actors<S>(group, more));
    }
    if constexpr (!at_once) {
      if (group.any(due)) ring_deferred(engine, group);
    }
  }
}

/// @}
}  // namespace protocol

XIO_NAMESPACE_END
