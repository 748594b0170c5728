// SPDX-License-Identifier: MIT

/// @file
/// @brief Three drives as one address space: addresses against a reference, and random traffic over all queues.

#include <cstring>
#include <memory>

#include <xio/host/nvme/drive_set.hpp>

#include "catch.hpp"
#include "property/drives.hpp"

using namespace protocol_tests;
using xio::nvme::DriveAddress;
using xio::nvme::DriveSet;
using xio::nvme::DriveSetHandle;
using xio::nvme::DriveToken;

namespace {

template <Sharing S>
void scatter(const DriveSetHandle& set, unsigned char* data, uint64_t bus, uint64_t blocks, uint32_t rounds) {
  const uint32_t me = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  const uint32_t wave = xio::arch::block_index();
  DriveSet<S> drives(set, wave);
  unsigned char* const mine = data + me * size_t{1024};
  const ContiguousPages pages{bus + me * uint64_t{1024}};
  for (uint32_t round = 0; round < rounds; ++round) {
    // Blocks of its own for each lane, spread over all drives.
    const uint64_t block = ((uint64_t{me} * rounds + round) * 2 * 37) % blocks & ~uint64_t{1};
    stamp(mine, block, 2, round + 1);
    DriveToken token = drives.submit(xio::nvme::write(block, 2), pages, soon());
    EXPECT(token.token.submitted());
    EXPECT_OK(drives.wait(token, soon()));
    std::memset(mine, 0, 1024);
    token = drives.submit(xio::nvme::read(block, 2), pages, soon());
    EXPECT_OK(drives.wait(token, soon()));
    EXPECT(stamped(mine, block, 2, round + 1));
  }
  // Lanes that ask for something else at the same time.
  const uint64_t odd = me % 3 == 0 ? uint64_t{1} << set.stripe_shift : 8;
  const DriveToken crossing = drives.submit(xio::nvme::read(odd - 1, 2), pages, soon());
  const bool crosses = me % 3 == 0 || set.stripe_shift == 3;
  EXPECT(crossing.token.submitted() == !crosses);
  EXPECT(drives.wait(crossing, soon()) == (crosses ? Status(Status::invalid_argument) : Status(Status::ok)));
  EXPECT(drives.submit(xio::nvme::flush(), pages, soon()).token.status == Status::invalid_argument);
  EXPECT(drives.wait(drives.submit(xio::nvme::read(uint64_t{1} << 50, 1), pages, soon()), soon()) ==
         Status::out_of_range);
}

/// Each lane waits for whichever of its commands ends next: one on each drive, and one that was refused.
template <Sharing S>
void whichever(const DriveSetHandle& set, uint64_t bus) {
  const uint32_t me = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  DriveSet<S> drives(set, xio::arch::block_index());
  const ContiguousPages pages{bus + me * uint64_t{1024}};
  DriveToken tokens[4];
  uint32_t names[4] = {0, 1, 2, 3};
  for (uint32_t i = 0; i < 3; ++i) tokens[i] = drives.submit(xio::nvme::read(i * 8 + me % 4, 1), pages, soon());
  tokens[3] = drives.submit(xio::nvme::read(7, 2), pages, soon());  // crosses a stripe
  uint32_t seen = 0;
  // Lanes with a token less wait beside the others.
  const uint32_t count = me % 2 == 0 ? 4 : 2;
  for (uint32_t left = count; left != 0; --left) {
    uint32_t which = 9;
    const Status status = drives.wait_any(tokens, left, soon(), which);
    EXPECT(which < left);
    EXPECT(status == (names[which] == 3 ? Status(Status::invalid_argument) : Status(Status::ok)));
    seen |= 1u << names[which];
    tokens[which] = tokens[left - 1];
    names[which] = names[left - 1];
  }
  EXPECT(seen == (1u << count) - 1);
  if (count != 4) EXPECT_OK(drives.wait(tokens[2], soon()));
  uint32_t which = 9;
  EXPECT(drives.wait_any(tokens, 0, soon(), which) == Status::invalid_argument);
}

/// Reads on every drive, of which none knows before ring().
void rings_late(const DriveSetHandle& set, uint64_t bus, Notification* counted) {
  DriveSet<Sharing::grid, Policy<Deferred<64>, Notify>> drives(set, 0);
  const ContiguousPages pages{bus};
  for (uint32_t i = 0; i < 3; ++i)
    EXPECT(drives.submit(xio::nvme::read(i * 8, 1), pages, soon(), xio::Options().notify(*counted)).token.submitted());
  drives.ring();
  // drain() announces nothing.
  const Deadline until = soon();
  while (xio::arch::load<xio::arch::Scope::system>(&counted->done) < 3 && !until.passed()) drives.drain();
  EXPECT(counted->done == 3);
}

/// A drive that does not answer keeps nobody from the commands of others.
void one_is_slow(const DriveSetHandle& set, uint64_t bus) {
  DriveSet<> drives(set, 0);
  const ContiguousPages pages{bus};
  DriveToken tokens[2] = {drives.submit(xio::nvme::read(0, 1), pages, soon()),
                          drives.submit(xio::nvme::read(8, 1), pages, soon())};
  uint32_t which = 9;
  EXPECT_OK(drives.wait_any(tokens, 2, soon(), which));
  EXPECT(which == 1);
  EXPECT(drives.wait_any(tokens, 1, xio::deadline(xio::Duration{1000000}), which) == Status::timed_out);
  EXPECT_OK(drives.wait(tokens[0], soon()));
}

}  // namespace

