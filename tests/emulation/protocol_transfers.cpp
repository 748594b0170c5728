// SPDX-License-Identifier: MIT

/// @file
/// @brief Commands that are split, batches, and pieces of a Region; refusals, which leave no trace.

#include <cstring>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;
using xio::nvme::Opcode;
using xio::nvme::Piece;

namespace {

/// Writes and reads back `blocks` blocks at once.
template <class Q>
void move(Rig& rig, Q& queue, uint64_t lba, uint32_t blocks, uint64_t version, uint32_t parts) {
  const size_t bytes = size_t{blocks} * 512;
  stamp(rig.bytes(), lba, blocks, version);
  Token token = queue.submit(xio::nvme::write(lba, blocks), ContiguousPages{rig.bus()}, soon());
  if (parts != 0) REQUIRE(token.count == parts);
  REQUIRE(queue.wait(token, soon()).is_ok());
  std::memset(rig.bytes(), 0, bytes);
  token = queue.submit(xio::nvme::read(lba, blocks), ContiguousPages{rig.bus()}, soon());
  REQUIRE(queue.wait(token, soon()).is_ok());
  REQUIRE(stamped(rig.bytes(), lba, blocks, version));
}

/// Without lists a command moves at most a page: a long one has many parts.
void eight_blocks(QueueOptions& options) { options.list_bytes = 0; }

}  // namespace

TEST_CASE("submit: a long command -> split, with one token for all parts") {
  Rig rig(stepped(), size_t{4} << 20);
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  const auto run = [&](auto queue, uint32_t table) {
    REQUIRE(queue.handle().max_blocks == 8);
    move(rig, queue, 0, 8, 1, 1);
    move(rig, queue, 5, 9, 2, 2);
    move(rig, queue, 100, 8 * 16, 3, 16);
    // More parts than are in flight at once, and more than the table remembers.
    move(rig, queue, 7, 8 * (table - 3) + 1, 4, 0);
    move(rig, queue, 7, 8 * 5 * table + 3, 5, 0);
    REQUIRE(queue.quiet(soon()).is_ok());
  };
  const auto tight = [&] {
    return rig.queue(16, [](QueueOptions& options) {
      eight_blocks(options);
      options.completion_slots = 32;
    });
  };
  const NvmeQueue one = tight();
  const NvmeQueue two = tight();
  run(Queue<Sharing::thread>(one.handle()), 32);
  run(Queue<Sharing::grid, Policy<Deferred<5>>>(two.handle()), 32);
}

TEST_CASE("keep: a long command of which parts fail -> ends with the last part, and the first failure", "[H16]") {
  Rig rig(stepped());
  rig.model.faults().reorder(5);
  const auto fail = [&](uint64_t lba, uint16_t status) {
    rig.model.faults().fail(Match().with_lba(lba, lba + 7), status);
  };
  fail(8 * 3, 0x281);
  fail(8 * 47, 0x280);
  const auto run = [&](auto view) {
    // Three times as many parts as are in flight at once, too.
    for (const uint32_t parts : {2u, 4u, 16u, 48u}) {
      CAPTURE(parts);
      xio::KeptResult kept{};
      {
        PausingWave wave([&](uint64_t) { rig.model.step(1); });
        const Token token = view.submit(xio::nvme::read(0, 8 * parts - 3), ContiguousPages{rig.bus()}, soon(),
                                        xio::Options().keep(kept));
        REQUIRE(token.count == (parts < 16 ? parts : 16));
        CHECK(kept.ended == 0);
        while (!view.ended(token)) {
          REQUIRE(kept.ended == 0);
          rig.model.step(1);
          view.drain();
        }
        CHECK(kept.ended == (xio::KeptResult::has_ended | (parts > 3 ? 0x281 : 0)));
        CHECK(view.wait(token, soon()).is_ok() == (parts < 4));
      }
      CHECK(view.quiet(soon()).is_ok());
    }
  };
  const NvmeQueue one = rig.queue(16, eight_blocks);
  const NvmeQueue two = rig.queue(16, eight_blocks);
  run(Queue<Sharing::thread, Policy<Notify>>(one.handle()));
  run(Queue<Sharing::grid, Policy<Notify>>(two.handle()));
}

