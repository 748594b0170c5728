// SPDX-License-Identifier: MIT

/// @file
/// @brief Commands that move no data, or ranges, and have limits of their own: split where they can be, else refused.

#include <cstring>

#include <xio/vendors/nvme/ranges.hpp>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;
namespace nvme = xio::nvme;

namespace {

NvmeConfig with_limits() {
  NvmeConfig config;
  config.mdts = 5;  // 128 KiB: 256 blocks
  config.vsl = 1;   // 8 KiB: 16 blocks
  config.wzsl = 2;  // 32 blocks
  config.wusl = 3;  // 64 blocks
  config.dmrl = 4;
  config.dmrsl = 100;
  config.dmsl = 250;
  return config;
}

}  // namespace

TEMPLATE_TEST_CASE_SIG("Verify, Write Zeroes and Write Uncorrectable are split at limits of their own", "",
                       ((Sharing S), S), Sharing::thread, Sharing::wave, Sharing::block, Sharing::grid) {
  Rig rig(with_limits());
  const NvmeQueue made = rig.queue(32);
  CHECK(made.handle().verify_blocks == 16);
  CHECK(made.handle().write_zeroes_blocks == 32);
  CHECK(made.handle().uncorrectable_blocks == 64);
  CHECK(made.handle().max_blocks == 256);
  Queue<S> queue(made.handle());
  const auto run = [&](const nvme::Command& command, uint32_t parts) {
    const Token token = queue.submit(command, NoData{}, soon());
    CHECK(token.count == parts);
    return queue.wait(token, soon());
  };
  CHECK(run(nvme::verify(0, 16), 1).is_ok());
  CHECK(run(nvme::verify(1, 17), 2).is_ok());
  CHECK(run(nvme::verify(3, 400), 25).is_ok());

  // Exactly the blocks that were named become zeros.
  std::vector<unsigned char> ones(1200 * 512, 0x11);
  rig.model.write_blocks(1, 0, 1200, ones.data());
  CHECK(run(nvme::write_zeroes(5, 333), 11).is_ok());
  rig.model.read_blocks(1, 0, 1200, ones.data());
  for (uint32_t block = 0; block < 1200; ++block) {
    if (ones[block * 512] != (block >= 5 && block < 338 ? 0 : 0x11)) FAIL("block " << block);
  }
  CHECK(run(nvme::write_uncorrectable(700, 65), 2).is_ok());
  CHECK(run(nvme::verify(690, 10), 1).is_ok());
  CHECK(code_of(run(nvme::verify(690, 100), 7)) == 0x281);
  CHECK(code_of(run(nvme::verify(764, 1), 1)) == 0x281);
  CHECK(run(nvme::verify(765, 16), 1).is_ok());
  CHECK(rig.statistics(made).by_opcode[0x0c] == 1 + 2 + 25 + 1 + 7 + 1 + 1);

  // One that is not split, and pieces of a batch.
  const std::uint64_t before = made.handle().state->reserved;
  CHECK(queue.submit(nvme::verify(0, 17).fused_first(), NoData{}, soon()).status == Status::invalid_argument);
  const nvme::Piece piece{0, 0, 17};
  CHECK(queue.submit_batch(nvme::Opcode::verify, &piece, 1, soon()).status == Status::invalid_argument);
  CHECK(made.handle().state->reserved == before);
  CHECK(queue.quiet(soon()).is_ok());
}

TEST_CASE("Without limits of their own, commands without data are as long as the entry lets them") {
  NvmeConfig config;
  config.mdts = 5;
  Rig rig(config);
  const NvmeQueue made = rig.queue(32, [](QueueOptions& options) { options.list_bytes = 0; });
  Queue<Sharing::grid> queue(made.handle());
  REQUIRE(made.handle().max_blocks == 8);
  const auto parts = [&](const nvme::Command& command) {
    const Token token = queue.submit(command, NoData{}, soon());
    CHECK(queue.wait(token, soon()).is_ok());
    return token.count;
  };
  CHECK(parts(nvme::verify(0, 65536)) == 1);
  CHECK(parts(nvme::verify(0, 65537)) == 2);
  // Drives are known that apply MDTS to it all the same.
  CHECK(parts(nvme::write_zeroes(0, 256)) == 1);
  CHECK(parts(nvme::write_zeroes(0, 257)) == 2);
}

