// SPDX-License-Identifier: MIT

/// @file
/// @brief Queues whose counters start just below 2^16, 2^24, 2^32 and beyond, end to end.

#include <cstring>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;

namespace {

constexpr uint32_t operations = 400;

template <Sharing S, class Policy>
void write_and_read(const QueueHandle& handle, unsigned char* data, uint64_t bus) {
  Queue<S, Policy> queue(handle);
  const uint32_t lane = xio::arch::lane();
  const uint32_t lanes = xio::arch::wave_size();
  unsigned char* const mine = data + lane * 512;
  for (uint32_t i = lane; i < operations; i += lanes) {
    stamp(mine, i, 1, 5);
    EXPECT_OK(queue.wait(queue.submit(xio::nvme::write(i, 1), ContiguousPages{bus + lane * 512}, soon()), soon()));
    std::memset(mine, 0, 512);
    const Token token = queue.submit(xio::nvme::read(i, 1), ContiguousPages{bus + lane * 512}, soon());
    EXPECT_OK(queue.wait(token, soon()));
    EXPECT(stamped(mine, i, 1, 5));
    EXPECT_OK(queue.wait(token, soon()));
  }
  EXPECT_OK(queue.quiet(soon()));
}

/// A queue of 128 slots that has done `start` operations before, as far as its counters tell.
NvmeQueue queue_at(Rig& rig, uint64_t start) {
  NvmeQueue queue = rig.queue(13, [](QueueOptions& options) {
    options.cq_entries = 64;
    options.completion_slots = 128;
  });
  const QueueHandle handle = queue.handle();
  REQUIRE(start % 128 == 0);  // the controller's rings start at entry 0, with phase 1
  xio::protocol::begin_at(*handle.state, start);
  handle.state->acknowledged = start;
  for (uint32_t i = 0; i <= handle.slot_mask; ++i) handle.slots[i].word = start << 16;
  return queue;
}

/// An operation of the last lap is never said to have ended before it has.
template <Sharing S>
void end_at(uint64_t start) {
  Rig rig(NvmeConfig(), 4096);
  const NvmeQueue queue = queue_at(rig, start - 128);
  Queue<S> view(queue.handle());
  const auto post = [&] { return view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, soon()); };
  for (int i = 0; i < 128; ++i) REQUIRE(view.wait(post(), soon()).is_ok());
  const auto held = rig.model.faults().hold(xio::emulation::Match());
  const Token token = post();
  REQUIRE(token.submitted());
  CHECK(view.wait(token, soon()) == Status::broken);
  rig.model.faults().resume(held);
}

/// A queue that has done `start` operations before, as far as its counters tell.
template <Sharing S, class Policy>
void start_at(uint64_t start, uint32_t wave_size) {
  CAPTURE(start, wave_size);
  Rig rig(NvmeConfig(), 64 * 512);
  rig.model.faults().reorder(4);
  const NvmeQueue queue = queue_at(rig, start);
  const QueueHandle handle = queue.handle();
  const xio::QueueState& state = *handle.state;

  const Grid grid = Grid::of_waves(1, 1, wave_size);
  xio::simt::launch(grid, write_and_read<S, Policy>, handle, rig.bytes(), rig.bus());

  CHECK(state.reserved == start + 2 * operations);
  CHECK(state.retired == start + 2 * operations);
  const auto seen = rig.statistics(queue);
  CHECK(seen.commands == 2 * operations);
  CHECK(seen.suspicious_tails + seen.suspicious_heads + seen.command_id_conflicts + seen.invalid_doorbells == 0);
}

const uint64_t starts[] = {(uint64_t{1} << 16) - 384, (uint64_t{1} << 24) - 384, (uint64_t{1} << 32) - 384,
                           (uint64_t{1} << 33) - 384, (uint64_t{1} << 47) - 384};

}  // namespace

TEMPLATE_TEST_CASE("H2 queues work across every wrap of short counters", "", xio::Policy<>, Policy<Deferred<3>>) {
  for (const uint64_t start : starts) {
    start_at<Sharing::thread, TestType>(start, 1);
    start_at<Sharing::wave, TestType>(start, 8);
    start_at<Sharing::grid, TestType>(start, 8);
  }
}

TEST_CASE("H2 a queue that can count no further is broken") {
  end_at<Sharing::thread>((uint64_t{1} << 48) - 128);
  end_at<Sharing::wave>((uint64_t{1} << 48) - 128);
  end_at<Sharing::grid>((uint64_t{1} << 48) - 128);
}

TEST_CASE("H2 every depth has a table twice as large, and works over several laps") {
  for (uint32_t depth = 1; depth <= 40; ++depth) {
    CAPTURE(depth);
    Rig rig(NvmeConfig(), 4096);
    const NvmeQueue queue = rig.tight_queue(depth);
    const QueueHandle handle = queue.handle();
    REQUIRE(handle.depth == depth);
    REQUIRE(handle.slot_mask + 1 >= 2 * depth);
    REQUIRE(handle.sq_mask >= depth);
    Queue<Sharing::thread> view(handle);
    std::vector<Token> tokens;
    for (uint32_t i = 0; i < 5 * depth; ++i) {
      tokens.push_back(view.submit(xio::nvme::read(i, 1), ContiguousPages{rig.bus()}, soon()));
      if (i >= depth) REQUIRE(view.wait(tokens[i - depth], soon()).is_ok());
    }
    REQUIRE(view.quiet(soon()).is_ok());
    REQUIRE(rig.statistics(queue).max_in_flight <= depth);
  }
}

TEST_CASE("H2 the deepest queue: 16384 in flight, identifiers up to 32767") {
  NvmeConfig config;
  config.mqes = 65535;
  config.discard_data = true;
  Rig rig(config, 4096);
  const NvmeQueue queue = rig.queue(32768, [](QueueOptions& options) { options.list_bytes = 0; });
  const QueueHandle handle = queue.handle();
  CHECK(handle.depth == 16384);
  CHECK(handle.slot_mask == 32767);
  Queue<Sharing::thread> view(handle);
  // More than there are identifiers, in either build.
  constexpr uint32_t total = XIO_TESTS_SHARE == 1 ? 100000 : 40000;
  for (uint32_t i = 0; i < total; ++i) {
    if (!view.submit(xio::nvme::read(i % 1000, 1), ContiguousPages{rig.bus()}, soon()).submitted())
      FAIL("not submitted");
  }
  CHECK(view.quiet(soon()).is_ok());
  const auto seen = rig.statistics(queue);
  CHECK(seen.completions == total);
  CHECK(seen.command_id_conflicts + seen.suspicious_tails + seen.suspicious_heads + seen.cq_full_stalls == 0);
}
