// SPDX-License-Identifier: MIT

/// @file
/// @brief Statistics against figures that exact rational arithmetic gives for the same samples.

#include <xio/host/statistics.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"

using xio::host::Histogram;
using xio::host::Moments;
using xio::host::Statistics;
using xio::host::Summary;

namespace {

template <class Sample>
Statistics collect(uint64_t count, Sample sample, Statistics::Mode mode = Statistics::Mode::exact) {
  Statistics statistics(mode);
  for (uint64_t i = 0; i < count; ++i) statistics.add(sample(i));
  return statistics;
}

uint64_t scattered(uint64_t i) { return i * i * 7919 % 10007 + 100; }
uint64_t far_from_zero(uint64_t i) { return 1000000000000000 + i * i % 7; }
/// Latencies with a long tail.
uint64_t tailed(uint64_t i) {
  const uint64_t part = i % 13;
  return 1000 + i * 37 % 211 + (i % 997 == 0 ? 100000 : 0) + part * part * part * part;
}

Approx about(double value) { return Approx(value).epsilon(1e-12); }

}  // namespace

// References: mean = sum / n and deviation = sqrt(sum of squares / n - mean^2) in rational numbers, rounded at the end;
// percentiles: sorted[ceil(p / 100 * n) - 1] with a rational p.
TEST_CASE("Exact mode agrees with the references") {
  SECTION("scattered samples") {
    const Summary summary = collect(1000, scattered).summary();
    REQUIRE(summary.count == 1000);
    REQUIRE(summary.min == 100);
    REQUIRE(summary.max == 10065);
    REQUIRE(summary.mean == about(4834.465));
    REQUIRE(summary.deviation == about(2836.2071692270647));
    REQUIRE(summary.p50 == 4823);
    REQUIRE(summary.p90 == 8914);
    REQUIRE(summary.p99 == 9943);
    REQUIRE(summary.p99_9 == 10048);
    REQUIRE(summary.p99_99 == 10065);
  }
  SECTION("a small spread far from zero") {
    const Statistics statistics = collect(1000, far_from_zero);
    REQUIRE(statistics.mean() == 1000000000000002.0);
    REQUIRE(statistics.deviation() == about(1.4145667181154802));
  }
  SECTION("a long tail") {
    const Summary summary = collect(20000, tailed).summary();
    REQUIRE(summary.mean == about(5878.64675));
    REQUIRE(summary.deviation == about(7148.728435439721));
    REQUIRE(summary.p50 == 2402);
    REQUIRE(summary.p90 == 15791);
    REQUIRE(summary.p99 == 21922);
    REQUIRE(summary.p99_9 == 101000);
    REQUIRE(summary.p99_99 == 115765);
  }
}

TEST_CASE("H31 The deviation comes from the samples: equal count, min, mean and max, different deviation") {
  const auto mode = GENERATE(Statistics::Mode::exact, Statistics::Mode::bounded);
  Statistics narrow(mode);
  Statistics wide(mode);
  for (const uint64_t sample : {0u, 50u, 50u, 100u}) narrow.add(sample);
  for (const uint64_t sample : {0u, 0u, 100u, 100u}) wide.add(sample);
  REQUIRE(narrow.count() == wide.count());
  REQUIRE(narrow.min() == wide.min());
  REQUIRE(narrow.max() == wide.max());
  REQUIRE(narrow.mean() == wide.mean());
  REQUIRE(narrow.deviation() == about(35.355339059327378));
  REQUIRE(wide.deviation() == about(50));
}

