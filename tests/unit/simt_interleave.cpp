// SPDX-License-Identifier: MIT

/// @file
/// @brief With XIO_INTERLEAVE and a seed, lanes change places between any two coherent accesses.

#define XIO_INTERLEAVE 1

#include "unit/simt.hpp"

using namespace simt_tests;
namespace arch = xio::arch;
namespace simt = xio::simt;

namespace {

constexpr arch::Scope scope = arch::Scope::agent;

/// The sum after every thread of four waves has added 1 to it ten times.
template <class Add>
uint32_t sum(uint32_t wave_size, uint64_t seed, Add add) {
  simt::Grid grid = simt::Grid::of_waves(2, 2, wave_size);
  grid.jitter_seed = seed;
  uint32_t total = 0;
  simt::launch(grid, [&] {
    for (uint32_t i = 0; i < 10; ++i) add(&total);
  });
  return total;
}

}  // namespace

TEST_CASE("A lost update between a load and a store shows; an atomic addition is safe") {
  const uint32_t wave_size = GENERATE(8u, 64u);
  const uint64_t seed = GENERATE(1u, 2u, 3u);
  REQUIRE(sum(wave_size, seed, [](uint32_t* to) { arch::fetch_add<scope>(to, 1u); }) == 4 * wave_size * 10);
  REQUIRE(sum(wave_size, seed, [](uint32_t* to) { arch::store<scope>(to, arch::load<scope>(to) + 1); }) <
          4 * wave_size * 10);
  const auto exchange = [](uint32_t* to) {
    uint32_t found = arch::load<scope>(to);
    while (!arch::compare_exchange<scope>(to, found, found + 1)) {
    }
  };
  REQUIRE(sum(wave_size, seed, exchange) == 4 * wave_size * 10);
}

TEST_CASE("Without a seed lanes change places only where they wait") {
  simt::Grid grid{1, 64, 64};
  uint32_t total = 0;
  simt::launch(grid, [&] { arch::store<scope>(&total, arch::load<scope>(&total) + 1); });
  REQUIRE(total == 64);
}
