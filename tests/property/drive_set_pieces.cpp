// SPDX-License-Identifier: MIT

/// @file
/// @brief Batches over several drives whose pieces a callable makes, of every type: each is moved as that of a list.

#include <algorithm>
#include <vector>

#include "catch.hpp"
#include "property/drives.hpp"

using namespace protocol_tests;
using xio::nvme::DrivePiece;
using xio::nvme::DriveSet;
using xio::nvme::DriveSetHandle;
using xio::nvme::DriveSpan;
using xio::nvme::DriveToken;
using xio::nvme::NotifiedPiece;
using xio::nvme::Opcode;
using xio::nvme::Piece;
using xio::nvme::PieceOf;
using xio::nvme::Segment;
using xio::nvme::SegmentList;

namespace {

using Noted = DriveSet<Sharing::grid, Policy<Notify>>;

constexpr uint32_t most_blocks = 16;
constexpr uint32_t most_bytes = most_blocks * block_bytes;
constexpr uint32_t page_blocks = 8;
constexpr uint32_t most_at_once = 16;

/// Random pieces at distinct places of the set, each with two pages of memory.
struct Scattered {
  /// @param lie_apart  whether all fill both pages, the second one first
  Scattered(Drives& drives, uint64_t seed, uint32_t count, bool lie_apart)
      : bases(drives.rigs.size(), drives.bus), bytes(drives.bytes), apart(lie_apart) {
    const xio::nvme::DriveRegion memory{bases.data(), uint64_t{count} * most_bytes};
    const uint64_t places = drives.rigs.size() * 4096 / most_blocks;
    for (uint32_t i = 0; i < count; ++i) {
      const auto blocks = apart ? most_blocks : static_cast<uint32_t>(1 + mix(seed, i) % most_blocks);
      const uint64_t inside = mix(seed, i + count) % (most_blocks - blocks + 1);
      // 37 and the number of places have no common factor.
      const uint64_t lba = (seed + i) * 37 % places * most_blocks + inside;
      pieces.push_back({lba, memory.at(uint64_t{i} * most_bytes, blocks * block_bytes)});
      const uint64_t page = drives.bus + uint64_t{i} * most_bytes;
      pages.push_back({page + most_bytes / 2, most_bytes / 2});
      pages.push_back({page, most_bytes / 2});
    }
  }

  template <class Action>
  void each_block(Action action) const {
    for (size_t i = 0; i < pieces.size(); ++i)
      for (uint32_t b = 0; b < pieces[i].data.length / block_bytes; ++b)
        action(pieces[i].lba + b, bytes + i * most_bytes + (apart ? b ^ page_blocks : b) * size_t{block_bytes});
  }

