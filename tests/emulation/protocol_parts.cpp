// SPDX-License-Identifier: MIT

/// @file
/// @brief Waves whose lanes use different queues, waves of which some lanes have ended, and batches on which lanes
/// disagree.

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;
using xio::Notification;
using xio::Notify;
using xio::nvme::Opcode;
using xio::nvme::Piece;

namespace {

struct Job {
  QueueHandle queues[3];
  unsigned char* data;
  uint64_t bus;
  uint32_t from = 0;  ///< lanes that take part: from..to - 1
  uint32_t to = 64;
  uint32_t queues_in_use = 1;
};

/// Writes and reads back three blocks at once in each lane, with the queue that the lane chooses.
template <Sharing S>
void exchange(const Job& job) {
  const uint32_t me = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  if (xio::arch::lane() < job.from || xio::arch::lane() >= job.to) return;
  Queue<S> queue(job.queues[me % job.queues_in_use]);
  const size_t offset = size_t{me} * 3 * 512;
  for (uint32_t round = 1; round <= 3; ++round) {
    Token tokens[3];
    stamp(job.data + offset, me * 3, 3, round);
    for (uint32_t i = 0; i < 3; ++i)
      tokens[i] = queue.submit(xio::nvme::write(me * 3 + i, 1), ContiguousPages{job.bus + offset + i * 512}, soon());
    EXPECT_OK(queue.wait_all(tokens, 3, soon()));
    for (uint32_t i = 0; i < 3; ++i) stamp(job.data + offset + i * 512, 0, 1, 99);
    tokens[0] = queue.submit(xio::nvme::read(me * 3, 3), ContiguousPages{job.bus + offset}, soon());
    uint32_t which = 1;
    EXPECT_OK(queue.wait_any(tokens, 1, soon(), which));
    EXPECT(stamped(job.data + offset, me * 3, 3, round));
  }
  EXPECT_OK(queue.quiet(soon()));
}

template <Sharing S>
void run(uint32_t wave_size, uint32_t waves, uint32_t depth, uint32_t from, uint32_t to, uint32_t queues_in_use) {
  CAPTURE(S, wave_size, waves, depth, from, to, queues_in_use);
  for (uint64_t jitter = 0; jitter < 2; ++jitter) {
    NvmeConfig config;
    config.poison_fetched_entries = true;
    Rig rig(config);
    std::vector<NvmeQueue> queues;
    Job job{{}, rig.bytes(), rig.bus(), from, to, queues_in_use};
    for (uint32_t i = 0; i < queues_in_use; ++i) {
      queues.push_back(rig.queue(depth));
      job.queues[i] = queues.back().handle();
    }
    xio::simt::Grid grid;
    grid.threads_per_block = wave_size * waves;
    grid.wave_size = wave_size;
    grid.jitter_seed = jitter;
    grid.split_groups = jitter % 2 != 0;
    CHECK_NOTHROW(xio::simt::launch(grid, exchange<S>, job));
    // Each queue got the commands of its own lanes.
    std::vector<uint64_t> due(queues_in_use);
    for (uint32_t me = 0; me < wave_size * waves; ++me)
      if (me % wave_size >= from && me % wave_size < to) due[me % queues_in_use] += 3 * 4;
    for (uint32_t i = 0; i < queues_in_use; ++i) CHECK(rig.statistics(queues[i]).commands == due[i]);
  }
}

void disagree(const QueueHandle& own, const QueueHandle& shared, const Piece* pieces, Notification& progress) {
  const uint32_t lane = xio::arch::lane();
  const auto try_both = [&](auto queue) {
    EXPECT(queue.submit_batch(Opcode::read, pieces, 4 + lane % 2, soon()).status == Status::invalid_argument);
    const Opcode each = lane == 5 ? Opcode::write : Opcode::read;
    EXPECT(queue.submit_batch(each, pieces, 4, soon()).status == Status::invalid_argument);
    EXPECT(queue.transfer(Opcode::read, pieces, lane == 0 ? 0 : 4, soon(), progress) == Status::invalid_argument);
    EXPECT_OK(queue.wait_batch(queue.submit_batch(Opcode::read, pieces, 4, soon()), soon()));
    EXPECT_OK(queue.quiet(soon()));
  };
  try_both(Queue<Sharing::wave, Policy<Notify>>(own));
  try_both(Queue<Sharing::grid, Policy<Notify>>(shared));
}

}  // namespace

TEST_CASE("Lanes of one wave that use different queues act on one queue after the other") {
  for (const uint32_t wave_size : {8u, 32u, 64u}) {
    for (const uint32_t depth : {5u, 128u}) {
      run<Sharing::wave>(wave_size, 1, depth, 0, 64, 3);
      run<Sharing::block>(wave_size, 2, depth, 0, 64, 3);
      run<Sharing::grid>(wave_size, 2, depth, 0, 64, 2);
    }
  }
}

TEST_CASE("Lanes that have ended take no part in a queue of their wave") {
  for (const uint32_t wave_size : {8u, 32u, 64u}) {
    for (const uint32_t depth : {5u, 128u}) {
      run<Sharing::wave>(wave_size, 1, depth, 0, 7, 1);
      run<Sharing::wave>(wave_size, 1, depth, 3, 7, 1);
      run<Sharing::wave>(wave_size, 1, depth, 1, 64, 2);
    }
  }
}

TEST_CASE("A batch on whose arguments the lanes disagree is refused") {
  Rig rig;
  const NvmeQueue own = rig.queue(16);
  const NvmeQueue shared = rig.queue(16);
  Piece pieces[5];
  for (uint32_t i = 0; i < 5; ++i) pieces[i] = {i, rig.bus(i * 512), 1};
  Notification progress{};
  xio::simt::Grid grid;
  grid.threads_per_block = 32;
  grid.wave_size = 32;
  CHECK_NOTHROW(xio::simt::launch(
      grid, [&](const QueueHandle& a, const QueueHandle& b) { disagree(a, b, pieces, progress); }, own.handle(),
      shared.handle()));
  CHECK(rig.statistics(own).commands == 4);
  CHECK(rig.statistics(shared).commands == 4);
}