TEST_CASE("Block addresses of a drive set name each block of each drive once") {
  for (const uint32_t drives : {1u, 2u, 3u, 5u}) {
    for (const uint32_t shift : {0u, 1u, 5u}) {
      CAPTURE(drives, shift);
      const DriveSetHandle set{nullptr, drives, 2, shift};
      std::vector<uint64_t> next(drives, 0);
      const uint64_t stripe = uint64_t{1} << shift;
      for (uint64_t block = 0; block < 1000; ++block) {
        const DriveAddress where = set.locate(block);
        REQUIRE(where.drive == (block / stripe) % drives);
        REQUIRE(where.lba == next[where.drive]++);
        REQUIRE(set.in_one_stripe(block, static_cast<uint32_t>(stripe - block % stripe)));
        REQUIRE_FALSE(set.in_one_stripe(block, static_cast<uint32_t>(stripe - block % stripe + 1)));
        REQUIRE_FALSE(set.in_one_stripe(block, 0));
      }
    }
  }
}

TEST_CASE("Waves write and read over three drives, two queues each") {
  for (const uint32_t wave_size : {1u, 8u, 64u}) {
    const uint32_t waves = 4;
    CAPTURE(wave_size);
    Drives drives(3, 2, 3, size_t{waves} * wave_size * 1024);
    const uint64_t blocks = 3 * 4096;
    // As many rounds as keep the lanes' blocks apart: 37 and the number of pairs have no common factor.
    const uint32_t rounds = wave_size == 64 ? 5 : 20;
    const Grid grid = Grid::of_waves(waves, 1, wave_size);
    REQUIRE_NOTHROW(
        xio::simt::launch(grid, scatter<Sharing::grid>, drives.set, drives.bytes, drives.bus, blocks, rounds));
    uint64_t busy = 0;
    for (uint32_t i = 0; i < 6; ++i) {
      const auto seen = drives.rigs[i / 2]->statistics(drives.queues[i]);
      CHECK(seen.command_id_conflicts + seen.suspicious_tails == 0);
      CHECK(seen.completions == seen.commands);
      busy += seen.commands != 0;
    }
    CHECK(busy == 6);
    // What a block of the set holds lies where the reference says.
    const uint64_t block = (uint64_t{3} * rounds * 2 * 37) % blocks & ~uint64_t{1};
    std::vector<unsigned char> found(1024);
    drives.rigs[(block / 8) % 3]->model.read_blocks(1, block / 8 / 3 * 8 + block % 8, 2, found.data());
    CHECK(stamped(found.data(), block, 2, 1));
  }
}

