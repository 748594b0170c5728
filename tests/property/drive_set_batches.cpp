// SPDX-License-Identifier: MIT

/// @file
/// @brief Batches and transfers over several drives: each piece on its drive, with the failures of its own.

#include <algorithm>
#include <vector>

#include "catch.hpp"
#include "property/drives.hpp"

using namespace protocol_tests;
using xio::KeptResult;
using xio::nvme::DrivePiece;
using xio::nvme::DriveSet;
using xio::nvme::DriveSetHandle;
using xio::nvme::DriveToken;
using xio::nvme::Opcode;

namespace {

using Noted = DriveSet<Sharing::grid, Policy<Notify>>;
using xio::arch::Scope;

/// Each wave's list of pieces, one or two blocks each, scattered over the set: waves and rounds apart.
struct Lists {
  Lists(Drives& drives, uint32_t waves, uint32_t each) : bases(drives.rigs.size(), drives.bus), count(each) {
    const uint64_t bytes = uint64_t{waves} * each * 2 * block_bytes;
    const xio::nvme::DriveRegion memory{bases.data(), bytes};
    for (uint32_t i = 0; i < waves * each; ++i) {
      // 37 and the number of pairs of blocks have no common factor.
      const uint64_t lba = uint64_t{i} * 37 % 2048 * 2;
      pieces.push_back({lba, memory.at(uint64_t{i} * 2 * block_bytes, (1 + i % 2) * block_bytes)});
    }
  }
  std::vector<uint64_t> bases;
  std::vector<DrivePiece> pieces;
  uint32_t count;  ///< of one wave
};

void stamp_all(const Lists& lists, unsigned char* data, uint64_t version) {
  for (const DrivePiece& piece : lists.pieces)
    stamp(data + piece.data.offset, piece.lba, piece.data.length / block_bytes, version);
}
bool all_stamped(const Lists& lists, const unsigned char* data, uint64_t version) {
  for (const DrivePiece& piece : lists.pieces)
    if (!stamped(data + piece.data.offset, piece.lba, piece.data.length / block_bytes, version)) return false;
  return true;
}

/// A batch per wave of as many pieces as fit wherever they lie, and again.
template <Sharing S>
void in_batches(const DriveSetHandle& set, Opcode operation, const DrivePiece* pieces, uint32_t count) {
  DriveSet<S> drives(set, xio::arch::block_index());
  pieces += xio::arch::block_index() * size_t{count};
  DriveToken tokens[most_drives];
  for (uint32_t done = 0; done < count;) {
    const uint32_t now = count - done < 16 ? count - done : 16;
    EXPECT_OK(drives.submit_batch(operation, pieces + done, now, tokens, soon()));
    uint32_t submitted = 0;
    for (uint32_t i = 0; i < set.drives; ++i) submitted += tokens[i].token.count;
    EXPECT(submitted == now);
    EXPECT_OK(drives.wait_batch(tokens, soon()));
    done += now;
  }
}

template <Sharing S>
void in_transfers(const DriveSetHandle& set, Opcode operation, const DrivePiece* pieces, uint32_t count,
                  Notification* progress) {
  DriveSet<S, Policy<Notify, Deferred<5>>> drives(set, xio::arch::block_index());
  const uint32_t wave = xio::arch::block_index();
  EXPECT_OK(drives.transfer(operation, pieces + wave * size_t{count}, count, soon(), progress[wave]));
  EXPECT(xio::arch::load<Scope::system>(&progress[wave].done) == count);
}

/// What a lane alone asks for, and what the lanes do not agree about: refused without a trace.
void refusals(const DriveSetHandle& set, const DrivePiece* pieces, const DrivePiece* bad, const Status::Code* why,
              uint32_t bad_ones, Notification& progress) {
  Noted drives(set, 0);
  const uint32_t lane = xio::arch::lane();
  DriveToken tokens[most_drives];
  const auto refused = [&](Opcode operation, const DrivePiece* list, uint32_t count, Status::Code reason) {
    EXPECT(drives.submit_batch(operation, list, count, tokens, soon()).code == reason);
    for (uint32_t i = 0; i < set.drives; ++i) EXPECT(tokens[i].token.status.code == reason);
    EXPECT(drives.wait_batch(tokens, soon()).code == reason);
  };
  for (uint32_t i = 0; i < bad_ones; ++i) {
    const DrivePiece list[] = {pieces[0], pieces[1], bad[i], pieces[2]};
    refused(Opcode::read, list, 4, why[i]);
    EXPECT(drives.transfer(Opcode::read, list, 4, soon(), progress).code == why[i]);
  }
  refused(Opcode::read, pieces, 0, Status::invalid_argument);
  EXPECT_OK(drives.transfer(Opcode::read, pieces, 0, soon(), progress));
  refused(Opcode::flush, pieces, 2, Status::invalid_argument);
  if (xio::arch::block_size() == 1) return;
  refused(Opcode::read, pieces, 4 + lane % 2, Status::invalid_argument);
  refused(lane == 5 ? Opcode::write : Opcode::read, pieces, 4, Status::invalid_argument);
  EXPECT(drives.transfer(Opcode::read, pieces, lane == 0 ? 0 : 4, soon(), progress) == Status::invalid_argument);
}

/// Reads of which those of one block fail.
void failing(const DriveSetHandle& set, const DrivePiece* pieces, uint32_t count, uint64_t bad, Notification* told) {
  Noted drives(set, 0);
  DriveToken tokens[most_drives];
  EXPECT_OK(drives.submit_batch(Opcode::read, pieces, count, tokens, soon(), xio::Options().notify(told[0])));
  const Status error(Status::read_error, 0x281);
  EXPECT(drives.wait_batch(tokens, soon()) == error);
  EXPECT(xio::arch::load<Scope::system>(&told[0].done) == count);
  EXPECT(xio::arch::load<Scope::system>(&told[0].failed) == 1);
  for (uint32_t i = 0; i < set.drives; ++i)
    EXPECT(drives.wait(tokens[i], soon()) == (i == set.locate(bad).drive ? error : Status()));
  EXPECT(drives.transfer(Opcode::read, pieces, count, soon(), told[1]) == error);
  // A transfer's failures are its caller's: nobody else hears of them.
  for (uint32_t i = 0; i < set.drives; ++i)
    EXPECT_OK(Queue<Sharing::grid, Policy<Notify>>(set.queues[i]).quiet(soon()));
}

}  // namespace

