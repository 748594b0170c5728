// SPDX-License-Identifier: MIT

/// @file
/// @brief Every status that a controller can answer reaches the caller, by every way to wait, also late, and by
/// process_completions(); errors that nobody waited for are not lost.

#include <map>

#include <xio/vendors/nvme/decode.hpp>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;
using xio::nvme::Completion;

namespace {

/// The status that the controller gives to a read of `lba`: all codes of all types, then some with the bits beside
/// them, also beside a success.
constexpr uint16_t status_of(uint32_t lba) {
  if (lba < 2048) return static_cast<uint16_t>(lba);
  const auto bits = static_cast<uint16_t>((lba % 15 + 1) << 11);
  return static_cast<uint16_t>((lba % 5 == 0 ? 0 : (lba * 37) & 0x7ff) | bits);
}
constexpr uint32_t answers = 2048 + 512;

/// A rig whose reads fail as status_of() says; the rule is replaced for each read.
struct Refusing {
  Refusing() : rig(stepped()) {}
  void answer(uint32_t lba) {
    rig.model.faults().remove(rule);
    rule = rig.model.faults().fail(Match().with_lba(lba, lba), status_of(lba));
  }
  template <class Q>
  Token read(Q& queue, uint32_t lba) {
    answer(lba);
    const Token token = queue.submit(xio::nvme::read(lba, 1), ContiguousPages{rig.bus()}, soon());
    rig.model.run();
    return token;
  }
  Rig rig;
  xio::emulation::FaultRule rule;
};

constexpr bool success(uint16_t field) { return (field & 0x7ff) == 0; }

}  // namespace

TEST_CASE("every wait: every status of a controller -> the same status", "[H16]") {
  Refusing refusing;
  Rig& rig = refusing.rig;
  const NvmeQueue own = rig.queue(8);
  const NvmeQueue wide = rig.queue(8);
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  const auto each = [&](auto queue) {
    for (uint32_t i = 0; i < answers * 6; ++i) {
      const uint32_t lba = i / 6;
      const Token token = refusing.read(queue, lba);
      Status status;
      uint32_t which = 9;
      switch (i % 6) {
        case 0: status = queue.wait(token, soon()); break;
        case 1: status = queue.test(token); break;
        case 2: status = queue.wait_all(&token, 1, soon()); break;
        case 3: status = queue.wait_any(&token, 1, soon(), which); break;
        case 4: status = queue.wait_batch(token, soon()); break;
        default: status = queue.quiet(soon()); break;
      }
      const uint16_t field = status_of(lba);
      const bool kept = status.vendor == field || (status.vendor == 0 && success(field));
      if (!kept || status.code != xio::nvme::to_status(field).code || status.is_ok() != success(field)) {
        CAPTURE(lba, i % 6, field, status.vendor, status.code);
        FAIL("the status did not arrive as it was sent");
      }
      // Asked again, the token still knows; and nothing is left over.
      if (queue.wait(token, soon()) != xio::nvme::to_status(field)) FAIL("the second wait gives another answer");
      if (!queue.quiet(soon()).is_ok() || queue.errors().count != 0) FAIL("an error that was waited for came up again");
    }
  };
  each(Queue<Sharing::thread>(own.handle()));
  each(Queue<Sharing::grid>(wide.handle()));
}

