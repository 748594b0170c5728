// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Claiming tickets: room first, tickets second, so that a refused claim leaves no trace. Knows no vendor.
///
/// A ticket is the number of an operation, counted from the queue's creation. A claim of several tickets may be passed
/// by for ever by claims of one: who is refused asks the others to leave room (a wish), which they do until it is
/// served, or for a millisecond.
///
/// What is called `Device` here and in tail.hpp is how a queue appears to its protocol:
///
/// | member                                     | meaning                                                            |
/// |--------------------------------------------|--------------------------------------------------------------------|
/// | `sharing`, `Policy`, `Tickets`             | compile-time choices; PlainTickets or the like                     |
/// | `QueueState& state()`                      | the counters                                                       |
/// | `uint64_t& claims()`                       | the word that claims change: QueueState::reserved, mostly          |
/// | `uint32_t depth()`                         | most operations in flight                                          |
/// | `bool is_free(uint64_t ticket)`            | whether what a ticket uses beside the ring is free                 |
/// | `Bell bell()`                              | what it takes to publish and ring: few words, passed by value      |
///
/// | member of a Bell                           | meaning                                                            |
/// |--------------------------------------------|--------------------------------------------------------------------|
/// | `sharing`, `Policy`                        | as above                                                           |
/// | `QueueState* state`, `uint32_t depth`      | as above                                                           |
/// | `uint64_t& link(uint64_t ticket)`          | the link of a ticket's place in the ring                           |
/// | `void ring(uint64_t end, uint64_t note)`   | stores the doorbell for all entries before `end`                   |
/// | `has_notes`                                | whether a doorbell says more than `end`                            |
/// | `uint64_t note(uint64_t end)`              | … what, where others published the entries                         |
/// | `void leave_note(uint64_t end, note)`      | … tells them                                                       |

#include <xio/device/queue/state.hpp>

XIO_NAMESPACE_BEGIN

namespace protocol {

/// Tickets `first` to `first + count - 1`, or none.
struct Claim {
  uint64_t first;
  uint32_t count;
  uint64_t word;  ///< that the claim changed, as it was before
};

/// Tickets claimed so far.
template <class Device>
XIO_DEVICE_INLINE uint64_t claimed(const Device& device) {
  const uint64_t word = read<Device::sharing>(device.claims());
  return Device::Tickets::ticket(word, read<Device::sharing>(device.state().retired));
}

/// The same, to compare with; less than any ticket where the queue is broken and nobody shares it.
template <class Device>
XIO_DEVICE_INLINE int64_t claimed_or_broken(const Device& device) {
  return static_cast<int64_t>(is_shared<Device::sharing> ? claimed(device) : device.claims());
}

/// The same: at least those that any lane of the group knows of, whoever of them reads the word.
template <class Device>
XIO_DEVICE_INLINE uint64_t claimed_by_all(const Device& device, Group<Device::sharing> group) {
  group.converge();
  return group.from_leader(claimed(device));
}

/// How many of the tickets `first`, `first + 1`, … up to `count` may be used now.
template <class Device>
XIO_DEVICE_INLINE uint32_t leading_free(const Device& device, Group<Device::sharing> group, uint64_t first,
                                        uint32_t count) {
  const uint32_t lanes = group.lanes();
  for (uint32_t base = 0; base < count; base += lanes) {
    const uint32_t mine = base + group.rank();
    // Lanes beyond the count look at the first ticket's slot again.
    const uint64_t busy = group.members(!device.is_free(first + (mine < count ? mine : 0)));
    if (XIO_UNLIKELY(busy != 0)) {
      const uint32_t free_ones = base + group.before(busy);
      return free_ones < count ? free_ones : count;
    }
  }
  return count;
}

/// What seldom happens to a claim needs the counters and the word that claims change; these are called, and exist once
/// in a kernel. One lane calls.
template <Sharing S>
struct ClaimWord {
  static constexpr arch::Scope scope = state_scope<S>;
  /// A wish's time is 48 bits of the clock, which go round in days at least.
  static constexpr uint64_t time_bits = ~uint64_t{0} >> 16;

  /// Sets and clears bits that are not the ticket's.
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

