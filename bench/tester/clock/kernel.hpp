// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The kernel of clock-test: threads read their clocks in an order defined by a word in memory.

#include <xio/device/arch/arch.hpp>
#include <xio/device/core/deadline.hpp>

namespace tester {

/// One reading with its sequence number.
struct ClockEntry {
  uint64_t sequence;
  uint64_t tick;
};

/// State shared by the threads, in memory that every side can access coherently.
struct ClockProbe {
  uint64_t* sequence;   ///< number of the next reading
  uint64_t* arrived;    ///< number of threads that have started
  uint64_t threads;     ///< number of threads to wait for before the first reading
  ClockEntry* entries;  ///< entries of all threads, `per_thread` each
  uint64_t* made;       ///< number of readings of each thread
  uint64_t per_thread;
  uint64_t limit_ticks;  ///< time limit, on the thread's own clock; the thread then ends with the readings it has
};

/// Reads the clock of thread `number` repeatedly. A reading counts only if no other thread made one between the load of
/// the word and its compare-exchange: readings are then ordered by their numbers and must not decrease.
/// @tparam Fenced  read by arch::fenced_clock(), else by arch::clock(), which may be read before the word is loaded
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

/// Cost of readings: ticks of `count` plain and `count` fenced readings, the minimum of several rounds; and one
/// reading.
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

/// State shared by two alternating sides. Only loads and stores are used: atomics between a GPU and the CPU require
/// support of the bus.
struct ClockRelay {
  uint64_t* turn;       ///< side `turn % 2` reads next
  ClockEntry* entries;  ///< entries of both sides, one per turn
  uint64_t turns;
  uint64_t limit_ticks;  ///< time limit on the side's clock
};

/// Reads the clock at each turn of `side`, 0 or 1. Returns false if the other side did not respond in time.
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