namespace {

/// A long read per lane, of which a part fails on every third lane.
template <Sharing S>
void keep_long(const QueueHandle& handle, uint64_t bus, xio::KeptResult* kept) {
  Queue<S, Policy<Notify>> view(handle);
  const uint32_t lane = xio::arch::lane();
  const uint64_t first = lane % 3 == 0 ? 8 * 2 : 8 * 4;
  const Token token =
      view.submit(xio::nvme::read(first, 8 * 5), ContiguousPages{bus}, soon(), xio::Options().keep(kept[lane]));
  EXPECT(token.submitted());
  const Status status = view.wait(token, soon());
  EXPECT(code_of(status) == (lane % 3 == 0 ? 0x281 : 0));
  const uint64_t word = xio::arch::load<xio::arch::Scope::system>(&kept[lane].ended);
  EXPECT(word == (xio::KeptResult::has_ended | (lane % 3 == 0 ? 0x281 : 0)));
}

}  // namespace

TEST_CASE("keep: long commands of a wave's lanes -> each has the failure of its own parts", "[H16]") {
  const auto run = [](auto kernel) {
    Rig rig;
    rig.model.faults().reorder(5);
    rig.model.faults().fail(Match().with_lba(8 * 3, 8 * 3), 0x281);
    const NvmeQueue queue = rig.queue(16, eight_blocks);
    xio::KeptResult kept[64]{};
    REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 64), kernel, queue.handle(), rig.bus(),
                                      static_cast<xio::KeptResult*>(kept)));
  };
  run(keep_long<Sharing::wave>);
  run(keep_long<Sharing::grid>);
}

TEST_CASE("try_submit: a long command -> submitted whole or not at all") {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(8, eight_blocks);
  Queue<Sharing::grid> view(queue.handle());
  const auto long_read = [&](uint32_t parts) {
    return view.try_submit(xio::nvme::read(0, 8 * parts), ContiguousPages{rig.bus()});
  };
  CHECK(long_read(9).status == Status::invalid_argument);
  const Token first = long_read(5);
  CHECK(first.count == 5);
  const xio::QueueState before = *queue.handle().state;
  CHECK(long_read(4).status == Status::would_block);
  CHECK(std::memcmp(&before, queue.handle().state, sizeof before) == 0);
  CHECK(long_read(3).count == 3);
  rig.model.run();
  CHECK(view.wait(first, soon()).is_ok());
}

TEST_CASE("submit_batch: one refused piece -> the batch is refused without a trace", "[H37]") {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(16);
  Queue<Sharing::grid, Policy<Notify>> view(queue.handle());
  const xio::QueueState before = *queue.handle().state;
  const Piece good{0, rig.bus(), 1};
  const Piece bad[] = {{131072, rig.bus(), 1},
                       {131071, rig.bus(), 2},
                       {~uint64_t{0}, rig.bus(), 2},
                       {0, rig.bus(), 0},
                       {0, rig.bus(), queue.handle().max_blocks + 1},
                       {0, rig.bus() + 2, 1}};
  const Status::Code reason[] = {Status::out_of_range,     Status::out_of_range,     Status::out_of_range,
                                 Status::invalid_argument, Status::invalid_argument, Status::misaligned};
  for (uint32_t i = 0; i < 6; ++i) {
    CAPTURE(i);
    const Piece pieces[] = {good, good, bad[i], good};
    CHECK(view.submit_batch(Opcode::read, pieces, 4, soon()).status == reason[i]);
    Notification progress{};
    CHECK(view.transfer(Opcode::read, pieces, 4, soon(), progress) == reason[i]);
    const Token single = view.submit(xio::nvme::read(bad[i].lba, bad[i].blocks), ContiguousPages{bad[i].bus}, soon());
    if (i != 4) CHECK(single.status == reason[i]);  // a single command that is too long is split
    if (single.submitted()) break;
  }
  const xio::QueueState after = *queue.handle().state;
  CHECK(after.reserved - before.reserved <= 2);
  // Fields that have no room for what they were given.
  CHECK(view.submit(xio::nvme::zone_append(0, 70000), ContiguousPages{rig.bus()}, soon()).status ==
        Status::invalid_argument);
}