  std::vector<uint64_t> bases;
  std::vector<DrivePiece> pieces;
  std::vector<Segment> pages;
  unsigned char* bytes;
  bool apart;
};

uint32_t blocks_of(const DrivePiece& piece) { return piece.data.length / block_bytes; }

// What a batch gets: the pieces from number `first` on, by whatever type.
struct Source {
  const DrivePiece* pieces;
  const Segment* pages;
  uint64_t bus;
};
struct Listed : Source {
  static constexpr bool apart = false;
  auto from(uint32_t first) const { return pieces + first; }
};
template <class Kind>
struct Made : Source {
  static constexpr bool apart = Kind::apart;
  auto from(uint32_t first) const {
    return [one = *this, first](uint32_t i) { return Kind::make(one, first + i); };
  }
};
struct OfDrives {
  static constexpr bool apart = false;
  static DrivePiece make(const Source& of, uint32_t i) { return of.pieces[i]; }
};
struct OfSpans {
  static constexpr bool apart = false;
  static PieceOf<DriveSpan> make(const Source& of, uint32_t i) {
    return {of.pieces[i].lba, of.pieces[i].data, blocks_of(of.pieces[i])};
  }
};
struct OfAddresses {
  static constexpr bool apart = false;
  static Piece make(const Source& of, uint32_t i) {
    return {of.pieces[i].lba, of.bus + of.pieces[i].data.offset, blocks_of(of.pieces[i])};
  }
};
struct OfPages {
  static constexpr bool apart = true;
  static PieceOf<SegmentList> make(const Source& of, uint32_t i) {
    return {of.pieces[i].lba, {of.pages + 2 * i, 2}, blocks_of(of.pieces[i])};
  }
};

template <class Pieces>
void in_batches(const DriveSetHandle& set, Opcode operation, Pieces pieces, uint32_t count) {
  const uint32_t wave = xio::arch::block_index();
  DriveSet<Sharing::grid> drives(set, wave);
  DriveToken tokens[most_drives];
  for (uint32_t done = 0; done < count;) {
    const uint32_t now = std::min(count - done, most_at_once);
    EXPECT_OK(drives.submit_batch(operation, pieces.from(wave * count + done), now, tokens, soon()));
    EXPECT_OK(drives.wait_batch(tokens, soon()));
    done += now;
  }
}

template <class Pieces>
void in_transfers(const DriveSetHandle& set, Opcode operation, Pieces pieces, uint32_t count, Notification* progress) {
  const uint32_t wave = xio::arch::block_index();
  Noted drives(set, wave);
  EXPECT_OK(drives.transfer(operation, pieces.from(wave * count), count, soon(), progress[wave]));
}

/// A batch whose pieces each have a notification, but the last, and one for those that have none.
template <class Pieces>
void notified(const DriveSetHandle& set, Pieces pieces, Notification* each, Notification* of_batch) {
  Noted drives(set, 0);
  DriveToken tokens[most_drives];
  const auto one = [=](uint32_t i) {
    const auto piece = xio::nvme::detail::piece_at(pieces.from(0), i);
    return NotifiedPiece<std::decay_t<decltype(piece)>>{piece, i + 1 < most_at_once ? each + i : nullptr};
  };
  const auto told = xio::Options().notify(*of_batch);
  EXPECT_OK(drives.submit_batch(Opcode::read, one, most_at_once, tokens, soon(), told));
  EXPECT_OK(drives.wait_batch(tokens, soon()));
}

template <class Pieces>
void move_all(uint64_t seed) {
  constexpr uint32_t each = 20;
  const auto count = static_cast<uint32_t>(1 + mix(seed, 1) % most_drives);
  const auto waves = static_cast<uint32_t>(1 + mix(seed, 2) % 3);
  const uint32_t lanes = uint32_t{1} << 3 * (mix(seed, 3) % 3);
  const auto shift = static_cast<uint32_t>(4 + mix(seed, 4) % 2);
  CAPTURE(seed, count, waves, lanes, shift, Pieces::apart);
  Drives drives(count, 2, shift, size_t{waves} * each * most_bytes);
  const Scattered list(drives, seed, waves * each, Pieces::apart);
  const Pieces pieces{{list.pieces.data(), list.pages.data(), drives.bus}};
  const Grid grid = Grid::of_waves(waves, 1, lanes);
  const auto stamp_all = [&](uint64_t version) {
    list.each_block([&](uint64_t lba, unsigned char* block) { stamp(block, lba, 1, version); });
  };
  const auto all_stamped = [&](uint64_t version) {
    bool all = true;
    list.each_block([&](uint64_t lba, unsigned char* block) { all = all && stamped(block, lba, 1, version); });
    return all;
  };
  stamp_all(7);
  REQUIRE_NOTHROW(xio::simt::launch(grid, in_batches<Pieces>, drives.set, Opcode::write, pieces, each));
  list.each_block([&](uint64_t lba, unsigned char*) {
    unsigned char found[block_bytes];
    const auto where = drives.set.locate(lba);
    drives.rigs[where.drive]->model.read_blocks(1, where.lba, 1, found);
    REQUIRE(stamped(found, lba, 1, 7));
  });
  stamp_all(8);
  std::vector<Notification> progress(waves);
  REQUIRE_NOTHROW(
      xio::simt::launch(grid, in_transfers<Pieces>, drives.set, Opcode::read, pieces, each, progress.data()));
  CHECK(all_stamped(7));
  for (const Notification& one : progress) CHECK(one.done == each);
  std::vector<Notification> own(most_at_once);
  Notification of_batch{};
  REQUIRE_NOTHROW(
      xio::simt::launch(Grid::of_waves(1, 1, lanes), notified<Pieces>, drives.set, pieces, own.data(), &of_batch));
  for (uint32_t i = 0; i < most_at_once; ++i) CHECK(own[i].done == (i + 1 < most_at_once));
  CHECK(of_batch.done == 0);
}

/// One piece that is refused, among others: as of a list, whatever makes it.
template <class Make>
void refuse(const DriveSetHandle& set, const Make& bad, Status::Code why) {
  Noted drives(set, 0);
  DriveToken tokens[most_drives];
  Notification progress{};
  EXPECT(drives.submit_batch(Opcode::read, bad, 4, tokens, soon()) == why);
  for (uint32_t i = 0; i < set.drives; ++i) EXPECT(tokens[i].token.status == why);
  EXPECT(drives.transfer(Opcode::read, bad, 4, soon(), progress) == why);
}

}  // namespace

