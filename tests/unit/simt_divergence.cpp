// SPDX-License-Identifier: MIT

/// @file
/// @brief Lanes of a wave that take different ways: branches, loops, calls, and where they meet again.

#include "unit/simt.hpp"

#include <atomic>
#include <cstring>
#include <vector>

using namespace simt_tests;
namespace arch = xio::arch;
namespace simt = xio::simt;

namespace {

/// A call that the compiler cannot merge with its neighbours.
__attribute__((noinline)) uint64_t active_in_a_call(uint32_t depth) {
  volatile uint64_t keep_frame = depth;
  const uint64_t mask = depth == 0 ? arch::active() : active_in_a_call(depth - 1);
  keep_frame = keep_frame + mask;
  return mask;
}

}  // namespace

TEST_CASE("Both sides of a branch use collectives") {
  const uint32_t wave_size = GENERATE(8u, 32u, 64u);
  const uint64_t all = full_mask(wave_size);
  simt::launch({1, wave_size, wave_size}, [&] {
    const uint32_t lane = arch::lane();
    const auto is_third = [](uint32_t other) { return other % 3 == 0; };
    if (is_third(lane)) {
      const uint64_t mask = arch::active();
      EXPECT_IN_KERNEL(mask == lanes_where(all, is_third));
      EXPECT_IN_KERNEL(arch::ballot(mask, lane > 3) == lanes_where(mask, [](uint32_t other) { return other > 3; }));
    } else {
      const uint64_t mask = arch::active();
      EXPECT_IN_KERNEL(arch::shuffle(mask, lane, arch::first_lane(mask)) == 1);
      EXPECT_IN_KERNEL(mask == (all & ~lanes_where(all, is_third)));
    }
    EXPECT_IN_KERNEL(arch::active() == all);
  });
}

TEST_CASE("Loops of different length: the lanes that are left go on, all meet behind the loop") {
  const uint32_t wave_size = GENERATE(8u, 32u, 64u);
  const uint64_t all = full_mask(wave_size);
  simt::launch({1, wave_size, wave_size}, [&] {
    const uint32_t lane = arch::lane();
    const auto trips = [](uint32_t other) { return other * 7 % 11; };
    for (uint32_t i = 0; i < trips(lane); ++i) {
      const uint64_t mask = arch::active();
      EXPECT_IN_KERNEL(mask == lanes_where(all, [&](uint32_t other) { return i < trips(other); }));
      EXPECT_IN_KERNEL(arch::ballot(mask, true) == mask);
    }
    EXPECT_IN_KERNEL(arch::active() == all);
  });
}

TEST_CASE("Nested loops and branches") {
  const uint32_t wave_size = GENERATE(8u, 32u, 64u);
  const uint64_t all = full_mask(wave_size);
  simt::launch({1, wave_size, wave_size}, [&] {
    const uint32_t lane = arch::lane();
    for (uint32_t outer = 0; outer < 3; ++outer) {
      const auto enters = [outer](uint32_t other) { return (other + outer) % 2 == 0; };
      if (enters(lane)) {
        for (uint32_t inner = 0; inner < 1 + lane % 4; ++inner) {
          const uint64_t mask = arch::active();
          EXPECT_IN_KERNEL(mask ==
                           lanes_where(all, [&](uint32_t other) { return enters(other) && inner < 1 + other % 4; }));
        }
        const uint64_t mask = arch::active();
        EXPECT_IN_KERNEL(mask == lanes_where(all, enters));
      }
      EXPECT_IN_KERNEL(arch::active() == all);
    }
  });
}

TEST_CASE("Lanes in a call return before the others go on without them") {
  const uint32_t wave_size = GENERATE(8u, 64u);
  const uint64_t all = full_mask(wave_size);
  simt::launch({1, wave_size, wave_size}, [&] {
    const uint32_t lane = arch::lane();
    if (lane < 4) {
      EXPECT_IN_KERNEL(active_in_a_call(0) == 0xf);
    }
    // Same place, reached through calls of different depth: two groups.
    if (lane >= 4)
      EXPECT_IN_KERNEL(active_in_a_call(lane % 2 + 1) ==
                       lanes_where(all & ~uint64_t{0xf}, [&](uint32_t o) { return o % 2 == lane % 2; }));
    EXPECT_IN_KERNEL(arch::active() == all);
  });
}