TEST_CASE("submit: blocks and addresses at the edge -> taken, and beyond it refused without a trace", "[H25]") {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(16);
  const QueueHandle& handle = queue.handle();
  Queue<Sharing::thread> view(handle);
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  const uint64_t end = handle.namespace_blocks;
  const auto submit = [&](uint64_t lba, uint32_t blocks, uint64_t bus) {
    return view.submit(xio::nvme::read(lba, blocks), ContiguousPages{bus}, soon());
  };
  REQUIRE(handle.max_blocks >= 64);
  CHECK(submit(end, 1, rig.bus()).status == Status::out_of_range);
  CHECK(submit(end - 1, 2, rig.bus()).status == Status::out_of_range);
  CHECK(submit(end - 63, 64, rig.bus()).status == Status::out_of_range);
  CHECK(submit(~uint64_t{0}, 2, rig.bus()).status == Status::out_of_range);
  CHECK(submit(0, 0, rig.bus()).status == Status::invalid_argument);
  CHECK(submit(0, 1, rig.bus() + 2).status == Status::misaligned);
  CHECK(submit(0, 64, rig.bus() + 2).status == Status::misaligned);
  QueueHandle short_lists = handle;
  short_lists.list_bytes = 8;
  CHECK(Queue<Sharing::thread>(short_lists).submit(xio::nvme::read(0, 64), ContiguousPages{rig.bus()}, soon()).status ==
        Status::out_of_range);
  QueueHandle small = handle;
  small.namespace_blocks = 2;
  CHECK(Queue<Sharing::thread>(small).submit(xio::nvme::read(0, 3), ContiguousPages{rig.bus()}, soon()).status ==
        Status::out_of_range);
  CHECK(handle.state->reserved == 0);

  CHECK(view.wait(submit(end - 1, 1, rig.bus()), soon()).is_ok());
  CHECK(view.wait(submit(end - 64, 64, rig.bus()), soon()).is_ok());
  // Nine pages, of which the last eight are in a list.
  stamp(rig.bytes(4), 100, 64, 1);
  CHECK(view.wait(view.submit(xio::nvme::write(100, 64), ContiguousPages{rig.bus(4)}, soon()), soon()).is_ok());
  CHECK(view.wait(submit(100, 64, rig.bus(1 << 16)), soon()).is_ok());
  CHECK(stamped(rig.bytes(1 << 16), 100, 64, 1));
  // Where the size of the namespace is not known, the controller refuses.
  QueueHandle unknown = handle;
  unknown.namespace_blocks = 0;
  Queue<Sharing::thread> trusting(unknown);
  const Token beyond = trusting.submit(xio::nvme::read(end, 1), ContiguousPages{rig.bus()}, soon());
  CHECK(beyond.submitted());
  CHECK(trusting.wait(beyond, soon()).from_device());
}

namespace {

void disagree(const QueueHandle& own, const QueueHandle& shared, const Piece* pieces, Notification& progress) {
  const uint32_t lane = xio::arch::lane();
  const auto try_both = [&](auto queue) {
    EXPECT(queue.submit_batch(Opcode::read, pieces, 4 + lane % 2, soon()).status == Status::invalid_argument);
    const Opcode each = lane == 5 ? Opcode::write : Opcode::read;
    EXPECT(queue.submit_batch(each, pieces, 4, soon()).status == Status::invalid_argument);
    EXPECT(queue.transfer(Opcode::read, pieces, lane == 0 ? 0 : 4, soon(), progress) == Status::invalid_argument);
    EXPECT_OK(queue.wait_batch(queue.submit_batch(Opcode::read, pieces, 4, soon()), soon()));
    EXPECT_OK(queue.quiet(soon()));
  };
  try_both(Queue<Sharing::wave, Policy<Notify>>(own));
  try_both(Queue<Sharing::grid, Policy<Notify>>(shared));
}

}  // namespace

TEST_CASE("submit_batch: lanes that disagree -> invalid_argument", "[H23]") {
  Rig rig;
  const NvmeQueue own = rig.queue(16);
  const NvmeQueue shared = rig.queue(16);
  Piece pieces[5];
  for (uint32_t i = 0; i < 5; ++i) pieces[i] = {i, rig.bus(i * 512), 1};
  Notification progress{};
  xio::simt::Grid grid;
  grid.threads_per_block = 32;
  grid.wave_size = 32;
  CHECK_NOTHROW(xio::simt::launch(
      grid, [&](const QueueHandle& a, const QueueHandle& b) { disagree(a, b, pieces, progress); }, own.handle(),
      shared.handle()));
  CHECK(rig.statistics(own).commands == 4);
  CHECK(rig.statistics(shared).commands == 4);
}