TEST_CASE("wait: several failures of a batch, a transfer or a split command -> the first one", "[H16]") {
  Rig rig(stepped(), size_t{4} << 20);
  const NvmeQueue queue = rig.queue(32);
  Queue<Sharing::grid, Policy<Notify>> view(queue.handle());
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  rig.model.faults().fail(Match().with_lba(7, 7), 0x281);
  const auto second = rig.model.faults().fail(Match().with_lba(9, 9), 0x282);
  std::vector<xio::nvme::Piece> pieces;
  for (uint32_t i = 0; i < 20; ++i) pieces.push_back({i, rig.bus(), 1});
  const Status read_error(Status::read_error, 0x281);
  Token token = view.submit_batch(xio::nvme::Opcode::read, pieces.data(), 20, soon());
  CHECK(view.wait_batch(token, soon()) == read_error);
  CHECK(view.wait(token, soon()) == read_error);
  token = view.submit_batch(xio::nvme::Opcode::read, pieces.data() + 8, 12, soon());
  CHECK(view.wait(token, soon()) == Status(Status::integrity_error, 0x282));
  CHECK(view.quiet(soon()).is_ok());

  Notification progress{};
  CHECK(view.transfer(xio::nvme::Opcode::read, pieces.data(), 20, soon(), progress) == read_error);
  CHECK(progress.done == 20);
  CHECK(progress.failed == 2);
  CHECK((progress.status & Notification::device_status) == 0x281);
  CHECK(view.quiet(soon()).is_ok());

  // A command of many parts: the third part has the bad block.
  const uint32_t most = queue.handle().max_blocks;
  rig.model.faults().remove(second);
  rig.model.faults().fail(Match().with_lba(2 * most + 1, 2 * most + 1), 0x280);
  token = view.submit(xio::nvme::read(0, 4 * most), ContiguousPages{rig.bus()}, soon());
  CHECK(token.count == 4);
  CHECK(view.wait(token, soon()) == read_error);
  token = view.submit(xio::nvme::read(most, 4 * most), ContiguousPages{rig.bus()}, soon());
  CHECK(view.wait(token, soon()) == Status(Status::write_error, 0x280));
  CHECK(view.wait(Token::unpack(token.pack()), soon()) == Status(Status::write_error, 0x280));
  CHECK(view.quiet(soon()).is_ok());
}

TEMPLATE_TEST_CASE_SIG("submit: a command of more entries than the queue holds -> its first failure", "[H16][H36]",
                       ((Sharing S, uint32_t Every), S, Every), (Sharing::thread, 1), (Sharing::wave, 5),
                       (Sharing::grid, 1), (Sharing::grid, 5)) {
  Rig rig(stepped(), size_t{4} << 20);
  // Without lists a command moves at most a page.
  const NvmeQueue queue = rig.queue(8, [](QueueOptions& options) { options.list_bytes = 0; });
  using Policy = std::conditional_t<Every == 1, xio::Policy<>, Policy<Deferred<Every>>>;
  Queue<S, Policy> view(queue.handle());
  PausingWave wave([&](uint64_t) { rig.model.step(1); });
  const uint32_t most = queue.handle().max_blocks;
  REQUIRE(most == 8);
  // Of 19 entries, 8 are in flight at once: the last of the first ones fails, and one of the second.
  rig.model.faults().fail(Match().with_lba(7 * most, 7 * most), 0x281);
  rig.model.faults().fail(Match().with_lba(9 * most, 9 * most), 0x282);
  const Token token = view.submit(xio::nvme::read(0, 19 * most), ContiguousPages{rig.bus()}, soon());
  CHECK(token.status == Status(Status::read_error, 0x281));
  CHECK(token.count == 3);
  CHECK(view.wait(token, soon()) == Status(Status::read_error, 0x281));
  CHECK(view.wait(Token::unpack(token.pack()), soon()) == Status::device_error);
  CHECK(view.quiet(soon()).is_ok());
}

namespace {
/// A batch with one bad piece; each lane waits for its share of it.
template <Sharing S>
void batch_with_bad_piece(const QueueHandle& handle, const xio::nvme::Piece* pieces, uint32_t count) {
  Queue<S> queue(handle);
  const Token batch = queue.submit_batch(xio::nvme::Opcode::read, pieces, count, soon());
  EXPECT(code_of(queue.wait_batch(batch, soon())) == 0x281);
  EXPECT_OK(queue.quiet(soon()));
}
}  // namespace

TEST_CASE("wait_batch: a failed piece of one lane -> all lanes are told", "[H16]") {
  for (const uint64_t bad : {0u, 9u, 19u}) {
    CAPTURE(bad);
    Rig rig;
    rig.model.faults().fail(Match().with_lba(bad, bad), 0x281);
    rig.model.faults().fail(Match().with_lba(20, 20), 0x282);
    std::vector<xio::nvme::Piece> pieces;
    for (uint32_t i = 0; i < 21; ++i) pieces.push_back({i, rig.bus(), 1});
    const Grid grid = Grid::of_waves(1, 1, 8);
    CHECK_NOTHROW(
        xio::simt::launch(grid, batch_with_bad_piece<Sharing::wave>, rig.queue(32).handle(), pieces.data(), 21u));
    CHECK_NOTHROW(
        xio::simt::launch(grid, batch_with_bad_piece<Sharing::grid>, rig.queue(32).handle(), pieces.data(), 21u));
  }
}

