// SPDX-License-Identifier: MIT
/// @file
/// @brief The tester's access patterns and division of work, against plain references.

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "catch.hpp"
#include "tester/measure/lane_loop.hpp"
#include "tester/measure/result.hpp"
#include "tester/nvme/access_pattern.hpp"
#include "tester/nvme/block_content.hpp"
#include "tester/nvme/plan.hpp"

using namespace tester;

TEST_CASE("a shuffle goes to every number once, and depends on the seed") {
  for (const uint64_t count : {1u, 2u, 3u, 5u, 64u, 1000u, 4097u}) {
    std::set<uint64_t> seen;
    const Shuffle shuffle = Shuffle::of(count, 1);
    for (uint64_t i = 0; i < count; ++i) seen.insert(shuffle(i));
    CHECK(seen.size() == count);
    CHECK(*seen.rbegin() == count - 1);
  }
  const Shuffle one = Shuffle::of(1000, 1);
  const Shuffle again = Shuffle::of(1000, 1);
  const Shuffle other = Shuffle::of(1000, 2);
  int same = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    CHECK(one(i) == again(i));
    same += one(i) == other(i);
  }
  CHECK(same < 20);
}

TEST_CASE("reads go to the blocks that were written, all of them") {
  for (const bool random : {false, true}) {
    for (const uint64_t places : {10u, 1000u}) {
      const AccessPattern writes = AccessPattern::of(100, places, 3, random, 5);
      const AccessPattern reads = writes.revisiting(64, 5);
      std::set<uint64_t> written;
      std::set<uint64_t> read;
      for (uint64_t i = 0; i < 64; ++i) written.insert(writes.lba(i));
      for (uint64_t i = 0; i < 64; ++i) read.insert(reads.lba(i));
      CHECK(written.size() == std::min<uint64_t>(64, places));
      CHECK(read == written);
      CHECK(*written.begin() >= 100);
      CHECK(*written.rbegin() + 3 <= 100 + 3 * places);
    }
  }
}

TEST_CASE("the content of a block tells its address, in both forms") {
  for (const BlockContent content : {BlockContent::hashed(3), BlockContent::lfsr(3)}) {
    std::vector<uint64_t> block(64);
    auto* const bytes = reinterpret_cast<uint8_t*>(block.data());
    content.fill(bytes, 77, 512);
    CHECK(content.first_difference(bytes, 77, 512) == 512);
    CHECK(content.first_difference(bytes, 78, 512) == 0);
    bytes[300] ^= 1;
    CHECK(content.first_difference(bytes, 77, 512) == 296);
    uint64_t words[2];
    content.first_words(77, words);
    CHECK(words[0] == block[0]);
    CHECK(words[1] == block[1]);
  }
}

TEST_CASE("lanes divide the depth among themselves") {
  for (const uint32_t depth : {1u, 2u, 7u, 64u, 100u}) {
    for (const uint32_t waves : {1u, 3u, 8u}) {
      for (const uint32_t size : {1u, 8u, 64u}) {
        NvmePlan plan;
        plan.depth = depth;
        plan.waves = waves;
        plan.wave_size = size;
        plan.lanes_per_queue = waves * size;
        plan.active_lanes = std::min(depth, plan.lanes_per_queue);
        std::set<uint32_t> numbers;
        uint32_t sum = 0;
        for (uint32_t thread = 0; thread < plan.lanes_per_queue; ++thread) {
          const uint32_t number = plan.lane_number(thread);
          if (number == ~0u) continue;
          numbers.insert(number);
          sum += plan.window(number);
          CHECK(plan.windows_before(number) + plan.window(number) <= depth);
        }
        CHECK(numbers.size() == plan.active_lanes);
        CHECK(sum == depth);
        CHECK(plan.windows_before(0) == 0);
      }
    }
  }
}

TEST_CASE("Records of lanes are added up, in ticks of the clock that the lanes read") {
  constexpr double tick_ns = 10;  // 100 MHz
  LaneRecord lanes[3] = {};
  std::vector<Latency> latencies(3);
  for (uint32_t i = 0; i < 2; ++i) {
    lanes[i].submitted = 4;
    lanes[i].completed = 3;
    lanes[i].began = 1000 + 100 * i;
    lanes[i].ended = 5000 + 100 * i;
    lanes[i].steps.ticks[static_cast<uint32_t>(xio::telemetry::Step::enqueue)] = 16;
    for (int k = 0; k < 3; ++k) latencies[i].record(50 + 10 * i);
    lanes[i].fail(xio::Status(xio::Status::read_error, 0x281), 70 - i);
  }
  Result result;
  LaneSum sum(result, tick_ns);
  for (uint32_t i = 0; i < 3; ++i) {
    sum.add(lanes[i], latencies[i]);
    sum.add_steps(lanes[i]);
  }
  CHECK(result.submitted == 8);
  CHECK(sum.completed() == 6);
  CHECK(result.completed == 6);
  CHECK(result.failed == 2);
  // From the first lane's first submission to the second lane's last completion; the third one did nothing.
  CHECK(std::abs(sum.seconds() - 4100 * tick_ns * 1e-9) < 1e-12);
  CHECK(result.latency.most() == 60 * tick_ns);
  CHECK(result.step_ns(xio::telemetry::Step::enqueue) == 32 * tick_ns / 8);
  REQUIRE(result.statuses.size() == 1);
  CHECK(result.statuses[0].count == 2);
  CHECK(result.statuses[0].first == 69);
}

TEST_CASE("a lane accesses the host's words once in a millisecond, however often it looks at its limits") {
  struct Limits {
    uint64_t duration_ticks = 0;
    uint64_t deadline_ticks = 0;
    const uint32_t* stop = nullptr;
  };
  struct Counted : LaneRecord {
    uint64_t number = 0;
    uint64_t* progress = nullptr;
  };
  struct Loop : LaneLoop<Limits, Counted, xio::telemetry::Off> {
    using Base = LaneLoop<Limits, Counted, xio::telemetry::Off>;
    Loop(const Limits& limits, Counted& lane) : Base(limits, lane, 1) {}
    using Base::check_limits;
    using Base::stopping_;
  };
  uint64_t progress = 0;
  uint32_t stop = 0;
  Limits limits;
  limits.stop = &stop;
  Counted lane{};
  lane.progress = &progress;
  Loop loop(limits, lane);
  std::set<uint64_t> told;
  const uint64_t began = xio::arch::clock_hz * 3600;
  const uint64_t step = xio::arch::clock_hz / 1000000;
  for (uint64_t i = 0; i < 10000; ++i) {  // 10 ms in steps of 1 us
    ++lane.completed;
    CHECK_FALSE(loop.check_limits(began + i * step) != 0);
    told.insert(progress);
  }
  CHECK(told.size() == 10);
  stop = 1;
  CHECK(loop.check_limits(began + 9500 * step) == 0);
  CHECK(loop.check_limits(began + 10000 * step) == 1);
  CHECK(loop.stopping_);
}

TEST_CASE("A lane counts eight statuses separately, the others with the last one") {
  LaneRecord lane = {};
  for (uint16_t status = 1; status <= 10; ++status) lane.fail(xio::Status(xio::Status::read_error, status), status);
  lane.fail(xio::Status(xio::Status::read_error, 1), 11);
  CHECK(lane.failed == 11);
  REQUIRE(lane.statuses_used == LaneRecord::status_room);
  CHECK(lane.statuses[0].count == 2);
  CHECK(lane.statuses[0].first == 1);
  CHECK(lane.statuses[LaneRecord::status_room - 1].count == 3);
}
