// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief One test body for all sharing modes, policies, wave sizes and patterns of active lanes.

#include <cstring>

#include "catch.hpp"
#include "emulation/protocol.hpp"

namespace protocol_tests {

/// Work of each lane: write its own blocks, read them back, several at a time, and compare.
struct Exchange {
  std::vector<QueueHandle> queues;  ///< one per lane, or one for all
  unsigned char* data = nullptr;
  uint64_t bus = 0;
  uint64_t lanes = ~uint64_t{0};  ///< lanes of each wave that take part
  uint32_t rounds = XIO_TSAN ? 1 : 2;
  uint32_t blocks = 8;

  static constexpr uint32_t at_once = 3;
  size_t bytes_per_lane() const { return size_t{at_once} * blocks * 512; }
};

template <Sharing S, class Policy>
void exchange_blocks(const Exchange& job) {
  if (!(job.lanes >> xio::arch::lane() & 1)) return;
  const uint32_t me = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  Queue<S, Policy> queue(job.queues[S == Sharing::thread ? me : 0], S == Sharing::wave ? in_wave(job.lanes) : 0);
  unsigned char* const mine = job.data + me * job.bytes_per_lane();
  const uint64_t bus = job.bus + me * job.bytes_per_lane();
  const size_t bytes = size_t{job.blocks} * 512;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t version = round + 1;
    Token tokens[Exchange::at_once];
    const auto lba = [&](uint32_t i) { return (uint64_t{me} * Exchange::at_once + i) * job.blocks; };
    for (uint32_t i = 0; i < Exchange::at_once; ++i) stamp(mine + i * bytes, lba(i), job.blocks, version);
    queue.publish_payload();
    for (uint32_t i = 0; i < Exchange::at_once; ++i) {
      tokens[i] = queue.submit(xio::nvme::write(lba(i), job.blocks), ContiguousPages{bus + i * bytes}, soon());
    }
    // In reverse order: completions are found by token, not by position.
    for (uint32_t i = Exchange::at_once; i-- > 0;) EXPECT_OK(queue.wait(tokens[i], soon()));
    std::memset(mine, 0xee, Exchange::at_once * bytes);
    for (uint32_t i = 0; i < Exchange::at_once; ++i) {
      tokens[i] = queue.submit(xio::nvme::read(lba(i), job.blocks), ContiguousPages{bus + i * bytes}, soon());
    }
    EXPECT_OK(queue.wait_all(tokens, Exchange::at_once, soon()));
    for (uint32_t i = 0; i < Exchange::at_once; ++i) EXPECT(stamped(mine + i * bytes, lba(i), job.blocks, version));
  }
  EXPECT_OK(queue.quiet(soon()));
}

struct Shape {
  uint32_t wave_size;
  uint32_t waves;
  uint64_t lanes;
};

/// All lanes; only the upper half; every third; only the last.
inline std::vector<Shape> shapes(uint32_t waves) {
  std::vector<Shape> all{{1, waves == 1 ? 1 : waves * 2, 1},
                         {8, waves, 0xff},
                         {8, waves, 0xf0},
                         {32, waves, 0xffffffff},
                         {32, waves, 0xffff0000},
                         {64, waves, ~uint64_t{0}},
                         {64, waves, 0xffffffff00000000},
                         {64, waves, 0x9249249249249249},
                         {64, waves, uint64_t{1} << 63}};
  return all;
}

/// The kernel of a sharing mode and a policy.
struct Kernel {
  Sharing sharing;
  void (*body)(const Exchange&);
};

/// Runs the exchange in one shape, with delays and in random order, and checks the controller for violations.
inline void run_exchange(const Kernel& kernel, const Shape& shape, uint32_t depth, uint64_t jitter, bool split_groups) {
  CAPTURE(shape.wave_size, shape.waves, shape.lanes, depth, jitter);
  const uint32_t lanes = shape.wave_size * shape.waves;
  const bool own_queues = kernel.sharing == Sharing::thread;
  NvmeConfig config;
  config.poison_fetched_entries = true;
  config.queues = 256;
  Exchange job;
  Rig rig(config, lanes * job.bytes_per_lane());
  rig.model.faults().seed(jitter + 1);
  rig.model.faults().reorder(8);
  rig.model.faults().delay_us(Match().each(7), 0, 50);

  std::vector<NvmeQueue> queues;
  for (uint32_t i = 0; i < (own_queues ? lanes : 1); ++i) {
    // If many lanes share a queue, the outcome of each token must still be available when its lane waits for it.
    queues.push_back(
        rig.queue(depth, [&](QueueOptions& options) { options.completion_slots = own_queues ? 64 : 4096; }));
    job.queues.push_back(queues.back().handle());
  }
  job.data = rig.bytes();
  job.bus = rig.bus();
  job.lanes = shape.lanes;
  // A queue of a block is used by the waves of one block, one of the grid by waves of several.
  const bool blocks = kernel.sharing == Sharing::grid;
  Grid grid = Grid::of_waves(blocks ? shape.waves : 1, blocks ? 1 : shape.waves, shape.wave_size);
  grid.jitter_seed = jitter;
  grid.split_groups = split_groups;
  REQUIRE_NOTHROW(xio::simt::launch(grid, kernel.body, job));

  const auto all = rig.model.statistics();
  uint64_t commands = 0;
  for (const NvmeQueue& queue : queues) {
    const auto& seen = all.queues[queue.qid()];
    commands += seen.commands;
    CHECK(seen.stale_fetches + seen.invalid_doorbells + seen.suspicious_tails + seen.suspicious_heads == 0);
    CHECK(seen.command_id_conflicts == 0);
    CHECK(seen.cq_full_stalls == 0);
    CHECK(seen.completions == seen.commands);
    CHECK(seen.max_in_flight <= depth);
  }
  const uint64_t active = xio::arch::count_lanes(shape.lanes) * uint64_t{shape.waves};
  CHECK(commands == active * Exchange::at_once * 2 * job.rounds);
}

/// Runs every shape with one of two depths, and every other shape with random schedules.
template <Sharing S, class Policy>
void run_shapes(uint32_t waves, uint32_t small_depth, uint32_t large_depth) {
  const Kernel kernel{S, exchange_blocks<S, Policy>};
  uint64_t number = Policy::ringing == xio::Ringing::deferred ? 1 : 0;
  for (const Shape& shape : shapes(waves)) {
    const bool random = (number / 2) % 2 == 0;
    run_exchange(kernel, shape, number % 2 == 0 ? small_depth : large_depth, random ? number + 1 : 0,
                 random && xio::is_shared<S>);
    ++number;
  }
}

}  // namespace protocol_tests