TEMPLATE_TEST_CASE_SIG("quiet: failures that nobody waited for -> the first of them, once", "[H16]", ((Sharing S), S),
                       Sharing::thread, Sharing::wave, Sharing::grid) {
  Rig rig(stepped());
  const NvmeQueue queue = rig.tight_queue(8);
  Queue<S> view(queue.handle());
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  rig.model.faults().fail(Match().with_lba(1, 1), 0x281);
  rig.model.faults().fail(Match().with_lba(2, 2), 0x282);
  rig.model.faults().fail(Match().with_lba(3, 3), 0x280);
  const auto read = [&](uint64_t lba) {
    return view.submit(xio::nvme::read(lba, 1), ContiguousPages{rig.bus()}, soon());
  };
  const auto code = [](Status status) { return code_of(status); };

  const Token a = read(1);
  const Token b = read(2);
  const Token c = read(3);
  REQUIRE(view.fence(soon()).is_ok());
  CHECK(view.errors().count == 3);
  CHECK(view.errors().first_ticket == a.last);
  CHECK(code(view.errors().first) == 0x281);
  SECTION("quiet returns the first one, then nothing") {
    CHECK(code(view.quiet(soon())) == 0x281);
    CHECK(view.quiet(soon()).is_ok());
    CHECK(view.errors().count == 0);
    // Its tokens still know; and to ask them does not disturb the count of later errors.
    CHECK(code(view.wait(b, soon())) == 0x282);
    CHECK(view.quiet(soon()).is_ok());
    const Token d = read(3);
    REQUIRE(view.fence(soon()).is_ok());
    CHECK(code(view.wait(c, soon())) == 0x280);
    CHECK(view.errors().count == 1);
    CHECK(view.errors().first_ticket == d.last);
    CHECK(code(view.quiet(soon())) == 0x280);
  }
  SECTION("what was waited for is not returned") {
    CHECK(code(view.wait(a, soon())) == 0x281);
    CHECK(view.errors().count == 2);
    CHECK(view.errors().first_ticket == b.last);
    CHECK(code(view.wait(c, soon())) == 0x280);
    CHECK(view.errors().count == 1);
    CHECK(code(view.quiet(soon())) == 0x282);
    CHECK(view.quiet(soon()).is_ok());
  }
  SECTION("waiting twice counts once") {
    for (int i = 0; i < 3; ++i) CHECK(code(view.wait(a, soon())) == 0x281);
    CHECK(view.errors().count == 2);
    (void)view.quiet(soon());
    CHECK(view.errors().count == 0);
  }
  SECTION("who asks late is told the same") {
    for (uint32_t i = 0; i < 2 * (queue.handle().slot_mask + 1); ++i) CHECK(view.wait(read(10), soon()).is_ok());
    CHECK(view.errors().count == 3);
    CHECK(code(view.wait(b, soon())) == 0x282);
    CHECK(view.errors().count == 2);
    CHECK(code(view.quiet(soon())) == 0x281);
    CHECK(view.errors().count == 0);
    CHECK(code(view.wait(a, soon())) == 0x281);
    CHECK(view.quiet(soon()).is_ok());
    const Token d = read(2);
    REQUIRE(view.fence(soon()).is_ok());
    CHECK(view.errors().first_ticket == d.last);
    CHECK(code(view.quiet(soon())) == 0x282);
  }
}

namespace {

/// Every other lane fails, and one of them waits for its operation.
template <Sharing S>
void fail_together(const QueueHandle& handle, uint64_t bus) {
  Queue<S> queue(handle);
  const uint32_t lane = xio::arch::lane();
  const Token token = queue.submit(xio::nvme::read(lane % 2, 1), ContiguousPages{bus}, soon());
  EXPECT_OK(queue.fence(soon()));
  EXPECT(queue.errors().count == xio::arch::wave_size() / 2);
  EXPECT(code_of(queue.wait(lane == 5 ? token : Token(), soon())) == (lane == 5 ? 0x281 : 0));
  xio::arch::converge(xio::arch::active());
  EXPECT(queue.errors().count == xio::arch::wave_size() / 2 - 1);
  EXPECT(code_of(queue.quiet(soon())) == 0x281);
  EXPECT(queue.errors().count == 0);
  EXPECT(code_of(queue.wait(token, soon())) == (lane % 2 == 1 ? 0x281 : 0));
  EXPECT_OK(queue.quiet(soon()));
}

}  // namespace

