// SPDX-License-Identifier: MIT

/// @file
/// @brief Sizes of queues for every depth and every largest queue.

#include <algorithm>
#include <string>

#include <xio/host/nvme/queue_plan.hpp>

#include "catch.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;

namespace {

QueueLimits limits_of(uint32_t max_entries) {
  QueueLimits limits;
  limits.max_entries = max_entries;
  limits.max_transfer_bytes = 1 << 19;
  return limits;
}

QueuePlan plan_of(uint32_t depth, const QueueLimits& limits) {
  QueueOptions options;
  options.depth = depth;
  return plan_queue(options, limits);
}

using xio::host::is_power_of_two;

}  // namespace

TEST_CASE("every depth up to the largest queue has a plan", "[host][queue]") {
  for (const uint32_t largest : {2u, 3u, 31u, 32u, 33u, 1023u, 2048u, 4096u, 65535u, 65536u}) {
    const QueueLimits limits = limits_of(largest);
    for (uint32_t depth = 1; depth <= largest; depth += 1 + depth / 37) {
      const QueuePlan plan = plan_of(depth, limits);
      REQUIRE(is_power_of_two(plan.sq_entries));
      REQUIRE(is_power_of_two(plan.cq_entries));
      REQUIRE(is_power_of_two(plan.slots));
      REQUIRE(plan.sq_entries >= 2);
      REQUIRE(plan.sq_entries <= largest);
      REQUIRE(plan.cq_entries <= largest);
      // H24: completions of everything in flight have room.
      REQUIRE(plan.depth >= 1);
      REQUIRE(plan.depth < plan.sq_entries);
      REQUIRE(plan.depth < plan.cq_entries);
      REQUIRE(plan.slots >= 2 * plan.depth);
      REQUIRE(plan.slots <= 32768);
      REQUIRE(plan.depth <= depth);
      if (uint64_t{plan.sq_entries} * 2 <= largest) {
        REQUIRE(plan.cq_entries ==
                std::min(std::max(plan.sq_entries * 2, 64u), static_cast<uint32_t>(power_of_two_up_to(largest))));
        REQUIRE((plan.depth == depth || plan.depth == 16384));
      }
    }
    CHECK(contains(error_of([&] { plan_of(largest + 1, limits); }), "at most " + std::to_string(largest)));
  }
  CHECK(contains(error_of([] { plan_of(0, limits_of(32)); }), "at least 1"));
}

TEST_CASE("rings are the smallest that hold the depth", "[host][queue]") {
  const QueueLimits limits = limits_of(2048);
  const auto sizes = [&](uint32_t depth) {
    const QueuePlan plan = plan_of(depth, limits);
    return std::to_string(plan.depth) + "/" + std::to_string(plan.sq_entries) + "/" + std::to_string(plan.cq_entries);
  };
  CHECK(sizes(1) == "1/2/64");
  CHECK(sizes(3) == "3/4/64");
  CHECK(sizes(31) == "31/32/64");
  CHECK(sizes(32) == "32/64/128");
  CHECK(sizes(64) == "64/128/256");
  CHECK(sizes(1023) == "1023/1024/2048");
  CHECK(sizes(1024) == "1024/2048/2048");
  CHECK(sizes(2048) == "2047/2048/2048");
}

TEST_CASE("completion slots: many by default, a checked number on request", "[host][queue]") {
  QueueLimits limits = limits_of(65536);
  QueueOptions options;
  const auto slots = [&] { return plan_queue(options, limits).slots; };
  limits.max_transfer_bytes = 4096;  // no lists
  options.depth = 64;
  CHECK(slots() == 4096);
  options.depth = 4096;
  CHECK(slots() == 8192);
  options.depth = 20000;
  CHECK(slots() == 32768);
  // Lists bound the default: 1 MiB of them, but never less than the protocol needs.
  options.depth = 64;
  limits.max_transfer_bytes = 1 << 19;
  CHECK(slots() == 1024);
  options.depth = 2000;
  CHECK(slots() == 4096);

  options.depth = 64;
  for (const uint32_t accepted : {128u, 256u, 32768u}) {
    options.completion_slots = accepted;
    CHECK(slots() == accepted);
  }
  for (const uint32_t refused : {64u, 129u, 65536u}) {
    options.completion_slots = refused;
    CHECK(contains(error_of(slots), "a power of two from 128 to 32768"));
  }
}

TEST_CASE("fixed ring sizes bound the depth", "[host][queue]") {
  QueueOptions options;
  options.depth = 64;
  options.sq_entries = 256;
  options.cq_entries = 8;
  const QueuePlan plan = plan_queue(options, limits_of(2048));
  CHECK(plan.sq_entries == 256);
  CHECK(plan.cq_entries == 8);
  CHECK(plan.depth == 7);
  CHECK(plan.slots >= 16);
  options.sq_entries = 8;
  options.cq_entries = 256;
  CHECK(plan_queue(options, limits_of(2048)).depth == 7);
  options.completion_slots = 16;
  CHECK(plan_queue(options, limits_of(2048)).slots == 16);
  options.completion_slots = 8;
  CHECK(contains(error_of([&] { plan_queue(options, limits_of(2048)); }), "a power of two from 16 to 32768"));
  options.completion_slots = 0;
  for (const uint32_t wrong : {1u, 3u, 4096u}) {
    options.sq_entries = wrong;
    CHECK(contains(error_of([&] { plan_queue(options, limits_of(2048)); }), "a power of two from 2 to 2048"));
  }
}

