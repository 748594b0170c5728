// SPDX-License-Identifier: MIT

/// @file
/// @brief process_completions(): every completion is handed over once, with its own identifier and status, and what was
/// handed over counts as waited for.

#include <map>
#include <set>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;
using xio::nvme::Completion;

namespace {

/// Some succeed with bits beside the status, some fail.
constexpr uint16_t status_of(uint64_t lba) {
  if (lba % 5 == 0) return 0x281;
  return lba % 7 == 0 ? 0x2000 : 0;
}

void answer_by_block(Rig& rig, uint64_t end) {
  for (uint64_t lba = 0; lba < end; ++lba) {
    if (status_of(lba) != 0) rig.model.faults().fail(Match().with_lba(lba, lba), status_of(lba));
  }
}

}  // namespace

TEST_CASE("H16 H22 each completion is handed over once, with its status, in whatever order they come") {
  constexpr uint64_t blocks = 200;
  Rig rig(stepped());
  const NvmeQueue queue = rig.tight_queue(7, 8);
  auto view = Queue<Sharing::thread, Policy<Deferred<32>>>(queue.handle()).session();
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  answer_by_block(rig, blocks);
  std::map<uint32_t, std::pair<Token, uint64_t>> in_flight;
  uint64_t next = 0;
  uint64_t ended = 0;
  for (uint32_t round = 0; ended < blocks; ++round) {
    REQUIRE(round < 10 * blocks);
    // One of each eight is late, so that others overtake it.
    const auto held = rig.model.faults().hold(Match().with_lba(next, next));
    for (; next < blocks; ++next) {
      const Token token = view.try_submit(xio::nvme::read(next, 1), ContiguousPages{rig.bus()});
      if (!token.submitted()) break;
      REQUIRE(in_flight.emplace(view.slot_of(token), std::pair(token, next)).second);
    }
    view.ring();
    const auto take = [&](const Completion& completion) {
      const auto found = in_flight.find(completion.slot);
      REQUIRE(found != in_flight.end());
      const auto [token, lba] = found->second;
      in_flight.erase(found);
      ++ended;
      uint64_t result = 0;
      REQUIRE(view.result(token, result).is_ok());
      if (completion.ticket != token.last || completion.status_field != status_of(lba) ||
          completion.is_ok() != (status_of(lba) != 0x281) ||
          completion.status() != xio::nvme::to_status(status_of(lba)) || completion.result != result) {
        CAPTURE(lba, completion.ticket, token.last, completion.status_field);
        FAIL("another operation's completion");
      }
      // The table shows the same to whoever asks by the token.
      if (view.wait(token, Deadline{0}) != completion.status()) FAIL("the token tells something else");
    };
    rig.model.run();
    CHECK(view.process_completions(take, 3) <= 3);
    view.process_completions(take);
    rig.model.faults().resume(held);
  }
  CHECK(in_flight.empty());
  CHECK(view.process_completions([](const Completion&) { FAIL("one too many"); }) == 0);
  CHECK(view.errors().count == 0);
  CHECK(view.quiet(soon()).is_ok());
  view.end();
  CHECK(queue.handle().state->error_count == 0);
}

TEST_CASE("H16 an error that nobody waited for is not forgotten when its identifier is handed over later") {
  Rig rig(stepped());
  const NvmeQueue queue = rig.tight_queue(4);
  Queue<Sharing::thread> view(queue.handle());
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  rig.model.faults().fail(Match().with_lba(9, 9), 0x281);
  const Token failed = view.submit(xio::nvme::read(9, 1), ContiguousPages{rig.bus()}, soon());
  rig.model.run();
  CHECK(view.drain() == 1);
  CHECK(view.errors().count == 1);
  uint32_t ended = 0;
  for (uint32_t i = 0; i < 20; ++i) {
    (void)view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, soon());
    rig.model.run();
    view.process_completions([&](const Completion& completion) { ended += completion.is_ok(); });
  }
  CHECK(ended == 20);
  CHECK(view.errors().count == 1);
  CHECK(view.errors().first_ticket == failed.last);
  CHECK(view.quiet(soon()) == Status(Status::read_error, 0x281));
  CHECK(view.quiet(soon()).is_ok());
}

TEST_CASE("H37 what takes a completion may submit the next command, with the queue full") {
  Rig rig(stepped());
  const NvmeQueue queue = rig.tight_queue(4);
  auto view = Queue<Sharing::thread>(queue.handle()).session();
  uint32_t submitted = 0;
  uint32_t ended = 0;
  const auto submit = [&] {
    submitted += view.try_submit(xio::nvme::read(submitted, 1), ContiguousPages{rig.bus()}).submitted();
  };
  for (uint32_t i = 0; i < 6; ++i) submit();
  CHECK(submitted == 4);
  for (uint32_t round = 0; round < 25; ++round) {
    rig.model.run();
    ended += view.process_completions([&](const Completion&) { submit(); }, 4);
  }
  CHECK(ended == 100);
  CHECK(submitted == 104);
  CHECK(rig.statistics(queue).command_id_conflicts == 0);
}

namespace {
void process_in_a_wave(const QueueHandle& handle, uint64_t bus, uint32_t* seen, uint32_t* taken) {
  Queue<Sharing::wave> queue(handle);
  const uint32_t lane = xio::arch::lane();
  for (uint32_t round = 0; round < 10; ++round) {
    const Token token = queue.submit(xio::nvme::read(lane, 1), ContiguousPages{bus}, soon());
    EXPECT(token.submitted());
  }
  const Deadline until = soon();
  uint32_t all = 0;
  while (xio::arch::ballot(xio::arch::active(), all < 10 * xio::arch::wave_size()) != 0) {
    all += queue.process_completions([&](const Completion& completion) {
      ++seen[completion.ticket];
      EXPECT(completion.is_ok());
      ++taken[lane];
    });
    EXPECT(!until.passed());
    xio::arch::pause(all);
  }
  EXPECT(all == 10 * xio::arch::wave_size());
}
}  // namespace

TEST_CASE("H22 H38 in a wave each completion is handed to one lane") {
  for (const uint32_t lanes : {8u, 64u}) {
    Rig rig;
    const NvmeQueue queue = rig.queue(10 * lanes);
    std::vector<uint32_t> seen(size_t{10} * lanes);
    std::vector<uint32_t> taken(lanes);
    REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, lanes), process_in_a_wave, queue.handle(), rig.bus(),
                                      seen.data(), taken.data()));
    CHECK(seen == std::vector<uint32_t>(size_t{10} * lanes, 1));
    uint32_t sum = 0;
    for (const uint32_t one : taken) sum += one;
    CHECK(sum == 10 * lanes);
  }
}
