// SPDX-License-Identifier: MIT

/// @file
/// @brief Kernels that throw, and kernels that are stuck: the launcher gets an exception, and nothing hangs.

#include "unit/simt.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

using namespace simt_tests;
namespace arch = xio::arch;
namespace simt = xio::simt;

namespace {

/// What the launch says when it fails; empty where it does not.
template <class Kernel>
std::string failure(const simt::Grid& grid, Kernel kernel) {
  try {
    simt::launch(grid, kernel);
  } catch (const xio::host::Error& error) {
    return error.what();
  }
  return {};
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Counted {
  explicit Counted(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  std::atomic<int>& count_;
};

}  // namespace

TEST_CASE("An exception of a kernel reaches the launcher; all lanes of all waves are unwound") {
  const uint32_t wave_size = GENERATE(1u, 8u, 64u);
  const std::string others = GENERATE("barrier", "pause", "ballot", "active", "end");
  std::atomic<int> alive{0};
  const auto kernel = [&] {
    const Counted counted(alive);
    const auto own = std::make_unique<int>(1);
    if (arch::thread_index() == wave_size + wave_size / 2) throw std::string("no");
    if (others == "barrier") arch::block_barrier();
    if (others == "pause") {
      for (uint32_t round = 0;; ++round) arch::pause(round);
    }
    if (others == "ballot") arch::ballot(full_mask(wave_size), true);
    if (others == "active") {
      for (;;) arch::active();
    }
  };
  if (others == "ballot" && wave_size != 1) {
    // A lane of the mask is gone: either failure may be the first.
    REQUIRE_THROWS(simt::launch({2, 3 * wave_size, wave_size}, kernel));
  } else {
    REQUIRE_THROWS_AS(simt::launch({2, 3 * wave_size, wave_size}, kernel), std::string);
  }
  REQUIRE(alive == 0);
  REQUIRE(arch::current_wave == nullptr);
  // The executor is as good as new.
  REQUIRE_NOTHROW(
      simt::launch({1, wave_size, wave_size}, [&] { EXPECT_IN_KERNEL(arch::active() == full_mask(wave_size)); }));
}

TEST_CASE("Lanes may be suspended while they handle an exception") {
  const uint32_t wave_size = GENERATE(8u, 64u);
  simt::launch({1, wave_size, wave_size}, [&] {
    const uint32_t lane = arch::lane();
    try {
      throw lane;
    } catch (uint32_t thrown) {
      const uint64_t mask = arch::active();
      EXPECT_IN_KERNEL(mask == full_mask(wave_size));
      try {
        throw std::to_string(lane);
      } catch (const std::string& text) {
        EXPECT_IN_KERNEL(arch::shuffle(mask, lane, (lane + 1) % wave_size) == (lane + 1) % wave_size);
        EXPECT_IN_KERNEL(text == std::to_string(lane));
        try {
          throw;
        } catch (const std::string& again) {
          EXPECT_IN_KERNEL(&again == &text);
        }
      }
      EXPECT_IN_KERNEL(thrown == lane);
    }
    EXPECT_IN_KERNEL(std::uncaught_exceptions() == 0);
  });
}

TEST_CASE("Wave operations in a destructor that runs because of an exception do not throw") {
  struct Meets {
    ~Meets() {
      const uint64_t mask = arch::active();
      arch::ballot(mask, true);
      arch::shuffle(mask, 1u, arch::first_lane(mask));
      arch::pause(0);
    }
  };
  REQUIRE_THROWS_AS(simt::launch({1, 64, 64},
                                 [] {
                                   const Meets meets;
                                   if (arch::lane() % 2 == 0) throw 1;
                                   arch::block_barrier();
                                 }),
                    int);
}

TEST_CASE("A collective that can never complete is reported, with the lanes that wait") {
  SECTION("a lane of the mask has ended before") {
    const std::string text = failure({1, 64, 64}, [] {
      if (arch::lane() == 3) return;
      arch::ballot(~uint64_t{0}, true);
    });
    INFO(text);
    REQUIRE(holds(text, "block 0, wave 0"));
    REQUIRE(holds(text, "lane 3"));
    REQUIRE(holds(text, "ballot"));
    REQUIRE(holds(text, "0xffffffffffffffff"));
  }
  SECTION("a lane of the mask ends while the others wait") {
    const std::string text = failure({1, 64, 64}, [] {
      if (arch::lane() == 40) return;
      arch::shuffle(~uint64_t{0}, 1u, 5);
    });
    INFO(text);
    REQUIRE(holds(text, "lane 40 has ended"));
    REQUIRE(holds(text, "lanes 0-39 wait in shuffle(mask 0xffffffffffffffff)"));
  }
  SECTION("lanes wait in different collectives and in the barrier") {
    const std::string text = failure({2, 16, 8}, [] {
      if (arch::block_index() == 0 || arch::thread_index() < 8) return arch::block_barrier();
      if (arch::lane() < 2) {
        arch::ballot(0xff, true);
      } else if (arch::lane() < 5) {
        arch::shuffle(0xff, 0u, 0);
      } else {
        arch::block_barrier();
      }
    });
    INFO(text);
    REQUIRE(holds(text, "block 1, wave 1"));
    REQUIRE(holds(text, "lanes 0-1 wait in ballot(mask 0xff)"));
    REQUIRE(holds(text, "lanes 2-4 wait in shuffle(mask 0xff)"));
    REQUIRE(holds(text, "lanes 5-7 wait in block_barrier()"));
  }
}

TEST_CASE("Misuse of a mask is reported by the lane that does it") {
  SECTION("not in the mask") {
    const std::string text = failure({1, 8, 8}, [] { arch::ballot(0x0f, true); });
    INFO(text);
    REQUIRE(holds(text, "lane 4 calls ballot with the mask 0xf, which it is not in"));
  }
  SECTION("lanes that never existed") {
    const std::string text = failure({1, 6, 8}, [] { arch::ballot(0xff, true); });
    INFO(text);
    REQUIRE(holds(text, "lanes 6-7 ended before or never existed"));
  }
  SECTION("source not in the mask") {
    const std::string text = failure({1, 8, 8}, [] { arch::shuffle(0xff, 1u, 8); });
    INFO(text);
    REQUIRE(holds(text, "shuffles from lane 8"));
  }
  SECTION("one lane") {
    REQUIRE(holds(failure({1, 2, 1}, [] { arch::ballot(3, true); }), "lane 0 only"));
    REQUIRE(holds(failure({1, 2, 1}, [] { arch::shuffle(1, 1u, 1); }), "lane 0 only"));
  }
}

TEST_CASE("Grids that cannot be run are refused") {
  REQUIRE(holds(failure({1, 16, 16}, [] {}), "use 1, 8, 32 or 64"));
  REQUIRE(holds(failure({1, 16, 0}, [] {}), "use 1, 8, 32 or 64"));
  REQUIRE(holds(failure({0, 16, 8}, [] {}), "empty grid"));
  REQUIRE(holds(failure({1, 0, 8}, [] {}), "empty grid"));
}
