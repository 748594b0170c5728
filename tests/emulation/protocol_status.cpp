// SPDX-License-Identifier: MIT

/// @file
/// @brief Every status that a controller can answer reaches the caller, by every way to wait; and errors that nobody
/// waited for are not lost.

#include <cstring>

#include <xio/vendors/nvme/decode.hpp>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;

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

TEST_CASE("H16 every status reaches the caller, by every kind of wait") {
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

TEST_CASE("H16 notifications count failed operations, and only those") {
  Refusing refusing;
  Rig& rig = refusing.rig;
  const NvmeQueue queue = rig.queue(8);
  Queue<Sharing::grid, Policy<Notify>> view(queue.handle());
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  Notification notification{};
  uint64_t failed = 0;
  for (uint32_t lba = 0; lba < answers; lba += 7) {
    refusing.answer(lba);
    (void)view.submit(xio::nvme::read(lba, 1), ContiguousPages{rig.bus()}, soon(), xio::Options().notify(notification));
    rig.model.run();
    view.drain();
    failed += !success(status_of(lba));
    if (notification.done != lba / 7 + 1 || notification.failed != failed) {
      CAPTURE(lba, status_of(lba), notification.done, notification.failed, failed);
      FAIL("wrong counts");
    }
  }
}

TEST_CASE("H16 a batch, a transfer and a split command report the first error") {
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
  CHECK(view.quiet(soon()).is_ok());
}

TEMPLATE_TEST_CASE_SIG("H16 a command of more entries than the queue holds reports the first error", "",
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

TEST_CASE("H16 all lanes are told of the first error of a batch, whose share it was in") {
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

TEMPLATE_TEST_CASE_SIG("Errors that nobody waited for stay until quiet returns the first of them", "", ((Sharing S), S),
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

/// All lanes fail; then all of them wait for the same token, or nobody waits.
template <Sharing S>
void fail_together(const QueueHandle& handle, uint64_t bus, bool same_token) {
  Queue<S> queue(handle);
  const uint32_t lane = xio::arch::lane();
  if (same_token) {
    const xio::nvme::Piece piece{1, bus, 1};
    const Token token = queue.submit_batch(xio::nvme::Opcode::read, &piece, 1, soon());
    EXPECT(code_of(queue.wait(token, soon())) == 0x281);
    EXPECT(queue.errors().count == 0);
    EXPECT_OK(queue.quiet(soon()));
  } else {
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
}

}  // namespace

TEST_CASE("Errors of many lanes are counted once each, whoever waits") {
  for (const uint32_t wave_size : {8u, 64u}) {
    for (const bool same_token : {false, true}) {
      for (const uint64_t jitter : {0u, 3u}) {
        CAPTURE(wave_size, same_token, jitter);
        Rig rig;
        rig.model.faults().fail(Match().with_lba(1, 1), 0x281);
        Grid grid = Grid::of_waves(1, 1, wave_size);
        grid.jitter_seed = jitter;
        CHECK_NOTHROW(
            xio::simt::launch(grid, fail_together<Sharing::wave>, rig.queue(16).handle(), rig.bus(), same_token));
        CHECK_NOTHROW(
            xio::simt::launch(grid, fail_together<Sharing::grid>, rig.queue(16).handle(), rig.bus(), same_token));
      }
    }
  }
}

TEMPLATE_TEST_CASE_SIG("H16 a transfer reports errors of its own pieces, and nobody else does", "", ((Sharing S), S),
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
