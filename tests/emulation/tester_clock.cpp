// SPDX-License-Identifier: MIT
// clock-test: what is concluded from readings, the kernel on the CPU, and the rate of a clock that is played.

#include <xio/host/clock.hpp>

#include <cmath>
#include <vector>

#include "catch.hpp"
#include "tester/clock/check.hpp"
#include "tester/clock/run.hpp"

namespace {

using tester::check_offset;
using tester::check_order;
using tester::ClockOrder;
using tester::ClockReading;

TEST_CASE("readings that go forward") {
  const ClockOrder order = check_order({{0, 100, 0}, {1, 100, 1}, {2, 103, 1}, {3, 110, 0}});
  CHECK(order.readings == 4);
  CHECK(order.backward == 0);
  CHECK(order.gaps == 0);
  CHECK(order.handovers == 2);
  CHECK(order.ties == 1);
  CHECK(check_order({}).readings == 0);
}

TEST_CASE("readings that go back") {
  // Below an earlier one, and not only below the one before.
  const ClockOrder order = check_order({{0, 100, 0}, {1, 140, 1}, {2, 103, 0}, {3, 110, 0}, {5, 141, 1}});
  CHECK(order.backward == 2);
  CHECK(order.worst == 37);
  CHECK(order.earlier.tick == 140);
  CHECK(order.earlier.thread == 1);
  CHECK(order.later.sequence == 2);
  CHECK(order.gaps == 1);
}

TEST_CASE("several rounds") {
  ClockOrder all = check_order({{0, 100, 0}, {1, 101, 1}});
  all.add(check_order({{0, 200, 1}, {1, 190, 0}}));
  all.add(check_order({{0, 300, 0}, {1, 280, 1}, {2, 290, 1}}));
  CHECK(all.readings == 7);
  CHECK(all.handovers == 3);
  CHECK(all.backward == 3);
  CHECK(all.worst == 20);
  CHECK(all.earlier.tick == 200);
}

// A CPU with ticks of 1 ns, and a GPU with ticks of 10 ns that is 5000 ns ahead: a reading each, in turn.
std::vector<ClockReading> side(bool gpu, uint64_t late_by = 0) {
  std::vector<ClockReading> all;
  for (uint64_t i = gpu ? 1 : 0; i < 200; i += 2) {
    const uint64_t now = 1000000 + i * 500;
    const bool late = late_by != 0 && i > 100;
    all.push_back({i, gpu ? (now + 5000 + (late ? late_by : 0)) / 10 : now, 0});
  }
  return all;
}

TEST_CASE("two clocks of one time") {
  const auto offset = check_offset(side(false), 1, side(true), 10);
  REQUIRE(offset);
  CHECK(offset->consistent(0));
  // Readings are 500 ns apart, and that much is not known.
  CHECK(offset->least <= 5000);
  CHECK(offset->most >= 5000);
  CHECK(offset->most - offset->least <= 1000 + 10);
  CHECK(offset->bounds > 100);
}

TEST_CASE("two clocks of which one jumps") {
  const auto jumped = check_offset(side(false), 1, side(true, 20000), 10);
  REQUIRE(jumped);
  CHECK_FALSE(jumped->consistent(0));
  CHECK(jumped->consistent(20000));
  // A rate that is taken for another one.
  const auto wrong = check_offset(side(false), 1, side(true), 10.5);
  REQUIRE(wrong);
  CHECK_FALSE(wrong->consistent(0));
  CHECK_FALSE(check_offset(side(false), 1, {}, 10));
  CHECK_FALSE(check_offset({{0, 5, 0}}, 1, {{1, 7, 0}}, 1));
}

TEST_CASE("the kernel on the processors") {
  for (const bool fenced : {true, false}) {
    tester::ClockOptions options;
    options.readings = 20000;
    options.threads = 3;
    options.fenced = fenced;
    const tester::ClockRun run = tester::host_clock_reader()->run(options);
    const ClockOrder order = check_order(run.readings);
    CHECK(order.readings == 60000);
    CHECK(order.gaps == 0);
    CHECK(order.backward == 0);
    CHECK(order.handovers > 0);
    CHECK(run.plain_ns > 0);
    REQUIRE(run.offset);
    CHECK(run.offset->bounds == 499);
    CHECK(run.offset->least <= 0);
    CHECK(run.offset->most >= 0);
  }
}

TEST_CASE("a clock that is ahead is seen") {
  tester::ClockOptions options;
  options.readings = 20000;
  options.threads = 2;
  tester::ClockRun run = tester::host_clock_reader()->run(options);
  REQUIRE(check_order(run.readings).handovers > 0);
  const uint32_t first = run.readings.front().thread;
  for (ClockReading& one : run.readings) one.tick += one.thread == first ? 3600 * xio::arch::clock_hz : 0;
  CHECK(check_order(run.readings).backward > 0);
}

TEST_CASE("the time stamp counter in place of the operating system's clock") {
  const xio::host::ClockRate rate = xio::host::use_time_stamp_counter();
  if (rate.hz == 0) {
    // This machine's clock is another one.
    CHECK(xio::arch::time_stamp_scale == 0);
    return;
  }
  const auto read = [] { return xio::arch::clock(); };
  const xio::host::ClockRate clock = xio::host::measure_clock_rate(read);
  const uint64_t before = xio::arch::clock();
  const uint64_t after = xio::arch::clock();
  xio::arch::time_stamp_scale = 0;
  CHECK(std::abs(clock.hz - 1e9) < 1e9 * (rate.uncertainty + clock.uncertainty + 1e-6));
  CHECK(after >= before);
  CHECK(after - before < 1000000000);
}

TEST_CASE("the rate of a clock") {
  const auto hundred_mhz = [] { return xio::host::detail::raw_nanoseconds() / 10; };
  const xio::host::ClockRate rate = xio::host::measure_clock_rate(hundred_mhz, std::chrono::milliseconds(50));
  CHECK(rate.hz == Approx(1e8).epsilon(1e-3));
  CHECK(rate.uncertainty < 0.01);
  CHECK(rate.rounded() == static_cast<uint64_t>(rate.hz + 0.5));
  // The doubt about both ends: a reading that takes a millisecond.
  const auto slow = [] {
    const uint64_t now = xio::host::detail::raw_nanoseconds();
    while (xio::host::detail::raw_nanoseconds() < now + 1000000) continue;
    return now;
  };
  const xio::host::ClockRate doubtful = xio::host::measure_clock_rate(slow, std::chrono::milliseconds(20), 2);
  CHECK(doubtful.uncertainty > 0.02);
  CHECK(doubtful.hz == Approx(1e9).epsilon(doubtful.uncertainty));
  const xio::host::ClockRate own =
      xio::host::measure_clock_rate([] { return xio::arch::clock(); }, std::chrono::milliseconds(50));
  CHECK(own.hz == Approx(static_cast<double>(xio::arch::clock_hz)).epsilon(2e-3));
}

}  // namespace
