// SPDX-License-Identifier: MIT

/// @file
/// @brief Wave operations of the SIMT executor, for every width and for waves of which only a part takes part.

#include "unit/simt.hpp"

#include <array>
#include <atomic>
#include <vector>

using namespace simt_tests;
namespace arch = xio::arch;
namespace simt = xio::simt;

TEST_CASE("A kernel learns its place in the grid") {
  const uint32_t wave_size = GENERATE(1u, 8u, 32u, 64u);
  // The last wave of each block is not full.
  const uint32_t threads = wave_size == 1 ? 3 : 2 * wave_size + wave_size / 2;
  std::vector<std::atomic<int>> seen(3 * threads);
  simt::launch({3, threads, wave_size}, [&] {
    EXPECT_IN_KERNEL(arch::wave_size() == wave_size);
    EXPECT_IN_KERNEL(arch::block_size() == threads);
    EXPECT_IN_KERNEL(arch::grid_size() == 3);
    EXPECT_IN_KERNEL(arch::lane() == arch::thread_index() % wave_size);
    ++seen[arch::block_index() * threads + arch::thread_index()];
    const uint32_t first = arch::thread_index() / wave_size * wave_size;
    const uint32_t lanes = threads - first < wave_size ? threads - first : wave_size;
    EXPECT_IN_KERNEL(arch::active() == full_mask(lanes));
    // Still the same lane after a switch.
    EXPECT_IN_KERNEL(arch::lane() == arch::thread_index() % wave_size);
    EXPECT_IN_KERNEL(arch::thread_index() < threads);
  });
  for (const auto& times : seen) REQUIRE(times == 1);
  REQUIRE(arch::current_wave == nullptr);
}

TEST_CASE("Arguments are copied for the launch") {
  int sum = 0;
  const auto kernel = [](int* to, int a, const std::array<int, 2> b) { *to += a + b[0] + b[1]; };
  simt::launch({1, 8, 8}, kernel, &sum, 1, std::array<int, 2>{2, 3});
  REQUIRE(sum == 48);
}

TEST_CASE("ballot and shuffle with all lanes") {
  const uint32_t wave_size = GENERATE(1u, 8u, 32u, 64u);
  simt::launch({1, wave_size, wave_size}, [&] {
    const uint32_t lane = arch::lane();
    const uint64_t mask = arch::active();
    for (uint32_t i = 0; i < 2 * wave_size; ++i) {
      EXPECT_IN_KERNEL(arch::ballot(mask, (lane + i) % 3 == 0) ==
                       lanes_where(mask, [&](uint32_t other) { return (other + i) % 3 == 0; }));
      EXPECT_IN_KERNEL(arch::ballot(mask, true) == mask);
      EXPECT_IN_KERNEL(arch::ballot(mask, false) == 0);
      const uint32_t source = (lane * 5 + i) % wave_size;
      EXPECT_IN_KERNEL(arch::shuffle(mask, 1000u + lane, source) == 1000 + source);
      const uint64_t wide = uint64_t{lane} << 40 | i;
      EXPECT_IN_KERNEL(arch::shuffle(mask, wide, source) == (uint64_t{source} << 40 | i));
      EXPECT_IN_KERNEL(arch::broadcast(mask, lane, arch::first_lane(mask)) == 0);
      EXPECT_IN_KERNEL(arch::match(mask, uint64_t{(lane + i) % 3} << 33) ==
                       lanes_where(mask, [&](uint32_t other) { return (other + i) % 3 == (lane + i) % 3; }));
    }
    EXPECT_IN_KERNEL(arch::rank_in(mask) == lane);
    EXPECT_IN_KERNEL(arch::is_first(mask) == (lane == 0));
  });
}

TEST_CASE("Exchange within quads transposes a 4 x 4 tile") {
  const uint32_t wave_size = GENERATE(8u, 32u, 64u);
  simt::launch({1, wave_size, wave_size}, [&] {
    const uint64_t mask = arch::active();
    const uint32_t lane = arch::lane();
    EXPECT_IN_KERNEL(arch::quad_exchange<1>(mask, lane) == (lane ^ 1));
    EXPECT_IN_KERNEL(arch::quad_exchange<2>(mask, lane) == (lane ^ 2));
    EXPECT_IN_KERNEL(arch::quad_broadcast<0>(mask, lane) == (lane & ~3u));
    EXPECT_IN_KERNEL(arch::quad_broadcast<3>(mask, lane) == (lane | 3));
    std::array<uint32_t, 4> row{};
    for (uint32_t i = 0; i < 4; ++i) row[i] = lane * 4 + i;
    std::array<uint32_t, 4> column{};
    for (uint32_t i = 0; i < 4; ++i) {
      // Round i moves the value for the lane whose number differs by i.
      const uint32_t mine = row[(lane ^ i) & 3];
      column[(lane ^ i) & 3] = arch::shuffle(mask, mine, lane ^ i);
    }
    for (uint32_t i = 0; i < 4; ++i) EXPECT_IN_KERNEL(column[i] == ((lane & ~3u) + i) * 4 + (lane & 3));
  });
}