TEST_CASE("submit_batch: pieces over drives -> each on its drive, written and read back") {
  for (const uint32_t count : {1u, 2u, 3u, 4u}) {
    for (const uint32_t wave_size : {1u, 8u, 64u}) {
      for (const uint32_t shift : {1u, 4u}) {
        const uint32_t waves = count == 4 && wave_size == 64 ? 32 : 3;
        CAPTURE(count, wave_size, shift, waves);
        std::vector<Notification> progress(waves);
        const auto zero = [&] { std::fill(progress.begin(), progress.end(), Notification{}); };
        const auto run = [&](auto kernel, auto... more) {
          Drives drives(count, 2, shift, size_t{waves} * 50 * 2 * block_bytes);
          const Lists lists(drives, waves, 50);
          stamp_all(lists, drives.bytes, 7);
          const Grid grid = Grid::of_waves(waves, 1, wave_size);
          zero();
          REQUIRE_NOTHROW(
              xio::simt::launch(grid, kernel, drives.set, Opcode::write, lists.pieces.data(), lists.count, more...));
          std::vector<unsigned char> found(2 * block_bytes);
          for (size_t i = 0; i < lists.pieces.size(); i += 7) {
            const DrivePiece& piece = lists.pieces[i];
            const uint32_t blocks = piece.data.length / block_bytes;
            const auto where = drives.set.locate(piece.lba);
            drives.rigs[where.drive]->model.read_blocks(1, where.lba, blocks, found.data());
            REQUIRE(stamped(found.data(), piece.lba, blocks, 7));
          }
          stamp_all(lists, drives.bytes, 8);
          zero();
          REQUIRE_NOTHROW(
              xio::simt::launch(grid, kernel, drives.set, Opcode::read, lists.pieces.data(), lists.count, more...));
          CHECK(all_stamped(lists, drives.bytes, 7));
        };
        run(in_batches<Sharing::grid>);
        run(in_transfers<Sharing::grid>, progress.data());
        if (shift == 4) run(in_transfers<Sharing::block>, progress.data());
      }
    }
  }
}