namespace {

constexpr uint32_t lanes_used = 32;

/// Every lane with a block of its own; odd ones ask for what is refused.
template <Sharing S>
void pieces_in_a_wave(uint32_t bytes_of_block) {
  Rig rig;
  NvmeQueue queue = rig.controller.create_queue();
  const xio::Region all = rig.data.region();
  const auto kernel = [&](const QueueHandle& handle) {
    Queue<S> view(handle);
    const uint32_t lane = xio::arch::lane();
    const uint64_t at = uint64_t{lane} * bytes_of_block;
    const bool refused = lane % 2 != 0;
    std::memset(rig.bytes(at), static_cast<int>(lane + 1), bytes_of_block);
    Token token = view.write(lane, all.at(refused ? all.length - 1 : at, bytes_of_block), soon());
    EXPECT(token.submitted() != refused);
    EXPECT(view.wait(token, soon()).code == (refused ? Status::out_of_range : Status::ok));
    std::memset(rig.bytes(at), 0, bytes_of_block);
    token = view.read(lane, all.at(at, refused ? bytes_of_block / 2 : bytes_of_block), soon());
    EXPECT(view.wait(token, soon()).code == (refused ? Status::invalid_argument : Status::ok));
    for (uint32_t i = 0; i < bytes_of_block; ++i) EXPECT(*rig.bytes(at + i) == (refused ? 0 : lane + 1));
  };
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, lanes_used), kernel, queue.handle()));
}

}  // namespace

TEST_CASE("read: a piece of a region -> moved whole, or refused", "[H12][H37]") {
  Rig rig;
  NvmeQueue queue = rig.controller.create_queue();
  Queue<Sharing::thread> view(queue.handle());
  const xio::Region all = rig.data.region();
  REQUIRE(all.cpu == rig.data.data());
  const auto code = [&](const Token& token) { return view.wait(token, soon()).code; };

  stamp(rig.bytes(512), 40, 3, 7, 512);
  CHECK(code(view.write(40, all.at(512, 3 * 512), soon())) == Status::ok);
  std::memset(rig.bytes(), 0, 4096);
  CHECK(code(view.read(40, all.at(1024, 3 * 512), soon())) == Status::ok);
  CHECK(stamped(rig.bytes(1024), 40, 3, 7, 512));
  // As a page source of any command, whose size it then fixes.
  CHECK(code(view.submit(xio::nvme::compare(40, 3), all.at(1024, 3 * 512), soon())) == Status::ok);

  const auto refused = [&](const Token& token, Status::Code why) {
    CHECK_FALSE(token.submitted());
    CHECK(token.status == why);
  };
  const uint64_t before = queue.handle().state->reserved;
  refused(view.read(0, all.at(all.length, 512), soon()), Status::out_of_range);
  refused(view.read(0, all.at(all.length - 511, 512), soon()), Status::out_of_range);
  refused(view.write(0, all.at(~uint64_t{0} - 511, 512), soon()), Status::out_of_range);
  const auto by_sgl = [&](uint64_t offset, uint32_t bytes) {
    return view.submit(xio::nvme::read(0, 1), xio::nvme::as_sgl(all.at(offset, bytes)), soon());
  };
  refused(by_sgl(all.length - 511, 512), Status::out_of_range);
  refused(by_sgl(0, 1024), Status::invalid_argument);
  refused(view.write(0, all.at(0, 0), soon()), Status::invalid_argument);
  refused(view.write(0, all.at(0, 511), soon()), Status::invalid_argument);
  refused(view.read(0, all.at(0, 513), soon()), Status::invalid_argument);
  refused(view.submit(xio::nvme::read(0, 2), all.at(0, 512), soon()), Status::invalid_argument);
  refused(view.try_submit(xio::nvme::read(0, 1), all.at(0, 1024)), Status::invalid_argument);
  refused(view.read(~uint64_t{0}, all.at(0, 512), soon()), Status::out_of_range);
  CHECK(queue.handle().state->reserved == before);
  CHECK(code(view.read(0, all.at(all.length - 512, 512), soon())) == Status::ok);
}

TEST_CASE("read: lanes of which some leave the region -> those are refused", "[H12][H37]") {
  pieces_in_a_wave<Sharing::wave>(512);
  pieces_in_a_wave<Sharing::grid>(512);
}