TEST_CASE("Only a part of the lanes is active", "[H23]") {
  const uint32_t wave_size = GENERATE(8u, 32u, 64u);
  const std::string part = GENERATE("upper half", "odd", "one", "none but the last", "all but the first");
  const auto takes_part = [&](uint32_t lane) {
    if (part == "upper half") return lane >= wave_size / 2;
    if (part == "odd") return lane % 2 == 1;
    if (part == "one") return lane == wave_size / 2 + 1;
    if (part == "none but the last") return lane == wave_size - 1;
    return lane != 0;
  };
  const uint64_t wanted = lanes_where(full_mask(wave_size), takes_part);
  simt::launch({1, wave_size, wave_size}, [&] {
    const uint32_t lane = arch::lane();
    if (takes_part(lane)) {
      const uint64_t mask = arch::active();
      EXPECT_IN_KERNEL(mask == wanted);
      EXPECT_IN_KERNEL(arch::ballot(mask, true) == wanted);
      EXPECT_IN_KERNEL(arch::ballot(mask, arch::is_first(mask)) == (wanted & (~wanted + 1)));
      const uint32_t leader = arch::first_lane(mask);
      EXPECT_IN_KERNEL(arch::shuffle(mask, uint64_t{lane} << 32, leader) == uint64_t{leader} << 32);
      EXPECT_IN_KERNEL(arch::rank_in(mask) == arch::count_lanes(wanted & (full_mask(lane))));
    }
    // All meet again.
    EXPECT_IN_KERNEL(arch::active() == full_mask(wave_size));
  });
}

TEST_CASE("A collective is for the lanes of its mask: others are elsewhere, or have ended") {
  const uint32_t wave_size = GENERATE(8u, 32u, 64u);
  simt::launch({1, wave_size, wave_size}, [&] {
    const uint32_t lane = arch::lane();
    const uint64_t low = full_mask(wave_size / 2);
    const uint64_t high = full_mask(wave_size) & ~low;
    const uint64_t mine = lane < wave_size / 2 ? low : high;
    if (lane == 0) arch::pause(0);
    // Disjoint masks at one call site; a different number of times for each.
    for (uint32_t i = 0; i < (mine == low ? 5u : 3u); ++i) {
      EXPECT_IN_KERNEL(arch::ballot(mine, true) == mine);
      EXPECT_IN_KERNEL(arch::shuffle(mine, lane, arch::first_lane(mine)) == arch::first_lane(mine));
    }
    if (mine == low) return;
    EXPECT_IN_KERNEL(arch::active() == high);
    EXPECT_IN_KERNEL(arch::ballot(high, lane % 2 == 0) ==
                     lanes_where(high, [](uint32_t other) { return other % 2 == 0; }));
  });
}

TEST_CASE("Values of lanes survive many switches") {
  const uint32_t wave_size = GENERATE(8u, 32u, 64u);
  simt::launch({1, wave_size, wave_size}, [&] {
    const uint32_t lane = arch::lane();
    // Enough live values of both kinds to fill the registers.
    std::array<uint64_t, 24> whole{};
    std::array<double, 24> real{};
    for (uint32_t i = 0; i < 24; ++i) {
      whole[i] = uint64_t{lane} << 32 | i;
      real[i] = lane + i / 64.0;
    }
    const uint64_t mask = arch::active();
    for (uint32_t round = 0; round < 16; ++round) {
      const uint32_t source = (lane + round) % wave_size;
      for (uint32_t i = 0; i < 24; ++i) {
        whole[i] += arch::shuffle(mask, uint32_t{1} << (lane % 8), source);
        real[i] += 1.0;
      }
    }
    uint64_t added = 0;
    for (uint32_t round = 0; round < 16; ++round) added += uint64_t{1} << ((lane + round) % wave_size % 8);
    for (uint32_t i = 0; i < 24; ++i) {
      EXPECT_IN_KERNEL(whole[i] == (uint64_t{lane} << 32 | i) + added);
      EXPECT_IN_KERNEL(real[i] == lane + i / 64.0 + 16.0);
    }
  });
}

TEST_CASE("What the waves count is the launcher's") {
  const uint32_t wave_size = GENERATE(1u, 64u);
  const uint64_t before = arch::operation_counts.mmio_stores;
  simt::launch({2, 2 * wave_size, wave_size}, [] { ++arch::operation_counts.mmio_stores; });
  REQUIRE(arch::operation_counts.mmio_stores == before + 4 * wave_size);
}
