// SPDX-License-Identifier: MIT

/// @file
/// @brief Who asks late, and in any order, gets the right answer: long after completion slots were used again, with
/// failures among the operations, in every sharing mode.

#include <algorithm>
#include <atomic>
#include <random>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;

namespace {

constexpr uint64_t region = 100;  // logical blocks that are read, of which one is bad_lba
constexpr uint64_t bad_lba = 37;
constexpr uint16_t bad_status = 0x281;

uint16_t answer_of(uint64_t lba) { return lba == bad_lba ? bad_status : 0; }

struct FailingRig : Rig {
  FailingRig() { model.faults().fail(Match().with_lba(bad_lba, bad_lba), bad_status); }
};

/// Reads `each` blocks and then asks for all of them, in an order of its own.
template <Sharing S>
void ask_late(const std::vector<QueueHandle>& queues, uint64_t bus, uint32_t each, std::atomic<uint32_t>* arrived) {
  const uint32_t me = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  Queue<S> queue(queues[S == Sharing::thread ? me : 0]);
  std::vector<std::pair<Token, uint64_t>> asked;
  for (uint32_t i = 0; i < each; ++i) {
    const uint64_t lba = (uint64_t{me} * each + i) % region;
    asked.emplace_back(queue.submit(xio::nvme::read(lba, 1), ContiguousPages{bus}, soon()), lba);
    EXPECT(asked.back().first.submitted());
  }
  EXPECT_OK(queue.fence(soon()));
  // Nobody asks before all have submitted: others' commands have used the slots many times.
  const uint32_t all = S == Sharing::thread ? 0 : xio::arch::grid_size() * xio::arch::block_size();
  ++*arrived;
  for (uint32_t round = 0; *arrived < all; ++round) xio::arch::pause(round);
  std::shuffle(asked.begin(), asked.end(), std::mt19937_64(me));
  for (const auto& [token, lba] : asked) EXPECT(code_of(queue.wait(token, soon())) == answer_of(lba));
  // And again.
  for (const auto& [token, lba] : asked) EXPECT(code_of(queue.test(token)) == answer_of(lba));
}

template <Sharing S>
void all_answers_right(Grid grid, uint32_t each, uint32_t depth, uint32_t failures = 1024) {
  FailingRig rig;
  grid.resident_waves = grid.blocks * grid.waves_per_block();
  const uint32_t threads = grid.blocks * grid.threads_per_block;
  std::vector<NvmeQueue> queues;
  std::vector<QueueHandle> handles;
  for (uint32_t i = 0; i < (S == Sharing::thread ? threads : 1); ++i) {
    queues.push_back(rig.queue(depth, [&](QueueOptions& options) { options.failures_on_record = failures; }));
    handles.push_back(queues.back().handle());
  }
  std::atomic<uint32_t> arrived{0};
  REQUIRE_NOTHROW(xio::simt::launch(grid, ask_late<S>, handles, rig.bus(), each, &arrived));
  for (const QueueHandle& handle : handles) {
    Queue<S == Sharing::block ? Sharing::grid : S> view(handle);
    CHECK(view.errors().count == 0);
  }
}

/// 100,000 operations in all; see tests/CMakeLists.txt for the share.
constexpr uint32_t for_each_of(uint32_t lanes) { return 100000 / XIO_TESTS_SHARE / lanes; }

}  // namespace

TEST_CASE("100,000 tokens asked late and in random order are answered rightly, with one failure in a hundred") {
  SECTION("thread") { all_answers_right<Sharing::thread>(Grid::of_waves(1, 1, 1), for_each_of(1), 64); }
  SECTION("wave") { all_answers_right<Sharing::wave>(Grid::of_waves(1, 1, 64), for_each_of(64), 200); }
  SECTION("block") { all_answers_right<Sharing::block>(Grid::of_waves(1, 4, 32), for_each_of(128), 100); }
  SECTION("grid") { all_answers_right<Sharing::grid>(Grid::of_waves(25, 1, 32), for_each_of(800), 100); }
}