TEST_CASE("submit_batch: a piece that is refused, lanes that disagree -> nothing is submitted to any drive",
          "[H23][H37]") {
  for (const uint32_t wave_size : {1u, 32u}) {
    Drives drives(3, 1, 3, 16384);
    const std::vector<uint64_t> bases(3, drives.bus);
    const xio::nvme::DriveRegion memory{bases.data(), 16384};
    const auto data = memory.at(0, block_bytes);
    const std::vector<DrivePiece> good = {{0, data}, {8, data}, {16, data}, {24, data}, {1, data}};
    const std::vector<DrivePiece> bad = {{7, memory.at(0, 2 * block_bytes)},  // crosses a stripe
                                         {0, memory.at(0, 0)},
                                         {0, memory.at(0, 100)},
                                         {3 * 4096, data},
                                         {~uint64_t{0}, data},
                                         {0, memory.at(16384, block_bytes)}};
    const std::vector<Status::Code> why = {Status::invalid_argument, Status::invalid_argument, Status::invalid_argument,
                                           Status::out_of_range,     Status::out_of_range,     Status::out_of_range};
    Notification progress{};
    REQUIRE_NOTHROW(xio::simt::launch(
        Grid::of_waves(1, 1, wave_size),
        [&](const DriveSetHandle& set) { refusals(set, good.data(), bad.data(), why.data(), 6, progress); },
        drives.set));
    for (uint32_t i = 0; i < 3; ++i) CHECK(drives.rigs[i]->statistics(drives.queues[i]).commands == 0);
    // One piece more than a drive's queue takes; the other drives have one each.
    std::vector<DrivePiece> many(17, good[0]);
    many.push_back(good[1]);
    DriveToken tokens[3];
    Noted set(drives.set, 0);
    CHECK(set.submit_batch(Opcode::read, many.data(), 18, tokens, soon()) == Status::invalid_argument);
    CHECK(drives.handles[0].state->reserved + drives.handles[1].state->reserved == 0);
    CHECK(set.submit_batch(Opcode::read, many.data() + 1, 17, tokens, soon()).is_ok());
    CHECK(tokens[0].token.count == 16);
    CHECK(tokens[1].token.count == 1);
    CHECK_FALSE(tokens[2].token.submitted());
    CHECK(set.wait_batch(tokens, soon()).is_ok());
  }
}

TEST_CASE("submit_batch, transfer: an unreadable block on one drive -> its status, and told to the caller alone",
          "[H16]") {
  for (const uint32_t wave_size : {1u, 8u, 64u}) {
    for (const uint32_t at : {0u, 5u, 15u}) {
      CAPTURE(wave_size, at);
      Drives drives(3, 1, 1, 16 * 2 * block_bytes);
      const Lists lists(drives, 1, 16);
      const uint64_t bad = lists.pieces[at].lba;
      const auto where = drives.set.locate(bad);
      drives.rigs[where.drive]->model.faults().fail(Match().with_lba(where.lba, where.lba), 0x281);
      Notification told[2]{};
      REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, wave_size), failing, drives.set, lists.pieces.data(), 16u,
                                        bad, static_cast<Notification*>(told)));
      CHECK(told[1].done == 16);
      CHECK(told[1].failed == 1);
    }
  }
}

TEST_CASE("submit_batch, transfer: a queue that is full or broken -> the other drives' pieces are submitted", "[H14]") {
  Drives drives(3, 1, 3, 4096, stepped());
  const std::vector<uint64_t> bases(3, drives.bus);
  const xio::nvme::DriveRegion memory{bases.data(), 4096};
  const auto data = memory.at(0, block_bytes);
  const std::vector<DrivePiece> pieces = {{0, data}, {8, data}, {16, data}, {9, data}};
  const std::vector<DrivePiece> filling(16, pieces[1]);
  Noted set(drives.set, 0);
  DriveToken full[3];
  DriveToken tokens[3];
  REQUIRE(set.submit_batch(Opcode::read, filling.data(), 16, full, soon()).is_ok());
  CHECK(set.submit_batch(Opcode::read, pieces.data(), 4, tokens, xio::Now{}) == Status::would_block);
  CHECK(tokens[0].token.submitted());
  CHECK(tokens[1].token.status == Status::would_block);
  CHECK(tokens[2].token.submitted());
  CHECK(drives.handles[2].state->reserved == 1);
  const auto briefly = [] { return xio::deadline(xio::Duration{1000000}); };
  CHECK(set.submit_batch(Opcode::read, pieces.data(), 4, tokens, briefly()) == Status::timed_out);
  Notification progress{};
  CHECK(set.transfer(Opcode::read, pieces.data(), 4, briefly(), progress) == Status::timed_out);
  for (auto& rig : drives.rigs) rig->model.run();
  CHECK(set.wait_batch(full, soon()).is_ok());
  CHECK(set.wait_batch(tokens, soon()) == Status::timed_out);
  {
    PausingWave wave([&](uint64_t) {
      for (auto& rig : drives.rigs) rig->model.run();
    });
    progress = {};
    CHECK(set.transfer(Opcode::read, pieces.data(), 4, soon(), progress).is_ok());
    CHECK(progress.done == 4);
  }
  drives.handles[1].state->broken = 1;
  drives.handles[1].state->reserved |= xio::protocol::broken_bit;
  CHECK(set.submit_batch(Opcode::read, pieces.data(), 4, tokens, soon()) == Status::broken);
  CHECK(tokens[0].token.count == 1);
  CHECK(tokens[2].token.count == 1);
  progress = {};
  CHECK(set.transfer(Opcode::read, pieces.data(), 4, soon(), progress) == Status::broken);
}