TEST_CASE("errors: failures of many lanes -> each counted once", "[H16]") {
  for (const uint64_t jitter : {0u, 3u}) {
    CAPTURE(jitter);
    Rig rig;
    rig.model.faults().fail(Match().with_lba(1, 1), 0x281);
    Grid grid = Grid::of_waves(1, 1, 64);
    grid.jitter_seed = jitter;
    CHECK_NOTHROW(xio::simt::launch(grid, fail_together<Sharing::wave>, rig.queue(16).handle(), rig.bus()));
    CHECK_NOTHROW(xio::simt::launch(grid, fail_together<Sharing::grid>, rig.queue(16).handle(), rig.bus()));
  }
}

TEMPLATE_TEST_CASE_SIG("transfer: failures of its own and of others -> its own", "[H16]", ((Sharing S), S),
                       Sharing::thread, Sharing::wave, Sharing::block, Sharing::grid) {
  Rig rig(stepped());
  const NvmeQueue queue = rig.tight_queue(4);
  Queue<S, Policy<Notify>> view(queue.handle());
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  rig.model.faults().fail(Match().with_lba(1, 1), 0x281);
  rig.model.faults().fail(Match().with_lba(7, 7), 0x282);
  const auto read = [&](uint64_t lba) {
    return view.submit(xio::nvme::read(lba, 1), ContiguousPages{rig.bus()}, soon());
  };
  // Another's error, which nobody has waited for.
  const Token other = read(1);
  REQUIRE(view.fence(soon()).is_ok());
  REQUIRE(view.errors().count == 1);
  const auto transfer = [&](uint64_t lba, uint32_t count) {
    std::vector<xio::nvme::Piece> pieces;
    for (uint32_t i = 0; i < count; ++i) pieces.push_back({lba + i, rig.bus(), 1});
    Notification progress{};
    const Status status = view.transfer(xio::nvme::Opcode::read, pieces.data(), count, soon(), progress);
    CHECK(progress.done == count);
    return status;
  };
  CHECK(transfer(20, 3).is_ok());
  CHECK(code_of(transfer(5, 4)) == 0x282);
  // The failure leaves its slot, and remains known.
  CHECK(code_of(transfer(4, 30)) == 0x282);
  CHECK(view.errors().count == 1);
  CHECK(view.errors().first_ticket == other.last);
  CHECK(code_of(view.wait(other, soon())) == 0x281);
  CHECK(view.quiet(soon()).is_ok());
  // One of which only a notification tells is still reported.
  Notification told{};
  (void)view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, soon(), xio::Options().notify(told));
  REQUIRE(view.fence(soon()).is_ok());
  CHECK(told.failed == 1);
  CHECK(told.status == 0x281);
  CHECK(view.errors().count == 1);
  CHECK(code_of(view.quiet(soon())) == 0x281);
}

namespace {

constexpr uint64_t bad_lba = 37;
constexpr uint16_t bad_status = 0x281;

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

TEMPLATE_TEST_CASE_SIG("wait: a full log of failures -> the exact status, or expired", "[H16]", ((Sharing S), S),
                       Sharing::thread, Sharing::wave, Sharing::grid) {
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

TEST_CASE("create_queue: a log below 64 entries or above 2^20 -> refused") {
  Rig rig;
  for (const uint32_t refused : {0u, 63u, (1u << 20) + 1}) {
    CHECK_THROWS_WITH(rig.queue(4, [&](QueueOptions& options) { options.failures_on_record = refused; }),
                      Catch::Contains("failures_on_record"));
  }
}

TEMPLATE_TEST_CASE_SIG("result: a slot that may be used again -> expired, except in a KeptResult", "[H16]",
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

TEMPLATE_TEST_CASE_SIG("quiet: a deadline that passes during the search -> timed out, and the failures remain", "[H14]",
                       ((Sharing S), S), Sharing::thread, Sharing::wave, Sharing::grid) {
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

TEST_CASE("process_completions: completions in any order -> each handed over once with its status", "[H16][H22]") {
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

TEST_CASE("process_completions: an earlier failure that nobody waited for -> still counted", "[H16]") {
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

TEST_CASE("process_completions: a callback that submits to a full queue -> submitted", "[H37]") {
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
