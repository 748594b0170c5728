// SPDX-License-Identifier: MIT

/// @file
/// @brief Pieces of batches that are made by callables, with data of other kinds, and notifications of their own.

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;
using xio::nvme::Opcode;
using xio::nvme::Piece;

namespace {

/// Reads blocks in descending order, of which no list is in memory.
template <Sharing S>
void made_pieces(const QueueHandle& handle, uint64_t bus, uint32_t count, Notification* progress) {
  Queue<S, Policy<Notify>> queue(handle);
  const auto piece = [=](uint32_t i) { return Piece{count - 1 - i, bus + uint64_t{i} * 512, 1}; };
  EXPECT_OK(queue.wait_batch(queue.submit_batch(Opcode::read, piece, 16, soon()), soon()));
  EXPECT_OK(queue.transfer(Opcode::read, piece, count, soon(), *progress));
  const auto bad = [=](uint32_t i) { return Piece{i, bus, i == 15 ? 0u : 1u}; };
  EXPECT(queue.submit_batch(Opcode::read, bad, 16, soon()).status == Status::invalid_argument);
  EXPECT(queue.transfer(Opcode::read, bad, count, soon(), *progress) == Status::invalid_argument);
}

}  // namespace

TEST_CASE("submit_batch, transfer: pieces of a callable -> moved as those of a list") {
  const auto run = [](auto kernel, uint32_t wave_size) {
    constexpr uint32_t count = 100;
    Rig rig;
    std::vector<unsigned char> blocks(count * size_t{512});
    stamp(blocks.data(), 0, count, 3);
    rig.model.write_blocks(1, 0, count, blocks.data());
    const NvmeQueue queue = rig.queue(16);
    Notification progress{};
    REQUIRE_NOTHROW(
        xio::simt::launch(Grid::of_waves(1, 1, wave_size), kernel, queue.handle(), rig.bus(), count, &progress));
    CHECK(progress.done == count);
    for (uint32_t i = 0; i < count; ++i) REQUIRE(stamped(rig.bytes(i * size_t{512}), count - 1 - i, 1, 3));
    CHECK(rig.statistics(queue).commands == 16 + count);
  };
  run(made_pieces<Sharing::thread>, 1);
  run(made_pieces<Sharing::wave>, 8);
  run(made_pieces<Sharing::grid>, 64);
}

namespace {

using xio::nvme::NotifiedPiece;
using xio::nvme::PieceOf;
using xio::nvme::Segment;
using xio::nvme::SegmentList;

/// Reads 16 pieces of 16 blocks, each into two pages that lie apart, and others into pieces of a Region.
template <Sharing S>
void other_pieces(const QueueHandle& handle, const Segment* pages, xio::Region data, Notification* each,
                  Notification* progress) {
  Queue<S, Policy<Notify>> queue(handle);
  const auto apart = [=](uint32_t i) { return PieceOf<SegmentList>{16 * i, {pages + 2 * i, 2}, 16}; };
  const auto notified = [=](uint32_t i) { return NotifiedPiece<PieceOf<SegmentList>>{apart(i), each + i}; };
  EXPECT_OK(queue.wait_batch(queue.submit_batch(Opcode::read, notified, 16, soon()), soon()));
  EXPECT_OK(queue.transfer(Opcode::write, apart, 16, soon(), *progress));
  const auto spans = [=](uint32_t i) {
    return PieceOf<xio::RegionSpan>{8 * i, data.at(65536 + 4096 * i, i == 15 ? 8192 : 4096), 8};
  };
  EXPECT_OK(queue.wait_batch(queue.submit_batch(Opcode::read, spans, 15, soon()), soon()));
  EXPECT(queue.submit_batch(Opcode::read, spans, 16, soon()).status == Status::invalid_argument);
  const auto outside = [=](uint32_t i) { return PieceOf<xio::RegionSpan>{8 * i, data.at(131072 * i, 4096), 8}; };
  EXPECT(queue.submit_batch(Opcode::read, outside, 2, soon()).status == Status::out_of_range);
  const auto described = [=](uint32_t i) {
    return PieceOf<xio::nvme::Sgl<xio::RegionSpan>>{8 * i, xio::nvme::as_sgl(data.at(131072 * i, 4096)), 8};
  };
  EXPECT(queue.submit_batch(Opcode::read, described, 2, soon()).status == Status::out_of_range);
}

}  // namespace

TEST_CASE("submit_batch: pieces with data that lies apart, and notifications of their own -> each is moved") {
  const auto run = [](auto kernel, uint32_t wave_size) {
    constexpr uint32_t bytes = 16 * 8192;
    Rig rig;
    std::vector<unsigned char> blocks(bytes);
    stamp(blocks.data(), 0, bytes / 512, 3);
    rig.model.write_blocks(1, 0, bytes / 512, blocks.data());
    const NvmeQueue queue = rig.queue(16);
    std::vector<Segment> pages;
    for (uint32_t i = 0; i < 32; ++i) pages.push_back({rig.bus(262144 + (63 - 2 * i) * 4096), 4096});
    std::vector<Notification> each(16);
    Notification progress{};
    const xio::Region data{rig.bus(), 131072};
    REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, wave_size), kernel, queue.handle(), pages.data(), data,
                                      each.data(), &progress));
    CHECK(progress.done == 16);
    for (uint32_t i = 0; i < 16; ++i) {
      CHECK(each[i].done == 1);
      for (uint32_t half = 0; half < 2; ++half)
        CHECK(stamped(rig.bytes(262144 + (63 - 4 * i - 2 * half) * 4096), 16 * i + 8 * half, 8, 3));
      if (i < 15) CHECK(stamped(rig.bytes(65536 + 4096 * i), 8 * i, 8, 3));
    }
    CHECK(rig.statistics(queue).commands == 16 + 16 + 15);
  };
  run(other_pieces<Sharing::thread>, 1);
  run(other_pieces<Sharing::wave>, 8);
  run(other_pieces<Sharing::grid>, 64);
}