namespace {

/// Lanes side by side whose commands are split at different lengths.
template <Sharing S>
void long_of_each_kind(const QueueHandle& handle, uint64_t bus) {
  Queue<S> queue(handle);
  const uint32_t me = xio::arch::lane();
  const uint64_t lba = uint64_t{me} * 600;
  const nvme::Command command = me % 3 == 0   ? nvme::verify(lba, 300)
                                : me % 3 == 1 ? nvme::write_zeroes(lba, 300)
                                              : nvme::read(lba, 300);
  const uint32_t parts = me % 3 == 0 ? 19 : me % 3 == 1 ? 10 : 2;
  const bool data = me % 3 == 2;
  Token token;
  // A wave submits what all of its lanes have in one call.
  token = queue.submit(command, ContiguousPages{bus + (data ? me * uint64_t{300} * 512 : 0)}, soon());
  EXPECT_OK(queue.wait(token, soon()));
  EXPECT(token.count == parts);
}

}  // namespace

TEST_CASE("Lanes of one wave split at the limits of their own commands") {
  Rig rig(with_limits(), size_t{8} * 300 * 512);
  const auto long_memory = [](QueueOptions& options) { options.completion_slots = 1024; };
  const NvmeQueue own = rig.queue(32, long_memory);
  const NvmeQueue shared = rig.queue(32, long_memory);
  const Grid grid = Grid::of_waves(1, 1, 8);
  CHECK_NOTHROW(xio::simt::launch(grid, long_of_each_kind<Sharing::wave>, own.handle(), rig.bus()));
  CHECK_NOTHROW(xio::simt::launch(grid, long_of_each_kind<Sharing::grid>, shared.handle(), rig.bus()));
  for (const NvmeQueue* queue : {&own, &shared}) {
    const auto seen = rig.statistics(*queue);
    CHECK(seen.errors == 0);
    CHECK(seen.by_opcode[0x0c] == 3 * 19);
    CHECK(seen.by_opcode[0x08] == 3 * 10);
    CHECK(seen.by_opcode[0x02] == 2 * 2);
  }
}

TEST_CASE("Ranges of Dataset Management keep to the limits of the controller") {
  Rig rig(with_limits());
  const NvmeQueue made = rig.queue(8);
  const QueueHandle& handle = made.handle();
  Queue<Sharing::thread> queue(handle);
  const ContiguousPages pages{rig.bus()};
  auto* const ranges = reinterpret_cast<nvme::DsmRange*>(rig.bytes());

  std::vector<unsigned char> ones(2000 * 512, 0x11);
  rig.model.write_blocks(1, 0, 2000, ones.data());
  uint64_t done = 0;
  uint32_t commands = 0;
  while (done < 1234) {
    const nvme::CoveredBlocks covered = nvme::cover_ranges(handle, 100 + done, 1234 - done, ranges);
    REQUIRE(covered.blocks != 0);
    CHECK(nvme::check_ranges(handle, ranges, covered.ranges).is_ok());
    REQUIRE(queue.wait(queue.submit(nvme::deallocate(covered.ranges), pages, soon()), soon()).is_ok());
    done += covered.blocks;
    ++commands;
  }
  CHECK(commands == 5);
  rig.model.read_blocks(1, 0, 2000, ones.data());
  for (uint32_t block = 0; block < 2000; ++block) {
    if (ones[block * 512] != (block >= 100 && block < 1334 ? 0 : 0x11)) FAIL("block " << block);
  }

  for (uint32_t i = 0; i < 5; ++i) ranges[i] = {0, 10, 0};
  CHECK(nvme::check_ranges(handle, ranges, 4).is_ok());
  CHECK(nvme::check_ranges(handle, ranges, 5) == Status::invalid_argument);
  CHECK(nvme::check_ranges(handle, ranges, 0) == Status::invalid_argument);
  CHECK(queue.submit(nvme::deallocate(5), pages, soon()).status == Status::invalid_argument);
  ranges[1].blocks = 101;
  CHECK(nvme::check_ranges(handle, ranges, 2) == Status::invalid_argument);
  for (uint32_t i = 0; i < 3; ++i) ranges[i].blocks = 84;
  CHECK(nvme::check_ranges(handle, ranges, 2).is_ok());
  CHECK(nvme::check_ranges(handle, ranges, 3) == Status::invalid_argument);

  // A queue of which no limits are known.
  QueueHandle free = handle;
  free.dsm_ranges = free.dsm_range_blocks = 0;
  free.dsm_blocks = 0;
  const nvme::CoveredBlocks covered = nvme::cover_ranges(free, 7, uint64_t{5} << 32, ranges, 3);
  CHECK(covered.ranges == 3);
  CHECK(covered.blocks == 3 * uint64_t{0xffffffff});
  CHECK(ranges[2].lba == 7 + 2 * uint64_t{0xffffffff});
}
