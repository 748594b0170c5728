// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Waiting for space in a queue. Independent of vendors.

#include <xio/device/queue/tail.hpp>

XIO_NAMESPACE_BEGIN

namespace protocol {
/// @addtogroup kernel_queue
/// @{

/// The loop of claim_until(). Where that makes the first attempt itself, it has failed.
template <bool Several, class Engine, class Until>
XIO_COLD XIO_DEVICE Claim claim_in_loop(const Engine& engine, Group<Engine::sharing> group, Room room, uint32_t wanted,
                                        uint32_t least, Until until, typename Engine::Tickets::Step step) {
  uint64_t own = 0;
  uint32_t taken = 1;
  bool last = IsSame<Until, Now>::value;
  for (uint32_t round = 0;; ++round) {
    Claim claim{0, 0, 0};
    if (round != 0) room = begin_claim(engine);
    if (!arch::branches_are_cheap || round != 0)
      claim = claim_now<Several>(engine, group, room, wanted, least, step, own);
    // order: doorbell before waiting. The queue may be full of entries that the device does not know of yet.
    if (claim.count == 0) ring_for_room(engine, group);
    if (XIO_LIKELY(claim.count != 0) || last) {
      if constexpr (is_shared<Engine::sharing>) {
        if (XIO_UNLIKELY(own != 0)) reserve(engine, group, 0, own);  // check: the reservation ends
      }
      return claim;
    }
    if constexpr (!IsSame<Until, Now>::value) {
      if (group.same(taken == 0)) arch::pause(round);
      const bool look = round == 0 || round % arch::looks_per_clock == arch::looks_per_clock - 1;
      // The lanes stay together: they give up at the latest of their deadlines, or when the queue is dead.
      last = look && (!group.any(!until.passed()) || group.any(engine.is_dead()));
      if constexpr (is_shared<Engine::sharing>) {
        if (look && round != 0) help<false>(engine, group);
        if (Engine::reserves_room && look && least > 1) own = reserve(engine, group, least, own);
      }
      taken = engine.drain(group);
    }
  }
}

/// Claims like claim_now(); while the queue is full, announces pending entries and takes completions. With Now it does
/// not wait.
///
/// In addition to the members that tail.hpp needs, the engine has `uint32_t drain(group)`, which takes completions and
/// returns how many, `bool is_dead()`: whether posted operations will never be executed, `reserves_room`: whether
/// claims of several tickets make reservations, because completions alone free tickets, and
/// `int64_t reported_after()`: the number of tickets in flight of which the device reports at least one.
template <bool Several = false, class Engine, class Until>
XIO_DEVICE_INLINE Claim claim_until(const Engine& engine, Group<Engine::sharing> group, Room room, uint32_t wanted,
                                    uint32_t least, Until until, typename Engine::Tickets::Step step = {}) {
  if constexpr (arch::branches_are_cheap) {
    const Claim claim = claim_now<Several>(engine, group, room, wanted, least, step);
    if (XIO_LIKELY(claim.count != 0)) return claim;
    if constexpr (!IsSame<Until, Now>::value) {
      // Waiting is a call, so that the registers that it needs are not saved by each post.
      const Claim late = claim_in_loop<Several>(engine, group, room, wanted, least, until, step);
      return {late.first, late.count, late.word, late.tail};
    }
    ring_for_room(engine, group);  // order: doorbell before refusing
    return claim;
  }
  return claim_in_loop<Several>(engine, group, room, wanted, least, until, step);
}

/// @}
}  // namespace protocol

XIO_NAMESPACE_END