TEMPLATE_TEST_CASE("submit_batch, transfer: pieces of every type over drives -> each moved, and told to its own", "",
                   Listed, Made<OfDrives>, Made<OfSpans>, Made<OfAddresses>, Made<OfPages>) {
  for (uint64_t seed = 0; seed < 4; ++seed) move_all<TestType>(seed);
}

TEST_CASE("submit_batch, transfer: a made piece that is refused -> nothing is submitted to any drive", "[H23][H37]") {
  for (const uint32_t lanes : {1u, 8u}) {
    Drives drives(3, 1, 4, 65536);
    const std::vector<uint64_t> bases(3, drives.bus);
    const xio::nvme::DriveRegion memory{bases.data(), 65536};
    const auto run = [&](auto good, auto bad, Status::Code why) {
      const auto made = [=](uint32_t i) { return i == 2 ? bad : good; };
      const auto noted = [=](uint32_t i) { return NotifiedPiece<decltype(good)>{made(i), nullptr}; };
      REQUIRE_NOTHROW(xio::simt::launch(
          Grid::of_waves(1, 1, lanes), [&](const DriveSetHandle& set) { refuse(set, made, why); }, drives.set));
      DriveToken tokens[3];
      Noted set(drives.set, 0);
      CHECK(set.submit_batch(Opcode::read, noted, 4, tokens, soon()) == why);
    };
    const auto span = memory.at(0, 2 * block_bytes);
    const PieceOf<DriveSpan> spans{16, span, 2};
    run(spans, PieceOf<DriveSpan>{15, span, 2}, Status::invalid_argument);
    run(spans, PieceOf<DriveSpan>{16, span, 3}, Status::invalid_argument);
    run(spans, PieceOf<DriveSpan>{16, span, 0}, Status::invalid_argument);
    run(spans, PieceOf<DriveSpan>{3 * 4096, span, 2}, Status::out_of_range);
    run(spans, PieceOf<DriveSpan>{16, memory.at(65536, 2 * block_bytes), 2}, Status::out_of_range);
    const Piece address{16, drives.bus, 2};
    run(address, Piece{31, drives.bus, 2}, Status::invalid_argument);
    run(address, Piece{~uint64_t{0}, drives.bus, 1}, Status::out_of_range);
    const Segment pages[] = {{drives.bus, 512}, {drives.bus + 4096, 512}};
    const PieceOf<SegmentList> both{16, {pages, 2}, 1};
    run(both, PieceOf<SegmentList>{16, {pages, 2}, 2}, Status::misaligned);
    for (uint32_t i = 0; i < 3; ++i) CHECK(drives.rigs[i]->statistics(drives.queues[i]).commands == 0);
  }
}

TEST_CASE("submit_batch: spans in host memory under InGpuMemory -> unsupported, whoever makes them", "[H37]") {
  Drives drives(2, 1, 4, 4096);
  const std::vector<uint64_t> bases(2, drives.bus);
  for (QueueHandle& handle : drives.handles) handle.gpu_memory = ~0u;
  DriveSet<Sharing::grid, Policy<xio::InGpuMemory>> set(drives.set, 0);
  const auto submit = [&](xio::Memory memory) {
    const xio::nvme::DriveRegion region{bases.data(), 4096, memory};
    DriveToken tokens[2];
    const auto made = [=](uint32_t i) { return PieceOf<DriveSpan>{16 * i, region.at(0, block_bytes), 1}; };
    const Status status = set.submit_batch(Opcode::read, made, 2, tokens, soon());
    CHECK(set.wait_batch(tokens, soon()) == status);
    return status;
  };
  CHECK(submit(xio::Memory::host) == Status::unsupported);
  CHECK(drives.handles[0].state->reserved + drives.handles[1].state->reserved == 0);
  CHECK(submit(xio::Memory::device).is_ok());
}