namespace {

/// The drives of a set in descending order.
struct Backwards : DriveSetHandle {
  XIO_HOST_DEVICE constexpr DriveAddress locate(uint64_t block) const {
    const DriveAddress forwards = DriveSetHandle::locate(block);
    return {drives - 1 - forwards.drive, forwards.lba};
  }
};

/// Every lane writes and reads blocks of its own: without waiting for space, by notification, and by read() and
/// write().
template <class Set>
void try_all(const Set& set, xio::nvme::DriveRegion memory, unsigned char* data, Notification* counted) {
  const uint32_t me = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  const uint32_t lanes = xio::arch::grid_size() * xio::arch::block_size();
  DriveSet<Sharing::grid, Policy<Notify>, Set> drives(set, xio::arch::block_index());
  unsigned char* const mine = data + me * size_t{512};
  const xio::nvme::DriveSpan span = memory.at(me * uint64_t{512}, 512);
  for (uint32_t round = 0; round < 6; ++round) {
    const uint64_t block = uint64_t{round} * lanes + me;
    stamp(mine, block, 1, round + 1);
    DriveToken token;
    do {
      token = drives.try_submit(xio::nvme::write(block, 1), span, xio::Options().notify(*counted));
      if (token.token.status == Status::would_block) drives.drain();
    } while (token.token.status == Status::would_block);
    EXPECT(token.token.submitted());
    Status status = Status::pending;
    while (status == Status::pending) status = drives.test(token);
    EXPECT_OK(status);
    std::memset(mine, 0, 512);
    EXPECT_OK(drives.wait(drives.read(block, span, soon()), soon()));
    EXPECT(stamped(mine, block, 1, round + 1));
    EXPECT_OK(drives.wait(drives.write(block, span, soon()), soon()));
  }
  // What lies outside of the memory, or is no whole block.
  EXPECT(drives.read(me, memory.at(memory.length - 511, 512), soon()).token.status == Status::out_of_range);
  EXPECT(drives.read(me, memory.at(0, 100), soon()).token.status == Status::invalid_argument);
}

}  // namespace

TEST_CASE("A drive set that the host made: every call, and a placement of one's own") {
  const auto run = [](auto handle_of) {
    std::vector<std::unique_ptr<Rig>> rigs;
    std::vector<xio::host::NvmeController*> controllers;
    for (uint32_t i = 0; i < 3; ++i) {
      NvmeConfig config;
      config.bus_offset = uint64_t{i + 1} << 48;
      rigs.push_back(std::make_unique<Rig>(config, 4096));
      rigs.back()->model.faults().reorder(5);
      controllers.push_back(&rigs.back()->controller);
    }
    xio::host::DriveSetOptions options;
    options.queue.depth = 3;
    options.queues_per_drive = 2;
    options.stripe_blocks = 4;
    const xio::host::NvmeDriveSet drives = xio::host::make_drive_set(controllers, {}, options);
    CHECK(drives.queues().size() == 6);
    CHECK(drives.block_bytes() == 512);
    CHECK(drives.blocks() == 3 * drives.queues()[0].handle().namespace_blocks);
    const auto set = handle_of(drives.handle());
    CHECK(set.stripe_shift == 2);
    const uint32_t lanes = 3 * 8;
    const xio::host::DriveBuffer data = drives.allocate(size_t{lanes} * 512);
    CHECK(data.size() == 3 * 4096);
    Notification counted{};
    REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(3, 1, 8), try_all<std::decay_t<decltype(set)>>, set, data.region(),
                                      data.as<unsigned char>(), &counted));
    CHECK(counted.done == 6 * lanes);
    CHECK(counted.failed == 0);
    std::vector<unsigned char> found(512);
    for (const uint64_t block : {uint64_t{0}, uint64_t{5}, uint64_t{6 * lanes - 1}}) {
      const DriveAddress where = set.locate(block);
      rigs[where.drive]->model.read_blocks(1, where.lba, 1, found.data());
      CHECK(stamped(found.data(), block, 1, static_cast<uint32_t>(block / lanes + 1)));
    }
    for (uint32_t i = 0; i < 3; ++i) CHECK(data.region(i).base == data.region().bases[i]);
  };
  run([](const DriveSetHandle& set) { return set; });
  run([](const DriveSetHandle& set) { return Backwards{set}; });
}

