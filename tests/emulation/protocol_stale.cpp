// SPDX-License-Identifier: MIT

/// @file
/// @brief Lanes of one wave that read different values of one word, as they may where each lane has loads of its own.

#include <array>

#include "catch.hpp"
#include "emulation/protocol.hpp"
#include "watched_waves.hpp"

using namespace protocol_tests;
using xio_tests::TwoLanes;
using xio_tests::WatchedWave;

TEMPLATE_TEST_CASE_SIG("drain: a lane that took nothing and reads an older counter -> not broken", "[H17]",
                       ((Sharing S), S), Sharing::block, Sharing::grid) {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(8);
  Queue<S> view(queue.handle());
  Token token = view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, soon());
  REQUIRE(token.submitted());
  rig.model.run();
  // Lane 1 reads a former value.
  uint64_t& word = queue.handle().state->reserved;
  const auto store = [&](uint64_t now) { __atomic_store_n(&word, now, __ATOMIC_RELAXED); };
  TwoLanes wave(&word, [&] { store(0); }, [&, real = word] { store(real); });
  std::array<uint32_t, 2> taken{};
  wave.run([&](uint32_t lane) { taken[lane] = Queue<S>(queue.handle()).drain(); });
  CHECK(wave.happened);
  CHECK(taken == std::array<uint32_t, 2>{1, 1});
  CHECK(queue.handle().state->broken == 0);
  CHECK(view.wait(token, soon()).is_ok());
}

TEST_CASE("drain: a failure told while it moves to the log -> counted out once", "[H16]") {
  Rig rig(stepped());
  rig.model.faults().fail(Match().with_lba(1, 1), 0x281);
  const NvmeQueue queue = rig.tight_queue(2);
  const QueueHandle handle = queue.handle();
  Queue<Sharing::grid> view(handle);
  const auto run = [&](uint64_t lba) {
    const Token token = view.submit(xio::nvme::read(lba, 1), ContiguousPages{rig.bus()}, soon());
    REQUIRE(token.submitted());
    rig.model.run();
    return token;
  };
  const Token failed = run(1);
  view.drain();
  for (uint32_t i = 0; i < handle.slot_mask; ++i) REQUIRE(view.wait(run(0), soon()).is_ok());
  REQUIRE(handle.state->error_count == 1);
  (void)run(0);

  uint64_t* const in_table = &handle.slots[0].word;
  uint64_t* const in_log = xio::nvme::detail::entries_of(handle.failures);
  bool by_table = false;
  bool by_log = false;
  const bool both = GENERATE(false, true);
  {
    const auto tell = [&](uint64_t* where, bool& done) {
      if (done || (*where & 0x7fff) != 0x281) return;
      done = true;
      *where |= xio::nvme::detail::seen_bit;
      --handle.state->error_count;
    };
    WatchedWave wave([&](const void* where, const WatchedWave::Stores&) {
      if (where == in_table && handle.failures->used == 1) tell(in_table, by_table);
      if (both && where == in_log && by_table) tell(in_log, by_log);
    });
    view.drain();
  }
  REQUIRE(by_table);
  REQUIRE(by_log == both);
  CHECK(handle.state->error_count == 0);
  CHECK((*in_log & xio::nvme::detail::seen_bit) != 0);
  CHECK(view.errors().count == 0);
  CHECK(code_of(view.wait(failed, soon())) == 0x281);
}

TEMPLATE_TEST_CASE_SIG("fence: a deadline that has passed -> no search of the whole table", "[H14]", ((Sharing S), S),
                       Sharing::block, Sharing::grid) {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(64, [](QueueOptions& options) { options.completion_slots = 32768; });
  const QueueHandle& handle = queue.handle();
  // Long in use: all slots have been used, and one command is in flight, the last one.
  const uint64_t slots = uint64_t{handle.slot_mask} + 1;
  for (uint32_t i = 0; i < slots; ++i) handle.slots[i].word = 10 * slots << 16;
  handle.slots[slots - 1].word = 9 * slots << 16;
  xio::protocol::begin_at(*handle.state, 10 * slots);
  handle.state->retired = 10 * slots - 1;
  Queue<S> view(handle);
  uint64_t accesses = 0;
  WatchedWave wave([&](const void*, const WatchedWave::Stores&) { ++accesses; });
  CHECK(view.fence(Deadline{1}) == Status::timed_out);
  CHECK(accesses < 8 * xio::arch::looks_per_clock);
}
