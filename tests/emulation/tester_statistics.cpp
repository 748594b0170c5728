// SPDX-License-Identifier: MIT
/// @file
/// @brief The tester's statistics against plain references.

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "catch.hpp"
#include "tester/measure/spread.hpp"
#include "tester/measure/summary.hpp"
#include "tester/nvme/smart.hpp"

using namespace tester;

namespace {

/// Statistics of samples by the book.
struct Reference {
  explicit Reference(std::vector<uint64_t> samples) : sorted(std::move(samples)) {
    std::sort(sorted.begin(), sorted.end());
    for (const uint64_t one : sorted) mean += static_cast<double>(one) / static_cast<double>(sorted.size());
    for (const uint64_t one : sorted) {
      const double off = static_cast<double>(one) - mean;
      variance += off * off / static_cast<double>(sorted.size());
    }
  }
  double percentile(double share) const {
    const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
    return static_cast<double>(sorted[rank - 1]);
  }

  std::vector<uint64_t> sorted;
  double mean = 0;
  double variance = 0;
};

Summary summarize(const std::vector<uint64_t>& samples, size_t lanes) {
  std::vector<Latency> parts(lanes);
  for (size_t i = 0; i < samples.size(); ++i) parts[i % lanes].record(samples[i]);
  Summary summary;
  for (const Latency& part : parts) summary.add(part);
  return summary;
}

void compare(const std::vector<uint64_t>& samples) {
  const Summary summary = summarize(samples, 3);
  const Reference reference(samples);
  CHECK(summary.count() == samples.size());
  CHECK(summary.least() == static_cast<double>(reference.sorted.front()));
  CHECK(summary.most() == static_cast<double>(reference.sorted.back()));
  CHECK(std::abs(summary.mean() - reference.mean) <= reference.mean * 1e-9);
  CHECK(std::abs(summary.deviation() - std::sqrt(reference.variance)) <= std::sqrt(reference.variance) * 1e-6 + 1e-3);
  for (const double share : {0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
    CAPTURE(share);
    const double found = summary.percentile(share);
    const double right = reference.percentile(share);
    CHECK(found <= right);
    CHECK(found >= right - right / 128 - 1);
  }
  uint64_t in_bars = 0;
  for (const auto& bar : summary.bars()) in_bars += bar.count;
  CHECK(in_bars == samples.size());
}

}  // namespace

TEST_CASE("the deviation comes from all samples, and percentiles agree with sorted samples", "[H31]") {
  std::mt19937_64 random(7);
  std::vector<uint64_t> uniform;
  std::vector<uint64_t> skewed;
  for (int i = 0; i < 20000; ++i) {
    uniform.push_back(random() % 100000);
    skewed.push_back(20000 + (random() % 1000 == 0 ? random() % 5000000000u : random() % 3000));
  }
  compare(uniform);
  compare(skewed);
  compare({42});
  compare({1, 1000000000000});
  compare(std::vector<uint64_t>(1000, 5));

  // The same least, mean, most and count, but another deviation.
  const Summary narrow = summarize({0, 50, 50, 50, 50, 100}, 1);
  const Summary wide = summarize({0, 0, 0, 100, 100, 100}, 1);
  CHECK(narrow.mean() == wide.mean());
  CHECK(narrow.deviation() < wide.deviation());
  CHECK(std::abs(wide.deviation() - 50) < 1e-9);
}

TEST_CASE("the spread of runs comes from all runs", "[H31]") {
  CHECK(spread_of({}).most == 0);
  const Spread one = spread_of({-7});
  CHECK((one.least == -7 && one.mean == -7 && one.deviation == 0 && one.most == -7));
  const Spread narrow = spread_of({100, 50, 0, 50});
  CHECK((narrow.least == 0 && narrow.mean == 50 && narrow.most == 100));
  CHECK(narrow.deviation == Approx(35.355339059327378));
  CHECK(spread_of({0, 100, 0, 100}).deviation == 50);
  // A small spread far from zero.
  CHECK(spread_of({1e15 + 1, 1e15 + 3, 1e15 + 1, 1e15 + 3}).deviation == 1);
}

TEST_CASE("buckets of a latency are in order and at most 1/128 wide") {
  uint32_t last = 0;
  for (uint64_t ticks = 0; ticks < 200000; ++ticks) {
    const uint32_t bucket = Latency::bucket_of(ticks);
    REQUIRE(bucket >= last);
    REQUIRE(bucket <= last + 1);
    REQUIRE(Latency::bucket_floor(bucket) <= ticks);
    REQUIRE(ticks - Latency::bucket_floor(bucket) <= ticks / 128);
    last = bucket;
  }
  CHECK(Latency::bucket_of(~uint64_t{0}) == Latency::bucket_count - 1);
  CHECK(Latency::bucket_of((uint64_t{1} << 40) - 1) == Latency::bucket_count - 1);
}

TEST_CASE("A drive's own count of commands: between what ended well and what was submitted") {
  const auto check_of = [](uint64_t reads, uint64_t writes) {
    CrossCheck check;
    PhaseResult written;
    written.direction = Direction::write;
    written.completed = written.submitted = 10;
    PhaseResult read;
    read.completed = 5;
    read.submitted = 7;
    check.add(written, 2);
    check.add(read, 2);
    check.counted = {reads, writes};
    return check;
  };
  for (const uint64_t reads : {10u, 12u, 14u}) CHECK(check_of(reads, 20).trouble().empty());
  CHECK(check_of(9, 20).trouble() == "the drive counted 9 read commands, this run had 10 to 14 (--smart)");
  CHECK(check_of(15, 19).trouble() ==
        "the drive counted 15 read commands, this run had 10 to 14 (--smart); "
        "the drive counted 19 write commands, this run had 20 (--smart)");
  // The kernel uses the same drive: more is no trouble, less is.
  CrossCheck shared = check_of(1000, 1000);
  shared.alone = false;
  CHECK(shared.trouble().empty());
  shared.counted.writes = 19;
  CHECK(shared.trouble() == "the drive counted 19 write commands, this run had 20 (--smart)");
}