TEST_CASE("Percentiles are samples, by nearest rank") {
  const Statistics statistics = collect(1000, [](uint64_t i) { return 999 - i; });
  REQUIRE(statistics.percentile(50) == 499);
  REQUIRE(statistics.percentile(50.1) == 500);
  REQUIRE(statistics.percentile(0.1) == 0);
  REQUIRE(statistics.percentile(0.0001) == 0);
  // 99.9 / 100 * 1000 is a little above 999 in doubles.
  REQUIRE(statistics.percentile(99.9) == 998);
  REQUIRE(statistics.percentile(99.99) == 999);
  REQUIRE(statistics.percentile(100) == 999);
  const Statistics one = collect(1, [](uint64_t) { return uint64_t{7}; });
  REQUIRE(one.percentile(0.01) == 7);
  REQUIRE(one.percentile(99.99) == 7);
  REQUIRE(one.deviation() == 0);
  REQUIRE_THROWS_AS(one.percentile(0), xio::host::Error);
  REQUIRE_THROWS_AS(one.percentile(100.1), xio::host::Error);
  REQUIRE_THROWS_AS(one.percentile(std::nan("")), xio::host::Error);
}

TEST_CASE("No samples") {
  const auto mode = GENERATE(Statistics::Mode::exact, Statistics::Mode::bounded);
  const Summary summary = Statistics(mode).summary();
  REQUIRE(summary.count == 0);
  REQUIRE(summary.min == 0);
  REQUIRE(summary.max == 0);
  REQUIRE(summary.mean == 0);
  REQUIRE(summary.deviation == 0);
  REQUIRE(summary.p99_99 == 0);
  REQUIRE(Statistics(mode).histogram().text().empty());
}

