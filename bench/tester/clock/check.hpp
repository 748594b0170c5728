// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Checks of clock readings in a known order: whether a clock runs backward between threads, and whether two
/// clocks are consistent with one time.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tester/clock/kernel.hpp"

namespace tester {

struct ClockReading {
  uint64_t sequence = 0;
  uint64_t tick = 0;
  uint32_t thread = 0;
};

/// Readings of `threads` threads, in sequence order.
inline std::vector<ClockReading> readings_of(const ClockProbe& probe, uint32_t threads) {
  std::vector<ClockReading> all;
  for (uint32_t thread = 0; thread < threads; ++thread) {
    const ClockEntry* const entries = probe.entries + probe.per_thread * thread;
    for (uint64_t i = 0; i < probe.made[thread]; ++i) all.push_back({entries[i].sequence, entries[i].tick, thread});
  }
  std::sort(all.begin(), all.end(),
            [](const ClockReading& a, const ClockReading& b) { return a.sequence < b.sequence; });
  return all;
}

/// Readings of one of two alternating sides.
inline std::vector<ClockReading> readings_of(const ClockRelay& relay, uint32_t side) {
  std::vector<ClockReading> all;
  for (uint64_t turn = side; turn < std::min(*relay.turn, relay.turns); turn += 2)
    all.push_back({relay.entries[turn].sequence, relay.entries[turn].tick, side});
  return all;
}

struct ClockOrder {
  uint64_t readings = 0;
  uint64_t handovers = 0;  ///< consecutive readings of different threads; without any, nothing was compared
  uint64_t backward = 0;   ///< readings less than an earlier one
  uint64_t worst = 0;      ///< largest such difference in ticks
  uint64_t ties =
      0;  ///< consecutive readings of different threads with the same tick: the clock's step exceeds their distance
  uint64_t gaps = 0;     ///< missing or duplicate sequence numbers: an error of the test itself
  ClockReading earlier;  ///< of the first backward pair
  ClockReading later;

  /// Adds the result of another round.
  void add(const ClockOrder& round) {
    if (backward == 0) {
      earlier = round.earlier;
      later = round.later;
    }
    readings += round.readings;
    handovers += round.handovers;
    backward += round.backward;
    worst = std::max(worst, round.worst);
    ties += round.ties;
    gaps += round.gaps;
  }
};

/// @param readings  in sequence order
inline ClockOrder check_order(const std::vector<ClockReading>& readings) {
  ClockOrder order;
  order.readings = readings.size();
  const ClockReading* highest = nullptr;
  const ClockReading* last = nullptr;
  for (const ClockReading& one : readings) {
    if (last != nullptr) {
      order.gaps += one.sequence == last->sequence + 1 ? 0 : 1;
      const bool handed_over = one.thread != last->thread;
      order.handovers += handed_over ? 1 : 0;
      order.ties += handed_over && one.tick == last->tick ? 1 : 0;
      if (one.tick < highest->tick) {
        if (order.backward++ == 0) {
          order.earlier = *highest;
          order.later = one;
        }
        order.worst = std::max(order.worst, highest->tick - one.tick);
      }
    }
    last = &one;
    if (highest == nullptr || one.tick > highest->tick) highest = &one;
  }
  return order;
}

/// Bounds of the offset from A's clock to B's clock, in nanoseconds.
struct ClockOffset {
  double least = 0;
  double most = 0;
  uint64_t bounds = 0;  ///< readings that contributed a bound

  /// Whether an offset within the bounds exists.
  /// @param slack  nanoseconds by which the clocks may drift apart during the test
  bool consistent(double slack) const { return least <= most + slack; }
};

/// Bounds from the interleaved readings of two sides. A reading of A before one of B implies that B's time minus the
/// offset is not less than A's. Empty if one side has no reading between two of the other.
/// @param tick_ns  nanoseconds per tick of each side
inline std::optional<ClockOffset> check_offset(const std::vector<ClockReading>& a, double a_tick_ns,
                                               const std::vector<ClockReading>& b, double b_tick_ns) {
  if (a.empty() || b.empty()) return std::nullopt;
  // Absolute times are large numbers: differences from each clock's first reading keep their precision.
  const auto time = [](const std::vector<ClockReading>& side, const ClockReading& one, double tick_ns) {
    return static_cast<double>(static_cast<int64_t>(one.tick - side.front().tick)) * tick_ns;
  };
  ClockOffset offset;
  bool has_least = false, has_most = false;
  std::optional<double> highest_a, highest_b;
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const bool of_a = j == b.size() || (i < a.size() && a[i].sequence < b[j].sequence);
    if (of_a) {
      const double now = time(a, a[i++], a_tick_ns);
      if (highest_b) {
        offset.least = has_least ? std::max(offset.least, *highest_b - now) : *highest_b - now;
        has_least = true;
        ++offset.bounds;
      }
      highest_a = std::max(highest_a.value_or(now), now);
    } else {
      const double now = time(b, b[j++], b_tick_ns);
      if (highest_a) {
        offset.most = has_most ? std::min(offset.most, now - *highest_a) : now - *highest_a;
        has_most = true;
        ++offset.bounds;
      }
      highest_b = std::max(highest_b.value_or(now), now);
    }
  }
  if (!has_least || !has_most) return std::nullopt;
  const auto apart = static_cast<double>(static_cast<long double>(b.front().tick) * b_tick_ns -
                                         static_cast<long double>(a.front().tick) * a_tick_ns);
  offset.least += apart;
  offset.most += apart;
  return offset;
}

}  // namespace tester