TEST_CASE("Drives that are no set are refused") {
  Rig one;
  NvmeConfig config;
  config.namespaces[0].block_bytes = 4096;
  Rig other(config);
  const auto why = [](std::vector<xio::host::NvmeController*> controllers, xio::host::DriveSetOptions options) {
    try {
      xio::host::make_drive_set(std::move(controllers), {}, options);
    } catch (const xio::host::Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  xio::host::DriveSetOptions options;
  CHECK(why({&one.controller}, options).empty());
  CHECK(has(why({}, options), "at least one controller"));
  CHECK(has(why({&one.controller, &other.controller}, options), "4096 bytes, the first one 512"));
  options.queues_per_drive = 0;
  CHECK(has(why({&one.controller}, options), "queues_per_drive = 0 is not accepted"));
  options.queues_per_drive = 1;
  options.stripe_blocks = 3;
  CHECK(has(why({&one.controller}, options), "stripe_blocks = 3 is not accepted; expected a power of two"));
  options.stripe_blocks = 1;
  options.queue.qid = 1;
  CHECK(has(why({&one.controller}, options), "leave qid at 0"));
}

TEST_CASE("A drive set announces deferred commands on each drive") {
  Drives drives(3, 2, 3, 4096);
  Notification counted{};
  REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 1), rings_late, drives.set, drives.bus, &counted));
}

TEST_CASE("A drive set waits for whichever command ends next") {
  for (const uint32_t wave_size : {1u, 8u, 64u}) {
    CAPTURE(wave_size);
    // All users of a queue share it in the same way, or it counts as broken.
    for (const auto kernel : {whichever<Sharing::grid>, whichever<Sharing::block>}) {
      Drives drives(3, 2, 3, size_t{2} * wave_size * 1024);
      REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(2, 1, wave_size), kernel, drives.set, drives.bus));
    }
  }
  Drives drives(2, 1, 3, 1024);
  drives.rigs[0]->model.faults().delay_us(Match(), 300000, 300000);
  REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 1), one_is_slow, drives.set, drives.bus));
}

namespace {

using Counted = DriveSet<Sharing::grid, Policy<Deferred<3>, Notify>>;

/// Reads of one block per lane, counted in `counted[0]`, then those of the next drives in `counted[1]`, where one
/// fails.
void counts(const DriveSetHandle& set, uint64_t bus, Notification* counted) {
  const uint32_t me = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  const uint32_t all = xio::arch::grid_size() * xio::arch::block_size();
  Counted drives(set, xio::arch::block_index());
  const ContiguousPages pages{bus};
  const auto read = [&](uint64_t block, Notification& to) {
    EXPECT(drives.submit(xio::nvme::read(block, 1), pages, soon(), xio::Options().notify(to)).token.submitted());
  };
  EXPECT_OK(drives.wait_count(counted[0], 0, soon()));
  read(me, counted[0]);
  EXPECT_OK(drives.wait_count(counted[0], all - me % 3 % all, drives.deadline(patience())));
  EXPECT_OK(drives.wait_count(counted[0], all, soon()));
  EXPECT(xio::arch::load<xio::arch::Scope::system>(&counted[0].done) == all);
  read(2048 + me, counted[1]);
  EXPECT(drives.wait_count(counted[1], all, soon()) == Status(Status::read_error, 0x281));
}

/// What nobody submitted is waited for in vain.
void counts_too_far(const DriveSetHandle& set, Notification* counted, Status::Code expected) {
  Counted drives(set, 0);
  const Deadline until = expected == Status::broken ? soon() : drives.deadline(xio::Duration{1000000});
  EXPECT(drives.wait_count(*counted, 1, until).code == expected);
}

}  // namespace

TEST_CASE("wait_count: operations on several drives -> all ended, or the first error", "[H14]") {
  for (const uint32_t count : {1u, 2u, 3u, 4u}) {
    for (const uint32_t wave_size : {1u, 8u, 64u}) {
      CAPTURE(count, wave_size);
      const uint32_t waves = count == 4 && wave_size == 64 ? 32 : 3;
      Drives drives(count, 2, 1, 4096);
      const DriveAddress bad = drives.set.locate(2048);
      drives.rigs[bad.drive]->model.faults().fail(Match().with_lba(bad.lba, bad.lba), 0x281);
      Notification counted[2]{};
      REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(waves, 1, wave_size), counts, drives.set, drives.bus,
                                        static_cast<Notification*>(counted)));
      CHECK(counted[1].failed == 1);
    }
  }
}

TEST_CASE("wait_count: a broken queue of any drive -> broken", "[H14]") {
  for (const uint32_t broken : {0u, 1u, 2u, 3u}) {
    CAPTURE(broken);
    Drives drives(3, 1, 3, 4096);
    if (broken < 3) drives.handles[broken].state->broken = 1;
    Notification counted{};
    REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 8), counts_too_far, drives.set, &counted,
                                      broken < 3 ? Status::broken : Status::timed_out));
  }
}