TEST_CASE("Bounded mode: exact where it says so, and percentiles within the stated bound") {
  const auto sample = GENERATE(scattered, tailed);
  const uint64_t count = 20000;
  const Statistics exact = collect(count, sample);
  const Statistics bounded = collect(count, sample, Statistics::Mode::bounded);
  REQUIRE(bounded.mode() == Statistics::Mode::bounded);
  REQUIRE(bounded.count() == count);
  REQUIRE(bounded.min() == exact.min());
  REQUIRE(bounded.max() == exact.max());
  REQUIRE(bounded.mean() == about(exact.mean()));
  REQUIRE(bounded.deviation() == about(exact.deviation()));
  bool all_exact = true;
  for (const double percent : {0.01, 1.0, 10.0, 25.0, 50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
    const uint64_t right = exact.percentile(percent);
    const uint64_t found = bounded.percentile(percent);
    REQUIRE(found >= right);
    REQUIRE(found - right <= right / 128);
    all_exact = all_exact && found == right;
  }
  REQUIRE_FALSE(all_exact);
  REQUIRE(bounded.percentile(100) == bounded.max());
}

TEST_CASE("Bounded mode keeps small values and extreme values apart") {
  Statistics statistics(Statistics::Mode::bounded);
  for (uint64_t value = 0; value < 256; ++value) statistics.add(value);
  for (uint64_t value = 0; value < 256; ++value) {
    REQUIRE(statistics.percentile((static_cast<double>(value) + 0.5) / 256 * 100) == value);
  }
  Statistics extreme(Statistics::Mode::bounded);
  extreme.add(~uint64_t{0});
  extreme.add(uint64_t{1} << 63);
  extreme.add((uint64_t{1} << 63) - 1);
  REQUIRE(extreme.percentile(100) == ~uint64_t{0});
  REQUIRE(extreme.percentile(50) >= uint64_t{1} << 63);
  REQUIRE(extreme.percentile(50) - (uint64_t{1} << 63) <= uint64_t{1} << 56);
  REQUIRE(extreme.percentile(10) == (uint64_t{1} << 63) - 1);
}

TEST_CASE("Merged parts are as the whole") {
  using Mode = Statistics::Mode;
  const auto first = GENERATE(Mode::exact, Mode::bounded);
  const auto second = GENERATE(Mode::exact, Mode::bounded);
  Statistics merged(first);
  Statistics other(second);
  for (uint64_t i = 0; i < 20000; ++i) (i % 3 == 0 ? merged : other).add(tailed(i));
  merged.merge(other);
  merged.merge(Statistics(second));
  const bool exact = first == Mode::exact && second == Mode::exact;
  REQUIRE(merged.mode() == (exact ? Mode::exact : Mode::bounded));
  const Statistics whole = collect(20000, tailed, merged.mode());
  REQUIRE(merged.count() == 20000);
  REQUIRE(merged.min() == whole.min());
  REQUIRE(merged.max() == whole.max());
  REQUIRE(merged.mean() == about(whole.mean()));
  REQUIRE(merged.deviation() == about(whole.deviation()));
  for (const double percent : {1.0, 50.0, 99.0, 99.99})
    REQUIRE(merged.percentile(percent) == whole.percentile(percent));
  Statistics extremes(second);
  extremes.add(5);
  extremes.add(10000000);
  merged.merge(extremes);
  REQUIRE(merged.min() == 5);
  REQUIRE(merged.max() == 10000000);
}

TEST_CASE("Statistics merged with themselves") {
  Statistics merged = collect(20000, tailed, GENERATE(Statistics::Mode::exact, Statistics::Mode::bounded));
  const Statistics whole = merged;
  merged.merge(merged);
  REQUIRE(merged.count() == 40000);
  REQUIRE(merged.deviation() == about(whole.deviation()));
}

TEST_CASE("Running moments do not lose a small spread far from zero") {
  Moments moments;
  for (uint64_t i = 0; i < 1000; ++i) moments.add(static_cast<double>(far_from_zero(i)));
  // A double has 1/8 between neighbours here: that is the precision of the running mean.
  REQUIRE(std::abs(moments.mean() - 1000000000000002.0) < 1);
  REQUIRE(std::sqrt(moments.variance()) == Approx(1.4145667181154802).epsilon(0.05));
}

TEST_CASE("Another unit") {
  const Summary nanoseconds = collect(1000, scattered).summary();
  const Summary microseconds = nanoseconds.scaled(0.001);
  REQUIRE(microseconds.count == 1000);
  REQUIRE(microseconds.deviation == about(nanoseconds.deviation / 1000));
  REQUIRE(microseconds.p99_99 == about(10.065));
}

TEST_CASE("Histogram by powers of two") {
  Histogram histogram;
  for (const uint64_t value : {0u, 1u, 2u, 3u, 4u, 7u, 8u}) histogram.add(value);
  histogram.add(~uint64_t{0}, 3);
  REQUIRE(histogram[0] == 1);
  REQUIRE(histogram[1] == 1);
  REQUIRE(histogram[2] == 2);
  REQUIRE(histogram[3] == 2);
  REQUIRE(histogram[4] == 1);
  REQUIRE(histogram[64] == 3);
  REQUIRE(histogram.total() == 10);
  REQUIRE(Histogram::first_of(4) == 8);
  REQUIRE(Histogram::last_of(4) == 15);
  REQUIRE(Histogram::last_of(64) == ~uint64_t{0});
  Histogram twice = histogram;
  twice.merge(histogram);
  REQUIRE(twice[2] == 4);
  REQUIRE(twice.total() == 20);
}

TEST_CASE("Both modes count the same histogram") {
  const Histogram exact = collect(20000, tailed).histogram();
  const Histogram bounded = collect(20000, tailed, Statistics::Mode::bounded).histogram();
  for (size_t i = 0; i < Histogram::bucket_count; ++i) REQUIRE(exact[i] == bounded[i]);
  REQUIRE(exact.total() == 20000);
}

TEST_CASE("Picture of a histogram") {
  Histogram histogram;
  histogram.add(1000, 8);
  histogram.add(3000, 1);
  histogram.add(5000, 0);
  Histogram steep;
  steep.add(1, 1000);
  steep.add(2);
  REQUIRE(steep.text(1, 10) ==
          ">= 1                    1000  99.900 %  ##########\n>= 2                       1   0.100 %  #\n");
  REQUIRE(histogram.text(0.001, 16) ==
          ">= 0.512                   8  88.889 %  ################\n"
          ">= 1.024                   0   0.000 %\n"
          ">= 2.048                   1  11.111 %  ##\n");
}
