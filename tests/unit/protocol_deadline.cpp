// SPDX-License-Identifier: MIT

/// @file
/// @brief Times that are too long for a sum count as the longest one: they neither wrap nor pass.

#include <cstdint>

#include <xio/device/core/deadline.hpp>

#include "catch.hpp"

using namespace xio::literals;
using xio::Deadline;
using xio::Duration;

TEST_CASE("a deadline that is too far away does not wrap") {
  // Rates of clocks from a timer to a time stamp counter.
  for (const uint64_t hz : {uint64_t{1000000}, uint64_t{100000000}, uint64_t{1000000000}, uint64_t{5000000000}}) {
    uint64_t before = 0;
    for (const uint64_t nanoseconds :
         {uint64_t{0}, (1_s).nanoseconds, (1000000_s).nanoseconds, (500000000_s).nanoseconds, ~uint64_t{0} / 2 - 1,
          ~uint64_t{0} - 1000000000, ~uint64_t{0}}) {
      CAPTURE(hz, nanoseconds);
      const Deadline until = xio::deadline(Duration{nanoseconds}, hz);
      CHECK(until.tick >= before);
      before = until.tick;
      if (nanoseconds != 0) CHECK_FALSE(until.passed());
    }
    // Years.
    CHECK(xio::deadline(Duration{~uint64_t{0}}, hz).tick - xio::arch::clock() > hz * 500000000);
  }
}

TEST_CASE("a literal that is too long does not wrap") {
  STATIC_REQUIRE((5_s).nanoseconds == 5000000000);
  STATIC_REQUIRE((5_us).nanoseconds == 5000);
  STATIC_REQUIRE((18446744073709551615_s).nanoseconds == xio::longest_duration.nanoseconds);
  STATIC_REQUIRE((18446744074_s).nanoseconds == xio::longest_duration.nanoseconds);
  STATIC_REQUIRE((18446744073709552_ms).nanoseconds == xio::longest_duration.nanoseconds);
  STATIC_REQUIRE((18446744073709551615_ns).nanoseconds == xio::longest_duration.nanoseconds);
}
