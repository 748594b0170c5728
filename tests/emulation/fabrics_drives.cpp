// SPDX-License-Identifier: MIT

/// @file
/// @brief A set of drives that are reached over RDMA: commands, batches and transfers, each drive with a key of its own
/// for the same memory, and one whose target goes.

#include "emulation/fabric_drives.hpp"

using namespace fabric_tests;
using xio::nvme::DrivePiece;
using xio::nvme::DriveSpan;
using xio::nvme::DriveToken;
using xio::nvme::Opcode;
using xio::nvme::Piece;
using xio::nvme::PieceOf;

TEMPLATE_LIST_TEST_CASE("fabric: threads write and read over a set of drives -> each block on its drive", "", Vendors) {
  constexpr uint32_t waves = 3, lanes = 8, threads = waves * lanes, turns = 4;
  FabricDrives<TestType> drives(3, 2, threads * size_t{block_bytes});
  const auto run = [&] {
    typename FabricDrives<TestType>::template Set<Sharing::grid> set(drives.set, xio::arch::block_index());
    const uint32_t me = xio::arch::block_index() * lanes + xio::arch::thread_index();
    unsigned char* const mine = drives.bytes.data() + size_t{me} * block_bytes;
    const DriveSpan span = drives.memory.at(uint64_t{me} * block_bytes, block_bytes);
    for (uint32_t turn = 0; turn < turns; ++turn) {
      const uint64_t lba = (uint64_t{turn} * threads + me) * 37 % (threads * turns);
      stamp(mine, lba, 1, 7);
      EXPECT_OK(set.wait(set.write(lba, span, soon()), soon()));
      std::memset(mine, 0, block_bytes);
      EXPECT_OK(set.wait(set.read(lba, span, soon()), soon()));
      EXPECT(stamped(mine, lba, 1, 7));
    }
    EXPECT(set.wait(set.read(3, drives.memory.at(0, 2 * block_bytes), soon()), soon()) == Status::invalid_argument);
    EXPECT(set.wait(set.read(3 * drives.blocks, span, soon()), soon()) == Status::out_of_range);
  };
  REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(waves, 1, lanes), run));
  for (uint64_t lba = 0; lba < threads * turns; ++lba) REQUIRE(stamped(drives.block(lba), lba, 1, 7));
  CHECK(drives.are_clean());
}

TEMPLATE_LIST_TEST_CASE("fabric: batches and a transfer over a set of drives -> every piece by its drive's key", "",
                        Some) {
  constexpr uint32_t count = 60, batch = 20, most_drives = 3;
  FabricDrives<TestType> drives(most_drives, 1, count * size_t{block_bytes});
  const auto lba_of = [](uint32_t i) { return uint64_t{i} * 37 % 61; };
  const auto offset_of = [](uint32_t i) { return uint64_t{i} * block_bytes; };
  const auto span = [=, memory = drives.memory](uint32_t i) { return memory.at(offset_of(i), block_bytes); };
  std::vector<DrivePiece> list;
  for (uint32_t i = 0; i < count; ++i) list.push_back({lba_of(i), span(i)});
  const auto by_span = [=](uint32_t i) { return PieceOf<DriveSpan>{lba_of(i), span(i), 1}; };
  const auto by_address = [=, base = drives.bases[0]](uint32_t i) { return Piece{lba_of(i), base + offset_of(i), 1}; };
  for (uint32_t i = 0; i < count; ++i) stamp(drives.bytes.data() + offset_of(i), lba_of(i), 1, 5);
  Notification progress{};
  const auto run = [&] {
    typename FabricDrives<TestType>::template Set<Sharing::grid, Notify> set(drives.set, 0);
    DriveToken tokens[most_drives];
    EXPECT_OK(set.submit_batch(Opcode::write, list.data(), batch, tokens, soon()));
    EXPECT_OK(set.wait_batch(tokens, soon()));
    const auto spans = [=](uint32_t i) { return by_span(batch + i); };
    EXPECT_OK(set.submit_batch(Opcode::write, spans, batch, tokens, soon()));
    EXPECT_OK(set.wait_batch(tokens, soon()));
    const auto addresses = [=](uint32_t i) { return by_address(2 * batch + i); };
    EXPECT_OK(set.submit_batch(Opcode::write, addresses, batch, tokens, soon()));
    EXPECT_OK(set.wait_batch(tokens, soon()));
    xio::arch::block_barrier();
    if (xio::arch::lane() == 0) std::fill(drives.bytes.begin(), drives.bytes.end(), uint8_t{0});
    xio::arch::block_barrier();
    EXPECT_OK(set.transfer(Opcode::read, by_span, count, soon(), progress));
  };
  REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 8), run));
  CHECK(progress.done == count);
  for (uint32_t i = 0; i < count; ++i) {
    REQUIRE(stamped(drives.block(lba_of(i)), lba_of(i), 1, 5));
    REQUIRE(stamped(drives.bytes.data() + offset_of(i), lba_of(i), 1, 5));
  }
  CHECK(drives.are_clean());
}

TEMPLATE_LIST_TEST_CASE("fabric: one drive of a set fails a block, then goes -> the others' pieces end", "[H14][H16]",
                        Some) {
  constexpr uint32_t pieces = 12;
  FabricDrives<TestType> drives(3, 0, pieces * size_t{block_bytes});
  typename FabricDrives<TestType>::template Set<Sharing::grid, Notify> set(drives.set, 0);
  const auto made = [&](uint32_t i) {
    return PieceOf<DriveSpan>{i, drives.memory.at(uint64_t{i} * block_bytes, block_bytes), 1};
  };
  DriveToken tokens[3];
  drives.drives[1]->target.medium.mark(2, 1, true);  // block 7 of the set
  CHECK(set.submit_batch(Opcode::read, made, pieces, tokens, soon()).is_ok());
  CHECK(set.wait(tokens[0], soon()).is_ok());
  CHECK(set.wait(tokens[1], soon()) == Status::read_error);
  CHECK(set.wait_batch(tokens, soon()) == Status::read_error);
  drives.drives[2]->target.die();
  CHECK(set.submit_batch(Opcode::write, made, pieces, tokens, soon()).is_ok());
  CHECK(set.wait(tokens[0], soon()).is_ok());
  CHECK(set.wait(tokens[1], soon()).is_ok());
  CHECK(set.wait_batch(tokens, xio::deadline(2_ms)) == Status::timed_out);
  Notification progress{};
  CHECK(set.transfer(Opcode::write, made, pieces, xio::deadline(2_ms), progress) == Status::timed_out);
  for (const Deadline until = soon(); progress.done < 8 && !until.passed();) set.drain();
  CHECK(progress.done == 8);
}