  /// How many operations may be in flight for a claim that found `now`, which has flags.
  /// @param own what the caller itself has written into QueueState::wish; 0: nothing
  XIO_LEAF XIO_DEVICE static uint32_t allowed(QueueState* state, uint64_t* word, uint32_t depth, uint64_t now,
                                              uint64_t own) {
    if ((now & broken_bit) != 0) return 0;
    uint64_t wish = arch::load<scope>(&state->wish);
    if (wish != 0 && wish == own) return depth;
    const bool over = wish != 0 && is_over(wish);
    if (over && !arch::compare_exchange<scope>(&state->wish, wish, uint64_t{0})) return 0;  // renewed: look again
    if (over || wish == 0) {
      // Should a new one be there by now, its owner sets the bit again.
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
    // One's own is renewed in its second half; one that is over is anybody's.
    if (there != 0 && there == own && ((now + hold / 2 - (there >> 16)) & time_bits) > time_bits / 2) {
      answer = own;
    } else if (there == 0 || there == own || is_over(there)) {
      const uint64_t wish = ((now + hold) & time_bits) << 16 | (count < 0xffff ? count : 0xffff);
      if (arch::compare_exchange<scope>(&state->wish, there, wish)) answer = wish;
    }
    // Who took back an older one may have cleared it.
    if (answer != 0) change_flags(word, wish_bit, 0);
    return answer;
  }

  XIO_LEAF XIO_DEVICE static void take_back(QueueState* state, uint64_t* word, uint64_t own) {
    if (arch::compare_exchange<scope>(&state->wish, own, uint64_t{0})) change_flags(word, 0, wish_bit);
  }
};

/// The queue refuses from now on. All lanes of `group` call.
template <class Device, Sharing S>
XIO_DEVICE_INLINE void break_queue(const Device& device, Group<S> group) {
  if constexpr (is_shared<S>) {
    if (group.leads()) ClaimWord<S>::break_queue(&device.state(), &device.claims(), Device::Tickets::breaks);
  } else {
    const bool again = (device.claims() & broken_bit) != 0;
    group.before_writing();
    device.state().broken = 1;
    if (!again) device.claims() ^= Device::Tickets::breaks;
  }
}

/// Takes up to `wanted` tickets where there is room for `least`, or none at all: all of `wanted` where that is not
/// more. All lanes of `group` call and get the same claim.
template <class Device, Sharing S>
XIO_DEVICE_INLINE Claim claim_now(const Device& device, Group<S> group, uint32_t wanted, uint32_t least,
                                  typename Device::Tickets::Step step = {}, uint64_t wish = 0) {
  using Tickets = typename Device::Tickets;
  if constexpr (!is_shared<S>) {
    const uint64_t first = device.claims();
    // In a broken queue this is more than any depth.
    const auto in_flight = static_cast<uint32_t>(first - device.state().retired);
    if constexpr (S == Sharing::thread) {
      // Both in one test: a branch costs more than a look at a slot that there was no need to look at.
      if (!(static_cast<int>(in_flight < device.depth()) & static_cast<int>(device.is_free(first))))
        return {first, 0, 0};
      if (wanted == 1 && least == 1) return {first, 1, 0};
    }
    const uint32_t room = in_flight < device.depth() ? device.depth() - in_flight : 0;
    if (XIO_UNLIKELY(room < least)) return {first, 0, 0};
    const uint32_t count = leading_free(device, group, first, wanted < room ? wanted : room);
    // Nobody else claims: publish() takes the tickets.
    return {first, count < least && count < wanted ? 0 : count, 0};
  } else {
    constexpr arch::Scope scope = state_scope<S>;
    uint64_t* const where = &device.claims();
    uint64_t word = group.from_leader(arch::load<scope>(where));
    for (;;) {
      // Not older than what it is compared with, where the word is still the same in the end.
      const uint64_t retired = group.from_leader(arch::load<scope>(&device.state().retired));
      uint32_t most = device.depth();
      if (XIO_UNLIKELY((word & ~ticket_bits) != 0)) {
        if (group.leads()) most = ClaimWord<S>::allowed(&device.state(), where, most, word, wish);
        most = group.from_leader(most);
      }
      const uint64_t first = Tickets::ticket(word, retired);
      const uint64_t in_flight = first - retired;
      const uint32_t room = in_flight < most ? most - static_cast<uint32_t>(in_flight) : 0;
      uint32_t count = 0;
      if (XIO_LIKELY(room >= least)) count = leading_free(device, group, first, wanted < room ? wanted : room);
      uint64_t found = word;
      if (XIO_UNLIKELY(count < least && count < wanted)) {
        found = group.from_leader(arch::load<scope>(where));
        if (found == word) return {first, 0, 0};
      } else {
        bool taken = false;
        if (group.leads()) taken = arch::compare_exchange<scope>(where, found, Tickets::after(word, count, step));
        if (group.any(taken)) return {first, count, word};
        found = group.from_leader(found);
      }
      word = found;
    }
  }
}

/// Asks the others to leave room for `count` tickets, where nobody else asks. Returns what it wrote, which is to be
/// passed to claim_now() and take_back(); 0 where somebody else asks. All lanes of `group` call, again and again until
/// they are served.
/// @param own what the caller's last call returned
template <class Device>
XIO_DEVICE_INLINE uint64_t make_wish(const Device& device, Group<Device::sharing> group, uint32_t count, uint64_t own) {
  uint64_t answer = 0;
  if (group.leads()) {
    answer = ClaimWord<Device::sharing>::make_wish(&device.state(), &device.claims(), count, own);
  }
  return group.from_leader(answer);
}

template <class Device>
XIO_DEVICE_INLINE void take_back(const Device& device, Group<Device::sharing> group, uint64_t own) {
  if (group.leads()) ClaimWord<Device::sharing>::take_back(&device.state(), &device.claims(), own);
}

}  // namespace protocol

XIO_NAMESPACE_END
