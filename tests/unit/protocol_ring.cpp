// SPDX-License-Identifier: MIT

/// @file
/// @brief The algebra of rings and of the completion table, for every size and around every wrap.

#include <cstdint>
#include <vector>

#include <xio/device/nvme/completion_table.hpp>

#include "catch.hpp"

namespace {

/// Counter values around the places where short counters wrap, each to be combined with all offsets mod 2^16.
const std::vector<uint64_t> bases = {0, (uint64_t{1} << 24) - 32768, (uint64_t{1} << 32) - 32768,
                                     (uint64_t{1} << 40) - 32768, (uint64_t{1} << 47) - 65536};

/// Calls `check(size, index)` for rings of 2 to `largest` entries; reports the first that fails.
template <class Check>
void for_all(uint32_t largest, Check check) {
  for (uint32_t size = 2; size <= largest; size *= 2) {
    for (const uint64_t base : bases) {
      for (uint64_t offset = 0; offset < 65536 + 2 * uint64_t{1}; ++offset) {
        if (check(size, base + offset)) continue;
        CAPTURE(size, base, offset);
        FAIL("the counter algebra is wrong here");
      }
    }
  }
}

}  // namespace

TEST_CASE("slot and phase of every counter value, for every ring size", "[H2]") {
  for_all(65536, [](uint32_t size, uint64_t index) {
    return xio::ring::slot(index, size - 1) == index % size &&
           xio::ring::phase(index, size - 1) == ((index / size) % 2 == 0);
  });
}

TEST_CASE("a counter is found again from its low bits and a bound that is known", "[H2]") {
  for_all(65536, [](uint32_t size, uint64_t known) {
    bool right = true;
    for (const uint64_t ahead : {uint64_t{0}, uint64_t{1}, uint64_t{size} / 2, uint64_t{size} - 1}) {
      const uint64_t index = known + ahead;
      right = right && xio::ring::widen(known, static_cast<uint32_t>(index % size), size - 1) == index;
    }
    return right;
  });
}

TEST_CASE("a completion slot knows its lap at every counter value", "[H2]") {
  using xio::nvme::detail::Outcome;
  std::vector<xio::nvme::CompletionSlot> slots(32768);
  for_all(32768, [&](uint32_t size, uint64_t ticket) {
    const uint32_t mask = size - 1;
    const uint64_t lap = ticket / size;
    bool right = xio::nvme::detail::lap_end(ticket, mask) == (lap + 1) * size;
    // What the slot holds after `laps` operations have used it, and what a holder of `ticket` makes of that.
    uint64_t& word = slots[ticket % size].word;
    uint64_t seen = 0;
    const auto outcome = [&](uint64_t laps) {
      word = laps * size << 16 | 0x1234;
      return xio::nvme::detail::look_up<xio::Sharing::thread>(slots.data(), mask, ticket, seen);
    };
    const auto may_use = [&] { return xio::nvme::detail::slot_free<xio::Sharing::thread>(slots.data(), mask, ticket); };
    right = right && outcome(lap) == Outcome::pending && may_use();
    right = right && outcome(lap + 1) == Outcome::ended && !may_use() && (seen & 0x7fff) == 0x1234;
    right = right && outcome(lap + 2) == Outcome::replaced && !may_use();
    right = right && (lap == 0 || (outcome(lap - 1) == Outcome::pending && !may_use()));
    return right;
  });
}