TEST_CASE("A lane that spins lets the lane run that it waits for") {
  const uint32_t wave_size = GENERATE(8u, 32u, 64u);
  uint32_t turn = 0;
  simt::launch({1, wave_size, wave_size}, [&] {
    const uint32_t lane = arch::lane();
    // From the last lane to the first, against the order in which they run.
    for (uint32_t round = 0; arch::load<arch::Scope::workgroup>(&turn) != wave_size - 1 - lane; ++round) {
      arch::pause(round);
    }
    arch::store<arch::Scope::workgroup>(&turn, turn + 1);
    EXPECT_IN_KERNEL(arch::active() == full_mask(wave_size));
  });
  REQUIRE(turn == wave_size);
}

TEST_CASE("Lanes that wait in active() are not waited for by a spinning lane for ever") {
  const uint32_t wave_size = GENERATE(8u, 64u);
  const uint64_t all = full_mask(wave_size);

  SECTION("spin with pause() alone") {
    uint32_t ready = 0;
    simt::launch({1, wave_size, wave_size}, [&] {
      if (arch::lane() == 0) {
        for (uint32_t round = 0; arch::load<arch::Scope::workgroup>(&ready) == 0; ++round) arch::pause(round);
      } else {
        EXPECT_IN_KERNEL(arch::active() == (all & ~uint64_t{1}));
        arch::store<arch::Scope::workgroup>(&ready, 1u);
      }
    });
  }

  SECTION("spin with active() in the loop") {
    uint32_t ready = 0;
    simt::launch({1, wave_size, wave_size}, [&] {
      if (arch::lane() < 2) {
        for (uint32_t round = 0; arch::load<arch::Scope::workgroup>(&ready) == 0; ++round) {
          EXPECT_IN_KERNEL(arch::active() == 3);
          arch::pause(round);
        }
      } else {
        EXPECT_IN_KERNEL(arch::active() == (all & ~uint64_t{3}));
        arch::store<arch::Scope::workgroup>(&ready, 1u);
      }
    });
  }
}

TEST_CASE("With patience, lanes behind a polling loop wait for those that are in it") {
  uint32_t clock = 0;
  simt::Grid grid{1, 32, 32};
  grid.patience = UINT32_MAX;
  simt::launch(grid, [&] {
    const uint32_t lane = arch::lane();
    for (uint32_t round = 0; arch::load<arch::Scope::workgroup>(&clock) < lane * 200; ++round) {
      arch::store<arch::Scope::workgroup>(&clock, clock + 1);
      arch::pause(round);
    }
    EXPECT_IN_KERNEL(arch::active() == full_mask(32));
  });
}

TEST_CASE("Jitter: other orders, same answers") {
  const uint64_t seed = GENERATE(1u, 2u, 3u, 4u);
  const uint32_t wave_size = GENERATE(8u, 64u);
  simt::Grid grid{1, wave_size, wave_size};
  grid.jitter_seed = seed;

  SECTION("groups stay whole") {
    simt::launch(grid, [&] {
      const uint32_t lane = arch::lane();
      for (uint32_t i = 0; i < lane % 4; ++i) {
        EXPECT_IN_KERNEL(arch::active() ==
                         lanes_where(full_mask(wave_size), [&](uint32_t other) { return i < other % 4; }));
      }
      EXPECT_IN_KERNEL(arch::active() == full_mask(wave_size));
    });
  }

  SECTION("the order in which lanes arrive varies") {
    const auto order = [&](uint64_t with_seed) {
      std::vector<uint32_t> lanes;
      grid.jitter_seed = with_seed;
      simt::launch(grid, [&] {
        for (uint32_t i = 0; i < 4; ++i) {
          lanes.push_back(arch::lane());
          arch::active();
        }
      });
      return lanes;
    };
    REQUIRE(order(seed) == order(seed));
    REQUIRE(order(seed) != order(0));
    REQUIRE(order(seed) != order(seed + 1000));
  }

  SECTION("groups may be split: every lane is in exactly one, and the masks agree") {
    grid.split_groups = true;
    std::vector<uint64_t> masks(wave_size);
    simt::launch(grid, [&] {
      const uint64_t mask = arch::active();
      EXPECT_IN_KERNEL(mask >> arch::lane() & 1);
      EXPECT_IN_KERNEL(arch::ballot(mask, true) == mask);
      masks[arch::lane()] = mask;
    });
    REQUIRE((wave_size < 64 || masks[0] != full_mask(64)));
    for (uint32_t lane = 0; lane < wave_size; ++lane) {
      for (uint32_t other = 0; other < wave_size; ++other) {
        REQUIRE((masks[lane] >> other & 1) == (masks[other] == masks[lane]));
      }
    }
  }
}