TEST_CASE("lists hold the longest command, or bound it", "[host][queue]") {
  QueueLimits limits = limits_of(2048);
  QueueOptions options;
  const auto plan = [&] { return plan_queue(options, limits); };

  limits.max_transfer_bytes = 4096;  // two PRPs do
  CHECK(plan().list_bytes == 0);
  CHECK(plan().max_blocks == 8);
  limits.max_transfer_bytes = 8192;
  CHECK(plan().list_bytes == 16);
  CHECK(plan().max_blocks == 16);
  limits.max_transfer_bytes = 1 << 19;
  CHECK(plan().list_bytes == 1024);
  CHECK(plan().max_blocks == 1024);
  limits.max_transfer_bytes = 0;  // no limit: one page of list
  CHECK(plan().list_bytes == 4096);
  CHECK(plan().max_blocks == 4096);
  limits.block_shift = 16;
  CHECK(plan().max_blocks == 32);
  limits.block_shift = 12;
  CHECK(plan().max_blocks == 512);

  // Chained lists: each page but the last gives a word away.
  options.list_bytes = 3 * 4096;
  CHECK(plan().max_blocks == 3 * 512 - 2);
  options.list_bytes = 64;
  CHECK(plan().max_blocks == 8);
  options.list_bytes = 0;
  CHECK(plan().max_blocks == 1);
  limits.block_shift = 13;
  CHECK(contains(error_of(plan), "a block of 8192 bytes is more than one command can move; raise list_bytes"));
  // What no list helps against.
  limits.max_transfer_bytes = 4096;
  CHECK(contains(error_of(plan),
                 "a block of 8192 bytes is more than one command can move; this controller moves at most "
                 "4096 bytes (MDTS): format the namespace with smaller blocks"));
  limits.max_transfer_bytes = 0;
  for (const uint32_t wrong : {4u, 24u, 4104u, 6000u}) {
    options.list_bytes = wrong;
    CHECK(contains(error_of(plan), "list_bytes = " + std::to_string(wrong) + " is not accepted"));
  }
  // However large blocks and lists are, the size of a command fits into 32 bits.
  options.list_bytes = 1 << 24;
  limits.max_transfer_bytes = GENERATE(uint64_t{0}, uint64_t{1} << 32, uint64_t{1} << 40);
  for (limits.block_shift = 9; limits.block_shift <= 24; ++limits.block_shift) {
    const uint64_t most = uint64_t{plan().max_blocks} << limits.block_shift;
    REQUIRE(most == std::min(uint64_t{65536} << limits.block_shift, uint64_t{xio::nvme::data_size::largest}));
  }
  // The field counts 65536 blocks at most.
  options.list_bytes = 1 << 20;
  limits.block_shift = 9;
  limits.max_transfer_bytes = 0;
  CHECK(plan().max_blocks == 65536);
}

TEST_CASE("commands without data have limits of their own, whatever lists hold", "[host][queue]") {
  QueueLimits limits = limits_of(2048);
  QueueOptions options;
  options.list_bytes = 0;
  const auto plan = [&] { return plan_queue(options, limits); };
  CHECK(plan().max_blocks == 8);
  CHECK(plan().max_bytes == 1 << 19);
  CHECK(plan().append_bytes == 1 << 19);
  CHECK(plan().verify_blocks == 65536);
  CHECK(plan().write_zeroes_blocks == 1024);  // to be on the safe side: as for data
  CHECK(plan().uncorrectable_blocks == 65536);
  limits.commands.verify_bytes = 1 << 13;
  limits.commands.write_zeroes_bytes = 1 << 14;
  limits.commands.uncorrectable_bytes = 1 << 15;
  limits.commands.append_bytes = 1 << 16;
  CHECK(plan().verify_blocks == 16);
  CHECK(plan().write_zeroes_blocks == 32);
  CHECK(plan().uncorrectable_blocks == 64);
  CHECK(plan().append_bytes == 1 << 16);
  // Less than a block, and more than an entry can say.
  limits.block_shift = 12;
  limits.commands.verify_bytes = 2048;
  limits.commands.write_zeroes_bytes = uint64_t{1} << 50;
  CHECK(plan().verify_blocks == 1);
  CHECK(plan().write_zeroes_blocks == 65536);
  limits.max_transfer_bytes = 0;
  limits.commands = {};
  CHECK(plan().max_bytes == 1u << 31);
  CHECK(plan().append_bytes == 1u << 31);
  CHECK(plan().write_zeroes_blocks == 65536);
}
