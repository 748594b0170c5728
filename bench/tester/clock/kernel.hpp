// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The kernel of clock-test: threads read their clocks in an order that a word in memory gives them.

#include <xio/device/arch/arch.hpp>
#include <xio/device/core/deadline.hpp>

namespace tester {

/// One reading, with its place in the order of all.
struct ClockEntry {
  uint64_t sequence;
  uint64_t tick;
};

/// What the threads share. All of it lies in memory that every side reaches coherently.
struct ClockProbe {
  uint64_t* sequence;   ///< number of the next reading
  uint64_t* arrived;    ///< threads that are at work
  uint64_t threads;     ///< that are waited for before the first reading
  ClockEntry* entries;  ///< of all threads, `per_thread` each
  uint64_t* made;       ///< readings that each thread has made
  uint64_t per_thread;
  uint64_t limit_ticks;  ///< of the thread's own clock; then it ends with what it has
};

/// Reads the clock of thread `number` again and again. A reading counts where nobody made one between the thread's look
/// at the word and its own: then the one with the higher number was made later, and must not show less.
/// @tparam Fenced  read by arch::fenced_clock(), else by arch::clock(), which may be read before the word is
template <bool Fenced>
XIO_DEVICE_INLINE void collect_clocks(const ClockProbe& probe, uint32_t number) {
  namespace arch = xio::arch;
  constexpr auto system = arch::Scope::system;
  const xio::Deadline until{arch::clock() + probe.limit_ticks};
  arch::fetch_add<system>(probe.arrived, uint64_t{1});
  (void)xio::wait_until(probe.arrived, probe.threads, until);
  ClockEntry* const mine = probe.entries + probe.per_thread * number;
  uint64_t made = 0;
  for (uint64_t looks = 1; made < probe.per_thread; ++looks) {
    uint64_t sequence = arch::load<system>(probe.sequence);
    const uint64_t expected = sequence;
    const uint64_t tick = Fenced ? arch::fenced_clock() : arch::clock();
    if (arch::compare_exchange<system>(probe.sequence, sequence, expected + 1)) mine[made++] = {expected, tick};
    if (looks % 1024 == 0 && until.passed()) break;
  }
  arch::store<system>(probe.made + number, made);
}

/// What readings cost: ticks of `count` plain and of `count` fenced ones, the least of several rounds; and a reading.
struct ClockCost {
  uint64_t plain;
  uint64_t fenced;
  uint64_t now;
};

XIO_DEVICE_INLINE void time_clock(ClockCost* cost, uint32_t count, uint32_t rounds) {
  namespace arch = xio::arch;
  ClockCost least{~uint64_t{0}, ~uint64_t{0}, 0};
  for (uint32_t round = 0; round < rounds; ++round) {
    const uint64_t begin = arch::clock();
    for (uint32_t i = 0; i < count; ++i) least.now |= arch::clock();
    const uint64_t middle = arch::clock();
    for (uint32_t i = 0; i < count; ++i) least.now |= arch::fenced_clock();
    const uint64_t end = arch::clock();
    if (middle - begin < least.plain) least.plain = middle - begin;
    if (end - middle < least.fenced) least.fenced = end - middle;
  }
  least.now = arch::fenced_clock();
  *cost = least;
}

/// What two sides share that take turns. Nothing but loads and stores: between a GPU and the processors atomics need
/// a bus that has them.
struct ClockRelay {
  uint64_t* turn;       ///< side `turn % 2` reads next
  ClockEntry* entries;  ///< of both sides, one for each turn
  uint64_t turns;
  uint64_t limit_ticks;  ///< of the clock of the side
};

/// Reads the clock whenever it is the turn of `side`, 0 or 1. False where the other one did not come.
XIO_DEVICE_INLINE bool relay_clocks(const ClockRelay& relay, uint64_t side) {
  namespace arch = xio::arch;
  constexpr auto system = arch::Scope::system;
  const xio::Deadline until{arch::clock() + relay.limit_ticks};
  for (uint64_t turn = side; turn < relay.turns; turn += 2) {
    if (!xio::wait_until(relay.turn, turn, until).is_ok()) return false;
    const uint64_t tick = arch::fenced_clock();
    arch::store<system>(&relay.entries[turn].sequence, turn);
    arch::store<system>(&relay.entries[turn].tick, tick);
    arch::publish<system>(relay.turn, turn + 1);
  }
  return true;
}

}  // namespace tester