namespace {

/// A kernel that computes while its read is under way.
void read_compute_wait(const QueueHandle& handle, uint64_t bus, uint64_t ticks, Status* status) {
  Queue<Sharing::grid> queue(handle);
  const uint32_t i = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  const Token token = queue.submit(xio::nvme::read(i % region, 1), ContiguousPages{bus}, soon());
  const uint64_t end = xio::arch::clock() + ticks;
  while (xio::arch::clock() < end) xio::arch::pause(100);
  status[i] = queue.wait(token, soon());
}

}  // namespace

TEST_CASE("4,096 lanes that compute between submission and wait are told how their reads ended") {
  FailingRig rig;
  // As few slots as the queue can have: they are used again twenty times.
  const NvmeQueue queue = rig.tight_queue(64);
  // A sanitizer sees in 16 waves what it sees in 64.
  constexpr uint32_t waves = XIO_TESTS_SHARE == 1 ? 64 : 16;
  Grid grid = Grid::of_waves(waves, 1, 64);
  grid.resident_waves = waves;
  std::vector<Status> status(waves * 64);
  REQUIRE_NOTHROW(xio::simt::launch(grid, read_compute_wait, queue.handle(), rig.bus(), 20000000u, status.data()));
  for (uint32_t i = 0; i < waves * 64; ++i) {
    CAPTURE(i);
    REQUIRE(code_of(status[i]) == answer_of(i % region));
    REQUIRE(status[i].is_ok() == (i % region != bad_lba));
  }
}

namespace {

/// One thread on a stepped controller, in a queue with as few slots and as short a log as there can be.
template <Sharing S>
struct Overflow {
  Overflow() : nvme_queue(make()), view(nvme_queue.handle()) {
    rig.model.faults().fail(Match().with_lba(bad_lba, bad_lba), bad_status);
  }
  NvmeQueue make() {
    return rig.queue(2, [](QueueOptions& options) {
      options.completion_slots = 4;
      options.failures_on_record = 64;
    });
  }
  Token read(uint64_t lba) {
    const Token token = view.submit(xio::nvme::read(lba, 1), ContiguousPages{rig.bus()}, soon());
    REQUIRE(token.submitted());
    return token;
  }
  void go_round() {
    for (int i = 0; i < 4; ++i) REQUIRE(view.wait(read(0), soon()).is_ok());
  }
  Rig rig{stepped()};
  PausingWave wave{[this](uint64_t) { rig.model.run(); }};
  NvmeQueue nvme_queue;
  Queue<S> view;
};

}  // namespace

TEMPLATE_TEST_CASE_SIG("A log that overflowed says expired, and nothing wrong", "", ((Sharing S), S), Sharing::thread,
                       Sharing::wave, Sharing::grid) {
  Overflow<S> queue;
  SECTION("nobody waits for failures: the last 64 are exact, older operations are expired") {
    const Token good = queue.read(0);
    std::vector<Token> failed;
    for (int i = 0; i < 100; ++i) failed.push_back(queue.read(bad_lba));
    queue.go_round();
    CHECK(queue.view.errors().count == 100);
    CHECK(queue.view.wait(good, soon()) == Status::expired);
    for (int i = 0; i < 100; ++i) {
      CAPTURE(i);
      const Status status = queue.view.wait(failed[static_cast<size_t>(i)], soon());
      if (i < 36) CHECK(status == Status::expired);
      if (i >= 36) CHECK(code_of(status) == bad_status);
    }
    const Token later = queue.read(0);
    queue.go_round();
    CHECK(queue.view.wait(later, soon()).is_ok());
    // Those that the log lost are counted, with the first of them.
    CHECK(queue.view.errors().count == 36);
    CHECK(queue.view.errors().first_ticket == failed[0].last);
    CHECK(code_of(queue.view.quiet(soon())) == bad_status);
    CHECK(queue.view.quiet(soon()).is_ok());
  }
  SECTION("failures that were waited for make room first") {
    const Token unseen = queue.read(bad_lba);
    queue.go_round();
    for (int i = 0; i < 1000; ++i) {
      const Token seen = queue.read(bad_lba);
      CHECK(code_of(queue.view.wait(seen, soon())) == bad_status);
      if (i % 2 == 0) queue.go_round();
      if (i % 3 == 0) CHECK(code_of(queue.view.wait(seen, soon())) == bad_status);
    }
    queue.go_round();
    CHECK(queue.view.errors().count == 1);
    CHECK(queue.view.errors().first_ticket == unseen.last);
    CHECK(code_of(queue.view.wait(unseen, soon())) == bad_status);
    CHECK(queue.view.errors().count == 0);
  }
  SECTION("of a token that stands for several, a failure is told before what is not on record") {
    Token row = queue.read(0);
    for (int i = 0; i < 80; ++i) (void)queue.read(bad_lba);
    row.last += 80;
    row.count = 81;
    queue.go_round();
    CHECK(code_of(queue.view.wait(row, soon())) == bad_status);
  }
}

