// SPDX-License-Identifier: MIT

/// @file
/// @brief Several waves: barriers, waiting for another wave, more blocks than run at once.

#include "unit/simt.hpp"

#include <atomic>
#include <thread>
#include <vector>

using namespace simt_tests;
namespace arch = xio::arch;
namespace simt = xio::simt;

TEST_CASE("block_barrier separates what was stored before from what is loaded after") {
  const uint32_t wave_size = GENERATE(1u, 8u, 32u, 64u);
  const uint32_t waves = GENERATE(1u, 3u);
  const uint64_t seed = GENERATE(0u, 7u);
  simt::Grid grid = simt::Grid::of_waves(2, waves, wave_size);
  grid.jitter_seed = seed;
  const uint32_t threads = grid.threads_per_block;
  // Plain variables: a barrier that does not order them is a race that ThreadSanitizer reports.
  std::vector<uint32_t> values(2 * threads);
  simt::launch(grid, [&] {
    uint32_t* const mine = &values[arch::block_index() * threads];
    const uint32_t self = arch::thread_index();
    for (uint32_t round = 1; round < 20; ++round) {
      mine[self] = round * 1000 + self;
      arch::block_barrier();
      const uint32_t other = (self + round) % threads;
      EXPECT_IN_KERNEL(mine[other] == round * 1000 + other);
      arch::block_barrier();
    }
  });
}

TEST_CASE("A barrier counts the lanes and waves that have not ended") {
  const uint32_t wave_size = GENERATE(1u, 8u, 64u);
  const bool late = GENERATE(false, true);
  const uint32_t threads = 4 * wave_size;
  const uint32_t staying = 3 * (wave_size == 1 ? 1 : wave_size / 2);
  std::vector<uint32_t> before(2);
  simt::launch({2, threads, wave_size}, [&] {
    uint32_t* const arrived = &before[arch::block_index()];
    // The second wave ends: at once, or when the others have been at the barrier for a while.
    if (arch::thread_index() / wave_size == 1) {
      uint32_t after = 0;
      while (late && after < 100) {
        after += arch::load<arch::Scope::workgroup>(arrived) == staying;
        arch::pause(after);
      }
      return;
    }
    // So do the odd lanes of the others.
    if (arch::lane() % 2 == 1) return;
    arch::fetch_add<arch::Scope::workgroup>(arrived, 1u);
    arch::block_barrier();
    EXPECT_IN_KERNEL(arch::load<arch::Scope::workgroup>(arrived) == staying);
    arch::block_barrier();
  });
}

TEST_CASE("Lanes may reach a barrier from different sides of a branch, with collectives before it") {
  simt::launch({1, 128, 64}, [&] {
    const uint32_t lane = arch::lane();
    if (lane < 20) {
      EXPECT_IN_KERNEL(arch::active() == full_mask(20));
    }
    if (lane == 63) {
      for (uint32_t i = 0; i < 5; ++i) arch::pause(i);
    }
    arch::block_barrier();
    EXPECT_IN_KERNEL(arch::active() == full_mask(64));
  });
}

TEST_CASE("Waves wait for each other by spinning") {
  const uint32_t wave_size = GENERATE(1u, 8u, 64u);
  const uint64_t seed = GENERATE(0u, 3u);
  simt::Grid grid = simt::Grid::of_waves(2, 3, wave_size);
  grid.jitter_seed = seed;
  uint32_t turn = 0;
  uint64_t plain = 0;
  simt::launch(grid, [&] {
    const uint32_t wave = arch::block_index() * 3 + arch::thread_index() / wave_size;
    for (uint32_t step = 0; step < 20; ++step) {
      const uint64_t mask = arch::active();
      if (arch::is_first(mask)) {
        for (uint32_t round = 0; arch::observe<arch::Scope::system>(&turn) != step * 6 + wave; ++round) {
          arch::pause(round);
        }
        // Only whose turn it is may touch this.
        plain += 1;
        arch::publish<arch::Scope::system>(&turn, turn + 1);
      }
      EXPECT_IN_KERNEL(arch::ballot(mask, true) == full_mask(wave_size));
    }
  });
  REQUIRE(plain == 120);
}

TEST_CASE("A wave waits for a thread of the host, as for a device") {
  const uint32_t wave_size = GENERATE(1u, 64u);
  uint64_t request = 0;
  uint64_t answer = 0;
  std::thread device([&] {
    for (uint64_t i = 1; i <= 50; ++i) {
      while (arch::load<arch::Scope::system>(&request) != i) std::this_thread::yield();
      arch::store<arch::Scope::system>(&answer, i * 3);
    }
  });
  simt::launch({1, wave_size, wave_size}, [&] {
    for (uint64_t i = 1; i <= 50; ++i) {
      const uint64_t mask = arch::active();
      if (arch::is_first(mask)) arch::store<arch::Scope::system>(&request, i);
      for (uint32_t round = 0; arch::load<arch::Scope::system>(&answer) != i * 3; ++round) arch::pause(round);
      arch::ballot(mask, true);
    }
  });
  device.join();
  REQUIRE(answer == 150);
}

TEST_CASE("More blocks than run at once") {
  const uint32_t wave_size = GENERATE(1u, 32u);
  simt::Grid grid = simt::Grid::of_waves(40, 2, wave_size);
  grid.resident_waves = 5;
  std::vector<std::atomic<uint32_t>> seen(40);
  std::atomic<uint32_t> running{0};
  std::atomic<uint32_t> most{0};
  simt::launch(grid, [&] {
    if (arch::thread_index() == 0) {
      const uint32_t now = ++running;
      uint32_t before = most;
      while (before < now && !most.compare_exchange_weak(before, now)) {
      }
    }
    ++seen[arch::block_index()];
    arch::block_barrier();
    EXPECT_IN_KERNEL(seen[arch::block_index()] == 2 * wave_size);
    if (arch::thread_index() == 0) --running;
    arch::block_barrier();
  });
  for (const auto& count : seen) REQUIRE(count == 2 * wave_size);
  REQUIRE(most <= 2);
}

TEST_CASE("Launches from several threads at once") {
  std::vector<std::thread> threads;
  std::atomic<uint32_t> lanes{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 5; ++n) {
        simt::launch({1, 64, 32}, [&] {
          EXPECT_IN_KERNEL(arch::active() == full_mask(32));
          ++lanes;
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(lanes == 4 * 5 * 64);
}