TEST_CASE("A log shorter than 64 entries, or a huge one, is refused") {
  Rig rig;
  for (const uint32_t refused : {0u, 63u, (1u << 20) + 1}) {
    CHECK_THROWS_WITH(rig.queue(4, [&](QueueOptions& options) { options.failures_on_record = refused; }),
                      Catch::Contains("failures_on_record"));
  }
}

TEMPLATE_TEST_CASE_SIG("A result is given until its slot may be used again; a KeptResult for ever", "",
                       ((Sharing S), S), Sharing::thread, Sharing::grid) {
  Rig rig(stepped());
  const NvmeQueue queue = rig.tight_queue(2);
  Queue<S, Policy<Notify>> view(queue.handle());
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  rig.model.faults().fail(Match().with_lba(bad_lba, bad_lba), bad_status);
  uint64_t result = 0;
  CHECK(view.result(Token::refused(Status::would_block), result) == Status::would_block);
  const Token token = view.submit(xio::nvme::read(0, 1), ContiguousPages{rig.bus()}, soon());
  CHECK(view.result(token, result) == Status::pending);
  CHECK(view.wait(token, soon()).is_ok());
  CHECK(view.result(token, result).is_ok());

  xio::KeptResult kept{};
  xio::KeptResult failed{};
  REQUIRE(
      view.submit(xio::nvme::read(0, 1), ContiguousPages{rig.bus()}, soon(), xio::Options().keep(kept)).submitted());
  REQUIRE(view.submit(xio::nvme::read(bad_lba, 1), ContiguousPages{rig.bus()}, soon(), xio::Options().keep(failed))
              .submitted());
  CHECK(kept.ended == 0);
  for (int i = 0; i < 40; ++i) {
    CHECK(view.wait(view.submit(xio::nvme::read(0, 1), ContiguousPages{rig.bus()}, soon()), soon()).is_ok());
  }
  CHECK(kept.ended == xio::KeptResult::has_ended);
  CHECK(failed.ended == (xio::KeptResult::has_ended | bad_status));
  CHECK(view.result(token, result) == Status::expired);
}

TEMPLATE_TEST_CASE_SIG("quiet ends at its deadline, and does not lose what it had found", "", ((Sharing S), S),
                       Sharing::thread, Sharing::wave, Sharing::grid) {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(64, [](QueueOptions& options) { options.completion_slots = 32768; });
  const QueueHandle& handle = queue.handle();
  // Long in use: all slots have been used, and all operations have ended, some of them badly.
  const uint64_t slots = uint64_t{handle.slot_mask} + 1;
  for (uint32_t i = 0; i < slots; ++i) handle.slots[i].word = 10 * slots << 16;
  for (uint32_t i = 0; i < 40; ++i) handle.slots[i * 700].word |= bad_status;
  xio::protocol::begin_at(*handle.state, 10 * slots);
  handle.state->error_count = 40;
  Queue<S> view(handle);
  CHECK(view.quiet(Deadline{1}) == Status::timed_out);
  CHECK(view.errors().count == 40);
  CHECK(view.errors().first_ticket == 9 * slots);
  CHECK(code_of(view.quiet(soon())) == bad_status);
  CHECK(view.errors().count == 0);
  CHECK(view.quiet(Deadline{1}).is_ok());
}
